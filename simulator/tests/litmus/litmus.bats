#!/usr/bin/env bats
# Litmus tests of the checker: small programs that are correct, and incorrect variants of them.
#
# A file that includes litmus.h has cases on one subject. A case is a heading, the functions and
# variables that it alone needs, and LITMUS(NAME, ...). As it stands it is a correct program, of
# which nothing may be reported. Compiled with -DWRONG it is NAME_wrong, which must be reported.
#
# The heading says what is ordered and how. After "WRONG:" it says what is incorrect, most often
# which edge is missing. Lines "KEY: value" speak of the correct program, those after "WRONG:" of
# the other:
#   Devices:   how many GPUs both need, if not 1
#   Schedules: those under which both are run, if not all: a run may cost much
#   Status:    the exit status, if not 0
#   Prints:    the output under every schedule
#   Late:      the output under the schedule late
#   Kind:      the hazard that must be reported
#   Also:      another hazard that may be reported
#   Says:      words that the report must have
#   Fatal:     why the program is stopped even with SIM_CHECK=off
# The calls that the report must name, with their lines, are marked by one of these comments, at the
# end of the line or alone on the line before. Where the marked line has no call, it is the host's
# own load or store.
#   access, previous access, allocation, free, access given, access taken

# bats file_tags=more
load ../../../tests/suite

export FOLDER=build/check/litmus
export SCHEDULES="measured late"
SCHEDULES+=${TEST_LONG:+" instant random:1 random:2"}

# run_program PROGRAM NAME SCHEDULE...: once under each schedule, in make test-all once unchecked,
# too. What it prints lies in $FOLDER/NAME.SCHEDULE.{out,err}; $FOLDER/NAME.status has a line
# "SCHEDULE=STATUS" each.
run_program() {
    local program=$1 at=$FOLDER/$2 name=${2%_wrong} schedule statuses=()
    for schedule in "${@:3}"; do
        SIM_SCHEDULE=$schedule "$program" "$name" >"$at.$schedule.out" 2>"$at.$schedule.err" \
            </dev/null
        statuses+=("$schedule=$?")
    done
    if [ -n "${TEST_LONG:-}" ]; then
        SIM_CHECK=off "$program" "$name" >"$at.unchecked.out" 2>"$at.unchecked.err" </dev/null
        statuses+=("unchecked=$?")
    fi
    printf '%s\n' "${statuses[@]}" >"$at.status"
}

