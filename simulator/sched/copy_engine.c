/* Copy engines.
 *
 * Rules. An engine makes one copy at a time (measured: probe-engines.txt; two uploads of 16 MiB in
 * two streams take 625 us, one takes 312). The copy that has waited longest is next; the recorded
 * device chose between streams at random. Under the schedule late the newest copy is next, and
 * under random a random one, because these orders are just as legal.
 *
 * Up and down at the same time are slower by 8.5 % (measured: "2 up beside 2 down"). A copy through
 * the host is slower by 17 % next to traffic in the other direction, and stops while a copy of the
 * host uses its direction (measured: probe-peer-engines.txt, "0 to 1 beside 1 to 0", "beside down
 * 16 MiB from GPU 0"). A copy between the host and managed memory shares the link with no other
 * (measured: "to managed memory beside").
 *
 * Assumed: with three devices or more, a device has one engine for copies to all others, as for
 * one. Pageable copies hold no engine, since they are made in small pieces between which others
 * run. Other processes have their own engines. Copies and memsets inside the device take turns, and
 * kernels do not take part. */
#include "sched/copy_engine.h"

#include "base/list.h"
#include "base/settings.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "sched/engine.h"
#include "sched/virtual_time.h"

#define ENGINES (ROUTE_INSIDE + 1)

/* In thousandths of the time that a copy takes alone. */
#define ALONE        1000u
#define BESIDE       1085u
#define STAGED_TWICE 1170u

/* One direction of one device. */
struct copy_engine {
    /* The copy that is running, or NULL. */
    struct transfer *active;
    /* The waiting copies, in the order in which they arrived. */
    struct transfer *first, *last;
};

/* Needs the lock. Invariant: a transfer is in one list, that of its engine while it waits and
 * `active` while it runs. An engine with waiting copies is busy, or its next copy also needs
 * another engine that is busy. */
static struct {
    struct copy_engine engines[MAX_DEVICES][ENGINES];
    /* The running copies whose speed depends on others: all but those inside and between
     * devices. */
    struct transfer *active;
    /* Unused transfers, linked by `next`. */
    struct transfer *recycled;
} copies;

void transfer_new(struct op *op, enum route route, int device, int to)
{
    NEEDS_LOCK();
    struct transfer *t = copies.recycled;
    if (t)
        copies.recycled = t->next;
    else
        t = os_allocate(sizeof *t);
    *t = (struct transfer){.route = route, .device = device, .to = to, .op = op};
    op->transfer = t;
}

void transfer_free(struct transfer *t)
{
    t->next = copies.recycled;
    copies.recycled = t;
}

/* ---- speed ---- */

static bool shares_a_link(const struct transfer *t)
{
    return t->route != ROUTE_OUT && t->route != ROUTE_INSIDE;
}

static bool is_in_use(int device, enum route route) { return copies.engines[device][route].active; }

/* Returns whether a staged copy is running from one device to another (-1: to any). */
static bool has_staged(int from, int to)
{
    for (const struct transfer *t = copies.active; t; t = t->next)
        if (t->route == ROUTE_STAGED && (from < 0 || t->device == from) && (to < 0 || t->to == to))
            return true;
    return false;
}

/* Returns an active copy's slowness, in thousandths, or 0 if it stands still. */
static unsigned find_slowness(const struct transfer *t)
{
    int d = t->device;
    switch (t->route) {
    case ROUTE_UP:
    case ROUTE_DOWN:
        return is_in_use(d, t->route == ROUTE_UP ? ROUTE_DOWN : ROUTE_UP) || has_staged(d, -1)
                    || has_staged(-1, d)
                 ? BESIDE
                 : ALONE;
    case ROUTE_STAGED:
        if (is_in_use(d, ROUTE_DOWN) || is_in_use(t->to, ROUTE_UP))
            return 0;
        return is_in_use(d, ROUTE_UP) || is_in_use(t->to, ROUTE_DOWN) || has_staged(t->to, d)
                 ? STAGED_TWICE
                 : ALONE;
    case ROUTE_OUT:
    case ROUTE_INSIDE:
    case ROUTE_BOTH: break;
    }
    return ALONE;
}

/* Continues the copy at this speed from `now` on. */
static void set_slowness(struct transfer *t, unsigned slowness, time_ns now)
{
    time_ns done = t->slowness ? (now - t->since) * ALONE / t->slowness : 0;
    t->left -= done < t->left ? done : t->left;
    t->since = now;
    t->slowness = slowness;
    t->op->finish = slowness ? now + t->left * slowness / ALONE : TIME_UNKNOWN;
    if (slowness)
        engine_end_is_known(t->op);
}

/* Called when a copy has begun or ended, because others may then change their speed. */
static void update_speeds(time_ns now)
{
    for (struct transfer *t = copies.active; t; t = t->next) {
        unsigned slowness = find_slowness(t);
        if (slowness != t->slowness)
            set_slowness(t, slowness, now);
    }
}

/* ---- which copy is next ---- */

static struct copy_engine *engine_of(const struct transfer *t)
{
    return &copies.engines[t->device][t->route == ROUTE_BOTH ? ROUTE_UP : t->route];
}

static struct copy_engine *second_engine_of(const struct transfer *t)
{
    return t->route == ROUTE_BOTH ? &copies.engines[t->device][ROUTE_DOWN] : NULL;
}

static bool can_begin(const struct transfer *t)
{
    const struct copy_engine *second = second_engine_of(t);
    return !engine_of(t)->active && !(second && second->active);
}

static void begin(struct transfer *t, time_ns now)
{
    struct copy_engine *second = second_engine_of(t);
    engine_of(t)->active = t;
    if (second)
        second->active = t;
    t->state = TRANSFER_ACTIVE;
    t->op->start = t->since = now;
    t->left = t->op->duration;
    if (!shares_a_link(t)) {
        t->op->finish = now + t->left;
        engine_end_is_known(t->op);
        return;
    }
    LIST_PUSH(copies.active, t);
    set_slowness(t, find_slowness(t), now);
    update_speeds(now);
}

/* Returns the waiting copy that the engine makes next, or NULL. */
static struct transfer *choose(const struct copy_engine *e)
{
    if (settings.schedule == SCHEDULE_LATE)
        return e->last;
    if (settings.schedule == SCHEDULE_RANDOM)
        return random_below(2) ? e->last : e->first;
    return e->first;
}

/* Begins the engine's next copy, if there is one and it can run. */
static void begin_next(struct copy_engine *e, time_ns now)
{
    struct transfer *t = choose(e);
    if (!t || !can_begin(t))
        return;
    LIST_REMOVE(e->first, e->last, t);
    begin(t, now);
}

/* ---- the engine's calls ---- */

void copy_engine_request(struct transfer *t, time_ns now)
{
    struct copy_engine *e = engine_of(t);
    if (!e->first && can_begin(t)) {
        begin(t, now);
        return;
    }
    t->state = TRANSFER_WAITING;
    LIST_APPEND(e->first, e->last, t);
}

void copy_engine_release(struct transfer *t, time_ns now)
{
    struct copy_engine *e = engine_of(t), *second = second_engine_of(t);
    e->active = NULL;
    if (second)
        second->active = NULL;
    if (shares_a_link(t)) {
        LIST_TAKE(copies.active, t);
        update_speeds(now);
    }
    begin_next(e, now);
    /* A copy that needs both up and down may have been waiting for either. */
    if (shares_a_link(t) && t->route != ROUTE_STAGED)
        begin_next(&copies.engines[t->device][t->route == ROUTE_DOWN ? ROUTE_UP : ROUTE_DOWN], now);
}
