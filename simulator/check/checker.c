/* The checker. One function for each way to be incorrect; each compares the access of the present
 * call with accesses, allocations and frees that came earlier in the program.
 *
 * Law: an access is dropped only when every operation still to come is ordered after it, or when a
 * later access that stays covers it and comes after it or has been reported together with it. So
 * memory grows with the live allocations and with what is not yet synchronized, and with nothing
 * else.
 *
 * One missing edge is reported once: of one stream's accesses the newest is named (who waits for it
 * waits for all), and what is not ordered after the allocation only because it is not ordered after
 * an access is reported as the latter. */
#include "check/checker.h"

#include "base/settings.h"
#include "check/access_tree.h"
#include "check/page_guard.h"
#include "sched/happens_before.h"
#include "check/report.h"

#define FREED_SIZE 8192 /* Assumed: so many of the newest frees are enough to name in reports. */

const struct checker_ipc *checker_ipc;

/* An allocation that was freed. */
struct freed {
    uint32_t id;
    const char *address;
    size_t bytes;
    struct origin allocated_by, freed_by;
};

/* Law: free number n, counted from 0, stands at freed[n % FREED_SIZE] until free n + FREED_SIZE
 * takes its position; so what was freed longer ago is called memory that is not allocated. The ring
 * takes 1,088 KiB, in pages that the system provides when they are first written. freed_find
 * searches it from the newest back, at most FREED_SIZE entries, and only where a report is likely:
 * for an address without an allocation, a graph's node older than what it uses, and the text of a
 * report. Needs the lock. */
static struct {
    struct freed freed[FREED_SIZE];
    uint64_t freed_count;
    /* The id of the newest allocation. */
    uint32_t newest_allocation;
    /* What the present call's last search in a tree found; kept so that a search allocates
     * nothing. */
    struct access_list near;
} checker;

uint32_t checker_newest_allocation(void) { return checker.newest_allocation; }

struct origin checker_origin(const struct call *call, const struct stream *s, uint64_t seq)
{
    struct origin origin = call->origin;
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
    origin.device = s->device;
    return origin;
}

/* Returns whether `earlier` comes before operation `seq` of `s`; NULL: before what the host does
 * now. */
static bool happens_before(const struct origin *earlier, const struct stream *s, uint64_t seq)
{
    /* The host did it before it made this call. */
    if (earlier->slot == HOST_SLOT)
        return true;
    if (!s)
        return vc_includes(host_vector_clock(), earlier->slot, earlier->seq);
    if (earlier->slot == s->slot)
        return earlier->seq < seq;
    return vc_includes(&s->ordering.happens_before, earlier->slot, earlier->seq);
}

/* ---- accesses ---- */

/* Removes what the host has acquired: it comes before everything still to come. */
static void drop_acquired(struct shadow *shadow)
{
    struct access_list *all = &checker.near;
    access_tree_find(shadow, 0, SIZE_MAX, true, all);
    for (size_t i = 0; i < all->count; i++)
        if (vc_includes(host_vector_clock(), all->items[i]->origin.slot, all->items[i]->origin.seq))
            access_tree_remove(shadow, all->items[i]);
    /* So each access pays for two that are looked at. */
    shadow->accesses->next_drop = 2 * shadow->accesses->count;
}

/* Removes what the new access covers: of those that checker.near found for a write, what it
 * overwrites; and reads that come before it. */
static void drop_covered(struct shadow *shadow, const struct access *new, const struct stream *s)
{
    if (!new->write)
        access_tree_find_covered_reads(shadow, new->from, new->to, &checker.near);
    for (size_t i = 0; i < checker.near.count; i++) {
        struct access *a = checker.near.items[i];
        if (a->from < new->from || a->to > new->to)
            continue;
        bool is_empty = a->from == a->to;
        if ((new->write && !is_empty)
            || (!a->write && happens_before(&a->origin, s, new->origin.seq)))
            access_tree_remove(shadow, a);
    }
}

