/* The treap of free chunks, and its chains. */
#include "mem/free_list.h"

static bool within(const struct fit *branch, uint64_t limit) { return branch && branch->least <= limit; }

static uint64_t least_of(const struct fit *f)
{
    uint64_t least = f->mark;
    if (f->left && f->left->least < least) least = f->left->least;
    if (f->right && f->right->least < least) least = f->right->least;
    if (f->next && f->next->least < least) least = f->next->least;
    return least;
}

/* Is it in the tree? Else it follows another in a chain. */
static bool is_oldest(const struct fit *f) { return !f->parent || f->parent->next != f; }

/* Where the list remembers a chain of this size. */
static size_t recent_at(size_t bytes) { return bytes / GRAIN * 0x9E3779B97F4A7C15u >> (64 - FIT_RECENT_BITS); }

/* The oldest chunk of a size that is remembered, or NULL. */
static struct fit *recent(const struct fit_list *list, size_t bytes)
{
    struct fit *f = list->recent[recent_at(bytes)];
    return f && f->bytes == bytes ? f : NULL;
}

/* Puts a branch (NULL: nothing) where f is below its parent. */
static void replace(struct fit_list *list, const struct fit *f, struct fit *branch)
{
    struct fit *parent = f->parent;
    if (!parent) list->root = branch;
    else if (parent->left == f) parent->left = branch;
    else if (parent->right == f) parent->right = branch;
    else parent->next = branch;
    if (branch) branch->parent = parent;
}

/* Puts another one of the same size into the tree in the place of f, which leaves it. */
static void succeed(struct fit_list *list, struct fit *f, struct fit *other)
{
    replace(list, f, other);
    other->left = f->left;
    other->right = f->right;
    if (other->left) other->left->parent = other;
    if (other->right) other->right->parent = other;
    other->youngest = f->youngest;
    other->rank = f->rank;
    list->recent[recent_at(f->bytes)] = other;
    f->left = f->right = NULL;
}

/* Makes f the parent of its parent; the order stays. Both are in the tree. */
static void rotate_up(struct fit_list *list, struct fit *f)
{
    struct fit *p = f->parent, *between;
    replace(list, p, f);
    if (p->left == f) {
        between = p->left = f->right;
        f->right = p;
    } else {
        between = p->right = f->left;
        f->left = p;
    }
    if (between) between->parent = p;
    p->parent = f;
    f->least = p->least;
    p->least = least_of(p);
}

/* ---- inserting and removing ---- */

/* A new size: `at` is its place, below f->parent. */
static void plant(struct fit_list *list, struct fit **at, struct fit *f)
{
    static uint32_t random = 2463534242u;      /* xorshift32; the ranks need no secret, only to be spread */
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    f->rank = random;
    f->youngest = f;
    *at = f;
    for (struct fit *p = f->parent; p && p->least > f->mark; p = p->parent) p->least = f->mark;
    while (f->parent && f->rank > f->parent->rank) rotate_up(list, f);
    list->recent[recent_at(f->bytes)] = f;
}

/* Joins the chain of its size: nearly always at the end. */
static void join(struct fit_list *list, struct fit *oldest, struct fit *f)
{
    struct fit *before = oldest->youngest;
    while (before->age > f->age && before != oldest) before = before->parent;
    if (before->age > f->age) {
        succeed(list, oldest, f);
        f->next = oldest;
        oldest->parent = f;
        oldest->least = least_of(oldest);
        f->least = least_of(f);
    } else {
        f->next = before->next;
        if (f->next) f->next->parent = f;
        else oldest->youngest = f;
        before->next = f;
        f->parent = before;
        f->least = least_of(f);
        list->recent[recent_at(f->bytes)] = oldest;
    }
    for (struct fit *p = f->parent; p && p->least > f->mark; p = p->parent) p->least = f->mark;
}

void fit_insert(struct fit_list *list, struct fit *f)
{
    f->least = f->mark;
    f->left = f->right = f->next = f->parent = NULL;
    struct fit *same = recent(list, f->bytes), **at = &list->root;
    if (!same) {
        while (*at && (*at)->bytes != f->bytes) {
            f->parent = *at;
            at = f->bytes < f->parent->bytes ? &f->parent->left : &f->parent->right;
        }
        same = *at;
    }
    if (same) join(list, same, f);
    else plant(list, at, f);
}

