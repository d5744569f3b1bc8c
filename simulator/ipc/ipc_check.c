/* The checker across processes. An access of another process comes before one of ours if an
 * interprocess event orders them, or if the host of any process has acquired it, because a program
 * that waits there, or sends a message from a host function, is correct. The simulation cannot see
 * messages, so it requires no more than that (assumed: no correct program is reported). For the
 * same reason, an access that is queued after an unfinished host function is neither reported nor
 * compared with, since that function may wait for the other process. An ended process orders
 * nothing, and no report is about its work. */
#include "ipc/ipc_check.h"

#include <stdio.h>

#include "base/settings.h"
#include "check/access_tree.h"
#include "check/late_launch.h"
#include "sched/happens_before.h"
#include "check/report.h"
#include "ipc/ipc_table.h"
#include "ipc/process_clock.h"
#include "os/os.h"
#include "os/process.h"

/* Makes an access to an allocation whose number in this process is `id`. */
static struct ipc_access make_access(const struct origin *origin, size_t from, size_t to,
                                     bool write, enum ipc_role role, uint32_t id)
{
    struct ipc_access access = {.process = process_clock_name(process_clock_own()),
                                .seq = origin->slot == HOST_SLOT ? 0 : origin->seq,
                                .from = from,
                                .to = to,
                                .slot = origin->slot == HOST_SLOT ? 0 : origin->slot,
                                .stream = origin->stream,
                                .import = role == IPC_IMPORTER ? id : 0,
                                .write = write,
                                .role = (uint8_t)role,
                                .code = os_code_of(origin->site)};
    snprintf(access.call, sizeof access.call, "%s", origin->call);
    return access;
}

/* Operation `seq` of a stream or, if `s` is NULL, what the host does now. `l` is NULL unless the
 * operation is a launch, whose accesses were found when it ran. */
struct operation {
    const struct stream *s;
    uint64_t seq;
    const struct late_launch *l;
};

/* Returns whether nothing that was done after the launch's call can have delayed it. */
static bool was_free_to_run(const struct late_launch *l) { return l && !l->obstacle.op; }

/* Returns the epoch up to which the work of a slot, here or elsewhere, comes before an operation.
 * For a launch, what hosts have acquired by now is left to may_be_ordered. */
static uint64_t ordered_before(struct process_clock *clock, uint32_t slot, const void *context)
{
    const struct operation *later = context;
    const struct stream *s = later->s;
    if (s && clock == process_clock_own() && slot == s->slot)
        return later->seq - 1;
    const struct vector_clock *vc = later->l ? &later->l->before
                                  : s        ? &s->ordering.happens_before
                                             : &host_acquired.clock;
    uint64_t by_order = remote_clock_epoch(vc, clock, slot),
             by_host = was_free_to_run(later->l) ? 0 : process_clock_acquired(clock, slot);
    return by_order > by_host ? by_order : by_host;
}

static bool is_of_ended(const struct ipc_access *access)
{
    return process_clock_is_over(process_clock_of(access->process));
}

/* Returns whether this process made the access. A process may import what it has exported. */
static bool is_in_this_process(const struct ipc_access *access)
{
    return access->process.process == os_process();
}

/* Returns whether the access may come after the launch `l` (or NULL), which is judged only when it
 * has run: the access was made later, and another process has waited for the launch. Whether a
 * stream of this process waits is unknown (assumed: it does). */
static bool may_follow(const struct ipc_access *access, const struct late_launch *l)
{
    return l && access->at >= l->made_at
        && (is_in_this_process(access) || process_clock_awaited(l->origin.slot) >= l->origin.seq);
}

/* Returns whether the operation may be ordered with an access that its vector clock does not
 * cover. An ended process orders nothing, but what it did after the launch is no less unordered. */
static bool may_be_ordered(const struct ipc_access *access, const struct late_launch *l)
{
    if (may_follow(access, l))
        return true;
    if (was_free_to_run(l) && access->at >= l->made_at)
        return false;
    return is_of_ended(access)
        || (l
            && access->seq
                   <= process_clock_acquired(process_clock_of(access->process), access->slot));
}

