/* Replays recorded random walks on the simulated device and counts how far each agrees with the
 * real one. It reads them from standard input:
 *
 *   zcat simulator/tests/facts/walks.txt.gz | replay [-v] [PROFILE...]
 *
 * prints a table: for each profile, or for the named ones, the share of steps before the first
 * mismatch. With -v it also prints, for each walk that does not agree to its end, the step, what
 * was expected, and what happened.
 *
 * A step agrees if the error code, reserved and used, and their high marks are the recorded ones,
 * and for "and offset" also the address of a new block. The walks were printed by
 * simulator/tests/facts/walks.c; `settle` here does what its query_idle_streams does. */
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels.h"

#define STREAMS 3
#define BLOCKS  400

/* Numbered as in walks.c. */
static const char *const profiles[] = {"mixed", "small", "large", "capped", "one-stream"};
enum { PROFILES = sizeof profiles / sizeof *profiles };

static bool verbose;
static struct {
    bool left_out;
    unsigned steps, agreed, with_offset, walks, whole;
} counts[PROFILES];
static cudaMemPool_t pool;
static cudaStream_t streams[STREAMS];
static cudaEvent_t events[STREAMS];
static volatile int *gates;
static bool held[STREAMS];
static char *blocks[BLOCKS], *base;

struct figures {
    uint64_t reserved, reserved_high, used, used_high;
};

static uint64_t get(enum cudaMemPoolAttr attribute)
{
    uint64_t value = 0;
    cudaMemPoolGetAttribute(pool, attribute, &value);
    return value;
}

/* An idle stream is queried until it says that it is done; one that waits for a held stream never
 * will. */
static void settle(void)
{
    for (int i = 0; i < STREAMS; i++)
        for (int k = 0; !held[i] && k < 100 && cudaStreamQuery(streams[i]) == cudaErrorNotReady;
             k++)
            ;
}

/* Returns the number of the walk's profile. A walk that is left out does not begin. */
static unsigned begin_walk(const char *head)
{
    unsigned profile;
    size_t max_size;
    int flags[3];
    uint64_t threshold;
    if (sscanf(head,
               "# seed %*d profile %u maxSize %zu events %d opportunistic %d internal %d "
               "threshold %" SCNu64,
               &profile, &max_size, &flags[0], &flags[1], &flags[2], &threshold)
            != 6
        || profile >= PROFILES) {
        fprintf(stderr, "replay: this is no head of a walk: %s\n", head);
        exit(2);
    }
    if (counts[profile].left_out)
        return profile;
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location.type = cudaMemLocationTypeDevice,
                                     .maxSize = max_size};
    if (cudaMemPoolCreate(&pool, &props))
        exit(2);
    for (int i = 0; i < 3; i++)
        cudaMemPoolSetAttribute(
            pool, (enum cudaMemPoolAttr)(cudaMemPoolReuseFollowEventDependencies + i), &flags[i]);
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
    for (int i = 0; i < STREAMS; i++) {
        cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming);
        gates[i] = 1;
        held[i] = false;
    }
    memset(blocks, 0, sizeof blocks);
    base = NULL;
    return profile;
}

static void end_walk(void)
{
    for (int i = 0; i < STREAMS; i++)
        gates[i] = 1;
    cudaDeviceSynchronize();
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i])
            cudaFreeAsync(blocks[i], streams[0]);
    cudaDeviceSynchronize();
    for (int i = 0; i < STREAMS; i++) {
        cudaStreamDestroy(streams[i]);
        cudaEventDestroy(events[i]);
    }
    cudaMemPoolDestroy(pool);
    cudaGetLastError();
}

/* Does what the line says, and sets `moved` if a block has another place than the recorded one. */
static cudaError_t step(const char *line, bool *moved)
{
    int s, number;
    size_t bytes;
    long long offset;
    *moved = false;
    if (sscanf(line, "s%d b%d = malloc %zu @%lld", &s, &number, &bytes, &offset) == 4
        || sscanf(line, "s%d malloc %zu", &s, &bytes) == 2) {
        bool recorded = strchr(line, '@') != NULL;
        void *p = NULL;
        cudaError_t e = cudaMallocFromPoolAsync(&p, bytes, pool, streams[s]);
        if (e || !recorded) {
            /* The walk ends here, because the real device had no memory for it. */
            if (p)
                cudaFreeAsync(p, streams[s]);
            return e;
        }
        if (!base)
            base = p;
        *moved = (char *)p - base != offset;
        blocks[number] = p;
        return e;
    }
    if (sscanf(line, "s%d free b%d", &s, &number) == 2) {
        cudaError_t e = cudaFreeAsync(blocks[number], streams[s]);
        blocks[number] = NULL;
        return e;
    }
    if (sscanf(line, "s%d record e%d", &s, &number) == 2)
        return cudaEventRecord(events[s], streams[s]);
    if (sscanf(line, "s%d wait e%d", &s, &number) == 2)
        return cudaStreamWaitEvent(streams[s], events[number], 0);
    if (sscanf(line, "trim %zu", &bytes) == 1)
        return cudaMemPoolTrimTo(pool, bytes);
    if (sscanf(line, "threshold %zu", &bytes) == 1) {
        uint64_t threshold = bytes;
        return cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
    }
    if (!strncmp(line, "device sync", 11))
        return cudaDeviceSynchronize();
    char what[8] = "";
    if (sscanf(line, "s%d %7s", &s, what) == 2 && !strcmp(what, "hold")) {
        gates[s] = 0;
        held[s] = true;
        return launch_hold(&gates[s], streams[s]);
    }
    if (!strcmp(what, "open")) {
        gates[s] = 1;
        held[s] = false;
        for (int r = 0; r < 3; r++)
            settle();
        return cudaSuccess;
    }
    if (!strcmp(what, "sync"))
        return cudaStreamSynchronize(streams[s]);
    fprintf(stderr, "replay: this is no step: %s\n", line);
    exit(2);
}

