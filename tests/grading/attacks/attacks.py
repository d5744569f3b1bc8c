"""The cases of hostile.txt and cheats.txt: files that must harm nothing, or must earn nothing.

    == program fork_bomb as 14: Makes processes without end.
    ended: time
    #include <unistd.h>
    for (;;)
        fork();

The heading has the form of the case, its name, and the lessons as which it is handed in: their
numbers, or "all", and a sentence that says what the case tries. One line or more say what must
happen:

    ended: WHY     why a run of it is stopped: flood, time or memory; left out: it ends by itself
    says: WORDS    the sentence of the grade has these words, and there is no point
    earns: WHAT    nothing, where the sentence is not always the same; "less" than all points, where
                   the case has most of a solution; "some" points, as docs/teaching.rst tells

Then comes the C source:

    file      the source is the whole file
    program   the source has its own #include lines, then the statements of main after a CUDA call
    change    the heading has "of CASE" behind the name, and the source is edits of that case, in
              the form of variants.txt (tools/variants.py): lines with "-" go, lines with "+" come

In a source, what stands between two @ is put in:

    @name@      the lesson            @root@      the workbook's folder
    @print@     a call of puts for each expected line
    @starter@   the lesson's starter  @solution@  its solution; "@starter, main as other@" is the
                                                  starter with its function main renamed, and
                                                  "@starter, after CALL;@" has a main that first
                                                  makes that call
    @journal@   the journal of the lesson's solution, as it stands in a C string
    @settings@  how far the library's settings are from cudaMalloc, in bytes; @lines@: its journal;
                @report@: its reports
    @mmap@      how far the C library's mmap is from printf
    @table@     what lesson 02's check asks with one seed (TABLE_SEED, left out: 1), and the
                answers: {63, 1, 63}, ...

    attacks.py names FILE                  prints the names in hostile or cheats
    attacks.py says CASE KEY               prints what a case has there
    attacks.py write CASE FILE [LESSON]    writes a case as FILE; LESSON is NN_name
    attacks.py hand-in FOLDER CASE...      writes the cases, each as all of its lessons, as files of
                                           students, FOLDER/attack1 and so on, and prints for each
                                           file: attack1 NN_name CASE
"""

import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from itertools import count
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/grading")]

from manifest import lessons  # noqa: E402
from usage import call  # noqa: E402
from variants import Wrong, applied, edits_in, parts_of_file  # noqa: E402

FOLDER = "tests/grading/attacks"
FILES = "hostile", "cheats"
FORMS = "file", "program", "change"
KEYS = "ended", "says", "earns"
LIBRARY = "build/simulator/libcudart.so.13"
PROGRAM = """#define _GNU_SOURCE
#include <cuda_runtime_api.h>
{headers}
int main(void)
{{
    cudaDeviceSynchronize();

{statements}    return 0;
}}
"""
MAIN = """

int main(int argc, char **argv)
{{
    {call}
    return program_main(argc, argv);
}}"""


class Case(NamedTuple):
    file: str
    form: str
    name: str
    of: str
    lessons: list
    given: dict
    source: list  # of (number, line)

    def where(self, number):
        return f"{self.file}:{number}: {self.name}"


# ---- reading ----


@cache
def cases():
    """All cases, by their names."""
    found = {}
    for file in FILES:
        file = f"{FOLDER}/{file}.txt"
        for number, heading, lines in parts_of_file(file):
            case = case_of(file, number, heading, lines)
            if case.name in found:
                raise Wrong(f"{case.where(number)} stands here for the second time.")
            found[case.name] = case
    return found


def case_of(file, number, heading, lines):
    heads = rf"== ({'|'.join(FORMS)}) (\w+)(?: of (\w+))? as ((?:\d\d ?)+|all): .+"
    found = re.fullmatch(heads, heading)
    if not found:
        forms = ", ".join(f'"== {form} NAME as 06 07: SENTENCE"' for form in FORMS)
        raise Wrong(f'{file}:{number}: expected {forms}, got "{heading}".')
    form, name, of, numbers = found.groups()
    while lines and not lines[-1][1]:
        lines = lines[:-1]
    words = [line.partition(": ") for _, line in lines]
    heads = [at for at, (key, *_) in enumerate(words) if key in KEYS]
    begin = max(heads, default=-1) + 1
    given = {**dict.fromkeys(KEYS, ""), **{words[at][0]: words[at][2] for at in heads}}
    chosen = [each for each in lessons() if numbers == "all" or each[:2] in numbers.split()]
    if not (any(given.values()) and lines[begin:]):
        raise Wrong(
            f'{file}:{number}: {name} needs a line "ended:", "says:" or "earns:", and a C source.'
        )
    return Case(file, form, name, of, chosen, given, lines[begin:])


def case(name):
    if name not in cases():
        raise Wrong(f"There is no attack {name}. They are: {' '.join(cases())}")
    return cases()[name]


# ---- a case as a C file ----


