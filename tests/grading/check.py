"""What the check of a lesson is written with.

A check is tests/lessons/NN_name/check.py, in plain Python. Each function test_NAME(check) is a
rule. A test of rules.bats beside it, @test "SENTENCE" { rule NAME; }, gives the rule its sentence
and its place in the order. A rule that returns is met. One that calls miss(...) is missed, with the
words of that call: what was expected and, behind "Happened:", what happened. They are what a
student reads.

    from check import miss

    def test_threshold(check):
        journal = check.run(96).journal
        sets = journal.ok("cudaMemPoolSetAttribute")
        if not sets.before(journal.frees.first):
            miss(f"it sets the threshold before it frees. Happened: it sets it {len(sets)} times.")

A rule that the starter meets has @met_by_starter above it, and no point is for it. @section(2)
names the section of the page that it belongs to: make check-22 STEP=2 judges the rules up to there.

class Check runs the student's program (run) and calls its functions (ask), draws numbers (draw,
choose), says what must be met before (after), and demands what holds of a whole run: its methods
expect_... miss by themselves, and so do the functions of that name. class Run is what one run left
behind, and class Journal the calls of a run, by name, by field, by place, and by what they do. The
report shows the run that a rule asked for last.

What a check computes, it computes outside of the student's process. From a run it takes what the
simulated device wrote to the journal, and what the program printed or returned only to compare.
"""

import json
import os
import re
import shutil
import signal
from collections import Counter
from functools import cached_property

from compiler import Compilation, compiled
from manifest import ROOT, manifest, room
from place import Place
from run import run as run_program

MIB = 1 << 20
SCHEDULES = ("measured", "instant", "late", "random:1", "random:3")
# No work runs before the program waits for it, so neither a sleep nor luck hides a missing wait.
LATE = {"SIM_SCHEDULE": "late", "SIM_IDLE": "off"}


class Miss(Exception):
    """A rule is not met. lines: the sentences, in their order; run: the run that they speak of,
    else the last one; errors: what is shown of stderr, else what the run wrote there."""

    def __init__(self, *lines, run=None, errors=None):
        super().__init__("\n".join(lines))
        self.lines = [line for line in lines if line]
        self.run, self.errors = run, errors


class Lacks(Miss):
    """The file has no function of a name that the check calls."""


class NoProgram(Exception):
    """The file is none that can be judged: status is "refused", for what no lesson needs, or
    "uncompiled"; lines are what a student reads."""

    def __init__(self, status, lines):
        super().__init__("\n".join(lines))
        self.status, self.lines = status, lines


class Waits(Exception):
    """A rule that cannot be judged before something else is repaired; the text says what."""


def miss(text):
    """Ends the rule: it is missed. What follows "Happened:" in the text is what happened."""
    expected, _, happened = one_line(text).partition("Happened:")
    lines = (("Expected", expected.strip()), ("Happened", happened.strip()))
    raise Miss(*(f"{label}: {words}" for label, words in lines if words))


def expect_narrow_wait(lines, sentence):
    """Nobody waits for the whole device, or by asking again and again. sentence: what the program
    waits for, in the rule's words."""
    if wide := lines.calls("cudaDeviceSynchronize").first:
        miss(f"""{sentence}
            Happened: cudaDeviceSynchronize{line_of(wide)} waits for every stream of the device,
            including the streams of others.""")
    expect_no_asking(lines, sentence)


def expect_no_asking(lines, sentence):
    """The same, where a wait for the whole device is right. Who asks once, and then waits or goes
    on, does not ask again and again."""
    asked = []
    for line in lines.that(lambda x: "call" in x and "did" not in x):
        if line["call"] in QUERY:
            asked.append(line)
        elif len(asked) <= 2 and line["call"] not in LAST_ERROR:
            asked.clear()
    if len(asked) > 2:
        miss(f"""{sentence} Asking again and again is a wait, too, and keeps a processor busy.
            Happened: {asked[0]["call"]}{line_of(asked[0])} and the like asked {len(asked)}
            times.""")


def expect_no_legacy(lines, sentence):
    """No stream of the program is ordered by the legacy stream, with which each blocking stream is;
    sentence: what orders it, in the rule's words."""
    order = (*ALLOCATE, *FREE, *RECORD, "cudaStreamWaitEvent", "launch_fill", "launch_add")
    legacy = lines.calls(*order).where(stream="legacy")
    if legacy:
        miss(f"""{sentence}
            Happened: {legacy[0]["call"]}{line_of(legacy[0])} is in the legacy stream, which waits
            for all earlier work of the blocking streams, and they wait for it. The result is right,
            but the streams cannot overlap there.""")


def expect_streams(lines, number):
    """The work of the program is in so many streams at least: they do not become one."""
    work = lines.ok("launch_fill", "launch_add", "cudaMemcpyAsync")
    used = {(x["stream"], x["stream"] == "per-thread" and x.get("thread")) for x in work}
    if len(used) < number:
        miss(f"""the work of {number} streams gets an order, and stays in {number} streams.
            Happened: the work is in {len(used)}. The result is right, but nothing overlaps any
            more, not even work that needs no order.""")


def line_of(call):
    where = f"{call.get('file', '')}:{call['line']}" if "line" in call else ""
    return where and f" {place(where)}"


def times(number):
    return "once" if number == 1 else f"{number} times"


def met_by_starter(rule):
    """Marks a rule that the starter meets: no point is for it."""
    rule.met_by_starter = True
    return rule


def section(number):
    """Marks a rule of a section of the lesson's page: STEP=2 judges up to the second."""

    def marked(rule):
        rule.section = number
        return rule

    return marked


def one_line(text):
    return re.sub(r"\s*\n\s*", " ", text.strip())


def visible(text, most=200):
    """One line, with what cannot be seen made visible."""
    text = text[:most]
    return text if text.isprintable() else repr(text)


def words(line):
    """A line of output without what depends on the machine, which "~" announces: numbers, what
    stands in quotes, and how far apart things are."""
    if not line.startswith("~"):
        return line
    line = re.sub(r"-?\d+(\.\d+)?", "N", re.sub(r'"[^"]*"', '"..."', line))
    return re.sub(" +", " ", line)


# ---- a journal ----


