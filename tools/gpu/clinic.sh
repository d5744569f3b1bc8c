#!/usr/bin/env bash
# What a GPU, compute-sanitizer and the simulated device make of each program of the clinic:
# clinic.sh [FILE.md [CASE]], by default build/clinic.md and all cases.
#
# For a machine with GPUs (case 9 needs two), a CUDA toolkit, gcc, make and python3; it needs no
# network and no tools of the test suite. Each broken and each repaired program runs plainly, alone;
# then under compute-sanitizer, eight at a time; then on the simulated device. A run may take
# SECONDS_EACH (20) seconds. FILE.md receives the tables, FILE.txt what each printed on the GPU,
# FILE.d all that was printed. Exit status 0: every repaired program printed what
# docs/recorded/clinic.txt has, and ended well on the simulated device, where no broken one did.
# shellcheck disable=SC2317  # one_sanitized is called by the shells that xargs starts
set -u
file=$(realpath -m "${1:-build/clinic.md}")
cd "$(dirname "$0")/../.." || exit 1
. tools/gpu/record.sh
export FOLDER=${file%.md}.d SECONDS_EACH=${SECONDS_EACH:-20}
rm -rf "$FOLDER"
mkdir -p "$FOLDER" || exit 1

names=() programs=()
for case in docs/clinic/"${2:-}"*_wrong.c; do
    case=$(basename "$case" _wrong.c)
    names+=("${case}_right" "${case}_wrong")
    programs+=("repairs/$case" "docs/clinic/${case}_wrong")
done
build gpu "$FOLDER/build.gpu" "${programs[@]}" || exit 1
build simulator "$FOLDER/build.simulator" "${programs[@]}" || exit 1

one_sanitized() { # one_sanitized NAME PROGRAM
    bounded "$SECONDS_EACH" "$FOLDER/$1.sanitized" "$SANITIZER" --tool memcheck \
        --track-stream-ordered-races all "build/gpu/$2"
}
export -f one_sanitized
for i in "${!names[@]}"; do
    bounded "$SECONDS_EACH" "$FOLDER/${names[i]}.gpu" "build/gpu/${programs[i]}"
    bounded "$SECONDS_EACH" "$FOLDER/${names[i]}.simulated" "build/simulator/${programs[i]}"
done
# shellcheck disable=SC2016  # the shells that xargs starts expand it
[ -z "$SANITIZER" ] ||
    for i in "${!names[@]}"; do echo "${names[i]} ${programs[i]}"; done |
    xargs -P 8 -n 2 bash -c 'one_sanitized "$@"' run
for name in "${names[@]}"; do
    echo "== $name: $(cat "$FOLDER/$name.gpu.status")"
    cat "$FOLDER/$name.gpu.out"
done >"${file%.md}.txt"

# ---- the tables ----

ending() { # ending OUT: how a run ended, and the last line that it printed
    local status last
    status=$(cat "$1.status")
    last=$(tail -n 1 "$1.out" | tr '|' '/')
    if [ "$status" = 77 ]; then
        echo "$last"
        return
    fi
    if was_stopped "$status"; then
        echo "stopped after $SECONDS_EACH s; $last"
        return
    fi
    if [ "$status" -gt 128 ]; then
        status="died of SIG$(kill -l $((status - 128)))"
    else
        status="exit status $status"
    fi
    if ! grep -q '^hazard:' "$1.err" && grep -q 'cudaError' "$1.err"; then
        last=$(sed -n 's/.*: \(cudaError[A-Za-z]*\) (.*/\1/p' "$1.err" | head -n 1)
    fi
    echo "$status; $last"
}

simulated() { # simulated OUT: the same, and what the simulated device reported
    local kind
    kind=$(reported_kind "$1.err")
    echo "$(ending "$1")${kind:+; $kind}"
}

rows() { # rows wrong|right
    local name out
    echo "| program | the GPU alone | $TOOL | simulated device |"
    echo "|---|---|---|---|"
    for name in "${names[@]}"; do
        [[ $name == *_"$1" ]] || continue
        out=$FOLDER/$name
        printf '| %s | %s | %s | %s |\n' "$name" "$(ending "$out.gpu")" \
            "$(sanitized "$SECONDS_EACH" "$out.sanitized")" "$(simulated "$out.simulated")"
    done
}

{
    echo "# What the clinic's programs come to"
    echo
    echo "Written by tools/gpu/clinic.sh: each program of docs/clinic, how it ended, the" \
        "last line that it printed, and what was reported."
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
cat "$file"

# ---- does it match? ----

# printed FILE NAME: the part of clinic.txt about a program
printed() { awk -v name="$2:" '/^== / { on = $2 == name } on' "$1"; }

different=0
complain() {
    echo "$*" >&2
    different=1
}
for name in "${names[@]}"; do
    status=$(cat "$FOLDER/$name.simulated.status")
    if [[ $name == *_wrong ]]; then
        [ "$status" != 0 ] || complain "$name ends well on the simulated device."
        continue
    fi
    [ "$status" = 0 ] || complain "$name ends with $status on the simulated device."
    [ "$(cat "$FOLDER/$name.gpu.status")" != 77 ] || continue
    diff <(printed docs/recorded/clinic.txt "$name") <(printed "${file%.md}.txt" "$name") >&2 ||
        complain "$name prints something else than what is recorded (<)."
done
exit "$different"
