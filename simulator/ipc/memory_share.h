/* Memory of cudaMalloc in several processes: 64 bytes name a block, and the process that opens them reaches it at an address of its own.
 *
 * The first block of a device that is named so moves the granules under it into a file in memory; they stay there. The checker does not look across
 * this border (chosen: only pools have a place where processes can say what they do). */
#ifndef SIM_IPC_MEMORY_SHARE_H
#define SIM_IPC_MEMORY_SHARE_H

#include <driver_types.h>

#include "mem/memory.h"

/* The handle of the block that this address lies in. measured: also for an address inside it; cudaErrorInvalidValue for all that is not cudaMalloc's,
 * and for a block of another process. */
cudaError_t memory_share(const void *pointer, cudaIpcMemHandle_t *handle);
/* The block of a handle. measured: opened twice, it has one address and must be closed twice; the errors; an own handle is cudaErrorDeviceUninitialized. */
cudaError_t memory_share_open(const cudaIpcMemHandle_t *handle, unsigned flags, struct place *place);
/* Closes it; the caller has waited for all work. measured: cudaErrorInvalidValue for everything but the start of an opened block. */
cudaError_t memory_share_close(const void *pointer);
/* The place is in a block that another process has made with cudaMalloc: cudaFree and cudaFreeAsync refuse it (measured). */
bool memory_is_opened(const struct place *p);
/* Every opened block; returns how many. */
size_t memory_share_each_live(void (*visit)(struct watched b));

#endif
