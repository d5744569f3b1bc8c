/* Statements about matrices: wmma.load, wmma.store, and wmma.mma, of the shapes and types of
 * sixteen bits, tf32, f64, and eight bits. */
#include "ptx/matrix.h"

#include "os/os.h"
#include "ptx/decode.h"

/* m16n16k16 and so on. */
static bool read_shape(struct word w, unsigned *m, unsigned *n, unsigned *k)
{
    unsigned *const sizes[] = {m, n, k};
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        if (at >= w.length || w.at[at] != "mnk"[i])
            return false;
        *sizes[i] = 0;
        for (at++; at < w.length && w.at[at] >= '0' && w.at[at] <= '9'; at++)
            *sizes[i] = 10 * *sizes[i] + (unsigned)(w.at[at] - '0');
    }
    return at == w.length;
}

static bool read_element(struct word w, enum element *element)
{
    const unsigned n = word_among(w, "f16 bf16 tf32 f32 f64 s8 u8 s32");
    *element = (enum element)(n - 1);
    return n;
}

/* What the statement's modifiers say. */
struct modifiers {
    unsigned m, n, k;
    /* "row" or "col", for A and for B. */
    bool by_column[2];
    unsigned layouts;
    enum element elements[4];
    unsigned types;
    uint8_t space;
    bool saturates;
};

static bool read_modifiers(const struct statement *st, struct modifiers *x)
{
    *x = (struct modifiers){.space = SPACE_GENERIC};
    for (size_t n = 2; n < st->part_count; n++) {
        struct word w = st->parts[n];
        if (read_shape(w, &x->m, &x->n, &x->k) || word_among(w, "sync aligned a b c d rn"))
            continue;
        if (word_among(w, "row col") && x->layouts < 2)
            x->by_column[x->layouts++] = word_is(w, "col");
        else if (word_is(w, "global"))
            x->space = SPACE_GLOBAL;
        else if (word_among(w, "shared shared::cta"))
            x->space = SPACE_SHARED;
        else if (word_is(w, "satfinite"))
            x->saturates = true;
        else if (x->types == 4 || !read_element(w, &x->elements[x->types++]))
            return false;
    }
    return x->m && x->types;
}

/* Documented: which shapes there are, and how many registers each fragment has. */
static bool is_fragment(const struct fragment *f, char which, const struct modifiers *x)
{
    static const struct {
        const char *elements;
        uint8_t m, n, k, a, b;
    } all[] = {{"hx", 16, 16, 16, 8, 8}, {"hx", 32, 8, 16, 8, 8}, {"hx", 8, 32, 16, 8, 8},
               {"bx", 16, 16, 16, 4, 4}, {"bx", 32, 8, 16, 8, 2}, {"bx", 8, 32, 16, 2, 8},
               {"tx", 16, 16, 8, 4, 4},  {"dx", 8, 8, 4, 1, 1},   {"ix", 16, 16, 16, 2, 2},
               {"ix", 32, 8, 16, 4, 1},  {"ix", 8, 32, 16, 1, 4}};
    static const char kind[] = {'h', 'b', 't', 0, 'd', 'i', 'i', 0};
    static const uint8_t of_accumulator[] = {4, 0, 0, 8, 2, 0, 0, 8};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        if (all[n].m != x->m || all[n].n != x->n || all[n].k != x->k)
            continue;
        if (which != 'c') {
            if (kind[f->element] == all[n].elements[0]
                && f->register_count == (which == 'a' ? all[n].a : all[n].b))
                return true;
        } else if (f->register_count == of_accumulator[f->element]) {
            return true;
        }
    }
    return false;
}

/* Sets the fragment `which` ('a', 'b', or 'c' for both accumulators) of an operand. */
static bool read_fragment(struct decoder *d, const struct operand *o, char which,
                          const struct modifiers *x, enum element element, bool by_column,
                          struct fragment *f)
{
    const struct operand *all = o->kind == OPERAND_VECTOR ? o->parts : o;
    size_t count = o->kind == OPERAND_VECTOR ? o->part_count : 1;
    uint32_t bytes = element == ELEMENT_F64 ? 8 : 4;
    *f = (struct fragment){.element = element,
                           .rows = (uint8_t)(which == 'b' ? x->k : x->m),
                           .columns = (uint8_t)(which == 'a' ? x->k : x->n),
                           .by_column = by_column,
                           .register_count = (uint8_t)count};
    if (count > 8 || !is_fragment(f, which, x))
        return false;
    for (size_t n = 0; n < count; n++) {
        if (all[n].kind != OPERAND_REGISTER || all[n].bytes != bytes)
            return false;
        f->registers[n] = decode_value(d, &all[n], bytes);
    }
    return true;
}

