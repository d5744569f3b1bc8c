/* The border between processes: what those that share a pool tell each other about its blocks. It is the head of the pool's file, mapped by each.
 *
 *   head of the file   | who, which device | processes: what the host of each knows | blocks: whose, which bytes, who holds them, last accesses |
 *
 * A process writes its own entries only, under the head's lock. What a process that has ended left behind is over (chosen).
 *
 * A watch (check/shadow.h) names its block here by one number, `shared`: 0 for none. */
#ifndef SIM_IPC_IPC_TABLE_H
#define SIM_IPC_IPC_TABLE_H

#include "sched/stream.h"
#include "check/shadow.h"

#define BORDER_HOLDERS  8              /* chosen: processes that hold one block, beyond which the checker looks away */
#define BORDER_ACCESSES 12             /* chosen: the same for accesses that are not known to be over */

/* Something that a process did to a block. */
struct border_deed {
    uint64_t process, number;          /* number: of its stream's work; 0: by its host */
    uint64_t from, to;
    uint32_t lane;
    int32_t  stream;
    bool     write, allocation;
    bool     release;                  /* an importer's free, of no bytes: only the exporter's free must come after it */
    bool     undecided;                /* a free behind a host function that had not returned: it may wait for anything */
    uint8_t  side;                     /* 1: the exporter's pointer, 2: an imported one */
    char     call[27];
};

struct border_block {
    uint64_t generation;               /* 0: never used */
    uint64_t offset, bytes;
    uint64_t holders[BORDER_HOLDERS];  /* processes that have imported it and not freed it */
    bool     freed;                    /* by the exporter: */
    struct border_deed freeing;
    struct border_deed accesses[BORDER_ACCESSES];      /* process 0: none */
    uint32_t next;                     /* which to forget first */
};

struct border;

/* What an importer has to know about a pool. */
struct border_pool { uint64_t id, exporter; uint64_t limit; int32_t device; };

/* The head of a new pool's file, or of one that was exported; NULL when the file is not a pool's. */
struct border *border_new(int file, int device, size_t limit);
struct border *border_open(int file);
void border_close(struct border *b);
struct border_pool border_of(const struct border *b);

/* Says that a block can be imported: its place in the table, or -1 when the table is full. */
int border_export(struct border *b, size_t offset, size_t bytes);
/* What a watch says of a block of the table; `side` as in border_deed. */
uint32_t border_name(struct border *b, int block, uint8_t side);
uint8_t border_side(uint32_t shared);
/* A copy of what the table says, which stands still. */
struct border_block border_look(struct border *b, int block);
struct border_block border_look_at(uint32_t shared);

/* This process holds an imported block from now on, or no more. */
void border_hold(uint32_t shared, bool on);
/* The exporter has freed it. */
void border_freed(uint32_t shared, struct border_deed by);
/* Adds an access. */
void border_add(uint32_t shared, struct border_deed by);

/* Is the deed of another process known to its host to be over, or is that process gone? */
bool border_is_over(uint32_t shared, const struct border_deed *d);

#endif
