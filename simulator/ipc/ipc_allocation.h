/* Sharing one allocation of a heap between processes: its bytes lie in the heap's file, and bytes
 * that the program sends name its entry in the ipc table. All functions here need the lock. */
#ifndef SIM_IPC_IPC_ALLOCATION_H
#define SIM_IPC_IPC_ALLOCATION_H

#include "ipc/ipc_table.h"
#include "mem/memory.h"

/* What names an exported allocation. The same allocation gives the same bytes (measured:
 * probe-ipc.txt, "pool_export", "memory_handles"), so the struct has no padding, whose bytes would
 * be random. */
struct ipc_allocation_name {
    uint64_t magic; /* Tells which call made the name. */
    uint64_t heap, generation;
    uint64_t process; /* The exporter. */
    int32_t entry;
    int32_t file; /* The heap's file, as a descriptor of the exporter. */
};

/* Shares a heap, which owns the table and the file from now on. */
void ipc_heap_share(struct heap *h, struct ipc_table *table, int file);
/* Shares a heap by a new file. Returns false, after a message about `what`, if there is none. */
bool ipc_heap_share_new(struct heap *h, int location, const char *what);
/* Names an allocation of a shared heap, so that others can import it. Returns false, after a
 * message, if the table is full. */
bool ipc_allocation_export(const struct address_info *a, uint64_t magic,
                           struct ipc_allocation_name *name);
/* Finds the allocation of that name in an imported heap, and imports it, as allocated by the call,
 * unless this process already has. Importing an allocation that its exporter has freed is reported,
 * and succeeds (measured: probe-ipc.txt, "pool_freed_block", "memory"), unless its memory is
 * released. */
cudaError_t ipc_allocation_import(const struct call *call, struct heap *h,
                                  const struct ipc_allocation_name *name, enum allocation_kind kind,
                                  struct address_info *info);

#endif
