/* Loads that the compiler has moved in front of a condition. For `if (threadIdx.x == 0 && flag)`,
 * nvcc lets all threads load a variable, and discards the value where the first condition is false.
 * In the source these threads do not access the variable, so such a load gets a guard that excludes
 * them. nvcc only does so with the address of a variable itself, which is always valid.
 *
 * A guard is a predicate that is computed before the load, or a comparison that can be: its
 * operands are. Assuming its value, a search follows the loaded value through all that may run
 * next. If the value only goes to operations that discard it, the guard is right. Invariant: a
 * predicate of which something is known is the result of only one statement, and the search ends
 * where that changes. A load may have several guards, because for `!threadIdx.x && !blockIdx.x`
 * each of the two excludes other threads. */
#include <string.h>

#include "os/os.h"
#include "ptx/decode.h"

/* How many predicates are tried for a load, and how many instructions are looked at for all loads
 * of a function. */
#define TRIES_MAX 8
#define STEPS_MAX ((size_t)1 << 22)

enum known { UNKNOWN, KNOWN_FALSE, KNOWN_TRUE };
/* `option` of run_move. */
enum { MOVE_NOT = 1, MOVE_AND, MOVE_OR, MOVE_CONSTANT = 5 };

struct search {
    struct decoder *d;
    /* The function's predicates, without those that guards add. */
    size_t predicates;
    /* The predicates and, after them, the registers: how often each is written, the last
     * instruction that does so, whether it may depend on the loaded value, and the last load for
     * which a predicate needs no more tries. */
    struct place {
        unsigned written;
        size_t writer, settled;
        bool depends;
        enum known known;
    } * places;
    size_t place_count;
    bool has_grown;
    /* Of each instruction. */
    struct visit {
        size_t first_mention;
        bool is_seen;
    } * visits;
    size_t *waiting, waiting_count, steps;
    /* The load, whose statement begins with GUARD_ROOM empty instructions; and the
     * instructions that may change what is assumed. */
    size_t load, changes[3];
};

static struct place *register_place(const struct search *s, uint32_t offset)
{
    return &s->places[s->predicates + REGISTER_SLOT(offset)];
}

static struct place *place_of(const struct search *s, const struct mention *m)
{
    return m->is_predicate ? &s->places[m->at] : register_place(s, m->at);
}

/* ---- what is known ---- */

static enum known opposite(enum known value)
{
    return value ? (enum known)(KNOWN_FALSE + KNOWN_TRUE - value) : UNKNOWN;
}

static bool is_predicate_move(const struct instruction *i)
{
    return i->run == run_move && i->bytes == 1;
}

/* Returns what is known of the result of an operation on predicates. */
static enum known result_of(const struct search *s, const struct instruction *i)
{
    const enum known a = s->places[i->r[1]].known, b = s->places[i->r[2]].known;
    const enum known decides = i->option == MOVE_AND ? KNOWN_FALSE : KNOWN_TRUE;
    if (i->option == MOVE_NOT)
        return opposite(a);
    if (i->option != MOVE_AND && i->option != MOVE_OR)
        return UNKNOWN;
    if (a == decides || b == decides)
        return decides;
    return a && b ? opposite(decides) : UNKNOWN;
}

/* Returns which comparison of integers the instruction is, or 0. Each odd one is the opposite of
 * the next. */
static unsigned comparison_of(const struct instruction *i)
{
    return !strncmp(i->text, "setp.", 5) && i->text[7] == '.' && strchr("bsu", i->text[8])
             ? word_among((struct word){i->text + 5, 2}, "eq ne lt ge le gt")
             : 0;
}

/* Returns the result of a comparison where another one has this result. */
static enum known result_like(const struct instruction *other, enum known value,
                              const struct instruction *i)
{
    const unsigned a = comparison_of(other), b = comparison_of(i);
    if (!a || !b || i->r[1] != other->r[1] || i->r[2] != other->r[2]
        || strncmp(i->text + 8, other->text + 8, 3))
        return UNKNOWN;
    return a == b ? value : (a - 1) == ((b - 1) ^ 1) ? opposite(value) : UNKNOWN;
}

/* Returns whether a register has the same value at the load and later, up to the instruction that
 * is set: the only one that writes it, or none. */
static bool is_stable(const struct search *s, uint32_t offset, size_t *change)
{
    const struct place *p = register_place(s, offset);
    *change = p->written ? p->writer : SIZE_MAX;
    return !p->written || (p->written == 1 && p->writer < s->load - GUARD_ROOM);
}

