/* What the host has acquired and what it has waited for, and who is called when that grows. */
#include "sched/happens_before.h"

#include "os/needs_lock.h"
#include "os/os.h"

#define MAX_LISTENERS 4

struct host_acquired host_acquired;
bool (*host_acquired_elsewhere)(uint32_t slot, uint64_t seq);

/* For each slot, up to where the host has waited for its work, which is less than it has acquired:
 * it acquires by queries too. Needs the lock. */
static struct vector_clock synchronized_clock;

/* Needs the lock. The first `count` are set, and all are different: the remote clocks,
 * the page guard, the checker. */
static struct {
    void (*all[MAX_LISTENERS])(void);
    unsigned count;
} listeners;

const struct vector_clock *host_vector_clock(void)
{
    NEEDS_LOCK();
    return &host_acquired.clock;
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

static void acquire(const struct vector_clock *from, uint32_t slot, uint64_t seq)
{
    vc_join(&host_acquired.clock, from);
    vc_set(&host_acquired.clock, slot, seq);
    notify_listeners();
}

uint64_t host_synchronized_seq(const struct stream *s)
{
    NEEDS_LOCK();
    uint64_t waited_for = vc_epoch(&synchronized_clock, s->slot);
    return s->function_seq > waited_for ? s->function_seq : waited_for;
}

/* The host has waited for work `seq` of the stream, and so for all that came before it, too. */
static void synchronize_with(const struct stream *s, uint64_t seq,
                             const struct vector_clock *before)
{
    vc_join(&synchronized_clock, before);
    vc_set(&synchronized_clock, s->slot, seq);
}

void host_acquire_stream(struct stream *s, uint64_t seq, bool synchronized)
{
    NEEDS_LOCK();
    if (synchronized)
        synchronize_with(s, seq, &s->ordering.device_order);
    if (!vc_includes(&host_acquired.clock, s->slot, seq))
        acquire(&s->ordering.happens_before, s->slot, seq);
}

void host_acquire_record(struct record *r, bool synchronized)
{
    NEEDS_LOCK();
    if (synchronized)
        synchronize_with(r->stream, r->seq, &r->ordering.device_order);
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

void host_gather_stream(struct vector_clock *gathered, struct stream *s, bool synchronized)
{
    if (synchronized)
        synchronize_with(s, s->last_seq, &s->ordering.device_order);
    gather(gathered, &s->ordering.happens_before, s->slot, s->last_seq);
}

void host_gather_record(struct vector_clock *gathered, struct record *r, bool synchronized)
{
    if (synchronized)
        synchronize_with(r->stream, r->seq, &r->ordering.device_order);
    gather(gathered, &r->ordering.happens_before, r->stream->slot, r->seq);
}

void host_acquire_gathered(struct vector_clock *gathered)
{
    if (vc_is_empty(gathered))
        return;
    vc_join(&host_acquired.clock, gathered);
    vc_clear(gathered);
    notify_listeners();
}

/* Also when the host has acquired work `r->seq`: what the legacy stream puts before the next one
 * takes no number when it is over. */
void host_acquire_before_record(struct record *r)
{
    NEEDS_LOCK();
    acquire(&r->ordering.happens_before, r->stream->slot, r->seq);
}

void host_acquire_remote(const struct vector_clock *remote)
{
    NEEDS_LOCK();
    vc_join(&host_acquired.clock, remote);
    notify_listeners();
}
