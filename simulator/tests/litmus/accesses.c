/* Two accesses to one allocation: which need an edge between them, and which bytes they share. */
#include "litmus.h"

/* Two streams write ranges of one allocation that overlap, and b waits for an event after a's
 * write.
 *
 * WRONG: b does not wait: no edge from a's write to b's.
 * Kind: unordered writes */
LITMUS(write_write, a, b)
{
    int *data = device_memory(MiB);

    CHECK(launch_fill(data, 1, count / 2 + 1, a)); /* previous access */
    IF_RIGHT(order(a, b));
    CHECK(launch_fill(data + count / 2, 2, count / 2, b)); /* access */
}

/* A copy in stream b reads an allocation after an event after a's write.
 *
 * WRONG: b does not wait: no edge from a's write to b's read.
 * Kind: read not ordered after a write */
LITMUS(write_read, a, b)
{
    int *result = pinned_memory(MiB), *data = device_memory(MiB);

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(order(a, b));
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, b)); /* access */
}

/* Stream b waits for the copy in stream a that reads, before it writes.
 *
 * WRONG: b does not wait: no edge from a's read to b's write.
 * Kind: write not ordered after a read */
LITMUS(read_write, a, b)
{
    int *result = pinned_memory(MiB), *data = device_memory(MiB);

    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a)); /* previous access */
    IF_RIGHT(order(a, b));
    CHECK(launch_fill(data, 1, count, b)); /* access */
}

/* Two streams read one allocation at the same time, each into its own memory. No edge is needed. */
LITMUS(two_readers, a, b)
{
    int *one = pinned_memory(MiB), *other = pinned_memory(MiB), *data = device_memory(MiB);
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    CHECK(cudaStreamSynchronize(a));

    CHECK(cudaMemcpyAsync(one, data, MiB, cudaMemcpyDeviceToHost, a));
    CHECK(cudaMemcpyAsync(other, data, MiB, cudaMemcpyDeviceToHost, b));
}

/* Stream a writes an allocation and copies it to the host. Stream b copies it, too, after an event
 * after the write.
 *
 * WRONG: b does not wait: no edge from a's write to b's read.
 * Kind: read not ordered after a write */
LITMUS(read_behind_a_read, a, b)
{
    int *one = pinned_memory(MiB), *other = pinned_memory(MiB), *data = device_memory(MiB);

    CHECK(launch_fill(data, 1, MiB / sizeof(int), a)); /* previous access */
    cudaEvent_t written = event_after(a);
    CHECK(cudaMemcpyAsync(one, data, MiB, cudaMemcpyDeviceToHost, a));
    IF_RIGHT(CHECK(cudaStreamWaitEvent(b, written, 0)));
    CHECK(cudaMemcpyAsync(other, data, MiB, cudaMemcpyDeviceToHost, b)); /* access */
}

/* Two streams write one allocation; their ranges touch.
 *
 * WRONG: the ranges have one byte in common: no edge between the two writes.
 * Kind: unordered writes */
LITMUS(one_byte, a, b)
{
    char *data = device_memory(1000);

    CHECK(cudaMemsetAsync(data, 1, 500, a));                 /* previous access */
    IF_WRONG(CHECK(cudaMemsetAsync(data + 499, 2, 501, b))); /* access */
    IF_RIGHT(CHECK(cudaMemsetAsync(data + 500, 2, 500, b)));
}

/* Two streams write one allocation at the same time, each its own half. No edge is needed. */
LITMUS(disjoint_ranges, a, b)
{
    int *data = device_memory(MiB);

    CHECK(launch_fill(data, 1, count / 2, a));
    CHECK(launch_fill(data + count / 2, 2, count / 2, b));
    CHECK(launch_add(data, 1, count / 2, a));
    CHECK(launch_add(data + count / 2, 1, count / 2, b));
}

/* Two copies read one allocation in stream a. The host waits for both before stream b writes.
 *
 * WRONG: the host waits between the two copies: no edge from the second copy's read to b's write.
 * Kind: write not ordered after a read */
LITMUS(two_words, a, b)
{
    int *host = pinned_memory(2 * MiB), *data = device_memory(MiB);
    CHECK(cudaMemcpyAsync(host, data, MiB, cudaMemcpyDeviceToHost, a));
    IF_WRONG(CHECK(cudaStreamSynchronize(a)));
    /* previous access */
    CHECK(cudaMemcpyAsync((char *)host + MiB, data, MiB, cudaMemcpyDeviceToHost, a));
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    CHECK(cudaMemsetAsync(data, 0, 4, b)); /* access */
}

/* Work on zero bytes, and allocations of zero bytes, are no access. */
LITMUS(zero_bytes, a, b)
{
    int *data = pool_memory(MiB, a);
    int *none = pool_memory(0, a);
    CHECK(cudaMemsetAsync(data, 0, 0, b));
    CHECK(cudaMemcpyAsync(data, data + 4, 0, cudaMemcpyDeviceToDevice, b));
    CHECK(cudaFreeAsync(none, b));
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaFree(NULL));
}

/* Stream a writes 64 pieces one by one. The host waits for a before stream b writes the first of
 * them.
 *
 * WRONG: the host waits for b only: no edge from a's write of the first piece to b's.
 * Kind: unordered writes */
