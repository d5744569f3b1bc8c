/* The engine: a discrete-event model. Of all streams' heads, the one that ends first ends next; its
 * effect on memory happens then.
 *
 * Rules (assumed, unless said): streams run side by side and do not slow each other; an idle device
 * gets new work after LATENCY; what the host sees at a time is what has ended by that time. A hold
 * ends when the host's call finds its gate open, a wait for another process when the host's call
 * finds that it is over. A host function runs on a thread of its own; the host's clock stands while
 * it runs, unless it waits for the host or takes long. One that has waited, and need not any more,
 * goes on before the host's next call does: so a run with host functions is reproducible too. */
#include "sched/engine.h"

#include <stdio.h>

#include "base/device_state.h"
#include "base/fatal.h"
#include "base/observer.h"
#include "base/settings.h"
#include "os/os.h"
#include "sched/cost.h"
#include "sched/happens_before.h"
#include "sched/host_function.h"
#include "sched/virtual_time.h"

/* How often a wait behind a closed gate looks before it finds out whether anyone could open it. */
#define GATE_CHECKS 2000

struct engine_status engine_status;

/* Needs the lock. The first engine_status.busy_streams of `streams` are those with work, in any
 * order: streams[s->active_index - 1] == s. */
static struct {
    /* When what ended last ended. */
    time_ns now;
    struct stream **streams;
    uint32_t capacity;
    /* How often the present wait has found nothing but closed gates. */
    unsigned gate_checks;
} engine;

void engine_add_stream(struct stream *s)
{
    if (engine_status.busy_streams == engine.capacity) {
        engine.capacity = engine.capacity ? 2 * engine.capacity : 16;
        engine.streams = os_grow(engine.streams, engine.capacity * sizeof *engine.streams);
    }
    engine.streams[engine_status.busy_streams++] = s;
    s->active_index = engine_status.busy_streams;
}

static void remove_stream(struct stream *s)
{
    struct stream *last = engine.streams[--engine_status.busy_streams];
    engine.streams[s->active_index - 1] = last;
    last->active_index = s->active_index;
    s->active_index = 0;
}

/* ---- one head ---- */

/* Is what an OP_WAIT waits for over? */
static bool is_satisfied(const struct op *wait)
{
    if (wait->record)
        return wait->record->done;
    return wait->awaited_stream->done_seq >= wait->awaited_seq;
}

/* Does an idle device get this kind of op only after LATENCY? The others are no work for it. */
static bool has_latency(enum op_kind kind)
{
    return settings.schedule != SCHEDULE_INSTANT && kind != OP_MARKER && kind != OP_WAIT
        && kind != OP_REMOTE_WAIT;
}

/* Finds out when the head starts, and when it ends if its duration is known. */
static void start_head(struct op *op)
{
    struct stream *s = op->stream;
    if (op->kind == OP_WAIT && !is_satisfied(op))
        return;
    time_ns arrival = op->issued + (has_latency(op->kind) ? LATENCY : 0);
    op->start = time_max(arrival, s->idle_at);
    if (op->kind == OP_WAIT)
        op->start = time_max(op->start, op->record ? op->record->finish : engine.now);
    if (op->kind != OP_HOLD && op->kind != OP_HOST && op->kind != OP_REMOTE_WAIT)
        op->finish = op->start + op->duration;
}

/* Finds out when the head, which has started, ends: others decide that, and may just have done
 * so. */
static void finish_head(struct op *op)
{
    if (op->kind == OP_HOLD && __atomic_load_n(op->gate, __ATOMIC_SEQ_CST))
        op->finish = time_max(op->start, virtual_now);
    if (op->kind == OP_REMOTE_WAIT && op->remote_is_done(op))
        op->finish = time_max(op->start, virtual_now);
    if (op->kind == OP_HOST && op->returned) {
        op->finish = op->start + op->duration;
        if (op->was_blocked)
            op->finish = time_max(op->finish, virtual_now);
    }
}

/* Ends the head of its stream. */
static void retire(struct op *op)
{
    struct stream *s = op->stream;
    if (op->kind == OP_RECORD) {
        op->record->done = true;
        op->record->finish = op->finish;
    }
    if (op->kind == OP_HOST) {
        /* Measured: to the pools, a host function that has run is a synchronization of its stream
         * (probe-answers.txt). */
        if (s->synchronized_seq < op->seq)
            s->synchronized_seq = op->seq;
        engine_status.function_ended = true;
    }
    /* Documented (cudaErrorIllegalAddress): the process must end before more work is done. */
    if (op->effect && !device_sticky_error)
        op->effect(op);
    if (op->name && observer.op_done)
        observer.op_done(op);
    stream_drop_head(s);
    if (!s->head)
        remove_stream(s);
}

/* What may happen next, of all heads. */
struct next {
    /* The head that ends first; NULL: none has an end. */
    struct op *op;
    /* The host function that starts first; NULL: none. */
    struct op *function;
};

