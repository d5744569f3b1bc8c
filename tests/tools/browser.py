"""Looks at the built book in headless Chromium: browser.py HTML_FOLDER [PAGE...]

One line on stdout for each fault: the check, the page with the size, theme and protocol under which
it was seen, and what is wrong. Exit status 1 if there is a fault, 2 if nothing could be looked at.

Each page but the listings of programs is opened at 1400 pixels, light, over http, and at 390
pixels, dark, from its file. A few pages that stand for all (SAMPLE, or the pages that are named)
are opened in every size and theme.

To check what only some pages have, write a function with @feature below.

Playwright drives the Chromium of this machine; axe-core judges accessibility.
"""

import functools
import http.server
import os
import shutil
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error, sync_playwright

SAMPLE = [
    "index",
    "06_release_threshold",
    "09_reuse_events",
    "notes/returns",
    "listings/lessons/06_release_threshold",
    "search",
    "bench",
]
HEIGHT = 900
HEAVIEST = 350 * 1024  # bytes of a page with all that it loads, before compression
PAPER = 688  # the width of a page of A4 between its margins, in CSS pixels
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
VISUAL_RULES = ["color-contrast", "scrollable-region-focusable", "target-size"]
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
STILL = """*, *::before, *::after, *::details-content {
    transition: none !important; animation: none !important }"""
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
SCRIPT = (Path(__file__).parent / "browser.js").read_text()
FEATURES = []


def feature(selector):
    """Registers a check for the pages that have such an element: check(page, report)."""

    def register(check):
        FEATURES.append((selector, check))
        return check

    return register


# ---- what only some pages have ----


@feature("article a[aria-describedby^='tip-']")
def tips(page, report):
    """A word's meaning appears on focus and on hover, within the window, and Escape hides it."""
    word = page.locator("article a[aria-describedby^='tip-']:visible").first
    tip = page.locator("#" + word.get_attribute("aria-describedby"))
    word.focus()
    if not tip.is_visible():
        return report("tips", f'no meaning of "{word.inner_text()}" appears on focus')
    box, width = tip.bounding_box(), page.viewport_size["width"]
    if box["x"] < 0 or box["x"] + box["width"] > width:
        report("tips", f'the meaning of "{word.inner_text()}" leaves the window')
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


def paper(page, report):
    """What is printed: every fold open, nothing cut off, nothing that only a screen needs."""
    size = page.viewport_size
    page.set_viewport_size({"width": PAPER, "height": HEIGHT})
    page.emulate_media(media="print")
    page.evaluate(DRAWN)
    for fault in page.evaluate("checks.paper()"):
        report("paper", fault)
    page.emulate_media(media="screen")
    page.set_viewport_size(size)


def accessible(page, report, rules=None):
    chosen = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": RULES}
    options = {"resultTypes": ["violations"], "runOnly": chosen}
    found = Axe().run(page, options=options).response
    for violation in found["violations"]:
        if violation["impact"] in ("serious", "critical"):
            first = violation["nodes"][0]
            report(
                "axe",
                f"{violation['id']}, {len(violation['nodes'])} times, first "
                f"{first['target'][0]}: {violation['help']}",
            )


def legible(page, report):
    """The rules that another size or theme could break."""
    accessible(page, report, VISUAL_RULES)


def features(page, report):
    for selector, check in FEATURES:
        if page.query_selector(selector):
            check(page, report)


def keyboard(page, report):
    """The Tab key comes to everything that can be used, shows where it is, and leaves the page."""
    count = page.evaluate("checks.startKeyboard()")
    limit = 2 * count + 20  # Chromium also stops at blocks that scroll
    for _ in range(limit):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
    else:
        report("keyboard", f"the Tab key does not leave the page after {limit} steps")
    for fault in page.evaluate("checks.endKeyboard()"):
        report("keyboard", fault)
    before = page.url
    page.evaluate("checks.focusScrolling()")
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(50)
    if page.url != before:
        report("keyboard", "an arrow key opens another page")


def head(page, report):
    for fault in page.evaluate("checks.head()"):
        report("head", fault)


