/* The checker across the border. A deed of another process comes before one of ours when an interprocess event puts it there, or when that process's
 * host knew it to be over: a program that waits there, or sends a message from a host function, is right. How messages travel is not seen, so more than
 * that is not asked (chosen: no right program is accused). For the same reason a deed that is queued behind a host function which has not returned
 * neither accuses nor is accused: that function may wait for the other process. A process that has ended orders nothing and is accused of nothing. */
#include "ipc/ipc_check.h"

#include <stdio.h>
#include <string.h>

#include "ipc/remote_clock.h"
#include "check/access_tree.h"
#include "ipc/ipc_table.h"
#include "os/process.h"
#include "check/report.h"
#include "base/settings.h"

static struct border_deed border_deed_of(const struct deed *d, size_t from, size_t to, bool write, uint8_t side)
{
    struct border_deed b = { .process = host_process(), .number = d->lane == HOST_LANE ? 0 : d->number, .from = from, .to = to,
                             .lane = d->lane == HOST_LANE ? 0 : d->lane, .stream = d->stream, .write = write, .side = side };
    snprintf(b.call, sizeof b.call, "%s", d->call);
    return b;
}

/* Does the other process's deed come before work `number` of `s` (NULL: before what the host does now)? */
static bool is_before(uint32_t shared, const struct border_deed *earlier, const struct stream *s, uint64_t number)
{
    uint32_t lane = abroad_lane(earlier->process, earlier->lane);
    const struct order *known = s ? &s->known.everything : host_knowledge();
    if (!earlier->number || order_covers(known, lane, earlier->number)) return true;
    if (s && lane == s->lane) return earlier->number < number;
    return border_is_over(shared, earlier);
}

/* "process 4711 (launch_fill, stream 1)" */
static const char *name_of(const struct border_deed *d, char *buffer, size_t size)
{
    char stream[32] = "its host";
    if (d->stream == 0) snprintf(stream, sizeof stream, "its legacy stream");
    else if (d->stream == -1) snprintf(stream, sizeof stream, "a per-thread stream");
    else if (d->stream > 0) snprintf(stream, sizeof stream, "its stream %d", d->stream);
    snprintf(buffer, size, "process %d (%.26s, %s)", host_process_pid(d->process), d->call, stream);
    return buffer;
}

static bool begin(const char *kind, const struct deed *by)
{
    struct deed other = { .call = kind };          /* its place in a source is not known here */
    return report_begin(kind, &other, by);
}

/* Deeds by our own hand, through this pointer, are the checker's own business. */
static bool is_ours(const struct border_deed *d, uint8_t side) { return !d->process || (d->process == host_process() && d->side == side); }

static void tell_unordered(struct watched b, const struct border_deed *a, const struct deed *by, bool write)
{
    char other[96];
    const char *kind = a->allocation ? "use before another process's allocation" : !write ? "read not ordered after another process's write"
                       : a->write ? "unordered writes of two processes" : "write not ordered after another process's read";
    name_of(a, other, sizeof other);
    if (!begin(kind, by)) return;
    if (a->allocation) report_text("%s (%s) uses block %u, and nothing orders it after the allocation by %s.", by->call, report_stream(by), b.id, other);
    else report_text("%s (%s) and %s touch the same bytes of block %u, and nothing orders them.", by->call, report_stream(by), other, b.id);
    report_block(b.id, b.bytes, &b.watch->allocated);
    report_deed(write ? "written" : "read", by);
    report_advice("in the other process, cudaEventRecord of an event made with cudaEventInterprocess after that call; send its handle (cudaIpcGetEventHandle); here "
                  "cudaIpcOpenEventHandle and cudaStreamWaitEvent before this one. Or let the other process synchronise before it says that the memory is ready.");
    report_end(b.id);
}

static void tell_freed(struct watched b, const struct border_deed *freeing, const struct deed *by)
{
    char other[96];
    if (!begin("use after another process's free", by)) return;
    report_text("%s (%s) uses block %u, which %s has freed.", by->call, report_stream(by), b.id, name_of(freeing, other, sizeof other));
    report_block(b.id, b.bytes, &b.watch->allocated);
    report_deed("used", by);
    report_advice("free an imported block first here, then tell the other process (by an interprocess event that it waits for), and only then free it there.");
    report_end(b.id);
}

