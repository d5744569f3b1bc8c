#!/usr/bin/env bats
# What a report names and whom it reaches: lines and variables of C++, files, the last sentence, and
# streams of two devices.

load ../../../tests/suite
load programs

# says TEXT...: $output has each text; lacks TEXT...: it has none of them
says() {
    local text
    for text in "$@"; do assert_output --partial "$text"; done
}
lacks() {
    local text
    for text in "$@"; do refute_output --partial "$text"; done
}

# joined: makes all that the program printed one line, with single spaces
joined() { output=$(tr -s '\n ' ' ' <<<"$output"); }

# ---- lines of C++ ----

@test "C++ overloads: reports name the program's line and variable, once for each line" {
    cat >overloads.cpp <<'C'
    cudaStream_t first, second;
    cudaStreamCreate(&first);
    cudaStreamCreate(&second);
    float *data, *other, *third;
    cudaMallocAsync(&data, 4096, first);
    cudaMemsetAsync(data, 0, 4096, second);
    cudaMallocAsync(&other, 4096, first);
    for (int i = 0; i < 50; i++) cudaMallocAsync(&third, 4096, second);
    cudaDeviceSynchronize();
    cudaFree(data);
C
    local compiler level
    for compiler in g++ clang++; do
        type -P "$compiler" >/dev/null || continue
        for level in -O0 -O1 -O2 "-O2 -fno-omit-frame-pointer"; do
            # shellcheck disable=SC2086
            CXX=$compiler main_of overloads.cpp $level
            exits 3 ./program
            says "cudaMallocAsync, stream 1 (first), at overloads.cpp:5" \
                "cudaEventRecord(event, first) after cudaMallocAsync (overloads.cpp:5)" \
                "cudaMallocAsync, stream 1 (first), at overloads.cpp:7" \
                "cudaMallocAsync, stream 2 (second), at overloads.cpp:8" \
                "found 49 more times: leak, cudaMallocAsync at overloads.cpp:8."
            lacks cuda_runtime.h
            assert_equal "$(grep -c '^hazard: leak' <<<"$output")" 2
            assert_equal "$(grep -c "more time" <<<"$output")" 1
        done
    done
}

@test "a call that std::invoke makes stands in the program's line, not in C++'s own header" {
    cat >invoke.cpp <<'C'
#include <cuda_runtime.h>
#include <functional>
int main()
{
    char *data = nullptr, *other = nullptr;
    std::invoke(cudaMallocManaged<char>, &data, 4096, 1u);
    std::invoke([&] { cudaMalloc(&other, 4096); });
    return 0;
}
C
    local how
    for how in -O0 -O1 -O2; do
        build invoke.cpp -std=c++17 $how
        exits 3 ./program
        says "at invoke.cpp:6" "at invoke.cpp:7"
        lacks invoke.h cuda_runtime.h
    done
}

@test "a launch in a helper stands where the helper is called, when it has the kernel's name" {
    cat >helper.c <<'C'
#include "user_kernels.h"
static void scale(void *const *memory, const void *argument) { (void)memory, (void)argument; }
#ifdef __OPTIMIZE__
__attribute__((always_inline)) /* Code that is optimized has no frame pointers. */
#endif
static inline cudaError_t launch_scale(float *data, cudaStream_t stream)
{
    int a = 0;
    return sim_launch(stream, "scale", scale, a, sim_read_write(data, 4096));
}
int main(void)
{
    float *data;
    cudaStream_t a, b;
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    cudaMalloc((void **)&data, 4096);
    launch_scale(data, a);
    launch_scale(data, b);
    cudaDeviceSynchronize();
    return (int)cudaFree(data);
}
C
    local how
    for how in -O0 -O2; do
        build helper.c $how
        exits 3 ./program
        says "written    scale, stream 1 (a), at helper.c:18" \
            "written    scale, stream 2 (b), at helper.c:19"
        lacks helper.c:9
    done
    cp helper.c helper.cpp
    build helper.cpp -O0
    exits 3 ./program
    says "at helper.cpp:18" "at helper.cpp:19"
}

@test "a member function's or a template's line is followed by that which called it" {
    build member.cpp <<'C'
#include <cuda_runtime.h>
struct Buffer {
    int *data;
    Buffer()
    {
        cudaMallocAsync(&data, 4096, cudaStreamPerThread);
    }
    ~Buffer() { cudaFreeAsync(data, cudaStreamPerThread); }
};
template <class T> void clear(T *data, cudaStream_t stream)
{
    cudaMemsetAsync(data, 0, 4096, stream);
}
int main()
{
    cudaStream_t s;
    cudaStreamCreate(&s);
    Buffer first;
    cudaStreamSynchronize(cudaStreamPerThread);
    clear(first.data, s);
    return 0;
}
C
    exits 3 ./program
    says "cudaMallocAsync, the per-thread stream, at member.cpp:6, called from member.cpp:18 (" \
        "cudaMemsetAsync, stream 1 (s), at member.cpp:12, called from member.cpp:20" \
        "event, 0) before cudaFreeAsync (member.cpp:8, called from member.cpp:22)."
}

