/* The treap of free chunks. */
#include "fit.h"

static bool before(const struct fit *a, const struct fit *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->age < b->age;
}

static void set_left(struct fit *f, struct fit *branch)
{
    f->left = branch;
    f->least_left = fit_least(branch);
}

static void set_right(struct fit *f, struct fit *branch)
{
    f->right = branch;
    f->least_right = fit_least(branch);
}

/* Cuts a tree into what comes before f and what comes after. */
static void split(struct fit *tree, const struct fit *f, struct fit **low, struct fit **high)
{
    struct fit *part;
    if (!tree) {
        *low = *high = NULL;
    } else if (before(tree, f)) {
        split(tree->right, f, &part, high);
        set_right(tree, part);
        *low = tree;
    } else {
        split(tree->left, f, low, &part);
        set_left(tree, part);
        *high = tree;
    }
}

static struct fit *join(struct fit *low, struct fit *high)
{
    if (!low) return high;
    if (!high) return low;
    if (low->rank > high->rank) {
        set_right(low, join(low->right, high));
        return low;
    }
    set_left(high, join(low, high->left));
    return high;
}

/* The tree with f in it. */
static struct fit *insert(struct fit *tree, struct fit *f)
{
    if (!tree || f->rank > tree->rank) {
        struct fit *low, *high;
        split(tree, f, &low, &high);
        set_left(f, low);
        set_right(f, high);
        return f;
    }
    if (before(f, tree)) set_left(tree, insert(tree->left, f));
    else set_right(tree, insert(tree->right, f));
    return tree;
}

/* The tree without f. */
static struct fit *without(struct fit *tree, struct fit *f)
{
    if (tree == f) return join(f->left, f->right);
    if (before(f, tree)) set_left(tree, without(tree->left, f));
    else set_right(tree, without(tree->right, f));
    return tree;
}

void fit_insert(struct fit_list *list, struct fit *f)
{
    static uint32_t random = 2463534242u;      /* xorshift32; the ranks need no secret, only to be spread */
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    f->rank = random;
    list->root = insert(list->root, f);
}

void fit_remove(struct fit_list *list, struct fit *f) { list->root = without(list->root, f); }

static struct fit *best(struct fit *tree, size_t bytes, uint64_t limit)
{
    while (tree) {
        if (tree->bytes >= bytes) {
            struct fit *smaller = tree->least_left <= limit ? best(tree->left, bytes, limit) : NULL;
            if (smaller) return smaller;
            if (tree->mark <= limit) return tree;
        }
        if (tree->least_right > limit) return NULL;
        tree = tree->right;
    }
    return NULL;
}

struct fit *fit_best(const struct fit_list *list, size_t bytes, uint64_t limit) { return best(list->root, bytes, limit); }

static void each(struct fit *tree, uint64_t limit, void (*visit)(struct fit *, void *), void *argument)
{
    if (!tree) return;
    if (tree->least_left <= limit) each(tree->left, limit, visit, argument);
    if (tree->mark <= limit) visit(tree, argument);
    if (tree->least_right <= limit) each(tree->right, limit, visit, argument);
}

void fit_each(const struct fit_list *list, uint64_t limit, void (*visit)(struct fit *, void *), void *argument)
{
    each(list->root, limit, visit, argument);
}

/* The nodes of a branch whose nodes all come after `low` and before `high` (NULL: no bound) and are ranked no higher than `rank`. */
static size_t count_valid(const struct fit *f, const struct fit *low, const struct fit *high, uint32_t rank)
{
    if (!f) return 0;
    if (f->rank > rank || (low && !before(low, f)) || (high && !before(f, high))) return SIZE_MAX;
    if (f->least_left != fit_least(f->left) || f->least_right != fit_least(f->right)) return SIZE_MAX;
    size_t left = count_valid(f->left, low, f, f->rank), right = count_valid(f->right, f, high, f->rank);
    return left == SIZE_MAX || right == SIZE_MAX ? SIZE_MAX : left + right + 1;
}

size_t fit_count_valid(const struct fit_list *list) { return count_valid(list->root, NULL, NULL, UINT32_MAX); }
