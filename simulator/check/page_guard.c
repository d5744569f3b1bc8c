/* Closes pages of the host's view of device memory while a touch would be incorrect. */
#include "check/page_guard.h"

#include "os/needs_lock.h"
#include "sched/happens_before.h"
#include "base/list.h"
#include "base/ordered_tree.h"
#include "check/report.h"
#include "os/os.h"
#include "sched/stream.h"

/* Each protected range may split a mapping of the process into three. After this many new ranges
 * the guard checks how many more mappings Linux allows. */
#define RANGES_PER_LOOK 4096
#define SLAB_RANGES     64

enum reason { NOT_ALLOCATED, WRITTEN, READ, FREED };

/* A range of pages that the host may not touch (READ: not write) before it has acquired `origin`,
 * or may never touch (FREED). */
struct protection {
    /* In guard.pages: the key is `to`, the value is `from`. */
    struct tree_node by_page;
    /* In guard.pending, unless FREED: the key is the slot of `origin`, the value is its epoch. */
    struct tree_node by_origin;
    const char *from, *to;
    enum reason reason;
    /* The range is paused: the host may touch it until its next call. */
    bool paused;
    struct origin origin, allocated_by;
    struct shadow_ref allocation;
    /* Neighbors in the list of paused ranges. Released and recycled ones use only `next`. */
    struct protection *next, *previous;
};

/* Needs the lock. Invariant: a page allows what the strictest of its ranges allows, not counting
 * paused ranges and ranges that came while `full`, which are not kept. A touch allocates no memory:
 * removed ranges are recycled. */
static struct {
    /* All ranges, by page; and those that the host may still acquire, by slot and epoch. */
    struct ordered_tree pages, pending;
    struct protection *paused, *recycled;
    /* The number of ranges ever added, which is the age of the next. */
    uint64_t insertions;
    /* The number of requests for a new range, and of removals since `full` was set. */
    uint64_t requests, removals;
    /* Linux allows only few more mappings, which are left to the program. */
    bool full, reported_full;
    /* Whether release_acquired is registered as a listener. */
    bool listening;
} guard;

bool page_guard_paused;
const struct host_memory *page_guard_memory;

/* ---- the ranges ---- */

static struct protection *of_page_node(struct tree_node *n)
{
    return n ? (struct protection *)((char *)n - offsetof(struct protection, by_page)) : NULL;
}

static struct protection *of_origin_node(struct tree_node *n)
{
    return n ? (struct protection *)((char *)n - offsetof(struct protection, by_origin)) : NULL;
}

/* The ranges that share a page with [from, to), in order of their ends. */
static struct protection *first_overlapping(const char *from, const char *to)
{
    return of_page_node(tree_first(&guard.pages, (uintptr_t)from + 1, (uintptr_t)to - 1));
}

static struct protection *next_overlapping(const struct protection *p, const char *to)
{
    return of_page_node(tree_next(&p->by_page, (uintptr_t)to - 1));
}

static void recycle(struct protection *p)
{
    p->next = guard.recycled;
    guard.recycled = p;
}

static struct protection *new_protection(void)
{
    if (!guard.recycled) {
        struct protection *slab = os_allocate(SLAB_RANGES * sizeof *slab);
        for (size_t i = SLAB_RANGES; i--;)
            recycle(&slab[i]);
    }
    struct protection *p = guard.recycled;
    guard.recycled = p->next;
    return p;
}

static void insert_by_origin(struct protection *p)
{
    if (p->reason == FREED)
        return;
    p->by_origin.key = p->origin.slot;
    p->by_origin.value = p->origin.seq;
    p->by_origin.age = p->by_page.age;
    tree_insert(&guard.pending, &p->by_origin);
}

static void add_protection(const struct protection *wanted)
{
    struct protection *p = new_protection();
    *p = *wanted;
    p->by_page.key = (uintptr_t)p->to;
    p->by_page.value = (uintptr_t)p->from;
    p->by_page.age = guard.insertions++;
    tree_insert(&guard.pages, &p->by_page);
    insert_by_origin(p);
}

static void pause_protection(struct protection *p)
{
    p->paused = page_guard_paused = true;
    LIST_PUSH(guard.paused, p);
}

static void end_pause(struct protection *p)
{
    LIST_TAKE(guard.paused, p);
    p->paused = false;
}

