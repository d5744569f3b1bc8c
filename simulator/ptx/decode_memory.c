/* Statements about memory: loads, stores, atomic operations, and addresses. */
#include <string.h>

#include "os/os.h"
#include "ptx/decode.h"
#include "ptx/shared_notes.h"

/* ---- modifiers ---- */

static bool is_hint(struct word w)
{
    return word_among(w, "nc volatile weak relaxed acquire release acq_rel gpu sys cta cluster ca "
                         "cg cs lu cv wb wt async")
        || word_starts(w, "L1::") || word_starts(w, "L2::");
}

static bool read_space(struct word w, uint8_t *space)
{
    static const uint8_t spaces[] = {SPACE_GLOBAL, SPACE_CONST, SPACE_SHARED, SPACE_SHARED,
                                     SPACE_LOCAL,  SPACE_PARAM, SPACE_PARAM,  SPACE_PARAM};
    const unsigned n =
        word_among(w, "global const shared shared::cta local param param::entry param::func");
    *space = n ? spaces[n - 1] : *space;
    return n;
}

/* Reads a load's or store's space, type, and number of elements. */
static void read_modifiers(struct decoder *d, struct instruction *i)
{
    const struct statement *st = &d->statement;
    i->count = 1;
    for (size_t n = 1; n < st->part_count; n++) {
        struct word w = st->parts[n];
        if (read_space(w, &i->space) || is_hint(w))
            continue;
        if (word_among(w, "v2 v4"))
            i->count = (uint8_t)(w.at[1] - '0');
        else if (type_bytes(w) && type_bytes(w) <= 8) {
            i->bytes = (uint8_t)type_bytes(w);
            i->is_signed = *w.at == 's';
        } else
            decode_refuse(d, "a form of this instruction that is not simulated");
    }
    if (!i->bytes)
        decode_refuse(d, "a type that is not simulated");
}

/* ---- addresses ---- */

/* Returns the register of the address that is operand n. Sets the offset, and 128 in `wide` if the
 * register has 32 bits. */
static uint32_t read_address(struct decoder *d, struct instruction *i, const struct operand *o)
{
    if (o->kind != OPERAND_ADDRESS) {
        decode_refuse(d, "an address of a form that is not simulated");
        return 0;
    }
    const struct operand *base = o->parts;
    i->immediate = o->number;
    bool narrow = base->kind == OPERAND_REGISTER && base->bytes == 4;
    if (narrow)
        i->wide |= 128;
    return decode_value(d, base, narrow ? 4 : 8);
}

/* Returns whether it is a parameter of the kernel at a fixed place. */
static bool is_kernel_parameter(const struct decoder *d, const struct operand *o)
{
    return d->code->function->is_entry && o->kind == OPERAND_ADDRESS
        && o->parts->kind == OPERAND_SYMBOL
        && variables_find(&d->code->function->parameters, o->parts->word)
        && !variables_find(&d->variables, o->parts->word);
}

/* A call's parameters are in the frame. A kernel's are not if a register has their address. */
static void set_parameter_space(const struct decoder *d, struct instruction *i,
                                const struct operand *o)
{
    if (i->space == SPACE_PARAM
        && !(d->code->function->is_entry && o->kind == OPERAND_ADDRESS
             && o->parts->kind == OPERAND_REGISTER))
        i->space = SPACE_LOCAL;
}

void decode_elements(struct decoder *d, struct instruction *i, const struct operand *o,
                     unsigned from)
{
    const struct operand *all = o->kind == OPERAND_VECTOR ? o->parts : o;
    size_t count = o->kind == OPERAND_VECTOR ? o->part_count : 1;
    if (count != i->count) {
        decode_refuse(d, "another number of registers than of elements");
        return;
    }
    for (size_t n = 0; n < count; n++) {
        uint32_t bytes = all[n].kind == OPERAND_REGISTER ? all[n].bytes : i->bytes > 4 ? 8 : 4;
        i->r[from + n] = decode_value(d, &all[n], bytes);
        i->wide |= bytes == 8;
        if (bytes == 1 || (all[n].kind == OPERAND_REGISTER && (i->wide & 1) != (bytes == 8)))
            decode_refuse(d, "registers of different widths");
    }
}

static void note_least(unsigned *least, unsigned bytes)
{
    if (bytes && (!*least || bytes < *least))
        *least = bytes;
}

