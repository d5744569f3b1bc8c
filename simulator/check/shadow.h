/* What the checker remembers of an allocation; a part of each live chunk and of each piece of
 * pinned memory. Types only. */
#ifndef SIM_CHECK_SHADOW_H
#define SIM_CHECK_SHADOW_H

#include "base/call.h"
#include "base/types.h"

struct access {
    struct origin origin;
    size_t from, to; /* bytes of the block */
    bool write;
    bool at_call; /* it has happened: only the host can wait before it */
    /* its place among those of the block (check/access_tree.h) */
    uint32_t priority;
    uint64_t insertion; /* the larger, the newer */
    size_t max_end;
    struct access *left, *right;
};

struct shadow {
    struct origin allocated_by;
    /* Those that something still to come could be unordered with. */
    struct access *accesses;
    uint32_t access_count;
    /* The block's name at the border to other processes (ipc/ipc_table.h); 0: it has none. */
    uint32_t ipc_ref;
};

/* Work that needs access given to its stream's device (cudaMemPoolSetAccess,
 * cudaDeviceEnablePeerAccess), and the block that it was for. */
struct peer_use {
    struct peer_use *next;
    struct origin origin, allocated_by;
    uint32_t id;
    size_t bytes;
};

/* A block, as the checker names it in a report. */
struct shadow_ref {
    struct shadow *shadow;
    uint32_t id;
    const char *address; /* of its start */
    size_t bytes;
};

#endif
