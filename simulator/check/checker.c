/* The checker. One function for each way to be wrong; each compares the deed of the call on its way
 * with deeds that came earlier in the program.
 *
 * Law: an access is dropped only when every work still to come is ordered after it, or when a later
 * access that stays covers it and comes after it or has been accused together with it. So memory
 * grows with the live blocks and with what is not yet synchronised, and with nothing else.
 *
 * One missing edge is told once: of one stream's accesses the newest is named (who waits for it
 * waits for all), and what is not ordered after the allocation only because it is not ordered after
 * an access is told as the latter. */
#include "check/checker.h"

#include <string.h>

#include "check/access_tree.h"
#include "sched/virtual_time.h"
#include "check/page_guard.h"
#include "os/os.h"
#include "base/journal.h"
#include "check/report.h"
#include "base/settings.h"
#include "sched/happens_before.h"

#define HISTORY_SIZE 8192 /* blocks freed last, to name them in reports */

const struct checker_ipc *checker_ipc;
static uint32_t newest_allocation;
static struct history {
    uint32_t id;
    const char *address;
    size_t bytes;
    struct origin allocated_by, freed_by;
} history[HISTORY_SIZE];
static uint64_t history_count;

uint32_t checker_newest_allocation(void) { return newest_allocation; }

struct origin checker_origin(const struct call *call, const struct stream *s, uint64_t seq)
{
    struct origin origin = call->origin;
    enum stream_kind kind = s ? stream_trunk(s)->kind : STREAM_BLOCKING;
    origin.stream = !s ? -2 : kind == STREAM_LEGACY ? 0 : kind == STREAM_PER_THREAD ? -1 : s->id;
    origin.slot = s ? s->slot : HOST_SLOT;
    origin.device = s ? s->device : 0;
    origin.seq = seq;
    return origin;
}

/* Does `earlier` come before work `number` of `s`? s NULL: before what the host does now. */
static bool happens_before(const struct origin *earlier, const struct stream *s, uint64_t seq)
{
    /* The host had done it before it made this call. */
    if (earlier->slot == HOST_SLOT)
        return true;
    if (!s)
        return vc_includes(host_vector_clock(), earlier->slot, earlier->seq);
    if (earlier->slot == s->slot)
        return earlier->seq < seq;
    return vc_includes(&s->ordering.happens_before, earlier->slot, earlier->seq);
}

/* ---- accesses ---- */

/* What the host knows to be over comes before everything still to come. */
static void drop_acquired(struct shadow *shadow)
{
    size_t count;
    struct access **all = access_tree_find(shadow, 0, SIZE_MAX, &count);
    for (size_t i = 0; i < count; i++)
        if (vc_includes(host_vector_clock(), all[i]->origin.slot, all[i]->origin.seq))
            access_tree_remove(shadow, all[i]);
}

static void add_access(struct shadow *shadow, struct access a)
{
    access_tree_add(shadow, a);
    if (shadow->access_count >= 32 && !(shadow->access_count & (shadow->access_count - 1)))
        drop_acquired(shadow);
}

/* ---- what was freed ---- */

static void history_add(struct shadow_ref ref, struct origin freed_by)
{
    history[history_count++ % HISTORY_SIZE] =
        (struct history){ref.id, ref.address, ref.bytes, ref.shadow->allocated_by, freed_by};
}

/* The block freed last at this address among those numbered up to `newest`, or NULL. */
static const struct history *history_find(const char *address, uint32_t newest)
{
    for (uint64_t i = history_count; i && i + HISTORY_SIZE > history_count; i--) {
        const struct history *h = &history[(i - 1) % HISTORY_SIZE];
        if (h->id <= newest && address >= h->address && address < h->address + h->bytes)
            return h;
    }
    return NULL;
}

bool checker_was_freed(const void *address) { return history_find(address, UINT32_MAX); }

/* ---- allocation ---- */

void checker_allocated(const struct call *call, struct shadow_ref ref, struct stream *s,
                       uint64_t seq)
{
    ref.shadow->allocated_by = checker_origin(call, s, seq);
    if (ref.id > newest_allocation)
        newest_allocation = ref.id;
    if (settings.check)
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
        origin.call, report_stream(&origin), ref.id);
    report_allocation(ref.id, ref.bytes, &origin);
    report_origin("freed", freed_by);
    report_missing_edge(freed_by, &origin, s);
    report_note("what a node allocates has the same address in each launch. A launch waits for "
                "earlier launches of its graph, and for no free outside of it.");
    report_end(ref.id);
}