def source(case):
    """The C source of a case, with the words between @ as they stand."""
    text = "".join(f"{line}\n" for _, line in case.source)
    if case.form == "change":
        edits, other = edits_in(case.source, case.file), cases()[case.of]
        return applied(edits, source(other), other.name, case.where)
    if case.form == "program":
        headers, statements = re.fullmatch(r"((?:#include [^\n]*\n)*)(.*)", text, re.S).groups()
        return PROGRAM.format(headers=headers, statements=indent(statements, "    "))
    return text


def escaped(text):
    return re.sub(r'[\\"]', r"\\\g<0>", text)


@cache
def make_solutions():
    programs = [f"build/simulator/solutions/{name}" for name in lessons()]
    subprocess.run(["make", "-s", "BACKEND=simulator", *programs])


def journal(name):
    make_solutions()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [f"build/simulator/solutions/{name}"],
            env={**os.environ, "SIM_JOURNAL": f"{folder}/journal"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return escaped(Path(folder, "journal").read_text()).replace("\n", "\\n")


def distance(symbols, begin, end):
    """How far one of the symbols that nm prints is from another, as an expression in C. A file's
    own functions (t) may have the name of another file's variable."""
    at = dict((name, at) for at, name in re.findall(r"^(\w+) [^t] (\S+)", symbols, re.M))

    def value(pattern):
        return next(value for name, value in at.items() if re.match(pattern, name))

    return f"0x{value(end)}L - 0x{value(begin)}L"


def in_library(name):
    symbols = said("nm", LIBRARY)
    return distance(symbols, "cudaMalloc(@|$)", rf"{name}([.]lto_priv.*)?$")


def mmap():
    libc = re.search(r"libc\.so\.6 => (\S+)", said("ldd", LIBRARY))[1]
    return distance(said("nm", "-D", libc), "printf@", "mmap@")


def table(name):
    with tempfile.TemporaryDirectory(dir="build/check") as folder:
        subprocess.run(
            [sys.executable, "-B", "tests/grading/judge.py", name, f"solutions/{name}.c"],
            env={**os.environ, "SEED": os.environ.get("TABLE_SEED") or "1", "CHECK_FOLDER": folder},
            stdout=subprocess.DEVNULL,
        )
        words = "".join(file.read_text() for file in Path(folder).glob("*/stdout"))
    lines = re.findall(r"^predict_reserved\((\d+), (\d+)\) = (\d+)$", words, re.M)
    return "\n".join(sorted({f"{{{a}, {b}, {c}}}," for a, b, c in lines}))


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def words(name):
    """What puts in the words between @, for a lesson."""

    def file(path):
        return Path(path).read_text(encoding="utf-8").rstrip("\n")

    def prints():
        expected = escaped(file(f"tests/lessons/{name}/expected/output.txt"))
        return "\n".join(f'    puts("{line}");' for line in expected.split("\n"))

    return {
        "starter": lambda: file(f"lessons/{name}.c"),
        "solution": lambda: file(f"solutions/{name}.c"),
        "print": prints,
        "journal": lambda: journal(name),
        "settings": lambda: in_library("settings"),
        "lines": lambda: in_library("journal"),
        "report": lambda: in_library("report"),
        "mmap": mmap,
        "table": lambda: table(name),
        "name": lambda: name,
        "root": lambda: str(ROOT),
    }


def written(case, file, lesson=""):
    """Writes the case as a file that is handed in as the lesson."""
    put = words(lesson)

    def expansion(found):
        word, old, new, call = found.groups()
        text = put[word]()
        if call:
            old, new = "main", "program_main"
        text = f"#define {old} {new}\n{text}\n#undef {old}" if old else text
        return text + MAIN.format(call=call) if call else text

    text = re.sub(r"@([a-z]+)(?:, (\w+) as (\w+)|, after (.*;))?@", expansion, source(case))
    Path(file).write_text(text, encoding="utf-8")


# ---- commands ----


def hand_in(folder, *names):
    for each in map(case, names):
        if not each.lessons:
            raise Wrong(f"{each.file}: there is no lesson as which {each.name} could be handed in.")
        for lesson in each.lessons:
            files = (Path(folder, f"attack{number}", f"{lesson}.c") for number in count(1))
            file = next(file for file in files if not file.exists())
            file.parent.mkdir(parents=True, exist_ok=True)
            written(each, file, lesson)
            print(file.parent.name, lesson, each.name)


def names(file):
    if file not in FILES:
        raise Wrong(f"There is no file {file}. They are: {' '.join(FILES)}")
    print(*(each.name for each in cases().values() if file in each.file), sep="\n")


def write(name, file, lesson=""):
    written(case(name), file, lesson)


def says(name, key):
    if key not in KEYS:
        raise Wrong(f"There is no line {key}. The lines are: {' '.join(KEYS)}")
    print(case(name).given[key])


if __name__ == "__main__":
    given = [os.path.abspath(word) if "/" in word else word for word in sys.argv[1:]]
    os.chdir(ROOT)
    call({"names": names, "says": says, "write": write, "hand-in": hand_in}, given)