/* Returns "process 4711 (launch_fill, its stream 1)". */
static struct phrase describe_access(const struct ipc_access *access)
{
    struct phrase p;
    char stream[32] = "its host";
    if (access->stream == 0)
        snprintf(stream, sizeof stream, "its legacy stream");
    else if (access->stream == -1)
        snprintf(stream, sizeof stream, "a per-thread stream");
    else if (access->stream > 0)
        snprintf(stream, sizeof stream, "its stream %d", access->stream);
    char process[32] = "this process";
    if (!is_in_this_process(access))
        snprintf(process, sizeof process, "process %d", os_process_pid(access->process.process));
    snprintf(p.text, sizeof p.text, "%s (%.26s, %s)", process, access->call, stream);
    return p;
}

/* Adds the other access and its line, which is unknown if the process belongs to another user. */
static void report_access(struct ipc_access access)
{
    const char *what = access.kind == IPC_ALLOCATION ? "allocated"
                     : access.kind == IPC_FREE       ? "freed"
                     : access.write                  ? "written"
                                                     : "read";
    struct os_source_loc place = {.site = &access.code,
                                  .call = access.call,
                                  .process = os_process_pid(access.process.process)},
                         *places[] = {&place};
    access.call[sizeof access.call - 1] = '\0';
    os_source_lines(places, 1);
    report_text("\n  %-10s %s, at %s", what, describe_access(&access).text, place.text);
}

/* Begins a report. Only its text has the line of the other process's call, because finding that
 * takes long, so the kind of hazard takes its place. */
static bool begin_report(enum hazard kind, const struct origin *origin)
{
    struct origin other = {.call = hazard_name(kind)};
    return report_begin(kind, &other, origin);
}

/* Ends a report about an allocation with its places: what the other access was (NULL: there is
 * none), and that `origin` has "freed" the allocation. */
static void end_report(struct shadow_ref ref, const struct ipc_access *other, const char *has,
                       const struct origin *origin, const char *advice)
{
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    if (other)
        report_access(*other);
    report_origin(has, origin);
    report_advice(advice);
    report_end(ref.id);
}

static enum hazard unordered_kind(const struct ipc_access *earlier, bool write)
{
    bool here = is_in_this_process(earlier);
    if (earlier->kind == IPC_ALLOCATION)
        return here ? HAZARD_USE_BEFORE_ALLOCATION : HAZARD_USE_BEFORE_ANOTHER_PROCESS_ALLOCATION;
    if (!write)
        return here ? HAZARD_READ_NOT_ORDERED_AFTER_A_WRITE
                    : HAZARD_READ_AFTER_ANOTHER_PROCESS_WRITE;
    if (earlier->write)
        return here ? HAZARD_UNORDERED_WRITES : HAZARD_UNORDERED_WRITES_OF_TWO_PROCESSES;
    return here ? HAZARD_WRITE_NOT_ORDERED_AFTER_A_READ : HAZARD_WRITE_AFTER_ANOTHER_PROCESS_READ;
}

static void report_unordered(struct shadow_ref ref, const struct ipc_access *earlier,
                             const struct origin *origin, bool write)
{
    if (!begin_report(unordered_kind(earlier, write), origin))
        return;
    struct phrase other = describe_access(earlier);
    if (earlier->kind == IPC_ALLOCATION)
        report_text("%s (%s) uses allocation %u, and nothing orders it after the allocation by %s.",
                    origin->call, report_stream(origin).text, ref.id, other.text);
    else
        report_text(
            "%s (%s) and %s touch the same bytes of allocation %u, and nothing orders them.",
            origin->call, report_stream(origin).text, other.text, ref.id);
    end_report(
        ref, earlier, write ? "written" : "read", origin,
        is_in_this_process(earlier)
            ? "cudaEventRecord after the last such call of that stream, and cudaStreamWaitEvent "
              "before this one; two pointers to one allocation order nothing."
            : "in the other process, cudaEventRecord of an event made with cudaEventInterprocess "
              "after the last such call of that stream; send its handle (cudaIpcGetEventHandle); "
              "here cudaIpcOpenEventHandle and cudaStreamWaitEvent before this one. Or let the "
              "other process synchronize before it signals that the memory is ready.");
}

