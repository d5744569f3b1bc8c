/* Stream b's add is behind a host function that waits until the host has waited for a's fill.
 *
 * WRONG: the host waits for b instead: no edge from the fill to the add.
 * Kind: unordered writes
 * Says: lets the function go on */
#include "litmus.h"

static sem_t filled;

static void wait_for_host(void *unused)
{
    (void)unused;
    sem_wait(&filled);
}

LITMUS(a, b)
{
    int *data;
    sem_init(&filled, 0, 0);
    CHECK(cudaMalloc((void **)&data, 4096));
    CHECK(launch_fill(data, 1, 1024, a)); /* previous access */
    CHECK(cudaLaunchHostFunc(b, wait_for_host, NULL));
    CHECK(launch_add(data, 1, 1024, b)); /* access */
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    sem_post(&filled);
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}
