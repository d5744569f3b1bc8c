#!/usr/bin/env bash
# Makes a mutant, which is a solution with one mistake: mutant.sh PATCH C-FILE. Without a C file it
# reports that there is no such patch.
set -u
lesson=${1#tests/lessons/}
lesson=${lesson%%/*}
solution=solutions/$lesson.c

if [ ! -e "$1" ]; then
    echo "$1 does not exist. The mutants of $lesson are:" \
        "$(basename -as .patch "tests/lessons/$lesson"/mutants/*.patch | xargs)" >&2
    exit 1
fi
[ $# = 2 ] || exit 0
mkdir -p "${2%/*}"
python3 -B -I -S tools/patched.py "$1" "$solution" "$2"