static bool ends_before(const struct op *a, const struct op *b)
{
    return a->finish < b->finish || (a->finish == b->finish && a->turn < b->turn);
}

static struct next find_next(time_ns until)
{
    struct next next = {NULL, NULL};
    for (uint32_t i = 0; i < engine_status.busy_streams; i++) {
        struct op *op = engine.streams[i]->head;
        if (op->start == TIME_UNKNOWN)
            start_head(op);
        if (op->finish == TIME_UNKNOWN && op->kind >= OP_HOLD)
            finish_head(op);
        if (op->kind == OP_HOST && !op->started && op->start <= until
            && (!next.function || op->start < next.function->start))
            next.function = op;
        if (op->finish != TIME_UNKNOWN && (!next.op || ends_before(op, next.op)))
            next.op = op;
    }
    return next;
}

/* Ends the head that ends first, if it ends by `until`. Starts the host functions whose time has
 * come. Returns whether one has ended. */
static bool retire_next_unlocking(time_ns until)
{
    for (;;) {
        struct next next = find_next(until);
        if (next.op && next.op->finish <= until
            && (!next.function || next.op->finish <= next.function->start)) {
            engine.now = next.op->finish;
            retire(next.op);
            return true;
        }
        if (!next.function)
            return false;
        host_function_run_unlocking(next.function);
    }
}

/* ---- the host ---- */

void engine_catch_up_unlocking(void)
{
    while (engine_status.busy_streams && retire_next_unlocking(virtual_now))
        ;
}

/* Does nothing hold the work up but closed gates? */
static bool is_held_by_gates(void)
{
    bool gate = false;
    for (uint32_t i = 0; i < engine_status.busy_streams; i++) {
        enum op_kind kind = engine.streams[i]->head->kind;
        if (kind == OP_HOST || kind == OP_REMOTE_WAIT)
            return false;
        gate |= kind == OP_HOLD;
    }
    return gate;
}

/* Nothing can end by itself: a gate is closed, a host function runs, or another process has to do
 * something. Real time has to pass. Ends the process when nobody is there who could open a gate. */
static void wait_real_time_unlocking(const struct stream *s, const char *call)
{
    if (is_held_by_gates() && ++engine.gate_checks > GATE_CHECKS && os_count_other_threads() == 0) {
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

/* The host has waited: it wakes up, and what has ended meanwhile ends. */
static void wake_host_unlocking(void)
{
    if (settings.schedule != SCHEDULE_INSTANT)
        virtual_now += LATENCY_WAKE_UP;
    if (engine_status.busy_streams)
        engine_catch_up_unlocking();
}

void engine_wait_unlocking(struct stream *s, uint64_t seq, const char *call)
{
    if (s->done_seq >= seq)
        return;
    engine.gate_checks = 0;
    while (s->done_seq < seq) {
        if (retire_next_unlocking(TIME_UNKNOWN - 1))
            virtual_now = time_max(virtual_now, engine.now);
        else
            wait_real_time_unlocking(s, call);
    }
    wake_host_unlocking();
}

void engine_wait_remote_unlocking(bool (*is_done)(void *what), void *argument)
{
    while (!is_done(argument)) {
        if (retire_next_unlocking(TIME_UNKNOWN - 1))
            virtual_now = time_max(virtual_now, engine.now);
        else
            lock_wait(500);
    }
    wake_host_unlocking();
}

void engine_finish_unlocking(struct stream *s, bool synchronized, const char *call)
{
    if (s->done_seq == s->last_seq) {
        host_acquire_stream(s, s->last_seq, synchronized);
        return;
    }
    struct record *end = stream_snapshot(s, s->last_seq);
    engine_wait_unlocking(s, end->seq, call);
    host_acquire_record(end, synchronized);
    record_release(end);
}

/* Waits for all that the stream has now, and gathers it. */
static void gather_unlocking(struct vector_clock *gathered, struct stream *s, bool synchronized,
                             const char *call)
{
    if (s->done_seq == s->last_seq) {
        host_gather_stream(gathered, s, synchronized);
        return;
    }
    struct record *end = stream_snapshot(s, s->last_seq);
    engine_wait_unlocking(s, end->seq, call);
    host_gather_record(gathered, end, synchronized);
    record_release(end);
}

void engine_finish_device_unlocking(int device, bool synchronized, const char *call)
{
    struct vector_clock gathered = {0, NULL};
    for (struct stream *s = stream_first(); s; s = s->next)
        if (device < 0 || s->device == device)
            gather_unlocking(&gathered, s, synchronized, call);
    host_acquire_gathered(&gathered);
}

bool engine_run_all_unlocking(void)
{
    bool any = false;
    while (engine_status.busy_streams && retire_next_unlocking(TIME_UNKNOWN - 1))
        any = true;
    virtual_now = time_max(virtual_now, engine.now);
    return any;
}
