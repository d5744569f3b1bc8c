#!/usr/bin/env python3
"""Records and verifies everything on a machine with a GPU: record.py [PART...], by default all:
lessons, probes (what is about one GPU), peers (what is about two), walks, clinic, litmus,
sanitizer, kernels, chance, questions. The table PARTS, at the end, says what each is.

It needs gcc, make, python3 and a CUDA toolkit, and neither network nor the tools of the test suite.
What needs two GPUs is skipped where there is one. The folder OUT (by default build/gpu-record)
receives gpu.md, which says of each part whether it matches what is recorded; the table of each
part, PART.md; clinic.txt; and record.tar.gz, all that was printed. Exit status 0: all matches.

Nothing hangs for long. A run may take as many seconds as PARTS says; what has not begun SECONDS_ALL
(480) seconds after its part did is not run, and after 540 a part ends. ONLY="NAME..." leaves of a
part what has such a name, or a name that begins so. SANITIZER=PATH is another compute-sanitizer
than the toolkit's."""

import contextlib
import gzip
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "simulator/tests/litmus"))
from litmus import Program  # noqa: E402
from litmus import programs as litmus_programs  # noqa: E402

FACTS = Path("simulator/tests/facts")
UNITS = Path("simulator/tests/unit")
WORK = Path("build/record")
RACES = ["--track-stream-ordered-races", "all"]


def refuse(why):
    print(why, file=sys.stderr)
    sys.exit(2)


def number(name, default):
    text = os.environ.get(name) or str(default)
    return int(text) if text.isdecimal() else refuse(f"{name}={text}: expected a whole number.")


def output_of(*command):
    """What a command prints, or nothing where it is not there."""
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout
    except OSError:
        return ""


class Machine:
    """The GPUs, the toolkit, and the sanitizer with its version."""

    def __init__(self):
        self.gpus = len(re.findall("^GPU", output_of("nvidia-smi", "-L"), re.M))
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        self.gpu = output_of(*query).partition("\n")[0]
        self.nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        given = os.environ.get("SANITIZER")
        toolkits = shutil.which("compute-sanitizer") or shutil.which(
            "/usr/local/cuda/bin/compute-sanitizer"
        )
        self.sanitizer = shutil.which(given) if given else toolkits
        said = output_of(self.sanitizer, "--version") if self.sanitizer else ""
        self.version = "".join(re.findall(r"^Version (.*)", said, re.M))
        if given and not self.version:
            refuse(
                f"SANITIZER={given} is no compute-sanitizer that says its version. Give the path "
                "of one, or leave it out for the toolkit's."
            )
        self.tool = f"compute-sanitizer {self.version.partition(' ')[0]}".strip()

    def about(self, options=None):
        """What was recorded where: the lines in front of a table."""
        release = "".join(re.findall(r"release ([\d.]+)", output_of(self.nvcc, "--version")))
        lines = [
            f"- date: {today()}",
            f"- GPU, driver: {self.gpu} ({self.gpus} of them)",
            f"- toolkit: {release}",
        ]
        if options is not None:
            lines.append(
                f"- compute-sanitizer: Version {self.version or 'unknown'}; --tool memcheck"
                + "".join(f" {word}" for word in options)
            )
        return "\n".join(lines)


def today():
    return datetime.now(timezone.utc).strftime("%Y-%m-%d")


class Run:
    """What a run came to: status is that of a shell, 124 when it was stopped, 77 where this machine
    cannot run the program, or "late", when no time was left. stopped says after how long."""

    def __init__(self, status, out="", err="", seconds=0):
        self.status, self.out, self.err = status, out, err
        self.stopped = f"stopped after {seconds} s" if status == 124 else ""

    def first_line(self):
        return self.out.partition("\n")[0].replace("|", "/")

    def last_line(self):
        return (self.out.splitlines() or [""])[-1].replace("|", "/")


