/* Copies and memsets of a call, after the call's own checks: what api/memory_calls.c has for
 * api/rows_calls.c. All need the lock. */
#ifndef SIM_API_COPIES_H
#define SIM_API_COPIES_H

#include "api/call.h"
#include "run/commands.h"

/* Puts the bytes of the rows into the call's line. Several rows have their number, too. */
void line_rows(struct journal_line *line, struct rows r);
/* Each queues the work and returns its error. The first two wait as the blocking call does,
 * copy_async as far as an asynchronous copy does. `peer`: cudaMemcpyPeerAsync. */
cudaError_t memset_now(struct call *call, void *to, int value, struct rows r);
cudaError_t copy_now(struct call *call, void *to, const void *from, struct rows r,
                     enum cudaMemcpyKind kind);
cudaError_t memset_async(struct call *call, void *to, int value, struct rows r, struct stream *s);
cudaError_t copy_async(struct call *call, void *to, const void *from, struct rows r,
                       enum cudaMemcpyKind kind, cudaStream_t stream, bool peer);

#endif
