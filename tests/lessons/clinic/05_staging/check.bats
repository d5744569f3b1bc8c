# Clinic, case 5: a staging buffer is written again only after its copy. Judges $LESSON.
load ../../grading/check
load case

setup_file() { case_setup 05_staging; }

@test "no hazard, exit status 0 and nothing left, under five schedules" {
    ends_well
}

@test "twelve columns: each staging buffer is written again only after its copy" {
    ends_well 12
    prints_line '.*[^0-9]1 2 3 4 5 6 7 8 9 10 11 12[^0-9]+1 2 3 4 5 6 7 8 9 10 11 12' \
        'twelve columns described, and the same twelve found on the device' 12
}

@test "it prints what the repaired program printed on a device" {
    prints_what_is_right
}