class Part:
    """One part at work: its name, its folder for all that is printed, and its time."""

    def __init__(self, machine, name, each):
        self.machine, self.name = machine, name
        self.each, self.environment = each, dict(os.environ)
        self.begun = time.monotonic()
        self.folder = WORK / f"{name}.d"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.complaints, self.not_begun = [], 0

    def see_one_gpu(self):
        seen = os.environ.get("CUDA_VISIBLE_DEVICES") or "0"
        self.environment["CUDA_VISIBLE_DEVICES"] = seen.partition(",")[0]

    def complain(self, *words):
        self.complaints.append(" ".join(map(str, words)))
        print(self.complaints[-1], file=sys.stderr)

    def seconds(self):
        return time.monotonic() - self.begun

    def is_late(self):
        late = self.seconds() >= number("SECONDS_ALL", 480)
        self.not_begun += late
        return late

    def wanted(self, names):
        """Those that ONLY names; where it names none, those that begin so."""
        only, names = os.environ.get("ONLY", "").split(), list(names)
        begin = tuple(set(only) - set(names))
        found = [name for name in names if not only or name in only or name.startswith(begin)]
        if not found:
            self.complain(f'{self.name} has no "{" ".join(only)}". It records: {" ".join(names)}')
        return found

    def build(self, device, programs):
        """As many at a time as there are processors. Returns whether all could be built."""
        names = [f"build/{device}/{program}" for program in programs]
        command = ["make", "-s", "-k", f"-j{os.cpu_count()}", f"BACKEND={device}", *names]
        made = subprocess.run(command, capture_output=True, text=True)
        if made.returncode:
            self.complain(made.stdout + made.stderr)
        return not made.returncode

    def run(self, name, command, each=None, **environment):
        """Runs a command, and keeps what it prints as NAME.out and NAME.err."""
        if self.is_late():
            return Run("late")
        at = self.folder / name
        at.parent.mkdir(parents=True, exist_ok=True)
        each = each or self.each
        out, err = f"{at}.out", f"{at}.err"
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            process = subprocess.Popen(
                list(map(str, command)),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                env={**self.environment, **environment},
            )
            try:
                status = process.wait(max(1, min(each, 540 - self.seconds())))
                status = status if status >= 0 else 128 - status
            except subprocess.TimeoutExpired:
                status = 124
                # Whatever it has started is stopped, too.
                for kill in signal.SIGTERM, signal.SIGKILL:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, kill)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(5)
        Path(f"{at}.status").write_text(f"{status}\n")
        texts = (Path(file).read_text(errors="replace") for file in (out, err))
        return Run(status, *texts, each)

    def sanitized(self, name, options, command, each=None, **environment):
        tool = [self.machine.sanitizer, "--tool", "memcheck", *options]
        if not self.machine.sanitizer:
            return Run(77)
        return self.run(name, [*tool, *command], each, **environment)

    def at_a_time(self, function, items, jobs=8):
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(function, items))


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)


def sections(*parts):
    return "\n\n".join(f"## {title}\n\n{table(heads, rows)}" for title, heads, rows in parts)


FIRST_ERROR = re.compile(
    "Invalid|Misaligned|Program hit|Leaked|Race|Warning|Error|Memory|Stream|Potential"
    "|CUDA API Error|Malloc/Free|Address|Uninit|Unused|Use"
)


def judged(run):
    """What compute-sanitizer made of a run."""
    if run.status == "late":
        return "not run"
    lines = (re.sub("^=+ *", "", line) for line in run.out.split("\n") if line.startswith("====="))
    error = next(filter(FIRST_ERROR.match, lines), "").replace("|", "/")
    error = re.sub("0x[0-9a-f]*", "ADDRESS", error)[:120]
    if run.stopped:
        return "; ".join(filter(None, [run.stopped, error]))
    if run.status == 77:
        return "-"
    if error:
        return error
    if re.search("SUMMARY: [0-9,]+", run.out) and not re.search("SUMMARY: [1-9]", run.out):
        return "nothing"
    said = [line for line in run.out.split("\n") if "COMPUTE-SANITIZER" not in line]
    return f"status {run.status}: {said[0][:80]}".replace("|", "/")


def reported_kind(run):
    """The first hazard that the simulated device reported."""
    return "".join(re.findall(r"^hazard: ([^.]*)\.", run.err, re.M)[:1])


def words(text):
    """Without what depends on the machine."""
    sed = ["sed", "-E", "-f", "tests/grading/machine.sed"]
    return subprocess.run(sed, input=text, capture_output=True, text=True).stdout


def differing_lines(part, name, recorded, here):
    """What diff prints of two lists of lines, which it leaves in NAME.diff where there is some."""
    at = part.folder / name
    for suffix, lines in (".recorded", recorded), (".here", here):
        Path(f"{at}{suffix}").write_text("".join(f"{line}\n" for line in lines))
    found = output_of("diff", f"{at}.recorded", f"{at}.here")
    for suffix in ".recorded", ".here":
        os.unlink(f"{at}{suffix}")
    if found:
        Path(f"{at}.diff").write_text(found)
    return found.splitlines()


def check_known(part, found, what, known):
    if found:
        part.complain(what, f"{known}:\n" + "\n".join(found))


# ---- lessons: what the solutions, and the book's programs, print ----


def lesson_runs():
    """(name, program, argument, expected output) of each run."""
    for file in sorted(Path("docs/programs/expected").glob("*.txt")):
        name, _, argument = file.stem.partition(".")
        yield f"docs/programs/{name}", f"docs/programs/{name}", argument, file
    for file in sorted(Path("tests/lessons").glob("[0-9]*_*/expected/output*.txt")):
        name, argument = file.parts[-3], file.stem.partition(".")[2]
        yield name, f"solutions/{name}", argument, file


def errors_found(run):
    """How many errors compute-sanitizer counts in a run of a lesson."""
    printed = run.out + run.err
    if run.status == "late":
        return "not run"
    if run.stopped or (run.status == 77 and not printed):
        return run.stopped or "-"
    count = (re.findall(r"ERROR SUMMARY: (\d+) error", printed) or [""])[-1]
    if "didn't terminate successfully" in printed:
        return f"{count or '?'}, the program failed under the sanitizer"
    return count or f"status {run.status}"


