"""Answers the questions of the book's pages in their steppers, on every third page that asks.

Which question comes before which line of which run is in tests/book/answers.txt, as a person
has read it. On each page the stepper is opened from the notice that stands for the folded run, with
nothing else unfolded. Then each of its runs is stepped through by keys: the questions of the page
that are still open come, each before its line, with the picture of the step before. Of a question
every field gets a wrong answer, twice or, for every other question, the correct one after it. Only
then its reply is there, and the fields of the page have the same values and verdicts.
"""

import json
import re
from pathlib import Path

from driver import BROWSERS, CHOOSE, Look
from steps import every_third

SHOWN = ("figures", "queues")
NOTHING = "No pool of this process has memory yet."
LOOK, WALK = "(place) => look(place)", "(place) => walk(place)"
READ = Path("tests/book/answers.txt")
# What is seen of the stepper and of the page, with the question that is asked, if any.
SCRIPT = """const NAME = () => {
    const up = document.documentElement.dataset.content_root.split("../").length; // 1 at the top
    return location.pathname.split("/").slice(-up).join("/").replace(".html", "");
};
window.look = (place, isStep) => {
    const text = (part, within = place) => within.querySelector(part)?.textContent || "";
    const asked = place.querySelector(".say .asked");
    const name = asked?.querySelector(".predict-question").id.replace(/^asked-|-question$/g, "");
    const state = (box) => box && {
        fields: [...box.querySelectorAll("input, select")].map((field) => [
            field.value, field.getAttribute("aria-invalid"), field.id,
            field.getAttribute("aria-describedby").split(" ").pop(),
        ]),
        marks: [...box.querySelectorAll(".predict-mark")].map((mark) => mark.textContent),
        verdict: text(".predict-verdict", box), reply: text(".predict-reply", box),
        button: !box.querySelector("form button[type=button]").hidden,
    };
    const isText = (node) => !node.matches?.("i, .chip");
    const own = [...place.querySelectorAll(".line.now")].map((line) =>
        [...line.childNodes].filter(isText).map((node) => node.textContent).join(""));
    const seen = {
        name, figures: text(".figures"), queues: text(".queues"),
        unfolded: [...document.querySelectorAll(".predict-fold:not([hidden])")]
            .filter((fold) => fold.children.length > 1 || fold.firstElementChild !== place).length,
        last: place.querySelector(".next").getAttribute("aria-disabled") === "true",
    };
    return isStep && !name ? seen : {
        ...seen, say: text(".say"), count: text(".count"), line: own.join().trim(),
        asked: state(asked), page: name && state(document.getElementById(name)),
        open: place.checkVisibility({ contentVisibilityAuto: true }),
        ticked: place.querySelector(".ask").checked, shown: place.dataset.shown,
        focus: place.contains(document.activeElement), top: place.getBoundingClientRect().top,
        kept: JSON.parse(localStorage[`workbook:predict:${NAME()}`] || "{}").checked || {},
    };
};
// Steps on until something is asked, or to the end: [the looks, the most that was unfolded].
window.walk = (place) => {
    const looks = [look(place, true)];
    const now = () => looks[looks.length - 1];
    while (!now().name && !now().last && looks.length < 1000) {
        document.activeElement.dispatchEvent(
            new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
        looks.push(look(place, true));
    }
    return [looks.slice(-2), Math.max(...looks.map(({ unfolded }) => unfolded))];
};"""
# The button scrolls, which may choose another run, whose file is loaded first.
SETTLED = """async (place) => {
    for (let frames = 0; frames < 10;
        frames = place.dataset.shown === String(place.querySelector("select")?.selectedIndex ?? 0)
            ? frames + 1 : 0)
        await new Promise(requestAnimationFrame);
}"""
# What is folded until questions are answered: [[their names, is it?]]. A stepper that its button
# has unfolded does not count.
FOLDS = """(names) => [...document.querySelectorAll(".predict-until")].map((mark) => [
    names.filter((name) => mark.compareDocumentPosition(document.getElementById(name)) &
        Node.DOCUMENT_POSITION_PRECEDING),
    [...mark.parentNode.querySelectorAll(":scope > .predict-fold[hidden]")].length > 0,
])"""
# Answers in the stepper: [the answer of a field, how wrong].
ANSWER = """(place, answers) => {
    const asked = place.querySelector(".say .asked");
    [...asked.querySelectorAll("input, select")].forEach((field, i) => {
        const [answer, wrong] = answers[i];
        field.value = !wrong ? answer : !field.options ? String(Number(answer) + wrong * 1000)
            : [...field.options].map((one) => one.value).find((one) => one && one !== answer);
        field.dispatchEvent(new Event("input"));
    });
    asked.querySelector("input, [type=submit]").focus({ preventScroll: true });
    asked.querySelector("form").requestSubmit();
}"""
GIVE_UP = """(place) => {
    place.querySelector(".say .asked form button[type=button]").focus({ preventScroll: true });
    document.activeElement.click();
}"""


