"""Which students of a class share code: OUT/similar.csv, a row for each pair.

Compared are runs of SPAN words of C, without comments and white space. Names are one word, but for
those of the functions that the lesson calls, so that renaming hides nothing. What the workbook's
own files have, the solution among them, is left out: tables.py names who has that.
"""

import re
from itertools import combinations

from manifest import ROOT

SPAN, LEAST, SHARE = 8, 20, 0.75
KEPT = (
    "break|case|char|const|continue|default|do|double|else|enum|float|for|goto|if|int|long|return|"
    "short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|while|NULL|cuda.*"
)


def words_of(path):
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return re.findall(r"\w+|[^\w\s]", re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S))


def runs_of(words, known):
    """The runs of SPAN words, in which a name that is not known is "x"."""
    kept = re.compile(KEPT).fullmatch
    plain = ["x" if w.isidentifier() and w not in known and not kept(w) else w for w in words]
    return {tuple(plain[i : i + SPAN]) for i in range(len(plain) - SPAN + 1)}


def pairs(students):
    """{(student, other): [lesson...]} of those who share most of what one of them has written."""
    found = {}
    for lesson in sorted({line["lesson"] for student in students for line in student.lessons}):
        files = [words_of(ROOT / f"{where}/{lesson}.c") for where in ("lessons", "solutions")]
        known = set().union(*({a for a, b in zip(words, words[1:]) if b == "("} for words in files))
        ours = runs_of(files[0], known) | runs_of(files[1], known)
        own = [
            (student.name, runs_of(words_of(line["path"]), known) - ours)
            for student in students
            for line in student.lessons
            if line["lesson"] == lesson and line["path"]
        ]
        for (one, his), (other, hers) in combinations(own, 2):
            less = min(len(his), len(hers))
            if less >= LEAST and len(his & hers) >= SHARE * less:
                found.setdefault((one, other), []).append(lesson.split("_")[0])
    return found


def rows(students):
    """The pairs with most lessons first."""
    yield ["student", "other", "lessons", "which"]
    for (one, other), which in sorted(pairs(students).items(), key=lambda x: (-len(x[1]), x[0])):
        yield [one, other, len(which), " ".join(which)]
