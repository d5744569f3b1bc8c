/* Work on memory: memsets, copies, kernels. Checks what a real device checks at the call, and queues the effect. */
#ifndef SIM_WORK_H
#define SIM_WORK_H

#include <driver_types.h>

#include "memory.h"
#include "stream.h"

/* Sets `bytes` bytes in the order of stream `s`. measured: a range that leaves its block, or a place that the stream's device may not
 * touch, is refused here with cudaErrorInvalidValue. */
cudaError_t work_memset(void *to, int value, size_t bytes, struct stream *s);
/* A memset node, with elements of 1, 2 or 4 bytes. Nothing is checked here (measured: a launch notices nothing inside the same step): a bad
 * address is a fault when it runs. */
void work_memset_node(void *to, int value, unsigned element, size_t count, struct stream *s);

/* Copies. `peer`: cudaMemcpyPeerAsync, which needs no access rights. `wait` is set when the call must wait for the stream (pageable
 * memory on the host's side); NULL: nobody can wait, and pageable memory is read when the copy runs. */
cudaError_t work_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, struct stream *s, bool peer, bool *wait);

/* A kernel of kernels.h over `count` ints. Nothing about memory is checked at the call: a bad address is a fault when the kernel runs. */
cudaError_t work_fill(int *data, int value, size_t count, struct stream *s);
cudaError_t work_add(int *data, int value, size_t count, struct stream *s);
cudaError_t work_hold(const volatile int *open, struct stream *s);
cudaError_t work_host_function(void (*function)(void *), void *argument, struct stream *s);

/* Would a memset (or a copy) by a stream of `device` be refused for this address? Would a copy be, for its kind? For work that is described
 * now and runs later. */
bool work_allows(const void *address, size_t bytes, int device, bool copy, bool peer);
bool work_kind_allows(enum cudaMemcpyKind kind, const void *to, const void *from);

#endif
