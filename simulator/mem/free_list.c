/* The treap of free chunks, and its chains. */
#include "mem/free_list.h"

static bool has_seq_within(const struct free_node *branch, uint64_t max_seq)
{
    return branch && branch->min_seq <= max_seq;
}

static uint64_t min_seq_of(const struct free_node *n)
{
    uint64_t min = n->free_seq;
    if (n->left && n->left->min_seq < min)
        min = n->left->min_seq;
    if (n->right && n->right->min_seq < min)
        min = n->right->min_seq;
    if (n->next && n->next->min_seq < min)
        min = n->next->min_seq;
    return min;
}

/* Is it in the tree? Else it follows another in a chain. */
static bool is_head(const struct free_node *n) { return !n->parent || n->parent->next != n; }

/* Where the list remembers a chain of this size. */
static size_t hot_index(size_t bytes)
{
    return bytes / ALIGNMENT * 0x9E3779B97F4A7C15u >> (64 - FREE_LIST_HOT_BITS);
}

/* The oldest chunk of a size that is remembered, or NULL. */
static struct free_node *hot_find(const struct free_list *list, size_t bytes)
{
    struct free_node *n = list->hot[hot_index(bytes)];
    return n && n->bytes == bytes ? n : NULL;
}

/* Puts a branch (NULL: nothing) where f is below its parent. */
static void replace(struct free_list *list, const struct free_node *n, struct free_node *branch)
{
    struct free_node *parent = n->parent;
    if (!parent)
        list->root = branch;
    else if (parent->left == n)
        parent->left = branch;
    else if (parent->right == n)
        parent->right = branch;
    else
        parent->next = branch;
    if (branch)
        branch->parent = parent;
}

/* Puts another one of the same size into the tree in the place of f, which leaves it. */
static void replace_head(struct free_list *list, struct free_node *n, struct free_node *other)
{
    replace(list, n, other);
    other->left = n->left;
    other->right = n->right;
    if (other->left)
        other->left->parent = other;
    if (other->right)
        other->right->parent = other;
    other->tail = n->tail;
    other->priority = n->priority;
    list->hot[hot_index(n->bytes)] = other;
    n->left = n->right = NULL;
}

/* Makes f the parent of its parent; the order stays. Both are in the tree. */
static void rotate_up(struct free_list *list, struct free_node *n)
{
    struct free_node *p = n->parent, *between;
    replace(list, p, n);
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
    n->min_seq = p->min_seq;
    p->min_seq = min_seq_of(p);
}

/* ---- inserting and removing ---- */

/* A new size: `at` is its place, below f->parent. */
static void tree_insert(struct free_list *list, struct free_node **at, struct free_node *n)
{
    /* xorshift32; the ranks need no secret, only to be spread. */
    static uint32_t random = 2463534242u;
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    n->priority = random;
    n->tail = n;
    *at = n;
    for (struct free_node *p = n->parent; p && p->min_seq > n->free_seq; p = p->parent)
        p->min_seq = n->free_seq;
    while (n->parent && n->priority > n->parent->priority)
        rotate_up(list, n);
    list->hot[hot_index(n->bytes)] = n;
}

/* Joins the chain of its size: nearly always at the end. */
static void chain_insert(struct free_list *list, struct free_node *head, struct free_node *n)
{
    struct free_node *before = head->tail;
    while (before->insertion > n->insertion && before != head)
        before = before->parent;
    if (before->insertion > n->insertion) {
        replace_head(list, head, n);
        n->next = head;
        head->parent = n;
        head->min_seq = min_seq_of(head);
        n->min_seq = min_seq_of(n);
    } else {
        n->next = before->next;
        if (n->next)
            n->next->parent = n;
        else
            head->tail = n;
        before->next = n;
        n->parent = before;
        n->min_seq = min_seq_of(n);
        list->hot[hot_index(n->bytes)] = head;
    }
    for (struct free_node *p = n->parent; p && p->min_seq > n->free_seq; p = p->parent)
        p->min_seq = n->free_seq;
}

void free_list_insert(struct free_list *list, struct free_node *n)
{
    n->min_seq = n->free_seq;
    n->left = n->right = n->next = n->parent = NULL;
    struct free_node *same = hot_find(list, n->bytes), **at = &list->root;
    if (!same) {
        while (*at && (*at)->bytes != n->bytes) {
            n->parent = *at;
            at = n->bytes < n->parent->bytes ? &n->parent->left : &n->parent->right;
        }
        same = *at;
    }
    if (same)
        chain_insert(list, same, n);
    else
        tree_insert(list, at, n);
}

