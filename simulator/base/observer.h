/* What the rooms below api/ report while it happens, apart from what their functions return. api/
 * sets these functions if there is a journal, and writes a line for each; otherwise they are NULL.
 * The caller has the lock, and the arguments are valid only until the function returns. */
#ifndef SIM_BASE_OBSERVER_H
#define SIM_BASE_OBSERVER_H

#include "base/types.h"

struct op;
struct origin;
struct pool;

/* A range of a graph's memory: the allocation's number, its size, and its offset. */
struct observed_range {
    uint32_t id;
    size_t bytes, offset;
};

/* A report. The number of `earlier` is 0 if it was no call of this process. */
struct observed_hazard {
    const char *kind;
    /* The number of the allocation, or 0 if there is none. */
    uint32_t allocation;
    const struct origin *earlier, *later;
    /* Whether the report is about two operations in no guaranteed order. */
    bool unordered;
};

struct observer {
    /* An op that has a name or the number of a call has ended. */
    void (*op_done)(const struct op *op);
    /* A pool has mapped segments for an allocation, `remapped` of them from elsewhere. */
    void (*pool_grew)(const struct pool *p, size_t segments, size_t remapped);
    /* A pool has released segments. `why` is "trim", "free", "synchronization", and so on. */
    void (*pool_released)(const struct pool *p, size_t segments, const char *why);
    /* The graph memory of a device now has `reserved` bytes. `what` is "grow" or "release". */
    void (*graph_memory_changed)(int device, const char *what, size_t segments, size_t reserved,
                                 const char *why);
    /* A graph node, or a free outside of the graph, used graph memory. `what` is "allocate" or
     * "free". `stream` is 0 if there is none. */
    void (*graph_memory_used)(const char *what, const struct origin *origin, int stream,
                              struct observed_range range);
    /* The checker has reported a hazard. */
    void (*hazard)(const struct observed_hazard *hazard);
};

extern struct observer observer;

#endif
