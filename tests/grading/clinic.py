"""What a case of the clinic is judged with."""

import re

from check import (
    LATE,
    SCHEDULES,
    Check,
    Journal,
    Lacks,
    expect_no_legacy,
    expect_streams,
    hazard_words,
    line_of,
    miss,
    visible,
)
from place import ROOT


class Case(Check):
    """A repair of docs/clinic/NN_name_wrong.c.

    A program that the checker does not report may still have lost what it was for, or may be
    correct only because it is short. Each case has a rule of its own for that, and at least one
    incorrect repair that misses it, a mutant in its variants.txt. These programs end without
    destroying what they created."""

    misses_once = True
    frees_all = False  # does the check's own part leave nothing allocated?

    def expect_destroyed(self, run):
        pass

    def each(self, *arguments):
        """A run under each of five schedules. A host that sleeps lets a late device do nothing."""
        for schedule in SCHEDULES:
            idle = {"SIM_IDLE": "off"} if schedule == "late" else {}
            yield self.run(*arguments, SIM_SCHEDULE=schedule, **idle)

    def ends_well(self, *arguments):
        for run in self.each(*arguments):
            self.expect_clean(run)

    def prints_line(self, pattern, line, *arguments):
        """Under each schedule some line matches; `line` is what a person reads."""
        for run in self.each(*arguments):
            if not any(re.fullmatch(pattern, x) for x in run.lines):
                miss(f"""it prints: {line}
                    Happened: it printed: {visible(run.output, 400)}""")

    def prints_what_is_right(self, which=""):
        """Under each schedule it prints the lines that the repaired program printed on a device
        (docs/recorded/clinic.txt), of these the ones that match."""
        text = (ROOT / "docs/recorded/clinic.txt").read_text()
        own = re.search(rf"^== {self.name[7:]}_right: .*\n((?:(?!== ).*\n)*)", text, re.M)
        for line in own[1].splitlines():
            if re.search(which, line):
                self.prints_line(re.sub("[^A-Za-z0-9 ]", ".", line), line)

    def expect_not_undone(self, streams, last, first=None, then=None):
        """A repair orders streams. It does not undo what they are for: the work stays in as many,
        and until the last call of the name `last` no host waits: from the first call of the name
        `first` on, and until the first of the name `then` behind the last."""
        journal = self.run(**LATE).journal
        end = journal.ok(last).last
        end = journal.after(end).ok(then).first if then else end
        begin = journal.ok(first).first if first else None
        expect_streams(journal.that(lambda x: end and x["n"] <= end["n"]), streams)
        wait = journal.part(begin, end).waits.first if end else None
        asked = journal.part(begin, end).queries if end else []
        if wait:
            wide = "for every stream of the device, including the streams of others"
            one = "until the work of a stream is done"
            what = wide if wait["call"] == "cudaDeviceSynchronize" else one
            miss(f"""a repair makes a stream wait for an event, and the host goes on.
                Happened: in {wait["call"]}{line_of(wait)} the host waits {what}. The result is
                right, but meanwhile the host queues work for no stream.""")
        expect_no_legacy(
            journal.part(begin, end) if end else Journal(),
            "a repair makes a stream wait for what it needs, and for nothing else.",
        )
        if len(asked) > 1:
            miss(f"""a repair makes a stream wait for an event, and the host goes on.
                Happened: the host asks {len(asked)} times ({asked[0]["call"]}), which is a wait,
                too.""")

    def asked(self, sentence="", **environment):
        """(run, marks): the check calls the case's functions with other streams, twice, and in
        another order (ask.h), between two marks, or none if they take other arguments than it
        knows. (None, []) if the repair lacks one of them, or a field: then main alone is judged."""
        known = "its functions take and return what they did at the start."
        try:
            run = self.ask(sentence or known, hazards=True, special=bool(sentence), **environment)
        except Lacks:
            return None, []
        return run, run.journal.ok("cudaStreamCreateWithPriority") if run.files else []

    def expect_called(self, *waits, sentence=""):
        """What the check calls is right, too. Calls named in `waits` may wait. sentence: what is
        expected of the functions, if there is more to say than that."""
        run, marks = self.asked(sentence, **LATE)
        if not marks:
            return
        called, end = run.journal.after(marks.first), marks[1:].first
        if called.where(did="hazard"):
            every = "the functions are right for any streams that use them, and for any order."
            miss(f"""{sentence or every}
                Happened: the check called them with streams of its own:
                {hazard_words(run.errors)}""")
        wait = called.before(end).waits.that(lambda x: x["call"] not in waits).first
        if wait:
            goes_on = "a stream waits in these functions, and the host goes on"
            only = f"the host waits in these functions by {' or '.join(waits)} alone"
            miss(f"""{only if waits else goes_on}.
                Happened: called by the check, the host waits in {wait["call"]}{line_of(wait)}.""")
        left = sum(called.where(did="exit").column("live"))
        if left and self.frees_all:
            miss(f"""what the functions allocate is freed in the end, whatever their order.
                Happened: the check called them for three graphs, and destroyed all three.
                Allocations left: {left}.""")


# ---- rules that cases share: a case whose check.py lacks one has it from here ----


def test_ends_well(case):
    case.ends_well()


def test_called(case):
    case.after(test_ends_well)
    case.expect_called()


def test_output(case):
    case.after()
    case.prints_what_is_right()
