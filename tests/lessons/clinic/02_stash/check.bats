# Clinic, case 2: the activations wait for the stash, and get the memory of the weights. Judges
# $LESSON.
load ../../grading/check
load case

setup_file() { case_setup 02_stash; }

@test "no hazard, exit status 0 and nothing left, under five schedules" {
    ends_well
}

@test "the activations get the memory of the weights" {
    run_lesson
    expect_journal 'allocations | length == 1' \
        'one cudaMallocAsync: the stash is there to save memory, so the activations take the memory
            that the weights had.' \
        '"\(allocations | length) allocations."'
}

@test "it prints what the repaired program printed on a device" {
    prints_what_is_right
}
