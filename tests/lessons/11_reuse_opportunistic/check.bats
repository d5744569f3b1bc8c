# Lesson 11: finished or not matters if the policy is on; a synchronization matters in any case.
# Judges $LESSON.
load ../grading/check

setup_file() { lesson_setup 11_reuse_opportunistic; }

# cases: for each of the first six pools, and for the two of the server at the end, its two
# allocations and the free between them. phases: the allocations of the batch, from the pool
# between these.
definitions 'def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def case_of($pool): ([ok("cudaMallocFromPoolAsync")[] | select(.pool == $pool)]) as $a
        | select($a | length >= 2)
        | {pool: $pool, first: $a[0].n, second: $a[1].n, freeing: $a[0].stream,
            stream: $a[1].stream, from: $a[1].from,
            freed: ([ok("cudaFreeAsync")[] | select(.allocation == $a[0].allocation) | .n]
                | first)};
    def pools: [ok("cudaMemPoolCreate")[].pool];
    def table: . as $all | [pools[:6][] as $pool | $all | case_of($pool)];
    def server: . as $all | [pools[7:][] as $pool | $all | case_of($pool)];
    def phases: pools[6] as $pool | [ok("cudaMallocFromPoolAsync")[] | select(.pool == $pool)];
    def between($from; $to): .[$from:$to] | map(select(.n > $from and .n < $to and .call != null));
    def opened($c): [.[] | select(.did == "run" and .op == "hold" and .stream == $c.freeing
        and .n > $c.first) | .n] | first;
    def policy($pool): [ok("cudaMemPoolSetAttribute")[] | select(.pool == $pool
        and .attribute == "cudaMemPoolReuseAllowOpportunistic") | .value] | last
        | if . == 0 then "off" else "on" end;
    # What the host called between a free and the allocation after it.
    def history($from; $to): [between($from; $to)[] | select(.acquired or (.call
                | test("Synchronize|Query|EventRecord|WaitEvent")))
            | .call + (if .stream then " of stream \(.stream)" else "" end) + ": \(.result)"]
        | group_by(.) | map("\(length) x \(.[0])") | join(", ")
        | if . == "" then "no synchronization and no query" else . end;
    def grown: phases as $p | [range(1; $p | length) | select($p[.].from == "new")] | first;
    def why_grown: phases as $p | grown as $i
        | ([ok("cudaFreeAsync")[] | select(.allocation == $p[$i - 1].allocation) | .n] | first)
            as $freed
        | "phase \($i + 1) took new memory. "
        + if $freed == null or $freed > $p[$i].n then "Phase \($i) had not freed its memory."
        else "Opportunistic reuse was \(policy($p[0].pool)); between the free of phase \($i) and
                this allocation: \(history($freed; $p[$i].n))." end | gsub("\n *"; " ");'

@test "the six cases are as they were" {
    run_lesson
    expect_journal '. as $all | [table[0, 3]] | all(.[]; . as $c
            | ($all | opened($c)) as $opened | $opened != null and $opened > $c.second)' \
        'in the cases "pending" the gate opens after the second allocation.' \
        '"\(ok("launch_hold") | length) calls of launch_hold."' \
        -- '[table[].from] == ["new", "opportunistic", "synchronized", "new",
            "new", "synchronized"]' \
        'six cases, each with a pool of its own, whose policies it has, and two allocations from
            it: the starter makes them in pool_for and try_case.' \
        '"\(table | length) pools gave two allocations each; the second had its memory
            from: \([table[].from] | join(", "))." | gsub("\n *"; " ")' \
        -- '. as $all | [table[1, 4]] | all(.[]; . as $c
            | [$all | between($c.freed; $c.second)[] | select(.call == "cudaStreamQuery"
                and .stream == $c.freeing and .result == "cudaSuccess")] | length > 0)' \
        'in the cases "finished" the host queries the freeing stream until cudaSuccess: a sleep
            proves nothing.' \
        'table[1] as $c | "between free and allocation: \(history($c.freed;
            $c.second))." | gsub("\n *"; " ")'
}

# The phases of the batch: four, each in its own stream, in the memory of the first.
batch_holds() {
    expect_journal 'phases | length == 4 and ([.[].stream] | unique | length) == 4' \
        'the batch has four phases; each allocates and frees its memory, in a stream of its own.' \
        '"the pool of the batch gave \(phases | length) allocations, in
            \([phases[].stream] | unique | length) streams." | gsub("\n *"; " ")' \
        -- 'grown == null' \
        'every phase after the first runs in memory that was freed.' \
        'why_grown'
    # shellcheck disable=SC2154  # run_lesson sets it
    [[ $errors != *"hazard: host access"* ]] || expect_clean
}