@test "without -g a report gives offsets, and the hint to compile with it once" {
    main_of plain.c -g0 <<'C'
    void *data;
    cudaStream_t s, t;
    cudaStreamCreate(&s);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaMallocAsync(&data, 4096, s);
    cudaMemsetAsync(data, 0, 4096, t);
C
    exits 3 ./program
    says "at program+0x"
    assert_equal "$(grep -c '^hazard' <<<"$output")" 2
    assert_equal "$(grep -c -- -g <<<"$output")" 1
    main_of plain.c
    exits 3 ./program
    lacks "compile with -g"
}

@test "the summary names the wait that covers several reports, if one does, in short lines" {
    main_of waits.c <<'C'
    char *p, *q;
    cudaStream_t first, second;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaMalloc((void **)&p, 64);
    cudaMalloc((void **)&q, 64);
    cudaMemsetAsync(p, 1, 64, first);
    if (argc > 1) cudaMemsetAsync(p, 2, 64, second);
    cudaMemsetAsync(q, 3, 64, first);
    if (argc == 1) cudaMemsetAsync(p, 4, 64, second);
    cudaMemsetAsync(q, 5, 64, second);
    cudaDeviceSynchronize();
    cudaFree(p);
    cudaFree(q);
C
    SIM_SUMMARY=on SIM_REPORT=report exits 3 ./program
    [ "$(wc -L <<<"$output")" -le 100 ] || miss "A line is longer than 100 columns:" "$output"
    # Whole words, in the same order as in the file, whose lines are not broken.
    [ "$(grep -c 'touch the same bytes of allocation ., and nothing orders them.$' report)" = 3 ]
    assert_equal "$(sed '/^simulated device/d' report | xargs)" \
        "$(sed '/^simulated device/,$d' <<<"$output" | xargs)"
    joined
    says "reported: 2 hazards; one wait covers both: cudaEventRecord(event, first) after \
cudaMemsetAsync (waits.c:9), then cudaStreamWaitEvent(second, event, 0) before cudaMemsetAsync \
(waits.c:10)."
    # Here the second stream is at work before the first has its last call.
    SIM_SUMMARY=on exits 3 ./program more
    says "reported: 2 hazards."
    lacks "one wait"
    # With a third report between the same streams it covers these, too.
    sed -Ei 's/&q, 64/\&q, 128/; s/(.*)\(q(, ., 64, .*)/&\n\1(q + 64\2/' waits.c
    main_of waits.c
    SIM_SUMMARY=on exits 3 ./program
    joined
    says "reported: 3 hazards; one wait covers all 3: cudaEventRecord"
}

