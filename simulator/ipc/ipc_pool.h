/* Sharing pools between processes: a pool travels as a file descriptor, an allocation of it as 64
 * bytes.
 *
 *   exporter:   pool -> descriptor      allocation -> 64 bytes: which pool, which allocation
 *   importer:   descriptor -> pool      64 bytes -> an address here: the pool's base + the offset
 *
 * All of these need the lock. A pool that is imported belongs to the list of pools (mem/pool.h). */
#ifndef SIM_IPC_IPC_POOL_H
#define SIM_IPC_IPC_POOL_H

#include <driver_types.h>

#include "mem/memory.h"

/* Makes the pool one that other processes can import, if its handle types require it: its storage
 * is in a file in memory (assumed: only on a device). Returns false when no file can be made. */
bool ipc_pool_make_shareable(struct pool *p);
/* Writes a new descriptor of the pool, which is the program's. Measured errors: a pool made without
 * this handle type (one-gpu.txt, "export"), an imported one (ipc.txt), one that is for fabric
 * handles, too (probe-ipc.txt, "pool_other_types"). */
cudaError_t ipc_pool_export(struct pool *p, int *descriptor);
/* Returns how many of the descriptors that this process exported it has not closed. */
size_t ipc_pool_count_open(void);
/* Finds the pool of a descriptor; the same one each time. Measured (probe-ipc.txt, "pool_import"):
 * cudaErrorUnknown when it is closed, or not a pool's. */
cudaError_t ipc_pool_import(int descriptor, struct pool **p);
/* Returns what a descriptor is in this process, for the journal: "a pool", "another file",
 * "closed". */
const char *ipc_pool_fd_kind(int descriptor);
/* Writes the bytes for the allocation that starts at this pointer. */
cudaError_t ipc_pool_export_pointer(const void *pointer, struct cudaMemPoolPtrExportData *data);
/* Finds the allocation of those bytes, and imports it if it is not here. Measured (ipc.txt): a
 * second import gives the same address, and one free ends both. */
cudaError_t ipc_pool_import_pointer(const struct call *call, struct pool *p,
                                    const struct cudaMemPoolPtrExportData *data,
                                    struct address_info *info);

#endif
