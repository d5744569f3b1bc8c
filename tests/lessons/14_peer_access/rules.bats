#!/usr/bin/env bats
# The rules of lesson 14: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "each allocation is on its GPU" { rule place; }
@test "each kernel without access has a process of its own" { rule processes; }
@test "the fetch copies without access" { rule fetch; }
@test "set_access gives GPU 1 access to the pool of GPU 0" { rule gives; }
@test "set_access(..., 0) takes the access away" { rule takes; }
@test "set_access serves other GPUs and other pools, too" { rule others; }
@test "if GPU 1 cannot reach GPU 0 (SIM_PEERS=off), set_access returns 0" { rule reach; }
@test "it prints what two real GPUs print" { rule output; }
@test "with one GPU, it says why it is skipped, and ends with status 77" { rule one_gpu; }
