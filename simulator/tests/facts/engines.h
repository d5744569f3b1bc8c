/* Times of several copies at once, for probe-engines.c and probe-peer-engines.c: which of them does
 * a device make side by side, and which one after the other? All pieces of a case are queued behind
 * one gate, in the order of the case's list, so the host's own time plays no part. A line has the
 * median of the rounds, whose number the program's argument may give: when the last piece was over,
 * and when each was, in the order of the list, in microseconds after the gate opened. */
#ifndef ENGINES_H
#define ENGINES_H

#include "probe.h"
#include "workbook.h"

enum { MOST_ROUNDS = 15, MOST_PIECES = 8, MOST_STREAMS = 8 };

enum direction {
    UP,         /* from pinned memory to the device's */
    DOWN,       /* from the device's memory to pinned */
    INSIDE,     /* from one place of the device's memory to another */
    TO_MANAGED, /* from pinned to managed memory that lies on the device */
    OVER,       /* from GPU 0 to GPU 1 */
    BACK,       /* from GPU 1 to GPU 0 */
    FILL,       /* a memset of the device's memory */
};

struct piece {
    enum direction direction;
    int stream; /* 0 to 7; from 4 on a stream of GPU 1 */
    size_t bytes;
};

/* Where a piece reads and writes: each piece has memory of its own. */
static struct {
    char *pinned, *here, *there, *managed, *other;
} place[MOST_PIECES];
static int rounds = MOST_ROUNDS;
static cudaStream_t streams[MOST_STREAMS];
/* A stream of GPU 0 for each piece waits for its end and records it: two events whose time is
 * compared have one device. */
static cudaStream_t watchers[MOST_PIECES];
static cudaEvent_t begun, seen[MOST_PIECES];
static cudaEvent_t ended[2][MOST_PIECES]; /* of each GPU: a stream records its own GPU's */

static inline cudaError_t queue_piece(int i, struct piece piece)
{
    cudaStream_t at = streams[piece.stream];
    char *pinned = place[i].pinned, *here = place[i].here, *there = place[i].there;
    size_t n = piece.bytes;
    switch (piece.direction) {
    case UP: return cudaMemcpyAsync(here, pinned, n, cudaMemcpyHostToDevice, at);
    case DOWN: return cudaMemcpyAsync(pinned, here, n, cudaMemcpyDeviceToHost, at);
    case INSIDE: return cudaMemcpyAsync(there, here, n, cudaMemcpyDeviceToDevice, at);
    case TO_MANAGED: return cudaMemcpyAsync(place[i].managed, pinned, n, cudaMemcpyDefault, at);
    case OVER: return cudaMemcpyPeerAsync(place[i].other, 1, here, 0, n, at);
    case BACK: return cudaMemcpyPeerAsync(here, 0, place[i].other, 1, n, at);
    default: return cudaMemsetAsync(there, 1, n, at);
    }
}

static inline int by_time(const void *left, const void *right)
{
    float x = *(const float *)left, y = *(const float *)right;
    return (x > y) - (x < y);
}

static inline double median_us(float ms[MOST_ROUNDS])
{
    qsort(ms, (size_t)rounds, sizeof *ms, by_time);
    return 1e3 * ms[rounds / 2];
}

/* The gate is in streams[0], on GPU 0; what the others do comes after `begun`. */
static inline void time_pieces(const char *label, int count, const struct piece *pieces)
{
    static float all[MOST_ROUNDS], each[MOST_PIECES][MOST_ROUNDS];
    for (int round = 0; round < rounds; round++) {
        hold(streams[0]);
        cudaEventRecord(begun, streams[0]);
        for (int i = 1; i < MOST_STREAMS; i++)
            if (streams[i])
                cudaStreamWaitEvent(streams[i], begun, 0);
        for (int i = 0; i < count; i++) {
            cudaEvent_t end = ended[pieces[i].stream >= 4][i];
            cudaError_t error = queue_piece(i, pieces[i]);
            if (error)
                NOTE("piece %d: %s", i, cudaGetErrorName(error));
            cudaEventRecord(end, streams[pieces[i].stream]);
            cudaStreamWaitEvent(watchers[i], end, 0);
            cudaEventRecord(seen[i], watchers[i]);
        }
        open_gate();
        all[round] = 0;
        for (int i = 0; i < count; i++) {
            each[i][round] = -1;
            cudaStreamSynchronize(watchers[i]);
            cudaEventElapsedTime(&each[i][round], begun, seen[i]);
            if (each[i][round] > all[round])
                all[round] = each[i][round];
        }
    }
    printf("%-58s %9.1f us:", label, median_us(all));
    for (int i = 0; i < count; i++)
        printf(" %.1f", median_us(each[i]));
    puts("");
}

static inline void set_up_engines(int argc, char **argv, int stream_count, size_t bytes)
{
    if (argc > 1)
        rounds = atoi(argv[1]);
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "%s: expected 1 to %d rounds, not \"%s\"\n", argv[0], MOST_ROUNDS, argv[1]);
        exit(2);
    }
    CHECK(cudaMallocHost((void **)&gate, sizeof *gate));
    for (int i = 0; i < stream_count; i++)
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&begun));
    for (int i = 0; i < MOST_PIECES; i++) {
        CHECK(cudaStreamCreateWithFlags(&watchers[i], cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&ended[0][i], cudaEventDisableTiming));
        CHECK(cudaEventCreate(&seen[i]));
        CHECK(cudaMallocHost((void **)&place[i].pinned, bytes));
        memset(place[i].pinned, 1, bytes);
        CHECK(cudaMalloc((void **)&place[i].here, bytes));
        CHECK(cudaMalloc((void **)&place[i].there, bytes));
    }
}

#define PIECES(label, ...)                                                         \
    time_pieces(label, sizeof(struct piece[]){__VA_ARGS__} / sizeof(struct piece), \
                (struct piece[]){__VA_ARGS__})

#endif
