# Lesson 19: the default pool with a synchronise in the loop costs more than cudaMalloc. Judges
# $LESSON: the order, not the times.
load ../tools/helpers

setup_file() { lesson_setup 19_cost; }

# pairs: how many blocks of the default pool were freed while it kept its memory or not, and
# synchronised at once or not.
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def pairs: reduce .[] as $line ({keeps: false, open: false, pairs: {}};
        if $line.call == "cudaMemPoolSetAttribute" and $line.pool == 0
            and $line.attribute == "cudaMemPoolAttrReleaseThreshold"
            then .keeps = ($line.value >= 150000000000)
        elif $line.call == "cudaMallocAsync" and .open then .pairs["\(.keeps) false"] += 1
            | .open = false
        elif $line.call == "cudaFreeAsync" and $line.pool == 0 then .open = true
        elif $line.call == "cudaStreamSynchronize" and .open then .pairs["\(.keeps) true"] += 1
            | .open = false
        else . end) | .pairs;
    def told: pairs | "default pool, pairs: \(.["true false"] //
        0) with memory kept, \(.["true true"] // 0) with memory kept and a synchronise, "
        + "\(.["false true"] // 0) with memory given back and a synchronise, \(.["false false"] //
            0) with memory given back and none.";'

# The table that the program printed, its rows in the predicted order: where does a row cost no more
# than the one above?
predictions_hold() {
    local wrong row='^~ *\(-\{0,1\}[0-9.]*\) *[0-9.-]* *[0-9.-]*  \(c.*\|a.*\)$'
    wrong=$(sed -n "s/$row/\1|\2/p" <<<"$output" | awk -F '|' '
        NR > 1 && $1 <= cost {
            print "with 1 KiB \"" $2 "\" costs " $1 " us, and \"" name "\" before it " cost " us"
            exit
        }
        { cost = $1; name = $2 }')
    [ -z "$wrong" ] || missed "Expected: predicted[] names the four ways in the order of the
        measured costs, the cheapest first (YOUR WORK, 1 of 2). What must a pool do at each
        allocation when a synchronise has just emptied it?" \
        "Happened: $wrong."
}

@test "keep_memory keeps the memory of the pool that the blocks come from" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("cudaMemPoolSetAttribute")[]
        | select(.attribute == "cudaMemPoolAttrReleaseThreshold" and .value > 0)] | length == 2' \
        'keep_memory sets the release threshold, for each of the two ways that keep their memory
            (YOUR WORK, 2 of 2). The default is 0: nothing is kept.' \
        "$QUESTIONS"' "it was set \([ok("cudaMemPoolSetAttribute")[] | select(.value > 0)]
            | length) times to more than 0."' \
        -- "$QUESTIONS"' [ok("cudaMemPoolSetAttribute")[]
            | select(.attribute == "cudaMemPoolAttrReleaseThreshold" and .value > 0)] | all(.[];
            .pool == 0)' \
        'the threshold is set on the pool that keep_memory is given, the default pool: the blocks
            come from there.' \
        "$QUESTIONS"' "it was set on pools "
            + ([ok("cudaMemPoolSetAttribute")[] | select(.value > 0).pool] | tostring) + "."' \
        -- "$QUESTIONS"' [ok("cudaMemPoolSetAttribute")[]
            | select(.attribute == "cudaMemPoolAttrReleaseThreshold" and .value > 0)] | all(.[];
            .value >= 150000000000)' \
        'the threshold, in bytes, is more than any pool of this device will ever hold, whatever the
            size of the blocks: UINT64_MAX.' \
        "$QUESTIONS"' "it was set to \([ok("cudaMemPoolSetAttribute")[] | select(.value > 0).value]
            | first) bytes."'
}

@test "the loops do what their names say" {
    run_lesson
    expect_journal "$QUESTIONS"' pairs | (.["true false"] >= 1490 and .["false true"] >= 1490
        and .["true true"] >= 1490)' \
        'three loops of 1500 pairs on the default pool, 500 of each size: memory kept; default and a
            synchronise after each free; memory kept and a synchronise after each free.' \
        "$QUESTIONS told" \
        -- "$QUESTIONS"' (ok("cudaMalloc") | length) == 1500
            and (ok("cudaFree") | length) == 1500' \
        'the fourth loop: 1500 pairs of cudaMalloc and cudaFree.' \
        "$QUESTIONS"' "\(ok("cudaMalloc") | length) of cudaMalloc and \(ok("cudaFree")
            | length) of cudaFree."' \
        -- '[.[] | select(.did == "release" and .why == "synchronization")] | length | . >= 1490
            and . <= 1520' \
        'memory goes back at each synchronise of the default loop, and at none of the others.' \
        '"memory went back at \([.[] | select(.did == "release" and .why == "synchronization")]
            | length) synchronises."'
}

@test "the order is the predicted one" {
    run_lesson
    predictions_hold
    expect_right 19_cost
}

@test "also for blocks of 256 MiB" {
    run_lesson 256
    predictions_hold
    expect_right 19_cost.256
}
