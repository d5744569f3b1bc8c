/* Two GPUs: access to each other's memory, and copies between them. */
#include "litmus.h"

/* A kernel on device 1 writes an allocation of device 0, to which it has access, after an event of
 * device 0's stream.
 * Devices: 2
 *
 * WRONG: the kernel's stream does not wait: no edge from the write on device 0 to it.
 * Kind: unordered writes */
LITMUS(peer_kernel, a)
{
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    give_access(pool, 1);
    cudaStream_t b = stream_on(1);
    CHECK(cudaSetDevice(0));

    int *data = pool_memory(MiB, a);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(order(a, b));
    CHECK(cudaSetDevice(1));
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaFreeAsync(data, a));
}

/* Device 1 has the access that its kernel needs before the kernel is queued.
 * Devices: 2
 *
 * WRONG: the access is given after the kernel was queued, and nothing holds the kernel back until
 * then.
 * Kind: use before access is given */
LITMUS(access_given_late, near)
{
    may_fail = true;
    cudaMemPool_t pool = keep(pool_create(), pool_release);
    struct cudaMemAccessDesc access = access_of(1);
    int *data = memory_of(pool, MiB, near);
    CHECK(cudaStreamSynchronize(near));
    cudaStream_t far = stream_on(1);
    IF_RIGHT((void)cudaMemPoolSetAccess(pool, &access, 1));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), far));    /* access */
    IF_WRONG((void)cudaMemPoolSetAccess(pool, &access, 1)); /* access given */
    (void)cudaStreamSynchronize(far);
    (void)cudaFreeAsync(data, near);
}

/* The host waits for the kernel of device 1 before it takes that device's access to the pool away.
 * Devices: 2
 *
 * WRONG: the host does not wait, and neither does cudaMemPoolSetAccess: no edge from the kernel to
 * it.
 * Kind: access taken before the use ends */
LITMUS(access_taken, near)
{
    may_fail = true;
    cudaMemPool_t pool = keep(pool_create(), pool_release);
    struct cudaMemAccessDesc access = access_of(1);
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    int *data = memory_of(pool, 16 * MiB, near);
    CHECK(cudaStreamSynchronize(near));
    cudaStream_t far = stream_on(1);
    for (int i = 0; i < 100; i++)
        CHECK(launch_add(data, 1, 4 * MiB, far)); /* access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(far)));
    access.flags = cudaMemAccessFlagsProtNone;
    CHECK(cudaMemPoolSetAccess(pool, &access, 1)); /* access taken */
    cudaStreamSynchronize(far);
    cudaFreeAsync(data, near);
}

/* Device 1 frees an allocation after its own last access; the host waits for both before it takes
 * the access away.
 * Devices: 2
 *
 * WRONG: the host does not wait: no edge from the memset, whose memory is freed but which may still
 * run.
 * Kind: access taken before the use ends */
LITMUS(access_taken_freed, near)
{
    may_fail = true;
    cudaMemPool_t pool = keep(pool_create(), pool_release);
    struct cudaMemAccessDesc access = access_of(1);
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    int *data = memory_of(pool, 64 * MiB, near);
    CHECK(cudaStreamSynchronize(near));
    cudaStream_t far = stream_on(1);
    CHECK(cudaMemsetAsync(data, 1, 64 * MiB, far)); /* access */
    CHECK(cudaFreeAsync(data, far));
    cudaEvent_t over = event_after(far);
    IF_RIGHT(CHECK(cudaEventSynchronize(over)));
    access.flags = cudaMemAccessFlagsProtNone;
    CHECK(cudaMemPoolSetAccess(pool, &access, 1)); /* access taken */
}

/* A kernel that needs peer access waits at a gate. The host opens the gate when it has enabled the
 * access.
 * Devices: 2
 *
 * WRONG: the gate is another stream's, so nothing holds the kernel back until the access is
 * enabled.
 * Kind: use before access is given */
LITMUS(peer_access_late)
{
    may_fail = true;
    volatile int *gate = gate_new();
    int *data = device_memory(MiB);
    cudaStream_t far = stream_on(1), holding = stream_new(cudaStreamDefault);
    CHECK(launch_hold(gate, IF_WRONG_ELSE(holding, far)));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), far)); /* access */
    (void)cudaDeviceEnablePeerAccess(0, 0);              /* access given */
    gate_open(gate);
}

/* The kernel on device 1 is over before the host disables that device's access to device 0.
 * Devices: 2
 *
 * WRONG: the host does not wait, and cudaDeviceDisablePeerAccess is not documented to: no edge from
 * the kernel to it.
 * Kind: access taken before the use ends */
LITMUS(peer_access_taken)
{
    may_fail = true;
    int *data = device_memory(MiB);
    cudaStream_t far = stream_on(1);
    CHECK(cudaDeviceEnablePeerAccess(0, 0));
    CHECK(cudaMemset(data, 0, MiB));
    CHECK(cudaDeviceSynchronize());
    CHECK(launch_add(data, 1, MiB / sizeof(int), far)); /* access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(far)));
    CHECK(cudaDeviceDisablePeerAccess(0)); /* access taken */
}

