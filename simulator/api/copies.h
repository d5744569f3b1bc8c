/* Copies and memsets after the call's own checks, for api/memory_calls.c and api/rows_calls.c. All
 * need the lock. */
#ifndef SIM_API_COPIES_H
#define SIM_API_COPIES_H

#include "api/call.h"
#include "run/commands.h"

/* Adds the bytes of the rows to the call's line and, if there are several rows, their number. */
void line_rows(struct journal_line *line, struct rows r);
/* Return the error of rows that overlap or wrap, or cudaSuccess. */
cudaError_t copy_rows(size_t to_pitch, size_t from_pitch, size_t width, size_t height,
                      struct rows *r);
cudaError_t memset_rows(const struct call *call, size_t pitch, size_t width, size_t height,
                        struct rows *r);
/* Each queues the work and returns its error. The first two wait like the blocking call, and
 * copy_async like an asynchronous copy. */
cudaError_t memset_now(struct call *call, void *to, int value, unsigned element, struct rows r);
cudaError_t copy_now(struct call *call, void *to, const void *from, struct rows r,
                     enum cudaMemcpyKind kind);
cudaError_t memset_async(struct call *call, void *to, int value, unsigned element, struct rows r,
                         struct stream *s);
cudaError_t copy_async(struct call *call, void *to, const void *from, struct rows r,
                       enum cudaMemcpyKind kind, cudaStream_t stream);

/* The same for rows at these pitches, and for slices of rows. `stream` is NULL for a call that has
 * none. */
cudaError_t copy_2d(struct call *call, void *to, size_t to_pitch, const void *from,
                    size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                    const cudaStream_t *stream);
cudaError_t copy_3d(struct call *call, const struct cudaMemcpy3DParms *p,
                    const cudaStream_t *stream, bool between_peers);
cudaError_t memset_2d(struct call *call, void *to, size_t pitch, int value, size_t width,
                      size_t height, const cudaStream_t *stream);
cudaError_t memset_3d(struct call *call, struct cudaPitchedPtr to, int value,
                      struct cudaExtent extent, const cudaStream_t *stream);

/* Returns the error of an asynchronous copy that names its devices, or cudaSuccess. */
cudaError_t check_peer_copy(struct call *call, const void *to, int toDevice, const void *from,
                            int fromDevice, size_t bytes, cudaStream_t stream);

#endif
