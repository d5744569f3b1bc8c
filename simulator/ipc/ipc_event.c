/* Interprocess events. */
#include "ipc/ipc_event.h"

#include <string.h>

#include "base/device_state.h"
#include "ipc/process_clock.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "os/process.h"
#include "sched/engine.h"
#include "sched/happens_before.h"

#define MAGIC IPC_EVENT_MAGIC
/* Assumed: enough for most records. A file grows if a record needs more. */
#define FIRST_EPOCHS 32
/* Microseconds between checks whether the other process is alive. */
#define LIVENESS_INTERVAL_US 20000

/* A record of the event: its number, from 1 up, and its epoch in the recording process. */
struct event_record {
    uint64_t number, seq;
    struct clock_name recorder;
    uint32_t slot;
};

/* The file that all processes map. Invariant: `newest` is the newest record (number 0 before the
 * first), and `epochs` is its vector clock without what some host had acquired. Both are written
 * with `lock` held; the number is read without it. `reached` is the highest number of a reached
 * record, for the case that the process of the newest record has ended, and its clock with it.
 * Nothing that another process wrote is trusted as an index or a size. */
struct event_state {
    uint64_t magic, id, lock;
    struct event_record newest;
    uint64_t reached;
    uint32_t epoch_count, unused;
    struct remote_epoch epochs[];
};

struct ipc_event {
    /* First member, so that both have the same address. */
    struct remote_event remote;
    struct event_state *state;
    /* The number of epochs that are mapped. */
    uint32_t room;
    int file;
    uint32_t users;
    /* Another process made the event. */
    bool opened;
    /* This process's last record, and its number. The record is only compared, never read. */
    uint64_t own_number;
    const struct record *own_record;
    struct ipc_event_address address;
};

/* A record for which an operation or the host waits, or which an operation reaches. It counts as a
 * user of the event and, for a wait, of the clock. */
struct record_wait {
    struct ipc_event *event;
    struct event_record record;
    struct process_clock *clock;
    /* When the recording process was last seen alive, in microseconds of real time. */
    uint64_t checked_at;
};

static const struct remote_event_calls remote_event_calls;

static struct ipc_event *ipc_event_of(const struct remote_event *remote)
{
    return (struct ipc_event *)remote;
}

/* ---- the file ---- */

static size_t state_bytes(uint32_t epochs)
{
    return sizeof(struct event_state) + (size_t)epochs * sizeof(struct remote_epoch);
}

/* Maps the file with at least this many epochs. Returns false if it is shorter. */
static bool map_state(struct ipc_event *event, uint32_t epochs)
{
    size_t bytes = os_fd_size(event->file);
    size_t room =
        bytes < state_bytes(0) ? 0 : (bytes - state_bytes(0)) / sizeof(struct remote_epoch);
    if (room > UINT32_MAX)
        room = UINT32_MAX;
    struct event_state *state =
        room && room >= epochs ? os_fd_map(event->file, state_bytes((uint32_t)room)) : NULL;
    if (!state)
        return false;
    if (event->state)
        os_fd_unmap(event->state, state_bytes(event->room));
    event->state = state;
    event->room = (uint32_t)room;
    return true;
}

/* Maps the file, which the event then owns. Returns NULL if the file is not an event's. */
static struct ipc_event *map_event(int file)
{
    struct ipc_event *event = os_allocate(sizeof *event);
    *event = (struct ipc_event){.remote = {&remote_event_calls}, .file = file, .users = 1};
    if (map_state(event, 0))
        return event;
    os_fd_close(file);
    os_free(event);
    return NULL;
}

/* Removes one user. The event ends with its last user. */
static void release(struct ipc_event *event)
{
    if (--event->users)
        return;
    os_fd_unmap(event->state, state_bytes(event->room));
    os_fd_close(event->file);
    os_free(event);
}

struct remote_event *ipc_event_new(void)
{
    NEEDS_LOCK();
    if (!remote_clock_start())
        return NULL;
    int file = ipc_file_new("an interprocess event");
    if (file >= 0 && !os_fd_grow(file, state_bytes(FIRST_EPOCHS))) {
        os_fd_close(file);
        file = -1;
    }
    struct ipc_event *event = file < 0 ? NULL : map_event(file);
    if (!event)
        return NULL;
    event->state->id = os_random();
    event->state->magic = MAGIC;
    event->address =
        (struct ipc_event_address){MAGIC, event->state->id, os_process(), file, .unused = 0};
    return &event->remote;
}