static void report_use_after_free(struct shadow_ref ref, const struct ipc_access *freed_by,
                                  const struct origin *origin)
{
    bool here = is_in_this_process(freed_by);
    if (!begin_report(here ? HAZARD_USE_AFTER_FREE : HAZARD_USE_AFTER_ANOTHER_PROCESS_FREE, origin))
        return;
    report_text("%s (%s) uses allocation %u, which %s has freed.", origin->call,
                report_stream(origin).text, ref.id, describe_access(freed_by).text);
    end_report(
        ref, freed_by, "used", origin,
        here ? "free the imported pointer first; then, ordered after that, free the exported "
               "one."
        : ref.shadow->kind == ALLOCATION_OPENED
            ? "close it here first (cudaIpcCloseMemHandle), then tell the other process, and only "
              "then free it there."
            : "free an imported allocation first here, then signal the other process "
              "(by an interprocess event that it waits for), and only then free it "
              "there.");
}

static void ipc_check_used(struct shadow_ref ref, struct origin origin, const struct stream *s,
                           size_t from, size_t to, bool write, const struct late_launch *l)
{
    uint32_t ipc_ref = ref.shadow->ipc_ref;
    enum ipc_role role = ipc_table_role(ipc_ref);
    if (s && stream_is_behind_function(s))
        return;
    struct ipc_allocation allocation = ipc_table_read_ref(ipc_ref);
    if (allocation.freed && !allocation.freed_by.behind_host_func && role == IPC_IMPORTER
        && !may_follow(&allocation.freed_by, l))
        report_use_after_free(ref, &allocation.freed_by, &origin);
    struct ipc_access access = make_access(&origin, from, to, write, role, ref.id);
    access.at = l ? l->made_at : os_clock_us();
    struct operation later = {s, origin.seq, l};
    struct ipc_accesses earlier = ipc_table_unordered(ipc_ref, &access, ordered_before, &later);
    for (uint32_t i = 0; i < earlier.count; i++)
        if (!may_be_ordered(&earlier.list[i], l))
            report_unordered(ref, &earlier.list[i], &origin, write);
    if (access.seq)
        ipc_table_add_access(ipc_ref, &access);
}

/* Returns whether this is the process's memory of cudaMalloc, which others open and close. */
static bool is_of_malloc(struct shadow_ref ref) { return ref.shadow->kind == ALLOCATION_AT_CALL; }

/* Reports that the exporter frees an allocation while another process has it imported. */
static void report_held_free(struct shadow_ref ref, uint64_t importer, const struct origin *origin)
{
    bool here = importer == os_process();
    if (!begin_report(here ? HAZARD_FREE_WHILE_THIS_PROCESS_IMPORTS
                           : HAZARD_FREE_WHILE_ANOTHER_PROCESS_HOLDS,
                      origin))
        return;
    report_text("%s (%s) frees allocation %u, which ", origin->call, report_stream(origin).text,
                ref.id);
    if (here)
        report_text("this process itself has imported and not freed.");
    else
        report_text("process %d has %s.", os_process_pid(importer),
                    is_of_malloc(ref) ? "opened and not closed" : "imported and not freed");
    end_report(ref, NULL, "freed", origin,
               here ? "free the pointer that cudaMemPoolImportPointer returned first, in this "
                      "stream or in one that it waits for."
               : is_of_malloc(ref)
                   ? "let the other process call cudaIpcCloseMemHandle and say so in a message; "
                     "free it after that."
                   : "let the other process call cudaFreeAsync and record an interprocess event "
                     "after it; make this stream wait for that event before it frees.");
}

/* Called when the exporter frees. Reports an importer that has not freed (documented: each
 * must). */
static void check_importers(struct shadow_ref ref, const struct origin *origin)
{
    struct ipc_processes importers = ipc_table_importers(ref.shadow->ipc_ref);
    for (uint32_t i = 0; i < importers.count; i++)
        if (os_process_alive(importers.list[i]))
            report_held_free(ref, importers.list[i], origin);
}

/* Reports that the exporter's free is not ordered after a use or free by another process. */
static void report_early_free(struct shadow_ref ref, const struct ipc_access *earlier,
                              const struct origin *origin)
{
    bool here = is_in_this_process(earlier);
    if (!begin_report(here ? HAZARD_FREE_BEFORE_THE_USE_ENDS
                           : HAZARD_FREE_BEFORE_ANOTHER_PROCESS_USE_ENDS,
                      origin))
        return;
    struct phrase other = describe_access(earlier);
    if (earlier->kind == IPC_FREE)
        report_text("%s (%s) frees allocation %u, and nothing orders it after the free by %s.",
                    origin->call, report_stream(origin).text, ref.id, other.text);
    else
        report_text("%s (%s) frees allocation %u while %s may still be using it.", origin->call,
                    report_stream(origin).text, ref.id, other.text);
    end_report(ref, earlier, "freed", origin,
               here ? "cudaEventRecord after the last such call of that stream, and "
                      "cudaStreamWaitEvent before this one."
               : is_of_malloc(ref)
                   ? "let the other process wait for that work, call cudaIpcCloseMemHandle, and "
                     "say so in a message; free it after that."
                   : "let the other process record an interprocess event after its "
                     "cudaFreeAsync, and make this stream wait for it before it frees.");
}