def read_answers():
    """{page: {question: its answers}}, and {page: {run: [(question, line)]}}."""
    answers, places, page = {}, {}, ""
    for line in READ.read_text(encoding="utf-8").splitlines():
        head = re.match(r"(\S+), (predict|closing) (\d+): ", line)
        place = re.match(r"  (predict|closing) (\d+), (.*?), before: (.*)", line)
        if head:
            page, field = head[1], f"{head[2]}-{head[3]}"
            answers.setdefault(page, {})[field] = []
        elif place:
            run = re.sub("[/ ]", "-", place[3])
            places.setdefault(page, {}).setdefault(run, []).append(
                (f"{place[1]}-{place[2]}", place[4])
            )
        elif line.startswith("  "):
            answers[page][field].append(re.search(r".*: ([^;]*);[^;]*;[^;]*$", line)[1])
    return answers, places


def faults_of_question(place, look, before, answers, right):
    """Answers it, with a wrong answer first; `right`: then with the correct one."""
    what = look["name"]
    if [look[key] for key in SHOWN] != [before[key] for key in SHOWN]:
        yield f"{what} shows {look['figures']} after {before['figures']}"
    if look["asked"]["reply"] or any(look["asked"]["marks"]):
        yield f"{what} has a reply before an answer"
    if len(look["asked"]["fields"]) != len(answers):
        yield f"{what} has {len(look['asked']['fields'])} fields, and not {len(answers)}"
        return
    for value, _, field, mark in look["asked"]["fields"]:
        if value or mark != f"{field}-mark":
            yield f"{what}: {field} has the value {value}, and {mark} describes it"
    place.evaluate(ANSWER, [[answer, 1] for answer in answers])
    tried = place.evaluate(LOOK)
    if tried["name"] != what or tried["asked"]["reply"] or what in tried["kept"]:
        yield f"{what}: the first wrong answer ends it"
        return
    verdict = tried["asked"]["verdict"]
    if not verdict or verdict.startswith("Correct") or not tried["asked"]["button"]:
        yield f"{what}: the first wrong answer is judged so: {verdict}"
    marked = [field[1] == "true" for field in tried["asked"]["fields"]]
    if not all(marked) or not all(tried["asked"]["marks"]):
        yield f"{what}: a wrong answer is not marked"
    # A list of two choices has only one wrong answer.
    if right or any(re.fullmatch(r"[\d.]+", answer) for answer in answers):
        place.evaluate(ANSWER, [[answer, 0 if right else 2] for answer in answers])
    else:
        place.evaluate(GIVE_UP)
    done = place.evaluate(LOOK)
    if done["name"] != what or what not in done["kept"] or not done["asked"]["reply"]:
        yield f"{what} has no reply to the second answer"
        return
    if done["asked"]["verdict"].startswith("Correct.") != right:
        yield f"{what}: the second answer is judged so: {done['asked']['verdict']}"
    for key in ("verdict", "reply", "marks", "button"):
        if done["asked"][key] != done["page"][key]:
            yield f"{what}: the page has {done['page'][key]}, the stepper {done['asked'][key]}"
    values = [[field[:2] for field in done[part]["fields"]] for part in ("asked", "page")]
    if values[0] != values[1]:
        yield f"{what}: the page's fields have {values[1]}, those of the stepper {values[0]}"
    if not done["focus"] or abs(done["top"] - look["top"]) > 2:
        yield f"{what}: its answer moves the stepper by {done['top'] - look['top']} pixels"


