/* Vector clocks: the join of two has the larger epoch of each slot. */
#include "sched/vector_clock.h"

#include <string.h>

#include "os/os.h"

/* Makes room for more slots, by eights. */
static void widen(struct vector_clock *vc, uint32_t slots)
{
    uint32_t wanted = (slots + 7u) & ~7u;
    vc->epochs = os_grow(vc->epochs, wanted * sizeof *vc->epochs);
    memset(vc->epochs + vc->slots, 0, (wanted - vc->slots) * sizeof *vc->epochs);
    vc->slots = wanted;
}

void vc_set(struct vector_clock *vc, uint32_t slot, uint64_t epoch)
{
    if (slot >= vc->slots)
        widen(vc, slot + 1);
    if (vc->epochs[slot] < epoch)
        vc->epochs[slot] = epoch;
}

void vc_join(struct vector_clock *into, const struct vector_clock *from)
{
    if (from->slots > into->slots)
        widen(into, from->slots);
    for (uint32_t i = 0; i < from->slots; i++)
        if (into->epochs[i] < from->epochs[i])
            into->epochs[i] = from->epochs[i];
}

void vc_clear(struct vector_clock *vc)
{
    os_free(vc->epochs);
    *vc = (struct vector_clock){0, NULL};
}

void ordering_join(struct ordering *into, const struct ordering *from)
{
    vc_join(&into->device_order, &from->device_order);
    vc_join(&into->happens_before, &from->happens_before);
}

void ordering_set(struct ordering *o, uint32_t slot, uint64_t epoch)
{
    vc_set(&o->device_order, slot, epoch);
    vc_set(&o->happens_before, slot, epoch);
}

void ordering_clear(struct ordering *o)
{
    vc_clear(&o->device_order);
    vc_clear(&o->happens_before);
}
