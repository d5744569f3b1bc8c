/* A block of a pool is allocated in one thread and freed in another, in another stream.
 * Kind: free before the use ends */
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>

static int *data;
static cudaStream_t a, b;

static void *freer(void *unused)
{
    (void)unused;
    CHECK(cudaFreeAsync(data, b));                      /* other */
    return NULL;
}

int main(void)
{
    pthread_t thread;
    cudaMemPool_t pool = pool_create();
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));  /* one */
    pthread_create(&thread, NULL, freer, NULL);
    pthread_join(thread, NULL);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
    return 0;
}
