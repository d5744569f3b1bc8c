/* Events of several processes. */
#include "ipc/ipc_event.h"

#include "base/device_state.h"
#include "ipc/remote_clock.h"
#include "os/os.h"
#include "os/process.h"
#include "sched/engine.h"
#include "sched/happens_before.h"

#define MAGIC   IPC_EVENT_MAGIC
#define TICKETS 256 /* Assumed: enough records of one event that are not reached yet. */
#define EPOCHS  1024
/* Microseconds between two looks whether the other process is alive. */
#define LIVENESS_INTERVAL_US 20000

/* One record of the event, and the process that made it. */
struct ticket {
    uint64_t number, process, completed;
};

/* The file, which all processes map. Law: `newest_ticket` is the number of the newest record, 0
 * before the first; tickets[t % TICKETS] is ticket t, unless a later one has taken its position,
 * and then whoever waits for t waits for that one. `epochs` is the vector clock of the newest
 * record. Tickets and epochs are written with `lock` held; `completed`, `number` and
 * `newest_ticket` are read without it. What another process wrote is never trusted with memory. */
struct event_state {
    uint64_t magic, id, lock;
    uint64_t newest_ticket;
    struct ticket tickets[TICKETS];
    uint32_t epoch_count;
    /* There were more epochs than EPOCHS. */
    uint32_t truncated;
    struct remote_epoch epochs[EPOCHS];
};

struct ipc_event {
    /* The first member, so that the two have one address. */
    struct remote_event remote;
    struct event_state *state;
    int file;
    int device;
    uint32_t users;
    /* It is another process's. */
    bool opened;
    /* Of this process's last record: its ticket, and the record, which is only compared. */
    uint64_t own_ticket;
    const struct record *own_record;
    struct ipc_event_address address;
};

/* A ticket that an operation or the host waits for, or that an operation completes. */
struct ticket_wait {
    struct ipc_event *event;
    uint64_t ticket;
    /* When the recording process was last seen alive, in microseconds of real time. */
    uint64_t checked_at;
};

static const struct remote_event_calls remote_event_calls;

struct remote_event *ipc_event_remote(struct ipc_event *event) { return &event->remote; }
struct ipc_event *ipc_event_of(struct remote_event *remote) { return (struct ipc_event *)remote; }

static struct ipc_event *map_event(int file, int device)
{
    struct event_state *state =
        os_fd_size(file) >= sizeof *state ? os_fd_map(file, sizeof *state) : NULL;
    if (!state) {
        os_fd_close(file);
        return NULL;
    }
    struct ipc_event *event = os_allocate(sizeof *event);
    *event = (struct ipc_event){.remote = {&remote_event_calls},
                                .state = state,
                                .file = file,
                                .device = device,
                                .users = 1};
    return event;
}

/* Removes one user; with the last, the event ends. */
static void release(struct ipc_event *event)
{
    if (--event->users)
        return;
    os_fd_unmap(event->state, sizeof *event->state);
    os_fd_close(event->file);
    os_free(event);
}

struct ipc_event *ipc_event_new(int device)
{
    int file = os_memfd_new();
    if (file < 0)
        diag("no file in memory could be made for an interprocess event: this process has too many "
             "files open (ulimit -n).");
    if (file >= 0 && !os_fd_grow(file, sizeof(struct event_state))) {
        os_fd_close(file);
        file = -1;
    }
    struct ipc_event *event = file < 0 ? NULL : map_event(file, device);
    if (!event)
        return NULL;
    event->state->id = os_random();
    event->state->magic = MAGIC;
    event->address =
        (struct ipc_event_address){MAGIC, event->state->id, os_process(), file, device};
    return event;
}

struct ipc_event *ipc_event_open(const struct ipc_event_address *address)
{
    int file = address->magic == MAGIC ? os_fd_of_process(address->process, address->fd) : -1;
    struct ipc_event *event = file < 0 ? NULL : map_event(file, address->device);
    if (!event)
        return NULL;
    event->opened = true;
    event->address = *address;
    if (event->state->magic == MAGIC && event->state->id == address->id)
        return event;
    /* The descriptor's number has been given to another file since. */
    release(event);
    return NULL;
}

bool ipc_event_is_opened(const struct ipc_event *event) { return event->opened; }
struct ipc_event_address ipc_event_address_of(const struct ipc_event *event)
{
    return event->address;
}

/* ---- recording ---- */

/* A record is reached. The wait is freed with the operation. */
static void effect_complete(struct op *op)
{
    struct ticket_wait *w = op->ticket;
    struct ticket *t = &w->event->state->tickets[w->ticket % TICKETS];
    if (__atomic_load_n(&t->number, __ATOMIC_ACQUIRE) == w->ticket)
        __atomic_store_n(&t->completed, 1, __ATOMIC_RELEASE);
    release(w->event);
}

