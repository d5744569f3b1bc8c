/* The host's view of memory that the device sees too, closed page by page while a touch would be
 * wrong.
 *
 * Law: a page is as open as the strictest of the closed ranges that it lies in allows, but for the
 * paused ones. */
#include "check/page_guard.h"

#include "os/os.h"
#include "check/report.h"
#include "sched/happens_before.h"

#define PROTECTIONS_MAX \
    1024 /* chosen: so many closed ranges at a time; each may split a mapping of the process, which has 65530 */

enum reason { NOT_ALLOCATED, WRITTEN, READ, FREED };
struct protection {
    const char *from, *to;
    enum reason reason;
    bool paused; /* the host may touch it up to its next call */
    struct origin origin, allocated_by;
    struct shadow_ref allocation;
};

static struct protection protection[PROTECTIONS_MAX];
static size_t protection_count;
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

/* Steps of a pool that have gone back stay as they are. */
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

/* Closes what is to be closed of [from, to). */
static void protect_overlapping(const char *from, const char *to)
{
    for (int strict = 0; strict < 2; strict++) /* what allows nothing comes last */
        for (size_t i = 0; i < protection_count; i++)
            if (protection[i].from < to && from < protection[i].to
                && (protection[i].reason != READ) == strict)
                apply_protection(&protection[i]);
}

/* Opens [from, to), but for what is closed for another reason too. */
static void release_pages(const char *from, const char *to)
{
    unprotect_pages(from, to);
    protect_overlapping(from, to);
}

static void remove_protection(size_t i) { protection[i] = protection[--protection_count]; }

/* The host has learned something. */
static void release_acquired(void)
{
    for (size_t i = 0; i < protection_count;) {
        struct protection p = protection[i];
        if (p.reason == FREED || !vc_includes(host_vector_clock(), p.origin.slot, p.origin.seq)) {
            i++;
            continue;
        }
        remove_protection(i);
        release_pages(p.from, p.to);
    }
}

/* May what closed the pages not begin before the host does something? */
static bool waits_for_host(const struct protection *p)
{
    struct stream *s = p->reason == NOT_ALLOCATED || p->origin.slot == HOST_SLOT
                         ? NULL
                         : stream_of_slot(p->origin.slot);
    return s && stream_waits_for_host(s, p->origin.seq);
}

/* What closes the same pages for earlier work of the same stream, or NULL. */
static struct protection *find_same_protection(const struct protection *new)
{
    for (size_t i = 0; i < protection_count; i++) {
        struct protection *p = &protection[i];
        if (p->from == new->from && p->to == new->to && p->reason == new->reason
            && p->origin.slot == new->origin.slot && !p->paused)
            return p;
    }
    return NULL;
}

/* Closes the pages of [first, last) for the deed `by`, if the host does not know it to be over. */
static void protect_pages(struct shadow_ref ref, struct origin origin, const char *first,
                          const char *last, enum reason reason)
{
    static bool registered;
    if (first >= last)
        return;
    if (reason != FREED
        && (origin.slot == HOST_SLOT || vc_includes(host_vector_clock(), origin.slot, origin.seq)))
        return;
    if (!registered)
        host_on_acquire(release_acquired);
    registered = true;
    struct protection new = {.from = first,
                             .to = last,
                             .reason = reason,
                             .origin = origin,
                             .allocated_by = ref.shadow->allocated_by,
                             .allocation = ref};
    struct protection *same = waits_for_host(&new) ? NULL : find_same_protection(&new);
    if (same) {
        /* Who has waited for the stream's later work has waited for its earlier work too. */
        *same = new;
        return;
    }
    if (protection_count == PROTECTIONS_MAX)
        return;
    os_expect_faults();
    protection[protection_count++] = new;
    protect_overlapping(first, last);
}

/* The same for the whole pages of bytes [from, to) of a block. In its first and last page a pool's
 * block may have neighbours; cudaMallocManaged's has none. */
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

