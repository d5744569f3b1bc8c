#!/usr/bin/env bats
# The simulated device from outside: its symbols, its SIM_ variables, its journal, and what a
# program may and may not do.

load ../../../tests/suite
load programs

setup_file() {
    local programs=(behaviour host_rules threads)
    make -s BACKEND=simulator "${programs[@]/#/build/simulator/simulator/tests/unit/}" \
        build/simulator/simulator/tests/facts/one-gpu
}

library=build/simulator/libcudart.so.13

# program STATUS NAME [ARGUMENT...]: runs it, which ends with this status. $output is stdout, and
# $errors stderr. It gets the three descriptors of a terminal and none of those that Bats has open:
# when a process opens more than fit into its table, Linux lets it wait, and that must not depend on
# Bats.
program() {
    local wanted=$1 name=$2 open
    shift 2
    status=0
    output=$(
        for open in /proc/"$BASHPID"/fd/*; do
            open=${open##*/}
            [ "$open" -lt 3 ] || exec {open}>&-
        done
        bounded "$PROGRAMS/$name" "$@" 2>errors
    ) || status=$?
    errors=$(cat errors)
    [ "$status" = "$wanted" ] || miss "$name $*: status $status, not $wanted." "$output" "$errors"
}

# said TEXT...: stderr has each text
said() {
    local text
    for text in "$@"; do
        [[ $errors == *"$text"* ]] || miss "No \"$text\" in:" "$errors"
    done
}

# said_once: stderr has one sentence
said_once() { assert_equal "$(grep -c "simulated device" <<<"$errors")" 1; }

# printed LINE...: stdout is these lines
printed() {
    diff <(printf '%s\n' "$@") <(printf '%s\n' "$output") ||
        miss "stdout differs (< expected, > here)." "stderr:" "$errors"
}

names_of() {
    nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort
}

# ---- the library ----

@test "the library has every function of libcudart.so.13 and libcuda.so.1, sim_*, and no more" {
    cd "$ROOT"
    # As many as the headers of CUDA 13.0 declare.
    [ "$(wc -l <build/simulator/libcudart-symbols.txt)" -ge 405 ]
    [ "$(wc -l <build/simulator/libcuda-symbols.txt)" -ge 637 ]
    run diff <({ cat build/simulator/libcu{dart,da}-symbols.txt simulator/api/newer-symbols.txt
        sed -nE 's/^[A-Z_0-9]+\((__cuda\w+|cudaProfiler\w+).*/\1/p' simulator/api/calls.def
        echo __cudaLaunchKernel_ptsz
        printf '%s\n' {kernel,launch}_{add,fill,hold} sim_launch_kernel{,_ptsz} \
            sim_graph_add_kernel_node sim_calls nvrtcGetCUBIN{,Size}; } |
        LC_ALL=C sort -u) <(names_of "$library")
    assert_output ""
}

@test "its name and its symbols' version are libcudart.so.13, but for NVRTC's, also where linked" {
    cd "$ROOT"
    run readelf -d "$library"
    assert_output --partial "Library soname: [libcudart.so.13]"
    run bash -c 'nm -D --defined-only "$1" | grep -v "@@libcudart.so.13\$" | grep -v " A " |
        grep -Ev " nvrtc\w+@@libnvrtc.so.13\$"' - "$library"
    assert_output ""
    run bash -c 'readelf -V "$1" | grep -A 1 "File: libcudart.so.13"' - "$PROGRAMS/behaviour"
    assert_output --partial "Name: libcudart.so.13"
}

@test "a program linked with the real library needs the same, and runs on the simulated one" {
    local real
    real=$(cd "$ROOT" &&
        find -H build/cuda /usr/local/cuda/lib{64,} -name libcudart.so.13 2>/dev/null | head -n 1)
    [ -n "$real" ] || skip "no real libcudart.so.13 is here"
    cd "$ROOT"
    cat >"$BATS_TEST_TMPDIR/small.c" <<'END'
#include <cuda_runtime_api.h>
#include <stdio.h>
int main(void) { int n = 0; cudaGetDeviceCount(&n); printf("%d devices\n", n); return 0; }
END
    run comm -23 <(names_of "$real") <(names_of "$library")
    assert_output ""
    "${CC:-gcc}" -isystem build/cuda/include "$BATS_TEST_TMPDIR/small.c" -o \
        "$BATS_TEST_TMPDIR/real" "$real"
    "${CC:-gcc}" -isystem build/cuda/include "$BATS_TEST_TMPDIR/small.c" -o \
        "$BATS_TEST_TMPDIR/simulated" "$library"
    needs() {
        readelf -V "$1" | grep -E 'File:|Name:' |
            sed 's/^.*\(File\|Name\)/\1/; s/ Version:.*//' | LC_ALL=C sort
    }
    run diff <(needs "$BATS_TEST_TMPDIR/real") <(needs "$BATS_TEST_TMPDIR/simulated")
    assert_output ""
    run "$BATS_TEST_TMPDIR/real"
    assert_output "2 devices"
}

