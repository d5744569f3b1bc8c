/* Sharing pools between processes: a pool is passed as a file descriptor, and an allocation as 64
 * bytes.
 *
 *   exporter:   pool -> descriptor      allocation -> 64 bytes: which pool, which allocation
 *   importer:   descriptor -> pool      64 bytes -> an address here: the pool's base + the offset
 *
 * Imported pools are in the list of pools (mem/pool.h). All of these need the lock. */
#ifndef SIM_IPC_IPC_POOL_H
#define SIM_IPC_IPC_POOL_H

#include <driver_types.h>

#include "mem/memory.h"

/* If its handle types require it, makes the pool importable: its storage is in a file in memory
 * (assumed: only on a device). Returns false if no file can be made. */
bool ipc_pool_make_shareable(struct pool *p);
/* Writes a new descriptor of the pool, which the program owns. Errors are measured: a pool without
 * this handle type (one-gpu.txt, "export"), an imported pool (ipc.txt), and one that also has
 * fabric handles (probe-ipc.txt, "pool_other_types"). */
cudaError_t ipc_pool_export(struct pool *p, int *descriptor);
/* Returns how many descriptors that this process exported are still open. */
size_t ipc_pool_count_open(void);
/* Finds the pool of a descriptor, always the same one. Returns cudaErrorUnknown if the descriptor
 * is closed or not a pool's (measured: probe-ipc.txt, "pool_import"). */
cudaError_t ipc_pool_import(int descriptor, struct pool **p);
/* Returns what a descriptor is in this process, for the journal: "a pool", "another file",
 * "closed". */
const char *ipc_pool_fd_kind(int descriptor);
/* Writes the bytes for the allocation that starts at this pointer. */
cudaError_t ipc_pool_export_pointer(const void *pointer, struct cudaMemPoolPtrExportData *data);
/* Finds the allocation of those bytes, and imports it if it is not here yet. A second import gives
 * the same address, and one free ends both (measured: ipc.txt). */
cudaError_t ipc_pool_import_pointer(const struct call *call, struct pool *p,
                                    const struct cudaMemPoolPtrExportData *data,
                                    struct address_info *info);

#endif
