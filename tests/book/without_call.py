"""Takes the student's calls out of a solution, one at a time: without_call.py NAME.

solutions/NAME.c is compared with lessons/NAME.c, which the student begins with. Each call of the
CUDA runtime or of the workbook on a line that the student writes is replaced by what it returns
when all is well, so that the rest compiles. The check of the lesson must miss each. Printed is a
line for each call that it does not miss, and for what is not as NOT_NEEDED says. Exit status: 0,
or 1 if a line was printed.
"""

import difflib
import gc
import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/grading"))
from judge import judge  # noqa: E402

# What a check does not see, and need not. None of them is a decision: the student found these calls
# there.
NOT_NEEDED = {
    "03_custom_pool": [
        # The copy before it goes to pageable memory, and has ended when it returns.
        "cudaStreamSynchronize(stream)",
        # It limits nothing.
        "pool_set(pool, cudaMemPoolAttrReleaseThreshold, mib * MiB)",
    ],
    # It orders nothing.
    "08_stream_order": ["pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX)"],
}
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


def without_each(name):
    """(the line of a call, the call, the solution without it) for each call of the student's."""
    text = Path(f"solutions/{name}.c").read_text()
    starter = Path(f"lessons/{name}.c").read_text()
    lines = written(starter.splitlines(), text.splitlines())
    code = re.sub(r"/\*.*?\*/", lambda it: re.sub(r"[^\n]", " ", it[0]), text, flags=re.S)
    for call in CALL.finditer(code):
        line = code.count("\n", 0, call.start()) + 1
        if line in lines:
            instead = list(INSTEAD.values())[call.lastindex - 1]
            end = end_of(code, call.end() - 1)
            words = re.sub(r"\s+", " ", code[call.start() : end])
            yield line, words, text[: call.start()] + instead + text[end:]


def complaints(name):
    needed, excused = 0, list(NOT_NEEDED.get(name, ()))
    with TemporaryDirectory(dir="build") as folder:
        os.environ["CHECK_FOLDER"] = f"{folder}/check"
        for line, call, text in without_each(name):
            Path(folder, f"{line}.c").write_text(text)
            found = judge(name, f"{folder}/{line}.c", first=True)
            if found["status"] != "graded":
                yield f"line {line}, {call}: {found['status']}: {found['rules'][0]['lines']}"
            elif any(rule["result"] == "failed" for rule in found["rules"]):
                needed += 1
            elif call in excused:
                excused.remove(call)
            else:
                yield f"it passes its check without line {line}: {call}"
    for call in excused:
        yield f"its check needs it, or it is gone: {call}"
    if not needed:
        yield "no call is the student's"


def main(name):
    os.chdir(ROOT)
    os.environ.setdefault("SEED", "1")
    gc.disable()  # as in judge.py
    found = [f"{name}: {words}" for words in complaints(name)]
    print("\n".join(found), end="\n" * bool(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