@test "each function that is not simulated returns cudaErrorNotSupported, and names itself once" {
    local names named
    mapfile -t names < <(sed -n 's/^UNMODELLED(\(.*\))$/\1/p' \
        "$ROOT/build/simulator/unmodeled.inc")
    [ "${#names[@]}" -gt 50 ]
    # The newest exports of CUDA 13.5's library, which no header declares.
    local newest="cudaSubgridCreate cudaSubgridWorkerGridCreate cudaSubgridWorksetCreate"
    [[ " ${names[*]} " == *" $newest "* ]]
    SIM_JOURNAL=journal program 0 behaviour unsupported "${names[@]}"
    printed "${#names[@]} functions asked, 0 returned something else"
    run diff <(printf '%s\n' "${names[@]}" | LC_ALL=C sort) \
        <(sed 's/^simulated device: \([^ ]*\) is not simulated.*/\1/' errors | LC_ALL=C sort)
    assert_output ""
    named=$(jq -r 'select(.did == "unsupported").call' journal | LC_ALL=C sort -u | wc -l)
    assert_equal "$named" "${#names[@]}"
}

@test "with SIM_FILL new memory has that byte, in the order of its stream" {
    local schedule
    for schedule in measured instant late random:1; do
        export SIM_SCHEDULE=$schedule
        program 0 behaviour filled
        assert_equal "$output$errors" "0 1010101 1010101 0"
        SIM_FILL=171 program 0 behaviour filled
        assert_equal "$output$errors" "abababab 1010101 abababab abababab"
    done
}

@test "with SIM_ADD figures of memory are larger, and by more each time" {
    program 0 behaviour told
    printed "1 0 0 0 0"
    SIM_ADD=5 program 0 behaviour told
    printed "6 5 10 15 5"
}

@test "cudaProfilerStart and cudaProfilerStop succeed, and print nothing" {
    # Declared here: not every package of the runtime's headers has cuda_profiler_api.h.
    build profiled.c <<'END'
#include <cuda_runtime_api.h>
cudaError_t cudaProfilerStart(void), cudaProfilerStop(void);
int main(void) { return cudaProfilerStart() || cudaProfilerStop(); }
END
    prints "" ./program
}

# ---- the SIM_ variables ----

@test "nonsense in a SIM_ variable: one sentence names it, its value and a correct one" {
    local setting
    for setting in SIM_DEVICES={abc,0,17,99,-1,' 2',2x,+2,1e1} \
        SIM_MEMORY={-1,5Q,1,abc,G,99999999999999999999,16777216T,+5G,8GG} \
        SIM_SCHEDULE={fast,random:,random:x,random:-1,Measured,random} \
        SIM_FAIL=cudaMalloc{,:,:0,:x,:-1,': 1'} SIM_FAIL={:1,malloc:1,cudaMallocAsnyc:1} \
        SIM_FAIL={cudaMallocAsync_ptsz:1,cudaGetLastError:1} SIM_EXPLAIN={on,2,true} \
        SIM_CHECK={maybe,1,OFF} SIM_PEERS={yes,0} SIM_JOURNAL={/nonexistent/x,/tmp} \
        SIM_DRIVER_VERSION={12,x} SIM_HANDLE_TYPES={99,fd} \
        SIM_SEGMENT={0,1,2048,32M,-2} SIM_POOLS={no,0,Off} SIM_IDLE={no,1} \
        SIM_FILL={-1,256,0xff,on} SIM_THREADS={0,257,-1,all} SIM_COLUMNS={-1,wide}; do
        status=0
        env "$setting" "$PROGRAMS/behaviour" first >out 2>err || status=$?
        [ "$status" = 2 ] || complain "$setting: exit status $status, not 2."
        [ ! -s out ] || complain "$setting: the program went on: $(cat out)"
        [ "$(wc -l <err)" = 1 ] || complain "$setting: stderr has not one line: $(cat err)"
        grep -qF "simulated device: ${setting%%=*} is \"${setting#*=}\"; " err ||
            complain "$setting: the sentence does not name it: $(cat err)"
    done
    finish
}

@test "what is not freed at the end is a note, and with SIM_CHECK=leaks a report" {
    program 3 behaviour leaks
    assert_equal "$(grep -c '^hazard: leak' <<<"$errors")" 4
    SIM_CHECK=on SIM_JOURNAL=journal SIM_REPORT=report program 0 behaviour leaks
    local note='note: 4 allocations \([0-9]+ bytes\) had not been freed when the program ended; '
    note+='the first was made by cuda[A-Za-z]+ at [^ ]+behaviour\.c:[0-9]+\. '
    note+='The system takes the memory back\. SIM_CHECK=leaks reports a leak as a hazard\.'
    assert_regex "$errors" "^simulated device: $note\$"
    [ ! -s report ] || miss "The file of reports is not empty:" "$(<report)"
    assert_equal "$(jq -r 'select(.did == "exit").live' journal)" 4
    SIM_CHECK=off program 0 behaviour leaks
    assert_equal "$errors" ""
    SIM_CHECK=on program 3 behaviour unordered
    said "hazard: unordered writes"
}

@test "a journal whose file takes no more: one sentence says so" {
    SIM_JOURNAL=/dev/full program 0 behaviour first
    said "the journal (SIM_JOURNAL) is not whole"
}

