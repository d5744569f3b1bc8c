"""Questions whose answers are in a run, which is made while the book is built.

    .. predict:: How many MiB does the pool reserve after the free?
       :run: solutions/04_release_threshold 40
       :kind: MiB
       :fields:
          threshold 0  | ^ +0 +0 +\\d+ +(\\d+)
          threshold 48 | ^ +48 +0 +\\d+ +(\\d+)
       :why: A free returns memory to the pool, and not to the device.

       The closing questions of a page have their one sentence here, and no :why:. The sentence says
       why, and answers no other question that the reader may not have come to.
    .. until-answered::
        what follows it in its section stays folded until each question above it that has a :why:
        is answered
    .. collected:: answers
        the answers of the closing questions above, folded

A run is a program with its arguments and settings (SIM_SCHEDULE=late), or a file of a recording.
Without :run: it is that of the page's own program: a lesson's solution, or a case as it is broken.
Each field has a label, which may be empty, and the regular expression that finds its answer in what
the run printed on stdout and stderr, followed by "exit status N". The group of the expression is
the answer; without a group the number of lines that match is. The reply names the function and the
line that printed an answer, and build/docs/answers.txt has all of them, for tests/book/answers.txt.

The kind is the unit of a number, or a list of choices ("cudaSuccess / cudaErrorNotReady"). A choice
may differ from what is printed, as in "the same address=same"; "nothing=" is the answer where the
expression finds nothing. Without :kind: each field has a kind of its own: label | kind |
expression. An indented line continues a field.

A wrong answer that somebody holds for a reason gets that reason, and one thing to look at:
       :beliefs:
          192 | You added the two. | What does a threshold count: free memory, or all of it?
          live 128 = 160 | ... | ...
A value that several fields could have is behind the label of its field. Any other number is too
much or too little.

The stepper of the page asks a question before the step that leads to its answer (asked.py). Where
the run decides the answer long before it prints it, `at` names the call: "FUNCTION: TEXT".

A question whose answer is not found ends the build. docs/_static/predict.js makes the blanks
fields; without it, in print and in an EPUB, they stay blanks. It gets each printed line with its
place in the run, and the place of each answer: so a reply can leave out what other questions ask.
"""

import json
import re
from functools import partial
from html import escape
from pathlib import Path
from typing import NamedTuple, Optional

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .page import BookDirective, block, indent, texts
from .printed import printed as printed_by
from .runs import (
    ROOT,
    VARIANTS,
    BookError,
    command_of,
    expect_recorded,
    recording_of,
    run_program,
)


def parse_run(words):
    """(program or recording, arguments, environment) of the words that name a run."""
    programs = [word for word in words if "/" in word and "=" not in word]
    if len(programs) != 1:
        raise ValueError(f"a run has one program, and not {len(programs)}: {' '.join(words)}")
    rest = [word for word in words if word not in programs]
    environment = tuple(word for word in rest if re.match("[A-Z_]+=", word))
    arguments = tuple(word for word in rest if word not in environment)
    return programs[0], arguments, environment


def program_of(page):
    """The program that a page of a lesson or of a case is about."""
    folder, _, name = page.rpartition("/")
    return f"docs/clinic/{name}_wrong" if folder else f"solutions/{name}"


def read_run(words):
    """(what it printed, the command that a reader types)."""
    program, arguments, environment = parse_run(words)
    if program.endswith(".txt"):
        return (ROOT / program).read_text(encoding="utf-8"), program
    run = run_program(program, arguments, environment)
    if (
        program.startswith("solutions/")
        and not environment
        and (ROOT / recording_of(program, arguments)).exists()
    ):
        expect_recorded(program, arguments, run)
    printed = f"{run.output}{run.errors}exit status {run.status}\n"
    return printed, command_of(program, arguments, environment)[2:].replace("\n$ ", " && ")


class Found(NamedTuple):
    """An answer, None where there is none, and where it was printed."""

    answer: Optional[str]
    span: Optional[list]  # of the answer, from the beginning of what the run printed
    lines: list  # [[begin, text]] of the lines that have it
    place: str


def find(where, printed, words):
    matches = list(re.finditer(where, printed, re.M))
    if not matches:
        return Found(None, None, [], "")
    match, place = matches[0], place_of(frames_of(printed, matches[0], words))
    if match.re.groups == 0:
        lines = [line for each in matches[:4] for line in lines_of(printed, each)]
        return Found(str(len(matches)), None, lines, place)
    return Found(match[1], list(match.span(1)), lines_of(printed, match), place)


def line_at(printed, match):
    """(begin, text, column) of the line in which a match begins, or its group does."""
    at = match.start(1 if match.re.groups else 0)
    begin = printed.rfind("\n", 0, at) + 1
    return begin, printed[begin:].split("\n", 1)[0], at - begin