/* ---- use and free ---- */

/* The place `at` was another block's before: the call may be meant for that one. */
static void note_stale_pointer(struct shadow_ref ref, size_t offset)
{
    const struct history *old = history_find(ref.address + offset, UINT32_MAX);
    if (old)
        report_note(
            "allocation %u had this address before, until it was freed. If the call is meant "
            "for that one, its pointer is stale.",
            old->id);
}

/* One copy that reads what it writes. */
static void hazard_overlap(struct shadow_ref ref, const struct origin *origin)
{
    if (!report_begin("overlapping copy", origin, origin))
        return;
    report_text(
        "%s (%s) reads and writes the same bytes of allocation %u. The memory areas of a copy "
        "may not overlap.",
        origin->call, report_stream(origin), ref.id);
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_origin("copied", origin);
    report_advice(
        "copy through a second allocation, or in pieces no longer than the distance between "
        "the two places.");
    report_end(ref.id);
}

/* `b`: the block; `a`: what came earlier; `new`: what comes now, in the order of `s`. */
static void hazard_unordered(struct shadow_ref ref, const struct access *a,
                             const struct access *new, const struct stream *s)
{
    struct origin origin = new->origin;
    bool write = new->write;
    if (a->origin.slot == origin.slot && a->origin.seq == origin.seq) {
        hazard_overlap(ref, &origin);
        return;
    }
    if (!report_begin(write ? a->write ? "unordered writes" : "write not ordered after a read"
                            : "read not ordered after a write",
                      &a->origin, &origin))
        return;
    report_text(
        "%s (%s) and %s (%s) touch the same bytes of allocation %u, and nothing orders them.",
        origin.call, report_stream(&origin), a->origin.call, report_stream(&a->origin), ref.id);
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_origin(a->write ? "written" : "read", &a->origin);
    report_origin(write ? "written" : "read", &origin);
    report_missing_edge(&a->origin, &origin, new->at_call ? NULL : s);
    if (!happens_before(&ref.shadow->allocated_by, s, origin.seq))
        note_stale_pointer(ref, new->from);
    report_end(ref.id);
}

static void hazard_early_free(struct shadow_ref ref, const struct access *a,
                              const struct access *new, const struct stream *s)
{
    struct origin origin = new->origin;
    if (!report_begin("free before the use ends", &a->origin, &origin))
        return;
    report_text("%s (%s) frees allocation %u while %s (%s) may still be using it.", origin.call,
                report_stream(&origin), ref.id, a->origin.call, report_stream(&a->origin));
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_origin(a->write ? "written" : "read", &a->origin);
    report_origin("freed", &origin);
    report_missing_edge(&a->origin, &origin, s);
    if (!s && ref.shadow->allocated_by.slot == HOST_SLOT)
        report_note("a call that frees waits for the GPU that the memory is of, and for no other "
                    "GPU that uses it.");
    else if (!s)
        report_note(
            "for an allocation of a pool, cudaFree waits for nothing. cudaFreeAsync frees it in "
            "the order of a stream.");
    report_end(ref.id);
}

static void hazard_before_allocation(struct shadow_ref ref, const struct access *new,
                                     const struct stream *s, bool free)
{
    struct origin origin = new->origin;
    const struct origin *allocated_by = &ref.shadow->allocated_by;
    if (!report_begin(free ? "free before allocation" : "use before allocation", allocated_by,
                      &origin))
        return;
    report_text(
        "%s (%s) %s allocation %u, and nothing orders it after the call that allocates it (%s).",
        origin.call, report_stream(&origin), free ? "frees" : "uses", ref.id,
        report_stream(allocated_by));
    report_allocation(ref.id, ref.bytes, allocated_by);
    report_origin(free ? "freed" : "used", &origin);
    report_missing_edge(allocated_by, &origin, new->at_call ? NULL : s);
    note_stale_pointer(ref, new->from);
    report_end(ref.id);
}

/* Tells of each access that conflicts with the new one and does not come before it; true when there
 * is one. */
