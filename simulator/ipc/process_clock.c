/* Clocks of processes. Nothing that another process wrote is trusted with memory: a slot is only
 * looked up within the part of the file that was mapped. */
#include "ipc/process_clock.h"

#include <string.h>

#include "base/device_state.h"
#include "os/os.h"
#include "os/process.h"
#include "sched/happens_before.h"
#include "sched/stream.h"

#define MAGIC 0x326b636f6c636973u
/* Assumed: enough for most programs. A full file doubles. */
#define FIRST_SLOTS 1024

/* Invariant: epochs never decrease. */
struct slot_epochs {
    uint64_t acquired, reached, awaited;
};

struct clock_file {
    uint64_t magic, process;
    /* The process's device has failed. */
    uint64_t failed, unused;
    struct slot_epochs slots[];
};

struct process_clock {
    struct clock_name name;
    uint32_t index;
    /* The mapped file, or NULL if it cannot be read. */
    struct clock_file *file;
    /* The number of mapped slots. */
    uint32_t room;
    uint32_t users;
    bool has_ended;
};

/* Needs the lock. Invariant: list[i] is the clock with index i, all clocks are of different
 * processes, and the own clock is among them once it is started. */
static struct {
    struct process_clock **list;
    uint32_t count, capacity;
    struct process_clock *own;
    /* The number of clocks at which those of ended processes are next unmapped. */
    uint32_t next_sweep;
    bool reported_unreadable;
} clocks;

static size_t file_bytes(uint32_t slots)
{
    return sizeof(struct clock_file) + (size_t)slots * sizeof(struct slot_epochs);
}

static struct process_clock *add_clock(struct clock_name name)
{
    OS_MAKE_ROOM(clocks.list, clocks.count, clocks.capacity)
    struct process_clock *clock = os_allocate(sizeof *clock);
    *clock = (struct process_clock){.name = name, .index = clocks.count};
    clocks.list[clocks.count++] = clock;
    return clock;
}

static void unmap(struct process_clock *clock)
{
    if (clock->file)
        os_fd_unmap(clock->file, file_bytes(clock->room));
    clock->file = NULL;
    clock->room = 0;
}

/* ---- this process's clock ---- */

static void set_failed(void) { __atomic_store_n(&clocks.own->file->failed, 1, __ATOMIC_RELEASE); }

/* Maps the own file with this many slots. Returns false if there is no room for them. */
static bool map_own(struct process_clock *own, uint32_t slots)
{
    int fd = own->name.file;
    size_t bytes = file_bytes(slots);
    struct clock_file *file = os_fd_grow(fd, bytes) ? os_fd_map(fd, bytes) : NULL;
    if (!file)
        return false;
    unmap(own);
    own->file = file;
    own->room = slots;
    return true;
}

int ipc_file_new(const char *what)
{
    int file = os_memfd_new();
    if (file < 0)
        diag("no file in memory could be made for %s: this process has too many files open "
             "(ulimit -n).",
             what);
    return file;
}

bool process_clock_start(void)
{
    if (clocks.own)
        return true;
    struct process_clock own = {
        .name = {os_process(), ipc_file_new("what this process shares with others")}};
    if (own.name.file < 0 || !map_own(&own, FIRST_SLOTS)) {
        if (own.name.file >= 0)
            os_fd_close(own.name.file);
        return false;
    }
    clocks.own = add_clock(own.name);
    clocks.own->file = own.file;
    clocks.own->room = own.room;
    own.file->process = own.name.process;
    own.file->magic = MAGIC;
    device_on_fault(set_failed);
    return true;
}

struct process_clock *process_clock_own(void) { return clocks.own; }
struct clock_name process_clock_name(const struct process_clock *clock) { return clock->name; }

/* ---- other processes' clocks ---- */

/* Maps the file's present size. Returns false if it cannot be opened or is another file. */
static bool map_others(struct process_clock *clock)
{
    int fd = os_fd_of_process(clock->name.process, clock->name.file);
    if (fd < 0)
        return false;
    size_t bytes = os_fd_size(fd), room = bytes < file_bytes(0) ? 0 : bytes - file_bytes(0);
    room /= sizeof(struct slot_epochs);
    if (room > UINT32_MAX)
        room = UINT32_MAX;
    struct clock_file *file = room ? os_fd_map(fd, file_bytes((uint32_t)room)) : NULL;
    os_fd_close(fd);
    if (file && (file->magic != MAGIC || file->process != clock->name.process)) {
        os_fd_unmap(file, file_bytes((uint32_t)room));
        file = NULL;
    }
    if (!file)
        return false;
    unmap(clock);
    clock->file = file;
    clock->room = (uint32_t)room;
    return true;
}

