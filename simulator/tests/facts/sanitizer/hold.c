/* What compute-sanitizer makes of a kernel beside a kernel that holds:
 * hold memset|kernel|copy|allocation
 *
 * One stream holds at a gate. Another does its work and is synchronized. On a device that comes to
 * an end: the streams have nothing to do with each other. Under compute-sanitizer 2025.3 the wait
 * for a kernel waits for the hold as well, for ever. */
#include "kernels.h"
#include "workbook.h"

#include <string.h>

int main(int argc, char **argv)
{
    const char *work = argc > 1 ? argv[1] : "memset";
    int *memory, *second, *pinned;
    cudaStream_t held, other;
    volatile int *gate = gate_create();
    CHECK(cudaStreamCreateWithFlags(&held, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaMallocAsync((void **)&memory, MiB, other));
    CHECK(cudaMallocHost((void **)&pinned, sizeof *pinned));
    *pinned = 1;

    CHECK(launch_hold(gate, held));
    if (strcmp(work, "kernel") == 0) {
        CHECK(launch_fill(memory, 1, 1, other));
    } else if (strcmp(work, "memset") == 0) {
        CHECK(cudaMemsetAsync(memory, 1, MiB, other));
    } else if (strcmp(work, "copy") == 0) {
        CHECK(cudaMemcpyAsync(memory, pinned, sizeof *pinned, cudaMemcpyHostToDevice, other));
    } else {
        CHECK(cudaMallocAsync((void **)&second, MiB, other));
        CHECK(cudaFreeAsync(second, other));
    }
    CHECK(cudaStreamSynchronize(other));
    puts("done beside the hold");

    gate_open(gate);
    CHECK(cudaFreeAsync(memory, other));
    CHECK(cudaStreamSynchronize(held));
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaStreamDestroy(held));
    gate_destroy(gate);
    return 0;
}