static bool check_conflicts(struct shadow_ref ref, const struct access *new, const struct stream *s,
                            void (*report)(struct shadow_ref, const struct access *,
                                           const struct access *, const struct stream *))
{
    uint32_t reported_slot = HOST_SLOT;
    /* The end of the block concerns a touch of it, too. */
    bool is_free = report == hazard_early_free;
    size_t count;
    struct access **near = access_tree_find(ref.shadow, new->from, new->to, &count);
    for (size_t i = 0; i < count; i++) {
        const struct access *a = near[i];
        bool conflict = (new->write || a->write) && a->from < new->to &&new->from < a->to;
        if (!(conflict || is_free) || happens_before(&a->origin, s, new->origin.seq))
            continue;
        if (a->origin.slot != reported_slot)
            report(ref, a, new, s);
        reported_slot = a->origin.slot;
    }
    return reported_slot != HOST_SLOT;
}

static void describe_late_use(const struct history *old, const struct origin *origin, bool write)
{
    report_text("%s (%s) %s allocation %u, which %s (%s) has freed.", origin->call,
                report_stream(origin), write ? "writes" : "reads", old->id, old->freed_by.call,
                report_stream(&old->freed_by));
    report_allocation(old->id, old->bytes, &old->allocated_by);
    report_origin("freed", &old->freed_by);
    report_origin("used", origin);
    report_late_use(&old->freed_by, origin);
}

/* A node was made for a block that is freed by now, and whose address is another's: a graph keeps
 * the pointers with which it was made. What a graph allocates has its address for good. */
static bool check_stale_node(struct shadow_ref ref, struct origin origin, size_t from, bool write)
{
    if (!origin.launch || ref.id <= origin.newest_allocation || ref.shadow->allocated_by.launch)
        return false;
    const struct history *old = history_find(ref.address + from, origin.newest_allocation);
    if (!old || !report_begin("use after free", &old->freed_by, &origin))
        return old != NULL;
    describe_late_use(old, &origin, write);
    report_note(
        "the node keeps the pointer with which it was made. That address is allocation %u's now.",
        ref.id);
    report_end(old->id);
    return true;
}

/* May the new access be made here? */
static void check_access(struct shadow_ref ref, struct origin origin, struct stream *s, size_t from,
                         size_t to, bool write, bool at_call)
{
    struct shadow *shadow = ref.shadow;
    struct access new = {
        .origin = origin, .from = from, .to = to, .write = write, .at_call = at_call};
    if (to > ref.bytes
        && report_begin("access outside the allocation", &shadow->allocated_by, &origin)) {
        report_text("%s (%s) touches bytes %zu to %zu of allocation %u, which has %zu.",
                    origin.call, report_stream(&origin), from, to - 1, ref.id, ref.bytes);
        report_allocation(ref.id, ref.bytes, &shadow->allocated_by);
        report_origin("used", &origin);
        report_advice("allocate as many bytes as are used, or use fewer. A device often does not "
                      "notice: what lies behind an allocation is another's, or nobody's.");
        note_stale_pointer(ref, from);
        report_end(ref.id);
    }
    bool reported = check_stale_node(ref, origin, from, write)
                 || (shadow->accesses && check_conflicts(ref, &new, s, hazard_unordered));
    if (!reported && !happens_before(&shadow->allocated_by, s, origin.seq))
        hazard_before_allocation(ref, &new, s, false);
}

void checker_used(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq,
                  size_t from, size_t to, bool write)
{
    if (!settings.check)
        return;
    struct shadow *shadow = ref.shadow;
    struct origin origin = checker_origin(call, s, seq);
    check_access(ref, origin, s, from, to, write, false);
    size_t count;
    struct access **near = access_tree_find(shadow, from, to, &count);
    for (size_t i = 0; i < count; i++) {
        struct access *a = near[i];
        bool covered = from <= a->from && a->to <= to;
        bool is_empty = a->from == a->to;
        if (covered && ((write && !is_empty) || (!a->write && happens_before(&a->origin, s, seq))))
            access_tree_remove(shadow, a);
    }
    add_access(shadow, (struct access){.origin = origin, .from = from, .to = to, .write = write});
    page_guard_used(ref, origin, from, to, write);
    if (shadow->ipc_ref)
        checker_ipc->used(ref, origin, s, from, to, write);
}

void checker_staged(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq,
                    size_t from, size_t to)
{
    if (settings.check)
        check_access(ref, checker_origin(call, s, seq), s, from, to, false, true);
}

void checker_copied(const struct call *call, struct shadow_ref ref, const struct stream *s,
                    uint64_t seq, size_t from, size_t to, bool write)
{
    if (settings.check)
        page_guard_copied(ref, checker_origin(call, s, seq), from, to, write);
}

