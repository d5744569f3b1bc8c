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

    def __enter__(self):
        self.printer.start()

    def __exit__(self, *_):
        self.ended.set()


class OfBook(HowFar):
    """How far a build of Sphinx is, by its events."""

    def __init__(self, app):
        super().__init__("beginning")
        for event, method in (
            ("builder-inited", self.begin),
            ("env-before-read-docs", self.compile),
            ("source-read", self.read),
            ("env-updated", self.link),
            ("doctree-resolved", self.write),
            ("build-finished", self.end),
        ):
            # Before the others that wait for the same event, some of which take long.
            app.connect(event, method, priority=1)

    def begin(self, app):
        self.printer.start()

    def what(self):
        if self.now != COMPILING or not runs.TO_COMPILE:
            return self.now
        there = sum(program.exists() for program in runs.TO_COMPILE)
        return f"{self.now}, {there} of {len(runs.TO_COMPILE)} are there"

    def compile(self, app, env, pages):
        self.started, self.of = set(), len(pages)
        self.now = COMPILING

    def read(self, app, page, source):
        self.count("reading", page)

    def link(self, app, env):
        self.started, self.of = set(), len(env.found_docs)
        self.now = "writing the pages"

    def write(self, app, doctree, page):
        self.count("writing", page)

    def count(self, doing, page):
        self.started.add(page)
        self.now = f"{doing} page {len(self.started)} of {self.of}"

    def end(self, app, error):
        self.ended.set()


def setup(app):
    OfBook(app)
