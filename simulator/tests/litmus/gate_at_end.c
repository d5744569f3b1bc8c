/* Stream b adds and frees behind a gate, which is the last thing that the program opens.
 *
 * WRONG: the host has not waited for a's fill by then; no call comes after that.
 * Kind: unordered writes
 * Also: free before the use ends */
#include "litmus.h"

LITMUS(a, b)
{
    static int gate;
    int *data;
    CHECK(cudaHostRegister(&gate, sizeof gate, 0));
    CHECK(cudaMallocAsync((void **)&data, 4096, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(launch_fill(data, 1, 1024, a)); /* previous access */
    CHECK(launch_hold(&gate, b));
    CHECK(launch_add(data, 1, 1024, b)); /* access */
    CHECK(cudaFreeAsync(data, b));
#ifndef WRONG
    CHECK(cudaStreamSynchronize(a));
#endif
    gate_open(&gate);
}
