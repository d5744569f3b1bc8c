/* A pool that its own process imports. */
#include "litmus.h"

/* A process imports what it has exported itself. It uses the memory by the second pointer, and
 * frees that before the first.
 *
 * WRONG: it frees the first pointer while it holds the second.
 * Kind: free while this process holds an import of the allocation
 * Says: which this process itself has imported and not freed */
LITMUS(import_in_own_process, a)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                     .location = {cudaMemLocationTypeDevice, 0}};
    struct cudaMemPoolPtrExportData exported;
    int file;
    void *first, *second;
    cudaMemPool_t pool, imported;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMallocFromPoolAsync(&first, 4096, pool, a)); /* allocation */
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemPoolExportToShareableHandle(&file, pool, props.handleTypes, 0));
    CHECK(cudaMemPoolExportPointer(&exported, first));
    CHECK(cudaMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)file, props.handleTypes,
                                               0));
    CHECK(cudaMemPoolImportPointer(&second, imported, &exported));
    CHECK(cudaMemsetAsync(second, 7, 4096, a));
    IF_WRONG(CHECK(cudaFreeAsync(first, a))); /* free */
    CHECK(cudaFreeAsync(second, a));
    IF_RIGHT(CHECK(cudaFreeAsync(first, a)));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemPoolDestroy(imported));
    CHECK(cudaMemPoolDestroy(pool));
    close(file);
}

/* A process imports what it has exported itself, writes by the first pointer in one stream and by
 * the second in another that waits for the first.
 *
 * WRONG: it does not wait: no edge between the two writes.
 * Kind: unordered writes
 * Says: and this process (launch_fill, its stream 1) touch the same bytes */
LITMUS(import_use_in_own_process, a, b)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                     .location = {cudaMemLocationTypeDevice, 0}};
    struct cudaMemPoolPtrExportData exported;
    int file;
    void *first, *second;
    cudaMemPool_t pool, imported;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMallocFromPoolAsync(&first, 4096, pool, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemPoolExportToShareableHandle(&file, pool, props.handleTypes, 0));
    CHECK(cudaMemPoolExportPointer(&exported, first));
    CHECK(cudaMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)file, props.handleTypes,
                                               0));
    CHECK(cudaMemPoolImportPointer(&second, imported, &exported)); /* allocation */
    CHECK(launch_fill(first, 1, 1024, a));
    IF_RIGHT(order(a, b));
    CHECK(launch_add(second, 1, 1024, b)); /* access */
    CHECK(cudaFreeAsync(second, b));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaFreeAsync(first, a));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemPoolDestroy(imported));
    CHECK(cudaMemPoolDestroy(pool));
    close(file);
}
