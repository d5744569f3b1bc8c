"""Runs JavaScript in a page of Chromium that has the simulated device: live_page.py MODULE FOLDER
SCRIPT [FRAGMENT...].

MODULE is docs/live/live.wasm, or another one that `make live` made. SCRIPT is an expression. Its
value, or what its promise comes to, is an object of texts, and each is written to the file of its
name in FOLDER. With a FRAGMENT, "script=...&lines=...", the page has the pool bench too, opened by
a link that ends in it; each has a page of its own, and its number, a dot and the name are those of
its files: 1.NAME. PYTHONPATH is docs/extensions. Exit status 1: there was an error in a page, which
is printed; 77: there is no Chromium.
"""

import json
import sys
from html import escape
from pathlib import Path

from book import chromium, simulated_device
from book.rungs import RUNGS

STATIC = (simulated_device.ROOT / "docs/_static").as_uri()
PAGE = """<!doctype html><meta charset="utf-8">
<script>
const errors = [];
const note = (event) => errors.push(String(event.message || event.reason || event.target.src));
addEventListener("error", note, true);
addEventListener("unhandledrejection", note);
</script>
<script src="simulated_device.js"></script>
"""
BENCH = f"""<div class="stepper bench" id="pool-bench" data-scripts="[]"
 data-rungs="{escape(json.dumps([vars(rung) for rung in RUNGS]))}"></div>
<script src="{STATIC}/site.js"></script>
<script src="{STATIC}/run_steps.js"></script>
<script src="{STATIC}/run_view.js"></script>
<script src="{STATIC}/bench.js"></script>
"""


def main():
    module, folder, script = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    (folder / "simulated_device.js").write_text(simulated_device.script(module))
    pages = [(f"{at}.", PAGE + BENCH, given) for at, given in enumerate(sys.argv[4:], 1)]
    errors = []
    try:
        with chromium.Browser() as browser:
            for prefix, text, fragment in pages or [("", PAGE, "")]:
                page = folder / f"{prefix}page.html"
                page.write_text(text)
                browser.open(page, fragment)
                for name, value in browser.evaluate(script).items():
                    (folder / f"{prefix}{name}").write_text(value, encoding="utf-8")
                errors += browser.evaluate("errors")
    except chromium.Missing as why:
        print(why)
        sys.exit(77)
    except chromium.Failed as why:
        sys.exit(str(why))
    if errors:
        sys.exit("\n".join(errors))


main()
