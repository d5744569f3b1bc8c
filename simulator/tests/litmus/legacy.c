/* The legacy stream: what it waits for, and what waits for it. */
#include "litmus.h"

/* The legacy stream writes, then a blocking stream: each waits for the other.
 *
 * WRONG: the other stream is a non-blocking one, which does not wait for the legacy stream: no edge
 * between the two writes.
 * Kind: unordered writes */
LITMUS(legacy_stream)
{
    cudaStream_t a;
    IF_WRONG(CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking)));
    IF_RIGHT(CHECK(cudaStreamCreateWithFlags(&a, cudaStreamDefault)));
    int *data = device_memory(MiB);

    CHECK(launch_fill(data, 1, count, 0)); /* previous access */
    CHECK(launch_add(data, 1, count, a));  /* access */
    CHECK(cudaStreamSynchronize(a));
    CHECK(launch_add(data, 1, count, 0));
}

/* A blocking stream writes, then the legacy stream, then another blocking stream: each waits.
 *
 * WRONG: the first stream is a non-blocking one, for which the legacy stream does not wait: no edge
 * from its write.
 * Kind: unordered writes */
LITMUS(legacy_stream_follows)
{
    int *data;
    cudaStream_t a;
    IF_WRONG(CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking)));
    IF_RIGHT(CHECK(cudaStreamCreateWithFlags(&a, cudaStreamDefault)));
    cudaStream_t b = stream_new(cudaStreamDefault);
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count, a));               /* previous access */
    CHECK(launch_add(data, 1, count, cudaStreamLegacy)); /* access */
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
}

/* The legacy stream waits for an event of a non-blocking stream. A blocking stream, which waits for
 * the legacy stream, waits for that event, too. */
LITMUS(legacy_passes_on)
{
    int *data;
    cudaEvent_t written = event_new();
    cudaStream_t a = stream_new(cudaStreamNonBlocking), b = stream_new(cudaStreamDefault);
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(launch_fill(data, 1, count / 2, cudaStreamLegacy));
    CHECK(launch_fill(data, 1, count / 2, b));
    CHECK(launch_fill(data + count / 2, 1, count / 2, a));
    CHECK(cudaEventRecord(written, a));

    usleep(30000);
    CHECK(cudaStreamWaitEvent(cudaStreamLegacy, written, 0));
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
}

/* A memset in the legacy stream waits for stream a, and stream b waits for the memset.
 *
 * WRONG: the host queries the legacy stream, which puts no work there: no edge from a's write to
 * b's.
 * Kind: unordered writes */
LITMUS(legacy_query, a, b)
{
    int *data = device_memory(MiB), *other = device_memory(MiB);
    volatile int *gate = gate_new();

    CHECK(launch_hold(gate, a));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifdef WRONG
    if (cudaStreamQuery(cudaStreamLegacy) == cudaErrorNotReady)
#else
    if (cudaMemsetAsync(other, 0, MiB, cudaStreamLegacy) == cudaSuccess)
#endif
        gate_open(gate);
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* The legacy stream of device 0 waits for that device's blocking streams.
 * Devices: 2
 *
 * WRONG: the legacy stream is that of device 1, which does not wait for device 0: no edge from a's
 * write to it.
 * Kind: unordered writes */
LITMUS(legacy_of_other_device, a)
{
    int *data = pinned_memory(MiB);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_WRONG(CHECK(cudaSetDevice(1)));
    CHECK(launch_add(data, 1, count, 0)); /* access */
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamSynchronize(a));
}

/* A graph in a non-blocking stream forks into two branches. The legacy stream has no edge to
 * either: to wait for it, or to query it, must not wait for a branch of the graph.
 * Prints: cudaSuccess cudaErrorNotReady */
NONBLOCKING_LITMUS(legacy_beside_graph_branch, s, t)
{
    size_t count = 64 * MiB / sizeof(int);
    volatile int *gate = gate_new();
    cudaEvent_t fork = event_new();
    int *data = device_memory(64 * MiB);
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(launch_fill(data, 1, count, s));
    CHECK(cudaEventRecord(fork, s));
    CHECK(launch_add(data, 1, count / 2, s));
    CHECK(cudaStreamWaitEvent(t, fork, 0));
    CHECK(launch_hold(gate, t));
    order(t, s);
    cudaGraphExec_t exec = end_capture(s);
    CHECK(cudaGraphLaunch(exec, s));
    printf("%s ", cudaGetErrorName(cudaStreamQuery(cudaStreamLegacy)));
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    printf("%s\n", cudaGetErrorName(cudaStreamQuery(s)));
    gate_open(gate);
    CHECK(cudaStreamSynchronize(s));
}

/* A host function in a blocking stream comes after the legacy stream's work, even when that is over
 * at the call: through the function's flag the host acquires that work. */
static atomic_int flag;

static void set_flag(void *unused)
{
    (void)unused;
    atomic_store(&flag, 1);
}

LITMUS(host_function_after_legacy, stream)
{
    size_t count = MiB / sizeof(int), unused;
    int *data = pool_memory(MiB, cudaStreamLegacy);
    CHECK(launch_fill(data, 1, count, cudaStreamLegacy));
    /* Calls that take time, so that the fill is over. */
    for (int i = 0; i < 100; i++)
        CHECK(cudaMemGetInfo(&unused, &unused));
    CHECK(cudaLaunchHostFunc(stream, set_flag, NULL));
    while (!atomic_load(&flag))
        usleep(1000);
    CHECK(cudaFree(data));
}
