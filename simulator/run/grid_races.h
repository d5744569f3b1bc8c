/* Races between the grids of one launch: two grids touch a byte of device memory, one of them
 * writes it, and nothing orders them. One may have launched the other. Documented (CUDA Programming
 * Guide, "CUDA Dynamic Parallelism"): which grids are ordered. All of these need the lock. */
#ifndef SIM_RUN_GRID_RACES_H
#define SIM_RUN_GRID_RACES_H

#include "run/device_runtime.h"

/* What a grid has touched in one allocation between two of its launches. */
struct grid_access {
    struct grid_access *next;
    struct shadow_ref ref;
    /* The number of launches that the grid had made before. */
    unsigned launches;
    struct byte_set *read, *written, *atomic;
    /* The end of a report's sentence. The text is never freed. */
    const char *inside;
};

struct grid {
    /* The next older grid of the list. */
    struct grid *next;
    /* The grid that made this launch, or NULL; the number of the launch among that grid's, from 1;
     * the grid's depth; its stream; and whether the stream is cudaStreamTailLaunch. */
    struct grid *parent;
    unsigned launch, depth;
    uint64_t stream;
    bool is_tail;
    /* A thread of the grid made a stream wait for an event. */
    bool has_waits;
    /* The grid may have signaled other grids, or waited for their signals, through memory. */
    bool released, acquired;
    const char *name;
    struct grid_access *accesses;
};

/* Adds what the grid has touched in a window. */
void grid_touched(struct grid *g, struct shadow_ref ref, unsigned launches,
                  const struct window *win, const char *inside);
/* Reports a race between the grid and an older one of its list. */
void grid_judge(const struct late_launch *l, const struct grid *g);
/* Adds a grid for the launch to the front of the list, and returns it. */
struct grid *grid_new(struct grid *newest, const struct child *c);
/* Frees the list and its accesses, but not the oldest grid, which the host launched and the caller
 * owns. */
void grids_free(struct grid *newest);

#endif