LITMUS(many_pieces, a, b)
{
    size_t count = 1024;
    int *data = device_memory(64 * count * sizeof(int));

    for (size_t i = 0; i < 64; i++)
        CHECK(launch_fill(data + i * count, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    CHECK(cudaStreamSynchronize(b));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* Stream a writes an allocation, then its first half again. Stream b waits, and writes the second
 * half.
 *
 * WRONG: b does not wait: no edge from a's first write to b's.
 * Kind: unordered writes */
LITMUS(partly_written_again, a, b)
{
    int *data = device_memory(MiB);

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(launch_add(data, 1, count / 2, a));
    IF_RIGHT(order(a, b));
    CHECK(launch_add(data + count / 2, 1, count / 2, b)); /* access */
}

/* A copy moves the first half of an allocation to the second; the two ranges do not overlap.
 *
 * WRONG: the copy moves the bytes by one int. The ranges overlap, which no copy of CUDA allows.
 * Kind: overlapping copy */
LITMUS(overlapping_copy, a)
{
    int *data = kept_pool_memory(MiB, a);
    CHECK(launch_fill(data, 1, count, a));
    /* access */
    IF_WRONG(CHECK(cudaMemcpyAsync(data + 1, data, MiB - 4, cudaMemcpyDeviceToDevice, a)));
    IF_RIGHT(CHECK(cudaMemcpyAsync(data + count / 2, data, MiB / 2, cudaMemcpyDeviceToDevice, a)));
}

/* A copy behind a closed gate moves the first half of an allocation to the second; the two ranges
 * do not overlap.
 *
 * WRONG: the copy moves the bytes by four. The ranges overlap. No wait of the host makes that
 * correct, so the report does not wait for the gate, which never opens.
 * Kind: overlapping copy */
LITMUS(overlapping_copy_behind_gate, a)
{
    static int gate;
    CHECK(cudaHostRegister(&gate, sizeof gate, 0));
    char *data = pool_memory(MiB, a);
    CHECK(launch_hold(&gate, a));
    /* access */
    IF_WRONG(CHECK(cudaMemcpyAsync(data + 4, data, MiB - 4, cudaMemcpyDeviceToDevice, a)));
    IF_RIGHT(CHECK(cudaMemcpyAsync(data + MiB / 2, data, MiB / 2, cudaMemcpyDeviceToDevice, a)));
    CHECK(cudaFreeAsync(data, a));
    exit(0);
}

/* A copy in rows is ordered after what wrote its source by an event.
 *
 * WRONG: no edge from a's memset to b's copy.
 * Kind: read not ordered after a write */
NONBLOCKING_LITMUS(rows_copied, a, b)
{
    const size_t width = 100, height = 10, pitch = 128;
    char *pinned = pinned_memory(width * height), *data = device_memory(pitch * height);

    CHECK(cudaMemset2DAsync(data, pitch, 1, width, height, a)); /* previous access */
    IF_RIGHT(order(a, b));
    /* access */
    CHECK(cudaMemcpy2DAsync(pinned, width, data, pitch, width, height, cudaMemcpyDeviceToHost, b));
}

/* Two streams write the same rows of one allocation at the same time, one the left half of each,
 * one the right half. What lies between the halves' rows is not touched, so no edge is needed.
 *
 * WRONG: the left half is one byte wider.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(rows_interleaved, a, b)
{
    const size_t width = 1024, height = 100;
    char *data;
    size_t pitch;
    CHECK(cudaMallocPitch((void **)&data, &pitch, width, height));

    /* previous access */
    CHECK(cudaMemset2DAsync(data, pitch, 1, IF_WRONG_ELSE(width / 2 + 1, width / 2), height, a));
    CHECK(cudaMemset2DAsync(data + width / 2, pitch, 2, width / 2, height, b)); /* access */
    keep(data, cudaFree);
}

/* A copy in rows moves the left half of each row to the right half. The two meet nowhere, although
 * the bytes from the first row to the last do.
 *
 * WRONG: it moves each row by half of its half.
 * Kind: overlapping copy */
LITMUS(rows_overlapping, a)
{
    const size_t half = 512, height = 100, pitch = 1024;
    char *data = kept_pool_memory(pitch * height, a);
    CHECK(cudaMemsetAsync(data, 1, pitch * height, a));
    size_t distance = IF_WRONG_ELSE(half / 2, half);
    /* access */
    CHECK(cudaMemcpy2DAsync(data + distance, pitch, data, pitch, half, height,
                            cudaMemcpyDeviceToDevice, a));
}

/* Two branches of a captured graph write the same rows, each its half of them, and join.
 *
 * WRONG: one branch writes whole rows.
 * Kind: unordered writes */
LITMUS(rows_in_graph, a, b)
{
    const size_t half = 512, height = 100, pitch = 1024;
    char *data = device_memory(pitch * height);

    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    order(a, b);
    /* previous access */
    CHECK(cudaMemset2DAsync(data, pitch, 1, IF_WRONG_ELSE(2 * half, half), height, a));
    CHECK(cudaMemset2DAsync(data + half, pitch, 2, half, height, b)); /* access */
    order(b, a);
    CHECK(cudaGraphLaunch(end_capture(a), a));
}