@test "what a report says to add repairs the program, also where a kernel has not run by then" {
    build adds.c -I"$ROOT/simulator/tests/unit" -Wno-unused-value <<'C'
#include "nvcc_by_hand.h"
static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                          ".visible .entry fill(.param .u64 p)\n"
                          "{\n.reg .b64 %r;\n"
                          "ld.param.u64 %r, [p];\nst.global.u32 [%r], 1;\nret;\n}\n";
static const char fill;
static cudaStream_t a, b;
static cudaEvent_t event;
static int after, before, host;
#define DO(call) \
    (before == __LINE__ ? cudaStreamWaitEvent(b, event, 0) : 0, call, \
     after == __LINE__ ? host ? cudaStreamSynchronize(a) : cudaEventRecord(event, a) : 0)
#define FILL(x, s) cudaLaunchKernel(&fill, (dim3){1, 1, 1}, (dim3){1, 1, 1}, (void *[]){&x}, 0, s)
int main(int count, char **arguments)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    char *x, *y, *z;
    if (count > 2) after = atoi(arguments[2]);
    if (count > 3) before = atoi(arguments[3]), host = !before;
    __cudaRegisterFunction(register_ptx(ptx), &fill, NULL, "fill", -1, 0, 0, 0, 0, 0);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    cudaMallocAsync((void **)&x, 4096, a);
    cudaMallocAsync((void **)&y, 4096, a);
    cudaStreamSynchronize(a);
    DO(cudaMallocAsync((void **)&z, 4096, a));
    switch (*arguments[1]) {
    case 'f': /* a free */
        DO(cudaMemsetAsync(x, 0, 64, a));
        DO(FILL(x, a));
        DO(FILL(x, a));
        DO(cudaFreeAsync(x, b));
        x = NULL;
        break;
    case 'k': /* kernels alone */
        DO(FILL(x, a));
        DO(FILL(x, a));
        DO(FILL(x, b));
        DO(FILL(x, b));
        break;
    case 'm': /* kernels in the first stream, one of which touches something else */
        DO(cudaMemsetAsync(x, 0, 64, a));
        DO(FILL(x, a));
        DO(FILL(y, a));
        DO(cudaMemsetAsync(x, 0, 64, b));
        break;
    case 's': /* a kernel in the second stream */
        DO(cudaMemsetAsync(x, 0, 64, a));
        DO(FILL(y, b));
        DO(FILL(x, b));
        DO(cudaMemsetAsync(x, 0, 64, b));
        break;
    case 'r': /* a kernel that is found after a later call of its stream was reported */
        DO(FILL(x, a));
        DO(cudaMemsetAsync(x, 0, 64, a));
        DO(cudaMemsetAsync(x, 0, 64, b));
        break;
    case 'n': /* a use before the allocation */
        DO(FILL(z, a));
        DO(cudaMemsetAsync(z, 0, 64, b));
        break;
    case 'g': /* graphs */
        cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
        cudaMemsetAsync(x, 0, 64, a);
        FILL(x, a);
        cudaStreamEndCapture(a, &graph);
        cudaGraphInstantiate(&exec, graph, 0);
        DO(cudaMemsetAsync(x, 0, 64, a));
        DO(cudaGraphLaunch(exec, a));
        DO(cudaFreeAsync(x, b));
        x = NULL;
        break;
    case 'o': /* a free in the first stream, which does not wait for the second, either */
        DO(cudaMemsetAsync(z, 0, 64, a));
        DO(FILL(z, b));
        DO(cudaFreeAsync(z, a));
        z = NULL;
        break;
    case 'h': /* the host */
        DO(cudaMemsetAsync(z, 0, 64, a));
        DO(FILL(z, a));
        DO(cudaFree(z));
        z = NULL;
        break;
    }
    cudaDeviceSynchronize();
    cudaFree(x);
    cudaFree(y);
    return cudaFree(z);
}
C
    local case schedule ends how
    for case in f k m s r n g h; do
        for schedule in measured instant late random:1; do
            how="$case, $schedule"
            SIM_SCHEDULE=$schedule run bounded ./program $case
            [ "$status" = 3 ] || complain "$how: status $status:" "$output"
            # Each report alone names the line after which the record belongs, and that before which
            # the wait does.
            ends=$(sed -zE 's/\n {13}/ /g' <<<"$output" | sed -nE 's/^  To do: *//p' | sort -u |
                sed -E 's/ Right .*//
                    s/^cudaEventRecord.*\(adds.c:([0-9]+)\), then.*\(adds.c:([0-9]+)\)\.$/\1 \2/
                    s/^cudaStreamSynchronize.* after .*\(adds.c:([0-9]+)\) and before .*/\1 0/')
            [ -n "$ends" ] || complain "$how: nothing to do in:" "$output"
            while read -r after before; do
                SIM_SCHEDULE=$schedule run bounded ./program $case "$after" "$before"
                [ "$status" = 0 ] || complain "$how: with $after and $before:" "$output"
            done <<<"$ends"
        done
    done
    # A kernel that touches other memory is not named, and the reader learns why another one is.
    SIM_SCHEDULE=measured run bounded ./program m
    refute_output --partial "after fill (adds.c:46)"
    assert_output --partial "Right after cudaMemsetAsync (adds.c:44) would be too early: fill \
(adds.c:45) may use the memory, too."
    SIM_SCHEDULE=measured run bounded ./program s
    assert_output --partial "Right before cudaMemsetAsync (adds.c:53) would be too late: fill \
(adds.c:52) may use the memory, too."
    # Where an allocation was freed before the kernel ran, its pointer was no stale one.
    SIM_SCHEDULE=measured run bounded ./program o
    assert_output --partial "fill (stream 2) and cudaMemsetAsync (stream 1) touch the same bytes"
    refute_output --partial "had this address before"
    finish
}

