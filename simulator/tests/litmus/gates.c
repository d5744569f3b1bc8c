/* Kernels that wait at a gate until the host opens it: opening it is an edge, too. */
#include "litmus.h"

/* Stream b uses and frees what a allocates, behind a gate that the host opens when it has waited
 * for a.
 *
 * WRONG: the host opens the gate first: no edge from the allocation to the use.
 * Kind: use before allocation
 * Also: free before allocation */
LITMUS(gate_before_use, a, b)
{
    int *data;
    volatile int *gate = gate_new();
    CHECK(cudaMallocAsync((void **)&data, 4096, a)); /* allocation */
    CHECK(launch_hold(gate, b));
    CHECK(launch_add(data, 1, 1024, b)); /* access */
    CHECK(cudaFreeAsync(data, b));
    IF_WRONG(gate_open(gate));
    CHECK(cudaStreamSynchronize(a));
    IF_RIGHT(gate_open(gate));
}

/* Stream b's add is queued behind a gate, before a's fill. The host opens the gate when it has
 * waited for the fill, which therefore comes first.
 *
 * WRONG: the host opens the gate first: no edge between the two.
 * Kind: unordered writes
 * Says: if the host waited for launch_fill (stream 1) before it opens the gate */
LITMUS(gate_before_work, a, b)
{
    volatile int *gate = gate_new();
    int *data = device_memory(4096);
    CHECK(launch_hold(gate, b));
    CHECK(launch_add(data, 1, 1024, b));  /* previous access */
    CHECK(launch_fill(data, 1, 1024, a)); /* access */
    IF_WRONG(gate_open(gate));
    CHECK(cudaStreamSynchronize(a));
    IF_RIGHT(gate_open(gate));
}

/* Stream b frees what a uses, behind a gate that the host opens when it has waited for a.
 *
 * WRONG: the host has waited only for what a did before its last fill.
 * Kind: free before the use ends */
LITMUS(gate_before_free, a, b)
{
    volatile int *gate = gate_new();
    cudaEvent_t event = event_new();
    int *data = pool_memory(4096, a);
    CHECK(cudaEventRecord(event, a));
    CHECK(launch_fill(data, 1, 1024, a)); /* access */
    IF_RIGHT(CHECK(cudaEventRecord(event, a)));
    CHECK(launch_hold(gate, b));
    CHECK(cudaFreeAsync(data, b)); /* free */
    CHECK(cudaEventSynchronize(event));
    gate_open(gate);
}

/* Stream b waits for a's fill, and adds to it behind a closed gate. Stream c waits for the fill,
 * too; the host waits for c before it opens the gate, which orders c's memset and the add.
 *
 * WRONG: c does not wait. The gate orders its memset before the add, and leaves it unordered with
 * the fill, which the gate does not hold up.
 * Kind: unordered writes */
LITMUS(gate_between_writes, a, b, c)
{
    volatile int *gate = gate_new();
    int *data = device_memory(4096);
    CHECK(launch_fill(data, 1, 1024, a)); /* previous access */
    cudaEvent_t filled = event_after(a);
    CHECK(cudaStreamWaitEvent(b, filled, 0));
    CHECK(launch_hold(gate, b));
    CHECK(launch_add(data, 1, 1024, b));
    IF_RIGHT(CHECK(cudaStreamWaitEvent(c, filled, 0)));
    CHECK(cudaMemsetAsync(data, 0, 4096, c)); /* access */
    CHECK(cudaStreamSynchronize(c));
    gate_open(gate);
}

/* Stream b's add is behind a gate, which the host opens when it has waited for a's fill.
 *
 * WRONG: the host opens the gate first: no edge from the fill to the add.
 * Kind: unordered writes
 * Says: if the host waited for launch_fill (stream 1) before it opens the gate */
LITMUS(gate_after_wait, a, b)
{
    volatile int *gate = gate_new();
    int *data = device_memory(4096);
    CHECK(launch_fill(data, 1, 1024, a)); /* previous access */
    CHECK(launch_hold(gate, b));
    CHECK(launch_add(data, 1, 1024, b)); /* access */
    IF_WRONG(gate_open(gate));
    CHECK(cudaStreamSynchronize(a));
    IF_RIGHT(gate_open(gate));
}

/* Stream b adds and frees behind a gate, which is the last thing that the program opens.
 *
 * WRONG: the host has not waited for a's fill by then; no call comes after that.
 * Kind: unordered writes
 * Also: free before the use ends */
LITMUS(gate_at_end, a, b)
{
    static int gate;
    CHECK(cudaHostRegister(&gate, sizeof gate, 0));
    int *data = pool_memory(4096, a);
    CHECK(cudaStreamSynchronize(a));
    CHECK(launch_fill(data, 1, 1024, a)); /* previous access */
    CHECK(launch_hold(&gate, b));
    CHECK(launch_add(data, 1, 1024, b)); /* access */
    CHECK(cudaFreeAsync(data, b));
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    gate_open(&gate);
    exit(0);
}

