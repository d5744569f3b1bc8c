/* A thread queues work, waits for it, and ends. Whoever joins the thread may use its allocation in
 * any stream.
 *
 * WRONG: the thread does not wait, and joining it waits for no work: no edge from the allocation to
 * b's write.
 * Kind: use before allocation */
#include "litmus.h"

static int *data;

static void *producer(void *stream)
{
    CHECK(cudaMallocAsync((void **)&data, MiB, stream)); /* allocation */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(stream));
#endif
    return NULL;
}

LITMUS(a, b)
{
    pthread_t thread;

    pthread_create(&thread, NULL, producer, a);
    pthread_join(thread, NULL);
    CHECK(launch_fill(data, 1, MiB / sizeof(int), b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
}
