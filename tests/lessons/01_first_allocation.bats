# Lesson 01: allocate, use, free and allocate again in one stream, then wait. Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 01_first_allocation; }

MIB=1048576
# ok(CALL): the calls of that name that succeeded. data, again: the two allocations of use_stream.
# waits($copy; $to): what makes the host wait, before line $to, for this copy; the legacy stream
# waits for the lesson's blocking one. The program itself queries its stream once at the end, so one
# successful query more is a loop that waits.
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def data: ok("cudaMallocAsync")[0];
    def again: ok("cudaMallocAsync")[1];
    def of($copy): .stream == $copy.stream or .stream == "legacy";
    def recorded($copy; $n; $all): [$all[] | select(.call == "cudaEventRecord"
        and .result == "cudaSuccess" and of($copy) and .n > $copy.n and .n < $n) | .event];
    def waits($copy; $to): . as $all | [.[] | select(.result == "cudaSuccess" and .n > $copy.n
            and .n < $to)]
        | [.[] | select(.call == "cudaDeviceSynchronize"
            or (.call == "cudaStreamSynchronize" and of($copy))
            or ((.call == "cudaEventSynchronize" or .call == "cudaEventQuery")
                and (.event as $event | recorded($copy; .n; $all) | index($event) != null)))]
            + ([.[] | select(.call == "cudaStreamQuery" and of($copy))] | .[1:]);
    def in_stream: if .stream == null then empty elif .stream == "legacy" then "the legacy stream"
        else "stream \(.stream)" end;
    def freed($data; $again): if .call != "cudaFreeAsync" and .call != "cudaFree" then ""
        elif .allocation == $data.allocation then " of data"
        elif .allocation == $again.allocation then " of again" else "" end;
    def order: data as $data | again as $again | [.[] | select(.did == null
        and .call == ("launch_hold", "cudaMallocAsync", "launch_fill", "launch_add",
            "cudaMemcpyAsync", "cudaMemcpy", "cudaMemsetAsync", "cudaMemset", "cudaFreeAsync",
            "cudaFree", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize"))
        | .call + freed($data; $again)
            + ([if .bytes != null then "\(.bytes) bytes" else empty end, in_stream]
                | if . == [] then "" else " (" + join(", ") + ")" end)]
        | .[:14] | join(", ") | if . == "" then "none of these calls was made."
            else "the calls were, in order: " + . + "." end;'

@test "memory is allocated twice while the stream holds at the gate" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("launch_hold")[] as $hold | ok("cudaMallocAsync")[]
        | select(.bytes == '$((8 * MIB))' and .stream == $hold.stream and .n > $hold.n)]
            | length == 2' \
        'after launch_hold, two calls of cudaMallocAsync for 8 MiB in the same stream. That part was
            there at the start: put it back.' \
        "$QUESTIONS order"
}

@test "the memory is filled, added to and copied in the stream that allocated it" {
    run_lesson
    expect_journal "$QUESTIONS"' data as $data | [ok("launch_fill")[]
        | select(.allocation == $data.allocation and .stream == $data.stream
            and .bytes == $data.bytes)] | length > 0' \
        'launch_fill on every element of data, in the stream that allocated it (YOUR WORK, 1 of 2).
            No wait is needed before it.' \
        "$QUESTIONS order" \
        -- "$QUESTIONS"' [ok("launch_fill")[] as $fill | ok("launch_add")[]
        | select(.allocation == $fill.allocation and .stream == $fill.stream
            and .bytes == $fill.bytes and .n > $fill.n)] | length > 0' \
        'launch_add on every element of data, after launch_fill, in the same stream.' \
        "$QUESTIONS order" \
        -- "$QUESTIONS"' [ok("launch_add")[] as $add | ok("cudaMemcpyAsync")[]
        | select(.kind != "HostToDevice" and .allocation == $add.allocation
            and .stream == $add.stream and .bytes == $add.bytes
            and .n > $add.n)] | length > 0' \
        'cudaMemcpyAsync of every element to the host, after launch_add, in the same stream.' \
        "$QUESTIONS order"
}

@test "the memory is freed in stream order: after its last use, before the next allocation" {
    run_lesson
    expect_journal "$QUESTIONS"' data as $data | [ok("cudaFreeAsync")[]
        | select(.allocation == $data.allocation and .stream == $data.stream)] | length == 1' \
        'cudaFreeAsync of data, once, in the stream that used it. cudaFree is not ordered in a
            stream: for memory of cudaMallocAsync it waits for nothing.' \
        "$QUESTIONS order" \
        -- "$QUESTIONS"' data as $data | [ok("cudaFreeAsync")[]
            | select(.allocation == $data.allocation)][0] as $free | [.[]
        | select(.allocation == $data.allocation and .n > $free.n
            and (.call == ("launch_fill", "launch_add", "cudaMemcpyAsync", "cudaMemsetAsync")))]
                | length == 0' \
        'cudaFreeAsync comes after the last use of data: what is put into the stream after the free
            may no longer touch the memory.' \
        "$QUESTIONS order" \
        -- "$QUESTIONS"' data as $data | again as $again | [ok("cudaFreeAsync")[]
            | select(.allocation == $data.allocation and .n < $again.n)] | length == 1' \
        'cudaFreeAsync of data before the program allocates again: only freed memory can be
            allocated again.' \
        "$QUESTIONS order"
}

@test "the host waits for the stream before it reads the result" {
    run_lesson
    expect_journal "$QUESTIONS"' ok("cudaMemcpyAsync")[0] as $copy
        | ok("cudaStreamDestroy")[0] as $close
        | $copy != null and (waits($copy; $close.n) | length > 0)' \
        'a call in which the host waits for the copy (YOUR WORK, 2 of 2): only then is the result on
            the host.' \
        "$QUESTIONS order" \
        -- "$QUESTIONS"' again as $again | [ok("cudaDeviceSynchronize")[],
            ok("cudaStreamSynchronize")[], ok("cudaEventSynchronize")[] | select(.n < $again.n)]
                | length == 0' \
        'no wait before the second allocation: the stream itself keeps its work in order.' \
        "$QUESTIONS order"
}

# The check calls use_stream itself (tests/lessons/asked_stream.h).
@test "use_stream uses the numbers that it is given" {
    local count first more
    draw count 100000 900000
    draw first 2 39
    draw more 3 99
    ask_lesson asked_stream 'use_stream takes what it took at the start, and puts all its work into
        the stream that it is given.' "$count" "$first" "$more"
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