@test "the same two lines in other streams: each pair of streams needs a wait of its own" {
    main_of fan.c <<'C'
    char *data;
    cudaStream_t join, work[3];
    cudaStreamCreateWithFlags(&join, cudaStreamNonBlocking);
    cudaMalloc((void **)&data, 192);
    for (int i = 0; i < 3; i++) {
        cudaStreamCreateWithFlags(&work[i], cudaStreamNonBlocking);
        cudaMemsetAsync(data + i * 64, 1, 64, work[i]);
    }
    for (int i = 0; i < 3; i++) {
        cudaMemsetAsync(data + i * 64, 2, 32, join);
        cudaMemsetAsync(data + i * 64 + 32, 3, 32, join);
    }
    cudaDeviceSynchronize();
    return cudaFree(data);
C
    SIM_SUMMARY=on exits 3 ./program
    joined
    says "found 2 more times: unordered writes, cudaMemsetAsync at fan.c:10. Other streams were \
in it, too. An event keeps only its last record, so each pair of streams needs a record, and then \
at once its wait."
    says "reported: 2 hazards."
    lacks "one wait"
    # The second such sentence does not explain events again.
    assert_equal "$(grep -o "Other streams were in it, too" <<<"$output" | wc -l)" 2
    assert_equal "$(grep -o "An event keeps" <<<"$output" | wc -l)" 1
}

@test "in a loop a wait belongs before the next time of a call that stands above the other one" {
    main_of round.c <<'C'
    int *host, *data;
    cudaStream_t load, work;
    cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
    cudaMallocHost((void **)&host, 4096);
    cudaMalloc((void **)&data, 4096);
    for (int i = 0; i < 2; i++) {
        *host = i;
        cudaMemsetAsync(data, 0, 4096, load);
        cudaMemcpyAsync(host, data, 4096, cudaMemcpyDeviceToHost, work);
    }
    cudaDeviceSynchronize();
    cudaFree(data);
    return cudaFreeHost(host);
C
    exits 3 ./program
    joined
    says "cudaStreamSynchronize(work) after cudaMemcpyAsync (round.c:10) and before the host next \
touches the memory (round.c:8)."
    says "cudaStreamWaitEvent(load, event, 0) before the next cudaMemsetAsync (round.c:9)."
    says "cudaStreamWaitEvent(work, event, 0) before cudaMemcpyAsync (round.c:10)."
}

@test "a record that nothing waited for, and that another stream's replaced, is named" {
    main_of replaced.c <<'C'
    int *data;
    cudaStream_t first, second, third, last;
    cudaEvent_t event;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&last, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    cudaMalloc((void **)&data, 4096);
    cudaMemsetAsync(data, 0, 64, first);
    cudaEventRecord(event, first);
    if (argc > 1) cudaStreamWaitEvent(third, event, 0);
    cudaEventRecord(event, second);
    cudaStreamWaitEvent(last, event, 0);
    cudaMemsetAsync(data, 1, 64, last);
    cudaDeviceSynchronize();
    return cudaFree(data);
C
    exits 3 ./program
    joined
    says "Missing: nothing makes stream 4 (last) wait for stream 1 (first). The event was \
recorded again, in stream 2 (second), before the wait: it waits for that record alone \
(cudaStreamWaitEvent at replaced.c:14)."
    # The third stream took the first record, so the event is one that the program uses again.
    exits 3 ./program waited
    says "nothing makes stream 4 (last) wait for stream 1 (first)."
    lacks "recorded again"
}

# ---- whom a report reaches ----

# A program that discards its standard error while it works, as a test runner does for a test that
# passes.
captured_program() {
    main_of captured.c <<'C'
    int kept = dup(2), away = open("/dev/null", O_WRONLY);
    cudaStream_t a, b;
    void *data;
    dup2(away, 2);
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    for (int i = 0; i < atoi(argv[argc - 1]); i++) {
        cudaMallocAsync(&data, 4096, a);
        cudaFreeAsync(data, b);
    }
    for (int i = 1; i < atoi(argv[argc - 1]); i++)
        cudaMallocAsync(&data, 4096, a);
    cudaDeviceSynchronize();
    dup2(kept, 2);
C
}

@test "at the end, one sentence repeats the first report where all else was thrown away" {
    captured_program
    local first="free before allocation. cudaFreeAsync (stream 2) frees allocation 1, and nothing"
    exits 3 ./program 1
    assert_line --partial "simulated device: 1 hazard was reported, so the exit status is 3: $first"
    [ "${#lines[@]}" = 1 ] || miss "More than a sentence:" "$output"
    run ./program 2
    assert_line --partial \
        "simulated device: 2 hazards were reported, so the exit status is 3. The first: $first"
    prints "" ./program 0
}

