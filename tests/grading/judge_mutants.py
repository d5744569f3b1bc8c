"""Judges the mutants and the styles of a lesson.

    judge_mutants.py NAME [MUTANT...]     those that are named, or all of them
    judge_mutants.py --first NAME...      the first mutant of each of these lessons

Both stand in variants.txt in the lesson's room, whose form tools/variants.py describes. A mutant
must miss the rule that it names, in the words that it names, and no other, because one mistake
costs one rule; a style must meet every rule. NAME may be a case of the clinic, clinic/NN_name.

Printed is a line for each that does not, for two mutants of a lesson that are told the same, and at
the end how much of a lesson's points a mutant keeps: the mean. Exit status: 0 all are as said, 1
one is not.
"""

import gc
import os
import sys
import tempfile
from pathlib import Path

import judge
import report
import variants
from manifest import ROOT, Wrong
from place import plain
from usage import call


def judged(variant, name, folder):
    """What the lesson's check says of the variant."""
    file = Path(folder) / f"{variant.name}.c"
    file.write_text(variants.source(variant), encoding="utf-8")
    os.environ["CHECK_FOLDER"] = f"build/check/mutants/{name}/{variant.name}"
    place = plain()
    if variant.kind == "mutant":  # make builds these too, and a warning is an error there
        place = place.changed(compiler=[*place.compiler, "-Werror", "-Wno-unused-function"])
    return judge.judge(name, os.path.relpath(file, ROOT), place=place)


def complaint_of_mutant(mutant, found, seen):
    """What is wrong with the judgment of a mutant, or ""."""
    if not mutant.about or not mutant.misses:
        return 'it has no sentence about it, or no line "misses RULE: WORDS"'
    if found["status"] != "graded":
        return "\n".join(found["rules"][0]["lines"])
    failed = {x["rule"][5:]: x for x in found["rules"] if x["result"] == "failed"}
    if " ".join(failed) != mutant.misses:
        return f"it misses {' '.join(failed) or 'no rule'}: expected {mutant.misses} alone"
    said = ["\n".join(report.lines_of({**rule, "see": []})) for rule in failed.values()]
    if not any(mutant.says in words for words in said):
        return "\n".join([f"the rule that is missed does not say: {mutant.says}", *said])
    words = "\n".join(words.split("On stderr it printed:")[0] for words in said)
    # A mutant up_to_N is the solution up to one section of the page, and no mistake of its own.
    part = mutant.name.startswith("up_to_") or mutant.room.startswith("clinic/")
    if words in seen and not part:
        return f"it is told the same as {seen[words]}:\n{words}"
    seen[words] = mutant.name
    return ""


def judge_lesson(name, chosen=(), first=False):
    """Returns whether there are complaints. first: only the first mutant is judged."""
    kept, seen, complaints = [], {}, []
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        everything = variants.variants(name)
        if missing := set(chosen) - {variant.name for variant in everything}:
            raise Wrong(f"{variants.file_of(name)} has no {min(missing)}.")
        for variant in everything:
            if variant.kind not in ("mutant", "style") or (chosen and variant.name not in chosen):
                continue
            found = judged(variant, name, folder)
            said = ""
            if variant.kind == "mutant":
                kept.append(found["points"] / found["possible"])
                said = complaint_of_mutant(variant, found, seen)
            elif any(rule["result"] != "passed" for rule in found["rules"]):
                said = "it is refused."
                report.first(found)
            if said:
                complaints.append(f"{variant.where()}: {said}")
            if first and kept:
                break
    print("\n".join(complaints), end="\n" * bool(complaints))
    if kept:
        print(f"{name}: {len(kept)} mutants keep {sum(kept) / len(kept):.2f} of the points.")
    return bool(complaints)


def main(name, *others):
    gc.disable()  # as in judge.py
    if name == "--first":
        return any([judge_lesson(lesson, first=True) for lesson in others])
    return judge_lesson(name, others)


if __name__ == "__main__":
    os.chdir(ROOT)
    os.environ.setdefault("SEED", "1")
    call({"": main}, sys.argv[1:], (Wrong,))
