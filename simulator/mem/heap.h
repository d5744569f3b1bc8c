/* A heap: one range of device addresses, cut into chunks that are live or free, over physical steps
 * that are mapped or not.
 *
 *   addresses  | live |  free  | live |      free ...                 (one list of chunks, in address order, without gaps)
 *   steps      |  mapped  |  mapped  | unmapped | unmapped ...        (HEAP's step: 32 MiB in a pool, 2 MiB for cudaMalloc)
 *
 * A free chunk is in one list: that of the stream that freed it, or the common one, which holds
 * what every stream may use: freed and synchronised, or never used. Neighbours in the same list are
 * always one chunk.
 *
 * Laws (heap_is_valid walks them): chunks tile the range; no two neighbours are in one list; what
 * is not common lies on mapped steps; an unmapped step lies wholly in one common chunk;
 * idle_owner[x] is that chunk for each mapped step x that lies wholly in a common chunk, else
 * NULL. */
#ifndef SIM_MEM_HEAP_H
#define SIM_MEM_HEAP_H

#include "mem/free_list.h"
#include "mem/allocation_index.h"
#include "base/types.h"
#include "check/shadow.h"

#define SHARED_LIST UINT32_MAX /* the lane of the common list */
#define HEAP_FILE_HEADER \
    (2 * MiB) /* what processes tell each other about a shared heap comes first in its file */

/* Two lines of the processor's cache; what neighbours ask of each other is in the second. */
struct range {
    _Alignas(64) union {
        /* free. First: a struct fit of ours is a chunk. fit.bytes is the chunk's size, also when it
         * is live. */
        struct free_node node;
        struct { /* live */
            size_t bytes;
            size_t requested; /* bytes that the program asked for */
            uint32_t id;      /* the journal's "block" */
            /* cudaMalloc's block that cudaFreeAsync has freed, but its stream has not got there. */
            bool free_pending;
            struct shadow shadow;
        };
    };
    size_t offset;                 /* from the heap's base */
    struct range *previous, *next; /* in address order */
    uint32_t slot;                 /* free: which list */
    uint32_t index;                /* of the chunk itself, all its time */
    bool live;
    bool partial; /* free and common: some of its steps are not mapped */
};

struct stream_list {
    struct free_list list;
    uint32_t slot;
};

struct heap {
    int device; /* NO_DEVICE: the host's memory */
    /* The host may touch what is mapped: its addresses show the storage. Set before heap_open. */
    bool host_visible;
    size_t segment_size, limit; /* bytes of a step; bytes of the range */
    /* Storage that other processes can map: this file in memory, behind its first HEAP_FILE_HEADER
     * bytes; 0: none. Set before heap_open. */
    int file;
    /* Another process's storage: nothing of it is given back from here. */
    bool imported;
    char *base; /* NULL until something is allocated */
    struct range *first;
    /* The common list: chunks with all their steps mapped, and the others. */
    struct free_list shared_mapped, shared_partial;
    /* The streams' lists, in the order in which they first came here. */
    struct stream_list *stream_lists;
    uint32_t stream_list_count;
    /* lane_place[lane]: where in lanes; UINT32_MAX: never came here. */
    uint32_t *stream_list_index, slot_count;
    uint64_t insertions;
    size_t top_segment; /* no step from here on was ever mapped */
    uint64_t *mapped;   /* a bit for each step */
    size_t mapped_count;
    struct range **idle_owner;
    uint64_t *idle; /* a bit for each step that has an owner */
    size_t idle_count;
    /* The live chunks; starts.count is their number. */
    struct allocation_index allocations;
};

/* `limit` is a multiple of `step`. */
void heap_init(struct heap *h, int device, size_t segment_size, size_t limit);
/* Addresses for the heap, at its first allocation. False when this machine has none left. */
bool heap_open(struct heap *h);
void heap_close(struct heap *h);

/* The stream's list, made when it first comes here. */
struct free_list *heap_stream_list(struct heap *h, uint32_t slot);
/* The best chunk of the common list: all mapped, or any. */
struct range *heap_best_shared(const struct heap *h, size_t bytes, bool mapped);

/* Makes the start of a free chunk live; the rest stays where it was. All its steps must be
 * mapped. */
struct range *heap_take(struct heap *h, struct range *r, size_t bytes);
/* Frees a live chunk into a list; mark: the place of the free in the stream's order. */
void heap_put(struct heap *h, struct range *r, uint32_t slot, uint64_t free_seq);
/* Moves a free chunk of a stream to the common list. */
void heap_make_shared(struct heap *h, struct range *r);

/* Room in the file, if there is one, for storage up to this offset. False when it cannot grow. */
bool heap_grow_file(struct heap *h, size_t end);
/* How many steps under [offset, offset + bytes) are not mapped. */
size_t heap_unmapped_count(const struct heap *h, size_t offset, size_t bytes);
/* Maps those steps. They lie in the common chunk `c`, at whose start the range is. */
void heap_map(struct heap *h, struct range *r, size_t bytes);
/* The number of a mapped step that nobody uses, lowest or highest first, outside [from, to);
 * SIZE_MAX when there is none. */
size_t heap_idle_segment(const struct heap *h, bool highest, size_t from, size_t to);
void heap_unmap(struct heap *h, size_t segment);

/* Where the bytes behind an offset are kept. */
static inline char *heap_storage(const struct heap *h, size_t offset)
{
    return h->base + h->limit + offset;
}
/* Makes [offset, offset + bytes) a live chunk, in a heap whose chunks are live or common. NULL when
 * a live chunk is there. */
struct range *heap_take_at(struct heap *h, size_t offset, size_t bytes);
/* The live chunk that covers this offset, or NULL. */
struct range *heap_find(const struct heap *h, size_t offset);
/* Is every byte of the range on mapped steps? */
bool heap_is_mapped(const struct heap *h, size_t offset, size_t bytes);
/* Walks every law above; NULL, or a sentence about the first that does not hold. */
const char *heap_is_valid(const struct heap *h);

#endif
