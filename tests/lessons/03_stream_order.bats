# Lesson 03: every use after the allocation and before the free, whatever the streams. Judges
# $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 03_stream_order; }

MIB=1048576
# data: the block that three streams use. scratch: the one that cudaFree frees.
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def of_pool: [ok("cudaMallocFromPoolAsync")[] | select(.bytes == '$MIB')];
    def data: of_pool | map(select(.stream == "legacy")) | first;
    def scratch: of_pool | map(select(.stream != "legacy")) | first;
    def use($call; $block): [ok($call)[] | select(.allocation == $block.allocation)] | first;
    def non_blocking: [ok("cudaStreamCreateWithFlags")[] | select(.kind == "non-blocking")
        | .stream];
    def history: data.n as $from | [.[] | select(.n > $from and .did == null and .call != null
        and (.call | test("launch|Memcpy|Record|WaitEvent|Synchronize|cudaFreeAsync|cudaFree$")))
        | .call + (if .event != null then " of event \(.event)" else "" end)
            + (if .stream != null then " (\(.stream))" else "" end)]
        | "the calls (and their streams) were, in order: " + (.[:18] | join(", ")) + ".";'

# not_reported CALL SENTENCE: the simulated device has nothing to say about this call
# shellcheck disable=SC2154  # run_lesson sets errors
not_reported() {
    local report
    report=$(awk -v call=". $1 (" '
        /^hazard:/ { show = !shown && index($0, call); shown += show }
        show' <<<"$errors")
    [ -n "$report" ] || return 0
    tell_sentences "Expected: $2" "Happened: the simulated device found this:"
    sed 's/^/    /' <<<"$report"
    try_it
    return 1
}

@test "the parts are there: one block in three streams, another in one" {
    run_lesson
    expect_journal "$QUESTIONS"' data as $data | use("launch_fill"; $data) as $fill
        | use("launch_add"; $data) as $add | use("cudaMemcpyAsync"; $data) as $copy
        | use("cudaFreeAsync"; $data) as $free | ([$data, $fill, $add, $copy, $free]
            | all(. != null))
        and $fill.stream == "legacy" and $add.stream != $copy.stream and $free.stream == $add.stream
        and (non_blocking | index($add.stream) != null and index($copy.stream) != null)' \
        'the block is filled in the legacy stream, added to in the worker, copied in the reader,
            freed in the worker. Worker and reader stay two non-blocking streams: put back what was
            there.' \
        "$QUESTIONS history" \
        -- "$QUESTIONS"' scratch as $scratch | [use("launch_fill"; $scratch), use("cudaMemcpyAsync";
            $scratch), use("cudaFree"; $scratch)] | all(. != null)' \
        'the second block is filled and copied in the worker, and freed with cudaFree: put back what
            was there.' \
        "$QUESTIONS history"
}

@test "the worker's add comes after the legacy stream's fill" {
    run_lesson
    not_reported launch_add 'an event recorded in the legacy stream after launch_fill, for which the
        worker waits before launch_add. The worker is a non-blocking stream: the legacy stream does
        not hold it up.'
}

@test "the reader's copy comes after the worker's add" {
    run_lesson
    not_reported cudaMemcpyAsync 'the reader waits for an event that was recorded in the worker
        after launch_add (which comes after the fill). An event stands for what was in its stream
        when it was recorded, and for no more.'
}

@test "the worker's free comes after the reader's copy" {
    run_lesson
    not_reported cudaFreeAsync 'an event recorded in the reader after the copy, for which the worker
        waits before cudaFreeAsync. The free is ordered in the one stream that it is given; the
        allocator does not know who else uses the block.'
}

@test "cudaFree comes after the host's wait for the worker" {
    run_lesson
    not_reported cudaFree 'the host waits for the worker (cudaStreamSynchronize), and then frees
        with cudaFree. cudaFree of a block from a pool waits for nothing.'
}

@test "events do it: the host does not wait while the block is in use" {
    run_lesson
    expect_journal "$QUESTIONS"' data as $data | use("cudaFreeAsync"; $data) as $free
        | [ok("cudaStreamSynchronize")[], ok("cudaDeviceSynchronize")[],
            ok("cudaEventSynchronize")[] | select(.n > $data.n and .n < $free.n)] | length == 0' \
        'from the allocation of the first block to its cudaFreeAsync no synchronise: the streams
            wait for each other, the host goes on.' \
        "$QUESTIONS history"
}

@test "it prints what a real device prints, under every schedule, also for 3 MiB" {
    local schedule
    for schedule in measured late instant random:1 random:2; do
        # shellcheck disable=SC2034  # for run_lesson
        SIM_ENV=("SIM_SCHEDULE=$schedule")
        run_lesson
        expect_right 03_stream_order
    done
    unset SIM_ENV
    run_lesson 3
    expect_right 03_stream_order.3
}
