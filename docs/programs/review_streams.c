/* The review of the book's second part (docs/rules/several_streams.rst): one stream frees after a
 * gate, another one allocates as much, and the cases differ by what several lessons are about. */
#include "kernels.h"
#include "workbook.h"

struct settings {
    const char *name;
    int event;         /* 1: recorded before the free, 2: after it; 0: none */
    int through_third; /* a third stream waits for the event and records another one */
    int finished;      /* the gate is open, and the host has queried until cudaSuccess */
    int opportunistic; /* the policy; the two others are on in every case */
    size_t limit;      /* MiB; 0: none */
};

static const struct settings cases[] = {
    {"event before the free", 1, 0, 0, 1, 0},
    {"event before the free, at the limit", 1, 0, 0, 1, 64},
    {"event after the free, by a third stream", 2, 1, 0, 0, 0},
    {"finished and queried, policy off", 0, 0, 1, 0, 0},
    {"finished and queried, policy off, limit", 0, 0, 1, 0, 64},
};

static cudaMemPool_t pool_of(const struct settings *one)
{
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = one->limit * MiB;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(pool, cudaMemPoolReuseAllowOpportunistic, one->opportunistic);
    return pool;
}

static void try_case(const struct settings *one, cudaStream_t *streams)
{
    int *first, *second;
    cudaEvent_t event, other;
    cudaMemPool_t pool = pool_of(one);
    volatile int *gate = gate_create();
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));

    CHECK(cudaMallocFromPoolAsync((void **)&first, 64 * MiB, pool, streams[0]));
    CHECK(launch_hold(gate, streams[0]));
    if (one->event == 1)
        CHECK(cudaEventRecord(event, streams[0]));
    CHECK(cudaFreeAsync(first, streams[0]));
    if (one->event == 2)
        CHECK(cudaEventRecord(event, streams[0]));
    if (one->through_third) {
        CHECK(cudaStreamWaitEvent(streams[2], event, 0));
        CHECK(cudaEventRecord(other, streams[2]));
    }
    if (one->event)
        CHECK(cudaStreamWaitEvent(streams[1], one->through_third ? other : event, 0));
    if (one->finished)
        gate_open(gate);
    while (one->finished && cudaStreamQuery(streams[0]) == cudaErrorNotReady)
        continue;
    CHECK(cudaMallocFromPoolAsync((void **)&second, 64 * MiB, pool, streams[1]));
    printf("%-40s %s address  reserved %3zu MiB\n", one->name, second == first ? "same " : "other",
           reserved_mib(pool));

    gate_open(gate);
    CHECK(cudaFreeAsync(second, streams[1]));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaEventDestroy(other));
    CHECK(cudaEventDestroy(event));
    gate_destroy(gate);
}

int main(void)
{
    cudaStream_t streams[3];
    for (int i = 0; i < 3; i++)
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        try_case(&cases[i], streams);
    for (int i = 0; i < 3; i++)
        CHECK(cudaStreamDestroy(streams[i]));
    return 0;
}
