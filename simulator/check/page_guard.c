/* The host's view of memory that the device sees too, protected page by page while a touch would be
 * incorrect. */
#include "check/page_guard.h"

#include "sched/happens_before.h"
#include "check/report.h"
#include "os/os.h"
#include "sched/stream.h"

/* Assumed: so many protected ranges at a time; each may split a mapping of the process, which may
 * have 65530. */
#define PROTECTIONS_MAX 1024

enum reason { NOT_ALLOCATED, WRITTEN, READ, FREED };

/* A range of pages that the host may not touch (READ: not write) before it has acquired `origin`;
 * FREED: at all. */
struct protection {
    const char *from, *to;
    enum reason reason;
    /* The host may touch it up to its next call. */
    bool paused;
    struct origin origin, allocated_by;
    struct shadow_ref allocation;
};

/* Law: a page is as open as the strictest of the ranges that it lies in allows, but for the paused
 * ones. When PROTECTIONS_MAX ranges are protected, another one is not, without a word. Needs the
 * lock. */
static struct {
    struct protection ranges[PROTECTIONS_MAX];
    size_t count;
    /* release_acquired is called when the host acquires something. */
    bool listening;
} guard;

bool page_guard_paused;
const struct host_memory *page_guard_memory;

static bool find_host_view(const void *address, struct host_view *view)
{
    return page_guard_memory && page_guard_memory->find(address, view);
}

static void apply_protection(const struct protection *p)
{
    if (!p->paused)
        os_protect((char *)(uintptr_t)p->from, (size_t)(p->to - p->from),
                   p->reason == READ ? OS_PROT_READ : OS_PROT_NONE);
}

/* Opens [from, to). Segments that a pool has released stay as they are. */
static void unprotect_pages(const char *from, const char *to)
{
    struct host_view view;
    if (!find_host_view(from, &view)) {
        os_protect((char *)(uintptr_t)from, (size_t)(to - from), OS_PROT_READ_WRITE);
        return;
    }
    for (const char *at = from, *end; at < to; at = end) {
        end = view.base + round_up((size_t)(at - view.base) + 1, view.segment_size);
        if (end > to)
            end = to;
        if (page_guard_memory->is_mapped(&view, at, (size_t)(end - at)))
            os_protect((char *)(uintptr_t)at, (size_t)(end - at), OS_PROT_READ_WRITE);
    }
}

/* Protects what the ranges require of [from, to); what allows nothing comes last. */
static void protect_overlapping(const char *from, const char *to)
{
    for (int strict = 0; strict < 2; strict++)
        for (size_t i = 0; i < guard.count; i++)
            if (guard.ranges[i].from < to && from < guard.ranges[i].to
                && (guard.ranges[i].reason != READ) == strict)
                apply_protection(&guard.ranges[i]);
}

/* Opens [from, to), but for what is protected for another reason too. */
static void release_pages(const char *from, const char *to)
{
    unprotect_pages(from, to);
    protect_overlapping(from, to);
}

static void remove_protection(size_t i) { guard.ranges[i] = guard.ranges[--guard.count]; }

/* Returns whether the host did it, or has acquired it. */
static bool is_acquired(const struct origin *origin)
{
    return origin->slot == HOST_SLOT || vc_includes(host_vector_clock(), origin->slot, origin->seq);
}

/* Opens what the host has acquired. */
static void release_acquired(void)
{
    for (size_t i = 0; i < guard.count;) {
        struct protection p = guard.ranges[i];
        if (p.reason == FREED || !is_acquired(&p.origin)) {
            i++;
            continue;
        }
        remove_protection(i);
        release_pages(p.from, p.to);
    }
}

/* Returns whether the operation that protects the pages cannot begin before the host does
 * something. */
static bool waits_for_host(const struct protection *p)
{
    if (p->reason == NOT_ALLOCATED || p->origin.slot == HOST_SLOT)
        return false;
    struct stream *s = stream_of_slot(p->origin.slot);
    return s && stream_waits_for_host(s, p->origin.seq);
}

