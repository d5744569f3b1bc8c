#!/usr/bin/env bats
# What holds for every solution, whatever it is about: bad arguments, every schedule, sanitizers,
# the same journal twice.

load ../suite

# shellcheck disable=SC2206  # two words, or none
SCHEDULES=(measured late random:1 ${TEST_LONG:+instant random:2 random:3})
TWICE=(random:1 ${TEST_LONG:+measured late})

setup_file() {
    export BATS_NO_PARALLELIZE_WITHIN_FILE=true   # one test reads what the one before it has left
    local programs=(solutions/[0-9][0-9]_*.c)
    programs=("${programs[@]%.c}")
    make -s BACKEND=simulator "${programs[@]/#/build/simulator/}"
}

# execute FOLDER LIBRARY [NAME=VALUE...] -- PROGRAM [ARGUMENT...]: as tests/grading/run.py does it,
# but without a watch, which costs more than most of these runs
execute() {
    local folder=$1 given=() status=0
    given=(LD_LIBRARY_PATH="$ROOT/$2" "SIM_CHECK=leaks")
    shift 2
    while [ "$1" != -- ]; do
        given+=("$1")
        shift
    done
    shift
    rm -rf "$folder" && mkdir -p "$folder"
    env -i -C "$folder" PATH=/usr/bin:/bin HOME="$ROOT/$folder" LC_ALL=C "${given[@]}" \
        timeout 600 "$@" \
        </dev/null >"$folder/stdout" 2>"$folder/stderr" 3>&- 4>&- || status=$?
    echo "$status" >"$folder/status"
}

# same_words FILE FILE: what was printed is what is expected, but for the machine's own numbers
same_words() { cmp -s "$1" "$2" || cmp -s <(words "$1") <(words "$2"); }

# ran_well FOLDER EXPECTED NAME: the run there ended well, and printed what is expected
ran_well() {
    [ "$(cat "$1/status")" = 0 ] ||
        complain "$3: exit status $(cat "$1/status")." "$(head -n 3 "$1/stderr")"
    same_words "$2" "$1/stdout" || complain "$3:" "$(diff "$2" "$1/stdout" 2>&1 | head -n 6)"
}

@test "a size that is no size: a sentence on stderr and exit status 2" {
    local lesson argument status said stdout=$BATS_TEST_TMPDIR/stdout
    for lesson in $(lessons); do
        grep -q mib_argument "solutions/$lesson.c" || continue
        for argument in abc -1 0 99999999999 99999999999999999999999999 '' 1.5 ' 1' 1x; do
            status=0
            said=$(bounded "build/simulator/solutions/$lesson" "$argument" \
                2>&1 >"$stdout" </dev/null) || status=$?
            [ "$status" = 2 ] || complain "$lesson '$argument': exit status $status, not 2."
            [[ "$said" == *[a-z]\ [a-z]* ]] ||
                complain "$lesson '$argument': no sentence on stderr."
            [[ "$said" == *"$argument"* ]] ||
                complain "$lesson '$argument': the sentence does not name it."
            [ ! -s "$stdout" ] ||
                complain "$lesson '$argument': it printed something on stdout all the same."
        done
    done
    finish
}

