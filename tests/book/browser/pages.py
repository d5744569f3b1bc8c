"""What every page of the book must have, and what only some have.

Each page but the listings of programs is opened from its file, at 1400 pixels, light, and then
becomes 390 pixels wide and dark. A few pages that stand for all (SAMPLE, or the pages that are
named) are opened over http too, in every size and theme: what differs there is made by scripts and
styles that all pages share.

To check what only some pages have, write a function with @feature below. axe-core judges
accessibility.
"""

import collections
import itertools
import json
import re
from pathlib import Path
from urllib.parse import unquote

import axe_playwright_python
from driver import AS_STEPPER, DRAWN, FAR, HEIGHT, Look
from steps import STEPS

SAMPLE = [
    "index",
    "04_release_threshold",
    "10_reuse_events",
    "notes/returns",
    "listings/lessons/04_release_threshold",
    "search",
    "bench",
]
WIDE = 1152  # pixels: from here on 100 columns fit
HEAVIEST = 400 * 1024  # bytes of a page with all that it loads, before compression
PAPER = 643  # the width of a page of A4 between its margins, in CSS pixels
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
VISUAL_RULES = ["color-contrast", "scrollable-region-focusable", "target-size"]
DRAWN_RULES = ["color-contrast", "link-in-text-block", "target-size"]
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
SCRIPT = AXE + (Path(__file__).parent / "pages.js").read_text()
BOXES = (Path(__file__).parents[1] / "picture_boxes.js").read_text()
FINGER = 24  # pixels: the height of a link that is alone in its line
PARTS = 4  # in which the longest look is shared among them
FEATURES = []
SAME = ".contents-drawer"  # the same on all pages
judged = collections.defaultdict(set)  # the looks of words, for axe, of a size and theme


def feature(selector, alike=False):
    """Registers a check for the pages that have such an element: check(page, report). What one
    script or style gives to all pages alike is checked on the sample alone."""

    def register(check):
        FEATURES.append((selector, alike, check))
        return check

    return register


# ---- what only some pages have ----


@feature("article a[aria-describedby^='tip-']", alike=True)
def tips(page, report):
    """A word's meaning appears on focus and on hover, within the text's column and above all else,
    and Escape hides it."""
    words = page.locator("article a[aria-describedby^='tip-']:visible")
    if words.count() == 0:
        return None  # all of them are folded
    word = words.first
    tip = page.locator("#" + word.get_attribute("aria-describedby"))
    word.focus()
    if not tip.is_visible():
        return report("tips", f'no meaning of "{word.inner_text()}" appears on focus')
    for fault in tip.evaluate("tip => checks.tip(tip)"):
        report("tips", f'the meaning of "{word.inner_text()}" {fault}')
    page.keyboard.press("Escape")
    if tip.is_visible():
        report("tips", "Escape does not hide a meaning")
    page.evaluate("document.activeElement.blur()")
    word.hover()
    if not tip.is_visible():
        report("tips", f'no meaning of "{word.inner_text()}" appears on hover')
    page.mouse.move(0, 0)
    if tip.is_visible():
        report("tips", "a meaning stays when the pointer has left")


@feature(".sidebar-tree .current-page")
def contents(page, report):
    """The contents show where one is. They are opened on the sample alone."""
    for fault in page.evaluate("opened => checks.contents(opened)", in_sample(page)):
        report("contents", fault)


@feature("pre")
def code(page, report):
    """From 1152 pixels on, programs and what solutions change do not scroll sideways. What is added
    differs from what is removed, and reports name a file once."""
    unfold(page, report)
    for fault in page.evaluate("wide => checks.code(wide)", page.viewport_size["width"] >= WIDE):
        report("code", fault)


@feature("table.cards")
def cards(page, report):
    """Rows of calls have no boxes to tick. On a narrow screen a row is a card, whose cells have the
    names of their columns."""
    size = page.viewport_size
    page.set_viewport_size({"width": 390, "height": HEIGHT})
    page.evaluate(DRAWN)
    if page.query_selector("table.cards:not(.lessons) input.progress"):
        report("ticks", "a table of calls has boxes of lessons")
    for fault in page.evaluate("checks.cards()"):
        report("cards", fault)
    page.set_viewport_size(size)


