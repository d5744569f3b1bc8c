/* Sharing memory of cudaMalloc between processes. A process's heap of cudaMalloc gets a file when
 * it first exports an allocation. Only the segments under exported allocations are moved there.
 * Another process opens the file as a heap of its own.
 *
 *   exporter:   allocation -> 64 bytes: the process, its file, which allocation
 *   importer:   64 bytes -> the heap, once for each exporter and device -> its base + the offset
 *
 * All functions here need the lock. */
#ifndef SIM_IPC_IPC_MEMORY_H
#define SIM_IPC_IPC_MEMORY_H

#include <driver_types.h>

#include "mem/memory.h"

/* Writes the handle of an allocation of this process's cudaMalloc. Returns
 * cudaErrorMemoryAllocation, after a message, if there is no file for it, or no room (documented
 * for cudaIpcGetMemHandle). */
cudaError_t ipc_memory_export(const struct address_info *a, cudaIpcMemHandle_t *handle);
/* Returns the process that made the handle, or 0 if its bytes are no handle. */
uint64_t ipc_memory_exporter(const cudaIpcMemHandle_t *handle);
/* Opens the allocation of another process's handle for the current device, and counts the opening.
 * A second opening gives the same address (measured: probe-ipc.txt, "memory"). */
cudaError_t ipc_memory_open(const struct call *call, const cudaIpcMemHandle_t *handle,
                            struct address_info *info);

/* A pool is passed as a file descriptor, and an allocation of it as 64 bytes.
 *
 *   exporter:   pool -> descriptor      allocation -> 64 bytes: which pool, which allocation
 *   importer:   descriptor -> pool      64 bytes -> an address here: the pool's base + the offset
 *
 * Imported pools are in the list of pools (mem/pool.h). */

/* Puts the storage of a pool into a file in memory, so that others can import it, if the pool's
 * handle types require that (assumed: only on a device). Returns false if no file can be made. */
bool ipc_pool_make_shareable(struct pool *p);
/* Writes a new descriptor of the pool, which the program owns. Errors are measured: a pool without
 * this handle type (one-gpu.txt, "export"), an imported pool (ipc.txt), and one that also has
 * fabric handles (probe-ipc.txt, "pool_other_types"). */
cudaError_t ipc_pool_export(struct pool *p, int *descriptor);
/* Returns how many descriptors that this process exported are still open. */
size_t ipc_pool_count_open(void);
/* Finds the pool of a descriptor, each time the same pool. Returns cudaErrorUnknown if the
 * descriptor is closed or not a pool's (measured: probe-ipc.txt, "pool_import"). */
cudaError_t ipc_pool_import(int descriptor, struct pool **p);
/* For the journal: returns whether a descriptor is "a pool", "another file", or "closed". */
const char *ipc_pool_fd_kind(int descriptor);
/* Writes the bytes for the allocation that starts at this pointer. */
cudaError_t ipc_pool_export_pointer(const void *pointer, struct cudaMemPoolPtrExportData *data);
/* Finds the allocation that the bytes name, and imports it unless this process already has. A
 * second import gives the same address, and one free ends both (measured: ipc.txt). */
cudaError_t ipc_pool_import_pointer(const struct call *call, struct pool *p,
                                    const struct cudaMemPoolPtrExportData *data,
                                    struct address_info *info);

#endif
