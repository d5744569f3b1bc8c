#!/usr/bin/env bats
# The page "Run your own program": its commands, its program in both forms, and its words.

load ../suite

# program FORM: the program of the page, whose form "right" has the missing wait
program() {
    [ "$1" = wrong ] || echo "#define REPAIRED"
    cat "$ROOT/docs/programs/your_program.c"
}

setup_file() {
    local form folder
    unset "${!SIM_@}"
    make -s simulator
    for form in wrong right; do
        folder=$BATS_FILE_TMPDIR/$form
        mkdir "$folder"
        program "$form" >"$folder/your_program.c"
        (cd "$folder" && WORKBOOK=$ROOT eval "$(command_of_page '^   \$ gcc')")
    done
}

setup() {
    unset "${!SIM_@}"
    export WORKBOOK=$ROOT
    cd "$BATS_FILE_TMPDIR" || return 1
}

# command_of_page PATTERN: the command of the page that begins so, without its prompt
command_of_page() {
    PATTERN=$1 awk '$0 ~ ENVIRON["PATTERN"] { on = 1 } on { print } on && !/\\$/ { exit }' \
        "$ROOT/docs/your_program.rst" | sed 's/^   \$ //'
}

schedules=(measured instant late random:1 random:5)

# run_form FORM: as the page says to run it
run_form() {
    cd "$BATS_FILE_TMPDIR/$1" || return 1
    run eval "$(command_of_page '^   \$ LD_LIBRARY_PATH')"
}

# line_of TEXT: the number of that line of the program
line_of() { grep -nF "$1" "$ROOT/docs/programs/your_program.c" | cut -d : -f 1; }

@test "the broken form is reported under every schedule, with its kernels and their lines" {
    local schedule first second
    first=$(line_of 'CHECK(launch_squares(')
    second=$(line_of 'CHECK(launch_total(')
    for schedule in "${schedules[@]}"; do
        SIM_SCHEDULE=$schedule run_form wrong
        assert_failure 3
        assert_line --index 0 "hazard: read not ordered after a write. total (stream 2) and \
squares (stream 1) touch the same bytes of allocation 2, and nothing orders them."
        assert_line --partial "written    squares, stream 1 (making), at your_program.c:$first"
        assert_line --partial "read       total, stream 2 (adding), at your_program.c:$second"
        assert_line "  Missing:   nothing makes stream 2 (adding) wait for stream 1 (making)."
        assert_equal "$(grep -c '^hazard: ' <<<"$output")" 2
    done
}

@test "its numbers are as the page says: right under the first schedule, incorrect under another" {
    run_form wrong
    assert_line "the sum is 3074455146595352576, expected 3074455146595352576"
    SIM_CHECK=off SIM_SCHEDULE=random:5 run_form wrong
    assert_failure 1
    assert_output --regexp '^the sum is [0-9]+, expected 3074455146595352576$'
}

@test "the repaired form is correct under every schedule" {
    local schedule
    run ldd right/your_program
    assert_output --partial "libcudart.so.13"
    for schedule in "${schedules[@]}"; do
        SIM_SCHEDULE=$schedule run_form right
        assert_success
        assert_output "the sum is 3074455146595352576, expected 3074455146595352576"
    done
}

@test "the program is C++ as well" {
    type -P g++ >/dev/null || skip "g++ is not installed"
    g++ -std=c++11 -Wall -Wextra -Werror -x c++ -fsyntax-only -I"$ROOT/simulator" -DREPAIRED \
        -isystem "$ROOT/build/cuda/include" "$ROOT/docs/programs/your_program.c"
}

# buffers NAME [SED]: a program whose buffers are used in two streams, moved and left behind, with
# the class of the page "Move a program to pools", or with that of a file that SED has changed
buffers() {
    mkdir -p "$1"
    sed "${2:-}" "$ROOT/docs/programs/device_buffer.hpp" >"$1/device_buffer.hpp"
    [ -z "${2:-}" ] || ! cmp -s "$1/device_buffer.hpp" "$ROOT/docs/programs/device_buffer.hpp" ||
        complain "$2 changes nothing."
    cat >"$1/buffers.cpp" <<'C'
#include "device_buffer.hpp"
#include <cstdint>
#include <cstdio>
int main()
{
    const std::size_t bytes = 1 << 20;
    cudaStream_t load, work;
    cudaMemPool_t pool;
    std::uint64_t used = 1;
    cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
    {
        device_buffer first(bytes, load), second(bytes, work);
        cudaMemsetAsync(first.use(load), 1, bytes, load);
        cudaMemsetAsync(first.use(work), 2, bytes, work);
        device_buffer moved(std::move(first));
        second = std::move(moved);
        cudaMemsetAsync(second.use(load), 3, bytes, load);
        cudaMemsetAsync(second.use(work), 4, bytes, work);
    }
    cudaDeviceSynchronize();
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
    std::printf("used %d\n", static_cast<int>(used));
}
C
    g++ -std=c++14 -Wall -Wextra -Wpedantic -Werror -g "$1/buffers.cpp" \
        -isystem "$ROOT/build/cuda/include" "$ROOT/build/simulator/libcudart.so.13" -o "$1/buffers"
    export LD_LIBRARY_PATH=$ROOT/build/simulator
}

