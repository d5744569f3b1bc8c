/* The ipc table's accesses. The accesses of one stream form a chain, the newest first. Waiting for
 * one access covers all older ones, so a search ends at the first ordered access. When a chain has
 * doubled, it loses the accesses that some host has acquired and no launch still needs, and those
 * that a later access of the stream repeats. */
#include "ipc/ipc_table_file.h"

#include <string.h>

#include "check/late_launch.h"
#include "os/os.h"
#include "os/process.h"

/* Assumed: with so few accesses, pruning does not pay. */
#define FEW_ACCESSES 16
/* Assumed: after a sweep that freed nothing, this many requests for nodes fail before the next. */
#define SWEEP_PAUSE 1000

/* Needs the lock. */
static struct {
    bool reported_full;
    /* A hash table of the chain's distinct accesses while it is pruned. NULL: empty slot. */
    const struct ipc_access **different;
    uint32_t different_capacity;
    /* The result of ipc_table_unordered. */
    struct ipc_access *found;
    uint32_t found_capacity;
} accesses;

/* ---- nodes ---- */

void ipc_node_put(struct ipc_table_header *h, uint32_t number)
{
    struct ipc_node *n = ipc_node_at(h, number);
    n->next = h->free_node;
    h->free_node = number;
}

static void put_list(struct ipc_table_header *h, uint32_t number)
{
    struct ipc_node *n;
    for (uint32_t i = 0; (n = ipc_node_at(h, number)) && i < IPC_TABLE_NODES; i++) {
        uint32_t next = n->next;
        ipc_node_put(h, number);
        number = next;
    }
}

static void put_chain(struct ipc_table_header *h, uint32_t number)
{
    struct ipc_chain *chain = &ipc_node_at(h, number)->chain;
    uint32_t newest = chain->newest;
    chain->newest = 0;
    put_list(h, newest);
    ipc_node_put(h, number);
}

void ipc_entry_clear(struct ipc_table_header *h, struct ipc_entry *entry)
{
    uint32_t chain = entry->first_chain, importer = entry->first_importer;
    entry->first_chain = entry->first_importer = 0;
    put_list(h, importer);
    struct ipc_node *n;
    for (uint32_t i = 0; (n = ipc_node_at(h, chain)) && i < IPC_TABLE_NODES; i++) {
        uint32_t next = n->next;
        put_chain(h, chain);
        chain = next;
    }
}

/* ---- pruning ---- */

static uint64_t acquired_of(const struct ipc_chain *chain)
{
    return process_clock_acquired(process_clock_of(chain->process), chain->slot);
}

/* Returns whether a launch of this process that was made before the access has not run. What a host
 * has acquired since then need not come before the launch. */
static bool is_needed(const struct ipc_node *n)
{
    return n && late_launches && n->access.at >= late_launches->made_at;
}

/* Cuts the chain off at the first access that some host has acquired. */
static void cut_acquired(struct ipc_table_header *h, struct ipc_chain *chain)
{
    uint64_t acquired = acquired_of(chain);
    uint32_t *at = &chain->newest, steps = 0;
    for (struct ipc_node *n; (n = ipc_node_at(h, *at)) && steps < IPC_TABLE_NODES; steps++) {
        if (n->access.seq <= acquired && !is_needed(n)) {
            uint32_t rest = *at;
            *at = 0;
            put_list(h, rest);
            return;
        }
        at = &n->next;
    }
}

static bool is_repeated(const struct ipc_access *a, const struct ipc_access *b)
{
    return a->from == b->from && a->to == b->to && a->write == b->write && a->kind == b->kind;
}

/* Returns whether the access is not in the hash table yet, and adds it. */
static bool add_different(const struct ipc_access *a, uint32_t capacity)
{
    uint64_t hash = (a->from * 31 + a->to) * 0x9E3779B97F4A7C15u + a->write * 4u + a->kind;
    uint32_t at = (uint32_t)(hash >> 32) & (capacity - 1);
    while (accesses.different[at] && !is_repeated(accesses.different[at], a))
        at = (at + 1) & (capacity - 1);
    bool is_new = !accesses.different[at];
    if (is_new)
        accesses.different[at] = a;
    return is_new;
}

static uint32_t count_chain(struct ipc_table_header *h, const struct ipc_chain *chain)
{
    uint32_t count = 0;
    const struct ipc_node *n = ipc_node_at(h, chain->newest);
    for (; n && count < IPC_TABLE_NODES; n = ipc_node_at(h, n->next))
        count++;
    return count;
}

