/* The timeline: a discrete-event model. Of all streams' heads, the one that ends first ends next; its effect on memory happens then.
 *
 * Rules (chosen, unless said): streams run side by side and do not slow each other; an idle device gets new work after LATENCY; what the
 * host sees at a time is what has ended by that time. A hold ends when the host's call finds its gate open, a wait for another process
 * when the host's call finds that it is over. A host function runs on a thread of its own; the host's clock stands while it runs, unless it waits for the
 * host or takes long. One that has waited, and need not any more, goes on before the host's next call does: so a run with host functions is reproducible too. */
#include "sched/engine.h"

#include "sched/virtual_time.h"
#include "mem/device.h"
#include "sched/cost.h"
#include "base/fatal.h"
#include "os/os.h"
#include "base/journal.h"
#include "base/settings.h"

#include <stdio.h>

static time_ns present;                /* when what ended last ended */
static struct stream **active;         /* the streams that have work */
static uint32_t count, capacity;
static uint64_t gate_checks;
static bool function_ended;            /* since the last timeline_function_ended */

void timeline_add(struct stream *s)
{
    if (count == capacity) {
        capacity = capacity ? 2 * capacity : 16;
        active = host_grow(active, capacity * sizeof *active);
    }
    active[count++] = s;
    s->active_at = count;
}

static void remove_stream(struct stream *s)
{
    struct stream *last = active[--count];
    active[s->active_at - 1] = last;
    last->active_at = s->active_at;
    s->active_at = 0;
}

bool timeline_busy(void) { return count != 0; }

bool timeline_function_ended(void)
{
    bool ended = function_ended;
    function_ended = false;
    return ended;
}

/* ---- host functions: each runs on a thread of its own, taken from those that have nothing to do ---- */

/* Microseconds after which a function is taken to wait for the host (chosen): of processor time, or of real time if it is asleep for a time of its own. */
#define COMPUTING 500000
#define DOZING    750000

struct worker {
    struct op     *op;
    int            thread;
    bool           is_over;            /* the function has returned, and its thread comes for the lock */
    uint64_t       used_most, dozes_until;
    struct worker *next, *next_idle;
};

static struct worker *workers, *idle_workers;
static unsigned waits_for_functions;
static _Thread_local bool in_host_function;

bool timeline_in_host_function(void) { return in_host_function; }

static void worker_main(void *argument)
{
    struct worker *self = argument;
    in_host_function = true;
    host_lock();
    self->thread = host_thread_id();
    for (;;) {
        while (!self->op) host_sleep(1000000);
        struct op *op = self->op;
        host_unlock();
        op->function(op->argument);
        __atomic_store_n(&self->is_over, true, __ATOMIC_SEQ_CST);
        host_lock();
        op->returned = true;
        self->op = NULL;
        self->next_idle = idle_workers;
        idle_workers = self;
        host_wake();
    }
}

bool timeline_waits_for_function(void) { return waits_for_functions != 0; }

/* Does the function wait for something that the host has yet to do, also in a loop? As far as can be seen. */
static bool waits_for_host(struct worker *w)
{
    if (!w->thread) return false;
    uint64_t used = host_thread_used(w->thread);
    if (!w->used_most) w->used_most = used + COMPUTING;
    bool waits = used > w->used_most || (host_thread_asleep(w->thread) && (!host_thread_dozes(w->thread) || host_clock() > w->dozes_until));
    return waits && !__atomic_load_n(&w->is_over, __ATOMIC_SEQ_CST);          /* last: then it may sleep because it waits for the lock */
}

static struct worker *take_worker(struct op *op)
{
    struct worker *w = idle_workers;
    if (w) idle_workers = w->next_idle;
    else w = host_allocate(sizeof *w);
    bool is_new = !w->thread;
    *w = (struct worker){ .op = op, .thread = w->thread, .dozes_until = host_clock() + DOZING, .next = w->next };
    if (!is_new) return w;
    w->next = workers;
    workers = w;
    host_start_thread(worker_main, w);
    return w;
}

/* Starts the function; returns when it has returned, or when it waits for the host. */
static void run_host_function(struct op *op)
{
    op->dispatched = true;
    record_host_knows_before(op->record);       /* whatever the program's threads now do may come from this function (chosen: see check/checker.h) */
    struct worker *w = take_worker(op);
    uint64_t turn = op->turn;          /* once the function has returned another thread may end the op, and its memory serves again */
    host_wake();
    waits_for_functions++;
    for (int waiting = 0; w->op == op && op->turn == turn;) {
        op->was_blocked = waiting == 3;
        if (op->was_blocked) break;
        host_sleep(500);
        waiting = waits_for_host(w) ? waiting + 1 : 0;
    }
    waits_for_functions--;
}

void timeline_let_functions_go_on(void)
{
    for (struct worker *w = workers; w; w = w->next)
        while (w->op && w->op->was_blocked && !waits_for_host(w)) host_sleep(200);
}

/* ---- one head ---- */

static bool is_satisfied(const struct op *wait)
{
    return wait->record ? wait->record->done : wait->other->done >= wait->other_number;
}

