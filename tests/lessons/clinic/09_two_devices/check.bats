# Clinic, case 9: device 1 gets access to the pool of device 0. Judges $LESSON.
load ../../grading/check
load case

setup_file() { case_setup 09_two_devices; }

@test "no hazard, exit status 0 and nothing left, under five schedules" {
    ends_well
}

@test "device 1 writes into the memory of both devices" {
    run_lesson
    expect_journal 'ok("launch_fill") | length == 2
        and ([.[] | .stream] | unique | length) == 1
        and ([.[] | .allocation] | unique | length) == 2' \
        'the collective operation stays one of device 1: both fills in its stream, one of them into
            the memory of device 0.' \
        '"fills in the streams "
            + ([ok("launch_fill")[] | .stream | tostring] | join(", ")) + "."'
}

@test "it prints what the repaired program printed on a device" {
    prints_what_is_right
}
