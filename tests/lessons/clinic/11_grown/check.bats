# Clinic, case 11: stream b waits for the growth before it uses the rest of the piece. Judges
# $LESSON.
load ../../grading/check
load case

setup_file() { case_setup 11_grown; }

@test "no hazard, exit status 0 and nothing left, under five schedules" {
    ends_well
}

@test "stream b gets the rest of the piece: the allocator grows once" {
    run_lesson
    expect_journal 'allocations | length == 2' \
        'two calls of cudaMallocAsync: one before the allocator is used, and one piece for both
            streams.' \
        '"\(allocations | length) calls."'
}

@test "stream b waits, and the host does not" {
    run_lesson
    expect_journal '(ok("launch_fill") | last.n) as $work
        | [host_waits[] | select(.n < $work)] == []' \
        'before the last fill no call in which the host waits: the allocator makes a stream wait.' \
        '(ok("launch_fill") | last.n) as $work
        | "before it the host waited in " + ([host_waits[] | select(.n < $work) | .call]
            | join(", ")) + "."'
}

@test "it prints what the program is for" {
    prints_line 'stream b wrote 2, .* holds 2' 'stream b wrote 2, and its range holds 2'
}
