/* cudaStreamPerThread is another stream in each thread. The thread waits for its work before it
 * ends.
 *
 * WRONG: the thread ends without waiting, and joining it waits for no work: no edge from its write
 * to main's.
 * Kind: unordered writes */
#include "litmus.h"

static void *writer(void *data)
{
    CHECK(launch_fill(data, 1, MiB / sizeof(int), cudaStreamPerThread)); /* previous access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
#endif
    return NULL;
}

int main(void)
{
    int *data;
    pthread_t thread;
    CHECK(cudaMalloc((void **)&data, MiB));

    pthread_create(&thread, NULL, writer, data);
    pthread_join(thread, NULL);
    CHECK(launch_add(data, 1, MiB / sizeof(int), cudaStreamPerThread)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}
