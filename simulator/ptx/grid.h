/* Runs a whole launch: its blocks one after the other, several in turns if one waits for another,
 * or many independent ones on several cores. Needs the lock. */
#ifndef SIM_PTX_GRID_H
#define SIM_PTX_GRID_H

#include "ptx/code.h"

#define PIECE_SHIFT 10
#define UNIT        8

/* The input of a launch. */
struct launch_shape {
    struct {
        uint32_t x, y, z;
    } grid, block;
    /* The number of bytes of dynamic shared memory. */
    size_t shared_bytes;
    /* The kernel's parameters, in its own layout. */
    const char *parameters;
    size_t parameter_bytes;
    /* All blocks run at once, so the grid may have a barrier. */
    int cooperative;
    /* How many blocks fit on the device at once. */
    uint64_t fitting;
    /* 0: blocks and warps run in order. Any other number chooses an order. */
    uint64_t seed;
    /* If `fills`, each block's shared memory begins with this byte in every place. Otherwise it has
     * what an earlier block has left there. */
    bool fills;
    int fill;
    /* The initial value of the clocks. */
    uint64_t nanoseconds;
    /* The largest number of cores on which the launch may run. */
    unsigned cores;
    /* What to look for: reads of bytes that no one has written, races, and misused barriers. */
    struct {
        bool init, race, sync;
    } checks;
};

struct texture;

enum fault_kind {
    FAULT_NONE,
    /* A fault that the window's owner has found. */
    FAULT_ADDRESS,
    FAULT_MISALIGNED,
    FAULT_SHARED_ADDRESS,
    FAULT_LOCAL_ADDRESS,
    FAULT_STACK,
    FAULT_TRAP,
    FAULT_ASSERTION,
    /* No thread can continue: all wait at barriers that the others do not reach. */
    FAULT_BARRIER,
    FAULT_NO_FUNCTION,
    /* free got an address that malloc has not returned. */
    FAULT_FREE,
    /* cudaGraphSetConditional got a number that is no handle of a condition. */
    FAULT_CONDITION,
    /* An instruction got a number that is no texture or surface object; and an access was outside
     * of a surface whose boundary mode is to trap. */
    FAULT_TEXTURE,
    FAULT_SURFACE,
    /* The kernel keeps reading memory that nothing on the device changes. */
    FAULT_WAITS,
    /* For a part of a launch on several cores: one core has to run the rest of the launch
     * (ptx/cores.c). */
    FAULT_ONE_CORE
};

/* An action of a thread that ends the device. If there is no kind, it only says where a thread is
 * or what it does. */
struct launch_fault {
    enum fault_kind kind;
    uint64_t address;
    size_t bytes;
    bool write;
    /* The access is atomic or volatile; known for races within a block. */
    bool is_atomic;
    /* The access is a cp.async for which its thread has not waited. */
    bool is_in_flight;
    uint32_t thread[3], block[3];
    const struct instruction *instruction;
    const struct code *code;
};

/* An allocation that the kernel touches, or bytes outside of allocations. */
struct window {
    uint64_t base, end;
    /* The bytes as the CPU sees them. */
    char *storage;
    /* The bytes that were read, written, or changed atomically. Each set has a bit for each byte,
     * by its distance from `base`, or is NULL if it is empty; the first and last word that may have
     * bits; and a bit for each UNIT of words that may have bits. */
    struct touched {
        uint64_t *bits;
        size_t first, last;
        uint64_t *units;
    } read, written, atomic;
    /* If `by_block`: the same three sets for the running block alone. When the block ends, they are
     * compared with the sets above, which are other blocks', and added to them. */
    struct touched of_block[3];
    bool by_block;
    /* The window of the same memory from before the kernel last launched another one, or NULL. */
    const struct window *before;
    /* The bytes that have a value when the launch begins, a bit for each, in pieces of
     * 1 << PIECE_SHIFT words, or NULL if all bytes have one. And those bytes of `written` to which
     * the launch has copied bytes without a value. */
    const uint64_t *const *pieces;
    struct touched carried;
    /* The first read of bytes without a value that was more than a copy. Its instruction is NULL if
     * there was none. */
    struct launch_fault unwritten;
    /* For a part of a launch on several cores, else NULL: the pieces of its memory as they were
     * before a part wrote to them (ptx/cores.c). Atomic. */
    char **saved;
    /* The pieces that the part has changed atomically. */
    char **sums;
    /* The window is outside of allocations. */
    bool is_outside;
    /* A pointer for the caller's own use. */
    void *owner;
    /* The first touch. Its instruction is NULL as long as there was none. */
    struct launch_fault first;
};

