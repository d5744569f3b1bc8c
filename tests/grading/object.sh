#!/usr/bin/env bash
# Compiles, inspects and links one C file: object.sh FILE.c PROGRAM LIBRARY COMPILER [FLAG...]
#
# With CHECK_INSPECT="NN_name [FUNCTION...]" the file may include the headers of lessons/, of CUDA
# and of the system alone, the object, PROGRAM.o, is inspected for that lesson before it is linked
# (inspect.sh beside this), and assembly in it is refused, which could take in a file that no header
# is. It reads a file that is not trusted to behave with tools that were not made for that:
# program.sh runs it under limits, and for a grader in a sandbox or as a user who is no person.
#
# Exit status: 0, or 1 with a sentence behind what the tools print.
set -u
# shellcheck source=tests/commands/c_file.sh
source "${0%/*}/../commands/c_file.sh"
file=$1 program=$2 library=$3
shift 3
expect_c_file "$file" || exit 1

# The first file that it includes and that is no header of a lesson's, CUDA's or the system's. What
# the compiler says about such a file would show its text, so nothing of that is printed.
foreign_header() {
    local found header own=() name
    # A sandbox has no /dev/fd, so no <(...).
    mapfile -t own <<<"$(realpath -q lessons simulator/user_kernels.h build/cuda/include)"
    found=$("$@" -M "$file" 2>/dev/null) || true
    found=${found#*:}
    found=$(xargs -r realpath -q <<<"${found//$'\\\n'/}")
    while IFS= read -r header; do
        for name in "${own[@]}" /usr/include /usr/lib /usr/local/include /usr/local/lib; do
            if [ "$header" = "$name" ] || [[ $header == "$name"/* ]]; then continue 2; fi
        done
        [ -z "$header" ] || [ "$header" -ef "$file" ] || { echo "$header"; return; }
    done <<<"$found"
}

# The words of the compiler's command without its flags.
words=()
for word; do
    [[ $word != -* ]] || break
    words+=("$word")
done

if [ -n "${CHECK_INSPECT:-}" ]; then
    foreign=$(foreign_header "$@")
    if [ -n "$foreign" ]; then
        echo "It includes ${foreign##*/}, which no lesson needs: a lesson includes the headers of" \
            "lessons/, of CUDA and of the C library."
        exit 1
    fi
    # Its assembly first, for a look at what the file adds to that.
    "$@" -fvisibility=hidden -S "$file" -o "$program.s" &&
        "${words[@]}" -c "$program.s" -o "$program.o"
else
    "$@" -fvisibility=hidden -c "$file" -o "$program.o"
fi || {
    does_not_compile "$file"
    exit 1
}
if [ -n "${CHECK_INSPECT:-}" ]; then
    # shellcheck disable=SC2086  # names
    # shellcheck source=tests/grading/inspect.sh
    (source "${0%/*}/inspect.sh" $CHECK_INSPECT "$program.o") || exit 1
    ! grep -q '^#APP' "$program.s" || {
        echo "It has assembly (asm), which no lesson needs."
        exit 1
    }
    rm -f "$program.s"
fi
"$@" "$program.o" -o "$program" "$library" -lm -pthread || {
    echo "$file does not compile: it lacks what the lines above refer to."
    exit 1
}
