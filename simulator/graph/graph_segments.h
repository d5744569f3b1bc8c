/* The physical memory that a device keeps for graphs: steps of 32 MiB, which graphs that cannot run at the same time share. */
#ifndef SIM_GRAPH_GRAPH_SEGMENTS_H
#define SIM_GRAPH_GRAPH_SEGMENTS_H

#include "mem/heap.h"
#include "sched/stream.h"

struct step;

/* What is behind the addresses of one graph on one device: for each step of its heap a physical one, or NULL; and what was there before the launch that
 * took it last. */
struct backing { int device; struct step **steps, **before; size_t count; };

/* A launch begins; steps that it takes are not given to another part of it. */
void backing_launch(void);
/* A physical step for step x of the addresses, for a launch in `s`: the one that it had, if the order allows, else one that nobody can be using, else a new
 * one, which is counted in `grown`. `moved`: it is another than the one that it had. False: the device has no more. */
bool backing_take(struct backing *b, size_t x, const struct stream *s, size_t *grown, bool *moved);
/* The launch fails: what was behind step x before it is there again, for launches of the graph that are pending. */
void backing_undo(struct backing *b, size_t x);
/* The step is used up to work `number` of `s`. */
void backing_used(struct backing *b, size_t x, const struct stream *s, uint64_t number);
/* A live block lies on the step; or no more. */
void backing_hold(struct backing *b, size_t x, bool on);
/* Takes physical memory away from addresses of `h` where no block is live; what work still to come uses stays. */
void backing_drop(struct backing *b, struct heap *h);
/* Gives back to the device what backs nothing; returns how many steps. */
size_t backing_release(int device);

/* measured: used is what is reserved; each has a high mark of its own */
struct graph_figures { size_t used, used_high, reserved, reserved_high; };
struct graph_figures *backing_figures(int device);

/* For tests: how often each physical step is said to be mapped and to carry live blocks, less what is counted off by backing_count. */
void backing_count_begin(void);
void backing_count(const struct backing *b, size_t x, bool block);
const char *backing_count_end(void);

#endif
