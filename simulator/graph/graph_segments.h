/* The physical memory that a device has for graphs: segments of 32 MiB, which graphs that cannot
 * run at the same time share. A physical segment belongs to its device. The two arrays of a struct
 * graph_segments belong to its graph_memory, which frees them. All functions here need the lock. */
#ifndef SIM_GRAPH_GRAPH_SEGMENTS_H
#define SIM_GRAPH_GRAPH_SEGMENTS_H

#include "mem/heap.h"
#include "sched/stream.h"

struct graph_segment;

/* The physical segments behind the addresses of one graph on one device. */
struct graph_segments {
    int device;
    /* The physical segment of each segment of addresses, or NULL. */
    struct graph_segment **segments;
    /* The physical segments before the last launch took new ones. */
    struct graph_segment **previous;
    size_t count;
};

/* Begins a launch, during which each physical segment backs at most one segment of addresses. */
void graph_segments_begin_launch(void);
/* Backs segment `x` of the addresses for a launch in `s` that comes after everything in `before`:
 * with the present physical segment, if `before` allows that or the stream can wait for a free;
 * otherwise with one that nothing can be using; otherwise with a new one, which adds 1 to `grown`.
 * Sets `moved` if a physical segment was replaced. Returns false if the device has no memory
 * left. */
bool graph_segments_take(struct graph_segments *b, size_t x, const struct stream *s,
                         const struct vector_clock *before, size_t *grown, bool *moved);
/* Makes the stream wait for the free before this launch's use of segment `x`, if there is one. */
void graph_segments_wait(struct graph_segments *b, size_t x, struct stream *s);
/* Gives `x` the physical segment that it had before this launch. Called if the launch fails,
 * because pending launches of the graph use that segment. */
void graph_segments_undo(struct graph_segments *b, size_t x);
/* Remembers work `seq` of `s` as the last use of segment `x`. */
void graph_segments_used(struct graph_segments *b, size_t x, const struct stream *s, uint64_t seq);
/* Remembers work `seq` of `s` as the last free of what this graph allocated on segment `x`. */
void graph_segments_freed(struct graph_segments *b, size_t x, const struct stream *s, uint64_t seq);
/* Adds 1, or -1, to the number of allocations on segment `x`. */
void graph_segments_hold(struct graph_segments *b, size_t x, int allocations);
/* Unmaps the segments of `h` that have no allocation and are not used by pending work. */
void graph_segments_unmap(struct graph_segments *b, struct heap *h);
/* Gives all segments that back nothing to the device again. Returns their number. */
size_t graph_segments_release(int device);

/* The four current figures of a device. All reserved memory is reported as used, and each figure
 * has a watermark of its own (measured: probe-graphs.txt, "graph_sizes"). */
struct graph_figures {
    size_t used, used_high, reserved, reserved_high;
};
struct graph_figures *graph_segments_figures(int device);

/* Check the invariant of graph_segments.c. Between begin and end, the segments of each graph and
 * each segment under an allocation are counted. The end returns NULL, or a sentence if a count is
 * not the segment's own number. */
void graph_segments_count_begin(void);
void graph_segments_count(const struct graph_segments *b);
void graph_segments_count_allocation(const struct graph_segments *b, size_t x);
const char *graph_segments_count_end(void);

#endif