@test "a journal at the length that files may have (ulimit -f): the same sentence, no signal" {
    run bash -c 'ulimit -f 64; SIM_JOURNAL=long timeout 600 "$1/behaviour" long_journal' - \
        "$PROGRAMS"
    assert_success
    assert_output --partial "10000 calls"
    assert_output --partial "the journal (SIM_JOURNAL) is not whole: its file can take no more (F"
    [ "$(grep -c "simulated device" <<<"$output")" = 1 ] || miss "It said:" "$output"
    [ "$(stat -c %s long)" = 65536 ]
}

@test "opened by dlopen and closed again, once or in a loop: the program goes on and ends well" {
    # This program is not linked with the library.
    "${CC:-gcc}" -std=c11 -isystem "$ROOT/build/cuda/include" \
        "$ROOT/simulator/tests/unit/opened.c" -o opened -ldl
    opened() { # opened CASE STATUS OUTPUT
        status=0
        output=$(bounded ./opened "$ROOT/$library" "$1" 2>errors) || status=$?
        errors=$(cat errors)
        [ "$status" = "$2" ] && [ "$output" = "$3" ] ||
            miss "$1: exit status $status, not $2; it printed:" "$output" "$errors"
    }
    local schedule
    for schedule in measured instant late random:1; do
        export SIM_SCHEDULE=$schedule
        opened count 0 "2 devices"
        opened loop 0 "40 host functions"
        opened pending 0 "2 devices"$'\n'"it ran"
    done
    SIM_SCHEDULE=late opened touch 3 "2 devices"
    said "hazard: host access not ordered after a write"
}

@test "a SIM_ variable that does not exist: one sentence that names it and those that do" {
    SIM_PAGE=late program 2 behaviour first
    said "there is no variable SIM_PAGE; expected SIM_CHECK, SIM_DEVICES, " " or SIM_" ". To remove"
    [[ $errors != *SIM_SEAL* ]] || miss "It names the grader's variable:" "$errors"
}

@test "an empty SIM_ variable is as good as none" {
    SIM_DEVICES='' SIM_MEMORY='' SIM_SCHEDULE='' SIM_FAIL='' SIM_CHECK='' SIM_JOURNAL='' \
        program 0 behaviour first
    printed "devices 2 memory 150109880320"
}

@test "SIM_DEVICES and SIM_MEMORY are what the program sees" {
    SIM_DEVICES=5 SIM_MEMORY=3G program 0 behaviour first
    printed "devices 5 memory 3221225472"
    SIM_DEVICES=16 SIM_MEMORY=65536K program 0 behaviour first
    printed "devices 16 memory 67108864"
}

@test "SIM_SEGMENT is the size of a segment, and 32 MiB when it is not set" {
    program 0 behaviour segments
    printed "reserved 32 32 64"
    SIM_SEGMENT=3 program 0 behaviour segments
    printed "reserved 3 21 42"
    SIM_SEGMENT=48 program 0 behaviour segments
    printed "reserved 48 48 48"
    SIM_SEGMENT=1024 SIM_MEMORY=64M program 0 behaviour segments
    printed "reserved 0 0 0"
}

@test "SIM_POOLS=off: a new driver, a device without pools, and both attributes are 0" {
    local call='cudaDeviceGetAttribute(&' plain='cudaMalloc(&p, MiB): cudaSuccess'
    local pools="${call}pools, cudaDevAttrMemoryPoolsSupported, 0)"
    local types="${call}types, cudaDevAttrMemoryPoolSupportedHandleTypes, 0)"
    program 3 behaviour support
    printed "$pools: cudaSuccess" "$types: cudaSuccess" \
        "driver 13000: pools 1, handle types 9; properties: 1, 9" \
        "cudaMallocAsync(&p, MiB, NULL): cudaSuccess" "$plain"
    SIM_POOLS=off program 0 behaviour support
    printed "$pools: cudaSuccess" "$types: cudaSuccess" \
        "driver 13000: pools 0, handle types 0; properties: 0, 0" \
        "cudaMallocAsync(&p, MiB, NULL): cudaErrorNotSupported" "$plain"
    SIM_DRIVER_VERSION=11010 program 0 behaviour support
    printed "$pools: cudaErrorInvalidValue" "$types: cudaErrorInvalidValue" \
        "driver 11010: pools -1, handle types -1; properties: 0, 0" \
        "cudaMallocAsync(&p, MiB, NULL): cudaErrorNotSupported" "$plain"
}

@test "a driver before 12.3 has no fabric handles: none is promised, made or imported" {
    local version call='cudaDeviceGetAttribute(&types, '
    call+='cudaDevAttrMemoryPoolSupportedHandleTypes, 0)'
    local descriptors='cudaMemPoolCreate(&descriptors, &props): cudaSuccess'
    local fabrics='cudaMemPoolCreate(&fabrics, &props)'
    local import='cudaMemPoolImportFromShareableHandle(&imported, &handle, '
    import+='cudaMemHandleTypeFabric, 0)'
    for version in 12030 13000; do
        SIM_DRIVER_VERSION=$version program 0 behaviour fabric
        printed "$call: cudaSuccess" "handle types 9" "$descriptors" "$fabrics: cudaSuccess" \
            "$import: cudaErrorNotSupported"
    done
    for version in 11030 12020; do
        SIM_HANDLE_TYPES=9 SIM_DRIVER_VERSION=$version program 0 behaviour fabric
        printed "$call: cudaSuccess" "handle types 1" "$descriptors" \
            "$fabrics: cudaErrorInvalidValue" "$import: cudaErrorInvalidValue"
    done
    SIM_DRIVER_VERSION=11020 program 0 behaviour fabric
    printed "$call: cudaErrorInvalidValue" "handle types -1" "$descriptors" \
        "$fabrics: cudaErrorInvalidValue" "$import: cudaErrorInvalidValue"
}

