"""The programs themselves: on their pages, and each whole file on a page of its own. A recording
has such a page, too.

    .. source:: lessons/04_release_threshold
        a fold, "The program": the heading of a lesson's program as it is delivered, whatever a
        student has made of it, the functions that its solution changes, and main
       :scene: try_threshold    another function that the page asks about
    .. source:: whole docs/clinic/01_handed_over_wrong
        a fold, "The whole program": of any other program the whole file
    :path:`simulator/tests/facts`
        a path of the repository, which must be there; what has a page of its own links to it
    :thread:`rapidsai/rmm 1029`
        an issue or a pull request on GitHub, which the page calls "rmm 1029"

The page of lessons/NN_name.c is listings/lessons/NN_name.html, with an anchor for each line
(#L46). It has the file as it is delivered, too. Where a block on a page names a line, as the
checker's reports do, the name is a link to it. In a report the path of a file that it named before
is there for who copies it, and not seen; nor is the file's name, if no other was named since.
"""

import difflib
import re
from functools import cache
from html import escape
from posixpath import dirname, relpath

import pygments
from docutils import nodes
from pygments.formatters import HtmlFormatter
from pygments.lexers import CLexer
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import ReferenceRole, SphinxRole

from .page import BookDirective, texts
from .runs import ROOT, BookError, text_of, withheld

# Every program that a page may name, but for the mutants, and every recording.
LISTED = (
    "lessons/*.[ch]",
    "solutions/*.c",
    "docs/clinic/*.c",
    "docs/programs/*.c",
    "simulator/tests/facts/*.txt",
)
NAMED_LINE = re.compile(r"(?<![\w/])((?:build/mutants|lessons|solutions|docs)/[\w/]+\.[ch]):(\d+)")
# What the checker prints begins so in a block of a page; a block in colors has elements instead.
REPORT = re.compile(r"(?:^|<pre>(?:<span></span>)?)hazard: ", re.M)
KIND, BOLD = re.compile(r"^(hazard: )([^.<]*\.)"), r"\1<b>\2</b>"
MUTANT = re.compile(r"\b(mutants/\d\d_\w+/\w+)")
LISTED_TOO = set()  # files of mutants that no page names, and that readers run


def named_mutants():
    """The mutants that a page names, as files: reports of their runs name their lines."""
    return {
        f"build/{name}.c"
        for page in (ROOT / "docs").rglob("*.rst")
        for name in MUTANT.findall(page.read_text(encoding="utf-8"))
    }


@cache
def listed():
    """The files that have a listing."""
    files = {file.relative_to(ROOT).as_posix() for each in LISTED for file in ROOT.glob(each)}
    return {file for file in files | named_mutants() | LISTED_TOO if not withheld(file)}


def listing(file):
    """The name of a file's page, without .html."""
    return "listings/" + file.removeprefix("build/").removesuffix(".c")


def html_of(file):
    """The lines of a file as HTML, in colors where it's a program."""
    text = text_of(file)
    return highlighted(text) if file.endswith((".c", ".h")) else escape(text).splitlines()


