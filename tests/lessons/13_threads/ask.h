/* Runs lesson 13's threads as its main does not, twice: with other rounds, another size, and one
 * pair of streams. The arguments: the pair, the rounds, and the size in KiB. In the pair "mixed"
 * the producer has its thread's own stream, and the consumer a created one. What the threads did is
 * in the journal.
 *
 * A thread that gives its turn away goes on when the other one's turn is over, or that one ends: so
 * what it still does in the same round comes too late, in each run. */
#include <pthread.h>
#include <sched.h>
#include <threads.h>

#define cudaStreamPerThread ((cudaStream_t)0x2)

int pthread_mutex_unlock(pthread_mutex_t *mutex);
int mtx_unlock(mtx_t *mutex);
int pthread_join(pthread_t thread, void **result);

static _Atomic int asked_turns;

static int asked_unlocked(int turn, int result)
{
    for (int asked_i = 0; asked_i < 20000 && asked_turns == turn; asked_i++)
        sched_yield();
    return result;
}

int asked_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int turn = ++asked_turns;
    return asked_unlocked(turn, pthread_mutex_unlock(mutex));
}

int asked_mtx_unlock(mtx_t *mutex)
{
    int turn = ++asked_turns;
    return asked_unlocked(turn, mtx_unlock(mutex));
}

int asked_pthread_join(pthread_t thread, void **result)
{
    int joined = pthread_join(thread, result);
    asked_turns++;
    return joined;
}

static void asked_run(cudaStream_t producing, cudaStream_t consuming, int rounds, size_t count)
{
    struct work work = {.pool = pool_create(),
                        .producing = producing,
                        .consuming = consuming,
                        .rounds = rounds,
                        .count = count};
    pool_set(work.pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    pool_set_flag(work.pool, cudaMemPoolReuseAllowOpportunistic, 0);
    CHECK(cudaMallocHost((void **)&work.results, (size_t)rounds * sizeof(int)));
    memset(work.results, 0, (size_t)rounds * sizeof(int));
    run_threads(&work);
    for (int round = 0; round < rounds; round++)
        printf("\n%d rounds of %zu numbers: results[%d] = %d\n", rounds, count, round,
               work.results[round]);
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    cudaStream_t created[2], producing, consuming;
    int rounds = atoi(argv[2]);
    size_t count = strtoul(argv[3], NULL, 10) * 1024 / sizeof(int);
    asked_streams(created, 2);
    producing = strcmp(argv[1], "created") == 0 ? created[0] : cudaStreamPerThread;
    consuming = strcmp(argv[1], "per-thread") == 0 ? cudaStreamPerThread : created[1];
    asked_run(producing, consuming, rounds, count);
    asked_run(producing, consuming, 3, count);
    return 0;
}