def lessons(part):
    runs = list(lesson_runs())
    names = part.wanted(name for name, *_ in runs)
    runs = [run for run in runs if run[0] in names]
    for device in "gpu", "simulator":
        part.build(device, sorted({program for _, program, *_ in runs}))
    commit = output_of("git", "rev-parse", "--short", "HEAD").strip() or "unknown"
    outputs = part.folder / "outputs.txt"
    outputs.touch()

    def plainly(name, program, argument, _):
        out, given = Path(name).name + (argument and f".{argument}"), argument.split()
        if not os.path.exists(f"build/gpu/{program}"):
            return Run(None), None
        run = part.run(out, [f"build/gpu/{program}", *given])
        if run.status in (77, "late"):
            return run, None
        return run, part.run(f"{out}.simulator", [f"build/simulator/{program}", *given])

    def sanitize(item):
        # A lesson may provoke an API error: that is none. Nor is a kernel's fault that lesson 14
        # provokes in a process that it starts for that: there only the first process is watched.
        (name, program, argument, _), (what, options), (run, _) = item
        if run.status in (77, None):
            return "-"
        options = ["--report-api-errors", "no", *options]
        if name.startswith("14_"):
            options += ["--target-processes", "application-only"]
        command = [f"build/gpu/{program}", *argument.split()]
        return errors_found(
            part.sanitized(f"{Path(name).name}.{argument}.{what}", options, command)
        )

    done = [plainly(*run) for run in runs]
    found = [
        part.at_a_time(sanitize, [(run, kind, one) for run, one in zip(runs, done)])
        for kind in (("leaks", ["--leak-check", "full"]), ("races", RACES))
    ]
    rows = []
    for (name, _, argument, expected), (run, simulated), *kinds in zip(runs, done, *found):
        why = {None: "does not compile", "late": "not run: no time was left", 77: run.first_line()}
        if run.status in why:
            if run.status is None:
                part.complain(name, argument, why[None])
            rows.append([name, argument, why[run.status], "", "", "", ""])
            continue
        printed = words(run.out)
        as_expected = yes(words(expected.read_text()) == printed)
        if run.status == 0:
            digest = hashlib.sha256(printed.encode()).hexdigest()
            with open(outputs, "a") as file:
                print(expected, digest, today(), commit, part.machine.gpu, file=file)
        if run.status or as_expected == "no":
            part.complain(name, argument, "ends with", run.status, "or prints something else.")
        status = f"{run.status} ({run.err.partition(chr(10))[0]})" if run.status else 0
        same = yes(words(simulated.out) == printed)
        rows.append([name, argument, status, as_expected, same, *kinds])
    heads = ["lesson", "MiB", "exit status", "same as expected", "same as simulator"]
    return table([*heads, "memcheck, leaks", "stream-ordered races"], rows)


def yes(so):
    return "yes" if so else "no"


# ---- probes, and peers: what facts/ has ----

TIMES = "probe-times probe-costs probe-engines probe-peer-engines probe-uploads probe-counted"
TWO_GPUS = (
    "probe-ipc-peers probe-misuse probe-peer-copies probe-peer-calls probe-importer "
    "probe-peer-engines probe-outsiders-peers probe-refused probe-peer-capture probe-more-peers "
    "probe-odd-peers p2p peer-numbers"
)

# What is chance in the lines of NAME.txt, as patterns and what replaces them before the lines are
# compared: times; which process dies now and then; where memory lies; whether a graph finds another
# one's launch over; whether a kernel faults on memory of before a reset. Nor do spaces count where
# a program writes a call with others than the recorded one did, nor the default pool's watermarks
# of the sections before.
CHANCE = {
    TIMES: [("^condition .*\n", ""), (r"\d+(\.\d+)?", "N"), (" +", " ")],
    "probe-corner": [(r" +[0-9.]+ us \([^)]*\)", " N us")],
    "probe-dying": [("^(?!.* rc 0: ).*\n", "")],
    "probe-graph-nodes": [("(?<=after an event of the other's stream).*", "")],
    "probe-reset": [(r"(?<=launch_fill\(m, 1, 16, 0\))(.*\n.*) -> .*", r"\1")],
    "one-gpu": [
        ("^( *default pool .*?) high [0-9]+(.*?) high [0-9]+", r"\1\2"),
        (r"(?<= us) *\(min.*|(?<=bytes  ).*? us", ""),
        (r"(?<=GB/s).*", ""),
        (" +", ""),
    ],
    "danger p2p peer-numbers ipc": [(r"^\(.*\n", ""), (" ", "")],
}


def comparable(name, text):
    """The lines of a recording that are compared."""
    changes = [("alignment [0-9]+", "alignment N")]
    for names, how in CHANCE.items():
        if name in names.split():
            changes = how
    for pattern, by in changes:
        text = re.sub(pattern, by, text, flags=re.M)
    lines = text.splitlines()
    return sorted(set(lines)) if name == "probe-dying" else lines


def dying(part, program):
    """A line for each run, since the process may die."""
    for kind in "01234":
        for _ in range(6):
            run = part.run("dying", [program, kind], 20)
            lines = run.out.replace("\n", ";") or ";"
            yield f"dying {kind} rc {run.status}: {lines}"


