/* A running launch: blocks of warps of 32 threads. Threads of a warp that are at the same
 * instruction run it together. After they part, those that are behind run first, so that they meet
 * again (ptx/threads.c). Needs the lock. */
#ifndef SIM_PTX_WARP_H
#define SIM_PTX_WARP_H

#include "base/types.h"
#include "ptx/code.h"
#include "ptx/grid.h"

/* A call of a function by threads of a warp. */
struct frame {
    struct frame *caller;
    const struct code *code;
    char *registers;
    uint32_t *predicates;
    /* The start of the frame in each thread's memory. */
    size_t base;
    /* The threads that are in it or in a function that it calls. */
    uint32_t lanes;
    /* The call, and where the caller continues. */
    const struct call_site *site;
    uint32_t return_to;
    unsigned depth;
    /* For each 4 bytes of a register: the threads whose value was loaded from bytes without a value
     * and is only stored again; NULL: there are none. */
    uint32_t *carried;
    /* The first load that set `carried`, and its window. */
    struct launch_fault carried_at;
    struct window *carried_from;
    /* Like `carried`, for values from shared memory that no thread has written; and the first load
     * of one. */
    uint32_t *tainted;
    struct launch_fault tainted_at;
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
    /* The barrier at which it waits. */
    unsigned barrier;
    /* Threads of other groups that have run the instruction for which this one waits. */
    uint32_t met;
    /* The warp's `preferences` when this group was last preferred. */
    uint32_t preferred;
};

struct warp {
    /* The running frame's. */
    char *registers;
    uint32_t *predicates;
    struct frame *frame, *entry;
    struct launch *launch;
    struct block *block;
    unsigned index;
    /* Where the first group began to run plain instructions. */
    uint32_t began_at;
    /* The instruction has loaded from shared memory and has set the `tainted` of its results. */
    bool noted_load;
    /* The launch has ended by a fault, or the running frame has `tainted`. */
    bool is_watched;
    /* The threads that have not ended. */
    uint32_t alive;
    struct group groups[WARP_SIZE];
    unsigned group_count;
    /* How often a loop that waits has run (SPINS_MAX) since another group was last preferred; how
     * often one was; and for how many instructions it still is. */
    uint32_t spins, preferences;
    uint64_t patience;
    /* Local memory, `local_bytes` for each thread. */
    char *local;
    size_t local_bytes;
    /* For add.cc. */
    uint32_t carry;
    /* While a modified copy of an instruction runs: the one in the code; otherwise NULL. */
    const struct instruction *whole;
};

/* The barriers that instructions number, and that of barrier.cluster. */
#define BARRIERS        17
#define CLUSTER_BARRIER (BARRIERS - 1)
struct barrier {
    /* The number of expected threads (0: all live ones), and of those that have come. */
    unsigned expected, arrived;
    /* bar.red: the number of threads that came with a true predicate. */
    unsigned voted;
};

struct block {
    struct launch *launch;
    struct warp *warps;
    unsigned warp_count, alive;
    uint32_t at[3];
    uint64_t number;
    /* The values of its code's sequences (ptx/sequences.c), and whether its warps use them instead
     * of registers. */
    struct steps {
        uint64_t begin, step;
    } * lines;
    bool has_lines;
    /* The registers of sequences that its warps have: none, those that are read, all. */
    enum { FILLED_NONE, FILLED_READ, FILLED_ALL } filled;
    char *shared;
    /* ptx/shared_notes.h; NULL: none are kept. */
    struct shared_notes *notes;
    struct barrier barriers[BARRIERS];
    /* The number of barriers at which threads have arrived. */
    unsigned waits;
    /* How many barriers all its threads have passed, and the last; and how threads have ended
     * (ptx/synchronization.c). */
    unsigned passed, ending_count;
    struct launch_fault last_passed;
    struct ending {
        unsigned passed;
        uint32_t from, to;
        struct launch_fault place;
    } endings[4];
    bool runs;
    /* The block has released or acquired in device memory, as ptx/shared_notes.h defines it. */
    bool released, acquired;
    /* The present instruction belongs to the grid's barrier. */
    bool is_at_grid;
};

