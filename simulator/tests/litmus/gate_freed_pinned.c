/* A hold at a gate is over before the gate is freed.
 *
 * WRONG: the hold comes after the free.
 * Kind: use after free */
#include "litmus.h"

LITMUS(a)
{
    volatile int *gate = gate_create();
    gate_open(gate);
#ifndef WRONG
    CHECK(launch_hold(gate, a));
#endif
    CHECK(cudaFreeHost((void *)gate)); /* free */
#ifdef WRONG
    (void)launch_hold(gate, a); /* access */
#endif
    (void)cudaStreamSynchronize(a);
}
