#!/usr/bin/env bash
# Records what the solutions print on a GPU: lessons.sh [FILE.md], by default build/lessons.md.
#
# For a machine with a GPU, a CUDA toolkit, gcc and make; it needs neither network nor the tools of
# the test suite. Each program of the book that has an expected output, and each solution with the
# sizes of its manifest, or ONLY="09 13", is run on the GPU and on the simulated device, one after
# the other; then all under compute-sanitizer, where there is one, JOBS (8) at a time. Nothing hangs
# for long: a run may take SECONDS_EACH (60) seconds, and what has not begun after SECONDS_ALL (440)
# is not run. FILE.md receives the table; FILE.d holds NN_name.txt or NN_name.ARGUMENT.txt (stdout
# on the GPU), and .simulator.txt, .leaks.txt and .races.txt beside it; and outputs.txt, the place
# where the book learns which device printed what: a line for each run that ended well, with the
# SHA-256 of its words (machine.sed), the device, driver, date and commit.
# Exit status 0: every run ended with 0 and printed what was expected.
# shellcheck disable=SC2317  # the functions are called by the shells that xargs starts
set -u
file=$(realpath -m "${1:-build/lessons.md}")
cd "$(dirname "$0")/../.." || exit 1
. tools/gpu/record.sh
folder=${file%.md}.d each=${SECONDS_EACH:-60} wrong=0
DEADLINE=$(($(date +%s) + ${SECONDS_ALL:-440}))
export folder each DEADLINE
rm -rf "$folder"
mkdir -p "$folder" || exit 1

words() { sed -E -f tests/grading/machine.sed "$1"; }

# same FILE FILE: yes or no, or - when the first is not there; the machine's own numbers may differ
same() {
    if [ ! -e "$1" ]; then
        echo "-"
    elif cmp -s <(words "$1") <(words "$2"); then
        echo yes
    else
        echo no
    fi
}

program_of() { # program_of LESSON: its solution; a name with a folder is a program of the book
    case $1 in */*) echo "$1" ;; *) echo "solutions/$1" ;; esac
}

out_of() { # out_of LESSON [ARGUMENT]: the beginning of the names of its files
    echo "$folder/${1##*/}${2:+.$2}"
}

# expected_of LESSON [ARGUMENT]: the file with what it is expected to print
expected_of() {
    case $1 in
    */*) echo "${1%/*}/expected/${1##*/}${2:+.$2}.txt" ;;
    *) echo "tests/lessons/$1/expected/output${2:+.$2}.txt" ;;
    esac
}

recorded() { # recorded EXPECTED PRINTED: a line of outputs.txt
    local gpu
    gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
    echo "$1 $(words "$2" | sha256sum | cut -c 1-64) $(date -u +%Y-%m-%d)" \
        "${COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)} $gpu"
}

run_plainly() { # run_plainly LESSON [ARGUMENT]: on the GPU, then on the simulated device
    local program out
    program=$(program_of "$1") out=$(out_of "$@")
    [ -x "build/gpu/$program" ] || return
    if is_late; then
        echo late >"$out.status"
        return
    fi
    bounded "$each" "$out" "build/gpu/$program" "${@:2}"
    mv "$out.out" "$out.txt"
    [ "$(cat "$out.status")" != 77 ] || return
    bounded "$each" "$out.simulator" "build/simulator/$program" "${@:2}"
    mv "$out.simulator.out" "$out.simulator.txt"
}

# run_sanitized leaks|races LESSON [ARGUMENT]: the number of errors, or how it ended, into OUT.WHAT.
# A lesson may provoke an API error: that is none. Nor is a kernel's fault that lesson 14 provokes
# in a process that it starts for that: there the sanitizer watches the first process only.
run_sanitized() {
    local what=$1 out status options=(--tool memcheck --report-api-errors no) count
    shift
    out=$(out_of "$@")
    status=$(cat "$out.status" 2>/dev/null || echo 77)
    [ "$status" != 77 ] || return
    if [ "$status" = late ] || is_late; then
        echo "not run" >"$out.$what"
        return
    fi
    status=0
    case $what in
    leaks) options+=(--leak-check full) ;;
    races) options+=(--track-stream-ordered-races all) ;;
    esac
    [[ $1 != 14_* ]] || options+=(--target-processes application-only)
    timeout -k 5 "$each" "$SANITIZER" "${options[@]}" "build/gpu/$(program_of "$1")" "${@:2}" \
        >"$out.$what.txt" 2>&1 </dev/null || status=$?
    count=$(sed -n 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p' "$out.$what.txt" | tail -n 1)
    if was_stopped "$status"; then
        echo "stopped after $each s"
    elif grep -q "didn't terminate successfully" "$out.$what.txt"; then
        echo "${count:-?}, the program failed under the sanitizer"
    else
        echo "${count:-status $status}"
    fi >"$out.$what"
}
export -f program_of out_of run_sanitized