static void ipc_check_freed(struct shadow_ref ref, struct origin origin, const struct stream *s)
{
    uint32_t ipc_ref = ref.shadow->ipc_ref;
    if (ipc_table_role(ipc_ref) == IPC_IMPORTER || (s && stream_is_behind_function(s)))
        return;
    check_importers(ref, &origin);
    struct ipc_access free_access = make_access(&origin, 0, 0, true, IPC_EXPORTER, ref.id);
    free_access.kind = IPC_FREE;
    struct operation later = {s, origin.seq, NULL};
    struct ipc_accesses earlier =
        ipc_table_unordered(ipc_ref, &free_access, ordered_before, &later);
    for (uint32_t i = 0; i < earlier.count; i++)
        if (!is_of_ended(&earlier.list[i]))
            report_early_free(ref, &earlier.list[i], &origin);
}

void ipc_check_exported(struct shadow_ref ref)
{
    if (!settings.check)
        return;
    uint32_t ipc_ref = ref.shadow->ipc_ref;
    struct ipc_access allocation =
        make_access(&ref.shadow->allocated_by, 0, ref.bytes, true, IPC_EXPORTER, ref.id);
    allocation.kind = IPC_ALLOCATION;
    if (allocation.seq)
        ipc_table_add_access(ipc_ref, &allocation);
    struct access_list all = {NULL, 0, 0};
    access_tree_find(ref.shadow, 0, SIZE_MAX, true, &all);
    for (size_t i = all.count; i-- > 0;) {
        const struct access *a = all.items[i];
        struct ipc_access access =
            make_access(&a->origin, a->from, a->to, a->write, IPC_EXPORTER, ref.id);
        if (access.seq)
            ipc_table_add_access(ipc_ref, &access);
    }
    access_list_clear(&all);
}

void ipc_check_ended(const struct call *call, struct shadow_ref ref, const struct stream *s,
                     uint64_t seq)
{
    struct shadow *shadow = ref.shadow;
    if (!shadow->ipc_ref)
        return;
    struct origin origin = checker_origin(call, s, seq);
    struct ipc_access free_access =
        make_access(&origin, 0, 0, true, ipc_table_role(shadow->ipc_ref), ref.id);
    free_access.kind = IPC_FREE;
    free_access.at = os_clock_us();
    free_access.behind_host_func = s && stream_is_behind_function(s);
    if (ipc_table_role(shadow->ipc_ref) == IPC_IMPORTER) {
        /* Documented: the importer's free must be over before the exporter's. */
        if (settings.check && free_access.seq && !free_access.behind_host_func)
            ipc_table_add_access(shadow->ipc_ref, &free_access);
        ipc_table_remove_importer(shadow->ipc_ref);
    } else {
        ipc_table_set_freed(shadow->ipc_ref, free_access);
    }
    shadow->ipc_ref = 0;
}

void ipc_check_imported_freed(const struct call *call, uint32_t ipc_ref)
{
    struct origin origin = call->origin;
    struct ipc_allocation allocation = ipc_table_read_ref(ipc_ref);
    if (!settings.check || allocation.freed_by.behind_host_func
        || !begin_report(is_in_this_process(&allocation.freed_by)
                             ? HAZARD_IMPORT_AFTER_THE_FREE
                             : HAZARD_IMPORT_AFTER_ANOTHER_PROCESS_FREE,
                         &origin))
        return;
    report_text("%s imports an allocation that %s has freed.", origin.call,
                describe_access(&allocation.freed_by).text);
    report_access(allocation.freed_by);
    report_origin("imported", &origin);
    report_advice(
        "the process that exported the allocation may free it only after each importer has "
        "imported it, used it, and freed or closed it.");
    report_end(0);
}

void ipc_check_start(void)
{
    static const struct checker_ipc calls = {ipc_check_used, ipc_check_freed, ipc_check_ended};
    checker_ipc = &calls;
}
