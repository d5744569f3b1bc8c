#!/usr/bin/env bats
# Pools, allocations, events and memory of cudaMalloc of several real processes, and a lesson's
# second process.

load ../../../tests/suite
load programs

setup_file() {
    make -s BACKEND=simulator \
        build/simulator/simulator/tests/unit/{ipc_cases,second_process,inside_broken} \
        build/simulator/simulator/tests/facts/{ipc,one-gpu}
}

# case NAME STATUS: runs one case of ipc_cases, which must end in time with this status. $output has
# both processes' stdout and stderr.
case_ends() {
    run bounded "$PROGRAMS/ipc_cases" "$1"
    [ "$status" = "$2" ] ||
        miss "ipc_cases $1: exit status $status, expected $2." \
            "(SIM_SCHEDULE=${SIM_SCHEDULE:-measured})" "$output"
}

# ---- recorded ----

@test "two processes on one GPU: the recorded lines" {
    # The program also frees while the other side holds the allocation, which the checker reports
    # (next test).
    SIM_CHECK=off bounded "$FACTS/ipc" >out 2>err
    run diff "$ROOT/simulator/tests/facts/ipc.txt" out
    assert_output ""
    run cat err
    assert_output ""
}

@test "the checker reports what the recorded script does wrong, in both processes" {
    run bounded "$FACTS/ipc"
    report="hazard: free while another process holds the allocation\. cudaFreeAsync \(stream"
    report+=" 1\) frees allocation 2, which process [0-9]+ has imported and not freed"
    assert_output --regexp "$report"
    report="hazard: use after another process's free\. cudaMemsetAsync \(stream 1\) uses"
    report+=" allocation 2, which process [0-9]+ \(cudaFreeAsync, its stream 1\) has freed"
    assert_output --regexp "$report"
    [ "$(grep -c '^hazard: ' <<<"$output")" = 2 ]
}

@test "exporting: the lines that were recorded on one GPU" {
    SIM_CHECK=off bounded "$FACTS/one-gpu" export >out
    # Ignore spaces, because each program prints a call as its source writes it.
    run diff <(sed -n '/^## export/,/^$/p' "$ROOT/simulator/tests/facts/one-gpu.txt" | sed '/^$/d' |
        tr -d ' ') <(tr -d ' ' <out)
    assert_output ""
}

@test "every other rule of sharing; no descriptor is left open" {
    local SIM_SCHEDULE
    for SIM_SCHEDULE in measured late; do      # late: work is pending when its pool is destroyed
        export SIM_SCHEDULE
        case_ends rules 0
        assert_output "0 more"
    done
}

@test "where files may not grow (ulimit -f), an allocation fails with a sentence, not a signal" {
    case_ends pool_limited 0
    assert_output --partial "this process may write files of at most 83886080 (ulimit -f)"
}

# ---- the checker across processes (more is in simulator/tests/litmus) ----

@test "shared memory of the host: each process says once that its touches are not compared" {
    local said="simulated device: memory of the host is shared between processes. This process's"
    said+=" loads and stores there are not compared with the work of other processes."
    case_ends host_pool 0
    [ "$output" = "$said"$'\n'"$said" ] || miss "It says:" "$output" || return
    SIM_CHECK=off case_ends host_pool 0
    [ "$output" = "" ] || miss "Without the checker it says:" "$output"
}

@test "SIM_CHECK=off reports nothing, and the calls return the same" {
    local one
    for one in taken_place too_many_accesses; do
        SIM_CHECK=off case_ends "$one" 0 || return
        refute_output --partial "hazard"
    done
}

# ---- what a pool keeps ----

@test "1024 exported allocations: one that is freed, and imported nowhere, makes room for another" {
    case_ends entries 3
    assert_output --partial "more than 1024 allocations of one pool are exported and not freed"
    assert_output --partial "hazard: free while another process holds the allocation."
    assert_equal "$(grep -c '^hazard: ' <<<"$output")" 1
}

