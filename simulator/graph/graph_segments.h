/* The physical memory that a device keeps for graphs: steps of 32 MiB, which graphs that cannot run
 * at the same time share. */
#ifndef SIM_GRAPH_GRAPH_SEGMENTS_H
#define SIM_GRAPH_GRAPH_SEGMENTS_H

#include "mem/heap.h"
#include "sched/stream.h"

struct graph_segment;

/* What is behind the addresses of one graph on one device: for each step of its heap a physical
 * one, or NULL; and what was there before the launch that took it last. */
struct graph_segments {
    int device;
    struct graph_segment **segments, **previous;
    size_t count;
};

/* A launch begins; steps that it takes are not given to another part of it. */
void graph_segments_begin_launch(void);
/* A physical step for step x of the addresses, for a launch in `s`: the one that it had, if the
 * order allows, else one that nobody can be using, else a new one, which is counted in `grown`.
 * `moved`: it is another than the one that it had. False: the device has no more. */
bool graph_segments_take(struct graph_segments *b, size_t x, const struct stream *s, size_t *grown,
                         bool *moved);
/* The launch fails: what was behind step x before it is there again, for launches of the graph that
 * are pending. */
void graph_segments_undo(struct graph_segments *b, size_t x);
/* The step is used up to work `number` of `s`. */
void graph_segments_used(struct graph_segments *b, size_t x, const struct stream *s, uint64_t seq);
/* A live block lies on the step; or no more. */
void graph_segments_hold(struct graph_segments *b, size_t x, bool on);
/* Takes physical memory away from addresses of `h` where no block is live; what work still to come
 * uses stays. */
void graph_segments_unmap(struct graph_segments *b, struct heap *h);
/* Gives back to the device what backs nothing; returns how many steps. */
size_t graph_segments_release(int device);

/* measured: used is what is reserved; each has a high mark of its own */
struct graph_figures {
    size_t used, used_high, reserved, reserved_high;
};
struct graph_figures *graph_segments_figures(int device);

/* For tests: how often each physical step is said to be mapped and to carry live blocks, less what
 * is counted off by graph_segments_count. */
void graph_segments_count_begin(void);
void graph_segments_count(const struct graph_segments *b, size_t x, bool is_allocation);
const char *graph_segments_count_end(void);

#endif
