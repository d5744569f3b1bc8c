/* Edges that events, the order of a stream, and the legacy stream make between streams, and those
 * that seem to. */
#include "litmus.h"

/* Three streams in a row: c waits for b, and b for a's write.
 *
 * WRONG: b waits for an event before a's write: no edge from a's write to c's.
 * Kind: unordered writes */
LITMUS(third_stream, a, b, c)
{
    cudaEvent_t first = event_new();

    int *data = kept_pool_memory(MiB, a);
    IF_WRONG(CHECK(cudaEventRecord(first, a)));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaEventRecord(first, a)));
    CHECK(cudaStreamWaitEvent(b, first, 0));
    order(b, c);
    CHECK(launch_add(data, 1, count, c)); /* access */
}

/* Streams a, b and c: c waits for b and b for a, so a's write happens before c's. a frees at the
 * end.
 *
 * WRONG: b does not wait for a, so the chain is broken: no edge from a's write to c's.
 * Kind: unordered writes */
LITMUS(chain, a, b, c)
{
    int *data = pool_memory(MiB, a);
    CHECK(cudaStreamSynchronize(a));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(order(a, b));
    order(b, c);
    CHECK(launch_add(data, 1, count, c)); /* access */
    order(c, a);
    CHECK(cudaFreeAsync(data, a));
}

/* A pipeline over two buffers: stream a uploads, stream b computes. Each upload waits for the last
 * use of its buffer.
 *
 * WRONG: uploads do not wait: no edge from b's use of a buffer to the next upload into it.
 * Kind: unordered writes */
LITMUS(double_buffer, a, b)
{
    int *buffer[2];
    cudaEvent_t uploaded[2], computed[2];
    int *host = pinned_memory(MiB);
    for (int i = 0; i < 2; i++) {
        CHECK(cudaEventCreate(&uploaded[i]));
        CHECK(cudaEventCreate(&computed[i]));
        CHECK(cudaMallocAsync((void **)&buffer[i], MiB, a));
    }

    for (int i = 0; i < 6; i++) {
        int k = i % 2;
        IF_RIGHT(CHECK(cudaStreamWaitEvent(a, computed[k], 0)));
        CHECK(cudaMemcpyAsync(buffer[k], host, MiB, cudaMemcpyHostToDevice, a)); /* access */
        CHECK(cudaEventRecord(uploaded[k], a));
        CHECK(cudaStreamWaitEvent(b, uploaded[k], 0));
        CHECK(launch_add(buffer[k], i, MiB / sizeof(int), b)); /* previous access */
        CHECK(cudaEventRecord(computed[k], b));
    }
    for (int i = 0; i < 2; i++)
        CHECK(cudaFreeAsync(buffer[i], b));
}

/* Stream b waits for a's write before its own is queued.
 *
 * WRONG: b waits after its write was queued: no edge from a's write to b's.
 * Kind: unordered writes */
LITMUS(wait_too_late, a, b)
{
    int *data = device_memory(MiB);

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    cudaEvent_t written = event_after(a);
    IF_RIGHT(CHECK(cudaStreamWaitEvent(b, written, 0)));
    CHECK(launch_add(data, 1, count, b)); /* access */
    IF_WRONG(CHECK(cudaStreamWaitEvent(b, written, 0)));
}

/* Stream b waits for an event that is recorded after a's write.
 *
 * WRONG: the event is recorded before the write: no edge from a's write to b's.
 * Kind: unordered writes
 * Says: The event was recorded too early (cudaStreamWaitEvent at */
LITMUS(event_too_early, a, b)
{
    cudaEvent_t written = event_new();

    int *data = kept_pool_memory(MiB, a);
    IF_WRONG(CHECK(cudaEventRecord(written, a)));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaEventRecord(written, a)));
    CHECK(cudaStreamWaitEvent(b, written, 0));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* Stream b waits after the event was recorded again: it waits for the newer record.
 *
 * WRONG: b waits before that, for the older record: no edge from a's write to b's.
 * Kind: unordered writes
 * Says: The wait came before the newest record: it waits for an older one */
LITMUS(older_record, a, b)
{
    cudaEvent_t event = event_new();

    int *data = kept_pool_memory(MiB, a);
    CHECK(cudaEventRecord(event, a));
    IF_WRONG(CHECK(cudaStreamWaitEvent(b, event, 0)));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaEventRecord(event, a));
    IF_RIGHT(CHECK(cudaStreamWaitEvent(b, event, 0)));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* Stream b waits for an event before the event is recorded again: the wait is for the first record.
 *
 * WRONG: b waits for the second record, of stream c: no edge from a's write to b's.
 * Kind: unordered writes
 * Says: The event was recorded again, in stream */
