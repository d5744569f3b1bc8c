/* The ordered tree: a treap that keeps the least value of each branch. */
#include "base/ordered_tree.h"

#include "os/needs_lock.h"
#include "os/os.h"

/* Needs the lock. Invariant: `random` is never 0. */
static struct {
    uint32_t random; /* xorshift32 is enough: priorities need no secret, only a good spread. */
} treap = {2463534242u};

static uint64_t min_value_of(const struct tree_node *n)
{
    uint64_t min = n->value;
    if (n->left && n->left->min_value < min)
        min = n->left->min_value;
    if (n->right && n->right->min_value < min)
        min = n->right->min_value;
    return min;
}

/* Replaces n, below its parent, with the branch, which may be NULL. */
static void replace(struct ordered_tree *tree, const struct tree_node *n, struct tree_node *branch)
{
    struct tree_node *parent = n->parent;
    if (!parent)
        tree->root = branch;
    else if (parent->left == n)
        parent->left = branch;
    else
        parent->right = branch;
    if (branch)
        branch->parent = parent;
}

/* Swaps n with its parent and keeps the order of the nodes. */
static void rotate_up(struct ordered_tree *tree, struct tree_node *n)
{
    struct tree_node *p = n->parent, *between;
    replace(tree, p, n);
    if (p->left == n) {
        between = p->left = n->right;
        n->right = p;
    } else {
        between = p->right = n->left;
        n->left = p;
    }
    if (between)
        between->parent = p;
    p->parent = n;
    n->min_value = p->min_value;
    p->min_value = min_value_of(p);
}

/* Links n at `at`, an empty link of `parent`, and moves it up to its priority's place. */
static void link_node(struct ordered_tree *tree, struct tree_node *n, struct tree_node *parent,
                      struct tree_node **at)
{
    treap.random ^= treap.random << 13;
    treap.random ^= treap.random >> 17;
    treap.random ^= treap.random << 5;
    n->priority = treap.random;
    n->min_value = n->value;
    n->left = n->right = NULL;
    n->parent = parent;
    *at = n;
    for (struct tree_node *p = parent; p && p->min_value > n->value; p = p->parent)
        p->min_value = n->value;
    while (n->parent && n->priority > n->parent->priority)
        rotate_up(tree, n);
}

void tree_insert(struct ordered_tree *tree, struct tree_node *n)
{
    NEEDS_LOCK();
    struct tree_node *parent = NULL, **at = &tree->root;
    while (*at) {
        parent = *at;
        bool before = n->key != parent->key ? n->key < parent->key : n->age < parent->age;
        at = before ? &parent->left : &parent->right;
    }
    link_node(tree, n, parent, at);
}

void tree_insert_before(struct ordered_tree *tree, struct tree_node *n, struct tree_node *after)
{
    NEEDS_LOCK();
    struct tree_node *last = after->left;
    if (!last) {
        link_node(tree, n, after, &after->left);
        return;
    }
    while (last->right)
        last = last->right;
    link_node(tree, n, last, &last->right);
}

void tree_remove(struct ordered_tree *tree, struct tree_node *n)
{
    NEEDS_LOCK();
    while (n->left && n->right)
        rotate_up(tree, n->left->priority > n->right->priority ? n->left : n->right);
    replace(tree, n, n->left ? n->left : n->right);
    for (struct tree_node *p = n->parent; p && p->min_value == n->value; p = p->parent) {
        p->min_value = min_value_of(p);
        if (p->min_value == n->value)
            return; /* Another node has the same value. */
    }
}

/* ---- searching ---- */

static bool has_within(const struct tree_node *branch, uint64_t max_value)
{
    return branch && branch->min_value <= max_value;
}

/* Returns the branch's first node, in order, whose value is within the limit. */
static struct tree_node *first_within(struct tree_node *n, uint64_t max_value)
{
    for (;;) {
        if (has_within(n->left, max_value))
            n = n->left;
        else if (n->value <= max_value)
            return n;
        else
            n = n->right;
    }
}

struct tree_node *tree_next(const struct tree_node *n, uint64_t max_value)
{
    NEEDS_LOCK();
    for (;;) {
        if (has_within(n->right, max_value))
            return first_within(n->right, max_value);
        while (n->parent && n->parent->right == n)
            n = n->parent;
        n = n->parent;
        if (!n || n->value <= max_value)
            return (struct tree_node *)n;
    }
}

struct tree_node *tree_first(const struct ordered_tree *tree, uint64_t key, uint64_t max_value)
{
    NEEDS_LOCK();
    if (!tree->root || tree->root->min_value > max_value)
        return NULL;
    struct tree_node *first = NULL;
    for (struct tree_node *n = tree->root; n;) {
        if (n->key >= key) {
            first = n;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    return first && first->value > max_value ? tree_next(first, max_value) : first;
}

struct tree_node *tree_last(const struct ordered_tree *tree, uint64_t key)
{
    NEEDS_LOCK();
    struct tree_node *last = NULL;
    for (struct tree_node *n = tree->root; n;) {
        if (n->key <= key) {
            last = n;
            n = n->right;
        } else {
            n = n->left;
        }
    }
    return last;
}

static void list_add(struct tree_list *list, struct tree_node *n)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->items = os_grow(list->items, list->capacity * sizeof *list->items);
    }
    list->items[list->count++].node = n;
}

/* A breadth-first search whose list of found nodes is also its queue. The next nodes are known
 * early, so with many nodes their cache misses overlap. */
bool tree_find_all(const struct ordered_tree *tree, uint64_t max_value, struct tree_list *list)
{
    NEEDS_LOCK();
    enum { AHEAD = 8 };
    size_t found = 0;
    bool others = false;
    list->count = 0;
    if (tree->root)
        list_add(list, tree->root);
    for (size_t i = 0; i < list->count; i++) {
        struct tree_node *n = list->items[i].node;
        if (i + AHEAD < list->count)
            __builtin_prefetch(list->items[i + AHEAD].node);
        others |= n->value > max_value;
        if (n->min_value > max_value)
            continue;
        if (n->left)
            list_add(list, n->left);
        if (n->right)
            list_add(list, n->right);
        if (n->value <= max_value)
            list->items[found++] = (struct tree_found){n->value, n};
    }
    list->count = found;
    return !others;
}

/* ---- invariants ---- */

static size_t count_valid(const struct tree_node *n, const struct tree_node *parent)
{
    if (!n)
        return 0;
    if (n->parent != parent || n->min_value != min_value_of(n)
        || (parent && n->priority > parent->priority))
        return SIZE_MAX;
    size_t left = count_valid(n->left, n), right = count_valid(n->right, n);
    return left == SIZE_MAX || right == SIZE_MAX ? SIZE_MAX : left + right + 1;
}

size_t tree_count_valid(const struct ordered_tree *tree)
{
    NEEDS_LOCK();
    const struct tree_node *n = tree->root;
    while (n && n->left)
        n = n->left;
    for (const struct tree_node *next; n; n = next) {
        next = tree_next(n, UINT64_MAX);
        if (next && (next->key != n->key ? next->key < n->key : next->age <= n->age))
            return SIZE_MAX;
    }
    return count_valid(tree->root, NULL);
}