def mutants(part, programs):
    """The starter and mutants that ipc-mutants.txt names, 20 runs each, four at a time; how many
    kinds of output, and the last of them, without the places in the source."""
    for program in programs:
        name = program.partition("/")[2]

        def one(i, program=program, name=name):
            run = part.run(f"mutants/{name}/{i}", [f"build/gpu/{program}"], 20)
            lines = (run.out + run.err).splitlines() + [f"rc {run.status}"]
            return "\n".join("  " + re.sub(r"^[^ ]*\.c:\d*: ", "", line) for line in lines)

        printed = part.at_a_time(one, range(20), 4)
        kinds = len(set(printed))
        yield f"== {name}: 20 runs, {kinds} kind{'s'[: kinds > 1]} of output\n{printed[-1]}"


def probe(part, name, programs):
    """The lines of NAME.txt as this machine prints them, and the exit status."""
    program = f"build/gpu/{FACTS}/{name}"
    if name == "ipc-mutants":
        return 0, "\n".join(mutants(part, programs)) + "\n"
    if name == "probe-dying":
        return 0, "\n".join(dying(part, program)) + "\n"
    run = part.run(name, [program])
    text = run.out
    if name == "probe-error-log":  # the time and the thread begin each of its lines
        text = re.sub(r"^\[[0-9:.]+\]\[[0-9]+\]", "[TIME][THREAD]", text, flags=re.M)
    return run.stopped or run.status, text


def probe_names(of_two):
    """What has a program beside its recording; the walks have a part of their own."""
    names = {file.stem for file in FACTS.glob("*.c")} - {"walks"} | {"ipc-mutants"}
    return sorted(name for name in names if (name in TWO_GPUS.split()) == of_two)


def probes(part, of_two=False):
    names = part.wanted(probe_names(of_two))
    recorded = (FACTS / "ipc-mutants.txt").read_text()
    starters = [
        f"{'mutants' if '/' in name else 'lessons'}/{name}"
        for name in re.findall("^== (.*):", recorded, re.M)
    ]
    programs = [f"{FACTS}/{name}" for name in names if name != "ipc-mutants"]
    part.build("gpu", programs + (starters if "ipc-mutants" in names else []))
    if not of_two:
        part.see_one_gpu()
    rows = []
    for name in names:
        if of_two and part.machine.gpus < 2:
            rows.append([name, "skipped: needs 2 GPUs", ""])
            continue
        if part.is_late():
            rows.append([name, "not run: no time was left", ""])
            continue
        status, text = probe(part, name, starters)
        (part.folder / f"{name}.txt").write_text(text)
        known = FACTS / f"{name}.txt"
        if not known.exists():
            rows.append([name, status, f"not recorded yet: {text.count(chr(10))} lines"])
            continue
        recorded = known.read_text()
        found = differing_lines(part, name, comparable(name, recorded), comparable(name, text))
        if found:
            part.complain(f"{name} differs (<: recorded):\n" + "\n".join(found[:20]))
        gone = sum(line.startswith("<") for line in found)
        rows.append([name, status, f"{gone} of {recorded.count(chr(10))}"])
    return table(["file", "exit status", "lines that differ"], rows)


def peers(part):
    return probes(part, of_two=True)


# ---- walks: the random walks of facts/walks.txt.gz, taken again ----


def split_walks(text):
    """The lines of each walk by its profile's number and its seed."""
    found = {}
    for walk in re.split("^(?=# seed )", text, flags=re.M)[1:]:
        lines = walk.splitlines()
        found[lines[0].split()[4], lines[0].split()[2]] = lines
    return found


def walks(part):
    """A profile matches when no more than two of its 20 walks differ. Where a free is
    reached just as the next call is made, a race decides (facts/README.md), and from there on the
    walk is another one. They come one after the other, since a walk is about what the device has
    finished when."""
    recorded = split_walks(gzip.decompress((FACTS / "walks.txt.gz").read_bytes()).decode())
    part.see_one_gpu()
    part.build("gpu", [f"{FACTS}/walks"])
    rows = []
    for profile, name in enumerate(["mixed", "small", "large", "capped", "one-stream", "several"]):
        ended, text = 0, ""
        for seed in range(1, 21):
            run = part.run("walk", [f"build/gpu/{FACTS}/walks", seed, 120, profile])
            text += run.out
            ended += run.status == 0
        (part.folder / f"{name}.txt").write_text(text)
        here, differ = split_walks(text), []
        for (number_, seed), lines in recorded.items():
            if number_ != str(profile):
                continue
            new = here.get((number_, seed), [])
            new += [""] * (len(lines) - len(new))
            step = next((i for i, line in enumerate(lines) if line != new[i]), None)
            if step is not None:
                differ.append(f"{seed} from step {step}")
        if len(differ) > 2:
            part.complain(name, len(differ), "walks differ.")
        rows.append([name, f"{ended} of 20", f"{len(differ)} of 20", ", ".join(differ)])
    return table(["profile", "walks that ended", "walks that differ", "seeds"], rows)


# ---- clinic: its programs on the GPU, under compute-sanitizer, on the simulated device ----


