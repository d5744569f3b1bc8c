# Lesson 12: a wait that the driver inserts, or an error to act on. Judges $LESSON.
load ../grading/check

setup_file() { lesson_setup 12_reuse_internal; }

MIB=1048576
# The first pool measures the segment; then the three of the table, the spare one, and the two
# shared ones. taken: the allocations for the fast stream after the slow stream had filled a shared
# pool.
definitions 'def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def pools: [ok("cudaMemPoolCreate")[] | {pool, max_size, n}];
    def spare: pools[4];
    def shared($i): pools[5 + $i];
    def asked($pool): [.[] | select(.call == "cudaMallocFromPoolAsync" and .pool == $pool)];
    def first($pool): asked($pool)[0];
    def ended($pool): [ok("cudaMemPoolDestroy")[] | select(.pool == $pool) | .n] | first // 1e9;
    def taken($i): shared($i).pool as $pool | first($pool) as $first | ended($pool) as $over
        | [.[] | select((.call == "cudaMallocFromPoolAsync" or .call == "cudaMallocAsync")
            and $first != null and .n > $first.n and .n < $over)];
    def synchronized($i): taken($i) as $t | first(shared($i).pool) as $first
        | [.[] | select((.call == "cudaStreamSynchronize" or .call == "cudaDeviceSynchronize"
            or .call == "cudaEventSynchronize") and $first != null and .n > $first.n
            and .n < ($t | last.n // 1e9)
            and .result == "cudaSuccess")];
    def words: if .result != "cudaSuccess" then .result else {new: "new memory",
            internal: "the memory of the slow stream, and the fast one waits for it",
            synchronized: "memory that the host had synchronized",
            opportunistic: "memory that the device had finished with",
            event: "memory that an event had ordered"}[.from] // "its own memory" end;
    def history($i): {(spare.pool | tostring): "the spare pool", (shared($i).pool | tostring):
            "the shared pool"} as $names
        | [taken($i)[] | ($names[.pool | tostring] // "another pool") + " returned \(words)"]
        | join(", then ")
        | if . == "" then "not reached" else . end;
    def opened($i): first(shared($i).pool) as $first
        | [.[] | select(.did == "run" and .op == "hold" and .n > $first.n) | .n] | first;'

# For the tests behind that of the policy: a wait that the pool inserts, and one that never returns,
# are missed there, and all else follows from them. The first line of the program has one as well.
# shellcheck disable=SC2154  # run_lesson sets errors and journal
after_the_wait() {
    [ "$(grep -c '"from":"internal"' "$journal")" -le 1 ] || after_the_rest
    [[ $errors != *"hazard: waiting forever"* ]] || after_the_rest
}

@test "the first three lines show the inserted wait, the error without it, and growth" {
    run_lesson
    expect_journal '. as $all | [pools[1:4][].pool as $p | $all | asked($p)[1]
            | "\(.result) \(.from)"] == ["cudaSuccess internal", "cudaErrorMemoryAllocation null",
            "cudaSuccess new"]' \
        'the first three lines try three pools, as in the starter: with a limit and the policy on
            the allocation gets the memory of the slow stream, with the policy off
            cudaErrorMemoryAllocation, without a limit new memory.' \
        '. as $all | "the three pools returned "
            + ([pools[1:4][].pool as $p | $all | asked($p)[1] | words] | join("; ")) + "."'
}

@test "the shared pool keeps its limit, and inserts no wait" {
    run_lesson
    expect_journal '[shared(0), shared(1)] | map(select(. != null).max_size) | unique
            == ['$((64 * MIB))']' \
        'the shared pool holds 64 MiB at most: its limit stays.' \
        '"its maxSize was \([shared(0), shared(1)] | map(select(. != null).max_size
            | tostring) | join(" and "))." | gsub("\n *"; " ")' \
        -- '[taken(0)[], taken(1)[]] | all(.from != "internal")' \
        'the shared pool inserts no wait: with internal dependencies on it gives the fast stream the
            memory of the slow one, and the fast stream waits without a call of the program.' \
        '"slow stream held: \(history(0)). Slow stream not held, spare pool full:
            \(history(1))." | gsub("\n *"; " ")'
}

