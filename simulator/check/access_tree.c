/* The accesses of one allocation, found by the bytes that they touch: an ordered tree by the first
 * byte, then by age. The value of each is how far before the end of all memory it ends, so that a
 * search leaves out the branches that end before the bytes that are asked for. */
#include "check/access_tree.h"

#include <stdlib.h>

#include "os/os.h"

/* Law: what is recycled is in no tree. Needs the lock. */
static struct {
    struct tree_node *recycled; /* Linked by `left`. */
    uint64_t insertions;        /* How many accesses were ever added: the age of the next. */
} accesses;

static struct access *access_of(struct tree_node *n)
{
    return (struct access *)((char *)n - offsetof(struct access, node));
}

static struct access *access_new(void)
{
    struct tree_node *n = accesses.recycled;
    if (!n)
        return os_allocate(sizeof(struct access));
    accesses.recycled = n->left;
    return access_of(n);
}

static void recycle(struct tree_node *n)
{
    n->left = accesses.recycled;
    accesses.recycled = n;
}

void access_tree_add(struct shadow *shadow, struct access a)
{
    struct access *new = access_new();
    *new = a;
    new->node.key = a.from;
    new->node.age = accesses.insertions++;
    new->node.value = UINT64_MAX - a.to;
    tree_insert(&shadow->accesses, &new->node);
    shadow->access_count++;
}

void access_tree_remove(struct shadow *shadow, struct access *a)
{
    tree_remove(&shadow->accesses, &a->node);
    shadow->access_count--;
    recycle(&a->node);
}

/* `n` is not NULL. */
static void recycle_all(struct tree_node *n)
{
    struct tree_node *left = n->left;
    if (n->right)
        recycle_all(n->right);
    recycle(n);
    if (left)
        recycle_all(left);
}

void access_tree_clear(struct shadow *shadow)
{
    if (shadow->accesses.root)
        recycle_all(shadow->accesses.root);
    shadow->accesses.root = NULL;
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

static int newer(const void *left, const void *right)
{
    const struct access *a = *(struct access *const *)left;
    const struct access *b = *(struct access *const *)right;
    return a->node.age < b->node.age ? 1 : -1;
}

void access_tree_find(const struct shadow *shadow, size_t from, size_t to, struct access_list *list)
{
    uint64_t max_value = UINT64_MAX - from;
    struct tree_node *n = tree_first(&shadow->accesses, 0, max_value);
    list->count = 0;
    for (; n && n->key <= to; n = tree_next(n, max_value))
        list_add(list, access_of(n));
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, newer);
}

void access_list_clear(struct access_list *list)
{
    os_free(list->items);
    *list = (struct access_list){NULL, 0, 0};
}