static struct fit *oldest_of(const struct fit_list *list, size_t bytes)
{
    struct fit *f = recent(list, bytes);
    if (f) return f;
    for (f = list->root; f->bytes != bytes;) f = bytes < f->bytes ? f->left : f->right;
    return f;
}

void fit_remove(struct fit_list *list, struct fit *f)
{
    struct fit *next = f->next, **known = &list->recent[recent_at(f->bytes)];
    if (!is_oldest(f)) {
        if (!next) oldest_of(list, f->bytes)->youngest = f->parent;
        replace(list, f, next);
    } else if (next) {
        succeed(list, f, next);
        next->least = least_of(next);
    } else {
        if (*known == f) *known = NULL;
        while (f->left && f->right) rotate_up(list, f->left->rank > f->right->rank ? f->left : f->right);
        replace(list, f, f->left ? f->left : f->right);
    }
    for (struct fit *p = f->parent; p && p->least == f->mark; p = p->parent) {
        p->least = least_of(p);
        if (p->least == f->mark) return;       /* another has the same mark */
    }
}

/* ---- searching ---- */

/* The first in order of a branch that is within the limit. */
static struct fit *first_within(struct fit *f, uint64_t limit)
{
    for (;;) {
        if (within(f->left, limit)) f = f->left;
        else if (f->mark <= limit) return f;
        else f = within(f->next, limit) ? f->next : f->right;
    }
}

struct fit *fit_next(const struct fit *f, uint64_t limit)
{
    if (within(f->next, limit)) return first_within(f->next, limit);
    for (;; f = f->parent) {
        if (within(f->right, limit)) return first_within(f->right, limit);
        while (f->parent && f->parent->right == f) f = f->parent;
        struct fit *p = f->parent;
        if (!p) return NULL;
        if (p->left != f) continue;    /* it was in the chain of p */
        if (p->mark <= limit) return p;
        if (within(p->next, limit)) return first_within(p->next, limit);
    }
}

struct fit *fit_best(const struct fit_list *list, size_t bytes, uint64_t limit)
{
    if (!fit_has(list, limit)) return NULL;
    struct fit *best = recent(list, bytes);
    for (struct fit *f = best ? NULL : list->root; f;) {
        if (f->bytes >= bytes) {
            best = f;
            f = f->left;
        } else f = f->right;
    }
    return best && best->mark > limit ? fit_next(best, limit) : best;
}

/* ---- the laws ---- */

/* The nodes of a chain behind its oldest. */
static size_t count_chain(const struct fit *oldest)
{
    size_t count = 0;
    const struct fit *f = oldest;
    for (; f->next; f = f->next, count++) {
        const struct fit *n = f->next;
        if (n->parent != f || n->bytes != f->bytes || n->age <= f->age || n->least != least_of(n) || n->left || n->right) return SIZE_MAX;
    }
    return oldest->youngest == f ? count : SIZE_MAX;
}

/* The nodes of a branch whose sizes all lie above `low` and below `high` and whose ranks are no higher than their parent's. */
static size_t count_valid(const struct fit *f, const struct fit *parent, size_t low, size_t high)
{
    if (!f) return 0;
    if (f->parent != parent || (parent && f->rank > parent->rank) || f->bytes <= low || f->bytes >= high || f->least != least_of(f)) return SIZE_MAX;
    size_t chain = count_chain(f), left = count_valid(f->left, f, low, f->bytes), right = count_valid(f->right, f, f->bytes, high);
    return chain == SIZE_MAX || left == SIZE_MAX || right == SIZE_MAX ? SIZE_MAX : left + right + chain + 1;
}

size_t fit_count_valid(const struct fit_list *list)
{
    for (size_t i = 0; i < (size_t)1 << FIT_RECENT_BITS; i++) {
        const struct fit *f = list->root, *known = list->recent[i];
        while (f && known && f != known) f = known->bytes < f->bytes ? f->left : f->right;
        if (known && (!f || recent_at(known->bytes) != i)) return SIZE_MAX;
    }
    return count_valid(list->root, NULL, 0, SIZE_MAX);
}
