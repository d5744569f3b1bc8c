# Lesson 10: which event gives freed memory to another stream. Judges $LESSON.
load ../grading/check

setup_file() { lesson_setup 10_reuse_events; }

# cases: for each pool of the table its two allocations, and the free between them. line: the pool
# of the pipeline, with its allocations; round 1 has one allocation in each of two streams.
definitions 'def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
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
    def waits: line as $l | [.[] | select(.acquired and .n > $l.allocations[0].n
        and .n < $l.allocations[-1].n)];
    def grown($stream): [line.allocations[] | select(.stream == $stream)][1:]
        | map(select(.from == "new"));
    # The neighbor of that memory which its stream freed after the record: the two are one range.
    def joined($memory; $free; $record; $new): ok("cudaFreeAsync") as $frees
        | [line.allocations[] | select(.offset + .bytes == $memory.offset
            or .offset == $memory.offset + $memory.bytes) | .allocation] as $neighbors
        | any($frees[]; .stream == $free.stream and .n > $record.n and .n < $new.n
            and (.allocation | IN($neighbors[])));
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
        | "and an event was recorded there after the free."
        + if ($waited | index($stream) | not) then " Waiting for that record before the
                allocation: " + (if $waited == [] then "no stream"
                else [$waited[] as $w | $all | named($w)] | join(", ") end) + "."
        elif joined($before; $free; $record; $new) then " \(named($stream) | sub("^t"; "T")) waited
                for that record. But after the record \(named($free.stream)) also freed the
                neighbor of this memory, and neighbors that one stream frees become one range: it
                counts as freed with the last of them, behind the record."
        else " \(named($stream) | sub("^t"; "T")) waited for that record, too late or for an older
                record of its event." end
        end
        end | gsub("\n *"; " ");
    def spread: [line.allocations[].stream] | group_by(.) | map(length);'

@test "the nine cases are as they were" {
    run_lesson
    expect_journal '[cases[].from] == ["new", "event", "new", "event", "new", "new",
            "new", "event", "new"]' \
        'nine cases, each with a pool of its own, whose policies it has, and two allocations from
            it: the starter makes them in pool_following and try_case.' \
        '"\(cases | length) pools gave two allocations each, \([cases[]
            | select(.from == "event")] | length) of them by an event or the legacy stream."' \
        -- '. as $all | cases | length == 9 and all(.[]; . as $c
            | [$all[] | select(.call == "launch_hold" and .n > $c.first and .n < $c.second)]
            | length == 1)' \
        'in each case the freeing stream holds at a closed gate when the second allocation is made,
            so that the free is pending: try_case of the starter launches launch_hold there.' \
        '"\(ok("launch_hold") | length) calls of launch_hold."'
}

@test "three stages in three streams; the host waits nowhere in the pipeline" {
    run_lesson
    expect_journal 'stages | [.[]] | length == 3 and (unique | length) == 3
            and all(.[]; . != null)' \
        'three stages in three streams: launch_fill in load, launch_add in work, the copy to the
            host in store.' \
        '"the stages ran in \([stages[]] | unique | length) different streams."' \
        -- 'waits == []' \
        'the host waits nowhere between the first and the last allocation of the pipeline: events
            order the streams.' \
        '"the host called \([waits[].call] | unique | join(", ")), \(waits | length)
            times." | gsub("\n *"; " ")' \
        -- '[line.pool] as $p | flags($p; "cudaMemPoolReuseFollowEventDependencies")
            + flags($p; "cudaMemPoolReuseAllowOpportunistic")
            + flags($p; "cudaMemPoolReuseAllowInternalDependencies") == [1, 0, 0]' \
        'the policies of the pool stay: follow event dependencies on, the two others off.' \
        '[line.pool] as $p | "follow event dependencies was
            \(flags($p; "cudaMemPoolReuseFollowEventDependencies")[0]), opportunistic
            \(flags($p; "cudaMemPoolReuseAllowOpportunistic")[0]), internal dependencies
            \(flags($p; "cudaMemPoolReuseAllowInternalDependencies")[0])." | gsub("\n *"; " ")' \
        -- 'spread == [8, 8]' \
        'each of the eight rounds allocates its input in one stream and its result in another.' \
        '"the streams of the pipeline made \(spread | map(tostring)
            | join(" and ")) allocations." | gsub("\n *"; " ")'
}