/* Removes the range from all lists. The caller recycles it. */
static void unlink_protection(struct protection *p)
{
    guard.removals++;
    tree_remove(&guard.pages, &p->by_page);
    if (p->reason != FREED)
        tree_remove(&guard.pending, &p->by_origin);
    if (p->paused)
        end_pause(p);
}

static void remove_protection(struct protection *p)
{
    unlink_protection(p);
    recycle(p);
}

/* ---- the pages ---- */

static bool find_host_view(const void *address, struct host_view *view)
{
    return page_guard_memory && page_guard_memory->find(address, view);
}

static void set_full(void)
{
    guard.full = true;
    guard.removals = 0;
    if (!guard.reported_full)
        diag("Linux lets a process have a limited number of mappings (vm.max_map_count), and most "
             "of them are in use. From here on some touches of the host are not reported, until "
             "the host has waited for work that is pending.");
    guard.reported_full = true;
}

/* Returns whether another range may be protected. */
static bool has_room(void)
{
    bool looks = ++guard.requests % RANGES_PER_LOOK == 0;
    if (looks || guard.removals > RANGES_PER_LOOK)
        guard.full = false;
    if (looks && !os_has_mappings_left())
        set_full();
    return !guard.full;
}

/* A program may have registered a file's pages that it cannot write, or unmapped them since. */
static void open_pages(const char *from, const char *to)
{
    if (!os_protect((char *)(uintptr_t)from, (size_t)(to - from), OS_PROT_READ_WRITE)
        && !os_protect((char *)(uintptr_t)from, (size_t)(to - from), OS_PROT_READ)
        && os_has_memory(from, (size_t)(to - from)))
        os_fatal("this process has as many mappings as Linux allows (vm.max_map_count): memory "
                 "that the host may touch again cannot be opened.");
}

/* Opens [from, to). Segments that a pool has released stay closed. */
static void unprotect_pages(const char *from, const char *to)
{
    struct host_view view;
    if (!find_host_view(from, &view)) {
        open_pages(from, to);
        return;
    }
    for (const char *at = from, *end; at < to; at = end) {
        end = view.base + round_up((size_t)(at - view.base) + 1, view.segment_size);
        if (end > to)
            end = to;
        if (page_guard_memory->is_mapped(&view, at, (size_t)(end - at)))
            open_pages(at, end);
    }
}

/* Applies the protection of the ranges to [from, to), that of the strictest last. */
static void protect_overlapping(const char *from, const char *to)
{
    for (int strict = 0; strict < 2; strict++) {
        /* The protection that the last range has set, because many ranges have the same. */
        const char *done_from = to, *done_to = to;
        struct protection *p = first_overlapping(from, to);
        for (; p; p = next_overlapping(p, to)) {
            const char *first = p->from > from ? p->from : from, *last = p->to < to ? p->to : to;
            if (p->paused || (p->reason != READ) != strict
                || (first >= done_from && last <= done_to))
                continue;
            if (!os_protect((char *)(uintptr_t)first, (size_t)(last - first),
                            strict ? OS_PROT_NONE : OS_PROT_READ))
                set_full();
            done_from = first;
            done_to = last;
        }
    }
}

/* Opens [from, to), except for pages that other ranges still protect. */
static void release_pages(const char *from, const char *to)
{
    unprotect_pages(from, to);
    protect_overlapping(from, to);
}

/* ---- acquired protections ---- */

/* Returns whether the host itself did the operation, or has acquired it. */
static bool is_acquired(const struct origin *origin)
{
    return origin->slot == HOST_SLOT || host_code_has_acquired(origin->slot, origin->seq);
}

/* Removes one range of this slot that the host has acquired, or returns NULL. */
static struct protection *take_acquired(uint64_t slot)
{
    struct protection *p = of_origin_node(
        tree_first(&guard.pending, slot, vc_epoch(host_code_clock(), (uint32_t)slot)));
    if (!p || p->by_origin.key != slot)
        return NULL;
    unlink_protection(p);
    return p;
}

/* Opens all ranges that the host has acquired at once. One by one, each of a thousand ranges on the
 * same pages would protect them again for the others. */
static void release_acquired(void)
{
    struct protection *released = NULL, *p;
    const struct tree_node *n = tree_first(&guard.pending, 0, UINT64_MAX);
    while (n) {
        uint64_t slot = n->key;
        while ((p = take_acquired(slot))) {
            p->next = released;
            released = p;
        }
        n = tree_first(&guard.pending, slot + 1, UINT64_MAX);
    }
    for (; released; released = p) {
        p = released->next;
        release_pages(released->from, released->to);
        recycle(released);
    }
}

