/* The checker across processes: what an access of this process has to do with the accesses of
 * others to the same memory (ipc/ipc_table.h).
 *
 * All of these need the lock. */
#ifndef SIM_IPC_IPC_CHECK_H
#define SIM_IPC_IPC_CHECK_H

#include "check/checker.h"

/* Sets checker_ipc: allocations may be shared from now on. */
void ipc_check_start(void);
/* The allocation has just become one that others can import: publishes what was done to it so far
 * in the ipc table. */
void ipc_check_exported(struct shadow_ref ref);
/* The life of the allocation's address here is over: publishes that in the ipc table, and ends the
 * shadow's ipc_ref. `s` NULL: by the host. */
void ipc_check_ended(const struct call *call, struct shadow_ref ref, const struct stream *s,
                     uint64_t seq);
/* This process imports an allocation that its exporter has freed. */
void ipc_check_imported_freed(const struct call *call, uint32_t ipc_ref);

#endif
