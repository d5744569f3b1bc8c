/* Threads that end other than by returning: threads_end cancelled|main. */
#define _GNU_SOURCE
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>
#include <unistd.h>

static volatile int *gate;

static void *holds(void *unused)
{
    cudaStream_t s;
    (void)unused;
    CHECK(cudaStreamCreate(&s));
    CHECK(launch_hold(gate, s));
    CHECK(cudaStreamSynchronize(s));
    return NULL;
}

/* The thread is canceled while it waits in a call, and the others' calls continue. */
static void cancelled(void)
{
    pthread_t thread;
    gate = gate_create();
    if (pthread_create(&thread, NULL, holds, NULL))
        exit(2);
    usleep(50000);
    pthread_cancel(thread);
    usleep(50000);
    gate_open(gate);
    pthread_join(thread, NULL);
    CHECK(cudaDeviceSynchronize());
    gate_destroy(gate);
}

static void *goes_on(void *first)
{
    int *data;
    cudaStream_t s;
    pthread_join(*(pthread_t *)first, NULL);
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMallocAsync((void **)&data, MiB, s));
    CHECK(launch_fill(data, 7, MiB / sizeof(int), s));
    printf("%d\n", last_of(data, MiB / sizeof(int), s));
    CHECK(cudaFreeAsync(data, s));
    return NULL;
}

int main(int argc, char **argv)
{
    static pthread_t self;
    pthread_t thread;
    if (argc > 1 && !strcmp(argv[1], "cancelled")) {
        cancelled();
        return 0;
    }
    self = pthread_self();
    CHECK(cudaSetDevice(0));
    if (pthread_create(&thread, NULL, goes_on, &self))
        return 2;
    pthread_exit(NULL); /* the program goes on, and ends with its last thread */
}
