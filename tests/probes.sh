#!/usr/bin/env bash
# Asks a real device everything anew that tests/facts holds answers to from tests/probe*.c and lesson 14's mutants: probes.sh [FOLDER [NAME...]], by
# default build/probes, and all of them. NAME is a file of tests/facts without .txt.
#
# For a machine with a GPU, a CUDA toolkit, gcc and make. A program may take SECONDS_EACH (120) seconds. FOLDER then holds each file of answers under
# the name that it has in tests/facts, and NAME.diff where a line differs. The table goes to stdout and to FOLDER/probes.md. Exit status 0: all was
# asked; another device or driver may well answer otherwise.
set -u
cd "$(dirname "$0")/.." || exit 1
folder=${1:-build/probes} wanted=${*:2} known='' each=${SECONDS_EACH:-120} missing=0
mkdir -p "$folder" || exit 1
. tests/record.sh

# The lines of probe-dying.txt: one for each run, since the process may die.
dying() {
    local kind status said
    for kind in 0 1 2 3 4; do
        for _ in 1 2 3 4 5 6; do
            status=0
            said=$(timeout -k 5 20 build/gpu/tests/probe dying "$kind" 2>/dev/null) || status=$?
            echo "dying $kind rc $status: $(tr '\n' ';' <<<"$said")"
        done
    done
}

# The lines of ipc-mutants.txt: lesson 14's starter and its mutants, 20 runs each, four at a time; how many kinds of output, and the last of them.
mutants() {
    local program name i out=$folder/mutants
    for program in lessons/14_ipc_allocation tests/lessons/mutants/14_*/*.patch; do
        program=${program#tests/lessons/} program=${program%.patch}
        name=${program#*/}
        if ! make -s BACKEND=gpu "build/gpu/$program" >&2; then echo "== $name: does not compile"; continue; fi
        mkdir -p "$out/$name"
        for i in {1..20}; do
            bounded 20 "$out/$name/$i" "build/gpu/$program" &
            [ $((i % 4)) != 0 ] || wait
        done
        for i in {1..20}; do        # without the places in the source
            { cat "$out/$name/$i.out" "$out/$name/$i.err" | sed 's/^/  /; s/^  [^ ]*\.c:[0-9]*: /  /'; echo "  rc $(cat "$out/$name/$i.status")"; } >"$out/$name/$i.said"
        done
        i=$(sha256sum "$out/$name"/*.said | cut -d ' ' -f 1 | sort -u | wc -l)
        echo "== $name: 20 runs, $i kind$([ "$i" = 1 ] || echo s) of output"
        cat "$out/$name/20.said"
    done
}

# No two measurements of a time are the same: figures NAME FILE
figures() { if [ "$1" = probe-times ]; then sed -E 's/[0-9]+(\.[0-9]+)?/N/g; s/ +/ /g' "$2"; else cat "$2"; fi; }

one_probe() { # one_probe NAME GPUS PROGRAM [ARGUMENT...]: a line of the table; the answers are those of tests/facts/NAME.txt
    local name=$1 gpus=$2 program=build/gpu/tests/$3 out=$folder/$1 status differ
    shift 3
    known="$known $name"
    [ -z "$wanted" ] || [[ " $wanted " == *" $name "* ]] || return 0
    if [ "$GPUS" -lt "$gpus" ]; then echo "| $name | skipped: needs $gpus GPUs | |"; return; fi
    if [ "$name" = ipc-mutants ]; then mutants >"$out.out"; echo 0 >"$out.status"
    elif ! make -s BACKEND=gpu "$program" >"$out.build" 2>&1; then cat "$out.build" >&2; echo "| $name | does not compile | |"; return 1
    elif [ "$name" = probe-dying ]; then dying >"$out.out"; echo 0 >"$out.status"
    else bounded "$each" "$out" "$program" "$@"; fi
    mv "$out.out" "$out.txt"
    status=$(cat "$out.status")
    if diff <(figures "$name" "tests/facts/$name.txt") <(figures "$name" "$out.txt") >"$out.diff"; then rm "$out.diff"; fi
    differ=$(grep -c '^<' "$out.diff" 2>/dev/null)
    echo "| $name | $(if was_stopped "$status"; then echo "stopped after $each s"; else echo "$status"; fi) | ${differ:-0} of $(wc -l <"tests/facts/$name.txt") |"
    ! was_stopped "$status"
}

{
    echo "# The probes on a GPU"
    echo
    echo "Written by tests/probes.sh: how each ended, and how many of the recorded lines were answered otherwise."
    echo
    about
    echo
    echo "| answers | exit status | lines that differ |"
    echo "|---|---|---|"
    one_probe probe-answers 1 probe answers || missing=1
    one_probe probe-waits 1 probe waits || missing=1
    one_probe probe-times 1 probe times || missing=1
    one_probe probe-gone 1 probe gone || missing=1
    one_probe probe-dying 1 probe || missing=1
    for name in ipc pools graphs graph_nodes host threads owner; do one_probe "probe-${name//_/-}" 1 "probe_$name" || missing=1; done
    one_probe probe-ipc-peers 2 probe_ipc_peers || missing=1
    one_probe probe-misuse 2 probe_misuse || missing=1
    one_probe ipc-mutants 1 - || missing=1
    for name in $wanted; do
        [[ " $known " == *" $name "* ]] || { echo "tests/probes.sh does not know \"$name\". It asks for:$known" >&2; missing=1; }
    done
    [ "$missing" = 0 ]
} | tee "$folder/probes.md"
exit "${PIPESTATUS[0]}"
