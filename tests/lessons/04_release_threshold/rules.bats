#!/usr/bin/env bats
# The rules of lesson 04: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "predict_freed holds: what is reserved right after a free" { rule freed; }
@test "predict_synchronized holds for other segments, sizes and thresholds" { rule synchronized; }
@test "the third threshold keeps what the phase needs, and nothing else of the peak" { rule phase; }
@test "each threshold is set in bytes, on the pool of the allocation, before the free" {
    rule bytes
}
@test "after each free another stream is synchronized, then the stream of the free" {
    rule streams
}
@test "the predictions hold for 128 and 300 MiB, and for a size and a segment that are drawn" {
    rule predictions
}
@test "it prints what a real device prints, for 128 and 300 MiB" { rule output; }