/* Returns whether the operation that protects the pages must wait for the host. */
static bool waits_for_host(const struct protection *p)
{
    if (p->reason == NOT_ALLOCATED || p->origin.slot == HOST_SLOT)
        return false;
    struct stream *s = stream_of_slot(p->origin.slot);
    return s && stream_waits_for_host(s, p->origin.seq);
}

/* ---- protecting ---- */

/* Returns a range that protects the same pages for earlier work of the same stream, or NULL. */
static struct protection *find_same_protection(const struct protection *wanted)
{
    uint64_t from = (uintptr_t)wanted->from, to = (uintptr_t)wanted->to;
    for (struct tree_node *n = tree_first(&guard.pages, to, from); n && n->key == to;
         n = tree_next(n, from)) {
        struct protection *p = of_page_node(n);
        if (p->from == wanted->from && p->reason == wanted->reason
            && p->origin.slot == wanted->origin.slot && !p->paused)
            return p;
    }
    return NULL;
}

/* Updates a range to later work of its stream. Waiting for that covers the earlier work, so one
 * range is enough for both. */
static void renew_protection(struct protection *p, const struct protection *wanted)
{
    if (p->reason != FREED)
        tree_remove(&guard.pending, &p->by_origin);
    p->origin = wanted->origin;
    p->allocated_by = wanted->allocated_by;
    p->allocation = wanted->allocation;
    insert_by_origin(p);
}

/* Protects the pages of [first, last) because of `origin`, unless the host has acquired it. */
static void protect_pages(struct shadow_ref ref, struct origin origin, const char *first,
                          const char *last, enum reason reason)
{
    if (first >= last || (reason != FREED && is_acquired(&origin)))
        return;
    if (!guard.listening)
        host_on_acquire(release_acquired);
    guard.listening = true;
    struct protection wanted = {.from = first,
                                .to = last,
                                .reason = reason,
                                .origin = origin,
                                .allocated_by = ref.shadow->allocated_by,
                                .allocation = ref};
    struct protection *same = waits_for_host(&wanted) ? NULL : find_same_protection(&wanted);
    if (same) {
        renew_protection(same, &wanted);
        return;
    }
    if (!has_room())
        return;
    os_expect_faults();
    add_protection(&wanted);
    if (reason == READ)
        protect_overlapping(first, last);
    else if (!os_protect((char *)(uintptr_t)first, (size_t)(last - first), OS_PROT_NONE))
        set_full();
}

/* Closes the whole pages in bytes [from, to) of an allocation. Its first and last page may be
 * shared with neighbors in a pool, but not in pinned memory and with cudaMallocManaged. */
static void protect_whole_pages(struct shadow_ref ref, struct origin origin, size_t from, size_t to,
                                enum reason reason)
{
    struct host_view view;
    bool own_pages = to == ref.bytes && (!find_host_view(ref.address, &view) || view.own_pages);
    uintptr_t first = page_up((uintptr_t)ref.address + from), end = (uintptr_t)ref.address + to;
    protect_pages(ref, origin, (const char *)first,
                  (const char *)(own_pages ? page_up(end) : page_down(end)), reason);
}

/* Removes the protections that touch [from, to), but leaves the pages as they are. */
static void remove_protections_in(const char *from, const char *to)
{
    for (struct protection *p = first_overlapping(from, to), *next; p; p = next) {
        next = next_overlapping(p, to);
        remove_protection(p);
    }
}

/* Adds the part [from, to) of `p`, unless it is empty. Its pages are already protected. */
static void add_part(struct protection p, const char *from, const char *to)
{
    if (from >= to)
        return;
    p.from = from;
    p.to = to;
    add_protection(&p);
}

/* Limits the protection of freed memory to what is outside [from, to). */
static void cut_freed(const char *from, const char *to)
{
    for (struct protection *p = first_overlapping(from, to), *next; p; p = next) {
        next = next_overlapping(p, to);
        if (p->reason != FREED)
            continue;
        struct protection cut = *p;
        remove_protection(p);
        add_part(cut, cut.from, from);
        add_part(cut, to, cut.to);
    }
}

/* ---- called by the checker ---- */

