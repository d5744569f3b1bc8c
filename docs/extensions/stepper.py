"""Steps through a program's run on its page, from the journal of that run.

    .. stepper:: lessons/06_release_threshold
       :from: main: launch_fill(       these calls alone: chosen.py

The run is data: _static/steps has a script for it, which docs/_static/stepper.js loads when the
reader comes near, and shows: the program with the present line marked, the pool and the streams as
that line left them, and a sentence. Without script, on paper and in an EPUB there is nothing of it.
A step is a call that stands in the program itself, or several equal queries in a row; what a helper
of lessons/*.h calls is part of the next step. Calls after the last step of the run have none.

A pool is as memory_picture.py reads it. A stream has what was queued by then and is not over when
the call returns.
"""

import json
from bisect import bisect_right
from hashlib import sha256
from html import escape
from itertools import groupby

import chosen
import memory_picture
import order_picture
import svg
from book import BookDirective
from docutils.parsers.rst import directives
from live import in_html
from memory_picture import with_unit
from runs import BookError, run_program

MODULES = ("stepper", "chosen", "memory_picture", "order_picture", "svg")
# Why an allocation has the memory that it has: the journal's rung of the ladder.
RUNGS = {
    "new": "The pool has no free memory that fits, so it takes new memory from the device.",
    "same stream": "It reuses memory that was freed earlier in the same stream.",
    "synchronized": "It reuses freed memory, because the host has waited for the free.",
    "event": "It reuses freed memory, because an event orders this stream after the free.",
    "opportunistic": "It reuses freed memory, because the device has reached the free.",
    "internal": "It reuses freed memory, and the driver makes this stream wait for the free.",
}
POINTS = {
    "cudaFreeAsync": "free",
    "cudaEventRecord": "record",
    "cudaStreamWaitEvent": "wait",
    **dict.fromkeys(memory_picture.ALLOCATIONS, "allocate"),
}
MOST_STEPS = 400


class Every:
    """Has each call."""

    def __contains__(self, call):
        return True

    def __bool__(self):
        return True


def merged(calls):
    """Equal queries in a row are one step."""
    found = []
    for line in calls:
        last = found[-1][-1] if found else {}
        same = all(line.get(key) == last.get(key) for key in ("call", "line", "result", "stream"))
        if same and line["call"] in order_picture.QUERIES:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def moments_of(journal):
    """{pool: moments}, one for each call that is about the pool or waits."""
    try:
        pools = memory_picture.read(journal, Every())
    except ValueError:  # no call takes memory from a pool
        return []
    return [pool for pool in pools if pool.number != memory_picture.KEPT_FOR_GRAPHS]


def sentence(group, before, after, pending):
    """What happened, from the journal's facts. Figures: (used, reserved) of the pool."""
    line, name = group[-1], group[-1]["call"]
    times = f"{len(group)} times: " if len(group) > 1 else ""
    if line["result"] != "cudaSuccess":
        return f"{times}It returns {line['result']}."
    stream = svg.stream_name(order_picture.stream_of(line)) if "stream" in line else ""
    returned = before[1] - after[1]
    gone = f"{with_unit(returned)} return to the device." if returned > 0 else ""
    if name in memory_picture.ALLOCATIONS and "offset" in line:
        return f"{with_unit(line['bytes'])} are allocated. {RUNGS[line['from']]}"
    if name == "cudaFreeAsync":
        words = "The memory goes back to the pool, not to the device."
        return f"{words} The free is pending." if pending else words
    if name in (*memory_picture.WAITS, "cudaFree"):
        took = f"It takes {(line['end'] - line['t']) / 1000:.1f} µs."
        kept = f"The pool keeps {with_unit(after[1])}." if after[1] else ""
        return " ".join(word for word in (took, gone, kept) if word)
    if name == "cudaMemPoolTrimTo":
        return f"{gone or 'Nothing returns to the device.'} The pool keeps {with_unit(after[1])}."
    if name == memory_picture.ATTRIBUTE_SET:
        value = line["value"]
        words = memory_picture.threshold_words(value) if value >= 1024 else str(value)
        return f"{line['attribute'].removeprefix('cudaMemPoolAttr')} is now {words}."
    if name in order_picture.RUNS or name == order_picture.KERNEL:
        return f"The work is queued. The call takes {(line['end'] - line['t']) / 1000:.1f} µs."
    if name == "cudaEventRecord":
        return f"It is recorded when {stream} has come to this place."
    if name == "cudaStreamWaitEvent":
        return f"What is queued in {stream} from here on comes after the event's record."
    return f"{times}It returns cudaSuccess."


