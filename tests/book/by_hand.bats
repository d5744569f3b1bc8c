#!/usr/bin/env bats
# Lessons and solutions compiled by hand, with the commands of the book's page "Getting started".

load ../suite

# command_of COMPILER: that page's command, in one line
command_of() {
    tr -s ' \n' ' ' <docs/getting_started.rst |
        grep -oE "\b$1 -[^\$:]* lessons/01_first_allocation.c [^\$:]* -o [a-z/]*01" | head -n 1
}

# each_file COMMAND: compiles every lesson and solution by that command in the place of lesson 01's
each_file() {
    local file command
    [[ $1 == *" lessons/01_first_allocation.c "*" -o "*01 ]] ||
        miss "getting_started.rst has no such command: $1"
    for file in lessons/[0-9]*.c solutions/[0-9]*.c; do
        command=${1/lessons\/01_first_allocation.c/$file}
        run bash -c "${command% -o *} -o $BATS_TEST_TMPDIR/program"
        [ "$status" = 0 ] && [ -z "$output" ] || complain "$file: $command" "$output"
    done
    finish
}

# bats test_tags=long
@test "gcc compiles each lesson and solution for the simulated device, and they run" {
    make -s simulator
    each_file "$(command_of gcc)"
    # The last one was compiled: it prints what was recorded.
    LD_LIBRARY_PATH=build/simulator run "$BATS_TEST_TMPDIR/program"
    assert_success
}

# bats test_tags=long
@test "nvcc compiles each lesson and solution" {
    command -v nvcc >/dev/null || skip "no nvcc here"
    local command kernels=$BATS_TEST_TMPDIR/kernels.o
    command=$(command_of nvcc)
    # The kernels are the same for all of them, and take most of the time.
    nvcc -Ilessons -c lessons/kernels.cu -o "$kernels"
    each_file "${command/lessons\/kernels.cu/$kernels}"
}

# By source:: and literalinclude:: the pages have C that was compiled and ran.
@test "no page of the book has C of its own, which nothing would have compiled" {
    run grep -rnE '\.\. (code-block|code|sourcecode|highlight):: *(c|c\+\+|cpp|cuda)?$' \
        --include='*.rst' docs
    assert_output ""
}

# What a reader copies is compiled, in docs/programs/snippets.c; CHECK is the workbook's.
@test "the lines of the threshold are the compiled ones where the book has them" {
    local page
    for page in index 04_release_threshold; do
        grep -qx ' *\.\. source:: lines docs/programs/snippets threshold' "docs/$page.rst" ||
            complain "docs/$page.rst lacks the lines."
    done
    finish
}
