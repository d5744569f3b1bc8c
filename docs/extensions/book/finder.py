"""The finder: one field over calls, attributes, errors, symptoms, cases, sections, notes and words,
rows of tables and paragraphs, each a place.

Calls, attributes and errors have their places in the domain cuda (domain.py). While pages are read,
each row of a table, paragraph and item of a list gets an anchor; the rows of a table whose first
column is headed "question", "symptom" or "what you see" are named by what stands there, and the
next column says what to do. So is each entry of docs/when_something_is_wrong.rst, whose first
paragraph says what to do. At the end _static/places.js gets all places; docs/_static/finder.js
shows what docs/_static/find_places.js finds in them. A place of docs/symptoms.txt that is not there
is a warning, which ends the build.

Sphinx's own search does not index programs.
"""

import json
import re

from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging

from . import calls, manifest
from .domain import ERROR
from .page import shortened, write_static
from .runs import ROOT

ASKED = ("question", "symptom", "what you see")
LESSON = re.compile(r"\d\d_\w+")
SYMPTOMS = "docs/symptoms.txt"
LAST = ("error", "text")
# Pages that one reads and does not look things up in
UNSEARCHED = ("404", "index", "teaching", "course")
ENTRIES = "when_something_is_wrong"
BUGS = "known_bugs"
# Of sections below a section of a page
KINDS = {("your_library", "the-libraries"): "library", ("platforms", "platforms"): "platform"}
SAME = "docs/synonyms.txt"
BLOCK = r"^[^#\s].*\n(?: .*\n)+"  # a line, and the lines below it that are indented
# A thread that is cited in parentheses: "cuda-python 206"
CITED = re.compile(
    r"\b(?!(?:CUDA|and|by|case|driver|error|from|in|lessons?|of|since|step|to|until|version|with)"
    r"\b)[A-Za-z][\w./+-]* \d{3,6}\b(?=[,;)])"
)
LISTS = {"every-call-of-the-book", "all-notes"}  # sections that only list what stands elsewhere
LEAST = 40  # a text of fewer letters says too little alone
SHOWN = 110  # letters of a text
WORD = re.compile(r"[A-Za-z0-9_]{3,}")
EVERYWHERE = re.findall(
    r"\w+",
    "about after again all and another any are back because been before both but call calls can "
    "cuda does doesn each else every first for free from gets goes had has have here how into its "
    "isn less like made make makes may memory more most nothing once one only other out own pool "
    "same says second several some still stream such take takes than that the their them then "
    "there these they this those three too took two until use used was were what when where which "
    "while will with without would you your",
)
LOG = logging.getLogger(__name__)


def text_of(node):
    return " ".join(node.astext().split())


def uncited(text):
    text = re.sub(r"\([^()]*\)", lambda found: CITED.sub("", found[0]), text)
    return re.sub(r" ?\((?:[,; ]|and)*\)", "", text)


# ---- anchors ----


def rows_of(table):
    for body in table.findall(nodes.tbody):
        yield from body.children


def name_questions(app, doctree):
    """Gives each row of a table of questions an anchor."""
    taken = set()
    for table in doctree.findall(nodes.table):
        heads = [text_of(entry) for entry in table.findall(nodes.entry)][:1]
        if not heads or heads[0].lower() not in ASKED:
            continue
        for row in rows_of(table):
            name = "asked-" + nodes.make_id(text_of(row[0]))[:60].strip("-")
            if name not in taken:
                taken.add(name)
                row["ids"].append(name)
                row["asked"] = True


def texts_of(doctree):
    """(section, node, name) of the paragraphs, items and rows of the sections, which stand in no
    question and no fold. A name is what a row or an item defines, or empty."""
    for section in doctree.findall(nodes.section):
        for block in section.children:
            if isinstance(block, nodes.paragraph):
                yield section, block, ""
            elif isinstance(block, (nodes.bullet_list, nodes.enumerated_list)):
                for item in block:
                    yield section, item, ""
            elif isinstance(block, nodes.definition_list):
                for item in block:
                    yield section, item[0], text_of(item[0])
            elif isinstance(block, nodes.table):
                for row in rows_of(block):
                    if not row.get("asked"):
                        yield section, row, text_of(row[0])


def name_texts(app, doctree):
    """Gives what has no anchor one."""
    for number, (_, node, _) in enumerate(texts_of(doctree), 1):
        if not node["ids"]:
            node["ids"].append(f"at-{number}")


# ---- places ----
# A place: [kind, name, a sentence, address, other words by which it is found]


def api_places(env):
    for group, rows in calls.groups().items():
        for name, driver, since, words, _ in rows:
            kind = "attribute" if group == "attributes" else "call"
            found = env.get_domain("cuda").place(kind, name)
            if found:
                codes = calls.codes_of(name) if kind == "call" else ""
                yield [kind, name, f"since {since}: {words}", found, f"{driver} {codes}"]


