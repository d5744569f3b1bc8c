/* The checker. One function for each way to be incorrect; each compares the access of the present
 * call with accesses, allocations and frees that came earlier in the program.
 *
 * Law: an access is dropped only when every operation still to come is ordered after it, or when a
 * later access that stays covers it, is behind no other closed gate or host function, and comes
 * after it or has been reported together with it. So memory grows with the live allocations and
 * with what is not yet synchronized, and with nothing else.
 *
 * One hazard is reported for each missing edge. Of one stream's accesses only the newest is named,
 * because a wait for it covers the older ones. If the missing edge to an access is also the missing
 * edge to the allocation, only the access is reported. */
#include "check/checker.h"

#include <stdio.h>

#include "base/hazards.h"
#include "base/settings.h"
#include "base/summary.h"
#include "check/access_tree.h"
#include "check/byte_set.h"
#include "check/conflict.h"
#include "check/failed_call.h"
#include "check/page_guard.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "sched/happens_before.h"
#include "check/report.h"
#include "check/written.h"

/* Assumed to be enough: if an allocation has more accesses than this, host functions are no longer
 * told apart, nor are the accesses between two holds at one gate, because a program may queue a
 * write and a host function a thousand times and never wait. */
#define KEPT_BEHIND_FUNCTIONS 64
/* Assumed to be enough: the most accesses of an allocation that are kept for launches that have not
 * run. */
#define KEPT_FOR_LAUNCHES 256
/* Assumed to be enough: the number of the newest frees that reports can name. */
#define FREED_SIZE 8192

const struct checker_ipc *checker_ipc;

struct freed {
    uint32_t id;
    const char *address;
    size_t bytes;
    struct origin allocated_by, freed_by;
};

/* Law: free number n, counted from 0, is at freed[n % FREED_SIZE] until free n + FREED_SIZE takes
 * its position, so what was freed longer ago is called memory that is not allocated. The ring takes
 * 1,088 KiB, and is searched only where a report is likely. Needs the lock. */
static struct {
    struct freed freed[FREED_SIZE];
    uint64_t freed_count;
    uint32_t newest_allocation;
    /* The result of the current call's last search in a tree. It is kept so that a search allocates
     * no memory. */
    struct access_list near;
} checker;

/* All mappings, and how many pairs of them are of the same memory. Needs the lock. */
static struct {
    struct mapping *newest;
    size_t pairs;
} mappings;

uint32_t checker_newest_allocation(void)
{
    NEEDS_LOCK();
    return checker.newest_allocation;
}

struct origin checker_origin(const struct call *call, const struct stream *s, uint64_t seq)
{
    NEEDS_LOCK();
    return checker_origin_of(call->origin, s, seq);
}

struct origin checker_origin_of(struct origin origin, const struct stream *s, uint64_t seq)
{
    NEEDS_LOCK();
    origin.seq = seq;
    if (!s) {
        origin.stream = -2;
        origin.slot = HOST_SLOT;
        origin.device = 0;
        return origin;
    }
    enum stream_kind kind = s->trunk ? s->trunk->kind : s->kind;
    if (kind == STREAM_LEGACY)
        origin.stream = 0;
    else
        origin.stream = kind == STREAM_PER_THREAD ? -1 : s->id;
    origin.slot = s->slot;
    origin.device = (int16_t)s->device;
    return origin;
}

/* Returns whether `earlier` comes before operation `seq` of `s` or, if `s` is NULL, before the
 * host's current action. */
static bool happens_before(const struct origin *earlier, const struct stream *s, uint64_t seq)
{
    /* An action of the host comes before the call that the host makes now. */
    if (earlier->slot == HOST_SLOT)
        return true;
    if (!s)
        return host_has_acquired(earlier->slot, earlier->seq);
    if (earlier->slot == s->slot)
        return earlier->seq < seq;
    return vc_includes(&s->ordering.happens_before, earlier->slot, earlier->seq)
        || (host_acquired_elsewhere && host_acquired_elsewhere(earlier->slot, earlier->seq));
}

/* Returns whether `earlier` comes before `later`. Notes if only a host function orders the two, and
 * nothing shows that the host looked at what that function did. */
static bool is_ordered(const struct origin *earlier, const struct origin *later,
                       const struct stream *s)
{
    if (!happens_before(earlier, s, later->seq))
        return false;
    if (host_is_unsure() && earlier->slot != HOST_SLOT && (!s || earlier->slot != s->slot)
        && !vc_includes(host_sure_clock(), earlier->slot, earlier->seq)
        && (!s || !vc_includes(&s->ordering.device_order, earlier->slot, earlier->seq)))
        report_unseen(earlier, later);
    return true;
}

/* Returns whether `earlier` comes before a launch that runs now, and makes the same note. */
static bool is_before_launch(const struct origin *earlier, const struct late_launch *l)
{
    if (!late_comes_after(l, earlier))
        return false;
    if (l->is_unsure && earlier->slot != HOST_SLOT && earlier->slot != l->origin.slot
        && !vc_includes(&l->sure, earlier->slot, earlier->seq))
        report_unseen(earlier, &l->origin);
    return true;
}

/* Returns whether the access is of the kernel right before the launch, and that launch does not
 * wait for it (programmatic dependent launch). */
static bool is_overlapped(const struct access *a, const struct late_launch *l)
{
    return l->overlaps && a->lets_others_begin && a->origin.slot == l->origin.slot
        && a->origin.seq + 1 == l->origin.seq;
}

/* ---- accesses ---- */

/* Leaves the accesses that touch these bytes in checker.near. */
static void find_near(struct shadow *shadow, size_t from, size_t to, bool reads)
{
    checker.near.count = 0;
    if (shadow->accesses)
        access_tree_find(shadow, from, to, reads, &checker.near);
}

/* The access is kept because a launch that has not run may be unordered with it. */
static bool is_needed(const struct shadow *shadow, const struct access *a)
{
    return late_launches && shadow->accesses->count < KEPT_FOR_LAUNCHES && late_needs(a);
}

/* Removes the accesses that the host has acquired, because they come before everything that is
 * still to come. */
static void drop_acquired(struct shadow *shadow)
{
    struct access_list *all = &checker.near;
    access_tree_find(shadow, 0, SIZE_MAX, true, all);
    for (size_t i = 0; i < all->count; i++)
        if (vc_includes(host_sure_clock(), all->items[i]->origin.slot, all->items[i]->origin.seq)
            && !is_needed(shadow, all->items[i]))
            access_tree_remove(shadow, all->items[i]);
    /* The limit doubles, so that the searches cost a constant time for each access. */
    shadow->accesses->next_drop = 2 * shadow->accesses->count;
}

