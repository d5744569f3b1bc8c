"""Opens pages of the built book in headless Chromium, for each check of the table in __main__.py.

Playwright drives the Chromium of this machine. A check is a function of the page and of what takes
its faults: check(page, report). It calls report(NAME, FAULT) for each.
"""

import concurrent.futures
import functools
import http.server
import os
import sys
import threading
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from playwright.sync_api import Error, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "docs/extensions"))
from book import chromium

HEIGHT = 900
FAR = 120000  # milliseconds: what runs in a page comes to an end long before
BROWSERS = 2  # at a time
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# Shows the runs that a page has folded.
UNFOLD = """for (const button of document.querySelectorAll(".predict-notice button"))
        if (button.textContent === "Show the run") button.click();
    for (const one of document.querySelectorAll("details:has(.stepper)")) one.open = true;"""
# A stage as other steppers are: open, also on a narrow window, and it asks nothing.
AS_STEPPER = """(place) => {
    const [opener, ask] = [".stage-open", ".ask"].map((one) => place.querySelector(one));
    if (opener.checkVisibility() && opener.ariaExpanded !== "true") opener.click();
    if (ask.checked) ask.click();
}"""
# Chooses a run of a stepper.
CHOOSE = """(place, at) => {
    const list = place.querySelector(".runs");
    list.selectedIndex = at;
    list.dispatchEvent(new Event("change"));
    place.querySelector(".next").focus({ preventScroll: true });
}"""


class Look(NamedTuple):
    """Pages that are opened one after the other in one tab. Each has the sizes and themes of the
    stages in turn, (width, theme, checks), and in each their checks. The name "" opens no page."""

    address: str  # of the book: http, or its folder
    names: list
    stages: list
    script: str = ""  # what each page has before its own


class Report:
    """Takes the faults of a pass. A check finds here which files its page has loaded."""

    def __init__(self, folder, faults):
        self.folder, self.faults, self.where = folder, faults, ""
        self.loaded, self.seen = set(), []

    def __call__(self, check, fault):
        self.faults.add(f"{check}: {self.where}: {fault}")


def watch(page, address, report):
    """Notes what the page loads, and what its scripts or the network complain of."""
    page.on("console", lambda m: m.type == "error" and report.seen.append(m.text))
    page.on("pageerror", lambda error: report.seen.append(str(error)))

    def failed(request):
        # The icon may still be on its way when the next page is opened. What is missing is an error
        # of the console, or has another reason here.
        if request.failure != "net::ERR_ABORTED":
            report.seen.append(f"{request.url} was not loaded")

    def requested(request):
        if request.url.startswith(address):
            report.loaded.add(urlsplit(request.url.removeprefix(address)).path)
        elif not request.url.startswith(("data:", "blob:")):
            report.seen.append(f"{request.url} is not of the book")

    page.on("requestfailed", failed)
    page.on("request", requested)


def look_at(browser, folder, faults, look):
    context = browser.new_context(reduced_motion="reduce")
    if look.script:
        context.add_init_script(look.script)
    page = context.new_page()
    page.set_default_timeout(FAR)
    report = Report(folder, faults)
    watch(page, look.address, report)
    protocol = look.address.split(":")[0]
    for name in look.names:
        report.where = ""
        report.seen.clear()
        report.loaded.clear()
        try:
            for width, theme, checks in look.stages:
                page.set_viewport_size({"width": width, "height": HEIGHT})
                page.emulate_media(media="screen", color_scheme=theme)
                if not report.where and name:
                    page.goto(f"{look.address}/{name}.html", wait_until="load")
                report.where = f"{name} at {width} px, {theme}, {protocol}".strip()
                for check in checks:
                    check(page, report)
        except Error as error:
            report.where = report.where or f"{name}, {protocol}"
            report("opened", " ".join(str(error).split())[:300])
        for message in report.seen:
            report("console", message)
    context.close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, address):
        """A page that is left does not wait for what it asked for."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, address)


def serve(folder):
    """The address of the book over http."""
    server = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def faults_of(folder, looks):
    """The faults of all looks, the longest first. A browser that is done takes the next look."""
    program, faults, turn = chromium.find(), set(), threading.Lock()

    def next_look():
        with turn:
            return next(looks, None)

    def look_at_some(_):
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=program, chromium_sandbox=os.geteuid() != 0
            )
            while look := next_look():
                look_at(browser, folder, faults, look)
            browser.close()

    with concurrent.futures.ThreadPoolExecutor(BROWSERS) as browsers:
        list(browsers.map(look_at_some, range(BROWSERS)))
    return faults