@test "SIM_REPORT=FILE: the file has what standard error had, and is empty when that had nothing" {
    captured_program
    SIM_REPORT=reports.%p exits 3 ./program 2
    local file
    file=$(echo reports.*)
    [[ $file =~ ^reports\.[0-9]+$ ]] || miss "The file is $file."
    run cat "$file"
    assert_line --index 0 --partial "hazard: free before allocation."
    assert_line --partial "freed      cudaFreeAsync, stream 2 (b), at captured.c:9"
    assert_line --partial "found 1 more time: free before allocation"
    assert_line --partial "hazard: leak."
    assert_line --index $((${#lines[@]} - 1)) --partial "2 hazards were reported"
    SIM_REPORT=none exits 0 ./program 0
    [ -e none ] && [ ! -s none ] || miss "The file is not there, or not empty."
}

@test "SIM_REPORT: what ends the program, and what kills it after a report, leaves its reports" {
    main_of ends.c <<'C'
    cudaStream_t a, b;
    void *data;
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    cudaMallocAsync(&data, 4096, a);
    cudaFreeAsync(data, b);
    if (argc == 1)
        raise(SIGKILL);
    cudaStreamDestroy(b);
    return (int)cudaStreamSynchronize(b);
C
    SIM_REPORT=killed exits 137 ./program
    assert_file_contains killed "^hazard: free before allocation"
    SIM_REPORT=ended exits 3 ./program more
    assert_file_contains ended "^hazard: free before allocation"
    assert_file_contains ended "^hazard: bad handle. cudaStreamSynchronize was given"
}

@test "a report that ends the program begins with its kind, as the journal names it" {
    main_of last.c <<'C'
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned};
    struct cudaMemPoolPtrExportData data = {.reserved = {0}};
    cudaMemPool_t pool;
    cudaStream_t stream;
    cudaEvent_t event;
    void *p;
    int descriptor;
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    if (argc > 1 && *argv[1] == 'f')
        props.handleTypes |= cudaMemHandleTypeFabric;
    props.location.type = cudaMemLocationTypeDevice;
    cudaMemPoolCreate(&pool, &props);
    cudaStreamCreate(&stream);
    cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming);
    cudaMalloc(&p, 4096);
    switch (*argv[1]) {
    case 's': cudaStreamDestroy(stream); return cudaStreamSynchronize(stream);
    case 'p': cudaMemPoolDestroy(pool); return cudaDeviceSetMemPool(0, pool);
    case 'i':
        cudaMemPoolExportToShareableHandle(&descriptor, pool, props.handleTypes, 0);
        cudaMemPoolImportFromShareableHandle(&pool, (void *)(size_t)descriptor,
                                             props.handleTypes, 0);
        cudaMemPoolDestroy(pool);
        return cudaMemPoolImportPointer(&p, pool, &data);
    case 'v': return cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, NULL);
    case 'l': return cudaMemPoolSetAccess(pool, NULL, 1);
    case 'h': return cudaIpcGetEventHandle(NULL, event);
    case 'd':
        return cudaMemPoolImportFromShareableHandle(&pool, (void *)7, cudaMemHandleTypeFabric, 0);
    case 'f':
        return cudaMemPoolExportToShareableHandle(&data, pool, cudaMemHandleTypeFabric, 0);
    case 't': cudaFreeAsync(p, stream); return cudaFreeAsync(p, stream);
    }
    return 1;
C
    local how check kind of_journal
    while read -r how kind; do
        check=on
        # With SIM_CHECK on, the checker reports this one.
        [ "$how" != t ] || check=off
        status=0
        SIM_CHECK=$check SIM_JOURNAL=journal ./program "$how" >out 2>err || status=$?
        of_journal=$(sed -n 's/.*"did":"hazard".*"kind":"\([^"]*\)".*/\1/p' journal)
        [ "$status" = 3 ] || complain "$how: status $status, not 3."
        [[ $(grep -m 1 "^hazard:" err) == "hazard: $kind. cuda"* ]] ||
            complain "$how: the report does not begin with '$kind':" "$(<err)"
        [ "$of_journal" = "$kind" ] || complain "$how: the journal has '$of_journal'."
        grep -q "^  To do: " err || [ "$how" = t ] || complain "$how: nothing to do:" "$(<err)"
    done <<'KINDS'
s bad handle
p bad handle
i bad handle
v null value
l null list
h null handle
d descriptor as fabric handle
f fabric handle
t double free
KINDS
    finish
}

@test "a wait while the process ends, after the runtime: a sentence; to destroy then: none" {
    build late.c -DWAITS=0 <<'END'
#include <cuda_runtime_api.h>
static cudaStream_t s;
__attribute__((destructor)) static void end(void)
{
    if (WAITS)
        cudaStreamSynchronize(s);
    cudaStreamDestroy(s);
}
int main(void) { return cudaStreamCreate(&s); }
END
    prints "" ./program
    build late.c -DWAITS=1
    exits 0 ./program
    assert_output --partial "cudaStreamSynchronize was called while the process ends, after the"
}

