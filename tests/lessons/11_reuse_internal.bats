# Lesson 11: a hidden wait, or an error and a way of one's own. Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 11_reuse_internal; }

MIB=1048576
# trials: one for each hold, with its pool and what the quick stream was given there. own: the last
# two, which are the student's.
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def trials: . as $all | [ok("launch_hold")[] as $hold
        | ([ok("cudaMallocFromPoolAsync")[] | select(.n < $hold.n)] | last) as $first
        | ([ok("cudaMemPoolDestroy")[] | select(.n > $hold.n) | .n] | first // 1000000) as $over
        | {pool: $first.pool, first: $first.n, slow: $hold.stream, hold: $hold.n, over: $over,
            takes: [$all[] | select(.call == "cudaMallocFromPoolAsync" and .n > $hold.n
                and .n < $over) | {pool, from, result, stream}]}];
    def own: trials[3:5];
    def flags($name): [own[] as $t | [ok("cudaMemPoolSetAttribute")[]
        | select(.pool == $t.pool and .attribute == $name and .n < $t.first) | .value] | last];
    def told($name): flags($name) | map(. // "nothing" | tostring) | join(" and ");
    def runs($t; $op): [.[] | select(.did == "run" and .op == $op and .n > $t.hold
        and .n < $t.over)];
    def history: [own[] as $t | [$t.takes[] | if .pool == $t.pool then "its pool"
        else "another pool" end + " answered \(.result)" + (if .from != null then " (\(.from))"
        else "" end)]
        | join(", then ") | if . == "" then "no block was asked for" else . end]
        | "slow stream holding: \(.[0] // "not tried"); slow stream finished: \(.[1] //
            "not tried").";'

@test "the first three lines show the hidden wait, the error without it, and growth" {
    run_lesson
    expect_journal "$QUESTIONS"' [trials[:3][].takes
        | map("\(.result) \(.from)")] == [["cudaSuccess internal"],
        ["cudaErrorMemoryAllocation null"], ["cudaSuccess new"]]' \
        'the first three trials stay as they were: with internal waits the slow stream'"'"'s block,
            without them cudaErrorMemoryAllocation, with no limit new memory.' \
        "$QUESTIONS"' "the quick stream was given: "
            + ([trials[:3][].takes[] | "\(.result) (\(.from // "nothing"))"] | join(", ")) + "."'
}

@test "your pool keeps its limit, and lets neither hidden waits nor luck decide" {
    run_lesson
    expect_journal "$QUESTIONS"' [own[] as $t | ok("cudaMemPoolCreate")[] | select(.pool == $t.pool)
        | .max_size] | unique == ['$((64 * MIB))']' \
        'the pool of the last two trials may hold 64 MiB at most: its maxSize stays.' \
        "$QUESTIONS"' "its maxSize was "
            + ([own[] as $t | ok("cudaMemPoolCreate")[] | select(.pool == $t.pool) | .max_size
            | tostring] | join(" and ")) + "."' \
        -- "$QUESTIONS"' flags("cudaMemPoolReuseAllowInternalDependencies") | unique == [0]' \
        'internal dependencies are off on the limited pool itself, before its first block: with them
            the quick stream gets the slow one'"'"'s block and waits for it.' \
        "$QUESTIONS"' "on the pools of the last two lines it was set to "
            + told("cudaMemPoolReuseAllowInternalDependencies") + "; " + history' \
        -- "$QUESTIONS"' flags("cudaMemPoolReuseAllowOpportunistic") | unique == [0]' \
        'opportunistic reuse is off, too: with it the quick stream'"'"'s block comes from one pool
            or the other, depending on how fast the slow stream was.' \
        "$QUESTIONS"' "on the pools of the last two lines it was set to "
            + told("cudaMemPoolReuseAllowOpportunistic") + "; " + history'
}

@test "when the pool refuses, the spare pool is asked" {
    run_lesson
    expect_journal "$QUESTIONS"' own | length > 0 and all(.[]; .takes[0].pool == .pool)' \
        'block_take asks the limited pool first. The spare one is for the case that it refuses.' \
        "$QUESTIONS history" \
        -- "$QUESTIONS"' own | length == 2 and all(.[]; . as $t | $t.takes
            | map(.result) == ["cudaErrorMemoryAllocation", "cudaSuccess"]
            and .[1].pool != $t.pool)' \
        'block_take gets cudaErrorMemoryAllocation from the limited pool, and then a block from the
            spare one: an error is an answer to act on, not a reason to wait.' \
        "$QUESTIONS history"
}

@test "the quick stream is done while the slow one holds" {
    run_lesson
    expect_journal "$QUESTIONS"' own[0] as $t
        | ([runs($t; "memset")[] | select(.stream != $t.slow) | .n] | first) as $filled
        | ([runs($t; "hold")[] | .n] | first) as $opened | $filled != null
            and ($opened == null or $filled < $opened)' \
        'in the fourth trial the quick stream sets its block (cudaMemsetAsync) before the gate
            opens.' \
        "$QUESTIONS history"
}

@test "it prints what a real device prints, also for 100 MiB" {
    run_lesson
    expect_right 11_reuse_internal
    run_lesson 100
    expect_right 11_reuse_internal.100
}