/* Removes accesses that a later one of the chain repeats. */
static void drop_repeated(struct ipc_table_header *h, struct ipc_chain *chain)
{
    uint32_t capacity = 64, left = count_chain(h, chain), *at = &chain->newest;
    while (capacity < 2 * left)
        capacity *= 2;
    if (capacity > accesses.different_capacity)
        accesses.different = os_grow(accesses.different, capacity * sizeof *accesses.different);
    if (capacity > accesses.different_capacity)
        accesses.different_capacity = capacity;
    memset(accesses.different, 0, capacity * sizeof *accesses.different);
    chain->count = 0;
    for (struct ipc_node *n; left-- && (n = ipc_node_at(h, *at));) {
        if (add_different(&n->access, capacity)) {
            chain->count++;
            chain->oldest_import = n->access.import;
            at = &n->next;
        } else {
            uint32_t repeated = *at;
            *at = n->next;
            ipc_node_put(h, repeated);
        }
    }
}

static void prune(struct ipc_table_header *h, struct ipc_chain *chain)
{
    cut_acquired(h, chain);
    drop_repeated(h, chain);
    chain->next_prune = 2 * chain->count + FEW_ACCESSES;
}

static void sweep_entry(struct ipc_table_header *h, struct ipc_entry *entry)
{
    uint32_t *at = &entry->first_chain;
    struct ipc_node *n;
    for (uint32_t i = 0; (n = ipc_node_at(h, *at)) && i < IPC_TABLE_NODES; i++) {
        uint32_t number = *at;
        if (n->chain.seq > acquired_of(&n->chain)
            && !process_clock_is_over(process_clock_of(n->chain.process))) {
            prune(h, &n->chain);
            at = &n->next;
            continue;
        }
        *at = n->next;
        put_chain(h, number);
    }
}

/* Returns a free or never used node, or 0 if there is none. */
static uint32_t free_node(struct ipc_table_header *h)
{
    uint32_t number = h->free_node;
    struct ipc_node *n = ipc_node_at(h, number);
    if (n) {
        h->free_node = n->next;
        return number;
    }
    uint32_t used = __atomic_load_n(&h->used_nodes, __ATOMIC_RELAXED);
    if (used >= IPC_TABLE_NODES)
        return 0;
    h->used_nodes = used + 1;
    return used + 1;
}

uint32_t ipc_node_take(struct ipc_table *t)
{
    struct ipc_table_header *h = t->header;
    uint32_t number = free_node(h);
    if (number || t->sweep_pause) {
        t->sweep_pause -= !number;
        return number;
    }
    for (int i = 0; i < IPC_TABLE_ALLOCATIONS; i++)
        if (ipc_entry_is_unused(h, &h->entries[i]))
            ipc_entry_clear(h, &h->entries[i]);
        else
            sweep_entry(h, &h->entries[i]);
    number = free_node(h);
    if (number)
        return number;
    t->sweep_pause = SWEEP_PAUSE;
    if (!accesses.reported_full)
        diag("the exported allocations of one pool or device have %d accesses and imports that no "
             "process has waited for. Further ones are not checked between processes until some "
             "have.",
             IPC_TABLE_NODES);
    accesses.reported_full = true;
    return 0;
}

/* ---- adding ---- */

/* Returns the access's chain, or NULL if there is no node for it. Removes chains that are
 * acquired. */
static struct ipc_chain *find_chain(struct ipc_table *t, struct ipc_entry *entry,
                                    const struct ipc_access *access)
{
    struct ipc_table_header *h = t->header;
    uint32_t *at = &entry->first_chain;
    struct ipc_node *n;
    for (uint32_t i = 0; (n = ipc_node_at(h, *at)) && i < IPC_TABLE_NODES; i++) {
        struct ipc_chain *chain = &n->chain;
        if (chain->process.process == access->process.process && chain->slot == access->slot
            && chain->role == access->role)
            return chain;
        if (chain->seq <= acquired_of(chain) && !is_needed(ipc_node_at(h, chain->newest))) {
            uint32_t over = *at;
            *at = n->next;
            put_chain(h, over);
        } else {
            at = &n->next;
        }
    }
    uint32_t number = ipc_node_take(t);
    n = ipc_node_at(h, number);
    if (!n)
        return NULL;
    n->chain = (struct ipc_chain){.process = access->process,
                                  .slot = access->slot,
                                  .role = access->role,
                                  .next_prune = FEW_ACCESSES};
    n->next = entry->first_chain;
    entry->first_chain = number;
    return &n->chain;
}

