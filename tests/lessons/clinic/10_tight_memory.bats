# Clinic, case 10: the third stream gets the memory that two others freed. Judges $LESSON.
load ../../tools/helpers
load case

setup_file() { case_setup 10_tight_memory; }

@test "no hazard, exit status 0 and nothing left, under five schedules" {
    ends_well
}

@test "the pool still holds no more than 128 MiB" {
    run_lesson
    expect_journal '[.[] | .reserved // 0] | max == '$((128 << 20)) \
        'memory stays tight: the pool reserves 128 MiB and no more.' \
        '"the pool reserved up to \([.[] | .reserved // 0] | max / 1048576) MiB."'
}

@test "it prints what the repaired program printed on a device" {
    prints_line '128 MiB.*: cudaSuccess' '128 MiB: cudaSuccess'
}
