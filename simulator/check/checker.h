/* The checker reports programs whose stream order is incorrect, even if no device would notice.
 *
 * It judges each call by vector clocks (sched/vector_clock.h). An operation comes after what its
 * stream, the events that it waits for, the legacy stream's rule, and the host's waits and queries
 * put before it, and after nothing else. Neither the time at which things happen to run nor edges
 * that the allocator adds for itself excuse a program. SIM_CHECK=off turns it off.
 *
 * No correct program is reported. So where the checker cannot see, it assumes that the program is
 * right:
 * - All host threads count as one: what one of them has waited for comes before all that any of
 *   them queues later.
 * - The host's first call after a host function has begun comes after what precedes the function,
 *   whether or not the host looks at what it did (sched/happens_before.h says which calls those
 *   are). If nothing shows that the host looked, the last sentences of the program say so.
 * - Work after a closed gate or a host function is judged when that is over, by what the host has
 *   acquired until then (check/conflict.h), whether or not the function has waited for it.
 * - By a query that returns cudaSuccess the host acquires as much as by waiting, whether or not the
 *   program reads the result.
 *
 * The checker does not see loads and stores of the host, except in whole pages of memory that the
 * device sees too (check/page_guard.h), nor uses by an old pointer that the stream orders after the
 * new owner's allocation, unless a graph has kept the pointer. It takes no edge from what a kernel
 * writes for the host to poll, because without a fence the order in which others see a kernel's
 * writes is undefined (documented: CUDA C++ Programming Guide, memory fence functions), and the
 * kernels here have none.
 *
 * The shadows belong to their owners; origins and references are copied. All of these need the
 * lock. */
#ifndef SIM_CHECK_CHECKER_H
#define SIM_CHECK_CHECKER_H

#include "base/hazards.h"
#include "check/late_launch.h"
#include "check/shadow.h"
#include "sched/stream.h"

/* Returns the id of the newest allocation. */
uint32_t checker_newest_allocation(void);
/* Return the call, or its origin, as the origin of operation `seq` of stream `s` or, if `s` is
 * NULL, of an action of the host. */
struct origin checker_origin(const struct call *call, const struct stream *s, uint64_t seq);
struct origin checker_origin_of(struct origin origin, const struct stream *s, uint64_t seq);

/* ---- allocation and free ---- */

/* Called when operation `seq` of `s` allocates or, if `s` is NULL, when the call itself does. */
void checker_allocated(const struct call *call, struct shadow_ref ref, enum allocation_kind kind,
                       struct stream *s, uint64_t seq);
/* Called when a graph node allocates the address that it allocated in an earlier launch. `freed_by`
 * is the free of that allocation. */
void checker_allocated_again(const struct call *call, struct shadow_ref ref, const struct stream *s,
                             uint64_t seq, const struct origin *freed_by);
/* Called when the allocation is freed in the order of stream `s` or, if `s` is NULL, at once by the
 * host. Empties the shadow. */
void checker_freed(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq);
/* Writes "allocation 1, which cudaFree at k.cu:3 has freed". Returns false if it knows of none. */
bool checker_freed_text(const void *address, char *text, size_t size);
/* Called when registered memory, which lives on, is unregistered. Empties the shadow. */
void checker_unregistered(const struct call *call, struct shadow_ref ref);
/* Called when a mapping begins and ends. Uses of the same memory at two addresses are compared. */
void checker_mapped(struct mapping *m);
void checker_unmapped(const struct mapping *m);
/* Called when a kernel has freed memory that a kernel had allocated. Nothing is judged. */
void checker_variable_freed(struct shadow *s);
/* Called when a pointer cannot be freed. Reports a second free, or returns false if the end of the
 * device was the first one. `s` is NULL for cudaFree. `note` tells how a device reacts. */
bool checker_freed_unallocated(const struct call *call, const void *address, const struct stream *s,
                               const char *note);
#define FREE_REFUSED_NOTE                                                              \
    "the call returns cudaErrorInvalidValue. If the address had been reused, the new " \
    "owner would have lost its allocation."
/* Returns whether one of the last 8,192 freed allocations had this address. */
bool checker_was_freed(const void *address);
/* Called when a stream's wait for a value ends: from now on, what is in `before` comes before
 * everything after the wait. */