def counted(pieces):
    """Equal ones in a row are one: "fill × 3"."""
    groups = [(one, len(list(group))) for one, group in groupby(pieces)]
    return [
        [f"{words} × {count}" if count > 1 else words, state] for (words, state), count in groups
    ]


def queues_at(pieces, line, streams):
    """Of each stream: [words, state] of what is queued and not over when the call returns."""
    now, found = line["end"], {stream: [] for stream in streams}
    for piece in pieces:
        if piece.call["number"] > line["number"] or piece.finish[0] <= now:
            continue
        words = POINTS.get(piece.call["call"], piece.words)
        state = "queued" if piece.start[0] > now else "held" if piece.kind == "hold" else "runs"
        found[piece.column].append((words, state))
    return [[svg.stream_name(stream), counted(found[stream])] for stream in streams]


def read(journal, numbers=None):
    """The run as stepper.js takes it."""
    own = [line for line in chosen.calls_of(journal) if chosen.function_of(line)]
    own = [line for line in own if numbers is None or line["number"] in numbers]
    groups = merged(own)
    if not groups or len(groups) > MOST_STEPS:
        raise ValueError(f"it would have {len(groups)} steps, and not 1 to {MOST_STEPS}")
    pools = moments_of(journal)
    at = {pool.number: [moment.call for moment in pool.moments] for pool in pools}
    pieces = sorted(order_picture.pieces_of(journal).values(), key=lambda one: one.call["number"])
    streams = list(dict.fromkeys(piece.column for piece in pieces))
    colors = [one for one in streams if one != "legacy"]
    steps, shown, before = [], None, (0, 0)
    for group in groups:
        line = group[-1]
        known = [pool for pool in pools if bisect_right(at[pool.number], line["n"])]
        if known:  # the pool that a call was about last
            about = [pool for pool in known if pool.number == line.get("pool")]
            recent = max(known, key=lambda pool: pool.moments[0].call)
            shown_now = (about or [recent])[0]
            if shown_now is not shown:
                before = (0, 0)
            shown = shown_now
        state = None
        if shown:
            moment = shown.moments[bisect_right(at[shown.number], line["n"]) - 1]
            state = {
                "pool": shown.number,
                "used": moment.used,
                "reserved": moment.reserved,
                "segments": sorted(moment.mapped),
                "live": [
                    [*place[:2], svg.stream_class(place[2], colors)]
                    for place in moment.live.values()
                ],
                "pending": [
                    [*place[:2], svg.stream_class(place[2], colors)]
                    for place in moment.pending.values()
                ],
            }
        after = (state["used"], state["reserved"]) if state else (0, 0)
        own_stream = svg.stream_name(order_picture.stream_of(line)) if "stream" in line else ""
        pending = bool(state and state["pending"])
        steps.append(
            {
                "line": line["line"],
                "number": line["number"],
                "call": line["call"] + (f", {own_stream}" if own_stream else ""),
                "say": sentence(group, before, after, pending),
                "state": state,
                "streams": queues_at(pieces, line, streams),
            }
        )
        before = after
    file = own[0]["file"]
    spans = [chosen.functions_of(file)[name] for name in {chosen.function_of(one) for one in own}]
    code = [
        [number, chosen.text_of(file)[number - 1]]
        for first, last in sorted(spans)
        for number in range(first, last + 1)
    ]
    tops = {
        pool.number: max([1, *(one + 1 for moment in pool.moments for one in moment.mapped)])
        for pool in pools
    }
    thresholds = {
        pool.number: pool.threshold
        for pool in pools
        if 0 < pool.threshold <= (tops[pool.number] + 3) * memory_picture.SEGMENT
    }
    return {
        "file": file,
        "code": code,
        "steps": steps,
        "tops": tops,
        "thresholds": thresholds,
    }


