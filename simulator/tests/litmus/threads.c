/* Several threads of the host. */
#include "litmus.h"

/* A thread queues work, waits for it, and ends. Whoever joins the thread may use its allocation in
 * any stream.
 *
 * WRONG: the thread does not wait, and joining it waits for no work: no edge from the allocation to
 * b's write.
 * Kind: use before allocation */
static int *data;

static void *producer(void *stream)
{
    CHECK(cudaMallocAsync((void **)&data, MiB, stream)); /* allocation */
    IF_RIGHT(CHECK(cudaStreamSynchronize(stream)));
    return NULL;
}

LITMUS(threads_handing_over, a, b)
{
    run_in_thread(producer, a);
    CHECK(launch_fill(data, 1, MiB / sizeof(int), b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
}

/* A thread tells another one that its data is there, which then uses it in its own stream. The
 * first thread waits for its work before it tells.
 * Schedules: measured late random:1 random:2 random:3
 *
 * WRONG: it waits after it has told, and the other thread's launch seldom comes before the end of
 * that wait: no edge from the first write to the second.
 * Kind: unordered writes */
static int *data;
static sem_t told;

static void *consumer(void *stream)
{
    sem_wait(&told);
    CHECK(launch_add(data, 1, MiB / sizeof(int), stream)); /* access */
    return NULL;
}

LITMUS(threads_telling, a, b)
{
    pthread_t thread;
    data = device_memory(MiB);

    sem_init(&told, 0, 0);
    pthread_create(&thread, NULL, consumer, b);
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a)); /* previous access */
    IF_WRONG(sem_post(&told));
    CHECK(cudaStreamSynchronize(a));
    IF_RIGHT(sem_post(&told));
    pthread_join(thread, NULL);
}

/* Two threads, each with its own stream and allocation. They share nothing but the pool. */
static void *work(void *unused)
{
    cudaStream_t stream = stream_new(cudaStreamNonBlocking);
    for (int i = 0; i < 20; i++) {
        int *data = pool_memory(MiB, stream);
        CHECK(launch_fill(data, i, MiB / sizeof(int), stream));
        CHECK(cudaFreeAsync(data, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    return NULL;
}

LITMUS(threads_own_streams)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
}

/* A pool's allocation is made in one thread and freed in another, in the same stream.
 *
 * WRONG: the other thread frees it in another stream: no edge from the write to the free.
 * Kind: free before the use ends */
static int *data;
static cudaStream_t a, b;

static void *freer(void *unused)
{
    CHECK(cudaFreeAsync(data, IF_WRONG_ELSE(b, a))); /* free */
    return NULL;
}

LITMUS(pool_of_other_thread)
{
    cudaMemPool_t pool = keep(pool_create(), pool_release);
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    data = memory_of(pool, MiB, a);
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a)); /* access */
    run_in_thread(freer, NULL);
}

/* The per-thread default stream writes, then the legacy stream, which waits for it.
 *
 * WRONG: a blocking stream writes next. It and the per-thread stream wait for the legacy stream
 * only: no edge between the two writes.
 * Kind: unordered writes */
LITMUS(per_thread_stream, a)
{
    int *data = device_memory(MiB);

    CHECK(launch_fill(data, 1, count, cudaStreamPerThread));               /* previous access */
    CHECK(launch_add(data, 1, count, IF_WRONG_ELSE(a, cudaStreamLegacy))); /* access */
}

/* cudaStreamPerThread is another stream in each thread. The thread waits for its work before it
 * ends.
 *
 * WRONG: the thread ends without waiting, and joining it waits for no work: no edge from its write
 * to main's.
 * Kind: unordered writes */
static void *writer(void *data)
{
    CHECK(launch_fill(data, 1, MiB / sizeof(int), cudaStreamPerThread)); /* previous access */
    IF_RIGHT(CHECK(cudaStreamSynchronize(cudaStreamPerThread)));
    return NULL;
}

LITMUS(per_thread_streams)
{
    int *data = device_memory(MiB);

    run_in_thread(writer, data);
    CHECK(launch_add(data, 1, MiB / sizeof(int), cudaStreamPerThread)); /* access */
}

/* A program that blocks all signals and has a handler of its own for SIGSEGV works as without. The
 * host writes to a buffer before it opens the gate behind which the copy waits.
 *
 * WRONG: the copy is in another stream than the gate, and is watched like in any program: no edge
 * from its read to the host's write.
 * Kind: host write not ordered after a read */
static void give_up(int number) { _Exit(number); }

LITMUS(signals_blocked, a, held)
{
    volatile int *gate = gate_new();
    sigset_t all;
    char *data = device_memory(MiB), *buffer = pinned_memory(MiB);
    signal(SIGSEGV, give_up);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);

    CHECK(launch_hold(gate, held));
    /* previous access */
    CHECK(cudaMemcpyAsync(data, buffer, MiB, cudaMemcpyHostToDevice, IF_WRONG_ELSE(a, held)));
    buffer[MiB / 2] = 1; /* access */
    gate_open(gate);
}
