# Clinic, case 6: the array outlives the stream in which it was made. Judges $LESSON.
load ../../grading/check
load case

setup_file() { case_setup 06_short_lived; }

@test "no hazard, exit status 0 and nothing left, under five schedules" {
    ends_well
}

@test "the function destroys the stream that it made" {
    run_lesson
    expect_journal '[.[] | select(.result == "cudaSuccess") | .call] as $calls
        | [$calls[] | select(. // "" | startswith("cudaStreamCreate"))] | length as $made
        | $made > 0 and $made == ([$calls[] | select(. == "cudaStreamDestroy")] | length)' \
        'each stream that is created is destroyed: a program that leaves a stream for each
            array is not repaired.' \
        '[.[] | .call // empty]
            | "streams created: \([.[] | select(startswith("cudaStreamCreate"))] | length), "
            + "destroyed: \([.[] | select(. == "cudaStreamDestroy")] | length)."'
}

@test "it prints what the repaired program printed on a device" {
    prints_what_is_right
}
