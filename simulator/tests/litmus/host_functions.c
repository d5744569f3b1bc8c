/* Host functions: what comes before and after them, and what they tell the host. */
#include "litmus.h"

/* The host waits for a host function that is queued after a's write.
 *
 * WRONG: the function is queued before the write: no edge from a's write to b's.
 * Kind: unordered writes */
static sem_t reached;

static void post(void *unused) { sem_post(&reached); }

LITMUS(host_function, a, b)
{
    sem_init(&reached, 0, 0);
    int *data = device_memory(MiB);
    volatile int *gate = gate_new();

    CHECK(launch_hold(gate, a));
    IF_WRONG(CHECK(cudaLaunchHostFunc(a, post, NULL)));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaLaunchHostFunc(a, post, NULL)));
    gate_open(gate);
    sem_wait(&reached);
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* Stream b waits for an event that is recorded after a's host function and a's write.
 *
 * WRONG: the event is recorded before the host function: no edge from a's write to b's.
 * Kind: unordered writes */
LITMUS(behind_host_function, a, b)
{
    cudaEvent_t event = event_new();
    int *data = kept_pool_memory(MiB, a);
    IF_WRONG(CHECK(cudaEventRecord(event, a)));
    CHECK(cudaLaunchHostFunc(a, nothing, NULL));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaEventRecord(event, a)));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* Stream a fills, has a host function, and adds to what it has filled. Stream b waits for all of
 * that before it writes.
 *
 * WRONG: b does not wait. Whatever the host function waits for, b's write is unordered with the
 * fill in front of it, which the add behind it covers.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(function_between_writes, a, b)
{
    int *data = device_memory(MiB);
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaLaunchHostFunc(a, nothing, NULL));
    CHECK(launch_add(data, 1, count, a));
    IF_RIGHT(order(a, b));
    CHECK(launch_fill(data, 3, count, b)); /* access */
    CHECK(cudaStreamSynchronize(b));
}

/* A host function after a's write sets a flag. The host makes a call that takes long, and then it
 * waits for the flag.
 *
 * WRONG: it does not wait. The function begins while the host makes the next call, which cannot
 * come from what the function did: no edge from a's write to b's.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(function_begins_in_call, a, b, c)
{
    int *data = device_memory(MiB);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaLaunchHostFunc(a, set_flag, NULL));
    int *large = pool_memory(1024 * MiB, c);
    IF_RIGHT(sleep_until_set());
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaFreeAsync(large, c));
}

/* A host function after a's write sets a flag, and the host waits for the flag.
 *
 * WRONG: the host does not look at the flag. By the time of its next calls the function may have
 * run, but the host does not know that: no edge from a's write to b's.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(function_merely_runs, a, b)
{
    int *data = device_memory(MiB);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaLaunchHostFunc(a, set_flag, NULL));
    IF_RIGHT(sleep_until_set());
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
}

/* A host function after a's write does nothing that the host looks at. The host waits for stream a
 * before it uses the bytes in stream b.
 *
 * WRONG: it waits for stream c instead. That the function may have run by then is no wait for a: no
 * edge from a's write to b's.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(function_beside_a_wait, a, b, c)
{
    int *data = device_memory(MiB), *other = device_memory(MiB);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaLaunchHostFunc(a, nothing, NULL));
    CHECK(launch_fill(other, 1, count, c));
    CHECK(cudaStreamSynchronize(IF_WRONG_ELSE(c, a)));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* A host function after a's write sets a flag. The host makes calls that take longer than the write
 * does, and then it asks stream c until the flag is set.
 *
 * WRONG: it asks once, and does not look at the flag: no edge from a's write to b's.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(function_runs_between_calls, a, b, c)
{
    int *data = device_memory(MiB), *other = device_memory(MiB);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaLaunchHostFunc(a, set_flag, NULL));
    for (int i = 0; i < 10; i++) {
        CHECK(launch_fill(other, i, count, c));
        CHECK(cudaGetLastError());
    }
    IF_WRONG((void)cudaStreamQuery(c));
    IF_RIGHT(query_until_set(c));
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* Stream b's add is behind a host function that waits for nothing, and behind a's fill by an event.
 *
 * WRONG: there is no event. That the host waits for both streams at once orders nothing between
 * them.
 * Kind: unordered writes */
LITMUS(device_synchronize_function, b, a)
{
    int *data = device_memory(MiB);
    for (int i = 0; i < 30; i++)
        CHECK(cudaLaunchHostFunc(b, nothing, NULL));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a)); /* previous access */
    IF_RIGHT(order(a, b));
    CHECK(launch_add(data, 1, MiB / sizeof(int), b)); /* access */
}

/* Each stream ends with host functions, and stream b's add is behind a's fill by an event.
 *
 * WRONG: there is no event. Host functions run in any order, so that one of a's comes first orders
 * nothing behind one of b's.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(functions_of_both, a, b)
{
    int *data = device_memory(MiB);
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a)); /* previous access */
    CHECK(cudaLaunchHostFunc(a, nothing, NULL));
    IF_RIGHT(order(a, b));
    CHECK(cudaLaunchHostFunc(b, nothing, NULL));
    CHECK(launch_add(data, 1, MiB / sizeof(int), b)); /* access */
    CHECK(cudaDeviceSynchronize());
}

