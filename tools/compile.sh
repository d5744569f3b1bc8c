#!/usr/bin/env bash
# Compiles one program, and reports problems in sentences:
# compile.sh COMPILER [FLAG...] SOURCE -o PROGRAM [FLAG...]
#
# It runs the command as given, but first reports in a sentence if SOURCE does not exist, is a
# folder, or contains a NUL byte. A full disk is not SOURCE's fault, and is reported as what it is.
# PROGRAM is replaced only when the command has succeeded.
set -u
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '[^-;][^;]*;(.*;)?-o;[^;]+(;.*)?' "$@"
# shellcheck source=tools/c_file.sh
source "${0%/*}/c_file.sh"
for ((i = 2; i <= $#; i++)); do [ "${!i}" != -o ] || break; done
before=$((i - 1)) after=$((i + 1))
source=${!before} program=${!after}

expect_c_file "$source" >&2 || exit 1

[[ $program == */* ]] || program=./$program
folder=${program%/*}
[ -d "${folder:=/}" ] || mkdir -p "$folder" 2>/dev/null
[ -w "$folder" ] || expect_room "$folder" >&2 || exit 1
"${@:1:i}" "$program.$$" "${@:i+2}" || {
    rm -f "$program.$$"
    expect_room "${TMPDIR:-/tmp}" "$folder" || exit 1
    echo "$source does not compile. Begin with the first error above."
    exit 1
} >&2
mv "$program.$$" "$program"
