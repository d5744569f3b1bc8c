/* The address space: the open heaps, in order of their base addresses. */
#include "mem/address_map.h"

#include <string.h>

#include "os/os.h"

struct area { struct heap *heap; struct pool *pool; };

static struct area *areas;
static size_t count, capacity;

/* The first area whose base is above the address. */
static size_t above(const char *address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (areas[middle].heap->base <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

void space_add(struct heap *h, struct pool *pool)
{
    if (count == capacity) {
        capacity = capacity ? 2 * capacity : 16;
        areas = host_grow(areas, capacity * sizeof *areas);
    }
    size_t at = above(h->base);
    memmove(areas + at + 1, areas + at, (count++ - at) * sizeof *areas);
    areas[at] = (struct area){ h, pool };
}

void space_remove(struct heap *h)
{
    size_t at = h->base ? above(h->base) : 0;
    if (!at || areas[at - 1].heap != h) return;
    memmove(areas + at - 1, areas + at, (count-- - at) * sizeof *areas);
}

bool space_knows(const struct heap *h)
{
    size_t at = above(h->base);
    return at && areas[at - 1].heap == h;
}

struct heap *space_find(const void *address, struct pool **pool)
{
    size_t at = above(address);
    if (!at) return NULL;
    struct area *a = &areas[at - 1];
    if ((const char *)address >= a->heap->base + a->heap->limit) return NULL;
    *pool = a->pool;
    return a->heap;
}
