/* One table of handles for all kinds of objects. A handle packs kind, generation, and slot into a
 * number outside the range of user addresses:
 *
 *    63 62  61     54 53                      28 27                     4 3  0
 *   [ 0  1 |  kind   |       generation         |          slot          | 0  ]
 *
 * When an object is gone, the next object of the same kind reuses its slot with the next
 * generation. Under SIM_SCHEDULE=random with an even seed the generation stays, because real
 * drivers give the handle of a destroyed object to the next new one. */
#include "base/handle.h"

#include "base/fatal.h"
#include "base/settings.h"
#include "os/needs_lock.h"
#include "os/os.h"

#define GENERATION_MASK 0x3ffffffu
#define SLOT_MASK       0xffffffu

struct slot {
    void *object;
    /* The handle of the object, or 0 if the slot is free. */
    uintptr_t handle;
    uint32_t generation;
    /* The site of the call that destroyed the last object. */
    void *destroyed_at;
    /* For a free slot: the next free slot plus 1, or 0 at the end of the list. */
    uint32_t next_free;
};

/* Needs the lock. Invariant: every slot below `used` holds an object or is in the free list. */
static struct {
    struct slot *slots;
    uint32_t used, capacity;
    /* The first free slot of each kind plus 1, or 0 if there is none. */
    uint32_t first_free[HANDLE_KINDS];
} table;

static uintptr_t encode(enum handle_kind kind, uint32_t generation, uint32_t slot)
{
    return (uintptr_t)1 << 62 | (uintptr_t)kind << 54
         | (uintptr_t)(generation & GENERATION_MASK) << 28 | (uintptr_t)slot << 4;
}

/* Returns a slot that no object has. */
static uint32_t take_slot(enum handle_kind kind)
{
    if (table.first_free[kind]) {
        uint32_t slot = table.first_free[kind] - 1;
        table.first_free[kind] = table.slots[slot].next_free;
        if (settings.schedule == SCHEDULE_RANDOM && settings.seed % 2 == 0)
            table.slots[slot].generation--;
        return slot;
    }
    if (table.used > SLOT_MASK)
        os_fatal("more than 16 million streams, events and pools are alive at once.");
    OS_MAKE_ROOM(table.slots, table.used, table.capacity)
    table.slots[table.used] = (struct slot){0};
    return table.used++;
}

void *handle_new(enum handle_kind kind, void *object)
{
    NEEDS_LOCK();
    uint32_t slot = take_slot(kind);
    struct slot *s = &table.slots[slot];
    s->object = object;
    s->handle = encode(kind, s->generation, slot);
    return (void *)s->handle;
}

void *handle_object(enum handle_kind kind, const void *handle)
{
    NEEDS_LOCK();
    uintptr_t h = (uintptr_t)handle;
    uint32_t slot = (uint32_t)(h >> 4 & SLOT_MASK);
    if (slot >= table.used || h >> 54 != (1u << 8 | kind) || table.slots[slot].handle != h)
        return NULL;
    return table.slots[slot].object;
}

enum handle_state handle_state(enum handle_kind kind, const void *handle)
{
    NEEDS_LOCK();
    uintptr_t h = (uintptr_t)handle;
    uint32_t slot = (uint32_t)(h >> 4 & SLOT_MASK);
    uint32_t generation = (uint32_t)(h >> 28 & GENERATION_MASK);
    if (handle_object(kind, handle))
        return HANDLE_LIVE;
    if (slot >= table.used || h != encode(kind, generation, slot))
        return HANDLE_UNKNOWN;
    bool is_older = generation < (table.slots[slot].generation & GENERATION_MASK);
    return is_older ? HANDLE_DESTROYED : HANDLE_UNKNOWN;
}

void *handle_destroyed_at(const void *handle)
{
    NEEDS_LOCK();
    const struct slot *s = &table.slots[(uintptr_t)handle >> 4 & SLOT_MASK];
    bool is_last = ((uintptr_t)handle >> 28 & GENERATION_MASK) + 1 == s->generation;
    return is_last ? s->destroyed_at : NULL;
}

void handle_retire(enum handle_kind kind, const void *handle)
{
    NEEDS_LOCK();
    if (!handle_object(kind, handle))
        return;
    uint32_t slot = (uint32_t)((uintptr_t)handle >> 4 & SLOT_MASK);
    struct slot *s = &table.slots[slot];
    s->object = NULL;
    s->handle = 0;
    s->generation++;
    s->destroyed_at = fatal_site;
    s->next_free = table.first_free[kind];
    table.first_free[kind] = slot + 1;
}