@test "the fast stream finishes its work while the slow stream is held" {
    run_lesson
    after_the_wait
    expect_journal 'opened(0) as $opened | (taken(0) | last) as $last
            | $opened != null and $last.result == "cudaSuccess" and any(.[]; .did == "run"
                and .op == "memset" and .allocation == $last.allocation and .n < $opened)' \
        'in the fourth line take returns memory at once, and the fast stream fills it before the
            gate opens.' \
        '"\(history(0))." + (if opened(0) == null then " The gate did not open: with
            the slow stream held, a synchronization with it never returns." else "" end)
            | gsub("\n *"; " ")'
}

@test "without other memory the host synchronizes, and then allocates" {
    run_lesson
    after_the_wait
    expect_journal 'taken(1) | last
            | .result == "cudaSuccess" and .from != "internal"' \
        'in the fifth line both pools are full, and the slow stream is not held: take synchronizes
            with it, and allocates again from the shared pool.' \
        '"\(history(1)). Synchronizations of the host before the last of these:
            \(synchronized(1) | length)." | gsub("\n *"; " ")'
}

# tests/lessons/asked_take.h calls take in four situations.
ask_take() {
    local segments
    draw segments 1 300
    ask_lesson asked_take "take returns in every situation, also when no pool has memory.
        take(memory, bytes, pool, spare), shared_pool(mib), pool_limited and the streams slow and
        fast are as they were at the start." \
        $((32 * segments))
}

ASKED='def filled($value): [.[] | select(.call == "launch_fill" and .value == $value)] | first;
    def made($value): filled($value) as $fill
        | [.[] | select((.call == "cudaMallocFromPoolAsync" or .call == "cudaMallocAsync")
            and .result == "cudaSuccess" and .allocation == $fill.allocation)] | first;
    def in_shared($situation): made($situation).pool as $pool
        | made(10 + $situation) | . != null and .pool == $pool;'

@test "take does so in other situations, with another size" {
    after_the_rest
    ask_take
    expect_answers 'while the shared pool can grow, take returns its memory.' \
        "take, the shared pool has room" cudaSuccess
    expect_answers 'with the slow stream held and the spare pool free, take returns memory of the
        spare pool.' "take, the slow stream held and the spare pool free" cudaSuccess
    expect_answers 'with the spare pool full as well, take waits for the slow stream, which comes to
        an end, and then allocates from the shared pool.' "take, both pools full" cudaSuccess
    expect_answers 'for more than both pools may hold, take returns cudaErrorMemoryAllocation.' \
        "take, more than both pools may hold" cudaErrorMemoryAllocation
    expect_journal "$ASKED"' in_shared(1)' \
        'while the shared pool can grow, take allocates from it. The spare pool is for the case that
            the shared one has no memory.' \
        '"the limit of the shared pool left room, and take allocated from another pool."' \
        -- "$ASKED"' filled(12).allocation as $taken | in_shared(2) == false
            and ([.[] | select(.did == "run" and .allocation == $taken) | .n] | first)
            < ([.[] | select(.did == "run" and .op == "hold") | .n][1])' \
        'with the slow stream held and the spare pool free, take returns memory that the fast stream
            can use at once.' \
        '"the fast stream waited for the slow one."' \
        -- "$ASKED"' in_shared(3) and made(13).from != "internal"' \
        'with both pools full take waits for the slow stream, and then allocates from the shared
            pool.' \
        "$ASKED"' if in_shared(3) then "the pool inserted a wait into the fast stream."
            else "it returned memory of another pool." end'
}

@test "an error that take has handled does not remain the last error" {
    local situation
    after_the_rest
    ask_take
    for situation in "the slow stream held and the spare pool free" "both pools full"; do
        expect_answers 'when take has succeeded, cudaGetLastError returns cudaSuccess. A failed
            allocation stays the last error until someone reads it: a later check behind a correct
            launch would report it. Who handles an error calls cudaGetLastError once.' \
            "cudaGetLastError after take, $situation" cudaSuccess
    done
}

@test "it prints what a real device prints" {
    after_the_rest
    run_lesson
    expect_right 12_reuse_internal
}

# The program prints no size.
@test "the same with another size" {
    local mib
    after_the_rest
    draw mib 1 31
    run_lesson "$mib"
    expect_right 12_reuse_internal
}
