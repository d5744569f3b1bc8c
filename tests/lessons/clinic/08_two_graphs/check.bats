# Clinic, case 8: a workspace lives as long as the graphs that keep its address. Judges $LESSON.
load ../../grading/check
load case

setup_file() { case_setup 08_two_graphs; }

@test "no hazard, exit status 0 and nothing left, under five schedules" {
    ends_well
}

@test "one graph is destroyed, and the other is launched after that" {
    run_lesson
    expect_journal '(ok("cudaGraphExecDestroy")[0].n) as $gone
        | ok("cudaGraphLaunch") | last.n > $gone' \
        'the evaluation graph is destroyed first, and the training graph is launched once more: that
            is what the program is for.' \
        '"the last launch came before the first cudaGraphExecDestroy."'
}

@test "it prints what the repaired program printed on a device" {
    prints_what_is_right
}
