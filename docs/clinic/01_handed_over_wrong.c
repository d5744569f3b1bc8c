/* Clinic, case 1. The shape of https://github.com/facebookincubator/velox/pull/17840 (Velox on
 * cuDF).
 *
 * A stage packs tables on its stream. The next stage works on another stream: it waits until a
 * table is packed, copies it, and drops the packed one. The owner of a buffer frees it when it is
 * dropped. The packing stage goes on. */
#include "kernels.h"
#include "workbook.h"

#define BYTES (16 * MiB)
#define COUNT (BYTES / sizeof(int))

struct buffer {
    int *data;
    cudaStream_t stream; /* the stream in which it will be freed */
};

static struct buffer buffer_create(cudaStream_t stream)
{
    struct buffer made = {NULL, stream};
    CHECK(cudaMallocAsync((void **)&made.data, BYTES, stream));
    return made;
}

static void buffer_drop(struct buffer dropped)
{
    CHECK(cudaFreeAsync(dropped.data, dropped.stream));
}

int main(void)
{
    cudaStream_t packing, copying;
    cudaEvent_t packed;
    int *result;
    CHECK(cudaStreamCreate(&packing));
    CHECK(cudaStreamCreate(&copying));
    CHECK(cudaEventCreateWithFlags(&packed, cudaEventDisableTiming));
    CHECK(cudaMallocHost((void **)&result, sizeof *result));

    struct buffer first = buffer_create(packing);
    CHECK(launch_fill(first.data, 1, COUNT, packing));
    CHECK(cudaEventRecord(packed, packing));

    struct buffer table = buffer_create(copying);
    for (int i = 0; i < 100; i++) /* what the copying stage has to do before */
        CHECK(launch_fill(table.data, 0, COUNT, copying));
    CHECK(cudaStreamWaitEvent(copying, packed, 0));
    CHECK(cudaMemcpyAsync(table.data, first.data, BYTES, cudaMemcpyDeviceToDevice, copying));
    buffer_drop(first);

    struct buffer second = buffer_create(packing);
    CHECK(launch_fill(second.data, 2, COUNT, packing));

    CHECK(cudaMemcpyAsync(result, table.data, sizeof *result, cudaMemcpyDeviceToHost, copying));
    CHECK(cudaDeviceSynchronize());
    printf("the first table: packed as 1, copied as %d\n", *result);
    int wrong = *result != 1;

    buffer_drop(second);
    buffer_drop(table);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeHost(result));
    return wrong;
}
