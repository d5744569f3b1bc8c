/* The accesses of one allocation, found by the bytes that they touch, in trees ordered by first
 * byte and then by age.
 *
 * In the trees of writes and of reads, a node's value is the distance from its end to the end of
 * all memory, so that a search skips branches that end before the wanted bytes. There may be many
 * reads, which do not conflict with each other, so a new read only looks for writes and for the
 * reads that it covers. In the tree for the latter, the value is the end, so that a search skips
 * branches that end after the wanted bytes. */
#include "check/access_tree.h"

#include <stdlib.h>

#include "os/needs_lock.h"
#include "os/os.h"

/* Needs the lock. Invariant: recycled nodes are in no tree, recycled trees in no shadow. */
static struct {
    struct tree_node *recycled; /* Linked by `left`. */
    struct access_trees *recycled_trees;
    uint64_t insertions; /* The number of accesses ever added, which is the age of the next. */
} accesses;

static struct access *access_of(struct tree_node *n)
{
    return (struct access *)((char *)n - offsetof(struct access, node));
}

static struct access *access_of_covered(struct tree_node *n)
{
    return (struct access *)((char *)n - offsetof(struct access, covered_node));
}

static struct access *access_new(void)
{
    struct tree_node *n = accesses.recycled;
    if (!n)
        return os_allocate(sizeof(struct access));
    accesses.recycled = n->child[0];
    return access_of(n);
}

static void recycle(struct tree_node *n)
{
    os_free(access_of(n)->bytes);
    n->child[0] = accesses.recycled;
    accesses.recycled = n;
}

static struct access_trees *trees_new(void)
{
    struct access_trees *trees = accesses.recycled_trees;
    if (!trees)
        return os_allocate(sizeof *trees);
    accesses.recycled_trees = trees->next;
    *trees = (struct access_trees){.count = 0};
    return trees;
}

void access_tree_add(struct shadow *shadow, struct access a)
{
    if (!shadow->accesses)
        shadow->accesses = trees_new();
    struct access_trees *trees = shadow->accesses;
    struct access *added = access_new();
    *added = a;
    added->node.key = a.from;
    added->node.age = accesses.insertions++;
    added->node.value = UINT64_MAX - a.to;
    trees->count++;
    if (a.write) {
        tree_insert(&trees->writes, &added->node);
        return;
    }
    added->covered_node.key = a.from;
    added->covered_node.age = added->node.age;
    added->covered_node.value = a.to;
    tree_insert(&trees->reads, &added->node);
    tree_insert(&trees->covered_reads, &added->covered_node);
}

void access_tree_remove(struct shadow *shadow, struct access *a)
{
    struct access_trees *trees = shadow->accesses;
    trees->count--;
    tree_remove(a->write ? &trees->writes : &trees->reads, &a->node);
    if (!a->write)
        tree_remove(&trees->covered_reads, &a->covered_node);
    recycle(&a->node);
}

/* `n` is not NULL. */
static void recycle_all(struct tree_node *n)
{
    struct tree_node *left = n->child[0];
    if (n->child[1])
        recycle_all(n->child[1]);
    recycle(n);
    if (left)
        recycle_all(left);
}

void access_tree_clear(struct shadow *shadow)
{
    NEEDS_LOCK();
    struct access_trees *trees = shadow->accesses;
    if (!trees)
        return;
    if (trees->writes.root)
        recycle_all(trees->writes.root);
    if (trees->reads.root)
        recycle_all(trees->reads.root);
    trees->next = accesses.recycled_trees;
    accesses.recycled_trees = trees;
    shadow->accesses = NULL;
}

static void list_add(struct access_list *list, struct access *a)
{
    OS_MAKE_ROOM(list->items, list->count, list->capacity)
    list->items[list->count++] = a;
}

static int newer(const void *left, const void *right)
{
    const struct access *a = *(struct access *const *)left;
    const struct access *b = *(struct access *const *)right;
    return a->node.age < b->node.age ? 1 : -1;
}

static void find_in(const struct ordered_tree *tree, size_t from, size_t to,
                    struct access_list *list)
{
    uint64_t max_value = UINT64_MAX - from;
    struct tree_node *n = tree_first(tree, 0, max_value);
    for (; n && n->key <= to; n = tree_next(n, max_value))
        list_add(list, access_of(n));
}

void access_tree_find(const struct shadow *shadow, size_t from, size_t to, bool reads,
                      struct access_list *list)
{
    NEEDS_LOCK();
    list->count = 0;
    if (!shadow->accesses)
        return;
    find_in(&shadow->accesses->writes, from, to, list);
    if (reads)
        find_in(&shadow->accesses->reads, from, to, list);
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, newer);
}

void access_tree_find_covered_reads(const struct shadow *shadow, size_t from, size_t to,
                                    struct access_list *list)
{
    list->count = 0;
    if (!shadow->accesses)
        return;
    struct tree_node *n = tree_first(&shadow->accesses->covered_reads, from, to);
    for (; n && n->key <= to; n = tree_next(n, to))
        list_add(list, access_of_covered(n));
}

void access_list_clear(struct access_list *list)
{
    NEEDS_LOCK();
    os_free(list->items);
    *list = (struct access_list){NULL, 0, 0};
}