def ending(run):
    """How a run ended, and the last line that it printed."""
    last = run.last_line()
    if run.status == 77:
        return last
    if run.stopped:
        return f"{run.stopped}; {last}"
    status = f"exit status {run.status}"
    if isinstance(run.status, int) and run.status > 128:
        status = f"died of {signal.Signals(run.status - 128).name}"
    codes = re.findall(r": (cudaError[A-Za-z]*) \(", run.err)
    if codes and not re.search("^hazard:", run.err, re.M):
        last = codes[0]
    return f"{status}; {last}"


def clinic(part):
    """Every repaired program prints what docs/recorded/clinic.txt has, and ends well on the
    simulated device, where no broken one does."""
    places = {}
    for wrong in sorted(Path("docs/clinic").glob("*_wrong.c")):
        case = wrong.stem[: -len("_wrong")]
        places[f"{case}_right"], places[wrong.stem] = f"repairs/{case}", f"docs/clinic/{wrong.stem}"
    names = part.wanted(places)
    programs = [places[name] for name in names]
    for device in "gpu", "simulator":
        if not part.build(device, programs):
            return ""
    runs = {}
    for name in names:
        runs[name] = [
            part.run(f"{name}.{device}", [f"build/{device}/{places[name]}"])
            for device in ("gpu", "simulator")
        ]

    def sanitize(name):
        return part.sanitized(f"{name}.sanitized", RACES, [f"build/gpu/{places[name]}"])

    found = dict(zip(names, part.at_a_time(sanitize, names)))
    printed = {name: f"== {name}: {runs[name][0].status}\n{runs[name][0].out}" for name in names}
    (WORK / "clinic.txt").write_text("".join(printed.values()))
    text = Path("docs/recorded/clinic.txt").read_text()
    recorded = {one.split(":")[0][3:]: one for one in re.split("^(?=== )", text, flags=re.M)[1:]}
    rows = {"wrong": [], "right": []}
    for name in names:
        alone, simulated = runs[name]
        kind = reported_kind(simulated)
        row = [name, ending(alone), judged(found[name]), ending(simulated)]
        row[3] += f"; {kind}" if kind else ""
        rows[name.rpartition("_")[2]].append(row)
        if name.endswith("_wrong"):
            if simulated.status == 0:
                part.complain(name, "ends well on the simulated device.")
            continue
        if simulated.status != 0:
            part.complain(f"{name} ends with {simulated.status} on the simulated device.")
        if alone.status != 77 and recorded.get(name) != printed[name]:
            part.complain(name, "prints something else than what is recorded.")
    heads = ["program", "the GPU alone", part.machine.tool, "simulated device"]
    return sections(("Broken", heads, rows["wrong"]), ("Repaired", heads, rows["right"]))


# ---- litmus: what the GPU, compute-sanitizer and the simulated device make of each program ----

COMPLAINT = re.compile("(?!nothing|-$|not run|skipped|does not compile|$)")


class LitmusProgram(Program):
    """What a GPU, compute-sanitizer, and the simulated device make of it."""

    def __init__(self, *form):
        super().__init__(*form)
        self.schedule = "late" if "Late" in self.keys else self.schedules[0]
        self.prints = self.keys.get("Prints", "") + self.keys.get("Late", "")

    def told(self, run):
        """What came of a run without compute-sanitizer."""
        if run.status == "late":
            return "not run"
        if reported_kind(run):
            return reported_kind(run)
        if run.stopped:
            return f"hangs: {run.stopped}"
        if run.status == 0:
            return f"nothing; prints {run.first_line()}" if self.prints else "nothing"
        if str(run.status) == self.keys.get("Status"):
            return f"nothing; status {run.status}, as it should"
        error = re.sub(r".*: (cuda\w*) \(.*", r"\1", run.err.partition("\n")[0])
        return f"status {run.status}: {error.replace('|', '/')[:80]}"

    def row(self, part, each):
        name, simulated = self.name, "-"
        on_simulator = Path("build/simulator") / self.program
        if on_simulator.exists():
            as_tests = {"SIM_SCHEDULE": self.schedule, "SIM_CHECK": "leaks,no-init"}
            command = [on_simulator, self.case]
            simulated = self.told(part.run(f"{name}.simulated", command, 10, **as_tests))
        row = [name, self.keys.get("Kind", "")]
        if self.devices > part.machine.gpus:
            return [*row, f"skipped: needs {self.devices} GPUs", "skipped", simulated]
        program = Path("build/gpu") / self.program
        if not program.exists():
            return [*row, "does not compile", "-", simulated]
        command = [program.resolve(), self.case]
        alone = self.told(part.run(f"{name}.plain", command, 20))
        reset = {"LITMUS_RESET": "1"}
        found = part.sanitized(f"{name}.sanitized", OPTIONS["litmus"], command, each, **reset)
        return [*row, alone, judged(found), simulated]


