# Lesson 01: allocate, use, free and allocate again in one stream, then wait. Judges $LESSON.
load ../grading/check

setup_file() { lesson_setup 01_first_allocation; }

MIB=1048576
# ok(CALL): the calls of that name that succeeded. data, again: the two allocations of use_stream.
definitions 'def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def data: ok("cudaMallocAsync")[0];
    def again: ok("cudaMallocAsync")[1];
    def copies: [.[] | select(.call == ("cudaMemcpyAsync", "cudaMemcpy")
        and .kind != "HostToDevice")];
    def in_stream: if .stream == null then empty elif .stream == "legacy" then "the legacy stream"
        else "stream \(.stream)" end;
    def freed($data; $again): if .call != "cudaFreeAsync" and .call != "cudaFree" then ""
        elif .allocation == $data.allocation then " of data"
        elif .allocation == $again.allocation then " of again" else "" end;
    def order: data as $data | again as $again | [.[] | select(.did == null
        and .call == ("launch_hold", "cudaMallocAsync", "launch_fill", "launch_add",
            "cudaMemcpyAsync", "cudaMemcpy", "cudaMemsetAsync", "cudaMemset", "cudaFreeAsync",
            "cudaFree", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventRecord",
            "cudaEventSynchronize"))
        | .call + freed($data; $again)
            + ([if .bytes != null then "\(.bytes) bytes" else empty end, in_stream]
                | if . == [] then "" else " (" + join(", ") + ")" end)]
        | .[:14] | join(", ") | if . == "" then "none of these calls was made."
            else "the calls were, in order: " + . + "." end;'

# The calls between the two allocations that took half a second or longer.
WAITS='def waits: data as $data | again as $again
    | [.[] | select(.end != null and .n > $data.n and .n < $again.n and .end - .t > 500000000)];'

# The check calls use_stream itself (tests/lessons/asked_stream.h). All work of that device is a
# second late, so that a call which waits for work takes as long.
# shellcheck disable=SC2034  # for ask_lesson
ask() {
    draw count 100000 900000
    draw first 2 39
    draw more 3 99
    SIM_ENV=(SIM_SCHEDULE=late SIM_CHECK=off)
    ask_lesson asked_stream 'use_stream takes what it took at the start, and puts all its work into
        the stream that it is given.' "$count" "$first" "$more"
    SIM_ENV=()
}

# Did the run of the lesson end at a wait behind the closed gate?
stands_still() { [[ $errors == *"hazard: waiting forever."* ]]; }

# Did CHECK end the program, at a call that failed?
failed() { [[ $errors == *": cudaError"* ]]; }

# The lesson's run; of a program that waits behind the closed gate the check's own, which has all
# that comes after the wait.
run_through() {
    local count first more
    run_lesson
    ! stands_still || ask
}

@test "memory is allocated twice while the stream holds at the gate" {
    local twice=(-- 'data.stream == again.stream and data.bytes == again.bytes'
        'use_stream allocates twice in its stream, the second time as much as the first. The program
            did so at the start.' 'order')
    run_lesson
    # A run that ended in between does not come to the second.
    if failed || stands_still; then twice=(); fi
    expect_journal 'data as $data | $data.bytes == '$((8 * MIB))'
        and any(ok("launch_hold")[]; .stream == $data.stream and .n < $data.n)' \
        'launch_hold, and then cudaMallocAsync of 8 MiB in the same stream. The program had both at
            the start.' \
        'order' "${twice[@]}"
}

@test "the memory is filled, added to and copied in the stream that allocated it" {
    run_through
    expect_journal 'data as $data | [ok("launch_fill")[]
        | select(.allocation == $data.allocation and .stream == $data.stream
            and .bytes == $data.bytes)] | length > 0' \
        'launch_fill on every element of data, in the stream that allocated it (YOUR WORK, 1 of 2).
            No wait is needed before it.' \
        'order' \
        -- '[ok("launch_fill")[] as $fill | ok("launch_add")[]
        | select(.allocation == $fill.allocation and .stream == $fill.stream
            and .bytes == $fill.bytes and .n > $fill.n)] | length > 0' \
        'launch_add on every element of data, after launch_fill, in the same stream.' \
        'order' \
        -- '[ok("launch_add")[] as $add | copies[]
        | select(.bytes == $add.bytes and .n > $add.n
            and (.allocation == $add.allocation or .result != "cudaSuccess")
            and (.stream == $add.stream or .call == "cudaMemcpy"))] | length > 0' \
        'cudaMemcpyAsync of every element to the host, after launch_add, in the same stream.' \
        'order'
}

