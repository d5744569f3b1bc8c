/* The checker, for access to a pool that is taken away while work may still need it. A pool remembers, for each stream of a device that works in it by
 * access given to that device, the last such work: who has waited for that has waited for all. */
#include "checker.h"

#include "host.h"
#include "report.h"
#include "settings.h"

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
    report_text("%s (%s) takes a device's access to a pool away while %s (%s) may still be using block %u of it.", by->call, report_stream(by), r->by.call,
                report_stream(&r->by), r->id);
    report_block(r->id, r->bytes, &r->allocated);
    report_deed("used", &r->by);
    report_deed("taken", by);
    report_missing_edge(&r->by, by, NULL);
    report_note("the call waits for nothing. What comes later on that device fails, and the device with it.");
    report_end(r->id);
}

void checker_access_taken(const struct reach *list, int device)
{
    if (!settings.check) return;
    struct deed by = checker_deed(NULL, 0);
    for (const struct reach *r = list; r; r = r->next)
        if (stream_of_lane(r->by.lane)->device == device && !order_covers(host_knowledge(), r->by.lane, r->by.number)) tell(r, &by);
}

void checker_reach_ended(struct reach **list)
{
    for (struct reach *r = *list, *next; r; r = next) {
        next = r->next;
        host_free(r);
    }
    *list = NULL;
}
