/* Walks at random over memory pools, and prints each step and what the allocator did: walks SEED
 * STEPS [PROFILE]. PROFILE: 0 mixed sizes, 1 small sizes, 2 large sizes, 3 a capped pool, 4 one
 * stream, 5 three pools, of which the last is capped; the others have one pool. It printed walks.txt.gz, with which the suite compares its walks on the
 * simulated device (simulator/tests/unit/replay.py).
 *
 * A stream is either held (a kernel spins on a flag, all later work is pending) or idle: an idle
 * one is queried after every step, so that what has finished is certain, while nothing is
 * synchronized. */
#include "probe.h"

enum { STREAMS = 3, POOLS = 3, MOST_ALLOCATIONS = 400 };
enum profile { MIXED, SMALL, LARGE, CAPPED, ONE_STREAM, SEVERAL };

static enum profile profile;
static cudaMemPool_t pools[POOLS];
static int pool_count = 1;
static cudaStream_t streams[STREAMS];
static cudaEvent_t events[STREAMS];
static int recorded[STREAMS]; /* its event was recorded */
static int held[STREAMS];
static volatile int *flags; /* a held stream goes on when its flag is 1 */

static struct allocation {
    char *address;
    size_t bytes;
    int live;
} allocations[MOST_ALLOCATIONS];
static int allocation_count;
static char *first_addresses[POOLS];

static char step[96]; /* the text of the step */

/* ---- chance ---- */

static uint64_t random_state;

static uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 16);
}

static int pick(int n) { return (int)(next_random() % (unsigned)n); }
static int pick_pool(void) { return pool_count == 1 ? 0 : pick(pool_count); }

static void seed_random(int seed)
{
    random_state = 0x9E3779B97F4A7C15ull * (uint64_t)(seed + 1);
    for (int i = 0; i < 8; i++)
        next_random();
}

static size_t pick_size(void)
{
    static const size_t large[] = {8 * MiB,  16 * MiB, 24 * MiB, 32 * MiB,
                                   40 * MiB, 64 * MiB, 96 * MiB, 100 * MiB};
    static const size_t small[] = {1,     256,    512,     513,     4096,
                                   65536, 100000, 1 * MiB, 2 * MiB, 3 * MiB};
    switch (profile) {
    case SMALL: return small[pick(10)];
    case LARGE: return large[pick(8)];
    case CAPPED: return large[pick(5)];
    default: return pick(2) ? large[pick(8)] : small[pick(10)];
    }
}

static uint64_t pick_threshold(void)
{
    static const uint64_t thresholds[] = {0,        0,         16 * MiB,  32 * MiB,
                                          64 * MiB, 100 * MiB, UINT64_MAX};
    return thresholds[pick(7)];
}

/* ---- lines ---- */

/* An idle stream may wait for a held one through an event: so each is given up after a while. */
static void query_idle_streams(void)
{
    for (int i = 0; i < STREAMS; i++)
        for (int tries = 0; !held[i] && tries < 2000; tries++)
            if (cudaStreamQuery(streams[i]) != cudaErrorNotReady)
                break;
    cudaGetLastError();
}

static void print_step(cudaError_t result)
{
    cudaGetLastError();
    query_idle_streams();
    printf("%-34s %-28s", step, cudaGetErrorName(result));
    for (int i = 0; i < pool_count; i++)
        printf(" R %llu %llu U %llu %llu", pool_figure(pools[i], cudaMemPoolAttrReservedMemCurrent),
               pool_figure(pools[i], cudaMemPoolAttrReservedMemHigh),
               pool_figure(pools[i], cudaMemPoolAttrUsedMemCurrent),
               pool_figure(pools[i], cudaMemPoolAttrUsedMemHigh));
    puts("");
}

#define PRINT_STEP(result, ...)                   \
    do {                                          \
        snprintf(step, sizeof step, __VA_ARGS__); \
        print_step(result);                       \
    } while (0)

/* ---- steps ---- */

/* Returns the newest allocation that lay where this one lies, or -1 where none did. */
static int newest_below(const char *address, size_t bytes)
{
    for (int i = allocation_count - 1; i >= 0; i--) {
        if (address >= allocations[i].address + allocations[i].bytes
            || allocations[i].address >= address + bytes)
            continue;
        if (!allocations[i].live)
            return i;
        printf("OVERLAP with live %d\n", i);
    }
    return -1;
}

static void allocate(int stream)
{
    size_t bytes = pick_size();
    char *address = NULL;
    int pool = pick_pool();
    cudaError_t error =
        cudaMallocFromPoolAsync((void **)&address, bytes, pools[pool], streams[stream]);
    if (error) {
        PRINT_STEP(error, "s%d malloc %zu", stream, bytes);
        return;
    }
    if (!first_addresses[pool])
        first_addresses[pool] = address;
    int below = newest_below(address, bytes);
    int new = allocation_count++;
    allocations[new] = (struct allocation){address, bytes, 1};
    long long offset = distance(address, first_addresses[pool]);
    if (below >= 0)
        PRINT_STEP(error, "s%d b%d = malloc %zu @%lld over b%d", stream, new, bytes, offset, below);
    else
        PRINT_STEP(error, "s%d b%d = malloc %zu @%lld fresh", stream, new, bytes, offset);
}

static void free_one(int stream)
{
    int live[MOST_ALLOCATIONS], count = 0;
    for (int i = 0; i < allocation_count; i++)
        if (allocations[i].live)
            live[count++] = i;
    if (!count)
        return;
    int i = live[pick(count)];
    allocations[i].live = 0;
    PRINT_STEP(cudaFreeAsync(allocations[i].address, streams[stream]), "s%d free b%d", stream, i);
}