@test "a wait behind a closed gate ends the program, and the report has its line" {
    local line
    line=$(grep -n '/\* the wait \*/' "$ROOT/simulator/tests/unit/behaviour.c")
    program 3 behaviour closed_gate
    said "hazard: waiting forever. cudaStreamSynchronize waits for stream 1," \
        "behaviour.c:${line%%:*}"$'\n'"  To do: "
}

@test "the journal has how many exported descriptors were left open" {
    local case
    for case in "3 0 3" "3 1 2" "3 3 null" "0 0 null"; do
        # shellcheck disable=SC2086  # words
        set -- $case
        SIM_JOURNAL=journal program 0 behaviour exports "$1" "$2"
        assert_equal "$(jq -r 'select(.did == "exit").descriptors' journal)" "$3"
    done
}

@test "SIM_FAIL=cudaMallocAsync:2 makes the second one fail, and no other" {
    local wanted=() i
    for i in cudaSuccess cudaErrorMemoryAllocation cudaSuccess; do
        wanted+=("cudaMallocAsync(&p, MiB, s): $i" "cudaGetLastError(): $i")
    done
    SIM_FAIL=cudaMallocAsync:2 program 0 behaviour fail
    printed "${wanted[@]}"
}

# ---- time ----

@test "events time the device: 64 MiB take what an H200 took, and what the schedule makes of it" {
    program 0 behaviour seconds
    local us start
    start=$(lines "cudaEventElapsedTime(&ms, a, b): cudaErrorNotReady" \
        "cudaEventElapsedTime(&ms, a, b): cudaSuccess" "microseconds ")
    [[ $output == "$start"* ]] || miss "It printed:" "$output"
    us=$(sed -n 's/^microseconds //p' <<<"$output")
    [ "$us" -ge 15 ] && [ "$us" -le 21 ] || miss "The recorded device took 18.0 us, not $us."
    SIM_SCHEDULE=instant program 0 behaviour seconds
    [[ $output == *"microseconds 0" ]]
    SIM_SCHEDULE=late program 0 behaviour seconds
    us=$(sed -n 's/^microseconds //p' <<<"$output")
    [ "$us" -ge 1000000 ]
}

@test "SIM_EXPLAIN=1: a report of a missing edge adds the epoch and the vector clock" {
    local without
    program 3 behaviour unordered
    assert_equal "$(grep -c "^  Missing:" <<<"$errors")" 1
    without=$errors
    SIM_EXPLAIN=0 program 3 behaviour unordered
    assert_equal "$errors" "$without"
    SIM_EXPLAIN=1 program 3 behaviour unordered
    run diff <(echo "$without") <(echo "$errors")
    assert_line ">   Epoch:     cudaMemsetAsync is operation 2 of stream 1."
    assert_line ">   Acquired:  before cudaMemsetAsync, stream 2 has acquired stream 1 up to 1."
    assert_equal "$(grep -c "^[<>]" <<<"$output")" 2
}

# ---- the journal ----

@test "the journal is JSON Lines, numbered from 0, the same bytes in two runs, under any schedule" {
    local schedule run
    export SIM_CHECK=off
    for schedule in measured instant random:4; do
        for run in 1 2; do
            SIM_SCHEDULE=$schedule SIM_JOURNAL=journal$run "$FACTS/one-gpu" first >out$run 2>err ||
                complain "$schedule: exit status $?."
        done
        cmp -s journal1 journal2 || complain "$schedule: two runs leave different journals:" \
            "$(diff journal1 journal2 | head -n 4)"
        jq -e -s 'map(.n) == [range(length)]' journal1 >/dev/null ||
            complain "$schedule: the lines are not numbered 0, 1, 2, ..., or are no JSON."
        jq -e -s 'first.did == "start" and last.did == "exit"
            and all(.[]; has("call") != has("did"))' journal1 >/dev/null ||
            complain "$schedule: start, exit, or a line that has neither a call nor did."
        jq -e -s 'all(.[] | select(.call); has("result") and .end >= .t)' journal1 >/dev/null ||
            complain "$schedule: a call without a result, or one that ends before it begins."
    done
    finish
}

@test "host functions that are pending at the end are run, and two runs leave the same journal" {
    local run
    for run in 1 2; do
        SIM_SCHEDULE=late SIM_JOURNAL=journal$run program 0 threads functions_at_end
        assert_equal "$(grep -c '"op":"host function"' journal$run)" 2000
    done
    diff journal1 journal2
}

