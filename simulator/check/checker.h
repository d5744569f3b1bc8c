/* The checker: reports a program whose stream order is incorrect, also when a device would not
 * notice.
 *
 * It judges each call by vector clocks (sched/vector_clock.h): what happens before an operation is
 * what its stream, the events that it waits for, the legacy stream and the host's waits and queries
 * put before it, and nothing else. The time at which things happen to run, and edges that the
 * allocator inserts for itself, never excuse a program. SIM_CHECK=off turns it off.
 *
 * No correct program is reported. So where it cannot see, it decides for the program (assumed):
 * - All host threads count as one: what one of them has waited for comes before what any of them
 *   queues from then on.
 * - The host's first call after a host function has begun comes after what precedes the function,
 *   whether or not the host looks at what it did (sched/happens_before.h says which calls those
 *   are). Where nothing says that it looked, the last words of the program do.
 * - Work behind a closed gate or a host function is judged when that is over, by what the host has
 *   acquired until then (check/conflict.h), whether or not the function has waited for it.
 * - By a query that returns cudaSuccess the host acquires as much as by waiting, whether or not the
 *   program reads the result.
 * What it does not see at all: loads and stores of the host, except in whole pages of memory that
 * the device sees too (check/page_guard.h); use by an old pointer that the stream orders after the
 * new owner's allocation, unless a graph has kept it. What it does not take for an edge: what a
 * kernel writes for the host to poll. Without a fence, nobody knows in which order a kernel's
 * writes are seen elsewhere (documented: CUDA C++ Programming Guide, memory fence functions), and
 * the kernels here have none.
 *
 * All of these need the lock. The shadows stay their owners'; origins and references are copied. */
#ifndef SIM_CHECK_CHECKER_H
#define SIM_CHECK_CHECKER_H

#include "check/late_launch.h"
#include "check/shadow.h"
#include "sched/stream.h"

/* Returns the id of the allocation made last. */
uint32_t checker_newest_allocation(void);
/* Returns the call as the origin of operation `seq` of stream `s`; NULL: of what the host does. */
struct origin checker_origin(const struct call *call, const struct stream *s, uint64_t seq);

/* ---- allocation and free ---- */

/* Operation `seq` of stream `s` allocates. `s` NULL: the allocation exists from the call on. */
void checker_allocated(const struct call *call, struct shadow_ref ref, enum allocation_kind kind,
                       struct stream *s, uint64_t seq);
/* A graph's node has allocated where it allocated another in an earlier launch; `freed_by`: the
 * free of that one. */
void checker_allocated_again(const struct call *call, struct shadow_ref ref, const struct stream *s,
                             uint64_t seq, const struct origin *freed_by);
/* The allocation is freed in the order of stream `s`; NULL: by the host, at once. Empties the
 * shadow. */
void checker_freed(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq);
/* Registered memory is no longer the device's business; it lives on. Empties the shadow. */
void checker_unregistered(const struct call *call, struct shadow_ref ref);
/* A pointer cannot be freed; when it was freed before, that is reported. `s` NULL: by cudaFree;
 * `note`: what a device makes of that. */
void checker_freed_unallocated(const struct call *call, const void *address, const struct stream *s,
                               const char *note);
#define FREE_REFUSED_NOTE                                                              \
    "the call returns cudaErrorInvalidValue. If the address had been reused, the new " \
    "owner would have lost its allocation."
/* Returns whether an allocation at this address is among those freed last (8,192). */
bool checker_was_freed(const void *address);
/* Judges conflicts that were postponed (check/conflict.h); to be called where conflicts_postponed
 * is set. */
void checker_judge_postponed(void);
/* The program ends with this allocation alive. */
void checker_leaked(struct shadow_ref ref);

/* ---- use ---- */

/* Operation `seq` of stream `s` reads or writes [from, to) of the allocation; `to` may lie beyond
 * its end. An empty range only requires the allocation to be alive, as a prefetch does. */
void checker_used(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq,
                  size_t from, size_t to, bool write);
