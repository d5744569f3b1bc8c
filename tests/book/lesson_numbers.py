"""Prints each place that names a lesson by a wrong number: lesson_numbers.py [BOOK]

In the sources: a heading of a program that has another number, and a number of a lesson that is not
there. With BOOK, the folder of the built pages: a link whose text begins with another number than
its page has, and a title that has another one.
"""

import re
import sys
from pathlib import Path

LESSONS = {path.name[:2]: path.name for path in Path("tests/lessons").glob("[0-9][0-9]_*")}
ANCHOR = re.compile(r'<a\b[^>]*href="[^"]*?(\d\d_[a-z_]+)\.html[^"]*"[^>]*>(.*?)</a>', re.S)
NAMED = re.compile(r"\b[Ll]essons?\s+(\d\d?)\b")
COMMAND = re.compile(r"\bmake (?:(?:check|hint|solution|picture|trace)-)?(\d\d)\b(?!\.)")
TITLE = re.compile(r"<h1>(?:<[^>]*>)*\s*(\d\d)\b")


def wrong_link(text, name):
    """Does a link's text name another number than its page has?"""
    found = re.match(r"(?:[Ll]essons?\s+)?(\d\d)\b", re.sub(r"<[^>]*>", "", text).strip())
    return found and name[:2] != found[1]


def is_lesson(name):
    return name in LESSONS.values()


def sources():
    for path in [
        Path("README.md"),
        *sorted(Path("docs").glob("*.rst")),
        *sorted(Path("docs").glob("*/*.rst")),
    ]:
        text = path.read_text(encoding="utf-8")
        for pattern in (NAMED, COMMAND):
            for found in pattern.finditer(text):
                if f"{int(found[1]):02d}" not in LESSONS:
                    yield path, f"there is no lesson {found[1]}: {found[0]}"
    for name in LESSONS.values():
        for path in (Path(f"lessons/{name}.c"), Path(f"solutions/{name}.c")):
            heading = path.read_text(encoding="utf-8").partition("*/")[0]
            numbers = {
                *re.findall(r"/\* (\d\d) ", heading),
                *COMMAND.findall(heading),
                *re.findall(r"docs/(\d\d)_", heading),
            }
            if numbers != {name[:2]}:
                yield path, f"its heading names {', '.join(sorted(numbers))}"


def book(folder):
    for path in sorted(Path(folder).rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        for found in ANCHOR.finditer(text):
            if "#L" in found[0].split(">")[0]:
                continue  # a line of a listing
            if is_lesson(found[1]) and wrong_link(found[2], found[1]):
                yield path, f"{re.sub('<[^>]*>', '', found[2])} links to {found[1]}"
        if is_lesson(path.stem) and path.parent == Path(folder):
            title = TITLE.search(text)
            if not title or title[1] != path.stem[:2]:
                yield path, f"its title does not begin with {path.stem[:2]}"


if __name__ == "__main__":
    found = list(book(sys.argv[1]) if len(sys.argv) > 1 else sources())
    for path, words in found:
        print(f"{path}: {words}")
    sys.exit(bool(found))