@test "the memory is freed in stream order: after its last use, before the next allocation" {
    run_through
    expect_journal 'data as $data | [ok("cudaFreeAsync")[]
        | select(.allocation == $data.allocation and .stream == $data.stream)] | length == 1' \
        'cudaFreeAsync of data, once, in the stream that used it. cudaFree is not ordered in a
            stream: for memory of cudaMallocAsync it waits for nothing.' \
        'order' \
        -- 'data as $data | [ok("cudaFreeAsync")[]
            | select(.allocation == $data.allocation)][0] as $free | [.[]
        | select(.allocation == $data.allocation and .n > $free.n
            and (.call == ("launch_fill", "launch_add", "cudaMemcpyAsync", "cudaMemsetAsync")))]
                | length == 0' \
        'cudaFreeAsync comes after the last use of data: what is put into the stream after the free
            may no longer touch the memory.' \
        'order' \
        -- 'data as $data | again as $again | [ok("cudaFreeAsync")[]
            | select(.allocation == $data.allocation and .n < $again.n)] | length == 1' \
        'cudaFreeAsync of data before the program allocates again: only freed memory can be
            allocated again.' \
        'order'
}

@test "use_stream uses the numbers that it is given" {
    local count first more
    after_the_rest
    ask
    expect_journal "ok(\"launch_fill\")[0].value == $first
            and ok(\"launch_add\")[0].value == $more" \
        'launch_fill sets every element to first, and launch_add adds more: the device adds.' \
        'def given($call): $call + (ok($call)[0]
            | if . == null then " was not called" else " was given \(.value)" end);
        "called by the check with first = '"$first and more = $more"', "
            + given("launch_fill") + " and " + given("launch_add") + "."'
    expect_answers "with first = $first and more = $more each element of result is their sum." \
        "result[0]" $((first + more)) "result[$((count / 2))]" $((first + more)) \
        "result[$((count - 1))]" $((first + more))
}

@test "the host waits once, for the result: before that the stream needs no wait" {
    local count first more call line
    run_lesson
    if stands_still; then
        call=$(sed -n 's/^hazard: waiting forever\. \([A-Za-z]*\) waits .*/\1/p' <<<"$errors")
        line=$(sed -n 's/^  called  *at .*:\([0-9]*\)$/ in line \1/p' <<<"$errors")
        errors=''
        missed 'Expected: no wait while the gate is closed. None of the four calls of YOUR WORK, 1
            of 2 needs one: the stream itself keeps its work in order. The wait of YOUR WORK, 2 of
            2 comes after gate_open.' \
            "Happened: $call$line never returns: it waits for the stream, the stream holds at the
            gate, and the gate would be opened only after that line."
        return
    fi
    ! failed || skip "a call before the wait has failed"
    ask
    expect_journal "$WAITS again != null and waits == []" \
        'no wait between the two allocations: the stream itself keeps its work in order.' \
        "$WAITS"' if again == null
            then "called by the check, use_stream ended before its second allocation."
            else (waits | map(.call) | unique | join(", "))
                + " waited there for the work of the stream." end'
    run_lesson
    expect_journal 'copies != []
            and all(.[]; .kind != "host access not ordered after a write")' \
        'a call in which the host waits for the copy (YOUR WORK, 2 of 2): only then is the result on
            the host.' \
        '(copies[0].n // infinite) as $copy | order
            + if any(ok("cudaEventRecord")[]; .n < $copy) and ok("cudaEventSynchronize") != []
                then " The event was recorded before the copy, so it does not stand for the copy."
                else "" end'
}

@test "it prints what a real device prints, also for other sizes" {
    local mib count
    after_the_rest
    run_lesson
    expect_right 01_first_allocation
    draw mib 2 7
    run_lesson "$mib"
    expect_clean
    count=$((mib * 262144))
    grep -qx "synchronized     42 in $count of $count elements .*" <<<"$output" ||
        missed "Expected: with $mib MiB, 42 in each of $count elements." \
            "Happened: it printed \"$(tail -n 1 <<<"$output")\"."
}
