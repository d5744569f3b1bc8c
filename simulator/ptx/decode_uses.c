/* What becomes of the values that loads have read, by the names of the statements that use their
 * registers. A value that is only stored again is a copy, which may be one of bytes without a
 * value, such as the padding of a structure. */
#include <string.h>

#include "os/os.h"
#include "ptx/decode.h"

enum { USE_STORED = 1, USE_SELECTED = 2, USE_OTHER = 4 };

static void note_use(struct decoder *d, const struct operand *o, uint8_t use)
{
    if (o->kind == OPERAND_VECTOR || o->kind == OPERAND_ADDRESS) {
        for (size_t n = 0; n < (o->kind == OPERAND_VECTOR ? o->part_count : 1); n++)
            note_use(d, &o->parts[n], o->kind == OPERAND_ADDRESS ? USE_OTHER : use);
        return;
    }
    if (o->kind != OPERAND_REGISTER || o->bytes == 1 || !use)
        return;
    const size_t slot = REGISTER_SLOT(o->at);
    if (slot >= d->use_count) {
        const size_t count = 2 * slot + 64;
        d->uses = os_grow(d->uses, count);
        memset(d->uses + d->use_count, 0, count - d->use_count);
        d->use_count = count;
    }
    d->uses[slot] |= use;
}

void decode_note_uses(struct decoder *d)
{
    const struct statement *st = &d->statement;
    const bool stores = word_is(st->parts[0], "st"), selects = word_is(st->parts[0], "selp");
    /* A thread's own memory and arguments of calls are no place to which a copy is made. */
    const bool copies =
        stores && !has_part(st, "local") && !has_part(st, "param") && !has_part(st, "param::func");
    /* Copies of single bytes into a thread's own memory, as of a structure without -O. */
    const bool spills = stores && has_part(st, "local") && has_part(st, "u8");
    const bool has_result = !stores && !word_is(st->parts[0], "red");
    for (size_t n = 0; n < st->operand_count; n++) {
        const bool data = n == 1 || (selects && n == 2);
        note_use(d, &st->operands[n],
                 has_result && !n              ? 0
                 : copies && data              ? USE_STORED
                 : (spills || selects) && data ? USE_SELECTED
                                               : USE_OTHER);
    }
}

/* ---- which registers a value goes to ---- */

static void add_slots(const struct operand *o, uint32_t *slots, uint8_t *count)
{
    for (size_t n = 0; o->kind == OPERAND_VECTOR && n < o->part_count; n++)
        add_slots(&o->parts[n], slots, count);
    if (o->kind == OPERAND_REGISTER && o->bytes != 1 && *count < 8)
        slots[(*count)++] = REGISTER_SLOT(o->at);
}

/* Does the statement compute its result from all its operands? */
static bool computes(struct word name)
{
    static const char *const names[] = {"add", "sub", "mul", "mad", "fma",  "neg",   "abs",   "cvt",
                                        "shl", "shr", "div", "rem", "mov",  "sqrt",  "rsqrt", "rcp",
                                        "ex2", "lg2", "sin", "cos", "tanh", "mul24", "mad24"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (word_is(name, names[n]))
            return true;
    return false;
}

void decode_note_flow(struct decoder *d, size_t before)
{
    const struct statement *st = &d->statement;
    struct code *c = d->code;
    struct flow f = {0, 0, {0}, {0}};
    if (c->count == before || word_is(st->parts[0], "st") || word_is(st->parts[0], "red")
        || !st->operand_count)
        return;
    add_slots(&st->operands[0], f.results, &f.result_count);
    for (size_t n = 1; n < st->operand_count && computes(st->parts[0]); n++)
        add_slots(&st->operands[n], f.sources, &f.source_count);
    if (!f.result_count)
        return;
    c->flows = os_grow(c->flows, (c->flow_count + 1) * sizeof *c->flows);
    c->flows[c->flow_count++] = f;
    c->all[c->count - 1].flow = (uint32_t)c->flow_count;
}

void decode_set_loads(struct decoder *d)
{
    for (size_t n = 0; n < d->code->count; n++) {
        struct instruction *i = &d->code->all[n];
        uint8_t use = 0;
        if (i->run == run_atomic)
            i->rounding = REGISTER_SLOT(i->r[0]) < d->use_count && d->uses[REGISTER_SLOT(i->r[0])];
        if (i->run != run_load && i->run != run_load_volatile)
            continue;
        for (unsigned k = 0; k < i->count; k++)
            use |= REGISTER_SLOT(i->r[k]) < d->use_count ? d->uses[REGISTER_SLOT(i->r[k])] : 0;
        i->option = use == USE_STORED         ? LOAD_IS_STORED
                  : use && !(use & USE_OTHER) ? LOAD_IS_SELECTED
                                              : LOAD_IS_USED;
    }
}
