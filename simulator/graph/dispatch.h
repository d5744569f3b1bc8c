/* Work that a call of the program requires. It is done now, in the order of the stream or, if the
 * stream is being captured, becomes a node of a graph. All of these functions need the lock. */
#ifndef SIM_GRAPH_DISPATCH_H
#define SIM_GRAPH_DISPATCH_H

#include "graph/capture.h"
#include "run/commands.h"

/* Return the error of capture_check or, after that, of run/commands.h, or cudaSuccess. */
cudaError_t dispatch_memset(struct call *call, void *to, int value, unsigned element, struct rows r,
                            struct stream *s);
cudaError_t dispatch_copy(struct call *call, void *to, const void *from, struct rows r,
                          enum cudaMemcpyKind kind, struct stream *s, bool peer,
                          enum copy_wait *wait);
cudaError_t dispatch_fill(struct call *call, int *data, int value, size_t count, struct stream *s);
cudaError_t dispatch_add(struct call *call, int *data, int value, size_t count, struct stream *s);
cudaError_t dispatch_hold(struct call *call, const volatile int *gate, struct stream *s);
cudaError_t dispatch_user_kernel(struct call *call, struct user_kernel *kernel, struct stream *s);
cudaError_t dispatch_nvcc_kernel(struct call *call, struct nvcc_kernel *kernel, struct stream *s);
cudaError_t dispatch_host_function(struct call *call, void (*function)(void *), void *argument,
                                   struct stream *s);

/* Capture cudaMallocAsync and cudaFreeAsync in a stream that is being captured, after capture_check
 * has returned no error. The allocation node gets the properties of the pool `like`. */
cudaError_t dispatch_allocation(struct call *call, struct stream *s, const struct pool *like,
                                size_t bytes, void **pointer);
cudaError_t dispatch_free(struct call *call, struct stream *s, void *pointer);

/* Makes the task of a memset node for the device t->device from its parameters. Returns an error if
 * they are rejected. */
cudaError_t dispatch_memset_task(struct task *t, void *to, size_t pitch, unsigned value,
                                 unsigned element, size_t width, size_t height);
/* Returns the error with which a stream rejects such a copy of graph or other memory, or
 * cudaSuccess. */
cudaError_t dispatch_check_copy(const struct task *t);

#endif
