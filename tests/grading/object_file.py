"""What the compiled file of a student may be, from what readelf says about it.

It is an object file of one lesson, compiled with -fvisibility=hidden and not linked yet. It may
import CUDA's functions, what imports.txt lists, the functions that the lesson's manifest names, and
what a compiler calls by itself, such as __popcountdi2, which counts bits. It may define what only
itself can see. assembly.py has seen that a C compiler made it of C alone.
"""

import re
from functools import cache
from pathlib import Path

# A solution has less than a tenth of each.
BYTES, SYMBOLS, SECTIONS = 4 << 20, 5000, 1000
CONTENTS = r"\.(text|data|bss|rodata|tdata|tbss|eh_frame|debug_[a-z_]+)(\..*)?"
TABLES = r"\.(comment|note\.gnu\.property|symtab|symtab_shndx|strtab|shstrtab|group|llvm_addrsig)"
EARLY = r"\.(init|fini|preinit_array|ctors|dtors)"
CUDA = r"cuda[A-Z][A-Za-z0-9_]*|(launch|kernel)_(add|fill|hold)"
LIBGCC = r"__[a-z]+[sdt]i[234]"
TOO_LARGE = (
    "Its object file has more than 4 MiB, which no lesson needs: does it define a large array with "
    "a value?"
)
TABLE_OF_LOADER = "It uses the table of the loader (_GLOBAL_OFFSET_TABLE_), which no lesson needs."
STACK = (
    "It needs a stack that can be executed, as a function inside a function does: put the inner "
    "function before the outer one."
)


class Refused(Exception):
    """The file is refused, and nothing else about it matters."""


@cache
def listed_imports():
    lines = Path(__file__).with_name("imports.txt").read_text().splitlines()
    return frozenset(word for line in lines if line[:1] != "#" for word in line.split())


def quoted(text):
    return re.sub("[^!-~]", "?", text)[:80]


def limit(what, count, most):
    if count > most:
        raise Refused(f"Its object file has {count} {what}; that of a lesson has at most {most}.")


def section_sentence(line):
    """A sentence about a section, or None. The line, without its number, is
    .text PROGBITS 0000000000000000 000040 000000 00  AX  0   0  1"""
    words = line.split()
    name, flags = words[0], words[6] if len(words) == 10 else ""
    # The first section has no name; a section of relocations belongs to another section.
    if len(words) == 8 or (re.match(r"\.rela?\.", name) and flags in ("", "I")):
        return None
    if len(words) > 10:
        return "It has a section with a space in its name: leave out the attribute section."
    if re.match(EARLY, name):
        return (
            f"It has code that runs before or after main (section {name}): call the function from "
            "main, without the attribute constructor or destructor."
        )
    if name == ".note.GNU-stack":
        return None
    if not re.fullmatch(f"{CONTENTS}|{TABLES}", name):
        return (
            f"It has the section {quoted(name)}, which the compiler makes for no function and no "
            "variable: leave out the attribute section."
        )
    if "X" in flags and ("W" in flags or not re.fullmatch(r"\.text(\..*)?", name)):
        return (
            f"Its section {quoted(name)} can be executed, which only functions may be: leave out "
            "the attribute section."
        )
    return None


def symbol_sentence(words, allowed, lesson):
    """A sentence about a symbol, or None. The words are
    12: 0000000000000000     0 NOTYPE  GLOBAL DEFAULT  UND printf"""
    kind, binding, visibility, where, name = words[3:8]
    if kind == "IFUNC":
        return (
            f"It lets {quoted(name)} be chosen when it is loaded (the attribute ifunc): define a "
            "plain function."
        )
    if where == "UND":
        name = name.split("@")[0]
        plain = re.sub(r"^__isoc(99|23)_", "", name)
        plain = re.sub(r"^__(.*)_chk$", r"\1", plain)
        if re.fullmatch(f"{LIBGCC}|{CUDA}", name) or {name, plain} & allowed:
            return None
        return (
            f"It uses {quoted(name)}, which lesson {lesson} does not need: its check allows CUDA "
            "calls, printf and its kin, memory, strings, numbers and time "
            "(tests/grading/imports.txt)."
        )
    if binding != "LOCAL" and visibility == "DEFAULT" and name != "main":
        return (
            f"It shows {quoted(name)} to the libraries, which would use it as their own: leave out "
            "the attribute visibility."
        )
    return None


def sentences(report, lesson, imports):
    """What a student is told about the object file: a sentence for each thing it must not hold.
    report is what readelf --wide --section-headers --symbols --relocs has printed."""
    allowed, found, stack = listed_imports() | set(imports), {}, ""
    expected = seen = 0
    for line in report.split("\n"):
        if line.startswith("There are ") and "section headers" in line:
            limit("sections", int(line.split()[2]), SECTIONS)
        elif line.startswith("Symbol table "):
            expected += int(re.search(r"contains (\d+)", line)[1])
            limit("symbols", expected, SYMBOLS)
        elif line.startswith("  [") and re.match(r"  \[ *\d+\] ", line):
            section = re.sub(r"^  \[ *\d+\] *", "", line)
            found[section_sentence(section)] = True
            if section.startswith(".note.GNU-stack "):
                stack = "executable" if "X" in section.split()[6] else "plain"
        elif re.match(r" *\d+: [0-9a-f]+ ", line):
            seen += 1
            words = line.split()
            if len(words) > 7:
                found[symbol_sentence(words, allowed, lesson)] = True
        elif re.match("[0-9a-f]+ +[0-9a-f]+ +R_[^ ]+ +[^ ]+ +_GLOBAL_OFFSET_TABLE_( |$)", line):
            found[TABLE_OF_LOADER] = True
    if seen != expected or not expected:
        raise Refused("The object file cannot be read.")
    if stack != "plain":
        found[STACK] = True
    return [sentence for sentence in found if sentence]
