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
/* Slices of rows: the addresses of element (0, 0, 0), and the distances between slices. Several
 * slices become rows of one slice if no row is left out between them. */
struct slices {
    char *to;
    const char *from;
    size_t to_step, from_step, count;
    struct rows rows;
};
/* Finds the slices of a copy without arrays, none if it has no bytes, or returns its error. */
cudaError_t copy_slices(const struct cudaMemcpy3DParms *p, struct slices *x);
/* Each queues the work and returns its error. Without a stream (NULL), the call blocks. */
cudaError_t copy_memory(struct call *call, void *to, const void *from, struct rows r,
                        enum cudaMemcpyKind kind, const cudaStream_t *stream);
cudaError_t copy_bytes(struct call *call, void *to, const void *from, size_t bytes,
                       enum cudaMemcpyKind kind, const cudaStream_t *stream);
cudaError_t memset_now(struct call *call, void *to, int value, unsigned element, struct rows r);
cudaError_t memset_async(struct call *call, void *to, int value, unsigned element, struct rows r,
                         struct stream *s);
/* Do the same for rows at these pitches, and for slices of rows. A row has `width` elements of so
 * many bytes. */
cudaError_t copy_2d(struct call *call, void *to, size_t to_pitch, const void *from,
                    size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                    const cudaStream_t *stream);
cudaError_t copy_3d(struct call *call, const struct cudaMemcpy3DParms *p,
                    const cudaStream_t *stream, bool between_peers);
cudaError_t memset_2d(struct call *call, void *to, size_t pitch, int value, unsigned element,
                      size_t width, size_t height, const cudaStream_t *stream);
cudaError_t memset_3d(struct call *call, struct cudaPitchedPtr to, int value,
                      struct cudaExtent extent, const cudaStream_t *stream);

/* Copies between memory and a variable of device code. */
cudaError_t copy_symbol(struct call *call, const void *symbol, size_t offset, void *memory,
                        size_t bytes, enum cudaMemcpyKind kind, bool to_symbol,
                        const cudaStream_t *stream);

/* Returns the error of an asynchronous copy that names its devices, or cudaSuccess. */
cudaError_t check_peer_copy(struct call *call, const void *to, int toDevice, const void *from,
                            int fromDevice, size_t bytes, cudaStream_t stream);

#endif
