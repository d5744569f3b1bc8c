/* A host function sets a flag, the host waits for the flag: what comes before the function is over. */
#include "kernels.h"
#include "workbook.h"

#include <stdatomic.h>

static atomic_int flag;

static void set_flag(void *unused)
{
    (void)unused;
    atomic_store(&flag, 1);
}

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaMallocAsync((void **)&data, MiB, a));

    CHECK(launch_fill(data, 1, count, a));              /* one */
    CHECK(cudaLaunchHostFunc(a, set_flag, NULL));
    while (!atomic_load(&flag)) (void)cudaStreamQuery(b);
    CHECK(launch_add(data, 1, count, b));               /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, b));
    CHECK(cudaStreamSynchronize(b));
    return 0;
}
