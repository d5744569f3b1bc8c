/* A thread that gave work to its own cudaStreamPerThread waits for it.
 *
 * WRONG: main waits for its own cudaStreamPerThread, which is another stream: no edge from the
 * thread's write to the free.
 * Kind: free before the use ends
 * Says: in the thread of the first */
#include "litmus.h"

static int *data;

static void *work(void *unused)
{
    CHECK(launch_fill(data, 1, MiB / sizeof(int), cudaStreamPerThread)); /* access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
#endif
    return unused;
}

int main(void)
{
    pthread_t thread;
    CHECK(cudaMallocAsync((void **)&data, MiB, cudaStreamLegacy));
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
#ifdef WRONG
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
#endif
    CHECK(cudaFree(data)); /* free */
    CHECK(cudaDeviceSynchronize());
    return 0;
}
