/* Streams a and b are behind one gate. Stream b waits for a's memset before it fills, and after
 * that for a host function of a.
 *
 * WRONG: the first wait is missing. When the gate is open nothing holds the fill up any more: the
 * host function that b came to wait for later does not, so the host cannot order the two by waiting
 * for the memset before it lets the function go on.
 * Kind: unordered writes */
#include "litmus.h"

static void wait_for(void *posted) { sem_wait(posted); }

LITMUS(a, b)
{
    int *data;
    cudaEvent_t held, cleared, passed;
    sem_t posted;
    volatile int *gate = gate_create();
    sem_init(&posted, 0, 0);
    CHECK(cudaEventCreate(&held));
    CHECK(cudaEventCreate(&cleared));
    CHECK(cudaEventCreate(&passed));
    CHECK(cudaMalloc((void **)&data, 4096));
    CHECK(launch_hold(gate, a));
    CHECK(cudaEventRecord(held, a));
    CHECK(cudaStreamWaitEvent(b, held, 0));
    CHECK(cudaMemsetAsync(data, 0, 4096, a)); /* previous access */
    CHECK(cudaEventRecord(cleared, a));
#ifndef WRONG
    CHECK(cudaStreamWaitEvent(b, cleared, 0));
#endif
    CHECK(launch_fill(data, 1, 1024, b)); /* access */
    CHECK(cudaLaunchHostFunc(a, wait_for, &posted));
    CHECK(cudaEventRecord(passed, a));
    CHECK(cudaStreamWaitEvent(b, passed, 0));
    gate_open(gate);
    CHECK(cudaEventSynchronize(cleared));
    sem_post(&posted);
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFree(data));
    gate_destroy(gate);
}