/* The error and the figures at the end of a recorded line. */
static void recorded(const char *line, char *error, struct figures *f)
{
    const char *at = strstr(line, "cuda");
    if (!at
        || sscanf(at, "%79s R %" SCNu64 " %" SCNu64 " U %" SCNu64 " %" SCNu64, error, &f->reserved,
                  &f->reserved_high, &f->used, &f->used_high)
               != 5) {
        fprintf(stderr, "replay: this line has no figures: %s\n", line);
        exit(2);
    }
}

static void replay(void)
{
    char line[512], head[512] = "", error[80];
    unsigned profile = 0, number = 0;
    bool in_walk = false, figures_agree = false, offsets_agree = false;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#') {
            strcpy(head, line);
            profile = begin_walk(head);
            in_walk = figures_agree = offsets_agree = !counts[profile].left_out;
            counts[profile].walks++;
            number = 0;
            continue;
        }
        if (!strncmp(line, "end", 3)) {
            if (in_walk)
                end_walk();
            counts[profile].whole += figures_agree;
            in_walk = false;
            continue;
        }
        if (!in_walk)
            continue;
        counts[profile].steps++;
        number++;
        if (!figures_agree)
            continue;
        bool moved;
        struct figures want;
        recorded(line, error, &want);
        cudaError_t e = step(line, &moved);
        settle();
        struct figures have = {get(cudaMemPoolAttrReservedMemCurrent),
                               get(cudaMemPoolAttrReservedMemHigh),
                               get(cudaMemPoolAttrUsedMemCurrent), get(cudaMemPoolAttrUsedMemHigh)};
        figures_agree = !strcmp(error, cudaGetErrorName(e)) && !memcmp(&want, &have, sizeof want);
        offsets_agree = offsets_agree && figures_agree && !moved;
        counts[profile].agreed += figures_agree;
        counts[profile].with_offset += offsets_agree;
        if (verbose && (!figures_agree || (moved && !offsets_agree)))
            printf("%.20s step %u: %s\n    here: %s R %" PRIu64 " %" PRIu64 " U %" PRIu64
                   " %" PRIu64 "%s\n",
                   head + 2, number, line, cudaGetErrorName(e), have.reserved, have.reserved_high,
                   have.used, have.used_high, moved ? ", at another offset" : "");
    }
}

/* Replays the named profiles, or all. */
static void choose(char **names, int count)
{
    for (int k = 0; k < PROFILES; k++)
        counts[k].left_out = count > 0;
    for (int i = 0; i < count; i++) {
        int k = 0;
        while (k < PROFILES && strcmp(names[i], profiles[k]))
            k++;
        if (k == PROFILES) {
            fprintf(stderr,
                    "replay: \"%s\" is no profile: mixed, small, large, capped, one-stream\n",
                    names[i]);
            exit(2);
        }
        counts[k].left_out = false;
    }
}

int main(int argc, char **argv)
{
    verbose = argc > 1 && !strcmp(argv[1], "-v");
    choose(argv + 1 + verbose, argc - 1 - verbose);
    if (cudaHostAlloc((void **)&gates, STREAMS * sizeof *gates, cudaHostAllocMapped))
        return 2;
    replay();
    printf("%-14s %6s %8s %12s %10s\n", "profile", "steps", "agree %", "and offset %",
           "walks whole");
    for (int k = 0; k < PROFILES; k++)
        if (counts[k].steps)
            printf("%-14s %6u %8.1f %12.1f %8u/%u\n", profiles[k], counts[k].steps,
                   100.0 * counts[k].agreed / counts[k].steps,
                   100.0 * counts[k].with_offset / counts[k].steps, counts[k].whole,
                   counts[k].walks);
    cudaFreeHost((void *)gates);
    return 0;
}
