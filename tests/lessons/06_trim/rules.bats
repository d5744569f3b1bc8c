#!/usr/bin/env bats
# The rules of lesson 06: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "phases 1 and 2 take one pool, and the trim of the pending free returns nothing" {
    rule pending
}
@test "the threshold stays at its maximum" { rule threshold; }
@test "the trim between the phases returns all but what phase 2 needs" { rule between; }
@test "at the end of phase 2 the pool keeps nothing" { rule end; }
@test "in phase 3 the scratch memory leaves the pool" { rule phase_3; }
@test "it prints what a real device prints, and is right with another size" { rule output; }
