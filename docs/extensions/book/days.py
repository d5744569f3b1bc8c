"""The first screen: a program with a race, and 300 days of it.

.. bench:: days docs/live/days

   Words beside it, and the doors into the book, which are a list.

A day is a run under SIM_SCHEDULE=random:N. What stands on the page before the reader touches it is
from runs while the book was built: the days of a quiet GPU without an arrow, and a table for paper
and for a page without script. docs/_static/days.js runs the same program in the page, and asks the
checker which pairs are unordered.
"""

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from html import escape

from docutils import nodes

from . import simulated_device
from .live import with_checksum
from .page import BookDirective, in_html, row, table
from .runs import (
    LIBRARY,
    ROOT,
    VARIANTS,
    BookError,
    compile_program,
    outcome,
    run_program,
    variables_of,
)

DAYS = 300
LOADS = (0, 1, 2, 4, 8)  # kernels of others before each step
# Of each step its name, what the picture says, its stream, and its place in percent.
STEPS = (
    ("fill", "fill 40", "loader", 0, 20),
    ("add", "add 2", "worker", 27, 18),
    ("copy", "copy", "reader", 52, 17),
    ("free", "free", "worker", 76, 11),
)
STREAMS = {"loader": "s-1", "worker": "s-2", "reader": "s-3"}
CALLS = {
    "launch_fill": "fill",
    "launch_add": "add",
    "cudaMemcpyAsync": "copy",
    "cudaFreeAsync": "free",
}
REPAIR = ("fill-add", "add-copy", "copy-free")
TABLE = [REPAIR[:count] for count in range(4)]  # the rows
SHOWN = (LOADS[0], LOADS[-1])  # and the columns


def day(program, number, load, arrows):
    """The number that the program prints on that day. Its status says whether that is 42, and
    whether the checker has reported something: both are known here."""
    done = outcome(
        [ROOT / "build/simulator" / program, str(load), *arrows],
        env={**variables_of(()), "SIM_SCHEDULE": f"random:{number}"},
        timeout=600,
    )
    if not done.stdout.strip().isdigit():
        raise BookError(f"{program} printed no number on day {number}:\n{done.stderr}")
    return int(done.stdout)


def all_days(program, load, arrows):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        numbers = range(1, DAYS + 1)
        return list(pool.map(lambda number: day(program, number, load, arrows), numbers))


def unordered(program, arrows):
    """What the checker reports, as pairs of steps: its reports are the same on each day."""
    journal = run_program(program, ("0", *arrows), ("SIM_SCHEDULE=random:1",)).journal
    reports = (line for line in journal if line.get("did") == "hazard")
    return [f"{CALLS[one['earlier_call']]}-{CALLS[one['call']]}" for one in reports]


def days_of(program):
    """{(load, arrows): the numbers of all days}. Runs that another build has made are kept, as long
    as neither program nor device changes."""
    trouble = compile_program(program)
    if trouble:
        raise BookError(f"{program}.c does not compile:\n{trouble}")
    made_by = hashlib.sha256()
    for file in (f"build/simulator/{program}", LIBRARY):
        made_by.update((ROOT / file).read_bytes())
    kept = ROOT / "build/docs/days.json"
    try:
        of, found = json.loads(kept.read_text())
    except (OSError, ValueError):
        of, found = "", {}
    if of != made_by.hexdigest():
        found = {
            f"{load} {' '.join(arrows)}": all_days(program, load, arrows)
            for load in SHOWN
            for arrows in TABLE
        }
        VARIANTS.replace(kept, json.dumps([made_by.hexdigest(), found]))
    return found


def right(numbers):
    return f"{numbers.count(42)} of {DAYS}"


def table_of(found, title, heads):
    rows = (
        row(
            [
                ", ".join(arrow.replace("-", " → ") for arrow in arrows) or "none",
                *(right(found[f"{load} {' '.join(arrows)}"]) for load in SHOWN),
            ]
        )
        for arrows in TABLE
    )
    return nodes.container("", table(heads, rows, title), classes=["days-table"])


def squares(days, shape):
    """The days as one path, 25 in a row."""
    return "".join(f"M{day % 25 * 7.5:g} {day // 25 * 7.5:g}{shape}" for day in days)


