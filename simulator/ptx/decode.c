/* Reads the body of a function: declarations, labels, and the operands of statements.
 * ptx/decode_*.c read what the statements do.
 *
 * An unknown statement refuses the kernel, with its text, so no part of a kernel is ever
 * skipped. */
#include "ptx/decode.h"
#include "ptx/matrix.h"
#include "ptx/texture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/needs_lock.h"
#include "os/os.h"

/* ---- refusals ---- */

void decode_refuse(struct decoder *d, const char *why)
{
    d->failed = true;
    if (d->kernel->refusal)
        return;
    struct word t = d->statement.text;
    size_t length = t.length < 120 ? t.length : 120;
    char *text = os_allocate(length + strlen(why) + 40);
    sprintf(text, "%s (\"%.*s\")", why, (int)length, t.at);
    for (char *c = text; *c; c++)
        if (*c == '\n' || *c == '\t')
            *c = ' ';
    d->kernel->refusal = text;
}

/* Refuses the kernel for a reason that is in no statement. */
static void refuse_whole(struct kernel_code *k, const char *why)
{
    if (!k->refusal)
        k->refusal = strcpy(os_allocate(strlen(why) + 1), why);
}

unsigned word_among(struct word w, const char *words)
{
    for (unsigned n = 1; *words; n++) {
        const size_t length = strcspn(words, " ");
        if (w.length == length && !memcmp(w.at, words, length))
            return n;
        words += length + (words[length] != 0);
    }
    return 0;
}

bool has_part(const struct statement *st, const char *words)
{
    for (size_t n = 1; n < st->part_count; n++)
        if (word_among(st->parts[n], words))
            return true;
    return false;
}

/* ---- registers ---- */

uint32_t decode_new_register(struct decoder *d, uint32_t bytes)
{
    struct code *c = d->code;
    if (bytes == 1)
        return (uint32_t)c->predicate_count++;
    uint32_t at = (uint32_t)c->register_bytes;
    c->register_bytes += WARP_SIZE * (size_t)bytes;
    return at;
}

/* .reg .b32 %r<8>, %x; or, as the toolkit's headers have it, .reg.b16 low, high; */
static void read_registers(struct decoder *d)
{
    const size_t name = strlen(".reg");
    if (d->s.word.length > name)
        d->s.word = (struct word){d->s.word.at + name, d->s.word.length - name};
    else
        scan(&d->s);
    size_t bytes = type_bytes(d->s.word);
    bool predicate = word_is(d->s.word, ".pred");
    if (!bytes || bytes > 8)
        decode_refuse(d, "registers of this type");
    uint32_t slot = predicate ? 1 : bytes > 4 ? 8 : 4;
    scan(&d->s);
    while (d->s.word.length && !word_is(d->s.word, ";")) {
        struct registers *r = OS_ADD(d->registers, d->register_count);
        *r = (struct registers){.prefix = d->s.word, .bytes = slot};
        scan(&d->s);
        uint32_t count = 1;
        if (scan_over(&d->s, "<")) {
            count = r->count = (uint32_t)word_number(d->s.word);
            scan(&d->s);
            scan_over(&d->s, ">");
        }
        r->base = decode_new_register(d, slot);
        while (count-- > 1)
            decode_new_register(d, slot);
        scan_over(&d->s, ",");
    }
    scan(&d->s);
}

bool decode_find_register(const struct decoder *d, struct word name, struct operand *o)
{
    size_t digits = 0;
    while (digits < name.length && name.at[name.length - digits - 1] >= '0'
           && name.at[name.length - digits - 1] <= '9')
        digits++;
    uint32_t number = (uint32_t)strtoul(name.at + name.length - digits, NULL, 10);
    for (size_t n = d->register_count; n-- > 0;) {
        const struct registers *r = &d->registers[n];
        size_t length = r->prefix.length;
        bool whole = !r->count && length == name.length;
        bool part = r->count && digits && length == name.length - digits && number < r->count;
        if ((!whole && !part) || memcmp(r->prefix.at, name.at, length))
            continue;
        o->kind = OPERAND_REGISTER;
        o->bytes = r->bytes;
        uint32_t index = part ? number : 0;
        o->at = r->base + index * (r->bytes == 1 ? 1 : WARP_SIZE * r->bytes);
        return true;
    }
    return false;
}

