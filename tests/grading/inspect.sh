#!/usr/bin/env bash
# What the compiled file of a student may be: inspect.sh NN_name [FUNCTION...] OBJECT
#
# OBJECT is an object file of that lesson, compiled with -fvisibility=hidden and not linked yet. It
# may import CUDA's functions, what tests/grading/imports.txt lists, the FUNCTIONs, which the
# lesson's manifest names, and what a compiler calls by itself, such as __popcountdi2, which counts
# bits; it may define what only itself can see; and it may hold what a C compiler makes of
# functions and data, without a system call. Each line printed is a sentence for the student about
# something else. Exit status: 0 nothing was found, 1 something was, 2 the object cannot be read.
#
# It reads what the tools report: one readelf and one objdump. An instruction that hides inside
# another one, to be jumped at, is not found: the seal of the run refuses its system call. In an
# object in which nothing was found main is then the only symbol that others see, so that no library
# calls a function of the program.
set -u
names="${*:1:$#-1}" object=${!#}
export LC_ALL=C
# A solution has less than a tenth of each. The tools take seconds for that much.
bytes=4194304 symbols=5000 sections=1000

[ "$(stat -c %s "$object")" -le $bytes ] || {
    echo "Its object file has more than 4 MiB, which no lesson needs: does it define a large" \
        "array with a value, or repeat assembly?"
    exit 1
}

report() {
    readelf --wide --section-headers --symbols --relocs "$object" &&
        objdump --disassemble --no-show-raw-insn "$object"
}

{ report || echo "UNREADABLE"; } 2>/dev/null |
    awk -v names="$names" -v symbols=$symbols -v sections=$sections '
    function say(words) { if (!said[words]++) { print words; found = 1 } }
    function quoted(text) { gsub(/[^[:graph:]]/, "?", text); return substr(text, 1, 80) }
    function limit(what, count, most) {
        if (count <= most) return
        print "Its object file has " count " " what "; that of a lesson has at most " most "."
        stopped = 1
        exit
    }

    BEGIN {
        split(names, list, " ")
        for (i in list)
            allowed[list[i]]
        lesson = "lesson " substr(names, 1, 2)
        contents = "^\\.(text|data|bss|rodata|tdata|tbss|eh_frame|debug_[a-z_]+)(\\..*)?$"
        tables = "^\\.(comment|note\\.gnu\\.property|symtab|symtab_shndx|strtab|shstrtab|group"
        tables = tables "|llvm_addrsig)$"
    }

    # The list.
    FILENAME != "-" {
        for (i = 1; i <= NF && $1 !~ /^#/; i++)
            allowed[$i]
        next
    }
    $0 == "UNREADABLE" { unreadable = 1 }

    /^There are [0-9]+ section headers/ { limit("sections", $3, sections) }
    /^Symbol table .* contains [0-9]+ entr/ {
        match($0, /contains [0-9]+/)
        expected += substr($0, RSTART + 9, RLENGTH - 9)
        limit("symbols", expected, symbols)
    }

    # [ 1] .text PROGBITS 0000000000000000 000040 000000 00  AX  0   0  1
    /^  \[ *[0-9]+\] / {
        sub(/^  \[ *[0-9]+\] */, "")
        section = $1
        flags = NF == 10 ? $7 : ""
        # The first, which has no name, and where addresses in another section are put in.
        if (NF == 8 || section ~ /^\.rela?\./ && flags ~ /^I?$/)
            next
        if (NF > 10)
            say("It has a section with a space in its name: leave out the attribute section, and " \
                "assembly.")
        else if (section ~ /^\.(init|fini|preinit_array|ctors|dtors)/)
            say("It has code that runs before or after main (section " section "): call the " \
                "function from main, without the attribute constructor or destructor.")
        else if (section == ".note.GNU-stack")
            stack = flags ~ /X/ ? "executable" : "plain"
        else if (section !~ contents && section !~ tables)
            say("It has the section " quoted(section) ", which the compiler makes of no function " \
                "and no variable: leave out the attribute section, and assembly.")
        else if (flags ~ /X/ && section !~ /^\.text(\..*)?$/ || flags ~ /W/ && flags ~ /X/)
            say("Its section " quoted(section) " can be executed, which only functions may be: " \
                "leave out the attribute section, and assembly.")
    }

    # 12: 0000000000000000     0 NOTYPE  GLOBAL DEFAULT  UND printf
    /^ *[0-9]+: [0-9a-f]+ / { seen++ }
    /^ *[0-9]+: [0-9a-f]+ / && $8 != "" {
        symbol = $8
        if ($4 == "IFUNC")
            say("It lets " quoted(symbol) " be chosen when it is loaded (the attribute ifunc): " \
                "define a plain function.")
        if ($7 == "UND") {
            sub(/@.*/, "", symbol)
            plain = symbol
            sub(/^__isoc(99|23)_/, "", plain)
            if (plain ~ /^__.*_chk$/) {
                sub(/^__/, "", plain)
                sub(/_chk$/, "", plain)
            }
            if (symbol ~ /^__[a-z]+[sdt]i[234]$/)
                next   # arithmetic of libgcc
            if (symbol !~ /^(cuda[A-Z][A-Za-z0-9_]*|(launch|kernel)_(add|fill|hold))$/ &&
                !(symbol in allowed) && !(plain in allowed))
                say("It uses " quoted(symbol) ", which " lesson " does not need: its check " \
                    "allows CUDA calls, printf and its kin, memory, strings, numbers and time " \
                    "(tests/grading/imports.txt).")
        } else if ($5 != "LOCAL" && $6 == "DEFAULT" && symbol != "main")
            say("It shows " quoted(symbol) " to the libraries, which would use it as their own: " \
                "leave out the attribute visibility.")
    }

    # 00000002  00040000001a R_X86_64_GOTPC32 0000000000000000 _GLOBAL_OFFSET_TABLE_ + 4
    /^[0-9a-f]+ +[0-9a-f]+ +R_/ && $5 == "_GLOBAL_OFFSET_TABLE_" {
        say("It uses the table of the loader (_GLOBAL_OFFSET_TABLE_), which no lesson needs.")
    }

    # An instruction: "   4:<tab>call   9 <main+0x9>".
    /^ *[0-9a-f]+:\t/ {
        split($0, part, "\t")
        split(part[2], word, /[ \t]+/)
        if (word[1] ~ /^(syscall|sysenter|svc)$/ || word[1] == "int" && part[2] !~ /0x3$/)
            say("It has a system-call instruction (" word[1] "), which no lesson needs: call " \
                "printf or CUDA.")
    }

    END {
        if (stopped)
            exit 1
        if (unreadable || seen != expected) {
            print "The object file cannot be read."
            exit 2
        }
        if (stack != "plain")
            say("It needs a stack that can be executed, as a function inside a function does: " \
                "put the inner function before the outer one.")
        exit found
    }' tests/grading/imports.txt - || exit
objcopy --keep-global-symbol=main "$object"
