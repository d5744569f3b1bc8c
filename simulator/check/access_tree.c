/* The accesses of a block, found by the bytes that they touch. A treap: by the first byte, then by
 * age; the higher rank is above. Each node knows how far what lies below it reaches, so that a
 * branch which ends before the bytes that are asked for is left out. */
#include "check/access_tree.h"

#include <stdlib.h>

#include "os/os.h"

static struct access *recycled; /* by `right` */
static struct access **found;
static size_t found_count, found_capacity;

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

/* What lies left of `a` in the tree, and the rest. */
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

static struct access *merge(struct access *left, struct access *right)
{
    if (!left || !right)
        return left ? left : right;
    struct access *top = left->priority > right->priority ? left : right;
    if (top == left)
        left->right = merge(left->right, right);
    else
        right->left = merge(left, right->left);
    update_max_end(top);
    return top;
}

static void insert(struct access **at, struct access *a)
{
    if (*at && (*at)->priority >= a->priority) {
        insert(precedes(a, *at) ? &(*at)->left : &(*at)->right, a);
    } else {
        split(*at, a, &a->left, &a->right);
        *at = a;
    }
    update_max_end(*at);
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
    static uint64_t insertions;
    struct access *new = recycled;
    if (new)
        recycled = new->right;
    else
        new = os_allocate(sizeof *new);
    *new = a;
    new->insertion = insertions++;
    /* No secret, only spread. */
    new->priority = (uint32_t)(new->insertion * 0x9E3779B97F4A7C15u >> 32);
    insert(&shadow->accesses, new);
    shadow->access_count++;
}

void access_tree_remove(struct shadow *shadow, struct access *a)
{
    remove_node(&shadow->accesses, a);
    shadow->access_count--;
    a->right = recycled;
    recycled = a;
}

static void recycle_all(struct access *tree)
{
    if (!tree)
        return;
    struct access *right = tree->right;
    recycle_all(tree->left);
    tree->right = recycled;
    recycled = tree;
    recycle_all(right);
}

void access_tree_clear(struct shadow *shadow)
{
    recycle_all(shadow->accesses);
    shadow->accesses = NULL;
    shadow->access_count = 0;
}

static void collect(struct access *tree, size_t from, size_t to)
{
    if (!tree || tree->max_end < from)
        return;
    collect(tree->left, from, to);
    if (tree->from > to)
        return;
    if (tree->to >= from) {
        if (found_count == found_capacity) {
            found_capacity = found_capacity ? 2 * found_capacity : 64;
            found = os_grow(found, found_capacity * sizeof *found);
        }
        found[found_count++] = tree;
    }
    collect(tree->right, from, to);
}

static int newer(const void *left, const void *right)
{
    const struct access *a = *(struct access *const *)left, *b = *(struct access *const *)right;
    return a->insertion < b->insertion ? 1 : -1;
}

struct access **access_tree_find(const struct shadow *shadow, size_t from, size_t to, size_t *count)
{
    found_count = 0;
    collect(shadow->accesses, from, to);
    if (found_count > 1)
        qsort(found, found_count, sizeof *found, newer);
    *count = found_count;
    return found;
}