/* Adds the instruction with the collected parts, after those that its operands added. */
static void finish(struct decoder *d, instruction_run *run, const struct instruction *parts)
{
    struct instruction *i = decode_add_made(d, run, INSTRUCTION_PLAIN, parts);
    i->is_of_row = (i->space == SPACE_GLOBAL || i->space == SPACE_GENERIC)
                && i->wide == (i->bytes == 8) && i->bytes >= 4
                && (i->count == 1 || (i->bytes == 4 && !(i->count & 1)));
    if (i->space == SPACE_SHARED || i->space == SPACE_GENERIC)
        note_least(&d->kernel->least_shared, i->bytes);
    if (i->space == SPACE_GLOBAL || i->space == SPACE_GENERIC)
        note_least(&d->kernel->least_device, i->bytes);
}

/* ---- statements ---- */

static void decode_load(struct decoder *d)
{
    struct instruction i = {.count = 0};
    const struct operand *o = d->statement.operands;
    read_modifiers(d, &i);
    if (d->failed || d->statement.operand_count < 2)
        return;
    decode_elements(d, &i, &o[0], 0);
    if (i.space == SPACE_PARAM && is_kernel_parameter(d, &o[1])) {
        const struct variable *v = variables_find(&d->code->function->parameters, o[1].parts->word);
        i.immediate = (int64_t)v->offset + o[1].number;
        uint32_t bytes = i.wide & 1 ? 8 : 4;
        if (i.count == 1 && decode_can_fill(d, &o[0], bytes))
            *OS_ADD(d->code->given, d->code->given_count) =
                (struct given){i.r[0], (uint32_t)i.immediate, i.bytes, i.is_signed, bytes == 8};
        else
            finish(d, run_load_parameter, &i);
        return;
    }
    set_parameter_space(d, &i, &o[1]);
    i.r[i.count] = read_address(d, &i, &o[1]);
    bool is_volatile = has_part(&d->statement, "volatile relaxed acquire");
    if (!is_volatile && !d->statement.guard && o[1].parts->kind == OPERAND_SYMBOL
        && (i.space == SPACE_SHARED || i.space == SPACE_GLOBAL))
        for (unsigned n = 0; n < GUARD_ROOM; n++)
            decode_add(d, NULL, INSTRUCTION_PLAIN);
    finish(d, is_volatile ? run_load_volatile : run_load, &i);
}

static void decode_store(struct decoder *d)
{
    struct instruction i = {.count = 0};
    const struct operand *o = d->statement.operands;
    read_modifiers(d, &i);
    if (d->failed || d->statement.operand_count < 2)
        return;
    set_parameter_space(d, &i, &o[0]);
    i.r[0] = read_address(d, &i, &o[0]);
    decode_elements(d, &i, &o[1], 1);
    bool is_volatile = has_part(&d->statement, "volatile relaxed release");
    finish(d, is_volatile ? run_store_volatile : run_store, &i);
}

static void decode_atomic(struct decoder *d)
{
    struct statement *st = &d->statement;
    struct instruction i = {.count = 1, .option = 255};
    bool result = word_is(st->parts[0], "atom");
    for (size_t n = 1; n < st->part_count; n++) {
        struct word w = st->parts[n];
        const unsigned operation = word_among(w, "add min max exch cas and or xor inc dec");
        if (operation)
            i.option = (uint8_t)(operation - 1);
        if (type_bytes(w)) {
            i.bytes = (uint8_t)type_bytes(w);
            i.modified = word_starts(w, "f16")  ? ATOMIC_F16
                       : word_starts(w, "bf16") ? ATOMIC_BF16
                                                : 0;
            i.is_signed = *w.at == 'f' || i.modified ? 2 : *w.at == 's';
        } else if (!read_space(w, &i.space) && !is_hint(w) && !word_among(w, "v2 v4 v8")
                   && i.option == 255)
            decode_refuse(d, "an atomic operation that is not simulated");
    }
    const bool is_known = i.modified   ? i.option == ATOMIC_ADD
                        : i.bytes == 2 ? i.option == ATOMIC_CAS || i.option == ATOMIC_EXCH
                                       : i.option != 255;
    const bool is_vector = has_part(st, "v2 v4 v8");
    if (!is_known || !i.bytes || i.bytes > 8 || (is_vector && i.is_signed != 2)) {
        decode_refuse(d, "an atomic operation that is not simulated");
        return;
    }
    uint32_t slot = i.bytes == 8 ? 8 : 4;
    const struct operand *o = st->operands + result;
    const struct operand *values = is_vector ? o[1].parts : &o[1],
                         *results = is_vector ? st->operands[0].parts : &st->operands[0];
    const size_t count = is_vector ? o[1].part_count : 1;
    i.r[1] = read_address(d, &i, &o[0]);
    d->kernel->signals |= has_part(st, "sys");
    /* Documented: each element of a vector is an atomic operation of its own. */
    for (size_t n = 0; n < count && !d->failed; n++, i.immediate += i.bytes) {
        i.r[0] = result ? decode_value(d, &results[n], slot) : SCRATCH_RESULT;
        i.r[2] = decode_value(d, &values[n], slot);
        if (i.option == ATOMIC_CAS)
            i.r[3] = decode_value(d, &o[2], slot);
        finish(d, run_atomic, &i);
    }
}

