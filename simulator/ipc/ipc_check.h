/* The checker across processes: compares accesses of this process with those of others to the same
 * memory (ipc/ipc_table.h). All of these need the lock. */
#ifndef SIM_IPC_IPC_CHECK_H
#define SIM_IPC_IPC_CHECK_H

#include "check/checker.h"

/* Sets checker_ipc. Allocations may be shared from now on. */
void ipc_check_start(void);
/* Called when others may import the allocation for the first time: publishes its earlier accesses
 * in the ipc table. */
void ipc_check_exported(struct shadow_ref ref);
/* Called when the allocation ends at its address here: publishes that in the ipc table, and clears
 * the shadow's ipc_ref. `s` NULL: the host ended it. */
void ipc_check_ended(const struct call *call, struct shadow_ref ref, const struct stream *s,
                     uint64_t seq);
/* Called when this process imports an allocation that its exporter has freed. */
void ipc_check_imported_freed(const struct call *call, uint32_t ipc_ref);

#endif