/* Returns whether the new access is behind a closed gate or an unfinished host function that the
 * earlier access is not behind. If so, later work may be ordered with the new access, because the
 * host waits for it before it opens the gate, and still be unordered with the earlier one. Holds at
 * one gate end together. */
static bool is_behind_another_obstacle(const struct shadow *shadow, const struct access *later,
                                       const struct access *a, const struct stream *s)
{
    const struct op *obstacle = later->obstacle.op;
    if (!obstacle)
        return false;
    if (!host_bound_is_pending(a->obstacle) || a->obstacle.op->kind != obstacle->kind)
        return true;
    if (obstacle->kind == OP_HOLD && !stream_is_same_gate(a->obstacle.op, obstacle))
        return true;
    return shadow->accesses->count < KEPT_BEHIND_FUNCTIONS
        && stream_has_another_obstacle(s, later->origin.seq, stream_of_slot(a->origin.slot),
                                       a->origin.seq);
}

static struct byte_range range_of(const struct access *a)
{
    return (struct byte_range){a->bytes, a->from, a->to};
}

static bool covers(const struct access *later, const struct access *a)
{
    return a->from >= later->from && a->to <= later->to
        && (!later->bytes || byte_range_covers(range_of(later), range_of(a)));
}

/* Removes accesses that the new one covers: those of checker.near that a write overwrites, and
 * reads that come before it. An access that does not come before the new one stays while a conflict
 * with it is postponed; so does an access that is not behind the same closed gate or host function.
 */
static void drop_covered(struct shadow *shadow, const struct access *later, const struct stream *s,
                         bool postponed)
{
    if (!later->write)
        access_tree_find_covered_reads(shadow, later->from, later->to, &checker.near);
    for (size_t i = 0; i < checker.near.count; i++) {
        struct access *a = checker.near.items[i];
        if (!covers(later, a) || is_behind_another_obstacle(shadow, later, a, s)
            || is_needed(shadow, a))
            continue;
        bool overwritten = later->write && a->from != a->to;
        if ((overwritten && !postponed)
            || ((overwritten || !a->write) && happens_before(&a->origin, s, later->origin.seq)))
            access_tree_remove(shadow, a);
    }
}

/* ---- freed allocations ---- */

static void freed_add(struct shadow_ref ref, struct origin freed_by)
{
    checker.freed[checker.freed_count++ % FREED_SIZE] =
        (struct freed){ref.id, ref.address, ref.bytes, ref.shadow->allocated_by, freed_by};
}

/* Returns the allocation with an id up to `newest` that was freed last at this address, or NULL if
 * none is remembered. */
static const struct freed *freed_find(const char *address, uint32_t newest)
{
    uint64_t count = checker.freed_count;
    for (uint64_t n = count; n && n + FREED_SIZE > count; n--) {
        const struct freed *f = &checker.freed[(n - 1) % FREED_SIZE];
        if (f->id <= newest && address >= f->address && address < f->address + f->bytes)
            return f;
    }
    return NULL;
}

bool checker_was_freed(const void *address)
{
    NEEDS_LOCK();
    return freed_find(address, UINT32_MAX);
}

bool checker_freed_text(const void *address, char *text, size_t size)
{
    NEEDS_LOCK();
    const struct freed *f = freed_find(address, UINT32_MAX);
    if (!f)
        return false;
    struct os_source_loc place = {.site = f->freed_by.site, .call = f->freed_by.call},
                         *places[] = {&place};
    os_source_lines(places, 1);
    snprintf(text, size, "allocation %u, which %s at %s has freed", f->id, f->freed_by.call,
             place.text);
    return true;
}

/* ---- allocation ---- */

void checker_allocated(const struct call *call, struct shadow_ref ref, enum allocation_kind kind,
                       struct stream *s, uint64_t seq)
{
    NEEDS_LOCK();
    ref.shadow->allocated_by = checker_origin(call, s, seq);
    ref.shadow->kind = kind;
    if (ref.id > checker.newest_allocation)
        checker.newest_allocation = ref.id;
    if (settings.check && page_guard_memory)
        page_guard_allocated(ref);
}

/* ---- use and free ---- */

/* Adds a note if the address belonged to an earlier allocation, for which the call may be meant.
 * The new allocation may itself be freed by now. */
static void note_stale_pointer(struct shadow_ref ref, size_t offset)
{
    const struct freed *old = ref.id ? freed_find(ref.address + offset, ref.id - 1) : NULL;
    if (old)
        report_note(
            "allocation %u had this address before, until it was freed. If the call is meant "
            "for that one, its pointer is stale.",
            old->id);
}

/* Reports a copy that reads bytes that it also writes. */
static void hazard_overlap(struct shadow_ref ref, const struct origin *origin)
{
    if (!report_begin(HAZARD_OVERLAPPING_COPY, origin, origin))
        return;
    report_text(
        "%s (%s) reads and writes the same bytes of allocation %u. The memory areas of a copy "
        "may not overlap.",
        origin->call, report_stream(origin).text, ref.id);
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_origin("copied", origin);
    report_advice(
        "copy through a second allocation, or in pieces no longer than the distance between "
        "the two places.");
    report_end(ref.id);
}

/* Says where in a kernel of nvcc an access is. */
static void note_inside(const char *inside)
{
    if (inside)
        report_text("\n             %s", inside);
}

static enum hazard unordered_kind(const struct access *earlier, const struct access *later)
{
    if (!later->write)
        return HAZARD_READ_NOT_ORDERED_AFTER_A_WRITE;
    return earlier->write ? HAZARD_UNORDERED_WRITES : HAZARD_WRITE_NOT_ORDERED_AFTER_A_READ;
}

/* Judges a postponed conflict, which the host may have ordered meanwhile. */
static void note_held(const struct conflict *c)
{
    const struct origin *held = &c->later.origin, *other = &c->earlier.origin;
    if (c->held == CONFLICT_NOT_HELD)
        return;
    if (c->held == CONFLICT_EARLIER_HELD) {
        held = &c->earlier.origin;
        other = &c->later.origin;
    }
    report_note(
        "%s (%s) came after a closed gate, a wait for a value, or a host function. It would "
        "also be ordered if the host waited for %s (%s) before it opens the gate, writes "
        "the value, or lets the function go on.",
        held->call, report_stream(held).text, other->call, report_stream(other).text);
}

