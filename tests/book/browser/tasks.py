"""What a reader can find out with the instruments of the book's pages.

Each check is a function below, which tells what a reader does, in keys, and what must be seen then.
It opens its pages from their files.
"""

import gzip
import re

from driver import FAR, UNFOLD, Look
from playwright.sync_api import Error

MOST_KEYS = 10  # to answer a reader's question
COLUMNS, SIZE = 100, 13  # of a program that are seen, and the pixels of its letters
SCROLLBAR = 15  # pixels, which this Chromium does not show
# Whether the present line comes again before the next row, to which this steps.
AGAIN = """(place) => {
    const shown = () => [".where", ".count"].map((part) => place.querySelector(part).textContent)
        .concat(place.querySelector(".line.now")?.dataset.line);
    const [row, begin, line] = shown();
    for (let last = begin;;) {
        place.querySelector(".next").click();
        const [where, count, now] = shown();
        if (where !== row || count === last) return false;
        if (now === line) return true;
        last = count;
    }
}"""
LOOK = """(place) => {
    const all = (part) => [...place.querySelectorAll(part)];
    const text = (part) => place.querySelector(part)?.textContent || "";
    return {
        chip: text(".chip"), figures: text(".figures"), say: text(".say"),
        where: text(".where"), count: text(".count"),
        line: Number(place.querySelector(".line.now")?.dataset.line),
        lanes: all("text[data-key^=lane]").map((one) => one.textContent),
        struck: all("text.struck").length, edges: all("path.edge").length,
        missing: all("path.missing").length, words: text("text.missing-words"),
        off: all("path.threshold.off").length,
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

    def load(self, name, *size):
        """The tab, with that page in it."""
        if size:
            self.page.set_viewport_size(dict(zip(("width", "height"), size)))
        self.page.goto((self.folder / f"{name}.html").as_uri(), wait_until="load")
        return self.page

    def open(self, name, run=None):
        """The page's first stepper, with one of its runs."""
        self.load(name)
        self.page.evaluate(UNFOLD)
        self.place = self.page.locator(".stepper").first
        self.place.scroll_into_view_if_needed()
        self.place.locator(".line.now").wait_for()
        if self.place.locator(".ask").is_checked():  # as on a stage
            self.place.locator(".ask").evaluate("(box) => { box.checked = false; }")
            self.place.locator("select.runs").dispatch_event("change")
        if run:
            self.place.locator("select.runs").select_option(run)
            self.page.wait_for_function(
                "(place) => place.dataset.shown === String(place.querySelector('.runs')"
                ".selectedIndex)",
                arg=self.place.element_handle(),
            )
        self.place.locator(".next").focus()
        return self

    def press(self, key):
        self.page.keyboard.press(key)
        return self.look()

    def look(self):
        return self.place.evaluate(LOOK)

    def until(self, key, found, most=MOST_KEYS):
        """(how often the key was pressed, what is seen) until it is found, or at most as often as
        a reader would."""
        look = self.look()
        for keys in range(most + 1):
            if found(look):
                return keys, look
            look = self.press(key)
        return None, look


# What a reader looks for in a run, with the key n: the page, the run, and what is seen in turn.
SOUGHT = {
    # Which call gives memory back, and why not all of it? Three segments of 32 MiB leave.
    "returned": (
        "04_release_threshold",
        "the solution",
        lambda one: "reserved −96 MiB" in one["chip"]
        and "−96" in one["figures"]
        and "threshold 48" in one["where"]
        and "threshold 48" in one["pool"]
        and "96 returned" in one["pool"]
        and one["ghosts"] == 3,
    ),
    # Which call made the pool grow, and which event stops it?
    "grown": (
        "10_reuse_events",
        "the solution",
        lambda one: "reserved +64 MiB" in one["chip"] and "F " in one["where"],
        lambda one: "takes the record" in one["chip"] and one["edges"],
    ),
    # Where is the missing edge of lesson 08? The streams have the program's names.
    "missing_edge": (
        "08_stream_order",
        "the starter",
        lambda one: one["missing"] > 0
        and one["bad"] == len(one["marks"]) == 2
        and "✗ no order" in one["words"]
        and {"worker", "reader"} & set(one["lanes"]),
    ),
    # Which of three records does the wait take (case 3)?
    "taken_record": (
        "clinic/03_barrier",
        None,
        lambda one: "takes the record" in one["chip"]
        and "workers[2]" in one["chip"]
        and one["struck"] == 2,
        lambda one: one["missing"] > 0
        and one["marks"] == [37, 41]
        and one["lanes"][::2][:2] == ["collecting", "workers[0]"],
    ),
    # A call that is refused shows what it did all the same (case 10).
    "refused": (
        "clinic/10_tight_memory",
        None,
        lambda one: "refused" in one["chip"]
        and "reserved −64 MiB" in one["chip"] + one["say"]
        and "All the same" in one["say"],
    ),
}


