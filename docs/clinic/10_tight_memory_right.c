/* Clinic, case 10. The shape of https://github.com/tensorflow/tensorflow/pull/50699 (TensorFlow).
 *
 * Memory is tight: the pool may hold 128 MiB. Two streams each free 64 MiB, and a third stream
 * needs 128 MiB. */
#include "kernels.h"
#include "workbook.h"

#define HALF  (64 * MiB)
#define COUNT (16 * MiB / sizeof(int))

static cudaMemPool_t pool;

/* Memory from the pool, or NULL if the pool has none. */
static int *allocate(size_t bytes, cudaStream_t stream)
{
    int *data = NULL;
    cudaError_t answer = cudaMallocFromPoolAsync((void **)&data, bytes, pool, stream);
    printf("%3zu MiB: %s\n", bytes / MiB, cudaGetErrorName(answer));
    if (answer == cudaErrorMemoryAllocation) {
        cudaGetLastError(); /* or the next check of a launch may find this error */
        /* After this all that was freed is free for every stream, and joined. */
        CHECK(cudaDeviceSynchronize());
        answer = cudaMallocFromPoolAsync((void **)&data, bytes, pool, stream);
        printf("%3zu MiB, asked for again: %s\n", bytes / MiB, cudaGetErrorName(answer));
    }
    if (answer == cudaErrorMemoryAllocation)
        return NULL;
    CHECK(answer);
    return data;
}

int main(void)
{
    struct cudaMemPoolProps props = {0};
    cudaStream_t streams[3];
    int *halves[2];
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = 2 * HALF;
    CHECK(cudaMemPoolCreate(&pool, &props));
    for (int i = 0; i < 3; i++)
        CHECK(cudaStreamCreate(&streams[i]));

    for (int i = 0; i < 2; i++)
        halves[i] = allocate(HALF, streams[i]);
    for (int i = 0; i < 2; i++) {
        for (int n = 0; n < 100; n++)
            CHECK(launch_fill(halves[i], n, COUNT, streams[i]));
        CHECK(cudaFreeAsync(halves[i], streams[i]));
    }
    printf("used: %zu MiB of %zu\n", used_mib(pool), reserved_mib(pool));

    int *whole = allocate(2 * HALF, streams[2]);
    if (whole) {
        CHECK(launch_fill(whole, 3, 2 * HALF / sizeof(int), streams[2]));
        CHECK(cudaFreeAsync(whole, streams[2]));
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
    return whole == NULL;
}