@test "a pool destroyed before the host has waited for its frees: a line, and the status stays" {
    main_of pools.c <<'C'
    struct cudaMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    cudaStream_t s;
    cudaEvent_t e;
    cudaStreamCreate(&s);
    cudaEventCreate(&e);
    for (int i = 0; i < 3; i++) {
        cudaMemPool_t pool;
        void *p;
        cudaMemPoolCreate(&pool, &props);
        cudaMallocFromPoolAsync(&p, 4096, pool, s);
        cudaFreeAsync(p, s);
        cudaEventRecord(e, s);
        if (argc > 1) argv[1][0] == 'e' ? cudaEventSynchronize(e) : cudaDeviceSynchronize();
        cudaMemPoolDestroy(pool);
    }
    cudaStreamDestroy(s);
    return cudaEventDestroy(e);
C
    local schedule how
    for schedule in measured instant late random:3; do
        SIM_SCHEDULE=$schedule SIM_REPORT=said exits 0 ./program
        assert_equal "${#lines[@]}" 1
        assert_output --partial "cudaMemPoolDestroy at pools.c:17 destroys a pool, and the host has\
 not waited for cudaFreeAsync (stream 1) at pools.c:14, which frees memory of it."
        assert_equal "$(<said)" "$output"
        for how in event device; do
            SIM_SCHEDULE=$schedule prints "" ./program $how
        done
    done
}

@test "SIM_SCHEDULE=random:2: a cache keyed by a stream's handle meets a handle that comes back" {
    main_of keyed.c <<'C'
    struct { cudaStream_t key; void *p; } cache = {NULL, NULL};
    void *host, *p;
    int hits = 0;
    cudaMallocHost(&host, 8 << 20);
    for (int i = 0; i < 6; i++) {
        cudaStream_t s;
        cudaEvent_t e;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        cudaEventCreate(&e);
        if (cache.p && cache.key == s) {
            p = cache.p;
            hits++;
        } else {
            cudaFree(cache.p);
            cudaMalloc(&p, 8 << 20);
        }
        cudaMemcpyAsync(p, host, 8 << 20, cudaMemcpyHostToDevice, s);
        cache.key = s;
        cache.p = p;
        cudaEventDestroy(e);
        cudaStreamDestroy(s);
    }
    cudaDeviceSynchronize();
    cudaFree(cache.p);
    cudaFreeHost(host);
    printf("%d hits\n", hits);
C
    prints "0 hits" ./program
    SIM_SCHEDULE=random:1 run ./program
    assert_output "0 hits"
    SIM_SCHEDULE=random:2 exits 3 ./program
    assert_line "5 hits"
    assert_output --partial \
        "hazard: unordered writes. cudaMemcpyAsync (stream 2) and cudaMemcpyAsync"
    # A handle that is destroyed, and not yet another one's, is known as such.
    main_of gone.c <<'C'
    cudaStream_t s, t;
    cudaStreamCreate(&s);
    cudaStreamDestroy(s);
    cudaStreamCreate(&t);
    cudaStreamDestroy(t);
    return cudaStreamSynchronize(s);
C
    SIM_SUMMARY=on SIM_COLUMNS=200 SIM_SCHEDULE=random:2 exits 3 ./program
    assert_output --partial "hazard: bad handle. cudaStreamSynchronize was given a stream that is \
destroyed."
    assert_line "  called     at gone.c:6"
    assert_line "  destroyed  at gone.c:5"
    assert_line "simulated device: checked: 5 calls, 2 streams, in the schedule random:2."
}