@test "lesson 22 reads a trace of any sizes; a line that is wrong is named with its number" {
    local file=$BATS_TEST_TMPDIR/t.csv program kind line text said status
    make -s BACKEND=simulator build/simulator/lessons/22_capstone
    for program in build/simulator/{lessons,solutions}/22_capstone; do
        printf 'op,id,bytes,stream\na,0,1,0\na,1,2,1\r\n\nf,0,1,0\na,2,3,0\nf,2,3,0' >"$file"
        said=$(SIM_CHECK=off bounded "$program" "$file" 2>&1) ||
            complain "$program: refused sizes of 1 to 3 bytes:" "$said"
        [[ "$said" == *"pairs 3, streams 2,"* ]] || complain "$program: read otherwise:" "$said"
        while IFS='|' read -r kind line text; do
            # shellcheck disable=SC2059  # the lines of a trace
            printf "$kind" >"$file"
            status=0
            said=$(bounded "$program" "$file" 2>&1 >"$BATS_TEST_TMPDIR/stdout") || status=$?
            [ "$status" = 2 ] || complain "$program, $kind: exit status $status, not 2."
            [[ "$said" == "$file:$line: "*"$text"* ]] ||
                complain "$program, $kind: not \"$file:$line: ... $text\", but:" "$said"
            [ ! -s "$BATS_TEST_TMPDIR/stdout" ] || complain "$program, $kind: it went on."
        done <<'END'
|1|begins with
a,0,4,0\n|1|begins with
op,id,bytes,stream\n|2|without an allocation
op,id,bytes,stream\na,0,4\n|2|"a,0,4" is no
op,id,bytes,stream\na,0,4,0,\n|2|is no
op,id,bytes,stream\nx,0,4,0\n|2|is no
op,id,bytes,stream\na,0,-4,0\n|2|is no
op,id,bytes,stream\na,0,99999999999999999999,0\n|2|is no
op,id,bytes,stream\na,0,0,0\n|2|0 bytes
op,id,bytes,stream\na,0,4,8\n|2|0 to 7
op,id,bytes,stream\na,0,4,0\n\na,0,4,0\n|4|allocation 1, and not 0
op,id,bytes,stream\na,0,4,0\nf,1,4,0\n|3|allocation 1 is freed
op,id,bytes,stream\na,0,4,0\nf,0,4,0\nf,0,4,0\n|4|is not live
op,id,bytes,stream\na,0,4,0\nf,0,8,0\n|3|other bytes
op,id,bytes,stream\na,0,4,0\nf,0,4,1\n|3|another stream
END
    done
    finish
}

# bats test_tags=more
@test "every solution prints the same under every schedule" {
    local lesson schedule folder expected journal
    for lesson in $(lessons); do
        expected=tests/lessons/$lesson/expected/output.txt
        for schedule in "${SCHEDULES[@]}"; do
            folder=build/check/schedules/$lesson-$schedule journal=
            [[ " ${TWICE[*]} " != *" $schedule "* ]] || journal=SIM_JOURNAL=journal.jsonl
            execute "$folder" build/simulator SIM_SCHEDULE="$schedule" ${journal:+"$journal"} -- \
                "$ROOT/build/simulator/solutions/$lesson"
            ran_well "$folder" "$expected" "$lesson, $schedule"
        done
    done
    finish
}

