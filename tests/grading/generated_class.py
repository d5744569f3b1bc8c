"""Writes a class to measure with: generated_class.py OUT STUDENTS [SEED]

Each student has, for each lesson, the solution, a mutant or the starter, drawn independently. Each
repeats most of the solution, word for word: real classes are more varied.
"""

import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, "tools")
import variants  # noqa: E402


def main():
    out, count = Path(sys.argv[1]), int(sys.argv[2])
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    lessons = subprocess.run(
        ["make", "-s", "list"], capture_output=True, text=True, check=True
    ).stdout.split()
    mutants = {
        lesson: sorted(
            f"build/mutants/{lesson}/{each.name}.c"
            for each in variants.variants(lesson)
            if each.kind == "mutant"
        )
        for lesson in lessons
    }
    students = []
    for number in range(count):
        chosen = {}
        for lesson in lessons:
            kind = draw.choice(["solution", "solution", "mutant", "mutant", "starter"])
            chosen[lesson] = {
                "solution": f"solutions/{lesson}.c",
                "mutant": draw.choice(mutants[lesson]),
                "starter": f"lessons/{lesson}.c",
            }[kind]
        students.append((f"s{number:03}", chosen))
    paths = {path for _, chosen in students for path in chosen.values()}
    needed = sorted(path for path in paths if "mutants" in path)
    subprocess.run(["make", "-s", *needed], check=True)
    for name, chosen in students:
        (out / name).mkdir(parents=True)
        for lesson, path in chosen.items():
            (out / name / f"{lesson}.c").write_bytes(Path(path).read_bytes())


main()