struct remote_event *ipc_event_open(const struct ipc_event_address *address)
{
    NEEDS_LOCK();
    if (address->magic != MAGIC || !remote_clock_start())
        return NULL;
    int file = os_fd_of_process(address->process, address->fd);
    struct ipc_event *event = file < 0 ? NULL : map_event(file);
    if (!event)
        return NULL;
    event->opened = true;
    event->address = *address;
    if (event->state->magic == MAGIC && event->state->id == address->id)
        return &event->remote;
    /* The descriptor's number now belongs to another file. */
    release(event);
    return NULL;
}

bool ipc_event_is_opened(const struct remote_event *remote)
{
    NEEDS_LOCK();
    return ipc_event_of(remote)->opened;
}
struct ipc_event_address ipc_event_address_of(const struct remote_event *remote)
{
    NEEDS_LOCK();
    return ipc_event_of(remote)->address;
}

/* ---- recording ---- */

static uint64_t newest_number(const struct ipc_event *event)
{
    return __atomic_load_n(&event->state->newest.number, __ATOMIC_ACQUIRE);
}

static bool is_number_reached(const struct ipc_event *event, uint64_t number)
{
    return __atomic_load_n(&event->state->reached, __ATOMIC_ACQUIRE) == number;
}

/* Called when a record is reached. The wait is freed with the operation. */
static void effect_reached(struct op *op)
{
    struct record_wait *w = op->remote_record;
    struct event_state *state = w->event->state;
    process_clock_reach(w->record.slot, w->record.seq);
    os_shm_lock(&state->lock);
    if (state->reached < w->record.number)
        __atomic_store_n(&state->reached, w->record.number, __ATOMIC_RELEASE);
    os_shm_unlock(&state->lock);
    release(w->event);
}

/* Writes a new record with this vector clock, and stores its number in `record`. */
static void write_newest(struct ipc_event *event, struct event_record *record,
                         const struct vector_clock *vc)
{
    struct remote_epochs epochs = remote_clock_export(vc);
    if (epochs.count > event->room
        && !(os_fd_grow(event->file, state_bytes(2 * epochs.count))
             && map_state(event, epochs.count)))
        os_fatal("an event's file cannot grow to %u epochs.", epochs.count);
    struct event_state *state = event->state;
    os_shm_lock(&state->lock);
    record->number = state->newest.number + 1;
    state->newest.seq = record->seq;
    state->newest.slot = record->slot;
    state->newest.recorder = record->recorder;
    state->epoch_count = epochs.count;
    if (epochs.count)
        memcpy(state->epochs, epochs.list, epochs.count * sizeof *epochs.list);
    __atomic_store_n(&state->newest.number, record->number, __ATOMIC_RELEASE);
    os_shm_unlock(&state->lock);
}

static void event_record_remote(struct remote_event *remote, struct op *op)
{
    struct ipc_event *event = ipc_event_of(remote);
    struct record_wait *w = os_allocate(sizeof *w);
    process_clock_add_slot(op->stream->slot);
    ordering_set(&op->record->ordering, op->stream->slot, op->seq);
    *w = (struct record_wait){
        .event = event,
        .record = {.seq = op->seq,
                   .slot = op->stream->slot,
                   .recorder = process_clock_name(process_clock_own())},
        .clock = process_clock_own(),
    };
    write_newest(event, &w->record, &op->record->ordering.happens_before);
    event->own_number = w->record.number;
    event->own_record = op->record;
    event->users++;
    op->remote_record = w;
    op->effect = effect_reached;
}

/* ---- waiting ---- */

static bool event_is_newer(const struct remote_event *remote, const struct record *r)
{
    const struct ipc_event *event = ipc_event_of(remote);
    uint64_t newest = newest_number(event);
    return newest && !(r && event->own_record == r && event->own_number == newest);
}

/* Returns the newest record, and joins what comes before it into `vc`. */
static struct event_record read_newest(struct ipc_event *event, struct vector_clock *vc)
{
    struct event_record newest;
    struct remote_epoch *epochs = NULL;
    uint32_t count;
    do {
        epochs = os_grow(epochs, event->room * sizeof *epochs);
        struct event_state *state = event->state;
        os_shm_lock(&state->lock);
        newest = state->newest;
        count = state->epoch_count;
        if (count <= event->room)
            memcpy(epochs, state->epochs, count * sizeof *epochs);
        os_shm_unlock(&state->lock);
        /* Another process may have extended the file. */
    } while (count > event->room && map_state(event, count));
    if (count <= event->room)
        remote_clock_import(vc, epochs, count);
    os_free(epochs);
    return newest;
}

