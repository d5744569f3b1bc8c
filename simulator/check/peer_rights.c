/* Checks access to memory of another device or of a host pool that is granted too late or revoked
 * too early. Granting and revoking order nothing.
 *
 * Revoking: a pool or, for cudaMalloc's memory, a device remembers the last work of each stream
 * that uses granted access there. Waiting for that covers the earlier work. Granting: work without
 * the access that it needs fails when it runs, so it is remembered only until it has run. */
#include "check/checker.h"

#include "base/settings.h"
#include "os/needs_lock.h"
#include "sched/happens_before.h"
#include "check/report.h"
#include "os/os.h"

/* An operation that was queued without the access that it needs. */
struct pending_use {
    struct pending_use *next;
    const void *owner;
    struct peer_use use;
};

/* Needs the lock. Invariant: each pending use is in the list once, until its owner gives access to
 * its device. */
static struct {
    struct pending_use *first;
} pending_uses;

static struct peer_use make_use(const struct call *call, struct shadow_ref ref,
                                const struct stream *s, uint64_t seq)
{
    return (struct peer_use){NULL, checker_origin(call, s, seq), ref.shadow->allocated_by, ref.id,
                             ref.bytes};
}

void checker_peer_used(const struct call *call, struct peer_use **list, struct shadow_ref ref,
                       const struct stream *s, uint64_t seq)
{
    NEEDS_LOCK();
    if (!settings.check)
        return;
    struct peer_use *use = *list;
    while (use && use->origin.slot != s->slot)
        use = use->next;
    if (!use) {
        use = os_allocate(sizeof *use);
        use->next = *list;
        *list = use;
    }
    struct peer_use *next = use->next;
    *use = make_use(call, ref, s, seq);
    use->next = next;
}

static void hazard_early_revoke(const struct peer_use *use, const struct origin *origin)
{
    if (!report_begin(HAZARD_ACCESS_TAKEN_BEFORE_THE_USE_ENDS, &use->origin, origin))
        return;
    report_text("%s (%s) takes a device's access away while %s (%s) may still need it for "
                "allocation %u.",
                origin->call, report_stream(origin).text, use->origin.call,
                report_stream(&use->origin).text, use->id);
    report_allocation(use->id, use->bytes, &use->allocated_by);
    report_origin("used", &use->origin);
    report_origin("taken", origin);
    /* A launch that has not run may need the access to anything. */
    report_missing_edge((struct shadow_ref){.bytes = SIZE_MAX}, &use->origin, origin, NULL);
    report_note("the call does not wait for it. Later work on that device fails, and the device "
                "with it.");
    report_end(use->id);
}

void checker_access_revoked(const struct call *call, const struct peer_use *list, int device)
{
    NEEDS_LOCK();
    if (!settings.check)
        return;
    struct origin origin = checker_origin(call, NULL, 0);
    for (const struct peer_use *use = list; use; use = use->next)
        if (stream_of_slot(use->origin.slot)->device == device
            && !host_has_acquired(use->origin.slot, use->origin.seq))
            hazard_early_revoke(use, &origin);
}

/* ---- granted too late ---- */

void checker_peer_use_pending(const struct call *call, const void *owner, struct shadow_ref ref,
                              const struct stream *s, uint64_t seq)
{
    NEEDS_LOCK();
    if (!settings.check)
        return;
    struct pending_use *pending = os_allocate(sizeof *pending);
    pending->next = pending_uses.first;
    pending->owner = owner;
    pending->use = make_use(call, ref, s, seq);
    pending_uses.first = pending;
}

static void hazard_late_grant(const struct peer_use *use, const struct origin *origin)
{
    if (!report_begin(HAZARD_USE_BEFORE_ACCESS_IS_GIVEN, &use->origin, origin))
        return;
    report_text(
        "%s (%s) uses allocation %u, which its device has no access to; %s (%s) gives it only "
        "later.",
        use->origin.call, report_stream(&use->origin).text, use->id, origin->call,
        report_stream(origin).text);
    report_allocation(use->id, use->bytes, &use->allocated_by);
    report_origin("used", &use->origin);
    report_origin("given", origin);
    report_advice("give the access first, then queue the work that needs it.");
    report_note("the work may run before the call. It fails then, and the device with it.");
    report_end(use->id);
}

/* Returns whether the work may run before access is granted. Work that the host has acquired has
 * already failed and said so. Work that can begin only after the host does something is assumed to
 * be late enough. */
static bool may_run_before(const struct stream *s, uint64_t seq)
{
    return !host_has_acquired(s->slot, seq) && !stream_waits_for_host(s, seq);
}

void checker_access_granted(const struct call *call, const void *owner, int device)
{
    NEEDS_LOCK();
    struct origin origin = checker_origin(call, NULL, 0);
    struct pending_use **at = &pending_uses.first;
    while (*at) {
        struct pending_use *pending = *at;
        const struct stream *s = stream_of_slot(pending->use.origin.slot);
        if (pending->owner != owner || s->device != device) {
            at = &pending->next;
            continue;
        }
        if (may_run_before(s, pending->use.origin.seq))
            hazard_late_grant(&pending->use, &origin);
        *at = pending->next;
        os_free(pending);
    }
}

void checker_peer_uses_free(struct peer_use **list)
{
    NEEDS_LOCK();
    while (*list) {
        struct peer_use *use = *list;
        *list = use->next;
        os_free(use);
    }
}
