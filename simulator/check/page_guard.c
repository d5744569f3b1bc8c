/* The host's view of memory that the device sees too, closed page by page while a touch would be wrong.
 *
 * Law: a page is as open as the strictest of the closed ranges that it lies in allows, but for the paused ones. */
#include "check/page_guard.h"

#include "os/os.h"
#include "check/report.h"
#include "mem/address_map.h"
#include "sched/stream.h"

#define MOST  1024                     /* chosen: so many closed ranges at a time; each may split a mapping of the process, which has 65530 */

enum reason { NOT_ALLOCATED, WRITTEN, READ, FREED };
struct closed {
    const char    *from, *to;
    enum reason    why;
    bool           paused;             /* the host may touch it up to its next call */
    struct deed    by, allocated;
    struct watched block;
};

static struct closed closed[MOST];
static size_t count;
bool guard_paused;

/* The heap of an address that the host can touch, or NULL. */
static struct heap *heap_at(const void *address)
{
    struct pool *pool;
    if (!heap_shared_count) return NULL;
    struct heap *h = space_find(address, &pool);
    return h && h->shared ? h : NULL;
}

static void show(const struct closed *c)
{
    if (!c->paused) host_share((char *)(uintptr_t)c->from, (size_t)(c->to - c->from), c->why == READ ? HOST_MAY_READ : HOST_MAY_NOTHING);
}

/* Steps of a pool that have gone back stay as they are. */
static void allow(const char *from, const char *to)
{
    struct heap *h = heap_at(from);
    if (!h) {
        host_share((char *)(uintptr_t)from, (size_t)(to - from), HOST_MAY_WRITE);
        return;
    }
    for (const char *at = from, *end; at < to; at = end) {
        end = h->base + round_up((size_t)(at - h->base) + 1, h->step);
        if (end > to) end = to;
        if (heap_is_mapped(h, (size_t)(at - h->base), (size_t)(end - at))) host_share((char *)(uintptr_t)at, (size_t)(end - at), HOST_MAY_WRITE);
    }
}

/* Closes what is to be closed of [from, to). */
static void close_for(const char *from, const char *to)
{
    for (int strict = 0; strict < 2; strict++)               /* what allows nothing comes last */
        for (size_t i = 0; i < count; i++)
            if (closed[i].from < to && from < closed[i].to && (closed[i].why != READ) == strict) show(&closed[i]);
}

/* Opens [from, to), but for what is closed for another reason too. */
static void open_pages(const char *from, const char *to)
{
    allow(from, to);
    close_for(from, to);
}

static void forget(size_t i) { closed[i] = closed[--count]; }

/* The host has learned something. */
static void lift(void)
{
    for (size_t i = 0; i < count;) {
        struct closed c = closed[i];
        if (c.why == FREED || !order_covers(host_knowledge(), c.by.lane, c.by.number)) {
            i++;
            continue;
        }
        forget(i);
        open_pages(c.from, c.to);
    }
}

/* May what closed the pages not begin before the host does something? */
static bool waits_for_host(const struct closed *c)
{
    struct stream *s = c->why == NOT_ALLOCATED || c->by.lane == HOST_LANE ? NULL : stream_of_lane(c->by.lane);
    return s && stream_waits_for_host(s, c->by.number);
}

/* What closes the same pages for earlier work of the same stream, or NULL. */
static struct closed *same_before(const struct closed *new)
{
    for (size_t i = 0; i < count; i++) {
        struct closed *c = &closed[i];
        if (c->from == new->from && c->to == new->to && c->why == new->why && c->by.lane == new->by.lane && !c->paused) return c;
    }
    return NULL;
}

/* Closes the pages of [first, last) for the deed `by`, if the host does not know it to be over. */
static void close_pages(struct watched b, struct deed by, const char *first, const char *last, enum reason why)
{
    static bool listens;
    if (first >= last) return;
    if (why != FREED && (by.lane == HOST_LANE || order_covers(host_knowledge(), by.lane, by.number))) return;
    if (!listens) stream_on_host_learned(lift);
    listens = true;
    struct closed new = { .from = first, .to = last, .why = why, .by = by, .allocated = b.watch->allocated, .block = b };
    struct closed *same = waits_for_host(&new) ? NULL : same_before(&new);
    if (same) {
        *same = new;                   /* who has waited for the stream's later work has waited for its earlier work too */
        return;
    }
    if (count == MOST) return;
    host_expect_faults();
    closed[count++] = new;
    close_for(first, last);
}

/* The same for the whole pages of bytes [from, to) of a block. In its first and last page a pool's block may have neighbours; cudaMallocManaged's has none. */
static void close_whole(struct watched b, struct deed by, size_t from, size_t to, enum reason why)
{
    struct pool *pool;
    bool alone = space_find(b.address, &pool) && !pool && to == b.bytes;
    uintptr_t first = round_up((uintptr_t)b.address + from, PAGE), end = (uintptr_t)b.address + to;
    close_pages(b, by, (const char *)first, (const char *)(alone ? round_up(end, PAGE) : end - end % PAGE), why);
}

