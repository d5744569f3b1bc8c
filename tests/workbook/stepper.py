#!/usr/bin/env python3
"""Steps through the runs on the book's pages in headless Chromium: stepper.py HTML_FOLDER PAGE...

Each step is made with the keyboard. Its figures must be those of the journal that the build left in
build/docs/runs, which is read here once more: what the pool's last line up to that call has. A line
on stdout for each difference.
"""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "extensions"))
import chromium

MIB = 1 << 20
FIGURES = re.compile(r"Pool (\d+): used ([\d.]+) MiB, reserved ([\d.]+) MiB")
PRESS = """(() => {
    const next = document.querySelector(".stepper .next");
    next.focus();
    const options = {key: "ArrowRight", bubbles: true, cancelable: true};
    const before = scrollY;
    next.dispatchEvent(new KeyboardEvent("keydown", options));
    return scrollY === before;
})()"""
LOOK = """(() => {
    const place = document.querySelector(".stepper");
    const text = (part) => place.querySelector(part).textContent;
    const marked = [...place.querySelectorAll(".line.now")];
    return JSON.stringify({
        shown: !place.hidden && place.getBoundingClientRect().height > 100,
        number: Number(place.dataset.number), program: place.dataset.program,
        figures: text(".figures"), count: text(".count"), say: text(".say"),
        code: marked.map((line) => line.textContent.replace(/^\\d+/, "").trim()),
        wide: document.documentElement.scrollWidth > innerWidth + 1,
    });
})()"""


def figures_at(journal, number, pool):
    """(used, reserved) of the pool after the call with that number."""
    used = reserved = 0
    for line in journal:
        if line.get("pool") == pool:
            used, reserved = line.get("used", used), line.get("reserved", reserved)
        if line.get("number") == number and "did" not in line:
            break
    return used, reserved


def faults_of(browser, page, name):
    browser.open(page)
    look = json.loads(browser.evaluate(LOOK))
    folder = look["program"].replace("/", "-")
    file = Path("build/docs/runs") / folder / "journal.jsonl"
    journal = [json.loads(line) for line in file.read_text().splitlines()]
    calls = {
        line["number"]: line["call"] for line in journal if "number" in line and "did" not in line
    }
    steps, last = 0, int(look["count"].split()[-1])
    while True:
        steps += 1
        where = f"{name}, step {steps}"
        if not look["shown"] or look["wide"]:
            yield f"{where}: it is not shown, or the page scrolls sideways"
        call = calls[look["number"]]
        if len(look["code"]) != 1 or not look["say"].startswith(call):
            yield f"{where}: {call}, but marked is {look['code']}, and it is {look['say']}"
        found = FIGURES.fullmatch(look["figures"])
        if found:
            used, reserved = figures_at(journal, look["number"], int(found[1]))
            shown = [float(found[2]), float(found[3])]
            if shown != [round(used / MIB, 2), round(reserved / MIB, 2)]:
                yield f"{where}: {look['figures']}, and the journal has {used} and {reserved}"
        elif any("allocation" in line for line in journal[: look["number"]]) and steps == last:
            yield f"{where}: it has no figures"
        if steps == last:
            return
        if not browser.evaluate(PRESS):
            yield f"{where}: the page scrolls"
        look = json.loads(browser.evaluate(LOOK))
        if not look["count"].startswith(f"{steps + 1} of"):
            yield f"{where}: the arrow key leads to {look['count']}"
            return


def main(book, names):
    with chromium.Browser() as browser:
        for name in names:
            for fault in faults_of(browser, Path(book).resolve() / f"{name}.html", name):
                print(fault)


main(sys.argv[1], sys.argv[2:])
