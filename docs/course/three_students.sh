#!/usr/bin/env bash
# Writes a class of three with lessons 04 and 06: three_students.sh FOLDER [FOURTH]. Ada hands in
# solutions, the second one two days late; Ben a program with one mistake, and nothing for lesson
# 06; Cleo the starters. The fourth student, if there is one, has a link to Cleo's files instead of
# a folder, and the grader follows no links.
set -eu
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/../../tools/usage.sh"
takes '[^-;][^;]*(;[^-;][^;]*)?' "$@"
cd "$(dirname "$0")/../.."
folder=$1
rm -rf "$folder"
mkdir -p "$folder"/{ada,ben,cleo}
mutant=build/mutants/04_release_threshold/threshold_in_mib.c
make -s "$mutant"
cp solutions/04_release_threshold.c solutions/06_trim.c "$folder/ada"
cp "$mutant" "$folder/ben/04_release_threshold.c"
cp lessons/04_release_threshold.c lessons/06_trim.c "$folder/cleo"
touch -d "2026-09-14 12:00Z" "$folder"/*/04_*
touch -d "2026-09-21 12:00Z" "$folder/cleo"/06_*
touch -d "2026-09-23 12:00Z" "$folder/ada"/06_*
if [ -n "${2:-}" ]; then
    mkdir "$folder/$2"
    ln -s ../cleo "$folder/$2/lessons"
    printf '%s is a link\n' "$folder/$2/lessons"
fi
printf '%s\n' "$folder"/*/*.c
