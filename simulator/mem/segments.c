/* A heap's physical memory: which steps are mapped, and which of those nobody uses. */
#include "mem/heap_internal.h"

#include "os/os.h"
#include "os/process.h"

size_t heap_unmapped_count(const struct heap *h, size_t offset, size_t bytes)
{
    size_t unmapped = 0, last = (offset + bytes - 1) / h->segment_size;
    for (size_t x = offset / h->segment_size; x <= last; x++) {
        if (x >= h->top_segment)
            return unmapped + (last - x + 1);
        unmapped += !bit_get(h->mapped, x);
    }
    return unmapped;
}

bool heap_is_mapped(const struct heap *h, size_t offset, size_t bytes)
{
    return offset < h->limit && bytes <= h->limit - offset
        && (bytes == 0 || heap_unmapped_count(h, offset, bytes) == 0);
}

bool heap_is_partial(const struct heap *h, const struct range *r)
{
    return range_end(r) > h->top_segment * h->segment_size
        || heap_unmapped_count(h, r->offset, r->node.bytes) != 0;
}

/* Puts a common chunk whose steps have changed into the right one of the two lists; its age
 * stays. */
static void update_list(struct heap *h, struct range *r)
{
    bool partial = heap_is_partial(h, r);
    if (partial == r->partial)
        return;
    free_list_remove(heap_list_of(h, r), &r->node);
    r->partial = partial;
    free_list_insert(heap_list_of(h, r), &r->node);
}

static void set_idle_owner(struct heap *h, size_t x, struct range *r)
{
    h->idle_owner[x] = r;
    if (bit_get(h->idle, x) == (r != NULL))
        return;
    h->idle[x / 64] ^= (uint64_t)1 << x % 64;
    h->idle_count += r ? 1 : SIZE_MAX;
}

void heap_set_idle_owner(struct heap *h, struct range *r, size_t from, size_t to)
{
    size_t stop = (to + h->segment_size - 1) / h->segment_size;
    if (stop > h->top_segment)
        stop = h->top_segment;
    for (size_t x = from / h->segment_size; x < stop; x++)
        set_idle_owner(h, x,
                       r && bit_get(h->mapped, x) && x * h->segment_size >= r->offset
                               && (x + 1) * h->segment_size <= range_end(r)
                           ? r
                           : NULL);
}

bool heap_grow_file(struct heap *h, size_t end)
{
    return !h->file || h->imported
        || os_fd_grow(h->file, HEAP_FILE_HEADER + round_up(end, h->segment_size));
}

void heap_map(struct heap *h, struct range *r, size_t bytes)
{
    size_t last = (r->offset + bytes - 1) / h->segment_size;
    for (size_t x = r->offset / h->segment_size; x <= last; x++) {
        if (bit_get(h->mapped, x))
            continue;
        bit_set(h->mapped, x);
        if (h->host_visible)
            os_protect(h->base + x * h->segment_size, h->segment_size, OS_PROT_READ_WRITE);
        h->mapped_count++;
        if (x >= h->top_segment)
            h->top_segment = x + 1;
    }
    heap_set_idle_owner(h, r, r->offset, r->offset + bytes);
    update_list(h, r);
}

/* The idle steps among those that word w of the map tells of, outside [from, to). */
static uint64_t idle_outside(const struct heap *h, size_t w, size_t from, size_t to)
{
    uint64_t idle = h->idle[w];
    for (size_t x = from > w * 64 ? from : w * 64; x < to && x < (w + 1) * 64; x++)
        idle &= ~((uint64_t)1 << x % 64);
    return idle;
}

size_t heap_idle_segment(const struct heap *h, bool highest, size_t from, size_t to)
{
    if (!h->idle_count)
        return SIZE_MAX;
    size_t words = (h->top_segment + 63) / 64;
    for (size_t i = 0; i < words; i++) {
        size_t w = highest ? words - 1 - i : i;
        uint64_t idle = idle_outside(h, w, from, to);
        if (idle)
            return w * 64 + (size_t)(highest ? 63 - __builtin_clzll(idle) : __builtin_ctzll(idle));
    }
    return SIZE_MAX;
}

void heap_unmap(struct heap *h, size_t segment)
{
    struct range *r = h->idle_owner[segment];
    bit_clear(h->mapped, segment);
    h->mapped_count--;
    set_idle_owner(h, segment, NULL);
    if (h->file && !h->imported)
        os_fd_discard(h->file, HEAP_FILE_HEADER + segment * h->segment_size, h->segment_size);
    else if (h->host_visible)
        os_discard_host_visible(heap_storage(h, segment * h->segment_size), h->segment_size);
    else if (!h->file)
        os_discard(heap_storage(h, segment * h->segment_size), h->segment_size);
    if (h->host_visible)
        os_protect(h->base + segment * h->segment_size, h->segment_size, OS_PROT_NONE);
    update_list(h, r);
}
