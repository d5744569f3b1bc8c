/* Another thread waits for the stream that copies, and the host joins that thread before it reads.
 *
 * WRONG: the thread waits for another stream: no edge from the copy to the host's read.
 * Kind: host access not ordered after a write */
#include "litmus.h"

static cudaStream_t a, b;

static void *waiter(void *unused)
{
    (void)unused;
#ifdef WRONG
    CHECK(cudaStreamSynchronize(b));
#else
    CHECK(cudaStreamSynchronize(a));
#endif
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
    CHECK(cudaMemcpyAsync(result, data, MiB, cudaMemcpyDeviceToHost, a)); /* previous access */
    pthread_create(&thread, NULL, waiter, NULL);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < MiB / sizeof(int); i++)
        sum += result[i];
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFreeHost(result));
    return sum;
}