/* Returns what protects the same pages for earlier work of the same stream, or NULL. */
static struct protection *find_same_protection(const struct protection *new)
{
    for (size_t i = 0; i < guard.count; i++) {
        struct protection *p = &guard.ranges[i];
        if (p->from == new->from && p->to == new->to && p->reason == new->reason
            && p->origin.slot == new->origin.slot && !p->paused)
            return p;
    }
    return NULL;
}

/* Protects the pages of [first, last) because of `origin`, unless the host has acquired that. */
static void protect_pages(struct shadow_ref ref, struct origin origin, const char *first,
                          const char *last, enum reason reason)
{
    if (first >= last || (reason != FREED && is_acquired(&origin)))
        return;
    if (!guard.listening)
        host_on_acquire(release_acquired);
    guard.listening = true;
    struct protection new = {.from = first,
                             .to = last,
                             .reason = reason,
                             .origin = origin,
                             .allocated_by = ref.shadow->allocated_by,
                             .allocation = ref};
    struct protection *same = waits_for_host(&new) ? NULL : find_same_protection(&new);
    if (same) {
        /* Whoever has waited for the stream's later work has waited for its earlier work too. */
        *same = new;
        return;
    }
    if (guard.count == PROTECTIONS_MAX)
        return;
    os_expect_faults();
    guard.ranges[guard.count++] = new;
    protect_overlapping(first, last);
}

/* The same for the whole pages of bytes [from, to) of an allocation. In its first and last page a
 * pool's allocation may have neighbors; cudaMallocManaged's has none. */
static void protect_whole_pages(struct shadow_ref ref, struct origin origin, size_t from, size_t to,
                                enum reason reason)
{
    struct host_view view;
    bool own_pages = find_host_view(ref.address, &view) && view.own_pages && to == ref.bytes;
    uintptr_t first = round_up((uintptr_t)ref.address + from, PAGE),
              end = (uintptr_t)ref.address + to;
    protect_pages(ref, origin, (const char *)first,
                  (const char *)(own_pages ? round_up(end, PAGE) : end - end % PAGE), reason);
}

/* Forgets what protects a part of [from, to); the pages stay as they are. */
static void remove_protections_in(const char *from, const char *to)
{
    for (size_t i = 0; i < guard.count;)
        if (guard.ranges[i].from < to && from < guard.ranges[i].to)
            remove_protection(i);
        else
            i++;
}

/* Adds [from, to) of `p`, if it is not empty; its pages are protected already. */
static void add_part(struct protection p, const char *from, const char *to)
{
    if (from >= to || guard.count == PROTECTIONS_MAX)
        return;
    p.from = from;
    p.to = to;
    guard.ranges[guard.count++] = p;
}

/* Of what was freed in [from, to), only what lies outside stays protected. */
static void cut_freed(const char *from, const char *to)
{
    for (size_t i = 0; i < guard.count;) {
        struct protection p = guard.ranges[i];
        if (p.reason != FREED || p.from >= to || from >= p.to) {
            i++;
            continue;
        }
        remove_protection(i);
        add_part(p, p.from, from);
        add_part(p, to, p.to);
        if (p.from < from || p.to > to)
            i = 0;
    }
}

void page_guard_allocated(struct shadow_ref ref)
{
    struct host_view view;
    if (!find_host_view(ref.address, &view))
        return;
    const char *from = ref.address - (uintptr_t)ref.address % PAGE;
    const char *to = (const char *)round_up((uintptr_t)ref.address + ref.bytes, PAGE);
    cut_freed(from, to);
    release_pages(from, to);
    protect_whole_pages(ref, ref.shadow->allocated_by, 0, ref.bytes, NOT_ALLOCATED);
}

void page_guard_used(struct shadow_ref ref, struct origin origin, size_t from, size_t to,
                     bool write)
{
    struct host_view view;
    if (find_host_view(ref.address, &view))
        protect_whole_pages(ref, origin, from, to < ref.bytes ? to : ref.bytes,
                            write ? WRITTEN : READ);
}

void page_guard_freed(struct shadow_ref ref, struct origin origin, const struct stream *s)
{
    struct host_view view;
    if (!find_host_view(ref.address, &view))
        return;
    remove_protections_in(ref.address, ref.address + ref.bytes);
    if (!s || !stream_is_behind_function(s))
        protect_whole_pages(ref, origin, 0, ref.bytes, FREED);
}

