# Clinic, case 1: the packed table is dropped when its last use is queued. Judges $LESSON.
load ../../grading/check
load case

setup_file() { case_setup 01_handed_over; }

@test "no hazard, exit status 0 and nothing left, under five schedules" {
    ends_well
}

@test "the packed table is dropped before the next one is packed" {
    run_lesson
    expect_journal 'allocations as $taken
        | any(.[]; (.call == "cudaFreeAsync" or .call == "cudaFree")
            and .allocation == $taken[0].allocation and .n < ($taken | last).n)' \
        'the stage drops the first packed table when it has queued the copy, and then the packing
            stage allocates the second.' \
        '"the memory of the first table was freed after the second was allocated, or never."'
}

@test "it prints what the repaired program printed on a device" {
    prints_what_is_right
}
