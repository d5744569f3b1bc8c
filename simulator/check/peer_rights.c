/* The checker, for access to another device's memory, or a host pool's, that comes too late or goes too early: giving and taking it orders nothing.
 *
 * Taken: a pool, and for cudaMalloc's memory a device, remembers, for each stream of a device that works in it by access given to that device, the last
 * such work: who has waited for that has waited for all. Given: what needs access and has none fails when it runs; so nothing is remembered for longer
 * than it is pending, or the device has failed. */
#include "check/checker.h"

#include "os/os.h"
#include "check/report.h"
#include "base/settings.h"

void checker_reached(struct reach **list, struct watched b, const struct stream *s, uint64_t number)
{
    if (!settings.check) return;
    struct reach *r = *list;
    while (r && r->by.lane != s->lane) r = r->next;
    if (!r) {
        r = host_allocate(sizeof *r);
        r->next = *list;
        *list = r;
    }
    *r = (struct reach){ r->next, checker_deed(s, number), b.watch->allocated, b.id, b.bytes };
}

static void tell(const struct reach *r, const struct deed *by)
{
    if (!report_begin("access taken before the use ends", &r->by, by)) return;
    report_text("%s (%s) takes a device's access away while %s (%s) may still be using block %u by it.", by->call, report_stream(by), r->by.call,
                report_stream(&r->by), r->id);
    report_block(r->id, r->bytes, &r->allocated);
    report_deed("used", &r->by);
    report_deed("taken", by);
    report_missing_edge(&r->by, by, NULL);
    report_note("the call does not wait for it. What comes later on that device fails, and the device with it.");
    report_end(r->id);
}

void checker_access_taken(const struct reach *list, int device)
{
    if (!settings.check) return;
    struct deed by = checker_deed(NULL, 0);
    for (const struct reach *r = list; r; r = r->next)
        if (stream_of_lane(r->by.lane)->device == device && !order_covers(host_knowledge(), r->by.lane, r->by.number)) tell(r, &by);
}

/* ---- given too late ---- */

static struct lack { struct lack *next; const void *owner; struct reach reach; } *lacks;

void checker_lacks_access(const void *owner, struct watched b, const struct stream *s, uint64_t number)
{
    if (!settings.check) return;
    struct lack *l = host_allocate(sizeof *l);
    *l = (struct lack){ lacks, owner, { NULL, checker_deed(s, number), b.watch->allocated, b.id, b.bytes } };
    lacks = l;
}

static void tell_given(const struct reach *r, const struct deed *by)
{
    if (!report_begin("use before access is given", &r->by, by)) return;
    report_text("%s (%s) uses block %u, which its device has no access to; %s (%s) gives it only afterwards.", r->by.call, report_stream(&r->by), r->id, by->call,
                report_stream(by));
    report_block(r->id, r->bytes, &r->allocated);
    report_deed("used", &r->by);
    report_deed("given", by);
    report_advice("give the access first, then queue the work that needs it.");
    report_note("the work may run before the call. It fails then, and the device with it.");
    report_end(r->id);
}

/* Work that cannot begin before the host does something is not too early (chosen), and what the host knows to be over has told it by its failure. */
void checker_access_given(const void *owner, int device)
{
    struct deed by = checker_deed(NULL, 0);
    for (struct lack **at = &lacks, *l; (l = *at);) {
        const struct stream *s = stream_of_lane(l->reach.by.lane);
        if (l->owner != owner || s->device != device) {
            at = &l->next;
            continue;
        }
        bool known = order_covers(host_knowledge(), s->lane, l->reach.by.number);
        if (!known && !stream_waits_for_host(s, l->reach.by.number)) tell_given(&l->reach, &by);
        *at = l->next;
        host_free(l);
    }
}

void checker_reach_ended(struct reach **list)
{
    for (struct reach *r = *list, *next; r; r = next) {
        next = r->next;
        host_free(r);
    }
    *list = NULL;
}
