#!/usr/bin/env bats
# What the journal says so that its readers need not guess: the call of a line of work, when work
# that takes no time was reached, the two calls of a report, and the source line of a call.

load ../../../tests/suite
load programs

# journal [STATUS]: runs ./program, which must end with this status (0)
journal() {
    status=0
    SIM_JOURNAL=journal bounded ./program >out 2>err || status=$?
    [ "$status" = "${1:-0}" ] || miss "Exit status $status, not ${1:-0}." "$(cat out err)"
}

# said FILTER LINE...: expects this output of jq for the journal; `calls` has its calls by number
said() {
    run jq -rs '(map(select(.number)) | INDEX(.number)) as $calls | '"$1" journal
    shift
    assert_output "$(lines "$@")"
}

@test "a line of work names its call: of threads, of a graph, of a call that waits" {
    build work.c <<'C'
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdlib.h>
#include "kernels.h"
static int *data;
static void nothing(void *unused) { (void)unused; }
static void *fills(void *values)
{
    for (int *value = values; *value; value++)
        launch_fill(data + *value, *value, 1, cudaStreamPerThread);
    cudaStreamSynchronize(cudaStreamPerThread);
    return NULL;
}
int main(void)
{
    pthread_t thread;
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int ours[] = {1, 2, 0}, theirs[] = {3, 4, 0}, host = 0;
    cudaMalloc((void **)&data, 4096);
    pthread_create(&thread, NULL, fills, theirs);
    pthread_join(thread, NULL);
    fills(ours);
    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    launch_fill(data, 7, 4, s);
    launch_add(data, 8, 4, s);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, s);
    cudaLaunchHostFunc(s, nothing, NULL);
    cudaStreamSynchronize(s);
    cudaMemcpy(&host, data, sizeof host, cudaMemcpyDeviceToHost);
    cudaMemset(data, 0, 8);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaFree(data);
    return cudaDeviceSynchronize();
}
C
    journal
    said '[.[] | select(.did == "run") | $calls["\(.of)"] as $call
        | "\(.op): \($call.call) \($call.thread // 0) \($call.inner_offset // 0)"] | sort[]' \
        "add: cudaGraphLaunch 0 0" "copy: cudaMemcpy 0 0" "fill: cudaGraphLaunch 0 0" \
        "fill: launch_fill 0 4" "fill: launch_fill 0 8" "fill: launch_fill 1 12" \
        "fill: launch_fill 1 16" "host function: cudaLaunchHostFunc 0 0" "memset: cudaMemset 0 0"
    # The numbers of calls are in the order in which they began, and none occurs twice.
    said 'map(.number // empty) as $all | $all == [range(1; 1 + ($all | length))]' true
}

@test "an allocation, a free, a record and a wait say when their turn came" {
    main_of turns.c <<'C'
    cudaStream_t first, second;
    cudaEvent_t event, never;
    int *a, *b, *c, *open;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&never, cudaEventDisableTiming);
    cudaHostAlloc((void **)&open, sizeof *open, cudaHostAllocDefault);
    *(volatile int *)open = 0;
    cudaMallocAsync((void **)&a, 4096, first);
    cudaStreamWaitEvent(first, never, 0);
    launch_hold(open, first);
    launch_fill(a, 1, 1024, first);
    cudaFreeAsync(a, first);
    cudaEventRecord(event, first);
    cudaMallocAsync((void **)&b, 4096, first);
    cudaStreamWaitEvent(second, event, 0);
    cudaMallocAsync((void **)&c, 4096, second);
    *(volatile int *)open = 1;
    cudaStreamSynchronize(first);
    cudaStreamWaitEvent(second, event, 0);
    cudaStreamSynchronize(second);
    cudaStreamWaitEvent(second, event, 0);
    cudaFreeAsync(b, first);
    cudaFreeAsync(c, second);
    cudaFreeHost(open);
    cudaEventDestroy(event);
    cudaEventDestroy(never);
    return cudaDeviceSynchronize();
