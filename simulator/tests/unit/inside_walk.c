/* A random walk over pools and cudaMalloc that checks every invariant after each step.
 *
 *   inside_walk STEPS [SEED]
 *
 * It is linked with the simulated device's own parts, so that it can call heap_is_valid. It also
 * checks that `used` is the sum of what live blocks asked for, that the devices' free memory is
 * what the heaps have not mapped, and that every block of the program is found whole. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/laws.h"
#include "mem/memory.h"
#include "mem/pool.h"
#include "kernels.h"
#include "walk.h"

#define POOLS   4
#define STREAMS 5
#define BLOCKS  400

/* Pool -1: cudaMalloc; -2: a destroyed pool. */
static struct block {
    char *at;
    size_t bytes;
    int pool;
} blocks[BLOCKS];
static int count;
static cudaMemPool_t pools[POOLS];
static struct pool *inside[POOLS];
static size_t kept[POOLS]; /* bytes of `used` that cudaFree left behind */
static cudaStream_t streams[STREAMS];
static cudaEvent_t events[STREAMS];
static volatile int *gates;
static unsigned long failures;

static void want(cudaError_t e, const char *what)
{
    if (e && e != cudaErrorMemoryAllocation)
        refused(what, e);
    failures += e != cudaSuccess;
}

static size_t size(void)
{
    static const size_t some[] = {1,        511,      512,      513,         4096,     65536,
                                  100000,   1 * MiB,  2 * MiB,  2 * MiB + 1, 8 * MiB,  16 * MiB,
                                  31 * MiB, 32 * MiB, 33 * MiB, 64 * MiB,    100 * MiB};
    return pick(4) ? some[pick(sizeof some / sizeof *some)] : 1 + pick(1u << (10 + pick(16)));
}

static void new_pool(int i)
{
    struct cudaMemPoolProps props = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = (int)pick(2)}};
    if (pick(2))
        props.maxSize = (1 + pick(8)) * 32 * MiB;
    WANT(cudaMemPoolCreate(&pools[i], &props));
    lock_acquire();
    inside[i] = pool_from_handle(pools[i]);
    lock_release();
    kept[i] = 0;
}

