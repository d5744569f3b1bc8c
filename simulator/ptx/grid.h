/* Runs a whole launch: blocks one after the other, or several in turns if one waits for another;
 * many that are independent, on several cores. Needs the lock. */
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
    /* Dynamic shared memory. */
    size_t shared_bytes;
    /* The kernel's parameters, in its own layout. */
    const char *parameters;
    size_t parameter_bytes;
    /* All blocks run at once, so the grid may have a barrier. */
    bool cooperative;
    /* 0: blocks and warps run in order; otherwise in an order chosen by this number. */
    uint64_t seed;
    /* If `fills`: the byte that a block's shared memory consists of when it begins. Otherwise it
     * has what an earlier block has left there. */
    bool fills;
    int fill;
    /* The initial value of the clocks. */
    uint64_t nanoseconds;
    /* The most cores that it may run on. */
    unsigned cores;
    /* What is looked for: reads of what nobody has written, races, misused barriers. */
    struct {
        bool init, race, sync;
    } checks;
};

struct texture;

enum fault_kind {
    FAULT_NONE,
    /* Found by the window's owner. */
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
    /* free was given what is no memory of malloc. */
    FAULT_FREE,
    /* cudaGraphSetConditional was given what is no handle of a condition. */
    FAULT_CONDITION,
    /* An instruction was given what is no texture or surface object, and an access outside of a
     * surface with the boundary mode that traps. */
    FAULT_TEXTURE,
    FAULT_SURFACE,
    /* The kernel repeatedly reads what nothing on the device changes. */
    FAULT_WAITS,
    /* Of a part of a launch on several cores: the launch has to go on on one (ptx/cores.c). */
    FAULT_ONE_CORE
};

/* What a thread did that no device survives; without a kind, where a thread is or what it does. */
struct launch_fault {
    enum fault_kind kind;
    uint64_t address;
    size_t bytes;
    bool write;
    /* It is atomic or volatile; known of races in a block. */
    bool is_atomic;
    /* It is a cp.async for which its thread has not waited. */
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
    /* The bytes that were read, written, or changed atomically: a bit for each, by distance from
     * `base`, or NULL if there are none; the first and last word that may have bits; and a bit for
     * each UNIT of words that may. */
    struct touched {
        uint64_t *bits;
        size_t first, last;
        uint64_t *units;
    } read, written, atomic;
    /* If `by_block`: what the running block has touched, in the same order; when it ends, it is
     * compared with the above, which are what others touched, and added to it. */
    struct touched of_block[3];
    bool by_block;
    /* The same memory's window before the kernel's last launch of another one, or NULL. */
    const struct window *before;
    /* The bytes that have a value when the launch begins: a bit for each, in pieces of
     * 1 << PIECE_SHIFT words; NULL: all have. Those of `written` to which the launch has copied
     * bytes without a value. */
    const uint64_t *const *pieces;
    struct touched carried;
    /* The first read of bytes without a value, unless only a copy of them was made; the instruction
     * is NULL if there was none. */
    struct launch_fault unwritten;
    /* Of a part of a launch on several cores, else NULL: the pieces of its memory as they were
     * before a part wrote there (ptx/cores.c). Atomic. */
    char **saved;
    /* ... and pieces of what it has changed atomically. */
    char **sums;
    /* There is no allocation. */
    bool is_outside;
    /* For the caller. */
    void *owner;
    /* The first touch: the instruction and the thread. */
    const struct code *code;
    const struct instruction *instruction;
    uint32_t thread[3], block[3];
    uint64_t address;
    size_t bytes;
    bool write;
};

/* What is wrong between threads of the launch, the first of each kind; the instruction of its last
 * place is NULL if there is nothing. */
struct launch_found {
    /* In shared memory: two accesses that nothing orders, and a read of what nobody has written. */
    struct launch_fault shared_race[2], shared_unwritten;
    /* In device memory: accesses of two blocks, the window, and the byte in it. Places without an
     * instruction were not found again. */
    struct launch_fault block_race[2];
    struct window *race_window;
    size_t race_byte;
    /* What waits for threads that do not come, and where one of these is instead. */
    enum misuse {
        MISUSE_NONE,
        /* Threads of one warp wait at two barriers, which a warp comes to as one. */
        MISUSE_TWO_BARRIERS,
        /* Some threads have passed a barrier of the block (the first place), and end as others do
         * that have not. */
        MISUSE_PASSED_BY_SOME,
        /* The mask of a shuffle, vote, or __syncwarp names threads that are elsewhere, or lacks the
         * thread itself. */
        MISUSE_ABSENT,
        MISUSE_NOT_IN_MASK
    } misuse;
    struct launch_fault misused[2];
    /* The mask, and the threads of the warp that came. */
    uint32_t mask, came;
    /* A block has released what it did in device memory, or acquired what others did. */
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
    /* Of each at most 16 bytes; what is not given is 0. */
    uint64_t arguments[6][2];
    /* The numbers of the thread in its block, and of the block. */
    uint64_t thread, block;
    /* What is stored where the first argument points, if the call succeeds. */
    uint64_t output;
    /* From now on the launch finds new windows, because it has launched something. */
    bool is_launch;
};

/* Where the launch's memory is, and whom it tells that it takes long. */
struct launch_memory {
    /* Returns the window that contains an address, which the caller owns. NULL ends the launch; the
     * caller knows why. */
    struct window *(*find)(void *context, uint64_t address, size_t bytes, bool write);
    /* The last `found` of these windows were found in another order than on one core: they are now
     * these `count` in this order, and the others have ended. */
    void (*settle)(void *context, size_t found, struct window *const *windows, size_t count);
    /* malloc and free of a kernel. Returns the address, or 0; and whether malloc has returned this
     * address and it may be freed. */
    uint64_t (*allocate)(void *context, size_t bytes);
    bool (*release)(void *context, uint64_t address);
    /* Sets the condition of conditional nodes; false: there is none with this handle. */
    bool (*set_condition)(void *context, uint64_t handle, uint32_t value);
    /* Makes a call of the device runtime, and returns its result. */
    uint64_t (*call_runtime)(void *context, struct device_call *call);
    /* Returns the texture or surface object of this handle, or NULL. */
    const struct texture *(*texture)(void *context, uint64_t handle);
    /* After ten seconds: where one of its threads is. */
    void (*still_runs)(void *context, const struct launch_fault *place);
    void *context;
};

/* Returns whether other threads, or the host, may learn from the kernel's accesses that something
 * is over: by a fence, a volatile access, or the value of an atomic operation. */
bool kernel_signals(const struct kernel_code *k);
/* Frees the bits of a window. */
void touched_end(const struct window *win, struct touched *t);
/* Runs the launch. Returns false if it ended by a fault. `found` is zero before. */
bool grid_run(const struct kernel_code *code, const struct launch_shape *shape,
              const struct launch_memory *memory, struct launch_fault *fault,
              struct launch_found *found);

#endif