static void open_clock(struct process_clock *clock)
{
    if (map_others(clock) || !os_process_stays(clock->name.process) || clocks.reported_unreadable)
        return;
    clocks.reported_unreadable = true;
    diag("what process %d does with memory that it shares is not checked here: its clock cannot be "
         "opened. It belongs to another user, or has closed descriptors that are not its own.",
         os_process_pid(clock->name.process));
}

/* Unmaps the clocks of processes that have ended, because their epochs are over. */
static void sweep(void)
{
    for (uint32_t i = 0; i < clocks.count; i++)
        if (!clocks.list[i]->users && clocks.list[i]->file && process_clock_is_over(clocks.list[i]))
            unmap(clocks.list[i]);
    clocks.next_sweep = 2 * clocks.count;
}

struct process_clock *process_clock_of(struct clock_name name)
{
    for (uint32_t i = clocks.count; i-- > 0;)
        if (clocks.list[i]->name.process == name.process)
            return clocks.list[i];
    if (clocks.count >= clocks.next_sweep)
        sweep();
    struct process_clock *clock = add_clock(name);
    open_clock(clock);
    return clock;
}

uint32_t process_clock_index(const struct process_clock *clock) { return clock->index; }

/* ---- epochs ---- */

/* Returns the epochs of a slot, or NULL if the file has none or cannot be read. */
static struct slot_epochs *epochs_of(struct process_clock *clock, uint32_t slot)
{
    /* The other process may have extended its file. */
    if (slot >= clock->room && clock != clocks.own && clock->file && !clock->has_ended)
        map_others(clock);
    return slot < clock->room ? &clock->file->slots[slot] : NULL;
}

void process_clock_add_slot(uint32_t slot)
{
    uint32_t slots = clocks.own->room;
    if (slot < slots)
        return;
    while (slots <= slot)
        slots *= 2;
    if (!map_own(clocks.own, slots))
        os_fatal("the clock that this process shares with others cannot grow to %u slots.", slots);
}

/* Raises the epoch. Other processes may raise it at the same time. */
static void raise_to(uint64_t *epoch, uint64_t to)
{
    uint64_t old = __atomic_load_n(epoch, __ATOMIC_RELAXED);
    while (
        old < to
        && !__atomic_compare_exchange_n(epoch, &old, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

bool process_clock_has(struct process_clock *clock, uint32_t slot)
{
    return epochs_of(clock, slot);
}

void process_clock_raise(struct process_clock *clock, uint32_t slot, uint64_t epoch)
{
    if (clock == clocks.own)
        process_clock_add_slot(slot);
    struct slot_epochs *epochs = epochs_of(clock, slot);
    if (epochs)
        raise_to(&epochs->acquired, epoch);
}

uint64_t process_clock_acquired(struct process_clock *clock, uint32_t slot)
{
    struct slot_epochs *epochs = epochs_of(clock, slot);
    if (!epochs)
        return clock == clocks.own ? 0 : UINT64_MAX;
    return __atomic_load_n(&epochs->acquired, __ATOMIC_ACQUIRE);
}

void process_clock_reach(uint32_t slot, uint64_t epoch)
{
    raise_to(&epochs_of(clocks.own, slot)->reached, epoch);
}

void process_clock_await(struct process_clock *clock, uint32_t slot, uint64_t epoch)
{
    struct slot_epochs *epochs = epochs_of(clock, slot);
    if (epochs)
        raise_to(&epochs->awaited, epoch);
}

uint64_t process_clock_awaited(uint32_t slot)
{
    const struct slot_epochs *epochs = epochs_of(clocks.own, slot);
    return epochs ? __atomic_load_n(&epochs->awaited, __ATOMIC_ACQUIRE) : 0;
}

bool process_clock_reached(struct process_clock *clock, uint32_t slot, uint64_t epoch)
{
    struct slot_epochs *epochs = epochs_of(clock, slot);
    return epochs && __atomic_load_n(&epochs->reached, __ATOMIC_ACQUIRE) >= epoch;
}

/* ---- the process ---- */

void process_clock_use(struct process_clock *clock) { clock->users++; }
void process_clock_release(struct process_clock *clock) { clock->users--; }

bool process_clock_is_over(struct process_clock *clock)
{
    clock->has_ended = clock->has_ended || !os_process_alive(clock->name.process);
    return clock->has_ended;
}

bool process_clock_has_failed(const struct process_clock *clock)
{
    return clock->file && __atomic_load_n(&clock->file->failed, __ATOMIC_ACQUIRE);
}

/* ---- vector clocks ---- */

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
