/* The address space: the open heaps, in order of their base addresses. */
#include "mem/address_map.h"

#include <string.h>

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

void address_map_add(struct heap *h, struct pool *pool)
{
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
