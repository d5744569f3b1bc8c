/* Work on memory: memsets, copies, kernels. Checks what a real device checks at the call, and
 * queues the effect. All of these need the lock, and none waits. */
#ifndef SIM_RUN_COMMANDS_H
#define SIM_RUN_COMMANDS_H

#include <driver_types.h>

#include "mem/memory.h"
#include "sched/stream.h"

/* What a copy or memset touches: `height` rows of `width` bytes, each `pitch` bytes behind the one
 * before it. What lies between two rows is not touched. Law: height > 0, and width <= pitch where
 * there are several. */
struct rows {
    size_t width, height;
    /* Of what is written, and of a copy's source. */
    size_t to_pitch, from_pitch;
};
/* Returns all bytes in one row. */
static inline struct rows rows_of(size_t bytes) { return (struct rows){bytes, 1, bytes, bytes}; }
/* Returns the bytes from the start of the first row to the end of the last; SIZE_MAX when they are
 * more than there are addresses. */
size_t rows_span(const struct rows *r, size_t pitch);

/* Sets these rows in the order of stream `s`. Measured (probe-answers.txt, "copies and memsets";
 * probe-outsiders-peers.txt, "stream_of_other_device"): what leaves its allocation, or is memory
 * that the stream's device may not touch, is refused here with cudaErrorInvalidValue. */
cudaError_t command_memset(const struct call *call, void *to, int value, struct rows r,
                           struct stream *s);
/* A memset node, with elements of 1, 2 or 4 bytes. Nothing is checked here (measured:
 * probe-graph-nodes.txt, "range_in_step"; a launch notices nothing inside the same segment): a bad
 * address is a fault when it runs. */
void command_memset_node(const struct call *call, void *to, int value, unsigned element,
                         struct rows r, struct stream *s);

/* What has happened of a copy when its call returns. Documented (CUDA Runtime API, "API
 * synchronization behavior"); measured: which calls wait (simulator/tests/facts/probe-waits.txt,
 * probe-host.txt). */
enum copy_wait {
    COPY_QUEUED, /* Nothing: it is queued. */
    /* What came before it is over, and its pageable source may be changed; the bytes may arrive
     * later (documented; measured: probe-uploads.txt, from 64 KiB on they mostly did). */
    COPY_STAGED,
    COPY_DONE
};

/* Copies. `peer`: cudaMemcpyPeerAsync, which needs no access rights. `wait`: what an asynchronous
 * call must wait for; NULL: nobody can wait, and pageable memory is read when the copy runs. */
cudaError_t command_copy(const struct call *call, void *to, const void *from, struct rows r,
                         enum cudaMemcpyKind kind, struct stream *s, bool peer,
                         enum copy_wait *wait);
/* Does command_copy refuse to copy that? */
bool command_refuses_copy(const void *to, const void *from, struct rows r, const struct stream *s,
                          bool peer);
/* "HostToDevice" and so on, as the memory at both ends has it. */
const char *command_copy_direction(const struct address_info *to, const struct address_info *from);
/* What cudaMemcpy waits for; does cudaMemset wait? Not on a device's own memory (documented). */
enum copy_wait command_blocking_copy_wait(const void *to, const void *from);
bool command_memset_blocks(const void *to);

/* A kernel of kernels.h over `count` ints. Nothing about memory is checked at the call: a bad
 * address is a fault when the kernel runs. */
cudaError_t command_fill(const struct call *call, int *data, int value, size_t count,
                         struct stream *s);
cudaError_t command_add(const struct call *call, int *data, int value, size_t count,
                        struct stream *s);
cudaError_t command_hold(const struct call *call, const volatile int *gate, struct stream *s);
cudaError_t command_host_function(const struct call *call, void (*function)(void *), void *argument,
                                  struct stream *s);

/* What the work of kernels has in common. The first two report to the checker: op's use of `bytes`
 * bytes, and the access to them that its device lacks or was given. The third returns where running
 * work finds bytes that nobody has checked before, or NULL after a fault; `what`: "kernel". */
void command_check_use(const struct call *call, struct address_info *a, const void *address,
                       size_t bytes, const struct op *op, bool write);
void command_check_peer_access(const struct call *call, struct address_info *a,
                               const struct op *op);
char *command_resolve(const struct op *op, const void *address, size_t bytes, const char *what);

/* Would a memset (or a copy) by a stream of `device` be refused for this address? Would a copy be,
 * for its kind? For work that is described now and runs later. */
bool command_allows(const void *address, size_t bytes, int device, bool copy, bool peer);
bool command_kind_allows(enum cudaMemcpyKind kind, const void *to, const void *from);

#endif
