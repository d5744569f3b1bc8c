#!/usr/bin/env bats
# Memory of cudaMalloc that two real processes share, on the simulated device.

load ../../../tests/suite
load programs

setup_file() {
    make -s BACKEND=simulator build/simulator/simulator/tests/unit/ipc_memory
}

# case NAME STATUS: runs one case of ipc_memory, which must end in time with this status. $output
# has both processes' stdout and stderr.
case_ends() {
    run bounded "$PROGRAMS/ipc_memory" "$1"
    [ "$status" = "$2" ] ||
        miss "ipc_memory $1: exit status $status, expected $2." \
            "(SIM_SCHEDULE=${SIM_SCHEDULE:-measured})" "$output"
}

# silent CASE...: under every schedule nothing is printed
silent() {
    local one schedule
    for one in "$@"; do
        for schedule in "${SCHEDULES[@]}"; do
            SIM_CHECK_LAWS=1 SIM_SCHEDULE=$schedule case_ends "$one" 0 || return
            [ -z "$output" ] ||
                miss "ipc_memory $one, $schedule: it says something:" "$output" || return
        done
    done
}

# hazards CASE REGEXP...: under every schedule these are reported, and nothing else
hazards() {
    local one schedule
    for schedule in "${SCHEDULES[@]}"; do
        SIM_SCHEDULE=$schedule case_ends "$1" 3 || return
        for one in "${@:2}"; do
            assert_output --regexp "hazard: $one" || return
        done
        [ "$(grep -c '^hazard: ' <<<"$output")" = $(($# - 1)) ] ||
            miss "ipc_memory $1, $schedule: more is reported:" "$output" || return
    done
}

@test "two processes write in turn, by events or by messages: nothing is reported" {
    silent by_event by_message driver
}

@test "exported memory keeps its contents, and the other process sees every later write" {
    silent contents
}

@test "memory and events of another device than the importer's current one" {
    silent two_devices
    hazards two_devices_unordered \
        "unordered writes\. launch_add \(stream 2 of device 1\) and this process" \
        "unordered writes of two processes\. launch_add \(stream 2 of device 1\) and process"
}

@test "a write that nothing orders after the exporter's" {
    hazards unordered "unordered writes of two processes\. launch_add \(stream 1\) and process"
}

@test "a kernel that is found after what another process does later: only an order is missing" {
    silent late_by_event
    hazards late_unordered "write not ordered after another process's read\. add_one \(stream 1\)"
    hazards late_unordered_before "unordered writes of two processes\. add_one \(stream 1\) and"
}

@test "the exporter frees what the importer has open, or still uses" {
    local held="free while another process holds the allocation\. cudaFree \(the host\) frees "
    held+="allocation [12], which process [0-9]+ has opened and not closed\."
    hazards free_first "$held" "use after another process's free\. cudaMemsetAsync \(stream 1\)"
    assert_output --partial "let the other process call cudaIpcCloseMemHandle and say so"
    assert_output --partial "close it here first (cudaIpcCloseMemHandle), then tell"
    hazards free_unordered "$held" \
        "free before another process's use ends\. cudaFree \(the host\) frees allocation 1 while"
    SIM_CHECK=off case_ends free_first 0
    [ -z "$output" ] || miss "Without the checker it says:" "$output"
}

@test "a handle of memory that was freed opens it until that is given back, and is reported" {
    hazards open_freed "import after another process's free\. cudaIpcOpenMemHandle imports an"
}

@test "who closes before the work is over is told that this waits here" {
    case_ends close_in_use 0
    assert_output "simulated device: cudaIpcCloseMemHandle closes memory that work of this process \
may still use. It waits for that work, as an H200 did, but no document promises that. Synchronize \
before the call."
}

@test "memory that is not closed is a leak of the importer" {
    SIM_CHECK=leaks case_ends never_closed 3
    assert_output --partial "hazard: leak."
    assert_output --partial "To do:     call cudaIpcCloseMemHandle."
}

@test "the exporter has ended: what is open stays, and its handles open nothing more" {
    case_ends exporter_ended 0
    assert_line "the handles open nothing more"
    assert_line --regexp "cudaIpcOpenMemHandle: process [0-9]+, which made this handle, has ended"
}

@test "exported memory counts as written; what lies beside it does not" {
    local read="uninitialized read\. cudaMemcpy \(the legacy stream\) reads bytes 0 to [0-9]+ of "
    SIM_CHECK=on hazards unwritten "${read}allocation 3"
}

@test "a device that cannot reach the memory's, too many opens, and no room for a file" {
    SIM_PEERS=off case_ends out_of_reach 0
    assert_output "simulated device: cudaIpcOpenMemHandle: device 0, which is current, cannot \
reach device 1, which has the memory (cudaDeviceCanAccessPeer says so). The call fails."
    case_ends many_opens 0
    assert_output --partial "this allocation is opened 65535 times and not closed"
    case_ends limited 0
    assert_output --partial "this process may write files of at most 1048576 (ulimit -f)"
}

@test "the summary says what of shared memory is not checked" {
    SIM_SUMMARY=on case_ends by_event 0
    assert_line --regexp "not checked: 1 allocation's order by messages between processes"
}

# bats test_tags=long
@test "address and undefined behavior sanitizers find nothing" {
    make_sanitized address,undefined simulator/tests/unit/ipc_memory
    export LD_LIBRARY_PATH=$ROOT/build/simulator-address-undefined ASAN_OPTIONS=detect_leaks=0
    export PROGRAMS=$LD_LIBRARY_PATH/simulator/tests/unit
    silent by_event by_message late_by_event contents two_devices driver
    case_ends exporter_ended 0
    case_ends open_freed 3
    refute_output --regexp "ERROR: AddressSanitizer|runtime error"
}
