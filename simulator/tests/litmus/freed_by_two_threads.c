/* Two threads free an allocation each, and wait for the same work meanwhile.
 *
 * WRONG: both free the same one, and the second frees what is no longer there.
 * Kind: double free */
#include "litmus.h"

static void *memory[2];

static void *frees(void *pointer)
{
    cudaFree(pointer); /* free */
    return NULL;
}

LITMUS(stream)
{
    pthread_t threads[2];
    volatile int *gate = gate_create();
    CHECK(cudaMalloc(&memory[0], 64 * MiB));
    CHECK(cudaMalloc(&memory[1], 64 * MiB));
    CHECK(launch_hold(gate, stream));
    CHECK(launch_fill(memory[0], 1, 1000, stream));
    pthread_create(&threads[0], NULL, frees, memory[0]);
#ifdef WRONG
    pthread_create(&threads[1], NULL, frees, memory[0]);
#else
    pthread_create(&threads[1], NULL, frees, memory[1]);
#endif
    /* Meanwhile both threads begin to wait. */
    usleep(20000);
    gate_open(gate);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
#ifdef WRONG
    CHECK(cudaFree(memory[1]));
#else
    CHECK(cudaFree(NULL));
#endif
    gate_destroy(gate);
}
