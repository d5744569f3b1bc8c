/* A server answers three requests, twice: from a pool with the default release threshold, and from
 * one that keeps its memory. The first page of the book, 04 and 05 draw its run. */
#include "kernels.h"
#include "workbook.h"

enum { REQUESTS = 3 };

static void serve(int *answers, size_t bytes, cudaStream_t stream)
{
    for (int i = 0; i < REQUESTS; i++) {
        int *data;
        CHECK(cudaMallocAsync((void **)&data, bytes, stream));
        CHECK(launch_fill(data, i, bytes / sizeof *data, stream));
        CHECK(cudaMemcpyAsync(&answers[i], data, 4, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(data, stream));
        CHECK(cudaStreamSynchronize(stream)); /* the answer is here, so send it */
    }
}

int main(int argc, char **argv)
{
    size_t bytes = mib_argument(argc, argv, 24) * MiB;
    int *answers;
    cudaStream_t stream;
    CHECK(cudaMallocHost((void **)&answers, REQUESTS * sizeof *answers));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    cudaMemPool_t standard = pool_create();
    CHECK(cudaDeviceSetMemPool(0, standard));
    serve(answers, bytes, stream);
    CHECK(cudaMemPoolDestroy(standard));

    cudaMemPool_t keeping = pool_create();
    uint64_t keep = UINT64_MAX;
    CHECK(cudaMemPoolSetAttribute(keeping, cudaMemPoolAttrReleaseThreshold, &keep));
    CHECK(cudaDeviceSetMemPool(0, keeping));
    serve(answers, bytes, stream);

    CHECK(cudaMemPoolDestroy(keeping));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(answers));
    return 0;
}
