"""What every page of the book has besides its text.

- a description, an icon and, where the book has a public address, a canonical address and a preview
  card for other sites; the list of all pages (sitemap.xml);
- for each word of the glossary that the page uses, its meaning, which _static/site.js shows;
- of the styles of the theme, of folds and of tabs only what the pages use, and of scripts and
  styles what a browser needs: no comments, nothing that indents a line;
- what the theme leaves out: the level of the sidebar's captions, groups of lessons that fold, and
  one meta "viewport" instead of two;
- in the EPUB, what its format requires; and since nothing folds there, what a reader should not see
  beside the exercise stands at the chapter's end, on a page of its own;
- a block of code whose first line has the prompt "$ " is shown as what a person types;
- the scripts and styles of _static that something on it needs;
- what the checks have left behind, for the ticks of the lessons: in the table of the book's first
  page, in the sidebar, and at the end of each lesson's page. tools/progress.sh writes
  build/progress/NN_name and _static/passed.js of a built book; here the book gets that file when
  it is built, and docs/_static/progress.js shows it.

How a node becomes HTML where Sphinx's own way is not enough:

- A node has attributes of HTML in node["html"]: what shows the meaning of a word, and the name of
  its column for a cell of a table whose rows are cards on a narrow screen.
- In a table of cards a long name of a call may be broken between its words.
- In a block, "lessons/08_stream_order.c:46" is a link to that line (sources.link_block).

A public address is html_baseurl; conf.py takes it from the environment.
"""

import re
import subprocess
from html import escape
from shutil import copy

from docutils import nodes
from sphinx.builders.epub3 import Epub3Builder
from sphinx.writers.html5 import HTML5Translator
from sphinx_design.dropdown import dropdown_main
from sphinx_design.shared import is_component

from .page import shortened
from .runs import ENVIRONMENT, ROOT
from .sources import link_block

NO_SUCH_PAGE = "404"  # a server shows it for any address that is none of the book's
DESCRIPTION_LENGTH = 155  # more is cut off by what shows it
BETWEEN_WORDS = re.compile("(?<!^cu)(?<!^cuda)(?<=[a-z])(?=[A-Z])")
# What the body of a page has, and the styles and scripts that this needs.
BENCH = ("simulated_device.js", "run_steps.js", "run_view.js", "bench.js")
NEEDED = {
    'id="pool-bench"': ("stepper.css", "bench.css", *BENCH),
    'class="live"': ("bench.css", "live.js"),
    'class="stepper"': ("stepper.css", "run_view.js", "stepper.js"),
    " data-stage": ("stage.css",),
    'class="days-toy"': ("days.css", "days.js"),
    'class="dial-live"': ("dial.css", "dial.js"),
}


def show_commands(app, doctree):
    """Gives what a person types the language of a terminal, whatever directive made the block."""
    for block in doctree.findall(nodes.literal_block):
        if block.astext().startswith("$ ") and block.get("language", "text") == "text":
            block["language"] = "console"


def meanings(app):
    """What each word of the glossary means: from the end of its anchor to its first paragraph."""
    if not hasattr(app, "glossary_meanings"):
        app.glossary_meanings = {
            name.removeprefix("term-"): " ".join(item[-1][0].astext().split())
            for item in app.env.get_doctree("glossary").findall(nodes.definition_list_item)
            for term in item.findall(nodes.term)
            for name in term["ids"]
        }
    return app.glossary_meanings


def add_tips(app, doctree, page):
    """Connects each word of the glossary with its meaning, which stands once on the page."""
    if app.builder.name != "html" or page == "glossary":
        return
    used = {}
    for word in doctree.findall(nodes.reference):
        target, _, name = word.get("refuri", "").partition("#term-")
        if name and target.endswith("glossary.html"):
            used[name] = meanings(app)[name]
            word["html"] = {"aria-describedby": f"tip-{name}"}
    doctree += [
        nodes.raw(
            "",
            f'<p class="tip" role="tooltip" id="tip-{name}" hidden>{escape(text)}</p>\n',
            format="html",
        )
        for name, text in sorted(used.items())
    ]


def description(doctree):
    """The first sentences of a page, as much as other sites show. A paragraph that begins in
    italics is not the page's text: it says how long a lesson takes, or what the page is from."""
    paragraphs = doctree.findall(nodes.paragraph)
    own = (one for one in paragraphs if not isinstance(one.next_node(), nodes.emphasis))
    first = next(own, None)
    return shortened(" ".join(first.astext().split()) if first else "", DESCRIPTION_LENGTH)