void checker_used_unallocated(const struct call *call, const void *address, size_t bytes,
                              struct stream *s, uint64_t seq, bool write, struct shadow_ref before,
                              bool of_graph)
{
    if (!settings.check)
        return;
    struct origin origin = checker_origin(call, s, seq);
    const struct history *old = history_find(address, UINT32_MAX);
    if (!report_begin(old ? "use after free" : "use of memory that is not allocated",
                      old ? &old->freed_by : &origin, &origin))
        return;
    if (old) {
        describe_late_use(old, &origin, write);
    } else {
        report_text("%s (%s) %s %zu bytes at an address of the device where nothing is allocated.",
                    origin.call, report_stream(&origin), write ? "writes" : "reads", bytes);
        if (before.shadow)
            report_allocation(before.id, before.bytes, &before.shadow->allocated_by);
        report_origin("used", &origin);
        if (before.shadow)
            report_note(
                "allocation %u starts %zu bytes before the address. Is an offset too large, or "
                "counted twice, in ints and in bytes?",
                before.id, (size_t)((const char *)address - (const char *)before.address));
        report_advice(
            of_graph
                ? "the address belongs to an allocation node of a graph: use it behind "
                  "cudaGraphLaunch, in its stream or one that waits for it, and before it is freed."
                : "use only what cudaMallocAsync or cudaMalloc returned.");
    }
    report_end(old ? old->id : 0);
}

/* ---- free ---- */

static void check_free(const struct call *call, struct shadow_ref ref, struct stream *s,
                       uint64_t seq)
{
    struct origin origin = checker_origin(call, s, seq);
    struct access end = {.origin = origin, .to = SIZE_MAX, .write = true};
    bool reported = check_conflicts(ref, &end, s, hazard_early_free);
    if (!reported && !happens_before(&ref.shadow->allocated_by, s, seq))
        hazard_before_allocation(ref, &end, s, true);
    if (ref.shadow->ipc_ref)
        checker_ipc->freed(ref, origin, s);
    history_add(ref, origin);
}

void checker_freed(const struct call *call, struct shadow_ref ref, struct stream *s, uint64_t seq)
{
    if (settings.check) {
        check_free(call, ref, s, seq);
        page_guard_freed(ref, checker_origin(call, s, seq), s);
        access_tree_clear(ref.shadow);
    }
    if (ref.shadow->ipc_ref)
        checker_ipc->ended(call, ref.shadow, s, seq);
}

void checker_unregistered(const struct call *call, struct shadow_ref ref)
{
    if (!settings.check)
        return;
    struct access end = {.origin = checker_origin(call, NULL, 0), .to = SIZE_MAX, .write = true};
    check_conflicts(ref, &end, NULL, hazard_early_free);
    access_tree_clear(ref.shadow);
}

void checker_freed_unallocated(const struct call *call, const void *address, const struct stream *s,
                               const char *note)
{
    if (!settings.check)
        return;
    const struct history *old = history_find(address, UINT32_MAX);
    struct origin origin = checker_origin(call, s, 0);
    if (!old || old->address != address || !report_begin("double free", &old->freed_by, &origin))
        return;
    report_text("%s (%s) frees allocation %u a second time.", origin.call, report_stream(&origin),
                old->id);
    report_allocation(old->id, old->bytes, &old->allocated_by);
    report_origin("freed", &old->freed_by);
    report_origin("again", &origin);
    report_advice("free each allocation once: leave one of the two calls out.");
    report_note("%s", note);
    report_end(old->id);
}

/* ---- the end ---- */

void checker_leaked(struct shadow_ref ref)
{
    if (!settings.check
        || !report_begin("leak", &ref.shadow->allocated_by, &ref.shadow->allocated_by))
        return;
    report_text("allocation %u is still alive at the end of the program.", ref.id);
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    bool pinned = !strncmp(ref.shadow->allocated_by.call, "cudaMallocHost", 14)
               || !strncmp(ref.shadow->allocated_by.call, "cudaHost", 8);
    report_advice(
        pinned ? "cudaFreeHost, when no copy uses it any more."
        : ref.shadow->allocated_by.slot == HOST_SLOT
            ? "cudaFree."
            : "cudaFreeAsync, after its last use, in the same stream or in one that waits for it.");
    report_end(ref.id);
}
