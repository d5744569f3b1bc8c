/* The checker. One function for each way to be wrong; each compares the deed of the call on its way with deeds that came earlier in the program.
 *
 * Law: an access is dropped only when every work still to come is ordered after it, or when a later access that stays covers it and comes after it
 * or has been accused together with it. So memory grows with the live blocks and with what is not yet synchronised, and with nothing else.
 *
 * One missing edge is told once: of one stream's accesses the newest is named (who waits for it waits for all), and what is not ordered after the
 * allocation only because it is not ordered after an access is told as the latter. */
#include "check/checker.h"

#include <string.h>

#include "check/access_tree.h"
#include "ipc/ipc_check.h"
#include "sched/virtual_time.h"
#include "check/page_guard.h"
#include "os/os.h"
#include "base/journal.h"
#include "check/report.h"
#include "base/settings.h"

#define HISTORY 8192                   /* blocks freed last, to name them in reports */

/* The call on its way: while it waits, other threads make theirs. */
static _Thread_local struct deed now;
static _Thread_local uint32_t meant;   /* a node's: the newest block that its pointers can be meant for */

static uint32_t newest_block;
static struct history { uint32_t id; const char *address; size_t bytes; struct deed allocated, freed; } history[HISTORY];
static uint64_t history_count;

void checker_call(const char *name, void *site)
{
    now.call = name;
    now.site = site;
    now.launch = 0;
}

void checker_node(const struct deed *launch_call, const char *name, void *site, uint32_t launch, uint32_t newest)
{
    checker_call(name, site);
    meant = newest;
    now.launch = launch;
    now.launch_site = launch_call->site;
}

uint32_t checker_newest_block(void) { return newest_block; }

struct deed checker_caller(void) { return now; }

static struct deed deed_of(const struct stream *s, uint64_t number)
{
    struct deed d = now;
    enum stream_kind kind = s ? stream_trunk(s)->kind : STREAM_BLOCKING;
    d.stream = !s ? -2 : kind == STREAM_LEGACY ? 0 : kind == STREAM_PER_THREAD ? -1 : s->id;
    d.lane = s ? s->lane : HOST_LANE;
    d.device = s ? s->device : 0;
    d.number = number;
    return d;
}

struct deed checker_deed(const struct stream *s, uint64_t number) { return deed_of(s, number); }

/* Does `earlier` come before work `number` of `s`? s NULL: before what the host does now. */
static bool is_before(const struct deed *earlier, const struct stream *s, uint64_t number)
{
    if (earlier->lane == HOST_LANE) return true;             /* the host had done it before it made this call */
    if (!s) return order_covers(host_knowledge(), earlier->lane, earlier->number);
    if (earlier->lane == s->lane) return earlier->number < number;
    return order_covers(&s->known.everything, earlier->lane, earlier->number);
}

/* ---- accesses ---- */

/* What the host knows to be over comes before everything still to come. */
static void drop_known(struct watch *w)
{
    size_t count;
    struct access **all = accesses_near(w, 0, SIZE_MAX, &count);
    for (size_t i = 0; i < count; i++)
        if (order_covers(host_knowledge(), all[i]->by.lane, all[i]->by.number)) accesses_remove(w, all[i]);
}

static void remember(struct watch *w, struct access a)
{
    accesses_add(w, a);
    if (w->access_count >= 32 && !(w->access_count & (w->access_count - 1))) drop_known(w);
}

/* ---- what was freed ---- */

static void remember_freed(struct watched b, struct deed freed)
{
    history[history_count++ % HISTORY] = (struct history){ b.id, b.address, b.bytes, b.watch->allocated, freed };
}

/* The block freed last at this address among those numbered up to `newest`, or NULL. */
static const struct history *freed_at(const char *address, uint32_t newest)
{
    for (uint64_t i = history_count; i && i + HISTORY > history_count; i--) {
        const struct history *h = &history[(i - 1) % HISTORY];
        if (h->id <= newest && address >= h->address && address < h->address + h->bytes) return h;
    }
    return NULL;
}

bool checker_was_freed(const void *address) { return freed_at(address, UINT32_MAX); }

