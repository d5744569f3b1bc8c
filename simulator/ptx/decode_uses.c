/* What a kernel does with the values that it has loaded, judged by the names of the statements that
 * use their registers. If a value is only stored again, the load is part of a copy, which may copy
 * bytes without a value, such as the padding of a structure. */
#include <string.h>

#include "os/needs_lock.h"
#include "os/os.h"
#include "ptx/decode.h"

enum { USE_STORED = 1, USE_SELECTED = 2, USE_OTHER = 4, USE_ANY = 7, USE_ELSEWHERE = 8 };

struct use *decode_use_of(struct decoder *d, uint32_t offset)
{
    const size_t slot = REGISTER_SLOT(offset);
    if (slot >= d->use_count) {
        const size_t count = 2 * slot + 64;
        d->uses = os_grow(d->uses, count * sizeof *d->uses);
        memset(d->uses + d->use_count, 0, (count - d->use_count) * sizeof *d->uses);
        d->use_count = count;
    }
    return &d->uses[slot];
}

/* Returns how statements use the register at this offset. */
static uint8_t use_at(const struct decoder *d, uint32_t offset)
{
    const size_t slot = REGISTER_SLOT(offset);
    return slot < d->use_count ? d->uses[slot].how & USE_ANY : 0;
}

static void note_use(struct decoder *d, const struct operand *o, uint8_t use)
{
    if (o->kind == OPERAND_VECTOR || o->kind == OPERAND_ADDRESS) {
        for (size_t n = 0; n < (o->kind == OPERAND_VECTOR ? o->part_count : 1); n++)
            note_use(d, &o->parts[n], o->kind == OPERAND_ADDRESS ? USE_OTHER : use);
        if (o->kind == OPERAND_ADDRESS && o->second)
            note_use(d, o->second, USE_OTHER);
        return;
    }
    if (o->kind == OPERAND_REGISTER && o->bytes != 1 && use)
        decode_use_of(d, o->at)->how |= use;
}

