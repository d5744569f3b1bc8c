/* Clinic, case 5. The shape of https://github.com/NVIDIA/cudf/issues/22284 (cuDF).
 *
 * Descriptions of columns are put together on the host and copied to the device. The buffer for
 * that comes from a small pool of page-locked memory, and is returned at the end of the function.
 * Two columns are described, or as many as the argument has. */
#include "kernels.h"
#include "workbook.h"

#define NUMBERS 1024
#define BYTES   (NUMBERS * sizeof(int))
#define BUSY    (16 * MiB)

static int *staging; /* the pool: one buffer */

static int *staging_take(void)
{
    int *taken = staging;
    staging = NULL;
    return taken;
}

static void staging_give_back(int *buffer) { staging = buffer; }

/* Puts the description of column `number` into `description`, in the order of `stream`. */
static void describe(int *description, int number, cudaStream_t stream)
{
    int *buffer = staging_take();
    for (int i = 0; i < NUMBERS; i++)
        buffer[i] = number;
    CHECK(cudaMemcpyAsync(description, buffer, BYTES, cudaMemcpyHostToDevice, stream));
    staging_give_back(buffer);
}

int main(int argc, char **argv)
{
    int columns = argc > 1 ? atoi(argv[1]) : 2;
    int *busy, *descriptions, *results;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocHost((void **)&staging, BYTES));
    CHECK(cudaMallocHost((void **)&results, columns * BYTES));
    CHECK(cudaMallocAsync((void **)&descriptions, columns * BYTES, stream));
    CHECK(cudaMallocAsync((void **)&busy, BUSY, stream));

    for (int i = 0; i < 100; i++) /* what the stream has to do before */
        CHECK(launch_fill(busy, i, BUSY / sizeof(int), stream));
    for (int i = 0; i < columns; i++)
        describe(descriptions + i * NUMBERS, i + 1, stream);

    CHECK(cudaMemcpyAsync(results, descriptions, columns * BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(busy, stream));
    CHECK(cudaFreeAsync(descriptions, stream));
    CHECK(cudaStreamSynchronize(stream));
    int wrong = 0;
    printf("columns described:");
    for (int i = 0; i < columns; i++)
        printf(" %d", i + 1);
    printf("; found on the device:");
    for (int i = 0; i < columns; i++) {
        printf(" %d", results[i * NUMBERS]);
        wrong |= results[i * NUMBERS] != i + 1;
    }
    printf("\n");

    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(staging));
    CHECK(cudaFreeHost(results));
    return wrong;
}