@test "host functions and the host wake and await each other: all runs leave the same journal" {
    local way run
    for way in wakes spins dozes waits lags asks; do
        for run in 1 2 3; do
            SIM_SCHEDULE=random:5 SIM_JOURNAL=journal$run program 0 threads "$way"
            diff journal1 journal$run
        done
        # The time that the function takes after it continues changes nothing.
        [ "$way" != waits ] || mv journal1 waits
    done
    SIM_SCHEDULE=random:5 SIM_JOURNAL=lags program 0 threads lags
    diff waits lags
}

# line_of WORDS: the first place in threads.c that has these words
line_of() {
    local line
    line=$(grep -n -m1 -F "$1" "$ROOT/simulator/tests/unit/threads.c")
    echo "threads.c:${line%%:*}"
}

# function_at WORDS: the same for a function, whose first instruction may belong to its brace
function_at() {
    local line
    line=$(grep -n -m1 -F "$1" "$ROOT/simulator/tests/unit/threads.c")
    echo "threads.c:(${line%%:*}|$((${line%%:*} + 1)))"
}

# bats test_tags=long
@test "a wait that never ends says after ten seconds what it waits for, and where that stands" {
    local case
    for case in lock function gate; do
        timeout 20 "$PROGRAMS/threads" endless_$case >$case 2>&1 || echo "status $?" >>$case &
    done
    wait
    for case in lock function gate; do
        run cat $case
        assert_line "status 124"
        assert_equal "${#lines[@]}" 2
    done
    run cat lock
    assert_output --regexp "cudaFree at .*$(line_of 'cudaFree(memory)') has waited for stream \
1 for ten seconds. In stream 1 the host function at .*$(function_at 'static void locks'), \
queued by cudaLaunchHostFunc at .*$(line_of 's, locks'), \
has begun and not returned. If it waits for a lock"
    run cat function
    assert_output --regexp "cudaStreamSynchronize at .*$(line_of 'Synchronize(second)') has waited \
.* In stream 2 the host function at .*$(function_at 'static void posts'), .* has not begun, \
because host functions run one after another, and the host function at \
.*$(function_at 'static void wait_to'), .* has begun and not returned."
    run cat gate
    assert_output --regexp "cudaDeviceSynchronize at .*threads.c:[0-9]+ has waited for stream 1 \
for ten seconds. In stream 1 a launch_hold waits for its gate"
}

@test "a host that waits for another thread to end does not idle" {
    SIM_SCHEDULE=late program 0 threads joined
    printed cudaErrorNotReady
}

@test "a new stream does not reuse, as its own, what a destroyed stream had freed" {
    local schedule
    for schedule in measured late random:1; do
        SIM_SCHEDULE=$schedule SIM_JOURNAL=journal program 0 threads successor
        assert_equal "$(jq -r 'select(.call == "cudaMallocAsync").from' journal)" \
            "new"$'\n'"synchronized"
    done
}

