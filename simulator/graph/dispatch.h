/* Work that the skin hands on: done now, in the order of the stream, or captured as a node of a
 * graph when the stream is being captured. */
#ifndef SIM_GRAPH_DISPATCH_H
#define SIM_GRAPH_DISPATCH_H

#include "graph/capture.h"
#include "run/commands.h"

cudaError_t dispatch_memset(struct call *call, void *to, int value, size_t bytes, struct stream *s);
cudaError_t dispatch_copy(struct call *call, void *to, const void *from, size_t bytes,
                          enum cudaMemcpyKind kind, struct stream *s, bool peer,
                          enum copy_wait *wait);
cudaError_t dispatch_fill(struct call *call, int *data, int value, size_t count, struct stream *s);
cudaError_t dispatch_add(struct call *call, int *data, int value, size_t count, struct stream *s);
cudaError_t dispatch_hold(struct call *call, const volatile int *gate, struct stream *s);
cudaError_t dispatch_host_function(struct call *call, void (*function)(void *), void *argument,
                                   struct stream *s);

/* cudaMallocAsync and cudaFreeAsync in a stream that is being captured (capture_check has said
 * nothing). `like`: the pool whose properties the allocation node takes. */
cudaError_t dispatch_allocation(struct call *call, struct stream *s, const struct pool *like,
                                size_t bytes, void **pointer);
cudaError_t dispatch_free(struct call *call, struct stream *s, void *pointer);

/* The task of a memset node, from its parameters; t->device says for which device. */
cudaError_t dispatch_memset_task(struct task *t, void *to, size_t pitch, unsigned value,
                                 unsigned element, size_t width, size_t height);
/* Would a stream refuse such a memset or copy, be it of graph memory or of other? */
cudaError_t dispatch_check_memset(const struct task *t);
cudaError_t dispatch_check_copy(const struct task *t);

#endif
