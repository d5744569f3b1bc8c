/* Launches whose accesses are not known yet, and what is kept until they are known. */
#include "check/late_launch.h"

#include <string.h>

#include "base/list.h"
#include "check/access_tree.h"
#include "check/checker.h"
#include "check/written.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "sched/happens_before.h"

struct late_launch *late_launches;

/* Needs the lock. Invariant: the launches are in the order of their numbers. Freed allocations are
 * in the reverse order, and each was freed after the oldest launch was made. */
static struct {
    struct late_launch **end;
    struct late_freed *freed;
    uint64_t last_number;
} late = {.end = &late_launches};

uint64_t late_next_number(void) { return ++late.last_number; }

/* The program may have waited, before it let the launch begin, for everything that the host has
 * acquired. */
static void host_acquired_something(void)
{
    for (struct late_launch *l = late_launches; l; l = l->next)
        if (l->obstacle.op && host_bound_is_pending(l->obstacle))
            vc_join(&l->before, host_clock_for(l->s, l->origin.seq));
}

struct late_launch *late_launch_new(const struct origin *origin, const struct stream *s,
                                    uint32_t newest_allocation, const char *parameters,
                                    size_t parameter_bytes)
{
    NEEDS_LOCK();
    struct late_launch *l = os_allocate(sizeof *l + parameter_bytes);
    memcpy(l->parameters, parameters, parameter_bytes);
    l->parameter_bytes = parameter_bytes;
    l->origin = *origin;
    l->s = s;
    vc_join(&l->before, &s->ordering.happens_before);
    if (host_is_unsure()) {
        vc_join(&l->sure, &s->ordering.device_order);
        vc_join(&l->sure, host_sure_clock());
        l->is_unsure = true;
    }
    l->obstacle = stream_find_host_bound(s, origin->seq, UINT64_MAX);
    l->made_at = checker_ipc ? os_clock_us() : 0;
    l->number = late_next_number();
    l->newest_allocation = newest_allocation;
    l->end = &l->first;
    *late.end = l;
    late.end = &l->next;
    host_on_acquire(host_acquired_something);
    return l;
}

/* Forgets allocations that were freed before the oldest launch. */
static void forget_freed(void)
{
    uint64_t oldest = late_launches ? late_launches->number : UINT64_MAX;
    for (struct late_freed **at = &late.freed, *f; (f = *at);) {
        if (f->number > oldest) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        access_tree_clear(&f->shadow);
        written_end(&f->shadow);
        os_free(f);
    }
}

void late_launch_end(struct late_launch *l)
{
    NEEDS_LOCK();
    struct late_launch **at = &late_launches;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    if (late.end == &l->next)
        late.end = at;
    LIST_END(l->first, os_free);
    vc_clear(&l->before);
    vc_clear(&l->sure);
    os_free(l);
    forget_freed();
}

bool late_is_given(const char *parameters, size_t parameter_bytes, uint64_t base, uint64_t end)
{
    NEEDS_LOCK();
    for (size_t at = 0; at + sizeof(uint64_t) <= parameter_bytes; at += sizeof(uint32_t)) {
        uint64_t value;
        memcpy(&value, parameters + at, sizeof value);
        if (value >= base && value <= end)
            return true;
    }
    return false;
}

bool late_comes_after(const struct late_launch *l, const struct origin *earlier)
{
    if (earlier->slot == HOST_SLOT)
        return true;
    if (earlier->slot == l->origin.slot)
        return earlier->seq <= l->origin.seq;
    return vc_includes(&l->before, earlier->slot, earlier->seq)
        || (host_acquired_elsewhere && host_acquired_elsewhere(earlier->slot, earlier->seq));
}

void late_learn(const struct op *wait, const struct vector_clock *before)
{
    const uint32_t slot = wait->stream->slot;
    for (struct late_launch *l = late_launches; l; l = l->next)
        if (l->s == wait->stream ? l->origin.seq > wait->seq
                                 : vc_includes(&l->before, slot, wait->seq)) {
            vc_join(&l->before, before);
            if (l->is_unsure)
                vc_join(&l->sure, before);
        }
}

bool late_needs(const struct access *a)
{
    for (const struct late_launch *l = late_launches; l; l = l->next)
        if ((a->is_late || a->number < l->number) && !late_comes_after(l, &a->origin))
            return true;
    return false;
}

void late_keep(struct late_launch *l, const struct conflict *c)
{
    struct after_launch *a = os_allocate(sizeof *a);
    a->conflict = *c;
    a->conflict.ref.shadow = NULL;
    *l->end = a;
    l->end = &a->next;
}

void late_freed_add(struct shadow_ref ref)
{
    struct late_freed *f = os_allocate(sizeof *f);
    f->ref = ref;
    f->shadow = *ref.shadow;
    f->ref.shadow = &f->shadow;
    f->number = late_next_number();
    f->next = late.freed;
    late.freed = f;
    ref.shadow->accesses = NULL;
    ref.shadow->written = 0;
}

static bool had_address(const struct late_freed *f, uint32_t newest_allocation, const char *address)
{
    return f->ref.id <= newest_allocation && address >= f->ref.address
        && address < f->ref.address + f->ref.bytes;
}

struct late_freed *late_freed_find(const struct late_launch *l, const char *address)
{
    NEEDS_LOCK();
    struct late_freed *found = NULL;
    /* Several allocations may have had the address one after the other. The launch meant the
     * oldest. */
    for (struct late_freed *f = late.freed; f && f->number > l->number; f = f->next)
        found = had_address(f, l->newest_allocation, address) ? f : found;
    return found;
}

struct late_freed *late_freed_at(uint32_t newest_allocation, const char *address)
{
    NEEDS_LOCK();
    struct late_freed *f = late.freed;
    while (f && !had_address(f, newest_allocation, address))
        f = f->next;
    return f;
}