/* Reports that nothing orders an access after the earlier one. */
static void hazard_unordered(const struct conflict *c)
{
    const struct shadow_ref ref = c->ref;
    const struct access *earlier = &c->earlier, *later = &c->later;
    const struct origin *first = &earlier->origin, *origin = &later->origin;
    if (first->slot == origin->slot && first->seq == origin->seq) {
        hazard_overlap(ref, origin);
        return;
    }
    if (!report_begin(unordered_kind(earlier, later), first, origin))
        return;
    report_text(
        "%s (%s) and %s (%s) touch the same bytes of allocation %u, and nothing orders them.",
        origin->call, report_stream(origin).text, first->call, report_stream(first).text, ref.id);
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_origin(earlier->write ? "written" : "read", first);
    note_inside(earlier->inside);
    report_origin(later->write ? "written" : "read", origin);
    note_inside(later->inside);
    report_missing_edge(ref, first, origin, later->at_call ? NULL : c->s);
    if (!happens_before(&ref.shadow->allocated_by, c->s, origin->seq))
        note_stale_pointer(ref, later->from);
    note_held(c);
    if (earlier->is_mapped_elsewhere || later->is_mapped_elsewhere)
        report_note("cuMemMap has mapped the same memory at two addresses, and each of the two "
                    "uses another one.");
    report_end(ref.id);
}

/* Reports that nothing orders the free after the earlier access. */
static void hazard_early_free(const struct conflict *c)
{
    const struct shadow_ref ref = c->ref;
    const struct origin *first = &c->earlier.origin, *origin = &c->later.origin;
    if (!report_begin(HAZARD_FREE_BEFORE_THE_USE_ENDS, first, origin))
        return;
    report_text("%s (%s) frees allocation %u while %s (%s) may still be using it.", origin->call,
                report_stream(origin).text, ref.id, first->call, report_stream(first).text);
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_origin(c->earlier.write ? "written" : "read", first);
    note_inside(c->earlier.inside);
    report_origin("freed", origin);
    report_missing_edge(ref, first, origin, c->s);
    /* Measured: probe-virtual.txt, "unmapping_waits_for_its_use". */
    if (ref.shadow->kind == ALLOCATION_MAPPED)
        report_note("cuMemUnmap waits for no work, which fails then, and the device with it.");
    else if (!c->s && ref.shadow->kind != ALLOCATION_IN_STREAM)
        report_note("a call that frees waits for the GPU that the memory belongs to, and for no "
                    "other GPU that uses it.");
    else if (!c->s)
        report_note(
            "for an allocation of a pool, cudaFree waits for nothing. cudaFreeAsync frees it in "
            "the order of a stream.");
    note_held(c);
    report_end(ref.id);
}

/* Reports that nothing orders the use or the free after the allocation. */
static void hazard_before_allocation(const struct conflict *c)
{
    const struct shadow_ref ref = c->ref;
    const struct origin *allocated_by = &c->earlier.origin, *origin = &c->later.origin;
    bool free = c->kind == CONFLICT_ALLOCATION_FREE;
    if (!report_begin(free ? HAZARD_FREE_BEFORE_ALLOCATION : HAZARD_USE_BEFORE_ALLOCATION,
                      allocated_by, origin))
        return;
    report_text(
        "%s (%s) %s allocation %u, and nothing orders it after the call that allocates it (%s).",
        origin->call, report_stream(origin).text, free ? "frees" : "uses", ref.id,
        report_stream(allocated_by).text);
    report_allocation(ref.id, ref.bytes, allocated_by);
    report_origin(free ? "freed" : "used", origin);
    note_inside(c->later.inside);
    report_missing_edge(ref, allocated_by, origin, c->later.at_call ? NULL : c->s);
    note_stale_pointer(ref, c->later.from);
    note_held(c);
    report_end(ref.id);
}

/* Reports that a graph's node allocates before another launch's allocation, which has the same
 * address, is freed. */
static void hazard_second_allocation(const struct conflict *c)
{
    const struct origin *freed_by = &c->earlier.origin, *origin = &c->later.origin;
    if (!report_begin(HAZARD_ALLOCATION_BEFORE_THE_FREE, freed_by, origin))
        return;
    report_text(
        "%s (%s) makes allocation %u, and nothing orders it after the free of the allocation "
        "that has the same address.",
        origin->call, report_stream(origin).text, c->ref.id);
    report_allocation(c->ref.id, c->ref.bytes, origin);
    report_origin("freed", freed_by);
    report_missing_edge(c->ref, freed_by, origin, c->s);
    report_note("what a node allocates has the same address in each launch. A launch waits for "
                "earlier launches of its graph. For a free outside it a driver may make it wait, "
                "and nothing promises that.");
    note_held(c);
    report_end(c->ref.id);
}

static void report_conflict(const struct conflict *c)
{
    switch (c->kind) {
    case CONFLICT_SECOND_ALLOCATION: hazard_second_allocation(c); break;
    case CONFLICT_ACCESSES: hazard_unordered(c); break;
    case CONFLICT_FREE: hazard_early_free(c); break;
    case CONFLICT_ALLOCATION:
    case CONFLICT_ALLOCATION_FREE: hazard_before_allocation(c); break;
    }
}

void checker_judge_postponed(void)
{
    NEEDS_LOCK();
    conflict_judge_postponed(report_conflict);
}

void checker_waited(const struct op *wait, const struct vector_clock *before)
{
    NEEDS_LOCK();
    stream_learn(wait, before);
    late_learn(wait, before);
    conflict_learn(wait, before);
}

static void postpone(const struct conflict *c)
{
    host_on_acquire(checker_judge_postponed);
    conflict_postpone(c);
}

void checker_allocated_again(const struct call *call, struct shadow_ref ref, const struct stream *s,
                             uint64_t seq, const struct origin *freed_by)
{
    NEEDS_LOCK();
    struct conflict c = {.kind = CONFLICT_SECOND_ALLOCATION,
                         .ref = ref,
                         .earlier.origin = *freed_by,
                         .later = {.origin = checker_origin(call, s, seq),
                                   .obstacle = stream_find_host_bound(s, seq, UINT64_MAX)},
                         .s = s};
    if (!settings.check || happens_before(freed_by, s, seq))
        return;
    c.held = conflict_held(&c);
    if (c.held)
        postpone(&c);
    else
        report_conflict(&c);
}

/* ---- comparing ---- */

/* Returns whether the two accesses share a byte that one of them writes. */
static bool is_conflict(const struct access *a, const struct access *b)
{
    bool overlap = a->from < b->to && b->from < a->to && a->from != a->to && b->from != b->to;
    if (!overlap || (!a->write && !b->write) || (a->is_atomic && b->is_atomic))
        return false;
    return (!a->bytes && !b->bytes) || byte_ranges_meet(range_of(a), range_of(b));
}

/* What happened to the conflicts of one operation. Both may be true. */
enum { FOUND_NOTHING = 0, FOUND_HELD = 1, FOUND_HAZARD = 2 };

/* Compares the later operation of `c` with the accesses in checker.near. Of those that conflict and
 * do not come before it, it reports the newest of each stream, or (`keep`) postpones those that
 * are held. */
