/* The accesses of one allocation, found by the bytes that they touch: a treap, ordered by the first
 * byte, then by age; the higher priority is above. */
#include "check/access_tree.h"

#include <stdlib.h>

#include "os/os.h"

/* Law, for each node: what is left of it precedes it, what is right of it does not; its priority is
 * at least that of its children; max_end is the largest `to` of the node and of all below it, so
 * that a branch which ends before the bytes that are asked for is left out. Needs the lock. */
static struct {
    /* Nodes that are in no tree, linked by `right`. */
    struct access *recycled;
    /* How many accesses were ever added: the age of the next. */
    uint64_t insertions;
} nodes;

static bool precedes(const struct access *a, const struct access *b)
{
    return a->from != b->from ? a->from < b->from : a->insertion < b->insertion;
}

static void update_max_end(struct access *a)
{
    a->max_end = a->to;
    if (a->left && a->left->max_end > a->max_end)
        a->max_end = a->left->max_end;
    if (a->right && a->right->max_end > a->max_end)
        a->max_end = a->right->max_end;
}

/* Splits a tree into the nodes that precede `a` and the others. */
static void split(struct access *tree, const struct access *a, struct access **left,
                  struct access **right)
{
    if (!tree) {
        *left = *right = NULL;
    } else if (precedes(tree, a)) {
        *left = tree;
        split(tree->right, a, &tree->right, right);
        update_max_end(tree);
    } else {
        *right = tree;
        split(tree->left, a, left, &tree->left);
        update_max_end(tree);
    }
}

/* Joins two trees of which every node of the first precedes every node of the second. */
static struct access *merge(struct access *left, struct access *right)
{
    if (!left || !right)
        return left ? left : right;
    if (left->priority > right->priority) {
        left->right = merge(left->right, right);
        update_max_end(left);
        return left;
    }
    right->left = merge(left, right->left);
    update_max_end(right);
    return right;
}

/* Inserts `a` into the tree *at, which is not empty. */
static void insert(struct access **at, struct access *a)
{
    while (*at && (*at)->priority >= a->priority) {
        if ((*at)->max_end < a->to)
            (*at)->max_end = a->to;
        at = precedes(a, *at) ? &(*at)->left : &(*at)->right;
    }
    split(*at, a, &a->left, &a->right);
    update_max_end(a);
    *at = a;
}

static void remove_node(struct access **at, struct access *a)
{
    if (*at == a) {
        *at = merge(a->left, a->right);
        return;
    }
    remove_node(precedes(a, *at) ? &(*at)->left : &(*at)->right, a);
    update_max_end(*at);
}

void access_tree_add(struct shadow *shadow, struct access a)
{
    struct access *new = nodes.recycled;
    if (new)
        nodes.recycled = new->right;
    else
        new = os_allocate(sizeof *new);
    *new = a;
    new->insertion = nodes.insertions++;
    /* The priority must be spread; it needs not be secret. */
    new->priority = (uint32_t)(new->insertion * 0x9E3779B97F4A7C15u >> 32);
    new->left = new->right = NULL;
    new->max_end = new->to;
    if (shadow->accesses)
        insert(&shadow->accesses, new);
    else
        shadow->accesses = new;
    shadow->access_count++;
}

void access_tree_remove(struct shadow *shadow, struct access *a)
{
    remove_node(&shadow->accesses, a);
    shadow->access_count--;
    a->right = nodes.recycled;
    nodes.recycled = a;
}

/* `tree` is not empty. */
static void recycle_all(struct access *tree)
{
    if (tree->left)
        recycle_all(tree->left);
    if (tree->right)
        recycle_all(tree->right);
    tree->right = nodes.recycled;
    nodes.recycled = tree;
}

void access_tree_clear(struct shadow *shadow)
{
    if (shadow->accesses)
        recycle_all(shadow->accesses);
    shadow->accesses = NULL;
    shadow->access_count = 0;
}

static void list_add(struct access_list *list, struct access *a)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->items = os_grow(list->items, list->capacity * sizeof *list->items);
    }
    list->items[list->count++] = a;
}

/* `tree` is not empty. */
static void collect(struct access *tree, size_t from, size_t to, struct access_list *list)
{
    if (tree->left && tree->left->max_end >= from)
        collect(tree->left, from, to, list);
    if (tree->from > to)
        return;
    if (tree->to >= from)
        list_add(list, tree);
    if (tree->right && tree->right->max_end >= from)
        collect(tree->right, from, to, list);
}

static int newer(const void *left, const void *right)
{
    const struct access *a = *(struct access *const *)left;
    const struct access *b = *(struct access *const *)right;
    return a->insertion < b->insertion ? 1 : -1;
}

void access_tree_find(const struct shadow *shadow, size_t from, size_t to, struct access_list *list)
{
    list->count = 0;
    if (shadow->accesses)
        collect(shadow->accesses, from, to, list);
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, newer);
}

void access_list_clear(struct access_list *list)
{
    os_free(list->items);
    *list = (struct access_list){NULL, 0, 0};
}