def section_places(env, page, doctree):
    """Each section of the pages that one looks things up in. A lesson is read from its beginning,
    so its headings are no places."""
    told = ("index", "glossary", ENTRIES, "clinic")
    if LESSON.fullmatch(page) or page.startswith(("notes/", "clinic/")) or page in told:
        return
    title = text_of(env.titles[page])
    for section in doctree.findall(nodes.section):
        first = next((node for node in section if isinstance(node, nodes.paragraph)), None)
        if section.parent is doctree or first is None:
            continue
        others, kind = [title], KINDS.get((page, *section.parent["ids"][:1]), "section")
        if kind != "section":
            others.append(other_words(text_of(first), text_of(section)))
        place = (page, section["ids"][0])
        yield [kind, text_of(section[0]), text_of(first), place, " ".join(others)]


def note_places(env, page, doctree):
    """The sections of a driver note, and each error whose place one of them is."""
    for section in doctree.findall(nodes.section):
        if section.parent is doctree and page.startswith("notes/"):
            continue
        first = next(iter(section.findall(nodes.paragraph)), None)
        sentence = text_of(first) if first else ""
        errors = {text_of(each) for each in section.findall(nodes.literal)}
        errors = sorted(each for each in errors if ERROR.fullmatch(each))
        place = (page, section["ids"][0])
        if page.startswith("notes/"):
            yield ["driver note", text_of(section[0]), sentence, place, " ".join(errors)]
        for error in errors:
            if env.get_domain("cuda").place("error", error) == place:
                yield ["error", error, sentence_with(error, section), place, ""]


def sentence_with(word, section):
    """The first sentence of a section that has the word."""
    for paragraph in section.findall(nodes.paragraph):
        for sentence in re.split(r"(?<=[.:]) ", text_of(paragraph)):
            if word in sentence:
                return sentence
    return text_of(section[0])


def question_places(env, page, doctree):
    """The rows of tables; a row of the clinic leads to its case, which tells more."""
    for row in doctree.findall(nodes.row):
        if row.get("asked"):
            cells = [text_of(cell) for cell in row]
            if page == "clinic":
                case = next(name for name in env.titles if text_of(env.titles[name]) in cells)
                yield ["case", cells[0], text_of(env.titles[case]), (case, ""), case[10:]]
                continue
            name = next(name for name in row["ids"] if name.startswith("asked-"))
            yield ["question", cells[0], cells[1], (page, name), " ".join(cells[2:])]


def entry_places(doctree):
    """The entries of the page of symptoms, each with what to do, and found by its other words."""
    for section in doctree.findall(nodes.section):
        label = next((name for name in section["ids"] if name.startswith("wrong-")), "")
        groups = (nodes.definition_list, nodes.section)
        if label and not any(isinstance(node, groups) for node in section.children):
            first, *others = map(text_of, section.findall(nodes.paragraph))
            place = (ENTRIES, label)
            answer = first.removeprefix("Do this. ")
            yield ["question", text_of(section[0]), answer, place, " ".join(others)]


def word_places(doctree):
    for item in doctree.findall(nodes.definition_list_item):
        for term in item.findall(nodes.term):
            if term["ids"]:
                yield [
                    "word",
                    text_of(term),
                    text_of(item[-1][0]),
                    ("glossary", term["ids"][0]),
                    "",
                ]


def text_places(env, page, doctree):
    """What stands on the page, below the title of its section. A section's first paragraph is the
    section's place, if it has one."""
    if page in UNSEARCHED:
        return
    for section, node, name in texts_of(doctree):
        if LISTS & set(section["ids"]):
            continue
        if isinstance(node, nodes.term):
            if page != "glossary":
                text = text_of(node.parent[-1])
                kind = "bug" if page == BUGS else "text"
                yield [kind, name, text, (page, node["ids"][0]), text_of(section[0])]
            continue
        text = " ".join(map(text_of, node)) if isinstance(node, nodes.row) else text_of(node)
        if len(text) < LEAST or re.match("(call|attribute)-", node["ids"][0]):
            continue
        title = text_of(section[0])
        if section.parent is not doctree:
            title = f"{title} \u2013 {text_of(env.titles[page])}"
        yield ["text", title, text, (page, node["ids"][0]), ""]


def symptom_places(env, anchors):
    labels = env.get_domain("std").anonlabels
    text = (ROOT / SYMPTOMS).read_text(encoding="utf-8")
    for block in re.findall(BLOCK, text, re.M):
        question, place, answer, *others = map(str.strip, block.splitlines())
        also, _, said = " ".join(others).removeprefix("also: ").partition(" said: ")
        page, _, section = place.partition(" ")
        found = labels.get(page, (page, section))
        if found[0] not in anchors or (found[1] and found[1] not in anchors[found[0]]):
            LOG.warning('%s: "%s" leads to %s, which is not there.', SYMPTOMS, question, place)
            continue
        yield ["symptom", question, answer, found, also, said]