static void append_access(struct ipc_table_header *h, struct ipc_chain *chain, uint32_t number,
                          const struct ipc_access *access)
{
    struct ipc_node *n = ipc_node_at(h, number);
    n->access = *access;
    n->next = chain->newest;
    chain->newest = number;
    chain->seq = access->seq;
    if (!chain->count++)
        chain->oldest_import = access->import;
    if (chain->count >= chain->next_prune)
        prune(h, chain);
}

void ipc_table_add_access(uint32_t ipc_ref, const struct ipc_access *access)
{
    struct ipc_table *t = ipc_table_of(ipc_ref);
    struct ipc_table_header *h = t->header;
    process_clock_add_slot(access->slot);
    os_shm_lock(&h->lock);
    /* Take the node first, because ipc_node_take may remove chains. */
    uint32_t number = ipc_node_take(t);
    struct ipc_chain *chain = number ? find_chain(t, ipc_table_entry_of(ipc_ref), access) : NULL;
    if (chain)
        append_access(h, chain, number, access);
    else if (number)
        ipc_node_put(h, number);
    os_shm_unlock(&h->lock);
}

/* ---- comparing ---- */

static void add_found(const struct ipc_access *access, uint32_t at)
{
    OS_MAKE_ROOM(accesses.found, at, accesses.found_capacity)
    accesses.found[at] = *access;
}

/* Returns whether the program must order the two accesses. An access of no bytes (a prefetch or a
 * gate) overlaps nothing, so only a free must come after it. */
static bool is_conflict(const struct ipc_access *a, const struct ipc_access *later)
{
    if (later->kind == IPC_FREE)
        return true;
    return (a->write || later->write) && a->from < later->to && later->from < a->to
        && a->from != a->to && later->from != later->to;
}

/* Returns whether this process made the access, through the same pointer. */
static bool is_own(const struct ipc_access *a, const struct ipc_access *later)
{
    return a->process.process == later->process.process && a->role == later->role
        && a->import == later->import;
}

static bool is_own_chain(const struct ipc_chain *chain, const struct ipc_access *later)
{
    return chain->process.process == later->process.process && chain->role == later->role
        && chain->oldest_import == later->import;
}

/* Adds the chain's accesses that are newer than `ordered` to those found, the oldest first. Returns
 * the new number of accesses found. */
static uint32_t find_in_chain(struct ipc_table_header *h, const struct ipc_chain *chain,
                              const struct ipc_access *later, uint64_t ordered, uint32_t found)
{
    uint32_t first = found;
    const struct ipc_node *n = ipc_node_at(h, chain->newest);
    for (uint32_t i = 0; n && n->access.seq > ordered && i < IPC_TABLE_NODES; i++) {
        if (is_conflict(&n->access, later) && !is_own(&n->access, later))
            add_found(&n->access, found++);
        n = ipc_node_at(h, n->next);
    }
    for (uint32_t last = found; first + 1 < last; first++) {
        struct ipc_access other = accesses.found[--last];
        accesses.found[last] = accesses.found[first];
        accesses.found[first] = other;
    }
    return found;
}

struct ipc_accesses ipc_table_unordered(uint32_t ipc_ref, const struct ipc_access *later,
                                        uint64_t (*ordered)(struct process_clock *clock,
                                                            uint32_t slot, const void *context),
                                        const void *context)
{
    struct ipc_table_header *h = ipc_table_of(ipc_ref)->header;
    uint32_t found = 0;
    os_shm_lock(&h->lock);
    const struct ipc_node *n = ipc_node_at(h, ipc_table_entry_of(ipc_ref)->first_chain);
    for (uint32_t i = 0; n && i < IPC_TABLE_NODES; n = ipc_node_at(h, n->next), i++) {
        const struct ipc_chain *chain = &n->chain;
        if (is_own_chain(chain, later))
            continue;
        uint64_t up_to = ordered(process_clock_of(chain->process), chain->slot, context);
        if (chain->seq > up_to)
            found = find_in_chain(h, chain, later, up_to, found);
    }
    os_shm_unlock(&h->lock);
    return (struct ipc_accesses){accesses.found, found};
}