def faults_of_run(page, place, expected, answers, still_open):
    """Steps through the run, and takes from `still_open` what it asks."""
    asked, before = [], {"figures": NOTHING, "queues": None}
    page.keyboard.press("Home")  # a run begins where its page does
    while True:
        looks, unfolded = place.evaluate(WALK)
        look, before = looks[-1], looks[0] if len(looks) > 1 else before
        # A page may have several folds, each for the questions above it.
        if unfolded and {name for name in answers if name.startswith("predict")} <= still_open:
            yield "something is unfolded beside the stepper"
        if not look["name"]:
            break
        if look["name"] in [name for name, _ in asked]:
            yield f"the arrow key does not lead on from {look['name']}"
            break
        asked.append((look["name"], look["line"]))
        if len(asked) == 1 and place.locator(".say .asked input").count():
            yield from faults_of_keys(page, place, look)
            look = place.evaluate(LOOK)
        if len(looks) == 1 and before["queues"] is None:
            before["queues"] = look["queues"]
        right = len(asked) % 2 == 0
        yield from faults_of_question(place, look, before, answers[look["name"]], right)
        still_open.discard(look["name"])
        page.keyboard.press("ArrowRight")
    if asked != expected:
        yield f"asked is {asked}, and not {expected}"


def faults_of_keys(page, place, look):
    """In a field an arrow does not step, and Enter checks what is there."""
    place.locator(".say .asked input").first.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    found = place.evaluate(LOOK)
    if found["count"] != look["count"] or found["name"] != look["name"]:
        yield "an arrow key in a field steps"
    if "Answer first" not in found["say"]:
        yield "Enter does not check a field"


def asked(page, report):
    answers, places = read_answers()
    name = page.url.removeprefix(f"{report.folder.as_uri()}/").removesuffix(".html")
    for fault in faults_of(page, answers[name], places.get(name, {})):
        report("asked", fault)


def faults_of(page, answers, places):
    still_open = set(answers)
    button = page.get_by_role("button", name="Answer them step by step")
    if button.count() != 1:
        yield f"{button.count()} buttons lead to the stepper"
        return
    place = page.locator(".stepper").first
    if place.evaluate(LOOK)["open"] == (page.locator(".predict-fold .stepper").count() > 0):
        yield "the stepper is folded, or not, unlike its part of the page"
    button.click()
    place.locator(".line.now").wait_for()
    place.evaluate(SETTLED)
    look = place.evaluate(LOOK)
    runs = json.loads(place.get_attribute("data-runs"))
    names = [name for name, _, _ in runs]
    if not look["open"] or not look["ticked"] or look["unfolded"] or not look["focus"]:
        yield f"the button does not lead to the stepper alone: {look}"
    chosen = int(look["shown"])
    for number in [chosen, *(one for one in range(len(runs)) if one != chosen)]:
        if number != chosen:
            place.evaluate(CHOOSE, number)
            page.locator(f".stepper[data-shown='{number}']").wait_for()
        run = place.get_attribute("data-run")
        expected = [one for one in places.get(run, []) if one[0] in still_open]
        if number == chosen and not expected:
            yield f"{names[number]} is chosen, and asks nothing"
        for fault in faults_of_run(page, place, expected, answers, still_open):
            yield f"{names[number]}: {fault}"
    # A closing question folds nothing.
    folding = sorted(name for name in answers if name.startswith("predict"))
    for above, folded in page.evaluate(FOLDS, folding):
        if folded != bool(still_open & set(above)):
            yield f"with {sorted(still_open)} open what is below {above} is folded: {folded}"


def looks(folder, served, named):
    names = named or every_third(folder, 'class="stepper-asks"')
    for part in range(BROWSERS):
        stages = [(1400, "light", [asked])]
        yield Look(folder.as_uri(), names[part::BROWSERS], stages, SCRIPT)
