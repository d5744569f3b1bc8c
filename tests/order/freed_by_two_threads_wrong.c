/* Two threads free the same block, and both wait for the work on it: the second frees what is no longer there.
 * Kind: double free */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#include "kernels.h"
#include "workbook.h"

static void *blocks[2];

static void *frees(void *block)
{
    cudaFree(block);                                    /* one */
    return NULL;
}

int main(void)
{
    cudaStream_t stream;
    pthread_t threads[2];
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&blocks[0], 64 * MiB));
    CHECK(cudaMalloc(&blocks[1], 64 * MiB));
    CHECK(launch_hold(gate, stream));
    CHECK(launch_fill(blocks[0], 1, 1000, stream));
    pthread_create(&threads[0], NULL, frees, blocks[0]);
    pthread_create(&threads[1], NULL, frees, blocks[0]);
    usleep(20000);                                      /* both are waiting */
    gate_open(gate);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    CHECK(cudaFree(blocks[1]));
    gate_destroy(gate);
    return 0;
}
