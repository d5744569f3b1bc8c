/* The border between processes: what those that share a pool tell each other about its blocks. It
 * is the head of the pool's file, mapped by each.
 *
 *   head of the file   | who, which device | processes: what the host of each knows | blocks: whose, which bytes, who holds them, last accesses |
 *
 * A process writes its own entries only, under the head's lock. What a process that has ended left
 * behind is over (chosen).
 *
 * A watch (check/shadow.h) names its block here by one number, `shared`: 0 for none. */
#ifndef SIM_IPC_IPC_TABLE_H
#define SIM_IPC_IPC_TABLE_H

#include "sched/stream.h"
#include "check/shadow.h"

#define IPC_TABLE_IMPORTERS \
    8 /* chosen: processes that hold one block, beyond which the checker looks away */
#define IPC_TABLE_ACCESSES 12 /* chosen: the same for accesses that are not known to be over */

/* Through which pointer: the exporter's own, or an imported one. */
enum ipc_role { IPC_EXPORTER = 1, IPC_IMPORTER = 2 };

/* Something that a process did to an allocation. */
struct ipc_access {
    uint64_t process, seq; /* number: of its stream's work; 0: by its host */
    uint64_t from, to;
    uint32_t slot;
    int32_t stream;
    bool write, allocation;
    /* An importer's free, of no bytes: only the exporter's free must come after it. */
    bool importer_free;
    /* A free behind a host function that had not returned: it may wait for anything. */
    bool behind_host_func;
    uint8_t role; /* enum ipc_role */
    char call[27];
};

struct ipc_allocation {
    uint64_t generation; /* 0: never used */
    uint64_t offset, bytes;
    uint64_t importers[IPC_TABLE_IMPORTERS]; /* processes that have imported it and not freed it */
    bool freed;                              /* by the exporter: */
    struct ipc_access freed_by;
    struct ipc_access accesses[IPC_TABLE_ACCESSES]; /* process 0: none */
    uint32_t evict_next;                            /* which to forget first */
};

struct ipc_table;

/* What an importer has to know about a pool. */
struct ipc_pool_info {
    uint64_t id, exporter;
    uint64_t limit;
    int32_t device;
};

/* The head of a new pool's file, or of one that was exported; NULL when the file is not a
 * pool's. */
struct ipc_table *ipc_table_new(int file, int device, size_t limit);
struct ipc_table *ipc_table_open(int file);
void ipc_table_close(struct ipc_table *t);
struct ipc_pool_info ipc_table_pool_info(const struct ipc_table *t);

/* Says that a block can be imported: its place in the table, or -1 when the table is full. */
int ipc_table_export(struct ipc_table *t, size_t offset, size_t bytes);
/* What a watch says of a block of the table; `side` as in ipc_access. */
uint32_t ipc_table_ref(struct ipc_table *t, int entry, enum ipc_role role);
enum ipc_role ipc_table_role(uint32_t ipc_ref);
int ipc_table_entry(uint32_t ipc_ref);
/* A copy of what the table says, which stands still. */
struct ipc_allocation ipc_table_read(struct ipc_table *t, int entry);
struct ipc_allocation ipc_table_read_ref(uint32_t ipc_ref);

/* This process holds an imported block from now on, or no more. */
void ipc_table_set_importing(uint32_t ipc_ref, bool on);
/* The exporter has freed it. */
void ipc_table_set_freed(uint32_t ipc_ref, struct ipc_access access);
/* Adds an access. */
void ipc_table_add_access(uint32_t ipc_ref, struct ipc_access access);

/* Is the deed of another process known to its host to be over, or is that process gone? */
bool ipc_table_access_is_over(uint32_t ipc_ref, const struct ipc_access *access);

#endif
