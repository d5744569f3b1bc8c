#!/usr/bin/env bats
# Every lesson leaves decisions to the student, and its check sees each: no call of the student's
# part of a solution can be left out. (What is no decision it leaves alone: grading/mutants.bats.)

load ../suite

setup_file() { know_compiler; }

# bats test_tags=long
@test "a solution without one of the student's calls fails its check" {
    accepted xargs -P "$(nproc)" -n 1 python3 -SB tests/book/without_call.py <<<"$(lessons)"
    assert_output ""
}
