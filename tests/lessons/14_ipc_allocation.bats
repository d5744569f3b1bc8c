# Lesson 14: two processes on one block, ordered by two events; who frees first. Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 14_ipc_allocation; }

# opened: the event here that is the other process's; own: the one of this process whose handle was
# asked for.
QUESTIONS='def ok($of; $call): [.[] | select(.of == $of and .call == $call
    and .result == "cudaSuccess")];
    def opened($of): [ok($of; "cudaIpcOpenEventHandle")[].event];
    def told($of): [ok($of; "cudaIpcGetEventHandle")[]];
    def records($of): [told($of)[].event] as $own | [ok($of; "cudaEventRecord")[]
        | select(.event | IN($own[]))];
    def final($of): told($of) as $told | records($of) | (map(select(.n < ($told[0].n // 0))) | last)
        // last;
    def waits($of): opened($of) as $event | [ok($of; "cudaStreamWaitEvent")[]
        | select(.event | IN($event[]))];
    def before($first; $next): ($first | length > 0) and ($next | length > 0)
        and $first[0].n < $next[0].n;
    def in_order($of; $calls): [.[] | select(.of == $of and .result == "cudaSuccess"
        and (.call | IN($calls[]))) | .call + (if .stream then " (stream \(.stream))" else "" end)]
        | join(", ");
    def history($of): "the \($of) called, in this order: " + in_order($of;
        ["launch_fill", "launch_add", "cudaMemcpyAsync", "cudaFreeAsync", "cudaEventRecord",
        "cudaStreamWaitEvent", "cudaStreamSynchronize", "cudaEventSynchronize",
        "cudaDeviceSynchronize", "cudaMemcpy", "cudaIpcGetEventHandle",
                "cudaIpcOpenEventHandle"]) + ".";'

# shellcheck disable=SC2154  # run_lesson sets errors
@test "two processes share a block and two events" {
    run_both
    ! grep -q 'cudaIpcGetEventHandle.*cudaErrorInvalidResourceHandle' <<<"$errors" ||
        missed "Expected: an event that another process can open: cudaEventCreateWithFlags with
            cudaEventInterprocess and cudaEventDisableTiming." \
            "Happened: cudaIpcGetEventHandle has refused the event."
    expect_journal "$QUESTIONS"' (ok("exporter"; "cudaMemPoolExportPointer") | length == 1)
        and (ok("importer"; "cudaMemPoolImportPointer") | length == 1)' \
        'one process exports a block, the other imports it: put back what was there.' \
        "$QUESTIONS"' "exports: \(ok("exporter"; "cudaMemPoolExportPointer")
            | length), imports: \(ok("importer"; "cudaMemPoolImportPointer") | length)."' \
        -- "$QUESTIONS"' (opened("exporter") | length == 1) and (opened("importer")
            | length == 1)' \
        'each process opens one event of the other.' \
        "$QUESTIONS"' "events opened in the exporter: \(opened("exporter")
            | length), in the importer: \(opened("importer") | length)."'
}

@test "an event is recorded before it is told" {
    run_both
    expect_journal "$QUESTIONS"' before(ok("exporter"; "launch_fill"); records("exporter"))
        and before(records("exporter"); told("exporter"))' \
        'the exporter records its event behind the fill, and tells it then. A wait for an event that
            was not recorded yet waits for nothing.' \
        "$QUESTIONS"' history("exporter")' \
        -- "$QUESTIONS"' before(records("importer"); told("importer"))' \
        'the importer records its event, and tells it then: recorded before it is told. The exporter
            waits as soon as it hears of it, and a wait for an event that was not recorded yet waits
            for nothing.' \
        "$QUESTIONS"' history("importer")'
}

@test "events order the work, not the waiting of a host" {
    run_both
    expect_journal "$QUESTIONS"' told("exporter") as $told | [.[]
        | select(.of == "exporter" and (.call // "" | test("Synchronize$|^cudaMemcpy$"))
        and .n < ($told[0].n // 0))] | length == 0' \
        'the exporter'\''s host does not wait for its fill: the event is there for that.' \
        "$QUESTIONS"' history("exporter")' \
        -- "$QUESTIONS"' told("importer") as $told
            | [.[] | select(.of == "importer" and (.call // "" | test("Synchronize$|^cudaMemcpy$"))
            and .n < ($told[0].n // 0))] | length == 0' \
        'the importer'\''s host does not wait, not for the fill and not for its add: let streams
            wait, for the events (cudaStreamWaitEvent).' \
        "$QUESTIONS"' history("importer")'
}

@test "the importer's stream waits for the fill" {
    run_both
    expect_journal "$QUESTIONS"' waits("importer") as $waits | ok("importer"; "launch_add") as $adds
        | before($waits; $adds) and $waits[0].stream == $adds[0].stream' \
        'the stream that adds waits for the exporter'\''s event first (cudaStreamWaitEvent). The
            message says that the fill was put into a stream: it may still run.' \
        "$QUESTIONS"' history("importer")'
}

@test "the importer frees, and records its event behind the free" {
    run_both
    expect_journal "$QUESTIONS"' ok("importer"; "cudaFreeAsync") | length == 1' \
        'each process that imports a block frees it, too: cudaFreeAsync in the importer.' \
        "$QUESTIONS"' history("importer")' \
        -- "$QUESTIONS"' ok("importer"; "cudaFreeAsync") as $frees | before($frees;
            told("importer"))' \
        'the importer frees first: its free is in its stream before the exporter hears of it.' \
        "$QUESTIONS"' history("importer")' \
        -- "$QUESTIONS"' ok("importer"; "cudaFreeAsync") as $frees | final("importer") as $record
            | $frees[0].n < $record.n and $frees[0].stream == $record.stream' \
        'the importer'\''s event stands for its free, too: the record comes behind it, in the same
            stream. The exporter may free only after that.' \
        "$QUESTIONS"' history("importer")'
}

@test "the exporter's stream waits for the importer's event, then uses and frees the block" {
    run_both
    expect_journal "$QUESTIONS"' waits("exporter") | length > 0' \
        'the exporter'\''s stream waits for the importer'\''s event (cudaStreamWaitEvent). The
            message says that the add was put into a stream, not that it is done.' \
        "$QUESTIONS"' history("exporter")' \
        -- "$QUESTIONS"' waits("exporter") as $waits | ok("exporter"; "cudaFreeAsync") as $frees
        | before($waits; ok("exporter"; "cudaMemcpyAsync")) and before($waits; $frees)
            and $waits[0].stream == $frees[0].stream' \
        'the stream that copies and frees the block is the one that waits for the importer'\''s
            event, and it waits first.' \
        "$QUESTIONS"' history("exporter")'
}

@test "it prints what a real device prints, also for 96 MiB and under other schedules" {
    local schedule
    run_both
    expect_right 14_ipc_allocation
    for schedule in late random:1; do
        # shellcheck disable=SC2034  # run_lesson reads it
        SIM_ENV=(SIM_SCHEDULE="$schedule")
        run_both
        expect_right 14_ipc_allocation
    done
    SIM_ENV=()
    run_both 96
    expect_right 14_ipc_allocation.96
}

@test "where no pool can be shared (SIM_HANDLE_TYPES=0) it says so, and ends with status 77" {
    # shellcheck disable=SC2034
    SIM_ENV=(SIM_HANDLE_TYPES=0)
    run_lesson
    expect_status 77 'where cudaMemPoolCreate refuses a pool for file descriptors the lesson is
        skipped: exit status 77.'
    [[ "$output" == skipped:*cudaMemPoolCreate* ]] ||
        miss "Expected: a line that begins with \"skipped:\" and names the call." \
            "Happened: $(visible "$output")"
}
