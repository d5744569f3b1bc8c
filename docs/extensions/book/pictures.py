"""The book's pictures: from the journals of runs, and drawn where no journal can.

    .. picture:: memory solutions/04_release_threshold
        memory over time (memory_picture.py)
       :title: what it shows, in one sentence: its headline
       :calls: cudaFreeAsync           the calls that have a column
       :pools: 3 6                     these pools alone
       :names: first | second          what they are called
       :watermarks:                    with the watermarks of both figures
       :importer:                      with what another process does with an allocation
    .. picture:: order solutions/01_first_allocation
        calls and device work in their order (order_picture.py)
       :streams: worker | reader       what the streams are called, in the order of their columns
       :report:                        with what the checker found missing, in red; with
                                       "of these calls", as far as they are shown
       :scale:                         to scale, time to the right (scaled_picture.py)
       :no-host:                       without the calls: what they put into the streams alone
       :most: 6                        so many calls at most, and how many more there were
       :from: main: launch_fill(       from what this line of main calls
       :to: main 2                     up to the last call of main's second run: chosen.py
       :case: 3                        from the creation of pool 3 to its destruction
       :environment: SIM_SCHEDULE=late of another run
    .. picture:: drawing ladder
        one of drawings.py
    .. picture:: pair
        two of these, its content, that a reader compares: side by side where there is room, the
        first above on a narrow page

The content is the caption. Each picture has a form for wide pages and one for narrow ones, which
docs/_static/pictures.css switches, and its rows as a folded table. Those of a pair have the narrow
form alone, of which two stand in a page's width. A picture whose words do not fit ends the build.
"""

from functools import partial
from html import escape

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from . import chosen, drawings, memory_picture, order_picture, scaled_picture
from .page import BookDirective, texts, written
from .runs import BookError, run_program

# The width of a page's text, and of a phone's screen without its margins.
WIDE, NARROW = 720, 356


def barred(words):
    return [word.strip() for word in words.split("|")]


def html_table(heads, rows):
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return (
        '<details class="picture-rows"><summary>The picture as a table</summary>'
        f"<table><thead>{line(heads, 'th')}</thead><tbody>"
        f"{''.join(line(row, 'td') for row in rows)}</tbody></table></details>"
    )


FORMS = (("wide", WIDE), ("narrow", NARROW))
FORMS_OF_PAIR = (("paired", NARROW),)


def frame(identity, title, description, forms, table, say):
    """The forms of a picture, which are [(name, canvas)], and its table."""
    title = say[title]
    forms = "".join(
        f'<div class="{name}">{canvas.svg(f"{identity}-{name}", title, description)}</div>'
        for name, canvas in forms
    )
    # The name of a function stays as it is.
    headline = escape(title if title.startswith("cuda") else title[0].upper() + title[1:])
    framed = f'<div class="picture "><p class="picture-title">{headline}</p>{forms}</div>'
    return framed + html_table(*table)


class Picture(BookDirective):
    has_content = True
    option_spec = {
        **texts("arguments", "environment", "calls", "title", "from", "to"),
        "case": directives.nonnegative_int,
    }
    kind = ""

    def chosen(self, journal):
        """The numbers of the calls that the options choose, or None for all."""
        given = {key: self.options.get(key) for key in ("from", "to", "case")}
        if all(value is None for value in given.values()):
            return None
        from_, to, case = given.values()
        return chosen.choose(journal, from_ or "", to or "", case)

    def picture(self, journal, run):
        """Returns what draws it in a width, and its (heads, rows)."""
        raise NotImplementedError

    def run(self):
        program = self.arguments[0]
        arguments = self.parts_of("arguments")
        run = run_program(program, arguments, self.parts_of("environment"))
        name = " ".join([program.split("/")[1], *arguments])
        try:
            draw, table = self.picture(run.journal, run)
            return self.framed(self.options.get("title", name), self.kind, draw, table)
        except (KeyError, IndexError, ValueError) as error:
            raise BookError(
                f"{self.env.docname}: no picture can be drawn from the journal of {name}: {error!r}"
            ) from error

    def framed(self, title, kind, draw, table):
        number = self.env.new_serialno("picture")
        identity = f"{self.env.docname}-{number}".replace("/", "-")
        description = f"{kind} The table below the picture has its rows."
        forms = FORMS_OF_PAIR if self.env.temp_data.get("picture-pair") else FORMS
        drawn = [(name, draw(width)) for name, width in forms]
        found = self.written(partial(frame, identity, title, description, drawn, table), title)
        caption = nodes.container(classes=["picture-caption"])
        self.state.nested_parse(self.content, self.content_offset, caption)
        return [found, caption] if self.content else [found]


