"""Looks at the built book in headless Chromium: tests/book/browser HTML_FOLDER [CHECK|PAGE...]

One line on stdout for each fault: the check, the page with the size, theme and protocol under which
it was seen, and what is wrong. Exit status 1 if there is a fault, 2 if nothing could be looked at.
Without a CHECK all of them are made. With PAGEs, pages, steps and asked look at these alone.

    pages   what every page must have, and what some have: pages.py
    runs    the data of all runs, without a page: steps.py      steps   each step of a run, by keys
    asked   the page's questions in its stepper: asked.py
    and the tasks of a reader, one function each: tasks.py
"""

import itertools
import sys
from pathlib import Path

import asked
import pages
import steps
import tasks
from driver import chromium, faults_of, serve

CHECKS = {"pages": pages.looks, "runs": steps.looks_at_data, "steps": steps.looks}
CHECKS |= {"asked": asked.looks, **tasks.TASKS}


def main(book="", *words):
    folder = Path(book).resolve()
    named = [word for word in words if word not in CHECKS]
    unknown = [name for name in named if not (folder / f"{name}.html").exists()]
    if not book or not (folder / "index.html").exists() or unknown:
        print(f"The book in {folder} has no {' '.join(unknown) or 'index.html'}.", file=sys.stderr)
        print(__doc__.splitlines()[0], "Checks:", " ".join(CHECKS), file=sys.stderr)
        return 2
    chosen = [word for word in words if word in CHECKS] or CHECKS
    served = serve(folder)
    looks = (CHECKS[name](folder, served, named) for name in chosen)
    try:
        faults = faults_of(folder, itertools.chain.from_iterable(looks))
    except chromium.Missing as why:
        print(why, file=sys.stderr)
        return 2
    print("".join(f"{fault}\n" for fault in sorted(faults)), end="")
    return 1 if faults else 0


sys.exit(main(*sys.argv[1:]))
