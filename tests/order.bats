#!/usr/bin/env bats
# The checker of the simulated device: tests/order/ holds wrong programs, which it must accuse, and right ones, at which it must be silent.
#
# NAME_wrong.c and NAME_right.c differ in at most three lines. The heading of a wrong program says what is wrong, and
#   Kind:   which hazard must be named
#   Also:   what else may be named
#   Says:   what the report says, too
#   Fatal:  why the program is stopped with SIM_CHECK=off too
# and that of any program
#   Devices: how many it needs; Status: its exit status, if not 0; Prints: its output; Late: its output under SIM_SCHEDULE=late.
# In a wrong program the comments /* one */ and /* other */ mark the two calls that the report must name, with their lines; on a line without a call, the
# host's own load or store.

load helpers

FOLDER=build/check/order
PACES=(measured instant late random:1 random:2 random:3 random:4 random:5)

# Runs one program under every pace, and once unchecked; what comes out lies in $FOLDER/NAME.PACE.{out,err,status}.
run_program() {
    local name=$1 pace
    for pace in "${PACES[@]}" unchecked; do
        if [ "$pace" = unchecked ]; then export SIM_CHECK=off SIM_SCHEDULE=measured; else export SIM_SCHEDULE=$pace; fi
        "$ROOT/build/simulator/tests/order/$name" >"$FOLDER/$name.$pace.out" 2>"$FOLDER/$name.$pace.err" </dev/null
        echo $? >"$FOLDER/$name.$pace.status"
    done
}

setup_file() {
    local programs=(tests/order/*.c)
    programs=("${programs[@]%.c}")
    rm -rf "$FOLDER"
    mkdir -p "$FOLDER"
    unset "${!SIM_@}"
    make -s -j"$(nproc)" BACKEND=simulator "${programs[@]/#/build/simulator/}"
    export -f run_program
    export FOLDER ROOT
    # PACES is an array, which cannot be exported
    printf '%s\n' "${programs[@]##*/}" | grep '_' |
        timeout 600 xargs -P "$(nproc)" -n 8 bash -c "PACES=(${PACES[*]}); for name; do (run_program \"\$name\"); done" run
}

# ---- reading what lies there: thousands of files, so without a process for each, and without the trap with which Bats follows each command ----

whole_text() { # whole_text FILE: into $text
    local lines
    mapfile -t lines <"$1"
    printf -v text '%s\n' "${lines[@]}"
    [ "${#lines[@]}" != 0 ] || text=
}

heading() { # heading FILE KEY: the value into $value, or nothing
    local line lines
    value=
    mapfile -t lines <"$1"
    for line in "${lines[@]}"; do
        case $line in
        " * $2: "*) value=${line#" * $2: "}; value=${value%' */'}; return ;;
        '#include'*) return ;;
        esac
    done
}

marked() { # marked FILE MARK: the call and line of the mark into $call and $number; false when there is none
    local lines
    mapfile -t lines <"$1"
    call=
    for number in "${!lines[@]}"; do
        [[ ${lines[number]} == *"/* $2 */"* ]] || continue
        call="a load or store"
        if [[ ${lines[number]} =~ (cuda[A-Za-z0-9]+|launch_[a-z]+)'(' ]]; then call=${BASH_REMATCH[1]}; fi
        number=$((number + 1))
        return 0
    done
    return 1
}