class MemoryPicture(Picture):
    option_spec = {
        **Picture.option_spec,
        "pools": lambda words: [int(word) for word in words.split()],
        "names": barred,
        "watermarks": directives.flag,
        "importer": directives.flag,
    }
    kind = "Memory over time: calls from left to right, addresses upward."

    def picture(self, journal, run):
        marks = "watermarks" in self.options
        if "importer" in self.options:
            journal = list(memory_picture.with_importer(journal, run.second))
        pools = memory_picture.chosen(
            journal,
            self.options.get("calls", "").split(),
            self.options.get("pools", ()),
            self.options.get("names", ()),
            numbers=self.chosen(journal),
        )
        return (
            lambda width: memory_picture.draw(pools, width, marks),
            memory_picture.table(pools, marks),
        )


class OrderPicture(Picture):
    option_spec = {
        **Picture.option_spec,
        "streams": barred,
        "report": lambda text: directives.choice(text or "all", ("all", "of these calls")),
        "scale": directives.flag,
        "most": directives.positive_int,
        "no-host": directives.flag,
    }
    kind = "Stream order: time from top to bottom, the host on the left, streams beside it."

    def picture(self, journal, run):
        missing = order_picture.unordered(journal) if "report" in self.options else ()
        order = order_picture.read(
            journal,
            self.options.get("calls", "").split(),
            self.chosen(journal),
            self.options.get("streams", ()),
            self.options.get("most"),
            missing,
            host="no-host" not in self.options,
        )
        drawn = sum(kind == "missing" for item in order.items for kind, _ in item.edges)
        expected = len(missing) if self.options.get("report") == "all" else drawn
        if "report" in self.options and not 0 < drawn == expected:
            raise ValueError("not all that the checker reported is in the picture")
        form = order_picture
        if "scale" in self.options:
            form = scaled_picture
            self.kind = (
                "Stream order to scale: time from left to right, the streams below the host."
            )
        return lambda width: form.draw(order, width), form.table(order)


class DrawnPicture(Picture):
    def run(self):
        name = self.arguments[0]
        if name not in drawings.DRAWINGS:
            raise BookError(f"{self.env.docname}: drawings.py has no drawing {name}.")
        drawing = drawings.DRAWINGS[name]
        try:
            return self.framed(drawing.title, "A drawing.", drawing.draw, drawing.table())
        except (KeyError, IndexError, ValueError) as error:
            raise BookError(f"The drawing {name} cannot be drawn: {error}") from error


class PicturePair(SphinxDirective):
    has_content = True

    def run(self):
        self.env.temp_data["picture-pair"] = True
        try:
            content = self.parse_content_to_nodes()
        finally:
            del self.env.temp_data["picture-pair"]
        pair = nodes.container(classes=["picture-pair"])
        for node in content:
            if isinstance(node, written):
                pair += nodes.container(classes=["picture-cell"])
            if not len(pair):
                raise BookError(f"{self.env.docname}: a pair begins with a picture.")
            pair[-1] += node
        if len(pair) != 2:
            raise BookError(f"{self.env.docname}: a pair has {len(pair)} pictures, not 2.")
        return [pair]


def setup(app):
    app.add_css_file("pictures.css")
