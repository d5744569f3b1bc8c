/* The checker: accuses a program whose stream order is wrong, also when a device would not notice.
 *
 * It judges each call by vector clocks (sched/vector_clock.h): what comes before a piece of work is
 * what its stream, the events that it waits for, the legacy stream and the host's waiting and
 * asking put before it, and nothing else. The time at which things happen to run, and edges that
 * the allocator inserts for itself, never excuse a program. SIM_CHECK=off turns it off.
 *
 * No right program is accused. So where it cannot see, it takes the program's part (chosen):
 * - All host threads count as one: what one of them has waited for comes before what any of them
 *   queues from then on.
 * - A host function that has begun has told the host what comes before it in its stream, whether or
 *   not the host listened. So a program that does not listen is accused only where the function
 *   begins late (SIM_SCHEDULE=late).
 * - A query that answers cudaSuccess has told the host as much as waiting would, whether or not the
 * answer was read. What it does not see at all: loads and stores of the host, except in whole pages
 * of memory that the device sees too (check/page_guard.h); use by an old pointer that the stream
 * orders after the new owner's allocation, unless a graph has kept it. What it does not take for an
 * order: the gate of a launch_hold, and what a kernel writes for the host to poll. */
#ifndef SIM_CHECK_CHECKER_H
#define SIM_CHECK_CHECKER_H

#include "sched/stream.h"
#include "check/shadow.h"

/* The allocation made last. */
uint32_t checker_newest_allocation(void);
/* The call, as the origin of operation `seq` of stream `s`; NULL: of what the host does. */
struct origin checker_origin(const struct call *call, const struct stream *s, uint64_t seq);

/* `s` NULL: cudaMalloc and pinned memory, which exist from the call on. `number`: the allocation's
 * place in the stream. */
void checker_allocated(const struct call *call, struct shadow_ref ref, struct stream *s,
                       uint64_t seq);
/* A node of a graph has allocated the block, where it allocated another in an earlier launch;
 * `freed`: the free of that one. */
void checker_allocated_again(const struct call *call, struct shadow_ref ref, const struct stream *s,
                             uint64_t seq, const struct origin *freed_by);
/* Work `number` of stream `s` reads or writes [from, to) of the block; `to` may lie beyond its end.
 * An empty range: it only needs the block to be alive, as a prefetch does. */
void checker_used(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq,
                  size_t from, size_t to, bool write);
/* Copy `number` of stream `s` has read the bytes [from, to) at its call, and needs them no more
 * (chosen: in the stream's order all the same). */
void checker_staged(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq,
                    size_t from, size_t to);
/* Work `number` of stream `s`, told by checker_used, is a copy or a memset and reads or writes
 * bytes [from, to) of pinned memory. */
void checker_copied(const struct call *call, struct shadow_ref ref, const struct stream *s,
                    uint64_t seq, size_t from, size_t to, bool write);
/* The same as checker_used at an address where no block is alive. `below`: the live block before
 * it, if there is one (else .watch is NULL); `of_graph`: the address belongs to a graph's
 * allocation nodes. */
void checker_used_unallocated(const struct call *call, const void *address, size_t bytes,
                              struct stream *s, uint64_t seq, bool write, struct shadow_ref before,
                              bool of_graph);
/* Was a block at this address freed, not long ago? */
bool checker_was_freed(const void *address);
/* The block is freed in the order of `s`; NULL: by the host, at once. */
void checker_freed(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq);
/* Registered memory is no longer the device's business; it lives on. */
void checker_unregistered(const struct call *call, struct shadow_ref ref);
/* Work `number` of stream `s`, told by checker_used, needs the access to the block's pool that the
 * stream's device was given; `list` is that pool's. */
void checker_peer_used(const struct call *call, struct peer_use **list, struct shadow_ref ref,
                       const struct stream *s, uint64_t seq);
/* The host takes the access away that `device` was given. */
void checker_access_revoked(const struct call *call, const struct peer_use *list, int device);
/* Work `number` of stream `s`, told by checker_used, uses memory that the stream's device has no
 * access to now; `owner`: the pool, or the heap of cudaMalloc. */
void checker_peer_use_pending(const struct call *call, const void *owner, struct shadow_ref ref,
                              const struct stream *s, uint64_t seq);
/* The host gives `device` access to all memory of `owner`. */
void checker_access_granted(const struct call *call, const void *owner, int device);
/* The pool has ended. */
void checker_peer_uses_free(struct peer_use **list);
/* A pointer that cannot be freed: the reason is said when it was freed before. `s` NULL: by
 * cudaFree; `note`: what a device makes of that. */
#define FREE_REFUSED_NOTE                                                                 \
    "the call returns cudaErrorInvalidValue. Had the address been reused, the new owner " \
    "would have lost its allocation."
void checker_freed_unallocated(const struct call *call, const void *address, const struct stream *s,
                               const char *note);
/* What an allocation that other processes share does besides, where shadow.ipc_ref is not 0
 * (ipc/ipc_check.h). NULL while nothing is shared. */
struct checker_ipc {
    void (*used)(struct shadow_ref ref, struct origin origin, const struct stream *s, size_t from,
                 size_t to, bool write);
    void (*freed)(struct shadow_ref ref, struct origin origin, const struct stream *s);
    /* The life of its address here is over; also with SIM_CHECK=off. */
    void (*ended)(const struct call *call, struct shadow *shadow, const struct stream *s,
                  uint64_t seq);
};
extern const struct checker_ipc *checker_ipc;

/* The program ends with this block alive. */
void checker_leaked(struct shadow_ref ref);

#endif