static void add_step(struct decoder *d, instruction_run *run, const struct matrix_step *step,
                     const struct instruction *parts)
{
    struct code *c = d->code;
    *OS_ADD(c->matrices, c->matrix_count) = *step;
    decode_add_made(d, run, INSTRUCTION_TOGETHER, parts)->immediate = (int64_t)c->matrix_count - 1;
}

/* wmma.load.a {registers}, [address], stride; wmma.store.d [address], {registers}, stride. */
static bool decode_transfer(struct decoder *d, bool stores)
{
    const struct statement *st = &d->statement;
    const struct operand *address = &st->operands[stores ? 0 : 1];
    struct matrix_step step = {.saturates = false};
    struct instruction i = {.count = 0};
    struct modifiers x;
    char which = word_is(st->parts[2], "a") ? 'a' : word_is(st->parts[2], "b") ? 'b' : 'c';
    if (!read_modifiers(st, &x) || x.types != 1 || x.layouts != 1 || st->operand_count < 2
        || address->kind != OPERAND_ADDRESS
        || !read_fragment(d, &st->operands[stores ? 1 : 0], which, &x, x.elements[0],
                          x.by_column[0], &step.d))
        return false;
    const struct operand *base = address->parts;
    i.option = base->kind == OPERAND_REGISTER && base->bytes == 4;
    i.r[0] = decode_value(d, base, i.option ? 4 : 8);
    i.target = (uint32_t)address->number;
    i.space = x.space;
    unsigned dense = step.d.by_column ? step.d.rows : step.d.columns;
    i.r[1] = st->operand_count > 2 ? decode_value(d, &st->operands[2], 4)
                                   : decode_constant(d, dense, 4, NULL);
    /* The instruction touches shared memory in pieces of one element. */
    unsigned *least = &d->kernel->least_shared;
    static const uint8_t bytes[] = {2, 2, 4, 4, 8, 1, 1, 4};
    if (x.space != SPACE_GLOBAL && (!*least || bytes[step.d.element] < *least))
        *least = bytes[step.d.element];
    add_step(d, stores ? run_matrix_store : run_matrix_load, &step, &i);
    return true;
}

/* wmma.mma.ROW.COL.SHAPE.D.C of halves, and .D.A.B.C of all others. */
static bool decode_multiply(struct decoder *d)
{
    const struct statement *st = &d->statement;
    const struct operand *o = st->operands;
    struct matrix_step step = {.saturates = false};
    struct modifiers x;
    if (!read_modifiers(st, &x) || x.layouts != 2 || st->operand_count != 4
        || (x.types != 2 && x.types != 4))
        return false;
    bool halves = x.types == 2;
    enum element a = halves ? ELEMENT_F16 : x.elements[1], b = halves ? a : x.elements[2];
    step.saturates = x.saturates;
    if (!read_fragment(d, &o[0], 'c', &x, x.elements[0], false, &step.d)
        || !read_fragment(d, &o[1], 'a', &x, a, x.by_column[0], &step.a)
        || !read_fragment(d, &o[2], 'b', &x, b, x.by_column[1], &step.b)
        || !read_fragment(d, &o[3], 'c', &x, x.elements[halves ? 1 : 3], false, &step.c))
        return false;
    /* Saturating floats, which would only replace infinities, are not simulated. */
    if (step.saturates && step.d.element != ELEMENT_S32)
        return false;
    add_step(d, run_matrix_multiply, &step, &(struct instruction){.count = 0});
    return true;
}

bool decode_matrix(struct decoder *d)
{
    const struct statement *st = &d->statement;
    if (!word_is(st->parts[0], "wmma") || st->part_count < 4)
        return false;
    bool done = word_is(st->parts[1], "load")  ? decode_transfer(d, false)
              : word_is(st->parts[1], "store") ? decode_transfer(d, true)
              : word_is(st->parts[1], "mma")   ? decode_multiply(d)
                                               : false;
    if (!done)
        decode_refuse(d, "a matrix of a shape or type that is not simulated");
    return true;
}