/* A stream of device 1 copies from an allocation of device 0, after an event after the write there.
 * Devices: 2
 *
 * WRONG: the stream does not wait: no edge from the write on device 0 to the copy's read.
 * Kind: read not ordered after a write */
LITMUS(peer_copy, a)
{
    int *from = pool_memory(MiB, a);
    CHECK(launch_fill(from, 1, MiB / sizeof(int), a)); /* previous access */
    cudaEvent_t written = event_after(a);

    cudaStream_t b = stream_on(1);
    int *to = pool_memory(MiB, b);
    IF_RIGHT(CHECK(cudaStreamWaitEvent(b, written, 0)));
    CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, b)); /* access */
    CHECK(cudaFreeAsync(to, b));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaFreeAsync(from, a));
}

/* cudaMemcpyPeer is serialized with all work of the current device and of both that it names, even
 * with that of a stream made with cudaStreamNonBlocking (documented: CUDA Runtime API). No event is
 * needed.
 * Devices: 2 */
NONBLOCKING_LITMUS(peer_copy_all, here)
{
    int *from = device_memory(MiB);
    CHECK(launch_fill(from, 1, MiB / sizeof(int), here));
    CHECK(cudaSetDevice(1));
    cudaStream_t there = stream_new(cudaStreamNonBlocking);
    int *to = device_memory(MiB);
    CHECK(launch_fill(to, 2, MiB / sizeof(int), there));
    CHECK(cudaMemcpyPeer(to, 1, from, 0, MiB));
    CHECK(launch_add(to, 1, MiB / sizeof(int), there));
    CHECK(cudaMemcpyPeer(from, 0, to, 1, MiB));
    CHECK(launch_add(from, 1, MiB / sizeof(int), here));
}

/* While device 0 is current, cudaMemcpyPeer copies between two allocations of device 1. That
 * device's default stream is used for the first time afterwards; its work comes after the copy
 * (documented: serialized with all future work of the devices).
 * Devices: 2
 *
 * WRONG: the copy is cudaMemcpyPeerAsync in a stream: no edge from it to the add.
 * Kind: unordered writes */
LITMUS(peer_copy_default_stream)
{
    CHECK(cudaSetDevice(1));
    int *from = device_memory(MiB), *to = device_memory(MiB);
    CHECK(cudaSetDevice(0));
    cudaStream_t a = stream_new(cudaStreamDefault);
    IF_WRONG(CHECK(cudaMemcpyPeerAsync(to, 1, from, 1, MiB, a))); /* previous access */
    IF_RIGHT(CHECK(cudaMemcpyPeer(to, 1, from, 1, MiB)));
    CHECK(cudaSetDevice(1));
    CHECK(launch_add(to, 1, MiB / sizeof(int), 0)); /* access */
}

/* A stream that is made after cudaMemcpyPeer uses what that copies. Its work comes after the copy
 * (documented: serialized with all future work of the devices).
 * Devices: 2
 *
 * WRONG: the copy is cudaMemcpyPeerAsync in a stream: no edge from it to the add.
 * Kind: unordered writes */
LITMUS(peer_copy_new_stream)
{
    int *from = memory_on(1, MiB), *to = device_memory(MiB);
    cudaStream_t a = stream_new(cudaStreamDefault);
    IF_WRONG(CHECK(cudaMemcpyPeerAsync(to, 0, from, 1, MiB, a))); /* previous access */
    IF_RIGHT(CHECK(cudaMemcpyPeer(to, 0, from, 1, MiB)));
    cudaStream_t b = stream_new(cudaStreamNonBlocking);
    CHECK(launch_add(to, 1, MiB / sizeof(int), b)); /* access */
}

/* A copy between two devices comes before all that either is given later (documented for
 * cudaMemcpyPeer: it is serialized with all pending and future work). So the host, which waits for
 * a stream that has had no work of its own since, has waited for the copy (assumed), also where the
 * copy was over before.
 * Devices: 2
 *
 * WRONG: the host does not wait: cudaFree of a pool's allocation waits for nothing.
 * Kind: free before the use ends */
LITMUS(peer_copy_then_idle_stream)
{
    char *to;
    char *from = device_memory(4096);
    CHECK(cudaMemset(from, 1, 4096));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(1));
    CHECK(cudaMallocAsync((void **)&to, 4096, cudaStreamLegacy)); /* allocation */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpyPeer(to, 1, from, 0, 4096)); /* previous access */
    CHECK(cudaSetDevice(0));
    IF_RIGHT(CHECK(cudaStreamSynchronize(cudaStreamPerThread)));
    CHECK(cudaFree(to)); /* free */
}

/* cudaMemcpyPeer waits also for the pending work of a stream that is destroyed (documented:
 * serialized with all pending work).
 * Devices: 2
 *
 * WRONG: the copy is cudaMemcpyPeerAsync in a stream: no edge from the fill to it.
 * Kind: read not ordered after a write */