setup_file() {
    local program programs schedules
    FILES=$(grep -l '^#include "litmus.h"' simulator/tests/litmus/*.c)
    export FILES
    read_cases
    mapfile -t programs <<<"${FILES//.c/}"
    programs=("${programs[@]/#/build/simulator/}")
    rm -rf "$FOLDER"
    mkdir -p "$FOLDER"
    unset "${!SIM_@}"
    export SIM_CHECK=leaks,no-init
    make -s -j"$(nproc)" BACKEND=simulator "${programs[@]}" "${programs[@]/%/_wrong}" \
        build/simulator/simulator/tests/litmus/random
    export -f run_program
    for program in "${correct[@]}" "${incorrect[@]}"; do
        schedules_of "$program"
        echo "build/simulator/${file_of[$program]} $program $schedules"
    done |
        timeout 600 xargs -P "$(nproc)" -d '\n' -n 8 \
            bash -c 'for line in "$@"; do run_program $line; done 2>/dev/null' run
}

# ---- reading: thousands of files, without a process for each, nor the DEBUG trap of Bats ----

# read_cases: the heading and marks of each case, into the arrays that it declares
read_cases() {
    trap - DEBUG
    declare -gA heading marks branch file_of
    declare -g correct=() incorrect=()
    local file
    for file in $FILES; do read_file "${file%.c}"; done
}

# heading["PROGRAM KEY"]: the value. marks["CASE"]: lines "CALL:LINE". branch["CASE WHICH"]: how
# many lines only the correct program has, or only the incorrect one. file_of["PROGRAM"]: its file.
read_file() {
    local name program lines line number call begins names=()
    local marked='/\* (access|previous access|allocation|free|access given|access taken) \*/'
    mapfile -t -O 1 lines <"$1.c"
    for number in "${!lines[@]}"; do
        [[ ! ${lines[number]} =~ ^(NONBLOCKING_)?LITMUS\(([a-z_]+) ]] ||
            names+=("${BASH_REMATCH[2]}")
    done
    begins=yes # Each case ends with the body behind its LITMUS.
    for number in "${!lines[@]}"; do
        line=${lines[number]}
        if [ "$begins" = yes ]; then
            name=${names[0]} program=$name begins=
            names=("${names[@]:1}")
            [ -n "$name" ] || break
            correct+=("$name")
            file_of[$name]=$1
            branch["$name correct"]=0 branch["$name incorrect"]=0
        fi
        if [[ $line =~ ^\ \*\ ([A-Za-z]+):\ (.*)$ ]]; then
            if [ "${BASH_REMATCH[1]}" = WRONG ]; then
                program=${name}_wrong
                incorrect+=("$program")
                file_of[$program]=${1}_wrong
            fi
            heading["$program ${BASH_REMATCH[1]}"]=${BASH_REMATCH[2]%' */'}
        elif [[ $line =~ $marked ]]; then
            if [[ $line =~ ^\ *$marked ]]; then
                number=$((number + 1))
                line=${lines[number]}
            fi
            call="a load or store"
            [[ ! $line =~ (cuda[A-Za-z0-9]+|launch_[a-z]+)'(' ]] || call=${BASH_REMATCH[1]}
            marks[$name]+=$call:$number$'\n'
        fi
        case $line in
        LITMUS\(* | NONBLOCKING_LITMUS\(*) begins=soon ;;
        '}') [ "$begins" != soon ] || begins=yes ;;
        *' IF_WRONG('*) branch["$name incorrect"]=$((branch["$name incorrect"] + 1)) ;;
        *' IF_RIGHT('*) branch["$name correct"]=$((branch["$name correct"] + 1)) ;;
        esac
    done
}

# whole FILE: into $text. By lines: a read to a NUL byte would be one system call for each byte.
whole() {
    local lines
    mapfile -t lines <"$1"
    text=
    [ "${#lines[@]}" = 0 ] || printf -v text '%s\n' "${lines[@]}"
}

schedules_of() { # schedules_of PROGRAM: into $schedules
    schedules=${heading["${1%_wrong} Schedules"]:-$SCHEDULES}
}