LITMUS(recorded_again, a, b, c)
{
    cudaEvent_t event = event_new();

    int *data = kept_pool_memory(MiB, a);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaEventRecord(event, a));
    IF_RIGHT(CHECK(cudaStreamWaitEvent(b, event, 0)));
    CHECK(cudaEventRecord(event, c));
    IF_WRONG(CHECK(cudaStreamWaitEvent(b, event, 0)));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* Stream b waits for an event that has been recorded.
 *
 * WRONG: the event is recorded after the wait, which therefore waits for nothing: no edge from a's
 * write to b's.
 * Kind: unordered writes
 * Says: The wait came before the record: it waits for nothing */
LITMUS(never_recorded, a, b)
{
    cudaEvent_t written = event_new();
    int *data = device_memory(MiB);

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaEventRecord(written, a)));
    CHECK(cudaStreamWaitEvent(b, written, 0));
    IF_WRONG(CHECK(cudaEventRecord(written, a)));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* An event node after the graph's kernel records the event for which stream b waits.
 *
 * WRONG: the event node comes before the kernel: no edge from the graph's write to b's.
 * Kind: unordered writes */
LITMUS(external_event, a, b)
{
    cudaEvent_t event = event_new();
    int *data = device_memory(MiB);
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    IF_WRONG(CHECK(cudaEventRecordWithFlags(event, a, cudaEventRecordExternal)));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaEventRecordWithFlags(event, a, cudaEventRecordExternal)));
    CHECK(cudaGraphLaunch(end_capture(a), a));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* Stream b waits for an event that has been reached, and does nothing else. Whoever then waits for
 * b has acquired a's write through that wait. */
NONBLOCKING_LITMUS(acquired_through_a_wait, a, b, c)
{
    int *data = pool_memory(MiB, a);
    CHECK(launch_fill(data, 1, count, a));
    cudaEvent_t written = event_after(a);
    CHECK(cudaStreamSynchronize(b));

    usleep(30000);
    CHECK(cudaStreamWaitEvent(b, written, 0));
    CHECK(cudaStreamSynchronize(b));
    CHECK(launch_add(data, 1, count, c));
    CHECK(cudaFreeAsync(data, c));
}

/* An event is destroyed before it is reached. The wait for it stays in the stream. */
LITMUS(event_destroyed, a, b)
{
    int *data = pool_memory(MiB, a);
    CHECK(launch_fill(data, 1, count, a));
    cudaEvent_t written = event_after(a);
    CHECK(cudaStreamWaitEvent(b, written, 0));
    CHECK(cudaEventDestroy(written));
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaFreeAsync(data, b));
}

/* The event is destroyed after the wait for it was queued: the wait holds.
 *
 * WRONG: it is destroyed and created again before the wait, and a new event has no record: no edge
 * from a's write to b's.
 * Kind: unordered writes */
LITMUS(event_destroyed_pending, a, b)
{
    size_t count = 64 * MiB / sizeof(int);
    int *data = device_memory(64 * MiB);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    cudaEvent_t event = event_after(a);
    IF_RIGHT(CHECK(cudaStreamWaitEvent(b, event, 0)));
    CHECK(cudaEventDestroy(event));
    IF_WRONG(CHECK(cudaStreamWaitEvent(b, event_new(), 0)));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* Stream a is synchronized and then destroyed. Stream b writes after its work, and uses its memory
 * again.
 *
 * WRONG: the host does not wait, and cudaStreamDestroy does not either: no edge from a's write to
 * b's.
 * Kind: unordered writes */
LITMUS(stream_destroyed, a, b)
{
    int *data = pool_memory(MiB, a);
    CHECK(cudaStreamSynchronize(a));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    CHECK(cudaStreamDestroy(a));
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaFreeAsync(pool_memory(MiB, b), b));
}

/* Streams come and go. What a destroyed stream has freed is used by the next, which takes its
 * slot. */
LITMUS(stream_destroyed_after_free)
{
    for (int i = 0; i < 8; i++) {
        cudaStream_t stream = stream_new(i % 2 ? cudaStreamNonBlocking : cudaStreamDefault);
        int *data = pool_memory(MiB, stream);
        CHECK(launch_fill(data, i, count, stream));
        CHECK(cudaFreeAsync(data, stream));
        if (i % 3)
            CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaStreamDestroy(stream));
    }
}

/* A stream is synchronized before it is destroyed, and another is created in its slot.
 *
 * WRONG: the host does not wait, and a new stream is not ordered after an old one: no edge between
 * the two writes.
 * Kind: unordered writes */