/* ---- constants ---- */

uint32_t decode_constant(struct decoder *d, uint64_t value, uint32_t bytes,
                         struct variable *dynamic)
{
    struct code *c = d->code;
    if (bytes == 4)
        value = (uint32_t)value;
    for (size_t n = 0; n < c->constant_count; n++)
        if (c->constants[n].value == value && c->constants[n].bytes == bytes
            && c->constants[n].dynamic == dynamic)
            return c->constants[n].offset;
    uint32_t at = decode_new_register(d, bytes);
    *OS_ADD(c->constants, c->constant_count) =
        (struct constant){.offset = at, .bytes = bytes, .value = value, .dynamic = dynamic};
    return at;
}

/* In the order of block_special (ptx/threads.c). */
static const char special_names[] =
    "%tid.x %tid.y %tid.z %ntid.x %ntid.y %ntid.z %ctaid.x %ctaid.y %ctaid.z %nctaid.x %nctaid.y "
    "%nctaid.z %laneid %warpid %nwarpid %smid %nsmid %lanemask_eq %lanemask_le %lanemask_lt "
    "%lanemask_ge %lanemask_gt %dynamic_smem_size %total_smem_size %gridid %envreg1 %envreg2";

/* Without clusters, each block is a cluster of its own (documented; assumed: numbered like the
 * blocks). So each name means another register or a constant. */
static const struct {
    const char *name, *same;
    uint32_t value;
} cluster_names[] = {
    {"%clusterid.x", "%ctaid.x", 0},   {"%clusterid.y", "%ctaid.y", 0},
    {"%clusterid.z", "%ctaid.z", 0},   {"%nclusterid.x", "%nctaid.x", 0},
    {"%nclusterid.y", "%nctaid.y", 0}, {"%nclusterid.z", "%nctaid.z", 0},
    {"%cluster_ctaid.x", NULL, 0},     {"%cluster_ctaid.y", NULL, 0},
    {"%cluster_ctaid.z", NULL, 0},     {"%cluster_nctaid.x", NULL, 1},
    {"%cluster_nctaid.y", NULL, 1},    {"%cluster_nctaid.z", NULL, 1},
    {"%cluster_ctarank", NULL, 0},     {"%cluster_nctarank", NULL, 1},
};

/* Documented (cooperative_groups/details/memory.h): the groups of a block with more than 32 threads
 * share 288 bytes here, which are not counted as the kernel's own. */
#define RESERVED_SHARED_BYTES 288
static struct variable reserved_shared;

static uint32_t special_register(struct decoder *d, struct word name)
{
    struct code *c = d->code;
    for (size_t n = 0; n < sizeof cluster_names / sizeof *cluster_names; n++) {
        if (!word_is(name, cluster_names[n].name))
            continue;
        if (!cluster_names[n].same)
            return decode_constant(d, cluster_names[n].value, 4, NULL);
        name = (struct word){cluster_names[n].same, strlen(cluster_names[n].same)};
        break;
    }
    if (word_is(name, "%reserved_smem_offset_1")) {
        d->kernel->reserved_shared_bytes = RESERVED_SHARED_BYTES;
        return decode_constant(d, 0, 4, &reserved_shared);
    }
    const unsigned place = word_among(name, special_names);
    if (!place) {
        decode_refuse(d, "a special register that is not simulated");
        return 0;
    }
    const uint16_t id = (uint16_t)(place - 1);
    for (size_t n = 0; n < c->special_count; n++)
        if (c->specials[n].id == id)
            return c->specials[n].offset;
    *OS_ADD(c->specials, c->special_count) = (struct special){decode_new_register(d, 4), id, false};
    return c->specials[c->special_count - 1].offset;
}

/* The address of a variable in the frame is known only when the function runs. */
static uint32_t frame_address(struct decoder *d, size_t offset, uint32_t bytes)
{
    const uint32_t at = decode_new_register(d, bytes);
    const struct instruction parts = {.r = {at}, .wide = bytes == 8, .immediate = (int64_t)offset};
    decode_add_made(d, run_frame_address, INSTRUCTION_PLAIN, &parts)->guard = 0;
    return at;
}

