# shellcheck shell=bash
# The seal of a graded run (SIM_SEAL, docs/simulator_variables.rst), for tests/grading/run.sh:
#
#   seal_run FILE      sets $seal to a descriptor for the program, SIM_SEAL=$seal: that of FILE,
#                      which is made for that, and which the program cannot open by its name
#   seal_holds NAME=VALUE...
#                      are the files journal.jsonl* of this folder what the simulated device wrote,
#                      in this environment? It returns 1 when one was changed, is no plain file, has
#                      no receipt or other settings, and when a receipt has no journal
#
# The program's process writes its journal itself. A receipt of each, with its checksum, a secret
# that the program does not have, and the settings (SIM_ variables) of the run, comes by the
# descriptor. The journal's first line has the settings, too.

seal_run() {
    local i
    seal_secrets=()
    for ((i = 0; i < 8; i++)); do
        printf -v "seal_secrets[i]" '%08x%08x' "$SRANDOM" "$SRANDOM"
    done
    printf '%s\n' "${seal_secrets[@]}" >"$1"
    # shellcheck disable=SC2034  # for run.sh
    exec {seal}<>"$1"
    # In a sandbox no program sees it.
    [ -n "${CHECK_SANDBOX:-}" ] || rm -f "$1"
}

# Are these, "NAME=VALUE NAME=VALUE", the settings in $wanted?
seal_has_settings() {
    local word words
    read -ra words <<<"$1"
    [ "${#words[@]}" = "${#wanted[@]}" ] || return
    for word in "${words[@]}"; do
        [ "${wanted[${word%%=*}]:-}" = "${word#*=}" ] || return
    done
}

seal_holds() { # seal_holds NAME=VALUE...
    local number crc bytes secret settings file line files=()
    local known=(${sums[@]+"${sums[@]}"})
    local -A receipts=() wanted=()
    for settings; do
        case $settings in
        SIM_JOURNAL=* | SIM_SEAL=*) ;;
        SIM_*=) unset "wanted[${settings%=}]" ;;   # as if it were not set
        SIM_*) wanted[${settings%%=*}]=${settings#*=} ;;
        esac
    done
    # Where exec stays open, the secrets come first, each alone in its line. The receipts come in
    # the order in which the processes ended.
    while read -r number crc bytes secret settings; do
        [ -n "$crc" ] || continue
        [[ $number == [0-7] && $secret == "${seal_secrets[number]}" ]] || return 1
        seal_has_settings "$settings" || return 1
        file=journal.jsonl.$number
        file=${file%.0}
        [ -z "${receipts[$file]:-}" ] || return 1
        receipts[$file]="$crc $bytes"
    done <"/proc/self/fd/$seal"
    for file in journal.jsonl*; do
        if [ -L "$file" ] || { [ -e "$file" ] && [ ! -f "$file" ]; }; then return 1; fi
        # A process that did not end by itself leaves an empty one, and no receipt.
        [ ! -s "$file" ] || files+=("$file")
    done
    [ "${#files[@]}" = "${#receipts[@]}" ] || return 1
    [ "${#files[@]}" != 0 ] || return 0
    [ "${#known[@]}" != 0 ] || mapfile -t known < <(cksum -- "${files[@]}")
    for line in "${known[@]}"; do
        read -r crc bytes file <<<"$line"
        if [[ $file != journal.jsonl* ]] || [ "$bytes" = 0 ]; then continue; fi
        [ "${receipts[$file]:-}" = "$crc $bytes" ] || return 1
        unset "receipts[$file]"
        settings=
        read -r settings <"$file"
        [[ $settings == *'"settings":"'* ]] || settings=
        settings=${settings#*'"settings":"'}
        seal_has_settings "${settings%%'"'*}" || return 1
    done
    [ "${#receipts[@]}" = 0 ]
}
