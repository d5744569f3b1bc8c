#!/usr/bin/env bash
# Prints a cheat as a student's file: cheat.sh CHEAT NN_name [CLASS]
#
# CHEAT.in beside this script is the cheat. Its first comment names the lessons that it is for. What
# stands between two @ is put in:
#   @name@      the lesson            @root@      the workbook's folder
#   @starter@   the lesson's starter  @solution@  its solution
#   @print@     a call of puts for each expected line
#   @journal@   the journal of its solution, as it stands in a C string
#   @settings@  how far the library's settings are from cudaMalloc, in bytes; @lines@: its journal;
#               @report@: its reports
#   @mmap@      how far the C library's mmap is from printf
#   @table@     what lesson 02's check asks with one seed (TABLE_SEED, left out: 1), and the
#               answers: {63, 1, 63}, ...
#   @class@     the folder CLASS
set -eu
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/../../../../tools/usage.sh"
takes '[a-z_]+;[0-9][0-9]_[a-z0-9_]+(;.*)?' "$@"
cd "${0%/*}/../../../.."
name=$2 text=$(<"tests/grading/attacks/cheats/$1.in") library=$PWD/build/simulator/libcudart.so.13
escaped() { sed 's/[\\"]/\\&/g' "$@"; }
put() { # put WORD COMMAND...
    [[ $text != *"@$1@"* ]] || text=${text//"@$1@"/"$("${@:2}")"}
}
journal() {
    local folder
    folder=$(mktemp -d)
    make -s "build/simulator/solutions/$name" BACKEND=simulator
    SIM_JOURNAL=$folder/journal "build/simulator/solutions/$name" >/dev/null 2>&1
    escaped "$folder/journal" | awk '{ printf "%s\\n", $0 }'
    rm -rf "$folder"
}
distance() {
    nm "$library" | awk -v name="$1" '$3 ~ /^cudaMalloc(@|$)/ { from = $1 }
        $3 ~ "^" name "([.]lto_priv.*)?$" { to = $1 }
        END { print "0x" to "L - 0x" from "L" }'
}
distance_in_libc() {
    local libc
    libc=$(ldd "$library" | awk '$1 == "libc.so.6" { print $3 }')
    nm -D "$libc" | awk -v name="$1" '$3 ~ /^printf@/ { from = $1 }
        $3 ~ "^" name "@" { to = $1 } END { print "0x" to "L - 0x" from "L" }'
}
table() {
    local folder=build/check/table.$BASHPID
    SEED=${TABLE_SEED:-1} CHECK_FOLDER=$folder python3 -B tests/grading/judge.py "$name" \
        "solutions/$name.c" >&2
    sed -nE 's/^predict_reserved\(([0-9]+), ([0-9]+)\) = ([0-9]+)$/{\1, \2, \3},/p' \
        "$folder"/*/stdout | sort -u
    rm -rf "$folder"
}
prints() { escaped "tests/lessons/$name/expected/output.txt" | sed 's/.*/    puts("&");/'; }
put starter cat "lessons/$name.c"
put solution cat "solutions/$name.c"
put print prints
put journal journal
put settings distance settings
put lines distance journal
put report distance report
put mmap distance_in_libc mmap
put table table
put name echo "$name"
put root echo "$PWD"
put class echo "${3:-}"
printf '%s\n' "$text"