def litmus(part):
    """Every incorrect program is reported by the simulated device, and no correct one by it or by
    the GPU. What only other schedules show, the simulated device runs under the first of them. What
    asks for the free memory runs alone, for at most 20 seconds."""
    programs = sorted(litmus_programs(LitmusProgram), key=lambda one: one.case)
    cases = part.wanted(sorted({program.case for program in programs}))
    programs = [program for program in programs if program.case in cases]
    for device in "simulator", "gpu":
        part.build(device, sorted({program.program for program in programs}))
    alone = [program for program in programs if "cudaMemGetInfo" in program.text]
    together = [program for program in programs if program not in alone]
    rows = {}
    for some, jobs, each in (together, 8, part.each), (alone, 1, 20):
        done = part.at_a_time(lambda program, each=each: program.row(part, each), some, jobs)
        rows.update(zip((program.name for program in some), done))
    forms = {
        wrong: [rows[program.name] for program in programs if program.wrong == wrong]
        for wrong in (True, False)
    }

    def counts(wrong):
        for column in 2, 3, 4:
            noticed = sum(bool(COMPLAINT.match(row[column])) for row in forms[wrong])
            silent = sum(row[column].startswith("nothing") for row in forms[wrong])
            yield f"{noticed} of {noticed + silent}"

    noticed, reported = list(counts(True)), list(counts(False))
    every, of = noticed[2].split(" of ")
    if every != of or every == "0" or not all(reported[i].startswith("0 of") for i in (0, 2)):
        part.complain("A correct program was reported, or an incorrect one was not.")
    heads = ["the GPU alone", part.machine.tool, "simulated device"]
    counted = [["incorrect programs noticed", *noticed], ["correct programs reported", *reported]]
    return sections(
        ("Incorrect programs", ["program", "what is wrong", *heads], forms[True]),
        ("Correct programs", ["program", "", *heads], forms[False]),
        ("Counts", ["", *heads], counted),
    )


# ---- sanitizer: what compute-sanitizer makes of correct programs ----


def sanitizer(part):
    """Every program comes to its end without the sanitizer; what happens under it is what is
    recorded, whatever it is. TIMES (5) runs of each go on at the same time."""
    correct, times = FACTS / "sanitizer/correct", number("TIMES", 5)
    if not part.machine.sanitizer:
        part.complain("compute-sanitizer was not found.")
        return ""
    if not part.build("gpu", [correct]):
        return ""

    def outcome(run):
        printed = run.out + run.err
        if run.stopped:
            return run.stopped
        if "didn't terminate successfully" in printed:
            return "died"
        errors = [f"{n} errors" for n in re.findall(r"ERROR SUMMARY: (\d*) error", printed)]
        return ", ".join(errors + [f"status {run.status}"] * (run.status != 0)) or "ended"

    def several(name, command):
        runs = part.at_a_time(lambda i: part.run(f"{name}.{i}", command), range(times), times)
        found = sorted(map(outcome, runs))
        return ", ".join(f"{found.count(one)} times {one}" for one in sorted(set(found)))

    def row(options, program, *arguments):
        command = [f"build/gpu/{correct}", program, *arguments]
        name = "_".join([program, *arguments])
        alone = several(name, command)
        if alone != f"{times} times ended":
            part.complain(program, *arguments, "did not end well alone:", alone)
        tool = part.machine.sanitizer
        under = [several(name + option, [tool, option, *command]) for option in options]
        return [program, " ".join(arguments), alone, *under]

    checks = ["--leak-check=full", "--track-stream-ordered-races=all"]
    watched = ["--target-processes=application-only", "--target-processes=all"]
    holds = [row(checks, "hold", what) for what in ("memset", "kernel", "copy", "allocation")]
    pools = [
        row(checks, "pools", count, *kernel)
        for count in ("4", "12", "33")
        for kernel in ([], ["kernel"])
    ]
    faults = [row(watched, "faults", how) for how in ("exec", "fork")]
    heads = ["program", "arguments", "alone"]
    tool = part.machine.tool
    first = table([*heads, f"{tool}, leaks", "its stream-ordered races"], holds + pools)
    return f"{first}\n\n{table([*heads, f'{tool}, this process', 'all processes'], faults)}"


# ---- kernels: does the simulated device run nvcc's kernels as a GPU does? ----


