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
# shellcheck source=tools/c_file.sh
source "${0%/*}/../../tools/c_file.sh"
file=$1 program=$2 library=$3
shift 3
expect_c_file "$file" || exit 1

# The first file that it includes and that is no header of a lesson's, CUDA's or the system's, of
# those that the compiler has listed in $program.d.
foreign_header() {
    local own=(lessons simulator/user_kernels.h build/cuda/include) header headers=() name
    # shellcheck disable=SC2162  # a backslash stands before a space, and at a line's end
    read -d '' -a headers <"$program.d"
    # A sandbox has no /dev/fd, so no <(...).
    mapfile -t headers <<<"$(realpath -q -- "${own[@]}" "${headers[@]:1}")"
    # The compiler's own headers; some compilers have a few of them in include-fixed beside it.
    name=$(realpath -q -- "$("${words[@]}" -print-file-name=include)")
    own=("${headers[@]::3}" "$name" "$name-fixed" /usr/include /usr/local/include)
    for header in "${headers[@]:3}"; do
        for name in "${own[@]}"; do
            if [ "$header" = "$name" ] || [[ $header == "$name"/* ]]; then continue 2; fi
        done
        [ -z "$header" ] || [ "$header" -ef "$file" ] || { echo "$header"; return; }
    done
}

# The words of the compiler's command without its flags.
words=()
for word; do
    [[ $word != -* ]] || break
    words+=("$word")
done

if [ -n "${CHECK_INSPECT:-}" ]; then
    # Its assembly first, for a look at what the file adds to that. What the compiler says about a
    # foreign file would show its text, so nothing of that is printed.
    status=0
    "$@" -fvisibility=hidden -MD -MT file -MF "$program.d" -S "$file" -o "$program.s" \
        >"$program.said" 2>&1 || status=$?
    # Of a file with an error it lists nothing.
    [ "$status" = 0 ] || "$@" -M -MT file "$file" >"$program.d" 2>/dev/null
    foreign=$(foreign_header)
    if [ -n "$foreign" ]; then
        echo "It includes ${foreign##*/}, which no lesson needs: a lesson includes the headers of" \
            "lessons/, of CUDA and of the C library."
        exit 1
    fi
    [ ! -s "$program.said" ] || cat "$program.said"
    [ "$status" = 0 ] && "${words[@]}" -c "$program.s" -o "$program.o"
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
    rm -f "$program".{s,d,said}
fi
# The object has no code of gcc's own form, which its plugin would look for.
"$@" -fno-use-linker-plugin "$program.o" -o "$program" "$library" -lm -pthread || {
    echo "$file does not compile: it lacks what the lines above refer to."
    exit 1
}