/* Begins a wait for the newest record, and joins what comes before it into `vc`. */
static struct record_wait begin_wait(struct ipc_event *event, struct vector_clock *vc)
{
    struct event_record newest = read_newest(event, vc);
    struct process_clock *clock = process_clock_of(newest.recorder);
    process_clock_use(clock);
    event->users++;
    return (struct record_wait){event, newest, clock, 0};
}

static void end_wait(struct record_wait *w)
{
    process_clock_release(w->clock);
    release(w->event);
}

/* Returns whether the record has been reached, as far as this process can see. */
static bool is_reached(const struct record_wait *w)
{
    if (is_number_reached(w->event, w->record.number)
        || process_clock_reached(w->clock, w->record.slot, w->record.seq))
        return true;
    /* Without the clock, a later record that was reached proves that this one was (assumed). */
    return !process_clock_has(w->clock, w->record.slot)
        && __atomic_load_n(&w->event->state->reached, __ATOMIC_ACQUIRE) >= w->record.number;
}

/* Ends a wait for a process that reaches no more records, and fails this process's further
 * calls. */
static void fail_wait(const struct record_wait *w, bool device_failed)
{
    int pid = os_process_pid(w->record.recorder.process);
    if (device_failed)
        diag("the device of process %d has failed before the work in front of its cudaEventRecord "
             "was done; the wait for that event ends here. Every further call returns "
             "cudaErrorExternalDevice.",
             pid);
    else
        diag("process %d has ended before the work in front of its cudaEventRecord was done; the "
             "wait for that event ends here. Every further call returns cudaErrorExternalDevice.",
             pid);
    device_fault(cudaErrorExternalDevice);
}

/* Returns whether the wait is over: the record has been reached or never will be. */
static bool wait_is_over(struct record_wait *w)
{
    if (is_reached(w))
        return true;
    bool has_failed = process_clock_has_failed(w->clock);
    if (!has_failed && os_clock_us() - w->checked_at < LIVENESS_INTERVAL_US)
        return false;
    w->checked_at = os_clock_us();
    if (!has_failed && !process_clock_is_over(w->clock))
        return false;
    /* Check again, because the process may have reached the record just before it ended. */
    if (!is_reached(w))
        fail_wait(w, has_failed);
    return true;
}

static bool op_is_over(struct op *op) { return wait_is_over(op->remote_record); }

static void effect_waited(struct op *op) { end_wait(op->remote_record); }

static void event_wait_remote(struct remote_event *remote, struct stream *s)
{
    struct record_wait *w = os_allocate(sizeof *w);
    struct vector_clock vc = VC_EMPTY;
    *w = begin_wait(ipc_event_of(remote), &vc);
    struct op *op = stream_enqueue(s, OP_REMOTE_WAIT, 0);
    op->remote_record = w;
    op->remote_is_done = op_is_over;
    op->effect = effect_waited;
    vc_join(&s->ordering.device_order, &vc);
    vc_join(&s->ordering.known, &vc);
    vc_join(&s->ordering.happens_before, &vc);
    vc_clear(&vc);
}

static bool event_query_remote(struct remote_event *remote)
{
    struct vector_clock vc = VC_EMPTY;
    struct record_wait w = begin_wait(ipc_event_of(remote), &vc);
    bool over = wait_is_over(&w);
    if (over && !device_sticky_error)
        host_acquire_remote(&vc);
    vc_clear(&vc);
    end_wait(&w);
    return over;
}

static bool wait_is_over_arg(void *argument) { return wait_is_over(argument); }

static void event_synchronize_remote_unlocking(struct remote_event *remote)
{
    struct vector_clock vc = VC_EMPTY;
    struct record_wait w = begin_wait(ipc_event_of(remote), &vc);
    engine_wait_remote_unlocking(wait_is_over_arg, &w);
    if (!device_sticky_error)
        host_acquire_remote(&vc);
    vc_clear(&vc);
    end_wait(&w);
}

static void event_release(struct remote_event *remote) { release(ipc_event_of(remote)); }

static const struct remote_event_calls remote_event_calls = {
    .release = event_release,
    .record = event_record_remote,
    .is_newer = event_is_newer,
    .wait = event_wait_remote,
    .query = event_query_remote,
    .synchronize_unlocking = event_synchronize_remote_unlocking,
};
