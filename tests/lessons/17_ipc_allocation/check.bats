# Lesson 17: two processes use one allocation, ordered by two events; who frees first. Judges
# $LESSON.
load ../grading/check

setup_file() { lesson_setup 17_ipc_allocation; }

# opened: the event of the other process that this one opened. sent: the event of this process whose
# handle it got and sent.
definitions 'def ok($of; $call): [.[] | select(.of == $of and .call == $call
    and .result == "cudaSuccess")];
    def opened($of): [ok($of; "cudaIpcOpenEventHandle")[].event];
    def sent($of): [ok($of; "cudaIpcGetEventHandle")[]];
    def records($of): [sent($of)[].event] as $sent | [(ok($of; "cudaEventRecord")[],
        ok($of; "cudaEventRecordWithFlags")[]) | select(.event | IN($sent[]))] | sort_by(.n);
    def final($of): sent($of) as $sent | records($of) | (map(select(.n < ($sent[0].n // 0))) | last)
        // last;
    def waits($of): opened($of) as $event | [ok($of; "cudaStreamWaitEvent")[]
        | select(.event | IN($event[]))];
    def before($first; $next): ($first | length > 0) and ($next | length > 0)
        and $first[0].n < $next[0].n;
    def in_order($of; $calls): [.[] | select(.of == $of and .result == "cudaSuccess"
        and (.call | IN($calls[]))) | .call + (if .stream then " (stream \(.stream))" else "" end)]
        | if . == [] then "none of the calls that order work" else join(", ") end;
    def history($of): "The \($of) called, in this order: " + in_order($of;
        ["launch_fill", "launch_add", "cudaMemcpyAsync", "cudaFreeAsync", "cudaEventRecord",
        "cudaEventRecordWithFlags", "cudaStreamWaitEvent", "cudaStreamSynchronize",
        "cudaEventSynchronize", "cudaDeviceSynchronize", "cudaMemcpy", "cudaIpcGetEventHandle",
        "cudaIpcOpenEventHandle"]) + ".";
    # The calls in which the host learned that work is over, before $to.
    def learned($of; $to): [.[] | select(.of == $of and .acquired and .n < $to)];
    def handed_on($of): sent($of)[0].n // 0;
    # The exporter reads the data, or frees it, and waits there.
    def used_again: [ok("exporter"; "cudaMemcpyAsync")[0].n, ok("exporter"; "cudaFreeAsync")[0].n]
        | map(select(. != null)) | min // infinite;
    def waited($of; $to): "its host waited in \(learned($of; $to)[0].call). " + history($of);'

# What follows from events that do not cross is missed in the first test.
# shellcheck disable=SC2154  # run_lesson sets journal
after_the_events() {
    run_both
    grep -qs '"cudaIpcOpenEventHandle".*"cudaSuccess"' "$journal" || after_the_rest
}

# waits_instead PROCESS: a host that waits in the place of its stream is missed in a test of its
# own; that the stream does not wait follows from it.
waits_instead() {
    [ ! -e "$CHECK_FOLDER/host_waited" ] ||
        [ "$(in_journal "waits(\"$1\") != []")" = true ] || after_the_rest
}

# shellcheck disable=SC2154  # run_lesson sets errors
@test "two processes share an allocation and two events" {
    run_both
    ! grep -q 'cudaIpcGetEventHandle.*cudaErrorInvalidResourceHandle' <<<"$errors" ||
        missed "Expected: an event that another process can open: cudaEventCreateWithFlags with
            cudaEventInterprocess, which requires cudaEventDisableTiming." \
            "Happened: cudaIpcGetEventHandle refused the event."
    expect_journal '(ok("exporter"; "cudaMemPoolExportPointer") | length == 1)
        and (ok("importer"; "cudaMemPoolImportPointer") | length == 1)' \
        'one process exports an allocation, the other imports it, as in the starter.' \
        '"exports: \(ok("exporter"; "cudaMemPoolExportPointer")
            | length), imports: \(ok("importer"; "cudaMemPoolImportPointer") | length)."' \
        -- '(opened("exporter") | length == 1) and (opened("importer")
            | length == 1)' \
        'each process opens one event of the other.' \
        '"events opened in the exporter: \(opened("exporter")
            | length), in the importer: \(opened("importer") | length)."'
}

@test "an event is recorded before it is sent" {
    after_the_events
    expect_journal 'before(ok("exporter"; "launch_fill"); records("exporter"))
        and before(records("exporter"); sent("exporter"))' \
        'the exporter records its event after the fill, and sends it after that. A wait for an event
            that is not recorded yet waits for nothing.' \
        'history("exporter")' \
        -- 'before(records("importer"); sent("importer"))' \
        'the importer records its event before it sends it. The exporter waits as soon as it
            receives the event, and a wait for an event that is not recorded yet waits for
            nothing.' \
        'history("importer")'
}

@test "streams wait for events, and no host waits in between" {
    run_both
    expect_journal 'learned("exporter"; handed_on("exporter")) == []' \
        'the exporter'\''s host does not wait for its fill: the event orders the work without
            that.' \
        'waited("exporter"; handed_on("exporter"))' \
        -- 'learned("importer"; handed_on("importer")) == []' \
        'the importer'\''s host waits neither for the fill nor for its add, in no call and in no
            loop of queries. A host wait orders the work as well, but the host can do nothing else
            meanwhile: make the stream wait for the event (cudaStreamWaitEvent).' \
        'waited("importer"; handed_on("importer"))' \
        -- 'learned("exporter"; used_again) == []' \
        'the exporter'\''s host does not wait for the importer'\''s event, in no call and in no loop
            of queries. That orders the work as well, but the host can do nothing else meanwhile:
            make the stream wait (cudaStreamWaitEvent).' \
        'waited("exporter"; used_again)' || {
        : >"$CHECK_FOLDER/host_waited"
        return 1
    }
}

@test "the importer's stream waits for the fill" {
    after_the_events
    waits_instead importer
    expect_journal 'waits("importer") as $waits | ok("importer"; "launch_add") as $adds
        | before($waits; $adds) and $waits[0].stream == $adds[0].stream' \
        'the stream that adds waits for the exporter'\''s event first (cudaStreamWaitEvent). The
            message only means that the fill is in a stream: it may still run (YOUR WORK, 1 of
            3).' \
        'history("importer")'
}

@test "the importer frees, and records its event after the free" {
    after_the_events
    expect_journal 'ok("importer"; "cudaFreeAsync") | length == 1' \
        'each process that imports an allocation frees its import: cudaFreeAsync in the importer.' \
        'history("importer")' \
        -- 'ok("importer"; "cudaFreeAsync") as $frees | before($frees;
            sent("importer"))' \
        'the importer frees first: its free is in its stream before it sends its event.' \
        'history("importer")' \
        -- 'ok("importer"; "cudaFreeAsync") as $frees | final("importer") as $record
            | $frees[0].n < $record.n and $frees[0].stream == $record.stream' \
        'the importer'\''s event covers its free, too: the record comes after the free, in the same
            stream. The exporter may free only after that (YOUR WORK, 2 of 3).' \
        'history("importer")'
}