/* Finds out when the head starts and ends, as far as that can be known. */
static void look_at(struct op *op)
{
    struct stream *s = op->stream;
    if (op->start == TIME_UNKNOWN) {
        if (op->kind == OP_WAIT && !is_satisfied(op)) return;
        time_ns arrival = op->issued + (settings.pace == PACE_INSTANT || op->kind == OP_MARK || op->kind == OP_WAIT || op->kind == OP_OUTSIDE ? 0 : LATENCY);
        op->start = time_max(arrival, s->free_at);
        if (op->kind == OP_WAIT) op->start = time_max(op->start, op->record ? op->record->finish : present);
        if (op->kind != OP_HOLD && op->kind != OP_HOST && op->kind != OP_OUTSIDE) op->finish = op->start + op->duration;
    }
    if (op->kind == OP_HOLD && op->finish == TIME_UNKNOWN && __atomic_load_n(op->gate, __ATOMIC_SEQ_CST)) op->finish = time_max(op->start, clock_now());
    if (op->kind == OP_OUTSIDE && op->finish == TIME_UNKNOWN && op->outside(op)) op->finish = time_max(op->start, clock_now());
    if (op->kind == OP_HOST && op->returned && op->finish == TIME_UNKNOWN)
        op->finish = op->was_blocked ? time_max(op->start + op->duration, clock_now()) : op->start + op->duration;
}

static void complete(struct op *op)
{
    struct stream *s = op->stream;
    if (op->kind == OP_RECORD) {
        op->record->done = true;
        op->record->finish = op->finish;
    }
    if (op->kind == OP_HOST) {
        /* measured: to the pools, a host function that has run is a synchronise of its stream (probe-answers.txt) */
        if (s->synchronised < op->number) s->synchronised = op->number;
        function_ended = true;
    }
    /* documented (cudaErrorIllegalAddress): the process must end before more work is done */
    if (op->effect && !device_faulted()) op->effect(op);
    if (op->name) {
        journal_did("run");
        stream_journal(s);
        journal_text("op", op->name);
        if (op->block) journal_number("block", op->block);
        if (op->bytes) journal_number("bytes", op->bytes);
        journal_number("start", op->start);
        journal_number("finish", op->finish);
        journal_did_end(op->finish);
    }
    stream_drop_head(s);
    if (!s->head) remove_stream(s);
}

/* Ends the head that ends first, if it ends by `until`. Starts the host functions whose time has come. */
static bool end_next(time_ns until)
{
    for (;;) {
        struct op *next = NULL, *function = NULL;
        for (uint32_t i = 0; i < count; i++) {
            struct op *op = active[i]->head;
            look_at(op);
            if (op->kind == OP_HOST && !op->dispatched && op->start <= until && (!function || op->start < function->start)) function = op;
            if (op->finish == TIME_UNKNOWN) continue;
            if (!next || op->finish < next->finish || (op->finish == next->finish && op->turn < next->turn)) next = op;
        }
        if (next && next->finish <= until && (!function || next->finish <= function->start)) {
            present = next->finish;
            complete(next);
            return true;
        }
        if (!function) return false;
        run_host_function(function);
    }
}

/* ---- the host ---- */

void timeline_catch_up(void)
{
    while (count && end_next(clock_now())) ;
}

/* Nothing can end by itself: a gate is closed, a host function runs, or another process has to do something. Real time has to pass. */
static void wait_for_outside(const struct stream *s, const char *who)
{
    bool gate = false, function = false, outside = false;
    for (uint32_t i = 0; i < count; i++) {
        gate |= active[i]->head->kind == OP_HOLD;
        function |= active[i]->head->kind == OP_HOST;
        outside |= active[i]->head->kind == OP_OUTSIDE;
    }
    if (gate && !function && !outside && ++gate_checks > 2000 && host_other_threads() == 0) {
        char stream[32];
        snprintf(stream, sizeof stream, "stream %d", s->id);
        end_hazard("waiting for ever", who,
                   "waiting for ever. %s waits for %s, behind a launch_hold whose gate is closed, and the program has no other thread that could open it.\n"
                   "  To do: open the gate (*open = 1) before this call.", who, s->id == 0 ? "the default stream" : stream);
    }
    host_sleep(500);
}

void timeline_wait(struct stream *s, uint64_t number, const char *who)
{
    if (s->done >= number) return;
    gate_checks = 0;
    while (s->done < number) {
        if (end_next(TIME_UNKNOWN - 1)) clock_wait_until(present);
        else wait_for_outside(s, who);
    }
    if (settings.pace != PACE_INSTANT) clock_charge(LATENCY_WAKE_UP);
    timeline_catch_up();
}

void timeline_wait_outside(bool (*over)(void *what), void *what)
{
    while (!over(what)) {
        if (end_next(TIME_UNKNOWN - 1)) clock_wait_until(present);
        else host_sleep(500);
    }
    if (settings.pace != PACE_INSTANT) clock_charge(LATENCY_WAKE_UP);
    timeline_catch_up();
}

void timeline_finish(struct stream *s, bool waited, const char *who)
{
    if (s->done == s->last) {
        stream_host_knows(s, s->last, waited);
        return;
    }
    struct record *end = stream_place(s, s->last);
    timeline_wait(s, end->number, who);
    record_host_knows(end, waited);
    record_release(end);
}

void timeline_finish_device(int device, bool waited, const char *who)
{
    for (struct stream *s = stream_first(); s; s = s->next)
        if (device < 0 || s->device == device) timeline_finish(s, waited, who);
}

bool timeline_run_on(void)
{
    bool any = false;
    while (count && end_next(TIME_UNKNOWN - 1)) any = true;
    clock_wait_until(present);
    return any;
}
