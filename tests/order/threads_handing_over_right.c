/* A thread queues work, synchronises and ends. Whoever joins it may use its block in any stream. */
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>

static int *data;

static void *producer(void *stream)
{
    CHECK(cudaMallocAsync((void **)&data, MiB, stream));        /* one */
    CHECK(cudaStreamSynchronize(stream));
    return NULL;
}

int main(void)
{
    cudaStream_t a, b;
    pthread_t thread;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));

    pthread_create(&thread, NULL, producer, a);
    pthread_join(thread, NULL);
    CHECK(launch_fill(data, 1, MiB / sizeof(int), b));          /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    return 0;
}
