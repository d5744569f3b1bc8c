/* The legacy stream is synchronised before the other one uses the bytes. */
#include "kernels.h"
#include "workbook.h"

static int source[MiB / sizeof(int)];

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(cudaMemcpy(data, source, MiB, cudaMemcpyHostToDevice));   /* one */
    CHECK(cudaStreamSynchronize(0));
    CHECK(launch_add(data, 1, count, a));               /* other */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFree(data));
    return 0;
}
