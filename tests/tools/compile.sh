#!/usr/bin/env bash
# Compiles one program, and reports problems in sentences:
# compile.sh COMPILER [FLAG...] SOURCE -o PROGRAM [FLAG...]
#
# It runs the command as given, but first reports in a sentence if SOURCE does not exist, is a
# folder, or contains a NUL byte. PROGRAM is replaced only when the command has succeeded.
set -u
# shellcheck source=tests/tools/c_file.sh
source "${0%/*}/c_file.sh"
for ((i = 2; i <= $#; i++)); do [ "${!i}" != -o ] || break; done
before=$((i - 1)) after=$((i + 1))
source=${!before} program=${!after}

expect_c_file "$source" >&2 || exit 1

[[ $program != */* ]] || mkdir -p "${program%/*}"
"${@:1:i}" "$program.$$" "${@:i+2}" || {
    does_not_compile "$source"
    exit 1
} >&2
mv "$program.$$" "$program"
