/* The checker across processes. An access of another process comes before one of ours when an
 * interprocess event puts it there, or when that process's host has acquired it: a program that
 * waits there, or sends a message from a host function, is correct. How messages travel is not
 * seen, so more than that is not required (assumed: no correct program is reported). For the same
 * reason an access that is queued behind a host function which has not returned is neither reported
 * nor compared with: that function may wait for the other process. A process that has ended orders
 * nothing, and nothing is reported of it. */
#include "ipc/ipc_check.h"

#include <stdio.h>

#include "base/settings.h"
#include "check/access_tree.h"
#include "sched/happens_before.h"
#include "check/report.h"
#include "ipc/ipc_table.h"
#include "ipc/remote_clock.h"
#include "os/process.h"

static struct ipc_access make_access(const struct origin *origin, size_t from, size_t to,
                                     bool write, enum ipc_role role)
{
    struct ipc_access access = {.process = os_process(),
                                .seq = origin->slot == HOST_SLOT ? 0 : origin->seq,
                                .from = from,
                                .to = to,
                                .slot = origin->slot == HOST_SLOT ? 0 : origin->slot,
                                .stream = origin->stream,
                                .write = write,
                                .role = (uint8_t)role};
    snprintf(access.call, sizeof access.call, "%s", origin->call);
    return access;
}

/* Returns whether the other process's access comes before operation `seq` of `s`; NULL: before what
 * the host does now. */
static bool remote_happens_before(uint32_t ipc_ref, const struct ipc_access *earlier,
                                  const struct stream *s, uint64_t seq)
{
    uint32_t slot = remote_clock_slot(earlier->process, earlier->slot);
    const struct vector_clock *vc = s ? &s->ordering.happens_before : host_vector_clock();
    if (!earlier->seq || vc_includes(vc, slot, earlier->seq))
        return true;
    if (s && slot == s->slot)
        return earlier->seq < seq;
    return ipc_table_access_is_over(ipc_ref, earlier);
}

/* A process may import what it has exported itself; then both are in one process. */
static bool is_in_this_process(const struct ipc_access *access)
{
    return access->process == os_process();
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
        snprintf(process, sizeof process, "process %d", os_process_pid(access->process));
    snprintf(p.text, sizeof p.text, "%s (%.26s, %s)", process, access->call, stream);
    return p;
}

/* The other process's call has no location in a source here: the kind stands for it. */
static bool begin_report(const char *kind, const struct origin *origin)
{
    struct origin other = {.call = kind};
    return report_begin(kind, &other, origin);
}

/* Returns whether it is an access of this process through this pointer, which is check/'s
 * business. */
static bool is_own_access(const struct ipc_access *access, enum ipc_role role)
{
    return !access->process || (access->process == os_process() && access->role == role);
}

static const char *unordered_kind(const struct ipc_access *earlier, bool write)
{
    bool here = is_in_this_process(earlier);
    if (earlier->allocation)
        return here ? "use before allocation" : "use before another process's allocation";
    if (!write)
        return here ? "read not ordered after a write"
                    : "read not ordered after another process's write";
    if (earlier->write)
        return here ? "unordered writes" : "unordered writes of two processes";
    return here ? "write not ordered after a read"
                : "write not ordered after another process's read";
}

static void report_unordered(struct shadow_ref ref, const struct ipc_access *earlier,
                             const struct origin *origin, bool write)
{
    if (!begin_report(unordered_kind(earlier, write), origin))
        return;
    struct phrase other = describe_access(earlier);
    if (earlier->allocation)
        report_text("%s (%s) uses allocation %u, and nothing orders it after the allocation by %s.",
                    origin->call, report_stream(origin).text, ref.id, other.text);
    else
        report_text(
            "%s (%s) and %s touch the same bytes of allocation %u, and nothing orders them.",
            origin->call, report_stream(origin).text, other.text, ref.id);
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_origin(write ? "written" : "read", origin);
    report_advice(
        is_in_this_process(earlier)
            ? "cudaEventRecord after that call, in its stream, and cudaStreamWaitEvent before this "
              "one; two pointers to one allocation order nothing."
            : "in the other process, cudaEventRecord of an event made with cudaEventInterprocess "
              "after that call; send its handle (cudaIpcGetEventHandle); here "
              "cudaIpcOpenEventHandle and cudaStreamWaitEvent before this one. Or let the other "
              "process synchronize before it signals that the memory is ready.");
    report_end(ref.id);
}