static unsigned check_near(struct conflict *c, bool keep)
{
    unsigned found = FOUND_NOTHING;
    uint32_t reported_slot = HOST_SLOT;
    const struct access *later = &c->later;
    for (size_t i = 0; i < checker.near.count; i++) {
        const struct access *a = checker.near.items[i];
        if (c->kind == CONFLICT_ACCESSES && !is_conflict(a, later))
            continue;
        if (is_ordered(&a->origin, &later->origin, c->s))
            continue;
        c->earlier = *a;
        c->held = conflict_held(c);
        /* The earlier operation was over before the host could let the later one begin. */
        if (c->held == CONFLICT_EARLIER_HELD && later->at_call)
            continue;
        found |= c->held ? FOUND_HELD : FOUND_HAZARD;
        if (c->held && keep)
            postpone(c);
        if (c->held || keep)
            continue;
        if (a->origin.slot != reported_slot)
            report_conflict(c);
        reported_slot = a->origin.slot;
    }
    return found;
}

/* Reports the conflicts of a use or a free with the accesses in checker.near and, if there is none
 * with these, with the allocation. Returns whether some are postponed. */
static bool check_order(struct shadow_ref ref, const struct access *later, const struct stream *s,
                        bool free)
{
    struct conflict c = {
        .kind = free ? CONFLICT_FREE : CONFLICT_ACCESSES, .ref = ref, .later = *later, .s = s};
    unsigned found = checker.near.count ? check_near(&c, false) : FOUND_NOTHING;
    bool early =
        !(found & FOUND_HAZARD) && !is_ordered(&ref.shadow->allocated_by, &later->origin, s);
    if (!early && !(found & FOUND_HELD))
        return false;
    struct conflict of_allocation = c;
    of_allocation.kind = free ? CONFLICT_ALLOCATION_FREE : CONFLICT_ALLOCATION;
    of_allocation.earlier = (struct access){.origin = ref.shadow->allocated_by};
    of_allocation.held = conflict_held(&of_allocation);
    if (early && !of_allocation.held) {
        report_conflict(&of_allocation);
        return false;
    }
    check_near(&c, true);
    if (early)
        postpone(&of_allocation);
    return true;
}

static void describe_late_use(const struct freed *old, const struct origin *origin, bool write,
                              const char *inside)
{
    report_text("%s (%s) %s allocation %u, which %s (%s) has freed.", origin->call,
                report_stream(origin).text, write ? "writes" : "reads", old->id, old->freed_by.call,
                report_stream(&old->freed_by).text);
    report_allocation(old->id, old->bytes, &old->allocated_by);
    report_origin("freed", &old->freed_by);
    report_origin("used", origin);
    note_inside(inside);
    report_late_use(&old->freed_by, origin);
}

/* Reports a graph's node that was made for an allocation which is freed by now, and whose address
 * another allocation has: a graph keeps the pointers with which it was made. Memory that a graph
 * allocates always has the same address. Returns whether the node is reported. */
static bool check_stale_node(struct shadow_ref ref, const struct origin *origin, size_t from,
                             bool write)
{
    if (ref.id <= origin->newest_allocation || ref.shadow->allocated_by.launch)
        return false;
    const struct freed *old = freed_find(ref.address + from, origin->newest_allocation);
    if (!old || !report_begin(HAZARD_USE_AFTER_FREE, &old->freed_by, origin))
        return old != NULL;
    describe_late_use(old, origin, write, NULL);
    report_note(
        "the node keeps the pointer it was made with. That address belongs to allocation %u now.",
        ref.id);
    report_end(old->id);
    return true;
}

/* Reports an access that is wholly or partly after the end of the allocation. */
static void hazard_outside(struct shadow_ref ref, const struct access *later)
{
    const struct origin *origin = &later->origin, *allocated_by = &ref.shadow->allocated_by;
    if (!report_begin(HAZARD_ACCESS_OUTSIDE_THE_ALLOCATION, allocated_by, origin))
        return;
    report_text("%s (%s) touches %s of allocation %u, which has %zu.", origin->call,
                report_stream(origin).text, report_bytes(later->from, later->to).text, ref.id,
                ref.bytes);
    report_allocation(ref.id, ref.bytes, allocated_by);
    report_origin("used", origin);
    note_inside(later->inside);
    report_advice("allocate as many bytes as are used, or use fewer. A real device "
                  "often reports nothing: the bytes after an allocation belong to another, or to "
                  "none.");
    note_stale_pointer(ref, later->from);
    report_end(ref.id);
}

/* Reports what is incorrect about the new access, an operation of `s`. Leaves the accesses with
 * which it can conflict in checker.near. Returns whether a conflict with one of them is postponed.
 */
static bool check_access(struct shadow_ref ref, const struct access *later, const struct stream *s)
{
    find_near(ref.shadow, later->from, later->to, later->write);
    if (later->origin.launch && check_stale_node(ref, &later->origin, later->from, later->write))
        return false;
    if (later->to > ref.bytes)
        hazard_outside(ref, later);
    return check_order(ref, later, s, false);
}

/* An access that is unordered with a launch that has not run is compared with the launch when it
 * runs. */
static void keep_for_launches(enum conflict_kind kind, struct shadow_ref ref,
                              const struct access *later, const struct stream *s)
{
    for (struct late_launch *l = late_launches; l; l = l->next)
        if (!happens_before(&l->origin, s, later->origin.seq))
            late_keep(l, &(struct conflict){.kind = kind, .ref = ref, .later = *later, .s = s});
}

void checker_mapped(struct mapping *m)
{
    NEEDS_LOCK();
    for (const struct mapping *other = mappings.newest; other; other = other->next)
        mappings.pairs += other->memory == m->memory;
    m->next = mappings.newest;
    mappings.newest = m;
}

void checker_unmapped(const struct mapping *m)
{
    NEEDS_LOCK();
    struct mapping **at = &mappings.newest;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    for (const struct mapping *other = mappings.newest; other; other = other->next)
        mappings.pairs -= other->memory == m->memory;
}

/* Returns the memory of a mapping, or 0 if no memory has two mappings. */
static uint64_t memory_of(const struct shadow *mapped)
{
    const struct mapping *m =
        mappings.pairs && mapped->kind == ALLOCATION_MAPPED ? mappings.newest : NULL;
    while (m && m->ref.shadow != mapped)
        m = m->next;
    return m ? m->memory : 0;
}

/* Returns the next other mapping of the memory after `m` (NULL: the first), or NULL, and leaves in
 * checker.near what other operations do to the bytes of the access there. */
