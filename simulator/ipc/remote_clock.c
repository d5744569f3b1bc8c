/* Vector clocks across processes. */
#include "ipc/remote_clock.h"

#include <string.h>

#include "os/os.h"
#include "sched/happens_before.h"
#include "sched/stream.h"

/* The clock and slot that a slot here stands for. */
struct owner {
    struct process_clock *clock;
    uint32_t slot;
};

/* For each slot of one process: the slot here that stands for it plus 1, or 0 if there is none. */
struct local_slots {
    uint32_t *list;
    uint32_t count;
};

/* Needs the lock. Invariant: of_clock[process_clock_index(c)].list[slot] - 1 is the slot here that
 * stands for `slot` of c. Such a slot has only epochs and no work, and its entry in `owners` is {c,
 * slot}. An owner without a clock is a stream of this process. Entries are never removed. */
static struct {
    struct local_slots *of_clock;
    uint32_t clock_count;
    struct owner *owners;
    uint32_t owner_count;
    /* What the host had acquired when it last raised the clocks. */
    struct vector_clock raised;
    struct remote_epoch *exported;
    uint32_t export_capacity;
} remote;

/* ---- slots ---- */

/* Grows a list to contain index `at`. New entries are 0. */
static void *grow_to(void *list, uint32_t at, uint32_t *count, size_t item_bytes)
{
    if (at < *count)
        return list;
    uint32_t old = *count;
    while (*count <= at)
        *count = *count ? 2 * *count : 16;
    char *grown = os_grow(list, *count * item_bytes);
    memset(grown + old * item_bytes, 0, (*count - old) * item_bytes);
    return grown;
}

/* Returns the slot here that stands for a slot of the clock. */
static uint32_t local_slot(struct process_clock *clock, uint32_t slot)
{
    uint32_t index = process_clock_index(clock);
    if (clock == process_clock_own())
        return slot;
    remote.of_clock = grow_to(remote.of_clock, index, &remote.clock_count, sizeof *remote.of_clock);
    struct local_slots *slots = &remote.of_clock[index];
    slots->list = grow_to(slots->list, slot, &slots->count, sizeof *slots->list);
    if (!slots->list[slot]) {
        uint32_t local = stream_new_slot();
        remote.owners = grow_to(remote.owners, local, &remote.owner_count, sizeof *remote.owners);
        remote.owners[local] = (struct owner){clock, slot};
        slots->list[slot] = local + 1;
    }
    return slots->list[slot] - 1;
}

static struct owner owner_of(uint32_t local)
{
    if (local < remote.owner_count && remote.owners[local].clock)
        return remote.owners[local];
    return (struct owner){process_clock_own(), local};
}

uint64_t remote_clock_epoch(const struct vector_clock *vc, struct process_clock *clock,
                            uint32_t slot)
{
    if (clock == process_clock_own())
        return vc_epoch(vc, slot);
    uint32_t index = process_clock_index(clock);
    if (index >= remote.clock_count || slot >= remote.of_clock[index].count)
        return 0;
    uint32_t local = remote.of_clock[index].list[slot];
    return local ? vc_epoch(vc, local - 1) : 0;
}

/* ---- acquired by hosts ---- */

/* Called when the host has acquired something. */
static void raise_all(void)
{
    const struct vector_clock *host = host_code_clock();
    uint32_t local = vc_next_beyond(host, &remote.raised, 0);
    for (; local != CLOCK_END; local = vc_next_beyond(host, &remote.raised, local + 1)) {
        struct owner owner = owner_of(local);
        process_clock_raise(owner.clock, owner.slot, vc_epoch(host, local));
    }
    vc_clear(&remote.raised);
    vc_join(&remote.raised, host);
}

/* Returns whether any host has acquired this epoch of a slot here. */
static bool is_acquired_elsewhere(uint32_t local, uint64_t epoch)
{
    struct owner owner = owner_of(local);
    return process_clock_acquired(owner.clock, owner.slot) >= epoch
        || (owner.clock != process_clock_own() && process_clock_is_over(owner.clock));
}

bool remote_clock_start(void)
{
    if (!process_clock_start())
        return false;
    host_on_acquire(raise_all);
    host_acquired_elsewhere = is_acquired_elsewhere;
    raise_all();
    return true;
}

/* ---- sending ---- */

struct remote_epochs remote_clock_export(const struct vector_clock *vc)
{
    const struct vector_clock *host = &host_acquired.clock;
    uint32_t count = 0, local = vc_next_beyond(vc, host, 0);
    for (; local != CLOCK_END; local = vc_next_beyond(vc, host, local + 1)) {
        struct owner owner = owner_of(local);
        uint64_t epoch = vc_epoch(vc, local);
        if (process_clock_acquired(owner.clock, owner.slot) >= epoch)
            continue;
        if (owner.clock == process_clock_own())
            process_clock_add_slot(owner.slot);
        OS_MAKE_ROOM(remote.exported, count, remote.export_capacity)
        remote.exported[count++] =
            (struct remote_epoch){process_clock_name(owner.clock), epoch, owner.slot};
    }
    return (struct remote_epochs){remote.exported, count};
}

void remote_clock_import(struct vector_clock *vc, const struct remote_epoch *epochs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct process_clock *clock = process_clock_of(epochs[i].of);
        if (process_clock_has(clock, epochs[i].slot))
            vc_set(vc, local_slot(clock, epochs[i].slot), epochs[i].epoch);
        process_clock_await(clock, epochs[i].slot, epochs[i].epoch);
    }
}
