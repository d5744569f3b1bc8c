/* A program that blocks all signals, and one that has a handler of its own for SIGSEGV, is watched like any other. The host writes to a buffer from which a
 * copy may still read.
 * Kind: host write not ordered after a read */
#define _GNU_SOURCE
#include "kernels.h"
#include "workbook.h"

#include <pthread.h>
#include <signal.h>

static void give_up(int number) { _Exit(number); }

int main(void)
{
    char *buffer, *data;
    volatile int *gate = gate_create();
    cudaStream_t a, held;
    sigset_t all;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&held));
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMallocHost((void **)&buffer, MiB));
    signal(SIGSEGV, give_up);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);

    CHECK(launch_hold(gate, held));
    CHECK(cudaMemcpyAsync(data, buffer, MiB, cudaMemcpyHostToDevice, a)); /* one */
    buffer[MiB / 2] = 1;                                /* other */
    gate_open(gate);
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamSynchronize(held));
    CHECK(cudaFreeHost(buffer));
    CHECK(cudaFree(data));
    gate_destroy(gate);
    return 0;
}