def kernels(part):
    """Each program is compiled once, without fma where the program names none: the GPU's driver
    compiles its PTX, and the simulated device runs it. 400 random kernels compare themselves with
    the host as well."""
    library = {"LD_LIBRARY_PATH": str(ROOT / "build/simulator")}
    if (
        not os.path.exists(part.machine.nvcc)
        or subprocess.run(["make", "-s", "BACKEND=simulator", "simulator"]).returncode
    ):
        part.complain("nvcc was not found, or the simulated device could not be built.")
        return ""

    def row(name, source, architecture, *arguments):
        program = (part.folder / name).resolve()
        options = ["-cudart=shared", "-fmad=false", "-Xcompiler", "-ffp-contract=off"]
        # Options of its own, which link device code, and so need the GPU's.
        own = re.findall("^// nvcc: (.*)", Path(source).read_text(), re.M)
        code = f"[compute_{architecture},sm_{architecture}]" if own else f"compute_{architecture}"
        options += ["-gencode", f"arch=compute_{architecture},code={code}", *" ".join(own).split()]
        options += ["-diag-suppress", "177,186,550", "-std=c++20", "-Ilessons"]
        made = part.run(f"{name}.log", [part.machine.nvcc, *options, source, "-o", program], 120)
        if made.status:
            part.complain(name, "was not compiled.")
            return [name, "was not compiled", ""]
        command = [program, *arguments]
        simulated = part.run(f"{name}.simulated", command, **library, SIM_CHECK="no-race")
        same = yes(part.run(f"{name}.gpu", command).out == simulated.out)
        if same == "no":
            part.complain(name, "prints something else on the GPU.")
        return [name, same, simulated.last_line()]

    def random(seed):
        source = part.folder / f"random_{seed}.cu"
        source.write_text(output_of("python3", f"{UNITS}/random_kernels.py", str(seed), "40"))
        found = row(source.stem, source, 75)
        source.with_suffix("").unlink(missing_ok=True)
        if "40 kernels compared, 0 differ" not in found[2]:
            part.complain(source.stem, "differs from the host.")
        return found

    newer = ("variety", "conditional", "textures", "texture_words", "launches")
    named = [UNITS / f"kernels/{name}.cu" for name in ("features", *newer)]
    named += [Path("docs/programs/migration_before.cu"), Path("docs/programs/migration.cu")]
    named += [UNITS / "instructions.c"]

    def program(file):
        is_list = file.suffix == ".c"
        architecture = 90 if file.stem in newer or is_list else 75
        return row(file.stem, file, architecture, *(["values"] if is_list else []))

    jobs = os.cpu_count()
    rows = part.at_a_time(program, named, jobs)
    found = part.at_a_time(random, range(1, 11), jobs)

    def count(column, words_):
        return sum(words_ in one[column] for one in found)

    differ = sum(bool(re.match("40 kernels compared, [1-9]", one[2])) for one in found)
    return (
        table(["program", "the same on both", "the last line"], rows)
        + f"\n\nRandom kernels: {40 * count(1, 'yes')} printed the same on both, "
        f"{40 * count(1, 'no')} did not; of the simulated device "
        f"{40 * count(2, '40 kernels compared, 0 differ')} gave what the host gives. Files of 40 "
        f"kernels that differ: {differ}; that were not compiled: {count(1, 'was not compiled')}."
    )


# ---- chance: how often a program comes to which answer ----


def answer(run):
    """All that a run printed, and its exit status if it is not 0."""
    if run.status in (77, "late"):
        return None
    if run.stopped:
        return "did not end"
    lines = [re.sub("^~ ", "", line).replace("|", "/") for line in run.out.splitlines()]
    status = [f"exit status {run.status}"] if run.status else []
    return "; ".join([" / ".join(lines)] * bool(lines) + status)


def chance(part):
    """Programs whose order is wrong, or whose pool looks at the device's progress. facts/chance.txt
    has a line "PROGRAM, a tab, an answer", a regular expression, for each answer that a GPU has
    given. Each runs RUNS (20) times; one that does not end is not run again."""
    known, runs = {}, number("RUNS", 20)
    for line in (FACTS / "chance.txt").read_text().splitlines():
        if not line.startswith("#") and "\t" in line:
            program, _, pattern = line.partition("\t")
            known.setdefault(program, []).append(pattern)
    part.build("gpu", known)
    rows, new = [], []
    for program in known:
        answers = []
        for _ in range(runs):
            answers.append(answer(part.run(Path(program).name, [f"build/gpu/{program}"])))
            if answers[-1] == "did not end":
                break
        answers = sorted(one for one in answers if one is not None)
        for one in sorted(set(answers), key=lambda one: (-answers.count(one), one)):
            rows.append([program, one, answers.count(one)])
            if not any(re.fullmatch(pattern, one) for pattern in known[program]):
                new.append(f"{program}\t{one}")
    check_known(part, new, "Answers that are not in", FACTS / "chance.txt")
    return table(["program", "what it printed", "runs"], rows)


# ---- questions: do the answers of the book's questions hold on a GPU? ----


def question_runs():
    """Each run that an answer of tests/book/answers.txt comes from, without repetition."""
    solutions = {file.stem[:2]: file.stem for file in Path("solutions").glob("[0-9]*.c")}
    found = set()
    for line in Path("tests/book/answers.txt").read_text().splitlines():
        case = re.search(r"; make clinic-(\d+);", line)
        if case:
            found |= {str(f)[:-2] for f in Path("docs/clinic").glob(f"{case[1]}_*_wrong.c")}
        solution = re.search(r'; make solution-(\d+)(?: MUTANT=(\w+))?(?: ARGS="([^"]*)")?;', line)
        if solution:
            name = solutions[solution[1]]
            program = f"mutants/{name}/{solution[2]}" if solution[2] else f"solutions/{name}"
            found.add(f"{program} {solution[3] or ''}".strip())
        program = re.search(r"; make program LESSON=([^ ]*)\.c .*build/program ([^;]*);", line)
        if program:
            found.add(f"{program[1]} {program[2]}".strip())
    return sorted(found)


def said(run):
    """What a run printed, and how it ended, with the call that CHECK ended it for."""
    calls = re.findall(r"^[^ ]+\.[ch]:\d+: (.*: cudaError\w+) \(", run.err, re.M)
    return words(run.out).splitlines() + [
        f"exit status {run.status}" + "".join(f": {c}" for c in calls[:1])
    ]


