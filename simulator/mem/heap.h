/* A heap: one range of device addresses, cut into ranges that are live or free, over physical
 * segments that are mapped or not.
 *
 *   addresses  | live |  free  | live |      free ...             (ranges in order, without gaps)
 *   segments   |  mapped  |  mapped  | unmapped | unmapped ...    (all of one size)
 *
 * A segment has 32 MiB in a pool, and 2 MiB for cudaMalloc (segment_size).
 *
 * A free range is in one list: that of the stream that freed it, or a shared one, which holds what
 * every stream may use: freed and synchronized, or never used. The shared ranges without physical
 * memory everywhere (partial) have a list of their own. Neighbors of one stream, and shared
 * neighbors of either list, are always merged.
 *
 * Laws (heap_is_valid walks them): the ranges tile the heap; no two neighbors could be merged; what
 * is not shared lies on mapped segments; an unmapped segment lies wholly in one shared range;
 * idle_owner[x] is that range for each mapped segment x that lies wholly in a shared range, else
 * NULL.
 *
 * All of these need the lock. A range belongs to its heap; the pointer is good while the range is
 * live, and a free one's until a neighbor is freed or
 * made shared. */
#ifndef SIM_MEM_HEAP_H
#define SIM_MEM_HEAP_H

#include "base/ordered_tree.h"
#include "base/types.h"
#include "check/shadow.h"
#include "mem/allocation_index.h"
#include "mem/uniform.h"

#define SHARED_LIST UINT32_MAX /* The slot of the two shared lists: of no stream. */
/* What processes share about a heap comes first in its file. */
#define HEAP_FILE_HEADER (2 * MiB)

struct pool;

/* Free ranges in order of size, the oldest first among equals. */
struct free_list {
    struct ordered_tree ranges;
    uint32_t slot; /* Of the stream that freed them, or SHARED_LIST. */
    struct free_list *previous, *next;
};

/* In the order of how often a free and an allocation touch it, because with many allocations each
 * line of the cache is a miss: of the neighbors the first line, of the range itself the second too,
 * and the third only where ranges are cut or merged. */
struct range {
    size_t offset; /* From the heap's base. */
    size_t bytes;
    struct range *previous, *next; /* In address order. */
    union {
        struct free_list *list;    /* Free: the list that it is in. */
        struct range *same_bucket; /* Live: in heap.allocations. */
    };
    /* Live: the bytes that the program asked for. */
    size_t requested;
    /* Live: the journal's number of the allocation. */
    uint32_t id;
    bool live;
    /* Live: cudaFreeAsync has freed an allocation of cudaMalloc, but its stream has not got
     * there. */
    bool free_pending;
    union {
        struct shadow shadow; /* Live. */
        struct {              /* Free. */
            void *line_ends;  /* Unused: the nodes of the trees are a line each. */
            /* In its list. The key is `bytes`, the age says when it came to its list, and the value
             * is its free sequence: where in the stream's order it was freed. */
            struct tree_node free_node;
        };
    };
    struct tree_node address_node; /* In heap.ranges; the key is `offset`. */
};
_Static_assert(offsetof(struct range, free_node) == CACHE_LINE, "the line ends before the node");
_Static_assert(sizeof(struct range) == 3 * CACHE_LINE, "a range has three lines");

struct heap {
    int device;        /* NO_DEVICE: the host's memory. */
    struct pool *pool; /* NULL: of cudaMalloc. */
    /* The host may touch what is mapped: its addresses show the storage. Set before heap_open. */
    bool host_visible;
    size_t segment_size;
    size_t limit; /* The bytes of the heap, a multiple of segment_size. */
    /* Storage that other processes can map: this file in memory, behind its first HEAP_FILE_HEADER
     * bytes; 0: none. Set before heap_open. */
    int file;
    bool imported; /* The storage is another process's: nothing of it is given back from here. */
    char *base;    /* NULL until something is allocated. */
    struct range *first;
    struct ordered_tree ranges;          /* All, live and free, by their offsets. */
    struct allocation_index allocations; /* The live ones; its count is their number. */
    struct free_list shared, shared_partial;
    /* In the order in which the streams first came here. */
    struct free_list *stream_lists, *last_stream_list;
    struct free_list **list_of_slot; /* NULL: the stream never came here. */
    uint32_t slot_count;
    /* When so many operations of all streams had ended, no stream had reached a free that is in its
     * list (engine_status.ended); UINT64_MAX: that is not known. */
    uint64_t unreached_at;
    uint64_t insertions;
    size_t top_segment; /* No segment from here on was ever mapped. */
    /* How many segments the three tables below have room for; those beyond were never mapped. */
    size_t table_segments;
    bool *mapped; /* Of each segment. */
    size_t mapped_count;
    struct range **idle_owner;
    uint64_t *idle; /* A bit for each segment that has an owner. */
    size_t idle_count;
    struct uniform_pages uniform; /* Of its storage, if only the device sees that. */
};

