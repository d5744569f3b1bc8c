/* The review of the book's first part (docs/rules/one_stream.rst): one pool with a limit and a
 * threshold, one stream, and what the pool has after each call. */
#include "kernels.h"
#include "workbook.h"

static cudaMemPool_t pool;
static cudaStream_t stream;

static int *take(size_t mib)
{
    int *data = NULL;
    cudaError_t result = cudaMallocFromPoolAsync((void **)&data, mib * MiB, pool, stream);
    printf("%zu MiB: %s\n", mib, cudaGetErrorName(result));
    cudaGetLastError();
    return data;
}

static void report(const char *line)
{
    printf("%-42s used %3zu MiB, reserved %3zu MiB\n", line, used_mib(pool), reserved_mib(pool));
}

int main(void)
{
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.maxSize = 90 * MiB;
    CHECK(cudaMemPoolCreate(&pool, &props));
    pool_set(pool, cudaMemPoolAttrReleaseThreshold, 48 * MiB);

    int *a = take(40), *b = take(40);
    report("a and b");
    int *c = take(20);
    CHECK(cudaFreeAsync(a, stream));
    c = c ? c : take(20);
    report("a freed, c allocated behind it");
    CHECK(cudaFreeAsync(b, stream));
    CHECK(cudaFreeAsync(c, stream));
    while (cudaStreamQuery(stream) == cudaErrorNotReady)
        continue;
    report("b and c freed, the stream queried");
    CHECK(cudaStreamSynchronize(stream));
    report("synchronized");
    CHECK(cudaMemPoolTrimTo(pool, 40 * MiB));
    report("trimmed to 40 MiB");
    printf("watermark of used: %zu MiB\n",
           (size_t)(pool_get(pool, cudaMemPoolAttrUsedMemHigh) / MiB));

    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