def highlighted(text):
    """The lines of a program as HTML. The formatter ends what it marks at the end of each line.
    What it marks as a name, a space or punctuation has the color of the block in any case."""
    done = pygments.highlight(text, CLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return re.sub(r'<span class="[npw]">(.*?)</span>', r"\1", done).rstrip("\n").split("\n")


def numbered(lines, first, href=""):
    """Lines of HTML with their numbers, which link to the line itself: here, or on HREF."""
    return "".join(
        f'<span class="line" id="L{number}">'
        f'<a class="linenos" href="{href}#L{number}" tabindex="-1">{number}</a>{line}\n</span>'
        for number, line in enumerate(lines, first)
    )


# ---- a program on its page ----


def parts_of(text):
    """(first line, lines) of each part of a program: its heading, each function, each group.

    A part begins after an empty line, in the first column.
    """
    parts, lines = [], text.splitlines()
    for number, line in enumerate(lines, 1):
        if not parts or (line[:1].strip() and not lines[number - 2].strip()):
            parts.append((number, []))
        parts[-1][1].append(line)
    return parts


def changed_lines(file):
    """The lines of a lesson's program that its solution changes, by number."""
    before, after = (
        text_of(f"{folder}/{file}").splitlines() for folder in ("lessons", "solutions")
    )
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return {
        number
        for kind, first, end, _, _ in matcher.get_opcodes()
        if kind != "equal"
        for number in range(first + 1, max(end, first + 1) + 1)
    }


def defines(lines, function):
    """Whether these lines have the definition of that function."""
    return any(re.match(rf"\w.*\b{re.escape(function)}\(", line) for line in lines)


class ProgramSource(BookDirective):
    title = "The program"
    option_spec = texts("scene")

    def run(self):
        program = self.arguments[0]
        file = f"{program}.c"
        text = text_of(file)
        lines = text.splitlines()
        shown = set(range(1, len(lines) + 1))
        if program.startswith("lessons/"):
            shown = self.asked_about(file, text)
        html = highlighted(text)
        href = relpath(listing(file), dirname(self.env.docname) or ".") + ".html"
        pieces, number = [], 1
        while number <= len(lines):
            end = number
            while end <= len(lines) and (end in shown) == (number in shown):
                end += 1
            if number in shown:
                pieces.append(numbered(html[number - 1 : end - 1], number, href))
            else:
                words = f"line {number}" if end == number + 1 else f"lines {number} to {end - 1}"
                pieces.append(f'<a class="left-out" href="{href}#L{number}">{words}</a>\n')
            number = end
        head = nodes.paragraph(classes=["program-name"])
        head += file_reference(file)
        head += nodes.Text(f", {len(lines)} lines")
        code = (
            '<div class="highlight-c notranslate program-source"><div class="highlight"><pre>'
            f"{''.join(pieces)}</pre></div></div>"
        )
        # The index of all words is the text's: a program is found by its listing.
        fold = self.lines([f".. dropdown:: {self.title}", "", "   The program."])
        fold[0][1:] = [head, nodes.raw("", code, format="html", classes=["no-search"])]
        return fold

    def asked_about(self, file, text):
        """The lines of a lesson's program that its page shows."""
        parts, shown = parts_of(text), set()
        changed = changed_lines(file.removeprefix("lessons/"))
        scene = self.options.get("scene", "").split()
        for function in scene:
            if not any(defines(lines, function) for _, lines in parts):
                raise BookError(f"{self.env.docname}: {file} has no function {function}.")
        for first, lines in parts:
            numbers = range(first, first + len(lines))
            if (
                first == 1
                or changed.intersection(numbers)
                or any(defines(lines, function) for function in ["main", *scene])
            ):
                shown.update(numbers)
        return shown


class WholeProgram(ProgramSource):
    title = "The whole program"


# ---- links to listings ----


class file_reference(nodes.inline):
    """A file that has a listing, or one line of it; becomes a link where the listings are built."""

    def __init__(self, file="", words="", line=0, **more):
        shown = nodes.literal("", words or file, classes=["file"])
        super().__init__("", "", shown, file=file, line=line, **more)


class LinkFiles(SphinxPostTransform):
    default_priority = 400

    def run(self, **more):
        for node in list(self.document.findall(file_reference)):
            found = node.children
            if has_listings(self.app.builder):
                uri = self.app.builder.get_relative_uri(self.env.docname, listing(node["file"]))
                uri += f"#L{node['line']}" if node["line"] else ""
                found = [nodes.reference("", "", *found, internal=True, refuri=uri)]
            node.replace_self(found)


class PathRole(SphinxRole):
    """A path from the top of the repository. One that is not there is a warning, so an error."""

    def run(self):
        if not (ROOT / self.text).exists():
            logging.getLogger(__name__).warning(
                "%s is not there", self.text, location=self.get_location()
            )
        if self.text in listed():
            return [file_reference(self.text)], []
        return [nodes.literal(self.rawtext, self.text, classes=["file"])], []


class ThreadRole(ReferenceRole):
    """A thread on GitHub, which leads from the address of an issue to that of a pull request."""

    def run(self):
        repository, number = self.target.rsplit(None, 1)
        words = self.title if self.has_explicit_title else f"{repository.split('/')[1]} {number}"
        address = f"https://github.com/{repository}/issues/{number}"
        return [nodes.reference(self.rawtext, words, refuri=address)], []


def has_listings(builder):
    return builder.format == "html" and builder.name != "epub"


def without_links(app, page, template, context, doctree):
    """In an EPUB what links to a listing is text."""
    if not has_listings(app.builder) and "body" in context:
        context["body"] = re.sub(
            r'<a class="(linenos|left-out)"[^>]*>(.*?)</a>',
            r'<span class="\1">\2</span>',
            context["body"],
        )


def link_block(builder, page, block):
    """In a block of a page, highlighted, "lessons/08_stream_order.c:46" becomes a link to that
    line."""
    named, report = [], REPORT.search(block)

    def link(match):
        file, line = match.groups()
        if file not in listed():
            return match[0]
        uri = builder.get_relative_uri(page, listing(file))
        words = file
        if report and file in named:
            again = file if named[-1] == file else f"{dirname(file)}/"
            words = f'<span class="path-again">{again}</span>{file.removeprefix(again)}'
        named.append(file)
        return f'<a class="line-link" href="{uri}#L{line}">{words}:{line}</a>'

    linked = NAMED_LINE.sub(link, block)
    return hanging(linked) if report else linked


def hanging(block):
    """A block with reports whose lines are elements of their own, and its kinds of hazard bold."""

    def line(text):
        first = "" if text.startswith("  ") else " first"
        return f'<span class="report-line{first}">{KIND.sub(BOLD, text)}\n</span>'

    before, _, rest = block.partition("<pre>")
    text, _, after = rest.removeprefix("<span></span>").rpartition("</pre>")
    lines = "".join(map(line, text.rstrip().splitlines()))
    return f'{before}<pre class="report">{lines}</pre>{after}'


def page_of(file, docnames):
    """The page that teaches with that file, if any."""
    stem = file.rsplit("/", 1)[1].removesuffix(".c").removesuffix("_wrong")
    names = [stem, f"clinic/{stem}", *([file.split("/")[2]] if "mutants/" in file else [])]
    return next((name for name in names if name in docnames), None)


def listing_pages(app):
    """The pages of all listings, for Sphinx to write, but not beside a page of a test."""
    if not has_listings(app.builder) or app.srcdir != ROOT / "docs":
        return
    for file in sorted(listed()):
        lines = html_of(file)
        page = page_of(file, app.env.all_docs)
        back = ""
        if page:
            uri = app.builder.get_relative_uri(listing(file), page)
            title = escape(app.env.titles[page].astext())
            back = f'<p>Its page: <a href="{uri}">{title}</a></p>'
        body = (
            f"<section><h1>{escape(file)}</h1>{back}"
            '<div class="highlight-c notranslate listing"><div class="highlight"><pre>'
            f"{numbered(lines, 1)}</pre></div></div></section>"
        )
        yield listing(file), {"title": file, "body": body, "parents": []}, "page.html"


NAVIGATION = {}  # what makes the navigation of a listing, by how deep its folder is


def share_navigation(app, page, template, context, doctree):
    """No listing is in the navigation, so that of one is that of all in folders as deep. To make it
    is most of the work for a listing."""
    if page.startswith("listings/"):
        context["toctree"] = NAVIGATION.setdefault(page.count("/"), cache(context["toctree"]))


def setup(app):
    app.connect("builder-inited", lambda app: NAVIGATION.clear())
    app.add_role("path", PathRole())
    app.add_role("thread", ThreadRole())
    app.add_node(file_reference)
    app.add_post_transform(LinkFiles)
    app.connect("html-page-context", share_navigation, priority=100)  # before the theme's
    app.connect("html-page-context", without_links)
    app.connect("html-collect-pages", listing_pages)
    app.add_css_file("lesson.css")