static struct free_node *head_of(const struct free_list *list, size_t bytes)
{
    struct free_node *n = hot_find(list, bytes);
    if (n)
        return n;
    for (n = list->root; n->bytes != bytes;)
        n = bytes < n->bytes ? n->left : n->right;
    return n;
}

void free_list_remove(struct free_list *list, struct free_node *n)
{
    struct free_node *next = n->next, **hot = &list->hot[hot_index(n->bytes)];
    if (!is_head(n)) {
        if (!next)
            head_of(list, n->bytes)->tail = n->parent;
        replace(list, n, next);
    } else if (next) {
        replace_head(list, n, next);
        next->min_seq = min_seq_of(next);
    } else {
        if (*hot == n)
            *hot = NULL;
        while (n->left && n->right)
            rotate_up(list, n->left->priority > n->right->priority ? n->left : n->right);
        replace(list, n, n->left ? n->left : n->right);
    }
    for (struct free_node *p = n->parent; p && p->min_seq == n->free_seq; p = p->parent) {
        p->min_seq = min_seq_of(p);
        if (p->min_seq == n->free_seq)
            return; /* another has the same mark */
    }
}

/* ---- searching ---- */

/* The first in order of a branch that is within the limit. */
static struct free_node *first_within(struct free_node *n, uint64_t max_seq)
{
    for (;;) {
        if (has_seq_within(n->left, max_seq))
            n = n->left;
        else if (n->free_seq <= max_seq)
            return n;
        else
            n = has_seq_within(n->next, max_seq) ? n->next : n->right;
    }
}

struct free_node *free_list_next(const struct free_node *n, uint64_t max_seq)
{
    if (has_seq_within(n->next, max_seq))
        return first_within(n->next, max_seq);
    for (;; n = n->parent) {
        if (has_seq_within(n->right, max_seq))
            return first_within(n->right, max_seq);
        while (n->parent && n->parent->right == n)
            n = n->parent;
        struct free_node *p = n->parent;
        if (!p)
            return NULL;
        if (p->left != n)
            continue; /* it was in the chain of p */
        if (p->free_seq <= max_seq)
            return p;
        if (has_seq_within(p->next, max_seq))
            return first_within(p->next, max_seq);
    }
}

struct free_node *free_list_best_fit(const struct free_list *list, size_t bytes, uint64_t max_seq)
{
    if (!free_list_has(list, max_seq))
        return NULL;
    struct free_node *best = hot_find(list, bytes);
    for (struct free_node *n = best ? NULL : list->root; n;) {
        if (n->bytes >= bytes) {
            best = n;
            n = n->left;
        } else
            n = n->right;
    }
    return best && best->free_seq > max_seq ? free_list_next(best, max_seq) : best;
}

/* ---- the laws ---- */

/* The nodes of a chain behind its oldest. */
static size_t count_chain(const struct free_node *head)
{
    size_t count = 0;
    const struct free_node *n = head;
    for (; n->next; n = n->next, count++) {
        const struct free_node *next = n->next;
        if (next->parent != n || next->bytes != n->bytes || next->insertion <= n->insertion
            || next->min_seq != min_seq_of(next) || next->left || next->right)
            return SIZE_MAX;
    }
    return head->tail == n ? count : SIZE_MAX;
}

/* The nodes of a branch whose sizes all lie above `low` and below `high` and whose ranks are no
 * higher than their parent's. */
static size_t count_valid(const struct free_node *n, const struct free_node *parent, size_t low,
                          size_t high)
{
    if (!n)
        return 0;
    if (n->parent != parent || (parent && n->priority > parent->priority) || n->bytes <= low
        || n->bytes >= high || n->min_seq != min_seq_of(n))
        return SIZE_MAX;
    size_t chain = count_chain(n), left = count_valid(n->left, n, low, n->bytes),
           right = count_valid(n->right, n, n->bytes, high);
    return chain == SIZE_MAX || left == SIZE_MAX || right == SIZE_MAX ? SIZE_MAX
                                                                      : left + right + chain + 1;
}

size_t free_list_count_valid(const struct free_list *list)
{
    for (size_t i = 0; i < (size_t)1 << FREE_LIST_HOT_BITS; i++) {
        const struct free_node *n = list->root, *hot = list->hot[i];
        while (n && hot && n != hot)
            n = hot->bytes < n->bytes ? n->left : n->right;
        if (hot && (!n || hot_index(hot->bytes) != i))
            return SIZE_MAX;
    }
    return count_valid(list->root, NULL, 0, SIZE_MAX);
}