def readme_picture(found):
    """docs/days.svg, README's picture: the days of a busy GPU with none to all of the arrows."""
    panels = []
    for index, arrows in enumerate(TABLE):
        numbers = found[f"{SHOWN[1]} {' '.join(arrows)}"]
        right_days = squares((d for d in range(DAYS) if numbers[d] == 42), "h6v6h-6z")
        wrong_days = squares((d for d in range(DAYS) if numbers[d] != 42), "h6v6l-3-3-3 3z")
        order = " → ".join(["fill", *(arrow.split("-")[1] for arrow in arrows)])
        panels.append(
            f'<g transform="translate({10 + 205 * index} 22)"><text>'
            f"{order if arrows else 'no order'}</text>\n"
            f'<g transform="translate(0 10)"><path d="{right_days}"/>\n'
            f'<path class="wrong" d="{wrong_days}"/></g>\n'
            f'<text y="122"><tspan class="count">{numbers.count(42)}</tspan> of {DAYS} days are '
            f"right</text></g>\n"
        )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 150" width="820" height="150">\n'
        "<style>text { font: 13px system-ui, sans-serif; fill: #1a1e26 }"
        ".count { font-size: 20px; font-weight: 600 } path { fill: #17753a }"
        ".wrong { fill: #c4212f } @media (prefers-color-scheme: dark) { text { fill: #e7e5df }"
        " path { fill: #63d493 } .wrong { fill: #ff8a80 } }</style>\n"
        f"<title>{DAYS} days of a busy GPU, with none to all of three waits</title>\n"
        f"{''.join(panels)}</svg>\n"
    )


def lanes():
    written = []
    for stream, color in STREAMS.items():
        steps = "".join(
            f'<button type="button" data-step="{name}" aria-pressed="false" '
            f'aria-label="{words}, in {stream}" style="left: {left}%; width: {width}%">'
            f"{words}</button>"
            for name, words, of, left, width in STEPS
            if of == stream
        )
        if stream == "worker":
            steps += '<span class="days-next" style="left: 88.5%; width: 11.5%">fill 7</span>'
        written.append(f'<div class="days-lane {color}"><b>{stream}</b>{steps}</div>')
    return f'<div class="days-lanes">{"".join(written)}<svg aria-hidden="true"></svg></div>'


CONTROLS = f"""<div class="days-set"><label for="days-load">quiet GPU</label>
<input id="days-load" type="range" min="0" max="{len(LOADS) - 1}" value="0"
autocomplete="off">
<span aria-hidden="true">busy GPU</span>
<button type="button" class="days-hint" aria-pressed="false">Show what is unordered</button></div>
"""
DRAWN = """<div class="days-drawn"><ul aria-label="Your arrows"></ul>
<button type="button" class="days-clear" hidden>Remove my arrows</button>
<button type="button" class="days-share">Share</button></div>
<textarea class="days-text" rows="4" readonly aria-label="A link, and the days as text"
hidden></textarea>"""


def say(pairs):
    named = ", ".join(f"<code>{pair.replace('-', ' → ')}</code>" for pair in pairs)
    return (
        f"<b>All {DAYS} days are right, and the program is wrong.</b> The checker finds "
        f"{len(pairs)} pairs of steps without an order: {named}."
    )


class Days(BookDirective):
    has_content = True

    def run(self):
        program = self.arguments[0]
        found, pairs = days_of(program), unordered(program, ())
        VARIANTS.replace("build/docs/days.svg", readme_picture(found))
        quiet = found[f"{LOADS[0]} "]
        repaired = [found[f"{load} {' '.join(REPAIR)}"] for load in SHOWN]
        if [*quiet, *repaired[0], *repaired[1]] != [42] * DAYS * 3 or unordered(program, REPAIR):
            raise BookError(f"{self.env.docname}: {program} is not always right when it should be")
        if len(pairs) != 3 or found[f"{LOADS[-1]} "].count(42) > DAYS / 2:
            raise BookError(f"{self.env.docname}: {program} is not wrong when it should be")
        given = {
            "loads": LOADS,
            "pairs": pairs,
            "script": with_checksum("simulated_device.js", simulated_device.script())
            if simulated_device.has(program)
            else "",
        }
        toy = (
            f'<div class="days-toy" role="group" aria-label="Three streams, and the order between '
            f'them" data-days="{escape(json.dumps(given))}">{lanes()}{CONTROLS}'
            f'<div class="days-squares" role="img" aria-label="{right(quiet)} days print 42">'
            f'{"<i></i>" * DAYS}</div><div class="days-result" role="status"><p><strong>'
            f"{right(quiet)}</strong> <span>days print 42</span></p>"
            f'<p class="days-say">{say(pairs)}</p></div>{DRAWN}</div>'
        )
        words = nodes.container("", *self.parse_content_to_nodes(), classes=["days-words"])
        title = f"On how many of {DAYS} days the program prints 42"
        heads = ("order that is drawn", "quiet GPU", "busy GPU")
        heads = [self.words(head, nodes.paragraph()) for head in heads]
        numbers = table_of(found, self.words(title, nodes.title()), heads)
        return [nodes.container("", words, in_html(toy), numbers, classes=["days"])]
