/* Races between the grids of one launch: two touch a byte of device memory, one of them writes it,
 * and nothing orders them (documented: CUDA Programming Guide, "CUDA Dynamic Parallelism", which
 * has the order that there is). One of them may have launched the other. All of these need the
 * lock. */
#ifndef SIM_RUN_GRID_RACES_H
#define SIM_RUN_GRID_RACES_H

#include "run/device_runtime.h"

/* What a grid has touched in one allocation between two of its launches. */
struct grid_access {
    struct grid_access *next;
    struct shadow_ref ref;
    /* How many launches it had made before. */
    unsigned launches;
    struct byte_set *read, *written, *atomic;
    /* The end of a sentence, which is never freed. */
    const char *inside;
};

struct grid {
    /* The one that ran before it. */
    struct grid *next;
    /* The grid that launched it, or NULL; by which of its launches, from 1; in which stream;
     * and whether that is cudaStreamTailLaunch. */
    struct grid *parent;
    unsigned launch, depth;
    uint64_t stream;
    bool is_tail;
    /* Its threads let streams wait for events. */
    bool has_waits;
    /* It may have let others wait for it, or have waited for them, by what it did to memory. */
    bool released, acquired;
    const char *name;
    struct grid_access *accesses;
};

/* Adds what the grid has touched in a window. */
void grid_touched(struct grid *g, struct shadow_ref ref, unsigned launches,
                  const struct window *win, const char *inside);
/* Reports a race of the grid with one that ran before it, in the list of `next`. */
void grid_judge(const struct late_launch *l, const struct grid *g);
/* Returns what is kept of a child, in front of the list. */
struct grid *grid_new(struct grid *newest, const struct child *c);
/* Frees the list and what its grids have touched. The first one, which no grid has launched, is the
 * caller's. */
void grids_free(struct grid *newest);

#endif
