/* The host waits for a host function that is queued after a's write.
 *
 * WRONG: the function is queued before the write: no edge from a's write to b's.
 * Kind: unordered writes */
#include "litmus.h"

static sem_t reached;

static void post(void *unused)
{
    (void)unused;
    sem_post(&reached);
}

LITMUS(a, b)
{
    int *data;
    sem_init(&reached, 0, 0);
    CHECK(cudaMalloc((void **)&data, MiB));
    volatile int *gate = gate_create();

    CHECK(launch_hold(gate, a));
#ifdef WRONG
    CHECK(cudaLaunchHostFunc(a, post, NULL));
#endif
    CHECK(launch_fill(data, 1, count, a)); /* previous access */
#ifndef WRONG
    CHECK(cudaLaunchHostFunc(a, post, NULL));
#endif
    gate_open(gate);
    sem_wait(&reached);
    CHECK(launch_add(data, 1, count, b)); /* access */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    gate_destroy(gate);
}
