"""Searches what students get for lines that only a solution or a repaired program has.

    leaks.py FOLDER-OR-FILE PROGRAM.c...      FILE: a program that students may not see

Each file is read as it is, as HTML without its tags, as JavaScript and JSON with their strings
unescaped, and what is in base64. A line is compared without its blanks. One that stands in a
starter, a header, a page's source or a public program counts as public. A file that is packed is
not read, and counts as found. Exit status: 0, or 1 with "FILE: LINE" for each that was found.
"""

import base64
import html
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = ("lessons/**/*.h", "lessons/*.cu", "build/starters/*.c", "simulator/**/*.h")
PUBLIC += ("docs/**/*.rst", "docs/programs/*.*", "docs/clinic/*_wrong.c", "docs/live/scripts.txt")
PUBLIC += ("simulator/[!t]*/**/*.c", "docs/extensions/**/*.c", "docs/_static/*.js")
PACKED = b"PK\3\4", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"%PDF"  # the first bytes of such a file
BLANKS = re.compile(r"[^\S\n]+")
ESCAPES = {"n": "\n", "t": " ", "r": "", "/": "/", '"': '"', "'": "'", "\\": "\\", "b": "", "f": ""}


def without_blanks(text):
    return BLANKS.sub("", text)


def secret_lines(programs):
    """The lines, without blanks, of which each is in no public text."""
    public = "\n".join(
        without_blanks(file.read_text(encoding="utf-8"))
        for pattern in PUBLIC
        for file in ROOT.glob(pattern)
    )
    lines = {
        without_blanks(line)
        for program in programs
        for line in Path(program).read_text(encoding="utf-8").splitlines()
    }
    return sorted(line for line in lines if len(line) > 5 and line not in public)


def unescaped(text):
    """The text with the escapes of JavaScript's and JSON's strings replaced."""

    def character(found):
        code = found[1]
        return chr(int(code[1:], 16)) if len(code) > 1 else ESCAPES.get(code, code)

    return re.sub(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", character, text)


def views(data):
    """The texts that a reader, or a reader's script, finds in some bytes."""
    text = data.decode("utf-8", "replace")
    plain = html.unescape(text)
    yield text
    yield unescaped(text)
    yield unescaped(plain)
    yield html.unescape(re.sub(r"<[^<>]*>", "", text))
    for packed in re.findall(rb"base64,([\w+/]{40,})", data):
        yield from views(base64.b64decode(packed + b"=="))


def main(where, *programs):
    secrets = secret_lines(programs)
    if not secrets:
        sys.exit("leaks.py: no line of these programs is secret, so nothing can be found.")
    where, count, found = Path(where), 0, []
    with tempfile.TemporaryDirectory() as work:
        wanted = Path(work, "wanted")
        wanted.write_text("\n".join(secrets) + "\n", encoding="utf-8")
        for file in sorted(where.rglob("*")) if where.is_dir() else [where]:
            if not file.is_file():
                continue
            count, data = count + 1, file.read_bytes()
            if data.startswith(PACKED):
                found.append(f"{file}: it is packed")
            text = without_blanks("\n".join(set(views(data))))
            done = subprocess.run(
                ["grep", "-aFof", wanted], input=text.encode(), capture_output=True, check=False
            )
            found += sorted({f"{file}: {line}" for line in done.stdout.decode().splitlines()})
    print("\n".join([*found, f"{count} files, {len(secrets)} lines, {len(found)} found"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