def frames_of(printed, match, words):
    """[(function, file, line)] of what printed the answer; [] for a recording or a report."""
    program, arguments, environment = parse_run(words)
    if program.endswith(".txt"):
        return []
    _, line, column = line_at(printed, match)
    return printed_by(program, arguments, environment, line, column)


def place_of(frames):
    """The innermost function that is the program's own, not of a header that it includes."""
    for function, file, line in frames:
        if file.endswith(".c"):
            return f"{function}, line {line}"
    return ""


def lines_of(printed, match):
    """[begin, text] of the line in which a match begins, or its group does. Of a row of numbers the
    heading, too."""
    begin, text, _ = line_at(printed, match)
    line = [begin, text]
    if re.search("[A-Za-z]", line[1]):
        return [line]
    headings = [
        [each.start(), each[0]]
        for each in re.finditer(".+", printed[:begin])
        if re.search("[A-Za-z]", each[0])
    ]
    return [*headings[-1:], line]


# ---- one field ----


def whole_lines(text):
    """The lines of :fields:. One that is indented continues the one before."""
    return [line for line in re.sub(r"\n +", " ", text).splitlines() if line.strip()]


def parts_of(line, kind=None):
    """(label, kind, expression) of a line of :fields:."""
    parts = [part.strip() for part in line.split("|", 1 if kind else 2)]
    if len(parts) != (2 if kind else 3):
        raise ValueError(f'expected "label | {"" if kind else "kind | "}expression"')
    return [parts[0], kind or parts[1], parts[-1]]


def read_field(label, kind, where, words):
    """({label, unit or choices, answer, and where it was printed}, the command of the run, the
    lines with the answer, and the function and line that printed them)."""
    printed, command = read_run(words)
    answer, span, lines, place = find(where, printed, words)
    field = {"label": label, "run": command, "span": span}
    if " / " in kind:
        choices = [choice.strip().partition("=") for choice in kind.split(" / ")]
        field["choices"] = [words for words, _, _ in choices]
        prints = {(after if equals else words): words for words, equals, after in choices}
        found, answer = answer, prints.get(answer or "")
        if found and answer is None:
            raise ValueError(f'"{found}" is none of the choices')
    else:
        field["unit"] = kind
        if answer is not None and not re.fullmatch(r"-?\d+(\.\d+)?", answer):
            raise ValueError(f'"{answer}" is no number')
    if answer is None:
        raise ValueError(f"{command} printed nothing that is an answer:\n{printed}")
    return {**field, "answer": answer}, command, lines, place


def read_beliefs(text, fields):
    """[{field, value, belief, look}] of the lines of :beliefs:, field being its index or None."""
    beliefs = []
    for line in whole_lines(text):
        what, *words = (part.strip() for part in line.split(" | "))
        if len(words) != 2:
            raise ValueError('expected "value | belief | what to look at"')
        label, _, value = what.rpartition(" = ")
        number = next((i for i, field in enumerate(fields) if field["label"] == label), None)
        if label and number is None:
            raise ValueError(f'no field is called "{label}"')
        for field in [fields[number]] if label else fields:
            if "choices" in field and value not in field["choices"]:
                raise ValueError(f'"{value}" is none of the choices')
            if "unit" in field and not re.fullmatch(r"-?\d+(\.\d+)?", value):
                raise ValueError(f'"{value}" is no number')
            if value == field["answer"] and (label or len(fields) == 1):
                raise ValueError(f"{value} is the answer")
        beliefs.append({"field": number, "value": value, "belief": words[0], "look": words[1]})
    return beliefs


# ---- as HTML ----


def texts_of(fields, beliefs):
    """The words among them, each once, but for names of CUDA's."""
    found = [belief[part] for belief in beliefs for part in ("belief", "look")]
    for field in fields:
        found += [field["label"], field.get("unit", ""), *field.get("choices", ())]
    return [text for text in dict.fromkeys(found) if not re.fullmatch(r"[\W\d]*|cuda\w+", text)]


def as_said(data, say):
    if isinstance(data, dict):
        return {key: as_said(value, say) for key, value in data.items()}
    if isinstance(data, list):
        return [as_said(value, say) for value in data]
    return say.get(data, data)


def blank(field):
    label = f"{escape(field['label'])}: " if field["label"] else ""
    line = '<span class="predict-blank"></span>'
    if "unit" in field:
        return f"{label}{line} {escape(field['unit'])}"
    return f"{label}{line} ({escape(', '.join(field['choices']))})"


def fields_html(about, fields, printed, beliefs, say):
    fields, beliefs = as_said(fields, say), as_said(beliefs, say)
    data = escape(json.dumps({"fields": fields, "printed": printed, "beliefs": beliefs}))
    rows = "".join(f"<li>{blank(field)}</li>" for field in fields)
    return f'<ul class="predict-fields" {about} data-question="{data}">{rows}</ul>'


# ---- the directives ----