struct launch {
    const struct launch_shape *shape;
    const struct launch_memory *memory;
    struct launch_fault *fault;
    struct launch_found *found;
    const struct kernel_code *code;
    /* Shared memory is noted in units of 1 << granule_shift bytes. */
    unsigned granule_shift;
    size_t shared_bytes;
    unsigned threads_of_block, warps_of_block;
    uint64_t blocks, next_block;
    /* The known windows, in no order, and the last one that was used. Those before `first_window`
     * are from before the kernel last launched another one. */
    struct window **windows, *last;
    size_t window_count, first_window;
    /* The instructions that warps have run. Reading a clock adds more. */
    uint64_t clock;
    /* The number of stores and atomic operations. */
    uint64_t changes;
    /* Whether blocks are compared, and any has released; and the number of words compared. */
    bool by_block, any_released;
    uint64_t compared;
    /* A block runs again, without effect, to find who touched a byte, or NULL; accesses to device
     * memory are noted (ptx/device_notes.c); one of the two. */
    struct watch *watch;
    bool is_noted, is_looked_at;
    /* A warp has stopped because it may wait for others, or because its budget is used up. */
    bool spun, used_up;
    /* The blocks of a range, and the first block of the first one; 0: there are no ranges. A block
     * that begins a range finds registers and memory as the launch's first one did. */
    uint64_t range, range_first;
    /* Of a part of a launch on several cores, else NULL: all parts, and this one's number. */
    struct cores *cores;
    unsigned part;
    uint64_t random;
    /* os_clock_us when it began; has it been said that it takes long? */
    uint64_t began;
    bool said_long;
    /* The target of GRID_WINDOW (the toolkit's cooperative_groups/details/driver_abi.h): its size,
     * and the barrier's count. */
    uint32_t workspace[2];
};

/* Runs the warp until it ends, waits at a barrier, or has run this many instructions. Returns
 * whether it can continue now. */
bool warp_run(struct warp *w, uint64_t budget);
/* Makes and frees the frame of a warp's kernel. */
struct frame *warp_frame(struct warp *w, const struct code *code);
void warp_free_frame(struct frame *f);
/* Fills the registers that differ from the previous block's when a block begins. */
void block_fill(struct block *b);
/* Begins a block: runs each instruction for all warps at once, while all threads do the same and
 * each load or store is one row that needs no other notes. Returns the instruction at which each
 * warp continues alone, unless all threads have ended. */
uint32_t block_run_abreast(struct block *b);
/* Loads or stores for all threads of a block, or returns false and touches nothing. */
bool access_abreast(struct block *b, const struct instruction *i);
/* Lets the threads at this barrier continue. */
void warp_release(struct warp *w, unsigned barrier);
/* The value of a special register (in the order of decode.c) in thread l of a block's warp; and of
 * one that is filled with a parameter. */
uint32_t block_special(const struct block *b, unsigned warp, unsigned id, unsigned l);
uint64_t launch_given(const struct launch *launch, const struct given *g);
/* Returns whether the special register has another value in each block. */
bool is_of_block(unsigned id);
/* Computes the lines of a block that begins. Returns false if they cannot be used. */
bool lines_begin(struct block *b);
/* Called when threads have arrived at a barrier: opens it if all have come. */
void block_check_barrier(struct block *b, unsigned barrier);

/* Ends the launch by a fault: what thread `lane` of the warp has done. */
void warp_fault(struct warp *w, unsigned lane, enum fault_kind kind, uint64_t address, size_t bytes,
                bool write);

/* Where a thread of the warp is; `i`: the instruction, or NULL: the next of the first group. */
struct launch_fault warp_place(const struct warp *w, unsigned lane, const struct instruction *i);
/* Where the thread of this number in its block ran the instruction of this number in the kernel. */
struct launch_fault place_of_number(const struct launch *launch, uint64_t block, uint32_t thread,
                                    uint32_t number);

/* `option` of an atomic operation. */
enum atomic {
    ATOMIC_ADD,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_EXCH,
    ATOMIC_CAS,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_INC,
    ATOMIC_DEC
};
/* `modified` of one that adds one or two floats of 16 bits. */
enum { ATOMIC_F16 = 1, ATOMIC_BF16 };

/* `option` of an operation on an mbarrier. */
enum mbarrier {
    MBARRIER_INIT,
    MBARRIER_INVALID,
    MBARRIER_EXPECT,
    MBARRIER_COMPLETE,
    MBARRIER_ARRIVE,
    MBARRIER_ARRIVE_DROP,
    MBARRIER_ARRIVE_EXPECT,
    MBARRIER_TEST,
    MBARRIER_TEST_PARITY
};

enum access_kind { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC };

/* The addresses that the threads of a warp use. */
struct addresses {
    /* Rows of `count` neighboring threads, from thread `first` on. A row's addresses start at its
     * `begin`, each `stride` after the previous one. Usually there is one row; a block of 8 or 16
     * columns has one for each line of threads. 0: the addresses have no such form. */
    unsigned rows, first, count;
    uint64_t begin[4], stride;
    /* One for each thread, set if there are no rows, or by each_address. Threads that take no part
     * have the address of the first. */
    uint64_t at[WARP_SIZE];
};

/* Returns the bytes that thread l touches at an address in the space of the instruction, or NULL
 * after a fault. */
