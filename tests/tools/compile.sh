#!/usr/bin/env bash
# Compiles one program, in words for a person:
# compile.sh COMPILER [FLAG...] SOURCE -o PROGRAM [FLAG...]
#
# It runs the command as it stands, but first says in a sentence what is odd about SOURCE: it is not
# there, is a folder, or holds a NUL byte. PROGRAM is replaced only when the command has succeeded.
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
    fail "$source is not there. If it was renamed or deleted:" \
        "git checkout -- $source brings it back."
! IFS= read -r -d '' <"$source" ||
    fail "$source holds a NUL byte, which no C file may. Save it as plain text."

[[ $program != */* ]] || mkdir -p "${program%/*}"
"${@:1:i}" "$program.$$" "${@:i+2}" ||
    fail "$source does not compile. Begin with the first line above that says error."
mv "$program.$$" "$program"