static void new_stream(int i)
{
    cudaSetDevice((int)pick(2));
    WANT(cudaStreamCreateWithFlags(&streams[i],
                                   pick(3) ? cudaStreamNonBlocking : cudaStreamDefault));
    WANT(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
}

static void open_gates(void)
{
    for (int i = 0; i < STREAMS; i++)
        gates[i] = 1;
}

static void allocate(void)
{
    if (count == BLOCKS)
        return;
    struct block b = {NULL, size(), (int)pick(POOLS + 1) - 1};
    cudaStream_t s = pick(10) ? streams[pick(STREAMS)] : cudaStreamLegacy;
    void *p = NULL;
    if (b.pool < 0)
        WANT(cudaMalloc(&p, b.bytes));
    else
        WANT(cudaMallocFromPoolAsync(&p, b.bytes, pools[b.pool], s));
    b.at = p;
    if (p)
        blocks[count++] = b;
    cudaGetLastError();
}

static void free_one(void)
{
    if (!count)
        return;
    int i = (int)pick((uint32_t)count);
    struct block b = blocks[i];
    blocks[i] = blocks[--count];
    if (b.pool < 0 || pick(40) == 0) {
        open_gates(); /* cudaFree waits for the device */
        if (b.pool >= 0)
            kept[b.pool] += b.bytes;
        WANT(cudaFree(b.at));
    } else
        WANT(cudaFreeAsync(b.at, streams[pick(STREAMS)]));
}

static void one_step(void)
{
    int i = (int)pick(STREAMS), p = (int)pick(POOLS);
    uint64_t threshold = pick(3) ? (uint64_t)pick(6) * 24 * MiB : UINT64_MAX;
    int flag = (int)pick(2);
    switch (pick(30)) {
    default: allocate(); break;
    case 9:
    case 10:
    case 11:
    case 12:
    case 13: free_one(); break;
    case 14:
    case 15:
    case 16:
    case 17:
        if (step / 700 % 2)
            free_one(); /* the blocks become many, then few again */
        else
            allocate();
        break;
    case 18: WANT(cudaEventRecord(events[i], streams[i])); break;
    case 19: WANT(cudaStreamWaitEvent(streams[i], events[pick(STREAMS)], 0)); break;
    case 20:
        if (!gates[i])
            break;
        gates[i] = 0;
        WANT(launch_hold(&gates[i], streams[i]));
        break;
    case 21: gates[i] = 1; break;
    case 22:
        for (int k = 0; k < 20; k++)
            cudaStreamQuery(streams[i]);
        break;
    case 23:
        open_gates();
        WANT(cudaStreamSynchronize(streams[i]));
        break;
    case 24: WANT(cudaMemPoolTrimTo(pools[p], (size_t)pick(10) * 16 * MiB)); break;
    case 25:
        WANT(cudaMemPoolSetAttribute(pools[p], cudaMemPoolAttrReleaseThreshold, &threshold));
        break;
    case 26:
        WANT(cudaMemPoolSetAttribute(
            pools[p], (enum cudaMemPoolAttr)(cudaMemPoolReuseFollowEventDependencies + pick(3)),
            &flag));
        break;
    case 27:
        if (pick(4))
            break;
        open_gates();
        cudaSetDevice((int)pick(2));
        WANT(cudaDeviceSynchronize());
        break;
    case 28: /* the pool goes, its blocks live on */
        if (pick(20))
            break;
        for (int k = 0; k < count; k++)
            if (blocks[k].pool == p)
                blocks[k].pool = -2;
        WANT(cudaMemPoolDestroy(pools[p]));
        new_pool(p);
        break;
    case 29:
        if (pick(10))
            break;
        open_gates();
        WANT(cudaStreamDestroy(streams[i]));
        WANT(cudaEventDestroy(events[i]));
        new_stream(i);
        break;
    }
}

static void look(void)
{
    const char *broken = laws_broken();
    if (broken)
        wrong(broken);
    for (struct pool *p = pool_first(); p; p = p->next) {
        size_t asked = 0;
        for (struct range *c = p->heap.first; c; c = c->next)
            asked += c->live ? c->requested : 0;
        for (int i = 0; i < POOLS; i++)
            if (inside[i] == p)
                asked += kept[i];
        if (!p->destroyed && asked != p->used)
            wrong("used is not the sum of what live blocks asked for");
    }
    for (int i = 0; i < count; i++) {
        struct address_info first = memory_find(blocks[i].at),
                            last = memory_find(blocks[i].at + blocks[i].bytes - 1);
        if (first.kind != ADDRESS_ALLOCATED || first.range != last.range
            || first.bytes_left != blocks[i].bytes)
            wrong("a live block is not found, or not whole");
    }
}

int main(int argc, char **argv)
{
    unsigned long steps = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    if (!steps) {
        fprintf(stderr, "inside_walk: expected a number of steps\n");
        return 2;
    }
    state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15u + 1;
    setenv("SIM_MEMORY", "2G", 0); /* small, so that a device runs full now and then */
    setenv("SIM_CHECK", "off", 0); /* the walk orders nothing */
    if (cudaHostAlloc((void **)&gates, STREAMS * sizeof *gates, cudaHostAllocMapped))
        return 1;
    open_gates();
    for (int i = 0; i < POOLS; i++)
        new_pool(i);
    for (int i = 0; i < STREAMS; i++)
        new_stream(i);
    for (step = 1; step <= steps; step++) {
        one_step();
        check(look);
    }
    open_gates();
    cudaDeviceSynchronize();
    printf("%lu steps, %d blocks live at the end, %lu allocations found no memory\n", steps, count,
           failures);
    return 0;
}
