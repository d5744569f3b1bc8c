/* What the host may touch now. A load or store makes no call, so the checker would not see it; but in memory that host and device share (host and
 * managed pools, cudaMallocManaged) the host's view of a page can be closed while a touch of it would be wrong:
 *
 * - no touch before the host has waited for the block's allocation, or for work that writes there, and none after its free;
 * - no store before the host has waited for work that reads there.
 *
 * The first touch of a closed page is accused, and the page is opened. Pages are closed only where they lie whole in what the work uses, so that
 * no right program is accused, and not behind a host function that has not returned, which may use them before. Of a range without a whole page (4 KiB) nothing is seen. */
#ifndef SIM_GUARD_H
#define SIM_GUARD_H

#include "watch.h"

struct stream;

/* A block, and who allocated it. */
struct guarded { uint32_t id; const char *address; size_t bytes; const struct deed *allocated; };

/* Each is told what the checker is told; a block of other memory is none of the guard's business. */
void guard_allocated(struct guarded b);
void guard_used(struct guarded b, struct deed by, const struct stream *s, size_t from, size_t to, bool write);
void guard_freed(struct guarded b, struct deed by, const struct stream *s);

/* These addresses are nobody's any more. */
void guard_forgotten(const char *address, size_t bytes);

/* The host touched an address that it may not, in an instruction at `site`; NULL: in a call of ours, which is not accused.
 * True: it may now go on. */
bool guard_touched(const void *address, void *site);

#endif