char *warp_bytes(struct warp *w, const struct instruction *i, unsigned l, uint64_t address,
                 size_t bytes, enum access_kind kind);

/* If the threads read `bytes` bytes each of one allocation that the launch knows, and all of them
 * have a value: returns the base of their addresses. Otherwise returns NULL and does nothing. */
const char *warp_known_bytes(struct warp *w, const struct instruction *i, uint32_t lanes,
                             const uint64_t *at, size_t bytes);

/* ---- blocks (ptx/grid.c) ---- */

/* The turns that a block gets before another block is begun. */
#define TURNS_MAX 200
/* Begins the launch's next block. */
void block_begin(struct launch *launch, struct block *b);
/* Runs the block for some turns, or until it may wait for others. Returns whether it has ended, or
 * the launch has. */
bool block_run(struct block *b, unsigned turns);
void block_free(struct block *b);

/* ---- a launch on several cores (ptx/cores.c) ---- */

/* Runs as many of the next blocks as can run on several cores. No block may be running. */
void cores_run_ahead(struct launch *launch);
/* For a part of a launch. Returns its window of this memory, or NULL if one core has to run the
 * rest of the launch; says that one has to; returns whether any part has said so. */
struct window *cores_find(struct launch *part, uint64_t address, size_t bytes, bool write);
void cores_give_up(struct launch *part);
bool cores_have_given_up(const struct launch *part);
/* Overwritten memory, and what is to be added to memory, is kept in pieces of this size. */
#define CORES_PIECE 4096
/* Returns where the part collects its atomic changes to an address, to be applied to memory
 * later. */
char *cores_sum_at(struct launch *part, struct window *win, uint64_t address);
/* Changes what is at an address by an atomic operation with `b`. */
void atomic_apply(const struct instruction *i, char *at, uint64_t b);
/* The part is about to write there. */
void cores_save(struct launch *part, struct window *win, uint64_t address, size_t bytes);

/* The launch no longer knows this window, because its memory is freed. */
void launch_forget(struct launch *launch, uint64_t base);

/* ---- races between blocks (ptx/between_blocks.c) ---- */

/* Looks for an access of this kind to a byte. */
struct watch {
    struct window *window;
    size_t byte;
    enum access_kind kind;
    struct launch_fault place;
};
/* The launch begins; the block has ended; several blocks run at once from now on. */
void between_begin(struct launch *launch);
void between_block_ended(struct block *b);
void between_end(struct launch *launch);
/* The words compared beyond what is worth the time; below 0, fewer. */
int64_t between_excess(const struct launch *launch);
/* Runs one of the launch's blocks again. Returns whether the access was found. */
bool grid_find(const struct launch *launch, uint64_t number, struct watch *watch);
/* For a block that runs again: returns the bytes at an address, or a copy if it may change them. */
char *between_bytes(struct warp *w, const struct instruction *i, unsigned l, uint64_t address,
                    size_t bytes, enum access_kind kind);

/* ---- misused synchronization (ptx/synchronization.c) ---- */

/* A barrier without a number of threads, and thus of the whole block, opens. */
void misuse_at_barrier(struct block *b, unsigned barrier);
/* These threads of the first group end. */
void misuse_at_end(struct warp *w, uint32_t lanes);
/* These threads run an instruction with this mask, which names others that do not come. */
void misuse_of_mask(struct warp *w, const struct instruction *i, uint32_t mask, uint32_t lanes);

/* ---- bytes without a value (ptx/values.c) ---- */

/* Returns which of 64 bytes of the window have a value now. */
static inline uint64_t window_values(const struct window *win, size_t word)
{
    uint64_t values =
        win->pieces ? win->pieces[word >> PIECE_SHIFT][word % (1 << PIECE_SHIFT)] : ~(uint64_t)0;
    values |= win->written.bits ? win->written.bits[word] : 0;
    values |= win->atomic.bits ? win->atomic.bits[word] : 0;
    for (unsigned kind = ACCESS_WRITE; win->by_block && kind <= ACCESS_ATOMIC; kind++)
        values |= win->of_block[kind].bits ? win->of_block[kind].bits[word] : 0;
    return win->carried.bits ? values & ~win->carried.bits[word] : values;
}
/* These threads load from the window, at one address each; or read otherwise; or change its bytes
 * atomically; or have stored. */
void values_loaded(struct warp *w, const struct instruction *i, uint32_t lanes, struct window *win,
                   const uint64_t *at);
void values_read(struct warp *w, const struct instruction *i, uint32_t lanes, struct window *win,
                 const uint64_t *at, size_t bytes);
void values_changed(struct warp *w, const struct instruction *i, uint32_t lanes, struct window *win,
                    const uint64_t *at);
/* Of these threads, those in `without` have loaded unwritten shared memory. Such a value is
 * followed through registers until it is compared or another one is chosen in its place, and counts
 * as read when it is stored to device memory. */
