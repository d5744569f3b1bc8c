"""Writes a class for tests and measurements: generated_class.py OUT STUDENTS COPIES [SEED]

Each student has, for each lesson, the solution, a mutant or the starter, drawn independently. The
last COPIES of the students have handed in the work of an earlier one: names of variables changed,
comments removed, lines broken in other places. OUT/copies.txt lists them. Every honest student
repeats most of the solution, word for word: real classes are more varied.
"""

import random
import re
import subprocess
import sys
from pathlib import Path

KEYWORDS = {"const", "int", "char", "long", "short", "signed", "unsigned", "main", "void"}


def disguised(text, words):
    """The same program with other names for its variables and without comments."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    types = r"(?:int|char|size_t|unsigned|double|float|void|long|cuda[A-Za-z]+_t|struct \w+)"
    names = set(re.findall(types + r"[ *]+([a-z_][a-z0-9_]*)\b(?! *\()", text)) - KEYWORDS
    names -= set(re.findall(r"(?:\.|->)([a-z_][a-z0-9_]*)", text))  # members keep theirs
    new = {
        name: f"{words.choice(['my', 'the', 'x'])}_{number}"
        for number, name in enumerate(sorted(names))
    }
    parts = re.split(r'("(?:[^"\\\n]|\\.)*")', text)
    for index in range(0, len(parts), 2):
        parts[index] = re.sub(
            r"(?<![.>\w])[a-z_][a-z0-9_]*\b(?!\")",
            lambda word: new.get(word[0], word[0]),
            parts[index],
        )
    return re.sub(r"\n\s*\n+", "\n", "".join(parts)).replace("    ", "\t")


def main():
    out, count, copies = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    draw = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    lessons = subprocess.run(
        ["make", "-s", "list"], capture_output=True, text=True, check=True
    ).stdout.split()
    mutants = {
        lesson: sorted(
            f"build/mutants/{lesson}/{patch.stem}.c"
            for patch in Path("tests/lessons/mutants", lesson).glob("*.patch")
        )
        for lesson in lessons
    }
    honest = []
    for number in range(count - copies):
        chosen = {}
        for lesson in lessons:
            kind = draw.choice(["solution", "solution", "mutant", "mutant", "starter"])
            chosen[lesson] = {
                "solution": f"solutions/{lesson}.c",
                "mutant": draw.choice(mutants[lesson]),
                "starter": f"lessons/{lesson}.c",
            }[kind]
        honest.append((f"s{number:03}", chosen))
    needed = sorted({path for _, chosen in honest for path in chosen.values() if "mutants" in path})
    subprocess.run(["make", "-s", *needed], check=True)
    for name, chosen in honest:
        (out / name).mkdir(parents=True)
        for lesson, path in chosen.items():
            (out / name / f"{lesson}.c").write_bytes(Path(path).read_bytes())
    lines = []
    for number in range(copies):
        name = f"s{count - copies + number:03}"
        of, chosen = draw.choice(honest)
        (out / name).mkdir()
        for lesson, path in chosen.items():
            text = disguised(Path(path).read_text(encoding="utf-8"), draw)
            (out / name / f"{lesson}.c").write_text(text, encoding="utf-8")
        lines.append(f"{of} {name}\n")
    (out / "copies.txt").write_text("".join(lines))


main()
