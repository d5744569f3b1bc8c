/* The layout of an ipc table, for ipc_table.c and ipc_accesses.c, which read and write it. */
#ifndef SIM_IPC_IPC_TABLE_FILE_H
#define SIM_IPC_IPC_TABLE_FILE_H

#include "ipc/ipc_table.h"

/* Assumed to be enough: allocations that are exported at once; and nodes for the unacquired
 * accesses, the streams that made them, and the imports of all allocations together. */
#define IPC_TABLE_ALLOCATIONS 1024
#define IPC_TABLE_NODES       20000

/* What one stream of a process did through one role's pointer. */
struct ipc_chain {
    struct clock_name process;
    /* The epoch of the newest access. */
    uint64_t seq;
    uint32_t slot;
    /* The node of the newest access. Each access leads to the previous one. */
    uint32_t newest;
    /* The number of accesses, and the number at which the chain is next pruned. */
    uint32_t count, next_prune;
    /* ipc_access.import of the oldest access. */
    uint32_t oldest_import;
    uint8_t role;
};

/* A node is in one list, which determines its type. Nodes have numbers from 1 up; 0 is none. */
struct ipc_node {
    uint32_t next;
    union {
        struct ipc_chain chain;
        struct ipc_access access;
        uint64_t importer;
    };
};

struct ipc_entry {
    struct ipc_allocation allocation;
    uint32_t first_chain, first_importer;
};

/* Invariant: entries and nodes change only with `lock` held. A node is in the list of free nodes,
 * in one list of an entry, or its number is greater than `used_nodes`. A node is lost, in no list,
 * if a process is killed between taking it and putting it into an entry's list. */
struct ipc_table_header {
    uint64_t magic, lock, generations;
    struct ipc_heap_info heap;
    uint32_t used_nodes, free_node;
    struct ipc_entry entries[IPC_TABLE_ALLOCATIONS];
    struct ipc_node nodes[IPC_TABLE_NODES + 1];
};

struct ipc_table {
    struct ipc_table_header *header;
    /* A validated copy, because other processes can write to the header. */
    struct ipc_heap_info heap;
    uint32_t index;
    /* How many more requests for nodes may fail before the next sweep. */
    uint32_t sweep_pause;
};

/* Return the table of an ipc_ref, and its entry. */
struct ipc_table *ipc_table_of(uint32_t ipc_ref);
struct ipc_entry *ipc_table_entry_of(uint32_t ipc_ref);

/* The functions below need the header's lock. */

/* Returns a node by its number, or NULL if that is 0 or out of range. */
static inline struct ipc_node *ipc_node_at(struct ipc_table_header *h, uint32_t number)
{
    return number && number <= IPC_TABLE_NODES ? &h->nodes[number] : NULL;
}
/* Returns the number of a node that is in no list, or 0, and once a message, if there is none. */
uint32_t ipc_node_take(struct ipc_table *t);
void ipc_node_put(struct ipc_table_header *h, uint32_t number);
/* Frees an entry's accesses and imports. */
void ipc_entry_clear(struct ipc_table_header *h, struct ipc_entry *entry);
/* Returns whether the allocation is freed and imported nowhere. */
bool ipc_entry_is_unused(struct ipc_table_header *h, const struct ipc_entry *entry);

#endif