void values_taint(struct warp *w, const struct instruction *i, uint32_t lanes, uint32_t without,
                  const uint64_t *at);
/* Called after each instruction of a frame with such values. */
void values_flow(struct warp *w, const struct instruction *i, uint32_t lanes);
/* Return which threads store tainted values, and note that they store them to device memory. */
uint32_t values_tainted(const struct warp *w, const struct instruction *i, uint32_t lanes);
void values_tainted_stored(struct warp *w, const struct instruction *i, uint32_t lanes);
/* These threads have stored to shared memory, where carried values count as read. */
void values_staged(struct warp *w, const struct instruction *i, uint32_t lanes);
void values_stored(struct warp *w, const struct instruction *i, uint32_t lanes, struct window *win,
                   const uint64_t *at);

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

/* Vectors of several values. */
typedef uint64_t four __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint32_t eight __attribute__((vector_size(32), aligned(4), may_alias));

/* For products and sums of 64 bits. */
__extension__ typedef unsigned __int128 wide_u128;
__extension__ typedef __int128 wide_s128;

/* The position of lane l in a register, in elements of a type. */
#define AT(type, l) ((l) * (sizeof(type) < 4 ? 4 / sizeof(type) : 1))

#ifdef __clang__
#define AT_ONCE _Pragma("clang loop vectorize(assume_safety)")
#else
#define AT_ONCE _Pragma("GCC ivdep")
#endif
/* Functions that run instructions are HOT: compiled for processors with AVX2 and FMA, on which
 * kernels take a third of the time (-std=c11: no product and sum are fused that the source does not
 * fuse). simulator/build.mk defines AVX2 if this machine's processor is one of them. The default
 * build is for that kind alone, because compiling one copy takes half the time, and HOT_RUNS is
 * false on a processor that lacks what was compiled for. A release has copies for both kinds, and
 * the loader chooses. */
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
/* Runs the body for each lane `l`, one after the other. */
#define FOR_LANES(l, lanes)                                                             \
    for (uint32_t rest = (lanes), l; rest && (l = (unsigned)__builtin_ctz(rest), true); \
         rest &= rest - 1)
/* Does the same. If all take part, the compiler may do several at once. */
#define EACH_LANE(lanes, ...)                                            \
    if ((lanes) == ALL_LANES) {                                          \
        AT_ONCE for (unsigned l = 0; l < WARP_SIZE; l++) { __VA_ARGS__ } \
    } else {                                                             \
        FOR_LANES (l, lanes) {                                           \
            __VA_ARGS__                                                  \
        }                                                                \
    }

static inline bool lane_is_in(uint32_t lanes, unsigned l) { return lanes >> l & 1; }

#define LANES_LIKE(type)                                     \
    AT_ONCE for (unsigned m = 0; m < WARP_SIZE; m++) like |= \
        (uint32_t)(((const type *)r)[m] == ((const type *)r)[l]) << m;
/* Returns the threads that have the same value of 4 or 8 bytes in a register as thread l. */
static INLINE uint32_t lanes_like(const char *r, unsigned bytes, unsigned l)
{
    uint32_t like = 0;
    if (bytes == 8) {
        LANES_LIKE(lane_u64)
    } else {
        LANES_LIKE(lane_u32)
    }
    return like;
}

/* Returns where element n of what thread l stores is. */
static inline const char *stored_value(const struct warp *w, const struct instruction *i,
                                       unsigned n, unsigned l)
{
    return w->registers + i->r[n + 1] + l * (i->wide & 1 ? 8u : 4u);
}

/* ---- functions that run instructions (one file each; decode.c looks them up) ---- */

/* An operation by name and type: the function that runs it, and the bytes of its operands, results
 * first; 1 is a predicate. */
struct operation {
    const char *name;
    instruction_run *run;
    const char *operands;
};
extern const struct operation operations[];
extern const size_t operation_count;

instruction_run run_modified, run_lop3, run_move, run_pack, run_unpack, run_frame_address,
    run_clock;
instruction_run run_compare_and, run_compare_or, run_compare_xor, run_convert, run_isspacep;
instruction_run run_load, run_load_volatile, run_fence, run_store, run_store_volatile,
    run_load_parameter, run_atomic, run_copy, run_bulk_copy, run_close_group, run_wait_copies;
instruction_run run_shuffle, run_vote, run_match, run_active_mask, run_together, run_elect;
instruction_run run_mbarrier, run_count_copies, run_mbarrier_pending, run_reduce, run_trap,
    run_printf, run_assertion, run_malloc, run_free, run_set_conditional, run_device_call;

/* Returns the device runtime's function of this name, or DEVICE_NONE. */
enum device_function device_function_of(const char *name);

#endif
