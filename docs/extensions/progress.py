"""What the checks have left behind, for the table of lessons on the book's first page.

tests/tools/progress.sh writes build/progress/NN_name and _static/passed.js of a built book; here
the book gets that file when it is built. docs/_static/progress.js shows it.
"""

import subprocess

from runs import ENVIRONMENT, ROOT


def add_scripts(app, page, template, context, doctree):
    if page == app.config.root_doc:
        app.add_js_file("passed.js", loading_method="defer")
        app.add_js_file("progress.js", loading_method="defer")


def write(app, error):
    if error is None and app.builder.format == "html" and app.builder.name != "epub":
        subprocess.run(
            ["tests/tools/progress.sh", "write", app.outdir / "_static" / "passed.js"],
            cwd=ROOT,
            env=ENVIRONMENT,
            check=True,
        )


def setup(app):
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write)
