#!/usr/bin/env bats
# What calls return while the process ends.

load ../../../tests/suite
load programs

setup_file() { make -s BACKEND=simulator build/simulator/simulator/tests/unit/ending; }

# says_too_late CASE WORD: each call is rejected, one sentence says so, and no leak is reported
says_too_late() {
    run bounded "$PROGRAMS/ending" "$1"
    [ "$status" = 0 ]
    local e=cudaErrorCudartUnloading
    assert_line "$2: $e, $e, last error $e"
    assert_line --partial "cudaFreeAsync was called while the process ends, after the CUDA runtime"
    [ "${#lines[@]}" = 2 ]
}

@test "a handler that is older than the first call frees nothing: cudaErrorCudartUnloading" {
    says_too_late registered_before atexit
}
@test "a destructor of the program frees nothing either" { says_too_late destructor destructor; }
@test "a handler that is younger than the first call frees" {
    run bounded "$PROGRAMS/ending" registered_after
    [ "$status" = 0 ]
    assert_line "atexit: cudaSuccess, cudaSuccess, last error cudaSuccess"
    run bounded "$PROGRAMS/ending" registered_after 5
    [ "$status" = 5 ]
    assert_line "atexit: cudaSuccess, cudaSuccess, last error cudaSuccess"
}
@test "a process that frees nothing while it ends is reported for what it leaves" {
    run bounded "$PROGRAMS/ending" nothing_freed
    [ "$status" = 3 ]
    assert_line --partial "hazard: leak"
}