/* ---- allocation ---- */

void checker_allocated(struct watched b, struct stream *s, uint64_t number)
{
    b.watch->allocated = deed_of(s, number);
    if (b.id > newest_block) newest_block = b.id;
    if (settings.check) guard_allocated(b);
}

void checker_allocated_again(struct watched b, const struct stream *s, uint64_t number, const struct deed *freed)
{
    struct deed by = deed_of(s, number);
    if (!settings.check || is_before(freed, s, number) || !report_begin("allocation before the free", freed, &by)) return;
    report_text("%s (%s) allocates block %u, and nothing orders it after the free of the block that has the same address.", by.call, report_stream(&by), b.id);
    report_block(b.id, b.bytes, &by);
    report_deed("freed", freed);
    report_missing_edge(freed, &by, s);
    report_note("what a node allocates has the same address in each launch. A launch waits for earlier launches of its graph, and for no free outside of it.");
    report_end(b.id);
}

/* ---- use and free ---- */

/* The place `at` was another block's before: the call may be meant for that one. */
static void note_stale(struct watched b, size_t at)
{
    const struct history *old = freed_at(b.address + at, UINT32_MAX);
    if (old) report_note("block %u had this address before, until it was freed. If the call is meant for that one, its pointer is stale.", old->id);
}

/* One copy that reads what it writes. */
static void tell_overlap(struct watched b, const struct deed *by)
{
    if (!report_begin("overlapping copy", by, by)) return;
    report_text("%s (%s) reads and writes the same bytes of block %u. The memory areas of a copy may not overlap.", by->call, report_stream(by), b.id);
    report_block(b.id, b.bytes, &b.watch->allocated);
    report_deed("copied", by);
    report_advice("copy through a second block, or in pieces no longer than the distance between the two places.");
    report_end(b.id);
}

/* `b`: the block; `a`: what came earlier; `new`: what comes now, in the order of `s`. */
static void tell_unordered(struct watched b, const struct access *a, const struct access *new, const struct stream *s)
{
    struct deed by = new->by;
    bool write = new->write;
    if (a->by.lane == by.lane && a->by.number == by.number) {
        tell_overlap(b, &by);
        return;
    }
    if (!report_begin(write ? a->write ? "unordered writes" : "write not ordered after a read" : "read not ordered after a write", &a->by, &by)) return;
    report_text("%s (%s) and %s (%s) touch the same bytes of block %u, and nothing orders them.", by.call, report_stream(&by), a->by.call, report_stream(&a->by), b.id);
    report_block(b.id, b.bytes, &b.watch->allocated);
    report_deed(a->write ? "written" : "read", &a->by);
    report_deed(write ? "written" : "read", &by);
    report_missing_edge(&a->by, &by, new->at_call ? NULL : s);
    if (!is_before(&b.watch->allocated, s, by.number)) note_stale(b, new->from);
    report_end(b.id);
}

static void tell_free_too_early(struct watched b, const struct access *a, const struct access *new, const struct stream *s)
{
    struct deed by = new->by;
    if (!report_begin("free before the use ends", &a->by, &by)) return;
    report_text("%s (%s) frees block %u while %s (%s) may still be using it.", by.call, report_stream(&by), b.id, a->by.call, report_stream(&a->by));
    report_block(b.id, b.bytes, &b.watch->allocated);
    report_deed(a->write ? "written" : "read", &a->by);
    report_deed("freed", &by);
    report_missing_edge(&a->by, &by, s);
    if (!s && b.watch->allocated.lane == HOST_LANE) report_note("a call that frees waits for the GPU that the memory is of, and for no other GPU that uses it.");
    else if (!s) report_note("for a block of a pool, cudaFree waits for nothing. cudaFreeAsync frees it in the order of a stream.");
    report_end(b.id);
}

