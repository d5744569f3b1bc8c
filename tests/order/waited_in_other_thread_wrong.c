/* A thread gives work to its own cudaStreamPerThread; the first thread waits for its own. The report says in which thread to wait.
 * Kind: free before the use ends
 * Says: in the thread of the first */
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>

static int *data;

static void *work(void *unused)
{
    CHECK(launch_fill(data, 1, MiB / sizeof(int), cudaStreamPerThread)); /* one */
    return unused;
}

int main(void)
{
    pthread_t thread;
    CHECK(cudaMallocAsync((void **)&data, MiB, cudaStreamLegacy));
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    CHECK(cudaFree(data));                              /* other */
    CHECK(cudaDeviceSynchronize());
    return 0;
}
