/* Statements that compute. Each becomes the operation of ptx/operations.c with its name, its type,
 * and those modifiers that select another operation. */
#include <stdio.h>
#include <string.h>

#include "ptx/decode.h"

struct modifiers {
    struct word types[3];
    size_t type_count;
    /* "mul_lo" */
    char name[64];
    bool flush, saturate, to_integer;
    uint8_t rounding;
};

static void append(struct decoder *d, struct modifiers *m, struct word w)
{
    size_t length = strlen(m->name);
    if (length + w.length + 2 > sizeof m->name) {
        decode_refuse(d, "an instruction that is not simulated");
        return;
    }
    if (length)
        m->name[length++] = '_';
    memcpy(m->name + length, w.at, w.length);
    m->name[length + w.length] = 0;
}

static bool read_rounding(struct modifiers *m, struct word w)
{
    const unsigned n = word_among(w, "rn rz rm rp rni rzi rmi rpi");
    if (n) {
        m->rounding = (n - 1) & 3;
        m->to_integer = n > 4;
    }
    return n;
}

static void read_modifiers(struct decoder *d, struct modifiers *m)
{
    const struct statement *st = &d->statement;
    *m = (struct modifiers){.type_count = 0};
    append(d, m, st->parts[0]);
    for (size_t n = 1; n < st->part_count; n++) {
        struct word w = st->parts[n];
        if ((type_bytes(w) || word_is(w, "pred")) && m->type_count < 3)
            m->types[m->type_count++] = w;
        else if (word_is(w, "ftz"))
            m->flush = true;
        else if (word_is(w, "sat"))
            m->saturate = true;
        else if (!read_rounding(m, w) && !word_among(w, "approx full"))
            append(d, m, w);
    }
    if (!m->type_count)
        decode_refuse(d, "an instruction that is not simulated");
}

/* ---- an operation of the table ---- */

/* Looks for "name.type", and then, with more of the types, for "name_type.type" and so on. */
static const struct operation *operation_of(struct decoder *d, const struct modifiers *m)
{
    char name[96];
    size_t length = (size_t)snprintf(name, sizeof name, "%s", m->name);
    for (size_t n = 0; n < m->type_count; n++) {
        snprintf(name + length, sizeof name - length, ".%.*s", (int)m->types[n].length,
                 m->types[n].at);
        const struct operation *o = find_operation(name);
        if (o)
            return o;
        name[length] = '_';
        length += 1 + m->types[n].length;
    }
    decode_refuse(d, "an instruction that is not simulated");
    return NULL;
}

/* Wraps a float operation in what its modifiers do in addition. */
static void modify(struct instruction *i, const struct modifiers *m, size_t operands,
                   bool has_float_result)
{
    bool single = word_is(m->types[0], "f32");
    unsigned modified = (m->flush && single ? MODIFIED_FLUSH : 0)
                      | (m->flush && single && has_float_result ? MODIFIED_FLUSH_RESULT : 0)
                      | (m->saturate && single ? MODIFIED_SATURATE : 0)
                      | (m->rounding ? MODIFIED_ROUND : 0);
    if (!modified)
        return;
    i->inner = i->run;
    i->run = run_modified;
    i->count = (uint8_t)operands;
    i->modified = (uint8_t)modified;
    i->rounding = m->rounding;
}

/* Sets the instruction's operands, with the widths of the operation, from the statement's. */
static bool set_operands(struct decoder *d, const struct operation *o, uint32_t *r)
{
    const struct statement *st = &d->statement;
    size_t count = strlen(o->operands);
    if (st->operand_count < count) {
        decode_refuse(d, "too few operands");
        return false;
    }
    for (size_t n = 0; n < count; n++)
        r[n] = decode_value(d, &st->operands[n], (uint32_t)(o->operands[n] - '0'));
    return !d->failed;
}

/* Each thread has a carry, which stays when it takes no part. */
static bool has_carry(const struct statement *st)
{
    return has_part(st, "cc") || word_among(st->parts[0], "addc subc madc");
}

/* A move's result is as wide as its source. */
static bool is_move(const struct operation *o) { return !strncmp(o->name, "mov.", 4); }
static uint32_t r_bytes(const struct operation *o) { return (uint32_t)(o->operands[0] - '0'); }