@test "the buffer in C++ frees in the stream of its last use, which its wait orders" {
    local schedule
    type -P g++ >/dev/null || skip "g++ is not installed"
    buffers whole
    for schedule in "${schedules[@]}"; do
        SIM_SCHEDULE=$schedule run whole/buffers
        assert_success
        assert_output "used 0"
    done
    buffers without_wait /cudaStreamWaitEvent/d
    run without_wait/buffers
    assert_failure 3
    assert_line --partial "hazard: unordered writes."
    buffers without_memory 's/last_ = stream;//'
    run without_memory/buffers
    assert_failure 3
    assert_line --partial "hazard: free before the use ends."
    finish
}

@test "CMake builds it as the page shows" {
    type -P cmake >/dev/null || skip "cmake is not installed"
    cmake -S "$ROOT/docs/programs" -B cmake -D WORKBOOK="$ROOT" \
        -D CMAKE_C_COMPILER="$(type -P gcc)" >log
    cmake --build cmake >>log
    run cmake/your_program
    assert_failure 3
    assert_output --partial "hazard: read not ordered after a write. total"
}

# bats test_tags=long
@test "the job for a CI passes with the repaired program and fails with the broken one" {
    local job=$ROOT/docs/programs/ci.yml
    git -C "$ROOT" rev-parse --git-dir >/dev/null 2>&1 || skip "the workbook is no git repository"
    # The lines below "run: |", and the words of "env:".
    awk '/^ *run: \|$/ { match($0, /^ */); deep = RLENGTH + 2; file = "step" ++steps; next }
        deep && match($0, /^ */) && RLENGTH >= deep { print substr($0, deep + 1) >file; next }
        { deep = 0 }' "$job"
    assert_equal "$(echo step*)" "step1 step2"
    assert_equal "$(sed -nE '/^env:/,/^jobs:/s/^  ([A-Z]+): .*/\1/p' "$job" | xargs)" \
        "WORKBOOK PROGRAM"
    mkdir temp
    git_of_built "$PWD/bin"
    step() {
        run as_typed PATH="$PWD/bin:$PATH" WORKBOOK="file://$ROOT" PROGRAM=your_program.c \
            RUNNER_TEMP="$PWD/temp" bash -e "step$1"
    }
    step 1
    assert_success
    program right >your_program.c
    step 2
    assert_success
    assert_equal "$(grep -c '^the sum is ' <<<"$output")" 3
    program wrong >your_program.c
    step 2
    assert_failure
    assert_line --partial "hazard: read not ordered after a write. total"
    rm -rf temp
}

@test "make mine refuses a program with CUDA 12 or a static runtime as the page says" {
    local library
    for library in libcudart.so.12 libother.so.1; do
        gcc -shared -x c -Wl,-soname,$library -o $library - \
            <<<'int cudaFree(void *p) { return !p; }'
        gcc -x c - -x none $library -o "with_$library" \
            <<<'int cudaFree(void *); int main(void) { return cudaFree(0); }'
        run as_typed make -C "$ROOT" mine FILE="$PWD/with_$library"
        assert_failure
        case $library in
        *12) said="is linked with libcudart.so.12" ;;
        *) said="does not load libcudart.so.13, so no simulated device can take its place" ;;
        esac
        output=$(tr '\n' ' ' <<<"$output")
        assert_output --partial "make mine: $PWD/with_$library $said"
        tr -s '\n ' ' ' <"$ROOT/docs/your_program.rst" | grep -qF "\`\`./your_program $said\`\`" ||
            complain "The page does not say: $said"
    done
    finish
}

@test "the table's rows add up" {
    run awk -F ' [|] ' '
        /^[|] / && $2 ~ /^[0-9]+$/ {
            rows++
            for (i = 1; i <= 4; i++) all[i] += $(i + 1)
            if ($2 != $3 + $4 + $5) print $1 ": the columns do not add up"
        }
        END {
            if (rows != 14) print rows " rows"
            printf "Of %d,%03d that we tried %d,%03d passed, %d didn\047t, and %d didn\047t", \
                all[1] / 1000, all[1] % 1000, all[2] / 1000, all[2] % 1000, all[3], all[4]
        }' "$ROOT/docs/recorded/others.md"
    assert_success
    [[ $(tr -s ' \n' ' ' <"$ROOT/docs/real_devices.rst") == *"$output apply here."* ]] ||
        fail "The page has other sums: $output"
}