/* Takes the next ticket for a record with this vector clock. */
static uint64_t take_ticket(struct event_state *state, const struct vector_clock *vc)
{
    os_shm_lock(&state->lock);
    uint64_t ticket = state->newest_ticket + 1;
    state->epoch_count = remote_clock_export(vc, state->epochs, EPOCHS);
    state->truncated = state->epoch_count > EPOCHS;
    if (state->truncated)
        state->epoch_count = EPOCHS;
    struct ticket *t = &state->tickets[ticket % TICKETS];
    __atomic_store_n(&t->completed, 0, __ATOMIC_RELEASE);
    t->process = os_process();
    __atomic_store_n(&t->number, ticket, __ATOMIC_RELEASE);
    __atomic_store_n(&state->newest_ticket, ticket, __ATOMIC_RELEASE);
    os_shm_unlock(&state->lock);
    return ticket;
}

static void event_record_remote(struct remote_event *remote, struct op *op)
{
    struct ipc_event *event = ipc_event_of(remote);
    struct ticket_wait *w = os_allocate(sizeof *w);
    record_complete(op->record);
    event->own_ticket = take_ticket(event->state, &op->record->ordering.happens_before);
    event->own_record = op->record;
    event->users++;
    *w = (struct ticket_wait){event, event->own_ticket, 0};
    op->ticket = w;
    op->effect = effect_complete;
}

/* ---- waiting ---- */

static uint64_t newest_ticket(const struct ipc_event *event)
{
    return __atomic_load_n(&event->state->newest_ticket, __ATOMIC_ACQUIRE);
}

static bool event_is_newer(const struct remote_event *remote, const struct record *r)
{
    const struct ipc_event *event = (const struct ipc_event *)remote;
    return newest_ticket(event) != 0
        && !(r && event->own_record == r && event->own_ticket == newest_ticket(event));
}

/* Returns the newest ticket, and joins what comes before it into `vc`. */
static uint64_t read_newest_ticket(struct ipc_event *event, struct vector_clock *vc)
{
    struct event_state *state = event->state;
    os_shm_lock(&state->lock);
    uint64_t ticket = state->newest_ticket;
    uint32_t count = state->epoch_count <= EPOCHS ? state->epoch_count : EPOCHS;
    remote_clock_import(vc, state->epochs, count);
    os_shm_unlock(&state->lock);
    return ticket;
}

/* Ends the wait for a process that is gone, and all further calls of this one. */
static void fail_wait(const struct ticket *t)
{
    diag("process %d has ended before the work in front of its cudaEventRecord was done; the wait "
         "for that event ends here. Every further call returns cudaErrorExternalDevice.",
         os_process_pid(t->process));
    device_fault(cudaErrorExternalDevice);
}

/* Returns whether the ticket's record is reached, or its process has ended before. */
static bool ticket_is_completed(struct ticket_wait *w)
{
    struct ticket *t = &w->event->state->tickets[w->ticket % TICKETS];
    if (__atomic_load_n(&t->completed, __ATOMIC_ACQUIRE))
        return true;
    if (os_clock_us() - w->checked_at < LIVENESS_INTERVAL_US)
        return false;
    w->checked_at = os_clock_us();
    bool alive = os_process_alive(t->process);
    /* The process may have completed it just before it ended. */
    if (__atomic_load_n(&t->completed, __ATOMIC_ACQUIRE))
        return true;
    if (!alive)
        fail_wait(t);
    return !alive;
}

static bool wait_is_completed(struct op *op) { return ticket_is_completed(op->ticket); }

static void effect_waited(struct op *op) { release(((struct ticket_wait *)op->ticket)->event); }

static void event_wait_remote(struct remote_event *remote, struct stream *s)
{
    struct ipc_event *event = ipc_event_of(remote);
    struct ticket_wait *w = os_allocate(sizeof *w);
    struct vector_clock vc = {NULL, 0};
    *w = (struct ticket_wait){.event = event, .ticket = read_newest_ticket(event, &vc)};
    struct op *op = stream_enqueue(s, OP_REMOTE_WAIT, 0);
    op->ticket = w;
    op->remote_is_done = wait_is_completed;
    op->effect = effect_waited;
    event->users++;
    vc_join(&s->ordering.device_order, &vc);
    vc_join(&s->ordering.happens_before, &vc);
    vc_clear(&vc);
}

static bool event_query_remote(struct remote_event *remote)
{
    struct ipc_event *event = ipc_event_of(remote);
    struct vector_clock vc = {NULL, 0};
    struct ticket_wait w = {.event = event, .ticket = read_newest_ticket(event, &vc)};
    bool completed = ticket_is_completed(&w);
    if (completed && !device_sticky_error)
        host_acquire_remote(&vc);
    vc_clear(&vc);
    return completed;
}

static bool wait_is_completed_arg(void *argument) { return ticket_is_completed(argument); }

static void event_synchronize_remote_unlocking(struct remote_event *remote)
{
    struct ipc_event *event = ipc_event_of(remote);
    struct vector_clock vc = {NULL, 0};
    struct ticket_wait w = {.event = event, .ticket = read_newest_ticket(event, &vc)};
    /* Another thread may destroy the event meanwhile. */
    event->users++;
    engine_wait_remote_unlocking(wait_is_completed_arg, &w);
    if (!device_sticky_error)
        host_acquire_remote(&vc);
    vc_clear(&vc);
    release(event);
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