@feature("section#your-program-prints-42-today > section#the-lessons")
def ticks(page, report):
    """The table of lessons has a box for each, and no other table has one."""
    boxes = page.locator("input.progress").count()
    rows = page.locator("#the-lessons table.lessons tbody tr").count()
    if boxes != rows or boxes < 20:
        report("ticks", f"{boxes} boxes for {rows} lessons")


@feature("html", alike=True)
def motion(page, report):
    """Nothing scrolls smoothly for a reader who wants less motion."""
    if page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") != "auto":
        report("motion", "the page scrolls smoothly, although less motion is wanted")


@feature(".picture-pair")
def pairs(page, report):
    """Two pictures that are compared stand side by side where there is room, else one below the
    other, in their own size."""
    for fault in page.evaluate("wide => checks.pairs(wide)", page.viewport_size["width"] >= 768):
        report("pairs", fault)


# What is typed, and where its first place may be.
SEARCHES = [
    (typed, places.split(", "))
    for line in Path(__file__).with_name("searches.txt").read_text().splitlines()
    if line and line[0] != "#"
    for typed, _, places in [line.partition(" | ")]
]


IN_VIEW = """(place) => {
    const { top, left, bottom, right } = document.querySelector(place).getBoundingClientRect();
    return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth && right > left;
}"""


@feature("#search-results, section#your-program-prints-42-today")
def finder(page, report):
    """The field in the bar, which is seen on a phone, too, leads to the right place, by the
    keyboard alone; and the search of all pages has a call's own place first, and text at its
    results, also from a file. Where nothing is asked it has the symptoms."""
    start = page.url
    tab = page.context.new_page()  # what it loads is not counted to the page
    if start.endswith("index.html"):
        tab.goto(start, wait_until="load")
        if not tab.evaluate(IN_VIEW, ".sidebar-search"):
            report("finder", "its field is not on the first screen")
        tab.locator(".sidebar-search").fill(SEARCHES[0][0])
        tab.locator("#finder-0").wait_for()
        if not tab.evaluate(IN_VIEW, "#finder-0"):
            report("finder", "its first place is cut off")
        if page.viewport_size["width"] >= WIDE:
            use_finder(tab, report)
    if start.startswith("http") and start.endswith("search.html"):
        tab.goto(f"{start}?q=cudaMemPoolTrimTo", wait_until="load")
        tab.locator("ul.search li a").first.wait_for()
        for kind, results in (("search", "ul.search li a"), ("places", ".finder-places a")):
            first = tab.locator(results).first.get_attribute("href")
            if not first.endswith("api.html#call-cudaMemPoolTrimTo"):
                report("finder", f"{first} is the first of the {kind}")
    if start.startswith("file") and start.endswith("search.html"):
        tab.goto(start, wait_until="load")
        tab.locator(".finder-places a").nth(20).wait_for()
        tab.goto(f"{start}?q=threshold", wait_until="load")
        tab.locator("ul.search li").first.wait_for()
        tab.wait_for_function("!!document.querySelector('ul.search li .context')", timeout=FAR)
    tab.close()


# The first place of each text. One piece of script types them, because to draw each takes longer.
FIRST_PLACES = """async (texts) => {
    const field = document.querySelector(".sidebar-search");
    const found = [];
    for (const text of texts) {
        field.value = text;
        field.dispatchEvent(new Event("input"));
        await new Promise((done) => setTimeout(done));
        found.push(document.getElementById("finder-0").dataset.address);
    }
    return found;
}"""


def use_finder(page, report):
    field = page.locator(".sidebar-search")
    first_places = page.evaluate(FIRST_PLACES, [typed for typed, _ in SEARCHES])
    for (typed, places), found in zip(SEARCHES, first_places):
        if not any(place in found for place in places):
            report("finder", f'the first place of "{typed}" is {found}, not {places[0]}')
    field.fill("cudaMemPoolTrimTo")
    accessible(page, report)
    field.press("ArrowDown")
    if field.get_attribute("aria-activedescendant") != "finder-1":
        report("finder", "the arrow key does not choose the second place")
    field.press("ArrowUp")
    field.press("Enter")
    page.wait_for_url("**/api.html#call-cudaMemPoolTrimTo")
    if not page.locator("tr:target").is_visible():
        report("finder", "the place of cudaMemPoolTrimTo is not there")


