# Lesson 01: allocate, use and free in one stream, then wait. Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 01_first_allocation; }

MIB=1048576
# ok(CALL): the calls of that name that succeeded. waits($stream): those that make the host wait for
# that stream.
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def waits($stream): ok("cudaDeviceSynchronize") + ok("cudaEventSynchronize")
        + [ok("cudaStreamSynchronize")[] | select(.stream == $stream)];
    def order: [.[] | select(.did == null and .call == ("cudaMallocAsync", "launch_fill",
        "launch_add", "cudaMemcpyAsync", "cudaMemcpy",
        "cudaMemsetAsync", "cudaMemset", "cudaFreeAsync", "cudaFree", "cudaStreamSynchronize",
        "cudaDeviceSynchronize"))
        | .call + (if .bytes != null then " (\(.bytes) bytes)" else "" end)] | .[:12] | join(", ")
        | if . == "" then "none of these calls was made." else "the calls were, in order: " + .
            + "." end;'

@test "the block is allocated while the stream holds at the gate" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("launch_hold")[] as $hold | ok("cudaMallocAsync")[]
        | select(.bytes == '$((8 * MIB))' and .stream == $hold.stream and .n > $hold.n)]
            | length == 1' \
        'after launch_hold, one cudaMallocAsync of 8 MiB in the same stream. That part was there at
            the start: put it back.' \
        "$QUESTIONS order"
}

@test "the block is filled, added to and copied in its own stream" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("cudaMallocAsync")[] as $block | ok("launch_fill")[]
        | select(.allocation == $block.allocation and .stream == $block.stream
            and .bytes == $block.bytes)] | length > 0' \
        'launch_fill on every element of the block, in the stream that allocated it (YOUR WORK, 1 of
            2). No wait is needed before it.' \
        "$QUESTIONS order" \
        -- "$QUESTIONS"' [ok("launch_fill")[] as $fill | ok("launch_add")[]
        | select(.allocation == $fill.allocation and .stream == $fill.stream
            and .bytes == $fill.bytes and .n > $fill.n)] | length > 0' \
        'launch_add on every element of the block, after launch_fill, in the same stream.' \
        "$QUESTIONS order" \
        -- "$QUESTIONS"' [ok("launch_add")[] as $add | ok("cudaMemcpyAsync")[]
        | select(.kind != "HostToDevice" and .allocation == $add.allocation
            and .stream == $add.stream and .bytes == $add.bytes
            and .n > $add.n)] | length > 0' \
        'cudaMemcpyAsync of the whole block to the host, after launch_add, in the same stream.' \
        "$QUESTIONS order"
}

@test "the block is freed in stream order, after its last use" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("cudaMallocAsync")[] as $block | ok("cudaFreeAsync")[]
        | select(.allocation == $block.allocation and .stream == $block.stream)] | length == 1' \
        'cudaFreeAsync of the block, once, in the stream that used it. cudaFree stands in no stream:
            for the blocks of cudaMallocAsync it waits for nothing.' \
        "$QUESTIONS order" \
        -- "$QUESTIONS"' [ok("cudaFreeAsync")[] as $free | .[]
        | select(.allocation == $free.allocation and .n > $free.n
            and (.call == ("launch_fill", "launch_add", "cudaMemcpyAsync", "cudaMemsetAsync")))]
                | length == 0' \
        'cudaFreeAsync comes after the last use of the block: what is put into the stream after the
            free finds the block gone.' \
        "$QUESTIONS order"
}

@test "the host waits for the stream before it reads the result" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("cudaMemcpyAsync")[] as $copy
        | ok("cudaStreamDestroy")[] as $close
        | waits($copy.stream)[] | select(.n > $copy.n and .n < $close.n)] | length > 0' \
        'a synchronise of the stream after the copy (YOUR WORK, 2 of 2): only then are the results
            on the host.' \
        "$QUESTIONS order" \
        -- "$QUESTIONS"' [ok("cudaFreeAsync")[] as $free | ok("launch_hold")[] as $hold
        | waits($hold.stream)[] | select(.n > $hold.n and .n < $free.n)] | length == 0' \
        'no synchronise between the allocation and the free: the stream itself keeps its work in
            order.' \
        "$QUESTIONS order"
}

@test "it prints what a real device prints, also for 24 MiB" {
    run_lesson
    expect_right 01_first_allocation
    run_lesson 24
    expect_right 01_first_allocation.24
}
