/* Registers whose values are a sequence: begin + step * t in thread t of a block. Most addresses
 * are: a parameter, plus an element's size times the thread's number in the grid. Because they
 * depend on nothing that a thread does, they are computed for all threads when a block begins, and
 * a load whose addresses are a sequence need not look at each.
 *
 * This holds only if the block has one dimension and nothing overflows where 32 bits become 64.
 * Otherwise, or if other instructions read it, such a register is computed when the block begins.
 *
 * Invariant: such a register, like those from which it is computed, is the result of only one
 * statement, which has no guard. */
#include <string.h>

#include "os/os.h"
#include "ptx/decode.h"

/* With more sums, computing them may cost more than they save if threads return early. */
#define SUMS_MAX 32
enum { ZERO, ONE, MINUS_ONE, NUMBERS };
#define NO_SEQUENCE UINT16_MAX

/* ---- finding sequences ---- */

instruction_run run_add_s32, run_add_u32, run_add_s64, run_add_u64, run_sub_s32, run_sub_u32,
    run_sub_s64, run_sub_u64, run_mul_lo_s32, run_mul_lo_u32, run_mul_lo_s64, run_mul_lo_u64,
    run_mad_lo_s32, run_mad_lo_u32, run_mad_lo_s64, run_mad_lo_u64, run_shl_b32, run_shl_b64,
    run_mul_wide_s32, run_mul_wide_u32, run_mad_wide_s32, run_mad_wide_u32, run_cvt_s64_s32,
    run_cvt_u64_s32, run_cvt_s64_u32, run_cvt_u64_u32;

/* The operands that are x, y, and z, or NUMBER(n) for one of the fixed numbers. */
#define NUMBER(n) (OPERANDS_MAX + (n))
#define FORM(name, ...)                          \
    {                                            \
        run_##name, __VA_ARGS__, .shifts = false \
    }
