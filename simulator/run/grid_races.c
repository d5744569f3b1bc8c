/* Decides which grids of a launch are ordered, and remembers what they have touched. A correct
 * program must not be reported. Therefore two grids are not compared if one may have waited for the
 * other by an atomic operation or a flag. Two writes are not a race here, because both may write
 * the same value. */
#include "run/grid_races.h"

#include "check/byte_set.h"
#include "check/checker.h"
#include "os/needs_lock.h"
#include "os/os.h"

static struct byte_set *set_of(const struct touched *t)
{
    return t->bits ? byte_set_of_bits(t->bits, t->first, t->last) : NULL;
}

void grid_touched(struct grid *g, struct shadow_ref ref, unsigned launches,
                  const struct window *win, const char *inside)
{
    NEEDS_LOCK();
    struct grid_access *a = os_allocate(sizeof *a);
    *a = (struct grid_access){
        g->accesses,          ref,   launches, set_of(&win->read), set_of(&win->written),
        set_of(&win->atomic), inside};
    g->accesses = a;
}

struct grid *grid_new(struct grid *newest, const struct child *c)
{
    NEEDS_LOCK();
    struct grid *g = os_allocate(sizeof *g);
    *g = (struct grid){.next = newest,
                       .parent = c->parent,
                       .launch = c->launch,
                       .depth = c->parent->depth + 1,
                       .stream = c->stream,
                       .is_tail = c->is_tail,
                       .name = c->kernel->kernel->name};
    return g;
}

void grids_free(struct grid *newest)
{
    NEEDS_LOCK();
    for (struct grid *g = newest, *before; g; g = before) {
        before = g->next;
        for (struct grid_access *a = g->accesses, *next; a; a = next) {
            next = a->next;
            os_free(a->read);
            os_free(a->written);
            os_free(a->atomic);
            os_free(a);
        }
        if (g->parent)
            os_free(g);
    }
}

/* Returns the ancestor of the grid at this depth, which may be the grid itself. */
static const struct grid *at_depth(const struct grid *g, unsigned depth)
{
    while (g->depth > depth)
        g = g->parent;
    return g;
}

/* Returns whether the grid is ordered with a grid that ran before it. If the earlier grid is an
 * ancestor, only what it did before its launch number `*launches` is ordered. */
static bool is_ordered(const struct grid *g, const struct grid *earlier, unsigned *launches)
{
    const struct grid *a = at_depth(g, earlier->depth), *b = earlier;
    *launches = 0;
    if (a == b) {
        const struct grid *child = at_depth(g, earlier->depth + 1);
        *launches = child->launch;
        return child->is_tail;
    }
    b = at_depth(earlier, a->depth);
    while (a->parent != b->parent) {
        a = a->parent;
        b = b->parent;
    }
    return a->is_tail || b->is_tail || a->stream == b->stream || a->parent->has_waits;
}

static bool meet(const struct byte_set *a, const struct byte_set *b)
{
    return a && b
        && byte_ranges_meet((struct byte_range){a, byte_set_first(a), byte_set_end(a)},
                            (struct byte_range){b, byte_set_first(b), byte_set_end(b)});
}

/* Returns whether two accesses race, and sets which of the two writes. */
static bool do_race(const struct grid_access *a, const struct grid_access *b, bool writes[2])
{
    if (a->ref.id != b->ref.id)
        return false;
    writes[0] = meet(a->written, b->read) || meet(a->written, b->atomic);
    writes[1] = !writes[0] && (meet(a->read, b->written) || meet(a->atomic, b->written));
    return writes[0] || writes[1];
}

void grid_judge(const struct late_launch *l, const struct grid *g)
{
    NEEDS_LOCK();
    unsigned launches;
    bool writes[2];
    for (const struct grid *e = g->next; e; e = e->next) {
        if ((e->released && g->acquired) || (g->released && e->acquired)
            || is_ordered(g, e, &launches))
            continue;
        for (const struct grid_access *a = e->accesses; a; a = a->next)
            for (const struct grid_access *b = g->accesses; b; b = b->next)
                if (a->launches >= launches && do_race(a, b, writes)) {
                    checker_found_race_of_grids(
                        l, a->ref, launches ? g->name : NULL,
                        &(struct racing){a->inside, writes[0], false, false},
                        &(struct racing){b->inside, writes[1], false, false});
                    return;
                }
    }
}
