"""Builds and runs the workbook's programs on the simulated device, while the book is built.

Each program runs once for given arguments and environment, in build/docs; every directive that asks
again gets the same Run.
"""

import difflib
import hashlib
import json
import os
import re
import shlex
import subprocess
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = "build/simulator/libcudart.so.13"
COMPILER = shlex.split(os.environ.get("CC") or "gcc")
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("SIM_", "BATS_", "MAKE"))
    and name not in ("MFLAGS", "LESSON", "LD_LIBRARY_PATH")
}


def outcome(command, env=ENVIRONMENT, **more):
    """Runs a command at the top, where reports find the program's source, and keeps its output."""
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, **more)


class BookError(SystemExit):
    """Ends the build with a sentence and exit status 1, without Sphinx's report about itself."""


class Run(NamedTuple):
    status: int
    output: str
    errors: str
    journal: list  # of the process that made the first CUDA call
    second: list  # of the one that lived beside it, if any
    second_process: int  # that one's number for the system; 0: there is none
    printed: bytes  # what printed.c wrote


NAMED_PROGRAM = re.compile(
    r"\b((?:mutants/\d\d_\w+|lessons|starters|solutions|repairs|docs/clinic|docs/programs)/\w+)\b"
)


TO_COMPILE = []  # the files that compile_named builds
COMPILED = set()  # the programs that it has built


# The book of a student's copy (make handout) has no solution, nor what is made of one.
HANDOUT = "BOOK_HANDOUT" in os.environ


def withheld(program):
    """Whether the book that is being built does not show this program or file."""
    return HANDOUT and re.search(r"\b(solutions|mutants|repairs)/|/variants\.txt", program)


