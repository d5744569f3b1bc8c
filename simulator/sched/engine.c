/* The engine: a discrete-event model. Of all streams' heads, the one that ends first ends next; its
 * effect on memory happens then.
 *
 * Rules (assumed, unless said): streams run side by side and do not slow each other, but for their
 * copies (sched/copy_engine.h); an idle device gets new work after LATENCY; what the host sees at a
 * time is what has ended by that time. A hold ends when the host's call finds its gate open, a wait
 * for another process when the host's call finds that it is over. A host function runs on a thread
 * of its own; the host's clock stands while it runs, unless it waits for the host or takes long.
 * One that has waited, and need not any more, goes on before the host's next call does: so a run
 * with host functions is reproducible too. */
#include "sched/engine.h"

#include <stdio.h>

#include "base/device_state.h"
#include "base/fatal.h"
#include "base/observer.h"
#include "base/settings.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "sched/copy_engine.h"
#include "sched/cost.h"
#include "sched/happens_before.h"
#include "sched/host_function.h"
#include "sched/virtual_time.h"

/* How often a wait behind a closed gate looks before it finds out whether anyone could open it. */
#define GATE_CHECKS 2000

struct engine_status engine_status;

/* A time that is known: a head ends, or a copy at the head is ready for its engine. */
struct moment {
    time_ns at;
    uint64_t turn;
    struct stream *stream;
};

/* Needs the lock. The first engine_status.busy_streams of `streams` are those with work, in any
 * order: streams[s->active_index - 1] == s.
 *
 * Law: between two calls of find_next each of them is in one of these, so that an op costs no more
 * when many streams have work: in `unseen`, a list by next_in_list, when its head has not been
 * looked at since it became the head, or since what it waits for was over; in the list of the
 * record or the stream that its head waits for; in `undecided` when its head has started and others
 * decide when it ends; in `moments` when that is known, or when it is a copy that gets ready for
 * its engine; with the copy engine when it waits for that. `moments` is a heap: none comes before
 * the one at half its index. One that is not valid any more (is_valid) is removed when it is the
 * first. */
static struct {
    /* When what ended last ended. */
    time_ns now;
    struct stream **streams;
    uint32_t capacity;
    struct stream *unseen;
    struct stream **undecided;
    uint32_t undecided_count, undecided_capacity;
    struct moment *moments;
    uint32_t moment_count, moment_capacity;
    /* How often the present wait has found nothing but closed gates. */
    unsigned gate_checks;
} engine;

/* ---- where a stream with work is ---- */

/* Is it a copy that has not asked for its engine? */
static bool is_ready_later(const struct op *op)
{
    return op->transfer && op->transfer->state == TRANSFER_NEW;
}

static void *grow_by_one(void *list, uint32_t count, uint32_t *capacity, size_t item_bytes)
{
    if (count < *capacity)
        return list;
    *capacity = *capacity ? 2 * *capacity : 16;
    return os_grow(list, *capacity * item_bytes);
}

/* Puts the stream before the others of a list. */
static void list_push(struct stream **list, struct stream *s)
{
    s->next_in_list = *list;
    *list = s;
}

void engine_add_stream(struct stream *s)
{
    engine.streams = grow_by_one(engine.streams, engine_status.busy_streams, &engine.capacity,
                                 sizeof *engine.streams);
    engine.streams[engine_status.busy_streams++] = s;
    s->active_index = engine_status.busy_streams;
    list_push(&engine.unseen, s);
}

static void remove_stream(struct stream *s)
{
    struct stream *last = engine.streams[--engine_status.busy_streams];
    engine.streams[s->active_index - 1] = last;
    last->active_index = s->active_index;
    s->active_index = 0;
}

static bool comes_before(const struct moment *a, const struct moment *b)
{
    return a->at < b->at || (a->at == b->at && a->turn < b->turn);
}

/* The stream's head ends then, or is ready then. */
static void add_moment(struct stream *s, time_ns at)
{
    struct moment moment = {at, s->head->turn, s};
    engine.moments = grow_by_one(engine.moments, engine.moment_count + 1, &engine.moment_capacity,
                                 sizeof *engine.moments);
    uint32_t i = ++engine.moment_count;
    for (; i > 1 && comes_before(&moment, &engine.moments[i / 2]); i /= 2)
        engine.moments[i] = engine.moments[i / 2];
    engine.moments[i] = moment;
}

