/* A program that blocks all signals and has a handler of its own for SIGSEGV works as without. The
 * host writes to a buffer before it opens the gate behind which the copy waits.
 *
 * WRONG: the copy is in another stream than the gate, and is watched like in any program: no edge
 * from its read to the host's write.
 * Kind: host write not ordered after a read */
#include "litmus.h"

static void give_up(int number) { _Exit(number); }

LITMUS(a, held)
{
    char *buffer, *data;
    volatile int *gate = gate_create();
    sigset_t all;
    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaMallocHost((void **)&buffer, MiB));
    signal(SIGSEGV, give_up);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);

    CHECK(launch_hold(gate, held));
#ifdef WRONG
    CHECK(cudaMemcpyAsync(data, buffer, MiB, cudaMemcpyHostToDevice, a)); /* previous access */
#else
    CHECK(cudaMemcpyAsync(data, buffer, MiB, cudaMemcpyHostToDevice, held));
#endif
    buffer[MiB / 2] = 1; /* access */
    gate_open(gate);
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamSynchronize(held));
    CHECK(cudaFreeHost(buffer));
    CHECK(cudaFree(data));
    gate_destroy(gate);
}