/* The first mistake of each kind between threads of the launch. If there was none, the instruction
 * of its last place is NULL. */
struct launch_found {
    /* In shared memory: two unordered accesses, and a read of bytes that no one has written. */
    struct launch_fault shared_race[2], shared_unwritten;
    /* In device memory: accesses of two blocks, or of two threads of one block; the window, which
     * is NULL if there are none, and the byte in it. Places without an instruction were not found
     * again. */
    struct device_race {
        struct launch_fault places[2];
        struct window *window;
        size_t byte;
    } block_race, own_race;
    /* An instruction that waits for threads that do not come, and where one of those threads is. */
    enum misuse {
        MISUSE_NONE,
        /* Threads of one warp wait at two barriers, although a warp comes to a barrier as one. */
        MISUSE_TWO_BARRIERS,
        /* Some threads have passed a barrier of the block (the first place) and end where others
         * end that have not passed it. */
        MISUSE_PASSED_BY_SOME,
        /* The mask of a shuffle, vote, or __syncwarp names threads that are elsewhere, or lacks the
         * thread itself. */
        MISUSE_ABSENT,
        MISUSE_NOT_IN_MASK
    } misuse;
    struct launch_fault misused[2];
    /* The mask, and the threads of the warp that have come. */
    uint32_t mask, came;
    /* A block has released its accesses to device memory, or acquired those of others. */
    bool released, acquired;
};

enum device_function {
    DEVICE_NONE,
#define DEVICE_CALL(name, bytes) DEVICE_##name,
#include "ptx/device_calls.def"
#undef DEVICE_CALL
};

/* A thread's call of the device runtime. */
struct device_call {
    enum device_function function;
    /* Up to 16 bytes for each argument. Missing arguments are 0. */
    uint64_t arguments[6][2];
    /* The number of the thread in its block, and the number of the block. */
    uint64_t thread, block;
    /* The value to store where the first argument points, if the call succeeds. */
    uint64_t output;
    /* The call has launched a grid, so accesses from now on go to new windows. */
    bool is_launch;
};

/* How a launch finds its memory, and what it tells its caller. */
struct launch_memory {
    /* Returns the window that contains an address; the caller owns the window. NULL ends the
     * launch, and the caller knows why. */
    struct window *(*find)(void *context, uint64_t address, size_t bytes, bool write);
    /* Several cores have found the last `found` windows, in no fixed order. In the order of one
     * core they are these `count` windows; windows that are no longer needed have ended. */
    void (*settle)(void *context, size_t found, struct window *const *windows, size_t count);
    /* malloc and free in a kernel. The first returns the address, or 0; the second, whether malloc
     * has returned this address and it may be freed. */
    uint64_t (*allocate)(void *context, size_t bytes);
    bool (*release)(void *context, uint64_t address);
    /* Sets the condition of conditional nodes. Returns false if there is none with this handle. */
    bool (*set_condition)(void *context, uint64_t handle, uint32_t value);
    /* Makes a call of the device runtime, and returns its result. */
    uint64_t (*call_runtime)(void *context, struct device_call *call);
    /* Returns the texture or surface object with this handle, or NULL. */
    const struct texture *(*texture)(void *context, uint64_t handle);
    /* Is called after ten seconds, with the place of one of the launch's threads. */
    void (*still_runs)(void *context, const struct launch_fault *place);
    void *context;
};

/* Returns whether the kernel may signal other threads, or the host, through memory: by a fence, a
 * volatile access, or an atomic operation. */
bool kernel_signals(const struct kernel_code *k);
/* Returns whether the kernel waits for the one before it, and whether it lets the next one begin
 * without a signal: griddepcontrol.wait and .launch_dependents. */
bool kernel_awaits_others(const struct kernel_code *k);
bool kernel_lets_others_begin(const struct kernel_code *k);
/* Frees a window's bits. */
void window_end(struct window *win);
/* Runs the launch. Returns false if a fault ended it. `found` must be zero before. */
bool grid_run(const struct kernel_code *code, const struct launch_shape *shape,
              const struct launch_memory *memory, struct launch_fault *fault,
              struct launch_found *found);

#endif
