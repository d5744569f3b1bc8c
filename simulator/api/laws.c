/* The invariants of memory. Each room checks its own: heap_is_valid in mem/heap_check.c,
 * graph_memory_is_valid in graph/graph_memory.c. These connect them. */
#include "api/laws.h"

#include "graph/graph_memory.h"
#include "mem/device.h"
#include "mem/memory.h"
#include "mem/pool.h"
#include "os/os.h"

static const char *pool_broken(const struct pool *p)
{
    const char *broken = heap_is_valid(&p->heap);
    if (broken || p->imported)
        return broken;
    if (p->policy.max_segments && p->heap.mapped_count > p->policy.max_segments)
        return "a pool has passed its maxSize";
    if (!p->graph && (p->reserved_high < pool_reserved(p) || p->used_high < p->used))
        return "a watermark is below what it marks";
    return NULL;
}

/* What is free on a device and what its heaps have mapped always have the same sum. */
static const char *account_broken(int device, size_t mapped)
{
    static size_t sums[MAX_DEVICES];
    size_t sum = device_free_memory(device) + mapped;
    if (!sums[device])
        sums[device] = sum;
    return sum == sums[device] ? NULL
                               : "a device's free memory is not what its heaps have not mapped";
}

static const char *device_broken(int device)
{
    const struct heap *heap = memory_heap(device), *managed = memory_managed_heap(device);
    const char *broken = heap->limit ? heap_is_valid(heap) : NULL;
    if (!broken && managed->limit)
        broken = heap_is_valid(managed);
    if (broken)
        return broken;
    size_t mapped =
        heap->mapped_count * heap->segment_size + graph_segments_figures(device)->reserved;
    for (const struct pool *p = pool_first(); p; p = p->next)
        if (p->heap.device == device && !p->graph && !p->imported)
            mapped += p->heap.mapped_count * settings.segment;
    return account_broken(device, mapped);
}

const char *laws_broken(void)
{
    const char *broken = graph_memory_is_valid();
    for (const struct pool *p = pool_first(); p && !broken; p = p->next)
        broken = pool_broken(p);
    for (const struct heap *h = memory_first_opened(); h && !broken; h = h->next_opened)
        broken = heap_is_valid(h);
    for (int device = 0; device < settings.devices && !broken; device++)
        broken = device_broken(device);
    return broken;
}

void laws_check(const char *call)
{
    const char *broken = laws_broken();
    if (broken)
        os_fatal("SIM_CHECK_LAWS: after %s a law of the simulation does not hold: %s.", call,
                 broken);
}
