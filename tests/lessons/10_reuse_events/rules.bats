#!/usr/bin/env bats
# The rules of lesson 10: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "three stages in three streams, the same in each round" { rule streams; }
@test "the policies of the pipeline's pool stay" { rule policies; }
@test "the nine cases are as they were" { rule cases; }
@test "every access is ordered, and everything is freed" { rule ordered; }
@test "each of the rounds that it is given computes on the device" { rule rounds; }
@test "the host waits nowhere in the pipeline" { rule host; }
@test "the memory of an input is handed on to the next input: free, record, wait" { rule input; }
@test "the memory of a result is handed on to the next result: free, record, wait" { rule result; }
@test "from the second round on, no input takes new memory" { rule load; }
@test "from the second round on, no result takes new memory" { rule work; }
@test "the load of a round does not wait for the store of the round before" { rule ahead; }
@test "memory that two streams use is freed after the uses in both" { rule shared; }
@test "it prints what a real device prints, and the same with another size" { rule prints; }
