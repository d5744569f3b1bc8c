#!/usr/bin/env bash
# What the scripts have in common that record what a real device does: sourced by gpu.sh, litmus.sh, clinic.sh, sanitizer.sh and probes.sh.
SANITIZER=$(type -P compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
GPUS=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
export SANITIZER GPUS
unset "${!SIM_@}" MAKEFLAGS MAKELEVEL

# bounded SECONDS OUT COMMAND...: OUT.out, OUT.err, OUT.status. What hangs is stopped.
bounded() {
    local seconds=$1 out=$2 status=0
    shift 2
    { timeout -k 5 "$seconds" "$@" >"$out.out" 2>"$out.err" </dev/null || status=$?; } 2>/dev/null    # the shell's own words about a signal
    echo "$status" >"$out.status"
}
was_stopped() { [ "$1" = 124 ] || [ "$1" = 137 ]; }       # was_stopped STATUS

# The first line in which compute-sanitizer says what is wrong, in FILE.
first_error() {
    sed -n 's/^=========  *//p' "$1" | grep -m 1 -E '^(Invalid|Misaligned|Program hit|Leaked|Race|Warning|Error|Memory|Stream|Potential|Malloc/Free|Address|Uninit|Unused|Use)' |
        sed 's/|/\//g; s/0x[0-9a-f]*/ADDRESS/g' | cut -c 1-120
}

# What compute-sanitizer made of a run that bounded has written down: sanitized SECONDS OUT. In OUT.status 77 is of a program that this machine
# cannot run, "late" of one that was not begun.
sanitized() {
    local status error
    [ -n "$SANITIZER" ] || { echo -; return; }
    status=$(cat "$2.status")
    error=$(first_error "$2.out")
    if [ "$status" = late ]; then echo "not run"
    elif was_stopped "$status"; then echo "stopped after $1 s${error:+; $error}"
    elif [ "$status" = 77 ]; then echo -
    elif [ -n "$error" ]; then echo "$error"
    elif grep -qE 'SUMMARY: [0-9,]+' "$2.out" && ! grep -qE 'SUMMARY: [1-9]' "$2.out"; then echo nothing
    else echo "status $status: $(grep -m 1 -v 'COMPUTE-SANITIZER' "$2.out" | tr '|' '/' | cut -c 1-80)"; fi
}

# The kind of the first accusation of the simulated device, in FILE.
accusation() { sed -n 's/^hazard: \([^.]*\)\..*/\1/p' "$1" | head -n 1; }

# What was recorded where: the lines in front of a table.
about() {
    echo "- date: $(date -u +%Y-%m-%d)"
    echo "- GPU, driver: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1) ($GPUS of them)"
    echo "- toolkit: $("$(type -P nvcc || echo /usr/local/cuda/bin/nvcc)" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
}
about_sanitizer() { # about_sanitizer OPTIONS
    local version="not there"
    [ -z "$SANITIZER" ] || version=$("$SANITIZER" --version | grep -i version | tail -n 1)
    echo "- compute-sanitizer: $version; $1"
}
export -f bounded was_stopped first_error sanitized accusation
