/* cudaStreamPerThread is another stream in each thread. The thread has ended, but not the work that it queued.
 * Kind: unordered writes */
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>

static void *writer(void *data)
{
    CHECK(launch_fill(data, 1, MiB / sizeof(int), cudaStreamPerThread));        /* one */
    return NULL;
}

int main(void)
{
    int *data;
    pthread_t thread;
    CHECK(cudaMalloc((void **)&data, MiB));

    pthread_create(&thread, NULL, writer, data);
    pthread_join(thread, NULL);
    CHECK(launch_add(data, 1, MiB / sizeof(int), cudaStreamPerThread));         /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
