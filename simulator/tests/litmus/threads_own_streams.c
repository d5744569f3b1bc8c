/* Two threads, each with its own stream and allocation. They share nothing but the pool. */
#include "litmus.h"

static void *work(void *unused)
{
    (void)unused;
    int *data;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < 20; i++) {
        CHECK(cudaMallocAsync((void **)&data, MiB, stream));
        CHECK(launch_fill(data, i, MiB / sizeof(int), stream));
        CHECK(cudaFreeAsync(data, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