C
    journal
    # After the gate opens: the free when the fill has ended, later the record, then its waiter.
    said '(map(select(.did == "turn")) | INDEX(.of)) as $turns
        | (.[] | select(.op == "fill").finish) as $filled
        | (.[] | select(.call == "cudaEventRecord").number | $turns["\(.)"].t) as $recorded
        | [.[] | select(.number and (.call | test("Async|Event(Record|$)|WaitEvent")))
            | select(.call | test("Create|Destroy") | not)
            | $turns["\(.number)"] as $turn
            | "\(.call) \(.stream): " + if .turn == 1 then
                if $turn then "twice" else "at the call" end
              elif $turn == null then "none"
              elif $turn.stream != .stream then "in another stream"
              elif $turn.t == $filled then "after the fill"
              elif $turn.t == $recorded then "at the record"
              else "elsewhere" end][]' \
        "cudaMallocAsync 1: at the call" "cudaStreamWaitEvent 1: at the call" \
        "cudaFreeAsync 1: after the fill" "cudaEventRecord 1: at the record" \
        "cudaMallocAsync 1: at the record" "cudaStreamWaitEvent 2: at the record" \
        "cudaMallocAsync 2: at the record" "cudaStreamWaitEvent 2: at the call" \
        "cudaStreamWaitEvent 2: at the call" "cudaFreeAsync 1: at the call" \
        "cudaFreeAsync 2: at the call"
    said '[.[] | select(.call == "cudaEventRecord").number] as [$record]
        | (.[] | select(.op == "fill").finish)
            < (.[] | select(.did == "turn" and .of == $record).t)' true
}

@test "a hazard names both accesses, and both calls by number" {
    main_of hazards.c <<'C'
    cudaStream_t first, second;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *a, *b;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaMalloc((void **)&a, 4096);
    launch_fill(a, 1, 1024, first);
    launch_fill(a + 512, 2, 16, first);
    launch_add(a, 2, 4, second);
    cudaDeviceSynchronize();
    cudaMallocAsync((void **)&b, 4096, first);
    cudaFreeAsync(b, first);
    launch_add(b, 3, 4, first);
    cudaStreamBeginCapture(second, cudaStreamCaptureModeGlobal);
    launch_fill(a, 7, 4, second);
    cudaStreamEndCapture(second, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, second);
    launch_add(a, 9, 4, first);
    cudaDeviceSynchronize();
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
C
    journal 3
    said '.[] | select(.did == "hazard") | $calls["\(.earlier)"] as $earlier
        | $calls["\(.later)"] as $later
        | "\(.kind) \(.unordered // 0): \(.earlier_call) \(.earlier_launch // 0) of " +
            "\($earlier.call) \($earlier.stream), \(.call) \(.launch // 0) of \($later.call) " +
            "\($later.stream)"' \
        "unordered writes 1: launch_fill 0 of launch_fill 1, launch_add 0 of launch_add 2" \
        "use after free 0: cudaFreeAsync 0 of cudaFreeAsync 1, launch_add 0 of launch_add 1" \
        "unordered writes 1: launch_fill 1 of cudaGraphLaunch 2, launch_add 0 of launch_add 1" \
        "leak 0: null 0 of null null, cudaMalloc 0 of cudaMalloc null"
    # Of two possible calls, the one that made the access.
    said '.[] | select(.did == "hazard" and .unordered) | $calls["\(.earlier)"]
        | select(.call == "launch_fill") | "\(.bytes)"' 4096
}

@test "a call has the file and the line that a report has for it" {
    mkdir "a folder"
    cat >"a folder/lines.c" <<'C'
#include <cuda_runtime_api.h>
#include "kernels.h"
int main(void)
{
    cudaStream_t first, second;
    int *a;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaMalloc((void **)&a, 4096);
    for (int i = 0; i < 3; i++)
        launch_fill(a, 1, 1024, first);
#line 70 "quote\".c"
    launch_fill(a, 1, 1024, second);
#line 80 "übung.c"
    cudaFree(a);
#line 90 "a \351.c"
    return cudaDeviceSynchronize();
}
C
    build "a folder/lines.c"
    journal 3
    run jq -r 'select(.call and .number) | "\(.call) \(.file) \(.line)"' journal
    assert_output "$(lines "cudaStreamCreateWithFlags a folder/lines.c "{7,8} \
        "cudaMalloc a folder/lines.c 9" "launch_fill a folder/lines.c "{11,11,11} \
        'launch_fill quote".c 70' "cudaFree übung.c 80" "cudaDeviceSynchronize a ?.c 90")"
    grep -q 'written .* at a folder/lines.c:11$' err
    grep -q 'written .* at quote".c:70$' err
    # Without debug information there is no line.
    build "a folder/lines.c" -g0
    journal 3
    said 'map(select(.file or .line)) | length' 0
}

