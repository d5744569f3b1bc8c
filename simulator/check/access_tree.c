/* The accesses of a block, found by the bytes that they touch. A treap: by the first byte, then by age; the higher rank is above. Each node knows how far
 * what lies below it reaches, so that a branch which ends before the bytes that are asked for is left out. */
#include "check/access_tree.h"

#include <stdlib.h>

#include "os/os.h"

static struct access *spare;           /* by `right` */
static struct access **found;
static size_t found_count, found_room;

static bool is_left(const struct access *a, const struct access *b) { return a->from != b->from ? a->from < b->from : a->age < b->age; }

static void measure(struct access *a)
{
    a->reach = a->to;
    if (a->left && a->left->reach > a->reach) a->reach = a->left->reach;
    if (a->right && a->right->reach > a->reach) a->reach = a->right->reach;
}

/* What lies left of `a` in the tree, and the rest. */
static void split(struct access *tree, const struct access *a, struct access **left, struct access **right)
{
    if (!tree) {
        *left = *right = NULL;
    } else if (is_left(tree, a)) {
        *left = tree;
        split(tree->right, a, &tree->right, right);
        measure(tree);
    } else {
        *right = tree;
        split(tree->left, a, left, &tree->left);
        measure(tree);
    }
}

static struct access *join(struct access *left, struct access *right)
{
    if (!left || !right) return left ? left : right;
    struct access *top = left->rank > right->rank ? left : right;
    if (top == left) left->right = join(left->right, right);
    else right->left = join(left, right->left);
    measure(top);
    return top;
}

static void insert(struct access **at, struct access *a)
{
    if (*at && (*at)->rank >= a->rank) {
        insert(is_left(a, *at) ? &(*at)->left : &(*at)->right, a);
    } else {
        split(*at, a, &a->left, &a->right);
        *at = a;
    }
    measure(*at);
}

static void take_out(struct access **at, struct access *a)
{
    if (*at == a) {
        *at = join(a->left, a->right);
        return;
    }
    take_out(is_left(a, *at) ? &(*at)->left : &(*at)->right, a);
    measure(*at);
}

void accesses_add(struct watch *w, struct access a)
{
    static uint64_t age;
    struct access *new = spare;
    if (new) spare = new->right;
    else new = host_allocate(sizeof *new);
    *new = a;
    new->age = age++;
    new->rank = (uint32_t)(new->age * 0x9E3779B97F4A7C15u >> 32);      /* no secret, only spread */
    insert(&w->accesses, new);
    w->access_count++;
}

void accesses_remove(struct watch *w, struct access *a)
{
    take_out(&w->accesses, a);
    w->access_count--;
    a->right = spare;
    spare = a;
}

static void remove_all(struct access *tree)
{
    if (!tree) return;
    struct access *right = tree->right;
    remove_all(tree->left);
    tree->right = spare;
    spare = tree;
    remove_all(right);
}

void accesses_remove_all(struct watch *w)
{
    remove_all(w->accesses);
    w->accesses = NULL;
    w->access_count = 0;
}

static void find(struct access *tree, size_t from, size_t to)
{
    if (!tree || tree->reach < from) return;
    find(tree->left, from, to);
    if (tree->from > to) return;
    if (tree->to >= from) {
        if (found_count == found_room) {
            found_room = found_room ? 2 * found_room : 64;
            found = host_grow(found, found_room * sizeof *found);
        }
        found[found_count++] = tree;
    }
    find(tree->right, from, to);
}

static int newer(const void *left, const void *right)
{
    const struct access *a = *(struct access *const *)left, *b = *(struct access *const *)right;
    return a->age < b->age ? 1 : -1;
}

struct access **accesses_near(const struct watch *w, size_t from, size_t to, size_t *count)
{
    found_count = 0;
    find(w->accesses, from, to);
    if (found_count > 1) qsort(found, found_count, sizeof *found, newer);
    *count = found_count;
    return found;
}