void page_guard_allocated(struct shadow_ref ref)
{
    struct host_view view;
    if (!find_host_view(ref.address, &view))
        return;
    const char *from = ref.address - ((uintptr_t)ref.address & (PAGE - 1));
    const char *to = (const char *)page_up((uintptr_t)ref.address + ref.bytes);
    cut_freed(from, to);
    release_pages(from, to);
    protect_whole_pages(ref, ref.shadow->allocated_by, 0, ref.bytes, NOT_ALLOCATED);
}

void page_guard_used(struct shadow_ref ref, struct origin origin, size_t from, size_t to,
                     bool write)
{
    struct host_view view;
    if (find_host_view(ref.address, &view))
        page_guard_copied(ref, origin, from, to < ref.bytes ? to : ref.bytes, write);
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
    protect_whole_pages(ref, origin, from, to, write ? WRITTEN : READ);
}

void page_guard_open(const char *address, size_t bytes)
{
    NEEDS_LOCK();
    const char *to = address + bytes;
    for (const struct protection *p = first_overlapping(address, to); p;
         p = next_overlapping(p, to))
        open_pages(p->from, p->to);
}

void page_guard_close(const char *address, size_t bytes)
{
    NEEDS_LOCK();
    protect_overlapping((const char *)page_down((uintptr_t)address),
                        (const char *)page_up((uintptr_t)address + bytes));
}

void page_guard_forget(const char *address, size_t bytes)
{
    NEEDS_LOCK();
    remove_protections_in(address, address + bytes);
}

/* ---- a touch ---- */

/* For each reason: the kind of report, what the earlier call did, and the sentence. */
static const struct {
    enum hazard kind;
    const char *done, *touches, *which, *end;
} touches[] = {
    [NOT_ALLOCATED] = {HAZARD_HOST_ACCESS_BEFORE_ALLOCATION, "allocated", "touches",
                       ", and has not waited for", ", which allocates it"},
    [WRITTEN] = {HAZARD_HOST_ACCESS_NOT_ORDERED_AFTER_A_WRITE, "written", "touches", " while",
                 " may still be writing it"},
    [READ] = {HAZARD_HOST_WRITE_NOT_ORDERED_AFTER_A_READ, "read", "writes to", " while",
              " may still be reading it"},
    [FREED] = {HAZARD_HOST_ACCESS_AFTER_FREE, "freed", "touches", ", which", " has freed"},
};

static void describe_touch(const struct protection *p)
{
    report_text("The host %s allocation %u%s %s (%s)%s.", touches[p->reason].touches,
                p->allocation.id, touches[p->reason].which, p->origin.call,
                report_stream(&p->origin).text, touches[p->reason].end);
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
        report_missing_edge(p->allocation, &p->origin, &origin, NULL);
    report_note("it was byte %zu of the allocation. Only the first such access is reported.",
                (size_t)((const char *)address - p->allocation.address));
    report_end(p->allocation.id);
}

/* Returns the strictest protection of the page, the oldest of several, or NULL. */
static struct protection *find_protection(const char *page)
{
    struct protection *found = NULL, *p = first_overlapping(page, page + PAGE);
    for (; p; p = next_overlapping(p, page + PAGE)) {
        if (p->paused)
            continue;
        bool is_stricter = found && found->reason == READ && p->reason != READ,
             is_looser = found && found->reason != READ && p->reason == READ;
        if (!found || is_stricter || (!is_looser && p->by_page.age < found->by_page.age))
            found = p;
    }
    return found;
}

bool page_guard_touched(const void *address, void *site)
{
    NEEDS_LOCK();
    struct host_view view;
    bool is_host_visible = find_host_view(address, &view);
    const char *page = (const char *)address - ((uintptr_t)address & (PAGE - 1));
    if (is_host_visible && !page_guard_memory->is_mapped(&view, page, PAGE))
        return false;
    struct protection *found = find_protection(page);
    if (!found) {
        /* In shared memory, another thread has already opened the page. */
        if (is_host_visible)
            release_pages(page, page + PAGE);
        return is_host_visible;
    }
    struct protection p = *found;
    if (waits_for_host(&p)) {
        pause_protection(found);
    } else {
        /* Another process may have acquired it and passed that on. */
        if (site && (p.reason == FREED || !is_acquired(&p.origin)))
            hazard_touch(&p, address, site);
        remove_protection(found);
    }
    release_pages(p.from, p.to);
    return true;
}

void page_guard_resume(void)
{
    NEEDS_LOCK();
    page_guard_paused = false;
    while (guard.paused) {
        struct protection *p = guard.paused;
        end_pause(p);
        release_pages(p->from, p->to);
    }
}
