#!/usr/bin/env python3
"""Steps through the runs on the book's pages in headless Chromium: stepper.py HTML_FOLDER PAGE...

Each page is opened from its file, wide and light, then at 390 pixels and dark. A run is loaded when
the reader comes near, and each of its steps is made with the keyboard. Its figures must be those of
the journal that the build left in build/docs/runs, which is read here once more: what the pool's
last line up to that call has. Nothing on the page moves when the run comes, nor at a step. A line
on stdout for each difference.
"""

import json
import os
import re
import sys
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from browser import PROGRAMS, shutil, sync_playwright

MIB = 1 << 20
FIGURES = re.compile(r"Pool (\d+): used ([\d.]+) MiB, reserved ([\d.]+) MiB")
LOOKS = [(1400, "light"), (390, "dark")]
SHIFTS = """(() => {
    window.shifts = [];
    new PerformanceObserver((list) => {
        for (const one of list.getEntries())
            for (const { node } of one.sources)
                if (node?.parentElement?.closest("article"))
                    window.shifts.push(node.className || node.nodeName);
    }).observe({ type: "layout-shift", buffered: true });
})()"""
UNFOLD = """[...document.querySelectorAll(".predict-notice button")].forEach((one) => one.click());
    document.querySelectorAll("article details").forEach((one) => { one.open = true; })"""
HEIGHT = "document.querySelector('article').getBoundingClientRect().height"
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# All steps from the first on, by the key that is pressed at the button.
STEPS = """async (place) => {
    const text = (part) => place.querySelector(part).textContent;
    const found = [];
    const look = () => {
        const marked = [...place.querySelectorAll(".line.now")];
        const box = place.getBoundingClientRect();
        const code = place.querySelector("pre").getBoundingClientRect();
        const line = marked[0].getBoundingClientRect();
        found.push({
            number: Number(place.dataset.number), at: [box.top, box.height, scrollY].join(),
            figures: text(".figures"), count: text(".count"), say: text(".say"),
            code: marked.map((line) => line.textContent.replace(/^\\d+/, "").trim()),
            seen: line.top >= code.top - 1 && line.bottom <= code.bottom + 1,
            wide: document.documentElement.scrollWidth > innerWidth + 1,
            last: place.querySelector(".next").getAttribute("aria-disabled") === "true",
        });
    };
    place.querySelector(".back").focus();
    look();
    const key = { key: "ArrowRight", bubbles: true, cancelable: true };
    while (!found[found.length - 1].last && found.length < 1000) {
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", key));
        look();
        if (found.length % 10 === 0) await new Promise(requestAnimationFrame);
    }
    return found;
}"""


@cache
def journal_of(program):
    folder = Path("build/docs/runs") / program.replace("/", "-")
    text = (folder / "journal.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def figures_at(journal, number, pool):
    """(used, reserved) of the pool after the call with that number."""
    used = reserved = 0
    for line in journal:
        if line.get("pool") == pool:
            used, reserved = line.get("used", used), line.get("reserved", reserved)
        if line.get("number") == number and "did" not in line:
            break
    return used, reserved


def faults_of_steps(journal, looks):
    calls = {
        line["number"]: line["call"] for line in journal if "number" in line and "did" not in line
    }
    for step, look in enumerate(looks, 1):
        where = f"step {step}"
        if look["count"] != f"{step} of {len(looks)}":
            yield f"{where}: it is {look['count']}"
        if look["wide"] or look["at"] != looks[0]["at"]:
            yield f"{where}: the page scrolls sideways, or something moves"
        call = calls[look["number"]]
        if len(look["code"]) != 1 or not look["say"].startswith(call) or not look["seen"]:
            yield f"{where}: {call}, but marked is {look['code']}, and it is {look['say']}"
        found = FIGURES.fullmatch(look["figures"])
        if found:
            used, reserved = figures_at(journal, look["number"], int(found[1]))
            shown = [float(found[2]), float(found[3])]
            if shown != [round(used / MIB, 2), round(reserved / MIB, 2)]:
                yield f"{where}: {look['figures']}, and the journal has {used} and {reserved}"
        elif look is looks[-1] and any(
            "allocation" in line for line in journal if line.get("number", 0) <= look["number"]
        ):
            yield f"{where}: it has no figures"


def faults_of(page, file):
    page.goto(file.as_uri(), wait_until="load")
    if page.evaluate("Object.keys(window.workbookSteps).length"):
        yield "a run is loaded before the reader comes near"
    page.evaluate(UNFOLD)
    for place in page.locator(".stepper").all():
        page.evaluate("scrollTo(0, 0)")
        page.evaluate(DRAWN)
        page.evaluate(SHIFTS)
        before = page.evaluate(HEIGHT)
        place.scroll_into_view_if_needed()
        place.locator(".line.now").wait_for()
        looks = place.evaluate(STEPS)
        page.evaluate(DRAWN)
        yield from faults_of_steps(journal_of(place.get_attribute("data-program")), looks)
        if page.evaluate(HEIGHT) != before:
            yield "the page has another height with the run"
        for moved in page.evaluate("window.shifts"):
            yield f"the layout shifts: {moved}"
        page.keyboard.press("ArrowLeft")
        count = place.locator(".count").inner_text()
        if len(looks) > 1 and count != f"{len(looks) - 1} of {len(looks)}":
            yield f"the arrow key leads back to {count}"


def main(book, names):
    program = next(filter(None, map(shutil.which, PROGRAMS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, chromium_sandbox=os.geteuid() != 0
        )
        for width, theme in LOOKS:
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=theme
            )
            for name in names:
                page = context.new_page()
                for fault in faults_of(page, Path(book).resolve() / f"{name}.html"):
                    print(f"{name} at {width} pixels, {theme}: {fault}")
                page.close()
        browser.close()


main(sys.argv[1], sys.argv[2:])
