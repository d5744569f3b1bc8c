/* Clinic, case 6. The shape of https://github.com/cupy/cupy/pull/5264 (CuPy) and
 * https://github.com/NVIDIA/MatX/pull/578 (MatX).
 *
 * An array remembers the stream in which its memory was allocated, and frees it there. A function
 * makes a stream for its own use, and returns an array. */
#include "kernels.h"
#include "workbook.h"

#define BYTES (1 * MiB)
#define COUNT (BYTES / sizeof(int))

struct array {
    int *data;
    cudaStream_t stream; /* the stream in which it will be freed */
};

static struct array array_create(cudaStream_t stream)
{
    struct array made = {NULL, stream};
    CHECK(cudaMallocAsync((void **)&made.data, BYTES, stream));
    return made;
}

static void array_free(struct array *array)
{
    CHECK(cudaFreeAsync(array->data, array->stream));
    array->data = NULL;
}

/* An array that is ready when the function returns. */
static struct array array_of(int value)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    struct array made = array_create(stream);
    CHECK(launch_fill(made.data, value, COUNT, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    return made;
}

int main(void)
{
    int value;
    struct array array = array_of(3);
    CHECK(cudaMemcpy(&value, array.data, sizeof value, cudaMemcpyDeviceToHost));
    printf("the array holds %d\n", value);
    fflush(stdout);

    array_free(&array);
    CHECK(cudaDeviceSynchronize());
    printf("the array is freed\n");
    return value != 3;
}