/* ---- what was freed ---- */

static void freed_add(struct shadow_ref ref, struct origin freed_by)
{
    checker.freed[checker.freed_count++ % FREED_SIZE] =
        (struct freed){ref.id, ref.address, ref.bytes, ref.shadow->allocated_by, freed_by};
}

/* Returns the allocation freed last at this address among those with an id up to `newest`; NULL:
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

bool checker_was_freed(const void *address) { return freed_find(address, UINT32_MAX); }

/* ---- allocation ---- */

void checker_allocated(const struct call *call, struct shadow_ref ref, enum allocation_kind kind,
                       struct stream *s, uint64_t seq)
{
    ref.shadow->allocated_by = checker_origin(call, s, seq);
    ref.shadow->kind = kind;
    if (ref.id > checker.newest_allocation)
        checker.newest_allocation = ref.id;
    if (settings.check && page_guard_memory)
        page_guard_allocated(ref);
}

void checker_allocated_again(const struct call *call, struct shadow_ref ref, const struct stream *s,
                             uint64_t seq, const struct origin *freed_by)
{
    struct origin origin = checker_origin(call, s, seq);
    if (!settings.check || happens_before(freed_by, s, seq)
        || !report_begin("allocation before the free", freed_by, &origin))
        return;
    report_text(
        "%s (%s) makes allocation %u, and nothing orders it after the free of the allocation "
        "that has the same address.",
        origin.call, report_stream(&origin).text, ref.id);
    report_allocation(ref.id, ref.bytes, &origin);
    report_origin("freed", freed_by);
    report_missing_edge(freed_by, &origin, s);
    report_note("what a node allocates has the same address in each launch. A launch waits for "
                "earlier launches of its graph, and for no free outside of it.");
    report_end(ref.id);
}

/* ---- use and free ---- */

/* Adds a note when the address was another allocation's before: the call may be meant for that
 * one. */
static void note_stale_pointer(struct shadow_ref ref, size_t offset)
{
    const struct freed *old = freed_find(ref.address + offset, UINT32_MAX);
    if (old)
        report_note(
            "allocation %u had this address before, until it was freed. If the call is meant "
            "for that one, its pointer is stale.",
            old->id);
}