static const struct mapping *find_elsewhere(const struct mapping *m, uint64_t memory,
                                            const struct shadow *mapped, const struct access *later)
{
    size_t kept = 0;
    do
        m = m ? m->next : mappings.newest;
    while (m && (m->memory != memory || m->ref.shadow == mapped));
    checker.near.count = 0;
    if (m)
        find_near(m->ref.shadow, later->from, later->to, later->write);
    for (size_t i = 0; i < checker.near.count; i++) {
        struct access *a = checker.near.items[i];
        if (a->origin.slot != later->origin.slot || a->origin.seq != later->origin.seq)
            checker.near.items[kept++] = a;
    }
    checker.near.count = kept;
    return m;
}

static void check_elsewhere(const struct shadow *mapped, struct access later,
                            const struct stream *s)
{
    const uint64_t memory = memory_of(mapped);
    const struct mapping *m = NULL;
    later.is_mapped_elsewhere = true;
    while (memory && (m = find_elsewhere(m, memory, mapped, &later))) {
        check_order(m->ref, &later, s, false);
        keep_for_launches(CONFLICT_ACCESSES, m->ref, &later, s);
    }
}

void checker_used(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq,
                  size_t from, size_t to, bool write)
{
    NEEDS_LOCK();
    if (!settings.check)
        return;
    struct shadow *shadow = ref.shadow;
    struct access later = {.origin = checker_origin(call, s, seq),
                           .from = from,
                           .to = to,
                           .write = write,
                           .number = late_next_number(),
                           .obstacle = stream_find_host_bound(s, seq, UINT64_MAX)};
    check_elsewhere(shadow, later, s);
    bool postponed = check_access(ref, &later, s);
    if (late_launches)
        keep_for_launches(CONFLICT_ACCESSES, ref, &later, s);
    if (checker.near.count || (shadow->accesses && !write))
        drop_covered(shadow, &later, s, postponed);
    access_tree_add(shadow, later);
    if (shadow->accesses->count >= 32 && shadow->accesses->count >= shadow->accesses->next_drop)
        drop_acquired(shadow);
    if (page_guard_memory)
        page_guard_used(ref, later.origin, from, to, write);
    if (shadow->ipc_ref)
        checker_ipc->used(ref, later.origin, s, from, to, write, NULL);
}

void checker_staged(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq,
                    size_t from, size_t to)
{
    NEEDS_LOCK();
    if (!settings.check)
        return;
    struct access later = {
        .origin = checker_origin(call, s, seq), .from = from, .to = to, .at_call = true};
    check_access(ref, &later, s);
    if (late_launches)
        keep_for_launches(CONFLICT_ACCESSES, ref, &later, s);
}

void checker_node_refused(const struct call *call, struct shadow_ref ref, const struct stream *s,
                          size_t from, bool write)
{
    NEEDS_LOCK();
    struct origin origin = checker_origin(call, s, s->last_seq + 1);
    if (settings.check)
        check_stale_node(ref, &origin, from, write);
}

void checker_copied(const struct call *call, struct shadow_ref ref, const struct stream *s,
                    uint64_t seq, size_t from, size_t to, bool write)
{
    NEEDS_LOCK();
    if (settings.check)
        page_guard_copied(ref, checker_origin(call, s, seq), from, to, write);
}

static void describe_unallocated(const void *address, size_t bytes, const struct origin *origin,
                                 bool write, struct shadow_ref before, bool of_graph,
                                 const char *inside)
{
    report_text("%s (%s) %s %zu byte%s at an address of the device where nothing is allocated.",
                origin->call, report_stream(origin).text, write ? "writes" : "reads", bytes,
                bytes == 1 ? "" : "s");
    if (before.shadow)
        report_allocation(before.id, before.bytes, &before.shadow->allocated_by);
    report_origin("used", origin);
    note_inside(inside);
    if (before.shadow)
        report_note("allocation %u starts %zu bytes before the address. Is an offset too large, or "
                    "counted twice, in ints and in bytes?",
                    before.id, (size_t)((const char *)address - before.address));
    if (of_graph)
        report_advice("the address belongs to an allocation node of a graph: use it after "
                      "cudaGraphLaunch, in the stream of the launch or one that waits for it, and "
                      "before it is freed.");
    else
        report_advice("use only what cudaMallocAsync or cudaMalloc returned.");
}

/* `newest`: the newest allocation for which the address can be meant. */
static void check_unallocated(const struct origin *origin, uint32_t newest, const void *address,
                              size_t bytes, bool write, struct shadow_ref before, bool of_graph,
                              const char *inside)
{
    const struct freed *old = freed_find(address, newest);
    if (old && report_begin(HAZARD_USE_AFTER_FREE, &old->freed_by, origin)) {
        describe_late_use(old, origin, write, inside);
        report_end(old->id);
    } else if (!old && report_begin(HAZARD_USE_OF_MEMORY_THAT_IS_NOT_ALLOCATED, origin, origin)) {
        describe_unallocated(address, bytes, origin, write, before, of_graph, inside);
        report_end(0);
    }
}

void checker_used_unallocated(const struct call *call, const void *address, size_t bytes,
                              struct stream *s, uint64_t seq, bool write, struct shadow_ref before,
                              bool of_graph)
{
    NEEDS_LOCK();
    if (!settings.check)
        return;
    struct origin origin = checker_origin(call, s, seq);
    check_unallocated(&origin, UINT32_MAX, address, bytes, write, before, of_graph, NULL);
}

/* ---- launches that run ---- */

struct late_launch *checker_launched(const struct call *call, struct stream *s, uint64_t seq,
                                     const char *parameters, size_t parameter_bytes)
{
    NEEDS_LOCK();
    struct origin origin = checker_origin(call, s, seq);
    uint32_t newest = origin.launch && origin.newest_allocation > checker.newest_allocation
                        ? origin.newest_allocation
                        : checker.newest_allocation;
    return late_launch_new(&origin, s, newest, parameters, parameter_bytes);
}

void checker_launch_ended(struct late_launch *l)
{
    NEEDS_LOCK();
    late_launch_end(l);
}

void checker_found_unallocated(const struct late_launch *l, const void *address, size_t bytes,
                               bool write, struct shadow_ref before, bool of_graph,
                               const char *inside)
{
    NEEDS_LOCK();
    if (settings.check)
        check_unallocated(&l->origin, l->newest_allocation, address, bytes, write, before, of_graph,
                          inside);
}

void checker_found_outside(const struct late_launch *l, struct shadow_ref ref, size_t from,
                           size_t bytes, bool write, const char *inside)
{
    NEEDS_LOCK();
    struct access a = {
        .origin = l->origin, .from = from, .to = from + bytes, .write = write, .inside = inside};
    if (settings.check)
        hazard_outside(ref, &a);
}

