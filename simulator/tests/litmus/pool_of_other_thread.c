/* A pool's allocation is made in one thread and freed in another, in the same stream.
 *
 * WRONG: the other thread frees it in another stream: no edge from the write to the free.
 * Kind: free before the use ends */
#include "litmus.h"

static int *data;
static cudaStream_t a, b;

static void *freer(void *unused)
{
    (void)unused;
#ifdef WRONG
    CHECK(cudaFreeAsync(data, b)); /* free */
#else
    CHECK(cudaFreeAsync(data, a));
#endif
    return NULL;
}

int main(void)
{
    pthread_t thread;
    cudaMemPool_t pool = pool_create();
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a)); /* access */
    pthread_create(&thread, NULL, freer, NULL);
    pthread_join(thread, NULL);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
    return 0;
}