/* What was closed for a block before. */
static void remove_protections_in(const char *from, const char *to)
{
    for (size_t i = 0; i < protection_count;)
        if (protection[i].from < to && from < protection[i].to)
            remove_protection(i);
        else
            i++;
}

void page_guard_allocated(struct shadow_ref ref)
{
    struct host_view view;
    if (!find_host_view(ref.address, &view))
        return;
    const char *from = ref.address - (uintptr_t)ref.address % PAGE,
               *to = (const char *)round_up((uintptr_t)ref.address + ref.bytes, PAGE);
    /* Of what was freed here, only what lies outside stays closed. */
    for (size_t i = 0; i < protection_count;) {
        struct protection p = protection[i];
        if (p.reason != FREED || p.from >= to || from >= p.to) {
            i++;
            continue;
        }
        remove_protection(i);
        if (p.from < from)
            protection[protection_count] = p, protection[protection_count++].to = from;
        if (p.to > to && protection_count < PROTECTIONS_MAX)
            protection[protection_count] = p, protection[protection_count++].from = to;
        if (p.from < from || p.to > to)
            i = 0;
    }
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

static void hazard_touch(const struct protection *p, const void *address, void *site)
{
    static const char *const kinds[] = {
        [NOT_ALLOCATED] = "host access before allocation",
        [WRITTEN] = "host access not ordered after a write",
        [READ] = "host write not ordered after a read",
        [FREED] = "host access after free",
    };
    static const char *const words[] = {
        [NOT_ALLOCATED] = "allocated", [WRITTEN] = "written", [READ] = "read", [FREED] = "freed"};
    struct origin origin = {
        .call = "a load or store", .site = site, .stream = -2, .slot = HOST_SLOT};
    if (!report_begin(kinds[p->reason], &p->origin, &origin))
        return;
    const char *who = report_stream(&p->origin);
    switch (p->reason) {
    case NOT_ALLOCATED:
        report_text(
            "The host touches allocation %u, and has not waited for %s (%s), which allocates it.",
            p->allocation.id, p->origin.call, who);
        break;
    case WRITTEN:
        report_text("The host touches allocation %u while %s (%s) may still be writing it.",
                    p->allocation.id, p->origin.call, who);
        break;
    case READ:
        report_text("The host writes to allocation %u while %s (%s) may still be reading it.",
                    p->allocation.id, p->origin.call, who);
        break;
    case FREED:
        report_text("The host touches allocation %u, which %s (%s) has freed.", p->allocation.id,
                    p->origin.call, who);
        break;
    }
    report_allocation(p->allocation.id, p->allocation.bytes, &p->allocated_by);
    if (p->reason != NOT_ALLOCATED)
        report_origin(words[p->reason], &p->origin);
    report_origin("touched", &origin);
    if (p->reason == FREED)
        report_advice("free the allocation when the host no longer needs it.");
    else
        report_missing_edge(&p->origin, &origin, NULL);
    report_note("it was byte %zu of the allocation. Of several such touches the first is reported.",
                (size_t)((const char *)address - p->allocation.address));
    report_end(p->allocation.id);
}

bool page_guard_touched(const void *address, void *site)
{
    struct host_view view;
    bool is_host_visible = find_host_view(address, &view);
    const char *page = (const char *)address - (uintptr_t)address % PAGE;
    if (is_host_visible && !page_guard_memory->is_mapped(&view, page, PAGE))
        return false;
    struct protection *found = NULL; /* the strictest */
    for (size_t i = 0; i < protection_count; i++) {
        struct protection *p = &protection[i];
        if (page >= p->from && page < p->to && !p->paused
            && (!found || (p->reason != READ && found->reason == READ)))
            found = p;
    }
    if (!found) {
        /* Another thread was faster. */
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
        remove_protection((size_t)(found - protection));
    }
    release_pages(p.from, p.to);
    return true;
}

void page_guard_resume(void)
{
    page_guard_paused = false;
    for (size_t i = 0; i < protection_count; i++) {
        if (!protection[i].paused)
            continue;
        protection[i].paused = false;
        release_pages(protection[i].from, protection[i].to);
    }
}