/* Two streams add to the same bytes again and again, b behind a gate. The host opens it when it has
 * waited for all of a's work.
 *
 * WRONG: the host has not waited for the last round of a.
 * Kind: unordered writes */
LITMUS(gate_loop, a, b)
{
    volatile int *gate = gate_new();
    cudaEvent_t event = event_new();
    int *data = device_memory(4096);
    CHECK(launch_hold(gate, b));
    for (int i = 0; i < 100; i++) {
        IF_WRONG(CHECK(cudaEventRecord(event, a)));
        CHECK(launch_add(data, 1, 1024, a)); /* access */
        IF_RIGHT(CHECK(cudaEventRecord(event, a)));
        CHECK(launch_add(data, 1, 1024, b)); /* access */
    }
    CHECK(cudaEventSynchronize(event));
    gate_open(gate);
}

/* Both streams are behind gates. The host opens a's, waits for a, and opens b's.
 *
 * WRONG: the host opens both, then waits for both.
 * Kind: unordered writes */
LITMUS(gate_of_each, a, b)
{
    volatile int *gate_a = gate_new(), *gate_b = gate_new();
    int *data = device_memory(4096);
    CHECK(launch_hold(gate_b, b));
    CHECK(launch_add(data, 1, 1024, b)); /* previous access */
    CHECK(launch_hold(gate_a, a));
    CHECK(launch_fill(data, 1, 1024, a)); /* access */
    gate_open(gate_a);
    IF_WRONG(gate_open(gate_b));
    CHECK(cudaStreamSynchronize(a));
    gate_open(gate_b);
}

/* Stream a's fill waits behind a gate. Stream b's copy reads the same bytes of a host pool, to
 * which its device has no access, during its call: before the host opens the gate.
 * Devices: 2
 *
 * WRONG: the gate is open.
 * Kind: read not ordered after a write */
LITMUS(gate_of_read_at_call, a)
{
    cudaMemPool_t pool = host_pool();
    volatile int *gate = gate_new();
    int *data = memory_of(pool, MiB, a);
    cudaStream_t b = stream_on(1);
    int *copy = device_memory(MiB);
    CHECK(cudaStreamSynchronize(a));

    CHECK(launch_hold(gate, a));
    IF_WRONG(gate_open(gate));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));             /* previous access */
    CHECK(cudaMemcpyAsync(copy, data, MiB, cudaMemcpyDefault, b)); /* access */
    gate_open(gate);
    CHECK(cudaFreeAsync(data, a));
}

/* Two gates in one piece of pinned memory are opened by one memset in a third stream. A hold need
 * not be ordered with what opens its gate.
 *
 * WRONG: behind its gate, the second stream writes there too: no edge from the memset to it.
 * Kind: unordered writes */
LITMUS(gates_opened_by_memset, a, b, c)
{
    int *gates = pinned_memory(4096);
    gates[0] = gates[1] = 0;
    CHECK(launch_hold(&gates[0], a));
    CHECK(launch_hold(&gates[1], b));
    CHECK(cudaMemsetAsync(gates, 1, 2 * sizeof(int), c)); /* previous access */
    IF_WRONG(CHECK(launch_fill(&gates[1], 1, 1, b)));     /* access */
}

/* A hold reads its gate until it is open. The host waits for the hold before stream b frees the
 * gate, which is a host pool's allocation.
 *
 * WRONG: nobody waits for the hold: no edge from its reads to the free.
 * Kind: free before the use ends */
LITMUS(gate_freed, a, b)
{
    int *gate = memory_of(host_pool(), MiB, a);
    CHECK(cudaStreamSynchronize(a));
    *gate = 0;
    CHECK(launch_hold(gate, a)); /* access */
    IF_RIGHT(*gate = 1);
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    CHECK(cudaFreeAsync(gate, b)); /* free */
    CHECK(cudaStreamSynchronize(b));
    exit(0);
}

/* The host reads the buffer while the gate is closed: the copy behind the gate cannot have begun.
 * Prints: 7
 *
 * WRONG: the host opens the gate before it reads: no edge from the copy to the host's read.
 * Kind: host access not ordered after a write */
LITMUS(host_before_gate, a)
{
    int *result = pinned_memory(MiB), *data = device_memory(MiB);
    CHECK(cudaMemset(data, 0, MiB));
    CHECK(cudaDeviceSynchronize());
    volatile int *gate = gate_new();
    result[0] = 7;

    CHECK(launch_hold(gate, a));
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a)); /* previous access */
    IF_WRONG(gate_open(gate));
    int value = result[0]; /* access */
    IF_RIGHT(gate_open(gate));
    CHECK(cudaStreamSynchronize(a));
    printf("%d\n", value);
}
