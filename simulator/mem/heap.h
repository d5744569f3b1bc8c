/* A heap: one span of device addresses, divided into ranges that are live or free, over physical
 * segments that are mapped or not.
 *
 *   addresses  | live |  free  | live |      free ...             (ranges in order, without gaps)
 *   segments   |  mapped  |  mapped  | unmapped | unmapped ...    (all of one size)
 *
 * A segment has 32 MiB in a pool, and 2 MiB for cudaMalloc (segment_size).
 *
 * Each free range is in one list. Either it is in the list of the stream that freed it, or every
 * stream may use it, because it is synchronized or was never used. Then it is in one of two shared
 * lists: shared_partial if any of it lacks physical memory, and otherwise `shared`. Free neighbors
 * are always merged if they are of one stream or both shared, in whichever lists.
 *
 * Invariants (checked by heap_is_valid): The ranges tile the heap. No two neighbors could be
 * merged. Ranges that are not shared lie on mapped segments. An unmapped segment lies wholly in one
 * shared range. idle_owner[x] is the shared range in which the mapped segment x wholly lies, or
 * NULL.
 *
 * A range belongs to its heap. The pointer is valid while the range is live, or while it is free
 * until a neighbor is freed or made shared. All of these need the lock. */
#ifndef SIM_MEM_HEAP_H
#define SIM_MEM_HEAP_H

#include "base/ordered_tree.h"
#include "base/types.h"
#include "check/shadow.h"
#include "mem/allocation_index.h"
#include "mem/uniform.h"

#define SHARED_LIST UINT32_MAX /* The slot of the two shared lists. */
/* The start of a heap's file, for what processes share about the heap. */
#define HEAP_FILE_HEADER (8 * MiB)

struct ipc_table;
struct pool;

/* Free ranges in order of size and, among equal sizes, of age. */
struct free_list {
    struct ordered_tree ranges;
    uint32_t slot;  /* The stream that freed them, or SHARED_LIST. */
    uint32_t place; /* The place of that stream (stream_place). */
    struct free_list *previous, *next;
};

/* The members are sorted by how often frees and allocations touch them, because with many
 * allocations each cache line is a miss. Usually only the first line of a neighbor and the first
 * two of the range itself are touched, and the third only by searches for inner addresses. */
struct range {
    size_t offset; /* From the heap's base. */
    size_t bytes;
    struct range *previous, *next; /* In address order. */
    union {
        struct free_list *list;    /* Free: the list that contains it. */
        struct range *same_bucket; /* Live: in heap.allocations. */
    };
    /* Live: the number of bytes that the program asked for. */
    size_t requested;
    /* Live: the allocation's number in the journal. */
    uint32_t id;
    bool live;
    /* cudaFreeAsync frees memory of cudaMalloc, and its stream has not come to the free yet. */
    bool free_pending : 1;
    /* In heap.ranges. A range enters the tree when a search first meets it, because most searches
     * name the start of an allocation and do not need the tree. */
    bool is_in_tree : 1;
    /* Live: how often cudaIpcOpenMemHandle has opened it, less how often it was closed. */
    uint16_t opens;
    union {
        struct shadow shadow; /* Live. */
        struct {              /* Free. */
            void *line_ends;  /* Padding: each tree node has a cache line. */
            /* In its free list. The key is `bytes`, the age is when the range entered the list, and
             * the value is its free sequence: the position of the free in its stream. */
            struct tree_node free_node;
        };
    };
    struct tree_node address_node; /* If is_in_tree; the key is `offset`. */
};
_Static_assert(offsetof(struct range, free_node) == CACHE_LINE, "the line ends before the node");
_Static_assert(sizeof(struct range) == 3 * CACHE_LINE, "a range has three lines");

struct heap {
    int device;        /* NO_DEVICE: host memory. */
    struct pool *pool; /* NULL: cudaMalloc's heap. */
    /* The host may touch mapped memory: it sees the storage. Set before heap_open. */
    bool host_visible;
    size_t segment_size;
    size_t limit; /* The bytes of the heap, a multiple of segment_size. */
    /* A file in memory whose bytes after HEAP_FILE_HEADER are the storage, so that other processes
     * can map it; 0 if none. Set before heap_open, or before heap_share_segments. */
    int file;
    /* After heap_share_segments: for each segment, whether the file has it. Otherwise NULL. */
    bool *in_file;
    size_t in_file_count;
    bool imported; /* Another process owns the storage, so this one gives nothing back. */
    /* Its ranges are mappings of memory that has no address of its own (mem/virtual_memory.h). */
    bool is_virtual;
    /* What processes share about the heap (ipc/ipc_table.h), or NULL. */
    struct ipc_table *ipc_table;
    /* Ends the sharing when the heap is closed. */
    void (*end_sharing)(struct heap *h);
    /* Called when segments of a shared heap of cudaMalloc are unmapped; otherwise NULL. Returns
     * whether their storage stays, because another process has memory there open. */
    bool (*keep_storage)(struct heap *h, size_t offset, size_t bytes);
    /* Memory of another process's cudaMalloc (mem/memory.h): the device that was current when this
     * process opened it. */
    int opener;
    struct heap *next_opened; /* Or the next reservation. */
    char *base;               /* NULL before the first allocation. */
    struct range *first;
    struct ordered_tree ranges;          /* Those that are in the tree, by offset. */
    struct allocation_index allocations; /* The live ranges; its count is their number. */
    struct free_list shared, shared_partial;
    /* In the order of the streams' places (stream_place). */
    struct free_list *stream_lists;
    struct free_list **list_of_slot; /* NULL: the stream has not used the heap. */
    uint32_t slot_count;
    /* When this many operations of all streams had ended (engine_status.ended), no stream had
     * reached a free in its list. UINT64_MAX if unknown. */
    uint64_t unreached_at;
    uint64_t insertions;
    size_t top_segment; /* No segment from here on was ever mapped. */
    /* The number of segments in the three tables below. Later segments were never mapped. */
    size_t table_segments;
    bool *mapped; /* For each segment. */
    size_t mapped_count;
    struct range **idle_owner;
    uint64_t *idle; /* A bit for each segment that has an owner. */
    size_t idle_count;
    struct uniform_pages uniform; /* Of the storage, if only the device sees it. */
};

