/* Shared by the parts of the reader of functions (ptx/decode.c, ptx/decode_memory.c, and others):
 * the state of reading a function, and its statements. Needs the lock. */
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
    /* The underscore: an unused result. */
    OPERAND_SINK
};

struct operand {
    enum operand_kind kind;
    /* The name of a register or symbol, or the text of a number. */
    struct word word;
    bool negated;
    bool is_decimal; /* `number` has the bits of a double. */
    /* The value of a number, or the offset of an address or symbol. */
    int64_t number;
    /* A register: its offset or index, and its bytes (1 for a predicate). */
    uint32_t at, bytes;
    /* d|p: the second result. [object, {x, y}]: the coordinates. */
    struct operand *second;
    /* The parts of a vector, or the part of an address before the number. */
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

/* An instruction or table entry that goes to a label. */
struct reference {
    struct word name;
    uint32_t *target;
    /* Its index, because instructions move as more are added. SIZE_MAX: use `target`. */
    size_t instruction;
    unsigned scope;
};

/* How many statements of the function have the register of this name as a result. */
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
    /* A hash table by name (ptx/decode_filled.c). */
    struct written *written;
    size_t written_count, written_capacity;
    /* For each 4 bytes of a register: how statements use it, and the last run (ptx/decode_uses.c)
     * that is sure to write it, counted from 1. */
    struct use {
        uint8_t how;
        uint32_t run;
        /* Something other than a sequence reads it (ptx/sequences.c). */
        bool is_read;
        /* How many instructions there were after the last that wrote it, and which product it is
         * since then, plus 1. */
        size_t written, product;
    } * uses;
    size_t use_count;
    uint32_t run;
    /* The registers and predicates that statements read or write, in the order of their
     * instructions (ptx/decode_speculated.c). */
    struct mention {
        size_t instruction;
        /* A register's offset or a predicate's index. */
        uint32_t at;
        bool is_predicate, writes;
    } * mentions;
    size_t mention_count, mention_capacity;
    /* Products that a sum may take into itself, and sums of them (ptx/decode_uses.c). */
    struct product {
        size_t instruction;
        /* Which of the function's blocks it is in, and in how many of the sums. */
        uint32_t block, run, sums;
        /* Something else reads it, too. */
        bool is_kept;
    } * products;
    size_t product_count;
    struct sum {
        size_t instruction, products[2];
        uint32_t bytes;
        bool is_difference;
    } * sums;
    size_t sum_count;
    uint32_t block;
    /* For each open scope: where the frame ended when the scope began. */
    size_t frame_at[64];
    /* For each open scope: how many registers and variables were declared before it. */
    size_t registers_at[64], variables_at[64];
    unsigned scope;
    /* Of the current statement. */
    struct statement statement;
    struct operand pool[64];
    size_t pool_used;
    uint32_t file, line;
    bool failed;
};

/* Refuses the kernel, because this statement cannot be run. Only the first reason is kept. */
void decode_refuse(struct decoder *d, const char *why);
/* Returns the word's number among `words`, from 1, or 0. One space separates two words. */
unsigned word_among(struct word w, const char *words);
/* Returns whether the statement has one of these modifiers. */
bool has_part(const struct statement *st, const char *words);
/* Sets the place of a register by its name. Returns false if there is none. */
bool decode_find_register(const struct decoder *d, struct word name, struct operand *o);
/* Adds an instruction with the statement's guard and line, with these parts, or with none. */
struct instruction *decode_add_made(struct decoder *d, instruction_run *run,
                                    enum instruction_kind kind, const struct instruction *parts);
struct instruction *decode_add(struct decoder *d, instruction_run *run, enum instruction_kind kind);
/* Returns the place of the operand's value, which is `bytes` wide (1 for a predicate). Constants
 * get a register. */
uint32_t decode_value(struct decoder *d, const struct operand *o, uint32_t bytes);
/* Sets the registers of the instruction's one or more elements, from r[from] on, and `wide`. */
void decode_elements(struct decoder *d, struct instruction *i, const struct operand *o,
                     unsigned from);
/* Returns a register that has this value in all threads. */
uint32_t decode_constant(struct decoder *d, uint64_t value, uint32_t bytes,
                         struct variable *dynamic);
uint32_t decode_new_register(struct decoder *d, uint32_t bytes);
const struct operation *find_operation(const char *name);
/* Returns the code of a function that this kernel calls, which may still have to be read. */
struct code *decode_function(struct decoder *d, struct function *f, size_t *index);

/* Counts, before reading, how often each register is a result. */
void decode_count_written(struct decoder *d);
/* Returns whether the operand, a register of this many bytes, is the result of this statement
 * alone, which has no guard. */
bool decode_can_fill(const struct decoder *d, const struct operand *o, uint32_t bytes);
/* If a copy of the register at `from` can be a register that is filled before the function begins,
 * makes it one, without an instruction. Returns whether it did. */
bool decode_fill_copy(struct decoder *d, const struct operand *to, uint32_t from, uint32_t bytes);

/* Notes how the statement uses each register. After the last statement, decode_set_loads notes what
 * becomes of loaded values (ptx/decode_uses.c). */
void decode_note_uses(struct decoder *d);
/* Notes in which runs the statement, whose instructions begin at `before`, reads and writes
 * registers. */
void decode_note_runs(struct decoder *d, size_t before);
/* Notes which registers the statement, whose instructions begin at `before`, computes from
 * which. */
void decode_note_flow(struct decoder *d, size_t before);
/* Notes products of the statement, whose instructions begin at `before`, and sums of products; and,
 * when all statements are read, makes fused ones of the sums. */
void decode_note_products(struct decoder *d, size_t before);
void decode_fuse(struct decoder *d);
void decode_set_loads(struct decoder *d);
/* When all statements are read, gives guards to loads that a compiler has moved. The statement of a
 * load that may get them begins with empty instructions: one for a guard, and two for each more. */
#define GUARDS_MAX 3
#define GUARD_ROOM (2 * GUARDS_MAX - 1)
void decode_guard_loads(struct decoder *d);
/* Returns what is known of the register at this offset. */
struct use *decode_use_of(struct decoder *d, uint32_t offset);

/* Notes whether the statement, whose instructions begin at `before`, computes a sequence or has one
 * as its address. decode_take_apart removes, at the end, what only computes sequences. */
void decode_note_sequence(struct decoder *d, size_t before);
void decode_take_apart(struct decoder *d);

/* Read statements about memory, calls, and threads. They return false for other statements, which
 * the last one reads. */
bool decode_memory(struct decoder *d);
bool decode_control(struct decoder *d);
bool decode_exchange(struct decoder *d);
void decode_arithmetic(struct decoder *d);

#define SCRATCH_BYTES  (WARP_SIZE * 8 * 4)
#define SCRATCH_RESULT (WARP_SIZE * 8 * 3)

#endif
