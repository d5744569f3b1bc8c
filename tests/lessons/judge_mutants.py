"""Judges the mutants and the styles of a lesson: judge_mutants.py NAME [MUTANT...]

A mutant, mutants/MISTAKE.patch in the lesson's room, puts one mistake into the solution that
students make. Three lines above the patch say what is wrong, how the sentence of the rule begins
that it misses (Fails:), and a part of what is then said (Says:). A style, styles/NAME.patch, is a
right answer that its author would not have written: every rule is met.

Printed is a line for each that is not as its patch says, for two mutants that are told the same,
and at the end how much of a lesson's points a mutant keeps: the mean. Exit status: 0 all are as
said, 1 one is not.
"""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/grading"), str(ROOT / "tools")]
import judge  # noqa: E402
import report  # noqa: E402
from manifest import Wrong, room  # noqa: E402
from patched import patched  # noqa: E402


def heading(patch):
    """(Fails, Says) of a mutant's patch."""
    lines = patch.read_text().splitlines()[:3]
    if len(lines) < 3 or not lines[1].startswith("Fails: ") or not lines[2].startswith("Says:  "):
        raise Wrong(
            f"{patch}: expected three lines above the patch: what is wrong, then Fails: and Says:."
        )
    return lines[1][7:], lines[2][7:]


def patched_file(patch, name, folder):
    """The C file that a patch makes of the solution."""
    file, solution = Path(folder) / f"{patch.stem}.c", ROOT / f"solutions/{name}.c"
    text = patched(patch.read_text(), solution.read_text())
    if text is None:
        raise Wrong(f"{patch.relative_to(ROOT)} does not apply to solutions/{name}.c.")
    file.write_text(text)
    return file


def judged(patch, name, folder):
    file = patched_file(patch, name, folder)
    os.environ["CHECK_FOLDER"] = f"build/check/mutants/{name}/{patch.stem}"
    return judge.judge(name, os.path.relpath(file, ROOT))


def complaint_of_mutant(patch, found, seen):
    """What is wrong with the judgment of a mutant, or ""."""
    fails, says = heading(patch)
    rule = next((rule for rule in found["rules"] if rule["name"].startswith(fails)), None)
    if rule is None or rule["result"] != "failed":
        others = [f"{each['result']}: {each['name']}" for each in found["rules"]]
        return f"no rule is missed whose sentence begins so: {fails}\n  " + "\n  ".join(others)
    words = "\n".join(report.lines_of({**rule, "see": []}))
    if says not in words:
        return f"the rule that is missed does not say: {says}\n{words}"
    words = words.split("On stderr it printed:")[0]
    # up_to_N is a solution as far as a section of the page has come: no mistake of its own.
    if words in seen and not patch.stem.startswith("up_to_"):
        return f"it is told the same as {seen[words]}:\n{words}"
    seen[words] = patch.stem
    return ""


def main(name, *chosen):
    kept, seen, complaints = [], {}, []
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        for patch in sorted(room(name).glob("mutants/*.patch")):
            if chosen and patch.stem not in chosen:
                continue
            found = judged(patch, name, folder)
            kept.append(found["points"] / found["possible"])
            said = complaint_of_mutant(patch, found, seen)
            if said:
                complaints.append(f"{patch.relative_to(ROOT)}: {said}")
        for patch in sorted(room(name).glob("styles/*.patch")):
            if chosen and patch.stem not in chosen:
                continue
            found = judged(patch, name, folder)
            if any(rule["result"] != "passed" for rule in found["rules"]):
                complaints.append(f"{patch.relative_to(ROOT)} is refused.")
                report.first(found)
    print("\n".join(complaints), end="\n" * bool(complaints))
    if kept:
        print(f"{name}: {len(kept)} mutants keep {sum(kept) / len(kept):.2f} of the points.")
    return bool(complaints)


if __name__ == "__main__":
    os.chdir(ROOT)
    os.environ.setdefault("SEED", "1")
    try:
        sys.exit(main(*sys.argv[1:]))
    except Wrong as why:
        sys.exit(str(why))
