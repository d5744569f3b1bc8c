"""What runs in the reader's browser: the pool bench, and some lessons on their pages.

    .. bench:: pool
        the bench; in a book in one file, which has no scripts, its content instead
    .. bench:: lesson
        a form that runs the page's lesson, its solution, or this with a mistake, all of which the
        simulated device for a page must have (simulated_device.py), with a link to the script of
        the bench that has the lesson's number
    :bench:`step through it <10>`
        a link to the bench with the script of that number

The page's stepper shows what was run, so a script in _static/sources has the text of its programs.
"""

import json
import re
from hashlib import sha256
from html import escape
from itertools import zip_longest
from urllib.parse import urlencode

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

from . import simulated_device
from .manifest import lessons, manifest
from .page import in_html, write_static
from .run_steps import BECAUSE
from .rungs import RUNGS
from .runs import HANDOUT, ROOT, text_of, variant
from .sources import LISTED_TOO

# The ready scripts. Each begins with "// NUMBER TITLE", where the number is its lesson's.
SCRIPTS = ROOT / "docs/live/scripts.txt"
SCHEDULES = {
    "measured": "measured: with costs recorded on an H200",
    "instant": "instant: work takes no time",
    "late": "late: each operation takes a second longer",
    "random:1": "random:1: faster or slower, by chance",
    "random:2": "random:2: the same, with other numbers",
}
DEFAULT = re.compile(r"\bmib_argument\(argc, argv, (\d+)\)")


def ready_scripts():
    """{number: text} of each."""
    texts = re.split(r"^(?=// \d\d )", SCRIPTS.read_text(encoding="utf-8"), flags=re.M)[1:]
    return {text[3:5]: text for text in texts}


class PoolBench(SphinxDirective):
    has_content = True

    def run(self):
        if HANDOUT:  # its module holds the solutions
            return self.parse_content_to_nodes()
        rungs = escape(json.dumps([vars(rung) for rung in RUNGS]))
        ready = [
            {"title": text.partition("\n")[0].removeprefix("// "), "text": text}
            for text in ready_scripts().values()
        ]
        scripts = escape(json.dumps(ready))
        otherwise = addnodes.only("", *self.parse_content_to_nodes(), expr="not builder_html")
        bench = in_html(
            f'<div class="stepper bench" id="pool-bench" data-scripts="{scripts}" '
            f'data-rungs="{rungs}">'
            "<p>The bench needs JavaScript.</p></div>"
        )
        return [bench, otherwise]


def address_of(script):
    """The bench with that script, of which no line has run yet."""
    state = urlencode({"script": script, "lines": 0})
    return f"bench.html#{state}"


def bench_link(lesson):
    """The bench with the lesson's script, if it has one."""
    script = ready_scripts().get(lesson[:2])
    if not script:
        return ""
    return f'<p><a href="{escape(address_of(script))}">Its calls on the pool bench</a></p>'


class BenchLink(SphinxRole):
    def run(self):
        words, _, number = self.text.removesuffix(">").rpartition(" <")
        scripts = ready_scripts()
        if number not in scripts:
            have = ", ".join(scripts)
            message = self.inliner.reporter.error(
                f"bench: expected `words <NUMBER>` with one of {have}, got `{self.text}`",
                line=self.lineno,
            )
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        address = "../" * self.env.docname.count("/") + address_of(scripts[number])
        link = nodes.raw(
            "",
            f'<a class="reference" href="{escape(address)}">{escape(words)}</a>',
            format="html",
        )
        plain = addnodes.only("", nodes.inline(text=words), expr="not builder_html")
        return [addnodes.only("", link, expr="builder_html"), plain], []


def mutants_of(lesson):
    """Those that run in a page: {program: what is wrong with it, in words}."""
    programs = (f"mutants/{lesson}/{name}" for name in manifest(lesson)["live_mutants"])
    sentences = ((program, variant(program).about) for program in programs)
    return {program: words[0].lower() + words[1:].removesuffix(".") for program, words in sentences}


