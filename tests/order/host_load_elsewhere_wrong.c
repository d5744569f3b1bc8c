/* The host waits for another stream than the one that copies.
 * Kind: host access not ordered after a write */
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>

static cudaStream_t a, b;

static void *waiter(void *unused)
{
    (void)unused;
    CHECK(cudaStreamSynchronize(b));
    return NULL;
}

int main(void)
{
    int *data, *result, sum = 0;
    pthread_t thread;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocHost((void **)&result, MiB));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a));           /* one */
    pthread_create(&thread, NULL, waiter, NULL);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < MiB / sizeof(int); i++) sum += result[i];
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(result));
    return sum;
}
