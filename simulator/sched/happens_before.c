/* Vector clocks, of which the join of two has the larger epoch of each slot; what the host has
 * acquired, and who is called when that grows. */
#include "sched/happens_before.h"

#include <string.h>

#include "os/os.h"

#define MAX_LISTENERS 4

struct host_acquired host_acquired;

/* Needs the lock. The first `count` are set, and all are different: the ipc table, the page guard,
 * the checker. */
static struct {
    void (*all[MAX_LISTENERS])(void);
    unsigned count;
} listeners;

/* ---- vector clocks ---- */

/* Makes room for more slots, by eights. */
static void widen(struct vector_clock *vc, uint32_t slots)
{
    uint32_t wanted = (slots + 7u) & ~7u;
    vc->epochs = os_grow(vc->epochs, wanted * sizeof *vc->epochs);
    memset(vc->epochs + vc->slots, 0, (wanted - vc->slots) * sizeof *vc->epochs);
    vc->slots = wanted;
}

void vc_set(struct vector_clock *vc, uint32_t slot, uint64_t epoch)
{
    if (slot >= vc->slots)
        widen(vc, slot + 1);
    if (vc->epochs[slot] < epoch)
        vc->epochs[slot] = epoch;
}

void vc_join(struct vector_clock *into, const struct vector_clock *from)
{
    if (from->slots > into->slots)
        widen(into, from->slots);
    for (uint32_t i = 0; i < from->slots; i++)
        if (into->epochs[i] < from->epochs[i])
            into->epochs[i] = from->epochs[i];
}

void vc_clear(struct vector_clock *vc)
{
    os_free(vc->epochs);
    *vc = (struct vector_clock){0, NULL};
}

void ordering_join(struct ordering *into, const struct ordering *from)
{
    vc_join(&into->device_order, &from->device_order);
    vc_join(&into->happens_before, &from->happens_before);
}

void ordering_set(struct ordering *o, uint32_t slot, uint64_t epoch)
{
    vc_set(&o->device_order, slot, epoch);
    vc_set(&o->happens_before, slot, epoch);
}

void ordering_clear(struct ordering *o)
{
    vc_clear(&o->device_order);
    vc_clear(&o->happens_before);
}

/* ---- the host ---- */

const struct vector_clock *host_vector_clock(void) { return &host_acquired.clock; }

void host_on_acquire(void (*listener)(void))
{
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

/* The host has waited for work `seq` of the stream, and so for all that came before it, too. */
static void set_synchronized(struct stream *waited, uint64_t seq, const struct vector_clock *before)
{
    for (struct stream *s = stream_first(); s; s = s->next)
        if (s->slot < before->slots && s->synchronized_seq < before->epochs[s->slot])
            s->synchronized_seq = before->epochs[s->slot];
    if (waited->synchronized_seq < seq)
        waited->synchronized_seq = seq;
}

void host_acquire_stream(struct stream *s, uint64_t seq, bool synchronized)
{
    if (synchronized)
        set_synchronized(s, seq, &s->ordering.device_order);
    if (!vc_includes(&host_acquired.clock, s->slot, seq))
        acquire(&s->ordering.happens_before, s->slot, seq);
}

void host_acquire_record(struct record *r, bool synchronized)
{
    if (synchronized)
        set_synchronized(r->stream, r->seq, &r->ordering.device_order);
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
        set_synchronized(s, s->last_seq, &s->ordering.device_order);
    gather(gathered, &s->ordering.happens_before, s->slot, s->last_seq);
}

void host_gather_record(struct vector_clock *gathered, struct record *r, bool synchronized)
{
    if (synchronized)
        set_synchronized(r->stream, r->seq, &r->ordering.device_order);
    gather(gathered, &r->ordering.happens_before, r->stream->slot, r->seq);
}

void host_acquire_gathered(struct vector_clock *gathered)
{
    if (!gathered->slots)
        return;
    vc_join(&host_acquired.clock, gathered);
    vc_clear(gathered);
    notify_listeners();
}

/* Also when the host has acquired work `r->seq`: what the legacy stream puts before the next one
 * takes no number when it is over. */
void host_acquire_before_record(struct record *r)
{
    acquire(&r->ordering.happens_before, r->stream->slot, r->seq);
}

void host_acquire_remote(const struct vector_clock *remote)
{
    vc_join(&host_acquired.clock, remote);
    notify_listeners();
}
