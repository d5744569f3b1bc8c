/* A heap's physical memory: which segments are mapped, and which of those nobody uses. */
#include "mem/heap.h"

#include "base/bits.h"
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
    if (!bytes)
        return offset < h->limit;
    return offset < h->limit && bytes <= h->limit - offset
        && offset + bytes <= h->top_segment * h->segment_size
        && heap_unmapped_count(h, offset, bytes) == 0;
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
    for (size_t x = from / h->segment_size; x < stop; x++) {
        size_t start = x * h->segment_size;
        bool whole = r && start >= r->offset && start + h->segment_size <= range_end(r);
        struct range *owner = whole && bit_get(h->mapped, x) ? r : NULL;
        if (h->idle_owner[x] != owner)
            set_idle_owner(h, x, owner);
    }
}

bool heap_grow_file(struct heap *h, size_t end)
{
    return !h->file || h->imported
        || os_fd_grow(h->file, HEAP_FILE_HEADER + round_up(end, h->segment_size));
}

void heap_map(struct heap *h, size_t offset, size_t bytes)
{
    size_t last = (offset + bytes - 1) / h->segment_size;
    for (size_t x = offset / h->segment_size; x <= last; x++) {
        if (bit_get(h->mapped, x))
            continue;
        bit_set(h->mapped, x);
        if (h->host_visible)
            os_protect(h->base + x * h->segment_size, h->segment_size, OS_PROT_READ_WRITE);
        h->mapped_count++;
        if (x >= h->top_segment)
            h->top_segment = x + 1;
    }
}

/* The idle segments among those of word w of the bit array, outside [from, to). */
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

static void discard_storage(struct heap *h, size_t offset)
{
    if (h->file && !h->imported)
        os_fd_discard(h->file, HEAP_FILE_HEADER + offset, h->segment_size);
    else if (h->host_visible)
        os_discard_host_visible(heap_storage(h, offset), h->segment_size);
    else if (!h->file)
        os_discard(heap_storage(h, offset), h->segment_size);
    if (h->host_visible)
        os_protect(h->base + offset, h->segment_size, OS_PROT_NONE);
}

void heap_unmap(struct heap *h, size_t segment)
{
    struct range *r = h->idle_owner[segment];
    bit_clear(h->mapped, segment);
    h->mapped_count--;
    set_idle_owner(h, segment, NULL);
    discard_storage(h, segment * h->segment_size);
    if (r->list == &h->shared_partial)
        return;
    /* Its age stays. */
    tree_remove(&h->shared.ranges, &r->free_node);
    r->list = &h->shared_partial;
    tree_insert(&h->shared_partial.ranges, &r->free_node);
}

size_t heap_release(struct heap *h, size_t keep)
{
    size_t segments = 0;
    while (h->idle_count && h->mapped_count * h->segment_size > keep) {
        heap_unmap(h, heap_idle_segment(h, true, 0, 0));
        segments++;
    }
    return segments;
}
