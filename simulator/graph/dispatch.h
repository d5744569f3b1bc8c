/* Work that a call of the program requires. These functions queue the work in a stream or, if the
 * stream is being captured, add it to a graph as a node. All functions here need the lock. */
#ifndef SIM_GRAPH_DISPATCH_H
#define SIM_GRAPH_DISPATCH_H

#include "graph/capture.h"
#include "run/commands.h"

/* Each returns the error of capture_check or, without one, of the function in run/commands.h. */
cudaError_t dispatch_memset(struct call *call, void *to, int value, unsigned element, struct rows r,
                            struct stream *s);
cudaError_t dispatch_copy(struct call *call, void *to, const void *from, struct rows r,
                          enum cudaMemcpyKind kind, struct stream *s, enum copy_wait *wait);
/* Queues a kernel or a host function, or adds its node. */
cudaError_t dispatch(struct call *call, struct task *t, struct stream *s);
/* Queues the work of a node of any kind. */
cudaError_t dispatch_now(struct call *call, const struct task *t, struct stream *s);

/* Capture cudaMallocAsync and cudaFreeAsync in a stream that is being captured, after capture_check
 * has returned no error. The allocation node gets the properties of the pool `like`. */
cudaError_t dispatch_allocation(struct call *call, struct stream *s, const struct pool *like,
                                size_t bytes, void **pointer);
cudaError_t dispatch_free(struct call *call, struct stream *s, void *pointer);

/* Makes the task of a memset node on device t->device. Returns an error for invalid parameters. */
cudaError_t dispatch_memset_task(struct task *t, void *to, size_t pitch, unsigned value,
                                 unsigned element, size_t width, size_t height);
/* Returns the error with which adding this copy to a graph fails, or cudaSuccess. */
cudaError_t dispatch_check_copy(const struct task *t);

#endif
