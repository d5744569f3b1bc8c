/* Registers with one value from the beginning to the end of a function, which can be filled before
 * it begins: copies of the kernel's parameters, of %tid.x and the like, and of constants. nvcc's
 * code begins with about ten of these copies, which every warp would run.
 *
 * Invariant: such a register is the result of only one statement of the function, which has no
 * guard. Reading it before that statement is undefined in PTX. */
#include <string.h>

#include "os/os.h"
#include "ptx/decode.h"

/* ---- counting results ---- */

static struct written *place_of(const struct decoder *d, struct word name)
{
    size_t at = word_hash(name) & (d->written_capacity - 1);
    while (d->written[at].times && !word_same(d->written[at].name, name))
        at = (at + 1) & (d->written_capacity - 1);
    return &d->written[at];
}

static void grow(struct decoder *d)
{
    struct written *old = d->written;
    size_t count = d->written_capacity;
    d->written_capacity = count ? 2 * count : 256;
    d->written = os_allocate(d->written_capacity * sizeof *d->written);
    for (size_t n = 0; n < count; n++)
        if (old[n].times)
            *place_of(d, old[n].name) = old[n];
    os_free(old);
}

static void count_word(struct decoder *d, struct word name)
{
    if (*name.at != '%')
        return;
    if (2 * d->written_count >= d->written_capacity)
        grow(d);
    struct written *w = place_of(d, name);
    d->written_count += !w->times;
    w->name = name;
    w->times++;
}

/* In @p name d|q, ... or name {d, e}, ..., the first operand is the result unless it is an address.
 */
static void count_results(struct decoder *d, struct scanner *s)
{
    if (scan_over(s, "@")) {
        scan_over(s, "!");
        scan(s);
    }
    scan(s);
    if (scan_over(s, "{")) {
        for (; s->word.length && !word_is(s->word, "}"); scan(s))
            count_word(d, s->word);
    } else if (!word_is(s->word, ";")) {
        count_word(d, s->word);
        scan(s);
        if (scan_over(s, "|"))
            count_word(d, s->word);
    }
    scan_statement(s);
}

void decode_count_written(struct decoder *d)
{
    struct scanner s = {.at = d->code->function->body};
    unsigned depth = 0;
    scan(&s);
    while (s.word.length) {
        struct scanner next = s;
        scan(&next);
        if (scan_over(&s, "{"))
            depth++;
        else if (word_is(s.word, "}")) {
            if (--depth == 0)
                return;
            scan(&s);
        } else if (word_is(s.word, ".loc"))
            scan_line(&s);
        else if (word_is(next.word, ":")) {
            scan(&s);
            scan(&s);
        } else if (*s.word.at == '.')
            scan_statement(&s);
        else if (!scan_over(&s, ";"))
            count_results(d, &s);
    }
}

/* ---- filling ---- */

bool decode_can_fill(const struct decoder *d, const struct operand *o, uint32_t bytes)
{
    return !d->statement.guard && o->kind == OPERAND_REGISTER && o->bytes == bytes && bytes >= 4
        && d->written_capacity && place_of(d, o->word)->times == 1;
}

/* If the register at `from` has one value throughout, so does the register at `to`. Returns whether
 * this is so. */
static bool fill_as(struct code *c, uint32_t to, uint32_t from)
{
    for (size_t n = 0; n < c->special_count; n++)
        if (c->specials[n].offset == from) {
            const uint16_t id = c->specials[n].id;
            *OS_ADD(c->specials, c->special_count) = (struct special){to, id, false};
            return true;
        }
    for (size_t n = 0; n < c->constant_count; n++)
        if (c->constants[n].offset == from) {
            struct constant copy = c->constants[n];
            copy.offset = to;
            *OS_ADD(c->constants, c->constant_count) = copy;
            return true;
        }
    for (size_t n = 0; n < c->given_count; n++)
        if (c->given[n].offset == from) {
            struct given g = c->given[n];
            g.offset = to;
            *OS_ADD(c->given, c->given_count) = g;
            return true;
        }
    return false;
}

bool decode_fill_copy(struct decoder *d, const struct operand *to, uint32_t from, uint32_t bytes)
{
    return decode_can_fill(d, to, bytes) && to->at != from && fill_as(d->code, to->at, from);
}
