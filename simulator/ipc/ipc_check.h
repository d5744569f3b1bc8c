/* The checker across the border: what a deed of this process has to do with the deeds of others on
 * the same memory (ipc/ipc_table.h). */
#ifndef SIM_IPC_IPC_CHECK_H
#define SIM_IPC_IPC_CHECK_H

#include "check/checker.h"

/* Tells the checker that allocations may be shared from now on. */
void ipc_check_start(void);
/* The block has just become one that others can import: they learn what was done to it so far. */
void ipc_check_exported(struct shadow_ref ref);
/* The life of the block's address here is over; the others learn it. `s` NULL: by the host. */
void ipc_check_ended(const struct call *call, struct shadow *shadow, const struct stream *s,
                     uint64_t seq);
/* This process imports a block that its exporter has freed. */
void ipc_check_imported_freed(const struct call *call, uint32_t ipc_ref);

#endif