/* Returns the value of a symbol: an address in its space. */
static uint32_t symbol_value(struct decoder *d, const struct operand *o, uint32_t bytes)
{
    struct variable *v = variables_find(&d->variables, o->word);
    bool is_parameter = false;
    if (!v) {
        v = variables_find(&d->code->function->parameters, o->word);
        is_parameter = v != NULL;
    }
    if (!v)
        v = variables_find(&d->code->function->results, o->word);
    char *name = word_copy(o->word);
    if (!v)
        v = module_variable(d->module, name);
    struct function *f = v ? NULL : module_function(d->module, name);
    os_free(name);
    uint64_t added = (uint64_t)o->number;
    if (f) {
        size_t index;
        /* A kernel is launched, not called. */
        if (!f->is_entry) {
            d->kernel->has_calls = true;
            decode_function(d, f, &index);
        }
        return decode_constant(d, module_function_address(f), bytes, NULL);
    }
    if (word_is(o->word, "WARP_SZ"))
        return decode_constant(d, WARP_SIZE, bytes, NULL);
    if (!v) {
        decode_refuse(d, "a name that is nowhere in the program");
        return 0;
    }
    if (is_parameter && d->code->function->is_entry)
        return decode_constant(d, v->offset + added, bytes, NULL);
    if (v->space == SPACE_LOCAL || v->space == SPACE_PARAM)
        return frame_address(d, v->offset + added, bytes);
    if (v->space == SPACE_SHARED) {
        if (v->is_dynamic && v->alignment > d->kernel->dynamic_alignment)
            d->kernel->dynamic_alignment = v->alignment;
        /* A variable of the module gets its place in the kernel when it is first named. */
        if (!v->is_dynamic && v->address[0] != (uint64_t)(uintptr_t)d->kernel) {
            variable_place(v, &d->kernel->static_shared_bytes);
            v->address[0] = (uint64_t)(uintptr_t)d->kernel;
        }
        return decode_constant(d, (v->is_dynamic ? 0 : v->offset) + added, bytes,
                               v->is_dynamic ? v : NULL);
    }
    d->kernel->has_managed |= v->is_managed;
    return decode_constant(d, d->kernel->address(v, d->kernel->device) + added, bytes, NULL);
}

/* Returns a predicate that has this value in all threads. */
static uint32_t constant_predicate(struct decoder *d, bool value)
{
    const uint32_t at = decode_new_register(d, 1);
    const struct instruction parts = {.r = {at}, .bytes = 1, .option = 5, .immediate = value};
    decode_add_made(d, run_move, INSTRUCTION_PLAIN, &parts)->guard = 0;
    return at;
}

/* An instruction of four bytes rounds a decimal number to a float. */
static uint32_t number_value(struct decoder *d, const struct operand *o, uint32_t bytes)
{
    uint64_t bits = (uint64_t)o->number;
    if (o->is_decimal && bytes == 4) {
        double value;
        memcpy(&value, &bits, sizeof value);
        bits = 0;
        memcpy(&bits, &(float){(float)value}, sizeof(float));
    }
    return decode_constant(d, bits, bytes, NULL);
}

uint32_t decode_value(struct decoder *d, const struct operand *o, uint32_t bytes)
{
    uint32_t at = 0;
    switch (o->kind) {
    case OPERAND_REGISTER:
        if (o->bytes != bytes)
            decode_refuse(d, "an operand of another width than its instruction's");
        return o->at;
    case OPERAND_SPECIAL:
        at = special_register(d, o->word);
        if (bytes == 8) {
            uint32_t wide = decode_new_register(d, 8);
            struct instruction *i =
                decode_add(d, find_operation("cvt_u64.u32")->run, INSTRUCTION_PLAIN);
            i->r[0] = wide;
            i->r[1] = at;
            return wide;
        }
        return at;
    case OPERAND_NUMBER:
        return bytes == 1 ? constant_predicate(d, o->number != 0) : number_value(d, o, bytes);
    case OPERAND_SYMBOL: return symbol_value(d, o, bytes);
    case OPERAND_SINK: return bytes == 1 ? decode_new_register(d, 1) : SCRATCH_RESULT;
    default: decode_refuse(d, "an operand of a form that is not simulated"); return 0;
    }
}

/* ---- operands ---- */