void checker_found_stray(const struct late_launch *l, struct shadow_ref ref, size_t from,
                         size_t bytes, struct shadow_ref given, size_t argument, const char *inside)
{
    NEEDS_LOCK();
    const struct origin *origin = &l->origin, *allocated_by = &ref.shadow->allocated_by;
    if (!settings.check
        || !report_begin(HAZARD_ACCESS_OUTSIDE_THE_ALLOCATION, allocated_by, origin))
        return;
    report_text("%s (%s) touches %s of allocation %u, to which none of its arguments points. The "
                "kernel computed that address from its argument %zu, which points to allocation "
                "%u.",
                origin->call, report_stream(origin).text, report_bytes(from, from + bytes).text,
                ref.id, argument, given.id);
    report_allocation(ref.id, ref.bytes, allocated_by);
    report_allocation(given.id, given.bytes, &given.shadow->allocated_by);
    report_origin("used", origin);
    note_inside(inside);
    report_advice("keep to the bytes of what the argument points to, or pass the other pointer.");
    report_note("a real device reports nothing here, and changes the other allocation.");
    report_end(ref.id);
}

/* Reports or postpones a conflict with a launch that has run. Returns whether there is a conflict.
 */
static bool judge_late(struct conflict *c)
{
    c->held = conflict_held(c);
    if (c->held)
        postpone(c);
    else
        report_conflict(c);
    return !c->held;
}

/* Compares the launch's accesses with those that came before it in the program, which are in
 * checker.near. Accesses that came after it are in the launch's own list, except those of other
 * launches that have run in the meantime. */
static bool check_before_launch(const struct late_launch *l, struct shadow_ref ref,
                                const struct access *later)
{
    bool any = false;
    uint32_t reported_slot = HOST_SLOT;
    const size_t count = checker.near.count;
    /* The second half compares with launches that the program made later but that have run first,
     * beginning with the oldest, because a wait before a stream's oldest one covers the others. */
    for (size_t n = 0; n < 2 * count; n++) {
        const bool has_overtaken = n >= count;
        const struct access *a = checker.near.items[has_overtaken ? 2 * count - 1 - n : n];
        if (n == count)
            reported_slot = HOST_SLOT;
        if ((a->number > l->number) != has_overtaken || (has_overtaken && !a->is_late)
            || !is_conflict(a, later) || a->origin.slot == reported_slot
            || (is_before_launch(&a->origin, l) && !is_overlapped(a, l)))
            continue;
        struct conflict c = {
            .kind = CONFLICT_ACCESSES, .ref = ref, .earlier = *a, .later = *later, .s = l->s};
        if (has_overtaken) {
            c.earlier = *later;
            c.later = *a;
            c.s = stream_of_slot(a->origin.slot);
        }
        if (judge_late(&c))
            reported_slot = a->origin.slot;
        any = true;
    }
    return any;
}

/* Compares the launch with the accesses that came after it in the program and that are not ordered
 * after it. */
static bool check_after_launch(const struct late_launch *l, struct shadow_ref ref,
                               const struct access *later)
{
    bool any = false;
    for (const struct after_launch *a = l->first; a; a = a->next) {
        struct conflict c = a->conflict;
        if (c.ref.id != ref.id || (c.kind == CONFLICT_ACCESSES && !is_conflict(later, &c.later))
            || late_comes_after(l, &c.later.origin))
            continue;
        c.ref = ref;
        c.earlier = *later;
        judge_late(&c);
        any = true;
    }
    return any;
}

bool checker_found_gone(const struct late_launch *l, const void *address, size_t bytes, bool write,
                        const char *inside)
{
    NEEDS_LOCK();
    const struct late_freed *freed = late_freed_find(l, address);
    const struct freed *old = freed_find(address, l->newest_allocation);
    if (!settings.check || !old)
        return false;
    if (freed) {
        size_t from = (size_t)((const char *)address - freed->ref.address);
        struct access later = {.origin = l->origin,
                               .from = from,
                               .to = from + bytes,
                               .write = write,
                               .is_late = true,
                               .number = l->number,
                               .inside = inside};
        if (check_after_launch(l, freed->ref, &later))
            return true;
    }
    check_unallocated(&l->origin, l->newest_allocation, address, bytes, write,
                      (struct shadow_ref){.shadow = NULL}, false, inside);
    return true;
}

bool checker_faulted(const struct origin *origin, enum hazard kind, const char *what,
                     const char *inside, const char *advice, const char *error)
{
    NEEDS_LOCK();
    if (!settings.check || report_covers(origin) || !report_begin(kind, origin, origin))
        return false;
    report_text("%s (%s) %s.", origin->call, report_stream(origin).text, what);
    report_origin("used", origin);
    note_inside(inside);
    report_advice(advice);
    report_note("every further call returns %s.", error);
    report_end(0);
    return true;
}

void checker_read_unwritten(const struct origin *origin, struct shadow_ref ref, size_t from,
                            size_t to, const char *inside)
{
    NEEDS_LOCK();
    /* A kernel that did not run has not written anything. */
    if (!settings.check || summary.given_up || report_covers(origin)
        || !report_begin(HAZARD_UNINITIALIZED_READ, &ref.shadow->allocated_by, origin))
        return;
    report_text("%s (%s) reads %s of allocation %u, and nothing has written them.", origin->call,
                report_stream(origin).text, report_bytes(from, to).text, ref.id);
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_origin("read", origin);
    note_inside(inside);
    failed_call_mention();
    report_advice("write them first: a kernel, a copy, or cudaMemsetAsync.");
    report_note("memory that is new often reads as 0. What a pool gives out again has what its "
                "last owner left there. SIM_CHECK=no-init turns this check off.");
    report_end(ref.id);
}

void checker_found_unwritten_shared(const struct late_launch *l, uint64_t from, size_t bytes,
                                    const char *inside)
{
    NEEDS_LOCK();
    const struct origin *origin = &l->origin;
    if (!settings.check || !report_begin(HAZARD_UNINITIALIZED_READ, origin, origin))
        return;
    report_text("A thread of %s (%s) reads bytes %llu to %llu of its block's shared memory, and no "
                "thread of the block has written them.",
                origin->call, report_stream(origin).text, (unsigned long long)from,
                (unsigned long long)(from + bytes - 1));
    report_origin("launched", origin);
    report_text("\n  read       %s", inside);
    report_advice("write them first, with __syncthreads() between the write and the read.");
    report_note("a block finds in shared memory what earlier blocks have left there. "
                "SIM_CHECK=no-init turns this check off.");
    report_end(0);
}

static void report_racing(const struct origin *origin, const struct racing *first,
                          const struct racing *second)
{
    report_origin("launched", origin);
    report_text("\n  %-10s %s", first->write ? "written" : "read", first->inside);
    report_text("\n  %-10s %s", second->write ? "written" : "read", second->inside);
}

