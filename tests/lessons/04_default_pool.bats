# Lesson 04: the default pool grows in whole steps. Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 04_default_pool; }

MIB=1048576
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];'

# Every line that the program printed with a prediction: is it what was measured?
predictions_hold() {
    local wrong number='\([0-9]*\) MiB'
    wrong=$(sed -n "s/^.*used *$number.*predicted *$number, measured *$number.*/\1 \2 \3/p" \
        <<<"$output" |
        awk '$2 != $3 {
            print "with " $1 " MiB in live blocks you predicted " $2 " MiB, " \
                "the pool held " $3 " MiB"
            exit
        }')
    [ -z "$wrong" ] || missed "Expected: predict_reserved is the rule for any size: whole steps,
        never less than is used, never a step more." \
        "Happened: $wrong."
}

@test "four blocks of the given size come from the default pool" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("cudaMallocAsync")[] | select(.pool == 0
        and .bytes == '$((20 * MIB))')] | length == 4' \
        'four cudaMallocAsync of 20 MiB each, from the default pool of device 0. That part was there
            at the start: put it back.' \
        "$QUESTIONS"' "the blocks came from pools " + ([ok("cudaMallocAsync")[].pool] | tostring)
            + "."'
}

@test "the pool is measured after every block, and left as it was found" {
    run_lesson
    expect_journal "$QUESTIONS"' ([ok("cudaMallocAsync")[].n] + [ok("cudaFreeAsync")[0].n]) as $at
        | ($at | length) > 1
        and ([range(($at | length) - 1) as $i | [ok("cudaMemPoolGetAttribute")[]
            | select(.pool == 0 and .attribute == "cudaMemPoolAttrReservedMemCurrent"
                and .n > $at[$i]
                and .n < $at[$i + 1])] | length] | all(. == 1))' \
        'after every allocation the program asks the default pool once for
            cudaMemPoolAttrReservedMemCurrent, in main. predict_reserved calculates: it makes no
            CUDA call.' \
        "$QUESTIONS"' "it asked \([ok("cudaMemPoolGetAttribute")[]
            | select(.attribute == "cudaMemPoolAttrReservedMemCurrent")]
            | length) times in all, and main asks 6 times."' \
        -- "$QUESTIONS"' ok("cudaMemPoolSetAttribute") + ok("cudaDeviceSetMemPool")
            + ok("cudaMemPoolTrimTo")
        + ok("cudaMemPoolCreate") | length == 0' \
        'the program changes nothing about the default pool: only predict_reserved is yours to
            write.' \
        '"it called " + ([.[] | select(.call == ("cudaMemPoolSetAttribute", "cudaDeviceSetMemPool",
            "cudaMemPoolTrimTo", "cudaMemPoolCreate")) | .call] | unique | join(", ")) + "."'
}

@test "the prediction holds for the size that the lesson uses" {
    run_lesson
    predictions_hold
    expect_right 04_default_pool
}

@test "the prediction holds for blocks that fill their steps, of 32 MiB" {
    run_lesson 32
    predictions_hold
    expect_right 04_default_pool.32
}

@test "the prediction holds for blocks a little larger, of 33 MiB" {
    run_lesson 33
    predictions_hold
    expect_right 04_default_pool.33
}