kinds() { # the kinds of all reports in $text into the array found
    local rest=$text
    found=()
    while [[ $rest == *hazard:* ]]; do
        rest=${rest#*hazard: }
        found+=("${rest%%.*}")
    done
}

status_of() { read -r result <"$FOLDER/$1.status"; }

@test "each pair differs in at most three lines, and every wrong program says what is wrong" {
    trap - DEBUG
    local wrong right changes value call number
    for wrong in tests/order/*_wrong.c; do
        right=${wrong%_wrong.c}_right.c
        [ -e "$right" ] || { complain "$wrong has no right program beside it."; continue; }
        changes=$(diff <(sed '1,/^#include/d' "$wrong") <(sed '1,/^#include/d' "$right") || true)
        [ "$(grep -c '^<' <<<"$changes")" -le 3 ] && [ "$(grep -c '^>' <<<"$changes")" -le 3 ] || complain "$wrong and its right program differ in more than three lines:" "$changes"
        heading "$wrong" Kind
        [ -n "$value" ] || complain "$wrong: its heading has no Kind."
        marked "$wrong" one || marked "$wrong" other || complain "$wrong: no call is marked."
    done
    finish
}

@test "every wrong program is accused of what is wrong in it, with both calls and their lines, under every pace" {
    trap - DEBUG
    local file name pace kind also says mark call number text found result one wanted
    for file in tests/order/*_wrong.c; do
        name=${file##*/} name=${name%.c}
        heading "$file" Kind; kind=$value
        heading "$file" Also; also=$value
        heading "$file" Says; says=$value
        wanted=()
        for mark in one other; do
            if marked "$file" $mark; then wanted+=(" $call, .* at order/$name.c:$number([^0-9]|$)"); fi
        done
        for pace in "${PACES[@]}"; do
            status_of "$name.$pace"
            whole_text "$FOLDER/$name.$pace.err"
            kinds
            [ "$result" = 3 ] || { complain "$name, $pace: exit status $result, not 3." "$text"; continue; }
            [ "${found[0]}" = "$kind" ] || complain "$name, $pace: the first report is '${found[0]}', not '$kind'."
            for one in "${found[@]}"; do
                [ "$one" = "$kind" ] || [ "$one" = "$also" ] || complain "$name, $pace: it is also accused of '$one'."
            done
            for one in "${wanted[@]}"; do
                [[ $text =~ $one ]] || complain "$name, $pace: no report has '$one'." "$text"
            done
            [[ $text == *"$says"* ]] || complain "$name, $pace: no report says '$says'." "$text"
            [[ $text == *"To do: "* ]] || complain "$name, $pace: no report says what to do." "$text"
        done
    done
    finish
}

@test "no right program is accused, or hears anything at all, under any pace" {
    trap - DEBUG
    local file name pace text result wanted
    for file in tests/order/*_right.c; do
        name=${file##*/} name=${name%.c}
        heading "$file" Status; wanted=${value:-0}
        for pace in "${PACES[@]}"; do
            status_of "$name.$pace"
            whole_text "$FOLDER/$name.$pace.err"
            [ "$result" = "$wanted" ] || complain "$name, $pace: exit status $result, not $wanted."
            # a program that is meant to fail says why; another has nothing to say
            if [[ $text == *hazard:* ]] || { [ "$wanted" = 0 ] && [ -n "$text" ]; }; then complain "$name, $pace: on stderr:" "$text"; fi
        done
    done
    finish
}

@test "a program prints what its heading says, and what a late device makes of it" {
    trap - DEBUG
    local file name pace text value
    for file in tests/order/*.c; do
        name=${file##*/} name=${name%.c}
        heading "$file" Prints
        if [ -n "$value" ]; then
            for pace in "${PACES[@]}"; do
                whole_text "$FOLDER/$name.$pace.out"
                [ "$text" = "$value"$'\n' ] || complain "$name, $pace: it prints '$text', not '$value'."
            done
        fi
        heading "$file" Late
        if [ -n "$value" ]; then
            whole_text "$FOLDER/$name.late.out"
            [ "$text" = "$value"$'\n' ] || complain "$name, late: it prints '$text', not '$value'."
        fi
    done
    finish
}

@test "SIM_CHECK=off: nobody is accused" {
    trap - DEBUG
    local file name text value
    for file in tests/order/*_*.c; do
        name=${file##*/} name=${name%.c}
        whole_text "$FOLDER/$name.unchecked.err"
        heading "$file" Fatal
        status_of "$name.unchecked"
        [ -n "$value" ] || { [[ $text != *hazard:* ]] && [ "$result" != 3 ] && [ "$result" -lt 124 ]; } || complain "$name: exit status $result, on stderr:" "$text"
    done
    finish
}

@test "some hundred random programs: the right ones are silent, the changed ones accused exactly where a path is missing" {
    local part
    for part in 1 2; do build/simulator/tests/order/random $((part * 1000)) 50 >"$FOLDER/random.$part" & done
    wait -n || complain "$(cat "$FOLDER"/random.*)"
    wait -n || complain "$(cat "$FOLDER"/random.*)"
    finish
}
