# Clinic, case 10: the third stream gets the memory that two others freed. Judges $LESSON.
# shellcheck disable=SC2034,SC2154  # for run_lesson, and what it sets
load ../../grading/check
load case

setup_file() { case_setup 10_tight_memory; }

# whole: the tries to allocate all that the pool may hold. waited_for: the streams whose events the
# third stream waits for before the first of them.
definitions 'def whole: [.[] | select(.bytes == '$((128 << 20))' and (.call == "cudaMallocAsync"
        or .call == "cudaMallocFromPoolAsync"))];
    def frees: [ok("cudaFreeAsync")[] | select(.n < (whole[0].n // infinite))];
    def waited_for: . as $all | whole[0] as $first | [ok("cudaStreamWaitEvent")[]
        | select(.stream == $first.stream and .n < $first.n) | . as $wait | [$all[]
            | select(.call == "cudaEventRecord" and .event == $wait.event and .n < $wait.n)]
        | last.stream] | unique;'

# gets_all: does the third stream get its 128 MiB, under the schedule of the run?
gets_all() {
    grep -qsE '"call":"cudaMalloc(FromPool)?Async".*"bytes":'$((128 << 20))',.*"cudaSuccess"' \
        "$journal"
}

@test "the third stream gets its 128 MiB, under five schedules" {
    local schedule
    for schedule in "${SCHEDULES[@]}"; do
        SIM_ENV=("SIM_SCHEDULE=$schedule")
        run_lesson
        ! gets_all || continue
        expect_journal 'any(whole[]; .result == "cudaSuccess")' \
            'an allocation of 128 MiB succeeds, at the first try or at a second one.' \
            '"tries: \(whole | length), and each returned cudaErrorMemoryAllocation. "
                + if waited_for | length > 1 then "Events do not help: the halves were freed in two
                    streams, so they stay two ranges of 64 MiB, and an allocation takes one range.
                    They become one when the host has synchronized, or when one stream frees both."
                else "Both halves are freed, and neither is free for another stream yet: after which
                    call of the host are they?" end | gsub("\n *"; " ")'
    done
}

@test "no hazard, exit status 0 and nothing left, under five schedules" {
    run_lesson
    gets_all || [[ $errors == *hazard:* ]] || skip "first repair what is missed above"
    ends_well
}

@test "the pool still holds no more than 128 MiB" {
    run_lesson
    expect_journal '[.[] | .reserved // 0] | max == '$((128 << 20)) \
        'memory stays tight: the pool reserves 128 MiB and no more.' \
        '"the pool reserved up to \([.[] | .reserved // 0] | max / 1048576) MiB."'
}

@test "the host waits only where the allocation was refused" {
    run_lesson
    expect_journal 'whole[0].n as $first | any(.[]; .acquired and .n < $first) | not' \
        'the host waits only where the program would have ended: for the second try. Where the first
            one succeeds the repair then costs nothing.' \
        'whole[0].n as $first | [.[] | select(.acquired and .n < $first)][0]
            | "the host waited in \(.call) before the first try, whether or not there was memory."'
}