void page_guard_copied(struct shadow_ref ref, struct origin origin, size_t from, size_t to,
                       bool write)
{
    /* Its last page is its own. */
    size_t last = to == ref.bytes ? round_up(to, PAGE) : to / PAGE * PAGE;
    protect_pages(ref, origin, ref.address + round_up(from, PAGE), ref.address + last,
                  write ? WRITTEN : READ);
}

void page_guard_forget(const char *address, size_t bytes)
{
    remove_protections_in(address, address + bytes);
}

/* ---- a touch ---- */

/* By enum reason: the kind of report, and what the earlier call did. */
static const struct {
    const char *kind, *done;
} touches[] = {
    [NOT_ALLOCATED] = {"host access before allocation", "allocated"},
    [WRITTEN] = {"host access not ordered after a write", "written"},
    [READ] = {"host write not ordered after a read", "read"},
    [FREED] = {"host access after free", "freed"},
};

static void describe_touch(const struct protection *p)
{
    struct phrase stream = report_stream(&p->origin);
    uint32_t id = p->allocation.id;
    const char *call = p->origin.call;
    switch (p->reason) {
    case NOT_ALLOCATED:
        report_text(
            "The host touches allocation %u, and has not waited for %s (%s), which allocates it.",
            id, call, stream.text);
        break;
    case WRITTEN:
        report_text("The host touches allocation %u while %s (%s) may still be writing it.", id,
                    call, stream.text);
        break;
    case READ:
        report_text("The host writes to allocation %u while %s (%s) may still be reading it.", id,
                    call, stream.text);
        break;
    case FREED:
        report_text("The host touches allocation %u, which %s (%s) has freed.", id, call,
                    stream.text);
        break;
    }
}

static void hazard_touch(const struct protection *p, const void *address, void *site)
{
    struct origin origin = {
        .call = "a load or store", .site = site, .stream = -2, .slot = HOST_SLOT};
    if (!report_begin(touches[p->reason].kind, &p->origin, &origin))
        return;
    describe_touch(p);
    report_allocation(p->allocation.id, p->allocation.bytes, &p->allocated_by);
    if (p->reason != NOT_ALLOCATED)
        report_origin(touches[p->reason].done, &p->origin);
    report_origin("touched", &origin);
    if (p->reason == FREED)
        report_advice("free the allocation when the host no longer needs it.");
    else
        report_missing_edge(&p->origin, &origin, NULL);
    report_note("it was byte %zu of the allocation. Of several such touches the first is reported.",
                (size_t)((const char *)address - p->allocation.address));
    report_end(p->allocation.id);
}

/* Returns the strictest protection of the page, or NULL. */
static struct protection *find_protection(const char *page)
{
    struct protection *found = NULL;
    for (size_t i = 0; i < guard.count; i++) {
        struct protection *p = &guard.ranges[i];
        if (page >= p->from && page < p->to && !p->paused
            && (!found || (p->reason != READ && found->reason == READ)))
            found = p;
    }
    return found;
}

bool page_guard_touched(const void *address, void *site)
{
    struct host_view view;
    bool is_host_visible = find_host_view(address, &view);
    const char *page = (const char *)address - (uintptr_t)address % PAGE;
    if (is_host_visible && !page_guard_memory->is_mapped(&view, page, PAGE))
        return false;
    struct protection *found = find_protection(page);
    if (!found) {
        /* In shared memory, another thread was faster. */
        if (is_host_visible)
            release_pages(page, page + PAGE);
        return is_host_visible;
    }
    struct protection p = *found;
    if (waits_for_host(&p)) {
        found->paused = page_guard_paused = true;
    } else {
        if (site)
            hazard_touch(&p, address, site);
        remove_protection((size_t)(found - guard.ranges));
    }
    release_pages(p.from, p.to);
    return true;
}

void page_guard_resume(void)
{
    page_guard_paused = false;
    for (size_t i = 0; i < guard.count; i++) {
        if (!guard.ranges[i].paused)
            continue;
        guard.ranges[i].paused = false;
        release_pages(guard.ranges[i].from, guard.ranges[i].to);
    }
}
