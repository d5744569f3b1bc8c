/* Sharing pools between processes: a pool travels as a file descriptor, a block of it as 64 bytes.
 *
 *   exporter: pool -> descriptor        block -> 64 bytes: which pool, which block
 *   importer: descriptor -> pool        64 bytes -> the block's address here: the pool's own base + the same
 * offset */
#ifndef SIM_IPC_IPC_POOL_H
#define SIM_IPC_IPC_POOL_H

#include <driver_types.h>

#include "mem/memory.h"

/* Lets other processes have the pool, if its handle types say so: its storage is in a file in
 * memory (assumed: only on a device). False: no file can be made for it. */
bool ipc_pool_make_shareable(struct pool *p);
/* A descriptor of the pool for the program; measured errors: a pool made without this handle type,
 * an imported one, one that is for fabric handles, too. */
cudaError_t ipc_pool_export(struct pool *p, int *descriptor);
/* The pool of a descriptor; the same one each time. measured: closed, or not a pool:
 * cudaErrorUnknown. */
cudaError_t ipc_pool_import(int descriptor, struct pool **p);
/* What a descriptor is in this process, in words for the journal: "a pool", "another file",
 * "closed". */
const char *ipc_pool_fd_kind(int descriptor);
/* The bytes for a block at its start. */
cudaError_t ipc_pool_export_pointer(const void *pointer, struct cudaMemPoolPtrExportData *data);
/* The block of those bytes. measured: a second import gives the same address, and one free ends
 * both. */
cudaError_t ipc_pool_import_pointer(const struct call *call, struct pool *p,
                                    const struct cudaMemPoolPtrExportData *data,
                                    struct address_info *info);

#endif