LITMUS(stream_recreated, a)
{
    size_t count = 64 * MiB / sizeof(int);
    int *data = device_memory(64 * MiB);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamCreate(&a));
    CHECK(launch_add(data, 1, count, a)); /* access */
}

/* Of 300 streams, stream d waits for the last one, and then for b, which has waited for c. Stream a
 * is the first, and d waits for it too.
 *
 * WRONG: d does not wait for a.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(many_streams, a, b, c)
{
    size_t count = 1024;
    cudaStream_t last = NULL;
    for (int i = 0; i < 300; i++)
        last = stream_new(cudaStreamNonBlocking);
    cudaStream_t d = stream_new(cudaStreamNonBlocking);
    int *data = device_memory(count * sizeof(int));

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    order(c, b);
    order(last, d);
    order(b, d);
    IF_RIGHT(order(a, d));
    CHECK(launch_add(data, 1, count, d)); /* access */
}

/* The legacy stream writes, then a blocking stream: each waits for the other.
 *
 * WRONG: the other stream is a non-blocking one, which does not wait for the legacy stream: no edge
 * between the two writes.
 * Kind: unordered writes */
LITMUS(legacy_stream)
{
    cudaStream_t a = stream_new(IF_WRONG_ELSE(cudaStreamNonBlocking, cudaStreamDefault));
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
    cudaStream_t a = stream_new(IF_WRONG_ELSE(cudaStreamNonBlocking, cudaStreamDefault));
    cudaStream_t b = stream_new(cudaStreamDefault);
    int *data = device_memory(MiB);

    CHECK(launch_fill(data, 1, count, a));               /* previous access */
    CHECK(launch_add(data, 1, count, cudaStreamLegacy)); /* access */
    CHECK(launch_add(data, 1, count, b));
}

/* The legacy stream waits for an event of a non-blocking stream. A blocking stream, which waits for
 * the legacy stream, waits for that event, too. */
LITMUS(legacy_passes_on)
{
    cudaStream_t a = stream_new(cudaStreamNonBlocking), b = stream_new(cudaStreamDefault);
    int *data = device_not_kept(MiB);
    CHECK(launch_fill(data, 1, count / 2, cudaStreamLegacy));
    CHECK(launch_fill(data, 1, count / 2, b));
    CHECK(launch_fill(data + count / 2, 1, count / 2, a));
    cudaEvent_t written = event_after(a);

    usleep(30000);
    CHECK(cudaStreamWaitEvent(cudaStreamLegacy, written, 0));
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaFreeAsync(data, b));
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
    IF_WRONG(int opens = cudaStreamQuery(cudaStreamLegacy) == cudaErrorNotReady);
    IF_RIGHT(int opens = cudaMemsetAsync(other, 0, MiB, cudaStreamLegacy) == cudaSuccess);
    if (opens)
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
}

/* A graph in a non-blocking stream forks into two branches. The legacy stream has no edge to
 * either: to wait for it, or to query it, must not wait for a branch of the graph.
 * Prints: cudaSuccess cudaErrorNotReady */
NONBLOCKING_LITMUS(legacy_beside_graph_branch, s, t)
{
    size_t count = 64 * MiB / sizeof(int);
    volatile int *gate = gate_new();
    int *data = device_memory(64 * MiB);
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(launch_fill(data, 1, count, s));
    cudaEvent_t fork = event_after(s);
    CHECK(launch_add(data, 1, count / 2, s));
    CHECK(cudaStreamWaitEvent(t, fork, 0));
    CHECK(launch_hold(gate, t));
    order(t, s);
    CHECK(cudaGraphLaunch(end_capture(s), s));
    printf("%s ", cudaGetErrorName(cudaStreamQuery(cudaStreamLegacy)));
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    printf("%s\n", cudaGetErrorName(cudaStreamQuery(s)));
    gate_open(gate);
}

/* A host function in a blocking stream comes after the legacy stream's work, even when that is over
 * at the call: through the function's flag the host acquires that work. */
LITMUS(host_function_after_legacy, stream)
{
    size_t count = MiB / sizeof(int), unused;
    int *data = pool_memory(MiB, cudaStreamLegacy);
    CHECK(launch_fill(data, 1, count, cudaStreamLegacy));
    /* Calls that take time, so that the fill is over. */
    for (int i = 0; i < 100; i++)
        CHECK(cudaMemGetInfo(&unused, &unused));
    CHECK(cudaLaunchHostFunc(stream, set_flag, NULL));
    sleep_until_set();
    CHECK(cudaFree(data));
}
