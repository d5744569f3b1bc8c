/* The reuse ladder: which memory an allocation gets. */
#ifndef SIM_MEM_REUSE_H
#define SIM_MEM_REUSE_H

#include "mem/heap.h"
#include "sched/stream.h"

enum reuse {
    REUSE_FAILED,
    REUSE_SAME_STREAM,
    REUSE_SYNCHRONIZED,
    REUSE_EVENT,
    REUSE_OPPORTUNISTIC,
    REUSE_NEW,
    REUSE_INTERNAL
};

struct reuse_policy {
    bool events, opportunistic, internal;
    size_t max_segments; /* 0: no limit but the device's memory */
};

/* Takes a live chunk of `bytes` (a multiple of GRAIN) for stream `s`, and says which rung gave it.
 * NULL: no memory. `remapped` counts the steps that were taken from idle memory for a new address,
 * `grown` those that are new. `capped` is set when max_steps was in the way. */
struct range *reuse_take(struct heap *h, const struct reuse_policy *policy, struct stream *s,
                         size_t bytes, enum reuse *rung, size_t *grown, size_t *remapped,
                         bool *capped);

/* Moves the free chunks of `lane` whose place in the stream is at most `limit` to the common list;
 * returns whether there was one. */
bool reuse_reclaim(struct heap *h, uint32_t slot, uint64_t max_seq);

/* As the journal says it. */
const char *reuse_name(enum reuse rung);

#endif
