/* For the parts of the reader of functions (ptx/decode.c, ptx/decode_memory.c and others): what is
 * known while a function is read, and its statements. Needs the lock. */
#ifndef SIM_PTX_DECODE_H
#define SIM_PTX_DECODE_H

#include "ptx/warp.h"

enum operand_kind {
    OPERAND_NONE,
    OPERAND_REGISTER,
    OPERAND_SPECIAL,
    OPERAND_NUMBER,
    OPERAND_SYMBOL,
    /* [register or symbol or number + number] */
    OPERAND_ADDRESS,
    OPERAND_VECTOR,
    /* The underscore: a result that nobody wants. */
    OPERAND_SINK
};

struct operand {
    enum operand_kind kind;
    /* Of a register or symbol: its name. Of a number: its text. */
    struct word word;
    bool negated;
    /* Of a number its value; of an address or a symbol what is added. */
    int64_t number;
    /* A register: offset or index, and its bytes (1: a predicate). */
    uint32_t at, bytes;
    /* d|p: the second result. */
    struct operand *second;
    /* Of a vector; of an address, the one before the number. */
    struct operand *parts;
    size_t part_count;
};

#define PARTS_MAX 14

/* One statement: @p add.rn.f32 d, a, b; */
struct statement {
    struct word text;
    /* The name and its modifiers. */
    struct word parts[PARTS_MAX];
    size_t part_count;
    uint32_t guard;
    struct operand operands[OPERANDS_MAX];
    size_t operand_count;
};

struct registers {
    struct word prefix;
    uint32_t base, bytes, count;
};

struct label {
    struct word name;
    uint32_t index;
    unsigned scope;
};

/* An instruction, or an entry of a table, that goes to a label. */
struct reference {
    struct word name;
    uint32_t *target;
    /* Instructions move while more come: SIZE_MAX: `target` is meant. */
    size_t instruction;
    unsigned scope;
};

/* How many statements of the function have a register of this name as a result. */
struct written {
    struct word name;
    unsigned times;
};

struct decoder {
    struct kernel_code *kernel;
    struct code *code;
    struct module *module;
    struct scanner s;
    struct registers *registers;
    size_t register_count;
    struct variables variables;
    struct label *labels;
    size_t label_count;
    struct reference *references;
    size_t reference_count;
    /* A table by their names (ptx/decode_filled.c). */
    struct written *written;
    size_t written_count, written_capacity;
    /* The scopes that are open: where the frame ended when each began. */
    size_t frame_at[64];
    unsigned scope;
    /* Of the statement. */
    struct statement statement;
    struct operand pool[64];
    size_t pool_used;
    uint32_t file, line;
    /* In a function that is called: where its frame begins. */
    uint32_t frame_register;
    bool failed;
};

/* The statement cannot be run, and why. The first reason counts. */
void decode_refuse(struct decoder *d, const char *why);
/* Is this one of the statement's modifiers? */
bool has_part(const struct statement *st, const char *name);
/* Adds an instruction, with the statement's guard. */
struct instruction *decode_add(struct decoder *d, instruction_run *run, enum instruction_kind kind);
/* Returns where the operand's value is: `bytes` wide, 1 a predicate. Constants get a register. */
uint32_t decode_value(struct decoder *d, const struct operand *o, uint32_t bytes);
/* Returns a register with this value in all threads. */
uint32_t decode_constant(struct decoder *d, uint64_t value, uint32_t bytes,
                         struct variable *dynamic);
uint32_t decode_new_register(struct decoder *d, uint32_t bytes);
const struct operation *find_operation(const char *name);
/* Returns the code of a function that this kernel calls, read or to be read. */
struct code *decode_function(struct decoder *d, struct function *f, size_t *index);

/* Reads, before all else, which results the function's statements have. */
void decode_count_written(struct decoder *d);
/* Is this the only statement that has the operand, a register of so many bytes, as its result? And
 * always: it has no guard. */
bool decode_can_fill(const struct decoder *d, const struct operand *o, uint32_t bytes);
/* A copy of the register at `from`: where it can be one that is filled before the function begins,
 * it becomes one, and needs no instruction. Returns whether it has. */
bool decode_fill_copy(struct decoder *d, const struct operand *to, uint32_t from, uint32_t bytes);
void code_fill_given(struct code *c, const struct given *g);

/* Statements about memory, calls, and threads: false when it is none of these. */
bool decode_memory(struct decoder *d);
bool decode_control(struct decoder *d);
bool decode_exchange(struct decoder *d);
bool decode_arithmetic(struct decoder *d);

#define SCRATCH_BYTES  (WARP_SIZE * 8 * 4)
#define SCRATCH_RESULT (WARP_SIZE * 8 * 3)

#endif