static struct operand *operand_new(struct decoder *d)
{
    if (d->pool_used == sizeof d->pool / sizeof *d->pool) {
        decode_refuse(d, "too many operands");
        d->pool_used = 0;
    }
    struct operand *o = &d->pool[d->pool_used++];
    *o = (struct operand){.kind = OPERAND_NONE};
    return o;
}

static int64_t number_of(struct word w)
{
    if (w.length > 2 && w.at[0] == '0' && strchr("fFdDbB", w.at[1]))
        return (int64_t)strtoull(w.at + 2, NULL, strchr("bB", w.at[1]) ? 2 : 16);
    return (int64_t)word_number(w);
}

/* Constant expressions, such as (1<<4)|3*2-1. How tightly each operator binds: */
enum { BINDS_NOT, BINDS_OR, BINDS_XOR, BINDS_AND, BINDS_SHIFT, BINDS_SUM, BINDS_PRODUCT };

static unsigned binding(struct word w)
{
    static const unsigned all[] = {BINDS_NOT,   BINDS_OR,  BINDS_XOR, BINDS_AND,     BINDS_SHIFT,
                                   BINDS_SHIFT, BINDS_SUM, BINDS_SUM, BINDS_PRODUCT, BINDS_PRODUCT};
    return all[word_among(w, "| ^ & < > + - * /")];
}

static int64_t read_rest(struct decoder *d, int64_t left, unsigned least);

static int64_t read_term(struct decoder *d)
{
    int64_t value = 0;
    if (scan_over(&d->s, "-"))
        return -read_term(d);
    if (scan_over(&d->s, "~"))
        return ~read_term(d);
    if (scan_over(&d->s, "(")) {
        value = read_rest(d, read_term(d), BINDS_OR);
        scan_over(&d->s, ")");
        return value;
    }
    if (*d->s.word.at >= '0' && *d->s.word.at <= '9')
        value = number_of(d->s.word);
    else
        decode_refuse(d, "an operand of a form that is not simulated");
    scan(&d->s);
    return value;
}

/* Returns the value that begins with `left` and continues with operators that bind at least as
 * tightly as `least`. */
static int64_t read_rest(struct decoder *d, int64_t left, unsigned least)
{
    for (unsigned binds; (binds = binding(d->s.word)) >= least && !d->failed;) {
        const char sign = *d->s.word.at;
        scan(&d->s);
        if (binds == BINDS_SHIFT)
            scan(&d->s);
        const int64_t right = read_rest(d, read_term(d), binds + 1);
        switch (sign) {
        case '|': left |= right; break;
        case '^': left ^= right; break;
        case '&': left &= right; break;
        case '<': left = (int64_t)((uint64_t)left << (right & 63)); break;
        case '>': left >>= right & 63; break;
        case '+': left += right; break;
        case '-': left -= right; break;
        case '*': left *= right; break;
        default: left = right ? left / right : 0;
        }
    }
    return left;
}

static struct operand read_operand(struct decoder *d);

static struct operand read_list(struct decoder *d)
{
    struct operand o = {.kind = OPERAND_VECTOR};
    o.parts = &d->pool[d->pool_used];
    while (d->s.word.length && !word_is(d->s.word, "}") && !d->failed) {
        struct operand *part = operand_new(d);
        *part = read_operand(d);
        o.part_count++;
        scan_over(&d->s, ",");
    }
    scan_over(&d->s, "}");
    return o;
}

static struct operand read_address(struct decoder *d)
{
    struct operand o = {.kind = OPERAND_ADDRESS, .parts = operand_new(d)};
    *o.parts = read_operand(d);
    o.number = o.parts->number;
    o.parts->number = o.parts->kind == OPERAND_NUMBER ? o.number : 0;
    if (o.parts->kind == OPERAND_NUMBER)
        o.number = 0;
    o.number = read_rest(d, o.number, BINDS_SUM);
    if (scan_over(&d->s, ",")) {
        if (!decode_names_texture(d->statement.parts[0]))
            decode_refuse(d, "tensors");
        o.second = operand_new(d);
        *o.second = read_operand(d);
    }
    scan_over(&d->s, "]");
    return o;
}