/* Reports one copy that reads what it writes. */
static void hazard_overlap(struct shadow_ref ref, const struct origin *origin)
{
    if (!report_begin("overlapping copy", origin, origin))
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

static const char *unordered_kind(const struct access *earlier, const struct access *later)
{
    if (!later->write)
        return "read not ordered after a write";
    return earlier->write ? "unordered writes" : "write not ordered after a read";
}

/* Reports that nothing orders the new access, an operation of `s`, after the earlier one. */
static void hazard_unordered(struct shadow_ref ref, const struct access *earlier,
                             const struct access *new, const struct stream *s)
{
    const struct origin *first = &earlier->origin, *origin = &new->origin;
    if (first->slot == origin->slot && first->seq == origin->seq) {
        hazard_overlap(ref, origin);
        return;
    }
    if (!report_begin(unordered_kind(earlier, new), first, origin))
        return;
    report_text(
        "%s (%s) and %s (%s) touch the same bytes of allocation %u, and nothing orders them.",
        origin->call, report_stream(origin).text, first->call, report_stream(first).text, ref.id);
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_origin(earlier->write ? "written" : "read", first);
    report_origin(new->write ? "written" : "read", origin);
    report_missing_edge(first, origin, new->at_call ? NULL : s);
    if (!happens_before(&ref.shadow->allocated_by, s, origin->seq))
        note_stale_pointer(ref, new->from);
    report_end(ref.id);
}

/* Reports that nothing orders the free after the earlier access. */
static void hazard_early_free(struct shadow_ref ref, const struct access *earlier,
                              const struct origin *origin, const struct stream *s)
{
    const struct origin *first = &earlier->origin;
    if (!report_begin("free before the use ends", first, origin))
        return;
    report_text("%s (%s) frees allocation %u while %s (%s) may still be using it.", origin->call,
                report_stream(origin).text, ref.id, first->call, report_stream(first).text);
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_origin(earlier->write ? "written" : "read", first);
    report_origin("freed", origin);
    report_missing_edge(first, origin, s);
    if (!s && ref.shadow->kind != ALLOCATION_IN_STREAM)
        report_note("a call that frees waits for the GPU that the memory is of, and for no other "
                    "GPU that uses it.");
    else if (!s)
        report_note(
            "for an allocation of a pool, cudaFree waits for nothing. cudaFreeAsync frees it in "
            "the order of a stream.");
    report_end(ref.id);
}

/* Reports that nothing orders the use or the free after the allocation. */
static void hazard_before_allocation(struct shadow_ref ref, const struct origin *origin,
                                     size_t offset, const struct stream *s, bool free)
{
    const struct origin *allocated_by = &ref.shadow->allocated_by;
    if (!report_begin(free ? "free before allocation" : "use before allocation", allocated_by,
                      origin))
        return;
    report_text(
        "%s (%s) %s allocation %u, and nothing orders it after the call that allocates it (%s).",
        origin->call, report_stream(origin).text, free ? "frees" : "uses", ref.id,
        report_stream(allocated_by).text);
    report_allocation(ref.id, ref.bytes, allocated_by);
    report_origin(free ? "freed" : "used", origin);
    report_missing_edge(allocated_by, origin, s);
    note_stale_pointer(ref, offset);
    report_end(ref.id);
}

/* Reports each access in checker.near that conflicts with the new one and does not come before it.
 * Returns whether there is one. */
static bool check_conflicts(struct shadow_ref ref, const struct access *new, const struct stream *s)
{
    uint32_t reported_slot = HOST_SLOT;
    for (size_t i = 0; i < checker.near.count; i++) {
        const struct access *a = checker.near.items[i];
        if (a->from >= new->to || new->from >= a->to || !(new->write || a->write))
            continue;
        if (happens_before(&a->origin, s, new->origin.seq))
            continue;
        if (a->origin.slot != reported_slot)
            hazard_unordered(ref, a, new, s);
        reported_slot = a->origin.slot;
    }
    return reported_slot != HOST_SLOT;
}

/* Reports each access that does not come before the free, operation `origin->seq` of `s`; one of no
 * bytes concerns it, too. Returns whether there is one. */
static bool check_uses_ended(struct shadow_ref ref, const struct origin *origin,
                             const struct stream *s)
{
    uint32_t reported_slot = HOST_SLOT;
    access_tree_find(ref.shadow, 0, SIZE_MAX, true, &checker.near);
    for (size_t i = 0; i < checker.near.count; i++) {
        const struct access *a = checker.near.items[i];
        if (happens_before(&a->origin, s, origin->seq))
            continue;
        if (a->origin.slot != reported_slot)
            hazard_early_free(ref, a, origin, s);
        reported_slot = a->origin.slot;
    }
    return reported_slot != HOST_SLOT;
}

static void describe_late_use(const struct freed *old, const struct origin *origin, bool write)
{
    report_text("%s (%s) %s allocation %u, which %s (%s) has freed.", origin->call,
                report_stream(origin).text, write ? "writes" : "reads", old->id, old->freed_by.call,
                report_stream(&old->freed_by).text);
    report_allocation(old->id, old->bytes, &old->allocated_by);
    report_origin("freed", &old->freed_by);
    report_origin("used", origin);
    report_late_use(&old->freed_by, origin);
}

/* Reports a graph's node that was made for an allocation which is freed by now, and whose address
 * is another's: a graph keeps the pointers with which it was made. What a graph allocates has its
 * address for good. Returns whether the node is such a one. */
static bool check_stale_node(struct shadow_ref ref, const struct origin *origin, size_t from,
                             bool write)
{
    if (ref.id <= origin->newest_allocation || ref.shadow->allocated_by.launch)
        return false;
    const struct freed *old = freed_find(ref.address + from, origin->newest_allocation);
    if (!old || !report_begin("use after free", &old->freed_by, origin))
        return old != NULL;
    describe_late_use(old, origin, write);
    report_note(
        "the node keeps the pointer with which it was made. That address is allocation %u's now.",
        ref.id);
    report_end(old->id);
    return true;
}

/* Reports an access that lies in part or whole behind the end of the allocation. */
static void hazard_outside(struct shadow_ref ref, const struct access *new)
{
    const struct origin *origin = &new->origin, *allocated_by = &ref.shadow->allocated_by;
    if (!report_begin("access outside the allocation", allocated_by, origin))
        return;
    report_text("%s (%s) touches bytes %zu to %zu of allocation %u, which has %zu.", origin->call,
                report_stream(origin).text, new->from, new->to - 1, ref.id, ref.bytes);
    report_allocation(ref.id, ref.bytes, allocated_by);
    report_origin("used", origin);
    report_advice("allocate as many bytes as are used, or use fewer. A device often does not "
                  "notice: what lies behind an allocation is another's, or nobody's.");
    note_stale_pointer(ref, new->from);
    report_end(ref.id);
}

/* Reports what is incorrect about the new access, an operation of `s`. Leaves in checker.near the
 * accesses that it meets: those that it can conflict with. */
static void check_access(struct shadow_ref ref, const struct access *new, const struct stream *s)
{
    if (new->to > ref.bytes)
        hazard_outside(ref, new);
    checker.near.count = 0;
    if (ref.shadow->accesses)
        access_tree_find(ref.shadow, new->from, new->to, new->write, &checker.near);
    bool reported = false;
    if (new->origin.launch)
        reported = check_stale_node(ref, &new->origin, new->from, new->write);
    if (!reported && checker.near.count)
        reported = check_conflicts(ref, new, s);
    if (!reported && !happens_before(&ref.shadow->allocated_by, s, new->origin.seq))
        hazard_before_allocation(ref, &new->origin, new->from, new->at_call ? NULL : s, false);
}

void checker_used(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq,
                  size_t from, size_t to, bool write)
{
    if (!settings.check)
        return;
    struct shadow *shadow = ref.shadow;
    struct access new = {
        .origin = checker_origin(call, s, seq), .from = from, .to = to, .write = write};
    check_access(ref, &new, s);
    if (checker.near.count || (shadow->accesses && !write))
        drop_covered(shadow, &new, s);
    access_tree_add(shadow, new);
    if (shadow->accesses->count >= 32 && shadow->accesses->count >= shadow->accesses->next_drop)
        drop_acquired(shadow);
    if (page_guard_memory)
        page_guard_used(ref, new.origin, from, to, write);
    if (shadow->ipc_ref)
        checker_ipc->used(ref, new.origin, s, from, to, write);
}

void checker_staged(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq,
                    size_t from, size_t to)
{
    if (!settings.check)
        return;
    struct access new = {
        .origin = checker_origin(call, s, seq), .from = from, .to = to, .at_call = true};
    check_access(ref, &new, s);
}

void checker_copied(const struct call *call, struct shadow_ref ref, const struct stream *s,
                    uint64_t seq, size_t from, size_t to, bool write)
{
    if (settings.check)
        page_guard_copied(ref, checker_origin(call, s, seq), from, to, write);
}

static void describe_unallocated(const void *address, size_t bytes, const struct origin *origin,
                                 bool write, struct shadow_ref before, bool of_graph)
{
    report_text("%s (%s) %s %zu bytes at an address of the device where nothing is allocated.",
                origin->call, report_stream(origin).text, write ? "writes" : "reads", bytes);
    if (before.shadow)
        report_allocation(before.id, before.bytes, &before.shadow->allocated_by);
    report_origin("used", origin);
    if (before.shadow)
        report_note("allocation %u starts %zu bytes before the address. Is an offset too large, or "
                    "counted twice, in ints and in bytes?",
                    before.id, (size_t)((const char *)address - before.address));
    if (of_graph)
        report_advice("the address belongs to an allocation node of a graph: use it behind "
                      "cudaGraphLaunch, in its stream or one that waits for it, and before it is "
                      "freed.");
    else
        report_advice("use only what cudaMallocAsync or cudaMalloc returned.");
}

void checker_used_unallocated(const struct call *call, const void *address, size_t bytes,
                              struct stream *s, uint64_t seq, bool write, struct shadow_ref before,
                              bool of_graph)
{
    if (!settings.check)
        return;
    struct origin origin = checker_origin(call, s, seq);
    const struct freed *old = freed_find(address, UINT32_MAX);
    if (old && report_begin("use after free", &old->freed_by, &origin)) {
        describe_late_use(old, &origin, write);
        report_end(old->id);
    } else if (!old && report_begin("use of memory that is not allocated", &origin, &origin)) {
        describe_unallocated(address, bytes, &origin, write, before, of_graph);
        report_end(0);
    }
}

/* ---- free ---- */

static void check_free(struct shadow_ref ref, struct origin origin, const struct stream *s)
{
    bool reported = ref.shadow->accesses && check_uses_ended(ref, &origin, s);
    if (!reported && !happens_before(&ref.shadow->allocated_by, s, origin.seq))
        hazard_before_allocation(ref, &origin, 0, s, true);
    if (ref.shadow->ipc_ref)
        checker_ipc->freed(ref, origin, s);
    freed_add(ref, origin);
    if (page_guard_memory)
        page_guard_freed(ref, origin, s);
}

void checker_freed(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq)
{
    if (settings.check)
        check_free(ref, checker_origin(call, s, seq), s);
    if (ref.shadow->accesses)
        access_tree_clear(ref.shadow);
    if (ref.shadow->ipc_ref)
        checker_ipc->ended(call, ref.shadow, s, seq);
}

void checker_unregistered(const struct call *call, struct shadow_ref ref)
{
    if (!settings.check)
        return;
    struct origin origin = checker_origin(call, NULL, 0);
    check_uses_ended(ref, &origin, NULL);
    access_tree_clear(ref.shadow);
}

void checker_freed_unallocated(const struct call *call, const void *address, const struct stream *s,
                               const char *note)
{
    if (!settings.check)
        return;
    const struct freed *old = freed_find(address, UINT32_MAX);
    struct origin origin = checker_origin(call, s, 0);
    if (!old || old->address != address || !report_begin("double free", &old->freed_by, &origin))
        return;
    report_text("%s (%s) frees allocation %u a second time.", origin.call,
                report_stream(&origin).text, old->id);
    report_allocation(old->id, old->bytes, &old->allocated_by);
    report_origin("freed", &old->freed_by);
    report_origin("again", &origin);
    report_advice("free each allocation once: leave one of the two calls out.");
    report_note("%s", note);
    report_end(old->id);
}

/* ---- the end ---- */

static const char *leak_advice(enum allocation_kind kind)
{
    switch (kind) {
    case ALLOCATION_PINNED: return "cudaFreeHost, when no copy uses it any more.";
    case ALLOCATION_AT_CALL: return "cudaFree.";
    case ALLOCATION_IN_STREAM: break;
    }
    return "cudaFreeAsync, after its last use, in the same stream or in one that waits for it.";
}

void checker_leaked(struct shadow_ref ref)
{
    const struct origin *allocated_by = &ref.shadow->allocated_by;
    if (!settings.check || !report_begin("leak", allocated_by, allocated_by))
        return;
    report_text("allocation %u is still alive at the end of the program.", ref.id);
    report_allocation(ref.id, ref.bytes, allocated_by);
    report_advice(leak_advice(ref.shadow->kind));
    report_end(ref.id);
}
