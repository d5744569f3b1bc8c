"""The manifests of the lessons: tests/lessons/NN_name/manifest.ini, each with one section.

    title, part, level    as the book's tables have them; part is one of the course
    belief, question      what many believe, and what the lesson asks
    truth                 what is true instead, in a sentence or two
    minutes               for a student in the second year
    kind                  fill, fix or predict: what the student does
    imports               library functions that its program may use besides those of imports.txt
    live                  the largest argument, in MiB, with which it runs in a page of the book;
                          without this word it does not run there
    live_mutants          which mutants can be run there beside the solution

A case of the clinic has a title, and the part of the course after which it can be solved, in its
section of tests/lessons/clinic/manifest.ini. manifest() adds two words, counted in check.py:
"rules", how many a check has, and "given", how many of them the starter meets (@met_by_starter).

    manifest.py readme    writes into README.md, each between its two comments, the table of lessons
                          and the line of addresses, as CITATION.cff has them
"""

import configparser
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))
LESSONS = ROOT / "tests/lessons"
KINDS = ("fill", "fix", "predict")
NEEDED = ("title", "part")
LESSON_NEEDS = ("belief", "question", "truth", "minutes", "level", "kind")


class Wrong(Exception):
    """A manifest that cannot be used; the text names it and says what it lacks."""


def room(name):
    """The folder of a lesson, or of a case: clinic/NN_name."""
    return LESSONS / name


@cache
def manifest(name):
    """Its words as a dictionary: numbers are int, lists are lists, live is bool."""
    clinic, _, case = name.rpartition("/")
    path = room(clinic or name) / "manifest.ini"
    where = path.relative_to(ROOT)
    parser = configparser.ConfigParser(interpolation=None)
    try:
        with path.open(encoding="utf-8") as file:
            parser.read_file(file)
        found = dict(parser[case if clinic else "lesson"])
    except FileNotFoundError:
        raise Wrong(f"{where} does not exist.") from None
    except (configparser.Error, KeyError) as why:
        raise Wrong(f"{where}: {str(why).splitlines()[0]}") from None
    for word in NEEDED if clinic else NEEDED + LESSON_NEEDS:
        if not found.get(word):
            raise Wrong(f"{where} has no {word}.")
    for word in ("minutes", "live"):
        if word in found and not found[word].isdecimal():
            raise Wrong(f"{where}: {word} = {found[word]} is not a whole number.")
        found[word] = int(found.get(word, 0))
    for word in ("imports", "live_mutants"):
        found[word] = found.get(word, "").split()
    if found.get("kind", "fix") not in KINDS:
        raise Wrong(f"{where}: kind is one of {', '.join(KINDS)}, and not {found['kind']}.")
    check = room(name) / "check.py"
    text = check.read_text(encoding="utf-8") if check.exists() else ""
    for word, line in (("rules", "def test_"), ("given", "@met_by_starter\n")):
        found[word] = len(re.findall(f"^{line}", text, re.M))
    return found


def lessons():
    return sorted(path.name for path in LESSONS.glob("[0-9][0-9]_*") if path.is_dir())


def cases():
    return sorted(f"clinic/{path.name}" for path in LESSONS.glob("clinic/[0-9][0-9]_*"))


def table():
    """A row for each part of the course, with a link to each lesson's program."""
    parts = {}
    for name in lessons():
        link = f"[{name[:2]} {manifest(name)['title']}](lessons/{name}.c)"
        parts.setdefault(manifest(name)["part"], []).append(link)
    yield "| part | lessons |"
    yield "|---|---|"
    yield from (f"| {part} | {', '.join(links)} |" for part, links in parts.items())


def cited(key):
    """An address in CITATION.cff, the one file that has it; "" while it has none."""
    file = ROOT / "CITATION.cff"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    found = re.search(rf"^{key}: *[\"']?([^\s\"'#]+)", text, re.M)
    return found[1] if found else ""


def addresses():
    pages, repository = cited("url"), cited("repository-code").rstrip("/")
    links = [f"[Read the book]({pages})"] if pages else []
    if repository:
        links += [f"[Releases]({repository}/releases)", f"`git clone {repository}`"]
    if links:
        yield " · ".join(links)


def readme():
    file = ROOT / "README.md"
    text = new = file.read_text(encoding="utf-8")
    for name, lines in (("lessons", table()), ("addresses", addresses())):
        begin, end = f"<!-- the {name}: manifest.py readme -->", f"<!-- end of the {name} -->"
        head, found, rest = new.partition(begin)
        _, also, tail = rest.partition(end)
        if not found or not also:
            raise Wrong(f"README.md lacks {begin} or {end}.")
        new = "\n".join([head + begin, *lines, end + tail])
    if new != text:
        file.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["readme"]:
        sys.exit(__doc__)
    from usage import ended  # others import this file where that one is not

    ended(readme, known=(Wrong,))