/* Operation `seq` of stream `s` is a launch whose accesses are found when it runs. The caller owns
 * what is returned, and ends it with checker_launch_ended. */
struct late_launch *checker_launched(const struct call *call, struct stream *s, uint64_t seq);
/* The launch runs and touches bytes [from, to) of an allocation, of these those in `bytes` (NULL:
 * all), which it then owns. `inside`: as in struct access. */
struct found_access {
    size_t from, to;
    bool write, is_atomic;
    struct byte_set *bytes;
    const char *inside;
};
void checker_found(struct late_launch *l, struct shadow_ref ref, const struct found_access *f);
/* The same at an address where nothing was allocated when the launch was made; as for
 * checker_used_unallocated. */
void checker_found_unallocated(const struct late_launch *l, const void *address, size_t bytes,
                               bool write, struct shadow_ref before, bool of_graph,
                               const char *inside);
/* The same for bytes behind the end of an allocation. */
void checker_found_outside(const struct late_launch *l, struct shadow_ref ref, size_t from,
                           size_t bytes, bool write, const char *inside);
void checker_launch_ended(struct late_launch *l);
/* Copy `seq` of stream `s` has read the bytes [from, to) during its call, and needs them no more
 * (assumed: in the stream's order all the same). */
void checker_staged(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq,
                    size_t from, size_t to);
/* Operation `seq` of stream `s`, which checker_used was called for, is a copy or a memset and reads
 * or writes bytes [from, to) of pinned memory. */
void checker_copied(const struct call *call, struct shadow_ref ref, const struct stream *s,
                    uint64_t seq, size_t from, size_t to, bool write);
/* The same as checker_used at an address where no allocation is alive. `before`: the live one
 * before it, if there is one (else .shadow is NULL); `of_graph`: the address belongs to a graph's
 * allocation nodes. */
void checker_used_unallocated(const struct call *call, const void *address, size_t bytes,
                              struct stream *s, uint64_t seq, bool write, struct shadow_ref before,
                              bool of_graph);

/* A graph's node, whose call this is, may not touch the bytes from `from` on of this allocation and
 * is not queued in `s`: they may be meant for an allocation that was freed. */
void checker_node_refused(const struct call *call, struct shadow_ref ref, const struct stream *s,
                          size_t from, bool write);

/* ---- access of other devices (check/peer_rights.c) ---- */

/* Operation `seq` of stream `s`, which checker_used was called for, needs the access to the
 * allocation's pool that the stream's device was given. `list` is that pool's, who gives it back
 * with checker_peer_uses_free. */
void checker_peer_used(const struct call *call, struct peer_use **list, struct shadow_ref ref,
                       const struct stream *s, uint64_t seq);
/* The host takes the access away that `device` was given. */
void checker_access_revoked(const struct call *call, const struct peer_use *list, int device);
/* Operation `seq` of stream `s`, which checker_used was called for, uses memory that the stream's
 * device has no access to now; `owner`: the pool, or the heap of cudaMalloc. */
void checker_peer_use_pending(const struct call *call, const void *owner, struct shadow_ref ref,
                              const struct stream *s, uint64_t seq);
/* The host gives `device` access to all memory of `owner`. */
void checker_access_granted(const struct call *call, const void *owner, int device);
/* The pool has ended: its list is given back. */
void checker_peer_uses_free(struct peer_use **list);

/* ---- allocations that other processes share ---- */

/* What is checked besides where shadow.ipc_ref is not 0 (ipc/ipc_check.h sets it). NULL while
 * nothing is shared. */
struct checker_ipc {
    void (*used)(struct shadow_ref ref, struct origin origin, const struct stream *s, size_t from,
                 size_t to, bool write);
    void (*freed)(struct shadow_ref ref, struct origin origin, const struct stream *s);
    /* The life of its address here is over; also with SIM_CHECK=off. */
    void (*ended)(const struct call *call, struct shadow_ref ref, const struct stream *s,
                  uint64_t seq);
};
extern const struct checker_ipc *checker_ipc;

#endif
