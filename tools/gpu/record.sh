#!/usr/bin/env bash
# What the recorders of this folder have in common; they source it from the top of the workbook.
# RECORDER.sh FILE.md writes a table, and all that was printed into FILE.d.
# SANITIZER=PATH is another compute-sanitizer than the toolkit's. Each table says whose it is.
given=${SANITIZER:-} VERSION=
SANITIZER=$(type -P "${given:-compute-sanitizer}" /usr/local/cuda/bin/compute-sanitizer | head -n 1)
[ -z "$SANITIZER" ] || VERSION=$("$SANITIZER" --version | sed -n 's/^Version //p')
if [ -n "$given" ] && { [ -z "$VERSION" ] || [ "$SANITIZER" != "$(type -P "$given")" ]; }; then
    echo "SANITIZER=$given is no compute-sanitizer that says its version. Give the path of one," \
        "or leave it out for the toolkit's." >&2
    exit 2
fi
GPUS=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
TOOL="compute-sanitizer${VERSION:+ ${VERSION%% *}}" # the heading of its column
export SANITIZER TOOL GPUS
unset "${!SIM_@}" MAKEFLAGS MAKELEVEL

# build gpu|simulator LOG PROGRAM...: as many at a time as there are processors. LOG, and stderr,
# have the reason when one could not be built.
build() {
    local device=$1 log=$2
    shift 2
    make -s -k -j"$(nproc)" BACKEND="$device" "${@/#/build/$device/}" >"$log" 2>&1 && return
    cat "$log" >&2
    return 1
}

# bounded SECONDS OUT COMMAND...: OUT.out, OUT.err, OUT.status. What hangs is stopped.
bounded() {
    local seconds=$1 out=$2 status=0
    shift 2
    {
        timeout -k 5 "$seconds" "$@" >"$out.out" 2>"$out.err" </dev/null || status=$?
    } 2>/dev/null # the shell's own words about a signal
    echo "$status" >"$out.status"
}

was_stopped() { [ "$1" = 124 ] || [ "$1" = 137 ]; } # was_stopped STATUS

is_late() { [ "$(date +%s)" -ge "$DEADLINE" ]; } # nothing is begun any more

# first_error FILE: the first line in which compute-sanitizer names an error
first_error() {
    local kinds='Invalid|Misaligned|Program hit|Leaked|Race|Warning|Error|Memory|Stream|Potential'
    kinds+='|CUDA API Error|Malloc/Free|Address|Uninit|Unused|Use'
    sed -n 's/^=========  *//p' "$1" | grep -m 1 -E "^($kinds)" |
        sed 's/|/\//g; s/0x[0-9a-f]*/ADDRESS/g' | cut -c 1-120
}

# sanitized SECONDS OUT: what compute-sanitizer made of a run that bounded has written down. In
# OUT.status 77 is of a program that this machine cannot run, "late" of one that was not begun.
sanitized() {
    local status error
    [ -n "$SANITIZER" ] || { echo -; return; }
    status=$(cat "$2.status")
    error=$(first_error "$2.out")
    if [ "$status" = late ]; then
        echo "not run"
    elif was_stopped "$status"; then
        echo "stopped after $1 s${error:+; $error}"
    elif [ "$status" = 77 ]; then
        echo -
    elif [ -n "$error" ]; then
        echo "$error"
    elif grep -qE 'SUMMARY: [0-9,]+' "$2.out" && ! grep -qE 'SUMMARY: [1-9]' "$2.out"; then
        echo nothing
    else
        error=$(grep -m 1 -v 'COMPUTE-SANITIZER' "$2.out")
        echo "status $status: $(tr '|' '/' <<<"$error" | cut -c 1-80)"
    fi
}

# is_known FILE WORDS KNOWN: FILE, if it is there, has what the facts KNOWN lack. Then it prints
# WORDS, KNOWN and what FILE has, and returns 1.
is_known() {
    [ -e "$1" ] || return 0
    echo "$2 $3:" >&2
    cat "$1" >&2
    return 1
}

# reported_kind FILE: the kind of the first hazard that the simulated device reported
reported_kind() { sed -n 's/^hazard: \([^.]*\)\..*/\1/p' "$1" | head -n 1; }

# What was recorded where: the lines in front of a table.
about() {
    local gpu nvcc
    gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null)
    nvcc=$(type -P nvcc || echo /usr/local/cuda/bin/nvcc)
    echo "- date: $(date -u +%Y-%m-%d)"
    echo "- GPU, driver: ${gpu%%$'\n'*} ($GPUS of them)"
    echo "- toolkit: $("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
}

about_sanitizer() { # about_sanitizer OPTIONS
    echo "- compute-sanitizer: Version ${VERSION:-unknown}; $1"
}
export -f bounded was_stopped is_late first_error sanitized reported_kind
