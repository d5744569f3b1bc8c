# Clinic, case 7: the graph frees its scratch memory, after the forked stream. Judges $LESSON.
load ../../grading/check
load case

setup_file() { case_setup 07_fork; }

@test "no hazard, exit status 0 and nothing left, under five schedules" {
    ends_well
}

@test "the graph frees both of its allocations" {
    run_lesson
    expect_journal '[.[] | select(.launch != null and .did == "allocate")] as $taken
        | [.[] | select(.launch != null and .did == "free")] as $freed
        | ($taken | length) == 2 and ($freed | length) == 2' \
        'a graph with two allocation nodes, and a free node for each: a graph that leaves
            memory allocated cannot be launched again before that is freed.' \
        '[.[] | select(.launch != null) | .did]
            | "in its launch the graph allocated \(map(select(. == "allocate")) | length) times "
            + "and freed \(map(select(. == "free")) | length) times."'
}

@test "it prints what the repaired program printed on a device" {
    prints_what_is_right 'filled with'
}