void checker_border_used(struct watched b, struct deed by, const struct stream *s, size_t from, size_t to, bool write)
{
    uint32_t shared = b.watch->shared;
    uint8_t side = border_side(shared);
    if (s && stream_is_behind_function(s)) return;
    struct border_block k = border_look_at(shared);
    if (k.freed && !k.freeing.undecided && side == 2) tell_freed(b, &k.freeing, &by);
    for (int i = 0; i < BORDER_ACCESSES; i++) {
        const struct border_deed *a = &k.accesses[i];
        if (is_ours(a, side) || (!write && !a->write) || a->from >= to || from >= a->to) continue;
        if (!is_before(shared, a, s, by.number)) tell_unordered(b, a, &by, write);
    }
    border_add(shared, border_deed_of(&by, from, to, write, side));
}

/* The exporter frees: documented, each importer must have freed before. */
static void check_holders(struct watched b, const struct border_block *k, const struct deed *by)
{
    for (int i = 0; i < BORDER_HOLDERS; i++) {
        if (!k->holders[i] || !host_process_alive(k->holders[i]) || !begin("free while another process holds the block", by)) continue;
        report_text("%s (%s) frees block %u, which process %d has imported and not freed.", by->call, report_stream(by), b.id, host_process_pid(k->holders[i]));
        report_block(b.id, b.bytes, &b.watch->allocated);
        report_deed("freed", by);
        report_advice("let the other process call cudaFreeAsync and record an interprocess event after it; make this stream wait for that event before it frees.");
        report_end(b.id);
        return;
    }
}

void checker_border_freed(struct watched b, struct deed by, const struct stream *s)
{
    char other[96];
    uint32_t shared = b.watch->shared;
    if (border_side(shared) == 2 || (s && stream_is_behind_function(s))) return;
    struct border_block k = border_look_at(shared);
    check_holders(b, &k, &by);
    for (int i = 0; i < BORDER_ACCESSES; i++) {
        const struct border_deed *a = &k.accesses[i];
        if (is_ours(a, 1) || is_before(shared, a, s, by.number) || !begin("free before another process's use ends", &by)) continue;
        if (a->release) report_text("%s (%s) frees block %u, and nothing orders it after the free by %s.", by.call, report_stream(&by), b.id, name_of(a, other, sizeof other));
        else report_text("%s (%s) frees block %u while %s may still be using it.", by.call, report_stream(&by), b.id, name_of(a, other, sizeof other));
        report_block(b.id, b.bytes, &b.watch->allocated);
        report_deed("freed", &by);
        report_advice("let the other process record an interprocess event after its cudaFreeAsync, and make this stream wait for it before it frees.");
        report_end(b.id);
    }
}

void checker_border_exported(struct watched b)
{
    if (!settings.check) return;
    uint32_t shared = b.watch->shared;
    struct border_deed made = border_deed_of(&b.watch->allocated, 0, b.bytes, true, 1);
    made.allocation = true;
    if (made.number) border_add(shared, made);
    size_t count;
    struct access **all = accesses_near(b.watch, 0, SIZE_MAX, &count);
    while (count--) border_add(shared, border_deed_of(&all[count]->by, all[count]->from, all[count]->to, all[count]->write, 1));    /* the newest stays */
}

void checker_border_ended(struct watch *w, const struct stream *s, uint64_t number)
{
    if (!w->shared) return;
    struct deed by = checker_deed(s, number);
    struct border_deed end = border_deed_of(&by, 0, 0, true, border_side(w->shared));
    end.undecided = s && stream_is_behind_function(s);
    if (border_side(w->shared) == 2) {
        end.release = true;            /* documented: the importer's free must be over before the exporter's */
        if (settings.check && end.number && !end.undecided) border_add(w->shared, end);
        border_hold(w->shared, false);
    } else {
        border_freed(w->shared, end);
    }
    w->shared = 0;
}

void checker_border_gone(uint32_t shared)
{
    char other[96];
    struct deed by = checker_caller();
    struct border_block k = border_look_at(shared);
    if (!settings.check || k.freeing.undecided || !begin("import after another process's free", &by)) return;
    report_text("%s imports a block that %s has freed.", by.call, name_of(&k.freeing, other, sizeof other));
    report_advice("the process that exported the block may free it only after each importer has imported it, used it and freed it.");
    report_end(0);
}