static void decode_operation(struct decoder *d)
{
    struct modifiers m;
    uint32_t r[OPERANDS_MAX] = {0};
    read_modifiers(d, &m);
    const struct word type = m.types[0];
    if (word_is(d->statement.parts[0], "cvt") && m.rounding) {
        append(d, &m, (struct word){"rz", 2});
        m.rounding = 0;
    } else if (word_is(d->statement.parts[0], "slct")) {
        /* Only the size of the chosen type matters; .ftz applies to the operand that chooses. */
        m.types[0] = type_bytes(type) == 8 ? (struct word){"b64", 3} : (struct word){"b32", 3};
        if (m.flush)
            append(d, &m, (struct word){"ftz", 3});
    } else if (m.flush && word_is(type, "f64")) {
        append(d, &m, (struct word){"ftz", 3});
    } else if (m.flush && (word_starts(type, "f16") || word_starts(type, "bf16"))) {
        decode_refuse(d, "a float of 16 bits that is flushed");
    } else if (m.saturate && (*type.at == 's' || word_starts(type, "f16"))) {
        append(d, &m, (struct word){"sat", 3});
        m.saturate = false;
    }
    const struct operation *o = d->failed ? NULL : operation_of(d, &m);
    if (!o || !set_operands(d, o, r))
        return;
    if (is_move(o) && decode_fill_copy(d, &d->statement.operands[0], r[1], r_bytes(o)))
        return;
    struct instruction *i = decode_add(d, o->run, INSTRUCTION_PLAIN);
    memcpy(i->r, r, sizeof r);
    modify(i, &m, strlen(o->operands) - 1, o->operands[0] != '1');
    if (o->operands[0] != '1' && !has_carry(&d->statement))
        i->spreads = ALL_LANES;
}

/* ---- comparisons ---- */

/* set.lt.u32.f32 d, a, b: where `predicate`, the result of the comparison, is true, sets all bits
 * or, for a float type, 1. */
static void decode_choice_by(struct decoder *d, struct word type, uint32_t predicate)
{
    const uint32_t yes = word_is(type, "f32")  ? 0x3F800000
                       : word_is(type, "f16")  ? 0x3C00
                       : word_is(type, "bf16") ? 0x3F80
                                               : UINT32_MAX;
    const uint32_t result = decode_value(d, &d->statement.operands[0], 4);
    struct instruction *i = decode_add(d, find_operation("selp.b32")->run, INSTRUCTION_PLAIN);
    i->r[0] = result;
    i->r[1] = decode_constant(d, yes, 4, NULL);
    i->r[2] = decode_constant(d, 0, 4, NULL);
    i->r[3] = predicate;
    i->spreads = ALL_LANES;
}

/* setp.lt.and.s32 p|q, a, b, !c, and set.lt.and.u32.s32 d, a, b, !c */
static void decode_compare(struct decoder *d)
{
    struct statement *st = &d->statement;
    struct modifiers m;
    uint32_t r[OPERANDS_MAX] = {0};
    const bool is_set = word_is(st->parts[0], "set");
    instruction_run *combine = has_part(st, "and") ? run_compare_and
                             : has_part(st, "or")  ? run_compare_or
                             : has_part(st, "xor") ? run_compare_xor
                                                   : NULL;
    if (is_set)
        st->parts[0] = (struct word){"setp", 4};
    read_modifiers(d, &m);
    const struct word type = m.types[0];
    if (is_set && m.type_count == 2)
        m.types[0] = m.types[--m.type_count];
    if (combine) {
        char *end = strrchr(m.name, '_');
        *end = 0;
    }
    const struct operation *o = d->failed ? NULL : operation_of(d, &m);
    if (!o)
        return;
    if (st->operand_count < 3 || (combine && st->operand_count < 4)) {
        decode_refuse(d, "too few operands");
        return;
    }
    if (!combine && st->operands[0].second) {
        decode_refuse(d, "a comparison of a form that is not simulated");
        return;
    }
    r[0] = is_set ? decode_new_register(d, 1) : decode_value(d, &st->operands[0], 1);
    for (size_t n = 1; n < 3; n++)
        r[n] = decode_value(d, &st->operands[n], (uint32_t)(o->operands[n] - '0'));
    uint8_t option = 0;
    if (combine) {
        r[3] = decode_value(d, &st->operands[3], 1);
        r[4] = decode_new_register(d, 1);
        option = (uint8_t)(st->operands[3].negated + 2 * (st->operands[0].second != NULL));
        if (option & 2)
            r[5] = decode_value(d, st->operands[0].second, 1);
    }
    struct instruction *i = decode_add(d, o->run, INSTRUCTION_PLAIN);
    memcpy(i->r, r, sizeof r);
    if (!combine) {
        modify(i, &m, 2, false);
    } else {
        i->inner = i->run;
        i->run = combine;
        i->option = option;
    }
    if (is_set)
        decode_choice_by(d, type, r[0]);
}

/* ---- moves ---- */

