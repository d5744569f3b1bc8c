# Lesson 06: the threshold decides what a synchronise gives back. Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 06_release_threshold; }

MIB=1048576
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def thresholds: [ok("cudaMemPoolSetAttribute")[]
        | select(.attribute == "cudaMemPoolAttrReleaseThreshold")];'

# Both predictions, line by line of the output: are they what was measured?
predictions_hold() {
    local wrong
    wrong=$(awk '/^threshold/ { threshold = $2 }
        match($0, /predicted +[0-9]+ MiB, measured +[0-9]+ MiB/) {
            split(substr($0, RSTART, RLENGTH), word, " +")
            if (word[2] == word[5]) next
            print (/ freed /) ? "after the free" : "after the synchronise", \
                "with a threshold of", threshold, "MiB you predicted", word[2], \
                "MiB, the pool held", word[5], "MiB"
            exit
        }' <<<"$output")
    case $wrong in
    '') return 0 ;;
    "after the free"*) missed "Expected: predict_freed says what the pool holds after a free alone.
        A free gives nothing back to the device: the pool holds the same whole steps as before." \
            "Happened: $wrong." ;;
    *) missed "Expected: predict_synchronised says what the pool holds after the synchronise: what
        the threshold allows in whole steps of 32 MiB, and never more than it held." \
            "Happened: $wrong." ;;
    esac
}

@test "each threshold is set in bytes, on the pool that the block comes from, before the free" {
    run_lesson
    expect_journal "$QUESTIONS"' [thresholds[].value] == [0,
        '"$((48 * MIB)), $((64 * MIB)), $((256 * MIB))"']' \
        'the four thresholds 0, 48, 64 and 256 MiB, in bytes, each set once and in this order.' \
        "$QUESTIONS"' "the thresholds were set to " + ([thresholds[].value | tostring] | join(", "))
            + " bytes."' \
        -- "$QUESTIONS"' [thresholds[] as $set | [ok("cudaFreeAsync")[]
            | select(.pool == $set.pool and .n > $set.n)] | length == 1]
        | length == 4 and all' \
        'after each threshold is set, one block of that same pool is freed: the threshold of one
            pool says nothing about another.' \
        "$QUESTIONS"' "thresholds were set on pools " + ([thresholds[].pool] | tostring)
            + ", blocks freed in pools " + ([ok("cudaFreeAsync")[].pool] | tostring) + "."'
}

@test "after each free another stream is synchronised, then the stream that freed" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("cudaFreeAsync")[] as $free
        | (ok("cudaMemPoolDestroy")[] | select(.pool == $free.pool)) as $close
        | [ok("cudaStreamSynchronize")[] | select(.n > $free.n and .n < $close.n)
            | .stream == $free.stream] | . == [false, true]]
        | length == 4 and all' \
        'between each free and the destroy of its pool: a synchronise of the other stream, then one
            of the stream that freed.' \
        "$QUESTIONS"' "streams synchronised, in order: " + ([ok("cudaStreamSynchronize")[].stream]
            | tostring) + "."' \
        -- "$QUESTIONS"' [ok("cudaFreeAsync")[] as $free
        | ([ok("cudaStreamSynchronize")[] | select(.n > $free.n and .stream == $free.stream) | .n]
            | first) as $wait
        | [ok("cudaMemPoolGetAttribute")[] | select(.pool == $free.pool
            and .attribute == "cudaMemPoolAttrReservedMemCurrent"
            and $wait != null and .n > $wait)] | length > 0] | length == 4 and all' \
        'the program asks each pool what it holds after the synchronise. That part was there at the
            start: put it back.' \
        -- "$QUESTIONS"' ok("cudaMemPoolTrimTo") | length == 0' \
        'the program trims nothing: what a synchronise gives back is to be seen alone.' \
        "$QUESTIONS"' "\(ok("cudaMemPoolTrimTo") | length) trims."' \
        -- '[.[] | select(.did == "release" and .why == "synchronization")] | length == 3' \
        'memory goes back three times of four, each time at the synchronise.' \
        '"memory went back " + ([.[] | select(.did == "release") | "at a " + .why] | join(", "))
            + "."'
}

@test "the predictions hold for the size that the lesson uses" {
    run_lesson
    predictions_hold
    expect_right 06_release_threshold
}

@test "the predictions hold for 40 MiB, less than some thresholds" {
    run_lesson 40
    predictions_hold
    expect_right 06_release_threshold.40
}

@test "the predictions hold for 300 MiB, more than every threshold" {
    run_lesson 300
    predictions_hold
    expect_right 06_release_threshold.300
}