/* A number like 0.5 or 1e10. */
static void read_decimal(struct decoder *d, struct operand *o)
{
    char *end;
    const double value = strtod(o->word.at, &end);
    o->is_decimal = true;
    memcpy(&o->number, &value, sizeof value);
    if (end != o->word.at + o->word.length)
        decode_refuse(d, "a number of a form that is not simulated");
}

static struct operand read_name(struct decoder *d)
{
    struct operand o = {.kind = OPERAND_SYMBOL, .word = d->s.word};
    if (decode_find_register(d, o.word, &o))
        ;
    else if (*o.word.at == '%')
        o.kind = OPERAND_SPECIAL;
    else if (*o.word.at >= '0' && *o.word.at <= '9') {
        const bool is_plain = o.word.at[0] == '0' && o.word.length > 1 && o.word.at[1] != '.';
        o.kind = OPERAND_NUMBER;
        o.number = number_of(o.word);
        if (!is_plain && strcspn(o.word.at, ".eE") < o.word.length)
            read_decimal(d, &o);
    } else if (word_is(o.word, "_"))
        o.kind = OPERAND_SINK;
    scan(&d->s);
    if (o.kind == OPERAND_SYMBOL)
        o.number = read_rest(d, 0, BINDS_SUM);
    return o;
}

static struct operand read_operand(struct decoder *d)
{
    if (scan_over(&d->s, "["))
        return read_address(d);
    if (scan_over(&d->s, "{"))
        return read_list(d);
    if (word_among(d->s.word, "( ~")) {
        const int64_t first = read_term(d);
        return (struct operand){.kind = OPERAND_NUMBER, .number = read_rest(d, first, BINDS_OR)};
    }
    bool negated = scan_over(&d->s, "!"), minus = scan_over(&d->s, "-");
    struct operand o = read_name(d);
    o.negated = negated;
    if (minus)
        o.number = o.is_decimal ? o.number ^ INT64_MIN : -o.number;
    if (o.kind == OPERAND_NUMBER && !o.is_decimal)
        o.number = read_rest(d, o.number, BINDS_OR);
    if (scan_over(&d->s, "|")) {
        o.second = operand_new(d);
        *o.second = read_operand(d);
    }
    return o;
}

/* ---- statements ---- */

struct instruction *decode_add(struct decoder *d, instruction_run *run, enum instruction_kind kind)
{
    return decode_add_made(d, run, kind, &(struct instruction){.run = NULL});
}

struct instruction *decode_add_made(struct decoder *d, instruction_run *run,
                                    enum instruction_kind kind, const struct instruction *parts)
{
    struct code *c = d->code;
    OS_MAKE_ROOM(c->all, c->count + 1, c->capacity)
    struct instruction *i = &c->all[c->count++];
    *i = *parts;
    i->run = run;
    i->kind = kind;
    i->guard = d->statement.guard;
    i->file = d->file;
    i->line = d->line;
    i->text = d->statement.text.at;
    return i;
}

static void split_name(struct statement *st, struct word name)
{
    st->part_count = 0;
    for (size_t from = 0; from < name.length && st->part_count < PARTS_MAX;) {
        size_t end = from;
        while (end < name.length && name.at[end] != '.')
            end++;
        st->parts[st->part_count++] = (struct word){name.at + from, end - from};
        from = end + 1;
    }
}

static void read_guard(struct decoder *d)
{
    struct statement *st = &d->statement;
    struct operand o = {.kind = OPERAND_NONE};
    st->guard = 0;
    if (!scan_over(&d->s, "@"))
        return;
    bool negated = scan_over(&d->s, "!");
    if (!decode_find_register(d, d->s.word, &o) || o.bytes != 1)
        decode_refuse(d, "a guard that is no predicate");
    st->guard = 2 * o.at + 2 + negated;
    scan(&d->s);
}

/* The parenthesized words of a call become one list of operands. */
static void read_operands(struct decoder *d)
{
    struct statement *st = &d->statement;
    st->operand_count = d->pool_used = 0;
    if (word_is(st->parts[0], "call"))
        return;
    while (d->s.word.length && !word_is(d->s.word, ";") && !d->failed) {
        if (st->operand_count == OPERANDS_MAX) {
            decode_refuse(d, "too many operands");
            return;
        }
        st->operands[st->operand_count++] = read_operand(d);
        if (!scan_over(&d->s, ",") && !word_is(d->s.word, ";")) {
            decode_refuse(d, "an operand of a form that is not simulated");
            return;
        }
    }
}

