/* The device runtime, which threads of a running grid call: their launches (CUDA dynamic
 * parallelism), the streams of these launches, and their errors. "Documented" in a comment means
 * the chapter of that name in the CUDA Programming Guide. All of these need the lock. */
#ifndef SIM_RUN_DEVICE_RUNTIME_H
#define SIM_RUN_DEVICE_RUNTIME_H

#include "run/nvcc_kernel.h"

/* A grid that a thread has launched, or may launch. */
struct child {
    struct child *next;
    struct nvcc_kernel *kernel;
    /* The buffer into which the thread writes the parameters. */
    const char *buffer;
    /* Children with the same stream run in order. */
    uint64_t stream;
    bool is_tail;
    /* The launch counts as pending. */
    bool is_counted;
    /* For races: the grid that made this launch, or NULL, and the number of the launch among that
     * grid's, from 1. */
    struct grid *parent;
    unsigned launch;
};

/* The state of the device runtime for one grid. */
struct device_runtime {
    const struct nvcc_kernel *kernel;
    int device;
    /* The number of pending launches of the whole launch by the host, and which threads of block
     * `launching_block` have made one. */
    size_t *pending;
    uint64_t launching_block;
    uint32_t launching[32];
    struct buffers *buffers;
    /* `given`: launches that have a buffer but are not made yet. `children`: launches that may run
     * at once, in order. `tails`: launches that run when all children have ended. */
    struct child *given, *children, **children_end, *tails, **tails_end;
    /* The number of launches in `children` and `tails`. */
    unsigned launches;
    /* How many streams and events were created, and whether a stream waits for an event. */
    uint64_t made;
    bool has_waits;
    /* Each thread's last error. */
    struct thread_error *errors;
    size_t error_count;
    /* The first failed launch whose thread has not asked for the error, or an empty text. */
    struct {
        uint64_t thread, block;
        char text[512];
    } unasked;
};

void device_runtime_begin(struct device_runtime *r, const struct nvcc_kernel *kernel, int device,
                          size_t *pending);
/* Makes a thread's call, unless the call allocates or frees. */
uint64_t device_runtime_call(struct device_runtime *r, struct device_call *c);
/* Returns the error `e` after making it the last error of the calling thread. */
cudaError_t device_runtime_fail(struct device_runtime *r, const struct device_call *c,
                                cudaError_t e);
/* Returns the window that contains these bytes if they are in the device runtime's own memory, or
 * NULL. */
struct window *device_runtime_find(const struct device_runtime *r, uint64_t address, size_t bytes);
/* Ends the device runtime of a grid. Returns the grids that its threads launched, in the order in
 * which they run. */
struct child *device_runtime_end(struct device_runtime *r);
void child_free(struct child *c);

/* ---- races between grids ---- */

/* Races between the grids of one launch: two grids touch a byte of device memory, one of them
 * writes it, and nothing orders them. One may have launched the other. Documented (CUDA Programming
 * Guide, "CUDA Dynamic Parallelism"): which grids are ordered. */

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
