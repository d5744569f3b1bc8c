#!/usr/bin/env bats
# Kernels whose blocks run on several cores (simulator/ptx/cores.c): nobody can tell from what they
# leave in memory, print, or have reported.

load ../../../tests/suite
load programs

LIBRARY=$ROOT/build/simulator

# what THREADS: what the programs print that stand in the lines of standard input, each with its
# arguments, and its exit status. One that does not end is ended as by bounded.
what() {
    {
        ulimit -S -t 120
        while read -ra words; do
            echo "== ${words[*]}"
            SIM_THREADS=$1 LD_LIBRARY_PATH=$LIBRARY timeout --kill-after=1 600 "./${words[0]}" \
                "${words[@]:1}" 2>&1 </dev/null && echo "status 0" || echo "status $?"
        done
    } | sed -E 's/0x[0-9a-f]{6,}/ADDRESS/g' # the system chooses addresses
}

# same: what standard input names does the same on 1, 2, and 8 cores
same() {
    local threads found
    cat >programs
    for threads in 1 2 8; do what $threads <programs >on_$threads; done
    mapfile -t found < <(
        for threads in 2 8; do diff -U 20 on_1 on_$threads || true; done
        awk '/^== / { program = $0 } /^status / && !/ [034]$/ { print program ": " $0 }' on_1
    )
    complain "${found[@]}"
}

# cases PROGRAM [ARGUMENT...]: "PROGRAM CASE ARGUMENT..." for each of its cases
cases() { LD_LIBRARY_PATH=$LIBRARY "./$1" | tr ' ' '\n' | sed "s/.*/$1 & ${*:2}/"; }

# threads N PROGRAM ARGUMENT...: prints how many threads were started for its launches
threads() { what "$1" <<<"${*:2}" | sed -n 's/^threads: //p'; }

# bats test_tags=long
@test "a large launch leaves, prints, and has reported the same on 1, 2, and 8 cores" {
    local check
    kernels cores
    same < <(cases cores)
    # Without the checks a block may read what the one before it has left.
    printf 'cores %s\n' leftovers float_sum far_race unwritten spread >some
    for check in off no-init no-race,no-sync; do SIM_CHECK=$check same <some; done
    SIM_FILL=205 same <some
    SIM_SCHEDULE=random:3 same <<<"cores far_race"
    SIM_SCHEDULE=late same <<<"cores spread"
    assert_equal "$(SIM_CHECK=off what 2 <<<"cores leftovers" | grep -c Success)" 2
    assert_equal "$(what 2 <<<"cores far_race" | grep -c "^hazard: race between blocks")" 1
    finish
}

@test "independent blocks run on several cores; what depends on an order, on one" {
    local case count
    kernels cores
    assert_equal "$(threads 1 cores sums threads)" 0
    for case in each_its_own in_place tiles sums bins least bits64 calls uneven spread textured; do
        count=$(threads 8 cores "$case" threads)
        [ "$count" -gt 0 ] || complain "$case started no thread."
    done
    for case in float_sum tickets said turns added_and_less; do
        assert_equal "$case $(threads 8 cores "$case" threads)" "$case 0"
    done
    # What has shown once that it depends on an order, here in the second part of a launch, is not
    # tried again with the next one.
    assert_equal "$(threads 2 cores far_race threads)" 2
    # SIM_THREADS is left out: all cores of the process, and one in a graded run.
    LD_LIBRARY_PATH=$LIBRARY run on_one_core ./cores sums threads
    assert_line "threads: 0"
    finish
}

@test "where no thread can be started, a launch runs on one core" {
    local case
    kernels cores
    for case in sums bins late_fault; do
        assert_equal "$(what 8 <<<"cores $case none" | grep -vE '^(==|threads)')" \
            "$(what 1 <<<"cores $case" | grep -v '^==')"
        [ "$(threads 8 cores $case none)" -gt 0 ] || complain "$case tried none."
    done
    finish
}

# divided SETTING...: LIBRARY becomes one that divides small launches, too, and gives up memory soon
divided() {
    local copy=$BATS_TEST_TMPDIR/copy
    (cd "$ROOT" && workbook_copy "$copy")
    sed -i -E 's/^(#define (RANGE|PART)_WORK) .*/\1 1/; s/^(#define SAVED_MAX) .*/\1 100000/' \
        "$copy/simulator/ptx/cores.c"
    assert_equal "$(grep -cE '^#define ((RANGE|PART)_WORK 1|SAVED_MAX 100000)$' \
        "$copy/simulator/ptx/cores.c")" 3
    if [ "$*" = SANITIZE=thread ]; then # the other objects are those of the suite's own build
        make -s -C "$ROOT" BACKEND=simulator "$@" simulator
        mkdir "$copy/build/simulator-thread"
        cp -a "$ROOT"/build/simulator-thread/{objects,*.inc} "$copy/build/simulator-thread"
    fi
    make -s -C "$copy" BACKEND=simulator "$@" simulator
}

# bats test_tags=long
@test "small launches that are divided: programs of all kinds, cases, checks, random kernels" {
    local program variant
    OPTIONS=-DBLOCKS=512 kernels cores
    kernels blocks races unwritten misused strays shapes matrices textures texture_words
    divided
    LIBRARY=$BATS_TEST_TMPDIR/copy/build/simulator
    for program in blocks races unwritten misused; do
        for variant in correct incorrect; do cases $program $variant; done
    done >several
    {
        cases strays incorrect
        lines shapes matrices "textures errors" texture_words
        cases cores
    } >>several
    same <several
    SIM_THREADS=3 LD_LIBRARY_PATH=$LIBRARY random_kernels 2 40
    # Blocks are compared with each other for so long that it takes no longer than running them.
    sed -i -E 's/^(#define WORDS_MIN) .*/\1 500/; s/^(#define WORDS_EACH) .*/\1 2/' \
        "$BATS_TEST_TMPDIR/copy/simulator/ptx/between_blocks.c"
    make -s -C "$BATS_TEST_TMPDIR/copy" BACKEND=simulator simulator
    same < <(cases cores)
    finish
}

# bats test_tags=long
@test "the thread sanitizer finds nothing in launches on several cores" {
    local case tsan
    OPTIONS=-DBLOCKS=512 kernels cores
    kernels shapes matrices textures
    divided SANITIZE=thread
    tsan=$(gcc -print-file-name=libtsan.so)
    # Races of a kernel are races of our threads, too, before the launch goes on on one core.
    # Uneven blocks are left out: to our threads they are those of in_place, and take ten times as
    # long.
    for case in "cores "{each_its_own,in_place,tiles,sums,bins,least,bits64,calls,spread} \
        "cores "{late_fault,late_assertion,late_shared_race,unwritten,carried} shapes matrices \
        "cores "{textured,unwritten_texture,late_surface} textures; do
        # shellcheck disable=SC2086  # a program and its argument
        SIM_THREADS=3 SIM_MEMORY=4G LD_LIBRARY_PATH=$BATS_TEST_TMPDIR/copy/build/simulator-thread \
            LD_PRELOAD=$tsan run bounded ./$case
        [[ $status = [034] && $output != *ThreadSanitizer* ]] || complain "$case:" "$output"
    done
    finish
}
