# Clinic, case 4: the second thread waits for the first, and gets what the first returned. Judges
# $LESSON.
load ../../grading/check
load case

setup_file() { case_setup 04_two_threads; }

@test "no hazard, exit status 0 and nothing left, under five schedules" {
    ends_well
}

@test "the second worker gets the memory that the first returned" {
    run_lesson
    expect_journal '(allocations | length) == 1
        and ([ok("launch_fill")[] | .allocation] | unique | length) == 1
        and all(ok("launch_fill")[]; .stream == "per-thread")' \
        'one cudaMallocAsync, and both workers fill that memory in cudaStreamPerThread: the
            allocator keeps what returns and hands it out again.' \
        '"\(allocations | length) allocations; fills in the streams "
            + ([ok("launch_fill")[] | .stream | tostring] | unique | join(", ")) + "."'
}

@test "it prints what the repaired program printed on a device" {
    prints_what_is_right
}