/* Returns the free range whose node this is. */
struct range *range_of_free_node(struct tree_node *n);
/* Returns the offset behind the range's last byte. */
size_t range_end(const struct range *r);

void heap_init(struct heap *h, int device, size_t segment_size, size_t limit);
/* Gives the heap addresses, which the address map then finds, if it has none. Returns false when
 * this machine has none left. */
bool heap_open(struct heap *h);
/* Ends the heap; no range of it is live. */
void heap_close(struct heap *h);

/* Returns the stream's list, made when it first comes here. */
struct free_list *heap_stream_list(struct heap *h, uint32_t slot);
/* Removes a stream's list, which is empty. */
void heap_remove_list(struct heap *h, struct free_list *list);
/* Returns the smallest range with at least `bytes` that was freed at `max_seq` or before, the
 * oldest of those, or NULL. */
struct range *heap_best_fit(const struct free_list *list, size_t bytes, uint64_t max_seq);
/* Returns the better fit of two, of which either may be NULL. */
struct range *heap_better_fit(struct range *a, struct range *b);
/* Returns the best fit of both shared lists, or NULL. */
struct range *heap_best_shared(const struct heap *h, size_t bytes);

/* Makes [offset, offset + bytes) of a free range live; all its segments must be mapped. What is
 * left of the range, before and behind, stays free and in its list, as the newest there. */
struct range *heap_take(struct heap *h, struct range *r, size_t offset, size_t bytes);
/* Returns the free range that holds [offset, offset + bytes), or NULL. */
struct range *heap_free_at(const struct heap *h, size_t offset, size_t bytes);
/* Frees a live range into a stream's list or the shared ones; free_seq: the free's
 * epoch in the stream. */
void heap_put(struct heap *h, struct range *r, uint32_t slot, uint64_t free_seq);
/* Puts a range that was taken out of a stream's list into a shared one. */
void heap_make_shared(struct heap *h, struct range *r);
/* Returns the live range that covers this offset, or NULL. */
struct range *heap_find(const struct heap *h, size_t offset);

/* Makes room in the file, if there is one, for storage up to this offset. Returns false when it
 * cannot grow. */
bool heap_grow_file(struct heap *h, size_t end);
/* Returns how many segments under [offset, offset + bytes) are not mapped. */
size_t heap_unmapped_count(const struct heap *h, size_t offset, size_t bytes);
/* Is every byte on mapped segments? */
bool heap_is_mapped(const struct heap *h, size_t offset, size_t bytes);
/* Maps those segments. They lie in a shared range, and heap_take comes next. */
void heap_map(struct heap *h, size_t offset, size_t bytes);
/* Returns the number of a mapped segment that nobody uses, lowest or highest first, outside
 * [from, to); SIZE_MAX when there is none. */
size_t heap_idle_segment(const struct heap *h, bool highest, size_t from, size_t to);
/* Unmaps a segment that nobody uses. */
void heap_unmap(struct heap *h, size_t segment);
/* Unmaps idle segments, the highest first, while more than `keep` bytes are mapped; returns how
 * many. */
size_t heap_release(struct heap *h, size_t keep);

/* Returns where [offset, offset + bytes) is kept, for who reads or writes it now: a later fill may
 * leave those bytes as they are (mem/uniform.h). */
char *heap_storage(struct heap *h, size_t offset, size_t bytes);
/* Writes an int again and again to [offset, offset + bytes), or adds it to each int there. Where
 * the offset of a fill is no multiple of an int, all bytes of the int are the same. */
void heap_fill(struct heap *h, size_t offset, size_t bytes, int value);
void heap_add(struct heap *h, size_t offset, size_t bytes, int value);
/* Copies [offset, offset + bytes) to memory of the host. */
void heap_read(struct heap *h, size_t offset, size_t bytes, char *to);
/* Copies bytes between two heaps, or inside of one. */
void heap_copy(struct heap *to, size_t to_offset, struct heap *from, size_t from_offset,
               size_t bytes);
/* Walks every law above. Returns NULL, or a sentence about the first that does not hold. */
const char *heap_is_valid(const struct heap *h);

#endif
