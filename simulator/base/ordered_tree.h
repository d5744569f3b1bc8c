/* An ordered tree. Its nodes are ordered by key and, among equal keys, by age. Each node also has a
 * value, and a search can ask for the first node whose value does not exceed a limit.
 *
 *              (4 KiB, age 7)            left: what comes before; right: what comes after
 *               /          \
 *      (512, age 9)      (1 MiB, age 2)  min_value: the least value of the node and all below it,
 *               \                        so that a search leaves out whole branches
 *            (4 KiB, age 3)
 *
 * It is a treap: a node's pseudo-random priority is never higher than its parent's, so the depth
 * stays near the logarithm of the number of nodes in whatever order they are inserted. Nodes are
 * embedded in the caller's objects, and the tree owns none. All functions here need the lock. */
#ifndef SIM_BASE_ORDERED_TREE_H
#define SIM_BASE_ORDERED_TREE_H

#include "base/types.h"

struct tree_node {
    uint64_t key;
    uint64_t age; /* Smaller is older. Key and age together are unique in a tree. */
    struct tree_node *child[2], *parent; /* What comes before, and what comes after. */
    uint64_t value;
    uint64_t min_value; /* The least value of this node and all below it. */
    uint32_t priority;
};

struct ordered_tree {
    struct tree_node *root;
};

/* The result of tree_find_all. The caller owns it, zeroes it before the first search, and may use
 * it for many searches. */
struct tree_list {
    struct tree_found {
        uint64_t value; /* A copy of the node's value, so that sorting reads no nodes. */
        struct tree_node *node;
    } * items;
    size_t count, capacity;
};

/* Inserts a node whose key, age, and value are set. */
void tree_insert(struct ordered_tree *tree, struct tree_node *n);
void tree_remove(struct ordered_tree *tree, struct tree_node *n);

/* Returns the first node with at least this key and a value of at most `max_value`, or NULL. */
struct tree_node *tree_first(const struct ordered_tree *tree, uint64_t key, uint64_t max_value);
/* Returns the next node, in order, with a value of at most `max_value`, or NULL. */
struct tree_node *tree_next(const struct tree_node *n, uint64_t max_value);
/* Returns the last node, in order, with at most this key, or NULL. */
struct tree_node *tree_last(const struct ordered_tree *tree, uint64_t key);
/* Replaces the list with all nodes that have a value of at most `max_value`, in no order. Returns
 * whether these are all nodes of the tree. */
bool tree_find_all(const struct ordered_tree *tree, uint64_t max_value, struct tree_list *list);
/* Returns whether any node has a value of at most `max_value`. */
static inline bool tree_has(const struct ordered_tree *tree, uint64_t max_value)
{
    return tree->root && tree->root->min_value <= max_value;
}

/* For tests: checks the order, priorities, parents, and least values. Returns the number of nodes,
 * or SIZE_MAX if an invariant does not hold. */
size_t tree_count_valid(const struct ordered_tree *tree);

#endif
