#!/usr/bin/env python3
"""What a reader can find out with the instruments of the book's pages: instrument.py HTML_FOLDER
CHECK...

Headless Chromium opens the pages from their files. A check is a function below; each tells what a
reader does, in keys, and what must be seen then. A line on stdout for each fault.
"""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from browser import chromium, sync_playwright

MOST_KEYS = 10  # to answer a reader's question
COLUMNS, SIZE = 100, 13  # of a program that are seen, and the pixels of its letters
SCROLLBAR = 15  # pixels, which this Chromium does not show
UNFOLD = """for (const button of document.querySelectorAll(".predict-notice button"))
        if (button.textContent === "Show the run") button.click();
    for (const one of document.querySelectorAll("details:has(.stepper)")) one.open = true;"""
LOOK = """(place) => {
    const all = (part) => [...place.querySelectorAll(part)];
    const text = (part) => place.querySelector(part)?.textContent || "";
    return {
        chip: text(".chip"), say: text(".say"), where: text(".where"), count: text(".count"),
        line: Number(place.querySelector(".line.now")?.dataset.line),
        lanes: all("text[data-key^=lane]").map((one) => one.textContent),
        struck: all("text.struck").length, edges: all("path.edge").length,
        missing: all("path.missing").length, words: text("text.missing-words"),
        bad: all(".picture rect.bad").length, ghosts: all(".picture rect.ghost").length,
        pool: all(".picture text").map((one) => one.textContent).join(" | "),
        label: place.querySelector(".picture svg").getAttribute("aria-label"),
        marks: all(".line.access").map((one) => Number(one.dataset.line)),
        report: !place.querySelector(".to-report").hidden,
    };
}"""


# Of a program: the size of its letters, and the columns that are seen beside the numbers.
SEEN = """(pre) => {
    const style = getComputedStyle(pre);
    const probe = pre.appendChild(document.createElement("span"));
    probe.textContent = "x".repeat(100);
    const letter = probe.getBoundingClientRect().width / 100;
    probe.remove();
    const line = pre.querySelector(".line");
    const begins = line.querySelector("i, .linenos").getBoundingClientRect();
    const gap = parseFloat(getComputedStyle(line.querySelector("i, .linenos")).marginRight);
    const end = pre.getBoundingClientRect().right;
    return [parseFloat(style.fontSize), (end - begins.right - gap) / letter, letter];
}"""


class Page:
    def __init__(self, page, folder):
        self.page, self.folder = page, folder

    def open(self, name, run=None):
        """The page's first stepper, with one of its runs."""
        self.page.goto((self.folder / f"{name}.html").as_uri(), wait_until="load")
        self.page.evaluate(UNFOLD)
        self.place = self.page.locator(".stepper").first
        self.place.scroll_into_view_if_needed()
        self.place.locator(".line.now").wait_for()
        if run:
            self.place.locator(".runs").select_option(run)
            self.page.wait_for_timeout(300)
        self.place.locator(".next").focus()
        return self

    def press(self, key):
        self.page.keyboard.press(key)
        return self.look()

    def look(self):
        return self.place.evaluate(LOOK)

    def until(self, key, found):
        """(how often the key was pressed, what is seen) until it is found, or at most as often as
        a reader would."""
        look = self.look()
        for keys in range(MOST_KEYS + 1):
            if found(look):
                return keys, look
            look = self.press(key)
        return None, look


def returned(page):
    """Which call gives memory back, and why not all of it?"""
    at = page.open("04_release_threshold", "the solution")
    keys, look = at.until("n", lambda one: "reserved −96 MiB" in one["chip"])
    if keys is None:
        yield f"no change of −96 MiB is seen after {MOST_KEYS} keys: {look}"
        return
    if "threshold 48" not in look["where"] or "96 returned" not in look["pool"]:
        yield f"the row and what left are not named: {look}"
    if look["ghosts"] != 3 or "threshold 48" not in look["pool"]:
        yield f"three segments of 32 MiB left, and the threshold is 48: {look}"
    if "−96" not in at.place.locator(".figures").inner_text():
        yield "the figures do not say what changed"


def off_scale(page):
    """A threshold far above the pool is an arrow, and not nothing."""
    at = page.open("04_release_threshold", "the solution")
    keys, look = at.until("n", lambda one: "threshold 256" in one["pool"])
    for _ in range(3 if keys is None else 0):
        keys, look = at.until("n", lambda one: "threshold 256" in one["pool"])
        if keys is not None:
            break
    if keys is None:
        yield f"the threshold of 256 MiB is nowhere: {look}"
    elif at.place.locator("path.threshold.off").count() != 1:
        yield "a threshold of 256 MiB above a pool of 128 has no arrow"


