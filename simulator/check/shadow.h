/* What the checker remembers about an allocation, as part of each live range and each piece of
 * pinned memory. Only types. A shadow belongs to the object that contains it, and needs the
 * lock. */
#ifndef SIM_CHECK_SHADOW_H
#define SIM_CHECK_SHADOW_H

#include "base/origin.h"
#include "base/ordered_tree.h"
#include "base/types.h"
#include "sched/stream.h"

/* When an allocation begins to exist, and how the program frees it. */
enum allocation_kind {
    /* At an operation of a stream: cudaMallocAsync, or a graph node. Freed by cudaFreeAsync. */
    ALLOCATION_IN_STREAM,
    /* At the call: cudaMalloc, cudaMallocManaged, or an import. Freed by cudaFree. */
    ALLOCATION_AT_CALL,
    /* Another process's, at cudaIpcOpenMemHandle. Ended by cudaIpcCloseMemHandle. */
    ALLOCATION_OPENED,
    /* A mapping, at cuMemMap. Ended by cuMemUnmap. */
    ALLOCATION_MAPPED,
    /* Host memory, at the call: cudaMallocHost and so on. Freed by cudaFreeHost. */
    ALLOCATION_PINNED
};

struct byte_set;

/* A read or write of an allocation by an operation of a stream, which may still be pending. */
struct access {
    struct origin origin;
    /* Bytes of the allocation: [from, to). */
    size_t from, to;
    bool write;
    /* The access happened during its call, so only the host can wait before it. */
    bool at_call;
    /* Two atomic accesses do not conflict. */
    bool is_atomic;
    /* The access was found when its work ran (check/late_launch.h). */
    bool is_late;
    /* As in struct found_access. */
    bool lets_others_begin;
    /* The access is compared with uses of another mapping of the same memory. */
    bool is_mapped_elsewhere;
    /* The access's number in the order of the program, among accesses and launches. */
    uint64_t number;
    /* The bytes of [from, to) that it touches, owned by the tree; NULL: all. */
    struct byte_set *bytes;
    /* In a kernel that nvcc built: the place in it and the argument, as the end of a sentence, or
     * NULL if unknown. It lives as long as the process. */
    const char *inside;
    /* The obstacle when it was queued, which only the host ends; op is NULL if there was none. */
    struct host_bound obstacle;
    /* The rest is for check/access_tree.c. */
    struct tree_node node, covered_node;
};

/* The accesses of one allocation with which later operations may be unordered, and their number:
 * writes, reads, and the reads in an order that finds those within a range. */
struct access_trees {
    struct ordered_tree writes, reads, covered_reads;
    uint32_t count;
    /* The number of accesses at which the next search for acquired ones is due. */
    uint32_t next_drop;
    /* The next recycled trees, while no shadow has these (check/access_tree.c). */
    struct access_trees *next;
};

struct shadow {
    /* NULL until the first access, because most allocations are unused or no longer used. */
    struct access_trees *accesses;
    struct origin allocated_by;
    enum allocation_kind kind : 4;
    /* Memory that the host shares: all of its pages have been touched. */
    bool is_touched : 1;
    /* Calls that copy or set its bytes, and do not say Async, wait until that is done. */
    bool always_waits : 1;
    /* Which bytes have a value (check/written.h); 0: all. */
    uint32_t written : 26;
    /* The allocation in the ipc table (ipc/ipc_table.h), or 0. */
    uint32_t ipc_ref;
};

/* An operation that needs the access granted to its stream's device (cudaMemPoolSetAccess,
 * cudaDeviceEnablePeerAccess), and the allocation that it uses. */
struct peer_use {
    struct peer_use *next;
    struct origin origin, allocated_by;
    uint32_t id;
    size_t bytes;
};

/* A reference to an allocation, passed by value. Reports name the allocation by it. */
struct shadow_ref {
    struct shadow *shadow;
    uint32_t id;
    /* Of its first byte. */
    const char *address;
    size_t bytes;
};

/* A mapping (cuMemMap), which its owner keeps. The same memory may have several. */
struct mapping {
    struct shadow_ref ref;
    uint64_t memory; /* A number that no other memory has, in any process. */
    struct mapping *next;
};

#endif
