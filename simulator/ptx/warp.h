/* A launch that runs: blocks of warps of 32 threads. Needs the lock.
 *
 * The threads of a warp that are at the same instruction run it together; where they part, those
 * that are behind go on first, so that they meet again (ptx/threads.c). */
#ifndef SIM_PTX_WARP_H
#define SIM_PTX_WARP_H

#include "ptx/code.h"
#include "ptx/grid.h"

/* A function that threads of a warp are in. */
struct frame {
    struct frame *caller;
    const struct code *code;
    char *registers;
    uint32_t *predicates;
    /* Where the frame begins in each thread's memory. */
    size_t base;
    /* The threads that are in it, or in what it calls. */
    uint32_t lanes;
    /* Of the call: where the caller goes on. */
    const struct call_site *site;
    uint32_t return_to;
    unsigned depth;
};

enum group_state {
    GROUP_RUNS,
    GROUP_AT_BARRIER,
    /* Waits until others come to the same instruction, or cannot. */
    GROUP_TOGETHER
};

/* Threads of a warp that are at the same instruction. */
struct group {
    struct frame *frame;
    uint32_t pc, lanes;
    enum group_state state;
    /* The barrier that it waits at. */
    unsigned barrier;
};

struct warp {
    /* Of the frame that runs. */
    char *registers;
    uint32_t *predicates;
    struct frame *frame, *entry;
    struct launch *launch;
    struct block *block;
    unsigned index;
    /* The instruction that runs. */
    uint32_t pc;
    /* Those that have not ended. */
    uint32_t alive;
    /* Every thread is in one. The first runs. */
    struct group groups[WARP_SIZE];
    unsigned group_count;
    /* Branches backward since another group was last chosen. */
    unsigned backward;
    /* A thread each. */
    char *local;
    size_t local_bytes;
    /* add.cc. */
    uint32_t carry;
    struct frame *unused_frames;
};

#define BARRIERS 16
struct barrier {
    /* How many threads it expects (0: all that are alive), how many have come. */
    unsigned expected, arrived;
    /* bar.red: how many threads came with a predicate that is true. */
    unsigned voted;
};

struct block {
    struct launch *launch;
    struct warp *warps;
    unsigned warp_count, alive;
    uint32_t x, y, z;
    uint64_t number;
    char *shared;
    struct barrier barriers[BARRIERS];
    /* At how many of them threads have arrived. */
    unsigned waits;
    bool runs;
};

struct launch {
    const struct launch_shape *shape;
    const struct launch_memory *memory;
    struct launch_fault *fault;
    const struct kernel_code *code;
    size_t shared_bytes;
    unsigned threads_of_block, warps_of_block;
    uint64_t blocks, next_block;
    /* Windows that were found, in no order; the last one of loads and of stores. */
    struct window **windows, *last;
    size_t window_count;
    /* Instructions that warps have run; grows faster where a program reads clocks. */
    uint64_t clock;
    /* How many stores and atomic operations there were. */
    uint64_t changes;
    uint64_t random;
    /* What GRID_WINDOW is an address of (the toolkit's cooperative_groups/details/driver_abi.h):
     * its size, and the barrier's count. */
    uint32_t workspace[2];
};

/* Runs the warp until it ends, waits at a barrier, or has run so many instructions. Returns whether
 * it may go on now. */
bool warp_run(struct warp *w, uint64_t budget);
/* Threads at this barrier go on. */
void warp_release(struct warp *w, unsigned barrier);
/* A barrier has got threads: does it open? */
void block_check_barrier(struct block *b, unsigned barrier);

/* Ends the launch: what thread `lane` of the warp has done is a fault. */
void warp_fault(struct warp *w, unsigned lane, enum fault_kind kind, uint64_t address, size_t bytes,
                bool write);

/* ---- operands ---- */

/* Registers are read and written as all types. */
#define LANE_TYPE(type) type __attribute__((may_alias))
typedef LANE_TYPE(uint8_t) lane_u8;
typedef LANE_TYPE(int8_t) lane_s8;
typedef LANE_TYPE(uint16_t) lane_u16;
typedef LANE_TYPE(int16_t) lane_s16;
typedef LANE_TYPE(uint32_t) lane_u32;
typedef LANE_TYPE(int32_t) lane_s32;
typedef LANE_TYPE(uint64_t) lane_u64;
typedef LANE_TYPE(int64_t) lane_s64;
typedef LANE_TYPE(float) lane_f32;
typedef LANE_TYPE(double) lane_f64;

/* For products and sums of 64 bits. */
__extension__ typedef unsigned __int128 wide_u128;
__extension__ typedef __int128 wide_s128;

/* Where lane l of a register is, in elements of a type. */
#define AT(type, l) ((l) * (sizeof(type) < 4 ? 4 / sizeof(type) : 1))

#ifdef __clang__
#define AT_ONCE _Pragma("clang loop vectorize(assume_safety)")
#else
#define AT_ONCE _Pragma("GCC ivdep")
#endif
/* What runs an instruction is HOT: compiled for processors with AVX2 and FMA, on which kernels take
 * a third of the time (-std=c11: no product and sum are joined that the source does not join).
 * simulator/build.mk says by AVX2 whether this machine's processor is one of them: the default
 * build is for that kind alone, since one copy compiles in half of the time, and HOT_RUNS is false
 * on a processor that lacks what was compiled for. A release has copies for both kinds, and the
 * loader chooses. */
#if defined __x86_64__ && defined __GLIBC__ && defined __GNUC__ && __GNUC__ >= 12 \
    && !defined __clang__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#ifndef AVX2
#define HOT __attribute__((target_clones("arch=x86-64-v3", "default")))
#elif AVX2
#define HOT      __attribute__((target("arch=x86-64-v3")))
#define HOT_RUNS __builtin_cpu_supports("x86-64-v3")
#endif
#endif
#ifndef HOT
#define HOT
#endif
#ifndef HOT_RUNS
#define HOT_RUNS true
#endif
/* A part of these: compiled with each of them. */
#define INLINE inline __attribute__((always_inline))
/* The body, for each lane `l`. When all take part, the compiler may do several at once. */
#define EACH_LANE(lanes, ...)                                            \
    if ((lanes) == ALL_LANES) {                                          \
        AT_ONCE for (unsigned l = 0; l < WARP_SIZE; l++) { __VA_ARGS__ } \
    } else {                                                             \
        for (uint32_t rest = (lanes); rest; rest &= rest - 1) {          \
            unsigned l = (unsigned)__builtin_ctz(rest);                  \
            __VA_ARGS__                                                  \
        }                                                                \
    }

static inline bool lane_is_in(uint32_t lanes, unsigned l) { return lanes >> l & 1; }

/* ---- what runs instructions (one file each; decode.c looks them up) ---- */

/* An operation by its name and type: what runs it, and the bytes of its operands, results first: 1
 * is a predicate. */
struct operation {
    const char *name;
    instruction_run *run;
    const char *operands;
};
extern const struct operation operations[];
extern const size_t operation_count;
extern const struct operation lop3_operation;

instruction_run run_modified, run_move, run_pack, run_unpack, run_frame_address, run_clock;
instruction_run run_compare_and, run_compare_or, run_compare_xor, run_convert, run_isspacep;
instruction_run run_load, run_store, run_load_parameter, run_atomic, run_copy, run_nothing;
instruction_run run_shuffle, run_vote, run_match, run_active_mask, run_together, run_elect;
instruction_run run_reduce, run_trap, run_printf, run_assertion;

#endif