# statuses_of PROGRAM: the exit statuses, by schedule, into $status_of
statuses_of() {
    local line lines
    declare -gA status_of=()
    mapfile -t lines <"$FOLDER/$1.status"
    for line in "${lines[@]}"; do status_of[${line%=*}]=${line##*=}; done
}

# kinds: the hazards of all reports in $text, into the array found
kinds() {
    local rest=$text
    found=()
    while [[ $rest == *hazard:* ]]; do
        rest=${rest#*hazard: }
        found+=("${rest%%.*}")
    done
}

@test "every incorrect variant says what is wrong, and differs in at most three lines" {
    read_cases
    local program name
    for program in "${incorrect[@]}"; do
        name=${program%_wrong}
        [ -n "${heading[$program Kind]}" ] || complain "$name: no Kind after WRONG."
        [ -n "${marks[$name]}" ] || complain "$name: no call is marked."
        [ $((branch["$name correct"] + branch["$name incorrect"])) != 0 ] ||
            complain "$name: nothing is under IF_WRONG, or IF_RIGHT."
        [ $((branch["$name correct"])) -le 3 ] && [ $((branch["$name incorrect"])) -le 3 ] ||
            complain "$name: more than three lines are under IF_WRONG, or IF_RIGHT."
    done
    finish
}

@test "every incorrect program is reported, with its calls and lines, under every schedule" {
    read_cases
    local program name schedule schedules kind also says text found wanted one number
    for program in "${incorrect[@]}"; do
        name=${program%_wrong}
        kind=${heading[$program Kind]} also=${heading[$program Also]} says=${heading[$program Says]}
        wanted=()
        while IFS=: read -r one number; do
            [ -z "$one" ] ||
                wanted+=(" $one, .* at ${file_of[$name]}.c:$number([^0-9]|$)")
        done <<<"${marks[$name]}"
        statuses_of "$program"
        schedules_of "$program"
        for schedule in $schedules; do
            whole "$FOLDER/$program.$schedule.err"
            kinds
            if [ "${status_of[$schedule]}" != 3 ]; then
                complain "$program, $schedule: exit status ${status_of[$schedule]}, not 3." "$text"
                continue
            fi
            [ "${found[0]}" = "$kind" ] ||
                complain "$program, $schedule: the first report is '${found[0]}', not '$kind'."
            for one in "${found[@]}"; do
                [ "$one" = "$kind" ] || [ "$one" = "$also" ] ||
                    complain "$program, $schedule: '$one' is reported, too."
            done
            for one in "${wanted[@]}"; do
                [[ $text =~ $one ]] ||
                    complain "$program, $schedule: no report has '$one'." "$text"
            done
            for one in "$says" "To do: "; do
                [[ $text == *"$one"* ]] ||
                    complain "$program, $schedule: no report says '$one'." "$text"
            done
        done
    done
    finish
}

@test "no correct program is reported, nor prints anything on stderr, under any schedule" {
    read_cases
    local program schedule schedules text wanted
    for program in "${correct[@]}"; do
        wanted=${heading[$program Status]:-0}
        statuses_of "$program"
        schedules_of "$program"
        for schedule in $schedules; do
            [ "${status_of[$schedule]}" = "$wanted" ] ||
                complain "$program, $schedule: exit status ${status_of[$schedule]}, not $wanted."
            # A program that is meant to fail prints why.
            whole "$FOLDER/$program.$schedule.err"
            # What is documented as correct, and killed the recorded driver, is told of.
            [[ $program != pool_destroyed_pending || $text != *"one died of SIGFPE"* ]] || text=
            if [[ $text == *hazard:* ]] || { [ "$wanted" = 0 ] && [ -n "$text" ]; }; then
                complain "$program, $schedule: on stderr:" "$text"
            fi
        done
    done
    finish
}

@test "a program prints what its heading says, under every schedule or under late" {
    read_cases
    local program schedule schedules text wanted checked=0
    for program in "${correct[@]}" "${incorrect[@]}"; do
        schedules_of "$program"
        for schedule in $schedules; do
            wanted=${heading[$program Prints]}
            [ "$schedule" != late ] || wanted=${heading[$program Late]:-$wanted}
            [ -n "$wanted" ] || continue
            whole "$FOLDER/$program.$schedule.out"
            checked=$((checked + 1))
            [ "$text" = "$wanted"$'\n' ] ||
                complain "$program, $schedule: it prints '$text', not '$wanted'."
        done
    done
    [ "$checked" -gt 25 ] || complain "Only $checked outputs were compared."
    finish
}

# bats test_tags=long
@test "SIM_CHECK=off: nothing is reported" {
    [ -n "${TEST_LONG:-}" ] || skip "make test-all runs every program unchecked, too"
    read_cases
    local program text status
    for program in "${correct[@]}" "${incorrect[@]}"; do
        [ -z "${heading[$program Fatal]}" ] || continue
        whole "$FOLDER/$program.unchecked.err"
        statuses_of "$program"
        status=${status_of[unchecked]}
        [[ $text != *hazard:* ]] && [ "$status" != 3 ] && [ "$status" -lt 124 ] ||
            complain "$program: exit status $status, on stderr:" "$text"
    done
    finish
}

@test "random programs: reported at the first incorrect call, or silent to the end" {
    local part count=${TEST_LONG:+1200} parts=()
    count=$((${COUNT:-${count:-400}} / 4))
    for part in 0 1 2 3; do
        build/simulator/simulator/tests/litmus/random $((1 + part * count)) $count \
            >"$FOLDER/random.$part" 2>&1 &
        parts+=($!)
    done
    for part in 0 1 2 3; do
        wait "${parts[part]}" || complain "$(cat "$FOLDER/random.$part")"
    done
    finish
}
