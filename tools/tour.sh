#!/usr/bin/env bash
# Runs every program given, in order: make run. 77 is the exit status of a lesson that this machine
# cannot run.
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '|[^-;][^;]*(;[^-;][^;]*)*' "$@"
failed=
export SIM_CHECK=${SIM_CHECK-leaks}
for program; do
    printf '\n== %s\n' "${program##*/}"
    on=()
    [[ $program != build/gpu/* ]] || on=(bash tools/on_gpu.sh)
    "${on[@]}" "$program" || [ $? = 77 ] || failed="$failed $program"
done
[ -z "$failed" ] || {
    echo "These programs did not end with exit status 0:$failed" >&2
    exit 1
}
