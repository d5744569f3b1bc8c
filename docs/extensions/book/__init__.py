"""The book's package for Sphinx. Programs run while the book is built: what they print is on the
page, what they print is asked, pictures and steppers are drawn from their journals, and what is not
as it was recorded ends the build. Everything runs on the simulated device, in build/docs.

    directives   every directive, in one table             page     what directives build on
On a page:
    programs     programs, commands and journals           sources  the programs, and the role path
    predict      questions, answered by a run              asked    the same, in a stepper
    stepper      a run, step by step (run_steps)           days     the first screen
    pictures     from a run's journal: memory_picture, order_picture, scaled_picture; and drawings,
                 where no journal can (svg: texts have room)
    recording    the notes about one driver                evidence whose a rule is
    tables       lessons, calls (calls), reports, times    clinic   its cases
    domain       calls, attributes and errors as Sphinx knows them, with their roles
    live         what runs in the reader's browser (simulated_device)
From runs and files:
    runs         builds and runs programs                  printed  which line printed what
    chosen       calls of a run                            rungs    the reuse ladder
    manifest     the lessons' manifests
Around the pages:
    every_page   what each page has besides text           finder   one field over all of it
    how_far      what a long build prints                  chromium, pdf  pages printed
    fonts        the typefaces as a style                  dial     a release threshold to drag
    own_run      pictures and a trace of a reader's own run, without Sphinx
"""

from importlib import import_module

# What is more than a directive, in the order in which it takes part in the build.
PARTS = ("page", "programs", "sources", "predict", "asked", "every_page", "how_far")
PARTS += ("domain", "pictures", "finder", "tables", "live", "stepper", "fonts")


def setup(app):
    for part in PARTS:
        import_module(f"{__name__}.{part}").setup(app)
    from .directives import DIRECTIVES  # Sphinx is not there for who draws a run (own_run)

    for name, directive in DIRECTIVES.items():
        app.add_directive(name, directive, override=True)
    # Each build reads all pages (make docs: sphinx -E), in one process.
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}
