/* Instructions in the form that the interpreter runs: read once, and run by a warp of 32 threads at
 * a time.
 *
 * A function has registers for each warp, stored one after the other. Each holds the values of all
 * threads, with 4 or 8 bytes each or, for a predicate, one bit. Constants and special registers
 * (%tid.x) are registers too, filled before the function begins. So an instruction only knows where
 * its operands are, not what they are. */
#ifndef SIM_PTX_CODE_H
#define SIM_PTX_CODE_H

#include "module/module.h"

#define WARP_SIZE 32
#define ALL_LANES UINT32_MAX

struct warp;
struct instruction;
/* Runs the instruction for these threads of the warp. There is at least one. */
typedef void instruction_run(struct warp *w, const struct instruction *i, uint32_t lanes);

enum instruction_kind {
    /* `run` runs it, and the next one follows. */
    INSTRUCTION_PLAIN,
    /* Plain, after its threads have come together (shfl.sync). */
    INSTRUCTION_TOGETHER,
    INSTRUCTION_BRANCH,
    INSTRUCTION_BRANCH_TABLE,
    INSTRUCTION_CALL,
    INSTRUCTION_RETURN,
    INSTRUCTION_EXIT,
    INSTRUCTION_BARRIER,
};

/* Modifiers of a float operation. */
enum { MODIFIED_FLUSH = 1, MODIFIED_SATURATE = 2, MODIFIED_ROUND = 4, MODIFIED_FLUSH_RESULT = 8 };

/* `option` of a load: whether the program computes with the values, only stores them again, or at
 * most chooses among them by a selp. A compiler may load a value that is never chosen. */
enum { LOAD_IS_USED, LOAD_IS_STORED, LOAD_IS_SELECTED };

#define OPERANDS_MAX 10

struct instruction {
    instruction_run *run;
    /* The operation that run_modified runs. */
    instruction_run *inner;
    enum instruction_kind kind;
    /* 0 if there is none; otherwise 2 + twice the predicate's index, plus 1 if it is negated. */
    uint32_t guard;
    /* Operands, results first: offsets into the registers or, for predicates, their index. */
    uint32_t r[OPERANDS_MAX];
    /* For an address, the offset to add; otherwise a parameter of the operation. */
    int64_t immediate;
    /* For loads and stores: the bytes of an element, the number of elements, the space, and whether
     * the operand is wider than the element. For others: parameters of the operation. */
    uint8_t bytes, count, space, is_signed, wide, modified, rounding, option;
    /* The threads of this load or store may touch one row of device memory. */
    bool is_of_row;
    /* It touches nothing but registers. */
    bool computes;
    /* For loads and stores: the index of the sequence that is the address, or 0. */
    uint16_t sequence;
    /* The index of the target instruction of a branch, or of a call or a table. */
    uint32_t target;
    /* In the source; file 0 if unknown. */
    uint32_t file, line;
    /* ALL_LANES if it may also compute for threads that take no part, because nothing reads their
     * results (ptx/decode_uses.c), else 0. */
    uint32_t spreads;
    /* The index of the first instruction from this one on that is not plain. */
    uint32_t next_other;
    /* 1 + the index of the flow whose last instruction this is, or 0. */
    uint32_t flow;
    /* The statement, as a part of the module's text. */
    const char *text;
};

/* The registers that a statement writes, and those from which it computes their values. Operands
 * that only choose a value are no sources. The unit is 4 bytes of a register. */
struct flow {
    uint8_t result_count, source_count;
    /* A result may be an address that comes from elsewhere, for example from memory. */
    bool brings_address;
    uint32_t results[8], sources[8];
};
#define REGISTER_SLOT(offset) ((offset) / (4 * WARP_SIZE))

/* A register that is filled before a function begins. */
struct constant {
    uint32_t offset, bytes;
    uint64_t value;
    /* The variable whose address is added when the code is complete, or NULL. */
    struct variable *dynamic;
};
struct special {
    uint32_t offset;
    uint16_t id;
    /* Something other than a sequence reads it. */
    bool is_read;
};
/* A register that is filled with a kernel parameter: `bytes` bytes at `from`, extended to 8 bytes
 * if `wide`, or else to 4. */
struct given {
    uint32_t offset, from;
    uint8_t bytes;
    bool is_signed, wide;
};

/* A register whose value in thread t of a one-dimensional block is begin + step * t
 * (ptx/sequences.c). It is filled with one value before the kernel begins, or is a sum x * y + z of
 * other sequences. */
struct sequence {
    uint32_t offset;
    enum {
        SEQUENCE_NUMBER,
        SEQUENCE_SPECIAL,
        SEQUENCE_CONSTANT,
        SEQUENCE_GIVEN,
        SEQUENCE_SUM
    } kind;
    /* The number, or the index of the register's filling or, for a sum, of its instruction. */
    int64_t from;
    uint16_t x, y, z;
    uint8_t bytes;
    /* For a sum: x and y are extended from 4 bytes to 8, and how; y is a shift distance. */
    bool extends, is_signed, shifts;
    /* It differs between blocks; instructions read its register. */
    bool is_of_block, is_read;
};