# ---- a pass ----


class Pass:
    def __init__(self, browser, folder):
        self.browser, self.folder, self.faults = browser, folder, set()

    def look(self, address, names, size, theme, checks):
        """Opens pages one after the other in one tab and runs the checks on each."""
        context = self.browser.new_context(
            viewport={"width": size, "height": HEIGHT}, color_scheme=theme
        )
        context.add_init_script(SCRIPT)
        page = context.new_page()
        page.set_default_timeout(10000)
        seen, loaded = [], set()
        page.on("console", lambda m: m.type == "error" and seen.append(m.text))
        page.on("pageerror", lambda error: seen.append(str(error)))

        def failed(request):
            # The icon may still be on its way when the next page is opened. What is missing is an
            # error of the console, or has another reason here.
            if request.failure != "net::ERR_ABORTED":
                seen.append(f"{request.url} was not loaded")

        page.on("requestfailed", failed)

        def requested(request):
            if request.url.startswith(address):
                loaded.add(urlsplit(request.url).path)
            elif not request.url.startswith(("data:", "blob:")):
                seen.append(f"{request.url} is not of the book")

        page.on("request", requested)
        for name in names:
            where = f"{name} at {size} px, {theme}, {address.split(':')[0]}"

            def report(check, fault, where=where):
                self.faults.add(f"{check}: {where}: {fault}")

            seen.clear()
            loaded.clear()
            try:
                page.goto(f"{address}/{name}.html", wait_until="load")
                page.add_style_tag(content=STILL)
                for check in checks:
                    check(page, report)
            except Error as error:
                report("opened", " ".join(str(error).split())[:300])
            for message in seen:
                report("console", message)
            if address.startswith("http") and features in checks:
                self.weigh(loaded, report)
        context.close()

    def weigh(self, loaded, report):
        # The index of all words is the page of results' alone, and grows with the book. The
        # simulated device has a limit of its own (live.bats).
        files = [self.folder / unquote(path).lstrip("/") for path in loaded]
        apart = ("searchindex.js", "simulated_device.js")
        files = [file for file in files if file.is_file() and file.name not in apart]
        weight = sum(file.stat().st_size for file in files)
        if weight > HEAVIEST:
            report(
                "weight", f"{weight / 1024:.0f} KB in {len(files)} files, not {HEAVIEST // 1024}"
            )

    def run(self, address, named):
        every = sorted(
            str(file.relative_to(self.folder).with_suffix(""))
            for file in self.folder.rglob("*.html")
            if "_static" not in file.parts
        )
        # A hundred listings are made alike: the sample has one.
        chosen = [name for name in every if not name.startswith("listings/") or name in SAMPLE]
        names = [name for name in every if name in named] if named else chosen
        sample = names if named else [name for name in SAMPLE if name in every]
        files = self.folder.as_uri()
        full = [head, paper, features, unfold, layout, pictures, accessible]
        self.look(address, names, 1400, "light", full)
        self.look(files, names, 390, "dark", [unfold, layout, pictures])
        self.look(address, sample, 390, "light", [features, unfold, layout, pictures, legible])
        self.look(address, sample, 768, "light", [keyboard, unfold, layout, pictures])
        self.look(address, sample, 768, "dark", [unfold, layout, pictures])
        self.look(address, sample, 1400, "dark", [unfold, layout, pictures, legible])
        self.look(files, sample, 768, "light", [features, unfold, layout])


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def main():
    if len(sys.argv) < 2 or not (Path(sys.argv[1]) / "index.html").exists():
        print("Usage: browser.py HTML_FOLDER [PAGE...]", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1]).resolve()
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if not program:
        print("Chromium is not on this machine.", file=sys.stderr)
        return 2
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=folder)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, chromium_sandbox=os.geteuid() != 0
        )
        looked = Pass(browser, folder)
        looked.run(f"http://127.0.0.1:{server.server_port}", sys.argv[2:])
        browser.close()
    print("\n".join(sorted(looked.faults)))
    return 1 if looked.faults else 0


if __name__ == "__main__":
    sys.exit(main())
