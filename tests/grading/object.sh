#!/usr/bin/env bash
# Compiles, inspects and links one C file: object.sh FILE.c PROGRAM LIBRARY COMPILER [FLAG...]
#
# With CHECK_INSPECT="NN_name [FUNCTION...]" the object, PROGRAM.o, is inspected for that lesson before it is
# linked (inspect.sh beside this). It reads a file that is not trusted to behave with tools that
# were not made for that: program.sh runs it under limits, and for a grader in a sandbox.
#
# Exit status: 0, or 1 with a sentence behind what the tools print.
set -u
# shellcheck source=tests/commands/c_file.sh
source "${0%/*}/../commands/c_file.sh"
file=$1 program=$2 library=$3
shift 3
expect_c_file "$file" || exit 1
"$@" -fvisibility=hidden -c "$file" -o "$program.o" || {
    does_not_compile "$file"
    exit 1
}
# shellcheck disable=SC2086  # names
# shellcheck source=tests/grading/inspect.sh
[ -z "${CHECK_INSPECT:-}" ] || (source "${0%/*}/inspect.sh" $CHECK_INSPECT "$program.o") || exit 1
"$@" "$program.o" -o "$program" "$library" -lm || {
    echo "$file does not compile: it lacks what the lines above refer to."
    exit 1
}
