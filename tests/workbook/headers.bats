#!/usr/bin/env bats
# Other CUDA headers: the simulated device needs those of CUDA 13, a GPU may come with those of
# CUDA 12.

load ../tools/helpers

# bats test_tags=long
@test "every lesson, solution and mutant compiles against the headers of CUDA 12.2" {
    run tests/tools/headers.sh
    [[ $output != *"could not be fetched from PyPI"* ]] ||
        skip "the headers of CUDA 12.2 could not be fetched from PyPI"
    assert_success
    assert_line --regexp \
        '^CUDA 12\.2: [1-9][0-9]+ programs compiled, 0 with an error or a warning\.$'
}

@test "headers that are too old, or none: a sentence" {
    mkdir "$BATS_TEST_TMPDIR/old"
    echo '#define CUDART_VERSION  12010' >"$BATS_TEST_TMPDIR/old/cuda_runtime_api.h"
    for folder in "$BATS_TEST_TMPDIR/old" /nowhere; do
        run tests/tools/headers.sh "$folder"
        assert_failure
        assert_output --partial "$folder: CUDART_VERSION is"
        assert_output --partial "CUDA 12.2 or later"
    done
}