/* A host function reads what a copy before it, in its own stream, has written.
 *
 * WRONG: the host function is in another stream: no edge from the copy to its read.
 * Kind: host access not ordered after a write */
static int *result, sum;

static void read_it(void *unused)
{
    for (size_t i = 0; i < MiB / sizeof(int); i++)
        sum += result[i];
}

LITMUS(host_function_reads, a, b)
{
    result = pinned_memory(MiB);
    int *data = kept_pool_memory(MiB, a);
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a)); /* previous access */
    CHECK(cudaLaunchHostFunc(IF_WRONG_ELSE(b, a), read_it, NULL));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaStreamSynchronize(a));
    seen = sum;
}

/* Stream b's add is behind a host function that waits until the host has waited for a's fill.
 *
 * WRONG: the host waits for b instead: no edge from the fill to the add.
 * Kind: unordered writes
 * Says: lets the function go on */
static sem_t filled;

static void wait_for_host(void *unused) { sem_wait(&filled); }

LITMUS(host_function_waits, a, b)
{
    sem_init(&filled, 0, 0);
    int *data = device_memory(4096);
    CHECK(launch_fill(data, 1, 1024, a)); /* previous access */
    CHECK(cudaLaunchHostFunc(b, wait_for_host, NULL));
    CHECK(launch_add(data, 1, 1024, b)); /* access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    sem_post(&filled);
    CHECK(cudaStreamSynchronize(b));
}

/* A host function spins until the host sets a flag, and the host makes calls before it does.
 * Schedules: measured late */
static atomic_int began, released;

static void spin(void *unused)
{
    atomic_store(&began, 1);
    while (!atomic_load(&released))
        continue;
}

LITMUS(host_function_spins, a, b)
{
    int *data = pool_memory(MiB, a);
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaLaunchHostFunc(a, spin, NULL));
    CHECK(cudaFreeAsync(data, a));
    while (!atomic_load(&began))
        (void)cudaStreamQuery(b);
    int *more = pool_memory(MiB, b);
    CHECK(cudaFreeAsync(more, b));
    atomic_store(&released, 1);
}

/* Streams a and b are behind one gate. Stream b waits for a's memset before it fills, and after
 * that for a host function of a.
 *
 * WRONG: the first wait is missing. When the gate is open nothing holds the fill up any more: the
 * host function that b came to wait for later does not, so the host cannot order the two by waiting
 * for the memset before it lets the function go on.
 * Kind: unordered writes */
static void wait_for(void *posted) { sem_wait(posted); }

LITMUS(host_function_after_gate, a, b)
{
    static sem_t posted;
    volatile int *gate = gate_new();
    sem_init(&posted, 0, 0);
    int *data = device_memory(4096);
    CHECK(launch_hold(gate, a));
    order(a, b);
    CHECK(cudaMemsetAsync(data, 0, 4096, a)); /* previous access */
    cudaEvent_t cleared = event_after(a);
    IF_RIGHT(CHECK(cudaStreamWaitEvent(b, cleared, 0)));
    CHECK(launch_fill(data, 1, 1024, b)); /* access */
    CHECK(cudaLaunchHostFunc(a, wait_for, &posted));
    order(a, b);
    gate_open(gate);
    CHECK(cudaEventSynchronize(cleared));
    sem_post(&posted);
    CHECK(cudaStreamSynchronize(b));
}

/* A kernel in stream a holds. Behind it a memset, a host function, a kernel that holds at the same
 * gate, and a fill of the same bytes. Stream b waits for all of that before it writes.
 *
 * WRONG: b does not wait. The host waits for b before the host function returns, if that is late,
 * and so orders the fill. The memset, which the fill covers, is held up by the gate alone.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(holds_around_function, a, b)
{
    volatile int *gate = gate_new();
    int *data = device_memory(MiB);
    CHECK(launch_hold(gate, a));
    CHECK(cudaMemsetAsync(data, 0, MiB, a));
    CHECK(cudaLaunchHostFunc(a, nothing, NULL));
    CHECK(launch_hold(gate, a));
    CHECK(launch_fill(data, 1, count, a));
    IF_RIGHT(order(a, b));
    CHECK(launch_fill(data, 3, count, b)); /* access */
    gate_open(gate);
    CHECK(cudaStreamSynchronize(b));
}

/* A host function after a's write sets a flag, and the host waits for the flag.
 *
 * WRONG: the host function comes before the write: no edge from a's write to b's.
 * Kind: unordered writes */
LITMUS(host_flag, a, b)
{
    int *data = kept_pool_memory(MiB, a);

    IF_WRONG(CHECK(cudaLaunchHostFunc(a, set_flag, NULL)));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(CHECK(cudaLaunchHostFunc(a, set_flag, NULL)));
    query_until_set(b);
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* A host function after a's write sets a flag, and the host makes no call while it waits for the
 * flag. */
LITMUS(host_flag_without_calls, a, b)
{
    int *data = pool_memory(MiB, a);
    CHECK(launch_fill(data, 1, count, a));
    CHECK(cudaLaunchHostFunc(a, set_flag, NULL));
    while (!atomic_load(&flag))
        ;
    CHECK(launch_add(data, 1, count, b));
    CHECK(cudaFreeAsync(data, b));
}