def grown(page):
    """Which call made the pool grow, and which event stops it?"""
    at = page.open("10_reuse_events", "the solution")
    keys, look = at.until(
        "n", lambda one: "reserved +64 MiB" in one["chip"] and "F " in one["where"]
    )
    if keys is None:
        yield f"the pool's growth is not found: {look}"
        return
    first = look["where"]
    keys, look = at.until(
        "n", lambda one: one["where"] != first and "takes the record" in one["chip"]
    )
    if keys is None or not look["edges"]:
        yield f"the wait that takes the record is not found: {look}"


def missing_edge(page):
    """Where is the missing edge of lesson 08?"""
    at = page.open("08_stream_order", "the starter")
    keys, look = at.until("n", lambda one: one["missing"] > 0)
    if keys is None or look["bad"] != 2 or len(look["marks"]) != 2:
        yield f"no edge is missing after {MOST_KEYS} keys: {look}"
    elif "✗ no order" not in look["words"] or not {"worker", "reader"} & set(look["lanes"]):
        yield f"the streams have not the program's names: {look}"


def taken_record(page):
    """Which of three records does the wait take (case 3)?"""
    at = page.open("clinic/03_barrier")
    keys, look = at.until("n", lambda one: "takes the record" in one["chip"])
    if keys is None or "workers[2]" not in look["chip"] or look["struck"] != 2:
        yield f"two records are replaced, and the wait takes that of workers[2]: {look}"
    keys, look = at.until("n", lambda one: one["missing"] > 0)
    if keys is None or look["marks"] != [37, 41]:
        yield f"the report is not at lines 37 and 41: {look}"
    if look["lanes"][::2][:2] != ["collecting", "workers[0]"]:
        yield f"the lanes are {look['lanes']}"


def to_report(page):
    """Every run with a report has a button that leads to it."""
    for name, run in (("clinic/01_handed_over", None), ("model", None), ("20_graph_memory", None)):
        at = page.open(name, run)
        if name == "20_graph_memory":
            at = page.open(name, "free node unordered")
        if not at.look()["report"]:
            yield f"{name} has no button to the report"
            continue
        at.place.locator(".to-report").click()
        look = at.look()
        if not look["say"].startswith("The report") or not look["marks"] or not look["bad"]:
            yield f"{name}: the button leads to {look}"


def refused(page):
    """A call that is refused shows what it did all the same (case 10)."""
    at = page.open("clinic/10_tight_memory")
    keys, look = at.until("n", lambda one: "refused" in one["chip"])
    words = f"{look['chip']} {look['say']}"
    if keys is None or "reserved −64 MiB" not in words or "All the same" not in words:
        yield f"the refused call returns 64 MiB, and shows {look}"


def begins(page):
    """A run begins at the first call that the page is about; the ones before it are there."""
    for name, run, words in (
        ("08_stream_order", "the starter", "launch_fill"),
        ("clinic/03_barrier", None, "It allocates"),
        ("03_custom_pool", None, "It allocates"),
        ("06_trim", None, "It allocates"),
        ("20_graph_memory", None, "cudaMallocAsync"),
    ):
        at = page.open(name, run)
        look = at.look()
        if words not in look["say"]:
            yield f"{name} begins with {look['say']}"
        first = int(look["count"].split()[0])
        if first < 2 or "Create" in look["say"].partition(":")[0]:
            yield f"{name} begins at step {first}: {look['say']}"
        if at.press("Home")["count"].split()[0] != "1":
            yield f"{name}: the key Home does not lead to step 1"


def still(page):
    """Where less movement is wanted nothing moves; else what stays is the same element."""
    at = page.open("clinic/03_barrier")
    moving = """(place) => [...place.querySelectorAll("svg > *")].filter((one) => {
        const style = getComputedStyle(one);
        return style.animationName !== "none" || style.transitionDuration !== "0s";
    }).length"""
    at.press("End")
    if at.place.evaluate(moving):
        yield "something moves, although less is wanted"
    page.page.emulate_media(reduced_motion="no-preference")
    if not at.place.evaluate(moving):
        yield "nothing moves, although it may"
    at.place.evaluate("(place) => { place.was = place.querySelector('[data-key=\"row 9\"]'); }")
    at.press("ArrowLeft")
    same = at.place.evaluate("(place) => place.was === place.querySelector('[data-key=\"row 9\"]')")
    if not same:
        yield "a row that stays is another element after a step"


