/* A process imports what it has exported itself. It uses the memory by the second pointer, and
 * frees that before the first.
 *
 * WRONG: it frees the first pointer while it holds the second.
 * Kind: free while this process holds an import of the allocation
 * Says: which this process itself has imported and not freed */
#include "litmus.h"

LITMUS(a)
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
#ifdef WRONG
    CHECK(cudaFreeAsync(first, a)); /* free */
#endif
    CHECK(cudaFreeAsync(second, a));
#ifndef WRONG
    CHECK(cudaFreeAsync(first, a));
#endif
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaMemPoolDestroy(imported));
    CHECK(cudaMemPoolDestroy(pool));
    close(file);
}
