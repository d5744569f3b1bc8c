"""Steps through the runs of the book's pages.

The figures of each step must be those of the journal that the build left in build/docs/runs, which
is read here once more: what the pool's last line up to that call has, and what it changed. Each
hazard of the journal has a step that names it, and marks the lines of both accesses. The data of
all runs are judged so, as a page loads them.

Every third page with a run is opened from its file, wide and light, and every third of these at 390
pixels and dark too. A run is loaded when the reader comes near or chooses it, and each of its steps
is made with the keyboard, and judged by what the page shows. Nothing on the page moves when the run
comes, nor at a step. The questions ask for what the step does, and show nothing of it before. One
script and one style serve all pages, so a part of them is enough.
"""

import json
import re
from functools import cache
from pathlib import Path

from driver import AS_STEPPER, BROWSERS, CHOOSE, DRAWN, UNFOLD, Look

MIB = 1 << 20
FIGURES = re.compile(
    r"(?:Pool (\d+)|Memory for graphs): used ([\d.]+) MiB( [+−][\d.]+)?(?: K?i?B)?"
    r", reserved ([\d.]+) MiB( [+−][\d.]+)?"
)
GRAPHS = ("cudaGraphLaunch", "cudaDeviceGraphMemTrim")
SHIFTS = """(() => {
    window.shifts = [];
    new PerformanceObserver((list) => {
        for (const one of list.getEntries())
            for (const { node } of one.sources)
                if (node?.parentElement?.closest("article") && !node.parentElement.closest("pre"))
                    window.shifts.push(node.className || node.nodeName);
    }).observe({ type: "layout-shift" });
})()"""
SHOWN = "([place, number]) => place.dataset.shown === String(number)"
# How many runs were loaded, less those whose place is near.
FAR_LOADED = """Object.keys(window.workbookSteps).length -
    [...document.querySelectorAll(".stepper")].filter(
        (place) => place.getBoundingClientRect().top < innerHeight + 800).length"""