static void report_use_after_free(struct shadow_ref ref, const struct ipc_access *freed_by,
                                  const struct origin *origin)
{
    bool here = is_in_this_process(freed_by);
    if (!begin_report(here ? "use after free" : "use after another process's free", origin))
        return;
    report_text("%s (%s) uses allocation %u, which %s has freed.", origin->call,
                report_stream(origin).text, ref.id, describe_access(freed_by).text);
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_origin("used", origin);
    report_advice(
        here ? "free the imported pointer first; then, ordered after that, free the exported "
               "one."
             : "free an imported allocation first here, then signal the other process "
               "(by an interprocess event that it waits for), and only then free it "
               "there.");
    report_end(ref.id);
}

/* Of no bytes (a prefetch, a gate) nothing overlaps. */
static bool overlaps(const struct ipc_access *a, size_t from, size_t to)
{
    return a->from < to && from < a->to && a->from != a->to && from != to;
}

static void ipc_check_used(struct shadow_ref ref, struct origin origin, const struct stream *s,
                           size_t from, size_t to, bool write)
{
    uint32_t ipc_ref = ref.shadow->ipc_ref;
    enum ipc_role role = ipc_table_role(ipc_ref);
    if (s && stream_is_behind_function(s))
        return;
    struct ipc_allocation allocation = ipc_table_read_ref(ipc_ref);
    if (allocation.freed && !allocation.freed_by.behind_host_func && role == IPC_IMPORTER)
        report_use_after_free(ref, &allocation.freed_by, &origin);
    for (int i = 0; i < IPC_TABLE_ACCESSES; i++) {
        const struct ipc_access *a = &allocation.accesses[i];
        if (is_own_access(a, role) || (!write && !a->write) || !overlaps(a, from, to))
            continue;
        if (!remote_happens_before(ipc_ref, a, s, origin.seq))
            report_unordered(ref, a, &origin, write);
    }
    ipc_table_add_access(ipc_ref, make_access(&origin, from, to, write, role));
}

/* Reports that the exporter's allocation is freed while a process has it imported. */
static void report_held_free(struct shadow_ref ref, uint64_t importer, const struct origin *origin)
{
    bool here = importer == os_process();
    if (!begin_report(here ? "free while this process holds an import of the allocation"
                           : "free while another process holds the allocation",
                      origin))
        return;
    report_text("%s (%s) frees allocation %u, which ", origin->call, report_stream(origin).text,
                ref.id);
    if (here)
        report_text("this process itself has imported and not freed.");
    else
        report_text("process %d has imported and not freed.", os_process_pid(importer));
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_origin("freed", origin);
    report_advice(here
                      ? "free the pointer that cudaMemPoolImportPointer returned first, in this "
                        "stream or in one that it waits for."
                      : "let the other process call cudaFreeAsync and record an interprocess event "
                        "after it; make this stream wait for that event before it frees.");
    report_end(ref.id);
}

/* The exporter frees. Documented: each importer must have freed before. One that has not is
 * reported. */
static void check_importers(struct shadow_ref ref, const struct ipc_allocation *allocation,
                            const struct origin *origin)
{
    for (int i = 0; i < IPC_TABLE_IMPORTERS; i++) {
        uint64_t importer = allocation->importers[i];
        if (importer && os_process_alive(importer))
            report_held_free(ref, importer, origin);
    }
}

