/* The checker across the border: what a deed of this process has to do with the deeds of others on the same memory (ipc/ipc_table.h). */
#ifndef SIM_IPC_IPC_CHECK_H
#define SIM_IPC_IPC_CHECK_H

#include "check/checker.h"

/* Called by the checker for blocks whose watch says `shared`; `by` is the deed of the call on its way. */
void checker_border_used(struct watched b, struct deed by, const struct stream *s, size_t from, size_t to, bool write);
void checker_border_freed(struct watched b, struct deed by, const struct stream *s);
/* The block has just become one that others can import: they learn what was done to it so far. */
void checker_border_exported(struct watched b);
/* The life of the block's address here is over; the others learn it. `s` NULL: by the host. */
void checker_border_ended(struct watch *w, const struct stream *s, uint64_t number);
/* This process imports a block that its exporter has freed. */
void checker_border_gone(uint32_t shared);

#endif