LITMUS(peer_copy_destroyed)
{
    int *to = memory_on(1, MiB), *from = device_memory(MiB);
    cudaStream_t a = stream_new(cudaStreamNonBlocking);
    CHECK(launch_fill(from, 1, MiB / sizeof(int), a)); /* previous access */
    CHECK(cudaStreamDestroy(a));
    IF_WRONG(CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, 0))); /* access */
    IF_RIGHT(CHECK(cudaMemcpyPeer(to, 1, from, 0, MiB)));
}

/* A copy between two devices in the legacy stream comes after all that either device was given
 * before, and before all that it is given later (documented: CUDA Programming Guide, peer-to-peer
 * memory copy). No event is needed.
 * Devices: 2
 *
 * WRONG: the other stream is a non-blocking one, for which no work in the legacy stream waits
 * (assumed for this copy, too): no edge from its write to the copy's.
 * Kind: unordered writes */
LITMUS(peer_copy_legacy)
{
    int *from = device_memory(MiB);
    CHECK(launch_fill(from, 1, MiB / sizeof(int), cudaStreamLegacy));
    CHECK(cudaSetDevice(1));
    cudaStream_t other = stream_new(IF_WRONG_ELSE(cudaStreamNonBlocking, cudaStreamDefault));
    int *to = device_memory(MiB);
    CHECK(launch_fill(to, 2, MiB / sizeof(int), other)); /* previous access */
    CHECK(cudaSetDevice(0));
    CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, cudaStreamLegacy)); /* access */
    CHECK(cudaSetDevice(1));
    CHECK(launch_add(to, 1, MiB / sizeof(int), other));
}

/* cudaMemcpyPeer is ordered with all streams of its devices. One that is refused, because it is
 * longer than its memory, orders nothing: stream b does not wait for a, which is held, and the host
 * can wait for b before it opens the gate.
 * Devices: 2
 *
 * WRONG: b adds to what a has filled, as if the refused copy ordered the two.
 * Kind: unordered writes */
LITMUS(peer_copy_refused)
{
    volatile int *gate = gate_new();
    int *far_away = memory_on(1, MiB);
    cudaStream_t a = stream_new(cudaStreamDefault), b = stream_new(cudaStreamDefault);
    int *data = device_memory(MiB), *other = device_memory(MiB);

    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(launch_hold(gate, a));
    if (cudaMemcpyPeer(far_away, 1, other, 0, 2 * MiB) != cudaErrorInvalidValue)
        exit(1);
    CHECK(launch_add(IF_WRONG_ELSE(data, other), 1, count, b)); /* access */
    CHECK(cudaStreamSynchronize(b));
    gate_open(gate);
}

/* A stream of device 1 copies from an allocation of device 0, and the free there waits for the
 * copy.
 * Devices: 2
 *
 * WRONG: the free does not wait: no edge from the copy's read to it.
 * Kind: free before the use ends */
LITMUS(peer_memcpy_back)
{
    cudaStream_t b = stream_on(1);
    int *to = device_memory(MiB);
    cudaEvent_t copied = event_new();
    cudaStream_t a = stream_on(0);
    int *from = pool_memory(MiB, a);
    CHECK(launch_fill(from, 1, MiB / sizeof(int), a));
    order(a, b);
    CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, MiB, b)); /* access */
    IF_RIGHT(CHECK(cudaEventRecord(copied, b)));
    IF_RIGHT(CHECK(cudaStreamWaitEvent(a, copied, 0)));
    CHECK(cudaFreeAsync(from, a)); /* free */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamSynchronize(b));
}

/* A graph copies between two devices and is launched in the legacy stream. Assumed: its copy is no
 * copy in the default stream, which would come after all work of either device: it does not wait
 * for the gate on the other device, and the host can wait for the launch before it opens that. An
 * event orders the copy after what the other device writes.
 * Devices: 2
 *
 * WRONG: nothing orders the copy after that write.
 * Kind: unordered writes */
LITMUS(graph_peer_copy_legacy, capturing)
{
    volatile int *gate = gate_new();
    char *from = device_memory(MiB);
    CHECK(cudaMemset(from, 1, MiB));
    cudaStream_t other = stream_on(1);
    char *to = device_memory(MiB);
    CHECK(cudaMemsetAsync(to, 2, MiB, other)); /* previous access */
    cudaEvent_t written = event_after(other);
    CHECK(launch_hold(gate, other));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemcpyAsync(to, from, MiB, cudaMemcpyDefault, capturing)); /* access */
    cudaGraphExec_t exec = end_capture(capturing);
    IF_RIGHT(CHECK(cudaStreamWaitEvent(cudaStreamLegacy, written, 0)));
    CHECK(cudaGraphLaunch(exec, cudaStreamLegacy));
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    gate_open(gate);
    CHECK(cudaSetDevice(1));
}