void engine_end_is_known(struct op *op) { add_moment(op->stream, op->finish); }

/* Removes what comes first, moments[1]. */
static void remove_first_moment(void)
{
    struct moment last = engine.moments[engine.moment_count--];
    uint32_t i = 1, below;
    for (; (below = 2 * i) <= engine.moment_count; i = below) {
        if (below < engine.moment_count
            && comes_before(&engine.moments[below + 1], &engine.moments[below]))
            below++;
        if (!comes_before(&engine.moments[below], &last))
            break;
        engine.moments[i] = engine.moments[below];
    }
    engine.moments[i] = last;
}

/* Is it still so? The speed of a copy may have changed meanwhile. */
static bool is_valid(const struct moment *m)
{
    const struct op *op = m->stream->head;
    if (!op || op->turn != m->turn)
        return false;
    return !op->transfer || m->at == (is_ready_later(op) ? op->start : op->finish);
}

static void add_undecided(struct stream *s)
{
    engine.undecided = grow_by_one(engine.undecided, engine.undecided_count,
                                   &engine.undecided_capacity, sizeof *engine.undecided);
    engine.undecided[engine.undecided_count++] = s;
}

/* The stream's head waits for work of another. Most come in the order of that work. */
static void add_waiting_for_stream(struct stream *s)
{
    struct stream *awaited = s->head->awaited_stream, **at = &awaited->waiting;
    if (*at && awaited->last_waiting->head->awaited_seq <= s->head->awaited_seq)
        at = &awaited->last_waiting->next_in_list;
    while (*at && (*at)->head->awaited_seq <= s->head->awaited_seq)
        at = &(*at)->next_in_list;
    list_push(at, s);
    if (!s->next_in_list)
        awaited->last_waiting = s;
}

/* The record is reached: nothing waits for it any more. */
static void wake_waiting_for_record(struct record *r)
{
    while (r->waiting) {
        struct stream *s = r->waiting;
        r->waiting = s->next_in_list;
        list_push(&engine.unseen, s);
    }
}

/* The stream has done more of its work. */
static void wake_waiting_for_stream(struct stream *awaited)
{
    while (awaited->waiting && awaited->waiting->head->awaited_seq <= awaited->done_seq) {
        struct stream *s = awaited->waiting;
        awaited->waiting = s->next_in_list;
        list_push(&engine.unseen, s);
    }
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
    if (op->kind != OP_HOLD && op->kind != OP_HOST && op->kind != OP_REMOTE_WAIT && !op->transfer)
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
    engine_status.ended++;
    if (op->transfer)
        copy_engine_release(op->transfer, engine.now);
    if (op->kind == OP_RECORD) {
        op->record->done = true;
        op->record->finish = op->finish;
    }
    if (op->kind == OP_HOST) {
        /* Measured: to the pools, a host function that has run is a synchronization of its stream
         * (probe-answers.txt). */
        s->function_seq = op->seq;
        engine_status.function_ended = true;
    }
    /* Documented (cudaErrorIllegalAddress): the process must end before more work is done. */
    if (op->effect && !device_sticky_error)
        op->effect(op);
    if ((op->name || op->call) && observer.op_done)
        observer.op_done(op);
    if (op->kind == OP_RECORD)
        wake_waiting_for_record(op->record);
    stream_drop_head(s);
    wake_waiting_for_stream(s);
    if (s->head)
        list_push(&engine.unseen, s);
    else
        remove_stream(s);
}

/* What may happen next, of all heads. */
struct next {
    /* The head that ends first, or is a copy that is ready first, and when; NULL: there is none. */
    struct op *op;
    time_ns at;
    /* The host function that starts first; NULL: none. */
    struct op *function;
};

/* Looks at the heads that are new, or whose wait is over. */
static void look_at_unseen(void)
{
    while (engine.unseen) {
        struct stream *s = engine.unseen;
        engine.unseen = s->next_in_list;
        start_head(s->head);
        if (s->head->start == TIME_UNKNOWN && s->head->record)
            list_push(&s->head->record->waiting, s);
        else if (s->head->start == TIME_UNKNOWN)
            add_waiting_for_stream(s);
        else if (s->head->finish != TIME_UNKNOWN || s->head->transfer)
            add_moment(s, s->head->transfer ? s->head->start : s->head->finish);
        else
            add_undecided(s);
    }
}

