/* The open heaps, sorted by their base addresses. */
#include "mem/address_map.h"

#include <string.h>

#include "check/page_guard.h"
#include "os/needs_lock.h"
#include "os/os.h"

/* Needs the lock. Invariant: the first `count` entries ascend by base, and no two heaps overlap. */
static struct {
    struct heap **heaps;
    size_t count, capacity;
} map;

/* Returns the number of heaps whose base is at or below the address. */
static size_t count_up_to(const char *address)
{
    size_t low = 0, high = map.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (map.heaps[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool find_host_view(const void *address, struct host_view *view)
{
    struct heap *h = address_map_find(address);
    if (!h || !h->host_visible)
        return false;
    *view = (struct host_view){h, h->base, h->segment_size, !h->pool};
    return true;
}

static bool is_view_mapped(const struct host_view *view, const char *address, size_t bytes)
{
    return heap_is_mapped(view->heap, (size_t)(address - view->base), bytes);
}

static const struct host_memory host_memory = {find_host_view, is_view_mapped};

void address_map_add(struct heap *h)
{
    if (h->host_visible)
        page_guard_memory = &host_memory;
    OS_MAKE_ROOM(map.heaps, map.count, map.capacity)
    size_t at = count_up_to(h->base);
    memmove(map.heaps + at + 1, map.heaps + at, (map.count++ - at) * sizeof(struct heap *));
    map.heaps[at] = h;
}

void address_map_remove(struct heap *h)
{
    size_t at = h->base ? count_up_to(h->base) : 0;
    if (!at || map.heaps[at - 1] != h)
        return;
    memmove(map.heaps + at - 1, map.heaps + at, (map.count-- - at) * sizeof(struct heap *));
}

struct heap *address_map_find(const void *address)
{
    NEEDS_LOCK();
    size_t at = count_up_to(address);
    if (!at)
        return NULL;
    struct heap *h = map.heaps[at - 1];
    return (const char *)address < h->base + h->limit ? h : NULL;
}
