# shellcheck shell=bash
# The seal of a graded run (SIM_SEAL, docs/simulator.rst), for tests/tools/run.sh:
#
#   seal_run FILE      sets $seal to a descriptor for the program, SIM_SEAL=$seal: that of FILE,
#                      which is made for that, and then has no name any more
#   seal_holds         are the files journal.jsonl* of this folder what the simulated device wrote?
#                      It returns 1 when one was changed, is no plain file, or has no receipt, and
#                      when a receipt has no journal
#
# The program's process writes its journal itself. A receipt of each, with its checksum and a secret
# that the program does not have, comes by the descriptor.

seal_run() {
    local i
    seal_secrets=()
    for ((i = 0; i < 8; i++)); do
        printf -v "seal_secrets[i]" '%08x%08x' "$SRANDOM" "$SRANDOM"
    done
    printf '%s\n' "${seal_secrets[@]}" >"$1"
    # shellcheck disable=SC2034  # for run.sh
    exec {seal}<>"$1"
    rm -f "$1"
}

seal_holds() {
    local number crc bytes secret file wanted='' sizes='' files=()
    # Where exec stays open, the secrets come first, each alone in its line. The receipts come in
    # the order in which the processes ended.
    while read -r number crc bytes secret; do
        [ -n "$crc" ] || continue
        [[ $number == [0-7] && $secret == "${seal_secrets[number]}" ]] || return 1
        file=journal.jsonl.$number
        wanted+="$crc $bytes ${file%.0}"$'\n' sizes+="$bytes ${file%.0}"$'\n'
    done <"/proc/self/fd/$seal"
    for file in journal.jsonl*; do
        if [ -L "$file" ] || { [ -e "$file" ] && [ ! -f "$file" ]; }; then return 1; fi
        # A process that did not end by itself leaves an empty one, and no receipt.
        [ ! -s "$file" ] || files+=("$file")
    done
    if [ "${#files[@]}" = 0 ]; then [ -z "$wanted" ]; return; fi
    # The sizes first: a file with holes can be endless.
    are "$sizes" stat -c '%s %n' -- "${files[@]}" && are "$wanted" cksum -- "${files[@]}"
}

# are LINES COMMAND...: does it print these lines, in whatever order?
are() { [ "$("${@:2}" | sort)" = "$(printf '%s' "$1" | sort)" ]; }
