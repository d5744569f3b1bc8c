/* Clinic, case 11. The shape of a growth that the checker found in RMM's pool. A newer allocator of
 * RMM orders it: https://github.com/rapidsai/rmm/pull/2507.
 *
 * An allocator on top of a CUDA pool keeps a list for each stream, with an event. A stream takes
 * from its own list at once. It takes from another stream's list after it has waited for that
 * list's event. If both are empty, the allocator grows: it allocates a piece in the stream that
 * needs memory, and puts the rest of the piece into that stream's list. */
#include "kernels.h"
#include "workbook.h"

#define BYTES (32 * MiB)
#define PIECE (2 * BYTES)
#define COUNT (BYTES / sizeof(int))

struct list {
    cudaStream_t stream;
    cudaEvent_t ready;
    int *range; /* NULL: the list is empty */
};

static int *list_take(struct list *own, struct list *other)
{
    int *taken = own->range;
    own->range = NULL;
    if (!taken && other->range) {
        CHECK(cudaStreamWaitEvent(own->stream, other->ready, 0));
        taken = other->range;
        other->range = NULL;
    }
    if (!taken) {
        CHECK(cudaMallocAsync((void **)&taken, PIECE, own->stream));
        own->range = taken + COUNT;
    }
    return taken;
}

static void list_give(struct list *own, int *range)
{
    own->range = range;
    CHECK(cudaEventRecord(own->ready, own->stream));
}

int main(void)
{
    struct list a = {0}, b = {0};
    int *earlier, *first, *second, value;
    CHECK(cudaStreamCreate(&a.stream));
    CHECK(cudaStreamCreate(&b.stream));
    CHECK(cudaEventCreateWithFlags(&a.ready, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&b.ready, cudaEventDisableTiming));

    /* Stream a has used the pool before, without the allocator. */
    CHECK(cudaMallocAsync((void **)&earlier, PIECE, a.stream));
    for (int i = 0; i < 100; i++)
        CHECK(launch_fill(earlier, 1, 2 * COUNT, a.stream));
    CHECK(cudaFreeAsync(earlier, a.stream));

    first = list_take(&a, &b);
    second = list_take(&b, &a);
    CHECK(launch_fill(second, 2, COUNT, b.stream));
    CHECK(launch_fill(first, 3, COUNT, a.stream));
    list_give(&a, first);

    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&value, second, sizeof value, cudaMemcpyDeviceToHost));
    printf("the same piece: %s\n", second == first + COUNT ? "yes" : "no");
    printf("stream b wrote 2, and its range holds %d\n", value);
    CHECK(cudaFree(first));
    return value != 2;
}
