/* What the layers below the API report while it happens, beside what their functions return. The
 * API sets these when there is a journal, and writes a line for each; else they are NULL. They are
 * called with the lock held; what they get is theirs only until they return. */
#ifndef SIM_BASE_OBSERVER_H
#define SIM_BASE_OBSERVER_H

#include "base/types.h"

struct op;
struct origin;
struct pool;

/* A range of a graph's memory, for graph_memory_used: the allocation's number, its size, and where
 * it begins. */
struct observed_range {
    uint32_t id;
    size_t bytes, offset;
};

/* A report. The earlier origin's number is 0 where no call of this process did that. */
struct observed_hazard {
    const char *kind;
    /* 0: none. */
    uint32_t allocation;
    const struct origin *earlier, *later;
    /* Nothing orders the two. */
    bool unordered;
};

struct observer {
    /* An op that has a name, or a call's number, has ended. */
    void (*op_done)(const struct op *op);
    /* A pool has mapped segments for an allocation; `remapped`: of those, taken from elsewhere. */
    void (*pool_grew)(const struct pool *p, size_t segments, size_t remapped);
    /* A pool has released segments; why: "trim", "free", "synchronization"... */
    void (*pool_released)(const struct pool *p, size_t segments, const char *why);
    /* The graph memory of a device now has `reserved` bytes; what: "grow" or "release". */
    void (*graph_memory_changed)(int device, const char *what, size_t segments, size_t reserved,
                                 const char *why);
    /* A graph's node, or a free outside of it; what: "allocate" or "free"; stream 0: none. */
    void (*graph_memory_used)(const char *what, const struct origin *origin, int stream,
                              struct observed_range range);
    /* The checker has reported a hazard. */
    void (*hazard)(const struct observed_hazard *hazard);
};

extern struct observer observer;

#endif