/* cvta.shared and so on: converts between an address in a space and a generic one. */
static void decode_cvta(struct decoder *d)
{
    struct statement *st = &d->statement;
    uint8_t space = SPACE_GENERIC;
    bool to = has_part(st, "to");
    for (size_t n = 1; n < st->part_count; n++)
        read_space(st->parts[n], &space);
    uint64_t window = space == SPACE_SHARED ? SHARED_WINDOW
                    : space == SPACE_LOCAL  ? LOCAL_WINDOW
                    : space == SPACE_PARAM  ? PARAM_WINDOW
                                            : 0;
    struct instruction i = {.bytes = 8};
    i.r[0] = decode_value(d, &st->operands[0], 8);
    i.r[1] = decode_value(d, &st->operands[1], 8);
    if (!window && decode_fill_copy(d, &st->operands[0], i.r[1], 8))
        return;
    if (window)
        i.r[2] = decode_constant(d, to ? ~WINDOW_MASK : window, 8, NULL);
    finish(d, !window ? run_move : find_operation(to ? "and.b64" : "or.b64")->run, &i);
}

static void decode_isspacep(struct decoder *d)
{
    struct instruction i = {.count = 0};
    if (!read_space(d->statement.parts[1], &i.space)) {
        decode_refuse(d, "a space that is not simulated");
        return;
    }
    i.r[0] = decode_value(d, &d->statement.operands[0], 1);
    i.r[1] = decode_value(d, &d->statement.operands[1], 8);
    finish(d, run_isspacep, &i);
}

/* mbarrier.OPERATION state, [address], number; some have no result or no number. */
static void decode_mbarrier(struct decoder *d)
{
    struct statement *st = &d->statement;
    const struct operand *o = st->operands, *end = o + st->operand_count;
    /* In the order of enum mbarrier. */
    const unsigned place =
        word_among(st->parts[1], "init inval expect_tx complete_tx arrive arrive_drop");
    struct instruction i = {.bytes = 8, .space = SPACE_GENERIC};
    i.option = place                                          ? (uint8_t)(place - 1)
             : word_among(st->parts[1], "test_wait try_wait") ? MBARRIER_TEST
                                                              : 255;
    for (size_t n = 1; n < st->part_count; n++)
        read_space(st->parts[n], &i.space);
    if (has_part(st, "expect_tx") && i.option == MBARRIER_ARRIVE)
        i.option = MBARRIER_ARRIVE_EXPECT;
    const bool tests = i.option == MBARRIER_TEST;
    if (tests && has_part(st, "parity"))
        i.option = MBARRIER_TEST_PARITY;
    /* Not simulated: clusters, and arrive_drop.expect_tx. */
    if (i.option == 255 || has_part(st, "cluster shared::cluster")
        || (has_part(st, "expect_tx") && i.option == MBARRIER_ARRIVE_DROP)) {
        decode_refuse(d, "a barrier that is not simulated");
        return;
    }
    const bool has_result = o < end && o->kind != OPERAND_ADDRESS;
    i.r[0] =
        has_result && o->kind != OPERAND_SINK ? decode_value(d, o, tests ? 1 : 8) : SCRATCH_RESULT;
    o += has_result;
    if (o == end) {
        decode_refuse(d, "an address of a form that is not simulated");
        return;
    }
    i.r[1] = read_address(d, &i, o++);
    i.count = o < end;
    if (i.count)
        i.r[2] = decode_value(d, o, i.option == MBARRIER_TEST ? 8 : 4);
    finish(d, run_mbarrier, &i);
}

/* mbarrier.pending_count.b64 count, state */
static void decode_mbarrier_pending(struct decoder *d)
{
    struct instruction i = {.count = 0};
    i.r[0] = decode_value(d, &d->statement.operands[0], 4);
    i.r[1] = decode_value(d, &d->statement.operands[1], 8);
    finish(d, run_mbarrier_pending, &i);
}

/* cp.async.mbarrier.arrive [address]: arrives when the thread's copies are done. Documented:
 * without .noinc it first adds the arrival that it then takes. */