static void read_statement(struct decoder *d)
{
    struct statement *st = &d->statement;
    st->text.at = d->s.word.at;
    st->text.length = strcspn(d->s.word.at, ";");
    read_guard(d);
    split_name(st, d->s.word);
    scan(&d->s);
    read_operands(d);
    if (d->failed)
        return;
    decode_note_uses(d);
    const size_t before = d->code->count;
    if (!decode_memory(d) && !decode_control(d) && !decode_exchange(d) && !decode_matrix(d)
        && !decode_texture(d))
        decode_arithmetic(d);
    decode_note_sequence(d, before);
    decode_note_flow(d, before);
    decode_note_products(d, before);
    decode_note_runs(d, before);
    scan_statement(&d->s);
}

/* ---- labels ---- */

static void add_label(struct decoder *d, struct word name, size_t index, unsigned scope)
{
    *OS_ADD(d->labels, d->label_count) =
        (struct label){.name = name, .index = (uint32_t)index, .scope = scope};
}

/* Resolves the references to the labels of a scope that ends: outside of it they are unknown. */
static void resolve_labels(struct decoder *d)
{
    size_t kept = 0;
    for (size_t r = 0; r < d->reference_count; r++) {
        struct reference *ref = &d->references[r];
        bool found = false;
        for (size_t n = 0; n < d->label_count && ref->scope >= d->scope && !found; n++) {
            const struct label *l = &d->labels[n];
            if (l->scope != d->scope || !word_same(l->name, ref->name))
                continue;
            uint32_t *target =
                ref->instruction == SIZE_MAX ? ref->target : &d->code->all[ref->instruction].target;
            *target = l->index;
            found = true;
        }
        if (!found) {
            if (ref->scope >= d->scope && d->scope)
                ref->scope = d->scope - 1;
            d->references[kept++] = *ref;
        }
    }
    d->reference_count = kept;
    while (d->label_count && d->labels[d->label_count - 1].scope == d->scope)
        d->label_count--;
}

/* ---- declarations, scopes, lines ---- */

static void read_variable(struct decoder *d)
{
    struct variable *v = variable_read(&d->s, &d->variables);
    if (!v)
        decode_refuse(d, "a declaration of a form that is not simulated");
    else if (v->space == SPACE_SHARED) {
        variable_place(v, &d->kernel->static_shared_bytes);
        v->address[0] = (uint64_t)(uintptr_t)d->kernel;
    } else {
        variable_place(v, &d->frame_at[d->scope]);
        if (d->frame_at[d->scope] > d->code->frame_bytes)
            d->code->frame_bytes = d->frame_at[d->scope];
    }
    scan_statement(&d->s);
}

static bool is_toolkit(const struct decoder *d, uint32_t file)
{
    const char *name = file < d->module->file_count ? d->module->files[file] : NULL;
    return name && strstr(name, "/include/");
}

/* .loc FILE LINE COLUMN, function_name NAME, inlined_at FILE LINE COLUMN: for code inlined from the
 * toolkit's headers, uses the line of the program. If that line is the toolkit's, too, keeps the
 * previous one. */
static void read_line(struct decoder *d)
{
    const char *end = d->s.word.at + strcspn(d->s.word.at, "\n");
    scan(&d->s);
    uint32_t file = (uint32_t)word_number(d->s.word);
    scan(&d->s);
    uint32_t line = (uint32_t)word_number(d->s.word);
    for (bool toolkit = is_toolkit(d, file); toolkit && d->s.at < end;) {
        scan(&d->s);
        if (!word_is(d->s.word, "inlined_at"))
            continue;
        scan(&d->s);
        file = (uint32_t)word_number(d->s.word);
        scan(&d->s);
        line = (uint32_t)word_number(d->s.word);
        break;
    }
    if (!is_toolkit(d, file) || !d->line || is_toolkit(d, d->file)) {
        d->line = line ? line : d->line;
        d->file = file;
    }
    d->s.at = end;
    scan(&d->s);
}

