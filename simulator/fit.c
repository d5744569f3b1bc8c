/* The treap of free chunks. */
#include "fit.h"

static bool before(const struct fit *a, const struct fit *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->age < b->age;
}

static bool within(const struct fit *branch, uint64_t limit) { return branch && branch->least <= limit; }

static uint64_t least_of(const struct fit *f)
{
    uint64_t least = f->mark;
    if (f->left && f->left->least < least) least = f->left->least;
    if (f->right && f->right->least < least) least = f->right->least;
    return least;
}

/* Puts a branch (NULL: nothing) where f is below its parent. */
static void replace(struct fit_list *list, const struct fit *f, struct fit *branch)
{
    struct fit *parent = f->parent;
    if (!parent) list->root = branch;
    else if (parent->left == f) parent->left = branch;
    else parent->right = branch;
    if (branch) branch->parent = parent;
}

/* Makes f the parent of its parent; the order stays. */
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

void fit_insert(struct fit_list *list, struct fit *f)
{
    static uint32_t random = 2463534242u;      /* xorshift32; the ranks need no secret, only to be spread */
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    f->rank = random;
    f->least = f->mark;
    f->left = f->right = f->parent = NULL;
    struct fit **at = &list->root;
    while (*at) {
        f->parent = *at;
        if (f->parent->least > f->mark) f->parent->least = f->mark;
        at = before(f, f->parent) ? &f->parent->left : &f->parent->right;
    }
    *at = f;
    while (f->parent && f->rank > f->parent->rank) rotate_up(list, f);
}

void fit_remove(struct fit_list *list, struct fit *f)
{
    while (f->left && f->right) rotate_up(list, f->left->rank > f->right->rank ? f->left : f->right);
    replace(list, f, f->left ? f->left : f->right);
    for (struct fit *p = f->parent; p && p->least == f->mark; p = p->parent) p->least = least_of(p);
}

/* The first in order of a branch that is within the limit. */
static struct fit *first_within(struct fit *f, uint64_t limit)
{
    for (;;) {
        if (within(f->left, limit)) f = f->left;
        else if (f->mark <= limit) return f;
        else f = f->right;
    }
}

struct fit *fit_next(const struct fit *f, uint64_t limit)
{
    if (within(f->right, limit)) return first_within(f->right, limit);
    for (; f->parent; f = f->parent) {
        struct fit *p = f->parent;
        if (p->right == f) continue;
        if (p->mark <= limit) return p;
        if (within(p->right, limit)) return first_within(p->right, limit);
    }
    return NULL;
}

struct fit *fit_best(const struct fit_list *list, size_t bytes, uint64_t limit)
{
    if (!fit_has(list, limit)) return NULL;
    struct fit *best = NULL;
    for (struct fit *f = list->root; f;) {
        if (f->bytes >= bytes) {
            best = f;
            f = f->left;
        } else f = f->right;
    }
    return best && best->mark > limit ? fit_next(best, limit) : best;
}

/* The nodes of a branch whose nodes all come after `low` and before `high` (NULL: no bound) and are ranked no higher than their parent. */
static size_t count_valid(const struct fit *f, const struct fit *parent, const struct fit *low, const struct fit *high)
{
    if (!f) return 0;
    if (f->parent != parent || (parent && f->rank > parent->rank) || (low && !before(low, f)) || (high && !before(f, high))) return SIZE_MAX;
    if (f->least != least_of(f)) return SIZE_MAX;
    size_t left = count_valid(f->left, f, low, f), right = count_valid(f->right, f, f, high);
    return left == SIZE_MAX || right == SIZE_MAX ? SIZE_MAX : left + right + 1;
}

size_t fit_count_valid(const struct fit_list *list) { return count_valid(list->root, NULL, NULL, NULL); }