def seeker(name):
    opened, run, *wanted = SOUGHT[name]

    def seek(page):
        at = page.open(opened, run)
        for number, is_found in enumerate(wanted, 1):
            keys, look = at.until("n", is_found)
            if keys is None:
                yield f"sight {number} of {len(wanted)} is not there after {MOST_KEYS} keys: {look}"
                return

    seek.__name__ = name
    return seek


def off_scale(page):
    """A threshold far above the pool is an arrow, and not nothing."""
    at = page.open("04_release_threshold", "the solution")
    keys, look = at.until("n", lambda one: "threshold 256" in one["pool"], 4 * MOST_KEYS)
    if keys is None or look["off"] != 1:
        yield f"the threshold of 256 MiB, above a pool of 128, has no arrow: {look}"


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


def begins(page):
    """A run begins at the first call that the page is about; the ones before it are there."""
    for name, run, words in (
        ("08_stream_order", "the starter", "launch_fill"),
        ("03_custom_pool", None, "It allocates"),
        ("06_trim", None, "It allocates"),
        ("20_graph_memory", None, "cudaMallocAsync"),
        ("14_peer_access", "the starter", "stream[0]: It allocates"),  # its loop counts down
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
    """What is behind "Large" cannot be reached, and its parts do not lie on each other."""
    at = page.open("model")
    at.place.locator(".large").click()
    at.place.locator("[data-view=pool]").click()
    if parts := at.place.evaluate(ON_EACH_OTHER):
        yield f"parts of what is large lie on each other: {parts}"
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
    """A round falls from hundreds of microseconds to tens."""
    place = page.load("index").locator(".dial-live")
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


DAYS_OVER = """expected => {
    const words = document.querySelector(".days-result").innerText;
    return !document.querySelector(".days-squares .later") && words.includes(expected);
}"""
# The slider is dragged to its end.
DRAGGED = """async () => {
    const slider = document.querySelector("#days-load");
    for (const value of [2, 3, 4]) {
        slider.value = value;
        slider.dispatchEvent(new Event("input"));
        await new Promise((done) => setTimeout(done, 25));
    }
}"""


def days(page):
    """The first screen: all days are right, a busy GPU turns some red, and three arrows make all
    right: by keyboard, by mouse, and from the link that the page has then."""
    tab = page.load("index", 1280, 800)
    wrong = tab.locator(".days-squares .wrong")
    box = tab.locator(".days-say").bounding_box()
    if box["y"] + box["height"] > 800 or "300 of 300" not in tab.inner_text(".days-result"):
        yield f"not all days are right, or they are not on the first screen: {box}"

    def ends(words, what):
        try:
            tab.wait_for_function(DAYS_OVER, arg=words, timeout=FAR)
        except Error:
            return [f"{what}: {tab.inner_text('.days-result')}"]
        return []

    # Dragged there: each step of it begins other days, while the threads run those of the last.
    tab.locator("#days-load").focus()
    tab.keyboard.press("ArrowRight")
    yield from ends("3 pairs", "a GPU that is less quiet")
    tab.evaluate(DRAGGED)
    yield from ends("3 pairs", "a busy GPU")
    numbers = {int(one.get_attribute("title").split()[-1]) for one in wrong.all()}
    if wrong.count() < 150 or not {0, 2, 7, 40} <= numbers:
        yield f"on a busy GPU {wrong.count()} days are wrong, and print {numbers}"
    # The keyboard: a step, and the step that waits for it
    for name, words in (("fill", "waits"), ("add", "2 pairs")):
        tab.locator(f"[data-step={name}]").focus()
        tab.keyboard.press("Enter")
        if name == "add":
            yield from ends(words, "an arrow by keyboard")
    # The mouse: from step to step
    for one, other, words in (("add", "copy", "1 pair"), ("copy", "free", "No schedule")):
        places = [tab.locator(f"[data-step={name}]").bounding_box() for name in (one, other)]
        middles = [(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2) for at in places]
        tab.mouse.move(*middles[0])
        tab.mouse.down()
        tab.mouse.move(*middles[1], steps=3)
        tab.mouse.up()
        yield from ends(words, f"an arrow from {one} to {other} by mouse")
    if wrong.count():
        yield f"{wrong.count()} days are wrong, and the checker reports nothing"
    # An arrow back, which no event can be
    tab.locator("[data-step=copy]").click()
    tab.locator("[data-step=add]").click()
    yield from ends("no call has recorded yet", "an arrow back")
    tab.get_by_role("button", name="Share").click()
    text = tab.locator(".days-text").input_value()
    if text.count("\U0001f7e9") != 300 or "#arrows=fill-add" not in text:
        yield f"what is shared is {text}"
    other = tab.context.new_page()
    other.goto(text.splitlines()[-1], wait_until="load")
    other.wait_for_function(DAYS_OVER, arg="No schedule", timeout=FAR)
    if other.locator(".days-drawn li").count() != 3:
        yield "the link does not carry the arrows"
    other.close()
    tab.get_by_role("button", name="Remove the arrow add").click()
    yield from ends("1 pair", "an arrow that is removed")
    touch = tab.context.browser.new_context(
        has_touch=True, viewport={"width": 390, "height": 844}, reduced_motion="reduce"
    )
    phone = touch.new_page()
    phone.goto((page.folder / "index.html").as_uri(), wait_until="load")
    phone.locator("[data-step=fill]").tap()
    phone.locator("[data-step=add]").tap()
    phone.wait_for_function(DAYS_OVER, arg="2 pairs", timeout=FAR)
    touch.close()


def without_script(page):
    """On paper, and without script, tables have the days and the dial's thresholds; and the bench
    says that it needs scripts."""
    index, bench = ((page.folder / f"{name}.html").as_uri() for name in ("index", "bench"))
    page.page.goto(index, wait_until="load")
    page.page.emulate_media(media="print")
    cells = page.page.locator(".days-table tbody tr").all_inner_texts()
    if len(cells) != 4 or "300 of 300" not in cells[0] or cells[3].count("300 of 300") != 2:
        yield f"on paper the table of days has {cells}"
    rows = page.page.locator(".dial-table tbody tr")
    if rows.count() != 10 or not rows.first.is_visible():
        yield "on paper there is no table of ten thresholds"
    page.page.emulate_media(media="screen")
    plain = page.page.context.browser.new_context(java_script_enabled=False).new_page()
    plain.goto(index, wait_until="load")
    for table, live in ((".days-table", ".days-set"), (".dial-table", ".dial-live")):
        if not plain.locator(table).is_visible() or plain.locator(live).is_visible():
            yield f"without script {table} is not there, or what needs a script is"
    plain.goto(bench, wait_until="load")
    if not plain.get_by_text("The bench needs JavaScript.").is_visible():
        yield "without script the bench is empty"


RACE = """cudaMallocAsync(a, 64 MiB, s1)
launch_fill(a, s1)
cudaFreeAsync(a, s2)
cudaMallocAsync(b, 64 MiB, s2)"""


def bench(page):
    """After a report the next steps show what is missing, too: nothing has repaired it. The pool
    takes the width, and on a phone the script stands at the top."""
    tab = page.load("bench", 1280, 900)
    place = tab.locator(".bench")
    place.locator("textarea").fill(RACE)
    place.locator(".to-report").click()
    look = place.evaluate(LOOK)
    if look["missing"] != 1 or look["bad"] != 2:
        yield f"the report has no missing edge: {look}"
    while place.locator(".next").get_attribute("aria-disabled") != "true":
        place.locator(".next").click()
    last = place.evaluate(LOOK)
    if last["count"] == look["count"] or (last["missing"], last["bad"]) != (1, 2):
        yield f"the last step does not show what is missing: {last}"
    place.get_by_role("button", name="Pool", exact=True).click()
    pool = place.locator(".picture rect.segment").first.bounding_box()
    room = place.locator(".picture").bounding_box()
    if pool["width"] < 0.6 * room["width"]:
        yield f"the pool is {pool['width']} of {room['width']} pixels wide"
    page.load("bench", 390, 900)
    place.locator(".line.now").wait_for()
    script, run = [
        place.locator(part).bounding_box() for part in (".stepper-run > pre", ".stepper-run")
    ]
    if script["y"] > run["y"] + 1:
        yield f"above the script {script['y'] - run['y']} pixels are empty"


# What the bench loads beside what every page has, and how much of it, compressed.
BENCH = ("simulated_device.js", "run_steps.js", "run_view.js", "bench.js")
BENCH += ("stepper.css", "bench.css", "colors.css", "pictures.css")
MOST_OF_BENCH = 185344


def weight(page):
    """What the first screen has of its own is at most 24 KB, and loads no device. The bench has at
    most 181 KB, compressed."""
    data = b"".join((page.folder / "_static" / name).read_bytes() for name in BENCH)
    if len(gzip.compress(data)) > MOST_OF_BENCH:
        yield f"the bench has {len(gzip.compress(data))} bytes, compressed"
    files = [page.folder / "_static" / name for name in ("days.js", "days.css")]
    size = sum(file.stat().st_size for file in files)
    text = (page.folder / "index.html").read_text(encoding="utf-8")
    size += len(re.search(r'<div class="days-toy".*?</textarea></div>', text, re.S)[0])
    if size > 24 * 1024:
        yield f"the first screen has {size} bytes"
    page.load("index")
    if page.page.evaluate("'simulatedDevice' in window"):
        yield "the first screen loads the simulated device before somebody touches it"


SIDEWAYS = "(one) => one.scrollWidth > one.clientWidth + 1"


def repair(page):
    """A report says what is missing and what to do, in the program's own names; both of its lines
    are seen, its words lie on no box, and the repair comes into the program and orders the pair."""
    for name, run, words in (
        ("08_stream_order", "the starter", "makes worker wait for launch_fill"),
        ("clinic/01_handed_over", None, "makes packing wait for copying"),
        ("08_stream_order", "wait on older event", ""),
    ):
        at = page.open(name, run)
        at.place.locator(".to-report").click()
        card = at.place.locator(".stepper-report")
        said = card.inner_text()
        if words not in said or "To do" not in said or re.search(r"stream \d|allocation", said):
            yield f"{name}: the report says {said}"
        for fault in at.place.evaluate(REPORTED):
            yield f"{name}: {fault}"
        card.get_by_role("button", name="Show the repair in the code").click()
        look = at.look()
        added = at.place.locator(".line.new")
        drawn = at.place.locator("path.added").count()
        seen = at.place.evaluate(REPAIRED)
        if not seen or look["missing"] or drawn != 1:
            yield f"{name}: the repair adds {added.count()} lines, of which {seen} are seen: {look}"
        card.get_by_role("button", name="Take it back").click()
        if added.count() or not at.look()["missing"]:
            yield f"{name}: the repair is not taken back"


EDGES = """
    const box = (one) => one.getBoundingClientRect();
    const [code, card] = ["pre", ".stepper-report"].map((one) => box(place.querySelector(one)));
    const end = card.top > code.top ? Math.min(code.bottom, card.top) : code.bottom;"""
# How many of the lines that a repair adds are seen.
REPAIRED = f"""(place) => {{{EDGES}
    return [...place.querySelectorAll(".line.new")].map(box).filter(({{ top, bottom, height }}) =>
        height && top >= code.top - 1 && bottom <= end + 1).length;
}}"""
REPORTED = (
    f"(place) => {{{EDGES}"
    + """
    const faults = [...place.querySelectorAll(".line.access")].map(box)
        .filter(({ top, bottom }) => top < code.top - 1 || bottom > end + 1)
        .map(({ top }) => `a line of the report is at ${top}, and ${code.top} to ${end} is seen`);
    const words = box(place.querySelector(".missing-ground"));
    for (const one of [...place.querySelectorAll(".picture rect.box")].map(box))
        if (words.left < one.right && one.left < words.right && words.top < one.bottom &&
            one.top < words.bottom) faults.push("the words of the missing edge lie on a box");
    return faults;
}"""
)


def many_days(page):
    """A report's program runs on 300 days: some are wrong, and with the repair none is."""
    at = page.open("08_stream_order", "the starter")
    at.place.locator(".to-report").click()
    card = at.place.locator(".stepper-report")
    for repaired in (False, True):
        if repaired:
            card.get_by_role("button", name="Show the repair in the code").click()
        card.get_by_role("button", name="Run 300 days").click()
        page.page.wait_for_function(
            "/numbers are right|did not end/.test(document.querySelector('.run-days').textContent)",
            timeout=FAR,
        )
        said = card.locator(".run-days").inner_text()
        if ("On all 300 days" in said) != repaired or "did not end" in said:
            yield f"with the repair: {repaired}, and {said}"


# Which two parts of a stage lie on each other.
ON_EACH_OTHER = """(place) => {
    const parts = [".say", ".figures", ".picture svg", ".queues ul"].map((name) =>
        [name, place.querySelector(name).getBoundingClientRect()]);
    return parts.flatMap(([name, one], at) => parts.slice(at + 1).filter(([, other]) =>
        Math.min(one.right, other.right) - Math.max(one.left, other.left) > 2 &&
        Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 2)
        .map(([other]) => `${name} and ${other}`)).join();
}"""


def stage(page):
    """A lesson's run is in view from the first screen, and the text moves it, but to no step ahead
    of a question that is open. On a phone it is a bar that opens."""
    tab = page.load("08_stream_order", 1440, 900)
    place = tab.locator("[data-stage]")
    place.locator(".line.now").wait_for()
    said = tab.get_by_text("The second comment stands above an event")

    def is_seen():
        box = place.bounding_box()
        return box["y"] >= 0 and box["y"] + box["height"] <= 900 and box["x"] > 700

    if not is_seen() or not place.locator(".asked").is_visible():
        yield "on the first screen there is no stage, or it asks nothing"
    parts = [place.locator(part).bounding_box() for part in ("pre", ".asked", ".picture svg")]
    whole, (code, question, picture) = place.bounding_box(), parts
    if question["width"] < 0.9 * whole["width"] or code["height"] < 160:
        yield f"the question is {question}, and of the program one sees {code}"
    if picture["y"] + picture["height"] > whole["y"] + whole["height"]:
        yield f"the picture is cut off beside a question: {picture}"
    tab.evaluate(UNFOLD)
    said.scroll_into_view_if_needed()
    tab.evaluate("window.scrollBy(0, 300)")
    tab.wait_for_timeout(500)
    if place.locator(".line.access").count() or tab.locator(".is-told").count():
        yield "the text leads to a report ahead of an open question, or is marked as shown"
    if "further on" not in place.locator(".say").inner_text():
        yield "beside a text that is further on the stage does not say so"
    place.locator(".ask").click()
    tab.mouse.click(5, 450)
    tab.evaluate("window.scrollBy(0, -2000)")
    tab.wait_for_timeout(300)
    box = said.bounding_box()
    tab.evaluate(f"window.scrollBy(0, {box['y'] - 300})")
    try:
        tab.wait_for_function(
            "[...document.querySelectorAll('[data-stage] .line.access')]"
            ".map((one) => one.dataset.line).join() === '75,77'"
        )
    except Error:
        yield f"the text leads to {place.locator('.say').inner_text()}"
    if not is_seen() or not tab.locator("p code.lane-name").count():
        yield "the stage is out of view, or no name in the text has its stream's color"
    page.load("04_release_threshold")
    place.locator(".asked").wait_for()
    if parts := place.evaluate(ON_EACH_OTHER):
        yield f"beside a question, parts of the stage lie on each other: {parts}"
    tab.set_viewport_size({"width": 390, "height": 844})
    opener = place.locator(".stage-open")
    if place.bounding_box()["height"] > 90 or not opener.is_visible():
        yield f"on a phone the bar is {place.bounding_box()}"
    opener.click()
    if not place.locator("pre").is_visible() or not place.locator(".picture svg").is_visible():
        yield "the bar does not open"
    tab.keyboard.press("Escape")
    if place.locator("pre").is_visible():
        yield "the bar does not close"
    tab.emulate_media(media="print")
    if place.is_visible():
        yield "the stage is printed"
    tab.emulate_media(media="screen")


def held(page):
    """A case's run stands beside its text and stops ahead of the report, and its button leads to
    the question, until that is answered or the run is shown."""
    for width, is_answered in ((1440, True), (390, False)):
        tab = page.load("clinic/06_short_lived", width, 900)
        place = tab.locator("[data-stage]")
        if width < 1280:
            place.locator(".stage-open").click()
        place.locator(".line.now").wait_for()
        box = place.bounding_box()
        if box["y"] < 0 or box["y"] + box["height"] > 900:
            yield f"at {width} pixels the stage is out of view: {box}"
        place.locator(".next").focus()
        for key in ("End", "n", "ArrowRight"):
            tab.keyboard.press(key)
        middle = box["y"] + 90  # of the map
        tab.mouse.click(box["x"] + box["width"] - 30, middle)
        look = place.evaluate(LOOK)
        if look["marks"] or look["missing"] or "cudaFreeAsync" in look["say"]:
            yield f"at {width} pixels the report is not held back: {look}"
        place.get_by_role("button", name="To the question").click()
        choices = tab.locator("#predict-1 select")
        if not choices.evaluate("(one) => one === document.activeElement && one.checkVisibility()"):
            yield f"at {width} pixels the button does not lead to the question"
        if is_answered:
            choices.select_option("the free")
            tab.locator("#predict-1").get_by_role("button", name="Check").click()
        else:
            tab.get_by_role("button", name="Show the run").click()
            place.locator(".stage-open").click()
        place.get_by_role("button", name="To the report").click()
        if not place.evaluate(LOOK)["marks"]:
            yield f"at {width} pixels the report is held back from who has answered: {is_answered}"
        tab.evaluate("localStorage.clear()")


def told(page):
    """Each place of a lesson's text leads its stage to what it names: a report, a line of the
    program, or that line before a row was printed."""
    for file in sorted(page.folder.glob("[0-2][0-9]_*.html")):
        tab = page.load(file.stem, 1440, 900)
        marks = tab.locator(".stage-at").all()
        if not marks:
            continue
        place = tab.locator("[data-stage]")
        place.locator(".line.now").wait_for()
        tab.evaluate(UNFOLD)
        place.evaluate("(one) => one.querySelector('.ask:checked')?.click()")
        tab.evaluate("document.activeElement.blur()")
        for mark in marks:
            *row, words = mark.get_attribute("data-at").split(" | ")
            tab.evaluate("window.scrollTo(0, 0)")
            mark.evaluate(
                "(one) => window.scrollTo(0, scrollY - 395 +"
                " one.nextElementSibling.getBoundingClientRect().bottom)"
            )
            try:
                tab.wait_for_function(
                    "(one) => one.nextElementSibling.classList.contains('is-told')",
                    arg=mark.element_handle(),
                    timeout=5000,
                )
            except Error:
                yield f"{file.stem}: the text of {words} moves nothing"
                continue
            line = place.locator(".line.now").first.text_content()
            if words.startswith("report "):
                if not place.locator(".line.access").count():
                    yield f"{file.stem}: {words} is not shown"
            elif words not in line or row and [place.locator(".where").text_content()] != row:
                yield f"{file.stem}: {words} leads to {line}"
            elif row and place.evaluate(AGAIN):
                yield f"{file.stem}: {words} leads to a step that is not the last of {row[0]}"


def columns(page):
    """On a wide window a program's 100 columns are seen, in a stepper too, and the picture beside
    or below it has its room. On the stage a long line goes on below."""
    for name in ("04_release_threshold", "08_stream_order", "clinic/03_barrier"):
        at = page.open(name)
        for wide, high in ((1280, 720), (1440, 900), (1920, 1080)):
            page.page.set_viewport_size({"width": wide, "height": high})
            size, seen, letter = at.place.locator("pre").evaluate(SEEN)
            is_stage = at.place.get_attribute("data-stage") is not None
            if is_stage and at.place.locator("pre").evaluate(SIDEWAYS):
                yield f"{name}, {wide} pixels: the stage's program scrolls sideways"
            if size < SIZE or (not is_stage and seen - SCROLLBAR / letter < COLUMNS):
                yield f"{name}, {wide} pixels: {seen:.1f} columns of {size} pixels in the stepper"
            picture, code = (
                at.place.locator(part).first.bounding_box() for part in (".picture svg", "pre")
            )
            if picture["width"] < 320 or code["height"] < 200:
                yield f"{name}, {wide} pixels: the picture is {picture}, the program {code}"
            if page.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                yield f"{name}, {wide} pixels: the page scrolls sideways"
            if name == "04_release_threshold":
                program = page.page.locator(".program-source pre")
                program.evaluate("(pre) => { pre.closest('details').open = true; }")
                size, seen, _ = program.evaluate(SEEN)
                if size < SIZE or seen < COLUMNS:
                    yield f"{wide} pixels: {seen:.1f} columns of {size} pixels in a program"


# The first step of a run, from where it is, that cuts off a sentence or a stream's line.
CUT = """(place) => {
    const [state, legend] = [".stepper-state", ".legend"].map((part) => place.querySelector(part));
    for (;;) {
        const edge = Math.min(state.getBoundingClientRect().bottom,
            legend.getBoundingClientRect().top) + 1;
        const isCut = (one) => {
            const words = document.createRange();
            words.selectNodeContents(one);
            return words.getBoundingClientRect().bottom > edge;
        };
        if ([...state.querySelectorAll(".say, .figures, .queues")].some(isCut))
            return place.querySelector(".count").textContent;
        const next = place.querySelector(".next");
        if (next.getAttribute("aria-disabled") === "true") return "";
        next.click();
    }
}"""


def low(page):
    """On a laptop's low window a step has its words and its streams beside or below the picture,
    and none of them lies on the legend."""
    for name, high in (("08_stream_order", 800), ("11_reuse_opportunistic", 800)) + (
        ("02_default_pool", 720),
    ):
        page.page.set_viewport_size({"width": 1280, "height": high})
        at = page.open(name)
        at.press("Home")
        if step := at.place.evaluate(CUT):
            yield f"{name}: the words are cut off at step {step}"


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


def looks_of(task):
    """The look of a task, which has a tab of its own."""

    def check(page, report):
        for fault in task(Page(page, report.folder)):
            report(task.__name__, fault)

    def looks(folder, served, named):
        yield Look(folder.as_uri(), [""], [(1400, "light", [check])])

    return looks


TASKS = {
    task.__name__: looks_of(task)
    for task in (*map(seeker, SOUGHT), off_scale, to_report, begins, still, mapped, large, dial)
    + (days, without_script, weight, bench, columns, low)
    + (mistakes, repair, many_days, stage, held, told)
}