/* A call: the places of its arguments and results in the caller's frame. */
struct call_site {
    /* NULL: the address is in the register `target`. */
    struct code *code;
    uint32_t target;
    size_t count, result_count;
    struct {
        uint32_t from, bytes;
    } arguments[64], results[4];
    /* The instruction that runs a function such as printf; and for a call of the device runtime,
     * which function it is. */
    instruction_run *builtin;
    unsigned device_function;
};

/* A function, read for one kernel. */
struct code {
    struct kernel_code *kernel;
    struct function *function;
    struct instruction *all;
    size_t count, capacity;
    /* The number of its first instruction within the kernel, for notes. */
    uint32_t first_number;
    struct flow *flows;
    size_t flow_count;
    struct constant *constants;
    size_t constant_count;
    struct special *specials;
    size_t special_count;
    struct given *given;
    size_t given_count;
    struct sequence *sequences;
    size_t sequence_count;
    /* The instructions that compute the sequences, which are not in `all`. */
    struct instruction *apart;
    size_t apart_count;
    /* A branch goes back. */
    bool has_loops;
    struct call_site *calls;
    size_t call_count;
    /* Its steps with matrices (ptx/matrix.h). */
    struct matrix_step *matrices;
    size_t matrix_count;
    /* Tables for branches. */
    struct branch_table {
        uint32_t *targets;
        size_t count;
    } * tables;
    size_t table_count;
    /* The bytes of all registers of a warp, and the number of predicates. */
    size_t register_bytes, predicate_count;
    /* The bytes per thread of its local memory, its parameters, and those of its calls. */
    size_t frame_bytes;
};

/* Are the blocks of its launches independent, as far as its instructions show? Has a launch shown
 * that they are not? */
struct independence {
    enum { INDEPENDENCE_UNKNOWN, BLOCKS_INDEPENDENT, BLOCKS_ORDERED } blocks;
    bool was_refuted;
    /* Its atomic operations on device memory, which are all of one kind, or NULL. */
    const struct instruction *atomic;
};

/* A kernel and the functions that it calls. */
struct kernel_code {
    struct code *entry;
    struct code **functions;
    size_t function_count;
    size_t static_shared_bytes, reserved_shared_bytes, dynamic_alignment;
    /* The bytes of its smallest access that may be one of shared memory, and one of device memory;
     * 0: it has none. */
    unsigned least_shared, least_device;
    /* It calls functions; one of its instructions is a barrier; it names a __managed__ variable. */
    bool has_calls, has_barriers, has_managed;
    /* It has a fence, or an atomic operation of the whole system; griddepcontrol.wait; and, outside
     * of called functions, griddepcontrol.launch_dependents. */
    bool signals, awaits_others, lets_others_begin;
    /* The device, and how to find a variable's address there, for addresses in instructions. */
    int device;
    uint64_t (*address)(struct variable *v, int device);
    /* Written by ptx/cores.c. */
    struct independence *independence;
    /* Why it cannot run, as the end of a sentence, or NULL. The caller owns it. */
    char *refusal;
};

/* Reads the instructions of a kernel and of all functions that it calls, for a device. `address`
 * returns the address there of a variable in global or constant memory. Needs the lock. */
struct kernel_code *code_read(struct function *kernel, int device,
                              uint64_t (*address)(struct variable *v, int device));
/* Returns the function at an address, read for this kernel, which calls it by that address. Returns
 * NULL if there is none or if the kernel's `refusal` says why it cannot run. Needs the lock. */
const struct code *code_at(struct kernel_code *k, uint64_t address);
/* Where in a block's shared memory the dynamic part begins: after what the kernel and its functions
 * declare, and the reserved part. */
size_t code_dynamic_begin(const struct kernel_code *k);
/* The 8-byte kernel parameters from which an instruction computes its address, by their offset
 * among the parameters. Otherwise only numbers that are no addresses take part. */
struct address_origins {
    size_t count;
    uint32_t from[8];
};
/* Returns false if the address may also come from elsewhere: from memory, a function that is
 * called, a choice, or a variable. */
bool code_address_origins(const struct code *c, const struct instruction *i,
                          struct address_origins *origins);
#define SHARED_WINDOW ((uint64_t)1 << 56)
#define LOCAL_WINDOW  ((uint64_t)2 << 56)
#define PARAM_WINDOW  ((uint64_t)4 << 56)
/* The driver's workspace in which the blocks of a cooperative launch meet (this_grid().sync()). */
#define GRID_WINDOW ((uint64_t)5 << 56)
#define WINDOW_MASK ((uint64_t)255 << 56)

#endif
