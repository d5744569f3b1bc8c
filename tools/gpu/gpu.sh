#!/usr/bin/env bash
# Records and verifies everything on a machine with a GPU: gpu.sh [PART...], by default all parts:
# lessons, probes (what is about one GPU), peers (what is about two), walks, clinic, litmus,
# sanitizer, kernels, chance, questions.
#
# It needs gcc, make and a CUDA toolkit, and neither network nor the tools of the test suite. What
# needs two GPUs is skipped where there is one. Every program runs under timeout, and a part ends
# after SECONDS_PART (540), with the table as far as it came. The folder OUT (by
# default build/gpu-record) receives gpu.md, which says of each part whether it matches what is
# recorded; the table of each part, PART.md; clinic.txt; and record.tar.gz, all that was printed.
# SANITIZER=PATH: another compute-sanitizer than the toolkit's. Exit status 0: all of it matches.
set -u
out=$(realpath -m "${OUT:-build/gpu-record}")
cd "$(dirname "$0")/../.." || exit 1
. tools/gpu/record.sh
work=build/record different=0
all="lessons probes peers walks clinic litmus sanitizer kernels chance questions"
read -ra parts <<<"${*:-$all}"
for part in "${parts[@]}"; do
    [[ " $all " == *" $part "* ]] || { echo "gpu.sh: the parts are $all." >&2; exit 2; }
done
rm -rf "$work"
mkdir -p "$work" "$out" || exit 1

# The tables of litmus.sh are whole; here: was every incorrect program reported by the simulated
# device, and no correct one by it or by the GPU?
litmus_matches() {
    awk -F ' *[|] *' '
        /^[|] incorrect programs noticed/ { split($5, n, " of "); good += n[1] > 0 && n[1] == n[2] }
        /^[|] correct programs reported/ { good += $3 ~ /^0 of/ && $5 ~ /^0 of/ }
        END { exit good != 2 }' "$work/litmus.md"
}

row() { # row PART: one line of the table
    local begun=$SECONDS matches=yes command=("tools/gpu/$1.sh" "$work/$1.md")
    case $1 in
    probes) command+=(of-one-gpu) ;;
    peers) command=(tools/gpu/probes.sh "$work/$1.md" of-two-gpus) ;;
    esac
    timeout -k 10 "${SECONDS_PART:-540}" "${command[@]}" >"$work/$1.log" 2>&1 || matches=no
    [ "$1" != litmus ] || litmus_matches || matches=no
    [ "$matches" = yes ] || different=1
    cp "$work/$1.md" "$out"
    [ "$1" != clinic ] || cp "$work/clinic.txt" "$out"
    tar -czf "$out/record.tar.gz" --exclude='*.tar' -C build record
    echo "| $1 | $matches | $((SECONDS - begun)) |"
}

{
    echo "# The workbook on a GPU"
    echo
    echo "Written by tools/gpu/gpu.sh: does each part match what is recorded?"
    echo
    about
    echo
    echo "| part | matches | seconds |"
    echo "|---|---|---|"
    for part in "${parts[@]}"; do
        row "$part"
    done
} >"$out/gpu.md"
cat "$out/gpu.md"
exit "$different"
