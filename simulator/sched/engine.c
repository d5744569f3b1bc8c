/* The timeline: a discrete-event model. Of all streams' heads, the one that ends first ends next;
 * its effect on memory happens then.
 *
 * Rules (chosen, unless said): streams run side by side and do not slow each other; an idle device
 * gets new work after LATENCY; what the host sees at a time is what has ended by that time. A hold
 * ends when the host's call finds its gate open, a wait for another process when the host's call
 * finds that it is over. A host function runs on a thread of its own; the host's clock stands while
 * it runs, unless it waits for the host or takes long. One that has waited, and need not any more,
 * goes on before the host's next call does: so a run with host functions is reproducible too. */
#include "sched/engine.h"

#include "sched/virtual_time.h"
#include "base/device_state.h"
#include "sched/cost.h"
#include "base/fatal.h"
#include "os/os.h"
#include "base/observer.h"
#include "base/settings.h"

#include <stdio.h>

static time_ns device_now;             /* when what ended last ended */
static struct stream **active_streams; /* the streams that have work */
static uint32_t active_count, active_capacity;
static uint64_t gate_checks;
static bool function_ended; /* since the last engine_function_ended */

void engine_add_stream(struct stream *s)
{
    if (active_count == active_capacity) {
        active_capacity = active_capacity ? 2 * active_capacity : 16;
        active_streams = os_grow(active_streams, active_capacity * sizeof *active_streams);
    }
    active_streams[active_count++] = s;
    s->active_index = active_count;
}

static void remove_stream(struct stream *s)
{
    struct stream *last = active_streams[--active_count];
    active_streams[s->active_index - 1] = last;
    last->active_index = s->active_index;
    s->active_index = 0;
}

bool engine_is_busy(void) { return active_count != 0; }

bool engine_function_ended(void)
{
    bool ended = function_ended;
    function_ended = false;
    return ended;
}

/* ---- host functions: each runs on a thread of its own, taken from those that have nothing to do
 * ---- */

/* Microseconds after which a function is taken to wait for the host (chosen): of processor time, or
 * of real time if it is asleep for a time of its own. */
#define FUNCTION_CPU_LIMIT   500000
#define FUNCTION_SLEEP_LIMIT 750000

struct worker {
    struct op *op;
    int thread;
    /* The function has returned, and its thread comes for the lock. */
    bool has_returned;
    uint64_t cpu_limit, sleep_limit;
    struct worker *next, *next_idle;
};

static struct worker *workers, *idle_workers;
static unsigned function_waiters;
static _Thread_local bool in_host_function;

bool engine_in_host_function(void) { return in_host_function; }

static void worker_main(void *argument)
{
    struct worker *self = argument;
    in_host_function = true;
    lock_acquire();
    self->thread = os_thread_id();
    for (;;) {
        while (!self->op)
            lock_wait(1000000);
        struct op *op = self->op;
        lock_release();
        op->function(op->argument);
        __atomic_store_n(&self->has_returned, true, __ATOMIC_SEQ_CST);
        lock_acquire();
        op->returned = true;
        self->op = NULL;
        self->next_idle = idle_workers;
        idle_workers = self;
        lock_wake();
    }
}

bool engine_waits_for_function(void) { return function_waiters != 0; }

/* Does the function wait for something that the host has yet to do, also in a loop? As far as can
 * be seen. */
static bool waits_for_host(struct worker *w)
{
    if (!w->thread)
        return false;
    uint64_t cpu_time = os_thread_cpu_us(w->thread);
    if (!w->cpu_limit)
        w->cpu_limit = cpu_time + FUNCTION_CPU_LIMIT;
    bool waits = cpu_time > w->cpu_limit
              || (os_thread_is_asleep(w->thread)
                  && (!os_thread_in_nanosleep(w->thread) || os_clock_us() > w->sleep_limit));
    /* Last: then it may sleep because it waits for the lock. */
    return waits && !__atomic_load_n(&w->has_returned, __ATOMIC_SEQ_CST);
}

static struct worker *take_worker(struct op *op)
{
    struct worker *w = idle_workers;
    if (w)
        idle_workers = w->next_idle;
    else
        w = os_allocate(sizeof *w);
    bool is_new = !w->thread;
    *w = (struct worker){.op = op,
                         .thread = w->thread,
                         .sleep_limit = os_clock_us() + FUNCTION_SLEEP_LIMIT,
                         .next = w->next};
    if (!is_new)
        return w;
    w->next = workers;
    workers = w;
    os_thread_start(worker_main, w);
    return w;
}

/* Starts the function; returns when it has returned, or when it waits for the host. */
static void run_host_function(struct op *op)
{
    op->started = true;
    /* Whatever the program's threads now do may come from this function (chosen: see
     * check/checker.h). */
    host_acquire_before_record(op->record);
    struct worker *w = take_worker(op);
    /* Once the function has returned another thread may end the op, and its memory serves again. */
    uint64_t turn = op->turn;
    lock_wake();
    function_waiters++;
    for (int waiting = 0; w->op == op && op->turn == turn;) {
        op->was_blocked = waiting == 3;
        if (op->was_blocked)
            break;
        lock_wait(500);
        waiting = waits_for_host(w) ? waiting + 1 : 0;
    }
    function_waiters--;
}

void engine_resume_functions(void)
{
    for (struct worker *w = workers; w; w = w->next)
        while (w->op && w->op->was_blocked && !waits_for_host(w))
            lock_wait(200);
}

/* ---- one head ---- */

static bool is_satisfied(const struct op *wait)
{
    return wait->record ? wait->record->done : wait->awaited_stream->done_seq >= wait->awaited_seq;
}

