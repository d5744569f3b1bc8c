#!/usr/bin/env bash
# What a GPU, compute-sanitizer and the simulated device say to each program of the clinic: clinic.sh [FILE.md [CASE]],
# by default build/clinic.md and all cases.
#
# For a machine with GPUs (case 9 needs two), a CUDA toolkit, gcc and make; it needs neither network nor the tools of the test suite. Each
# program of docs/clinic runs plainly, alone; then under compute-sanitizer, eight at a time; then on the simulated device. A run may take
# SECONDS_EACH (20) seconds. FILE.md receives the tables, FILE.txt what each printed on the GPU,
# FILE.d all that was printed. Exit status 0: the tables are whole.
# shellcheck disable=SC2317  # one_sanitized is called by the shells that xargs starts
set -u
file=$(realpath -m "${1:-build/clinic.md}")
cd "$(dirname "$0")/.." || exit 1
. tests/record.sh
export FOLDER=${file%.md}.d SECONDS_EACH=${SECONDS_EACH:-20}
rm -rf "$FOLDER"
mkdir -p "$FOLDER" || exit 1

names=(docs/clinic/"${2:-}"*.c)
names=("${names[@]##*/}")
names=("${names[@]%.c}")
make -s -k -j"$(nproc)" BACKEND=gpu "${names[@]/#/build/gpu/docs/clinic/}" >"$FOLDER/build" 2>&1 || { cat "$FOLDER/build" >&2; exit 1; }
make -s -k -j"$(nproc)" BACKEND=simulator "${names[@]/#/build/simulator/docs/clinic/}" >>"$FOLDER/build" 2>&1 || { cat "$FOLDER/build" >&2; exit 1; }

one_sanitized() {
    LD_LIBRARY_PATH=$PWD/build/gpu/lib bounded "$SECONDS_EACH" "$FOLDER/$1.sanitized" "$SANITIZER" --tool memcheck --track-stream-ordered-races all "build/gpu/docs/clinic/$1"
}
export -f one_sanitized
for name in "${names[@]}"; do
    LD_LIBRARY_PATH=$PWD/build/gpu/lib bounded "$SECONDS_EACH" "$FOLDER/$name.gpu" "build/gpu/docs/clinic/$name"
    bounded "$SECONDS_EACH" "$FOLDER/$name.simulated" "build/simulator/docs/clinic/$name"
done
# shellcheck disable=SC2016  # the shells that xargs starts expand it
[ -z "$SANITIZER" ] || printf '%s\n' "${names[@]}" | xargs -P 8 -n 1 bash -c 'one_sanitized "$1"' run

# ---- the tables ----

ending() { # how a run ended, and the last line that it printed
    local status last
    status=$(cat "$1.status")
    last=$(tail -n 1 "$1.out" | tr '|' '/')
    [ "$status" != 77 ] || { echo "$last"; return; }
    ! was_stopped "$status" || { echo "stopped after $SECONDS_EACH s; $last"; return; }
    if [ "$status" -gt 128 ]; then status="died of SIG$(kill -l $((status - 128)))"; else status="exit status $status"; fi
    if ! grep -q '^hazard:' "$1.err" && grep -q 'cudaError' "$1.err"; then last=$(sed -n 's/.*: \(cudaError[A-Za-z]*\) (.*/\1/p' "$1.err" | head -n 1); fi
    echo "$status; $last"
}
simulated() {
    local kind
    kind=$(accusation "$1.err")
    echo "$(ending "$1")${kind:+; $kind}"
}
rows() { # rows wrong|right
    local name
    echo "| program | the GPU alone | compute-sanitizer | simulated device |"
    echo "|---|---|---|---|"
    for name in "${names[@]}"; do
        [[ $name == *_"$1" ]] || continue
        printf '| %s | %s | %s | %s |\n' "$name" "$(ending "$FOLDER/$name.gpu")" "$(sanitized "$SECONDS_EACH" "$FOLDER/$name.sanitized")" \
            "$(simulated "$FOLDER/$name.simulated")"
    done
}
{
    echo "# What the clinic's programs come to"
    echo
    echo "Written by tests/clinic.sh: each program of docs/clinic, how it ended, the last line that it printed, and what was said against it."
    echo
    about
    about_sanitizer "--tool memcheck --track-stream-ordered-races all"
    echo
    echo "## Broken"
    echo
    rows wrong
    echo
    echo "## Repaired"
    echo
    rows right
} >"$file"
for name in "${names[@]}"; do
    echo "== $name: $(cat "$FOLDER/$name.gpu.status")"
    cat "$FOLDER/$name.gpu.out"
done >"${file%.md}.txt"
cat "$file"