def mapped(page):
    """The map leads to a step, and shows nothing ahead of a question."""
    at = page.open("04_release_threshold", "the starter")
    box = at.place.locator(".stepper-map").bounding_box()
    page.page.mouse.click(box["x"] + box["width"] - 12, box["y"] + 30)
    count = at.look()["count"].split()
    if count[0] != count[2]:
        yield f"a click at the end of the map leads to {count}"
    ticks = "(place) => place.querySelectorAll('.stepper-map .tick').length"
    every = at.place.evaluate(ticks)
    if every != int(count[2]):
        yield f"{every} ticks for {count[2]} steps"
    at.place.locator(".ask").check()
    at.place.locator(".next").focus()
    at.press("Home")
    if at.place.evaluate(ticks) >= every:
        yield "the map shows what is ahead while the reader is asked"


def large(page):
    """What is behind "Large" cannot be reached."""
    at = page.open("model")
    at.place.locator(".large").click()
    for _ in range(40):
        page.page.keyboard.press("Tab")
        if not at.place.evaluate(
            "(place) => place.contains(document.activeElement) || "
            "document.activeElement === document.body"
        ):
            yield "the Tab key leaves what is large"
            break
    page.page.keyboard.press("Escape")
    if page.page.locator("[inert]").count():
        yield "the page stays inert"


def dial(page):
    """The first screen: a round falls from hundreds of microseconds to tens."""
    page.page.goto((page.folder / "index.html").as_uri(), wait_until="load")
    place = page.page.locator(".dial-live")
    box = place.bounding_box()
    if box["y"] + box["height"] > 900:
        yield f"the instrument is not on the first screen: {box}"
    rows = [[*row[1], row[2]] for row in place.evaluate("(one) => JSON.parse(one.dataset.rows)")]
    slider = place.locator("input")
    cost = place.locator("strong")
    slow = int(cost.inner_text().split()[0])
    slider.focus()
    page.page.keyboard.press("End")
    fast = int(cost.inner_text().split()[0])
    if slow != round(sum(rows[0][:-1])) or fast != round(sum(rows[-1][:-1])) or slow < 5 * fast:
        yield f"a round falls from {slow} to {fast}, and the run has {rows}"
    if "keeps all" not in place.locator(".dial-why").inner_text():
        yield "the sentence does not follow the slider"
    knob = place.locator(".knob").bounding_box()
    page.page.mouse.move(knob["x"] + 7, knob["y"] + 7)
    page.page.mouse.down()
    page.page.mouse.move(knob["x"] + 7, knob["y"] + 300)
    page.page.mouse.up()
    if slider.input_value() != "0":
        yield f"the knob leads to row {slider.input_value()}, and not down to 0"
    link = page.page.locator(".dial-words a[href*=bench]")
    slider.focus()
    page.page.keyboard.press("ArrowRight")
    if "ReleaseThreshold%2C+16+MiB" not in link.get_attribute("href"):
        yield f"the door to the bench is {link.get_attribute('href')}"
    doors = page.page.locator(".dial-words li a").count()
    if doors != 3:
        yield f"there are {doors} doors"


def dial_without_script(page):
    """Without script, and on paper, all ten rows stand there."""
    page.page.goto((page.folder / "index.html").as_uri(), wait_until="load")
    page.page.emulate_media(media="print")
    rows = page.page.locator(".dial-table tbody tr")
    if rows.count() != 10 or not rows.first.is_visible():
        yield "on paper there is no table of ten thresholds"
    page.page.emulate_media(media="screen")
    plain = page.page.context.browser.new_context(java_script_enabled=False).new_page()
    plain.goto((page.folder / "index.html").as_uri(), wait_until="load")
    if not plain.locator(".dial-table").is_visible() or plain.locator(".dial-live").is_visible():
        yield "without script the table is not there, or an empty box is"


def bench_without_script(page):
    """Without script the bench says that it needs it."""
    plain = page.page.context.browser.new_context(java_script_enabled=False).new_page()
    plain.goto((page.folder / "bench.html").as_uri(), wait_until="load")
    if not plain.get_by_text("The bench needs JavaScript.").is_visible():
        yield "without script the bench is empty"


