/* The device runtime, as far as threads of a running grid call it: their launches (CUDA dynamic
 * parallelism), in which streams these are, and their errors. Where a comment says "documented", it
 * is by the chapter of that name in the CUDA Programming Guide. All of these need the lock. */
#ifndef SIM_RUN_DEVICE_RUNTIME_H
#define SIM_RUN_DEVICE_RUNTIME_H

#include "run/nvcc_kernel.h"

/* A grid that a thread has launched, or may launch. */
struct child {
    struct child *next;
    struct nvcc_kernel *kernel;
    /* Where the thread puts the parameters. */
    const char *buffer;
    /* Children with the same stream run in order. */
    uint64_t stream;
    bool is_tail;
    /* It is one of the pending launches. */
    bool is_counted;
    /* For races: the grid that launches it, or NULL, and by which of its launches, from 1. */
    struct grid *parent;
    unsigned launch;
};

/* What the threads of one grid have. */
struct device_runtime {
    const struct nvcc_kernel *kernel;
    int device;
    /* How many pending launches the launch of the host has; and which threads of a block have made
     * one. */
    size_t *pending;
    uint64_t launching_block;
    uint32_t launching[32];
    struct buffers *buffers;
    /* Those that have only got a buffer; in the order of their launches, those that may run at
     * once; and those that run when all of them have ended. */
    struct child *given, *children, **children_end, *tails, **tails_end;
    /* How many of these there are. */
    unsigned launches;
    /* Streams and events have been made, and an event is awaited. */
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
/* Makes a call, except those that allocate and free. */
uint64_t device_runtime_call(struct device_runtime *r, struct device_call *c);
/* The call of the thread fails: keeps the error as its last one, and returns it. */
cudaError_t device_runtime_fail(struct device_runtime *r, const struct device_call *c,
                                cudaError_t e);
/* Returns the window with these bytes, if they are the device runtime's own, or NULL. */
struct window *device_runtime_find(const struct device_runtime *r, uint64_t address, size_t bytes);
/* Ends it. Returns the grids that were launched, in the order in which they run before everything
 * else. */
struct child *device_runtime_end(struct device_runtime *r);
void child_free(struct child *c);

#endif
