/* 13 Threads
 *
 * Question: Two threads of the host share a pool. One fills a buffer in its stream, and hands it to
 *   the other, which adds 1 in its own stream. A mutex guards the hand-over, and every CUDA call is
 *   made with the mutex locked. Does the second kernel then find what the first one wrote? The
 *   program tries three pairs of streams: legacy, per-thread, and created ones.
 * Task (fix): the results are correct, but the simulated device reports unordered
 *   accesses. Order the work of the two streams in `produce` and `consume`, and decide in which
 *   stream the buffer is freed. No thread waits for the device before its last turn, and each
 *   thread works in its own stream.
 * Calls: cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
 *        cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
 *        cudaFreeAsync(void *ptr, cudaStream_t stream)
 * Run:   make 13          Check: make check-13          Page: docs/13_threads
 */
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>

#define ROUNDS 8

enum thread { PRODUCER, CONSUMER };

/* What the threads share. The mutex guards it, and the threads take turns: while one has the mutex
 * and makes its calls, the other sleeps. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum thread turn;
    int *data;           /* what the producer hands over */
    cudaStream_t stream; /* in which it was allocated and filled */
    cudaEvent_t filled;  /* one event for all rounds: each round records it again */
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* What both threads do. The last number of the buffer of a round goes to results[round]. */
struct work {
    cudaMemPool_t pool;
    cudaStream_t producing, consuming;
    int rounds, *results;
    size_t count;
};

/* Locks the mutex and waits for the thread's turn. */
static void turn_begin(enum thread mine)
{
    pthread_mutex_lock(&shared.mutex);
    while (shared.turn != mine)
        pthread_cond_wait(&shared.changed, &shared.mutex);
}

static void turn_end(enum thread next)
{
    shared.turn = next;
    pthread_cond_signal(&shared.changed);
    pthread_mutex_unlock(&shared.mutex);
}

/* YOUR WORK, 1 of 2. */
static void *produce(void *argument)
{
    const struct work *work = argument;
    cudaStream_t stream = work->producing;
    size_t bytes = work->count * sizeof(int);
    for (int round = 0; round < work->rounds; round++) {
        turn_begin(PRODUCER);
        CHECK(cudaMallocFromPoolAsync((void **)&shared.data, bytes, work->pool, stream));
        CHECK(launch_fill(shared.data, round, work->count, stream));
        shared.stream = stream;
        turn_end(CONSUMER); /* "The mutex is locked until here, so the fill comes first." */
    }
    turn_begin(PRODUCER); /* the last turn: no thread ends with work in its stream */
    CHECK(cudaStreamSynchronize(stream));
    turn_end(CONSUMER);
    return NULL;
}

/* YOUR WORK, 2 of 2. */
static void *consume(void *argument)
{
    const struct work *work = argument;
    cudaStream_t stream = work->consuming;
    for (int round = 0; round < work->rounds; round++) {
        turn_begin(CONSUMER);
        CHECK(launch_add(shared.data, 1, work->count, stream));
        CHECK(cudaMemcpyAsync(work->results + round, shared.data + work->count - 1, sizeof(int),
                              cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(shared.data, shared.stream)); /* "Back to where it came from." */
        turn_end(PRODUCER);
    }
    turn_begin(CONSUMER);
    CHECK(cudaStreamSynchronize(stream));
    turn_end(PRODUCER);
    return NULL;
}

/* Runs both threads until both have ended. */
static void run_threads(struct work *work)
{
    pthread_t producer, consumer;
    shared.turn = PRODUCER;
    CHECK(cudaEventCreateWithFlags(&shared.filled, cudaEventDisableTiming));
    if (pthread_create(&producer, NULL, produce, work)
        || pthread_create(&consumer, NULL, consume, work)) {
        fprintf(stderr, "no thread could be started\n");
        exit(1);
    }
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    CHECK(cudaEventDestroy(shared.filled));
}

/* One line of the output. Returns how many results are correct. */
static int try_streams(const char *name, cudaStream_t producing, cudaStream_t consuming, size_t mib)
{
    int correct = 0;
    struct work work = {.pool = pool_create(),
                        .producing = producing,
                        .consuming = consuming,
                        .rounds = ROUNDS,
                        .count = mib * MiB / sizeof(int)};
    /* The pool keeps its memory, and its reuse does not depend on timing. */
    pool_set(work.pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(work.pool, cudaMemPoolReuseAllowOpportunistic, 0);
    CHECK(cudaMallocHost((void **)&work.results, ROUNDS * sizeof(int)));
    memset(work.results, 0, ROUNDS * sizeof(int));

    run_threads(&work);
    for (int round = 0; round < ROUNDS; round++)
        correct += work.results[round] == round + 1;
    printf("%-19s correct results %d of %d  reserved %4zu MiB\n", name, correct, ROUNDS,
           reserved_mib(work.pool));

    CHECK(cudaMemPoolDestroy(work.pool));
    CHECK(cudaFreeHost(work.results));
    return correct;
}

int main(int argc, char **argv)
{
    size_t mib = mib_argument(argc, argv, 1);
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));

    int correct = try_streams("legacy stream", cudaStreamLegacy, cudaStreamLegacy, mib);
    correct += try_streams("per-thread streams", cudaStreamPerThread, cudaStreamPerThread, mib);
    correct += try_streams("created streams", first, second, mib);

    CHECK(cudaStreamDestroy(second));
    CHECK(cudaStreamDestroy(first));
    return correct == 3 * ROUNDS ? 0 : 1;
}
