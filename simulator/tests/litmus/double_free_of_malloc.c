/* Memory of cudaMalloc is freed once, by cudaFreeAsync.
 *
 * WRONG: it is freed twice. Both calls succeed on a real device, which then hangs or crashes.
 * Kind: double free
 * Fatal: the simulated device stops the program there, with SIM_CHECK=off too */
#include "litmus.h"

LITMUS(a)
{
    int *data;

    CHECK(cudaMalloc((void **)&data, MiB));
    CHECK(cudaFreeAsync(data, a)); /* free */
#ifdef WRONG
    CHECK(cudaFreeAsync(data, a)); /* free */
#endif
    CHECK(cudaStreamSynchronize(a));
}
