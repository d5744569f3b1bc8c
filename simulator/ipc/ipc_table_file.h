/* The layout of an ipc table, for the two files that read and write one: ipc_table.c and
 * ipc_accesses.c. */
#ifndef SIM_IPC_IPC_TABLE_FILE_H
#define SIM_IPC_IPC_TABLE_FILE_H

#include "ipc/ipc_table.h"

/* Assumed: allocations exported at once; and accesses that no host has acquired, streams with such,
 * and imports, of all of them together. */
#define IPC_TABLE_ALLOCATIONS 1024
#define IPC_TABLE_NODES       20000

/* What one stream of a process did through one kind of pointer. */
struct ipc_chain {
    struct clock_name process;
    /* Of the newest access. */
    uint64_t seq;
    uint32_t slot;
    /* The node of the newest access; each leads to the one before it. */
    uint32_t newest;
    /* So many there are, and so many when the next search for what is over is due. */
    uint32_t count, next_prune;
    /* ipc_access.import of the oldest. */
    uint32_t oldest_import;
    uint8_t role;
};

/* A node is in one list, which says what it holds. Nodes are named by their number, from 1 up; 0:
 * none. */
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

/* Law: entries and nodes change with `lock` held. A node is in the list of free ones, in a list of
 * one entry, or its number is greater than `used_nodes`. One is in no list at all, and lost, if the
 * process that had taken it out of the free ones was killed before it put it into an entry's. */
struct ipc_table_header {
    uint64_t magic, lock, generations;
    struct ipc_pool_info pool;
    uint32_t used_nodes, free_node;
    struct ipc_entry entries[IPC_TABLE_ALLOCATIONS];
    struct ipc_node nodes[IPC_TABLE_NODES + 1];
};

struct ipc_table {
    struct ipc_table_header *header;
    /* The header's, as it was when it was validated: other processes can write there. */
    struct ipc_pool_info pool;
    uint32_t index;
    /* So many more nodes are wanted in vain before the next search for what is over. */
    uint32_t sweep_pause;
};

/* Returns the table of an ipc_ref, and its entry. */
struct ipc_table *ipc_table_of(uint32_t ipc_ref);
struct ipc_entry *ipc_table_entry_of(uint32_t ipc_ref);

/* These need the header's lock. */

/* Returns a node by its number; NULL: 0, or no number of a node. */
static inline struct ipc_node *ipc_node_at(struct ipc_table_header *h, uint32_t number)
{
    return number && number <= IPC_TABLE_NODES ? &h->nodes[number] : NULL;
}
/* Returns the number of a node that is in no list, or 0: there is none, which is said once. */
uint32_t ipc_node_take(struct ipc_table *t);
void ipc_node_put(struct ipc_table_header *h, uint32_t number);
/* Frees the accesses of an entry, and its imports. */
void ipc_entry_clear(struct ipc_table_header *h, struct ipc_entry *entry);
/* Is the allocation freed, and imported nowhere? */
bool ipc_entry_is_unused(struct ipc_table_header *h, const struct ipc_entry *entry);

#endif