#define FORMS(name, ...)                                                \
    FORM(name##_s32, 4, __VA_ARGS__), FORM(name##_u32, 4, __VA_ARGS__), \
        FORM(name##_s64, 8, __VA_ARGS__), FORM(name##_u64, 8, __VA_ARGS__)
static const struct form {
    instruction_run *run;
    uint8_t bytes, x, y, z;
    bool extends, is_signed, shifts;
} forms[] = {
    FORMS(add, 1, NUMBER(ONE), 2),
    FORMS(sub, 2, NUMBER(MINUS_ONE), 1),
    FORMS(mul_lo, 1, 2, NUMBER(ZERO)),
    FORMS(mad_lo, 1, 2, 3),
    {run_shl_b32, 4, 1, 2, NUMBER(ZERO), .shifts = true},
    {run_shl_b64, 8, 1, 2, NUMBER(ZERO), .shifts = true},
    {run_mul_wide_s32, 8, 1, 2, NUMBER(ZERO), .extends = true, .is_signed = true},
    {run_mul_wide_u32, 8, 1, 2, NUMBER(ZERO), .extends = true},
    {run_mad_wide_s32, 8, 1, 2, 3, .extends = true, .is_signed = true},
    {run_mad_wide_u32, 8, 1, 2, 3, .extends = true},
    {run_cvt_s64_s32, 8, 1, NUMBER(ONE), NUMBER(ZERO), .extends = true, .is_signed = true},
    {run_cvt_u64_s32, 8, 1, NUMBER(ONE), NUMBER(ZERO), .extends = true, .is_signed = true},
    {run_cvt_s64_u32, 8, 1, NUMBER(ONE), NUMBER(ZERO), .extends = true},
    {run_cvt_u64_u32, 8, 1, NUMBER(ONE), NUMBER(ZERO), .extends = true},
};

static const struct form *form_of(const struct instruction *i)
{
    for (size_t n = 0; n < sizeof forms / sizeof *forms; n++)
        if (forms[n].run == i->run && !i->guard)
            return &forms[n];
    return NULL;
}

static uint16_t add(struct code *c, struct sequence s)
{
    if (c->sequence_count == NO_SEQUENCE)
        return NO_SEQUENCE;
    *OS_ADD(c->sequences, c->sequence_count) = s;
    return (uint16_t)(c->sequence_count - 1);
}

/* In a block of one dimension, is it a sequence: %tid, or the same in all threads? */
static bool is_sequence(unsigned id)
{
    return id < 12 || id == 14 || id == 15 || id == 16 || id == 22 || id == 23;
}

/* Returns the sequence of the register at an offset, or NO_SEQUENCE. */
static uint16_t sequence_at(struct code *c, uint32_t offset)
{
    for (size_t n = NUMBERS; n < c->sequence_count; n++)
        if (c->sequences[n].offset == offset)
            return (uint16_t)n;
    for (size_t n = 0; n < c->special_count; n++)
        if (c->specials[n].offset == offset && is_sequence(c->specials[n].id))
            return add(c, (struct sequence){.offset = offset,
                                            .kind = SEQUENCE_SPECIAL,
                                            .from = (int64_t)n,
                                            .is_of_block = is_of_block(c->specials[n].id)});
    for (size_t n = 0; n < c->constant_count; n++)
        if (c->constants[n].offset == offset)
            return add(c, (struct sequence){
                              .offset = offset, .kind = SEQUENCE_CONSTANT, .from = (int64_t)n});
    for (size_t n = 0; n < c->given_count; n++)
        if (c->given[n].offset == offset)
            return add(
                c, (struct sequence){.offset = offset, .kind = SEQUENCE_GIVEN, .from = (int64_t)n});
    return NO_SEQUENCE;
}

static uint16_t operand_of(struct code *c, const struct instruction *i, uint8_t which)
{
    return which >= OPERANDS_MAX ? which - OPERANDS_MAX : sequence_at(c, i->r[which]);
}

/* If the result of the last instruction is a sequence, adds it. Returns whether it is. */
static bool add_sum(struct decoder *d)
{
    struct code *c = d->code;
    const struct instruction *i = &c->all[c->count - 1];
    const struct form *f = form_of(i);
    size_t sums = 0;
    for (size_t n = 0; n < c->sequence_count; n++)
        sums += c->sequences[n].kind == SEQUENCE_SUM;
    if (!f || sums == SUMS_MAX || !decode_can_fill(d, &d->statement.operands[0], f->bytes))
        return false;
    struct sequence s = {.offset = i->r[0],
                         .kind = SEQUENCE_SUM,
                         .from = (int64_t)c->count - 1,
                         .x = operand_of(c, i, f->x),
                         .y = operand_of(c, i, f->y),
                         .z = operand_of(c, i, f->z),
                         .bytes = f->bytes,
                         .extends = f->extends,
                         .is_signed = f->is_signed,
                         .shifts = f->shifts};
    if (s.x == NO_SEQUENCE || s.y == NO_SEQUENCE || s.z == NO_SEQUENCE)
        return false;
    s.is_of_block = c->sequences[s.x].is_of_block || c->sequences[s.y].is_of_block
                 || c->sequences[s.z].is_of_block;
    return add(c, s) != NO_SEQUENCE;
}

/* Returns the operand with the address if its register is a sequence, or OPERANDS_MAX. */
static unsigned add_address(struct code *c)
{
    struct instruction *i = &c->all[c->count - 1];
    const unsigned n = i->run == run_load ? i->count : 0;
    if ((i->run != run_load && i->run != run_store) || i->wide & 128
        || (i->space != SPACE_GLOBAL && i->space != SPACE_GENERIC))
        return OPERANDS_MAX;
    const uint16_t s = sequence_at(c, i->r[n]);
    i->sequence = s == NO_SEQUENCE ? 0 : s;
    return i->sequence ? n : OPERANDS_MAX;
}

static void note_read(struct decoder *d, const struct operand *o, bool address)
{
    if (o->kind == OPERAND_REGISTER && o->bytes != 1)
        decode_use_of(d, o->at)->is_read = true;
    for (size_t n = 0; o->kind == OPERAND_VECTOR && n < o->part_count; n++)
        note_read(d, &o->parts[n], address);
    if (o->kind == OPERAND_ADDRESS && address)
        note_read(d, o->parts, address);
    if (o->second)
        note_read(d, o->second, address);
}

void decode_note_sequence(struct decoder *d, size_t before)
{
    struct code *c = d->code;
    unsigned address = OPERANDS_MAX;
    if (!c->function->is_entry || d->failed)
        return;
    for (int number = 0; c->sequence_count < NUMBERS; number = number ? -1 : 1)
        add(c, (struct sequence){.kind = SEQUENCE_NUMBER, .from = number});
    if (c->count == before + 1 && add_sum(d))
        return;
    if (c->count > before)
        address = add_address(c);
    for (size_t n = 0; n < d->statement.operand_count; n++)
        note_read(d, &d->statement.operands[n], address == OPERANDS_MAX);
    /* Registers that have no name are read, too. */
    for (size_t n = before; n < c->count; n++)
        for (unsigned k = 0; k < OPERANDS_MAX; k++)
            if (k != address)
                decode_use_of(d, c->all[n].r[k])->is_read = true;
}

/* ---- taking instructions out ---- */

/* Moves these instructions to `apart`, and closes the gaps that they and empty ones leave. */
static void move(struct code *c, const bool *goes)
{
    uint32_t *moved = os_allocate((c->count + 1) * sizeof *moved), count = 0;
    for (size_t n = 0; n < c->count; n++) {
        moved[n] = count;
        if (goes[n])
            c->apart[c->apart_count++] = c->all[n];
        else if (c->all[n].run || c->all[n].kind != INSTRUCTION_PLAIN)
            c->all[count++] = c->all[n];
    }
    c->count = count;
    for (size_t n = 0; n < count; n++)
        if (c->all[n].kind == INSTRUCTION_BRANCH) {
            c->all[n].target = moved[c->all[n].target];
            c->has_loops |= c->all[n].target <= n;
        }
    for (size_t t = 0; t < c->table_count; t++)
        for (size_t n = 0; n < c->tables[t].count; n++)
            c->tables[t].targets[n] = moved[c->tables[t].targets[n]];
    os_free(moved);
}

void decode_take_apart(struct decoder *d)
{
    struct code *c = d->code;
    bool *goes = os_allocate(c->count * sizeof *goes);
    size_t sums = 0;
    for (size_t n = 0; n < c->call_count; n++)
        decode_use_of(d, c->calls[n].target)->is_read = true;
    for (size_t n = c->sequence_count; n-- > NUMBERS;) {
        struct sequence *s = &c->sequences[n];
        const uint16_t from[] = {s->x, s->y, s->z};
        s->is_read = decode_use_of(d, s->offset)->is_read;
        for (unsigned k = 0; k < 3 && s->kind == SEQUENCE_SUM && s->is_read; k++)
            decode_use_of(d, c->sequences[from[k]].offset)->is_read |= from[k] >= NUMBERS;
    }
    for (size_t n = 0; n < c->special_count; n++)
        c->specials[n].is_read = decode_use_of(d, c->specials[n].offset)->is_read
                              || sequence_at(c, c->specials[n].offset) == NO_SEQUENCE;
    for (size_t n = 0; n < c->sequence_count; n++)
        if (c->sequences[n].kind == SEQUENCE_SUM) {
            goes[c->sequences[n].from] = true;
            c->sequences[n].from = (int64_t)sums++;
        }
    c->apart = os_allocate(sums * sizeof *c->apart);
    move(c, goes);
    os_free(goes);
}

/* ---- the lines of a block ---- */

/* Extends the values of all threads from 4 bytes to 8. Returns false if one overflows. */
static bool extend(const struct sequence *s, struct steps *l, unsigned threads)
{
    const int64_t step = (int32_t)l->step;
    const int64_t begin = s->is_signed ? (int32_t)l->begin : (int64_t)(uint32_t)l->begin;
    const int64_t end = begin + step * (int64_t)(threads - 1);
    *l = (struct steps){(uint64_t)begin, (uint64_t)step};
    return s->is_signed ? end == (int32_t)end : end == (int64_t)(uint32_t)end;
}

static bool compute(const struct block *b, const struct sequence *s, struct steps *result)
{
    const unsigned threads = b->launch->threads_of_block;
    struct steps x = b->lines[s->x], y = b->lines[s->y], z = b->lines[s->z];
    if (s->extends && !(extend(s, &x, threads) && extend(s, &y, threads)))
        return false;
    if ((x.step && y.step) || (s->shifts && y.step))
        return false;
    if (s->shifts)
        y.begin = y.begin < 8u * s->bytes ? (uint64_t)1 << y.begin : 0;
    result->begin = x.begin * y.begin + z.begin;
    result->step = x.step * y.begin + y.step * x.begin + z.step;
    if (s->bytes == 4)
        *result = (struct steps){(uint32_t)result->begin, (uint32_t)result->step};
    return true;
}

bool lines_begin(struct block *b)
{
    const struct code *c = b->launch->code->entry;
    const struct launch_shape *shape = b->launch->shape;
    const bool is_first = !b->has_lines;
    if (!c->apart_count || shape->block.y * shape->block.z != 1)
        return false;
    if (!b->lines)
        b->lines = os_allocate(c->sequence_count * sizeof *b->lines);
    for (size_t n = 0; n < c->sequence_count; n++) {
        const struct sequence *s = &c->sequences[n];
        struct steps *l = &b->lines[n];
        if (!is_first && !s->is_of_block)
            continue;
        switch (s->kind) {
        case SEQUENCE_NUMBER: *l = (struct steps){(uint64_t)s->from, 0}; break;
        case SEQUENCE_SPECIAL:
            *l = (struct steps){block_special(b, 0, c->specials[s->from].id, 0),
                                !c->specials[s->from].id};
            break;
        case SEQUENCE_CONSTANT: *l = (struct steps){c->constants[s->from].value, 0}; break;
        case SEQUENCE_GIVEN:
            *l = (struct steps){launch_given(b->launch, &c->given[s->from]), 0};
            break;
        default:
            if (!compute(b, s, l))
                return false;
        }
    }
    return true;
}