# draw_size: into $mib. An allocation of that size takes a segment for itself.
draw_size() { draw mib 17 20; }

@test "each phase of the batch runs in the memory of the first" {
    run_lesson
    batch_holds
    expect_journal 'phases | all(.[]; .from != "opportunistic")' \
        'the batch reuses by a rule that is certain. With the policy on, a phase gets the memory if
            the device happens to be far enough when it allocates; after a synchronization it gets
            it in any case.' \
        'phases as $p | ([range($p | length) | select($p[.].from == "opportunistic")]
            | first) as $i | ([ok("cudaFreeAsync")[] | select(.allocation == $p[$i - 1].allocation)
            | .n] | first) as $freed
            | "phase \($i + 1) got its memory by opportunistic reuse. Between the free of phase
                \($i) and this allocation: \(history($freed; $p[$i].n))." | gsub("\n *"; " ")'
}

# Under a random schedule a kernel may take two thousand times as long, and the journal of a program
# that queries meanwhile fills the folder of its run: a correct program would be stopped.
@test "so it does with a faster and with a slower device, and with other sizes" {
    local mib schedule
    after_the_rest
    draw_size
    for schedule in instant late; do
        # shellcheck disable=SC2034  # for run_lesson
        SIM_ENV=("SIM_SCHEDULE=$schedule")
        run_lesson "$mib"
        batch_holds
    done
}

@test "the server waits for nothing" {
    run_lesson
    expect_journal '. as $all | server | length == 2 and all(.[]; .second != null)
            and (.[0] as $c | ($all | opened($c)) as $o | $o != null and $o > $c.second)' \
        'the server gets memory while the earlier request is pending: the gate is still closed, so a
            host that waits for the earlier stream waits forever.' \
        'if server | length == 2 then "the gate was open: the starter launches the hold
            in try_case." else "the server got \(server | length) of 2 allocations, and then the
            program ended." end | gsub("\n *"; " ")' \
        -- 'server[0].from == "new"' \
        'while the earlier request is pending, the server gets new memory: with memory of the
            earlier request its stream would have to wait.' \
        'server[0] as $c | "it got memory of the earlier request, and its stream waits.
            Between free and allocation: \(history($c.freed; $c.second))." | gsub("\n *"; " ")'
}

@test "the server takes memory that the device has finished with" {
    run_lesson
    [[ $errors != *"hazard: waiting forever"* ]] || after_the_rest
    expect_journal 'server[1].from != "new" and server[1] != null' \
        'when the earlier request has finished, the server takes its memory. The pool looks for
            finished frees if opportunistic reuse is on; a query changes nothing in the pool.' \
        'server[1] as $c | if $c == null then "the server made no second allocation."
            else "it took new memory. Opportunistic reuse was \(policy($c.pool)); between free and
                allocation: \(history($c.freed; $c.second))." end | gsub("\n *"; " ")' \
        -- 'server[1].from != "synchronized"' \
        'the host synchronizes nothing in serve, not even a stream that has finished: a server
            leaves it to the pool to see what the device has finished with.' \
        'server[1] as $c | "the memory was synchronized. Opportunistic reuse was
            \(policy($c.pool)); between free and allocation: \(history($c.freed; $c.second))."
            | gsub("\n *"; " ")'
}

@test "it prints what a real device prints" {
    after_the_rest
    run_lesson
    expect_right 11_reuse_opportunistic
}

@test "the same with another size and another schedule" {
    local mib expected=tests/lessons/11_reuse_opportunistic/expected/output.txt other
    after_the_rest
    draw_size
    # shellcheck disable=SC2034  # for run_lesson
    SIM_ENV=(SIM_SCHEDULE=late)
    run_lesson "$mib"
    expect_clean
    other=$(diff -b <(sed -E 's/ 64 MiB/ 32 MiB/g; s/128 MiB/64 MiB/g' "$expected") \
        "$CHECK_RUN/stdout" | grep -m 1 '^[<>]') || return 0
    missed "Expected: with $mib MiB the lines of $expected, with half of each figure." \
        "Happened: a line differs: ${other:2}"
}
