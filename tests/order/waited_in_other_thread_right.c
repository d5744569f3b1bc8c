/* The thread that gave work to its own cudaStreamPerThread waits for it. */
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>

static int *data;

static void *work(void *unused)
{
    CHECK(launch_fill(data, 1, MiB / sizeof(int), cudaStreamPerThread)); /* one */
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    return unused;
}

int main(void)
{
    pthread_t thread;
    CHECK(cudaMallocAsync((void **)&data, MiB, cudaStreamLegacy));
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    CHECK(cudaFree(data));                              /* other */
    CHECK(cudaDeviceSynchronize());
    return 0;
}