/* Finds out when the head starts and ends, as far as that can be known. */
static void update_times(struct op *op)
{
    struct stream *s = op->stream;
    if (op->start == TIME_UNKNOWN) {
        if (op->kind == OP_WAIT && !is_satisfied(op))
            return;
        time_ns arrival = op->issued
                        + (settings.schedule == SCHEDULE_INSTANT || op->kind == OP_MARKER
                                   || op->kind == OP_WAIT || op->kind == OP_REMOTE_WAIT
                               ? 0
                               : LATENCY);
        op->start = time_max(arrival, s->idle_at);
        if (op->kind == OP_WAIT)
            op->start = time_max(op->start, op->record ? op->record->finish : device_now);
        if (op->kind != OP_HOLD && op->kind != OP_HOST && op->kind != OP_REMOTE_WAIT)
            op->finish = op->start + op->duration;
    }
    if (op->kind == OP_HOLD && op->finish == TIME_UNKNOWN
        && __atomic_load_n(op->gate, __ATOMIC_SEQ_CST))
        op->finish = time_max(op->start, time_now());
    if (op->kind == OP_REMOTE_WAIT && op->finish == TIME_UNKNOWN && op->remote_is_done(op))
        op->finish = time_max(op->start, time_now());
    if (op->kind == OP_HOST && op->returned && op->finish == TIME_UNKNOWN)
        op->finish = op->was_blocked ? time_max(op->start + op->duration, time_now())
                                     : op->start + op->duration;
}

static void retire(struct op *op)
{
    struct stream *s = op->stream;
    if (op->kind == OP_RECORD) {
        op->record->done = true;
        op->record->finish = op->finish;
    }
    if (op->kind == OP_HOST) {
        /* measured: to the pools, a host function that has run is a synchronise of its stream
         * (probe-answers.txt) */
        if (s->synchronized_seq < op->seq)
            s->synchronized_seq = op->seq;
        function_ended = true;
    }
    /* documented (cudaErrorIllegalAddress): the process must end before more work is done */
    if (op->effect && !device_sticky_error())
        op->effect(op);
    if (op->name && observer.op_done)
        observer.op_done(op);
    stream_drop_head(s);
    if (!s->head)
        remove_stream(s);
}

/* Ends the head that ends first, if it ends by `until`. Starts the host functions whose time has
 * come. */
static bool retire_next(time_ns until)
{
    for (;;) {
        struct op *next = NULL, *function = NULL;
        for (uint32_t i = 0; i < active_count; i++) {
            struct op *op = active_streams[i]->head;
            update_times(op);
            if (op->kind == OP_HOST && !op->started && op->start <= until
                && (!function || op->start < function->start))
                function = op;
            if (op->finish == TIME_UNKNOWN)
                continue;
            if (!next || op->finish < next->finish
                || (op->finish == next->finish && op->turn < next->turn))
                next = op;
        }
        if (next && next->finish <= until && (!function || next->finish <= function->start)) {
            device_now = next->finish;
            retire(next);
            return true;
        }
        if (!function)
            return false;
        run_host_function(function);
    }
}

/* ---- the host ---- */

void engine_catch_up(void)
{
    while (active_count && retire_next(time_now()))
        ;
}

/* Nothing can end by itself: a gate is closed, a host function runs, or another process has to do
 * something. Real time has to pass. */
static void wait_real_time(const struct stream *s, const char *call)
{
    bool gate = false, function = false, remote = false;
    for (uint32_t i = 0; i < active_count; i++) {
        gate |= active_streams[i]->head->kind == OP_HOLD;
        function |= active_streams[i]->head->kind == OP_HOST;
        remote |= active_streams[i]->head->kind == OP_REMOTE_WAIT;
    }
    if (gate && !function && !remote && ++gate_checks > 2000 && os_count_other_threads() == 0) {
        char stream[32];
        snprintf(stream, sizeof stream, "stream %d", s->id);
        fatal_hazard("waiting for ever", call,
                     "waiting for ever. %s waits for %s, behind a launch_hold whose gate is "
                     "closed, and the program has no other thread that could open it.\n"
                     "  To do: open the gate (*open = 1) before this call.",
                     call, s->id == 0 ? "the default stream" : stream);
    }
    lock_wait(500);
}

void engine_wait(struct stream *s, uint64_t seq, const char *call)
{
    if (s->done_seq >= seq)
        return;
    gate_checks = 0;
    while (s->done_seq < seq) {
        if (retire_next(TIME_UNKNOWN - 1))
            time_wait_until(device_now);
        else
            wait_real_time(s, call);
    }
    if (settings.schedule != SCHEDULE_INSTANT)
        time_charge(LATENCY_WAKE_UP);
    engine_catch_up();
}

void engine_wait_remote(bool (*is_done)(void *what), void *argument)
{
    while (!is_done(argument)) {
        if (retire_next(TIME_UNKNOWN - 1))
            time_wait_until(device_now);
        else
            lock_wait(500);
    }
    if (settings.schedule != SCHEDULE_INSTANT)
        time_charge(LATENCY_WAKE_UP);
    engine_catch_up();
}

void engine_finish(struct stream *s, bool synchronized, const char *call)
{
    if (s->done_seq == s->last_seq) {
        host_acquire_stream(s, s->last_seq, synchronized);
        return;
    }
    struct record *end = stream_snapshot(s, s->last_seq);
    engine_wait(s, end->seq, call);
    host_acquire_record(end, synchronized);
    record_release(end);
}

void engine_finish_device(int device, bool synchronized, const char *call)
{
    for (struct stream *s = stream_first(); s; s = s->next)
        if (device < 0 || s->device == device)
            engine_finish(s, synchronized, call);
}

bool engine_run_all(void)
{
    bool any = false;
    while (active_count && retire_next(TIME_UNKNOWN - 1))
        any = true;
    time_wait_until(device_now);
    return any;
}
