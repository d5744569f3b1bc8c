"""What the checks have left behind, for the ticks of the lessons: in the table of the book's first
page, in the sidebar, and at the end of each lesson's page.

tools/progress.sh writes build/progress/NN_name and _static/passed.js of a built book; here
the book gets that file when it is built. docs/_static/progress.js shows it.
"""

import re
import subprocess

from .runs import ENVIRONMENT, ROOT

LESSON = re.compile(r"\d\d_\w+")


def add_scripts(app, page, template, context, doctree):
    if app.builder.name != "html":
        return
    app.add_js_file("passed.js", loading_method="defer")
    app.add_js_file("progress.js", loading_method="defer")
    if LESSON.fullmatch(page):
        context["body"] += f'<p class="lesson-done" data-lesson="{page}" hidden></p>'


def write(app, error):
    if error is None and app.builder.format == "html" and app.builder.name != "epub":
        subprocess.run(
            ["tools/progress.sh", "write", app.outdir / "_static" / "passed.js"],
            cwd=ROOT,
            env=ENVIRONMENT,
            check=True,
        )


def setup(app):
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write)