static void tell_before_allocation(struct watched b, const struct access *new, const struct stream *s, bool free)
{
    struct deed by = new->by;
    const struct deed *allocated = &b.watch->allocated;
    if (!report_begin(free ? "free before allocation" : "use before allocation", allocated, &by)) return;
    report_text("%s (%s) %s block %u, and nothing orders it after the allocation (%s).", by.call, report_stream(&by), free ? "frees" : "uses", b.id, report_stream(allocated));
    report_block(b.id, b.bytes, allocated);
    report_deed(free ? "freed" : "used", &by);
    report_missing_edge(allocated, &by, new->at_call ? NULL : s);
    note_stale(b, new->from);
    report_end(b.id);
}

/* Tells of each access that conflicts with the new one and does not come before it; true when there is one. */
static bool accuse(struct watched b, const struct access *new, const struct stream *s,
                   void (*tell)(struct watched, const struct access *, const struct access *, const struct stream *))
{
    uint32_t told = HOST_LANE;
    bool ends = tell == tell_free_too_early;                 /* the end of the block concerns a touch of it, too */
    size_t count;
    struct access **near = accesses_near(b.watch, new->from, new->to, &count);
    for (size_t i = 0; i < count; i++) {
        const struct access *a = near[i];
        bool conflict = (new->write || a->write) && a->from < new->to && new->from < a->to;
        if (!(conflict || ends) || is_before(&a->by, s, new->by.number)) continue;
        if (a->by.lane != told) tell(b, a, new, s);
        told = a->by.lane;
    }
    return told != HOST_LANE;
}

static void tell_late_use(const struct history *old, const struct deed *by, bool write)
{
    report_text("%s (%s) %s block %u, which %s (%s) has freed.", by->call, report_stream(by), write ? "writes" : "reads", old->id, old->freed.call, report_stream(&old->freed));
    report_block(old->id, old->bytes, &old->allocated);
    report_deed("freed", &old->freed);
    report_deed("used", by);
    report_late_use(&old->freed, by);
}

/* A node was made for a block that is freed by now, and whose address is another's: a graph keeps the pointers with which it was made. What a graph
 * allocates has its address for good. */
static bool accuse_stale_node(struct watched b, struct deed by, size_t from, bool write)
{
    if (!by.launch || b.id <= meant || b.watch->allocated.launch) return false;
    const struct history *old = freed_at(b.address + from, meant);
    if (!old || !report_begin("use after free", &old->freed, &by)) return old != NULL;
    tell_late_use(old, &by, write);
    report_note("the node keeps the pointer with which it was made. That address is block %u's now.", b.id);
    report_end(old->id);
    return true;
}

/* May the new access be made here? */
static void judge(struct watched b, struct deed by, struct stream *s, size_t from, size_t to, bool write, bool at_call)
{
    struct watch *w = b.watch;
    struct access new = { .by = by, .from = from, .to = to, .write = write, .at_call = at_call };
    if (to > b.bytes && report_begin("access outside the allocation", &w->allocated, &by)) {
        report_text("%s (%s) touches bytes %zu to %zu of block %u, which has %zu.", by.call, report_stream(&by), from, to - 1, b.id, b.bytes);
        report_block(b.id, b.bytes, &w->allocated);
        report_deed("used", &by);
        report_advice("ask for as many bytes as are used, or use fewer. A device often does not notice: what lies behind a block is another's, or nobody's.");
        note_stale(b, from);
        report_end(b.id);
    }
    bool accused = accuse_stale_node(b, by, from, write) || (w->accesses && accuse(b, &new, s, tell_unordered));
    if (!accused && !is_before(&w->allocated, s, by.number)) tell_before_allocation(b, &new, s, false);
}

void checker_used(struct watched b, struct stream *s, uint64_t number, size_t from, size_t to, bool write)
{
    if (!settings.check) return;
    struct watch *w = b.watch;
    struct deed by = deed_of(s, number);
    judge(b, by, s, from, to, write, false);
    size_t count;
    struct access **near = accesses_near(w, from, to, &count);
    for (size_t i = 0; i < count; i++) {
        struct access *a = near[i];
        bool covered = from <= a->from && a->to <= to;
        bool touch = a->from == a->to;
        if (covered && ((write && !touch) || (!a->write && is_before(&a->by, s, number)))) accesses_remove(w, a);
    }
    remember(w, (struct access){ .by = by, .from = from, .to = to, .write = write });
    guard_used(b, by, from, to, write);
    if (w->shared) checker_border_used(b, by, s, from, to, write);
}