HEIGHT = "document.querySelector('article').getBoundingClientRect().height"
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
            chip: place.querySelector(".chip")?.textContent || "",
            code: marked.map((line) => line.textContent.replace(/^\\d+/, "").trim()),
            seen: line.top >= code.top - 1 && line.bottom <= code.bottom + 1,
            marks: [...place.querySelectorAll(".line.access")].map((line) => +line.dataset.line),
            wide: document.documentElement.scrollWidth > innerWidth + 1,
            last: place.querySelector(".next").getAttribute("aria-disabled") === "true",
        });
    };
    place.querySelector(".back").focus();
    const home = { key: "Home", bubbles: true, cancelable: true };
    place.querySelector(".back").dispatchEvent(new KeyboardEvent("keydown", home));
    look();
    const key = { key: "ArrowRight", bubbles: true, cancelable: true };
    while (!found[found.length - 1].last && found.length < 1000) {
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", key));
        look();
        if (found.length % 10 === 0) await new Promise(requestAnimationFrame);
    }
    return found;
}"""


# What the reader is asked with the box ticked: [figures before, in the question, after, the answer,
# its verdict, whether the keys step on].
ASKED = """(place) => {
    const text = (part) => place.querySelector(part).textContent;
    const press = (key) => place.querySelector(".next").dispatchEvent(
        new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    place.querySelector(".ask").click();
    press("Home");
    const found = [];
    let before = text(".figures");
    for (let at = 0; at < 1000; at++) {
        const choices = [...place.querySelectorAll(".choices button")];
        if (choices.length) {
            const shown = text(".figures");
            choices[0].focus();
            choices[0].click();
            const said = text(".say");
            const held = document.activeElement === place.querySelector(".next");
            found.push([before, shown, text(".figures"), choices[0].textContent, said, held]);
        }
        before = text(".figures");
        if (place.querySelector(".next").ariaDisabled === "true") break;
        press("ArrowRight");
    }
    place.querySelector(".ask").click();
    return found;
}"""


@cache
def journal_of(run, process):
    text = Path(f"build/docs/runs/{run}/{process}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def figures_at(journal, number, pool):
    """(used, reserved) of the pool after the call with that number; None: what graphs have."""
    used = reserved = 0
    for line in journal:
        own = "graph_memory_of_device" in line or line.get("call") in GRAPHS
        if own if pool is None else line.get("pool") == pool:
            used, reserved = line.get("used", used), line.get("reserved", reserved)
        if line.get("number") == number and "did" not in line:
            break
    return used, reserved


def hazards_of(journal):
    """{(kind, lines of the accesses)} of the hazards between two calls."""
    calls = {line["number"]: line for line in journal if "number" in line and "did" not in line}
    return {
        (line["kind"], *(calls[line[key]].get("line") for key in ("earlier", "later")))
        for line in journal
        if line.get("did") == "hazard"
        and "earlier" in line
        and "later" in line
        # Between nodes of a graph the calls are the launches; marked is what was captured.
        and "launch" not in line
    }


def faults_of_report(journal, look):
    kinds = {line["kind"] for line in journal if line.get("did") == "hazard"}
    kind = look["say"].partition(": ")[2].partition(".")[0]
    if kind not in kinds:
        yield f"the report is {look['say']}, and the journal has {kinds}"
    if not look["marks"]:
        yield "a report marks nothing"
    of_kind = [set(lines) for one, *lines in hazards_of(journal) if one == kind]
    if of_kind and set(look["marks"]) not in of_kind and "host" not in kind:
        yield f"marked are {look['marks']}, and the journal has {of_kind}"


def faults_of_steps(journal, looks):
    calls = {
        line["number"]: line["call"] for line in journal if "number" in line and "did" not in line
    }
    known, reported = {}, []
    for step, look in enumerate(looks, 1):
        where = f"step {step}"
        if look["count"] != f"{step} of {len(looks)}":
            yield f"{where}: it is {look['count']}"
        if look["wide"] or look["at"] != looks[0]["at"]:
            yield f"{where}: the page scrolls sideways, or something moves"
        call = calls[look["number"]]
        if look["say"].startswith("The report"):
            yield from faults_of_report(journal, look)
            reported.append(set(look["marks"]))
        elif not look["say"].startswith(call) or look["marks"]:
            yield f"{where}: {call}, and it is {look['say']}"
        if len(look["code"]) != 1 or not look["seen"]:
            yield f"{where}: marked is {look['code']}"
        found = FIGURES.fullmatch(look["figures"])
        if found:
            pool = int(found[1]) if found[1] else None
            used, reserved = figures_at(journal, look["number"], pool)
            shown = [float(found[2]), float(found[4])]
            if shown != [round(used / MIB, 2), round(reserved / MIB, 2)]:
                yield f"{where}: {look['figures']}, and the journal has {used} and {reserved}"
            if "chip" in look:
                yield from faults_of_change(look, found, reserved - known.get(pool, 0), where)
            known[pool] = reserved
        elif look is looks[-1] and any(
            line.get("reserved") for line in journal if line.get("number", 0) <= look["number"]
        ):
            yield f"{where}: it has no figures"
    shown = {look["number"] for look in looks}
    later = {line["later"] for line in journal if line.get("did") == "hazard" and "later" in line}
    if later & shown and not reported:
        yield f"a hazard of one of the calls {sorted(later & shown)} is reported by no step"


def faults_of_change(look, found, change, where):
    """What is new of `reserved` stands at the figure and beside the line."""
    size = re.sub(r"[.]?0+$", "", f"{abs(change) / MIB:.2f}")
    words = f"{'−' if change < 0 else '+'}{size}" if change else ""
    if (found[5] or "").strip() != words:
        yield f"{where}: the figures {look['figures']} have another change than {change}"
    if change and f"reserved {words} MiB" not in look["chip"] and look["chip"] != "the report":
        yield f"{where}: beside the line is {look['chip']}, and reserved changes by {change}"


def looks_of(run):
    """What a page shows at each step of a run, from the script that it loads. A step has what it
    changes."""
    now, code = {}, dict(run["code"])
    for at, step in enumerate(run["steps"], 1):
        now |= step
        figures = ""
        if state := now.get("state"):
            pool, used, reserved = (state[key] for key in ("pool", "used", "reserved"))
            name = f"Pool {pool}" if isinstance(pool, int) else "Memory for graphs"
            figures = f"{name}: used {used / MIB:.2f} MiB, reserved {reserved / MIB:.2f} MiB"
        yield {
            "number": now["number"],
            "count": f"{at} of {len(run['steps'])}",
            "figures": figures,
            "say": f"{now['call']}: {now['say']}",
            "code": [code[now["line"]]],
            "marks": step.get("marks", []),
            "at": "",
            "wide": False,
            "seen": True,
        }


def runs(page, report):
    """The data of all runs."""
    files = sorted((report.folder / "_static" / "steps").glob("*.js"))
    if len(files) < 95:
        report("runs", f"there are {len(files)}")
    for file in files:
        text = file.read_text(encoding="utf-8")
        run = json.loads(text[text.index("= ") + 2 :].rstrip().removesuffix(";"))
        if any("report" in step for step in run["steps"][: run["begin"]]):
            report("runs", f"{file.name} begins behind a report")
        looks = list(looks_of(run))
        for fault in faults_of_steps(journal_of(run["run"], run["process"]), looks):
            report("runs", f"{file.name}: {fault}")


def faults_of_questions(asked):
    for before, shown, after, said, verdict, held in asked:
        if not held:
            yield f"the focus is lost by the answer {said}"
        if shown != before:
            yield f"a question shows {shown} after {before}"
        reserved = FIGURES.fullmatch(after)[4]
        expected = "Correct." if said == reserved else f"Not {said}, but {reserved} MiB."
        if not verdict.startswith(expected):
            yield f"{said} of {reserved} is judged so: {verdict}"


def steps(page, report):
    for fault in faults_of(page, page.viewport_size["width"] > 1000):
        report("steps", fault)


def faults_of(page, wide):
    if page.evaluate(FAR_LOADED) > 0:
        yield "a run is loaded before the reader comes near"
    page.evaluate(UNFOLD)
    for place in page.locator(".stepper").all():
        page.evaluate("scrollTo(0, 0)")
        page.evaluate(DRAWN)
        page.evaluate(SHIFTS)
        before = page.evaluate(HEIGHT)
        place.scroll_into_view_if_needed()
        place.locator(".line.now").wait_for(state="attached")
        runs = json.loads(place.get_attribute("data-runs"))
        for number, (name, _, _) in enumerate(runs[: None if wide else 1]):
            if number:
                place.evaluate(CHOOSE, number)
            page.wait_for_function(SHOWN, arg=[place.element_handle(), number])
            shifts = [] if number else page.evaluate("window.shifts")
            place.evaluate(AS_STEPPER)
            if number or not wide or place.get_attribute("data-stage") is not None:
                page.evaluate(f"{DRAWN}.then(() => {{ window.shifts = []; }})")
            looks = place.evaluate(STEPS)
            run, process = (place.get_attribute(f"data-{key}") for key in ("run", "process"))
            found = list(faults_of_steps(journal_of(run, process), looks))
            if number == 0:
                found += faults_of_questions(place.evaluate(ASKED))
            page.evaluate(DRAWN)
            shifts += page.evaluate("window.shifts")
            found += [f"the layout shifts: {moved}" for moved in shifts]
            yield from (f"{name}: {fault}" for fault in found)
        if page.evaluate(HEIGHT) != before:
            yield "the page has another height with the run"
        page.keyboard.press("End")
        page.keyboard.press("ArrowLeft")
        count = place.locator(".count").inner_text()
        if len(looks) > 1 and count != f"{len(looks) - 1} of {len(looks)}":
            yield f"the arrow key leads back to {count}"


def looks_at_data(folder, served, named):
    yield Look(folder.as_uri(), [""], [(1400, "light", [runs])])


def every_third(folder, mark):
    """Every third page that has such an element."""
    pages = (file for file in folder.rglob("*.html") if mark in file.read_text(encoding="utf-8"))
    return sorted(str(file.relative_to(folder).with_suffix("")) for file in pages)[1::3]


def looks(folder, served, named):
    names = named or every_third(folder, 'class="stepper"')
    for part in range(BROWSERS):
        yield Look(folder.as_uri(), names[part::BROWSERS], [(1400, "light", [steps])])
    yield Look(folder.as_uri(), names[::3], [(390, "dark", [steps])])