@feature(".dial-live")
def dial(page, report):
    """Its frame cuts no word, whatever the threshold."""
    for row in range(1 + int(page.get_attribute("#dial-threshold", "max"))):
        page.locator("#dial-threshold").fill(str(row))
        words_of_pictures(page, report, f"row {row} of the dial")


# A bench's script with two reports, and the screens on which what they say is seen.
RACE = """cudaMallocAsync(a, 64 MiB, s1)
launch_fill(a, s1)
launch_fill(a, s2)
cudaFreeAsync(a, s1)
cudaStreamSynchronize(s1)
"""
SEEN = "(place, words) => checks.seen(place, words)"
SCREENS = [(1024, 768), (1152, 800), (1280, 720), (1280, 800), (1440, 900)]


@feature("#pool-bench")
def bench(page, report):
    """Each ready script runs and is drawn. A step back changes what is shown, and a step on
    restores it. It opens at a pool with memory in use. On the screens of laptops script, pictures,
    report and the calls' buttons are seen together, beside the rail. A threshold that the script
    has set changes in its line."""
    look = """(place) => [...place.querySelectorAll(".line.now, .stepper-state")].map(
        (part) => part.outerHTML)"""

    def drawn():
        page.wait_for_selector(
            "#pool-bench:is([data-state=shown], [data-state=failed])", timeout=FAR
        )
        if page.query_selector("#pool-bench[data-state=failed]"):
            report("runs", page.inner_text(".bench-messages"))
        return page.eval_on_selector("#pool-bench", look)

    drawn()
    if page.locator("#pool-bench rect.used").count() == 0:
        report("runs", "the bench opens at a pool without memory in use")
    size = page.viewport_size
    if size["width"] > 1000:
        page.locator("#pool-bench textarea").fill(RACE)
        page.locator(".bench-messages", has_text="Missing:").wait_for()
    for width, height in SCREENS if size["width"] > 1000 else ():
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("document.querySelector('#pool-bench').scrollIntoView()")
        script, state, calls, beside = (
            page.locator(part).first.bounding_box()
            for part in (".stepper-run > pre", ".stepper-state", ".bench-calls", ".rail")
        )
        if (
            script["x"] < beside["x"] + beside["width"]
            or script["x"] + script["width"] > state["x"]
            or script["y"] < 0
            or calls["y"] + calls["height"] > height
        ):
            report("runs", f"script, pictures and calls are not on a screen of {width}: {script}")
        for words in ("Missing:", "To do:"):
            if not page.eval_on_selector(".bench-messages", SEEN, words):
                report("runs", f"{words} is not seen on a screen of {width} by {height}")
    page.set_viewport_size(size)
    scripts = page.get_by_label("Ready script")
    for number in range(scripts.locator("option[value]:not([value=''])").count()):
        scripts.select_option(str(number))
        whole = drawn()
        words_of_pictures(page, report, f"script {number} of the bench")
        page.get_by_role("button", name="Back", exact=False).first.click()
        before = drawn()
        page.get_by_role("button", name="Step").click()
        if not whole or before == whole or drawn() != whole:
            report("runs", f"script {number} of the bench: the pictures do not follow the steps")
        text = page.locator("#pool-bench textarea")
        if "ReleaseThreshold" in text.input_value():
            page.locator("#pool-bench details").evaluate_all(
                "all => all.forEach(a => a.open = true)"
            )
            page.get_by_label("ReleaseThreshold").select_option("128 MiB")
            drawn()
            sets = [line for line in text.input_value().splitlines() if "ReleaseThreshold" in line]
            if sets != ["cudaMemPoolSetAttribute(ReleaseThreshold, 128 MiB)"]:
                report("runs", f"script {number} of the bench: a new threshold made {sets}")


def words_of_steps(stepper):
    return [step["say"] + step["figures"] for step in stepper.evaluate(STEPS)]