void checker_waited(const struct op *wait, const struct vector_clock *before);
/* Judges postponed conflicts (check/conflict.h). Called if conflicts_postponed is set. */
void checker_judge_postponed(void);
/* Called when the pool of [from, to) is destroyed. Says so once if the host has not waited for a
 * free there. */
void checker_pool_destroyed(const struct call *call, const char *from, const char *to);
/* Called when the program ends with this allocation live. */
void checker_leaked(struct shadow_ref ref);

/* ---- use ---- */

/* Called when operation `seq` of stream `s` reads or writes [from, to) of the allocation; `to` may
 * be beyond its end. An empty range, as of a prefetch, only requires a live allocation. */
void checker_used(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq,
                  size_t from, size_t to, bool write);
/* Called when operation `seq` of stream `s` is a launch whose accesses are found when it runs, with
 * these parameters. The caller owns the result, and ends it with checker_launch_ended. */
struct late_launch *checker_launched(const struct call *call, struct stream *s, uint64_t seq,
                                     const char *parameters, size_t parameter_bytes);
/* Called when the running launch touches bytes [from, to) of an allocation: those in `bytes`, which
 * it then owns, or all if that is NULL. `inside` is as in struct access. */
struct found_access {
    size_t from, to;
    bool write, is_atomic;
    /* The host sees the memory, and the kernel cannot tell the host there that it is done. */
    bool is_guarded;
    /* The kernel lets the next one begin (cudaTriggerProgrammaticLaunchCompletion). */
    bool lets_others_begin;
    struct byte_set *bytes;
    const char *inside;
};
void checker_found(struct late_launch *l, struct shadow_ref ref, const struct found_access *f);
/* Called when the launch touches an address where nothing was allocated when it was made. The
 * arguments are those of checker_used_unallocated. */
void checker_found_unallocated(const struct late_launch *l, const void *address, size_t bytes,
                               bool write, struct shadow_ref before, bool of_graph,
                               const char *inside);
/* Called when the launch touches bytes after the end of an allocation. */
void checker_found_outside(const struct late_launch *l, struct shadow_ref ref, size_t from,
                           size_t bytes, bool write, const char *inside);
/* Called when the launch touches bytes from `from` on of an allocation to which none of its
 * arguments points. The address was computed from argument number `argument`, which points to
 * `given`. */
void checker_found_stray(const struct late_launch *l, struct shadow_ref ref, size_t from,
                         size_t bytes, struct shadow_ref given, size_t argument,
                         const char *inside);
void checker_launch_ended(struct late_launch *l);
/* Called when the launch touches memory that has been freed. Returns whether the allocation and its
 * free are known; in that case the access is reported or postponed. */
bool checker_found_gone(const struct late_launch *l, const void *address, size_t bytes, bool write,
                        const char *inside);
/* Called when work of this origin has ended the device. `what`: "wrote 4 bytes at ..."; `error`:
 * what calls return from now on; `advice`: what to do about it. Returns false if nothing is
 * reported, because nothing is checked or a report is about that work already. */
bool checker_faulted(const struct origin *origin, enum hazard kind, const char *what,
                     const char *inside, const char *advice, const char *error);
/* Called when work of this origin has read bytes [from, to) of the allocation that nothing has
 * written (check/written.h). It is not reported if a report is about that work already. */
void checker_read_unwritten(const struct origin *origin, struct shadow_ref ref, size_t from,
                            size_t to, const char *inside);
/* Called when a thread of the launch has read bytes of its block's shared memory that no thread of
 * the block has written. */
void checker_found_unwritten_shared(const struct late_launch *l, uint64_t from, size_t bytes,
                                    const char *inside);
/* Called when two threads of the launch access the same bytes, and nothing orders the second access
 * after the first. Each access has its place, and whether it writes. `what`: "touch byte 3 of ..."
 */
struct racing {
    const char *inside;
    bool write;
    /* The access is an atomic operation, or volatile. */
    bool is_atomic;
    /* The access is an asynchronous copy for which its thread has not waited. */
    bool is_in_flight;
};
void checker_found_race(const struct late_launch *l, enum hazard kind, const char *what,
                        const struct racing *first, const struct racing *second);
