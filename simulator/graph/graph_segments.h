/* The physical memory that a device keeps for graphs: segments of 32 MiB, which graphs that cannot
 * run at the same time share.
 *
 * All of these functions need the lock. A physical segment belongs to its device; the two arrays of
 * a struct graph_segments belong to its graph_memory, which frees them. */
#ifndef SIM_GRAPH_GRAPH_SEGMENTS_H
#define SIM_GRAPH_GRAPH_SEGMENTS_H

#include "mem/heap.h"
#include "sched/stream.h"

struct graph_segment;

/* What backs the addresses of one graph on one device. */
struct graph_segments {
    int device;
    /* For each segment of the addresses the physical one, or NULL. */
    struct graph_segment **segments;
    /* What backed it before the last launch took one for it. */
    struct graph_segment **previous;
    size_t count;
};

/* Begins a launch. A physical segment that the launch takes backs one segment of its addresses. */
void graph_segments_begin_launch(void);
/* Takes a physical segment for segment `x` of the addresses, for a launch in `s`, which comes after
 * what is in `before`: the one that backs it, if that order allows or the stream has only to be
 * made to wait for a free; else one that nothing can be using; else a new one, and then it adds 1
 * to `grown`. Sets `moved` when it is another than before. Returns false when the device has no
 * more. */
bool graph_segments_take(struct graph_segments *b, size_t x, const struct stream *s,
                         const struct vector_clock *before, size_t *grown, bool *moved);
/* Makes the stream wait for the free for which the launch that took segment `x` has to. */
void graph_segments_wait(struct graph_segments *b, size_t x, struct stream *s);
/* Puts back what backed segment `x` before this launch, which fails: pending launches of the graph
 * use it. */
void graph_segments_undo(struct graph_segments *b, size_t x);
/* Remembers work `seq` of `s` as the last use of segment `x`. */
void graph_segments_used(struct graph_segments *b, size_t x, const struct stream *s, uint64_t seq);
/* The same for a free of what this graph allocated there. */
void graph_segments_freed(struct graph_segments *b, size_t x, const struct stream *s, uint64_t seq);
/* Counts an allocation that lies on segment `x` (`on`), or one that does so no more. */
void graph_segments_hold(struct graph_segments *b, size_t x, bool on);
/* Unmaps the segments of `h` that no allocation lies on. What pending work uses stays. */
void graph_segments_unmap(struct graph_segments *b, struct heap *h);
/* Gives back to the device all segments that back nothing. Returns how many. */
size_t graph_segments_release(int device);

/* The four figures of a device. Measured (probe-graphs.txt, "graph_sizes"): what is reserved is all
 * called used, and each has a watermark of its own. */
struct graph_figures {
    size_t used, used_high, reserved, reserved_high;
};
struct graph_figures *graph_segments_figures(int device);

/* Check the law of graph_segments.c. Between begin and end, graph_segments_count is called for each
 * segment that a graph has and for each on which an allocation lies. The end returns NULL, or a
 * sentence when the counts are not those of the segments. */
void graph_segments_count_begin(void);
void graph_segments_count(const struct graph_segments *b, size_t x, bool is_allocation);
const char *graph_segments_count_end(void);

#endif
