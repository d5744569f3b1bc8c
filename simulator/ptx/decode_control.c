/* Statements that decide what runs next: branches, calls, returns, and barriers. */
#include <string.h>

#include "os/os.h"
#include "ptx/decode.h"

static void refer(struct decoder *d, struct word name)
{
    *OS_ADD(d->references, d->reference_count) =
        (struct reference){name, NULL, d->code->count - 1, d->scope};
}

static void decode_branch(struct decoder *d)
{
    const struct operand *o = d->statement.operands;
    if (!d->statement.operand_count || o[0].kind != OPERAND_SYMBOL) {
        decode_refuse(d, "a branch of a form that is not simulated");
        return;
    }
    decode_add(d, NULL, INSTRUCTION_BRANCH);
    refer(d, o[0].word);
}

/* brx.idx index, table: the table has already been declared. */
static void decode_branch_table(struct decoder *d)
{
    const struct operand *o = d->statement.operands;
    uint32_t index = decode_value(d, &o[0], 4);
    for (size_t n = 0; n < d->label_count && d->statement.operand_count == 2; n++) {
        const struct label *l = &d->labels[n];
        if (l->scope != 64 || !word_same(l->name, o[1].word))
            continue;
        struct instruction *i = decode_add(d, NULL, INSTRUCTION_BRANCH_TABLE);
        i->r[0] = index;
        i->target = l->index;
        return;
    }
    decode_refuse(d, "a table of branches that is nowhere");
}

/* ---- calls ---- */

static bool read_part(struct decoder *d, uint32_t *from, uint32_t *bytes)
{
    const struct variable *v = variables_find(&d->variables, d->s.word);
    scan(&d->s);
    if (!v || v->space != SPACE_PARAM) {
        decode_refuse(d, "a call whose arguments are no parameters");
        return false;
    }
    *from = (uint32_t)v->offset;
    *bytes = (uint32_t)v->bytes;
    return true;
}

/* Reads "(a, b)" into arguments or results. */
static void read_parts(struct decoder *d, struct call_site *site, bool results)
{
    if (!scan_over(&d->s, "("))
        return;
    while (d->s.word.length && !word_is(d->s.word, ")") && !d->failed) {
        size_t *count = results ? &site->result_count : &site->count;
        if (*count == (results ? 4u : 64u)) {
            decode_refuse(d, "a call with too many arguments");
            return;
        }
        uint32_t from = 0, bytes = 0;
        read_part(d, &from, &bytes);
        if (results) {
            site->results[*count].from = from;
            site->results[*count].bytes = bytes;
        } else {
            site->arguments[*count].from = from;
            site->arguments[*count].bytes = bytes;
        }
        ++*count;
        scan_over(&d->s, ",");
    }
    scan_over(&d->s, ")");
}

static const struct {
    const char *name;
    instruction_run *run;
} builtins[] = {{"vprintf", run_printf},
                {"__assertfail", run_assertion},
                {"malloc", run_malloc},
                {"free", run_free},
                {"cudaGraphSetConditional", run_set_conditional}};

static void find_called(struct decoder *d, struct call_site *site, struct word name)
{
    char *text = word_copy(name);
    struct function *f = module_function(d->module, text);
    size_t index;
    for (size_t n = 0; n < sizeof builtins / sizeof *builtins && !f; n++)
        if (!strcmp(text, builtins[n].name))
            site->builtin = builtins[n].run;
    if (f)
        site->code = decode_function(d, f, &index);
    else if (!site->builtin && (site->device_function = device_function_of(text)))
        site->builtin = run_device_call;
    else if (!site->builtin)
        decode_refuse(d, "a call of a function that is not in the program");
    os_free(text);
}

static void decode_call(struct decoder *d)
{
    struct code *c = d->code;
    struct call_site site = {.code = NULL};
    read_parts(d, &site, true);
    scan_over(&d->s, ",");
    struct word name = d->s.word;
    if (*name.at == '%') {
        struct operand o;
        if (!decode_find_register(d, name, &o) || o.bytes != 8)
            decode_refuse(d, "a call of a form that is not simulated");
        else
            site.target = o.at;
    } else {
        find_called(d, &site, name);
    }
    scan(&d->s);
    if (scan_over(&d->s, ","))
        read_parts(d, &site, false);
    d->kernel->has_calls = true;
    *OS_ADD(c->calls, c->call_count) = site;
    struct instruction *i =
        decode_add(d, site.builtin, site.builtin ? INSTRUCTION_PLAIN : INSTRUCTION_CALL);
    i->target = (uint32_t)c->call_count - 1;
}

/* ---- barriers ---- */

/* bar.sync a, b; bar.arrive a, b; bar.red.OP d, a, b, p. `count`: b is given; `option`: for
 * bar.red; `space`: it does not wait; `wide`: the warp arrives as one.
 *
 * Each block is a cluster of its own, so barrier.cluster.wait is a barrier of the block. Threads
 * arrive there, not at barrier.cluster.arrive (assumed: they wait for nothing in between). */
static void decode_barrier(struct decoder *d)
{
    struct statement *st = &d->statement;
    const struct operand *o = st->operands;
    size_t count = st->operand_count;
    bool reduces = has_part(st, "red");
    struct instruction i = {.space = has_part(st, "arrive")};
    i.wide = word_is(st->parts[0], "bar") || has_part(st, "aligned");
    const bool is_cluster = has_part(st, "cluster");
    if (is_cluster && i.space)
        return;
    if (reduces) {
        i.option = has_part(st, "popc") ? 'p' : has_part(st, "or") ? 'o' : 'a';
        i.r[2] = decode_value(d, &o[0], i.option == 'p' ? 4 : 1);
        i.r[3] = decode_value(d, &o[count - 1], 1);
        i.is_signed = o[count - 1].negated;
        o++;
        count -= 2;
    }
    i.r[0] = count ? decode_value(d, &o[0], 4)
                   : decode_constant(d, is_cluster ? CLUSTER_BARRIER : 0, 4, NULL);
    i.count = count > 1;
    if (i.count)
        i.r[1] = decode_value(d, &o[1], 4);
    decode_add_made(d, NULL, INSTRUCTION_BARRIER, &i);
    d->kernel->has_barriers = true;
}

bool decode_control(struct decoder *d)
{
    struct word name = d->statement.parts[0];
    if (word_is(name, "bra"))
        decode_branch(d);
    else if (word_is(name, "brx"))
        decode_branch_table(d);
    else if (word_is(name, "call"))
        decode_call(d);
    else if (word_is(name, "ret"))
        decode_add(d, NULL, INSTRUCTION_RETURN);
    else if (word_is(name, "exit"))
        decode_add(d, NULL, INSTRUCTION_EXIT);
    else if (word_is(name, "trap"))
        decode_add(d, run_trap, INSTRUCTION_PLAIN);
    else if (word_among(name, "bar barrier") && !has_part(&d->statement, "warp"))
        decode_barrier(d);
    else
        return false;
    return true;
}
