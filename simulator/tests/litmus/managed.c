/* Managed memory, and prefetches of it. */
#include "litmus.h"

/* The host waits for the kernel before it reads a small managed array, much less than a page.
 * Prints: summed
 *
 * WRONG: the host does not wait: no edge from the kernel's write to the host's read.
 * Kind: host access not ordered after a write */
LITMUS(managed_small)
{
    size_t count = 100;
    int *data, sum = 0;
    CHECK(cudaMallocManaged((void **)&data, count * sizeof(int), cudaMemAttachGlobal));
    for (size_t i = 0; i < count; i++)
        data[i] = (int)i;

    CHECK(launch_add(data, 1, count, 0)); /* previous access */
    IF_RIGHT(CHECK(cudaDeviceSynchronize()));
    for (size_t i = 0; i < count; i++)
        sum += data[i]; /* access */
    printf("%s\n", sum > 0 ? "summed" : "nothing");
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}

/* Two small managed arrays: the host uses one while a kernel writes the other, or the rest of one
 * beside the kernel. The free of one leaves the other alone. */
LITMUS(managed_neighbors)
{
    size_t count = 1500;
    int *data, *other;
    CHECK(cudaMallocManaged((void **)&data, count * sizeof(int), cudaMemAttachGlobal));
    CHECK(cudaMallocManaged((void **)&other, count * sizeof(int), cudaMemAttachGlobal));

    CHECK(launch_fill(data, 1, count, 0));
    other[0] = other[count - 1] = 2;
    CHECK(cudaDeviceSynchronize());
    data[count - 1] += other[0];
    CHECK(launch_fill(data, 1, count / 2, 0));
    data[count - 1] += other[count - 1];
    CHECK(cudaFree(data));
    other[0] = 3;
    CHECK(cudaFree(other));
}

/* Managed memory is prefetched in the stream that allocated it.
 *
 * WRONG: it is prefetched in another stream: no edge from the allocation to the prefetch.
 * Kind: use before allocation */
LITMUS(prefetch, a, b)
{
    int *data;
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypeManaged;
    props.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a)); /* allocation */
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
    IF_WRONG(CHECK(cudaMemPrefetchAsync(data, MiB, here, 0, b))); /* access */
    IF_RIGHT(CHECK(cudaMemPrefetchAsync(data, MiB, here, 0, a)));
    CHECK(launch_fill(data, 1, 4, a));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeAsync(data, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemPoolDestroy(pool));
}

/* Managed memory is prefetched in one stream while another uses it. */
LITMUS(prefetch_beside, a, b)
{
    int *data;
    CHECK(cudaMallocManaged((void **)&data, MiB, cudaMemAttachGlobal));
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
    CHECK(launch_fill(data, 1, 4, a));
    CHECK(cudaMemPrefetchAsync(data, MiB, here, 0, b));
    CHECK(launch_fill(data, 1, 4, a));
    CHECK(cudaFree(data));
}

/* The second half of a managed allocation is prefetched in one stream while a kernel of another
 * fills all of it. A prefetch touches no bytes.
 *
 * WRONG: the first stream writes one byte in the middle.
 * Kind: unordered writes */
LITMUS(prefetch_inside, a, b)
{
    char *data;
    CHECK(cudaMallocManaged((void **)&data, MiB, cudaMemAttachGlobal));
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
    IF_WRONG(CHECK(cudaMemsetAsync(data + MiB / 2, 0, 1, a))); /* previous access */
    CHECK(cudaMemPrefetchAsync(data + MiB / 2, MiB / 2, here, 0, a));
    CHECK(launch_fill((int *)data, 1, MiB / sizeof(int), b)); /* access */
    CHECK(cudaMemPrefetchAsync(data + MiB / 4, MiB / 2, here, 0, a));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
}

/* Stream a waits for b's prefetch before it frees.
 *
 * WRONG: a does not wait: no edge from the prefetch to the free.
 * Kind: free before the use ends */
LITMUS(prefetch_free, a, b)
{
    int *data;
    cudaMemPool_t pool;
    struct cudaMemPoolProps props = {0};
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice, .id = 0};
    props.allocType = cudaMemAllocationTypeManaged;
    props.location = here;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMallocFromPoolAsync((void **)&data, MiB, pool, a));
    order(a, b);
    CHECK(cudaMemPrefetchAsync(data, MiB, here, 0, b)); /* access */
    CHECK(launch_fill(data, 1, MiB / sizeof(int), a));
    IF_RIGHT(order(b, a));
    CHECK(cudaFreeAsync(data, a)); /* free */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
}