/* and.pred, mov.pred and so on. */
static void decode_predicate(struct decoder *d)
{
    struct statement *st = &d->statement;
    struct word name = st->parts[0];
    const uint8_t option = (uint8_t)word_among(name, "not and or xor");
    if (st->operands[1].kind == OPERAND_SPECIAL
        && word_is(st->operands[1].word, "%is_explicit_cluster"))
        st->operands[1] = (struct operand){.kind = OPERAND_NUMBER};
    uint32_t result = decode_value(d, &st->operands[0], 1);
    uint32_t a = decode_value(d, &st->operands[1], 1);
    uint32_t b = option > 1 ? decode_value(d, &st->operands[2], 1) : a;
    if (!option && !word_is(name, "mov")) {
        decode_refuse(d, "an instruction that is not simulated");
        return;
    }
    struct instruction *i = decode_add(d, run_move, INSTRUCTION_PLAIN);
    i->bytes = 1;
    i->option = option;
    i->r[0] = result;
    i->r[1] = a;
    i->r[2] = b;
}

/* mov.b64 d, {a, b} and mov.b64 {a, b}, d */
static void decode_parts(struct decoder *d, bool pack)
{
    const struct operand *whole = &d->statement.operands[!pack],
                         *list = &d->statement.operands[pack];
    size_t bytes = type_bytes(d->statement.parts[d->statement.part_count - 1]),
           count = list->part_count;
    uint32_t r[OPERANDS_MAX] = {0};
    if (!count || count > 4 || !bytes || bytes > 8) {
        decode_refuse(d, "a move of a form that is not simulated");
        return;
    }
    r[pack ? 0 : count] = decode_value(d, whole, bytes > 4 ? 8 : 4);
    for (size_t n = 0; n < count; n++)
        r[n + pack] = decode_value(d, &list->parts[n], 4);
    struct instruction *i = decode_add(d, pack ? run_pack : run_unpack, INSTRUCTION_PLAIN);
    memcpy(i->r, r, sizeof r);
    i->count = (uint8_t)count;
    i->bytes = (uint8_t)(bytes / count);
    i->wide = bytes > 4;
}

static bool decode_clock(struct decoder *d)
{
    const struct operand *o = d->statement.operands;
    if (o[1].kind != OPERAND_SPECIAL)
        return false;
    bool timer = word_starts(o[1].word, "%globaltimer"), clock = word_starts(o[1].word, "%clock");
    if (!timer && !(clock && !word_starts(o[1].word, "%cluster")))
        return false;
    uint32_t result = decode_value(d, &o[0], o[0].bytes);
    struct instruction *i = decode_add(d, run_clock, INSTRUCTION_PLAIN);
    i->r[0] = result;
    i->wide = o[0].bytes == 8;
    i->option = timer;
    i->immediate =
        word_is(o[1].word, "%clock_hi") || word_is(o[1].word, "%globaltimer_hi") ? 32 : 0;
    return true;
}

/* ---- conversions ---- */

/* The number of this type in convert.c, or 255. */
enum { F16 = 8, BF16, F32 };

static uint8_t number_type(struct word w)
{
    return (uint8_t)(word_among(w, "u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64") - 1);
}

/* Documented: .ftz flushes f32 values before and after a conversion, and before one to an integer,
 * so that a denormal becomes 0. Measured (kernels-instructions.txt): not before one to f16. */
static uint32_t flush_source(struct decoder *d, uint32_t a)
{
    static const struct modifiers flush = {.types = {{"f32", 3}}, .flush = true};
    struct instruction *i = decode_add(d, find_operation("mov.f32")->run, INSTRUCTION_PLAIN);
    i->r[1] = a;
    i->r[0] = a = decode_new_register(d, 4);
    modify(i, &flush, 1, true);
    return a;
}

static void flush_result(struct instruction *i)
{
    if (!i->modified)
        i->inner = i->run;
    i->run = run_modified;
    i->modified |= MODIFIED_FLUSH_RESULT;
}

/* Limits the result of a conversion by the operation with this name. */
static void limit_result(struct decoder *d, const char *name)
{
    const struct operation *o = find_operation(name);
    const uint32_t result = decode_value(d, &d->statement.operands[0], r_bytes(o));
    struct instruction *i = decode_add(d, o->run, INSTRUCTION_PLAIN);
    i->r[0] = i->r[1] = result;
}