/* Reports that nothing orders the exporter's free after another process's use or free. */
static void report_early_free(struct shadow_ref ref, const struct ipc_access *earlier,
                              const struct origin *origin)
{
    bool here = is_in_this_process(earlier);
    if (!begin_report(here ? "free before the use ends" : "free before another process's use ends",
                      origin))
        return;
    struct phrase other = describe_access(earlier);
    if (earlier->importer_free)
        report_text("%s (%s) frees allocation %u, and nothing orders it after the free by %s.",
                    origin->call, report_stream(origin).text, ref.id, other.text);
    else
        report_text("%s (%s) frees allocation %u while %s may still be using it.", origin->call,
                    report_stream(origin).text, ref.id, other.text);
    report_allocation(ref.id, ref.bytes, &ref.shadow->allocated_by);
    report_origin("freed", origin);
    report_advice(here ? "cudaEventRecord after that call, in its stream, and cudaStreamWaitEvent "
                         "before this one."
                       : "let the other process record an interprocess event after its "
                         "cudaFreeAsync, and make this stream wait for it before it frees.");
    report_end(ref.id);
}

static void ipc_check_freed(struct shadow_ref ref, struct origin origin, const struct stream *s)
{
    uint32_t ipc_ref = ref.shadow->ipc_ref;
    if (ipc_table_role(ipc_ref) == IPC_IMPORTER || (s && stream_is_behind_function(s)))
        return;
    struct ipc_allocation allocation = ipc_table_read_ref(ipc_ref);
    check_importers(ref, &allocation, &origin);
    for (int i = 0; i < IPC_TABLE_ACCESSES; i++) {
        const struct ipc_access *a = &allocation.accesses[i];
        if (!is_own_access(a, IPC_EXPORTER) && !remote_happens_before(ipc_ref, a, s, origin.seq))
            report_early_free(ref, a, &origin);
    }
}

void ipc_check_exported(struct shadow_ref ref)
{
    if (!settings.check)
        return;
    uint32_t ipc_ref = ref.shadow->ipc_ref;
    struct ipc_access allocation =
        make_access(&ref.shadow->allocated_by, 0, ref.bytes, true, IPC_EXPORTER);
    allocation.allocation = true;
    if (allocation.seq)
        ipc_table_add_access(ipc_ref, allocation);
    struct access_list all = {NULL, 0, 0};
    access_tree_find(ref.shadow, 0, SIZE_MAX, true, &all);
    /* The newest comes last, so that it stays. */
    for (size_t i = all.count; i-- > 0;) {
        const struct access *a = all.items[i];
        ipc_table_add_access(ipc_ref,
                             make_access(&a->origin, a->from, a->to, a->write, IPC_EXPORTER));
    }
    access_list_clear(&all);
}

void ipc_check_ended(const struct call *call, struct shadow *shadow, const struct stream *s,
                     uint64_t seq)
{
    if (!shadow->ipc_ref)
        return;
    struct origin origin = checker_origin(call, s, seq);
    struct ipc_access free_access =
        make_access(&origin, 0, 0, true, ipc_table_role(shadow->ipc_ref));
    free_access.behind_host_func = s && stream_is_behind_function(s);
    if (ipc_table_role(shadow->ipc_ref) == IPC_IMPORTER) {
        /* Documented: the importer's free must be over before the exporter's. */
        free_access.importer_free = true;
        if (settings.check && free_access.seq && !free_access.behind_host_func)
            ipc_table_add_access(shadow->ipc_ref, free_access);
        ipc_table_set_importing(shadow->ipc_ref, false);
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
                             ? "import after the free"
                             : "import after another process's free",
                         &origin))
        return;
    report_text("%s imports an allocation that %s has freed.", origin.call,
                describe_access(&allocation.freed_by).text);
    report_advice(
        "the process that exported the allocation may free it only after each importer has "
        "imported it, used it and freed it.");
    report_end(0);
}

void ipc_check_start(void)
{
    static const struct checker_ipc calls = {ipc_check_used, ipc_check_freed, ipc_check_ended};
    checker_ipc = &calls;
}