@test "the journal gives reserved as cudaMemPoolGetAttribute does" {
    SIM_CHECK=off SIM_JOURNAL=journal "$FACTS/one-gpu" first >out 2>err
    # A query returns what the journal said at the last allocation or free of the pool.
    jq -e -s '
        reduce .[] as $l ({ok: true, asked: 0};
            if $l.reserved and $l.pool != null then .reserved[$l.pool | tostring] = $l.reserved
            elif $l.call == "cudaMemPoolGetAttribute"
                and $l.attribute == "cudaMemPoolAttrReservedMemCurrent" then
                .asked += 1 | .ok = (.ok and $l.value == (.reserved[$l.pool | tostring] // 0))
            else . end) | .ok and .asked > 50' journal
}

@test "the journal marks the calls in which the host learned that work is over, and no others" {
    SIM_JOURNAL=journal program 0 behaviour learns
    run jq -r 'select(.acquired) | .call' journal
    assert_output "$(lines cudaStreamSynchronize cudaEventSynchronize cudaEventQuery \
        cudaStreamQuery cudaFree cudaDeviceSynchronize)"
}

@test "the journal says where in its allocation a kernel, a memset or a copy begins" {
    SIM_CHECK=off SIM_JOURNAL=journal program 0 behaviour inside
    run jq -r 'select(.call and (.call | test("launch|Mem(set|cpy)")))
        | "\(.call) \(.allocation) \(.inner_offset // 0)"' journal
    assert_output "$(lines "launch_fill 3 4096" "launch_add 3 0" "cudaMemsetAsync 1 500" \
        "cudaMemcpyAsync 1 512" "cudaMemcpyAsync 1 16" "cudaMemsetAsync 0 0")"
}

@test "a call that waits keeps its line in the journal while another thread makes calls" {
    SIM_JOURNAL=journal program 0 behaviour meanwhile
    jq -e -s '
        ([.[] | select(.call == "cudaStreamSynchronize")] | length == 1
            and (first | .stream == 1 and .result == "cudaSuccess" and .thread == null))
        and ([.[] | select(.call == "cudaMemGetInfo")] | length == 50 and all(.[];
            .thread != null and .free and .result == "cudaSuccess"))' journal ||
        miss "The journal has other lines:" \
            "$(jq -c 'select(.call) | [.call, .thread, .stream, .result]' journal | sort | uniq -c)"
}

@test "a host that slept was idle; one that was kept waiting, or computed for a moment, was not" {
    SIM_SCHEDULE=late program 3 behaviour kept
    [[ $output == *"kept, seen 0, cudaErrorNotReady"*"slept, cudaSuccess"* ]] ||
        miss "The streams return otherwise:" "$output"
    assert_equal "$(grep -c '^hazard: host access not ordered' <<<"$errors")" 1
    SIM_IDLE=off SIM_SCHEDULE=late program 3 behaviour kept
    [[ $output == *"kept, seen 0, cudaErrorNotReady"*"slept, cudaErrorNotReady"* ]] ||
        miss "With SIM_IDLE=off a sleep lets work end:" "$output"
    SIM_SCHEDULE=late program 0 behaviour computing
    printed "computed 60 ms, cudaErrorNotReady" "cudaStreamSynchronize(s): cudaSuccess"
    SIM_SCHEDULE=late program 0 behaviour begun
    printed "a thread began, cudaErrorNotReady" "cudaStreamSynchronize(s): cudaSuccess"
}

@test "where a process has few addresses (ulimit -v), an allocation fails with a sentence" {
    local gib=$((1024 * 1024))
    run bash -c 'ulimit -v "$1"; timeout 600 "$2/behaviour" fail' - $((4 * gib)) \
        "$PROGRAMS"
    assert_output --partial "simulated device: this process has no "
    assert_output --partial "SIM_MEMORY=1024M"
    [ "$(grep -c "simulated device" <<<"$output")" = 1 ]
    SIM_MEMORY=256M run bash -c 'ulimit -v "$1"; timeout 600 "$2/behaviour" fail' - $((4 * gib)) \
        "$PROGRAMS"
    assert_success
    refute_output --partial "simulated device"
}

@test "40000 allocations of pinned memory are live at a time, more than half of the mappings" {
    SIM_SCHEDULE=instant program 0 behaviour many_pinned 40000
    printed "40000 allocations of pinned memory, 0 of them not as they should be"
    assert_equal "$errors" ""
}

@test "no mapping is left (vm.max_map_count): pinned memory fails with a sentence, and comes back" {
    [ "$(cat /proc/sys/vm/max_map_count)" -lt 100000 ] || skip "Linux allows more mappings here"
    program 0 behaviour no_mappings
    printed "cudaMallocHost(&p, 1): cudaSuccess" "cudaFreeHost(p): cudaSuccess" \
        "cudaMallocHost(&p, 1): cudaErrorMemoryAllocation" \
        "cudaMallocHost(&p, 1): cudaErrorMemoryAllocation" \
        "cudaMallocHost(&p, 1): cudaSuccess" "cudaFreeHost(p): cudaSuccess"
    said "there is none for another allocation of pinned memory."
    said_once
}

@test "no memory is left for the simulation's own records: a sentence, and the program ends" {
    program 1 behaviour no_memory
    said "this machine has no memory left for " " bytes of the simulation's own"
}

@test "10000 pools are live at a time; where the last one lacks addresses, a sentence says so" {
    export SIM_MEMORY=512G    # each pool takes 32 MiB
    program 0 behaviour many_pools 10000
    printed "10000 pools"
    assert_equal "$errors" ""
    program 0 behaviour many_pools 1000 $((10 << 30))
    printed "more from the last: cudaErrorMemoryAllocation" "1000 pools"
    said "a pool has 6304 MiB of addresses, and none for 10737418240 more bytes"
    said_once
}

@test "a program under strace, which stops it at each system call, comes to its end" {
    # Stops the first thread of a program before and after each system call.
    cat >traced.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int status, signal = 0;
    pid_t child = argc > 1 ? fork() : -1;
    if (child < 0)
        return 2;
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) {
            printf("this machine lets no process trace another (ptrace)\n");
            fflush(stdout);
            _exit(77);
        }
        execv(argv[1], argv + 1);
        _exit(2);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        if (ptrace(PTRACE_SYSCALL, child, NULL, signal))
            return 2;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
END
    "${CC:-gcc}" traced.c -o traced
    SIM_SCHEDULE=late run bounded ./traced "$PROGRAMS/behaviour" kept
    [ "$status" != 77 ] || skip "$output"
    assert_equal "$status" 3
}

@test "a report names lines of a program whose folder and file have spaces in their names" {
    mkdir "a folder"
    cat >"a folder/a file.c" <<'END'
#include "kernels.h"
#include "workbook.h"
int main(void)
{
    int *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, 16));
    CHECK(launch_fill(data, 1, 4, a));
    CHECK(launch_fill(data, 2, 4, b));
    CHECK(cudaDeviceSynchronize());
    return cudaFree(data);
}
END
    build "a folder/a file.c"
    mv program "a folder/a program"
    exits 3 "./a folder/a program"
    assert_line --regexp '^  written +launch_fill, stream 1 \(a\), at a folder/a file\.c:10$'
    assert_line --regexp '^  written +launch_fill, stream 2 \(b\), at a folder/a file\.c:11$'
    # A relative path that the compiler was told to write is kept.
    cp "a folder/a file.c" top.c
    build top.c -fdebug-prefix-map="$PWD=."
    run ./program
    assert_line --regexp '^  written +launch_fill, stream 1 \(a\), at top\.c:10$'
    # From another folder a report gives the whole path; with make's flags, one from the top.
    cd /
    run "$OLDPWD/a folder/a program"
    assert_line --regexp "written +launch_fill, stream 1 .a., at $OLDPWD/a folder/a file\\.c:10$"
    make -s -C "$ROOT" BACKEND=simulator build/simulator/docs/clinic/01_handed_over_wrong
    run "$ROOT/build/simulator/docs/clinic/01_handed_over_wrong"
    assert_line --regexp ', stream 2( \(.*\))?, at docs/clinic/01_handed_over_wrong\.c:[0-9]+$'
}

