#!/usr/bin/env bash
# Compiles one program, and reports problems in sentences:
# compile.sh COMPILER [FLAG...] SOURCE -o PROGRAM [FLAG...]
#
# It runs the command as given, but first reports in a sentence if SOURCE does not exist, is a
# folder, or contains a NUL byte. PROGRAM is replaced only when the command has succeeded.
set -u
for ((i = 2; i <= $#; i++)); do [ "${!i}" != -o ] || break; done
before=$((i - 1)) after=$((i + 1))
source=${!before} program=${!after}

fail() {
    echo "$*" >&2
    exit 1
}
[ ! -d "$source" ] || fail "$source is a folder, not a C file."
[ -f "$source" ] ||
    fail "$source does not exist. If it was renamed or deleted:" \
        "git checkout -- $source brings it back."
! IFS= read -r -d '' <"$source" ||
    fail "$source contains a NUL byte, which a C file must not have. Save it as plain text."

[[ $program != */* ]] || mkdir -p "${program%/*}"
"${@:1:i}" "$program.$$" "${@:i+2}" ||
    fail "$source does not compile. Begin with the first line above that has the word error."
mv "$program.$$" "$program"