def head(app, page, context, doctree):
    """The page's meta elements, but for those that the theme writes."""
    about = (doctree and description(doctree)) or app.config.html_title
    written = [f'<meta name="description" content="{escape(about)}">']
    base = app.config.html_baseurl
    if base:
        card = {
            "og:type": "article",
            "og:site_name": app.config.project,
            "og:title": context.get("title") or app.config.html_title,
            "og:description": about,
            "og:url": context.get("pageurl") or base,
            "og:image": f"{base}_static/card.png",
            "og:image:alt": app.config.html_title,
        }
        written += [
            f'<meta property="{name}" content="{escape(re.sub("<[^>]*>", "", value))}">'
            for name, value in card.items()
        ]
        written.append('<meta name="twitter:card" content="summary_large_image">')
        if page == NO_SUCH_PAGE:
            written.append(f'<base href="{escape(base)}">')
    return "\n".join(written)


GROUP = re.compile(
    r'(<p class="caption"[^>]*><span class="caption-text">[^<]*</span></p>)\s*'
    r'(<ul(?: class="current")?>.*?</ul>)(?=\s*(?:<p class="caption"|</div>|$))',
    re.S,
)


def fold_lessons(match):
    """In the sidebar a group of lessons folds, and is open where one of its pages is shown."""
    caption, pages = match.groups()
    if not re.search(r">\d\d ", pages):
        return match[0]
    opened = " open" if pages.startswith('<ul class="current"') else ""
    caption = caption.replace("<p ", "<span ").replace("</p>", "</span>")
    return (
        f'<details class="lesson-group"{opened}><summary>{caption}'
        f'<span class="group-ticks"></span></summary>{pages}</details>'
    )


# Titles of what a reader should not see beside the exercise. Their folds have this class, by which
# pdf.js finds them, too.
NOT_BESIDE = re.compile(
    r"(Answer|The answers|Hint \d.*|What the solution .*|What make check-\d\d .*)"
)
ASIDE = "not-beside"


def title_of(fold):
    texts = (text for text in fold[0].findall(nodes.Text) if not isinstance(text.parent, nodes.raw))
    return " ".join("".join(texts).split())


def mark_folds(app, doctree):
    """Gives each outermost fold with a hint or an answer its class."""
    for fold in doctree.findall(lambda node: is_component(node, "dropdown")):
        inside = fold.parent
        while inside is not None and not is_component(inside, "dropdown"):
            inside = inside.parent
        if inside is None and NOT_BESIDE.fullmatch(title_of(fold)):
            fold["container_classes"] = [*fold["container_classes"], ASIDE]


def move_to_end(app, doctree, page):
    """In an EPUB a fold with a hint or an answer moves to the chapter's end, and leaves a link."""
    if app.builder.name != "epub":
        return
    section = next(iter(doctree.findall(nodes.section)))
    end = nodes.section("", nodes.title("", "Hints and answers"), ids=["hints-and-answers"])
    end["classes"].append("on-a-new-page")
    for fold in list(doctree.findall(dropdown_main)):
        if ASIDE not in fold["classes"]:
            continue
        title = title_of(fold)
        name = f"hints-and-answers-{len(end)}"
        link = nodes.reference("", title, internal=True, refid=name)
        note = nodes.paragraph("", "", nodes.Text("At the chapter's end: "), link)
        fold.parent[fold.parent.index(fold)] = note
        end += nodes.section("", nodes.title("", title), *fold[1:], ids=[name])
    if len(end) > 1:
        section += end


LESSON = re.compile(r'<a class="(current )?reference internal" href="([^"]*)">((\d\d) [^<]*)</a>')


def rail_of(tree):
    """The lessons as the segments of a pool, with a gap between two parts."""
    groups = []
    for _, pages in GROUP.findall(tree):
        segments = "".join(
            f'<a href="{address}" title="{title}" aria-label="{title}"'
            f"{' aria-current=page' if current else ''}>{number}</a>"
            for current, address, title, number in LESSON.findall(pages)
        )
        if segments:
            groups.append(f"<div>{segments}</div>")
    return "".join(groups)


# A word of code, such as make check-06, does not end a line at its hyphen.
HYPHENATED = re.compile(r'<span class="pre">(?=[^<]{1,24}</)(?=[^<]*-)')