def script_of(file):
    """A Python file of the tests as a module, which is in no package."""
    spec = spec_from_file_location(f"workbook_{Path(file).stem}", ROOT / file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


VARIANTS = script_of("tools/variants.py")
MADE = ("mutants/", "starters/", "repairs/")


def variant(program):
    """In what mutants/NN_name/MISTAKE, starters/NN_name or repairs/NN_name differs."""
    return VARIANTS.variant(f"build/{program}.c")


@cache
def made(program):
    """The file of such a program, which is written if it is not there as it should be."""
    file, text = ROOT / f"build/{program}.c", text_of(f"build/{program}.c")
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        VARIANTS.replace(file, text)
    return f"build/{program}.c"


LESSON = re.compile(r"lessons/(\d\d_\w+)\.c")


def text_of(file):
    """What a file of the repository has in it: one of lessons/NN_name.c, as it is delivered,
    whatever a student has made of it; one of build, which may not have been made yet."""
    if lesson := LESSON.fullmatch(file):
        file = f"build/starters/{lesson[1]}.c"
    program = file.removeprefix("build/").removesuffix(".c")
    if program.startswith(MADE):
        return VARIANTS.source(variant(program))
    return (ROOT / file).read_text(encoding="utf-8")


def sources_of(program):
    """The files that the program is made of."""
    if program.startswith(MADE):
        return VARIANTS.sources_of(f"build/{program}.c")
    return [f"{program}.c"]


def compile_named(app, env, pages):
    """Builds what the pages name that Sphinx is about to read, on all processors.

    One that cannot be compiled is reported where a page runs it.
    """
    named = {
        program
        for page in pages
        for program in NAMED_PROGRAM.findall(Path(env.doc2path(page)).read_text(encoding="utf-8"))
        if all((ROOT / file).exists() for file in sources_of(program))
    }
    if not named:
        return
    files = [f"build/simulator/{program}" for program in sorted(named)]
    TO_COMPILE.extend(ROOT / file for file in files)
    done = subprocess.run(
        ["make", "-s", "-k", f"-j{os.cpu_count()}", "BACKEND=simulator", *files],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    if done.returncode == 0:
        COMPILED.update(named)


@cache
def compile_program(program):
    """Builds build/simulator/PROGRAM; returns "" or what make printed."""
    if program in COMPILED:
        return ""
    for file in sources_of(program):
        if not (ROOT / file).exists():
            raise BookError(f"{file} is not there.")
    done = outcome(["make", "-s", "BACKEND=simulator", f"build/simulator/{program}"])
    return "" if done.returncode == 0 else done.stdout + done.stderr


def variables_of(environment):
    return {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C",
        "LD_LIBRARY_PATH": str(ROOT / "build" / "simulator"),
        **dict(pair.split("=", 1) for pair in environment),
    }


def read_journal(text):
    """The lines of a journal. Parsed as one list, which takes half as long as line by line."""
    return json.loads(f"[{','.join(text.splitlines())}]")


@cache
def printed_library():
    """Compiles printed.c, for the compiler's own machine. The file comes whole into its place,
    because a program of another process may be about to load it."""
    library = ROOT / "build" / "docs" / "printed.so"
    new = library.with_name(f"{library.name}.{os.getpid()}")
    library.parent.mkdir(parents=True, exist_ok=True)
    done = outcome(
        [*COMPILER, "-shared", "-fPIC", "-O1", "-o", new, "docs/extensions/book/printed.c"]
    )
    if done.returncode != 0:
        raise BookError(f"docs/extensions/book/printed.c does not compile:\n{done.stderr}")
    new.replace(library)
    return str(library)


@cache
def run_program(program, arguments=(), environment=()):
    """Runs it in a folder of its own.

    A program that cannot be compiled or does not end is no Run but an error of the build.
    """
    trouble = compile_program(program)
    if trouble:
        raise BookError(f"{program}.c does not compile:\n{trouble}")
    folder = (
        ROOT
        / "build"
        / "docs"
        / "runs"
        / "-".join([program, *arguments, *environment]).replace("/", "-")
    )
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as own:  # another build may make the same run now
        run, journals = run_in(Path(own), program, arguments, environment)
        for place, journal in enumerate(journals, 1):
            journal.replace(folder / f"{place}.jsonl")
    return run


def run_in(folder, program, arguments, environment):
    """Runs it in an empty folder. Returns the Run and each process's journal, a file there."""
    journal, printed = folder / "journal.jsonl", folder / "printed"
    try:
        done = outcome(
            [ROOT / "build" / "simulator" / program, *arguments],
            timeout=600,  # the machine may be busy
            errors="replace",
            stdin=subprocess.DEVNULL,
            env={
                "SIM_CHECK": "leaks,no-init",
                **variables_of(environment),
                "SIM_JOURNAL": str(journal),
                "LD_PRELOAD": printed_library(),
                "PRINTED": str(printed),
            },
        )
    except subprocess.TimeoutExpired:
        raise BookError(f"{program} did not end within ten minutes.") from None
    files = sorted(folder.glob("journal.jsonl*"), key=lambda file: (len(file.name), file.name))
    second = int(files[1].suffix[1:]) if len(files) > 1 else 0
    errors, *texts = of_any_run([done.stderr, *(file.read_text() for file in files)], second)
    journals = [read_journal(text) for text in texts]
    noted = printed.read_bytes() if printed.exists() else b""
    run = Run(done.returncode, done.stdout, errors, *(journals + [[], []])[:2], second, noted)
    return run, files


PROCESS = re.compile(r'(\bprocess |"process":)(\d+)\b')
ADDRESS = re.compile(r"\b0x[0-9a-f]{9,16}\b")


def of_any_run(texts, second):
    """The reports and journals of a run, with numbers in place of those that the system gave to its
    processes and its memory, so that the book has the same bytes each time."""
    found = {int(number) for text in texts for _, number in PROCESS.findall(text)} - {second}
    process = {number: 1001 + 2 * place for place, number in enumerate(sorted(found))}
    process[second] = 1002
    known = dict.fromkeys(ADDRESS.findall(texts[0]))
    address = {old: f"{0x7F0000000000 + (place << 25):#x}" for place, old in enumerate(known)}
    return [
        ADDRESS.sub(
            lambda old: address.get(old[0], old[0]),
            PROCESS.sub(lambda old: f"{old[1]}{process[int(old[2])]}", text),
        )
        for text in texts
    ]


def words(output):
    """Lines that begin with "~" without what depends on the machine, as machine.sed leaves them."""
    return re.sub(
        "^~.*",
        lambda line: re.sub(
            " +", " ", re.sub(r"-?[0-9]+(\.[0-9]+)?", "N", re.sub('"[^"]*"', '"..."', line[0]))
        ),
        output,
        flags=re.M,
    )


def recording_of(program, arguments):
    folder, name = program.rsplit("/", 1)
    if folder == "solutions":
        return f"tests/lessons/{name}/expected/{'.'.join(['output', *arguments])}.txt"
    return f"{folder}/expected/{'.'.join([name, *arguments])}.txt"


RECORDED = ROOT / "docs/recorded/outputs.txt"  # written by make gpu lessons alone


def needs_two_gpus(file):
    """The program of this recording prints that it was skipped where there is one GPU."""
    _, _, name, *_ = file.split("/")
    solution = ROOT / f"solutions/{name}.c"
    return solution.is_file() and "skipped: needs two GPUs" in solution.read_text(encoding="utf-8")


def provenance(file):
    """Who printed what is expected: "An NVIDIA H200 printed the same (driver 580.159.04,
    2026-11-20)", or, when no recording says so, that nobody has."""
    text = (ROOT / file).read_text(encoding="utf-8")
    digest = hashlib.sha256(words(text).encode()).hexdigest()
    # Figures are of one device, though another may have printed them in the same words.
    own = re.search('^~ device "([^"]+)"', text, re.MULTILINE)
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        name, found, date, commit, gpu = line.split(" ", 4)
        card, _, driver = gpu.partition(", ")
        if (name, found) == (file, digest) and (not own or card == own[1]):
            who = f"Two {card}s" if needs_two_gpus(file) else f"An {card}"
            return f"{who} printed the same (driver {driver}, {date})"
    return "This is what its author expects, and no device has been recorded yet"


def expect_recorded(program, arguments, run, has_reports=False):
    """A solution prints, line for line, what a real device printed, and nothing is reported of it.

    Returns the file of the recording.
    """
    file = recording_of(program, arguments)
    if not (ROOT / file).exists():
        raise BookError(
            f"{file} is not there: {program} cannot be shown without a recording beside it."
        )
    recorded = (ROOT / file).read_text()
    errors = re.sub(
        "^simulated device: .* Every further call returns .*\n", "", run.errors, flags=re.M
    )  # a fault that the lesson provokes
    if run.status != (3 if has_reports else 0) or bool(errors) != has_reports:
        raise BookError(f"{program} ended with status {run.status}: {errors}")
    if words(run.output) != words(recorded):
        difference = difflib.unified_diff(
            recorded.splitlines(),
            run.output.splitlines(),
            file,
            f"{program} on the simulated device",
            lineterm="",
        )
        raise BookError(
            "The simulated device and the recorded H200 differ.\n" + "\n".join(difference)
        )
    return file


def command_of(program, arguments, environment):
    folder, name = program.rsplit("/", 1)
    before, after = (
        "".join(f"{pair} " for pair in environment),
        f' ARGS="{" ".join(arguments)}"' if arguments else "",
    )
    if folder in ("lessons", "starters", "solutions"):
        return f"$ {before}make {'solution-' if folder == 'solutions' else ''}{name[:2]}{after}"
    if folder.startswith("mutants/"):
        return f"$ {before}make solution-{folder[8:10]} MUTANT={name}{after}"
    if folder in ("docs/clinic", "repairs"):
        return f"$ {before}make {'repaired' if folder == 'repairs' else 'clinic'}-{name[:2]}"
    return (
        f"$ make program LESSON={program}.c PROGRAM=build/program\n"
        f"$ {before}LD_LIBRARY_PATH=build/simulator build/program {' '.join(arguments)}"
    )
