# Lesson 20: a free node in the graph, and the trim that is for graphs. Judges $LESSON.
load ../grading/check

setup_file() { lesson_setup 20_graph_memory; }

# launches: the calls, also those that were refused. allocations: what launches allocated, each with
# the launch that freed it (0: a call of the program; null: nothing).
definitions 'def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def launches: [.[] | select(.call == "cudaGraphLaunch")];
    def allocations: [.[] | select(.did == "free")] as $frees | [.[]
        | select(.did == "allocate" and .launch) as $one
        | $one + {freed: ([$frees[] | select(.allocation == $one.allocation) | .launch // 0]
            | first)}];
    def late: [ok("cudaGraphInstantiate")[] as $made | .[] | select(.n > $made.n
        and .graph == $made.graph and (.call // "" | test("^cudaGraphAdd")))];
    def last_launch: [launches[].n] | max;
    def trims: last_launch as $n
        | [.[] | select(.call == ("cudaDeviceGraphMemTrim", "cudaMemPoolTrimTo") and .n > $n)];
    # What the trims returned. The reserve of graphs is no pool.
    def returned: last_launch as $n
        | [.[] | select(.did == "release" and .why == "trim" and .n > $n)];
    def history: last_launch as $n | "after the last launch the calls were, in order: "
        + ([.[] | select((.n > $n) and (.call // "" | test("Get|^$") | not))
        | .call] | join(", ")) + ".";'

@test "two graphs, one captured and one built by hand, each launched twice" {
    run_lesson
    expect_journal '(ok("cudaStreamBeginCapture") | length == 1)
        and (ok("cudaGraphAddMemAllocNode") | length == 1)
        and ([.[] | select(.call == "cudaMallocAsync" and .node)] | length == 2)' \
        'the starter captures one graph, with two allocations, and builds one with
            cudaGraphAddMemAllocNode.' \
        '"\(ok("cudaStreamBeginCapture") | length) captures, \([.[]
            | select(.call == "cudaMallocAsync" and .node)]
            | length) captured allocations, \(ok("cudaGraphAddMemAllocNode")
            | length) allocation nodes added by hand."' \
        -- '[launches[].graph] | sort == [1, 1, 2, 2]' \
        'each of the two graphs is launched twice.' \
        '"the graphs launched were, in order: \([launches[].graph])."' \
        -- 'late | length == 0' \
        'the free node is in the graph before cudaGraphInstantiate: a launch runs the nodes that the
            graph had then.' \
        '"cudaGraphInstantiate came first, and then "
            + (late | map(.call) | unique | join(", ")) + "."' \
        -- 'all(launches[]; .result == "cudaSuccess")' \
        'the built graph can be launched twice. A graph cannot be launched while what its last
            launch allocated is not freed.' \
        '[launches[] | select(.result != "cudaSuccess")][0]
            | "a launch of graph \(.graph) returned \(.result)."'
}

@test "each launch frees what it allocates" {
    run_lesson
    after_the_rest   # what cannot be launched again is not freed
    expect_journal '(allocations | length == 6)
            and all(allocations[]; .freed == .launch)' \
        'each launch frees what it allocates: by a node of the same graph (cudaGraphAddMemFreeNode),
            not later and not by the next launch.' \
        '[allocations[] | select(.freed != .launch)] as $other | if $other == []
            then "\(allocations | length) allocations were made." else ($other | last)
            | "allocation \(.allocation) of launch \(.launch) was freed "
                + (if .freed == null then "by nothing." elif .freed == 0
                then "by a call of the program." else "in launch \(.freed)." end) end' \
        -- 'all(.[]; .did != "hazard" or .kind != "free before the use ends")' \
        'the free node comes after the last use of the memory: an edge leads from the memset node to
            the free node.' \
        '"the free node of a launch may run before the memset has ended."'
}

@test "at the end: a synchronization, then a trim of the pool, then a trim for the graphs" {
    run_lesson
    expect_journal 'last_launch as $n | any(ok("cudaDeviceGraphMemTrim")[];
        .n > $n and .device == 0)' \
        'at the end cudaDeviceGraphMemTrim, which returns the memory of graphs. No trim of a pool
            returns it, and destroying a graph returns nothing.' \
        'history' \
        -- 'last_launch as $n | any(ok("cudaMemPoolTrimTo")[];
            .n > $n and .pool == 0 and .keep == 0)' \
        'at the end cudaMemPoolTrimTo for the default pool, to 0: its threshold keeps the memory at
            every synchronization.' \
        'history' \
        -- 'last_launch as $n
            | ([.[] | select(.acquired and .n > $n).n] | min) as $wait
            | $wait != null and all(trims[]; .n > $wait)' \
        'after the last launch first a synchronization, then the trims: a trim of a pool leaves what
            was freed and not synchronized, and a trim for graphs leaves what a launch is using.' \
        'history' \
        -- '[trims[].call] | index("cudaMemPoolTrimTo")
            < index("cudaDeviceGraphMemTrim")' \
        'the trim for graphs comes after the report "pool trimmed": that line shows what the trim of
            the pool leaves.' \
        'history' \
        -- '(trims | length) == 2' \
        'no call is made twice: each kind of memory has its trim, and the first one after the
            synchronization returns all of it.' \
        '"\(trims | length) trims were called, and \(returned | length) of them
            returned memory; " + history | gsub("\n *"; " ")' \
        -- 'any(allocations[]; .freed == null)
            or (returned | map(.reserved) == [0, 0])' \
        'each trim returns all that was reserved. A trim of a pool returns what was freed before a
            synchronization; a query is none.' \
        '"memory was returned " + ([returned[]
            | (if .pool then "from the pool" else "from the graphs" end)
            + ", \(.reserved / 1048576) MiB stayed"] | if . == [] then "at no trim"
                else "at a trim " + join("; ") end) + "."'
}

@test "it prints what a real device prints" {
    after_the_rest
    run_lesson
    expect_right 20_graph_memory
}

# What each line prints is what the device reserved when it was printed.
@test "each line prints what is reserved, for any size" {
    local MIB printed reserved
    after_the_rest
    draw MIB 65 72
    run_lesson "$MIB"
    expect_clean
    expect_journal '[.[] | select(.did == "allocate").bytes] | . != [] and all(.[];
            . == '$((MIB << 20))')' \
        "with $MIB MiB each allocation in a graph is of that size." \
        '"a launch allocated \([.[] | select(.did == "allocate").bytes][0] // 0) bytes."'
    printed=$(sed -nE 's/.* for graphs +([0-9]+) MiB .*/\1/p' <<<"$output" | paste -sd ' ')
    reserved=$(in_journal '[.[] | select(.call == "cudaDeviceGetGraphMemAttribute").value
        / 1048576 | tostring] | join(" ")')
    [ "$printed" = "$reserved" ] ||
        missed "Expected: for graphs, with $MIB MiB: $reserved MiB, one figure for each report." \
            "Happened: printed were $printed."
}