@test "the exporter's stream waits for the importer's event, then uses and frees the data" {
    after_the_events
    waits_instead exporter
    expect_journal 'waits("exporter") | length > 0' \
        'the exporter'\''s stream waits for the importer'\''s event (cudaStreamWaitEvent). The
            message only means that the add is in a stream (YOUR WORK, 3 of 3).' \
        'history("exporter")' \
        -- 'ok("exporter"; "cudaMemcpyAsync") | length > 0' \
        'the exporter reads the data with cudaMemcpyAsync before it frees it, as in the starter.' \
        'history("exporter")' \
        -- 'waits("exporter") as $waits | ok("exporter"; "cudaFreeAsync") as $frees
        | before($waits; ok("exporter"; "cudaMemcpyAsync")) and before($waits; $frees)
            and $waits[0].stream == $frees[0].stream' \
        'the stream that copies and frees the data is the one that waits for the importer'\''s
            event, and it waits first.' \
        'history("exporter")'
}

# The program prints no size.
# shellcheck disable=SC2034  # run_lesson reads SIM_ENV
@test "it prints what a real device prints, also under other schedules and with another size" {
    local SIZE
    after_the_rest
    run_both
    expect_right 17_ipc_allocation
    SIM_ENV=(SIM_SCHEDULE=late)
    run_both
    expect_right 17_ipc_allocation
    SIM_ENV=(SIM_SCHEDULE=random:1)
    draw SIZE 2 7
    run_both "$SIZE"
    expect_right 17_ipc_allocation
}

@test "where no pool can be shared (SIM_HANDLE_TYPES=0) it prints why, and ends with status 77" {
    # shellcheck disable=SC2034
    SIM_ENV=(SIM_HANDLE_TYPES=0)
    run_lesson
    expect_status 77 'where cudaMemPoolCreate refuses a pool for file descriptors the lesson is
        skipped: exit status 77.'
    [[ "$output" == skipped:*cudaMemPoolCreate* ]] ||
        miss "Expected: a line that begins with \"skipped:\" and names the call." \
            "Happened: $(visible "$output")"
}
