/* What the checker remembers of an allocation: a part of each live range and of each piece of
 * pinned memory. Types only. A shadow belongs to whoever embeds it, and needs the lock. */
#ifndef SIM_CHECK_SHADOW_H
#define SIM_CHECK_SHADOW_H

#include "base/origin.h"
#include "base/ordered_tree.h"
#include "base/types.h"
#include "sched/stream.h"

/* From when on an allocation exists, and how the program frees it. */
enum allocation_kind {
    /* From an operation of a stream on: cudaMallocAsync, a graph's node. Freed by cudaFreeAsync. */
    ALLOCATION_IN_STREAM,
    /* From the call on: cudaMalloc, cudaMallocManaged, an imported one. Freed by cudaFree. */
    ALLOCATION_AT_CALL,
    /* Memory of the host, from the call on: cudaMallocHost, cudaHostAlloc, cudaHostRegister. Freed
     * by cudaFreeHost. */
    ALLOCATION_PINNED
};

struct byte_set;

/* An operation of a stream has read or written bytes of an allocation, or is going to. */
struct access {
    struct origin origin;
    /* Bytes of the allocation: [from, to). */
    size_t from, to;
    bool write;
    /* It happened during its call: only the host can wait before it. */
    bool at_call;
    /* It was atomic: two such accesses are no conflict. */
    bool is_atomic;
    /* It was found when its work ran (check/late_launch.h). */
    bool is_late;
    /* In the order in which the program made them, among launches too. */
    uint64_t number;
    /* Of [from, to) those that it touches, which the tree owns; NULL: all. */
    struct byte_set *bytes;
    /* Of a kernel that nvcc built: where in it, and by which argument, as a sentence's end; NULL:
     * not known. It lives as long as the process. */
    const char *inside;
    /* What held it up when it was queued and only the host ends; op NULL: nothing. */
    struct host_bound obstacle;
    /* The rest is the trees' (check/access_tree.c). */
    struct tree_node node, covered_node;
};

/* The accesses of one allocation that something still to come could be unordered with, and how many
 * there are: what wrote, what read, and what read in an order in which what lies in a range is
 * found. */
struct access_trees {
    struct ordered_tree writes, reads, covered_reads;
    uint32_t count;
    /* So many are there when the next search for what the host has acquired is due. */
    uint32_t next_drop;
    /* When no shadow has it (check/access_tree.c). */
    struct access_trees *next;
};

struct shadow {
    /* NULL until the first access: most shadows are of what is not used, or no more. */
    struct access_trees *accesses;
    struct origin allocated_by;
    enum allocation_kind kind;
    /* The allocation's name in the ipc table (ipc/ipc_table.h); 0: it has none. */
    uint32_t ipc_ref;
};

/* An operation that needs the access given to its stream's device (cudaMemPoolSetAccess,
 * cudaDeviceEnablePeerAccess), and the allocation that it uses. */
struct peer_use {
    struct peer_use *next;
    struct origin origin, allocated_by;
    uint32_t id;
    size_t bytes;
};

/* An allocation, as the checker names it in a report. It is passed by value; the shadow stays
 * where it is. */
struct shadow_ref {
    struct shadow *shadow;
    uint32_t id;
    /* Of its first byte. */
    const char *address;
    size_t bytes;
};

#endif