@test "a refused capture, record, wait or free says why, and which call was at fault" {
    main_of w.c <<'C'
    cudaStream_t s, t;
    cudaEvent_t e, other;
    cudaGraph_t g;
    void *p;
    cudaSetDevice(1);
    cudaEventCreate(&other);
    cudaSetDevice(0);
    cudaEventCreate(&e);
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaMallocAsync(&p, 4096, s);
    if (argv[argc - 1][0] == 'o') cudaEventRecord(e, t);
    if (argv[argc - 1][0] == 'd') cudaEventRecord(other, s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    switch (argv[argc - 1][0]) {
    case 's': cudaStreamSynchronize(s); break;
    case 'o': cudaStreamWaitEvent(s, e, 0); break;
    case 'f': cudaFreeAsync(p, s); break;
    default: cudaEventRecord(e, s);
    }
    if (argv[argc - 1][0] == 'u' || argv[argc - 1][0] == 't') {
        cudaStreamWaitEvent(t, e, 0);
        cudaMemsetAsync(p, 0, 4, t);
    }
    cudaStreamEndCapture(argv[argc - 1][0] == 't' ? t : s, &g);
    if (argv[argc - 1][0] == 'l') cudaStreamWaitEvent(t, e, 0);
    cudaDeviceSynchronize();
C
    local case words
    while read -r case words; do
        exits 3 ./program "$case"
        assert_output --partial "hazard: failed call. $words"
    done <<'CASES'
d cudaEventRecord returned cudaErrorInvalidResourceHandle and did nothing: the event is of device 1
s cudaStreamEndCapture returned cudaErrorStreamCaptureInvalidated and did nothing: the call at
u cudaStreamEndCapture returned cudaErrorStreamCaptureUnjoined and did nothing: nothing makes stream
t cudaStreamEndCapture returned cudaErrorStreamCaptureUnmatched and did nothing: the capture began
o cudaStreamWaitEvent returned cudaErrorStreamCaptureIsolation and did nothing: the event was
l cudaStreamWaitEvent returned cudaErrorInvalidValue and did nothing: the event was last recorded in
f cudaFreeAsync returned cudaErrorInvalidValue and did nothing: a capture frees only what it has
CASES
}

# ---- two devices ----

@test "between two devices, a report names the device of each stream and which must be current" {
    main_of two.c <<'C'
    void *p, *q;
    cudaStream_t a, b;
    cudaSetDevice(1);
    cudaStreamCreate(&a);
    cudaMallocAsync(&p, 4096, 0);
    cudaMallocAsync(&q, 4096, a);
    cudaSetDevice(0);
    cudaStreamCreate(&b);
    cudaFreeAsync(p, 0);
    cudaFreeAsync(q, b);
    return cudaDeviceSynchronize();
C
    exits 3 ./program
    says "cudaFreeAsync (the legacy stream of device 0) frees" \
        "allocates it (the legacy stream of device 1)" \
        "cudaEventRecord(event, cudaStreamLegacy), with device 1 current, after cudaMallocAsync" \
        "cudaStreamWaitEvent(cudaStreamLegacy, event, 0), with device 0 current, before" \
        "create the event while device 1 is current" \
        "If one stream is meant, make device 1" \
        "stream 2 of device 0 (b) wait for stream 1 of device 1 (a)." \
        "cudaEventRecord(event, a) after cudaMallocAsync (two.c:6)"
}

@test "the kinds of hazards that tests name are in the one list of them, and each is in use" {
    cd "$ROOT"
    local kinds
    kinds=$(sed -n 's/^HAZARD(\([A-Z_]*\), "\(.*\)",$/\2/p' simulator/base/hazards.def | sort)
    [ "$(wc -l <<<"$kinds")" -gt 35 ]
    run diff <(printf '%s\n' "$kinds") <(sort -u <<<"$kinds")
    assert_output ""
    run comm -13 <(printf '%s\n' "$kinds") \
        <(sed -n 's/^ \* Kind: \([^*]*[^* ]\).*/\1/p' simulator/tests/litmus/*.c | sort -u)
    assert_output ""
    local id
    for id in $(sed -n 's/^HAZARD(\([A-Z_]*\),.*/\1/p' simulator/base/hazards.def); do
        grep -rqw "HAZARD_$id" simulator --include='*.c' || complain "No report is HAZARD_$id."
    done
    finish
}

# ---- order that only a host function makes ----

@test "where a host function alone orders two calls, the last words say so, or the report does" {
    build unseen.c <<'C'
#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
static atomic_int flag;
static void set_flag(void *unused) { (void)unused; flag = 1; }
int main(int argc, char **argv)
{
    int *data, *other, how = argc > 1 ? atoi(argv[1]) : 0;
    cudaStream_t a, b, c;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking);
    cudaMalloc((void **)&data, 4096);
    cudaMalloc((void **)&other, 4096);
    cudaMemsetAsync(data, 1, 4096, a);
    cudaLaunchHostFunc(a, set_flag, NULL);
    switch (how) {
    case 0: break;
    case 1: cudaStreamSynchronize(c); break;
    case 2: cudaGetLastError(); break;
    case 3: usleep(2000); break;
    case 4: usleep(100000); break;
    case 5: for (int i = 0; i < 1000; i++) cudaMemsetAsync(other, i, 4096, c); break;
    case 6: while (!flag) cudaMemsetAsync(other, 1, 4096, c); break;
    case 7: while (!flag) usleep(1000); break;
    case 8: while (!flag) cudaStreamQuery(c); break;
    case 9: while (!flag) ; break;
    }
    cudaMemsetAsync(data, 2, 4096, b);
    cudaDeviceSynchronize();
    cudaFree(data);
    cudaFree(other);
}
C
    local how schedule
    for schedule in measured instant; do
        for how in 0 1 2; do
            SIM_SCHEDULE=$schedule run bounded ./program $how
            assert_equal "$how $status" "$how 3"
            assert_output --partial "hazard: unordered writes."
            refute_output --partial "only because a host function"
        done
        # The host has slept once, or made calls for longer than a function takes to begin.
        for how in 3 4 5 6; do
            SIM_SCHEDULE=$schedule run bounded ./program $how
            assert_equal "$how $status" "$how 0"
            assert_output "simulated device: cudaMemsetAsync at unseen.c:30 (stream 2) comes after \
cudaMemsetAsync at unseen.c:16 (stream 1) only because a host function had begun meanwhile. \
Nothing shows that the host looked at what the function did. If it did not, a wait is missing \
there; SIM_SCHEDULE=late may report it."
        done
        # The host polls the flag.
        for how in 7 8 9; do
            SIM_SCHEDULE=$schedule run bounded ./program $how
            assert_equal "$how $status" "$how 0"
            assert_output ""
        done
    done
}

# ---- SIM_CHECK=strict: asynchronous copies of ordinary memory order nothing ----

# The argument says how the free is ordered after the fill.
strictly_ordered() {
    main_of strict.c <<'C'
    const size_t MiB = 1 << 20;
    const char *how = argv[argc - 1];
    cudaStream_t a, b;
    cudaEvent_t event;
    char *data, *host = malloc(4 * MiB);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    cudaMallocAsync((void **)&data, 4 * MiB, a);
    cudaMemsetAsync(data, 7, 4 * MiB, a);
    if (!strcmp(how, "out"))
        cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a);
    if (!strcmp(how, "in"))
        cudaMemcpyAsync(data, host, 4 * MiB, cudaMemcpyHostToDevice, a);
    if (!strcmp(how, "event")) {
        cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a);
        cudaEventRecord(event, a);
        cudaStreamWaitEvent(b, event, 0);
    }
    if (!strcmp(how, "wait")) {
        cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a);
        cudaStreamSynchronize(a);
    }
    if (!strcmp(how, "blocking")) {
        cudaStreamSynchronize(a);
        cudaMemcpy(host, data, MiB, cudaMemcpyDeviceToHost);
    }
    cudaFreeAsync(data, b);
    printf("%d\n", host[0]);
    free(host);
    return (int)cudaDeviceSynchronize();
