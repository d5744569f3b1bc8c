/* An ordered tree: nodes by a key and, among equal keys, by age; with a value at each node, so that
 * a search can ask for the first node whose value is not beyond a limit.
 *
 *              (4 KiB, age 7)            left: what comes before; right: what comes after
 *               /          \
 *      (512, age 9)      (1 MiB, age 2)  min_value: the least value of the node and all below it,
 *               \                        so that a search leaves out whole branches
 *            (4 KiB, age 3)
 *
 * It is a treap: the higher of two pseudo-random priorities stands above, so its depth stays near
 * the logarithm of the number of nodes whatever order they come in. A node is a part of what it
 * stands for; the tree owns nothing. All of these need the lock. */
#ifndef SIM_BASE_ORDERED_TREE_H
#define SIM_BASE_ORDERED_TREE_H

#include "base/types.h"

struct tree_node {
    uint64_t key;
    uint64_t age; /* Smaller is older; no two nodes of one tree have the same key and age. */
    struct tree_node *left, *right, *parent;
    uint64_t value;
    uint64_t min_value; /* The least value of this node and of all below it. */
    uint32_t priority;
};

struct ordered_tree {
    struct tree_node *root;
};

/* What tree_find_all found. It belongs to the caller, who zeroes it before the first search and may
 * use it for many. */
struct tree_list {
    struct tree_found {
        uint64_t value; /* The node's, so that sorting by it reads no node. */
        struct tree_node *node;
    } * items;
    size_t count, capacity;
};

/* Inserts a node whose key, age and value are set. */
void tree_insert(struct ordered_tree *tree, struct tree_node *n);
/* The same for a node that comes directly before `after`: without a search. */
void tree_insert_before(struct ordered_tree *tree, struct tree_node *n, struct tree_node *after);
void tree_remove(struct ordered_tree *tree, struct tree_node *n);

/* Returns the first in order with at least this key and a value of at most `max_value`, or NULL. */
struct tree_node *tree_first(const struct ordered_tree *tree, uint64_t key, uint64_t max_value);
/* Returns the next in order with a value of at most `max_value`, or NULL. */
struct tree_node *tree_next(const struct tree_node *n, uint64_t max_value);
/* Returns the last in order with at most this key, or NULL. */
struct tree_node *tree_last(const struct ordered_tree *tree, uint64_t key);
/* Replaces what is in the list by all nodes with a value of at most `max_value`, in no order.
 * Returns whether there is no other node. */
bool tree_find_all(const struct ordered_tree *tree, uint64_t max_value, struct tree_list *list);
/* Is there a node with a value of at most `max_value`? */
static inline bool tree_has(const struct ordered_tree *tree, uint64_t max_value)
{
    return tree->root && tree->root->min_value <= max_value;
}

/* Walks the laws: order, priorities, parents, least values. Returns the number of nodes, or
 * SIZE_MAX when one law does not hold. For tests. */
size_t tree_count_valid(const struct ordered_tree *tree);

#endif