static void decode_copy_arrival(struct decoder *d)
{
    struct instruction i = {.option = MBARRIER_ARRIVE, .bytes = 8, .space = SPACE_GENERIC};
    struct statement *st = &d->statement;
    for (size_t n = 1; n < st->part_count; n++)
        read_space(st->parts[n], &i.space);
    i.r[0] = SCRATCH_RESULT;
    i.r[1] = read_address(d, &i, &st->operands[0]);
    finish(d, run_count_copies, &i);
    if (has_part(st, "noinc"))
        finish(d, run_mbarrier, &i);
}

/* The mbarrier, operand 3, counts the bulk copy and its bytes. */
static void decode_bulk_arrival(struct decoder *d, uint32_t bytes)
{
    struct instruction i = {
        .option = MBARRIER_COMPLETE, .bytes = 8, .space = SPACE_SHARED, .count = 1};
    i.r[0] = SCRATCH_RESULT;
    i.r[1] = read_address(d, &i, &d->statement.operands[3]);
    i.r[2] = bytes;
    finish(d, run_count_copies, &i);
    finish(d, run_mbarrier, &i);
}

/* cp.async.ca.shared.global [to], [from], bytes, and the statements that wait for it. */
static void decode_copy(struct decoder *d)
{
    struct statement *st = &d->statement;
    /* A bulk copy to global memory is over at once. */
    if (has_part(st, "bulk") && (st->operand_count < 2 || has_part(st, "prefetch"))) {
        decode_add(d, run_fence, INSTRUCTION_PLAIN);
        return;
    }
    if (has_part(st, "commit_group")) {
        decode_add(d, run_close_group, INSTRUCTION_PLAIN);
        return;
    }
    if (has_part(st, "wait_group wait_all")) {
        decode_add(d, run_wait_copies, INSTRUCTION_PLAIN)->target =
            has_part(st, "wait_all") ? ALL_COPIES : (uint32_t)st->operands[0].number;
        return;
    }
    if (has_part(st, "mbarrier") && has_part(st, "arrive") && st->operand_count == 1) {
        decode_copy_arrival(d);
        return;
    }
    const bool bulk = has_part(st, "bulk"), out = has_part(st, "bulk_group");
    if (bulk ? st->operand_count < (out ? 3 : 4) || !has_part(st, "global")
                   || has_part(st, "tensor multicast::cluster cp_mask")
             : has_part(st, "mbarrier") || st->operand_count < 3) {
        decode_refuse(d, "an asynchronous copy that is not simulated");
        return;
    }
    struct instruction from = {.count = 1},
                       i = {.count = 1, .space = out ? SPACE_GLOBAL : SPACE_SHARED};
    i.r[0] = read_address(d, &i, &st->operands[0]);
    i.r[1] = read_address(d, &from, &st->operands[1]);
    i.target = (uint32_t)from.immediate;
    i.wide |= from.wide >> 1;
    i.bytes = bulk ? 16 : (uint8_t)st->operands[2].number;
    i.option = !bulk && st->operand_count > 3 && !has_part(st, "L2::cache_hint");
    if (bulk || i.option)
        i.r[2] = decode_value(d, &st->operands[bulk ? 2 : 3], 4);
    finish(d, bulk ? run_bulk_copy : run_copy, &i);
    if (bulk && !out)
        decode_bulk_arrival(d, i.r[2]);
}

bool decode_memory(struct decoder *d)
{
    static const struct {
        const char *name;
        void (*decode)(struct decoder *d);
    } all[] = {{"ld", decode_load},           {"ldu", decode_load},   {"st", decode_store},
               {"atom", decode_atomic},       {"red", decode_atomic}, {"cvta", decode_cvta},
               {"isspacep", decode_isspacep}, {"cp", decode_copy}};
    if (word_is(d->statement.parts[0], "mbarrier") && d->statement.operand_count
        && d->statement.part_count > 1) {
        if (has_part(&d->statement, "pending_count") && d->statement.operand_count == 2)
            decode_mbarrier_pending(d);
        else
            decode_mbarrier(d);
        return true;
    }
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        if (word_is(d->statement.parts[0], all[n].name)) {
            if (word_is(d->statement.parts[0], "cp") && !word_is(d->statement.parts[1], "async"))
                return false;
            all[n].decode(d);
            return true;
        }
    /* These have no visible effect here, because all memory has one order. */
    if (!word_among(d->statement.parts[0], "membar fence prefetch prefetchu discard applypriority "
                                           "nanosleep pmevent brkpt griddepcontrol setmaxnreg"))
        return false;
    decode_add(d, run_fence, INSTRUCTION_PLAIN);
    if (!word_is(d->statement.parts[0], "griddepcontrol"))
        d->kernel->signals = true;
    else if (has_part(&d->statement, "wait"))
        d->kernel->awaits_others = true;
    else
        d->kernel->lets_others_begin |= d->code->function->is_entry;
    return true;
}
