/* The address space: the open heaps, in order of their base addresses. */
#include "mem/address_map.h"

#include <string.h>

#include "check/page_guard.h"
#include "os/os.h"

struct area {
    struct heap *heap;
    struct pool *pool;
};

static struct area *areas;
static size_t area_count, area_capacity;

/* The first area whose base is above the address. */
static size_t first_above(const char *address)
{
    size_t low = 0, high = area_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (areas[middle].heap->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool find_host_view(const void *address, struct host_view *view)
{
    struct pool *pool;
    struct heap *h = address_map_find(address, &pool);
    if (!h || !h->host_visible)
        return false;
    *view = (struct host_view){h, h->base, h->segment_size, !pool};
    return true;
}

static bool is_view_mapped(const struct host_view *view, const char *address, size_t bytes)
{
    return heap_is_mapped(view->heap, (size_t)(address - view->base), bytes);
}

static const struct host_memory host_memory = {find_host_view, is_view_mapped};

void address_map_add(struct heap *h, struct pool *pool)
{
    if (h->host_visible)
        page_guard_memory = &host_memory;
    if (area_count == area_capacity) {
        area_capacity = area_capacity ? 2 * area_capacity : 16;
        areas = os_grow(areas, area_capacity * sizeof *areas);
    }
    size_t at = first_above(h->base);
    memmove(areas + at + 1, areas + at, (area_count++ - at) * sizeof *areas);
    areas[at] = (struct area){h, pool};
}

void address_map_remove(struct heap *h)
{
    size_t at = h->base ? first_above(h->base) : 0;
    if (!at || areas[at - 1].heap != h)
        return;
    memmove(areas + at - 1, areas + at, (area_count-- - at) * sizeof *areas);
}

bool address_map_contains(const struct heap *h)
{
    size_t at = first_above(h->base);
    return at && areas[at - 1].heap == h;
}

struct heap *address_map_find(const void *address, struct pool **pool)
{
    size_t at = first_above(address);
    if (!at)
        return NULL;
    struct area *a = &areas[at - 1];
    if ((const char *)address >= a->heap->base + a->heap->limit)
        return NULL;
    *pool = a->pool;
    return a->heap;
}