/* Does the one function start before the other? Among equals, the one whose stream comes first in
 * the list of all that have work. */
static bool starts_before(const struct op *a, const struct op *b)
{
    return a->start < b->start
        || (a->start == b->start && a->stream->active_index < b->stream->active_index);
}

static struct next find_next(time_ns until)
{
    struct next next = {NULL, 0, NULL};
    look_at_unseen();
    for (uint32_t i = 0; i < engine.undecided_count;) {
        struct op *op = engine.undecided[i]->head;
        finish_head(op);
        if (op->finish != TIME_UNKNOWN) {
            engine.undecided[i] = engine.undecided[--engine.undecided_count];
            add_moment(op->stream, op->finish);
            continue;
        }
        if (op->kind == OP_HOST && !op->started && op->start <= until
            && (!next.function || starts_before(op, next.function)))
            next.function = op;
        i++;
    }
    while (engine.moment_count && !is_valid(&engine.moments[1]))
        remove_first_moment();
    if (engine.moment_count) {
        next.op = engine.moments[1].stream->head;
        next.at = engine.moments[1].at;
    }
    return next;
}

/* Ends the head that ends first, if it ends by `until`. Gives the copies that are ready their
 * engines, and starts the host functions whose time has come. Returns whether one has ended. */
static bool retire_next_unlocking(time_ns until)
{
    for (;;) {
        struct next next = find_next(until);
        if (next.op && next.at <= until && (!next.function || next.at <= next.function->start)) {
            engine.now = time_max(engine.now, next.at);
            remove_first_moment();
            if (!is_ready_later(next.op)) {
                retire(next.op);
                return true;
            }
            copy_engine_request(next.op->transfer, engine.now);
        } else if (next.function) {
            host_function_run_unlocking(next.function);
        } else {
            return false;
        }
    }
}

/* ---- the host ---- */

void engine_catch_up_unlocking(void)
{
    NEEDS_LOCK();
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
 * something. Real time has to pass. Ends the process when nobody is there who could open a gate.
 * `for_room`: the call waits because the stream has too much work. */
static void wait_real_time_unlocking(const struct stream *s, bool for_room, const char *call)
{
    if (is_held_by_gates() && ++engine.gate_checks > GATE_CHECKS && os_count_other_threads() == 0) {
        char stream[32];
        snprintf(stream, sizeof stream, "stream %d", s->id);
        fatal_hazard(HAZARD_WAITING_FOREVER, call,
                     "%s waits for %s%s, behind a launch_hold whose gate is "
                     "closed, and the program has no other thread that could open it.\n"
                     "  To do: open the gate (*open = 1) before this call, or %s.",
                     call, for_room ? "room in the full queue of " : "",
                     s->id == 0 ? "the default stream" : stream,
                     for_room ? "queue less behind it" : "do not wait here");
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
    NEEDS_LOCK();
    if (s->done_seq >= seq)
        return;
    engine.gate_checks = 0;
    while (s->done_seq < seq) {
        if (retire_next_unlocking(TIME_UNKNOWN - 1))
            virtual_now = time_max(virtual_now, engine.now);
        else
            wait_real_time_unlocking(s, false, call);
    }
    wake_host_unlocking();
}

void engine_wait_for_room_unlocking(struct stream *s, const char *call)
{
    NEEDS_LOCK();
    engine.gate_checks = 0;
    while (s->room_taken > QUEUE_ROOM) {
        if (retire_next_unlocking(TIME_UNKNOWN - 1))
            virtual_now = time_max(virtual_now, engine.now);
        else
            wait_real_time_unlocking(s, true, call);
    }
}

void engine_wait_remote_unlocking(bool (*is_done)(void *what), void *argument)
{
    NEEDS_LOCK();
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
    NEEDS_LOCK();
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
    NEEDS_LOCK();
    struct vector_clock gathered = VC_EMPTY;
    for (struct stream *s = stream_first(); s; s = s->next)
        if (device < 0 || s->device == device)
            gather_unlocking(&gathered, s, synchronized, call);
    host_acquire_gathered(&gathered);
}

bool engine_run_all_unlocking(void)
{
    NEEDS_LOCK();
    bool any = false;
    while (engine_status.busy_streams && retire_next_unlocking(TIME_UNKNOWN - 1))
        any = true;
    virtual_now = time_max(virtual_now, engine.now);
    return any;
}