static void open_scope(struct decoder *d)
{
    if (d->scope == 63) {
        decode_refuse(d, "too many scopes");
        return;
    }
    d->scope++;
    d->frame_at[d->scope] = d->frame_at[d->scope - 1];
    d->registers_at[d->scope] = d->register_count;
    d->variables_at[d->scope] = d->variables.count;
}

/* Names that the scope has declared regain their earlier meaning. */
static void close_scope(struct decoder *d)
{
    d->register_count = d->registers_at[d->scope];
    variables_end(&d->variables, d->variables_at[d->scope]);
    d->scope--;
}

static void read_table(struct decoder *d)
{
    struct code *c = d->code;
    struct branch_table *t = OS_ADD(c->tables, c->table_count);
    *t = (struct branch_table){NULL, 0};
    struct scanner again = d->s;
    for (scan(&again); again.word.length && !word_is(again.word, ";"); scan(&again))
        t->count += !word_is(again.word, ",");
    t->targets = os_allocate((t->count + 1) * sizeof *t->targets);
    size_t n = 0;
    for (scan(&d->s); d->s.word.length && !word_is(d->s.word, ";"); scan(&d->s)) {
        if (word_is(d->s.word, ","))
            continue;
        *OS_ADD(d->references, d->reference_count) =
            (struct reference){d->s.word, &t->targets[n++], SIZE_MAX, d->scope};
    }
    scan(&d->s);
}

/* A name and a colon: a label, or the name of a declaration. */
static void read_label(struct decoder *d, struct word name)
{
    scan(&d->s);
    scan(&d->s);
    if (word_is(d->s.word, ".branchtargets")) {
        /* A table's label is a constant, by which brx finds the table. */
        add_label(d, name, d->code->table_count, 64);
        read_table(d);
    } else if (word_among(d->s.word, ".callprototype .calltargets")) {
        scan_statement(&d->s);
    } else {
        add_label(d, name, d->code->count, d->scope);
        d->run++;
        d->block++;
    }
}

static void read_line_of_body(struct decoder *d)
{
    struct word w = d->s.word;
    struct scanner next = d->s;
    scan(&next);
    if (scan_over(&d->s, "{"))
        open_scope(d);
    else if (word_is(w, ".reg") || word_starts(w, ".reg."))
        read_registers(d);
    else if (word_is(w, ".loc"))
        read_line(d);
    else if (word_among(w, ".local .shared .param"))
        read_variable(d);
    else if (*w.at == '.')
        scan_statement(&d->s);
    else if (word_is(next.word, ":"))
        read_label(d, w);
    else if (!scan_over(&d->s, ";"))
        read_statement(d);
}

static void end_function(struct decoder *d)
{
    d->statement.guard = 0;
    decode_add(d, NULL, d->code->function->is_entry ? INSTRUCTION_EXIT : INSTRUCTION_RETURN);
    if (d->reference_count && !d->failed) {
        d->statement.text = d->references[0].name;
        decode_refuse(d, "a label that is nowhere");
    }
    if (!d->failed && !d->module->is_debug) {
        decode_guard_loads(d);
        decode_fuse(d);
    }
    if (!d->failed)
        decode_take_apart(d);
    for (uint32_t n = (uint32_t)d->code->count, next = n; n-- > 0;) {
        next = d->code->all[n].kind == INSTRUCTION_PLAIN ? next : n;
        d->code->all[n].next_other = next;
    }
    decode_set_loads(d);
    os_free(d->uses);
    os_free(d->mentions);
    os_free(d->products);
    os_free(d->sums);
    os_free(d->registers);
    os_free(d->labels);
    os_free(d->references);
    variables_end(&d->variables, 0);
    os_free(d->variables.all);
    os_free(d->written);
}

static void read_body(struct decoder *d)
{
    struct function *f = d->code->function;
    d->code->register_bytes = SCRATCH_BYTES;
    if (!f->is_entry)
        d->frame_at[0] = d->code->frame_bytes = (f->parameter_bytes + 15) / 16 * 16;
    decode_count_written(d);
    d->s.at = f->body;
    scan(&d->s);
    scan_over(&d->s, "{");
    while (d->s.word.length && !d->failed) {
        if (!word_is(d->s.word, "}")) {
            read_line_of_body(d);
            continue;
        }
        resolve_labels(d);
        if (!d->scope)
            break;
        close_scope(d);
        scan(&d->s);
    }
    end_function(d);
}

