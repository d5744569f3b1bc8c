"""Which students of a class handed in the same unusual code: similar.py CLASS OUT < names

copydetect compares the files lesson by lesson, by passages of tokens: names of variables, comments
and white space do not matter. What the workbook's own files have does not count, and neither does
what more than a fifth of the class (and more than three students) have. So the correct answer is
no sign of a copy; the same unusual answer is one. Writes OUT/similar.html and OUT/similar.json.

A row is a reason to look at two files, and proves nothing.
"""

import io
import itertools
import json
import os
import sys
from collections import Counter
from pathlib import Path

import numpy
import pages
from copydetect import CodeFingerprint, compare_files
from report import shown

LENGTH = 25  # of a passage, in characters of copydetect's tokens
LEAST = 100  # so many characters of unusual passages must be shared,
SHARE = 0.5  # and so much of the unusual code of one of the two
OWN = ("lessons", "solutions")


def fingerprint(text, usual=()):
    return CodeFingerprint("x.c", LENGTH, 1, numpy.array(sorted(usual)), fp=io.StringIO(text))


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")[:1048576] if path.is_file() else ""


def compared(lesson, files, found):
    """Adds to found[pair] what the two students share in one lesson."""
    usual = set()
    for folder in OWN:
        usual |= set(fingerprint(read(Path(folder, f"{lesson}.c"))).hashes)
    plain = {name: set(fingerprint(text).hashes) for name, text in files.items()}
    count = Counter(passage for passages in plain.values() for passage in passages)
    usual |= {passage for passage, n in count.items() if n > max(3, len(files) / 5)}
    unusual = {name: fingerprint(text, usual) for name, text in files.items()}
    for pair in itertools.combinations(sorted(files), 2):
        one, other = (unusual[name] for name in pair)
        shared, _, slices = compare_files(one, other)
        entry = found.setdefault(pair, {"shared": 0, "of": [0, 0], "lessons": {}})
        entry["of"][0] += one.token_coverage
        entry["of"][1] += other.token_coverage
        if shared:
            entry["shared"] += int(shared)
            entry["lessons"][lesson] = {
                "shared": int(shared),
                "passages": [
                    longest(file.raw_code, ends) for file, ends in zip((one, other), slices)
                ],
            }


def longest(text, slices):
    """The longest shared passage, as whole lines."""
    start, end = max(zip(*slices.astype(int)), key=lambda ends: ends[1] - ends[0])
    start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    return text[start : line_end if line_end >= 0 else len(text)]


def main():
    class_folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    names = [os.fsdecode(name) for name in sys.stdin.buffer.read().split(b"\0")[:-1]]
    folders = {}
    for name in names:
        folder = class_folder / name
        folders[shown(name)] = folder / "lessons" if (folder / "lessons").is_dir() else folder
    found = {}
    for lesson in sorted(path.stem for path in Path("lessons").glob("[0-9]*.c")):
        files = {name: read(folder / f"{lesson}.c") for name, folder in folders.items()}
        compared(lesson, {name: text for name, text in files.items() if text}, found)
    pairs = []
    for pair, entry in found.items():
        share = entry["shared"] / max(1, min(entry["of"]))
        if entry["shared"] >= LEAST and share >= SHARE:
            lessons = sorted(entry["lessons"].items(), key=lambda item: -item[1]["shared"])
            pairs.append(
                {
                    "students": list(pair),
                    "share": round(min(1.0, share), 2),
                    "shared": entry["shared"],
                    "lessons": [{"lesson": lesson, **what} for lesson, what in lessons],
                }
            )
    pairs.sort(key=lambda entry: (-entry["share"], -entry["shared"], entry["students"]))
    (out / "similar.json").write_text(
        json.dumps(pairs, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )
    (out / "similar.html").write_text(pages.html(page(pairs, len(names))), encoding="utf-8")
    for entry in pairs:
        lessons = " ".join(line["lesson"].split("_")[0] for line in entry["lessons"])
        print(f"{' and '.join(entry['students'])}: {entry['share']:.0%}, in {lessons}")
    print(f"{len(pairs)} pairs of {len(names)} students share unusual code: {out}/similar.html")


def page(pairs, students):
    """The table of all pairs, then of each the longest passages."""
    blocks = [("title", "Similar files")]
    blocks.append(
        (
            "line",
            f"{len(pairs)} pairs of {students} students share unusual code: passages that neither"
            " the workbook nor a fifth of the class has. The share is that of the one who has"
            " less unusual code. A row is a reason to look at the files, and proves nothing.",
        )
    )
    rows = [["students", "share", "lessons"]]
    for number, entry in enumerate(pairs):
        lessons = " ".join(line["lesson"].split("_")[0] for line in entry["lessons"])
        names = (" and ".join(entry["students"]), f"#pair{number}")
        rows.append([names, f"{entry['share']:.0%}", lessons])
    blocks.append(("table", rows))
    for number, entry in enumerate(pairs):
        blocks.append(("heading", " and ".join(entry["students"]), f"pair{number}"))
        for line in entry["lessons"][:3]:
            for name, passage in zip(entry["students"], line["passages"]):
                blocks.append(("line", f"{line['lesson']}, {name}:"))
                blocks.append(("report", passage))
    return blocks


main()