def questions(part):
    """Each run goes on the GPU and on the simulated device, there without its checker and with as
    many GPUs as here. Does the GPU print the same lines, but for what depends on the machine, and
    end with the same status? Else its row has the first line that differs. facts/questions.txt
    names the runs that differ, and why."""
    runs = part.wanted(question_runs())
    programs = sorted({run.split()[0] for run in runs})
    mutants_ = [f"build/{program}.c" for program in programs if program.startswith("mutants/")]
    if mutants_:
        subprocess.run(["make", "-s", *mutants_], check=True)
    for device in "gpu", "simulator":
        part.build(device, programs)
    known = {line.partition("\t")[0] for line in (FACTS / "questions.txt").read_text().splitlines()}
    rows, new = [], []
    for run in runs:
        program, *arguments = run.split()
        name = re.sub("[/ ]", ".", run)
        here = part.run(name, [f"build/gpu/{program}", *arguments])
        if here.status == 77:
            continue
        command = [f"build/simulator/{program}", *arguments]
        as_here = {"SIM_CHECK": "off", "SIM_DEVICES": str(part.machine.gpus)}
        simulated = part.run(f"{name}.simulated", command, **as_here)
        found = differing_lines(part, name, said(simulated), said(here))
        first = [
            next((re.sub("  +", " ", f[2:].replace("|", "/")) for f in found if f[0] == side), "")
            for side in "<>"
        ]
        same = yes(not any(first))
        rows.append([program, " ".join(arguments), same, *first])
        if same == "no" and run not in known:
            new.append(run)
    check_known(part, new, "Runs that differ, without a line in", FACTS / "questions.txt")
    return table(["program", "arguments", "same", "simulated device", "GPU"], rows)


# ---- the parts ----

# A function above, the seconds that a run may take, the heading of its table: what that says.
PARTS = """
lessons   60  The lessons on a GPU: each solution, as it ran on the device named here
probes    120 The probes on a GPU: how each ended, and how many lines differ from the recorded ones
peers     120 The probes on two GPUs: how each ended, and how many lines differ from the recorded
walks     20  Random walks over a pool on a GPU: which differ from the recorded, from which step
clinic    20  What the clinic's programs come to: how each ended, its last line, what was reported
litmus    60  What incorrect programs come to: each program of simulator/tests/litmus, on the GPU
sanitizer 8   Correct programs under compute-sanitizer: how often each ended in which way
kernels   120 Kernels of nvcc: whether a GPU and the simulated device print the same
chance    20  What chance decides on a GPU: what comes of looking at the device's progress
questions 20  The questions' answers on a GPU: each run that a question's answer comes from
"""
PARTS = {line.split()[0]: line.split(None, 2)[1:] for line in PARTS.strip().splitlines()}
# What its table says of compute-sanitizer.
OPTIONS = {
    "lessons": ["--report-api-errors", "no"],
    "clinic": RACES,
    "litmus": [*RACES, "--leak-check", "full"],
    "sanitizer": [],
}


def record(machine, name, out):
    """Records one part. Returns its row of gpu.md."""
    each, heading = PARTS[name]
    heading, says = heading.split(": ", 1)
    part, about = Part(machine, name, int(each)), machine.about(OPTIONS.get(name))
    text = f"# {heading}\n\nWritten by tools/gpu/record.py {name}: {says}.\n\n{about}\n\n"
    text += globals()[name](part) + "\n"
    matches = yes(not part.complaints)
    if part.not_begun:
        matches = "no" if part.complaints else "not all of it was run"
        part.complain(f"{name}: no time was left for {part.not_begun} runs. Give more SECONDS_ALL.")
    (WORK / f"{name}.md").write_text(text)
    (WORK / f"{name}.log").write_text("".join(f"{one}\n" for one in part.complaints))
    for file in f"{name}.md", "clinic.txt":
        if (WORK / file).exists():
            shutil.copy(WORK / file, out)
    with tarfile.open(out / "record.tar.gz", "w:gz") as tar:
        tar.add(WORK, "record")
    return [name, matches, round(part.seconds())]


def main():
    out = Path(os.environ.get("OUT") or ROOT / "build/gpu-record").absolute()
    os.chdir(ROOT)
    names = " ".join(sys.argv[1:]).split() or list(PARTS)
    if set(names) - set(PARTS):
        refuse(f"record.py: the parts are {' '.join(PARTS)}.")
    for name in list(os.environ):
        if name.startswith("SIM_") or name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
            del os.environ[name]
    machine = Machine()
    if not machine.gpus:
        refuse(
            "make gpu records what a GPU does, and nvidia-smi -L shows none. To try a part without "
            "a GPU: tools/gpu/stand_in.sh FOLDER make gpu PART, in a new FOLDER"
        )
    shutil.rmtree(WORK, ignore_errors=True)
    for folder in WORK, out:
        folder.mkdir(parents=True, exist_ok=True)
    rows = [record(machine, name, out) for name in names]
    text = (
        "# The workbook on a GPU\n\nWritten by tools/gpu/record.py: does each part match what is "
        f"recorded?\n\n{machine.about()}\n\n{table(['part', 'matches', 'seconds'], rows)}\n"
    )
    (out / "gpu.md").write_text(text)
    print(text, end="")
    return any(matches != "yes" for _, matches, _ in rows)


if __name__ == "__main__":
    sys.exit(main())
