"""Decides whether a compiler made this assembly from C alone.

A student's file reaches the assembler as text: by asm, but also by the names that attributes,
asm("name") and #ident give, which may have a line end in them. An assembler reads other files
(.include, .incbin), and quotes them in its errors. So the text is read here before any assembler
sees it: each line must be one label, one directive that a compiler writes, or one instruction. The
directives exclude macros, so what looks like an instruction is one.
"""

import re

DIRECTIVES = """file loc text data bss section pushsection popsection previous globl global local
    weak hidden protected internal type size comm lcomm set equ equiv zero skip space ascii asciz
    string byte short hword value word long int quad octa xword dword 2byte 4byte 8byte single float
    double uleb128 sleb128 align balign p2align ident addrsig addrsig_sym arch cpu fpu arm
    tlsdescadd tlsdesccall tlsdescldr variant_pcs base64 nops subsection"""

# The rest of a statement: no ";", which would begin another one, and quotation marks in pairs.
REST = r'(?:[ \t](?:[^";\\\n]|"(?:[^"\\\n]|\\.)*")*)?'
# The comments with which gcc and clang say that what follows is the file's own assembly.
COMMENT = r"(?:#|//)(?!\s*(?:NO_)?APP)(?!.*inline assembly).*"
LINE = (
    rf"[ \t]*(?:{COMMENT})?\n"
    rf"|[A-Za-z_.$][A-Za-z0-9_.$]*:(?:[ \t]*{COMMENT})?\n"
    rf"|[ \t]+\.(?:{'|'.join(DIRECTIVES.split())}|cfi_[a-z_]+){REST}\n"
    r"|[A-Za-z_.$][A-Za-z0-9_.$]* *= *[A-Za-z0-9_.$+-]+\n"
    rf"|[ \t]+(?:(?:rep[a-z]*|lock);?[ \t]+)?(?!syscall|sysenter|svc|int\b)[a-z][a-z0-9_.]*{REST}\n"
)
CONTROL = "[^\t\n -~\x80-\U0010ffff]"


def foreign_line(text):
    """The first line that no compiler makes of C, or None."""
    if control := re.search(CONTROL, text):
        return control[0]
    line_at = re.compile(LINE).match
    text, at = text if text.endswith("\n") else text + "\n", 0
    while at < len(text):
        line = line_at(text, at)
        if not line:
            return text[at : text.index("\n", at)]
        at = line.end()
    return None
