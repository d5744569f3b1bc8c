/* Guards on pinned memory.
 *
 * Law: a page that pending work writes cannot be touched, one that it only reads cannot be changed, every other page is open. */
#include "checker_host.h"

#include "host.h"
#include "report.h"
#include "settings.h"

#define PAGE ((size_t)4096)

struct pending {
    struct pending *next;
    struct deed     allocated, by;
    char           *base, *from, *to;  /* the guarded pages */
    size_t          bytes;             /* of the block */
    uint32_t        id;
    bool            write, paused;     /* paused: the host may touch it up to its next call */
};

static struct pending *all;            /* the newest first */
bool checker_host_paused;

static void guard(const struct pending *p)
{
    if (!p->paused) host_share(p->from, (size_t)(p->to - p->from), p->write ? HOST_MAY_NOTHING : HOST_MAY_READ);
}

static bool overlap(const struct pending *a, const struct pending *b) { return a->from < b->to && b->from < a->to; }

/* Guards again what the others need of these pages; who writes counts more than who reads. */
static void guard_others(const struct pending *p)
{
    for (const struct pending *o = all; o; o = o->next)
        if (o != p && !o->write && overlap(o, p)) guard(o);
    for (const struct pending *o = all; o; o = o->next)
        if (o != p && o->write && overlap(o, p)) guard(o);
}

static void end(struct pending **at)
{
    struct pending *p = *at;
    *at = p->next;
    host_share(p->from, (size_t)(p->to - p->from), HOST_MAY_WRITE);
    guard_others(p);
    host_free(p);
}

static void host_has_learned(void)
{
    for (struct pending **at = &all; *at;)
        if (order_covers(host_knowledge(), (*at)->by.lane, (*at)->by.number)) end(at);
        else at = &(*at)->next;
}

void checker_host_pending(struct watched b, const struct stream *s, uint64_t number, size_t from, size_t to, bool write)
{
    size_t first = round_up(from, PAGE), last = to == b.bytes ? round_up(to, PAGE) : to / PAGE * PAGE;
    if (!settings.check || first >= last) return;
    stream_on_host_learned(host_has_learned);
    struct pending *p = host_allocate(sizeof *p);
    char *base = (char *)b.address;
    *p = (struct pending){ .next = all, .allocated = b.watch->allocated, .by = checker_deed(s, number), .base = base, .from = base + first, .to = base + last,
                           .bytes = b.bytes, .id = b.id, .write = write };
    all = p;
    guard(p);
    if (!write) guard_others(p);
}

void checker_host_forget(const void *base)
{
    for (struct pending **at = &all; *at;)
        if ((*at)->base == base) end(at);
        else at = &(*at)->next;
}

void checker_host_renew(void)
{
    checker_host_paused = false;
    for (struct pending *p = all; p; p = p->next) {
        if (!p->paused) continue;
        p->paused = false;
        guard(p);
        guard_others(p);
    }
}

static void tell(const struct pending *p, size_t byte, void *site)
{
    struct deed by = { .call = "a load or store", .site = site, .stream = -2, .lane = HOST_LANE };
    if (!report_begin(p->write ? "host access not ordered after a write" : "host write not ordered after a read", &p->by, &by)) return;
    report_text("The host %s byte %zu of block %u, which %s (%s) may still be %s.", p->write ? "touches" : "changes", byte, p->id, p->by.call, report_stream(&p->by),
                p->write ? "writing" : "reading");
    report_block(p->id, p->bytes, &p->allocated);
    report_deed(p->write ? "written" : "read", &p->by);
    report_deed(p->write ? "touched" : "changed", &by);
    report_missing_edge(&p->by, &by, NULL);
    report_end(p->id);
}

bool checker_host_touched(const void *address, void *site)
{
    struct pending **found = NULL;
    for (struct pending **at = &all; *at; at = &(*at)->next)
        if ((const char *)address >= (*at)->from && (const char *)address < (*at)->to && (!found || ((*at)->write && !(*found)->write))) found = at;
    if (!found) return false;
    struct pending *p = *found;
    if (stream_waits_for_host(stream_of_lane(p->by.lane), p->by.number)) {
        p->paused = checker_host_paused = true;
        host_share(p->from, (size_t)(p->to - p->from), HOST_MAY_WRITE);
        guard_others(p);
        return true;
    }
    if (site) tell(p, (size_t)((const char *)address - p->base), site);
    end(found);
    return true;
}
