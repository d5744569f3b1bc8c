"""Programs that run on the pages of a book, for Sphinx: what they print is on the page, what they
print is asked, and what is not as it was recorded ends the build.

Rules: everything is run on the simulated device, in build/docs; nothing is pasted; what is not as
it should be ends the build.

    directives   programs, commands, journals and differences on a page     runs    builds and runs
    printed      which line of a program printed what                        chosen  calls of a run
    sources      the programs themselves, and the role path                  book    what they share
    predict      questions, answered by a run         asked    the same, in a stepper
    evidence     whose a rule is                      every_page    what each page has besides text
    page_writer  how a node becomes HTML          how_far  what a long build prints
    svg          a picture whose texts have room      chromium, pdf    pages printed
"""

PARTS = ("directives", "sources", "predict", "evidence", "asked", "page_writer", "every_page")
PARTS += ("how_far",)


def setup(app):
    for part in PARTS:
        app.setup_extension(f"{__name__}.{part}")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