void decode_note_uses(struct decoder *d)
{
    const struct statement *st = &d->statement;
    const bool stores = word_among(st->parts[0], "st sust");
    const bool selects = word_is(st->parts[0], "selp");
    /* A store to a thread's own memory or to a call's arguments does not count as a copy. */
    const bool copies = stores && !has_part(st, "local param param::func");
    /* Unoptimized code copies structures by single bytes through a thread's own memory. */
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

/* ---- registers of one run ----
 *
 * A run is what a group of threads executes without a change to another group: plain instructions
 * without a label (ptx/threads.c). If a register is only read in runs that have written it before,
 * no thread ever looks at the register's value from before the run. Therefore instructions may also
 * change it for threads that take no part, which takes less time than keeping their values. */

static void add_mention(struct decoder *d, uint32_t at, bool is_predicate, bool writes)
{
    OS_MAKE_ROOM(d->mentions, d->mention_count + 1, d->mention_capacity)
    d->mentions[d->mention_count++] =
        (struct mention){.at = at, .is_predicate = is_predicate, .writes = writes};
}

static void note_run(struct decoder *d, const struct operand *o, bool writes, bool is_elsewhere)
{
    for (size_t n = 0; n < o->part_count && o->kind == OPERAND_VECTOR; n++)
        note_run(d, &o->parts[n], writes, is_elsewhere);
    if (o->kind == OPERAND_ADDRESS)
        note_run(d, o->parts, false, is_elsewhere);
    if (o->second)
        note_run(d, o->second, writes, is_elsewhere);
    if (o->kind != OPERAND_REGISTER)
        return;
    add_mention(d, o->at, o->bytes == 1, writes);
    if (o->bytes == 1)
        return;
    struct use *use = decode_use_of(d, o->at);
    if (is_elsewhere || (!writes && use->run != d->run + 1))
        use->how |= USE_ELSEWHERE;
    else if (writes && !d->statement.guard)
        use->run = d->run + 1;
}

void decode_note_runs(struct decoder *d, size_t before)
{
    const struct statement *st = &d->statement;
    const size_t mentions = d->mention_count;
    const bool stores = word_among(st->parts[0], "st red sust");
    /* The notes of shared memory compare the values that several threads store, so those must be
     * right for all threads. */
    bool is_elsewhere = stores && !has_part(st, "global");
    bool is_plain = true;
    for (size_t n = before; n < d->code->count; n++)
        is_plain &= d->code->all[n].kind == INSTRUCTION_PLAIN;
    is_elsewhere |= !is_plain;
    for (size_t n = stores ? 0 : 1; n < st->operand_count; n++)
        note_run(d, &st->operands[n], false, is_elsewhere);
    if (st->operand_count && !stores)
        note_run(d, &st->operands[0], true, is_elsewhere);
    if (st->guard)
        add_mention(d, st->guard / 2 - 1, true, false);
    for (size_t n = mentions; n < d->mention_count; n++)
        d->mentions[n].instruction = before;
    if (before == d->code->count)
        d->mention_count = mentions;
    d->run += !is_plain;
}

/* Lets only simple operations spread, because others look at which threads take part. */
static void set_spreads(struct decoder *d)
{
    struct code *c = d->code;
    for (size_t n = 0; n < c->call_count; n++)
        if (REGISTER_SLOT(c->calls[n].target) < d->use_count)
            d->uses[REGISTER_SLOT(c->calls[n].target)].how |= USE_ELSEWHERE;
    for (size_t n = 0; n < c->count; n++) {
        struct instruction *i = &c->all[n];
        const size_t slot = REGISTER_SLOT(i->r[0]);
        if (i->guard || i->inner || slot >= d->use_count || !d->uses[slot].run
            || d->uses[slot].how & USE_ELSEWHERE)
            i->spreads = 0;
    }
}

/* ---- fused sums ----
 *
 * If neither a product nor a sum names its rounding, a GPU's assembler may compute both with one
 * rounding. For x * y + z, nvcc has written fma already, but x * y - z is left to the assembler.
 * Read in what ptxas 13.0 makes of such code: a sum takes in the product that is in the fewest
 * sums, and of equal ones the first. A product goes into several sums of its block if nothing but
 * sums reads it, and none of them has taken in its other product. */

static void read_product(struct decoder *d, const struct operand *o, struct sum *s, unsigned place)
{
    for (size_t n = 0; n < o->part_count; n++)
        read_product(d, &o->parts[n], NULL, 0);
    if (o->second)
        read_product(d, o->second, NULL, 0);
    if (o->kind != OPERAND_REGISTER || o->bytes == 1)
        return;
    const size_t number = decode_use_of(d, o->at)->product;
    if (!number)
        return;
    struct product *p = &d->products[number - 1];
    const struct instruction *of = &d->code->all[p->instruction];
    const struct instruction *sum = s ? &d->code->all[s->instruction] : of;
    if (!s || p->block != d->block || s->products[0] == number || o->bytes != s->bytes
        || of->modified != (sum->modified & ~MODIFIED_SATURATE)
        || decode_use_of(d, of->r[1])->written > p->instruction
        || decode_use_of(d, of->r[2])->written > p->instruction) {
        p->is_kept = true;
        return;
    }
    s->products[place] = number;
    p->sums++;
    /* The sum reads the product's operands, perhaps in another run. */
    if (p->run != d->run)
        for (unsigned n = 1; n < 3; n++)
            decode_use_of(d, of->r[n])->how |= USE_ELSEWHERE;
}

void decode_note_products(struct decoder *d, size_t before)
{
    const struct statement *st = &d->statement;
    const bool has_result = st->operand_count && !word_among(st->parts[0], "st red sust");
    const bool is_loose = d->code->count == before + 1 && st->operand_count == 3
                       && word_among(st->parts[st->part_count - 1], "f32 f64")
                       && !has_part(st, "rn rz rm rp");
    const bool is_product = is_loose && word_is(st->parts[0], "mul") && !has_part(st, "sat");
    struct sum s = {.instruction = before, .bytes = st->operands[0].bytes};
    s.is_difference = word_is(st->parts[0], "sub");
    const bool is_sum = is_loose && (s.is_difference || word_is(st->parts[0], "add"));
    for (unsigned n = has_result; n < st->operand_count; n++)
        read_product(d, &st->operands[n], is_sum ? &s : NULL, n - 1);
    if (s.products[0] || s.products[1])
        *OS_ADD(d->sums, d->sum_count) = s;
    const struct operand *result = has_result ? &st->operands[0] : NULL;
    for (size_t n = 0; result && n < (result->part_count ? result->part_count : 1); n++) {
        const struct operand *o = result->part_count ? &result->parts[n] : result;
        if (o->kind != OPERAND_REGISTER || o->bytes == 1)
            continue;
        struct use *use = decode_use_of(d, o->at);
        *use = (struct use){use->how, use->run, use->is_read, d->code->count, 0};
        if (!is_product || st->guard)
            continue;
        *OS_ADD(d->products, d->product_count) =
            (struct product){.instruction = before, .block = d->block, .run = d->run};
        use->product = d->product_count;
    }
    /* What rounds a quotient or a root has a branch for rare cases. */
    d->block += word_among(st->parts[0], "bra brx call ret exit trap")
             || (word_among(st->parts[0], "div rcp sqrt") && has_part(st, "rn rz rm rp"));
}

/* Makes one of the sum and its product at this place, whose instruction stays. */
static void fuse(struct decoder *d, const struct sum *s, unsigned place)
{
    static const char *const names[][3] = {{"fma.f32", "product_less.f32", "less_product.f32"},
                                           {"fma.f64", "product_less.f64", "less_product.f64"}};
    struct instruction *i = &d->code->all[s->instruction];
    const struct instruction *of = &d->code->all[d->products[s->products[place] - 1].instruction];
    const unsigned name = s->is_difference ? 1 + place : 0;
    instruction_run *const run = find_operation(names[s->bytes == 8][name])->run;
    i->r[3] = i->r[2 - place];
    i->r[1] = of->r[1];
    i->r[2] = of->r[2];
    if (i->inner) {
        i->inner = run;
        i->count = 3;
    } else {
        i->run = run;
    }
}

/* Returns which of its products the sum takes in: none is 2. */
static unsigned product_to_fuse(const struct decoder *d, const struct sum *s, bool may_share)
{
    unsigned place = 2;
    uint32_t least = may_share ? UINT32_MAX : 2;
    for (unsigned n = 0; n < 2; n++) {
        const struct product *p = s->products[n] ? &d->products[s->products[n] - 1] : NULL;
        if (p && !p->is_kept && p->sums < least) {
            place = n;
            least = p->sums;
        }
    }
    return place;
}

void decode_fuse(struct decoder *d)
{
    for (unsigned may_share = 0; may_share < 2; may_share++) {
        for (struct sum *s = d->sums; s < d->sums + d->sum_count; s++) {
            const unsigned place = product_to_fuse(d, s, may_share);
            if (place == 2)
                continue;
            fuse(d, s, place);
            if (s->products[1 - place])
                d->products[s->products[1 - place] - 1].is_kept = true;
            s->products[0] = s->products[1] = 0;
        }
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

/* Returns whether the statement's result depends on all its operands. */
static bool computes(struct word name)
{
    return word_among(name,
                      "add sub mul mad fma neg abs cvt shl shr div rem mov sqrt rsqrt rcp ex2 "
                      "lg2 sin cos tanh mul24 mad24 cvta");
}

static bool has_wide_result(const struct operand *o)
{
    for (size_t n = 0; o->kind == OPERAND_VECTOR && n < o->part_count; n++)
        if (has_wide_result(&o->parts[n]))
            return true;
    return o->kind == OPERAND_REGISTER && o->bytes == 8;
}

/* A sum or product of 4-byte numbers is no address, but two such numbers in neighboring registers
 * may form one. */
static bool brings_address(const struct statement *st)
{
    const struct operand *last = &st->operands[st->operand_count - 1];
    if (!has_wide_result(&st->operands[0]))
        return false;
    for (size_t n = 1; n < st->operand_count; n++)
        if (st->operands[n].kind == OPERAND_VECTOR || st->operands[n].kind == OPERAND_SYMBOL)
            return true;
    return !computes(st->parts[0])
        || (word_is(st->parts[0], "shl") && (last->kind != OPERAND_NUMBER || last->number >= 32));
}

void decode_note_flow(struct decoder *d, size_t before)
{
    const struct statement *st = &d->statement;
    struct code *c = d->code;
    struct flow f = {.result_count = 0};
    if (c->count == before || word_among(st->parts[0], "st sust red") || !st->operand_count)
        return;
    add_slots(&st->operands[0], f.results, &f.result_count);
    for (size_t n = 1; n < st->operand_count && computes(st->parts[0]); n++)
        add_slots(&st->operands[n], f.sources, &f.source_count);
    if (!f.result_count)
        return;
    f.brings_address = brings_address(st);
    *OS_ADD(c->flows, c->flow_count) = f;
    c->all[c->count - 1].flow = (uint32_t)c->flow_count;
}

void decode_set_loads(struct decoder *d)
{
    set_spreads(d);
    for (size_t n = 0; n < d->code->count; n++) {
        struct instruction *i = &d->code->all[n];
        uint8_t use = 0;
        if (i->run == run_atomic)
            i->rounding = use_at(d, i->r[0]) != 0;
        if (i->run != run_load && i->run != run_load_volatile)
            continue;
        for (unsigned k = 0; k < i->count; k++)
            use |= use_at(d, i->r[k]);
        i->option = use == USE_STORED         ? LOAD_IS_STORED
                  : use && !(use & USE_OTHER) ? LOAD_IS_SELECTED
                                              : LOAD_IS_USED;
    }
}

/* ---- where an address comes from ---- */

/* Returns the register that has the address, or 0. */
static uint32_t address_register(const struct instruction *i)
{
    return i->run == run_store || i->run == run_store_volatile ? i->r[0]
         : i->run == run_load || i->run == run_load_volatile   ? i->r[i->count]
         : i->run == run_atomic                                ? i->r[1]
                                                               : 0;
}

/* Adds the argument that was put into the register before the function began. Returns whether there
 * is one. */
static bool add_filled(const struct code *c, uint32_t slot, struct address_origins *origins)
{
    for (size_t n = 0; n < c->given_count; n++) {
        const struct given *g = &c->given[n];
        bool is_known = g->bytes != 8;
        if (REGISTER_SLOT(g->offset) != slot)
            continue;
        for (size_t k = 0; k < origins->count; k++)
            is_known |= origins->from[k] == g->from;
        if (!is_known)
            origins->from[origins->count++] = g->from;
        return true;
    }
    for (size_t n = 0; n < c->special_count; n++)
        if (REGISTER_SLOT(c->specials[n].offset) == slot)
            return true;
    /* A constant of 8 bytes may be the address of a variable. */
    for (size_t n = 0; n < c->constant_count; n++)
        if (REGISTER_SLOT(c->constants[n].offset) == slot)
            return c->constants[n].value <= UINT32_MAX || (int64_t)c->constants[n].value < 0;
    return false;
}

/* Adds the registers from which the statements that write this register compute it, to slots[0 ..
 * *count). */
static bool add_computed(const struct code *c, uint32_t slot, uint32_t *slots, size_t *count,
                         bool *seen)
{
    bool any = false;
    for (size_t n = 0; n < c->flow_count; n++) {
        const struct flow *f = &c->flows[n];
        bool writes = false;
        for (unsigned k = 0; k < f->result_count; k++)
            writes |= f->results[k] == slot;
        if (!writes)
            continue;
        any = true;
        if (f->brings_address)
            return false;
        for (unsigned k = 0; k < f->source_count; k++)
            if (!seen[f->sources[k]]) {
                seen[f->sources[k]] = true;
                slots[(*count)++] = f->sources[k];
            }
    }
    return any;
}

bool code_address_origins(const struct code *c, const struct instruction *i,
                          struct address_origins *origins)
{
    NEEDS_LOCK();
    const size_t most = REGISTER_SLOT(c->register_bytes) + 2;
    uint32_t *slots = os_allocate(most * sizeof *slots);
    bool *seen = os_allocate(most), is_known = c == c->kernel->entry && address_register(i);
    size_t count = 1;
    *origins = (struct address_origins){.count = 0};
    slots[0] = REGISTER_SLOT(address_register(i));
    seen[slots[0]] = true;
    for (size_t n = 0; n < count && is_known; n++)
        is_known =
            (add_filled(c, slots[n], origins) || add_computed(c, slots[n], slots, &count, seen))
            && origins->count < sizeof origins->from / sizeof *origins->from;
    os_free(slots);
    os_free(seen);
    return is_known;
}
