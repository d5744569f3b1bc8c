/* A heap's physical memory: which steps are mapped, and which of those nobody uses. */
#include "mem/heap_internal.h"

#include "os/os.h"
#include "os/process.h"

size_t heap_missing(const struct heap *h, size_t offset, size_t bytes)
{
    size_t missing = 0, last = (offset + bytes - 1) / h->step;
    for (size_t x = offset / h->step; x <= last; x++) {
        if (x >= h->top) return missing + (last - x + 1);
        missing += !bit_get(h->mapped, x);
    }
    return missing;
}

bool heap_is_mapped(const struct heap *h, size_t offset, size_t bytes)
{
    return offset < h->limit && bytes <= h->limit - offset && (bytes == 0 || heap_missing(h, offset, bytes) == 0);
}

bool heap_is_partial(const struct heap *h, const struct chunk *c)
{
    return chunk_end(c) > h->top * h->step || heap_missing(h, c->offset, c->fit.bytes) != 0;
}

/* Puts a common chunk whose steps have changed into the right one of the two lists; its age stays. */
static void refile(struct heap *h, struct chunk *c)
{
    bool partial = heap_is_partial(h, c);
    if (partial == c->partial) return;
    fit_remove(heap_list(h, c), &c->fit);
    c->partial = partial;
    fit_insert(heap_list(h, c), &c->fit);
}

static void own(struct heap *h, size_t x, struct chunk *c)
{
    h->idle_owner[x] = c;
    if (bit_get(h->idle, x) == (c != NULL)) return;
    h->idle[x / 64] ^= (uint64_t)1 << x % 64;
    h->idle_count += c ? 1 : SIZE_MAX;
}

void heap_own(struct heap *h, struct chunk *c, size_t from, size_t to)
{
    size_t stop = (to + h->step - 1) / h->step;
    if (stop > h->top) stop = h->top;
    for (size_t x = from / h->step; x < stop; x++)
        own(h, x, c && bit_get(h->mapped, x) && x * h->step >= c->offset && (x + 1) * h->step <= chunk_end(c) ? c : NULL);
}

bool heap_back(struct heap *h, size_t end)
{
    return !h->file || h->foreign || host_file_grow(h->file, HEAP_FILE_HEAD + round_up(end, h->step));
}

void heap_map(struct heap *h, struct chunk *c, size_t bytes)
{
    size_t last = (c->offset + bytes - 1) / h->step;
    for (size_t x = c->offset / h->step; x <= last; x++) {
        if (bit_get(h->mapped, x)) continue;
        bit_set(h->mapped, x);
        if (h->shared) host_share(h->base + x * h->step, h->step, HOST_MAY_WRITE);
        h->mapped_count++;
        if (x >= h->top) h->top = x + 1;
    }
    heap_own(h, c, c->offset, c->offset + bytes);
    refile(h, c);
}

/* The idle steps among those that word w of the map tells of, outside [from, to). */
static uint64_t idle_outside(const struct heap *h, size_t w, size_t from, size_t to)
{
    uint64_t idle = h->idle[w];
    for (size_t x = from > w * 64 ? from : w * 64; x < to && x < (w + 1) * 64; x++) idle &= ~((uint64_t)1 << x % 64);
    return idle;
}

size_t heap_idle_step(const struct heap *h, bool highest, size_t from, size_t to)
{
    if (!h->idle_count) return SIZE_MAX;
    size_t words = (h->top + 63) / 64;
    for (size_t i = 0; i < words; i++) {
        size_t w = highest ? words - 1 - i : i;
        uint64_t idle = idle_outside(h, w, from, to);
        if (idle) return w * 64 + (size_t)(highest ? 63 - __builtin_clzll(idle) : __builtin_ctzll(idle));
    }
    return SIZE_MAX;
}

void heap_unmap(struct heap *h, size_t step)
{
    struct chunk *c = h->idle_owner[step];
    bit_clear(h->mapped, step);
    h->mapped_count--;
    own(h, step, NULL);
    if (h->file && !h->foreign) host_file_discard(h->file, HEAP_FILE_HEAD + step * h->step, h->step);
    else if (h->shared) host_discard_shared(heap_storage(h, step * h->step), h->step);
    else if (!h->file) host_discard(heap_storage(h, step * h->step), h->step);
    if (h->shared) host_share(h->base + step * h->step, h->step, HOST_MAY_NOTHING);
    refile(h, c);
}
