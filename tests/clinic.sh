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
export FOLDER=${file%.md}.d SECONDS_EACH=${SECONDS_EACH:-20}
SANITIZER=$(type -P compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
export SANITIZER
rm -rf "$FOLDER"
mkdir -p "$FOLDER" || exit 1
unset "${!SIM_@}" MAKEFLAGS MAKELEVEL

names=(docs/clinic/"${2:-}"*.c)
names=("${names[@]##*/}")
names=("${names[@]%.c}")
make -s -k -j"$(nproc)" BACKEND=gpu "${names[@]/#/build/gpu/docs/clinic/}" >"$FOLDER/build" 2>&1 || { cat "$FOLDER/build" >&2; exit 1; }
make -s -k -j"$(nproc)" BACKEND=simulator "${names[@]/#/build/simulator/docs/clinic/}" >>"$FOLDER/build" 2>&1 || { cat "$FOLDER/build" >&2; exit 1; }

bounded() { # bounded OUT COMMAND...: OUT.out, OUT.err, OUT.status
    local out=$1 status=0
    shift
    timeout -k 5 "$SECONDS_EACH" "$@" >"$out.out" 2>"$out.err" </dev/null || status=$?
    echo "$status" >"$out.status"
}
one_sanitized() {
    LD_LIBRARY_PATH=$PWD/build/gpu/lib bounded "$FOLDER/$1.sanitized" "$SANITIZER" --tool memcheck --track-stream-ordered-races all "build/gpu/docs/clinic/$1"
}
export -f bounded one_sanitized
for name in "${names[@]}"; do
    LD_LIBRARY_PATH=$PWD/build/gpu/lib bounded "$FOLDER/$name.gpu" "build/gpu/docs/clinic/$name"
    bounded "$FOLDER/$name.simulated" "build/simulator/docs/clinic/$name"
done
# shellcheck disable=SC2016  # the shells that xargs starts expand it
[ -z "$SANITIZER" ] || printf '%s\n' "${names[@]}" | xargs -P 8 -n 1 bash -c 'one_sanitized "$1"' run

# ---- the tables ----

ending() { # how a run ended, and the last line that it printed
    local status last
    status=$(cat "$1.status")
    last=$(tail -n 1 "$1.out" | tr '|' '/')
    case $status in
    77) echo "$last"; return ;;
    124 | 137) echo "stopped after $SECONDS_EACH s; $last"; return ;;
    esac
    if [ "$status" -gt 128 ]; then status="died of SIG$(kill -l $((status - 128)))"; else status="exit status $status"; fi
    if ! grep -q '^hazard:' "$1.err" && grep -q 'cudaError' "$1.err"; then last=$(sed -n 's/.*: \(cudaError[A-Za-z]*\) (.*/\1/p' "$1.err" | head -n 1); fi
    echo "$status; $last"
}
first_error() { # the first line in which compute-sanitizer says what is wrong
    local error status
    status=$(cat "$1.status")
    [ "$status" != 77 ] || { echo -; return; }
    error=$(sed -n 's/^=========  *//p' "$1.out" | grep -m 1 -E '^(Invalid|Misaligned|Program hit|Race|Warning: Race|Error|Memory|Potential|Malloc/Free|Address|Use)' |
        sed 's/|/\//g; s/0x[0-9a-f]*/ADDRESS/g' | cut -c 1-120)
    case $status in 124 | 137) error="stopped after $SECONDS_EACH s${error:+; $error}" ;; esac
    echo "${error:-nothing}"
}
accusation() {
    local kind
    kind=$(sed -n 's/^hazard: \([^.]*\)\..*/\1/p' "$1.err" | head -n 1)
    echo "$(ending "$1")${kind:+; $kind}"
}
rows() { # rows wrong|right
    local name
    echo "| program | the GPU alone | compute-sanitizer | simulated device |"
    echo "|---|---|---|---|"
    for name in "${names[@]}"; do
        [[ $name == *_"$1" ]] || continue
        printf '| %s | %s | %s | %s |\n' "$name" "$(ending "$FOLDER/$name.gpu")" "$([ -n "$SANITIZER" ] && first_error "$FOLDER/$name.sanitized" || echo -)" \
            "$(accusation "$FOLDER/$name.simulated")"
    done
}
{
    echo "# What the clinic's programs come to"
    echo
    echo "Written by tests/clinic.sh: each program of docs/clinic, how it ended, the last line that it printed, and what was said against it."
    echo
    echo "- date: $(date -u +%Y-%m-%d)"
    echo "- GPU, driver: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1) ($(nvidia-smi -L 2>/dev/null | grep -c '^GPU') of them)"
    echo "- toolkit: $("$(cat build/gpu/nvcc)" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
    echo "- compute-sanitizer: $([ -n "$SANITIZER" ] && "$SANITIZER" --version | grep -i version | tail -n 1 || echo "not there"); --tool memcheck --track-stream-ordered-races all"
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
