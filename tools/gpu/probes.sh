#!/usr/bin/env bash
# Records anew on a GPU what facts/ has, but for the walks (walks.sh): probes.sh [FILE.md
# [NAME...]], by default build/probes.md and everything. NAME is a file of facts/ without .txt, or
# of-one-gpu or of-two-gpus: all that is about so many.
#
# For a machine with a GPU, a CUDA toolkit, gcc and make. Nothing hangs for long: a program may take
# SECONDS_EACH (120) seconds, and what has not begun after SECONDS_ALL (480) is not run. What is
# about one GPU sees one; what needs two is skipped where there is one. FILE.md receives the table;
# FILE.d each file under the name that it has in facts/, and NAME.diff where a line differs. Exit
# status 0: no line differs, but for what is chance (see comparable). Another device or driver may
# well print other lines. What facts/ does not have yet differs from nothing. Exit status 2: there
# is no such NAME.
set -u
file=$(realpath -m "${1:-build/probes.md}")
cd "$(dirname "$0")/../.." || exit 1
. tools/gpu/record.sh
folder=${file%.md}.d wanted=("${@:2}") each=${SECONDS_EACH:-120} different=0
DEADLINE=$(($(date +%s) + ${SECONDS_ALL:-480}))
facts=simulator/tests/facts

# NAME.txt is printed by NAME.c; ipc-mutants.txt by programs of lesson 17, below.
of_one_gpu=(probe-{answers,waits,times,gone,dying,ipc,pools,graphs,graph-nodes,host,threads,owner})
of_one_gpu+=(probe-{reuse,stalls,full,reset,graph-again,costs,driver,pitch,handles,strangers})
of_one_gpu+=(probe-{engines,outsiders,ipc-fault,locality,queue,ending,uploads,endless,error-log})
of_one_gpu+=(probe-{corner,counted,graph-changed,host-touch,cuda-free})
of_one_gpu+=(one-gpu danger ipc ipc-mutants)
of_two_gpus=(probe-{ipc-peers,misuse,peer-copies,peer-calls,importer,peer-engines})
of_two_gpus+=(probe-{outsiders-peers,refused,peer-capture} p2p peer-numbers)
known=" ${of_one_gpu[*]} ${of_two_gpus[*]} of-one-gpu of-two-gpus "
[ "${#wanted[@]}" != 0 ] || wanted=(of-one-gpu of-two-gpus)
for name in "${wanted[@]}"; do
    [[ $known != *" $name "* ]] || continue
    echo "probes.sh has no \"$name\". It records:$known" >&2
    exit 2
done
rm -rf "$folder"
mkdir -p "$folder" || exit 1

# in_time COMMAND...: prints what it prints, for at most so many seconds; its exit status
in_time() { timeout -k 5 "$each" "$@" 2>>"$folder/$name.err" </dev/null; }

# The lines of probe-dying.txt: one for each run, since the process may die.
dying() {
    local kind status printed
    for kind in 0 1 2 3 4; do
        for _ in 1 2 3 4 5 6; do
            status=0
            printed=$(timeout -k 5 20 "build/gpu/$facts/probe-dying" "$kind" 2>/dev/null) ||
                status=$?
            echo "dying $kind rc $status: $(tr '\n' ';' <<<"$printed")"
        done
    done
}

# The error log without the time and the thread that begin each of its lines.
error_log() {
    local status=0
    in_time "build/gpu/$facts/probe-error-log" >"$folder/$name.log" || status=$?
    sed -E 's/^\[[0-9:.]+\]\[[0-9]+\]/[TIME][THREAD]/' "$folder/$name.log"
    return "$status"
}

