/* Clinic case 10 asks for what its pool can't give: what does the pool reserve before the refused
 * call, and after it? The two frees are pending, in two streams, so chance has a say on a GPU
 * (make gpu chance runs it). */
#include "kernels.h"
#include "workbook.h"

#define HALF  (64 * MiB)
#define COUNT (16 * MiB / sizeof(int))

int main(void)
{
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {0};
    cudaStream_t streams[3];
    int *halves[2];
    void *whole = NULL;
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = 2 * HALF;
    CHECK(cudaMemPoolCreate(&pool, &props));
    for (int i = 0; i < 3; i++)
        CHECK(cudaStreamCreate(&streams[i]));
    for (int i = 0; i < 2; i++)
        CHECK(cudaMallocFromPoolAsync((void **)&halves[i], HALF, pool, streams[i]));
    for (int i = 0; i < 2; i++) {
        for (int n = 0; n < 100; n++)
            CHECK(launch_fill(halves[i], n, COUNT, streams[i]));
        CHECK(cudaFreeAsync(halves[i], streams[i]));
    }

    size_t before = reserved_mib(pool);
    cudaError_t answer = cudaMallocFromPoolAsync(&whole, 2 * HALF, pool, streams[2]);
    printf("%s, reserved %zu MiB before the call, %zu MiB after it\n", cudaGetErrorName(answer),
           before, reserved_mib(pool));

    if (answer == cudaSuccess)
        CHECK(cudaFreeAsync(whole, streams[2]));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 3; i++)
        CHECK(cudaStreamDestroy(streams[i]));
    CHECK(cudaMemPoolDestroy(pool));
    return 0;
}