/* What was closed for a block before. */
static void forget_in(const char *from, const char *to)
{
    for (size_t i = 0; i < count;)
        if (closed[i].from < to && from < closed[i].to) forget(i);
        else i++;
}

void guard_allocated(struct watched b)
{
    if (!heap_at(b.address)) return;
    const char *from = b.address - (uintptr_t)b.address % PAGE, *to = (const char *)round_up((uintptr_t)b.address + b.bytes, PAGE);
    for (size_t i = 0; i < count;) {   /* of what was freed here, only what lies outside stays closed */
        struct closed c = closed[i];
        if (c.why != FREED || c.from >= to || from >= c.to) {
            i++;
            continue;
        }
        forget(i);
        if (c.from < from) closed[count] = c, closed[count++].to = from;
        if (c.to > to && count < MOST) closed[count] = c, closed[count++].from = to;
        if (c.from < from || c.to > to) i = 0;
    }
    open_pages(from, to);
    close_whole(b, b.watch->allocated, 0, b.bytes, NOT_ALLOCATED);
}

void guard_used(struct watched b, struct deed by, size_t from, size_t to, bool write)
{
    if (heap_at(b.address)) close_whole(b, by, from, to < b.bytes ? to : b.bytes, write ? WRITTEN : READ);
}

void guard_freed(struct watched b, struct deed by, const struct stream *s)
{
    if (!heap_at(b.address)) return;
    forget_in(b.address, b.address + b.bytes);
    if (!s || !stream_is_behind_function(s)) close_whole(b, by, 0, b.bytes, FREED);
}

void guard_copied(struct watched b, struct deed by, size_t from, size_t to, bool write)
{
    size_t last = to == b.bytes ? round_up(to, PAGE) : to / PAGE * PAGE;        /* its last page is its own */
    close_pages(b, by, b.address + round_up(from, PAGE), b.address + last, write ? WRITTEN : READ);
}

void guard_forgotten(const char *address, size_t bytes) { forget_in(address, address + bytes); }

/* ---- a touch ---- */

static void tell(const struct closed *c, const void *address, void *site)
{
    static const char *const kinds[] = {
        [NOT_ALLOCATED] = "host access before allocation", [WRITTEN] = "host access not ordered after a write",
        [READ] = "host write not ordered after a read", [FREED] = "host access after free",
    };
    static const char *const words[] = { [NOT_ALLOCATED] = "allocated", [WRITTEN] = "written", [READ] = "read", [FREED] = "freed" };
    struct deed by = { .call = "a load or store", .site = site, .stream = -2, .lane = HOST_LANE };
    if (!report_begin(kinds[c->why], &c->by, &by)) return;
    const char *who = report_stream(&c->by);
    switch (c->why) {
    case NOT_ALLOCATED: report_text("The host touches block %u, and has not waited for its allocation by %s (%s).", c->block.id, c->by.call, who); break;
    case WRITTEN:       report_text("The host touches block %u while %s (%s) may still be writing it.", c->block.id, c->by.call, who); break;
    case READ:          report_text("The host writes to block %u while %s (%s) may still be reading it.", c->block.id, c->by.call, who); break;
    case FREED:         report_text("The host touches block %u, which %s (%s) has freed.", c->block.id, c->by.call, who); break;
    }
    report_block(c->block.id, c->block.bytes, &c->allocated);
    if (c->why != NOT_ALLOCATED) report_deed(words[c->why], &c->by);
    report_deed("touched", &by);
    if (c->why == FREED) report_advice("free the block when the host no longer needs it.");
    else report_missing_edge(&c->by, &by, NULL);
    report_note("it was byte %zu of the block. Of several such touches the first is told.", (size_t)((const char *)address - c->block.address));
    report_end(c->block.id);
}

bool guard_touched(const void *address, void *site)
{
    struct heap *h = heap_at(address);
    const char *page = (const char *)address - (uintptr_t)address % PAGE;
    if (h && !heap_is_mapped(h, (size_t)(page - h->base), PAGE)) return false;
    struct closed *found = NULL;       /* the strictest */
    for (size_t i = 0; i < count; i++) {
        struct closed *c = &closed[i];
        if (page >= c->from && page < c->to && !c->paused && (!found || (c->why != READ && found->why == READ))) found = c;
    }
    if (!found) {
        if (h) open_pages(page, page + PAGE);                /* another thread was faster */
        return h;
    }
    struct closed c = *found;
    if (waits_for_host(&c)) {
        found->paused = guard_paused = true;
    } else {
        if (site) tell(&c, address, site);
        forget((size_t)(found - closed));
    }
    open_pages(c.from, c.to);
    return true;
}

void guard_renew(void)
{
    guard_paused = false;
    for (size_t i = 0; i < count; i++) {
        if (!closed[i].paused) continue;
        closed[i].paused = false;
        open_pages(closed[i].from, closed[i].to);
    }
}
