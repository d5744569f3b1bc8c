/* The treap of free chunks. */
#include "fit.h"

static bool before(const struct fit *a, const struct fit *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->age < b->age;
}

static void update(struct fit *f)
{
    f->least_mark = f->mark;
    if (f->left && f->left->least_mark < f->least_mark) f->least_mark = f->left->least_mark;
    if (f->right && f->right->least_mark < f->least_mark) f->least_mark = f->right->least_mark;
}

/* Cuts a tree into what comes before f and what comes after. */
static void split(struct fit *tree, const struct fit *f, struct fit **low, struct fit **high)
{
    if (!tree) {
        *low = *high = NULL;
    } else if (before(tree, f)) {
        split(tree->right, f, &tree->right, high);
        *low = tree;
        update(tree);
    } else {
        split(tree->left, f, low, &tree->left);
        *high = tree;
        update(tree);
    }
}

static struct fit *join(struct fit *low, struct fit *high)
{
    if (!low) return high;
    if (!high) return low;
    if (low->rank > high->rank) {
        low->right = join(low->right, high);
        update(low);
        return low;
    }
    high->left = join(low, high->left);
    update(high);
    return high;
}

static void insert(struct fit **at, struct fit *f)
{
    if (!*at || f->rank > (*at)->rank) {
        split(*at, f, &f->left, &f->right);
        update(f);
        *at = f;
        return;
    }
    insert(before(f, *at) ? &(*at)->left : &(*at)->right, f);
    update(*at);
}

static void remove_from(struct fit **at, struct fit *f)
{
    if (*at == f) {
        *at = join(f->left, f->right);
        return;
    }
    remove_from(before(f, *at) ? &(*at)->left : &(*at)->right, f);
    update(*at);
}

void fit_insert(struct fit_list *list, struct fit *f)
{
    static uint32_t random = 2463534242u;      /* xorshift32; the ranks need no secret, only to be spread */
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    f->rank = random;
    f->left = f->right = NULL;
    insert(&list->root, f);
}

void fit_remove(struct fit_list *list, struct fit *f) { remove_from(&list->root, f); }

static struct fit *best(struct fit *tree, size_t bytes, uint64_t limit)
{
    while (tree && tree->least_mark <= limit) {
        if (tree->bytes < bytes) {
            tree = tree->right;
            continue;
        }
        struct fit *smaller = best(tree->left, bytes, limit);
        if (smaller) return smaller;
        if (tree->mark <= limit) return tree;
        tree = tree->right;
    }
    return NULL;
}

struct fit *fit_best(const struct fit_list *list, size_t bytes, uint64_t limit) { return best(list->root, bytes, limit); }

static void each(struct fit *tree, uint64_t limit, void (*visit)(struct fit *, void *), void *argument)
{
    if (!tree || tree->least_mark > limit) return;
    each(tree->left, limit, visit, argument);
    if (tree->mark <= limit) visit(tree, argument);
    each(tree->right, limit, visit, argument);
}

void fit_each(const struct fit_list *list, uint64_t limit, void (*visit)(struct fit *, void *), void *argument)
{
    each(list->root, limit, visit, argument);
}
