/* Postponed conflicts. */
#include "check/conflict.h"

#include "os/os.h"
#include "sched/happens_before.h"

struct postponed {
    struct postponed *next;
    struct conflict conflict;
    /* The target of the conflict's `ref`, with only the allocation's origin and kind. */
    struct shadow shadow;
};

/* Needs the lock. Invariant: in each listed conflict, the earlier or the later operation had an
 * obstacle at the last check, and the host had not acquired the other operation by then. The oldest
 * comes first. Conflicts of the same two calls, the same two streams, and the same two obstacles
 * are one if one of them decides for all, so a loop does not make the list grow. */
static struct {
    struct postponed *first, **end;
} postponed = {NULL, &postponed.first};

bool conflicts_postponed;

/* Returns whether the operation still has an obstacle. When the newest obstacle is over, an older
 * one may remain. That includes one for which the stream began to wait only later (assumed: this is
 * rare, and decides for the program). */
static bool is_held(struct access *a)
{
    if (a->obstacle.op && !host_bound_is_pending(a->obstacle))
        a->obstacle =
            stream_find_host_bound(stream_of_slot(a->origin.slot), a->origin.seq, a->obstacle.turn);
    return a->obstacle.op;
}

enum conflict_held conflict_held(struct conflict *c)
{
    const struct origin *earlier = &c->earlier.origin, *later = &c->later.origin;
    /* A copy that reads what it writes is not ordered with itself. */
    if (earlier->slot == later->slot && earlier->seq == later->seq)
        return CONFLICT_NOT_HELD;
    bool earlier_held = c->kind == CONFLICT_ACCESSES && is_held(&c->earlier);
    if (!earlier_held)
        c->earlier.obstacle = (struct host_bound){NULL, 0};
    if (is_held(&c->later))
        return CONFLICT_LATER_HELD;
    return earlier_held ? CONFLICT_EARLIER_HELD : CONFLICT_NOT_HELD;
}

/* ---- merging conflicts ---- */

static bool is_same_operation(const struct origin *a, const struct origin *b)
{
    return a->site == b->site && a->slot == b->slot;
}

static bool is_same_obstacle(struct host_bound a, struct host_bound b)
{
    return a.op == b.op && a.turn == b.turn;
}

/* Returns whether the two differ only in what requires_all_of compares. */
static bool is_alike(const struct postponed *p, const struct postponed *found)
{
    const struct conflict *a = &p->conflict, *b = &found->conflict;
    return a->kind == b->kind && is_same_operation(&a->earlier.origin, &b->earlier.origin)
        && is_same_operation(&a->later.origin, &b->later.origin)
        && is_same_obstacle(a->earlier.obstacle, b->earlier.obstacle)
        && is_same_obstacle(a->later.obstacle, b->later.obstacle);
}

/* For two such conflicts, returns whether the host has to acquire more for `found` than for `c`:
 * the earlier operation while the later one is held up, or the other way around. */
static bool requires_all_of(const struct conflict *found, const struct conflict *c)
{
    bool earlier = found->earlier.origin.seq >= c->earlier.origin.seq;
    bool later = found->later.origin.seq >= c->later.origin.seq;
    return (!found->later.obstacle.op || earlier) && (!found->earlier.obstacle.op || later);
}

static void set(struct postponed *p, const struct postponed *found)
{
    struct postponed *next = p->next;
    *p = *found;
    p->next = next;
    p->conflict.ref.shadow = &p->shadow;
}

void conflict_postpone(const struct conflict *c)
{
    const struct postponed found = {
        .conflict = *c,
        .shadow = {.allocated_by = c->ref.shadow->allocated_by, .kind = c->ref.shadow->kind},
    };
    for (struct postponed *p = postponed.first; p; p = p->next) {
        if (!is_alike(p, &found))
            continue;
        if (requires_all_of(c, &p->conflict)) {
            set(p, &found);
            return;
        }
        if (requires_all_of(&p->conflict, c))
            return;
    }
    struct postponed *p = os_allocate(sizeof *p);
    set(p, &found);
    *postponed.end = p;
    postponed.end = &p->next;
    conflicts_postponed = true;
}

/* ---- judging ---- */

/* Returns whether the host may have waited for one operation before it let the other one begin. */
static bool is_acquired_before(const struct origin *one, const struct origin *held)
{
    return host_has_acquired(one->slot, one->seq)
        || vc_includes(host_clock_for(stream_of_slot(held->slot), held->seq), one->slot, one->seq);
}

static bool is_ordered(struct conflict *c)
{
    struct access *a = &c->earlier, *b = &c->later;
    bool earlier_held = is_held(a), later_held = is_held(b);
    return (later_held && is_acquired_before(&a->origin, &b->origin))
        || (earlier_held && is_acquired_before(&b->origin, &a->origin));
}

void conflict_judge_postponed(void (*report)(const struct conflict *c))
{
    struct postponed **at = &postponed.first;
    /* A reported operation. Its conflict with the allocation is reported only if no other is. */
    struct origin reported = {.slot = HOST_SLOT};
    for (struct postponed *p; (p = *at);) {
        const struct origin *later = &p->conflict.later.origin;
        bool ordered = is_ordered(&p->conflict);
        if (!ordered && (p->conflict.later.obstacle.op || p->conflict.earlier.obstacle.op)) {
            at = &p->next;
            continue;
        }
        bool of_allocation =
            p->conflict.kind == CONFLICT_ALLOCATION || p->conflict.kind == CONFLICT_ALLOCATION_FREE;
        bool again = of_allocation && later->slot == reported.slot && later->seq == reported.seq;
        if (!ordered && !again) {
            report(&p->conflict);
            reported = *later;
        }
        *at = p->next;
        os_free(p);
    }
    postponed.end = at;
    conflicts_postponed = postponed.first;
}

static bool is_after(const struct access *a, const struct op *wait)
{
    return a->obstacle.op
        && stream_comes_before(wait, stream_of_slot(a->origin.slot), a->origin.seq);
}

void conflict_learn(const struct op *wait, const struct vector_clock *before)
{
    for (struct postponed **at = &postponed.first, *p; (p = *at);) {
        const struct access *earlier = &p->conflict.earlier, *later = &p->conflict.later;
        if ((vc_includes(before, earlier->origin.slot, earlier->origin.seq)
             && is_after(later, wait))
            || (vc_includes(before, later->origin.slot, later->origin.seq)
                && is_after(earlier, wait))) {
            *at = p->next;
            os_free(p);
        } else {
            at = &p->next;
        }
        postponed.end = at;
    }
    conflicts_postponed = postponed.first;
}