SUCCESS = "cudaSuccess"
ALLOCATE = ("cudaMallocAsync", "cudaMallocFromPoolAsync")
FREE = ("cudaFreeAsync", "cudaFree")
MEMSET = ("cudaMemsetAsync", "cudaMemset", "cudaMemset2DAsync", "cudaMemset2D")
COPY = ("cudaMemcpyAsync", "cudaMemcpy", "cudaMemcpy2DAsync", "cudaMemcpy2D")
RECORD = ("cudaEventRecord", "cudaEventRecordWithFlags")
QUERY = ("cudaStreamQuery", "cudaEventQuery")
OUTSIDE = "access outside the allocation"
LAST_ERROR = ("cudaGetLastError", "cudaPeekAtLastError")
# These calls wait for other work, but NVIDIA does not promise that they do (lesson 05).
MAY_WAIT = {"cudaFree", "cudaFreeHost", "cudaHostUnregister"}
# What a program must destroy: {the call that ends it: (its name in a journal, the calls that make
# it)}
MADE = {
    "cudaEventDestroy": (
        "event",
        ("cudaEventCreate", "cudaEventCreateWithFlags", "cudaIpcOpenEventHandle"),
    ),
    "cudaStreamDestroy": (
        "stream",
        ("cudaStreamCreate", "cudaStreamCreateWithFlags", "cudaStreamCreateWithPriority"),
    ),
    "cudaMemPoolDestroy": ("pool", ("cudaMemPoolCreate", "cudaMemPoolImportFromShareableHandle")),
    "cudaGraphDestroy": ("graph", ("cudaGraphCreate", "cudaStreamEndCapture")),
    "cudaGraphExecDestroy": ("graph", ("cudaGraphInstantiate", "cudaGraphInstantiateWithFlags")),
}


class Journal(list):
    """Lines of a journal, each a dictionary: docs/simulator_reference.rst says what they have."""

    def __getitem__(self, which):
        found = super().__getitem__(which)
        return Journal(found) if isinstance(which, slice) else found

    # -- some of them --

    def ok(self, *calls):
        """The calls of these names that succeeded."""
        return Journal(x for x in self if x.get("call") in calls and x.get("result") == SUCCESS)

    def calls(self, *names):
        """The calls of these names, whatever they returned. A hazard names a call, and is none."""
        return Journal(x for x in self if x.get("call") in names and "did" not in x)

    def where(self, **wanted):
        """Those whose fields have these values; of a set, one of its values. A field that is not
        there is None. from_ is the field "from"."""
        sets = {k.rstrip("_"): v if type(v) is set else (v,) for k, v in wanted.items()}
        return Journal(x for x in self if all(x.get(k) in v for k, v in sets.items()))

    def of(self, memory):
        """Those about the allocation of this line, or of one of these lines; none for None."""
        lines = memory if isinstance(memory, list) else [memory or {}]
        return self.where(allocation={x.get("allocation") for x in lines} - {None})

    def that(self, holds):
        """Those for which the function `holds` is true."""
        return Journal(x for x in self if holds(x))

    def before(self, line):
        """Those before a line; none when it is None, as what is not there has nothing before it."""
        return Journal(x for x in self if line and x.get("n", 0) < line["n"])

    def after(self, line):
        return Journal(x for x in self if line and x.get("n", 0) > line["n"])

    def between(self, begin, end):
        return self.after(begin).before(end)

    def part(self, begin, end):
        """From a line on, or from the first one, up to another, or to the last one."""
        found = self.after(begin) if begin else self
        return found.before(end) if end else found

    first = property(lambda self: self[0] if self else None)
    last = property(lambda self: self[-1] if self else None)

    # -- by what they do --

    # The calls that succeeded: all allocations from pools, all frees, and so on.
    allocations = property(lambda self: self.ok(*ALLOCATE))
    frees = property(lambda self: self.ok(*FREE))
    copies = property(lambda self: self.ok(*COPY))
    records = property(lambda self: self.ok(*RECORD))
    queries = property(lambda self: self.calls(*QUERY))
    # The calls in which the host learned that work was over, of which it had not known before.
    waits = property(lambda self: self.where(acquired=1))
    # What is reported of order. A size that is too large is no mistake of order.
    hazards = property(
        lambda self: self.that(lambda x: x.get("did") == "hazard" and x["kind"] != OUTSIDE)
    )

    @property
    def synchronizations(self):
        """The calls in which the host waits, also where all is over already."""
        return self.that(lambda x: x.get("acquired") or x.get("call", "").endswith("Synchronize"))

    @property
    def certain(self):
        """The calls that are promised to wait: not a free, and a synchronization also where such a
        free has waited before it."""
        waited = [x for x in self.waits if x["call"] not in MAY_WAIT]
        synchronized = self.that(lambda x: x.get("call", "").endswith("Synchronize"))
        return Journal([*waited, *synchronized.where(result=SUCCESS)])

    # -- what they say --

    def covers(self, size):
        """Do these uses of one allocation touch all of its `size` bytes between them?"""
        end = 0
        for begin, bytes_ in sorted((x.get("inner_offset", 0), x.get("bytes", 0)) for x in self):
            if begin > end:
                return False
            end = max(end, begin + bytes_)
        return end >= size

    def values(self, size, first=0):
        """The values that the parts of `size` bytes of an allocation, from byte `first` on, have
        after these uses of it, or None where something was added to what nobody had written. A
        memset counts as one to 0."""
        ranges = [(x.get("inner_offset", 0), x.get("inner_offset", 0) + x["bytes"]) for x in self]
        edges = {first}.union(*ranges)
        held = {edge: None for edge in sorted(edges) if first <= edge < first + size}
        for x, (begin, end) in zip(self, ranges):
            for part in [part for part in held if begin <= part < end]:
                if x["call"] != "launch_add":
                    held[part] = x.get("value", 0)
                elif held[part] is None:
                    return None
                else:
                    held[part] += x["value"]
        return list(held.values())

    def column(self, field):
        """The values of one field, line by line."""
        return [x.get(field) for x in self]

    @property
    def names(self):
        """Each call that is made, once, in words."""
        return ", ".join(dict.fromkeys(self.column("call")))

    @property
    def pools(self):
        """The pools that were created, in their order."""
        return self.ok("cudaMemPoolCreate").column("pool")

    def set_to(self, attribute, **where):
        """The values to which an attribute of pools was set, in their order."""
        sets = self.ok("cudaMemPoolSetAttribute").where(attribute=attribute, **where)
        return sets.column("value")

    @property
    def numbered(self):
        """{number: the call}: a hazard names its calls by number."""
        return {x["number"]: x for x in self if "number" in x}

    @property
    def ran(self):
        """{number of a call: when the device did its work}"""
        return {x["of"]: x for x in self.where(did="run")}


def compiler_lines(said):
    lines = [line[:300] for line in said.splitlines()]
    return lines if len(lines) <= 40 else [*lines[:40], "...", lines[-1]]