row() { # row LESSON [ARGUMENT]: one line of the table
    local lesson=$1 name=${1##*/}${2:+.$2} out status expected simulated
    out=$(out_of "$@")
    if [ ! -e "$out.status" ]; then
        wrong=1
        echo "| $lesson | ${2:-} | does not compile | | | | |"
        return
    fi
    status=$(cat "$out.status")
    if [ "$status" = 77 ]; then # its one line has the reason
        echo "| $lesson | ${2:-} | $(head -n 1 "$out.txt") | | | | |"
        rm -f "$out".{txt,err,status}
        return
    fi
    if [ "$status" = late ]; then
        wrong=1
        echo "| $lesson | ${2:-} | not run: no time was left | | | | |"
        return
    fi
    expected=$(same "$(expected_of "$@")" "$out.txt")
    [ "$status" != 0 ] || recorded "$(expected_of "$@")" "$out.txt" >>"$folder/outputs.txt"
    simulated=$(same "$out.simulator.txt" "$out.txt")
    if [ "$status" != 0 ] || [ "$expected" = no ]; then
        wrong=1
    fi
    [ "$status" = 0 ] || status="$status ($(head -n 1 "$out.err"))"
    echo "| $lesson | ${2:-} | $status | $expected | $simulated |" \
        "$(cat "$out.leaks" 2>/dev/null || echo -) | $(cat "$out.races" 2>/dev/null || echo -) |"
}

all_runs() {
    local file name size sizes
    for file in docs/programs/expected/*.txt; do
        file=${file##*/}
        file=${file%.txt}
        echo "docs/programs/${file/./ }"   # NAME, or NAME.ARGUMENT
    done
    for file in tests/lessons/[0-9]*_*/manifest.ini; do
        grep -q '^gpu = yes' "$file" || continue
        name=${file#tests/lessons/}
        name=${name%/*}
        echo "$name"
        sizes=() && read -ra sizes < <(sed -n 's/^sizes = //p' "$file")
        for size in "${sizes[@]}"; do echo "$name $size"; done
    done
}
mapfile -t runs < <(all_runs | grep -E "^(${ONLY:+${ONLY// /|}})")
mapfile -t programs < <(for run in "${runs[@]}"; do program_of "${run%% *}"; done | sort -u)
build gpu "$folder/build.gpu" "${programs[@]}" || wrong=1
build simulator "$folder/build.simulator" "${programs[@]}" || wrong=1
for run in "${runs[@]}"; do
    read -ra lesson_and_argument <<<"$run"
    run_plainly "${lesson_and_argument[@]}"
done
# shellcheck disable=SC2016  # the shells that xargs starts expand it
[ -z "$SANITIZER" ] ||
    printf '%s\n' "${runs[@]/#/leaks }" "${runs[@]/#/races }" |
    xargs -P "${JOBS:-8}" -d '\n' -n 1 bash -c 'run_sanitized $1' run
{
    echo "# The lessons on a GPU"
    echo
    echo "Written by tools/gpu/lessons.sh: each solution, as it ran on the device named here."
    echo
    about
    about_sanitizer "--tool memcheck --report-api-errors no"
    echo
    echo "| lesson | MiB | exit status | same as expected | same as simulator |" \
        "memcheck, leaks | stream-ordered races |"
    echo "|---|---|---|---|---|---|---|"
    for run in "${runs[@]}"; do
        read -ra lesson_and_argument <<<"$run"
        row "${lesson_and_argument[@]}"
    done
} >"$file"
cat "$file"
exit "$wrong"
