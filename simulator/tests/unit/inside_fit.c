/* Compares the ordered tree with a search of all nodes after each of many random steps: the first
 * under a limit, the next in order, all under a limit, and the last up to a key. Also checks the
 * tree's invariants. With few keys the ages decide, with many the keys; some nodes return with an
 * old age.
 *
 *   inside_fit STEPS KEYS [SEED] */
#define _GNU_SOURCE
#include "base/ordered_tree.h"
#include "walk.h"

#define NODES 200

static struct {
    struct tree_node node;
    bool listed;
} nodes[NODES];
static struct ordered_tree tree;
static uint64_t ages;

static bool is_before(const struct tree_node *a, const struct tree_node *b)
{
    return a->key != b->key ? a->key < b->key : a->age < b->age;
}

/* Returns the first node in order after `after` (NULL: of all) with at least this key and a value
 * of at most `limit`. */
static struct tree_node *search(const struct tree_node *after, uint64_t key, uint64_t limit)
{
    struct tree_node *first = NULL;
    for (int i = 0; i < NODES; i++) {
        struct tree_node *f = &nodes[i].node;
        if (nodes[i].listed && f->key >= key && f->value <= limit && (!after || is_before(after, f))
            && (!first || is_before(f, first)))
            first = f;
    }
    return first;
}

/* Returns the last node in order with at most this key. */
static struct tree_node *search_last(uint64_t key)
{
    struct tree_node *last = NULL;
    for (int i = 0; i < NODES; i++) {
        struct tree_node *f = &nodes[i].node;
        if (nodes[i].listed && f->key <= key && (!last || is_before(last, f)))
            last = f;
    }
    return last;
}

/* Returns whether tree_find_all returns each node up to the limit once, and whether there are
 * others. */
static bool finds_all(uint64_t limit)
{
    static struct tree_list list;
    bool found[NODES] = {false}, has_others = false;
    bool alone = tree_find_all(&tree, limit, &list);
    for (size_t i = 0; i < list.count; i++) {
        const char *node = (const char *)list.items[i].node;
        size_t at = (size_t)(node - (const char *)nodes) / sizeof *nodes;
        if (found[at] || list.items[i].value != nodes[at].node.value)
            return false;
        found[at] = true;
    }
    for (int i = 0; i < NODES; i++) {
        bool within = nodes[i].listed && nodes[i].node.value <= limit;
        has_others |= nodes[i].listed && !within;
        if (found[i] != within)
            return false;
    }
    return alone != has_others;
}

static size_t some_key(uint32_t keys) { return ALIGNMENT * (1 + pick(keys)) * (pick(2) ? 1 : 77); }

/* Returns an unused age: even and new, or odd and anywhere among the old ones. */
static uint64_t age(void)
{
    if (pick(10))
        return ages += 2;
    uint64_t old = 2 * (uint64_t)pick((uint32_t)ages / 2 + 1) + 1;
    for (int i = 0; i < NODES; i++)
        if (nodes[i].node.age == old)
            return ages += 2;
    return old;
}

/* Inserts a node that is not in the tree, or removes it. */
static void change(int i, uint32_t keys)
{
    struct tree_node *f = &nodes[i].node;
    if (nodes[i].listed)
        tree_remove(&tree, f);
    else {
        f->key = some_key(keys);
        f->age = age();
        f->value = pick(3) ? ages : pick((uint32_t)ages + 1);
        tree_insert(&tree, f);
    }
    nodes[i].listed = !nodes[i].listed;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "inside_fit STEPS KEYS [SEED]\n");
        return 2;
    }
    unsigned long steps = strtoul(argv[1], NULL, 10);
    uint32_t keys = (uint32_t)strtoul(argv[2], NULL, 10);
    state = 88172645463325252u + (argc > 3 ? strtoul(argv[3], NULL, 10) : 0);
    lock_acquire();
    for (step = 1; step <= steps; step++) {
        change((int)pick(NODES), keys);
        size_t key = some_key(keys), count = 0;
        uint64_t limit = pick(3) ? pick((uint32_t)ages + 1) : UINT64_MAX;
        uint32_t from = pick(NODES);
        for (int i = 0; i < NODES; i++)
            count += nodes[i].listed;
        if (tree_first(&tree, key, limit) != search(NULL, key, limit))
            wrong("tree_first does not find the first");
        if (tree_last(&tree, key) != search_last(key))
            wrong("tree_last does not find the last");
        if (tree_has(&tree, limit) != (search(NULL, 0, limit) != NULL))
            wrong("tree_has does not know whether there is one");
        if (nodes[from].listed
            && tree_next(&nodes[from].node, limit) != search(&nodes[from].node, 0, limit))
            wrong("tree_next does not find the next");
        if (!finds_all(limit))
            wrong("tree_find_all does not find all");
        if (tree_count_valid(&tree) != count)
            wrong("the tree is out of order, or lacks a node");
    }
    lock_release();
    return 0;
}