void checker_found_race(const struct late_launch *l, enum hazard kind, const char *what,
                        const struct racing *first, const struct racing *second)
{
    NEEDS_LOCK();
    const struct origin *origin = &l->origin;
    if (!settings.check || !report_begin(kind, origin, origin))
        return;
    report_text(first->is_in_flight
                    ? "Threads of %s (%s) touch %s while cp.async may still write it."
                    : "Two threads of %s (%s) touch %s, and nothing orders them.",
                origin->call, report_stream(origin).text, what);
    report_racing(origin, first, second);
    report_advice(
        first->is_in_flight
            ? "let the thread that copies wait for it (cp.async.wait_group, "
              "__pipeline_wait_prior(), or a pipeline's consumer_wait()), and then, if another one "
              "reads it, __syncthreads()."
            : "__syncthreads() between the two, where all threads of the block come to it; or, if "
              "both are of one warp, __syncwarp().");
    /* Documented: CUDA Programming Guide, "Data Races", calls the behavior undefined; PTX ISA,
     * "Conflict and Data-races". racecheck does not report it (docs/recorded/inside_kernels.md,
     * "histogram"). */
    if (first->is_atomic != second->is_atomic)
        report_note(
            "An atomic access and an ordinary one of the same bytes race, too (CUDA "
            "Programming Guide,\n             Data Races), though compute-sanitizer is silent. "
            "If any value will do, read it with an atomic\n             operation or as "
            "volatile.");
    report_note("SIM_CHECK=no-race turns this check off.");
    report_end(0);
}

void checker_found_race_in_memory(const struct late_launch *l, struct shadow_ref ref, size_t byte,
                                  enum race_place place, const struct racing *first,
                                  const struct racing *second)
{
    NEEDS_LOCK();
    const struct origin *origin = &l->origin;
    bool is_in_block = place == RACE_IN_BLOCK;
    if (!settings.check || !ref.shadow
        || !report_begin(is_in_block ? HAZARD_RACE_IN_A_BLOCK : HAZARD_RACE_BETWEEN_BLOCKS, origin,
                         origin))
        return;
    report_text("Two %s of %s (%s) touch byte %zu of allocation %u, and nothing orders them.",
                is_in_block ? "threads of a block" : "blocks", origin->call,
                report_stream(origin).text, byte, ref.id);
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_racing(origin, first, second);
    report_advice(
        is_in_block ? "use an atomic operation; give each thread bytes of its own; or call "
                      "__syncthreads() between the two, where all threads of the block come to "
                      "it."
        : place == RACE_BETWEEN_MEETING_BLOCKS
            ? "call this_grid().sync() between the two, where all threads of the grid come to it; "
              "use an atomic operation; or give each block bytes of its own."
            : "use an atomic operation; give each block bytes of its own; or let a second launch "
              "do what has to come after.");
    report_note(is_in_block
                    ? "SIM_CHECK=no-race turns this check off."
                    : "__syncthreads() orders one block's threads alone. SIM_CHECK=no-race turns "
                      "this check off.");
    report_end(ref.id);
}

void checker_found_race_of_grids(const struct late_launch *l, struct shadow_ref ref,
                                 const char *child, const struct racing *first,
                                 const struct racing *second)
{
    NEEDS_LOCK();
    const struct origin *origin = &l->origin;
    if (!settings.check || !report_begin(HAZARD_RACE_BETWEEN_BLOCKS, origin, origin))
        return;
    if (child)
        report_text("A kernel of %s (%s) touches bytes of allocation %u after it has launched %s, "
                    "which touches them, too, and nothing orders the two.",
                    origin->call, report_stream(origin).text, ref.id, child);
    else
        report_text("Two grids that a kernel of %s (%s) has launched touch the same bytes of "
                    "allocation %u, and nothing orders them.",
                    origin->call, report_stream(origin).text, ref.id);
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_racing(origin, first, second);
    report_advice(child ? "let a launch into cudaStreamTailLaunch do what has to come after the "
                          "other launches of the kernel; or touch the bytes before the launch."
                        : "launch both from one block into one stream, or the second one into "
                          "cudaStreamTailLaunch.");
    report_note("a kernel does not wait for what it launches, and the NULL streams of two blocks "
                "are two streams. SIM_CHECK=no-race turns this check off.");
    report_end(ref.id);
}

void checker_found_misuse(const struct late_launch *l, bool is_barrier, const char *what,
                          const char *where, const char *other)
{
    NEEDS_LOCK();
    const struct origin *origin = &l->origin;
    if (!settings.check
        || !report_begin(is_barrier ? HAZARD_DIVERGENT_BARRIER : HAZARD_ABSENT_THREADS, origin,
                         origin))
        return;
    report_text("Threads of %s (%s) %s.", origin->call, report_stream(origin).text, what);
    report_origin("launched", origin);
    report_text("\n  %-10s %s", is_barrier ? "waited" : "exchanged", where);
    if (other)
        report_text("\n  %-10s %s", "elsewhere", other);
    report_advice(is_barrier ? "call __syncthreads() where all threads of the block come to it, "
                               "outside of the condition."
                             : "name in the mask the threads that come, and no others; or let all "
                               "come.");
    report_note("a device may go on, hang, or exchange other values. SIM_CHECK=no-sync turns this "
                "check off.");
    report_end(0);
}

/* Removes the accesses that the launch's access covers and comes after. */
static void drop_before_launch(const struct late_launch *l, struct shadow *shadow,
                               const struct access *later)
{
    access_tree_find(shadow, later->from, later->to, true, &checker.near);
    for (size_t i = 0; i < checker.near.count; i++) {
        struct access *a = checker.near.items[i];
        if ((later->write || !a->write) && (!later->is_atomic || a->is_atomic) && a->from != a->to
            && covers(later, a) && late_comes_after(l, &a->origin) && !is_needed(shadow, a))
            access_tree_remove(shadow, a);
    }
}

/* Whole pages of memory that the host sees are closed to it until it has waited. */
static void guard_found(const struct late_launch *l, struct shadow_ref ref,
                        const struct access *later, bool is_guarded)
{
    if (is_guarded && (!later->bytes || byte_set_is_whole(later->bytes)))
        page_guard_copied(ref, l->origin, later->from, later->to, later->write);
    if (ref.shadow->ipc_ref)
        checker_ipc->used(ref, l->origin, l->s, later->from, later->to, later->write, l);
}