C
}

@test "strict: a free that only such a copy puts behind other work is reported, and else is not" {
    local schedule
    strictly_ordered
    for schedule in measured instant late random:1; do
        export SIM_SCHEDULE=$schedule
        SIM_CHECK=on prints 7 ./program out
        SIM_CHECK=strict exits 3 ./program out
        assert_line --partial "hazard: free before the use ends."
        assert_line 7
    done
}

@test "strict: what orders by itself still does; a copy from ordinary memory orders nothing" {
    local how
    strictly_ordered
    export SIM_CHECK=strict
    for how in event wait blocking; do
        prints 7 ./program "$how"
    done
    for how in on strict; do
        SIM_CHECK=$how exits 3 ./program in
    done
}

# ---- forked children ----

@test "a child that was forked after the first call: a sentence says why its calls fail" {
    main_of fork.c <<'C'
    int status, *data;
    if (argc > 1)
        cudaGetDeviceCount(&status);
    if (fork()) {
        wait(&status);
        return WEXITSTATUS(status);
    }
    if (argc > 2 && cudaMalloc((void **)&data, 4))
        exit(**++argv);
    cudaMalloc((void **)&data, 4);
    cudaFree(data);
    exit(0);
C
    local schedule said="simulated device: cudaMalloc at fork.c:%d returns \
cudaErrorInitializationError, as all calls do in a process that was forked after the first CUDA \
call (cudaGetDeviceCount at fork.c:3). To do: fork before that call, or call exec in the child."
    for schedule in measured instant late random:1; do
        SIM_SCHEDULE=$schedule prints "" ./program
        SIM_SCHEDULE=$schedule exits 3 ./program late
        # shellcheck disable=SC2059  # the line's number
        assert_line "$(printf "$said" 10)"
        assert_line --partial "hazard: failed call. cudaMalloc returned"
        assert_line --partial "called     cudaMalloc, the host, at fork.c:10"
        # The child looks at the result, and ends.
        SIM_SCHEDULE=$schedule exits 1 ./program $'\1' looked
        # shellcheck disable=SC2059
        assert_output "$(printf "$said" 8)"
    done
}