def finish_page(app, page, template, context, doctree):
    if app.builder.name == "epub":
        context["body"] = xhtml(context.get("body", ""))
    if app.builder.name != "html":
        return
    tree = context.get("furo_navigation_tree")
    if tree:  # the captions beside the page (sphinx issue 14030)
        tree = tree.replace('role="heading"', 'role="heading" aria-level="2"')
        context["rail"] = rail_of(tree)
        context["furo_navigation_tree"] = GROUP.sub(fold_lessons, tree)
    context["body"] = HYPHENATED.sub('<span class="pre whole">', context.get("body", ""))
    kept = re.sub(r'<meta [^>]*name="viewport"[^>]*>', "", context.get("metatags", ""))
    context["metatags"] = kept + head(app, page, context, doctree)
    # What a page has not is not loaded: the style of folds and tabs, and what moves tabs. Code has
    # the colors of workbook.css.
    sheets = context["css_files"]
    context["css_files"] = [one for one in sheets if "pygments" not in str(one.filename)]
    for mark, file in (("sd-", "sphinx-design"), ("sd-tab-set", "design-tabs")):
        if mark not in context.get("body", ""):
            for kind in ("css_files", "script_files"):
                context[kind] = [one for one in context[kind] if file not in str(one.filename)]


MARKER = re.compile(r'<span class="sd-summary-(?:state-marker|icon)[^>]*>.*?</svg></span>', re.S)


TAB = re.compile(r'<input [^>]*name="sd-tab-set[^>]*>\s*<label [^>]*>(.*?)</label>', re.S)


def xhtml(body):
    """In an EPUB a page is XML, and nothing on it is folded: tabs stand one below the other."""
    body = TAB.sub(r"<p><strong>\1</strong></p>", MARKER.sub("", body))
    body = re.sub(r"<(br|hr|img|input)\b([^>]*?)\s*/?>", r"<\1\2 />", body)
    body = body.replace("<details ", '<details open="open" ')
    return re.sub(r"<svg (?![^>]*xmlns=)", '<svg xmlns="http://www.w3.org/2000/svg" ', body)


class Epub(Epub3Builder):
    """Sphinx's builder, which declares neither the cover nor the pages that have drawings."""

    def build_content(self):
        cover = self.config.epub_cover[0]
        copy(self.srcdir / cover, self.outdir / cover)
        super().build_content()
        package = self.outdir / "content.opf"

        def declare(item):
            if item[1] == cover:
                return item[0] + 'properties="cover-image" '
            page = self.outdir / item[1]
            drawn = page.suffix == ".xhtml" and "<svg" in page.read_text(encoding="utf-8")
            return item[0] + ('properties="svg" ' if drawn else "")

        text = package.read_text(encoding="utf-8")
        package.write_text(
            re.sub(r'<item id="epub-[^"]*" href="([^"]*)" media-type="[^"]*" ', declare, text),
            encoding="utf-8",
        )


RULE = re.compile(r"([^{}@;]+)\{[^{}]*\}")
ATTRIBUTE = re.compile(r'\b(?:class|id)="([^"]*)"')
ASKED = re.compile(r"var\((--[\w-]+)")
GIVEN = re.compile(r"""(--[\w-]+):(?:url\((?:"[^"]*"|'[^']*')\)|[^;{}])*(?:;|(?=\}))""")
# Words of the pages, and no names of classes
SAID = ("places.js", "texts.js", "synonyms.js", "summaries.js")


def shorten_styles(folder):
    """Leaves out of the styles of others what no page has: of folds and tabs, 44 of 54 KB; of the
    theme, 20 of 50 KB. Each page would load them."""
    pages = [page.read_text(encoding="utf-8") for page in folder.rglob("*.html")]
    scripts = [
        file.read_text(encoding="utf-8")
        for file in (folder / "_static").rglob("*.js")
        if file.name not in SAID
    ]
    used = {name for page in pages for names in ATTRIBUTE.findall(page) for name in names.split()}
    used.update(name for script in scripts for name in re.findall(r"[\w-]+", script))

    def kept(rule):
        selectors = [
            selector
            for selector in rule[1].split(",")
            if "(" in (plain := re.sub(r":not\([^)]*\)", "", selector))
            or used.issuperset(re.findall(r"[.#]([\w-]+)", plain.replace("\\", "")))
        ]
        return ",".join(selectors) + rule[0][len(rule[1]) :] if selectors else ""

    styles = [*(folder / "_static/styles").glob("*.css"), *folder.rglob("sphinx-design.min.css")]
    for style in styles:
        text = re.sub(r"/\*.*?\*/\n?", "", style.read_text(encoding="utf-8"), flags=re.S)
        style.write_text(RULE.sub(kept, text), encoding="utf-8")
    # A variable may be asked for by another one alone.
    dropped = True
    while dropped:
        sheets = [file.read_text(encoding="utf-8") for file in folder.rglob("*.css")]
        asked = {name for text in (*pages, *sheets) for name in ASKED.findall(text)}
        dropped = False
        for style in styles:
            text = style.read_text(encoding="utf-8")
            less = GIVEN.sub(lambda found, asked=asked: found[0] if found[1] in asked else "", text)
            style.write_text(less, encoding="utf-8")
            dropped |= less != text