def rounded_up(size, grain):
    return -(-size // grain) * grain


def read_journal(path, stopped=False):
    """The lines of one file. A file that is none is a miss: the program has written into it. Of a
    run that was stopped, the last line may be a part of one."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        lines = text.removesuffix("\n").split("\n")
        if stopped and not text.endswith("\n"):
            lines.pop()
        # Parsing all lines at once is three times as fast as one after the other.
        found = Journal(json.loads(f"[{','.join(lines)}]"))
        if found and len(found) != len(lines):
            raise ValueError
        if any(type(line) is not dict for line in found):
            raise ValueError
    except (ValueError, RecursionError, MemoryError):
        miss("""a journal as the simulated device writes it.
            Happened: the journal of the run cannot be read.""")
    return found


# ---- a run ----

DIED = "it is not run again after a run that did not end or died, see the first miss"
HAZARD_FOUND = "the simulated device found a hazard"
LEFT = """a program that returns from main or calls exit.
    Happened: it left in another way: its journal has no last line."""


def expect_first(told, reason, who):
    """Waits where another one has missed for this reason. A hazard is one, and so is a signal,
    whoever called the function."""
    reason = re.sub(rf"^.*?({HAZARD_FOUND}|died of signal)|\d+", "", reason, flags=re.S)
    if told.setdefault(reason, who) is not who:
        raise Waits("first repair what ended the program, see the miss above")


class Run:
    """What one run of the student's program left behind."""

    def __init__(self, folder, command, ending, both=False):
        self.folder, self.command, self.both = folder, command, both
        self.status, self.ended = self.ending = ending
        self.output, self.errors = self.text("stdout"), self.text("stderr")
        self.read, self.early, self.told = {}, None, {}

    def text(self, name):
        """The first 100,000 bytes of a file, without NUL bytes and line ends behind the last."""
        try:
            with open(self.folder / name, "rb") as file:
                found = file.read(100000)
        except FileNotFoundError:
            return ""
        return found.replace(b"\0", b"").decode(errors="replace").rstrip("\n")

    @cached_property
    def files(self):
        return sorted(self.folder.glob("journal.jsonl*"), key=lambda path: (len(path.name), path))

    @cached_property
    def exporter(self):
        needle = re.compile(rb'"cudaMemPoolExportToShareableHandle".*"cudaSuccess"')
        found = [path for path in self.files if needle.search(path.read_bytes())]
        return (found or self.files)[0]

    def lines_of(self, path):
        if path not in self.read:
            self.read[path] = read_journal(path, bool(self.ended or self.early))
        return self.read[path]

    @cached_property
    def journal(self):
        if not self.files:
            miss("""CUDA calls.
                Happened: the program made no CUDA call at all: the simulated device wrote no
                journal.""")
        if not self.both:
            found = self.lines_of(self.folder / "journal.jsonl")
        else:
            found = Journal()
            for path in self.files:
                of = "exporter" if path == self.exporter else "importer"
                found += (dict(line, of=of) for line in self.lines_of(path))
        if not found:
            self.expect_return()
            miss(LEFT)
        return found

    @property
    def lines(self):
        return self.output.splitlines()

    def line(self, text):
        """The first line of output that has this text, else "nothing"."""
        return next((line for line in self.lines if text in line), "nothing")

    @cached_property
    def answers(self):
        """What a harness printed: {question: [answers]}."""
        found = {}
        for line in self.lines:
            question, sign, answer = line.partition(" = ")
            if question and sign:
                found.setdefault(question, []).append(answer)
        return found

    def answer(self, question):
        """The first answer to a question, else "nothing"."""
        return (self.answers.get(question) or ["nothing"])[0]

    def wrong(self, wanted, segment=0):
        """Of {question: answer}: a sentence about the first that was not answered so, and once.
        "" when all are right. With a segment: in which way a number of MiB is wrong."""
        for question, answer in wanted.items():
            got = self.answers.get(question, [])
            if not got:
                failed = self.failed
                why = f" there: {failed}" if failed else ""
                return f"the check called {question}, and the program ended{why}."
            if len(got) > 1:
                return f"{question} was answered several times: {visible(', '.join(got))}."
            if got != [str(answer)]:
                more = segments_off(got[0], answer, segment) if segment else ""
                return f"{question} returned {visible(got[0])} instead of {answer}.{more}"
        return ""

    @cached_property
    def failed(self):
        """The call at which the program ended with an error, in words, or "": a CHECK names it, or
        it is the last call of a program that has a macro of its own."""
        if not self.status or self.status > 3 or self.ended or failed_call(self.errors):
            return failed_call(self.errors)
        for path in self.files if self.both else self.files[:1]:
            last = self.lines_of(path).that(lambda x: "call" in x and "did" not in x).last
            if last and last.get("result", SUCCESS) != SUCCESS:
                return f"{last['call']}{line_of(last)} returned {last['result']}"
        return ""

    def expect_return(self, more=""):
        """Misses where the program ended too early, and says more. One reason is missed once."""
        if self.early:
            expect_first(self.told, self.early.lines[-1], self.early)
            raise Miss(*self.early.lines, more, run=self)

    @property
    def stands_still(self):
        """Did it end where the host waits, or asks without end, for what cannot come?"""
        return self.ended == "flood" or "hazard: waiting forever" in self.errors

    def ends(self):
        """One word for how its first process ended that did not end well, or "clean"."""
        for path in self.files if self.both else self.files[:1]:
            lines = self.lines_of(path)
            last = lines.last or {}
            if last.get("did") != "exit":
                return "left"
            if last.get("hazards"):
                return "hazard"
            if last.get("live"):
                return "live"
            if lines.where(did="unsupported"):
                return "unsupported"
        return "clean"

    def kept(self):
        """The calls that made what its process has not destroyed."""
        found = Journal()
        for path in self.files if self.both else self.files[:1]:
            lines = self.lines_of(path)
            if reset := lines.ok("cudaDeviceReset").last:
                lines = lines.after(reset)
            for destroy, (kind, calls) in MADE.items():
                gone = set(lines.ok(destroy).column(kind))
                found += [x for x in lines.ok(*calls) if x[kind] not in gone]
        return found


def segments_off(got, right, segment):
    """A sentence about a wrong number of MiB, which should have been one of whole segments."""
    if not got.isdigit():
        return ""
    if int(got) and int(got) * segment == right:
        return " That is how many segments they are: multiply by their size."
    if int(got) % segment:
        return f" That is not a whole number of segments of {segment} MiB."
    off = (int(got) - right) // segment
    return f" That is {abs(off)} segment{'s' * (abs(off) > 1)} too {'many' if off > 0 else 'few'}."


def most_frequent(path):
    """The call that stands most often in a journal, and how often."""
    with open(path, "rb") as file:
        text = file.read(1024 * Place.journal_kilobytes)
    names = re.findall(rb'"call":"([A-Za-z_]+)"', text)
    best = max(sorted(set(names)), key=names.count, default=b"")
    return best.decode(), names.count(best)


# ---- why a run cannot be judged ----

SIGNALS = {
    "SEGV": "it touched memory that is not its own. The host cannot read or write device memory "
    "through a pointer. Or a copy to the host is longer than the memory there, or a function calls "
    "itself without end.",
    "ABRT": "it, or a library, gave up (abort).",
    "FPE": "an arithmetic error, such as a division by zero.",
}
SIGNALS["BUS"] = SIGNALS["SEGV"]


STOPPED = r"(?m)^simulated device: the program was stopped(?: in (.*))? at (.*)\.$"
TOUCHED = r"(?m)^simulated device: the program died .* touched (\S+) at (.*)\.$"
FAILED = r"(?m)^(\S.*):(\d+): (.*): (cuda\w+) \("
HAZARD = r"(?m)^hazard: (.*)\n((?: .*\n?)*)"
# A call of a report. Where a harness has a call of the file go through it, the line of the file.
CALLED = r"^  (\w+) +\w.*? at (?:ask\S*, called from )?(\S+:\d+)"


def place(text):
    """FILE:LINE in words."""
    file, _, line = text.rpartition(":")
    if not line.isdigit():
        return f"at {text}"
    if file.startswith(("ask", "the check")):
        return "in a call of the check"
    return f"in line {line}" + (f" of {file}" if file.endswith(".h") else "")


def hazard_words(errors):
    """The first hazard that the simulated device reported, with the lines of its calls, or ""."""
    found = re.search(HAZARD, errors)
    if not found:
        return ""
    calls = re.findall(CALLED, found[2], re.M)
    lines = [f"{word} {place(at)}" for word, at in calls if not at.startswith(("ask", "lessons/w"))]
    launches = dict.fromkeys(re.findall(r", launched at (\S+:\d+)", found[2]))
    lines += [f"launched {place(at)}" for at in launches if not at.startswith("ask")]
    return found[1].rstrip(".") + (f" ({', '.join(lines)})." if lines else ".")


def line_of_report(errors):
    """Where the student's file made the call that the first report is about, in words, or ""."""
    found = re.search(r"^  called  *at .*\.c:(\d+)$", errors, re.M)
    return f" in line {found[1]}" if found else ""


def failed_call(errors):
    """The call at which a CHECK ended the program, in words, or ""."""
    found = re.search(FAILED, errors)
    if found and found[1] == "the check":
        return f"{found[3]}, which the check calls after that, returned {found[4]}"
    return f"{found[3]} {place(f'{found[1]}:{found[2]}')} returned {found[4]}" if found else ""


def stopped_words(run):
    """Where a program was that did not end: " in CALL in line N", and its most frequent call."""
    places = [
        (f"in {call} " if call else "") + place(at) for call, at in re.findall(STOPPED, run.errors)
    ]
    own = [words for words in dict.fromkeys(places) if "the check" not in words]
    words = " and ".join((own or places)[:3])
    call, count = most_frequent(run.files[0]) if run.files else ("", 0)
    often = f", after {count} calls of {call}" if count >= 10000 else ""
    return (f" {words}" if words else "") + often


def only_reads(run):
    """A sentence about a program that was stopped in its own lines, and in no call."""
    places = re.findall(STOPPED, run.errors)
    if not places or any(call for call, _ in places):
        return ""
    return (
        " A loop that only reads memory is no wait: a call waits, or asks the device. If it follows"
        " a list: does the list lead back to itself?"
    )


def flood_words(run):
    most = 1024 * Place.journal_kilobytes
    long = [path for path in run.files if path.stat().st_size > most]
    if not long:
        return "printed too much, and was stopped: is there a loop that never ends?"
    call, count = most_frequent(long[0])
    goes_on = "asks until something has happened? Let the host or a stream wait for that instead."
    if "Malloc" in call:
        goes_on = (
            "tries until there is memory? There may never be any: then the error is the answer."
        )
    return (
        f"made more calls than the check stores, and was stopped. The most frequent is {call}, "
        f"{count} times: is it in a loop that {goes_on}"
    )


def asks_without_end(run):
    return run.ended == "flood" and "Query, " in flood_words(run)


def signal_words(run):
    """Of which signal a run died, and why, or ""."""
    try:
        name = signal.Signals(run.status - 128).name[3:]
    except ValueError:
        return ""
    touched = re.search(TOUCHED, run.errors)
    if touched:
        return f"signal SIG{name} {place(touched[2])}: {SIGNALS.get(name)}"
    other = "something ended it from outside, or it did so itself."
    return f"signal SIG{name}: {SIGNALS.get(name, other)}"


def why_not_judged(run):
    """A sentence for a run that did not end by itself, else ""."""
    seconds = Place().seconds
    by = {
        "time": f"The program did not end within {seconds} seconds and was stopped"
        f"{stopped_words(run)}: is there a loop or a wait that never ends?{only_reads(run)}",
        "memory": "The program needed more than 2 GiB of memory and was stopped: is there a loop "
        "that allocates host memory?",
        "journal": "The journal of the run is not the one that the simulated device wrote. A "
        "program returns from main or calls exit, and leaves the files of its run alone.",
    }
    if run.ended == "flood":
        return f"The program {flood_words(run)}"
    if run.ended:
        return by[run.ended]
    words = signal_words(run)
    return words and f"The program died of {words}"


def why_ended(run, hazards):
    """What a run died of in which the check called the student's functions, else ""."""
    if run.ended == "time":
        return f"it did not end, and was stopped{stopped_words(run)}.{only_reads(run)}"
    if run.ended == "flood":
        return f"it did not end: it {flood_words(run)}"
    if run.ended:
        return why_not_judged(run)
    if run.status > 128:
        return f"it died of {signal_words(run)}"
    found = hazard_words(run.errors)
    if run.status and found and not (hazards and run.status == 3):
        return f"{HAZARD_FOUND}: {found}"
    if run.status == 3:
        return "" if hazards else f"{HAZARD_FOUND}."
    if run.status and run.failed:
        return f"{run.failed}."
    said = [line for line in run.errors.splitlines() if not line.startswith(" ")]
    more = f" and said: {visible(said[0]).rstrip('.')}" if said else ""
    return f"it ended with status {run.status}{more}." if run.status else ""


def unset(run):
    """A sentence about a call that may have failed because main did not run before."""
    touched = re.search(TOUCHED, run.errors)
    null = touched and re.fullmatch(r"\(nil\)|0x[0-9a-f]{1,3}", touched[1])
    if null or "cudaErrorInvalidResourceHandle" in run.errors:
        return " The check does not call main: a variable that main sets is 0 there."
    return ""


# ---- the check of one file ----


class Check:
    """One C file, judged by the rules of one lesson."""

    misses_once = False  # does what is missed after the first miss wait for its repair?

    def __init__(self, name, file, folder, place):
        self.name, self.file, self.folder, self.place = name, file, folder, place
        self.manifest, self.room = manifest(name), room(name)
        self.seed = os.environ.get("SEED", "1")
        self.met, self.missed, self.died, self.told, self.said = set(), False, False, {}, {}
        self.notes = []  # sentences of rules that are met
        self.rule = None  # the rule that is being judged
        self.runs, self.programs, self.last, self.sleeps = {}, {}, None, ""
        # How often the check has missed in a row, this time included: advice may be held back.
        self.tries = int(os.environ.get("CHECK_TRY", "2"))
        self.goal = name.split("_")[0].replace("/", "-")
        if file not in (f"lessons/{name}.c", str(ROOT / f"lessons/{name}.c")):
            self.goal += f" FILE={file}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    # -- what is drawn --

    def draw(self, name, least, most):
        """A whole number, which depends on the name, the lesson and SEED: make check-NN draws one,
        the suite sets it to 1. A table of known answers does not pass."""
        number = 2166136261
        for code in f"{self.seed} {self.name} {name}".encode():
            number = ((number ^ code) * 16777619) & 0xFFFFFFFF  # FNV-1a
        return least + number % (most - least + 1)

    def choose(self, name, choices):
        return choices[self.draw(name, 0, len(choices) - 1)]

    # -- what may be judged --

    def after(self, *rules):
        """This rule waits until these are met, or all before it. A program that only prints what is
        expected must earn nothing, so what judges the output alone waits; so does a rule that would
        say, but for numbers, what an earlier one has said. test_NAME in check.met: is it met?"""
        if self.missed if not rules else not self.met.issuperset(rules):
            raise Waits("first repair what is missed above")

    # -- compiling and running, by compiler.py and run.py beside this --

    def compile(self, source, program):
        """Compiles a C file of this check, as compiler.py says."""
        free = self.name.startswith("clinic/") or os.environ.get("SANITIZE")
        lesson = "" if free else self.name
        own = (self.file, "asked.h", *(path.name for path in self.room.glob("*.h")))
        found = compiled(source, program, self.place, lesson, self.manifest["imports"], own)
        self.sleeps = found.sleeps
        if found.stopped:
            found.words = (
                f"The compiler did not finish {source}: it crashed, or was stopped after "
                f"{2 * self.place.seconds} seconds or at 2 GiB. Is something in it very large, or "
                "nested very deeply?"
            )
        return found

    @property
    def filled(self):
        """Does the compiler set what nobody sets? Else the program fills its stack first."""
        return any("auto-var-init" in word for word in self.place.compiler)

    def joined(self, harness, either):
        """The text of the harness behind the student's file, for one program; without a harness
        the file's own main is called. Names that begin with asked_ are drawn, so that the file
        cannot know them, and no macro of the file changes what the harness says."""
        own = (self.room / harness).read_text() if harness else ""
        shared = (ROOT / "tests/grading/asked.h").read_text()
        names = dict.fromkeys(re.findall(r"\b[A-Za-z]\w*", shared + own))
        student = (ROOT / self.file).read_bytes().removeprefix(BYTE_ORDER_MARK)
        student = student.decode(errors="surrogateescape")
        token = os.urandom(8).hex()
        # The harness has a function asked_NAME, which the file calls in the place of NAME.
        hooks = re.findall(r"^(?:cudaError_t|ssize_t|int) asked_(\w+)\(", own, re.M)
        if "asked_kept_lesson" in own:
            hooks += re.findall(r"^cudaError_t asked_(\w+)\(", shared, re.M)
        before = "".join(f"#define {name} asked_{token}_{name}\n" for name in hooks)
        behind = (
            *(f"#undef {name}" for name in names),
            *per_thread(student, names),
            "#define ASKED_OR_RUN" if either else "",
            "" if harness else "#define ASKED_RUN",
            "" if self.filled else "#define ASKED_FILL",
            "#pragma GCC optimize 0",  # it runs once: optimizing would be most of the time
            # A mutant is compiled with -Werror.
            '#pragma GCC diagnostic ignored "-Wunused-parameter"',
            '#pragma GCC diagnostic ignored "-Wcast-function-type"',
            '#include "workbook.h"',
            f'#line 1 "asked.h"\n{shared}',
            f'#line 1 "{harness or "asked.h"}"\n{own}',
        )
        behind = re.sub(r"\basked_", f"asked_{token}_", "\n".join(behind))
        return f'{before}#define main lesson_main\n#line 1 "{self.file}"\n{student}\n\n{behind}\n'

    def program(self, harness=None):
        """The compiled program: the lesson's own, or the one that asks. One compilation makes both
        where that works, since two take twice as long."""
        if harness in self.programs:
            return self.programs[harness]
        target = self.folder / ("program" if not harness else harness.replace(".h", "_program"))
        if harness is None:
            if not self.both_in_one(target) and not self.filled_itself(target):
                found = self.compile(self.file, target)
                if found.words:
                    status = "refused" if found.refused else "uncompiled"
                    raise NoProgram(status, compiler_lines(found.words))
        else:
            said = self.compile_joined(harness, target, either=False)
            if said:
                raise self.not_joined(said)
        self.programs[harness] = target
        return target

    def not_joined(self, said):
        """The miss of a file whose functions the check cannot call, by the compiler's first
        error."""
        error = next((x for x in said.splitlines() if "error" in x), said)
        called = r"(?:implicit declaration of|undeclared) (function) \W(\w+)"
        used = r"error: ()(?:use of undeclared identifier )?\W(\w+)\W(?: undeclared|$)"
        field = r"(?:no (member) named) \W(\w+)"
        found = filter(None, (re.search(each, error) for each in (called, used, field)))
        if missing := next(found, None):
            name = " ".join(filter(None, missing.groups()))
            return Lacks(f"Happened: {self.file} has no {name}, which the check uses.")
        words = re.sub(r"^\w+\.h:[\d:]+ error: ", "where the check calls it: ", error)[:300]
        return Miss(f"Happened: {words}")

    def both_in_one(self, target):
        if not (self.room / "ask.h").exists():
            return False
        if self.compile_joined("ask.h", target, either=True):
            return False
        self.programs["ask.h"] = target
        return True

    def filled_itself(self, target):
        return not self.filled and not self.compile_joined(None, target, either=False)

    def narrow_values(self):
        """(line, bytes) of a call that gives cudaMemPoolSetAttribute or cudaMemPoolGetAttribute
        less than a uint64_t where that is read or written, or None."""
        self.program()  # it compiles
        if "narrow" not in self.programs:
            text = (ROOT / self.file).read_bytes().decode(errors="surrogateescape")
            self.programs["narrow"] = None
            code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
            if re.search("cudaMemPool[SG]etAttribute|pool_[sg]et_flag", code):
                self.programs["narrow"] = self.find_narrow(text)
        return self.programs["narrow"]

    def find_narrow(self, text):
        """Has the compiler look: an optimizer knows the size of what an address is of."""
        source = self.folder / "narrow.c"
        gnu = "#define _GNU_SOURCE\n" if "_GNU_SOURCE" in text else ""
        text = f'{gnu}{NARROW}#line 1 "{self.file}"\n{text.removeprefix(chr(0xFEFF))}\n'
        source.write_bytes(text.encode(errors="surrogateescape"))
        job = Compilation(os.path.relpath(source, ROOT), self.folder / "narrow", self.place)
        job.own.add(self.file)
        said = job.only_assembled("-O2")
        source.unlink()
        error = re.search(r"^(.*):(\d+):\d+: error: call to \W?narrow_(\d)", said, re.M)
        if not error:
            return None
        if error[1] != self.file:  # in workbook.h: take the line that calls it
            said = said[: error.start()].rpartition("In function")[2]
            error = re.search(rf"()\b{re.escape(self.file)}:(\d+):\d+()", said)
        return (error[2], error[3] or 4) if error else (None, 4)

    def expect_wide_values(self):
        """What is set with 8 bytes has 8 bytes: a threshold is a uint64_t, and no int."""
        if found := self.narrow_values():
            line, size = found
            where = f"in line {line} the call" if line else "a call"
            miss(f"""a release threshold and the figures of a pool are numbers of 8 bytes, so
                cudaMemPoolSetAttribute and cudaMemPoolGetAttribute are given the address of a
                uint64_t. Only the reuse policies are ints.
                Happened: {where} is given the address of a variable of {size} bytes. The driver
                reads or writes 8: those of the variable, and what comes after it in memory.""")

    def compile_joined(self, harness, target, either):
        source = self.folder / f"{target.name}.c"
        try:
            if not (ROOT / self.file).is_file():  # a pipe would be waited for
                raise OSError
            text = self.joined(harness, either)
        except OSError:
            return "the file cannot be read"
        source.write_bytes(text.encode(errors="surrogateescape"))
        said = self.compile(os.path.relpath(source, ROOT), target).words
        source.unlink()
        return said

    def begin(self, program, name, arguments, environment):
        """Runs a program in a folder of its own: that folder, and how it ended."""
        shown = re.sub("[ /]", "", "-".join([name, *environment, *arguments]))
        folder = self.folder / (shown if len(shown) < 56 else f"{shown[:50]}-{len(self.runs)}")
        folder.mkdir()
        library = os.path.dirname(ROOT / self.place.library)
        own = {
            "LD_LIBRARY_PATH": library,
            "SIM_JOURNAL": f"{ROOT / folder}/journal.jsonl",
            "SIM_CHECK": "leaks,no-init",
        }
        return folder, run_program(
            {
                "folder": str(ROOT / folder),
                "program": str(ROOT / program),
                "arguments": arguments,
                "environment": {**own, **dict(pair.split("=", 1) for pair in environment)},
                "lesson": self.name,
                "file": self.file,
                "exec": "execl" in self.manifest["imports"],
                "place": vars(self.place),
            }
        )

    def run(self, *arguments, early=False, **environment):
        """The lesson's own program with these arguments. The simulated device does the same again
        when it is given the same, so one run is enough for all rules. SIM_SCHEDULE="late" gives the
        device more environment. early: a run that died or asked without end goes to the rule, which
        judges the part that is there; run.early is then its miss, which expect_return() raises."""
        arguments = [str(argument) for argument in arguments]
        given = [f"{name}={value}" for name, value in environment.items()]
        if self.died:
            raise Waits(DIED)
        key = (None, *given, "--", *arguments)
        if key not in self.runs:
            folder, ending = self.begin(self.program(), "run", arguments, given)
            shown = " ".join([*given, f"make {self.goal}"])
            shown += f' ARGS="{" ".join(arguments)}"' if arguments else ""
            shown += " BACKEND=simulator" if given else ""
            run = self.runs[key] = Run(folder, shown, ending)
            run.told = self.told
            if why := why_not_judged(run):
                run.early = Miss(why, run=run)
        run = self.last = self.runs[key]
        if run.early and not (early and run.ended in ("", "flood")):
            self.died = True
            run.expect_return()
        return run

    def run_as_far(self):
        """The lesson's own run, of a program that asks without end as far as it came: it
        stands_still."""
        run = self.run(early=True)
        return run if run.ended == "flood" else self.run()

    def run_late(self, *arguments, **environment):
        """The same on a device that is LATE. There a host that asks until work is done asks without
        end, which a rule about waits must miss. So that not every rule is lost, the device then
        works by itself."""
        run = self.run(*arguments, early=True, **LATE, **environment)
        if asks_without_end(run):
            return self.run(*arguments, **environment)
        return self.run(*arguments, **LATE, **environment)

    def of_both(self, run):
        """The same run with the journals of both processes."""
        if ("both", run) not in self.runs:
            self.runs["both", run] = Run(run.folder, run.command, run.ending, both=True)
        return self.runs["both", run]

    def run_both(self, *arguments, **environment):
        """run() of a program of two processes. The journal has the lines of both, each with "of":
        "exporter", the process that exported a pool, else that which came first, or "importer"."""
        self.last = self.of_both(self.run(*arguments, **environment))
        return self.last

    def ask(
        self,
        sentence,
        *arguments,
        harness="ask.h",
        both=False,
        hazards=False,
        early=False,
        special=False,
        **environment,
    ):
        """Runs a harness beside the check, which calls the student's functions, with these
        arguments: a Run whose answers are what came back. sentence: what such a file needs for
        that; or, if special, what is special about this call, told where it ended the program.
        both: as in run_both(). hazards leaves a hazard to the rule, and early an end that is too
        early, as in run()."""
        arguments = [str(argument) for argument in arguments]
        given = [f"{name}={value}" for name, value in environment.items()]
        self.program()  # reports a file that does not compile only once
        if self.died:
            raise Waits(DIED)
        key = (harness, *given, "--", *arguments)
        if key not in self.runs:
            try:
                program = self.program(harness)
            except Miss as why:
                raise type(why)(f"Expected: {one_line(sentence)}", *why.lines) from None
            folder, ending = self.begin(
                program, harness[:-2], [*arguments, "asked"], ["SIM_CHECK=no-init", *given]
            )
            self.runs[key] = Run(folder, f"SEED={self.seed} make check-{self.goal}", ending)
        run = self.last = self.of_both(self.runs[key]) if both else self.runs[key]
        why = why_ended(run, hazards)
        if why:
            self.died = self.died or run.ended == "time"
            lines = [f"Expected: {one_line(sentence)}"] * special
            lines += [f"Happened: called by the check, {why}{unset(run)}"]
            run.early, run.told = Miss(*lines, run=run), self.told
            if not early or self.died:  # the other rules do not say how a program died
                run.expect_return()
        return run

    def ask_in_time(self, *words, early=False, **more):
        """ask(); of functions that ask the device without end, which another rule misses, on a
        device that is done at once."""
        run = self.ask(*words, early=True, **more)
        if asks_without_end(run):
            run = self.ask(*words, early=True, **{**more, "SIM_SCHEDULE": "instant"})
        if not early:
            run.expect_return()
        return run

    # -- what is expected --

    def expected_file(self, name=""):
        return self.room / "expected" / (f"output.{name}.txt" if name else "output.txt")

    def expect_output(self, run, name=""):
        path = self.expected_file(name)
        shown = path.relative_to(ROOT)
        if not path.exists():
            raise Miss(f"{shown} is not there: nothing to compare with.", run=run)
        wanted, got = path.read_text().splitlines(), run.lines
        if not run.output:
            raise Miss(
                f"Expected: the lines of {shown} on stdout.",
                "Happened: stdout is empty. Was nothing printed, or stdout closed?",
                run=run,
            )
        before, nul, _ = (run.folder / "stdout").read_bytes().partition(b"\0")
        if nul:
            line = before.count(b"\n") + 1
            raise Miss(
                "Expected: text on stdout.",
                f"Happened: a NUL byte in line {line}. Does the program print a character or a "
                "string that it has not set?",
                run=run,
            )
        extra = extra_lines(wanted, got)
        if extra:
            count = "a line" if len(extra) == 1 else f"{len(extra)} lines"
            self.notes.append(
                f"Note: it prints {count} more than expected, which costs nothing. The first is: "
                f"{visible(extra[0])}"
            )
            return
        lines = difference(wanted, got)
        if not lines and not whole(run, path):
            lines = [
                f"The output goes on after its last expected line (line {len(wanted)}).",
                "Happened: a missing line end or an empty line",
            ]
        if lines:
            raise Miss(
                *lines, f"The whole expected output: {shown}, recorded on a real device.", run=run
            )

    def expect_awake(self):
        if self.sleeps:
            miss(f"""the host does not sleep. Streams, events, and waits order work. A sleep orders
                nothing, and makes each run slower.
                Happened: {self.file} calls {self.sleeps}.""")

    def expect_right(self, run, name=""):
        """A clean run that prints expected/output.NAME.txt, of a program that does not sleep. Lines
        that begin with "~" depend on the machine and are compared in their words."""
        self.expect_awake()
        # The program ended with 1 and printed no reason, so show the first line that differs.
        if run.status == 1 and not run.errors:
            self.expect_output(run, name)
        self.expect_clean(run)
        self.expect_output(run, name)

    def expect_same(self, sentence, wanted, got):
        """Two texts have the same lines, with whatever number of spaces between their words."""
        lines = difference(*(re.sub(" +", " ", text).splitlines() for text in (wanted, got)))
        if lines:
            raise Miss(f"Expected: {sentence}", *lines)

    def expect_recorded(self, *arguments):
        """The output without an argument is expected/output.txt, and with each of these
        expected/output.ARGUMENT.txt."""
        self.expect_right(self.run())
        for argument in arguments:
            self.expect_right(self.run(argument), str(argument))

    def expect_read(self, *texts, arguments=()):
        """Lines with these texts say what the device computed, or what a call returned, there where
        a text has a "#": they differ where kernels write other numbers and figures are others. The
        names of errors, "same address", the number of a GPU, a yes and what the host counts are the
        same there: a rule about these reads the calls and their results in the journal."""
        usual = self.run(*arguments)
        other = self.run(*arguments, SIM_ADD=self.draw("other numbers", 2, 250))
        for text in texts:
            pattern = re.escape(text).replace(r"\ ", " +").replace(r"\#", "[0-9]+")
            found = [[x for x in run.lines if re.search(pattern, x)] for run in (usual, other)]
            for line, again in zip(*found):
                parts = [re.findall(pattern, x) if "#" in text else [x] for x in (line, again)]
                if same := [a for a, b in zip(*parts) if a == b]:
                    part = f" ({' '.join(same[0].split())})" if "#" in text else ""
                    miss(f"""a line about what the device computed or what a call returned prints
                        the value that was copied from the device or returned.
                        Happened: on a device whose kernels write and add other numbers, and whose
                        figures of memory are larger (SIM_ADD), the program prints the same{part}:
                        {visible(line)}""")

    def expect_elements(self, run, mib, lines):
        """A clean run with so many MiB, of whose lines so many say that each element is right."""
        self.expect_clean(run)
        right = f" in {mib * MIB // 4} of {mib * MIB // 4} elements"
        if (found := sum(right in line for line in run.lines)) != lines:
            miss(f"""with {mib} MiB, lines that say "{right.strip()}": {lines}.
                Happened: {found}. The last line is: {visible((run.lines or [""])[-1])}""")

    def expect_status(self, run, status, sentence=""):
        if run.status != status:
            self.last = run
            failed = run.failed
            miss(f"""{sentence or f"exit status {status}."}
                Happened: {f"{failed}: " * bool(failed)}exit status {run.status}.""")

    def expect_skipped(self):
        """Where a pool for file descriptors is refused, the lesson says so and is skipped."""
        run = self.run(SIM_HANDLE_TYPES=0)
        refused = """if cudaMemPoolCreate refuses a pool for file descriptors, the lesson is
            skipped: exit status 77."""
        self.expect_status(run, 77, refused)
        if not re.match("skipped:.*cudaMemPoolCreate", run.output):
            miss(f"""a line that begins with "skipped:" and names the call.
                Happened: {visible(run.output)}""")

    def expect_clean(self, run):
        """Exit status 0, no hazard, nothing left allocated, every event, stream, pool and graph
        destroyed, nothing that is not modeled."""
        self.last = run
        found = hazard_words(run.errors)
        hazard = f"""each access is ordered, and within memory that is allocated at that time.
            Happened: {HAZARD_FOUND}{f": {found}" if found else "."}"""
        leaks = re.findall(r"^hazard: leak.*\n  allocated +(\w+).*:(\d+) \(", run.errors, re.M)
        if len(leaks) == len(re.findall("^hazard:", run.errors, re.M)) > 0:
            made = ", ".join(f"{call} in line {line}" for call, line in dict.fromkeys(leaks))
            miss(f"""everything that was allocated is freed at the end.
                Happened: allocations left: {len(leaks)}, made by {made}.""")
        if re.search("^hazard:", run.errors, re.M):
            expect_first(self.told, hazard, self.rule)
            miss(hazard)
        self.expect_status(run, 0)
        journal, ends = run.journal, run.ends()
        if ends == "hazard":
            miss(hazard)
        if ends == "live":
            self.miss_left(run)
        self.expect_destroyed(run)
        self.expect_directions(journal)
        if ends == "unsupported":
            calls = sorted({x["call"] for x in journal.where(did="unsupported")})
            miss(f"""only calls that the simulated device models.
                Happened: {", ".join(calls)}""")
        if ends == "left":
            miss(LEFT)

    def miss_left(self, run):
        left = sum(run.journal.where(did="exit").column("live"))
        made = run.journal.allocations
        kept = made.that(lambda x: x not in made.of(run.journal.frees))
        calls = ", ".join(dict.fromkeys(x["call"] + line_of(x) for x in kept))
        miss(f"""everything that was allocated is freed at the end.
            Happened: allocations left: {left}{f", made by {calls}" if calls else ""}.""")

    def expect_directions(self, journal):
        if wrong := journal.that(lambda x: "given" in x).first:
            miss(f"""a copy is given its own direction, here cudaMemcpy{wrong["kind"]}, or
                cudaMemcpyDefault. The effect of another direction is undefined.
                Happened: {wrong["call"]}{line_of(wrong)} was given cudaMemcpy{wrong["given"]}.""")

    def ended_by(self, run):
        """The miss of a run that ended at a second free, or at a copy to which another direction
        was given, or None: no rule has thought of them. An address beside its allocation counts
        as the host's, and then the direction is not the mistake."""
        try:
            if run and run.files and run.failed:
                failed = run.journal.that(lambda x: x.get("result") != SUCCESS)
                self.expect_directions(failed.that(lambda x: x.get("kind") != "HostToHost"))
                if (words := hazard_words(run.errors)).startswith("double free"):
                    miss(f"each allocation is freed once. Happened: {words}")
        except Miss as why:
            return why
        return None

    def expect_destroyed(self, run):
        kept = run.kept()
        made = Counter(x.get("line") for x in kept)
        # A line that runs several times loses what it made the time before.
        once = kept.that(lambda x: "event" in x and made[x.get("line")] == 1)
        once = once.that(lambda x: self.keeps(x.get("line")))
        if kept := kept.that(lambda x: x not in once):
            left = Counter(f"{x['call']} in line {x.get('line')}" for x in kept).most_common(5)
            text = ", ".join(f"{count} of {call}" for call, count in left)
            miss(f"""at the end the program destroys what it has created: each event, stream, pool,
                and graph.
                Happened: not destroyed: {text.replace(" in line None", "")}.""")

    def keeps(self, line):
        """Does a line of the file name an event that is a static variable of a function? That keeps
        it for later calls, and nobody else can destroy it."""
        text = (ROOT / self.file).read_text(errors="replace")
        kept = " ".join(re.findall(r"^[ \t]+static cudaEvent_t ([^;]*)", text, re.M))
        lines = " ".join(text.splitlines()[line - 1 : line + 1]) if line else ""
        return any(re.search(rf"\b{name}\b", lines) for name in re.findall(r"[A-Za-z_]\w*", kept))

    def expect_ordered(self, run):
        """expect_clean(), but a program may say that it found itself incorrect."""
        ends = run.ends() if run.journal else "left"
        if ends == "live" and run.status == 1 and not run.failed:
            self.last = run
            self.miss_left(run)
        if ends not in ("clean", "unsupported") or run.status not in (0, 1):
            self.expect_clean(run)


def whole(run, path):
    """Is the output, to the byte but for the machine's own numbers, that of the file?"""
    text = (run.folder / "stdout").read_bytes()
    return [words(line) for line in text.decode(errors="replace").split("\n")] == [
        words(line) for line in path.read_text().split("\n")
    ]


def extra_lines(wanted, got, most=20):
    """The lines that a program prints besides all that is wanted, such as those that help to find a
    mistake; none where it prints something else. A line that differs from a wanted one in numbers
    alone is no such line: then the output says two things."""
    known = {re.sub("[0-9]+", "", line) for line in wanted}
    extra, left = [], list(wanted)
    for line in got:
        if left and words(line) == words(left[0]):
            left.pop(0)
        elif re.sub("[0-9]+", "", line) in known:
            return []
        else:
            extra.append(line)
    return extra if not left and len(extra) <= most else []


def difference(wanted, got):
    """Sentences about the first line that is not as expected."""
    for number, line in enumerate(wanted):
        if number >= len(got):
            return [f"The output ends after line {number}.", f"Expected next: {visible(line)}"]
        if words(line) != words(got[number]):
            machine = " in its words (its numbers are the machine's)" if line[:1] == "~" else ""
            return [
                f"Line {number + 1} of the output differs{machine}.",
                f"Expected: {visible(line)}",
                f"Happened: {visible(got[number])}",
            ]
    if len(got) > len(wanted):
        return [
            f"The output goes on after its last expected line (line {len(wanted)}).",
            f"Happened: {visible(got[len(wanted)])}",
        ]
    return []


BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# This is compiled in front of a student's file. The first three attributes of a pool are ints. A
# call of narrow_N remains, and is an error, if the compiler knows that an address has fewer than 8
# bytes.
NARROW = """#include <cuda_runtime_api.h>
void narrow_4(void) __attribute__((error("4")));
void narrow_2(void) __attribute__((error("2")));
void narrow_1(void) __attribute__((error("1")));
#define NARROW(attribute, size) \\
    (__builtin_constant_p((int)(attribute)) && (int)(attribute) > 3 && (size) < 8 \\
         ? ((size) == 4   ? narrow_4() \\
            : (size) == 2 ? narrow_2() \\
            : (size) == 1 ? narrow_1() \\
                          : (void)0) \\
         : (void)0)
#define cudaMemPoolSetAttribute(pool, attribute, ...) \\
    (NARROW(attribute, __builtin_object_size(__VA_ARGS__, 1)), \\
     cudaMemPoolSetAttribute(pool, attribute, __VA_ARGS__))
#define cudaMemPoolGetAttribute(pool, attribute, ...) \\
    (NARROW(attribute, __builtin_object_size(__VA_ARGS__, 1)), \\
     cudaMemPoolGetAttribute(pool, attribute, __VA_ARGS__))
"""


def per_thread(student, names):
    """CUDA's header renames calls in a file that asks for per-thread default streams. What of that
    the harness calls, so that its #undef does not take the names away."""
    if "CUDA_API_PER_THREAD_DEFAULT_STREAM" not in student:
        return []
    header = (ROOT / "build/cuda/include/cuda_runtime_api.h").read_text(errors="replace")
    renamed = re.findall(r"^ *# *define +(cuda\w+) +__CUDART_API_(PT[DS][SZ])\(", header, re.M)
    defines = [f"#define {name} {name}_{to.lower()}" for name, to in renamed if name in names]
    return ["#ifdef __CUDART_API_PER_THREAD_DEFAULT_STREAM", *defines, "#endif"]
