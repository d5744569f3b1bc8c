/* Runs a launch, all of it, on the calling thread: its blocks one after the other, or several in
 * turns where one waits for another. Needs the lock. */
#ifndef SIM_PTX_GRID_H
#define SIM_PTX_GRID_H

#include "ptx/code.h"

/* What a launch is given. */
struct launch_shape {
    struct {
        uint32_t x, y, z;
    } grid, block;
    /* Dynamic shared memory. */
    size_t shared_bytes;
    /* The kernel's parameters, as it sees them. */
    const char *parameters;
    size_t parameter_bytes;
    /* All blocks run at once: there may be a barrier of the grid. */
    bool cooperative;
    /* 0: blocks and warps in their order; else an order of this number. */
    uint64_t seed;
    /* Begins the clocks. */
    uint64_t nanoseconds;
};

/* An allocation that the kernel touches, or bytes beside one. */
struct window {
    uint64_t base, end;
    /* Where the bytes are for the CPU. */
    char *storage;
    /* The bytes that were read, written and changed atomically: a bit each, by their distance from
     * `base`; NULL: none. The first and the last word of each that may have bits. */
    struct touched {
        uint64_t *bits;
        size_t first, last;
    } read, written, atomic;
    /* The caller's. */
    void *owner;
    /* The first touch: by this instruction of this thread. */
    const struct code *code;
    const struct instruction *instruction;
    uint32_t thread[3], block[3];
    uint64_t address;
    size_t bytes;
    bool write;
};

/* Where the launch's memory is. */
struct launch_memory {
    /* Returns the window that an address is in, which the caller owns; NULL: the launch is to end,
     * and the caller knows why. */
    struct window *(*find)(void *context, uint64_t address, size_t bytes, bool write);
    void *context;
};

enum fault_kind {
    FAULT_NONE,
    /* The window's owner has found it. */
    FAULT_ADDRESS,
    FAULT_MISALIGNED,
    FAULT_SHARED_ADDRESS,
    FAULT_LOCAL_ADDRESS,
    FAULT_STACK,
    FAULT_TRAP,
    FAULT_ASSERTION,
    /* No thread can go on: all wait at barriers that the others do not come to. */
    FAULT_BARRIER,
    FAULT_NO_FUNCTION,
    /* It reads again and again what nothing on the device changes. */
    FAULT_WAITS
};

/* What a thread did that no device survives. */
struct launch_fault {
    enum fault_kind kind;
    uint64_t address;
    size_t bytes;
    bool write;
    uint32_t thread[3], block[3];
    const struct instruction *instruction;
    const struct code *code;
};

/* Runs it. Returns false when it ended by a fault. */
bool grid_run(const struct kernel_code *code, const struct launch_shape *shape,
              const struct launch_memory *memory, struct launch_fault *fault);

#endif