static void decode_convert(struct decoder *d)
{
    struct statement *st = &d->statement;
    struct modifiers m;
    read_modifiers(d, &m);
    uint8_t to = number_type(m.types[0]), from = number_type(m.types[1]);
    if (d->failed || m.type_count != 2 || to == 255 || from == 255 || strcmp(m.name, "cvt")) {
        decode_refuse(d, "a conversion that is not simulated");
        return;
    }
    bool float_result = to > 7, float_source = from > 7;
    bool to_same_float = to == from && float_result && !m.to_integer;
    bool simple = !m.rounding && !m.to_integer && !float_source;
    simple = (simple && !(m.saturate && !float_result)) || to_same_float;
    simple |= float_result && float_source && !m.rounding && !m.to_integer && to != from;
    char name[32];
    snprintf(name, sizeof name, "cvt_%.*s.%.*s", (int)m.types[0].length, m.types[0].at,
             (int)m.types[1].length, m.types[1].at);
    const struct operation *o =
        to_same_float ? find_operation(to == 11 ? "mov.f64" : "mov.f32") : find_operation(name);
    uint32_t bytes[2] = {to == 6 || to == 7 || to == 11 ? 8 : 4,
                         from == 6 || from == 7 || from == 11 ? 8 : 4};
    /* A register may be wider than the value that it gets or provides. */
    bool wide_result = st->operands[0].bytes == 8 && bytes[0] == 4 && !float_result;
    bool wide_source = st->operands[1].bytes == 8 && bytes[1] == 4;
    uint32_t a = decode_value(d, &st->operands[1], wide_source ? 8 : bytes[1]);
    if (wide_source) {
        struct instruction *low =
            decode_add(d, find_operation("cvt_u32.u64")->run, INSTRUCTION_PLAIN);
        low->r[1] = a;
        low->r[0] = a = decode_new_register(d, 4);
    }
    if (m.flush && from == F32 && to != F16)
        a = flush_source(d, a);
    uint32_t result = decode_value(d, &st->operands[0], wide_result ? 8 : bytes[0]);
    struct instruction *i = decode_add(d, run_convert, INSTRUCTION_PLAIN);
    i->r[0] = result;
    i->r[1] = a;
    i->rounding = m.rounding;
    i->count = from;
    i->space = to;
    i->wide = wide_result || bytes[0] == 8;
    i->option = (uint8_t)((m.saturate && !float_result) + 4 * m.to_integer);
    const bool is_simple = simple && o && !wide_result && !(m.saturate && !float_result);
    if (is_simple) {
        i->run = o->run;
        i->rounding = 0;
        i->spreads = ALL_LANES;
        struct modifiers of_float = m;
        of_float.flush = false;
        modify(i, &of_float, 1, true);
    }
    if (m.flush && to == F32)
        flush_result(i);
    if (m.saturate && to == BF16)
        decode_refuse(d, "a conversion that is not simulated");
    else if (m.saturate && float_result && !(is_simple && to == F32))
        limit_result(d, to == F16 ? "sat.f16" : to == F32 ? "sat.f32" : "sat.f64");
}

/* Removes a modifier. Returns whether it was there. */
static bool take_part(struct statement *st, const char *word)
{
    for (size_t n = 1; n < st->part_count; n++)
        if (word_is(st->parts[n], word)) {
            memmove(&st->parts[n], &st->parts[n + 1], (--st->part_count - n) * sizeof *st->parts);
            return true;
        }
    return false;
}

/* Conversions to types that cvt alone has: cvt.rna.tf32.f32, cvt.rn.satfinite.e4m3x2.f32 a, b; and
 * those whose result is limited: cvt.rn.relu.f16x2.f32 a, b. */
static void decode_narrowing(struct decoder *d)
{
    struct statement *st = &d->statement;
    const bool single = has_part(st, "tf32"), bytes = has_part(st, "e4m3x2 e5m2x2"),
               to_bytes = bytes && has_part(st, "satfinite"), relu = take_part(st, "relu"),
               finite = !bytes && take_part(st, "satfinite");
    if (st->operand_count == 2 && !single && !bytes)
        decode_convert(d);
    else
        decode_operation(d);
    if (finite && !d->failed)
        limit_result(d, single                        ? "finite.f32"
                        : has_part(st, "bf16 bf16x2") ? "finite.bf16x2"
                                                      : "finite.f16x2");
    if (relu && !d->failed)
        limit_result(d, single ? "relu.f32" : to_bytes ? "relu.b8" : "relu.f16x2");
}

void decode_arithmetic(struct decoder *d)
{
    const size_t before = d->code->count;
    struct statement *st = &d->statement;
    struct word name = st->parts[0];
    bool moves = word_is(name, "mov") && st->operand_count == 2;
    if (moves && st->operands[1].kind == OPERAND_VECTOR)
        decode_parts(d, true);
    else if (moves && st->operands[0].kind == OPERAND_VECTOR)
        decode_parts(d, false);
    else if (moves && decode_clock(d))
        ;
    else if (has_part(st, "pred") && st->operand_count >= 2)
        decode_predicate(d);
    else if (word_is(name, "setp") || (word_is(name, "set") && !has_part(st, "f16x2 bf16x2")))
        decode_compare(d);
    else if (word_is(name, "cvt") && has_part(st, "tf32 relu satfinite e4m3x2 e5m2x2"))
        decode_narrowing(d);
    else if (word_is(name, "cvt") && st->operand_count == 2)
        decode_convert(d);
    else
        decode_operation(d);
    for (size_t n = before; n < d->code->count; n++)
        d->code->all[n].computes = d->code->all[n].run != run_clock && !has_carry(st);
}
