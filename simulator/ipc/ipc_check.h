/* The checker across processes: compares accesses of this process with those of others to the same
 * memory (ipc/ipc_table.h). All functions here need the lock. */
#ifndef SIM_IPC_IPC_CHECK_H
#define SIM_IPC_IPC_CHECK_H

#include "check/checker.h"

/* Sets checker_ipc. Called before this process shares an allocation. */
void ipc_check_start(void);
/* Called when others may first import the allocation: publishes its earlier accesses in the
 * table. */
void ipc_check_exported(struct shadow_ref ref);
/* Called when the allocation ends at its address here: publishes its end in the ipc table, and
 * clears the shadow's ipc_ref. `s` is NULL if the host ended the allocation. */
void ipc_check_ended(const struct call *call, struct shadow_ref ref, const struct stream *s,
                     uint64_t seq);
/* Called when this process imports an allocation that its exporter has freed. */
void ipc_check_imported_freed(const struct call *call, uint32_t ipc_ref);

#endif
