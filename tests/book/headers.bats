#!/usr/bin/env bats
# Other CUDA headers: the simulated device needs those of CUDA 13, from 13.0 to the newest; a GPU
# may come with those of CUDA 12. An editor finds them.

load ../suite

# bats test_tags=long
@test "lessons, simulator and tests compile against the headers of CUDA 12.2, 13.0 and 13.5" {
    run tools/headers.sh
    [[ $output != *"could not be fetched"* ]] ||
        skip "the headers of CUDA 12.2 and 13.5 could not be fetched from PyPI"
    assert_success
    local clean='programs compiled, 0 with an error or a warning\.$'
    assert_line --regexp "^CUDA 12\.2: [1-9][0-9] $clean"
    assert_line --regexp "^CUDA 13\.[0-9]+: [1-9][0-9]{2} $clean"
    assert_line --regexp "^CUDA 13\.5: [1-9][0-9]{2} $clean"
    # What docs/api.rst says of the header of 13.5.
    local header=build/cuda-headers/13.5/wheel/nvidia/cu13/include/cuda_runtime_api.h calls
    calls=$(grep -c 'This function will be deprecated' "$header")
    tr -s ' \n' ' ' <docs/api.rst |
        grep -q "announces that $calls calls about graph nodes will be deprecated" ||
        miss "docs/api.rst lacks that $calls calls about graph nodes will be deprecated."
    run grep -nE '^ *cudaErrorOutOfMemory' "${header%/*}/driver_types.h"
    assert_output ""
}

@test "headers that are too old, or none: a sentence" {
    mkdir "$BATS_TEST_TMPDIR/old"
    echo '#define CUDART_VERSION  12010' >"$BATS_TEST_TMPDIR/old/cuda_runtime_api.h"
    for folder in "$BATS_TEST_TMPDIR/old" /nowhere; do
        run tools/headers.sh "$folder"
        assert_failure
        assert_output --partial "$folder: CUDART_VERSION is"
        assert_output --partial "CUDA 12.2 or later"
    done
}

# bats test_tags=long
@test "by compile_flags.txt an editor finds every header, and has nothing to underline" {
    make -s build/cuda/found simulator
    run bash -c "printf '%s\0' lessons/*.c solutions/*.c simulator/*/*.c |
        xargs -0 -n 8 -P 2 clang \$(tr '\n' ' ' <compile_flags.txt) -fsyntax-only"
    assert_output ""
    assert_success
}