/* Returns the free range that contains this node. */
struct range *range_of_free_node(struct tree_node *n);
/* Returns the offset after the range's last byte. */
size_t range_end(const struct range *r);

void heap_init(struct heap *h, int device, size_t segment_size, size_t limit);
/* Gives the heap addresses, if it has none, and adds it to the address map. Returns false if the
 * process has no addresses left. */
bool heap_open(struct heap *h);
/* Ends a heap that has no live range. */
void heap_close(struct heap *h);

/* Returns the stream's list, and makes it when the stream first uses the heap. */
struct free_list *heap_stream_list(struct heap *h, uint32_t slot);
/* Removes a stream's empty list. */
void heap_remove_list(struct heap *h, struct free_list *list);
/* Returns the smallest range of at least `bytes` that was freed at `max_seq` or before, the oldest
 * among equals, or NULL. */
struct range *heap_best_fit(const struct free_list *list, size_t bytes, uint64_t max_seq);
/* Returns the best fit of both shared lists, or NULL. */
struct range *heap_best_shared(const struct heap *h, size_t bytes);

/* Makes [offset, offset + bytes) of a free range live. All its segments must be mapped. What is
 * left before and after stays in the list, as its newest ranges. */
struct range *heap_take(struct heap *h, struct range *r, size_t offset, size_t bytes);
/* Returns the free range that contains [offset, offset + bytes), or NULL. */
struct range *heap_free_at(struct heap *h, size_t offset, size_t bytes);
/* Frees a live range into the list of a stream or the shared lists. `free_seq` is the position of
 * the free in the stream. */
void heap_put(struct heap *h, struct range *r, uint32_t slot, uint64_t free_seq);
/* Puts a range that was removed from a stream's list into a shared list. */
void heap_make_shared(struct heap *h, struct range *r);
/* Returns the live range that contains this offset, or NULL. */
struct range *heap_find(struct heap *h, size_t offset);

/* Grows the file, if any, for storage up to this offset. Returns false if it cannot grow. */
bool heap_grow_file(struct heap *h, size_t end);
/* Called when an open heap has got a file: segments are in it only once they are moved there. */
void heap_share_segments(struct heap *h);
/* Moves the segments under [offset, offset + bytes), which are mapped, to the file. Returns false
 * if there is no room. */
bool heap_move_to_file(struct heap *h, size_t offset, size_t bytes);
/* Returns the number of unmapped segments under [offset, offset + bytes). */
size_t heap_unmapped_count(const struct heap *h, size_t offset, size_t bytes);
/* Returns whether every byte is on a mapped segment. */
bool heap_is_mapped(const struct heap *h, size_t offset, size_t bytes);
/* Maps those segments. They lie in a shared range, and heap_take must follow. */
void heap_map(struct heap *h, size_t offset, size_t bytes);
/* Maps the first `count` unmapped segments of a shared range, which has more, and returns their
 * number. They stay idle. */
size_t heap_map_idle(struct heap *h, struct range *r, size_t count);
/* Returns the lowest or highest idle segment outside segments [from, to), or SIZE_MAX. Idle means
 * mapped and unused. */
size_t heap_idle_segment(const struct heap *h, bool highest, size_t from, size_t to);
/* Unmaps an idle segment. */
void heap_unmap(struct heap *h, size_t segment);
/* Unmaps idle segments, from the highest down, while more than `keep` bytes are mapped. Returns
 * their number. */
size_t heap_release(struct heap *h, size_t keep);

/* Returns the storage of [offset, offset + bytes) for reading or writing now. A later fill may
 * leave the bytes there unchanged (mem/uniform.h). */
char *heap_storage(struct heap *h, size_t offset, size_t bytes);
/* These fill [offset, offset + bytes) with an int, or add it to each int there. If a fill's offset
 * is not a multiple of the size of an int, all bytes of the int are equal. */
void heap_fill(struct heap *h, size_t offset, size_t bytes, int value);
void heap_add(struct heap *h, size_t offset, size_t bytes, int value);
/* Copies [offset, offset + bytes) to host memory. */
void heap_read(struct heap *h, size_t offset, size_t bytes, char *to);
/* Copies bytes between two heaps or within one. */
void heap_copy(struct heap *to, size_t to_offset, struct heap *from, size_t from_offset,
               size_t bytes);
/* Checks every invariant above. Returns NULL, or a sentence about the first that does not hold. */
const char *heap_is_valid(const struct heap *h);

#endif
