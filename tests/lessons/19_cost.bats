# Lesson 19: a pool that keeps its memory, and requests that wait for no other stream. Judges
# $LESSON by what it calls, never by a time.
load ../tools/helpers

setup_file() { lesson_setup 19_cost; }

MIB=1048576
# kept: the line from which on the pool is to keep its memory: the first allocation after the
# 3 x 501 of the default pool. served: the calls of serve, with those of the stopwatch around it:
# from the last copy of the other stream to the query of that stream.
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def kept: ok("cudaMallocAsync")[1503].n // infinite;
    def returned: kept as $kept | [.[] | select(.did == "release" and .why == "synchronization"
        and .n > $kept)];
    def threshold: [ok("cudaMemPoolSetAttribute")[]
        | select(.attribute == "cudaMemPoolAttrReleaseThreshold")] | last
        | if . == null then "it set no threshold" else "it set the threshold of "
            + (if .pool == 0 then "the default pool" else "another pool" end)
            + " to \(if .value >= 18446744073709551615 then "UINT64_MAX" else .value end) bytes"
            end;
    def copied: [ok("cudaMemcpyAsync")[] | select(.kind == "HostToDevice") | .n] | last // infinite;
    def queried: [.[] | select(.call == "cudaStreamQuery")] | last;
    def served: copied as $from | (queried.n // 0) as $to
        | [.[] | select(.call != null and .n > $from and .n < $to)];
    def longest: served | max_by(.end - .t) | if . == null then "the program ended before"
        else "the longest call of serve was \(.call): it took \((.end - .t) / 1000 | floor) us"
            end;
    def waits: [served[] | select(.call | IN("cudaStreamSynchronize", "cudaDeviceSynchronize",
        "cudaEventSynchronize"))] | length - 2;'

@test "after keep_memory no synchronization takes memory from the pool" {
    local size
    draw size 1100 1900
    run_lesson "$size"
    expect_journal "$QUESTIONS"' (ok("cudaMallocAsync") | length) > 1503 and returned == []' \
        'after keep_memory the default pool keeps all its memory at each synchronization, whatever
            the size of its allocations (YOUR WORK, 1 of 2). The threshold is in bytes.' \
        "$QUESTIONS"' "after keep_memory, with allocations of up to '"$size"' MiB, the default"
            + " pool returned memory at \(returned | length) synchronizations: \(threshold)."'
}

@test "the loops do what their names say" {
    run_lesson
    expect_journal "$QUESTIONS"' (ok("cudaMallocHost")[0].n // 0) as $loops | [.[]
        | select(.n < $loops and .result == "cudaSuccess")]
            | (ok("cudaMallocAsync") | length) == 4509
            and (ok("cudaFreeAsync") | length) == 4509 and (ok("cudaFree") | length) == 1503' \
        'print_costs makes 501 pairs of each size in each of its four ways. That part was there at
            the start: put it back.' \
        '"its loops made another number of allocations or frees."' \
        -- '[.[] | select(.did == "release" and .why == "synchronization")] | length >= 1503' \
        'in the way "pool, default, synchronized each time" the host synchronizes after each free,
            and the pool returns its memory. That part was there at the start: put it back.' \
        '"memory was returned at \([.[] | select(.did == "release" and .why == "synchronization")]
            | length) synchronizations, and the way has 1503 frees."'
}

@test "serve waits for no other stream" {
    run_lesson
    expect_journal "$QUESTIONS"' queried | .result == "cudaErrorNotReady"' \
        'when serve returns, the copies in the other stream are still pending: no call of serve
            waits for them (YOUR WORK, 2 of 2).' \
        "$QUESTIONS"' longest + ", until the copies in the other stream were done."' \
        -- "$QUESTIONS"' [served[] | select(.call == "launch_fill" and .bytes == '$((4 * MIB))')]
            | length == 16' \
        'each of the 16 requests fills its memory on the device with launch_fill.' \
        "$QUESTIONS"' "serve filled memory of that size \([served[] | select(.call == "launch_fill"
            and .bytes == '$((4 * MIB))')] | length) times."'
}

@test "serve synchronizes once, for all requests" {
    run_lesson
    expect_journal "$QUESTIONS"' served != [] and waits <= 1' \
        'the host synchronizes once, after the last request: memory of the pool may be used and
            freed in the stream before that.' \
        "$QUESTIONS"' "serve synchronized \(waits) times for 16 requests."'
}

@test "serve answers every request, whatever their number and size" {
    local requests kib
    draw requests 17 60
    draw kib 5 900
    ask_lesson asked_cost 'serve as the rest of the lesson calls it, and CUDA calls in it that
        succeed.' "$requests" $((kib * 1024))
}

@test "it prints what a real device prints, also for 256 MiB" {
    run_lesson
    expect_right 19_cost
    run_lesson 256
    expect_right 19_cost.256
}