@test "a report names a stream by its variable, in the call or else where it was created" {
    build named.c -O0 <<'END'
#include "kernels.h"
#include "workbook.h"
#define ADD(data, stream) launch_add(data, 1, 4, stream)
static void add(int *data, cudaStream_t given) { (void)launch_add(data, 1, 4, given); }
static int *filled(cudaStream_t first)
{
    int *data;
    CHECK(cudaMalloc((void **)&data, 16));
    CHECK(launch_fill(data, 1, 4, first));
    return data;
}
int main(void)
{
    cudaStream_t first, streams[2], *pointer = streams;
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreate(&streams[1]));
    CHECK(launch_add(filled(first), 1, 4, streams[1])); /* element */
    CHECK(launch_add(filled(first), 1, 4, pointer[1])); /* other name */
    CHECK(launch_add(filled(first), 1, /* multi-line */
                     4, streams[1]));
    CHECK(launch_add(filled(first), 1, 4, *(pointer + 1))); /* expression */
    /* launch_add(NULL, 1, 4, x) */ CHECK(launch_add(filled(first), 1, 4, streams[1])); /* two */
    ADD(filled(first), streams[1]); /* macro */
    add(filled(first), streams[1]);
    return cudaDeviceSynchronize();
}
END
    SIM_CHECK=on exits 3 ./program
    local words line name
    while IFS='|' read -r words name; do
        line=$(grep -n "/\* $words \*/" named.c | cut -d : -f 1)
        assert_line --partial "written    launch_add, stream 2$name, at named.c:$line"
    done <<'END'
element| (streams[1])
other name| (pointer[1])
expression| (streams[1])
two| (streams[1])
macro| (streams[1])
END
    assert_line --partial "cudaStreamWaitEvent(streams[1], event, 0) before launch_add"
    assert_line --partial "Missing:   nothing makes stream 2 (given) wait for stream 1 (first)."
    # A source that was changed after the build names no stream.
    touch -d '1 hour' named.c
    SIM_CHECK=on exits 3 ./program
    refute_output --regexp 'stream [12] \(.*\), at'
    assert_line --partial "Missing:   nothing makes stream 2 wait for stream 1."
}

@test "two streams in one variable are not named by it in a report, but where they are created" {
    build parameter.c <<'END'
#include "kernels.h"
#include "workbook.h"
static void add(int *data, cudaStream_t given) { CHECK(launch_add(data, 1, 4, given)); }
int main(void)
{
    int *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMalloc((void **)&data, 16));
    add(data, a);
    add(data, b);
    CHECK(cudaDeviceSynchronize());
    return cudaFree(data);
}
END
    exits 3 ./program
    assert_line --partial "cudaEventRecord(event, a) after launch_add"
    refute_output --partial "(given)"
    # If a function creates both streams by one variable, that names neither of them.
    sed -i '/^static/a static cudaStream_t create(void)\
{\
    cudaStream_t made;\
    CHECK(cudaStreamCreate(\&made));\
    return made;\
}
        s/CHECK(cudaStreamCreate(&\([ab]\)));/\1 = create();/' parameter.c
    build parameter.c
    exits 3 ./program
    assert_line --partial "cudaEventRecord(event, stream 1) after launch_add"
    refute_output --partial "(made)"
}

