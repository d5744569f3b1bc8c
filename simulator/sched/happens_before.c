/* What the host has acquired and what it has waited for, and the listeners for new acquires. */
#include "sched/happens_before.h"

#include "os/needs_lock.h"
#include "os/os.h"

#define MAX_LISTENERS 4

struct host_acquired host_acquired;
bool (*host_acquired_elsewhere)(uint32_t slot, uint64_t seq);

/* Needs the lock. For each slot, the epoch up to which the host has waited for its work. That may
 * be less than it has acquired, because queries acquire, too. */
static struct vector_clock synchronized_clock;

/* Needs the lock. `begun` is the host's clock joined with what precedes the host functions that
 * have begun since the last call, or empty if none has. If `unsure`, `sure` is the host's clock
 * without what it has only from functions at which nothing shows that the host looked. `looked`
 * says whether the host seems to have looked at the functions in `begun`, and `device` is the one
 * device of all of them, or NO_DEVICE. */
static struct {
    struct vector_clock begun, sure;
    bool looked, unsure;
    int device;
} functions;

/* Needs the lock. The first `count` are set: the remote clocks, the page guard, and the checker. */
static struct {
    void (*all[MAX_LISTENERS])(void);
    unsigned count;
} listeners;

const struct vector_clock *host_code_clock(void)
{
    NEEDS_LOCK();
    return host_acquired.functions_begun ? &functions.begun : &host_acquired.clock;
}

const struct vector_clock *host_clock_for(const struct stream *s, uint64_t seq)
{
    NEEDS_LOCK();
    return host_acquired.functions_begun && functions.device != NO_DEVICE
                && stream_waits_for_functions_alone(s, seq, functions.device)
             ? &host_acquired.clock
             : host_code_clock();
}

bool host_code_has_acquired(uint32_t slot, uint64_t seq)
{
    NEEDS_LOCK();
    return host_has_acquired(slot, seq)
        || (host_acquired.functions_begun && vc_includes(&functions.begun, slot, seq));
}

bool host_is_unsure(void)
{
    NEEDS_LOCK();
    return functions.unsure;
}

const struct vector_clock *host_sure_clock(void)
{
    NEEDS_LOCK();
    return functions.unsure ? &functions.sure : &host_acquired.clock;
}

void host_on_acquire(void (*listener)(void))
{
    NEEDS_LOCK();
    for (unsigned i = 0; i < listeners.count; i++)
        if (listeners.all[i] == listener)
            return;
    if (listeners.count == MAX_LISTENERS)
        os_fatal("happens_before.c has room for %d listeners.", MAX_LISTENERS);
    listeners.all[listeners.count++] = listener;
}

static void notify_listeners(void)
{
    host_acquired.version++;
    for (unsigned i = 0; i < listeners.count; i++)
        listeners.all[i]();
}

/* Joins the clock into the host's clock and into those derived from it. */
static void join(const struct vector_clock *from)
{
    vc_join(&host_acquired.clock, from);
    if (host_acquired.functions_begun)
        vc_join(&functions.begun, from);
    if (functions.unsure)
        vc_join(&functions.sure, from);
}

static void acquire(const struct vector_clock *from, uint32_t slot, uint64_t seq)
{
    join(from);
    vc_set(&host_acquired.clock, slot, seq);
    if (host_acquired.functions_begun)
        vc_set(&functions.begun, slot, seq);
    if (functions.unsure)
        vc_set(&functions.sure, slot, seq);
    notify_listeners();
}

uint64_t host_synchronized_seq(const struct stream *s)
{
    NEEDS_LOCK();
    uint64_t waited_for = vc_epoch(&synchronized_clock, s->slot);
    return s->function_seq > waited_for ? s->function_seq : waited_for;
}

/* If `how` says so, records that the host has synchronized with work `seq` and what precedes it. */
static void synchronize_with(const struct stream *s, uint64_t seq,
                             const struct vector_clock *before, enum acquire how)
{
    if (how == ACQUIRES)
        return;
    vc_join(&synchronized_clock, before);
    vc_set(&synchronized_clock, s->slot, seq);
}

void host_acquire_stream(struct stream *s, uint64_t seq, enum acquire how)
{
    NEEDS_LOCK();
    synchronize_with(s, seq, &s->ordering.known, how);
    if (!vc_includes(&host_acquired.clock, s->slot, seq))
        acquire(&s->ordering.happens_before, s->slot, seq);
}

void host_acquire_record(struct record *r, enum acquire how)
{
    NEEDS_LOCK();
    synchronize_with(r->stream, r->seq, &r->ordering.known, how);
    if (!vc_includes(&host_acquired.clock, r->stream->slot, r->seq))
        acquire(&r->ordering.happens_before, r->stream->slot, r->seq);
}

static void gather(struct vector_clock *gathered, const struct vector_clock *from, uint32_t slot,
                   uint64_t seq)
{
    if (vc_includes(&host_acquired.clock, slot, seq))
        return;
    vc_join(gathered, from);
    vc_set(gathered, slot, seq);
}

void host_gather_stream(struct vector_clock *gathered, struct stream *s, enum acquire how)
{
    synchronize_with(s, s->last_seq, &s->ordering.known, how);
    gather(gathered, &s->ordering.happens_before, s->slot, s->last_seq);
}

void host_gather_record(struct vector_clock *gathered, struct record *r, enum acquire how)
{
    synchronize_with(r->stream, r->seq, &r->ordering.known, how);
    gather(gathered, &r->ordering.happens_before, r->stream->slot, r->seq);
}

void host_acquire_gathered(struct vector_clock *gathered)
{
    if (vc_is_empty(gathered))
        return;
    join(gathered);
    vc_clear(gathered);
    notify_listeners();
}

/* Joins even if the host has acquired work `r->seq`, because what the legacy stream's rule puts
 * before the next work does not advance the stream's number when it ends. */
void host_acquire_before_record(struct record *r)
{
    NEEDS_LOCK();
    acquire(&r->ordering.happens_before, r->stream->slot, r->seq);
}

void host_acquire_remote(const struct vector_clock *remote)
{
    NEEDS_LOCK();
    join(remote);
    notify_listeners();
}

/* ---- what the host learns from host functions ---- */

/* The function, and host functions that wait for it, acquire at once what precedes it. */
void host_function_begins(struct record *r, int device, bool looks)
{
    NEEDS_LOCK();
    if (!host_acquired.functions_begun) {
        vc_join(&functions.begun, &host_acquired.clock);
        functions.device = device;
    }
    functions.device = functions.device == device ? device : NO_DEVICE;
    host_acquired.functions_begun = true;
    functions.looked = looks;
    vc_join(&functions.begun, &r->ordering.happens_before);
    vc_set(&functions.begun, r->stream->slot, r->seq);
    notify_listeners();
}

void host_slept_again(void)
{
    NEEDS_LOCK();
    functions.looked = true;
}

void host_learns_of_functions(void)
{
    NEEDS_LOCK();
    if (!functions.unsure && !functions.looked)
        vc_join(&functions.sure, &host_acquired.clock);
    functions.unsure |= !functions.looked;
    vc_join(&host_acquired.clock, &functions.begun);
    if (functions.unsure && functions.looked)
        vc_join(&functions.sure, &functions.begun);
    vc_clear(&functions.begun);
    host_acquired.functions_begun = false;
    notify_listeners();
}