# The lines of ipc-mutants.txt: lesson 17's starter and its mutants, 20 runs each, four at a time;
# how many kinds of output, and the last of them, without the places in the source.
mutants() {
    local program name out i count
    for program in "${mutants[@]}"; do
        name=${program#*/}
        out=$folder/mutants/$name
        mkdir -p "$out"
        for i in {1..20}; do
            bounded 20 "$out/$i" "build/gpu/$program" &
            [ $((i % 4)) != 0 ] || wait
        done
        for i in {1..20}; do
            sed 's/^/  /; s/^  [^ ]*\.c:[0-9]*: /  /' "$out/$i.out" "$out/$i.err" >"$out/$i.all"
            echo "  rc $(cat "$out/$i.status")" >>"$out/$i.all"
        done
        count=$(sha256sum "$out"/*.all | cut -d ' ' -f 1 | sort -u | wc -l)
        [ "$count" = 1 ] && count="1 kind" || count="$count kinds"
        echo "== $name: 20 runs, $count of output"
        cat "$out/20.all"
    done
}

# comparable NAME FILE: without what is chance: times; which process dies now and then; where memory
# lies. Nor do spaces count where a program writes a call with others than the recorded one did, nor
# the default pool's watermarks of the sections before.
comparable() {
    case $1 in
    probe-times | probe-costs | probe-engines | probe-peer-engines | probe-uploads | probe-counted)
        grep -v '^condition ' "$2" | sed -E 's/[0-9]+(\.[0-9]+)?/N/g; s/ +/ /g'
        ;;
    probe-corner) sed -E 's/ +[0-9.]+ us \([^)]*\)/ N us/' "$2" ;;
    probe-dying) grep ' rc 0: ' "$2" | sort -u ;;
    one-gpu)
        sed -E '/^ *default pool /s/ high [0-9]+//g; s/ +//g
            /^##timing/,${ s/\(median.*//; s/[0-9]+\.[0-9]+/N/g }' "$2"
        ;;
    danger | p2p | peer-numbers | ipc) sed '/^(/d; s/ //g' "$2" ;;
    *) sed -E 's/alignment [0-9]+/alignment N/' "$2" ;;
    esac
}

run() { # run NAME: with one GPU in sight, or two where it is about two
    case $1 in
    ipc-mutants) mutants ;;
    probe-dying) dying ;;
    probe-error-log) error_log ;;
    *) in_time "build/gpu/$facts/$1" ;;
    esac
}

is_wanted() { # is_wanted NAME GROUP
    [[ " ${wanted[*]} " == *" $1 "* || " ${wanted[*]} " == *" $2 "* ]]
}

in_sight() { # in_sight NUMBER: programs see the first GPU, or all
    export CUDA_VISIBLE_DEVICES=$visible
    [ "$1" != 1 ] || CUDA_VISIBLE_DEVICES=${visible%%,*}
}

row() { # row NAME NUMBER: one line of the table, about so many GPUs
    local name=$1 status=0 count
    if [ "$2" -gt "$GPUS" ]; then
        echo "| $name | skipped: needs 2 GPUs | |"
        return
    fi
    if is_late; then
        different=1
        echo "| $name | not run: no time was left | |"
        return
    fi
    in_sight "$2"
    { run "$name" >"$folder/$name.txt" || status=$?; } 2>/dev/null
    ! was_stopped "$status" || status="stopped after $each s"
    if [ ! -f "$facts/$name.txt" ]; then
        echo "| $name | $status | not recorded yet: $(wc -l <"$folder/$name.txt") lines |"
        return
    fi
    diff <(comparable "$name" "$facts/$name.txt") <(comparable "$name" "$folder/$name.txt") \
        >"$folder/$name.diff" || different=1
    count=$(grep -c '^<' "$folder/$name.diff")
    [ -s "$folder/$name.diff" ] || rm "$folder/$name.diff"
    echo "| $name | $status | $count of $(wc -l <"$facts/$name.txt") |"
}

visible=${CUDA_VISIBLE_DEVICES:-$(seq -s , 0 $((GPUS - 1)))}
mapfile -t mutants < <(python3 -B tools/variants.py names 17_ipc_allocation)
mutants=(lessons/17_ipc_allocation "${mutants[@]/#/mutants/17_ipc_allocation/}")
programs=("$facts"/*.c)
programs=("${programs[@]%.c}")
build gpu "$folder/build" "${programs[@]}" "${mutants[@]}" || different=1
{
    echo "# The probes on a GPU"
    echo
    echo "Written by tools/gpu/probes.sh: how each ended, and how many lines differ from the" \
        "recorded ones."
    echo
    about
    echo
    echo "| file | exit status | lines that differ |"
    echo "|---|---|---|"
    for name in "${of_one_gpu[@]}"; do
        ! is_wanted "$name" of-one-gpu || row "$name" 1
    done
    for name in "${of_two_gpus[@]}"; do
        ! is_wanted "$name" of-two-gpus || row "$name" 2
    done
} >"$file"
cat "$file"
exit "$different"
