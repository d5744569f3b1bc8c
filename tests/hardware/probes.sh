#!/usr/bin/env bash
# Records anew on a GPU what facts/ has from the programs in probes/, and from lesson 14's mutants:
# probes.sh [FILE.md [NAME...]], by default build/probes.md and everything. NAME is a file
# of facts/ without .txt.
#
# For a machine with a GPU, a CUDA toolkit, gcc and make. A program may take SECONDS_EACH (300)
# seconds; what is about one GPU sees one. FILE.md receives the table; FILE.d each file under the
# name that it has in facts/, and NAME.diff where a line differs. Exit status 0: no line differs,
# but for what is chance (see comparable), and nothing is new. Another device or driver may well
# print other lines. What needs two GPUs is skipped where there is one.
set -u
file=$(realpath -m "${1:-build/probes.md}")
cd "$(dirname "$0")/../.." || exit 1
. tests/hardware/record.sh
folder=${file%.md}.d wanted=${*:2} each=${SECONDS_EACH:-300} different=0
facts=tests/hardware/facts probes=tests/hardware/probes
rm -rf "$folder"
mkdir -p "$folder" || exit 1

# The lines of probe-dying.txt: one for each run, since the process may die.
dying() {
    local kind status printed
    for kind in 0 1 2 3 4; do
        for _ in 1 2 3 4 5 6; do
            status=0
            printed=$(timeout -k 5 20 "build/gpu/$probes/dying" "$kind" 2>/dev/null) || status=$?
            echo "dying $kind rc $status: $(tr '\n' ';' <<<"$printed")"
        done
    done
}

# The lines of ipc-mutants.txt: lesson 14's starter and its mutants, 20 runs each, four at a time;
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
# lies
comparable() {
    case $1 in
    probe-times | probe-costs)
        grep -v '^condition ' "$2" | sed -E 's/[0-9]+(\.[0-9]+)?/N/g; s/ +/ /g'
        ;;
    probe-dying) grep ' rc 0: ' "$2" | sort -u ;;
    *) sed -E 's/alignment [0-9]+/alignment N/' "$2" ;;
    esac
}

run() { # run PROGRAM OUT: with one GPU in sight, or two where it is about two
    case $1 in
    mutants) mutants >"$2.out" ;;
    dying) dying >"$2.out" ;;
    *)
        if [[ " ${of_two_gpus[*]} " == *" $1 "* ]]; then
            bounded "$each" "$2" "build/gpu/$probes/$1"
        else
            CUDA_VISIBLE_DEVICES=$first_gpu bounded "$each" "$2" "build/gpu/$probes/$1"
        fi
        ;;
    esac
}

row() { # row PROGRAM: one line of the table
    local program=$1 name=probe-${1//_/-} status count
    [ "$program" != mutants ] || name=ipc-mutants
    known+=" $name"
    [ -z "$wanted" ] || [[ " $wanted " == *" $name "* ]] || return
    if [[ " ${of_two_gpus[*]} " == *" $program "* ]] && [ "$GPUS" -lt 2 ]; then
        echo "| $name | skipped: needs 2 GPUs | |"
        return
    fi
    run "$program" "$folder/$name"
    mv "$folder/$name.out" "$folder/$name.txt"
    status=$(cat "$folder/$name.status" 2>/dev/null || echo 0)
    ! was_stopped "$status" || status="stopped after $each s"
    if [ ! -f "$facts/$name.txt" ]; then
        different=1
        echo "| $name | $status | new: $(wc -l <"$folder/$name.txt") lines |"
        return
    fi
    diff <(comparable "$name" "$facts/$name.txt") <(comparable "$name" "$folder/$name.txt") \
        >"$folder/$name.diff" || different=1
    count=$(grep -c '^<' "$folder/$name.diff")
    [ -s "$folder/$name.diff" ] || rm "$folder/$name.diff"
    echo "| $name | $status | $count of $(wc -l <"$facts/$name.txt") |"
}

first_gpu=${CUDA_VISIBLE_DEVICES:-0} first_gpu=${first_gpu%%,*} known=''
programs=(answers waits times gone dying ipc pools graphs graph_nodes host threads owner)
programs+=(reuse stalls full reset graph_again costs driver pitch handles)
of_two_gpus=(ipc_peers misuse peer_copies peer_calls importer)
programs+=("${of_two_gpus[@]}")
mutants=(lessons/14_ipc_allocation tests/lessons/mutants/14_*/*.patch)
mutants=("${mutants[@]#tests/lessons/}")
mutants=("${mutants[@]%.patch}")
build gpu "$folder/build" "${programs[@]/#/$probes/}" "${mutants[@]}" || different=1
{
    echo "# The probes on a GPU"
    echo
    echo "Written by tests/hardware/probes.sh: how each ended, and how many lines differ from the" \
        "recorded ones."
    echo
    about
    echo
    echo "| file | exit status | lines that differ |"
    echo "|---|---|---|"
    for program in "${programs[@]}" mutants; do
        row "$program"
    done
} >"$file"
cat "$file"
for name in $wanted; do
    [[ " $known " != *" $name "* ]] || continue
    echo "probes.sh has no \"$name\". It records:$known" >&2
    different=1
done
exit "$different"
