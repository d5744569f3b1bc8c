/* Values in memory that streams write and wait for. */
#include "litmus.h"

#include <cuda.h>

/* The driver's functions, without its library. */
static void *driver_function(const char *name)
{
    void *function = NULL;
    CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, NULL));
    return function;
}

static void write_value(cudaStream_t stream, const uint32_t *at, uint32_t value)
{
    CUresult (*function)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
    *(void **)&function = driver_function("cuStreamWriteValue32");
    CHECK((cudaError_t)function(stream, (CUdeviceptr)at, value, 0));
}

static void wait_value(cudaStream_t stream, const uint32_t *at, uint32_t value)
{
    CUresult (*function)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
    *(void **)&function = driver_function("cuStreamWaitValue32");
    CHECK((cudaError_t)function(stream, (CUdeviceptr)at, value, CU_STREAM_WAIT_VALUE_GEQ));
}

static uint32_t *flags_new(void)
{
    uint32_t *flags = device_memory(4096);
    CHECK(cudaMemset(flags, 0, 4096));
    CHECK(cudaDeviceSynchronize());
    return flags;
}

/* Stream b adds to what a fills, after a value that a writes when it has filled.
 *
 * WRONG: a writes the value before it fills.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(value_after_work, a, b)
{
    uint32_t *flag = flags_new();
    int *data = device_memory(MiB);
    IF_WRONG(write_value(a, flag, 1));
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_RIGHT(write_value(a, flag, 1));
    wait_value(b, flag, 1);
    CHECK(launch_add(data, 1, count, b)); /* access */
}

/* The same, but b's wait is queued first.
 *
 * WRONG: a writes the value before it fills.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(value_awaited_first, a, b)
{
    uint32_t *flag = flags_new();
    int *data = device_memory(MiB);
    wait_value(b, flag, 1);
    CHECK(launch_add(data, 1, count, b)); /* previous access */
    IF_WRONG(write_value(a, flag, 1));
    CHECK(launch_fill(data, 1, count, a)); /* access */
    IF_RIGHT(write_value(a, flag, 1));
}

/* Two streams take turns ten times: a fills, b reads, and each waits for the other's value.
 *
 * WRONG: a does not wait until b has read.
 * Kind: write not ordered after a read */
NONBLOCKING_LITMUS(values_in_turn, a, b)
{
    uint32_t *flag = flags_new();
    int *data = device_memory(MiB), *copy = device_memory(MiB);
    for (uint32_t i = 0; i < 10; i++) {
        IF_RIGHT(wait_value(a, &flag[1], i));
        CHECK(launch_fill(data, 1, count, a)); /* access */
        write_value(a, &flag[0], i + 1);
        wait_value(b, &flag[0], i + 1);
        CHECK(cudaMemcpyAsync(copy, data, MiB, cudaMemcpyDefault, b)); /* previous access */
        write_value(b, &flag[1], i + 1);
    }
}

/* In a second round, a and b use the next value.
 *
 * WRONG: they use the value that is there from the first round, so the wait is over at once.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(value_of_last_round, a, b)
{
    uint32_t *flag = flags_new();
    int *data = device_memory(MiB);
    write_value(a, flag, 1);
    wait_value(b, flag, 1);
    CHECK(cudaStreamSynchronize(b));
    wait_value(b, flag, IF_WRONG_ELSE(1, 2));
    CHECK(launch_add(data, 1, count, b));  /* previous access */
    CHECK(launch_fill(data, 1, count, a)); /* access */
    write_value(a, flag, IF_WRONG_ELSE(1, 2));
}

/* What a fills, c adds to: a value orders a before b, and another one b before c.
 *
 * WRONG: c waits for a value that b writes before it waits.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(values_in_chain, a, b, c)
{
    uint32_t *flag = flags_new();
    int *data = device_memory(MiB);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    write_value(a, &flag[0], 1);
    IF_WRONG(write_value(b, &flag[1], 1));
    wait_value(b, &flag[0], 1);
    IF_RIGHT(write_value(b, &flag[1], 1));
    wait_value(c, &flag[1], 1);
    CHECK(launch_add(data, 1, count, c)); /* access */
}

/* An event after b's wait orders c's work, too.
 *
 * WRONG: the event is recorded before the wait.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(value_and_event, a, b, c)
{
    uint32_t *flag = flags_new();
    int *data = device_memory(MiB);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    IF_WRONG(order(b, c));
    wait_value(b, flag, 1);
    IF_RIGHT(order(b, c));
    CHECK(launch_add(data, 1, count, c)); /* access */
    write_value(a, flag, 1);
}

/* Stream b frees what a has allocated and used.
 *
 * WRONG: a writes the value before its last use.
 * Kind: free before the use ends */
NONBLOCKING_LITMUS(value_before_free, a, b)
{
    uint32_t *flag = flags_new();
    int *data = pool_memory(MiB, a);
    IF_WRONG(write_value(a, flag, 1));
    CHECK(launch_fill(data, 1, count, a)); /* access */
    IF_RIGHT(write_value(a, flag, 1));
    wait_value(b, flag, 1);
    CHECK(cudaFreeAsync(data, b)); /* free */
}

/* Stream b waits for what a has filled before the host says so.
 *
 * WRONG: the host has not waited for a.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(value_of_host, a, b)
{
    volatile uint32_t *flag = pinned_memory(4096);
    int *data = device_memory(MiB);
    *flag = 0;
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    wait_value(b, (uint32_t *)flag, 1);
    CHECK(launch_add(data, 1, count, b)); /* access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(a)));
    *flag = 1;
}

/* The host waits for b, and so for what a has done before the value.
 *
 * WRONG: b waits at another address, where the value is from the beginning.
 * Kind: free before the use ends */
NONBLOCKING_LITMUS(value_and_host, a, b)
{
    uint32_t *flag = flags_new();
    int *data = pool_memory(MiB, a);
    CHECK(launch_fill(data, 1, count, a)); /* access */
    write_value(a, flag, 1);
    wait_value(b, &flag[IF_WRONG_ELSE(1, 0)], IF_WRONG_ELSE(0, 1));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaFree(data)); /* free */
}

/* A memset sets the flag, in the order of events.
 *
 * WRONG: nothing but the flag orders the work.
 * Kind: unordered writes */
NONBLOCKING_LITMUS(value_of_memset, a, b)
{
    uint32_t *flag = flags_new();
    int *data = device_memory(MiB);
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
    CHECK(cudaMemsetAsync(flag, 1, 1, a));
    wait_value(b, flag, 1);
    IF_RIGHT(order(a, b));
    CHECK(launch_add(data, 1, count, b)); /* access */
}
