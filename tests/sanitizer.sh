#!/usr/bin/env bash
# Records what compute-sanitizer makes of programs that are right: sanitizer.sh [TIMES], each 5 times by default.
#
# For a machine with a GPU, a CUDA toolkit, gcc and make. A run may take SECONDS_EACH (8) seconds. The table goes to stdout. Exit
# status 0: every program came to its end without the sanitizer; what happens under it is what is recorded, whatever it is.
set -u
cd "$(dirname "$0")/.." || exit 1
times=${1:-5} each=${SECONDS_EACH:-8} wrong=0
. tests/record.sh
[ -n "$SANITIZER" ] || { echo "compute-sanitizer was not found." >&2; exit 1; }

outcome() { # outcome COMMAND...: how it ended
    local status=0 said
    said=$(timeout -k 2 "$each" "$@" 2>&1 </dev/null) || status=$?
    if was_stopped "$status"; then echo "stopped after $each s"
    elif grep -q "didn't terminate successfully" <<<"$said"; then echo "died"
    elif [ "$status" != 0 ]; then echo "status $status"
    elif grep -q 'ERROR SUMMARY' <<<"$said"; then sed -n 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1 errors/p' <<<"$said"
    else echo "ended"; fi
}

several() { # several COMMAND...: the outcomes of all its runs, which go on at the same time, counted
    local i
    { for ((i = 0; i < times; i++)); do outcome "$@" & done; wait; } | sort | uniq -c | awk '{ n = $1; $1 = ""; printf "%s%d times%s", (NR > 1 ? ", " : ""), n, $0 }'
}

row() { # row PROGRAM [ARGUMENT...]: one line of the table
    local program=build/gpu/tests/sanitizer/$1 name=$1 alone
    shift
    make -s BACKEND=gpu "$program" >&2 || { echo "| $name | $* | does not compile | | |"; wrong=1; return; }
    alone=$(several "$program" "$@")
    [ "$alone" = "$times times ended" ] || wrong=1
    echo "| $name | $* | $alone | $(several "$SANITIZER" --leak-check full "$program" "$@") | $(several "$SANITIZER" --track-stream-ordered-races all "$program" "$@") |"
}

echo "# Right programs under compute-sanitizer"
echo
echo "Written by tests/sanitizer.sh."
echo
about
about_sanitizer "--tool memcheck"
echo
echo "| program | arguments | alone | memcheck, leaks | stream-ordered races |"
echo "|---|---|---|---|---|"
row hold memset
row hold kernel
for blocks in 4 12 33; do row pools "$blocks"; row pools "$blocks" kernel; done
exit "$wrong"
