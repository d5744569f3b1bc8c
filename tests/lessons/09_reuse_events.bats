# Lesson 09: which event gives freed memory to another stream. Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 09_reuse_events; }

# cases: for each pool of the table its two allocations, and the free between them. line: the pool
# of the pipeline, with its allocations; round 1 has one allocation in each of two streams.
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def cases: [ok("cudaMemPoolCreate")[].pool] as $pools
        | ok("cudaMallocFromPoolAsync") as $all | ok("cudaFreeAsync") as $frees
        | [$pools[] as $pool | [$all[] | select(.pool == $pool)] as $a | select($a | length == 2)
        | {pool: $pool, first: $a[0].n, second: $a[1].n, from: $a[1].from,
            freed: ([$frees[] | select(.allocation == $a[0].allocation) | .n] | first)}];
    def flags($pools; $name): [$pools[] as $pool | [ok("cudaMemPoolSetAttribute")[]
        | select(.pool == $pool and .attribute == $name) | .value] | last];
    def line: (ok("cudaMemPoolCreate") | last.pool) as $pool
        | {pool: $pool, allocations: [ok("cudaMallocFromPoolAsync")[] | select(.pool == $pool)]};
    def stage($call): line as $l | ok($call) | map(select(.n > $l.allocations[0].n)) | last.stream;
    def stages: {load: stage("launch_fill"), work: stage("launch_add"),
        store: stage("cudaMemcpyAsync")};
    def named($stream): . as $all | stages | to_entries | map(select(.value == $stream).key)
        | if . == [] then "stream \($stream)" else "the \(.[0]) stream" end;
    def waits: line as $l | [.[] | select(.call == ("cudaStreamSynchronize",
        "cudaDeviceSynchronize", "cudaEventSynchronize")
        and .n > $l.allocations[0].n and .n < $l.allocations[-1].n)];
    def grown($stream): [line.allocations[] | select(.stream == $stream)][1:]
        | map(select(.from == "new"));
    # Why the first such allocation found nothing: what became of the one before it in its stream.
    def why($stream): . as $all | (grown($stream) | first) as $new
        | ([line.allocations[] | select(.stream == $stream and .n < $new.n)] | last) as $before
        | ([ok("cudaFreeAsync")[] | select(.allocation == $before.allocation
            and .n < $new.n)] | first) as $free
        | "in \(named($stream)) the allocation of round \([line.allocations[]
            | select(.stream == $stream and .n <= $new.n)] | length) took new memory."
        + if $free == null then " What it allocated in the round before was not freed by then."
        else ([ok("cudaEventRecord")[] | select(.stream == $free.stream and .n < $new.n)] | last)
            as $record
        | " Memory had been freed in \(named($free.stream)), "
        + if $record == null or $record.n < $free.n then "but no event was recorded there between
                the free and this allocation: the newest record came before the free."
        else ([ok("cudaStreamWaitEvent")[] | select(.event == $record.event and .n > $record.n
            and .n < $new.n) | .stream] | unique) as $waited
        | "and an event was recorded there after the free. Waiting for that record before the
                allocation: " + (if $waited == [] then "no stream"
                else [$waited[] as $w | $all | named($w)] | join(", ") end) + "." end
        end | gsub("\n *"; " ");
    def spread: [line.allocations[].stream] | group_by(.) | map(length);'

@test "the nine cases are as they were" {
    run_lesson
    expect_journal "$QUESTIONS"' [cases[].from] == ["new", "event", "new", "event", "new", "new",
            "new", "event", "new"]' \
        'nine cases, each with a pool of its own and two allocations from it. That part was there at
            the start: put it back.' \
        "$QUESTIONS"' "\(cases | length) pools gave two allocations each, \([cases[]
            | select(.from == "event")] | length) of them by an event or the legacy stream."' \
        -- "$QUESTIONS"' . as $all | cases | length == 9 and all(.[]; . as $c
            | [$all[] | select(.call == "launch_hold" and .n > $c.first and .n < $c.second)]
            | length == 1)' \
        'in each case the freeing stream holds at a closed gate, so that the free is pending. Put
            launch_hold back.' \
        "$QUESTIONS"' "\(ok("launch_hold") | length) calls of launch_hold."'
}

