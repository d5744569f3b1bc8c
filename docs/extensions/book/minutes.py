"""How long a page takes: a lesson as its manifest says, another page as its own first lines state:
"About 25 minutes", "About three hours".

:minutes:`04_release_threshold`
    "25 min", or "3 hours"
:minutes:`01_first_allocation 02_default_pool`
    the sum of several; ``lessons`` stands for all of them
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxRole

from . import manifest

DOCS = Path(__file__).resolve().parents[2]
STATED = re.compile(r"\bAbout\s+(\w+)\s+(minute|hour)s?\b")
WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}


def minutes(page):
    if page in manifest.lessons():
        return manifest.manifest(page)["minutes"]
    text = (DOCS / f"{page}.rst").read_text(encoding="utf-8")
    found = STATED.search(text[:1500])
    if not found:
        raise ValueError(f"docs/{page}.rst does not begin with how long it takes: About N minutes")
    number = WORDS.get(found[1]) or int(found[1])
    return number * (60 if found[2] == "hour" else 1)


class Minutes(SphinxRole):
    def run(self):
        try:
            pages = [
                page
                for word in self.text.split()
                for page in (manifest.lessons() if word == "lessons" else [word])
            ]
            total = sum(map(minutes, pages))
        except (OSError, ValueError) as why:
            problem = self.inliner.reporter.error(str(why), line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, problem)], [problem]
        for page in pages:
            self.env.note_dependency(str(DOCS / f"{page}.rst"))
            self.env.note_dependency(str(manifest.room(page) / "manifest.ini"))
        hours, rest = divmod(total, 60) if total >= 120 else (0, total)
        parts = ([f"{hours} hours"] if hours else []) + ([f"{rest} min"] if rest else [])
        return [nodes.Text(" ".join(parts))], []


def setup(app):
    app.add_role("minutes", Minutes())
