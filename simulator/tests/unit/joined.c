/* The host waits for a thread that makes a call and ends a millisecond later. The host was not
 * idle, so a second of work must not have ended. */
#define _GNU_SOURCE
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>
#include <unistd.h>

static cudaStream_t s;

static void *ask(void *unused)
{
    (void)cudaStreamQuery(s);
    usleep(1000);
    return unused;
}

int main(void)
{
    int *data;
    pthread_t thread;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMallocAsync((void **)&data, MiB, s));
    CHECK(launch_fill(data, 1, MiB / sizeof(int), s));
    pthread_create(&thread, NULL, ask, NULL);
    pthread_join(thread, NULL);
    printf("%s\n", cudaGetErrorName(cudaStreamQuery(s)));
    CHECK(cudaFreeAsync(data, s));
    CHECK(cudaStreamSynchronize(s));
    return 0;
}