void checker_staged(struct watched b, struct stream *s, uint64_t number, size_t from, size_t to)
{
    if (settings.check) judge(b, deed_of(s, number), s, from, to, false, true);
}

void checker_copied(struct watched b, const struct stream *s, uint64_t number, size_t from, size_t to, bool write)
{
    if (settings.check) guard_copied(b, deed_of(s, number), from, to, write);
}

void checker_used_nothing(const void *address, size_t bytes, struct stream *s, uint64_t number, bool write, struct watched below, bool of_graph)
{
    if (!settings.check) return;
    struct deed by = deed_of(s, number);
    const struct history *old = freed_at(address, UINT32_MAX);
    if (!report_begin(old ? "use after free" : "use of memory that is not allocated", old ? &old->freed : &by, &by)) return;
    if (old) {
        tell_late_use(old, &by, write);
    } else {
        report_text("%s (%s) %s %zu bytes at an address of the device where nothing is allocated.", by.call, report_stream(&by), write ? "writes" : "reads", bytes);
        if (below.watch) report_block(below.id, below.bytes, &below.watch->allocated);
        report_deed("used", &by);
        if (below.watch)
            report_note("block %u starts %zu bytes before the address. Is an offset too large, or counted twice, in ints and in bytes?", below.id,
                        (size_t)((const char *)address - (const char *)below.address));
        report_advice(of_graph ? "the address belongs to an allocation node of a graph: use it behind cudaGraphLaunch, in its stream or one that waits for it, and before it is freed."
                               : "use only what cudaMallocAsync or cudaMalloc returned.");
    }
    report_end(old ? old->id : 0);
}

/* ---- free ---- */

static void check_free(struct watched b, struct stream *s, uint64_t number)
{
    struct deed by = deed_of(s, number);
    struct access end = { .by = by, .to = SIZE_MAX, .write = true };
    bool accused = accuse(b, &end, s, tell_free_too_early);
    if (!accused && !is_before(&b.watch->allocated, s, number)) tell_before_allocation(b, &end, s, true);
    if (b.watch->shared) checker_border_freed(b, by, s);
    remember_freed(b, by);
}

void checker_freed(struct watched b, struct stream *s, uint64_t number)
{
    if (!settings.check) return;
    check_free(b, s, number);
    guard_freed(b, deed_of(s, number), s);
    accesses_remove_all(b.watch);
}

void checker_unregistered(struct watched b)
{
    if (!settings.check) return;
    struct access end = { .by = deed_of(NULL, 0), .to = SIZE_MAX, .write = true };
    accuse(b, &end, NULL, tell_free_too_early);
    accesses_remove_all(b.watch);
}

void checker_freed_nothing(const void *address, const struct stream *s, const char *note)
{
    if (!settings.check) return;
    const struct history *old = freed_at(address, UINT32_MAX);
    struct deed by = deed_of(s, 0);
    if (!old || old->address != address || !report_begin("double free", &old->freed, &by)) return;
    report_text("%s (%s) frees block %u a second time.", by.call, report_stream(&by), old->id);
    report_block(old->id, old->bytes, &old->allocated);
    report_deed("freed", &old->freed);
    report_deed("again", &by);
    report_advice("free each block once: leave one of the two calls out.");
    report_note("%s", note);
    report_end(old->id);
}

/* ---- the end ---- */

void checker_leaked(struct watched b)
{
    if (!settings.check || !report_begin("leak", &b.watch->allocated, &b.watch->allocated)) return;
    report_text("block %u is still allocated at the end of the program.", b.id);
    report_block(b.id, b.bytes, &b.watch->allocated);
    bool pinned = !strncmp(b.watch->allocated.call, "cudaMallocHost", 14) || !strncmp(b.watch->allocated.call, "cudaHost", 8);
    report_advice(pinned ? "cudaFreeHost, when no copy uses it any more." : b.watch->allocated.lane == HOST_LANE ? "cudaFree." : "cudaFreeAsync, after its last use, in the same stream or in one that waits for it.");
    report_end(b.id);
}