/* Assumes a value of a predicate. Returns false if it is not known at the load. */
static bool assume(struct search *s, uint32_t predicate, enum known value)
{
    const struct code *c = s->d->code;
    const size_t writer = s->places[predicate].writer;
    const struct instruction *by = &c->all[writer];
    const bool compares = comparison_of(by) && !by->guard && is_stable(s, by->r[1], &s->changes[1])
                       && is_stable(s, by->r[2], &s->changes[2]);
    s->steps += c->count;
    for (size_t p = 0; p < s->predicates; p++)
        s->places[p].known = p == predicate ? value : UNKNOWN;
    s->changes[0] = writer;
    if (!compares)
        s->changes[1] = s->changes[2] = SIZE_MAX;
    else if (writer > s->load)
        s->changes[0] = SIZE_MAX;
    for (size_t n = 0; n < c->count; n++) {
        const struct instruction *i = &c->all[n];
        const bool moves = is_predicate_move(i) && (compares || n > writer);
        if (n == writer || !(moves || (compares && comparison_of(i))) || i->r[0] >= s->predicates)
            continue;
        struct place *result = &s->places[i->r[0]];
        if (!i->guard && result->written == 1)
            result->known = moves ? result_of(s, i) : result_like(by, value, i);
    }
    return compares || writer < s->load;
}

/* ---- the search ---- */

/* Returns whether the instruction has the same result whatever the loaded value is. */
static bool discards(const struct search *s, const struct instruction *i)
{
    if (is_predicate_move(i))
        return result_of(s, i);
    const bool selects = !strncmp(i->text, "selp", 4);
    const enum known first = selects ? s->places[i->r[3]].known : UNKNOWN;
    return first && !register_place(s, i->r[first == KNOWN_TRUE ? 1 : 2])->depends;
}

/* Notes what the instruction's results depend on. Returns false if it uses the loaded value in
 * another way than by computing with it. */
static bool pass(struct search *s, size_t n)
{
    const struct code *c = s->d->code;
    const struct instruction *i = &c->all[n];
    const struct mention *begin = s->d->mentions + s->visits[n].first_mention,
                         *end = s->d->mentions + s->visits[n + 1].first_mention;
    bool uses = false;
    for (const struct mention *m = begin; m < end; m++)
        uses |= place_of(s, m)->depends && (!m->writes || !i->computes);
    if (!uses || (i->computes && !i->guard && discards(s, i)))
        return i->kind != INSTRUCTION_CALL || c->calls[i->target].code;
    for (const struct mention *m = begin; m < end; m++) {
        s->has_grown |= m->writes && !place_of(s, m)->depends;
        place_of(s, m)->depends |= m->writes;
    }
    return i->computes;
}

static void visit(struct search *s, size_t n)
{
    if (!s->visits[n].is_seen)
        s->waiting[s->waiting_count++] = n;
    s->visits[n].is_seen = true;
}

/* Visits what may run after this instruction. */
static void visit_next(struct search *s, size_t n, enum known runs)
{
    const struct code *c = s->d->code;
    const struct instruction *i = &c->all[n];
    const bool ends = i->kind == INSTRUCTION_BRANCH || i->kind == INSTRUCTION_BRANCH_TABLE
                   || i->kind == INSTRUCTION_RETURN || i->kind == INSTRUCTION_EXIT;
    if (runs != KNOWN_TRUE || !ends)
        visit(s, n + 1);
    if (runs == KNOWN_FALSE)
        return;
    if (i->kind == INSTRUCTION_BRANCH)
        visit(s, i->target);
    for (size_t t = 0; i->kind == INSTRUCTION_BRANCH_TABLE && t < c->tables[i->target].count; t++)
        visit(s, c->tables[i->target].targets[t]);
}

/* Returns whether the instruction runs. */
static enum known runs(const struct search *s, const struct instruction *i)
{
    const enum known guard = i->guard ? s->places[i->guard / 2 - 1].known : KNOWN_TRUE;
    return i->guard & 1 ? opposite(guard) : guard;
}