@test "every solution prints what was recorded with another size or trace" {
    local expected size lesson folder
    for expected in tests/lessons/[0-9]*/expected/output.*.txt; do
        lesson=${expected#tests/lessons/} size=$(basename "$expected" .txt)
        lesson=${lesson%%/*} size=${size#*.}
        folder=build/check/recorded/$lesson.$size
        execute "$folder" build/simulator -- "$ROOT/build/simulator/solutions/$lesson" "$size"
        ran_well "$folder" "$expected" "$expected"
    done
    finish
}

# calls_of FOLDER: what the journals of a run's processes record but for the clocks, a line each,
# one process after the other; sorted by what they record, for the numbers of processes begin again
# after the largest.
calls_of() {
    local file
    for file in "$1"/journal.jsonl*; do
        jq -c -s 'map(select(.call) | del(.n, .t, .end, .turn, .process))' "$file"
    done | LC_ALL=C sort | jq -c '.[]'
}

# calls_of_threads FOLDER: the calls of each thread with what they returned
calls_of_threads() {
    jq -c 'select(.call and .result) | [.thread // 1, .call, .stream, .bytes, .result]' \
        "$1"/journal.jsonl* | LC_ALL=C sort
}

# same_journals FOLDER FOLDER: byte for byte. Where two processes live side by side their clocks go
# on with each other's work as it comes (docs/simulator.rst), and which of two threads comes first
# is the machine's: then each makes the same calls with the same results.
same_journals() {
    local one=("$1"/journal.jsonl*) two=("$2"/journal.jsonl*)
    [ "${#one[@]}" = "${#two[@]}" ] || { echo "${#one[@]} and ${#two[@]} journals"; return 1; }
    if grep -q '"thread":[2-9]' "${one[@]}"; then
        diff <(calls_of_threads "$1") <(calls_of_threads "$2")
    elif [ "${#one[@]}" = 1 ]; then
        diff "${one[0]}" "${two[0]}"
    else
        diff <(calls_of "$1") <(calls_of "$2")
    fi
}

# bats test_tags=more
@test "two runs under one schedule leave the same journal, byte for byte" {
    local lesson schedule folder
    for lesson in $(lessons); do
        for schedule in "${TWICE[@]}"; do
            # The test above has left it.
            folder=build/check/schedules/$lesson-$schedule
            execute "$folder-again" build/simulator SIM_SCHEDULE="$schedule" \
                SIM_JOURNAL=journal.jsonl -- "$ROOT/build/simulator/solutions/$lesson"
            [ -s "$folder/journal.jsonl" ] || complain "$lesson, $schedule: no journal."
            if same_journals "$folder" "$folder-again" >"$BATS_TEST_TMPDIR/difference"; then
                rm -rf "$folder" "$folder-again"
            else
                complain "$lesson, $schedule:" "$(head -n 6 "$BATS_TEST_TMPDIR/difference")"
            fi
        done
    done
    finish
}

# sanitized FOLDER [NAME=VALUE...]: every solution runs without a word from the sanitizer, and
# prints what it prints without
sanitized() {
    local lesson folder size wanted build=$1
    shift
    for lesson in $(lessons); do
        folder=build/check/$build/$lesson
        size=$(size_under "$build" "$lesson")
        wanted=tests/lessons/$lesson/expected/output${size:+.$size}.txt
        if [ ! -e "$wanted" ]; then   # no device has run this size
            wanted=$folder-plain/stdout
            execute "$folder-plain" build/simulator -- \
                "$ROOT/build/simulator/solutions/$lesson" "$size"
        fi
        execute "$folder" "build/$build" TSAN_OPTIONS=atexit_sleep_ms=0 \
            SIM_JOURNAL=journal.jsonl "$@" -- \
            "$ROOT/build/$build/solutions/$lesson" ${size:+"$size"}
        # A lesson may provoke a fault, which the simulated device reports on purpose.
        grep -v '^simulated device: illegal address' "$folder/stderr" >"$folder/unexpected" || true
        [ "$(cat "$folder/status" "$folder/unexpected")" = 0 ] ||
            complain "$lesson: exit status $(cat "$folder/status")." \
                "$(head -n 20 "$folder/stderr")"
        same_words "$wanted" "$folder/stdout" ||
            complain "$lesson${size:+ $size} prints something else."
    done
    finish
}
# A sanitizer observes every byte that a kernel writes: 64 MiB take seconds. What threads share does
# not depend on the size, so 2 MiB will do for the thread sanitizer; the other one sees allocations
# of several segments, too.
size_under() { # size_under BUILD LESSON: the argument, or nothing
    case $1:$2 in
    simulator-thread:*) ! grep -q mib_argument "solutions/$2.c" || echo 2 ;;
    *:10_reuse_events) echo 20 ;;
    *:11_reuse_opportunistic) echo 40 ;;
    *:18_pinned_transfers) echo 8 ;;
    esac
}

# bats test_tags=long
@test "address and undefined-behaviour sanitizers find nothing in any solution" {
    local programs
    mapfile -t programs < <(lessons)
    make_sanitized address,undefined "${programs[@]/#/solutions/}"
    sanitized simulator-address-undefined
}

# It leaves a program too few addresses for several devices as large as an H200.
# bats test_tags=long
@test "the thread sanitizer finds nothing in any solution" {
    local programs
    mapfile -t programs < <(lessons)
    make_sanitized thread "${programs[@]/#/solutions/}"
    sanitized simulator-thread SIM_MEMORY=16G
}
