"""The domain cuda: the calls, attributes and errors that have a place in this book.

A place is a row of a table of calls (which calls `name_calls`), or the section that explains an
error, in a driver note if there is one. Sphinx's search ranks each before the pages that name it,
and the finder has its address from here. :cuda:call:`cudaMallocAsync` is a link to that place, and
ends the build where there is none: calls.py makes them.
"""

import re

from docutils import nodes
from sphinx.domains import Domain, ObjType
from sphinx.roles import XRefRole
from sphinx.util.nodes import make_refnode

KINDS = ("call", "attribute", "error")
ERROR = re.compile(r"cudaError[A-Z]\w+")


class CudaDomain(Domain):
    name = "cuda"
    label = "CUDA"
    object_types = {kind: ObjType(kind, kind) for kind in KINDS}
    roles = {"call": XRefRole()}
    initial_data = {"places": {}}  # of each page: {(kind, name): anchor}

    def note(self, kind, name, anchor):
        """The page that is read has a place for it; the first one on a page counts."""
        page = self.data["places"].setdefault(self.env.docname, {})
        page.setdefault((kind, name), anchor)

    def place(self, kind, name):
        """The page and the anchor, or None."""
        pages = [page for page, found in self.data["places"].items() if (kind, name) in found]
        page = min(pages, key=lambda page: (not page.startswith("notes/"), page), default=None)
        return page and (page, self.data["places"][page][kind, name])

    def resolve_xref(self, env, fromdocname, builder, typ, target, node, contnode):
        place = self.place(typ, target)
        return place and make_refnode(builder, fromdocname, *place, contnode, target)

    def get_objects(self):
        for kind, name in sorted({key for page in self.data["places"].values() for key in page}):
            yield name, name, kind, *self.place(kind, name), 1


def name_calls(env, kind, found):
    """Gives each row of a table of calls or attributes an anchor and its place."""
    for table in (table for node in found for table in node.findall(nodes.table)):
        for body in table.findall(nodes.tbody):
            for row in body:
                name = next(iter(row.findall(nodes.literal))).astext()
                row["ids"].append(f"{kind}-{name}")
                env.get_domain("cuda").note(kind, name, f"{kind}-{name}")


def name_errors(app, doctree):
    """The innermost section that names an error is its place."""
    for section in doctree.findall(nodes.section):
        if any(isinstance(child, nodes.section) for child in section):
            continue
        for word in section.findall(nodes.literal):
            if ERROR.fullmatch(word.astext()):
                app.env.get_domain("cuda").note("error", word.astext(), section["ids"][0])


def setup(app):
    app.add_domain(CudaDomain)
    app.connect("doctree-read", name_errors)
