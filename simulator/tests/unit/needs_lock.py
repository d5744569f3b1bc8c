"""Prints each function of simulator/ that another room calls, whose header says that it needs the
lock, and that does not begin with NEEDS_LOCK(); and how many do. needs_lock.py [FOLDER]"""

import re
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "simulator")
PROTOTYPE = re.compile(
    r"^(?!static|typedef|#)[A-Za-z_][\w *]*?[ *](\w+)\([^;{}]*\)(?: __attribute__\(.*\))?;", re.M
)
# What a header says about all of its functions or about one, and about an exception.
NEEDS = re.compile(r"needs? the lock", re.I)
EXCEPT = re.compile(r"need the lock, but for (\w+)")


def flat(comment):
    """A comment as one line."""
    return re.sub(r"\s+(\* )?", " ", comment)


def that_need_it(header):
    """The functions of a header that need the lock, by what it says."""
    heading, _, body = header.read_text().partition("#ifndef")
    heading = flat(heading)
    # os.h has functions of both kinds, and each says what it needs.
    whole = NEEDS.search(heading) and header.name != "os.h"
    for found in PROTOTYPE.finditer(body):
        before = body[: found.start()].rstrip()
        comment = before[before.rindex("/*") :] if before.endswith("*/") else ""
        if found[1] in EXCEPT.findall(heading):
            continue
        if whole or NEEDS.search(flat(comment)):
            yield found[1]


def main():
    texts = {path: path.read_text() for path in FOLDER.glob("*/*.[ch]")}
    words = {path: set(re.findall(r"\w+", text)) for path, text in texts.items()}
    asserted = 0
    for header in sorted(FOLDER.glob("*/*.h")):
        for name in that_need_it(header):
            rooms = {path.parent.name for path in texts if name in words[path]}
            if rooms <= {header.parent.name}:
                continue
            definition = re.compile(
                r"^[A-Za-z_][^;{}=\n]*\b" + name + r"\([^;{}]*\)\s*\{([^;]*;)", re.M
            )
            for path in header.parent.glob("*.c"):
                for found in definition.finditer(texts[path]):
                    if found[1].strip() == "NEEDS_LOCK();":
                        asserted += 1
                    else:
                        print(f"{path}: {name} does not begin with NEEDS_LOCK()")
    print(f"{asserted} functions assert the lock")


main()
