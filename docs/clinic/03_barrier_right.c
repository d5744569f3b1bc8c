/* Clinic, case 3. The shape of https://github.com/torch/cutorch/pull/222 (Torch 7).
 *
 * Several streams work on parts of one allocation. A barrier makes one stream wait for all of
 * them; that stream then copies the result and frees the memory. */
#include "kernels.h"
#include "workbook.h"

#define WORKERS 3
#define BYTES   (16 * MiB)
#define COUNT   (BYTES / sizeof(int))

static cudaEvent_t event;

/* Makes `waiting` wait for what is in all of `workers`. */
static void barrier(cudaStream_t waiting, const cudaStream_t *workers, int count)
{
    for (int i = 0; i < count; i++) {
        CHECK(cudaEventRecord(event, workers[i]));
        CHECK(cudaStreamWaitEvent(waiting, event, 0));
    }
}

int main(void)
{
    cudaStream_t collecting, workers[WORKERS];
    int *parts, *results;
    CHECK(cudaStreamCreate(&collecting));
    for (int i = 0; i < WORKERS; i++)
        CHECK(cudaStreamCreate(&workers[i]));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaMallocHost((void **)&results, WORKERS * sizeof *results));
    CHECK(cudaMallocAsync((void **)&parts, WORKERS * BYTES, collecting));
    CHECK(launch_fill(parts, 0, WORKERS * COUNT, collecting));
    CHECK(cudaStreamSynchronize(collecting));

    for (int i = 0; i < WORKERS; i++) /* the first has 40 times as much to do as the last */
        for (int n = 0; n < (i == 0 ? 40 : 1); n++)
            CHECK(launch_add(parts + (size_t)i * COUNT, 1, COUNT, workers[i]));

    barrier(collecting, workers, WORKERS);
    for (int i = 0; i < WORKERS; i++)
        CHECK(cudaMemcpyAsync(results + i, parts + (size_t)(i + 1) * COUNT - 1, sizeof *results,
                              cudaMemcpyDeviceToHost, collecting));
    CHECK(cudaFreeAsync(parts, collecting));
    CHECK(cudaDeviceSynchronize());

    printf("additions asked for: 40 1 1; found at the barrier: %d %d %d\n", results[0], results[1],
           results[2]);
    int wrong = results[0] != 40 || results[1] != 1 || results[2] != 1;
    CHECK(cudaFreeHost(results));
    return wrong;
}