def changed(before, after):
    """A list as the places that are no longer there and what is new, or None if it is the same."""
    gone = [place for place, one in enumerate(before) if one not in after]
    new = [one for one in after if one not in before]
    return [gone, new] if gone or new else None


def packed(run):
    """The run with only what changed in each step, and each sentence once."""
    words, steps, before = {}, [], {}

    def numbered(text):
        return words.setdefault(text, len(words))

    for step in run["steps"]:
        now = {"call": numbered(step["call"]), "say": numbered(step["say"])}
        now |= {"line": step["line"], "number": step["number"], **(step["state"] or {})}
        for place, (_, queue) in enumerate(step["streams"]):
            now[f"stream {place}"] = [[numbered(what), state] for what, state in queue]
        found = {}
        for key, value in now.items():
            if key in ("segments", "live", "pending"):
                found[key] = changed(before.get(key, []), value)
            elif value != before.get(key, []):
                found[key] = value
        steps.append({key: value for key, value in found.items() if value is not None})
        # What the browser has, in its order.
        for key in ("segments", "live", "pending"):
            old = before.get(key, [])
            gone, new = found.get(key) or ([], [])
            now[key] = [one for place, one in enumerate(old) if place not in gone] + new
        before = now
    streams = [name for name, _ in run["steps"][0]["streams"]]
    return {**run, "steps": steps, "streams": streams, "words": list(words)}


class Stepper(BookDirective):
    option_spec = {
        "from": directives.unchanged_required,
        "to": directives.unchanged_required,
        "case": directives.nonnegative_int,
    }

    def run(self):
        program = self.arguments[0]
        self.depend_on_program(program)
        self.depend(*(f"docs/extensions/{module}.py" for module in MODULES))
        journal = run_program(program).journal
        numbers = None
        try:
            if self.options:
                from_, to = (self.options.get(key, "") for key in ("from", "to"))
                numbers = chosen.choose(journal, from_, to, self.options.get("case"))
            run = packed(read(journal, numbers))
        except (KeyError, ValueError) as error:
            raise BookError(f"{self.env.docname}: no steps of {program}: {error!r}") from error
        name = f"{self.env.docname}-{self.env.new_serialno('stepper')}".replace("/", "-")
        data = json.dumps(run, separators=(",", ":"), ensure_ascii=False)
        steps_of(self.env).setdefault(self.env.docname, {})[name] = data
        # A browser that has an older script of that name loads this one.
        version = sha256(data.encode()).hexdigest()[:8]
        return [
            in_html(
                f'<div class="stepper" data-program="{escape(program)}" data-steps="{name}" '
                f'data-version="{version}"></div>'
            )
        ]


# ---- the scripts ----


def steps_of(env):
    """{page: {name of a script: its data}}, which stays in the environment between builds."""
    if not hasattr(env, "stepper_steps"):
        env.stepper_steps = {}
    return env.stepper_steps


def forget(app, env, page):
    steps_of(env).pop(page, None)


def merge(app, env, pages, other):
    """What another process has read of these pages."""
    theirs = steps_of(other)
    steps_of(env).update({page: theirs[page] for page in pages if page in theirs})


def write_steps(app, error):
    if error or app.builder.name != "html":
        return
    folder = app.outdir / "_static" / "steps"
    folder.mkdir(parents=True, exist_ok=True)
    found = {f"{name}.js": data for all in steps_of(app.env).values() for name, data in all.items()}
    for old in folder.iterdir():
        if old.name not in found:
            old.unlink()
    for name, data in found.items():
        text = f'window.workbookSteps["{name.removesuffix(".js")}"] = {data};\n'
        (folder / name).write_text(text, encoding="utf-8")


def add_script(app, page, template, context, doctree):
    if 'class="stepper"' in context.get("body", ""):
        app.add_css_file("stepper.css")
        app.add_js_file("stepper.js", loading_method="defer")


def setup(app):
    app.add_directive("stepper", Stepper)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("html-page-context", add_script)
    app.connect("build-finished", write_steps)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