@test "30,000 accesses: those that a host has waited for go, and then others are compared again" {
    case_ends many_accesses 0
    [ "$output" = "" ] || miss "It says something:" "$output" || return
    case_ends too_many_accesses 3
    assert_output --partial "have 20000 accesses and imports that no process has waited for."
    assert_output --partial "hazard: unordered writes of two processes. cudaMemsetAsync (stream 1)"
}

@test "an export takes the place of an import whose exporter has freed it" {
    case_ends taken_place 3
    assert_output --partial "hazard: free while another process holds the allocation."
    assert_equal "$(grep -c '^hazard: ' <<<"$output")" 1
}

# ---- a side dies ----

@test "the exporter dies before the event is reached: the importer waits no longer" {
    local one
    for one in exporter_dies_stream exporter_dies_host; do
        exits 137 "$PROGRAMS/ipc_cases" "$one"
        assert_line "the wait ended"
        report="simulated device: process [0-9]+ has ended before the work in front of its"
        report+=" cudaEventRecord was done"
        assert_output --regexp "$report"
    done
}

@test "the exporter's device fails before the event is reached: the importer waits no longer" {
    SIM_SCHEDULE=late SIM_CHECK=off case_ends exporter_fails 0
    assert_line "the wait ended"
    report="simulated device: the device of process [0-9]+ has failed before the work in front of"
    report+=" its cudaEventRecord was done"
    assert_output --regexp "$report"
}

@test "a process is alive while one of its threads is, also when its first one has ended" {
    case_ends exporter_goes_on 0
    [ "$output" = "" ] || miss "It says something:" "$output"
}

# ---- the journal ----

@test "two processes, one SIM_JOURNAL: a file each, whole" {
    local journals
    SIM_JOURNAL=journal case_ends host_pool 0
    journals=(journal*)
    [ "${#journals[@]}" = 2 ]
    [[ ${journals[1]} =~ ^journal\.[0-9]+$ ]]
    for one in "${journals[@]}"; do
        jq -es '.[0].did == "start" and .[-1].did == "exit" and .[-1].hazards == 0' \
            "$one" >/dev/null || miss "$one is not whole:" "$(cat "$one")" || return
    done
    jq -es 'any(.[]; .call == "cudaMemPoolImportPointer" and .allocation == 1
        and .process != null)' journal* >/dev/null
}

@test "%p in SIM_JOURNAL is the pid" {
    SIM_JOURNAL=run.%p.jsonl case_ends host_pool 0
    local journals=(run.*.jsonl)
    [ "${#journals[@]}" = 2 ]
    [[ ${journals[0]} =~ ^run\.[0-9]+\.jsonl$ ]]
}

@test "one after the other, two processes use the same name" {
    for _ in 1 2; do SIM_CHECK=off SIM_JOURNAL=journal "$FACTS/one-gpu" export >/dev/null 2>&1; done
    run ls
    assert_output journal
    [ "$(jq -s 'map(select(.did == "start")) | length' journal)" = 1 ]
}

# ---- memory of cudaMalloc ----

# silent CASE...: under every schedule nothing is printed
silent() {
    local one
    for one in "$@"; do SIM_CHECK_LAWS=1 always "" "$PROGRAMS/ipc_cases" "$one" || return; done
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
            miss "ipc_cases $1, $schedule: more is reported:" "$output" || return
    done
}

@test "two processes write in turn, by events or by messages: each sees it, nothing is reported" {
    silent by_event contents rounds free_behind_host_function
}

@test "what nothing orders after the exporter's write, also in one of 1,100 streams" {
    hazards unordered "unordered writes of two processes\. launch_add \(stream 1\) and process"
    silent many_streams
    hazards many_streams_unordered "read not ordered after another process's write\. cudaMemcpyAs"
}

