/* Postponed conflicts. */
#include "check/conflict.h"

#include "os/os.h"
#include "sched/happens_before.h"

struct postponed {
    struct postponed *next;
    struct conflict conflict;
    /* What the conflict's `ref` points to: only who allocated it, and how. */
    struct shadow shadow;
    /* What held the two operations up at the last look; op NULL: nothing. */
    struct host_bound earlier, later;
};

/* Law: of each conflict in the list, `earlier` or `later` was pending at the last look, and then
 * the host had not acquired the other operation. The oldest comes first. Conflicts of the same two
 * places in the program, the same two streams and the same two obstacles are one, where one of them
 * decides for all: so a loop adds nothing to the list. Needs the lock. */
static struct {
    struct postponed *first, **end;
} postponed = {NULL, &postponed.first};

bool conflicts_postponed;

static struct host_bound find_obstacle(const struct origin *origin)
{
    if (origin->slot == HOST_SLOT)
        return (struct host_bound){NULL, 0};
    return stream_find_host_bound(stream_of_slot(origin->slot), origin->seq);
}

/* What happened during its call is held up by nothing. */
static struct host_bound find_later_obstacle(const struct conflict *c)
{
    return c->later.at_call ? (struct host_bound){NULL, 0} : find_obstacle(&c->later.origin);
}

static struct host_bound find_earlier_obstacle(const struct conflict *c)
{
    return c->kind == CONFLICT_ACCESSES ? find_obstacle(&c->earlier.origin)
                                        : (struct host_bound){NULL, 0};
}

enum conflict_held conflict_held(const struct conflict *c)
{
    if (find_later_obstacle(c).op)
        return CONFLICT_LATER_HELD;
    return find_earlier_obstacle(c).op ? CONFLICT_EARLIER_HELD : CONFLICT_NOT_HELD;
}

/* ---- one of many ---- */

static bool is_same_operation(const struct origin *a, const struct origin *b)
{
    return a->site == b->site && a->slot == b->slot;
}

static bool is_same_obstacle(struct host_bound a, struct host_bound b)
{
    return a.op == b.op && a.turn == b.turn;
}

/* Do the two differ only in what is compared by comes_last? */
static bool is_alike(const struct postponed *p, const struct postponed *new)
{
    const struct conflict *a = &p->conflict, *b = &new->conflict;
    return a->kind == b->kind && is_same_operation(&a->earlier.origin, &b->earlier.origin)
        && is_same_operation(&a->later.origin, &b->later.origin)
        && is_same_obstacle(p->earlier, new->earlier) && is_same_obstacle(p->later, new->later);
}

/* Of two that are alike: is the host to acquire more for `new` than for `p`? It has to acquire the
 * earlier operation while the later one is held up, or the other way round. */
static bool requires_all_of(const struct postponed *new, const struct postponed *p)
{
    bool earlier = new->conflict.earlier.origin.seq >= p->conflict.earlier.origin.seq;
    bool later = new->conflict.later.origin.seq >= p->conflict.later.origin.seq;
    return (!new->later.op || earlier) && (!new->earlier.op || later);
}

static void set(struct postponed *p, const struct postponed *new)
{
    struct postponed *next = p->next;
    *p = *new;
    p->next = next;
    p->conflict.ref.shadow = &p->shadow;
}

static void add(const struct postponed *new)
{
    for (struct postponed *p = postponed.first; p; p = p->next) {
        if (!is_alike(p, new))
            continue;
        if (requires_all_of(new, p)) {
            set(p, new);
            return;
        }
        if (requires_all_of(p, new))
            return;
    }
    struct postponed *p = os_allocate(sizeof *p);
    set(p, new);
    *postponed.end = p;
    postponed.end = &p->next;
    conflicts_postponed = true;
}

void conflict_postpone(const struct conflict *c)
{
    struct postponed new = {
        .conflict = *c,
        .shadow = {.allocated_by = c->ref.shadow->allocated_by, .kind = c->ref.shadow->kind},
        .earlier = find_earlier_obstacle(c),
        .later = find_later_obstacle(c),
    };
    add(&new);
}

/* ---- judging ---- */

static bool is_acquired(const struct origin *origin)
{
    return vc_includes(host_vector_clock(), origin->slot, origin->seq);
}

/* Is the operation still held up, by this obstacle or by another? */
static bool is_held(struct host_bound *obstacle, const struct origin *origin)
{
    if (obstacle->op && !host_bound_is_pending(*obstacle))
        *obstacle = find_obstacle(origin);
    return obstacle->op;
}

static bool is_ordered(struct postponed *p)
{
    const struct origin *earlier = &p->conflict.earlier.origin, *later = &p->conflict.later.origin;
    bool later_held = is_held(&p->later, later), earlier_held = is_held(&p->earlier, earlier);
    return (later_held && is_acquired(earlier)) || (earlier_held && is_acquired(later));
}

void conflict_judge_postponed(void (*report)(const struct conflict *c))
{
    struct postponed **at = &postponed.first;
    /* Of an operation that was reported: the conflict with the allocation is reported only where
     * that with an access is not. */
    struct origin reported = {.slot = HOST_SLOT};
    for (struct postponed *p; (p = *at);) {
        const struct origin *later = &p->conflict.later.origin;
        bool ordered = is_ordered(p);
        if (!ordered && (p->later.op || p->earlier.op)) {
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
