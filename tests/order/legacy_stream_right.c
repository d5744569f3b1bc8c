/* The legacy stream writes, and a blocking stream goes on: it waits for the legacy stream, and the legacy stream for
 * it. */
#include "kernels.h"
#include "workbook.h"

int main(void)
{
    size_t count = MiB / sizeof(int);
    int *data;
    cudaStream_t a;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamDefault));
    CHECK(cudaMalloc((void **)&data, MiB));

    CHECK(launch_fill(data, 1, count, 0));              /* one */
    CHECK(launch_add(data, 1, count, a));               /* other */
    CHECK(cudaStreamSynchronize(a));
    CHECK(launch_add(data, 1, count, 0));
    CHECK(cudaFree(data));
    return 0;
}
