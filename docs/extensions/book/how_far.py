"""What takes longer than five seconds says every five seconds how far it is.

Sphinx calls nothing while a program is compiled or runs, so a thread of its own prints the lines.
"""

import threading
import time

from . import runs

EVERY = 5  # seconds
COMPILING = "compiling the programs of the pages"


class HowFar:
    """From start to end, every five seconds: "  10 seconds: " and what is done now."""

    def __init__(self, now):
        self.now = now
        self.ended = threading.Event()
        self.printer = threading.Thread(target=self.print, daemon=True)

    def what(self):
        return self.now

    def print(self):
        began = time.monotonic()
        while not self.ended.wait(EVERY):
            print(f"  {time.monotonic() - began:.0f} seconds: {self.what()}", flush=True)

    def __enter__(self, *_):
        self.printer.start()

    def __exit__(self, *_):
        self.ended.set()


class OfBook(HowFar):
    """How far a build of Sphinx is, by its events."""

    def __init__(self, app):
        super().__init__("beginning")
        for event, method in (
            ("builder-inited", self.__enter__),
            ("env-before-read-docs", lambda app, env, pages: self.begin(COMPILING, pages)),
            ("source-read", lambda app, page, source: self.count("reading", page)),
            ("env-updated", lambda app, env: self.begin("writing the pages", env.found_docs)),
            ("doctree-resolved", lambda app, doctree, page: self.count("writing", page)),
            ("build-finished", self.__exit__),
        ):
            # Before the others that wait for the same event, some of which take long.
            app.connect(event, method, priority=1)

    def what(self):
        if self.now != COMPILING or not runs.TO_COMPILE:
            return self.now
        there = sum(program.exists() for program in runs.TO_COMPILE)
        return f"{self.now}, {there} of {len(runs.TO_COMPILE)} are there"

    def begin(self, doing, pages):
        self.started, self.of = set(), len(pages)
        self.now = doing

    def count(self, doing, page):
        self.started.add(page)
        self.now = f"{doing} page {len(self.started)} of {self.of}"


def setup(app):
    OfBook(app)