@feature("section#the-release-threshold .live")
def run_here(page, report):
    """On one of the pages that run their lesson, the button runs the solution, which prints what
    the page shows above. The stepper shows that run, with the same steps as that of the book. What
    every lesson prints in a page, and the steps of its run, are compared in live.bats."""
    unfold(page, report)
    run, stop = (page.locator(".live button", has_text=name) for name in ("Run", "Stop"))
    click_both = """run => {
        run.click();
        [...document.querySelectorAll(".live button")].find(b => b.textContent == "Stop").click();
    }"""
    ended = "/exit status|did not end/.test(document.querySelector('.live').textContent)"
    # A run may be over before a second click arrives: both come from one piece of script.
    page.locator("#live-argument").fill(page.get_attribute("#live-argument", "max"))
    run.evaluate(click_both)
    page.wait_for_function(ended, timeout=FAR)
    if "it was stopped" not in page.locator(".live").inner_text():
        report("runs", "Stop does not end a run")
    page.locator("#live-argument").fill("100000")
    run.click()
    if stop.is_visible():
        report("runs", "an argument runs that is larger than the page's memory")
    page.locator("#live-argument").fill("")
    run.click()
    page.wait_for_function(ended, timeout=FAR)
    printed = page.locator(".live-output").inner_text().strip()
    shown = page.eval_on_selector_all(
        "article .highlight pre", "all => all.map(p => p.textContent)"
    )
    if not printed or printed not in [text.strip() for text in shown]:
        report("runs", f"the program prints something else here: {printed[:200]}")
    stepper = page.locator(".stepper").first
    runs = stepper.locator("select.runs")
    names = runs.locator("option").all_inner_texts()
    if names[-1] != "your run: the solution, measured":
        report("runs", f"the stepper's last run is {names[-1]}")
    if stepper.get_attribute("data-shown") != str(len(names) - 1):
        report("runs", "the stepper does not show the run that was made here")
    stepper.evaluate(AS_STEPPER)
    here = words_of_steps(stepper)
    runs.select_option("the solution")
    page.wait_for_function(
        f"document.querySelector('.stepper').dataset.shown === '{names.index('the solution')}'"
    )
    # That of the book may leave out what stands before and after.
    book = words_of_steps(stepper)[1:]
    if not any(here[at : at + len(book)] == book for at in range(1, len(here))):
        report("runs", f"of the book's {len(book)} steps, these {len(here)} have others")
    for link in page.locator(".live p > a").all():
        if link.bounding_box()["height"] < FINGER:
            report("runs", f'"{link.inner_text()}" is too small for a finger')
    opener = stepper.locator(".stage-open")
    if opener.is_visible():  # on a phone, where the open stage lies over the page
        opener.click()
    page.locator(".live-steps a").click()
    page.evaluate(DRAWN)
    if not page.evaluate("document.activeElement.matches('#stepper .next')"):
        report("runs", "the link below the run does not take the focus to the stepper")
    if not stepper.is_visible() or "#stepper" not in page.url:
        report("runs", "the link below the run does not lead to the stepper")


# ---- what every page must have ----


def unfold(page, report):
    """Shows what a reader would open. The checks after this one look at it too."""
    page.evaluate("checks.unfold()")


def layout(page, report):
    for fault in page.evaluate("checks.layout()"):
        report("layout", fault)


def pictures(page, report):
    for fault in page.evaluate("checks.pictures()"):
        report("pictures", fault)
    if page.viewport_size["width"] >= WIDE:
        words_of_pictures(page, report, "the page")


def words_of_pictures(page, report, what):
    boxes = page.evaluate(BOXES)
    if not boxes.endswith(": nothing wrong"):
        report("pictures", f"{what}: {boxes}")


def paper(page, report):
    """What is printed: every fold open, nothing cut off, nothing that only a screen needs."""
    page.evaluate("checks.fold()")
    page.emulate_media(media="print")
    page.evaluate(DRAWN)
    for fault in page.evaluate("checks.paper()"):
        report("paper", fault)


def accessible(page, report, rules=None):
    """What axe finds. What it takes from the drawn page (DRAWN_RULES) is judged where words have a
    look that no page before had in this size and theme: few styles make all looks. The
    contents, whose links are the same on all pages, are judged on those of the sample."""
    chosen = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": RULES}
    options = {"resultTypes": ["violations"], "preload": False, "runOnly": chosen}
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    known = judged[page.viewport_size["width"], dark]
    without = [] if in_sample(page) else [SAME]
    given = [options, DRAWN_RULES, list(known), without]
    looks, found = page.evaluate("given => checks.axe(...given)", given)
    known.update(looks)
    for rule, count, place, words in found:
        report("axe", f"{rule}, {count} times, first {place}: {words}")


