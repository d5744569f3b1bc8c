/* The ipc table: what the processes that share a heap publish about its allocations. The table is
 * the header of the heap's file, which each of the processes maps.
 *
 *   the file's header
 *   +------------------+------------------------------------+---------------------------------+
 *   | whose heap,      | for each exported allocation:      | nodes of lists: who has an      |
 *   | which device     | which bytes, who has freed it, and | allocation imported; its last   |
 *   |                  | the first node of each of its lists| accesses, by process and stream |
 *   +------------------+------------------------------------+---------------------------------+
 *
 * A process adds only its own nodes, under the header's lock. Any process may remove nodes of
 * accesses that some host has acquired (ipc/process_clock.h) or that belong to a process that has
 * ended (assumed).
 *
 * A shadow (check/shadow.h) names its allocation by one number, `ipc_ref`, which packs a table of
 * this process, an entry, and a role; 0 is none.
 *
 * A table belongs to its heap, which closes it. Reads return copies. All functions here need the
 * lock. */
#ifndef SIM_IPC_IPC_TABLE_H
#define SIM_IPC_IPC_TABLE_H

#include "check/shadow.h"
#include "ipc/process_clock.h"
#include "os/os.h"
#include "sched/stream.h"

/* The pointer that is used: the exporter's own or an imported one. */
enum ipc_role { IPC_EXPORTER = 1, IPC_IMPORTER = 2 };

enum ipc_access_kind {
    /* A read or a write. */
    IPC_USE,
    /* The exporter's allocation, a write of all bytes. */
    IPC_ALLOCATION,
    /* An importer's free, an access of no bytes: only the exporter's free must come after it. */
    IPC_FREE
};

/* Something that a process did to an allocation. */
struct ipc_access {
    /* The process, and the epoch in its stream. `seq` is 0 for an access of the host. */
    struct clock_name process;
    uint64_t seq;
    /* When the call was made, in microseconds of real time; 0 before the allocation was shared. */
    uint64_t at;
    /* Bytes of the allocation: [from, to). */
    uint64_t from, to;
    uint32_t slot;
    int32_t stream;
    /* Importer: the allocation's number in its process, which differs for each import. */
    uint32_t import;
    bool write;
    /* The access is a free after an unfinished host function, which may wait for anything. */
    bool behind_host_func;
    /* enum ipc_access_kind, enum ipc_role. */
    uint8_t kind, role;
    char call[28];
    struct os_code code;
};

struct ipc_allocation {
    /* The number of this use of the entry, or 0 if the entry was never used. */
    uint64_t generation;
    uint64_t offset, bytes;
    /* The exporter has freed the allocation by the access freed_by. */
    bool freed;
    /* The exporter has also given back physical memory under it (only of cudaMalloc). */
    bool released;
    struct ipc_access freed_by;
};

struct heap;
struct ipc_table;

/* What an importer needs to know about a heap. */
struct ipc_heap_info {
    uint64_t id, exporter;
    uint64_t limit;
    int32_t location; /* mem/pool.h */
};

/* Makes the header of a new heap's file. Returns NULL if the file cannot grow to that size. */
struct ipc_table *ipc_table_new(int file, int location, size_t limit);
/* Opens the header of an exported heap's file. Returns NULL if the file has no such header, or the
 * heap has segments of another size. */
struct ipc_table *ipc_table_open(int file, size_t segment);
void ipc_table_close(struct ipc_table *t);
struct ipc_heap_info ipc_table_heap_info(const struct ipc_table *t);

/* Adds an allocation that others can import. Returns its entry, or -1 if the table is full. */
int ipc_table_export(struct ipc_table *t, size_t offset, size_t bytes);
/* Return the ipc_ref of an entry, and the parts of an ipc_ref. */
uint32_t ipc_table_ref(struct ipc_table *t, int entry, enum ipc_role role);
enum ipc_role ipc_table_role(uint32_t ipc_ref);
int ipc_table_entry(uint32_t ipc_ref);
/* Return a copy of an entry, which other processes cannot change. Its generation is 0 if there is
 * no such entry. */
struct ipc_allocation ipc_table_read(struct ipc_table *t, int entry);
struct ipc_allocation ipc_table_read_ref(uint32_t ipc_ref);

/* Record that this process has imported the allocation, and that it has freed the import. */
void ipc_table_add_importer(uint32_t ipc_ref);
void ipc_table_remove_importer(uint32_t ipc_ref);
/* Records that the exporter has freed the allocation by this access. */
void ipc_table_set_freed(uint32_t ipc_ref, struct ipc_access access);
/* Records that the exporter has unmapped the segments under [offset, offset + bytes). Returns
 * whether another process has imported a freed allocation that lay there. */
bool ipc_table_set_released(struct heap *h, size_t offset, size_t bytes);

/* Adds an access of this process. */
void ipc_table_add_access(uint32_t ipc_ref, const struct ipc_access *access);

/* Copies of accesses in a table. */
struct ipc_accesses {
    const struct ipc_access *list;
    uint32_t count;
};
struct ipc_processes {
    const uint64_t *list;
    uint32_t count;
};
/* Returns the accesses that do not come before `later`, a new access of this process, each stream's
 * oldest first. Leaves out accesses through the same pointer, which check/ compares. `ordered`
 * returns the epoch up to which the work of a slot comes before. Valid until the next call. */
struct ipc_accesses ipc_table_unordered(uint32_t ipc_ref, const struct ipc_access *later,
                                        uint64_t (*ordered)(struct process_clock *clock,
                                                            uint32_t slot, const void *context),
                                        const void *context);
/* Returns the processes that have imported the allocation. Valid until the next call. */
struct ipc_processes ipc_table_importers(uint32_t ipc_ref);

#endif