@test "a lesson's call has its line, whether it stands in the program or in a header of ours" {
    cd "$ROOT" || return 1
    local journal=$BATS_TEST_TMPDIR/journal program
    for program in solutions/06_trim solutions/10_reuse_events; do
        make -s BACKEND=simulator "build/simulator/$program"
        SIM_JOURNAL=$journal bounded "build/simulator/$program" >/dev/null
        # The call is on that line or up to two lines away, because a statement may have several.
        run awk '{
            for (words = ""; (getline text <$3) > 0;) line[++n] = text
            close($3)
            for (i = $2 - 2; i <= $2 + 2; i++) words = words line[i]
            if (!index(words, $1)) print
            n = 0; delete line
        }' <(jq -r 'select(.call and .file) | "\(.call) \(.line) \(.file)"' "$journal" | sort -u)
        assert_output ""
        run jq -r 'select(.call) | .file' "$journal"
        assert_line lessons/workbook.h
        assert_line "$program.c"
    done
}

@test "a number of any length is the program's own" {
    main_of numbers.c <<'C'
    for (size_t power = 1, digits = 1; digits <= 20; digits++, power *= 10)
        for (int i = -1; i < 2; i++) {
            void *nothing;
            size_t bytes = i || digits < 20 ? power + (size_t)i : (size_t)-1;
            printf("%zu\n", bytes);
            cudaMallocAsync(&nothing, bytes, 0);
            if (nothing)
                cudaFreeAsync(nothing, 0);
            /* The second time from what the first has left. */
            cudaMallocAsync(&nothing, bytes, 0);
            printf("%zu\n", bytes);
            if (nothing)
                cudaFreeAsync(nothing, 0);
        }
C
    journal
    run sed -n 's/.*"call":"cudaMallocAsync".*"bytes":\([0-9]*\),.*/\1/p' journal
    assert_output "$(cat out)"
    assert_equal "$(wc -l <out)" 120
    run awk '/^[{]"n":/ { sub(/^[{]"n":/, ""); sub(/,.*/, "") }
        /^[0-9]+$/ && $0 != NR - 1 { print NR ": " $0 }' journal
    assert_output ""
}

@test "a program that dies of a bad address leaves its whole journal" {
    main_of dies.c -O0 <<'C'
    char *volatile bad = (char *)8;
    cudaStream_t stream;
    void *data = NULL, *pooled;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    /* More lines than wait for the file at a time, 256 KiB. */
    for (int i = 0; i < 1200; i++) {
        cudaMallocAsync(&pooled, 4096, stream);
        cudaFreeAsync(pooled, stream);
    }
    cudaMalloc(&data, 4096);
    switch (argc) {
    case 1: *bad = 1; break;
    case 2: return (int)strlen(bad);
    case 3: *(char *)data = 1; break;
    case 4: cudaMemcpy(data, bad, 4096, cudaMemcpyHostToDevice); break;
    }
    return argv[0] == NULL;
C
    local arguments
    for arguments in "" "1" "1 2" "1 2 3"; do
        status=0
        # shellcheck disable=SC2086
        SIM_JOURNAL=journal bounded ./program $arguments >out 2>err || status=$?
        assert_equal "$status" 139
        # A library may hold malloc's lock, which a lookup needs. So the last call's line, whose
        # site was not looked up before, has no place.
        said 'map(.n) == [range(0; length)],
            (map(select(.call)) | length, last.call, (map(select(.file == "dies.c")) | length))' \
            true 2402 cudaMalloc "$([ "$arguments" = 1 ] && echo 2401 || echo 2402)"
    done
}

@test "a copy that is given another direction than its own says both" {
    main_of directions.c <<'C'
    int *data, *other, *pinned, *managed, pageable = 0;
    cudaMalloc((void **)&data, 4);
    cudaMalloc((void **)&other, 4);
    cudaMallocHost((void **)&pinned, 4);
    cudaMallocManaged((void **)&managed, 4, cudaMemAttachGlobal);
    cudaMemset(data, 0, 4);
    cudaMemcpy(pinned, data, 4, cudaMemcpyHostToDevice);
    cudaMemcpyAsync(data, pinned, 4, cudaMemcpyDeviceToDevice, 0);
    cudaMemcpy(other, data, 4, cudaMemcpyHostToDevice);
    cudaMemcpy(&pageable, data, 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(managed, data, 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(managed, data, 4, cudaMemcpyDeviceToDevice);
    cudaMemcpy(pinned, data, 4, cudaMemcpyDefault);
    cudaFree(managed);
    cudaFreeHost(pinned);
    cudaFree(other);
    cudaFree(data);
C
    journal
    said '.[] | select(.kind) | "\(.kind) \(.given // "")"' "DeviceToHost HostToDevice" \
        "HostToDevice DeviceToDevice" "DeviceToDevice HostToDevice" "DeviceToHost " \
        "DeviceToDevice " "DeviceToDevice " "DeviceToHost "
}