/* Returns whether the loaded value is discarded wherever it goes. */
static bool is_discarded(struct search *s)
{
    const struct code *c = s->d->code;
    const struct instruction *load = &c->all[s->load];
    for (size_t p = 0; p < s->place_count; p++)
        s->places[p].depends = false;
    for (unsigned k = 0; k < load->count; k++)
        register_place(s, load->r[k])->depends = true;
    do {
        s->has_grown = false;
        s->waiting_count = 0;
        for (size_t n = 0; n < c->count; n++)
            s->visits[n].is_seen = false;
        visit(s, s->load + 1);
        while (s->waiting_count) {
            const size_t n = s->waiting[--s->waiting_count];
            const enum known does = runs(s, &c->all[n]);
            if (n == s->load - GUARD_ROOM)
                continue;
            if (n == s->changes[0] || n == s->changes[1] || n == s->changes[2]
                || ++s->steps > STEPS_MAX || (does != KNOWN_FALSE && !pass(s, n)))
                return false;
            visit_next(s, n, does);
        }
    } while (s->has_grown);
    return true;
}

/* ---- guards ---- */

/* Gives the load a guard: the predicate, or the same comparison in an empty instruction before it.
 * If the load has a guard already, the new one is computed only where that lets the load run, and
 * excludes the other threads, too. */
static void guard_load(struct search *s, uint32_t predicate, enum known excluded)
{
    const struct code *c = s->d->code;
    struct instruction *load = &c->all[s->load], *room = load - GUARD_ROOM;
    const size_t writer = s->places[predicate].writer;
    const bool is_late = writer > s->load;
    uint32_t guard = predicate;
    if (load->guard || is_late)
        guard = decode_new_register(s->d, 1);
    for (; room->run; room++)
        ;
    if (load->guard)
        *room++ = (struct instruction){.run = run_move,
                                       .r = {guard},
                                       .bytes = 1,
                                       .option = MOVE_CONSTANT,
                                       .immediate = excluded == KNOWN_TRUE,
                                       .text = load->text};
    if (guard != predicate) {
        *room = is_late
                  ? c->all[writer]
                  : (struct instruction){
                      .run = run_move, .r = {guard, predicate}, .bytes = 1, .text = load->text};
        room->r[0] = guard;
        room->guard = load->guard;
    }
    load->guard = 2 * guard + 2 + (excluded == KNOWN_TRUE);
}

/* Notes the predicates that are known where the load runs. */
static void settle(struct search *s, uint32_t predicate, enum known value)
{
    assume(s, predicate, value);
    for (size_t p = 0; p < s->predicates; p++)
        if (s->places[p].known)
            s->places[p].settled = s->load;
}

static void try_predicates(struct search *s)
{
    unsigned tries = 0, guards = 0;
    const size_t first = s->visits[s->load].first_mention;
    for (size_t k = first; k < s->d->mention_count && tries < TRIES_MAX && guards < GUARDS_MAX;
         k++) {
        const struct mention *m = &s->d->mentions[k];
        if (!m->is_predicate || m->writes || s->places[m->at].written != 1
            || s->places[m->at].settled == s->load || !assume(s, m->at, KNOWN_FALSE))
            continue;
        s->places[m->at].settled = s->load;
        tries++;
        for (enum known value = KNOWN_FALSE; value <= KNOWN_TRUE; value++) {
            assume(s, m->at, value);
            if (is_discarded(s)) {
                guard_load(s, m->at, value);
                guards++;
                settle(s, m->at, opposite(value));
                break;
            }
        }
    }
}

void decode_guard_loads(struct decoder *d)
{
    const struct code *c = d->code;
    struct search s = {.d = d, .predicates = c->predicate_count};
    s.place_count = s.predicates + REGISTER_SLOT(c->register_bytes) + 2;
    s.places = os_allocate(s.place_count * sizeof *s.places);
    s.visits = os_allocate((c->count + 2) * sizeof *s.visits);
    s.waiting = os_allocate((c->count + 1) * sizeof *s.waiting);
    for (size_t k = 0, n = 0; n <= c->count; n++) {
        s.visits[n].first_mention = k;
        for (; k < d->mention_count && d->mentions[k].instruction == n; k++)
            if (d->mentions[k].writes) {
                place_of(&s, &d->mentions[k])->written++;
                place_of(&s, &d->mentions[k])->writer = n;
            }
    }
    for (s.load = GUARD_ROOM; s.load < c->count; s.load++)
        if (c->all[s.load].run == run_load && !c->all[s.load - 1].run
            && c->all[s.load - 1].kind == INSTRUCTION_PLAIN && s.steps < STEPS_MAX)
            try_predicates(&s);
    os_free(s.places);
    os_free(s.visits);
    os_free(s.waiting);
}
