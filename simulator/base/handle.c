/* Handles: one table for all kinds. A handle is kind, generation and slot in one number with the
 * lowest bits zero, in a range where no user address can be: slot s of generation g is never given
 * out again once it is retired. */
#include "base/handle.h"

#include "os/os.h"

struct slot {
    void *object;
    uint32_t generation;
    uint8_t kind;
    uint32_t next_free;
};

static struct slot *slots;
static uint32_t used, capacity, first_free; /* first_free: slot + 1, 0 for none */

/* 1 << 62 marks a handle; 8 bits kind, 26 bits generation, 24 bits slot above 4 zero bits. */
static uintptr_t encode(uint32_t kind, uint32_t generation, uint32_t slot)
{
    return (uintptr_t)1 << 62 | (uintptr_t)kind << 54 | (uintptr_t)(generation & 0x3ffffff) << 28
         | (uintptr_t)slot << 4;
}

void *handle_new(enum handle_kind kind, void *object)
{
    uint32_t s = first_free;
    if (s) {
        s--;
        first_free = slots[s].next_free;
    } else {
        if (used == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            slots = os_grow(slots, capacity * sizeof *slots);
        }
        if (used >> 24)
            os_fatal("more than 16 million streams, events and pools are alive at once.");
        s = used++;
        slots[s].generation = 0;
    }
    slots[s].object = object;
    slots[s].kind = (uint8_t)kind;
    return (void *)encode(kind, slots[s].generation, s);
}

static bool decode(enum handle_kind kind, const void *handle, uint32_t *generation, uint32_t *slot)
{
    uintptr_t h = (uintptr_t)handle;
    *slot = (uint32_t)(h >> 4 & 0xffffff);
    *generation = (uint32_t)(h >> 28 & 0x3ffffff);
    return *slot < used && h == encode(kind, *generation, *slot);
}

void *handle_object(enum handle_kind kind, const void *handle)
{
    uint32_t generation, s;
    if (!decode(kind, handle, &generation, &s) || (slots[s].generation & 0x3ffffff) != generation
        || slots[s].kind != kind)
        return NULL;
    return slots[s].object;
}

enum handle_state handle_state(enum handle_kind kind, const void *handle)
{
    uint32_t generation, s;
    if (handle_object(kind, handle))
        return HANDLE_LIVE;
    return decode(kind, handle, &generation, &s) && generation < (slots[s].generation & 0x3ffffff)
             ? HANDLE_DESTROYED
             : HANDLE_UNKNOWN;
}

void handle_retire(enum handle_kind kind, const void *handle)
{
    uint32_t generation, s;
    if (!handle_object(kind, handle) || !decode(kind, handle, &generation, &s))
        return;
    slots[s].object = NULL;
    slots[s].generation++;
    slots[s].next_free = first_free;
    first_free = s + 1;
}
