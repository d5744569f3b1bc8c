"""Refuses words that a script in Python does not take, as usage.sh does for those in bash."""

import os
import sys


def call(commands, words):
    """commands: the functions of a script by their first word; "" is what takes all words. Calls
    the one that is meant, and returns what it returns. Words that it does not take print the
    heading of the script as its usage, and end with status 2."""
    function = commands.get("") or (commands.get(words[0]) if words else None)
    given = words if "" in commands else words[1:]
    if function:
        code = function.__code__
        least = code.co_argcount - len(function.__defaults__ or ())
        most = len(given) if code.co_flags & 0x04 else code.co_argcount  # 0x04: it has *words
        if least <= len(given) <= most:
            return function(*given)
    said = f" does not know these words: {' '.join(words)}" if words else ": words are missing"
    print(f"{os.path.basename(sys.argv[0])}{said}. Its usage:", file=sys.stderr)
    for line in sys.modules["__main__"].__doc__.strip().split("\n"):
        print(f"    {line}".rstrip(), file=sys.stderr)
    sys.exit(2)