/* Which threads race in device memory. The blocks of a cooperative launch can meet. */
enum race_place { RACE_IN_BLOCK, RACE_BETWEEN_BLOCKS, RACE_BETWEEN_MEETING_BLOCKS };
/* Called when two blocks of the launch, or two threads of a block, access a byte of an allocation
 * and nothing orders them. */
void checker_found_race_in_memory(const struct late_launch *l, struct shadow_ref ref, size_t byte,
                                  enum race_place place, const struct racing *first,
                                  const struct racing *second);
/* Called when two grids of the launch access the same bytes and nothing orders them. `child`: the
 * kernel that the first grid has launched, or NULL if a third grid has launched both. */
void checker_found_race_of_grids(const struct late_launch *l, struct shadow_ref ref,
                                 const char *child, const struct racing *first,
                                 const struct racing *second);
/* Called when threads of the launch wait for others that do not come, at a barrier of their block
 * or, with a mask, in their warp. `where`: a thread that waits; `other`: one that is elsewhere, or
 * NULL. */
void checker_found_misuse(const struct late_launch *l, bool is_barrier, const char *what,
                          const char *where, const char *other);
/* Called when copy `seq` of stream `s` has read bytes [from, to) during its call and no longer
 * needs them (assumed: still in the stream's order). */
void checker_staged(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq,
                    size_t from, size_t to);
/* Called after checker_used if operation `seq` of stream `s` is a copy or memset that reads or
 * writes bytes [from, to) of pinned memory. */
void checker_copied(const struct call *call, struct shadow_ref ref, const struct stream *s,
                    uint64_t seq, size_t from, size_t to, bool write);
/* Called in place of checker_used for an address without a live allocation. `before` is the last
 * live one before it; its .shadow is NULL if there is none. `of_graph`: the address belongs to a
 * graph's allocation nodes. */
void checker_used_unallocated(const struct call *call, const void *address, size_t bytes,
                              struct stream *s, uint64_t seq, bool write, struct shadow_ref before,
                              bool of_graph);

/* Called when a graph node, whose call this is, may not touch the bytes from `from` on and so is
 * not queued in `s`. They may have been meant for an allocation that was freed. */
void checker_node_refused(const struct call *call, struct shadow_ref ref, const struct stream *s,
                          size_t from, bool write);

/* ---- access of other devices (check/peer_rights.c) ---- */

/* Called after checker_used if operation `seq` of stream `s` needs the access to the allocation's
 * pool that the stream's device was given. `list` is the pool's, which frees it with
 * checker_peer_uses_free. */
void checker_peer_used(const struct call *call, struct peer_use **list, struct shadow_ref ref,
                       const struct stream *s, uint64_t seq);
/* Called when the host revokes the access that `device` was given. */
void checker_access_revoked(const struct call *call, const struct peer_use *list, int device);
/* Called after checker_used if operation `seq` of stream `s` uses memory to which the stream's
 * device has no access now. `owner` is the pool, or the heap of cudaMalloc. */
void checker_peer_use_pending(const struct call *call, const void *owner, struct shadow_ref ref,
                              const struct stream *s, uint64_t seq);
/* Called when the host gives `device` access to all memory of `owner`. */
void checker_access_granted(const struct call *call, const void *owner, int device);
/* Called when the pool has ended: frees its list. */
void checker_peer_uses_free(struct peer_use **list);

/* ---- allocations that other processes share ---- */

/* Additional checks for allocations whose shadow.ipc_ref is not 0 (set by ipc/ipc_check.h). NULL
 * while nothing is shared. */
struct checker_ipc {
    /* `l`: the launch whose access was found when it ran, or NULL for a call. */
    void (*used)(struct shadow_ref ref, struct origin origin, const struct stream *s, size_t from,
                 size_t to, bool write, const struct late_launch *l);
    void (*freed)(struct shadow_ref ref, struct origin origin, const struct stream *s);
    /* Called when the allocation's address here has ended, even with SIM_CHECK=off. */
    void (*ended)(const struct call *call, struct shadow_ref ref, const struct stream *s,
                  uint64_t seq);
};
extern const struct checker_ipc *checker_ipc;

#endif