/* ---- a kernel ---- */

static void read_code(struct kernel_code *k, struct code *code)
{
    struct decoder *d = os_allocate(sizeof *d);
    d->kernel = k;
    d->code = code;
    d->module = code->function->module;
    if (code->function->body)
        read_body(d);
    os_free(d);
}

static struct code *code_new(struct kernel_code *k, struct function *f)
{
    struct code *code = os_allocate(sizeof *code);
    code->kernel = k;
    code->function = f;
    return code;
}

struct code *decode_function(struct decoder *d, struct function *f, size_t *index)
{
    struct kernel_code *k = d->kernel;
    for (size_t n = 0; n < k->function_count; n++)
        if (k->functions[n]->function == f) {
            *index = n;
            return k->functions[n];
        }
    *index = k->function_count;
    return *OS_ADD(k->functions, k->function_count) = code_new(k, f);
}

size_t code_dynamic_begin(const struct kernel_code *k)
{
    const size_t alignment = k->dynamic_alignment > 16 ? k->dynamic_alignment : 16;
    return (k->static_shared_bytes + k->reserved_shared_bytes + alignment - 1) / alignment
         * alignment;
}

/* Places reserved and dynamic shared memory after the rest, whose size is now known. */
static void place_dynamic(struct kernel_code *k, struct code *code)
{
    for (struct constant *c = code->constants; c < code->constants + code->constant_count; c++)
        if (c->dynamic)
            c->value +=
                c->dynamic == &reserved_shared ? k->static_shared_bytes : code_dynamic_begin(k);
}

/* Numbers the function's instructions, after those of the previous function. */
static void number_code(struct kernel_code *k, size_t n)
{
    const struct code *before = n ? k->functions[n - 1] : k->entry;
    k->functions[n]->first_number = before->first_number + (uint32_t)before->count;
}

struct kernel_code *code_read(struct function *kernel, int device,
                              uint64_t (*address)(struct variable *v, int device))
{
    NEEDS_LOCK();
    struct kernel_code *k = os_allocate(sizeof *k);
    k->device = device;
    k->address = address;
    k->independence = os_allocate(sizeof *k->independence);
    k->entry = code_new(k, kernel);
    read_code(k, k->entry);
    for (size_t n = 0; n < k->function_count; n++)
        read_code(k, k->functions[n]);
    /* An H200's cudaFuncGetAttributes counts so as well. */
    k->static_shared_bytes = (k->static_shared_bytes + 15) / 16 * 16;
    place_dynamic(k, k->entry);
    for (size_t n = 0; n < k->function_count; n++) {
        place_dynamic(k, k->functions[n]);
        number_code(k, n);
    }
    if (kernel->cluster_blocks > 1)
        refuse_whole(k, IN_CLUSTERS);
    return k;
}

const struct code *code_at(struct kernel_code *k, uint64_t address)
{
    NEEDS_LOCK();
    struct function *f = module_function_at(k->entry->function->module, address);
    size_t known = k->function_count, shared = code_dynamic_begin(k);
    for (size_t n = 0; n < known; n++)
        if (k->functions[n]->function == f)
            return k->functions[n];
    if (!f)
        return NULL;
    *OS_ADD(k->functions, k->function_count) = code_new(k, f);
    for (size_t n = known; n < k->function_count; n++) {
        read_code(k, k->functions[n]);
        place_dynamic(k, k->functions[n]);
        number_code(k, n);
    }
    /* The launch began with the size that was known before this function was read. */
    if (code_dynamic_begin(k) > shared)
        refuse_whole(k, "shared memory of a function that is called by its address");
    return k->refusal ? NULL : k->functions[known];
}

/* Returns the table's entry for this name, or a free one. */
static const struct operation **operation_at(const char *name)
{
    static const struct operation *table[2048];
    uint32_t at = word_hash((struct word){name, strlen(name)}) % 2048;
    while (table[at] && strcmp(table[at]->name, name))
        at = (at + 1) % 2048;
    return &table[at];
}

const struct operation *find_operation(const char *name)
{
    static bool is_filled;
    for (size_t n = 0; n < operation_count && !is_filled; n++)
        *operation_at(operations[n].name) = &operations[n];
    is_filled = true;
    return *operation_at(name);
}