void checker_found(struct late_launch *l, struct shadow_ref ref, const struct found_access *f)
{
    NEEDS_LOCK();
    struct access later = {.origin = l->origin,
                           .from = f->from,
                           .to = f->to,
                           .write = f->write,
                           .is_atomic = f->is_atomic,
                           .is_late = true,
                           .lets_others_begin = f->lets_others_begin,
                           .number = l->number,
                           .bytes = f->bytes,
                           .inside = f->inside};
    bool stale = settings.check && later.origin.launch
              && check_stale_node(ref, &later.origin, later.from, later.write);
    if (!settings.check || stale) {
        os_free(later.bytes);
        return;
    }
    const uint64_t memory = memory_of(ref.shadow);
    struct access elsewhere = later;
    elsewhere.is_mapped_elsewhere = true;
    for (const struct mapping *m = NULL;
         memory && (m = find_elsewhere(m, memory, ref.shadow, &elsewhere));)
        check_before_launch(l, m->ref, &elsewhere);
    find_near(ref.shadow, later.from, later.to, later.write);
    bool any = check_before_launch(l, ref, &later);
    any |= check_after_launch(l, ref, &later);
    if (!any && !is_before_launch(&ref.shadow->allocated_by, l)) {
        struct conflict c = {.kind = CONFLICT_ALLOCATION,
                             .ref = ref,
                             .earlier.origin = ref.shadow->allocated_by,
                             .later = later,
                             .s = l->s};
        judge_late(&c);
    }
    if (ref.shadow->accesses)
        drop_before_launch(l, ref.shadow, &later);
    access_tree_add(ref.shadow, later);
    guard_found(l, ref, &later, f->is_guarded);
}

/* ---- free ---- */

static void check_end(struct shadow_ref ref, struct origin origin, const struct stream *s)
{
    struct access end = {.origin = origin};
    if (s)
        end.obstacle = stream_find_host_bound(s, origin.seq, UINT64_MAX);
    find_near(ref.shadow, 0, SIZE_MAX, true);
    check_order(ref, &end, s, true);
    if (late_launches) {
        keep_for_launches(CONFLICT_FREE, ref, &end, s);
        late_freed_add(ref);
    }
}

static void check_free(struct shadow_ref ref, struct origin origin, const struct stream *s)
{
    check_end(ref, origin, s);
    if (ref.shadow->ipc_ref)
        checker_ipc->freed(ref, origin, s);
    freed_add(ref, origin);
    if (page_guard_memory)
        page_guard_freed(ref, origin, s);
}

void checker_freed(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq)
{
    NEEDS_LOCK();
    if (settings.check)
        check_free(ref, checker_origin(call, s, seq), s);
    if (ref.shadow->accesses)
        access_tree_clear(ref.shadow);
    written_end(ref.shadow);
    if (ref.shadow->ipc_ref)
        checker_ipc->ended(call, ref, s, seq);
}

void checker_variable_freed(struct shadow *s)
{
    NEEDS_LOCK();
    if (s->accesses)
        access_tree_clear(s);
    written_end(s);
}

void checker_unregistered(const struct call *call, struct shadow_ref ref)
{
    NEEDS_LOCK();
    if (!settings.check)
        return;
    check_end(ref, checker_origin(call, NULL, 0), NULL);
    access_tree_clear(ref.shadow);
}

/* Did this call end everything on a device? Freeing it afterwards is an error but no hazard,
 * because destructors do that. */
static bool ends_device(const char *call)
{
    return strstr(call, "Reset") || strstr(call, "PrimaryCtxRelease");
}

bool checker_freed_unallocated(const struct call *call, const void *address, const struct stream *s,
                               const char *note)
{
    NEEDS_LOCK();
    if (!settings.check)
        return true;
    const struct freed *old = freed_find(address, UINT32_MAX);
    struct origin origin = checker_origin(call, s, 0);
    if (old && old->address == address && ends_device(old->freed_by.call))
        return false;
    if (!old || old->address != address
        || !report_begin(HAZARD_DOUBLE_FREE, &old->freed_by, &origin))
        return true;
    report_text("%s (%s) frees allocation %u a second time.", origin.call,
                report_stream(&origin).text, old->id);
    report_allocation(old->id, old->bytes, &old->allocated_by);
    report_origin("freed", &old->freed_by);
    report_origin("again", &origin);
    report_advice("free each allocation once: leave one of the two calls out.");
    report_note("%s", note);
    report_end(old->id);
    return true;
}

/* Documented: that is allowed, so it is no hazard. Measured (probe-dying.txt): one of six processes
 * that destroyed 50 such pools each died of SIGFPE. */
void checker_pool_destroyed(const struct call *call, const char *from, const char *to)
{
    NEEDS_LOCK();
    static bool said;
    uint64_t count = checker.freed_count;
    const struct origin *freed_by = NULL;
    for (uint64_t n = count; settings.check && n && n + FREED_SIZE > count && !freed_by; n--) {
        const struct freed *f = &checker.freed[(n - 1) % FREED_SIZE];
        if (f->address >= from && f->address < to
            && !host_has_acquired(f->freed_by.slot, f->freed_by.seq))
            freed_by = &f->freed_by;
    }
    if (!freed_by || said)
        return;
    said = true;
    struct os_source_loc free = {.site = freed_by->site, .call = freed_by->call},
                         here = {.site = call->origin.site, .call = call->origin.call},
                         *places[] = {&free, &here};
    os_source_lines(places, 2);
    hazards_diag("%s at %s destroys a pool, and the host has not waited for %s (%s) at %s, which "
                 "frees memory of it. The documentation allows that, but of six processes of the "
                 "recorded driver that did it again and again, one died of SIGFPE. To do: call "
                 "cudaStreamSynchronize for the stream of the free before.",
                 call->origin.call, here.text, freed_by->call, report_stream(freed_by).text,
                 free.text);
}

/* ---- the end ---- */

static const char *leak_advice(const struct shadow *shadow)
{
    if (strstr(shadow->allocated_by.call, "Array"))
        return "call cudaFreeArray.";
    switch (shadow->kind) {
    case ALLOCATION_PINNED: return "call cudaFreeHost when no copy uses it anymore.";
    case ALLOCATION_AT_CALL: return "call cudaFree.";
    case ALLOCATION_OPENED: return "call cudaIpcCloseMemHandle.";
    case ALLOCATION_MAPPED: return "call cuMemUnmap.";
    case ALLOCATION_IN_STREAM: break;
    }
    return "call cudaFreeAsync after its last use, in the same stream or in one that waits for it.";
}

void checker_leaked(struct shadow_ref ref)
{
    NEEDS_LOCK();
    const struct origin *allocated_by = &ref.shadow->allocated_by;
    if (settings.check && !settings.leaks)
        report_left(ref.bytes, allocated_by);
    if (!settings.leaks || !report_begin(HAZARD_LEAK, allocated_by, allocated_by))
        return;
    report_text("allocation %u is still alive at the end of the program.", ref.id);
    report_allocation(ref.id, ref.bytes, allocated_by);
    report_advice(leak_advice(ref.shadow));
    report_end(ref.id);
}