def line_of(program):
    """The first line that is not as in the solution."""
    solution = text_of(f"solutions/{program.split('/')[1]}.c").splitlines()
    lines = text_of(f"build/{program}.c").splitlines()
    pairs = zip_longest(solution, lines)
    return next(number for number, (one, other) in enumerate(pairs, 1) if one != other)


def sources_of(lesson):
    """The script that run_steps.js needs to make steps of a run of the lesson."""
    files = [f"{folder}/{lesson}.c" for folder in ("lessons", "solutions")]
    files += [f"build/{program}.c" for program in mutants_of(lesson)]
    sources = {file: text_of(file) for file in files}
    return f"window.workbookProgram = {json.dumps({'sources': sources, 'because': BECAUSE})};\n"


def scripts_of(lesson):
    """What the browser loads to run the lesson: addresses in _static, with their checksums."""
    texts = {
        "simulated_device.js": simulated_device.script(),
        "run_steps.js": (ROOT / "docs/_static/run_steps.js").read_text(encoding="utf-8"),
        f"sources/{lesson}.js": sources_of(lesson),
    }
    return [with_checksum(name, text) for name, text in texts.items()]


def with_checksum(name, text):
    """The address of a file in _static that has this text."""
    return f"{name}?v={sha256(text.encode()).hexdigest()[:8]}"


def form(lesson):
    scripts = escape(json.dumps(scripts_of(lesson)))
    schedules = "".join(
        f'<option value="{name}">{words}</option>' for name, words in SCHEDULES.items()
    )
    default = DEFAULT.search((ROOT / f"solutions/{lesson}.c").read_text(encoding="utf-8"))[1]
    most = manifest(lesson)["live"]
    mistakes = "".join(
        f'<option value="{program}" data-line="{line_of(program)}">{escape(words)}</option>'
        for program, words in mutants_of(lesson).items()
    )
    if mistakes:
        mistakes = f'<optgroup label="the solution with a mistake">{mistakes}</optgroup>'
    return (
        f'<div class="live" data-scripts="{scripts}" hidden><form class="bench-row">'
        '<span class="bench-field"><label for="live-program">Run here</label>'
        '<select id="live-program">'
        f'<option value="solutions/{lesson}">the solution</option>'
        f'<option value="lessons/{lesson}">the starter</option>'
        f"{mistakes}</select></span>"
        '<span class="bench-field"><label for="live-argument">argument, 1 to '
        f"{most} MiB</label>"
        f'<input id="live-argument" type="number" min="1" max="{most}" '
        f'placeholder="{default}"></span>'
        '<span class="bench-field"><label for="live-schedule">schedule</label>'
        f'<select id="live-schedule">{schedules}</select></span>'
        '<button type="submit">Run</button> <button type="button" hidden>Stop</button></form>'
        '<pre class="live-output" tabindex="0" role="region" aria-label="What it prints"></pre>'
        '<pre aria-live="polite"></pre><p class="live-steps"></p>'
        f"{bench_link(lesson)}</div>"
    )


class RunHere(SphinxDirective):
    def run(self):
        lesson = self.env.docname
        if HANDOUT:
            return []
        if not simulated_device.has(f"solutions/{lesson}"):
            raise self.error(f"docs/live/live.wasm has no program of {lesson}: make live")
        for program in mutants_of(lesson):
            if not simulated_device.has(program):
                raise self.error(f"docs/live/live.wasm has no program {program}: make live")
        return [in_html(form(lesson))]


def write_scripts(app):
    """Before the pages, whose addresses of scripts have their checksums."""
    if app.builder.name != "html" or HANDOUT:
        return
    write_static(app, "simulated_device.js", simulated_device.script())
    for lesson in lessons():
        if simulated_device.has(f"solutions/{lesson}"):
            write_static(app, f"sources/{lesson}.js", sources_of(lesson))


def setup(app):
    LISTED_TOO.update(f"build/{program}.c" for name in lessons() for program in mutants_of(name))
    app.add_role("bench", BenchLink())
    app.connect("builder-inited", write_scripts)
