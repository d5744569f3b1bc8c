/* Instructions as the interpreter runs them: read once, then run by a warp of 32 threads at a time.
 *
 * A function has registers for each warp, one behind the other: of each register the values of all
 * threads, 4 or 8 bytes each, or, of a predicate, a bit each. Constants and special registers
 * (%tid.x) have registers, too, which are filled before the function begins. So an instruction
 * knows where its operands are, and not what they are. */
#ifndef SIM_PTX_CODE_H
#define SIM_PTX_CODE_H

#include "ptx/module.h"

#define WARP_SIZE 32
#define ALL_LANES UINT32_MAX

struct warp;
struct instruction;
/* Does the instruction for these threads of the warp, of which there is at least one. */
typedef void instruction_run(struct warp *w, const struct instruction *i, uint32_t lanes);

enum instruction_kind {
    /* `run` does it, and the next one follows. */
    INSTRUCTION_PLAIN,
    /* The same, for threads that come together first (shfl.sync). */
    INSTRUCTION_TOGETHER,
    INSTRUCTION_BRANCH,
    INSTRUCTION_BRANCH_TABLE,
    INSTRUCTION_CALL,
    INSTRUCTION_RETURN,
    INSTRUCTION_EXIT,
    INSTRUCTION_BARRIER,
};

/* What a float's operation does beside. */
enum { MODIFIED_FLUSH = 1, MODIFIED_SATURATE = 2, MODIFIED_ROUND = 4, MODIFIED_FLUSH_RESULT = 8 };

#define OPERANDS_MAX 10

struct instruction {
    instruction_run *run;
    /* What run_modified runs. */
    instruction_run *inner;
    enum instruction_kind kind;
    /* 0: none; else twice the predicate's index + 2, and 1 more when it is negated. */
    uint32_t guard;
    /* Operands: offsets into the registers; of predicates their index. Results come first. */
    uint32_t r[OPERANDS_MAX];
    /* Of an address, what is added; of others, what the operation needs to know. */
    int64_t immediate;
    /* Of loads and stores: bytes of an element, how many elements, of what space, where the operand
     * is wider than the element. Of others: what the operation needs to know. */
    uint8_t bytes, count, space, is_signed, wide, modified, rounding, option;
    /* Of a branch: the index of the instruction. Of a call or a table: which one. */
    uint32_t target;
    /* Of the source; file 0: not known. */
    uint32_t file, line;
    /* The text, in the module's. */
    const char *text;
};

/* A register that is filled before a function begins. */
struct constant {
    uint32_t offset, bytes;
    uint64_t value;
    /* The address of this one is added when the code is complete; it may be NULL. */
    struct variable *dynamic;
};
struct special {
    uint32_t offset;
    uint16_t id;
};
/* The same, of a parameter of the kernel: `bytes` bytes at `from`, and as many as the register has
 * when `wide` says 8 and not 4. */
struct given {
    uint32_t offset, from;
    uint8_t bytes;
    bool is_signed, wide;
};

/* A call's parts: where in the caller's frame its arguments and results are. */
struct call_site {
    /* NULL: the address is in the register `target`. */
    struct code *code;
    uint32_t target;
    size_t count, result_count;
    struct {
        uint32_t from, bytes;
    } arguments[64], results[4];
    /* A function of the runtime: printf, an assertion. */
    instruction_run *builtin;
};

/* A function, read for one kernel. */
struct code {
    struct kernel_code *kernel;
    struct function *function;
    struct instruction *all;
    size_t count, capacity;
    struct constant *constants;
    size_t constant_count;
    struct special *specials;
    size_t special_count;
    struct given *given;
    size_t given_count;
    struct call_site *calls;
    size_t call_count;
    /* Tables of branches. */
    struct branch_table {
        uint32_t *targets;
        size_t count;
    } * tables;
    size_t table_count;
    /* Of all registers of a warp; of the predicates, how many. */
    size_t register_bytes, predicate_count;
    /* Of a thread: what is local to the function, its parameters and those of its calls. */
    size_t frame_bytes;
};

/* A kernel with the functions that it calls. */
struct kernel_code {
    struct code *entry;
    struct code **functions;
    size_t function_count;
    size_t static_shared_bytes, dynamic_alignment;
    /* It calls functions. */
    bool has_calls;
    /* Variables of the module whose addresses its instructions hold, on this device. */
    int device;
    uint64_t (*address)(struct variable *v, int device);
    /* NULL, or why it cannot run, as the end of a sentence; the caller owns it. */
    char *refusal;
};

/* Reads a kernel for a device: its instructions, and those of all that it calls. `address`: gives a
 * variable of global or constant memory its address there. Needs the lock. */
struct kernel_code *code_read(struct function *kernel, int device,
                              uint64_t (*address)(struct variable *v, int device));
/* Returns the function at an address, read for this kernel, which may call it by that; NULL: there
 * is none, or the kernel's `refusal` says why it cannot run. Needs the lock. */
const struct code *code_at(struct kernel_code *k, uint64_t address);
#define SHARED_WINDOW ((uint64_t)1 << 56)
#define LOCAL_WINDOW  ((uint64_t)2 << 56)
#define PARAM_WINDOW  ((uint64_t)4 << 56)
/* What the blocks of a cooperative launch meet in: the driver's, for this_grid().sync(). */
#define GRID_WINDOW ((uint64_t)5 << 56)
#define WINDOW_MASK ((uint64_t)255 << 56)

#endif
