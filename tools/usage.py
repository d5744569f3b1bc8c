"""Refuses words that a script in Python does not take, as usage.sh does for those in bash."""

import os
import sys


def ended(main, *words, known=(), failed=2):
    """Calls main, and ends with what it returns: a status. What it cannot do is a sentence, also
    that its output cannot be written. Whoever reads the output may stop before its end, or end the
    script by Ctrl-C. The output may be closed."""
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    try:
        status = main(*words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = 130
    except (OSError, *known) as why:
        if not isinstance(why, BrokenPipeError):
            is_of_system = isinstance(why, OSError) and why.strerror
            place = f"{why.filename or 'The output cannot be written'}: " if is_of_system else ""
            print(f"{place}{why.strerror}." if place else why, file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left to print goes nowhere
        status = failed
    sys.exit(status)


def call(commands, words, known=(), failed=1):
    """commands: the functions of a script by their first word; "" is what takes all words. Calls
    the one that is meant, and ends with what it returns. Words that it does not take print the
    heading of the script as its usage, and end with status 2."""
    function = commands.get("") or (commands.get(words[0]) if words else None)
    given = words if "" in commands else words[1:]
    if function:
        code = function.__code__
        least = code.co_argcount - len(function.__defaults__ or ())
        most = len(given) if code.co_flags & 0x04 else code.co_argcount  # 0x04: it has *words
        if least <= len(given) <= most:
            ended(function, *given, known=known, failed=failed)
    said = f" does not know these words: {' '.join(words)}" if words else ": words are missing"
    print(f"{os.path.basename(sys.argv[0])}{said}. Its usage:", file=sys.stderr)
    for line in sys.modules["__main__"].__doc__.strip().split("\n"):
        print(f"    {line}".rstrip(), file=sys.stderr)
    sys.exit(2)
