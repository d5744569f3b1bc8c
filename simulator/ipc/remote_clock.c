/* Order across processes. Rule: a lane of ours that stands for a foreign one never holds work; it
 * only has numbers. */
#include "ipc/remote_clock.h"

#include "os/os.h"
#include "os/process.h"
#include "sched/stream.h"

struct remote_slot {
    uint64_t process;
    uint32_t slot, local_slot;
};

static struct remote_slot *remote_slots;
static uint32_t slot_count, slot_capacity;

uint32_t remote_clock_slot(uint64_t process, uint32_t slot)
{
    if (process == os_process())
        return slot;
    for (uint32_t i = 0; i < slot_count; i++)
        if (remote_slots[i].process == process && remote_slots[i].slot == slot)
            return remote_slots[i].local_slot;
    if (slot_count == slot_capacity) {
        slot_capacity = slot_capacity ? 2 * slot_capacity : 16;
        remote_slots = os_grow(remote_slots, slot_capacity * sizeof *remote_slots);
    }
    remote_slots[slot_count] = (struct remote_slot){process, slot, stream_new_slot()};
    return remote_slots[slot_count++].local_slot;
}

/* Whose lane is it? */
static struct remote_epoch slot_owner(uint32_t local_slot)
{
    for (uint32_t i = 0; i < slot_count; i++)
        if (remote_slots[i].local_slot == local_slot)
            return (struct remote_epoch){.process = remote_slots[i].process,
                                         .slot = remote_slots[i].slot};
    return (struct remote_epoch){.process = os_process(), .slot = local_slot};
}

uint32_t remote_clock_export(const struct vector_clock *vc, struct remote_epoch *epochs,
                             uint32_t capacity)
{
    uint32_t entries = 0;
    for (uint32_t slot = 0; slot < vc->slots; slot++) {
        if (!vc->epochs[slot])
            continue;
        if (entries < capacity) {
            epochs[entries] = slot_owner(slot);
            epochs[entries].epoch = vc->epochs[slot];
        }
        entries++;
    }
    return entries;
}

void remote_clock_import(struct vector_clock *vc, const struct remote_epoch *epochs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        vc_set(vc, remote_clock_slot(epochs[i].process, epochs[i].slot), epochs[i].epoch);
}