def legible(page, report):
    """The rules that another size or theme could break."""
    accessible(page, report, VISUAL_RULES)


def in_sample(page):
    return page.url.endswith(tuple(f"/{name}.html" for name in SAMPLE))


def features(page, report):
    wanted = [feature for feature in FEATURES if in_sample(page) or not feature[1]]
    there = "all => all.map((selector) => !!document.querySelector(selector))"
    is_there = page.evaluate(there, [selector for selector, _, _ in wanted])
    for check in itertools.compress((check for _, _, check in wanted), is_there):
        check(page, report)


def keyboard(page, report):
    """The Tab key comes to everything that can be used, shows where it is, and leaves the page."""
    count = page.evaluate("checks.startKeyboard()")
    limit = 2 * count + 20  # Chromium also stops at blocks that scroll
    for pressed in range(limit):
        page.keyboard.press("Tab")
        if pressed >= count and page.evaluate("document.activeElement === document.body"):
            break
    else:
        report("keyboard", f"the Tab key does not leave the page after {limit} steps")
    for fault in page.evaluate("checks.endKeyboard()"):
        report("keyboard", fault)
    before = page.url
    page.evaluate("checks.focusScrolling()")
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(50)
    if page.url != before or page.evaluate("location.href") != before:
        report("keyboard", "an arrow key opens another page")


def head(page, report):
    for fault in page.evaluate("checks.head()"):
        report("head", fault)


# ---- a pass ----


def weigh(page, report):
    # The index of all words is the page of results' alone, and grows with the book. What is loaded
    # when a program runs on its page has a limit of its own (live.bats).
    files = [report.folder / unquote(path).lstrip("/") for path in report.loaded]
    apart = ("searchindex.js", "simulated_device.js", "run_steps.js")
    files = [
        file
        for file in files
        if file.is_file() and file.name not in apart and file.parent.name != "sources"
    ]
    weight = sum(file.stat().st_size for file in files)
    if weight > HEAVIEST:
        report("weight", f"{weight / 1024:.0f} KB in {len(files)} files, not {HEAVIEST // 1024}")


def looks(folder, served, named):
    """The longest first."""
    every = sorted(
        str(file.relative_to(folder).with_suffix(""))
        for file in folder.rglob("*.html")
        if "_static" not in file.parts
    )
    # A hundred listings are made alike: the sample has one.
    chosen = [name for name in every if not name.startswith("listings/") or name in SAMPLE]
    names = named or chosen
    sample = named or [name for name in SAMPLE if name in every]
    both = [layout, pictures]
    full = [
        (1400, "light", [head, features, unfold, *both, accessible]),
        (390, "dark", [*both, weigh]),
        (PAPER, "light", [paper]),
    ]
    for part in range(PARTS):
        yield Look(folder.as_uri(), names[part::PARTS], full, SCRIPT)
    wide = [
        (768, "light", [keyboard, unfold, *both, pairs]),
        (768, "dark", both),
        (1400, "dark", [*both, legible]),
    ]
    yield Look(served, sample, wide, SCRIPT)
    narrow = [(390, "light", [features, unfold, *both, legible, weigh])]
    yield Look(served, sample, narrow, SCRIPT)
    yield Look(folder.as_uri(), [""], [(1400, "light", [lost_places])])


def lost_places(page, report):
    """The places of the finder are on their pages."""

    def read(name):
        text = (report.folder / "_static" / name).read_text(encoding="utf-8")
        return json.loads(text[text.index("=") + 1 : text.rindex(";")])

    found = [(place[1], place[3]) for place in read("places.js")]
    for name, texts in read("texts.js").items():
        found += [(name, address) for address, _, _ in texts]
    pages = {}
    for name, address in found:
        file, _, anchor = address.partition("#")
        if file not in pages:
            path = report.folder / file
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            pages[file] = {"", *re.findall(r'\bid="([^"]+)"', text)} if text else set()
        if anchor not in pages[file]:
            report("finder", f"{name} leads to {address}, which is not there")
