/* A host function in a blocking stream comes after the legacy stream's work, also when that is over at the call: what the function says, the host knows. */
#define _GNU_SOURCE
#include <unistd.h>
#include "kernels.h"
#include "workbook.h"

static void say(void *flag) { __atomic_store_n((int *)flag, 1, __ATOMIC_SEQ_CST); }

int main(void)
{
    size_t count = MiB / sizeof(int), unused;
    int *data, flag = 0;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocAsync((void **)&data, MiB, cudaStreamLegacy));
    CHECK(launch_fill(data, 1, count, cudaStreamLegacy));
    for (int i = 0; i < 100; i++)                       /* time goes by: the fill is over */
        CHECK(cudaMemGetInfo(&unused, &unused));
    CHECK(cudaLaunchHostFunc(stream, say, &flag));
    while (!__atomic_load_n(&flag, __ATOMIC_SEQ_CST))
        usleep(1000);
    CHECK(cudaFree(data));
    return 0;
}
