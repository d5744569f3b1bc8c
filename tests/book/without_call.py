"""Takes the student's calls out of solutions, one at a time: without_call.py FOLDER NAME...

For each lesson NAME it compares solutions/NAME.c with lessons/NAME.c, which the student begins
with. For each call of the CUDA runtime or of the workbook on a line that the student writes, it
writes FOLDER/NAME/LINE.c: the solution without that call. In its place is what the call returns
when all is well, so that the rest compiles. It prints a line for each: NAME, LINE and the call.
A second call of a line has the name LINE.2.
"""

import difflib
import re
import sys
from pathlib import Path

INSTEAD = {
    r"cuda(?!GetError)[A-Z]\w*|launch_\w+": "cudaSuccess",
    r"pool_set|give_access": "(void)0",
    r"pool_get|reserved_mib": "0",
}
CALL = re.compile("|".join(rf"\b({names})\(" for names in INSTEAD))


def end_of(text, opening):
    """Where the parenthesis that opens at `opening` is closed."""
    depth = 0
    for index in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    raise ValueError("a parenthesis is not closed")


def written(starter, solution):
    """The numbers, from 1, of the lines that the student writes or writes between: in each function
    from the line above the first difference to the line below the last."""
    lines, first, last = set(), None, None
    blocks = difflib.SequenceMatcher(None, starter, solution, autojunk=False).get_opcodes()
    different = {
        line
        for tag, _, _, begin, end in blocks
        if tag != "equal"
        for line in range(begin, max(end, begin + 1))
    }
    for number, line in enumerate(solution):
        if number in different:
            first, last = number if first is None else first, number
        if line.startswith("}") and first is not None:
            lines |= set(range(first, last + 3))
            first = None
    return lines


def main(folder, names):
    for name in names:
        text = Path("solutions", f"{name}.c").read_text()
        starter = Path("lessons", f"{name}.c").read_text()
        lines = written(starter.splitlines(), text.splitlines())
        code = re.sub(r"/\*.*?\*/", lambda it: re.sub(r"[^\n]", " ", it[0]), text, flags=re.S)
        out = Path(folder, name)
        out.mkdir(parents=True, exist_ok=True)
        last = 0
        for call in CALL.finditer(code):
            line = code.count("\n", 0, call.start()) + 1
            if line not in lines:
                continue
            instead = list(INSTEAD.values())[call.lastindex - 1]
            end = end_of(code, call.end() - 1)
            mark = f"{line}.2" if line == last else str(line)
            last = line
            (out / f"{mark}.c").write_text(text[: call.start()] + instead + text[end:])
            print(name, mark, re.sub(r"\s+", " ", code[call.start() : end]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
