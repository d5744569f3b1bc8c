/* Vector clocks across processes. */
#include "ipc/remote_clock.h"

#include "os/os.h"
#include "os/process.h"
#include "sched/stream.h"

/* A slot of another process, and the slot here that stands for it. */
struct remote_slot {
    uint64_t process;
    uint32_t slot, local_slot;
};

/* Law: each slot of another process that was ever named is in the list once, with a slot of this
 * process that never holds work, only epochs. Nothing is removed. Needs the lock. */
static struct {
    struct remote_slot *list;
    uint32_t count, capacity;
} remote_slots;

static void add_slot(uint64_t process, uint32_t slot, uint32_t local_slot)
{
    if (remote_slots.count == remote_slots.capacity) {
        remote_slots.capacity = remote_slots.capacity ? 2 * remote_slots.capacity : 16;
        remote_slots.list =
            os_grow(remote_slots.list, remote_slots.capacity * sizeof *remote_slots.list);
    }
    remote_slots.list[remote_slots.count++] = (struct remote_slot){process, slot, local_slot};
}

uint32_t remote_clock_slot(uint64_t process, uint32_t slot)
{
    if (process == os_process())
        return slot;
    for (uint32_t i = 0; i < remote_slots.count; i++)
        if (remote_slots.list[i].process == process && remote_slots.list[i].slot == slot)
            return remote_slots.list[i].local_slot;
    uint32_t local_slot = stream_new_slot();
    add_slot(process, slot, local_slot);
    return local_slot;
}

/* Returns whose slot it is, with epoch 0. */
static struct remote_epoch slot_owner(uint32_t local_slot)
{
    for (uint32_t i = 0; i < remote_slots.count; i++)
        if (remote_slots.list[i].local_slot == local_slot)
            return (struct remote_epoch){.process = remote_slots.list[i].process,
                                         .slot = remote_slots.list[i].slot};
    return (struct remote_epoch){.process = os_process(), .slot = local_slot};
}

uint32_t remote_clock_export(const struct vector_clock *vc, struct remote_epoch *epochs,
                             uint32_t capacity)
{
    uint32_t entries = 0;
    for (uint32_t slot = vc_next(vc, 0); slot != CLOCK_END; slot = vc_next(vc, slot + 1)) {
        if (entries < capacity) {
            epochs[entries] = slot_owner(slot);
            epochs[entries].epoch = vc_epoch(vc, slot);
        }
        entries++;
    }
    return entries;
}

void remote_clock_import(struct vector_clock *vc, const struct remote_epoch *epochs, uint32_t count)
{
    /* What was sent may have been too much for one event, and is not whole then. */
    vc_forget_records();
    for (uint32_t i = 0; i < count; i++)
        vc_set(vc, remote_clock_slot(epochs[i].process, epochs[i].slot), epochs[i].epoch);
}