def read_doctree(env, page):
    """What a page says, with titles in the place of the names of references."""
    doctree = env.get_doctree(page)
    labels = env.get_domain("std").labels
    for reference in list(doctree.findall(addnodes.pending_xref)):
        target = reference.get("reftarget", "")
        if reference.get("refexplicit"):
            continue
        if reference.get("reftype") == "ref" and target in labels:
            reference.replace_self(nodes.Text(labels[target][2]))
        elif reference.get("reftype") == "doc" and target.lstrip("/") in env.titles:
            reference.replace_self(nodes.Text(text_of(env.titles[target.lstrip("/")])))
    return doctree


def places(env):
    pages = {page: read_doctree(env, page) for page in sorted(env.found_docs)}
    anchors = {
        page: {name for node in doctree.findall(nodes.Element) for name in node.get("ids", ())}
        for page, doctree in pages.items()
    }
    found = [*symptom_places(env, anchors), *api_places(env)]
    for page, doctree in pages.items():
        found += question_places(env, page, doctree)
        found += note_places(env, page, doctree)
        found += section_places(env, page, doctree)
        found += text_places(env, page, doctree)
        if page == "glossary":
            found += word_places(doctree)
        elif page == ENTRIES:
            found += entry_places(doctree)
        elif LESSON.fullmatch(page):
            asks = manifest.manifest(page)["question"]
            found.append(["lesson", text_of(env.titles[page]), asks, (page, ""), ""])
    # An error that a symptom or a question names is found there. Of texts with one beginning the
    # first is enough. Errors and texts come last.
    asked = [
        f"{name} {sentence} {more}"
        for kind, name, sentence, _, more, *_ in found
        if kind in ("symptom", "question")
    ]
    told = set(re.findall(r"\bcudaError\w+", " ".join(asked)))
    found = [place for place in found if place[0] != "error" or place[1] not in told]
    found.sort(key=lambda place: LAST.index(place[0]) if place[0] in LAST else -1)
    seen = set()
    return [
        place
        for place in found
        if place[0] != "text" or (key := place[2][:80]) not in seen and not seen.add(key)
    ]


def write_places(app, error):
    if error or app.builder.name != "html":
        return
    found, texts = [], {}
    for kind, name, sentence, (page, anchor), more, *said in places(app.env):
        sentence, more = uncited(sentence), uncited(more)
        address = app.builder.get_target_uri(page) + (f"#{anchor}" if anchor else "")
        if kind == "text":
            shown = shortened(sentence, SHOWN)
            rest = f"{more} {sentence[len(shown.removesuffix(' ...')) :]}"
            words = other_words(f"{name} {shown}", rest)
            texts.setdefault(name, []).append([address, shown, words])
        else:
            found.append([kind, name, shortened(sentence), address, more.strip(), *said])
    lines = ",\n".join(json.dumps(place, ensure_ascii=False) for place in found)
    write_static(app, "places.js", f"window.workbookPlaces = [\n{lines}\n];\n")
    lines = ",\n".join(json.dumps(same, ensure_ascii=False) for same in synonyms())
    write_static(app, "synonyms.js", f"window.workbookSame = [\n{lines}\n];\n")
    lines = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    write_static(app, "texts.js", f"window.workbookTexts = {lines};\n")
    pages = json.dumps(dict(summaries(app)), ensure_ascii=False, indent=0)
    write_static(app, "summaries.js", f"window.workbookSummaries = {pages};\n")


def synonyms():
    """[what is said, the book's words for it]"""
    text = (ROOT / SAME).read_text(encoding="utf-8")
    for block in re.findall(BLOCK, text, re.M):
        meant, *said = map(str.strip, block.splitlines())
        for each in " ".join(said).split(", "):
            yield [each, meant]


def other_words(shown, rest):
    """The words that are not shown, each once, without those that stand everywhere."""
    known = {*shown.lower().split(), *EVERYWHERE}
    words = dict.fromkeys(WORD.findall(rest))
    return " ".join(word for word in words if word.lower() not in known)


def summaries(app):
    """The address of each page, and its first paragraphs as far as two lines have room. How long a
    lesson takes stands in its first one."""
    for page in sorted(app.env.found_docs):
        paragraphs = [
            text_of(each) for each in read_doctree(app.env, page).findall(nodes.paragraph)
        ]
        words = " ".join(each for each in paragraphs[:4] if not each.startswith("About "))
        yield app.builder.get_target_uri(page), shortened(words, 200)


def setup(app):
    app.add_js_file("finder.js", loading_method="defer")
    app.connect("doctree-read", name_questions)
    app.connect("doctree-read", name_texts, priority=900)
    app.connect("build-finished", write_places)
