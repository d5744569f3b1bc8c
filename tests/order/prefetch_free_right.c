/* The free waits for the prefetch. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    int *data;
    cudaStream_t a, b;
    cudaEvent_t event;
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {0};
    struct cudaMemLocation here = { .type = cudaMemLocationTypeDevice, .id = 0 };
    props.allocType = cudaMemAllocationTypeManaged;
    props.location = here;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(cudaMemPrefetchAsync(data, MiB, here, 0, b)); /* one */
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    CHECK(cudaEventRecord(event, b));
    CHECK(cudaStreamWaitEvent(a, event, 0));
    CHECK(cudaFreeAsync(data, a));                      /* other */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
    return 0;
}