@test "three stages in three streams; the host waits nowhere in the pipeline" {
    run_lesson
    expect_journal "$QUESTIONS"' stages | [.[]] | length == 3 and (unique | length) == 3
            and all(.[]; . != null)' \
        'three stages in three streams: launch_fill in load, launch_add in work, the copy to the
            host in store.' \
        "$QUESTIONS"' "the stages ran in \([stages[]] | unique | length) different streams."' \
        -- "$QUESTIONS"' waits == []' \
        'the host waits nowhere between the first and the last allocation of the pipeline: events
            order the streams.' \
        "$QUESTIONS"' "the host called \([waits[].call] | unique | join(", ")), \(waits | length)
            times." | gsub("\n *"; " ")' \
        -- "$QUESTIONS"' [line.pool] as $p | flags($p; "cudaMemPoolReuseFollowEventDependencies")
            + flags($p; "cudaMemPoolReuseAllowOpportunistic")
            + flags($p; "cudaMemPoolReuseAllowInternalDependencies") == [1, 0, 0]' \
        'the policies of the pool stay: follow event dependencies on, the two others off.' \
        "$QUESTIONS"' [line.pool] as $p | "follow event dependencies was
            \(flags($p; "cudaMemPoolReuseFollowEventDependencies")[0]), opportunistic
            \(flags($p; "cudaMemPoolReuseAllowOpportunistic")[0]), internal dependencies
            \(flags($p; "cudaMemPoolReuseAllowInternalDependencies")[0])." | gsub("\n *"; " ")' \
        -- "$QUESTIONS"' spread == [8, 8]' \
        'each of the eight rounds allocates its input in one stream and its result in another.' \
        "$QUESTIONS"' "the streams of the pipeline made \(spread | map(tostring)
            | join(" and ")) allocations." | gsub("\n *"; " ")'
}

@test "from the second round on no stage takes new memory" {
    run_lesson
    expect_journal "$QUESTIONS"' spread == [8, 8]' \
        'eight rounds, each with its input in one stream and its result in another.' \
        -- "$QUESTIONS"' stages.load as $s | grown($s) == []' \
        'from round 2 on the load stream allocates its input in memory that was freed. The free must
            come before the most recent record that the load stream waited for.' \
        "$QUESTIONS"' stages.load as $s | why($s)' \
        -- "$QUESTIONS"' stages.work as $s | grown($s) == []' \
        'from round 2 on the work stream allocates its result in memory that was freed. The free
            must come before the most recent record that the work stream waited for.' \
        "$QUESTIONS"' stages.work as $s | why($s)'
    expect_clean
}

# asked WHAT...: the pipeline, called by the check (tests/lessons/asked_pipeline.h)
PIPELINE='pipeline(rounds, mib, pool, results, reserved) and the streams load, work and store as
    they were at the start, and a pipeline that ends without an error.'
asked() { ask_lesson asked_pipeline "$PIPELINE" "$@"; }

@test "other rounds and another size need no more memory than one round" {
    local rounds mib
    # More than main has; of a size of which no second round fits into the segment of the first.
    draw rounds 9 14
    draw mib 9 15
    asked rounds "$rounds" "$mib"
}

@test "the load of a round does not wait for the store of the round before" {
    local mib
    draw mib 1 9
    # The test above compiles it, unless this one runs alone.
    [ -e "$CHECK_FOLDER/asked_pipeline_program" ] || asked held "$mib"
    # With a journal. The last argument is the word of tests/lessons/asked.h.
    CHECK_RUN=$CHECK_FOLDER/held journal=$CHECK_FOLDER/held/journal.jsonl
    [ -e "$CHECK_RUN" ] || {
        mkdir "$CHECK_RUN"
        "$BASH" tests/tools/run.sh "$CHECK_RUN" LD_LIBRARY_PATH="$CHECK_LIBRARY" \
            SIM_JOURNAL="$ROOT/$journal" -- \
            "$ROOT/$CHECK_FOLDER/asked_pipeline_program" held "$mib" asked-word
    }
    [ "$(<"$CHECK_RUN/status")" = 0 ] || missed "Expected: $PIPELINE" \
        "Happened: called by the check for 2 rounds, it did not end, or it died or ended the
            program."
    expect_journal '([.[] | select(.did == "run" and .op == "hold").n] | first) as $opened
            | [.[] | select(.did == "run" and .op == "fill" and .n < $opened)] | length >= 2' \
        'the load of round 2 runs while the store of round 1 is still busy. The load stream needs
            the memory that the work stream freed, and nothing of the store stream.' \
        '"with the store stream held, the load of round 2 did not begin: the load stream waits for
            the store stream, directly or through the work stream." | gsub("\n *"; " ")'
}

@test "it prints what a real device prints" {
    after_the_rest
    run_lesson
    expect_right 09_reuse_events
}

# Two allocations of such a size fit into one segment, so each figure is that of a segment.
@test "the same with another size" {
    local mib expected=tests/lessons/expected/09_reuse_events.txt other
    after_the_rest
    draw mib 2 9
    run_lesson "$mib"
    expect_clean
    other=$(diff -b <(sed -E 's/ [0-9]+ MiB/ 32 MiB/g' "$expected") "$CHECK_RUN/stdout" |
        grep -m 1 '^[<>]') || return 0
    missed "Expected: with $mib MiB the lines of $expected, with 32 MiB for each figure." \
        "Happened: a line differs: ${other:2}"
}
