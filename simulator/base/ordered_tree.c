/* The ordered tree: a treap that keeps the least value of each branch. */
#include "base/ordered_tree.h"

#include "os/needs_lock.h"
#include "os/os.h"

/* Needs the lock. Invariant: `random` is never 0. */
static struct {
    uint32_t random; /* xorshift32 is enough: priorities need no secret, only a good spread. */
} treap = {2463534242u};

/* Stands for a missing child, so that no branch depends on whether there is one. What is written to
 * its parent is never read. */
static struct tree_node none = {.min_value = UINT64_MAX};

static struct tree_node *or_none(struct tree_node *n) { return n ? n : &none; }

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t min_value_of(const struct tree_node *n)
{
    return least(n->value, least(or_none(n->child[0])->min_value, or_none(n->child[1])->min_value));
}

/* Returns the link that leads to n. */
static struct tree_node **link_to(struct ordered_tree *tree, const struct tree_node *n)
{
    struct tree_node *parent = n->parent;
    return parent ? &parent->child[parent->child[1] == n] : &tree->root;
}

/* Swaps n with its parent and keeps the order of the nodes. */
static void rotate_up(struct ordered_tree *tree, struct tree_node *n)
{
    struct tree_node *p = n->parent, **at = link_to(tree, p);
    int side = p->child[1] == n;
    p->child[side] = n->child[!side];
    or_none(p->child[side])->parent = p;
    n->child[!side] = p;
    n->parent = p->parent;
    p->parent = n;
    *at = n;
    n->min_value = p->min_value;
    p->min_value = min_value_of(p);
}

void tree_insert(struct ordered_tree *tree, struct tree_node *n)
{
    NEEDS_LOCK();
    struct tree_node *parent = NULL, **at = &tree->root;
    while (*at) {
        parent = *at;
        bool is_after = (n->key > parent->key) | ((n->key == parent->key) & (n->age > parent->age));
        at = &parent->child[is_after];
    }
    treap.random ^= treap.random << 13;
    treap.random ^= treap.random >> 17;
    treap.random ^= treap.random << 5;
    n->priority = treap.random;
    n->min_value = n->value;
    n->child[0] = n->child[1] = NULL;
    n->parent = parent;
    *at = n;
    for (struct tree_node *p = parent; p && p->min_value > n->value; p = p->parent)
        p->min_value = n->value;
    while (n->parent && n->priority > n->parent->priority)
        rotate_up(tree, n);
}

void tree_remove(struct ordered_tree *tree, struct tree_node *n)
{
    NEEDS_LOCK();
    struct tree_node *parent = n->parent, **at = link_to(tree, n);
    struct tree_node *branch[2] = {n->child[0], n->child[1]};
    /* Merges the two branches at n's place. */
    while (branch[0] && branch[1]) {
        int higher = branch[1]->priority > branch[0]->priority;
        struct tree_node *top = branch[higher];
        top->min_value = least(branch[0]->min_value, branch[1]->min_value);
        top->parent = parent;
        *at = parent = top;
        at = &top->child[!higher];
        branch[higher] = *at;
    }
    *at = branch[0] ? branch[0] : branch[1];
    or_none(*at)->parent = parent;
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
        if (has_within(n->child[0], max_value))
            n = n->child[0];
        else if (n->value <= max_value)
            return n;
        else
            n = n->child[1];
    }
}

struct tree_node *tree_next(const struct tree_node *n, uint64_t max_value)
{
    NEEDS_LOCK();
    for (;;) {
        if (has_within(n->child[1], max_value))
            return first_within(n->child[1], max_value);
        while (n->parent && n->parent->child[1] == n)
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
        bool is_before = n->key < key;
        first = is_before ? first : n;
        n = n->child[is_before];
    }
    return first && first->value > max_value ? tree_next(first, max_value) : first;
}

struct tree_node *tree_last(const struct ordered_tree *tree, uint64_t key)
{
    NEEDS_LOCK();
    struct tree_node *last = NULL;
    for (struct tree_node *n = tree->root; n;) {
        bool is_within = n->key <= key;
        last = is_within ? n : last;
        n = n->child[is_within];
    }
    return last;
}

static void list_add(struct tree_list *list, struct tree_node *n)
{
    OS_MAKE_ROOM(list->items, list->count, list->capacity)
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
        for (int side = 0; side < 2; side++)
            if (n->child[side])
                list_add(list, n->child[side]);
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
    size_t left = count_valid(n->child[0], n), right = count_valid(n->child[1], n);
    return left == SIZE_MAX || right == SIZE_MAX ? SIZE_MAX : left + right + 1;
}

size_t tree_count_valid(const struct ordered_tree *tree)
{
    NEEDS_LOCK();
    const struct tree_node *n = tree->root;
    while (n && n->child[0])
        n = n->child[0];
    for (const struct tree_node *next; n; n = next) {
        next = tree_next(n, UINT64_MAX);
        if (next && (next->key != n->key ? next->key < n->key : next->age <= n->age))
            return SIZE_MAX;
    }
    return count_valid(tree->root, NULL);
}