def weight(page):
    """The first screen is at most 15 KB."""
    files = [page.folder / "_static" / name for name in ("dial.js", "dial.css")]
    size = sum(file.stat().st_size for file in files)
    text = (page.folder / "index.html").read_text(encoding="utf-8")
    size += len(re.search(r'data-rows="[^"]*"', text)[0])
    if size > 15 * 1024:
        yield f"the first screen has {size} bytes"


def columns(page):
    """On a wide window a program's 100 columns are seen, in a stepper too, and the picture beside
    or below it has its room."""
    for wide, high in ((1280, 720), (1440, 900), (1920, 1080)):
        page.page.set_viewport_size({"width": wide, "height": high})
        for name in ("04_release_threshold", "08_stream_order", "clinic/03_barrier"):
            at = page.open(name)
            size, seen, letter = at.place.locator("pre").evaluate(SEEN)
            if size < SIZE or seen - SCROLLBAR / letter < COLUMNS:
                yield f"{name}, {wide} pixels: {seen:.1f} columns of {size} pixels in the stepper"
            picture, code = (
                at.place.locator(part).first.bounding_box() for part in (".picture svg", "pre")
            )
            if picture["width"] < 320 or code["height"] < 200:
                yield f"{name}, {wide} pixels: the picture is {picture}, the program {code}"
            if page.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                yield f"{name}, {wide} pixels: the page scrolls sideways"
        page.page.goto((page.folder / "04_release_threshold.html").as_uri())
        page.page.evaluate(
            "for (const one of document.querySelectorAll('details')) one.open = true"
        )
        size, seen, _ = page.page.locator(".program-source pre").evaluate(SEEN)
        if size < SIZE or seen < COLUMNS:
            yield f"{wide} pixels: {seen:.1f} columns of {size} pixels in a program"


def mistakes(page):
    """A page runs its solution with a mistake: a report has links, and the stepper stands at it; or
    a figure is another one."""
    for name, mistake, is_reported in (
        ("08_stream_order", "record_before_work", True),
        ("04_release_threshold", "threshold_in_mib", False),
    ):
        at = page.open(name)
        live = page.page.locator(".live")
        outputs = []
        for program in (f"solutions/{name}", f"mutants/{name}/{mistake}"):
            live.locator("#live-program").select_option(program)
            live.locator("button[type=submit]").click()
            page.page.wait_for_function(
                "/exit status|did not end/.test(document.querySelector('.live').textContent)"
            )
            outputs.append(live.locator(".live-output").inner_text())
        report = live.locator("pre.report")
        if is_reported == (outputs[0] != outputs[1]) or is_reported != (
            "hazard:" in report.inner_text()
        ):
            yield f"{name} with {mistake}: {outputs[1]}, {report.inner_text()}"
        if report.inner_text().count(f"{mistake}.c") > 1:
            yield f"{name}: the report names its file again: {report.inner_text()}"
        for link in live.locator("a[href*=listings]").all():
            file, _, line = link.get_attribute("href").partition("#")
            listing = page.folder / file
            if not listing.is_file() or f'id="{line}"' not in listing.read_text(encoding="utf-8"):
                yield f"{name}: a report leads to {file}#{line}, which is not there"
        if live.locator("pre a").count() < 2 * is_reported or (
            live.locator(".live-steps a[href*=mutants]").count() != 1
        ):
            yield f"{name}: the report or the mistake has no link"
        live.locator(".live-steps a[href='#stepper']").click()
        look = at.look()
        shown = at.place.locator("pre").get_attribute("aria-label")
        if mistake not in shown:
            yield f"{name}: the stepper shows {shown}"
        if is_reported and (look["missing"] != 1 or len(look["marks"]) != 2):
            yield f"{name}: the stepper is not at the report: {look}"


CHECKS = {
    check.__name__: check
    for check in (returned, off_scale, grown, missing_edge, taken_record, to_report, refused)
    + (begins, still, mapped, large, dial, dial_without_script, weight)
    + (bench_without_script, columns, mistakes)
}


def main(book, *names):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.find(), chromium_sandbox=os.geteuid() != 0
        )
        for name in names or CHECKS:
            page = browser.new_page(
                viewport={"width": 1400, "height": 900}, reduced_motion="reduce"
            )
            seen = []
            page.on("console", lambda message, seen=seen: seen.append(message.text))
            page.on("pageerror", lambda error, seen=seen: seen.append(str(error)))
            for fault in (*CHECKS[name](Page(page, Path(book).resolve())), *seen):
                print(f"{name}: {fault}")
            page.close()


main(*sys.argv[1:])