@test "from the second round on no stage takes new memory" {
    run_lesson
    expect_journal 'spread == [8, 8]' \
        'eight rounds, each with its input in one stream and its result in another.' \
        -- 'stages.load as $s | grown($s) == []' \
        'from round 2 on the load stream allocates its input in memory that was freed. The free must
            come before the most recent record that the load stream waited for.' \
        'stages.load as $s | why($s)' \
        -- 'stages.work as $s | grown($s) == []' \
        'from round 2 on the work stream allocates its result in memory that was freed. The free
            must come before the most recent record that the work stream waited for.' \
        'stages.work as $s | why($s)' || {
        : >"$CHECK_FOLDER/grown"
        return 1
    }
    expect_clean
}

# asked rounds, asked held: the pipeline, called by the check (tests/lessons/asked_pipeline.h), with
# more rounds than main has, and of a size of which no second round fits into the segment of the
# first. Sets rounds and mib.
asked() {
    draw rounds 9 14
    draw mib 9 15
    ask_lesson asked_pipeline 'pipeline(rounds, mib, pool, results, reserved) and the streams load,
        work and store as they were at the start; a host that waits for none of them; and a pipeline
        that ends without an error.' "$1" "$rounds" "$mib"
}

@test "other rounds and another size need no more memory than one round" {
    local rounds mib round answers=()
    [ ! -e "$CHECK_FOLDER/grown" ] || after_the_rest   # so it grows here
    asked rounds
    for ((round = 0; round < rounds; round++)); do
        answers+=("pipeline of $rounds rounds of $mib MiB: results[$round]" $((round + 1)))
    done
    expect_answers 'pipeline runs the rounds that it is given, and the result of each is its number:
        1, 2, 3 and so on.' "${answers[@]}"
    definitions 'def made: ok("cudaMallocAsync") + ok("cudaMallocFromPoolAsync") | sort_by(.n);
        def computed($round): . as $all | ok("launch_fill")
            | [.[] | select(.value == $round and .bytes == '$((mib << 20))').allocation] as $inputs
            | [$all[] | select(.call == "cudaMemcpyAsync" and .bytes == '$((mib << 20))'
                and (.source_allocation | IN($inputs[]))).allocation] as $results
            | any($all[]; .call == "launch_add" and .value == 1 and .bytes == '$((mib << 20))'
                and (.allocation | IN($results[])))
            and any($all[]; .call == "cudaMemcpyAsync" and .kind == "DeviceToHost"
                and (.allocation | IN($results[])));'
    expect_journal 'made[2:] | length == '$((2 * rounds))'
            and ([.[].pool] | unique | length) == 1' \
        'each round allocates its input and its result from the pool that pipeline is given.' \
        '"\(made[2:] | length) allocations in '$rounds' rounds, from \(made[2:]
            | [.[].pool] | unique | length) pools." | gsub("\n *"; " ")' \
        -- '([made[2:][].reserved] | max) <= made[1].reserved' \
        "$rounds rounds of $mib MiB run in the memory of one input and one result." \
        '"for an input and a result a pool reserves \(made[1].reserved / 1048576) MiB,
            and the pipeline'\''s reserved \([made[2:][].reserved] | max / 1048576)."
            | gsub("\n *"; " ")' \
        -- '. as $all | all(range('$rounds'); . as $round | $all | computed($round))' \
        'each round computes on the device, as in the starter: the input is filled with the number
            of the round and copied to the result, 1 is added there, and the last number of the
            result is copied to the host.' \
        '. as $all | [range('$rounds') | select(. as $round | $all | computed($round)
            | not)] | "in round \(.[0] + 1) one of these calls is missing, or is for other memory or
            another value." | gsub("\n *"; " ")'
}

@test "the load of a round does not wait for the store of the round before" {
    local rounds mib
    asked held
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
    expect_right 10_reuse_events
}

# Two allocations of such a size fit into one segment, so each figure is that of a segment.
@test "the same with another size" {
    local mib expected=tests/lessons/10_reuse_events/expected/output.txt other
    after_the_rest
    draw mib 2 9
    run_lesson "$mib"
    expect_clean
    other=$(diff -b <(sed -E 's/ [0-9]+ MiB/ 32 MiB/g' "$expected") "$CHECK_RUN/stdout" |
        grep -m 1 '^[<>]') || return 0
    missed "Expected: with $mib MiB the lines of $expected, with 32 MiB for each figure." \
        "Happened: a line differs: ${other:2}"
}