def write_sitemap(app):
    lines = (
        f"  <url><loc>{escape(app.config.html_baseurl + page)}.html</loc></url>"
        for page in sorted(app.env.found_docs - {NO_SUCH_PAGE})
    )
    (app.outdir / "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        + "\n".join(lines)
        + "\n</urlset>\n"
    )


def shorten_scripts(folder):
    """Leaves out comments, which stand alone or after a statement, and what indents a line: a text
    of several lines is HTML, where nothing depends on that."""
    for file in folder.glob("*.[jc]s*"):
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".css":
            text = re.sub(r" */\*.*?\*/\n?", "", text, flags=re.S)
            # Outside of strings, which are the odd parts.
            parts = re.split(r"""("[^"\n]*"|'[^'\n]*')""", text)
            for at in range(0, len(parts), 2):
                parts[at] = re.sub(r"\s*([{};,])\s*|(:)\s+", r"\1\2", parts[at])
            text = "".join(parts)
        text = re.sub(r"^ *//.*\n|(?<=[;,{]) +//.*|^ +", "", text, flags=re.M)
        file.write_text(text, encoding="utf-8")


def publish(app, error):
    if error or app.builder.name != "html":
        return
    shorten_styles(app.outdir)
    shorten_scripts(app.outdir / "_static")
    (
        app.outdir / ".nojekyll"
    ).touch()  # GitHub Pages then also serves the folders with an underscore
    if app.config.html_baseurl:
        write_sitemap(app)


def label_cells(doctree):
    """Each cell of a table of cards gets the name of its column."""
    for table in doctree.findall(nodes.table):
        if "cards" not in table["classes"]:
            continue
        for row in table.findall(nodes.row):
            heads = [cell.astext() for cell in next(iter(table.findall(nodes.thead)))[0]]
            if isinstance(row.parent, nodes.tbody):
                for cell, head in zip(row, heads):
                    cell["html"] = {"data-label": head}
                    for name in cell.findall(nodes.literal):
                        name["breaks"] = True


class PageTranslator(HTML5Translator):
    def starttag(self, node, tagname, suffix="\n", empty=False, **attributes):
        more = node.get("html", {}) if isinstance(node, nodes.Element) else {}
        return super().starttag(node, tagname, suffix, empty, **more, **attributes)

    def visit_Text(self, node):
        if isinstance(node.parent, nodes.literal) and node.parent.get("breaks"):
            words = BETWEEN_WORDS.sub("<wbr>", self.encode(node.astext()))
            self.body.append(f'<span class="pre">{words}</span>')
        else:
            super().visit_Text(node)

    def visit_literal_block(self, node):
        try:
            super().visit_literal_block(node)
        except nodes.SkipNode:
            self.body[-1] = link_block(self.builder, self.docnames[0], self.body[-1])
            raise


def add_files(app, page, template, context, doctree):
    body, files = context.get("body", ""), []
    if app.builder.name == "html":
        files += ["passed.js", "progress.js"]
        if re.fullmatch(r"\d\d_\w+", page):
            context["body"] += f'<p class="lesson-done" data-lesson="{page}" hidden></p>'
    files += [file for words, needed in NEEDED.items() if words in body for file in needed]
    for file in files:
        if file.endswith(".css"):
            app.add_css_file(file)
        else:
            app.add_js_file(file, loading_method="defer")


def write_progress(app, error):
    if error is None and app.builder.format == "html" and app.builder.name != "epub":
        subprocess.run(
            ["tools/progress.sh", "write", app.outdir / "_static" / "passed.js"],
            cwd=ROOT,
            env=ENVIRONMENT,
            check=True,
        )


def setup(app):
    app.set_translator("html", PageTranslator)
    app.add_builder(Epub, override=True)
    app.connect("doctree-read", show_commands)
    app.connect("doctree-read", mark_folds)
    app.connect("doctree-resolved", move_to_end)
    app.connect(
        "doctree-resolved",
        lambda app, doctree, page: label_cells(doctree) if app.builder.name == "html" else None,
    )
    app.connect("doctree-resolved", add_tips)
    app.connect("html-page-context", finish_page, priority=900)
    app.connect("html-page-context", add_files)
    app.connect("build-finished", publish)
    app.connect("build-finished", write_progress)