static void open_stream(int stream)
{
    flags[stream] = 1;
    held[stream] = 0;
    __sync_synchronize();
    for (int i = 0; i < 3; i++)
        query_idle_streams(); /* what can run, runs to its end */
    PRINT_STEP(cudaSuccess, "s%d open", stream);
}

static int is_busy(int stream)
{
    int busy = cudaStreamQuery(streams[stream]) == cudaErrorNotReady;
    if (busy)
        cudaGetLastError();
    return busy;
}

/* Only a stream in which nothing is pending is held. */
static void hold_stream(int stream)
{
    if (is_busy(stream))
        return;
    flags[stream] = 0;
    held[stream] = 1;
    launch_hold(flags + stream, streams[stream]);
    if (profile == SEVERAL)
        usleep(400); /* Until the kernel runs, a free before it may seem pending. */
    PRINT_STEP(cudaGetLastError(), "s%d hold", stream);
}

static void record_event(int stream)
{
    recorded[stream] = 1;
    PRINT_STEP(cudaEventRecord(events[stream], streams[stream]), "s%d record e%d", stream, stream);
}

static void wait_for_event(int stream)
{
    int event = pick(STREAMS);
    if (!recorded[event])
        return;
    PRINT_STEP(cudaStreamWaitEvent(streams[stream], events[event], 0), "s%d wait e%d", stream,
               event);
}

static int any_held(void)
{
    int any = 0;
    for (int i = 0; i < STREAMS; i++)
        any |= held[i];
    return any;
}

/* A stream that waits for a held one is not synchronized: that would never end. */
static void synchronize_stream(int stream)
{
    if (any_held() && (held[stream] || is_busy(stream)))
        return;
    PRINT_STEP(cudaStreamSynchronize(streams[stream]), "s%d sync", stream);
}

/* The device is not synchronized while a stream is held, because that would never end. */
static void synchronize_device(void)
{
    if (!any_held())
        PRINT_STEP(cudaDeviceSynchronize(), "device sync");
}

static void trim(void)
{
    uint64_t keep = (uint64_t)pick(5) * 32 * MiB;
    PRINT_STEP(cudaMemPoolTrimTo(pools[pick_pool()], keep), "trim %llu", (unsigned long long)keep);
}

static void change_threshold(void)
{
    uint64_t threshold = pick_threshold();
    cudaMemPool_t pool = pools[pick_pool()];
    PRINT_STEP(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
               "threshold %llu", (unsigned long long)threshold);
}

static void take_step(void)
{
    int stream = profile == ONE_STREAM ? 0 : pick(STREAMS), percent = pick(100);
    if (percent < 40)
        allocate(stream);
    else if (percent < 70)
        free_one(stream);
    else if (percent < 76 && held[stream])
        open_stream(stream);
    else if (percent < 76)
        hold_stream(stream);
    else if (percent < 82)
        record_event(stream);
    else if (percent < 88)
        wait_for_event(stream);
    else if (percent < 94)
        synchronize_stream(stream);
    else if (percent < 97)
        trim();
    else if (percent < 99)
        change_threshold();
    else
        synchronize_device();
}

/* ---- the walk ---- */

static void make_streams(void)
{
    cudaHostAlloc((void **)&flags, STREAMS * sizeof *flags, cudaHostAllocMapped);
    for (int i = 0; i < STREAMS; i++) {
        cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming);
        flags[i] = 1;
    }
}

/* Sets a pool's policies and threshold by chance, and prints one of the walk's first lines. */
static void choose_policies(int seed, cudaMemPool_t pool, size_t max_size)
{
    static const enum cudaMemPoolAttr policies[] = {cudaMemPoolReuseFollowEventDependencies,
                                                    cudaMemPoolReuseAllowOpportunistic,
                                                    cudaMemPoolReuseAllowInternalDependencies};
    int on[3];
    for (int i = 0; i < 3; i++) {
        on[i] = pick(2);
        set_flag(pool, policies[i], on[i]);
    }
    uint64_t threshold = pick_threshold();
    set_threshold(pool, threshold);
    printf(
        "%s seed %d profile %d maxSize %zu events %d opportunistic %d internal %d threshold %llu\n",
        pool == pools[0] ? "#" : "and", seed, (int)profile, max_size, on[0], on[1], on[2],
        (unsigned long long)threshold);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "walks: give SEED STEPS [PROFILE]\n");
        return 2;
    }
    int seed = atoi(argv[1]), steps = atoi(argv[2]);
    profile = argc > 3 ? (enum profile)atoi(argv[3]) : MIXED;
    pool_count = profile == SEVERAL ? POOLS : 1;
    seed_random(seed);
    for (int i = 0; i < pool_count; i++) {
        struct cudaMemPoolProps props = device_props();
        if (profile == CAPPED || i == POOLS - 1)
            props.maxSize = (size_t)(2 + pick(5)) * 32 * MiB;
        if (cudaMemPoolCreate(&pools[i], &props))
            return 1;
        choose_policies(seed, pools[i], props.maxSize);
    }
    make_streams();
    for (int i = 0; i < steps && allocation_count < MOST_ALLOCATIONS; i++)
        take_step();
    for (int i = 0; i < STREAMS; i++)
        flags[i] = 1;
    cudaDeviceSynchronize();
    printf("end\n");
    return 0;
}
