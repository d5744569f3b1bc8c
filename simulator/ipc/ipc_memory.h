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

#endif
