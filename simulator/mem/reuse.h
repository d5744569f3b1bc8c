/* The reuse ladder, which decides the memory that an allocation gets. All of these need the
 * lock. */
#ifndef SIM_MEM_REUSE_H
#define SIM_MEM_REUSE_H

#include "mem/heap.h"
#include "sched/stream.h"

enum reuse {
    REUSE_FAILED,
#define RUNG(id, name, when, cost, because)            REUSE_##id,
#define RUNG_IF(id, name, policy, when, cost, because) REUSE_##id,
#include "mem/rungs.def"
};

struct reuse_policy {
    bool events, opportunistic, internal;
    size_t max_segments; /* 0: only the device's memory is the limit. */
};

/* The outcome of an allocation. */
struct reuse_result {
    struct range *range;  /* NULL: no memory. */
    enum reuse rung;      /* The rung that provided it. */
    size_t grown;         /* New segments. */
    size_t remapped;      /* Segments that were replaced by idle ones from elsewhere. */
    bool capped;          /* Stopped by max_segments. */
    enum barrier barrier; /* How the allocation takes part in the legacy stream's rule. */
};

/* Takes a live range of `bytes` (a multiple of ALIGNMENT) for stream `s`. */
struct reuse_result reuse_take(struct heap *h, const struct reuse_policy *policy, struct stream *s,
                               size_t bytes);

/* Moves the ranges of a stream's list that were freed at `max_seq` or before to the shared lists.
 * Returns whether there were any. */
bool reuse_reclaim(struct heap *h, struct free_list *list, uint64_t max_seq);

/* Returns the rung's name in the journal. */
const char *reuse_name(enum reuse rung);

#endif
