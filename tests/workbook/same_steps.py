#!/usr/bin/env python3
"""Compares the steps that docs/_static/run_steps.js makes of journals, in a page of Chromium, with
those that workbook/run_steps.py makes: same_steps.py JOURNAL... A line on stdout for the
first difference in each journal, and at last how many steps are equal. PYTHONPATH is
docs/extensions. Exit status 77: there is no Chromium.
"""

import json
import sys
import tempfile
from pathlib import Path

from programbook import chosen, chromium
from workbook import run_steps

SCRIPT = (chosen.ROOT / "docs/_static/run_steps.js").as_uri()
PAGE = f"""<!doctype html><meta charset="utf-8">
<script src="{SCRIPT}"></script><script src="given.js"></script>"""
# A run, or why there is none. As text, so what comes back is what JSON has of it.
MAKE = """({ steps: JSON.stringify(given.map(({ journal, sources, because }) => {
    const lines = journal.split("\\n").filter(Boolean).map((line) => JSON.parse(line));
    try {
        return runSteps(lines, { sources, because });
    } catch (reason) {
        return String(reason);
    }
})) })"""


def difference(first, second, where="run"):
    """The first place where they differ, with both values; "" if there is none."""
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        found = (difference(first[key], second[key], f"{where}.{key}") for key in first)
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        pairs = enumerate(zip(first, second))
        found = (difference(*pair, f"{where}[{at}]") for at, pair in pairs)
    else:
        found = [f"{where}: {first} in Python, {second} in JavaScript"] if first != second else []
    return next(filter(None, found), "")


def main():
    given, expected = [], []
    for file in sys.argv[1:]:
        text = Path(file).read_text(encoding="utf-8")
        journal = [json.loads(line) for line in text.splitlines()]
        files = {line["file"] for line in journal if "file" in line}
        sources = {one: "\n".join(chosen.text_of(one)) for one in files if chosen.text_of(one)}
        given.append({"journal": text, "sources": sources, "because": run_steps.BECAUSE})
        try:
            expected.append(json.loads(json.dumps(run_steps.read(journal))))
        except ValueError as error:
            expected.append(f"Error: {error}")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(PAGE)
        (page.parent / "given.js").write_text(f"const given = {json.dumps(given)};")
        try:
            with chromium.Browser() as browser:
                browser.open(page)
                made = json.loads(browser.evaluate(MAKE)["steps"])
        except chromium.Missing as why:
            print(why)
            sys.exit(77)
    equal = 0
    for file, python, javascript in zip(sys.argv[1:], expected, made):
        if found := difference(python, javascript):
            print(f"{Path(file).name}: {found}")
        elif not isinstance(python, str):
            equal += len(python["steps"])
    print(f"{equal} steps are equal.")


main()