class Predict(BookDirective):
    has_content = True
    option_spec = texts("run", "kind", "fields", "beliefs", "why", "at")

    def run(self):
        if self.content and "why" in self.options:
            raise self.error("a closing question has its reason as content, and no option why")
        if "fields" not in self.options:
            raise self.error("predict needs the option fields")
        group = "closing" if self.content else "predict"
        asked = self.env.temp_data.setdefault(f"{group} questions", [])
        self.shown = []  # [command, what printed it, lines]: what the reply shows
        self.keys = []
        self.asked = []  # what asked.py has of each field
        fields = [self.field(line) for line in whole_lines(self.options["fields"])]
        number = len(asked) + 1
        on_page = self.env.temp_data.setdefault("asked questions", [])
        shown_number = len(on_page) + 1  # the reader's: of all questions of the page
        printed = [(*shown[:2], [text for _, text in shown[2]]) for shown in self.shown]
        asked.append((shown_number, printed, list(self.content)))
        text = " ".join(self.arguments[0].split())
        self.env.answer_keys.setdefault(self.env.docname, []).extend(
            [f"{self.env.docname}, {group} {number}: {text}", *self.keys]
        )

        name = f"{group}-{number}"
        on_page.append({"name": name, "fields": self.asked, "at": self.options.get("at")})
        question = nodes.paragraph(
            classes=["predict-question"], ids=[f"{name}-question"], number=shown_number
        )
        try:
            beliefs = read_beliefs(self.options.get("beliefs", ""), fields)
        except ValueError as error:
            raise BookError(
                f"{self.env.docname}: beliefs of question {shown_number}: {error}"
            ) from error
        box = nodes.container(classes=["predict"], ids=[name])
        box += self.words(text, question)
        about = f'data-page="{self.env.docname}" data-name="{name}"'
        box += self.written(
            partial(fields_html, about, fields, self.shown, beliefs), *texts_of(fields, beliefs)
        )
        if "why" in self.options:  # hidden: the reply has a copy of it
            box += nodes.raw("", '<div class="predict-why" hidden="hidden">', format="html")
            box += self.words(self.options["why"], nodes.paragraph())
            box += nodes.raw("", "</div>", format="html")
        return [box]

    def field(self, line):
        """A line of :fields:, as read_field returns it. The lines that were printed are kept."""
        try:
            label, kind, where = parts_of(line, self.options.get("kind"))
            words = self.options.get("run", program_of(self.env.docname)).split()
            field, command, lines, place = read_field(label, kind, where, words)
        except (ValueError, re.error) as error:
            raise BookError(f'{self.env.docname}: the field "{line.strip()}": {error}') from error
        self.asked.append((label, kind, where, words, field["answer"]))
        self.keys.append(f"  {label or '-'}: {field['answer']}; {command}; {place or 'report'}")
        if "MUTANT=" in command:  # no file that the reader has is numbered so
            place = place and place.split(",")[0]
        seen = [text for each in self.shown if each[0] == command for _, text in each[2]]
        for shown in self.shown:
            if shown[:2] == [command, place]:
                break
        else:
            if lines and all(text in seen for _, text in lines):
                return field  # two calls of printf wrote one line, which is shown already
            shown = [command, place, []]
            self.shown.append(shown)
        for begin, text in lines:
            if text not in [each for _, each in shown[2]]:
                shown[2].append([begin, text])
        return field


class UntilAnswered(SphinxDirective):
    def run(self):
        if not self.env.temp_data.get("predict questions"):
            raise self.error("until-answered:: has no question with a :why: above it")
        return [nodes.raw("", '<div class="predict-until"></div>', format="html")]


class PredictAnswers(BookDirective):
    required_arguments = 0

    def run(self):
        lines = [".. dropdown:: The answers", "   :class-container: predict-answers", ""]
        for number, shown, why in self.env.temp_data.get("closing questions", []):
            item = []
            for command, place, printed in shown:
                verb = "has" if command.endswith(".txt") else "prints"
                item += [f"``{command}`` {verb}{f' in {place}' if place else ''}:", ""]
                item += block("\n".join(printed) or "(nothing)", kind="wrapped")
            item += why
            lines += indent([f"{number}. {item[0]}", *indent(item[1:]), ""])
        return self.lines(lines)


# ---- all answers, in one file ----


def start(app):
    """A dictionary of the environment, which a builder that reads no page again has from before."""
    if not hasattr(app.env, "answer_keys"):
        app.env.answer_keys = {}


def write_answers(app, error):
    whole = Path(app.srcdir) == ROOT / "docs"  # and not a page of a test
    if error is None and app.builder.name == "html" and whole:
        lines = [line for page in sorted(app.env.answer_keys) for line in app.env.answer_keys[page]]
        VARIANTS.replace("build/docs/answers.txt", "".join(f"{line}\n" for line in lines))


def setup(app):
    app.connect("builder-inited", start)
    app.connect("build-finished", write_answers)
    app.add_js_file("predict.js", loading_method="defer")
