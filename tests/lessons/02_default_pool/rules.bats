#!/usr/bin/env bats
# The rules of lesson 02: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "the segment is measured: 1 byte is allocated, and reserved is read while the byte is live" {
    rule byte
}
@test "measure_segment returns what it has measured, on any device" { rule measured; }
@test "the pool is empty again before the program allocates anything else" { rule empty; }
@test "predict_reserved holds for other segments and sizes" { rule rule; }
@test "four allocations of the given size come from the default pool, which is not changed" {
    rule allocations
}
@test "the predictions hold for allocations of 20 MiB, of a whole segment, and of other sizes" {
    rule predictions
}
@test "it prints what a real device prints, for 20, 32 and 33 MiB" { rule output; }