@test "a hazard on the same two lines is reported once, and counted at the end" {
    cat >again.c <<'END'
#include "kernels.h"
#include "workbook.h"
static inline __attribute__((always_inline)) void use(cudaStream_t a, cudaStream_t b)
{
    int *data;
    CHECK(cudaMalloc((void **)&data, 16));
    CHECK(launch_fill(data, 1, 4, a));
    CHECK(launch_add(data, 1, 4, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
int main(int count, char **arguments)
{
    cudaStream_t a, b;
    (void)arguments;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    for (int i = 0; i < count; i++) {
        use(a, b);
#ifdef TWICE
        use(a, b);
#endif
    }
    return 0;
}
END
    local flags repeats
    # One line, two calls: in the second build the function is inlined into main twice.
    for flags in "-O0:2" "-O2 -DTWICE:5"; do
        repeats=${flags#*:}
        # shellcheck disable=SC2086
        build again.c ${flags%:*}
        exits 3 ./program two three
        assert_equal "$(grep -c '^hazard: ' <<<"$output")" 1
        assert_line --index $((${#lines[@]} - 2)) "simulated device: found $repeats more times: \
unordered writes, launch_add at again.c:8."
    done
    run ./program
    assert_line "simulated device: found 1 more time: unordered writes, launch_add at again.c:8."
}

# ---- what a program may and may not do ----

@test "the host touches device memory: a sentence, then the program's own handler, or death" {
    local how
    for how in plain informed; do
        program 0 behaviour own_handler "$how"
        assert_equal "$(tail -n 3 <<<"$output")" "the program's handler ran
also where it was sent
cudaFree(data): cudaSuccess"
        said "the host touched 0x" ", which is memory of device 0 (allocation 1, 1048576 bytes)"
    done
    program 0 behaviour own_handler sent
    assert_equal "$(sed -n 3p <<<"$output")" "also where it was sent"
    # The program gets the signal once, and then no handler does.
    SIM_SCHEDULE=late program 139 behaviour own_handler passes-on
    assert_equal "$(grep -c '^passed on' <<<"$output")" 1
}

@test "a child of fork gets cudaErrorInitializationError; the parent and its journal go on" {
    SIM_JOURNAL=journal program 0 behaviour in_fork
    printed "child: cudaErrorInitializationError" "child: cudaErrorInitializationError" \
        "child ended with 0" \
        "cudaFreeAsync(p, s): cudaSuccess" "cudaStreamSynchronize(s): cudaSuccess"
    jq -e -s 'map(.n) == [range(length)] and last.did == "exit"
        and ([.[] | select(.did == "exit")] | length) == 1' journal
    program 0 behaviour fork_first
    printed "child ended with 0" "cudaGetDeviceCount(&count): cudaSuccess"
}

@test "host functions run in order on a thread of their own, may block, and may not call the API" {
    program 3 behaviour host_function
    [[ $errors == *"hazard: failed call. cudaMalloc returned cudaErrorNotPermitted and did"*"
  To do:     let a thread of the host make the call, when the function has told it to."* ]]
    printed "host function 1, number 1, on another thread" \
        "host function 2, number 2, on another thread" \
        "host function 3, number 3, on another thread" \
        "cudaStreamSynchronize(s): cudaSuccess" "cudaStreamQuery(s): cudaErrorNotReady" \
        "cudaStreamSynchronize(t): cudaSuccess" \
        "read x" "cudaStreamSynchronize(s): cudaSuccess" \
        "in a host function, cudaMalloc: cudaErrorNotPermitted" \
        "cudaStreamSynchronize(s): cudaSuccess" "cudaGetLastError(): cudaSuccess"
}

# Memory allocated after the reset, on another device, or in a pool is a leak.
@test "cudaDeviceReset waits, leaves the pools as they are, and what it drops is no leak" {
    local before="device 0: threshold set, reserved 32, high 32 MiB, the default pool"
    local schedule
    before+=" is not current"
    for schedule in measured late; do
        SIM_SCHEDULE=$schedule program 3 behaviour reset
        assert_equal "$(grep ^hazard <<<"$errors")" \
            "hazard: leak. allocation 4 is still alive at the end of the program."
        printed "$before" "cudaDeviceReset(): cudaSuccess" \
            "cudaStreamQuery(s): cudaErrorInvalidResourceHandle" "$before"
    done
    program 3 behaviour reset later
    assert_equal "$(grep -o '^hazard: leak. allocation [0-9]*' <<<"$errors" | xargs)" \
        "hazard: leak. allocation 5 hazard: leak. allocation 4"
    SIM_SCHEDULE=late SIM_DEVICES=2 program 3 behaviour reset other
    assert_equal "$(grep -o '^hazard: leak. allocation [0-9]*' <<<"$errors" | xargs)" \
        "hazard: leak. allocation 2 hazard: leak. allocation 4 hazard: leak. allocation 3"
    printed "$before" "cudaDeviceReset(): cudaSuccess" "cudaStreamQuery(s): cudaErrorNotReady" \
        "$before"
}

@test "several threads at once, forks in the midst of calls, sizes that no host has" {
    all_as_expected host_rules
}

@test "compiled for per-thread default streams, stream 0 is the thread's own in each call" {
    main_of per_thread.c -DCUDA_API_PER_THREAD_DEFAULT_STREAM <<'END'
    void *block;
    int back = 0;
    cudaMallocAsync(&block, 4096, 0);
    cudaMemsetAsync(block, 1, 4, 0);
    cudaMemcpyAsync(&back, block, 4, cudaMemcpyDeviceToHost, 0);
    cudaFreeAsync(block, 0);
    cudaStreamSynchronize(0);
    return cudaStreamQuery(0) != cudaSuccess || back != 0x1010101;
END
    SIM_JOURNAL=journal exits 0 ./program
    run jq -r 'select(.call) | "\(.call) \(.stream)"' journal
    assert_output "$(printf '%s per-thread\n' cudaMallocAsync cudaMemsetAsync cudaMemcpyAsync \
        cudaFreeAsync cudaStreamSynchronize cudaStreamQuery)"
}

@test "a signal in the midst of a call: its handler may end the program, and not make calls" {
    program 5 threads interrupted_by_exit
    program 1 threads interrupted_by_calls
    said "handler of the program calls CUDA in the middle of a CUDA call"
}

@test "a thread cancelled in a call, a main that leaves by pthread_exit: the program goes on" {
    local schedule
    for schedule in measured late; do
        SIM_SCHEDULE=$schedule program 0 threads cancelled
        SIM_SCHEDULE=$schedule program 0 threads main_ends
        printed 7
    done
}