@test "a kernel that is found after what another process does later: only an order is missing" {
    silent late_by_event
    hazards late_unordered "write not ordered after another process's read\. add_one \(stream 1\)"
    hazards late_unordered_before "unordered writes of two processes\. add_one \(stream 1\) and"
    SIM_IDLE=off hazards late_acquired \
        "unordered writes of two processes\. (add_one|launch_fill) \(stream 1\) and"
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

# ---- a lesson's second process (processes.h) ----

# Whatever happens to one process, the other says so in a sentence and ends with a status other than
# 0, and no process is left.

none_left() {
    left=$(grep -lszF "$1" /proc/[0-9]*/environ | cut -d / -f 3)
    [ -z "$left" ]
}

# ends CASE STATUS: $output has what both printed, and no process of the case is left
ends() {
    local mark=SECOND_PROCESS=$$.$RANDOM left
    SIM_CHECK=on run bounded env "$mark" "$PROGRAMS/second_process" "$1"
    [ "$status" = "$2" ] || miss "second_process $1: exit status $status, expected $2." "$output" ||
        return
    # A killed process may take a moment to end.
    within_reason none_left "$mark" || miss "second_process $1 leaves processes behind: $left"
}

@test "one ends in the middle: the other says so" {
    ends second_ends 1
    assert_line "first process: the second one has ended before it sent what was expected."
    ends first_ends 2
    assert_line "second process: the first one has ended before it sent what was expected."
    ends told_too_late 1
    assert_line "first process: the second one has ended before it sent what was expected."
}

@test "one is killed: the other says so" {
    ends second_killed 1
    assert_line "first process: the second one died of signal 9 (Killed)"
    ends first_killed 137
    assert_line "second process: the first one has died."
}

@test "one is killed while the other's stream waits for its event" {
    ends exporter_killed 137
    assert_output --regexp 'second process: the first one has died\.|cudaErrorExternalDevice'
    refute_line "the wait ended"
    ends importer_killed 1
    assert_output --partial "cudaErrorExternalDevice"
    assert_line "first process: the second one died of signal 9 (Killed)"
    refute_line "the wait ended"
}

@test "each waits for the other: that ends, too" {
    ends both_hear 1
    assert_line --partial "has sent nothing for too long."
}

@test "a descriptor crosses beside bytes, not with bytes alone; two messages are reported" {
    ends descriptor_crosses 0
    assert_output hello
    ends no_descriptor 6
    ends two_messages 1
    assert_line "second process: the first one has sent another message than the one expected."
}

@test "a lesson that this machine cannot run: one line, status 77" {
    ends not_here 77
    assert_output "skipped: this needs a time machine: cudaErrorNotSupported"
}

@test "a process that is about to end is none that cannot be looked at; its lock is given on" {
    prints "" "$PROGRAMS/inside_broken" process_ending
}

# ---- sanitizers ----

# bats test_tags=long
@test "address and undefined behaviour sanitizers find nothing" {
    make_sanitized address,undefined libptx.so simulator/tests/unit/ipc_cases
    local one
    export LD_LIBRARY_PATH=$ROOT/build/simulator-address-undefined ASAN_OPTIONS=detect_leaks=0
    export PROGRAMS=$LD_LIBRARY_PATH/simulator/tests/unit
    for one in host_pool many_accesses; do
        case_ends "$one" 0 || return
        refute_output --regexp "ERROR: AddressSanitizer|runtime error"
    done
    case_ends taken_place 3
    case_ends rules 0
    silent by_event late_by_event contents rounds free_behind_host_function
    case_ends exporter_ended 0
    case_ends open_freed 3
    refute_output --regexp "ERROR: AddressSanitizer|runtime error"
}

# bats test_tags=long
@test "the thread sanitizer finds nothing" {
    export SIM_MEMORY=1G TSAN_OPTIONS=atexit_sleep_ms=0
    make_sanitized thread simulator/tests/unit/ipc_cases
    export LD_LIBRARY_PATH=$ROOT/build/simulator-thread
    PROGRAMS=$LD_LIBRARY_PATH/simulator/tests/unit
    SCHEDULES=(measured)
    silent rounds free_behind_host_function
}
