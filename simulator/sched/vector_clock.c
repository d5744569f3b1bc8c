/* Vector clocks: trees that share equal parts. */
#include "sched/vector_clock.h"

#include "os/needs_lock.h"
#include "os/os.h"

/* The slots of a leaf, and the children of an inner node, as a power of two. */
#define CLOCK_BITS 4u
#define CLOCK_FAN  (1u << CLOCK_BITS)
struct clock_node {
    /* The number of clocks and nodes that point to this node. */
    uint32_t users;
    /* The number of levels of nodes below this node; 0 for a leaf. */
    uint32_t level;
    /* The clock that changed the node last, and the node's version. */
    uint64_t owner, version;
    union {
        /* The epochs of a leaf. */
        uint64_t epochs[CLOCK_FAN];
        /* The parts of an inner node. In a NULL part, all epochs are 0. */
        struct clock_node *below[CLOCK_FAN];
    };
};

/* Returns which of the CLOCK_FAN parts of a node of this level contains the slot. */
static inline uint32_t clock_index(uint32_t slot, uint32_t level)
{
    return slot >> level * CLOCK_BITS & (CLOCK_FAN - 1);
}

/* Needs the lock. Invariant: recycled nodes have no users. */
static struct {
    struct clock_node *recycled; /* Linked by below[0]. */
    uint64_t last_owner, last_version;
} clocks;

uint64_t vc_epoch(const struct vector_clock *vc, uint32_t slot)
{
    NEEDS_LOCK();
    const struct clock_node *n = vc->root;
    if (!n || (uint64_t)slot >> (n->level + 1) * CLOCK_BITS)
        return 0;
    while (n->level) {
        n = n->below[clock_index(slot, n->level)];
        if (!n)
            return 0;
    }
    return n->epochs[slot & (CLOCK_FAN - 1)];
}

/* ---- nodes ---- */

/* Returns a node with one user and undefined contents. */
static struct clock_node *new_node(uint32_t level)
{
    struct clock_node *n = clocks.recycled;
    if (n)
        clocks.recycled = n->below[0];
    else
        n = os_allocate(sizeof *n);
    n->users = 1;
    n->level = level;
    return n;
}

static struct clock_node *new_empty_node(uint32_t level)
{
    struct clock_node *n = new_node(level);
    for (uint32_t i = 0; i < CLOCK_FAN; i++)
        if (level)
            n->below[i] = NULL;
        else
            n->epochs[i] = 0;
    return n;
}

/* Adds a user; `n` may be NULL. */
static struct clock_node *use(struct clock_node *n)
{
    if (n)
        n->users++;
    return n;
}

/* Removes a user; `n` may be NULL. */
static void release(struct clock_node *n)
{
    if (!n || --n->users)
        return;
    for (uint32_t i = 0; n->level && i < CLOCK_FAN; i++)
        release(n->below[i]);
    n->below[0] = clocks.recycled;
    clocks.recycled = n;
}

static struct clock_node *copy_node(const struct clock_node *from)
{
    struct clock_node *n = new_node(from->level);
    for (uint32_t i = 0; i < CLOCK_FAN; i++)
        if (from->level)
            n->below[i] = use(from->below[i]);
        else
            n->epochs[i] = from->epochs[i];
    return n;
}

/* Records that the clock, which is the node's only user, changes the node. */
static void own(struct vector_clock *vc, struct clock_node *n)
{
    if (!vc->owner)
        vc->owner = ++clocks.last_owner;
    n->owner = vc->owner;
    n->version = ++clocks.last_version;
}

/* Makes the node at `at`, of this level, the clock's own, so that it can be changed. All nodes
 * above it must be the clock's own. */
static struct clock_node *make_own(struct vector_clock *vc, struct clock_node **at, uint32_t level)
{
    struct clock_node *n = *at;
    if (!n) {
        *at = new_empty_node(level);
    } else if (n->users > 1) {
        *at = copy_node(n);
        release(n);
    }
    own(vc, *at);
    return *at;
}

/* Raises the clock's tree until its root has this level. */
static void raise_root(struct vector_clock *vc, uint32_t level)
{
    while (vc->root && vc->root->level < level) {
        struct clock_node *root = new_empty_node(vc->root->level + 1);
        root->below[0] = vc->root;
        vc->root = root;
        own(vc, root);
    }
}

/* ---- one slot ---- */

/* Returns part `index` of `n` as a node of this level. A node of a lower level counts as below[0]
 * of a node that has nothing else. */
static struct clock_node *part_of(struct clock_node *n, uint32_t level, uint32_t index)
{
    if (n->level == level)
        return n->below[index];
    return index ? NULL : n;
}

uint32_t vc_next(const struct vector_clock *vc, uint32_t slot)
{
    NEEDS_LOCK();
    return vc_next_beyond(vc, &VC_EMPTY, slot);
}

uint32_t vc_next_beyond(const struct vector_clock *vc, const struct vector_clock *known,
                        uint32_t slot)
{
    NEEDS_LOCK();
    struct clock_node *root = vc->root;
    uint64_t at = slot, end = root ? (uint64_t)CLOCK_FAN << root->level * CLOCK_BITS : 0;
    while (at < end) {
        struct clock_node *n = root, *k = known->root;
        uint32_t level = root->level;
        /* The slots of a lower tree are at the left edge of a higher one. */
        while (k && k->level > level)
            k = k->below[0];
        for (; n && n != k && level; level--) {
            uint32_t index = clock_index((uint32_t)at, level);
            k = k ? part_of(k, level, index) : NULL;
            n = n->below[index];
        }
        if (!n || n == k) {
            uint64_t width = (uint64_t)CLOCK_FAN << level * CLOCK_BITS;
            at = (at | (width - 1)) + 1;
            continue;
        }
        uint32_t index = at & (CLOCK_FAN - 1);
        if (n->epochs[index] > (k ? k->epochs[index] : 0))
            return (uint32_t)at;
        at++;
    }
    return CLOCK_END;
}

