/* Compares structures of the simulated device with plain ones after each of many random steps.
 *
 *   inside_structures tree STEPS KEYS      the ordered tree, with a search of all nodes
 *   inside_structures clocks STEPS SLOTS   vector clocks, with arrays; the slots lie 1, 16 or more
 *                                          apart */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ordered_tree.h"
#include "os/os.h"
#include "sched/vector_clock.h"

static uint64_t state;
static unsigned long step;

/* Returns a number below n. */
static uint32_t pick(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

/* Ends the process without what runs at an end, because the lock is held. */
static void wrong(const char *what)
{
    fprintf(stderr, "inside_structures: after step %lu: %s\n", step, what);
    os_exit(1);
}

/* ---- the ordered tree ----
 *
 * What is compared: the first under a limit, the next in order, all under a limit, the last up to a
 * key. With few keys the ages decide, with many the keys; some nodes return with an old age. */

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

static void change_tree(uint32_t keys)
{
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

/* ---- vector clocks, of streams that record, wait, are synchronized with, and end ---- */

#define STREAMS 40
#define RECORDS 60

static uint32_t slots;

/* A clock and its expected contents: one epoch for each stream. */
struct pair {
    struct vector_clock clock;
    uint64_t epochs[STREAMS];
};

static struct {
    struct pair before;
    uint64_t last_seq;
} streams[STREAMS];
static struct {
    struct pair before;
    uint32_t stream;
    uint64_t seq;
} records[RECORDS];
static struct pair host;
/* The host's clock at some time, as others were shown it. */
static struct pair shown;

static uint32_t slot_of(uint32_t stream) { return stream * (slots / STREAMS); }

static void join_array(struct pair *into, const struct pair *from)
{
    for (int i = 0; i < STREAMS; i++)
        if (into->epochs[i] < from->epochs[i])
            into->epochs[i] = from->epochs[i];
}

static void join(struct pair *into, const struct pair *from)
{
    vc_join(&into->clock, &from->clock);
    join_array(into, from);
}

static void set(struct pair *p, uint32_t stream, uint64_t epoch)
{
    vc_set(&p->clock, slot_of(stream), epoch);
    if (p->epochs[stream] < epoch)
        p->epochs[stream] = epoch;
}

static void clear(struct pair *p)
{
    vc_clear(&p->clock);
    memset(p->epochs, 0, sizeof p->epochs);
}

static void record(uint32_t stream, uint32_t r)
{
    clear(&records[r].before);
    records[r].stream = stream;
    records[r].seq = ++streams[stream].last_seq;
    join(&records[r].before, &streams[stream].before);
}

static void wait_for(uint32_t stream, uint32_t r)
{
    struct pair *into = &streams[stream].before, *from = &records[r].before;
    if (!records[r].seq)
        return;
    streams[stream].last_seq++;
    join(into, from);
    set(into, records[r].stream, records[r].seq);
}

static void synchronize(uint32_t stream)
{
    join(&host, &streams[stream].before);
    set(&host, stream, streams[stream].last_seq);
}

static void change_clocks(void)
{
    uint32_t stream = pick(STREAMS), r = pick(RECORDS);
    switch (pick(20)) {
    case 0: synchronize(stream); break;
    case 1: join(&streams[stream].before, &host); break;
    case 9:
        clear(&shown);
        join(&shown, &host);
        break;
    case 2:
        if (pick(8) == 0)
            /* The slot now belongs to another stream, which has nothing yet. */
            clear(&streams[stream].before);
        break;
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
    case 8: record(stream, r); break;
    default: wait_for(stream, r); break;
    }
}

static bool agrees(const struct pair *p)
{
    uint32_t count = 0, found = 0;
    for (uint32_t i = 0; i < STREAMS; i++) {
        uint64_t epoch = vc_epoch(&p->clock, slot_of(i));
        if (epoch != p->epochs[i])
            return false;
        count += epoch != 0;
    }
    for (uint32_t at = vc_next(&p->clock, 0); at != CLOCK_END; at = vc_next(&p->clock, at + 1))
        found++;
    return found == count;
}

/* Returns whether a search for what `known` lacks finds the right slots in order. */
static bool differs_as_it_should(const struct pair *p, const struct pair *known)
{
    uint32_t at = vc_next_beyond(&p->clock, &known->clock, 0);
    for (uint32_t i = 0; i < STREAMS; i++) {
        if (vc_epoch(&p->clock, slot_of(i)) <= vc_epoch(&known->clock, slot_of(i)))
            continue;
        if (at != slot_of(i))
            return false;
        at = vc_next_beyond(&p->clock, &known->clock, at + 1);
    }
    return at == CLOCK_END;
}

static void check_clocks(void)
{
    uint32_t stream = pick(STREAMS), r = pick(RECORDS);
    if (!agrees(&host) || !agrees(&streams[stream].before) || !agrees(&records[r].before))
        wrong("a clock is not what the arrays say");
    if (!differs_as_it_should(&host, &shown)
        || !differs_as_it_should(&streams[stream].before, &host)
        || !differs_as_it_should(&shown, &records[r].before))
        wrong("the search for what another clock lacks does not find it");
}

int main(int argc, char **argv)
{
    unsigned long steps = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
    uint32_t size = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
    bool clocks = argc > 3 && !strcmp(argv[1], "clocks");
    if (!steps || !size || (clocks && size < STREAMS)) {
        fprintf(stderr, "inside_structures tree|clocks STEPS SIZE\n");
        return 2;
    }
    slots = size;
    state = 88172645463325252u;
    lock_acquire();
    for (step = 1; step <= steps; step++) {
        if (clocks) {
            change_clocks();
            check_clocks();
        } else {
            change_tree(size);
        }
    }
    lock_release();
    return 0;
}
