#!/usr/bin/env bats
# The workbook on arm64: compiled for it here, and run by qemu-user, which runs the programs of
# another machine one by one. What needs a kernel of that machine, such as the filter of system
# calls that seals a graded run, is not there.

# bats file_tags=long
load ../suite

PACKAGES="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
# Before version 8, qemu-user needs ten seconds to reserve the addresses of two H200s.
EMULATOR="qemu-aarch64 -E SIM_MEMORY=4G -L /usr/aarch64-linux-gnu"

setup_file() {
    local copy=$BATS_FILE_TMPDIR/copy programs=(solutions/[0-9]*.c)
    has_packages || return 0
    workbook_copy "$copy"
    rm -rf "$copy/build/simulator" "$copy/build/cuda/found"
    programs=("${programs[@]%.c}")
    # Without the linker's optimization, which has nothing to do with the machine, it takes half.
    as_typed make -s -C "$copy" -j2 CC=aarch64-linux-gnu-gcc LTO= BACKEND=simulator simulator \
        "${programs[@]/#/build/simulator/}" >"$BATS_FILE_TMPDIR/make" 2>&1 || true
}

has_packages() {
    type -P aarch64-linux-gnu-gcc >/dev/null && type -P qemu-aarch64 >/dev/null &&
        [ -e /usr/aarch64-linux-gnu/include/stdio.h ]
}

setup() {
    has_packages || skip "not installed, and not by make test-all either: $PACKAGES"
    cd "$BATS_FILE_TMPDIR/copy" || return 1
}

# For what starts another program of arm64: skips the test where a user cannot have the kernel start
# qemu-user for it. Linux can from 6.7 on, for the processes of one namespace.
need_own_binfmt() {
    printf '#!/bin/sh\nexec %s "$@"\n' "$EMULATOR" >"$BATS_TEST_TMPDIR/interpreter"
    chmod +x "$BATS_TEST_TMPDIR/interpreter"
    emulated true 2>"$BATS_TEST_TMPDIR/why" ||
        skip "no arm64 program can start another here: $(tail -n 1 "$BATS_TEST_TMPDIR/why")"
}

# emulated COMMAND: in a namespace, as an ordinary user, where a program of arm64 can be started as
# any other. The kernel knows it by the first bytes of its ELF header.
emulated() {
    local own='mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc && printf %s "$1" \
        >/proc/sys/fs/binfmt_misc/register && shift && exec unshare --user --map-user=1000 \
        --map-group=1000 "$@"'
    local zeros='\x00\x00\x00\x00\x00\x00\x00\x00\x00' all='\xff\xff\xff\xff\xff\xff\xff'
    local magic="\\x7fELF\\x02\\x01\\x01$zeros\\x02\\x00\\xb7\\x00"
    local mask="$all\\x00$all\\xff\\xfe\\xff\\xff\\xff"
    unshare --user --map-root-user --mount "$BASH" -c "$own" own \
        ":arm64:M::$magic:$mask:$BATS_TEST_TMPDIR/interpreter:" "$@"
}

# expect_recorded LESSON FILE STATUS: what it printed on arm64
expect_recorded() {
    [ "$3" = 0 ] || complain "$1: exit status $3." "$(head -n 3 "$2.errors")"
    cmp -s <(words "tests/lessons/$1/expected/output.txt") <(words "$2") ||
        complain "$1:" "$(diff "tests/lessons/$1/expected/output.txt" "$2" | head -n 6)"
}

@test "the simulated device and every solution compile for arm64 without a warning" {
    assert_equal "$(<"$BATS_FILE_TMPDIR/make")" \
        "Compiling the simulated device into build/simulator."
    run file -b build/simulator/libcudart.so.13
    assert_output --partial "ARM aarch64"
}

@test "every lesson's solution prints on arm64 what a device printed" {
    local lesson status out=$BATS_TEST_TMPDIR/out
    for lesson in $(lessons); do
        ! grep -q 'execl(' "solutions/$lesson.c" || continue   # the test below
        status=0
        # shellcheck disable=SC2086  # words
        timeout 600 $EMULATOR "build/simulator/solutions/$lesson" >"$out" 2>"$out.errors" ||
            status=$?
        expect_recorded "$lesson" "$out" "$status"
    done
    finish
}

@test "a lesson that starts itself again prints on arm64 what a device printed" {
    local program lesson status out=$BATS_TEST_TMPDIR/out
    need_own_binfmt
    for program in $(grep -l 'execl(' solutions/*.c); do
        lesson=$(basename "$program" .c)
        status=0
        emulated timeout 600 "build/simulator/solutions/$lesson" >"$out" 2>"$out.errors" ||
            status=$?
        expect_recorded "$lesson" "$out" "$status"
    done
    finish
}

@test "a student is graded on arm64; the grader names what an emulator cannot promise" {
    need_own_binfmt
    mkdir "$BATS_TEST_TMPDIR/bin"
    for tool in objdump objcopy; do
        ln -s "$(type -P aarch64-linux-gnu-$tool)" "$BATS_TEST_TMPDIR/bin/$tool"
    done
    mkdir student
    cp solutions/{01,14,17}_*.c student
    cp lessons/08_*.c student
    run emulated env PATH="$BATS_TEST_TMPDIR/bin:$PATH" CC=aarch64-linux-gnu-gcc LTO= \
        STUDENT=student OUT="$BATS_TEST_TMPDIR/grade" ONLY="1 8 14 17" tests/grading/grade.sh
    assert_success
    assert_line --index 0 --partial "journals that no program can forge"
    run jq -r '.lessons[] | "\(.lesson) \(.points == .possible) \(.points)"' \
        "$BATS_TEST_TMPDIR/grade/grade.json"
    assert_line --regexp '^01_first_allocation true [1-9]'
    assert_line "08_stream_order false 0"
    assert_line --regexp '^14_peer_access true [1-9]'
    assert_line --regexp '^17_ipc_allocation true [1-9]'
}