void vc_set(struct vector_clock *vc, uint32_t slot, uint64_t epoch)
{
    NEEDS_LOCK();
    if (vc_includes(vc, slot, epoch))
        return;
    uint32_t level = 0;
    while ((uint64_t)slot >> (level + 1) * CLOCK_BITS)
        level++;
    raise_root(vc, level);
    if (vc->root)
        level = vc->root->level;
    struct clock_node **at = &vc->root;
    for (; level; level--)
        at = &make_own(vc, at, level)->below[clock_index(slot, level)];
    make_own(vc, at, 0)->epochs[slot & (CLOCK_FAN - 1)] = epoch;
}

/* ---- joins ---- */

/* Returns the join of two nodes, of which the first is in `vc`: `a`, changed in place if its clock
 * is the only user of it and all above it (`alone`); or `b`; or a new node with one user. */
static struct clock_node *join_nodes(struct vector_clock *vc, struct clock_node *a,
                                     struct clock_node *b, bool alone);

static struct clock_node *join_leaves(struct vector_clock *vc, struct clock_node *a,
                                      struct clock_node *b, bool alone)
{
    bool a_lacks = false, b_lacks = false;
    for (uint32_t i = 0; i < CLOCK_FAN; i++) {
        a_lacks |= a->epochs[i] < b->epochs[i];
        b_lacks |= b->epochs[i] < a->epochs[i];
    }
    if (!a_lacks)
        return a;
    if (!b_lacks)
        return b;
    struct clock_node *joined = alone ? a : copy_node(a);
    for (uint32_t i = 0; i < CLOCK_FAN; i++)
        if (joined->epochs[i] < b->epochs[i])
            joined->epochs[i] = b->epochs[i];
    own(vc, joined);
    return joined;
}

/* Returns a new node of this level, with one user, that contains the lower node `n`. */
static struct clock_node *raised(struct vector_clock *vc, struct clock_node *n, uint32_t level)
{
    n = use(n);
    while (n->level < level) {
        struct clock_node *above = new_empty_node(n->level + 1);
        above->below[0] = n;
        own(vc, above);
        n = above;
    }
    return n;
}

static struct clock_node *join_inner(struct vector_clock *vc, struct clock_node *a,
                                     struct clock_node *b, bool alone)
{
    struct clock_node *joined[CLOCK_FAN];
    bool is_a = true, is_b = a->level == b->level;
    for (uint32_t i = 0; i < CLOCK_FAN; i++) {
        struct clock_node *of_a = a->below[i], *of_b = part_of(b, a->level, i);
        uint64_t version = of_a ? of_a->version : 0;
        if (!of_a && of_b && of_b->level + 1 < a->level)
            joined[i] = raised(vc, of_b, a->level - 1);
        else
            joined[i] = join_nodes(vc, of_a, of_b, alone);
        is_a &= joined[i] == of_a && (!of_a || of_a->version == version);
        is_b &= joined[i] == of_b;
    }
    if (is_a || is_b)
        return is_a ? a : b;
    struct clock_node *result = alone ? a : new_node(a->level);
    for (uint32_t i = 0; i < CLOCK_FAN; i++) {
        struct clock_node *of_a = a->below[i];
        if (alone && joined[i] == of_a)
            continue;
        bool is_new = joined[i] != of_a && joined[i] != part_of(b, a->level, i);
        result->below[i] = is_new ? joined[i] : use(joined[i]);
        if (alone)
            release(of_a);
    }
    own(vc, result);
    return result;
}

static struct clock_node *join_nodes(struct vector_clock *vc, struct clock_node *a,
                                     struct clock_node *b, bool alone)
{
    if (a == b || !b)
        return a;
    if (!a)
        return b;
    if (a->owner == b->owner && a->version >= b->version)
        return a;
    if (a->level == b->level && a->owner == b->owner)
        return b;
    alone &= a->users == 1;
    return a->level ? join_inner(vc, a, b, alone) : join_leaves(vc, a, b, alone);
}

void vc_join(struct vector_clock *into, const struct vector_clock *from)
{
    NEEDS_LOCK();
    struct clock_node *b = from->root;
    if (!b || into->root == b)
        return;
    raise_root(into, b->level);
    struct clock_node *a = into->root, *joined = join_nodes(into, a, b, true);
    if (joined == a)
        return;
    into->root = joined == b ? use(b) : joined;
    release(a);
}

void vc_clear(struct vector_clock *vc)
{
    NEEDS_LOCK();
    release(vc->root);
    *vc = VC_EMPTY;
}

/* ---- three clocks ---- */

void ordering_join(struct ordering *into, const struct ordering *from)
{
    vc_join(&into->device_order, &from->device_order);
    vc_join(&into->happens_before, &from->happens_before);
    vc_join(&into->known, &from->known);
}

void ordering_set(struct ordering *o, uint32_t slot, uint64_t epoch)
{
    NEEDS_LOCK();
    vc_set(&o->device_order, slot, epoch);
    vc_set(&o->happens_before, slot, epoch);
    vc_set(&o->known, slot, epoch);
}

void ordering_clear(struct ordering *o)
{
    vc_clear(&o->device_order);
    vc_clear(&o->happens_before);
    vc_clear(&o->known);
}
