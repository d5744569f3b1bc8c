# Clinic, case 3: one stream waits for all workers, and the host for none. Judges $LESSON.
load ../../grading/check
load case

setup_file() { case_setup 03_barrier; }

@test "no hazard, exit status 0 and nothing left, under five schedules" {
    ends_well
}

@test "the collecting stream waits at the barrier, and the host does not" {
    run_lesson
    expect_journal '(ok("launch_add") | last.n) as $work
        | ([ok("cudaMemcpyAsync")[], ok("cudaMemcpy")[]] | map(.n) | min) as $copy
        | [host_waits[] | select(.n > $work and .n < $copy)] == []' \
        'between the last addition and the first copy no call in which the host waits: a barrier
            makes one stream wait.' \
        '(ok("launch_add") | last.n) as $work
        | "after the additions came " + ([.[] | select(.n > $work and .call != null) | .call][:6]
            | join(", ")) + "."'
}

@test "it prints what the repaired program printed on a device" {
    prints_what_is_right
}
