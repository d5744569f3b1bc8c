/* Streams: their queues, the rule of the legacy stream, and what precedes their next op. */
#include "sched/stream.h"

#include "base/fatal.h"
#include "base/handle.h"
#include "base/summary.h"
#include "os/needs_lock.h"
#include "os/os.h"
#include "sched/copy_engine.h"
#include "sched/cost.h"
#include "sched/engine.h"
#include "sched/happens_before.h"
#include "sched/host_function.h"
#include "sched/virtual_time.h"

/* How many retired streams stream_new examines (assumed: enough to find a reusable one). */
#define RETIRED_SEEN 64
/* The number of destroyed streams that are kept until the host has acquired their work (assumed:
 * more than a correct program leaves behind without a wait). */
#define RETIRED_MOST 10000

/* Needs the lock. */
static struct {
    /* All streams that were ever made, linked by `next`. */
    struct stream *all;
    /* Streams that were given up and have not been reused. Those in `reusable` are known to be
     * reusable. `retired` is the last stream of a ring of `retired_count`, linked by `next_unused`.
     * The first `unseen` of the ring have not been examined since the host's last acquire
     * (host_acquired.version), and the others cannot be reused yet. */
    struct stream *retired;
    uint32_t retired_count, unseen;
    uint64_t seen_version;
    struct ordered_tree reusable;
    /* The legacy stream of each device, or NULL until it is needed. */
    struct stream *legacy[MAX_DEVICES];
    /* What each device's existing and future streams wait for; NULL if the host has acquired it
     * all. */
    struct record *precedes[MAX_DEVICES];
    /* What the legacy stream's next op waits for: the device's blocking streams with work for which
     * the legacy stream has not waited, the newest stream first. */
    struct ordered_tree before_legacy[MAX_DEVICES];
    /* Whether one of these blocking streams has freed memory since that wait. */
    bool has_freed_before_legacy[MAX_DEVICES];
    /* The stream of each of the `slots` slots, or NULL for a slot of another process. */
    struct stream **by_slot;
    uint32_t slots, capacity;
    void (*slot_reuse_listener)(struct stream *s);
    /* Whether each place (stream_place) is taken. All before `first_free` are. */
    bool *places;
    uint32_t place_count, place_capacity, first_free;
    int last_id;
    unsigned long long last_api_id;
} streams;

/* Needs the lock. */
static struct {
    /* Unused ops, linked by `next`. */
    struct op *free;
    /* The number of the newest op of all streams. */
    uint64_t last_turn;
    /* The queued ops that the host can delay, the newest first. Most programs have none. */
    struct op *host_bound;
} ops;

/* The newest of all records. Needs the lock. */
static struct record *records;

_Thread_local struct stream *stream_without_room;

/* The calling thread's own default stream of each device, or NULL until it is needed. */
static _Thread_local struct stream *thread_streams[MAX_DEVICES];

/* ---- making streams ---- */

uint32_t stream_new_slot(void)
{
    NEEDS_LOCK();
    OS_MAKE_ROOM(streams.by_slot, streams.slots, streams.capacity)
    streams.by_slot[streams.slots] = NULL;
    return streams.slots++;
}

void stream_on_slot_reuse(void (*listener)(struct stream *s))
{
    NEEDS_LOCK();
    streams.slot_reuse_listener = listener;
}

/* Notes that the legacy stream has not waited for the stream's newest work. */
static void set_before_legacy(struct stream *s)
{
    if (s->is_before_legacy || s->kind == STREAM_LEGACY || !stream_is_blocking(s))
        return;
    s->is_before_legacy = true;
    s->before_legacy_node = (struct tree_node){.key = UINT32_MAX - s->slot};
    tree_insert(&streams.before_legacy[s->device], &s->before_legacy_node);
}

static void clear_before_legacy(struct stream *s)
{
    if (s->is_before_legacy)
        tree_remove(&streams.before_legacy[s->device], &s->before_legacy_node);
    s->is_before_legacy = false;
}

/* Returns whether the stream's slot can be reused: its work has ended, and no later work could be
 * called unordered with it. */
static bool is_slot_reusable(const struct stream *s)
{
    return s->destroyed && s->done_seq == s->last_seq
        && vc_includes(&host_acquired.clock, s->slot, s->last_seq);
}

/* Called when the stream will get no more work. */
static void add_retired(struct stream *s)
{
    s->destroyed = true;
    s->next_unused = s;
    if (streams.retired) {
        s->next_unused = streams.retired->next_unused;
        streams.retired->next_unused = s;
    } else {
        streams.retired = s;
    }
    streams.retired_count++;
    streams.unseen++;
}

/* Moves the oldest retired stream, which can be reused, to `reusable`. */
static void move_to_reusable(void)
{
    struct stream *s = streams.retired->next_unused;
    streams.retired_count--;
    if (s == streams.retired)
        streams.retired = NULL;
    else
        streams.retired->next_unused = s->next_unused;
    s->reusable_node = (struct tree_node){.key = s->slot};
    tree_insert(&streams.reusable, &s->reusable_node);
}

/* Bounds the memory of a program that destroys streams and never waits. Of too many retired
 * streams, the oldest one whose work has ended becomes reusable. Its work then counts as ordered
 * before its successor's, so a hazard may be missed, but none is wrongly reported. */
static void forget_oldest(void)
{
    if (streams.retired_count <= RETIRED_MOST || streams.reusable.root || streams.unseen)
        return;
    struct stream *s = streams.retired->next_unused;
    if (s->done_seq != s->last_seq) {
        streams.retired = s;
        return;
    }
    s->memory_seq = 0;
    move_to_reusable();
}

/* Examines only some of the retired streams, so that a new stream has a constant cost. */
static void find_reusable(void)
{
    if (streams.seen_version != host_acquired.version) {
        streams.seen_version = host_acquired.version;
        streams.unseen = streams.retired_count;
    }
    for (unsigned i = 0; i < RETIRED_SEEN && streams.unseen; i++) {
        struct stream *s = streams.retired->next_unused;
        streams.unseen--;
        if (!is_slot_reusable(s)) {
            streams.retired = s;
            continue;
        }
        move_to_reusable();
    }
    forget_oldest();
}

/* Returns the reusable stream with the highest slot, or NULL. */
static struct stream *take_reusable(void)
{
    find_reusable();
    struct tree_node *n = tree_last(&streams.reusable, UINT64_MAX);
    if (!n)
        return NULL;
    tree_remove(&streams.reusable, n);
    struct stream *s = streams.by_slot[n->key];
    clear_before_legacy(s);
    if (streams.slot_reuse_listener)
        streams.slot_reuse_listener(s);
    return s;
}

/* Returns an unused stream without a handle. */
static struct stream *take_stream(enum stream_kind kind, int device, int priority)
{
    struct stream *s = take_reusable();
    if (!s) {
        s = os_allocate(sizeof *s);
        s->slot = stream_new_slot();
        streams.by_slot[s->slot] = s;
        s->next = streams.all;
        streams.all = s;
    }
    s->kind = kind;
    s->device = device;
    s->priority = priority;
    s->handle = NULL;
    os_free(s->hints);
    s->hints = NULL;
    s->destroyed = false;
    s->place = 0;
    s->has_waited = false;
    s->trunk = NULL;
    s->host_version = 0;
    ordering_clear(&s->ordering);
    if (s->last_seq)
        set_before_legacy(s);
    return s;
}

static inline void add_position(struct stream *s);

/* Orders what precedes all later work of the device before the new stream's work. */
static void follow_preceding(struct stream *s)
{
    struct record *r = streams.precedes[s->device];
    if (r && vc_includes(&host_acquired.clock, r->stream->slot, r->seq)) {
        record_release(r);
        streams.precedes[s->device] = r = NULL;
    }
    if (!r)
        return;
    uint64_t last_seq = s->last_seq;
    stream_wait_internal(s, r->stream, r->seq);
    ordering_join(&s->ordering, &r->ordering);
    ordering_set(&s->ordering, r->stream->slot, r->seq);
    if (s->last_seq == last_seq)
        add_position(s);
}

int stream_newest(void)
{
    NEEDS_LOCK();
    return streams.last_id;
}

struct stream *stream_new(enum stream_kind kind, int device, int priority)
{
    NEEDS_LOCK();
    struct stream *s = take_stream(kind, device, priority);
    bool is_default = kind == STREAM_LEGACY || kind == STREAM_PER_THREAD;
    s->id = is_default ? 0 : ++streams.last_id;
    summary.streams += !is_default;
    s->api_id = ++streams.last_api_id;
    s->handle = handle_new(HANDLE_STREAM, s);
    follow_preceding(s);
    return s;
}

struct stream *stream_new_branch(struct stream *trunk, int device)
{
    NEEDS_LOCK();
    struct stream **at = &trunk->branches, *s;
    while (*at && (*at)->device != device)
        at = &(*at)->next_unused;
    s = *at;
    if (s) {
        *at = s->next_unused;
        s->destroyed = false;
        ordering_clear(&s->ordering);
    } else {
        s = take_stream(STREAM_BRANCH, device, trunk->priority);
    }
    s->id = trunk->id;
    s->trunk = trunk;
    /* The ordering now includes what the host has acquired. */
    s->host_version = host_acquired.version;
    return s;
}

void stream_release_branch(struct stream *branch)
{
    NEEDS_LOCK();
    branch->destroyed = true;
    branch->next_unused = branch->trunk->branches;
    branch->trunk->branches = branch;
}

void stream_destroy(struct stream *s)
{
    NEEDS_LOCK();
    handle_retire(HANDLE_STREAM, s->handle);
    while (s->branches) {
        struct stream *branch = s->branches;
        s->branches = branch->next_unused;
        add_retired(branch);
    }
    if (s->place) {
        streams.places[s->place - 1] = false;
        if (streams.first_free >= s->place)
            streams.first_free = s->place - 1;
    }
    add_retired(s);
}

uint32_t stream_place(struct stream *s)
{
    NEEDS_LOCK();
    if (s->place)
        return s->place;
    while (streams.first_free < streams.place_count && streams.places[streams.first_free])
        streams.first_free++;
    if (streams.first_free == streams.place_count) {
        OS_MAKE_ROOM(streams.places, streams.place_count, streams.place_capacity)
        streams.place_count++;
    }
    streams.places[streams.first_free] = true;
    return s->place = ++streams.first_free;
}

struct stream *stream_legacy(int device)
{
    NEEDS_LOCK();
    if (!streams.legacy[device])
        streams.legacy[device] = stream_new(STREAM_LEGACY, device, 0);
    return streams.legacy[device];
}

/* Measured (probe-threads.txt): on the H200, a thread never ends if its own default stream has work
 * queued after an allocation or free that the host has not waited for. With plain memory it ends,
 * and the work continues. */
static void check_thread_end(const struct stream *s)
{
    if (!s->head || s->memory_seq <= host_synchronized_seq(s))
        return;
    fatal_hazard(
        HAZARD_A_THREAD_THAT_CANNOT_END, NULL,
        "It ends with work pending in its own stream "
        "(cudaStreamPerThread), after a cudaMallocAsync or cudaFreeAsync. "
        "A real driver hangs here.\n"
        "  To do:     call cudaStreamSynchronize(cudaStreamPerThread) at the end of the thread.");
}

/* Destroys the default streams of a thread that ends (assumed). */
static void destroy_thread_streams(void)
{
    engine_catch_up_unlocking();
    for (int d = 0; d < MAX_DEVICES; d++) {
        struct stream *s = thread_streams[d];
        thread_streams[d] = NULL;
        if (!s)
            continue;
        check_thread_end(s);
        if (!s->capturing)
            stream_destroy(s);
    }
}

struct stream *stream_per_thread(int device)
{
    NEEDS_LOCK();
    if (!thread_streams[device]) {
        thread_streams[device] = stream_new(STREAM_PER_THREAD, device, 0);
        os_at_thread_end(destroy_thread_streams);
    }
    return thread_streams[device];
}

/* ---- finding streams ---- */

bool stream_is_of_this_thread(const struct stream *s)
{
    NEEDS_LOCK();
    return thread_streams[s->device] == stream_trunk(s);
}

struct stream *stream_first(void)
{
    NEEDS_LOCK();
    return streams.all;
}

struct stream *stream_of_slot(uint32_t slot)
{
    NEEDS_LOCK();
    return streams.by_slot[slot];
}

struct stream *stream_using(const char *from, const char *to)
{
    NEEDS_LOCK();
    for (struct stream *s = streams.all; s; s = s->next)
        for (const struct op *op = s->head; op; op = op->next)
            if ((op->to >= from && op->to < to) || (op->from >= from && op->from < to))
                return s;
    return NULL;
}

/* Returns whether the op needs the host to end a host function or to open a gate, or a value. */
static bool needs_host(const struct op *op)
{
    if (op->kind == OP_HOST)
        return !op->returned;
    if (op->kind == OP_HOLD && op->is_over)
        return !op->has_ended;
    return op->kind == OP_HOLD && !__atomic_load_n(op->gate, __ATOMIC_SEQ_CST);
}

bool stream_is_same_gate(const struct op *hold, const struct op *other)
{
    NEEDS_LOCK();
    return hold == other || (hold->gate && hold->gate == other->gate);
}

bool stream_comes_before(const struct op *op, const struct stream *s, uint64_t seq)
{
    NEEDS_LOCK();
    if (op->stream == s)
        return op->seq < seq;
    return vc_includes(&s->ordering.device_order, op->stream->slot, op->seq);
}

struct host_bound stream_find_host_bound(const struct stream *s, uint64_t seq, uint64_t turn)
{
    NEEDS_LOCK();
    if (s->done_seq >= seq)
        return (struct host_bound){NULL, 0};
    for (const struct op *op = ops.host_bound; op; op = op->next_host_bound)
        if (op->turn < turn && needs_host(op) && stream_comes_before(op, s, seq))
            return (struct host_bound){op, op->turn};
    return (struct host_bound){NULL, 0};
}

bool stream_waits_for_functions_alone(const struct stream *s, uint64_t seq, int device)
{
    NEEDS_LOCK();
    for (const struct op *op = ops.host_bound; op; op = op->next_host_bound)
        if (needs_host(op) && stream_comes_before(op, s, seq)
            && (op->kind != OP_HOST || op->stream->device != device))
            return false;
    return true;
}

/* Returns whether work `seq` of `s` comes after a hold that ends together with this one. */
static bool is_behind_gate(const struct op *hold, const struct stream *s, uint64_t seq)
{
    for (const struct op *op = ops.host_bound; op; op = op->next_host_bound)
        if (op->kind == OP_HOLD && stream_is_same_gate(op, hold) && stream_comes_before(op, s, seq))
            return true;
    return false;
}

bool stream_has_another_obstacle(const struct stream *s, uint64_t seq, const struct stream *other,
                                 uint64_t other_seq)
{
    NEEDS_LOCK();
    for (const struct op *op = ops.host_bound; op; op = op->next_host_bound)
        if (needs_host(op) && stream_comes_before(op, s, seq)
            && !stream_comes_before(op, other, other_seq)
            && (op->kind != OP_HOLD || !is_behind_gate(op, other, other_seq)))
            return true;
    return false;
}

bool host_bound_is_pending(struct host_bound bound)
{
    NEEDS_LOCK();
    return bound.op && bound.op->turn == bound.turn && needs_host(bound.op);
}

bool stream_is_behind_function(const struct stream *s)
{
    NEEDS_LOCK();
    for (const struct op *op = ops.host_bound; op; op = op->next_host_bound)
        if (op->kind == OP_HOST && !op->returned
            && (op->stream == s
                || vc_includes(&s->ordering.happens_before, op->stream->slot, op->seq)))
            return true;
    return false;
}

/* ---- the queue ---- */

static void add_host_bound(struct op *op)
{
    op->next_host_bound = ops.host_bound;
    if (ops.host_bound)
        ops.host_bound->previous_host_bound = op;
    ops.host_bound = op;
}

/* Removes an op that has ended from the pending ones (host_bound_is_pending). */
static void remove_host_bound(struct op *op)
{
    if (op->previous_host_bound)
        op->previous_host_bound->next_host_bound = op->next_host_bound;
    else
        ops.host_bound = op->next_host_bound;
    if (op->next_host_bound)
        op->next_host_bound->previous_host_bound = op->previous_host_bound;
    op->turn = 0;
}

/* Returns the stream in whose queue an op of `s` takes room. */
static inline struct stream *queue_of(struct stream *s) { return s->trunk ? s->trunk : s; }

static inline void take_room(struct op *op)
{
    struct stream *s = queue_of(op->stream);
    if (op->kind != OP_COMMAND && op->kind != OP_HOLD)
        return;
    op->takes_room = true;
    if (++s->room_taken > QUEUE_ROOM)
        stream_without_room = s;
}

static struct op *append(struct stream *s, enum op_kind kind, time_ns duration)
{
    struct op *op = ops.free;
    if (op)
        ops.free = op->next;
    else
        op = os_allocate(sizeof *op);
    *op = (struct op){.stream = s,
                      .kind = kind,
                      .seq = ++s->last_seq,
                      .turn = ++ops.last_turn,
                      .issued = virtual_now,
                      .start = TIME_UNKNOWN,
                      .finish = TIME_UNKNOWN,
                      .duration = duration};
    if (kind >= OP_COMMAND)
        s->handed_seq = op->seq;
    if (kind == OP_HOST || kind == OP_HOLD)
        add_host_bound(op);
    take_room(op);
    set_before_legacy(s);
    if (s->tail)
        s->tail->next = op;
    else {
        s->head = op;
        engine_add_stream(s);
    }
    s->tail = op;
    return op;
}

void stream_drop_head(struct stream *s)
{
    struct op *op = s->head;
    if (op->kind == OP_HOST || op->kind == OP_HOLD)
        remove_host_bound(op);
    queue_of(s)->room_taken -= op->takes_room;
    s->done_seq = op->seq;
    if (op->kind == OP_WAIT) {
        s->has_waited = op->record;
    } else if (op->kind >= OP_COMMAND || (op->is_free && s->has_waited)) {
        s->reported_seq = op->seq;
        s->has_waited = false;
    }
    s->idle_at = op->finish;
    s->head = op->next;
    if (!s->head)
        s->tail = NULL;
    if (op->record)
        record_release(op->record);
    if (op->staged)
        os_free(op->staged);
    if (op->transfer)
        transfer_free(op->transfer);
    if (op->remote_record)
        os_free(op->remote_record);
    op->next = ops.free;
    ops.free = op;
}

/* Adds a position without an op, reached at `when`, to the order of an idle stream. */
static void advance_idle(struct stream *s, time_ns when)
{
    s->done_seq = ++s->last_seq;
    s->idle_at = when;
    set_before_legacy(s);
}

/* Adds a position without work, because an order may not grow without a position (stream.h). */
static inline void add_position(struct stream *s)
{
    if (s->head)
        append(s, OP_MARKER, 0);
    else
        advance_idle(s, virtual_now);
}

void stream_wait_internal(struct stream *s, struct stream *other, uint64_t seq)
{
    NEEDS_LOCK();
    if (other->done_seq >= seq)
        return;
    struct op *op = append(s, OP_WAIT, 0);
    op->awaited_stream = other;
    op->awaited_seq = seq;
}

/* Raises a clock to a stream's present work and what precedes it. Returns whether that is more. */
static bool acquire(struct vector_clock *clock, const struct stream *s,
                    const struct vector_clock *before)
{
    if (vc_includes(clock, s->slot, s->last_seq))
        return false;
    vc_join(clock, before);
    vc_set(clock, s->slot, s->last_seq);
    return true;
}

/* Orders the next op of `s` after the present work of `other`. Returns whether `s` knows more. */
static bool meet(struct stream *s, struct stream *other, enum barrier barrier)
{
    struct ordering *o = &s->ordering, *others = &other->ordering;
    acquire(&o->device_order, other, &others->device_order);
    if (barrier != BARRIER_FREES)
        acquire(&o->happens_before, other, &others->happens_before);
    if (!vc_includes(&o->known, other->slot, other->last_seq))
        stream_wait_internal(s, other, other->last_seq);
    return barrier != BARRIER_WAIT && acquire(&o->known, other, &others->known);
}

/* Orders the legacy stream's next op after work that blocking streams got since its last full
 * barrier. Returns whether the stream knows more then. */
static bool meet_blocking(struct stream *legacy, enum barrier barrier)
{
    bool acquired = false, *has_freed = &streams.has_freed_before_legacy[legacy->device];
    const struct ordered_tree *before = &streams.before_legacy[legacy->device];
    if (barrier == BARRIER_FREES && !*has_freed)
        return false;
    for (struct tree_node *n = tree_first(before, 0, UINT64_MAX), *next; n; n = next) {
        next = tree_next(n, UINT64_MAX);
        struct stream *other = streams.by_slot[UINT32_MAX - n->key];
        acquired |= meet(legacy, other, barrier);
        if (barrier == BARRIER_FULL)
            clear_before_legacy(other);
    }
    *has_freed &= barrier == BARRIER_WAIT;
    return acquired;
}

/* Applies the rules to the stream's next op: it comes after what the host has acquired, and the
 * legacy stream and the blocking streams of its device wait for each other (documented, but for
 * what enum barrier says). Returns whether the stream knows more then. */
static inline bool order_next_op(struct stream *s, enum barrier barrier)
{
    struct stream *legacy = streams.legacy[s->device];
    if (s->host_version != host_acquired.version) {
        vc_join(&s->ordering.happens_before, &host_acquired.clock);
        s->host_version = host_acquired.version;
    }
    if (barrier == BARRIER_NONE)
        return false;
    if (s == legacy)
        return meet_blocking(s, barrier);
    bool acquired = legacy && stream_is_blocking(s) && meet(s, legacy, barrier);
    if (acquired && legacy->place)
        stream_place(s);
    return acquired;
}

void stream_gather_order(const struct stream *s, struct vector_clock *order)
{
    NEEDS_LOCK();
    const struct stream *legacy = streams.legacy[s->device];
    vc_join(order, &s->ordering.known);
    if (s == legacy) {
        const struct ordered_tree *before = &streams.before_legacy[s->device];
        for (struct tree_node *n = tree_first(before, 0, UINT64_MAX); n;
             n = tree_next(n, UINT64_MAX)) {
            const struct stream *other = streams.by_slot[UINT32_MAX - n->key];
            acquire(order, other, &other->ordering.known);
        }
    } else if (legacy && stream_is_blocking(s)) {
        acquire(order, legacy, &legacy->ordering.known);
    }
}

struct op *stream_enqueue(struct stream *s, enum op_kind kind, time_ns duration)
{
    NEEDS_LOCK();
    bool knows_less = kind == OP_RECORD && s->kind != STREAM_LEGACY;
    order_next_op(s, knows_less ? BARRIER_WAIT : BARRIER_FULL);
    return append(s, kind, duration);
}

struct op *stream_enqueue_function(struct stream *s, time_ns duration)
{
    NEEDS_LOCK();
    host_functions.queued = true;
    struct op *op = stream_enqueue(s, OP_HOST, duration);
    op->record = stream_snapshot(s, op->seq - 1);
    return op;
}

uint64_t stream_enqueue_marker(struct stream *s, enum barrier barrier)
{
    NEEDS_LOCK();
    order_next_op(s, barrier);
    s->memory_seq = s->last_seq + 1;
    add_position(s);
    return s->last_seq;
}

void stream_note_free(struct stream *s, uint64_t seq)
{
    NEEDS_LOCK();
    s->handed_seq = seq;
    if (stream_is_blocking(s) && s->kind != STREAM_LEGACY)
        streams.has_freed_before_legacy[s->device] = true;
    if (s->tail && s->tail->seq == seq)
        s->tail->is_free = true;
}

/* Measured (walks.txt.gz, profile capped, seed 3): while a kernel runs, all frees before it are
 * known to be done. But a wait for another stream goes to the device with the next free or work,
 * and while it lasts, frees after the newest work before it are not known to be done. A free right
 * after a wait for an event is known (measured: probe-legacy-order.txt). */
uint64_t stream_reached_seq(const struct stream *s)
{
    NEEDS_LOCK();
    bool is_blocked = s->head && s->head->kind == OP_WAIT && s->handed_seq > s->head->seq;
    return is_blocked ? s->reported_seq : s->done_seq;
}

void stream_follow(struct stream *s, struct stream *other)
{
    NEEDS_LOCK();
    uint64_t last_seq = other->last_seq;
    if (!other->destroyed && order_next_op(other, BARRIER_FULL) && other->last_seq == last_seq)
        add_position(other);
    last_seq = s->last_seq;
    bool acquired = order_next_op(s, BARRIER_FULL);
    acquired |= meet(s, other, BARRIER_FULL);
    if (acquired && s->last_seq == last_seq)
        add_position(s);
}

void stream_follow_devices(struct stream *s, unsigned devices)
{
    NEEDS_LOCK();
    for (struct stream *t = streams.all; t; t = t->next)
        if (t != s && devices >> t->device & 1)
            stream_follow(s, t);
}

void stream_precede_devices(struct stream *s, unsigned devices)
{
    NEEDS_LOCK();
    for (struct stream *t = streams.all; t; t = t->next)
        if (t != s && !t->destroyed && devices >> t->device & 1)
            stream_follow(t, s);
    for (int d = 0; d < MAX_DEVICES; d++) {
        if (!(devices >> d & 1))
            continue;
        if (streams.precedes[d])
            record_release(streams.precedes[d]);
        streams.precedes[d] = stream_snapshot(s, s->last_seq);
    }
}

void stream_wait(struct stream *s, struct record *r)
{
    NEEDS_LOCK();
    order_next_op(s, BARRIER_WAIT);
    if (!r->done) {
        struct op *op = append(s, OP_WAIT, 0);
        op->record = r;
        r->users++;
    } else if (s->head) {
        append(s, OP_MARKER, 0);
    } else {
        advance_idle(s, time_max(s->idle_at, r->finish));
    }
    ordering_join(&s->ordering, &r->ordering);
    ordering_set(&s->ordering, r->stream->slot, r->seq);
}

/* ---- records ---- */

struct record *stream_record(struct stream *s)
{
    NEEDS_LOCK();
    struct op *op = stream_enqueue(s, OP_RECORD, time_under_schedule(DURATION_EVENT));
    struct record *r = stream_snapshot(s, op->seq);
    /* The record's users are the caller and the op. */
    r->users++;
    op->record = r;
    /* The record in a blocking stream knows what the stream itself does not (enum barrier). */
    const struct stream *legacy = streams.legacy[s->device];
    if (legacy && stream_is_blocking(s))
        acquire(&r->ordering.known, legacy, &legacy->ordering.known);
    return r;
}

struct record *stream_snapshot(struct stream *s, uint64_t seq)
{
    NEEDS_LOCK();
    struct record *r = os_allocate(sizeof *r);
    r->users = 1;
    r->stream = s;
    r->seq = seq;
    r->next = records;
    if (records)
        records->previous = r;
    records = r;
    ordering_join(&r->ordering, &s->ordering);
    return r;
}

void record_release(struct record *r)
{
    NEEDS_LOCK();
    if (--r->users)
        return;
    if (r->previous)
        r->previous->next = r->next;
    else
        records = r->next;
    if (r->next)
        r->next->previous = r->previous;
    ordering_clear(&r->ordering);
    os_free(r);
}

/* Joins `before` into a clock of the stream if the clock includes the wait. The clock does not have
 * the stream's own work, which counts up to `seq`. */
static void learn(struct vector_clock *clock, const struct stream *s, uint64_t seq,
                  const struct op *wait, const struct vector_clock *before)
{
    if (s == wait->stream ? seq >= wait->seq : vc_includes(clock, wait->stream->slot, wait->seq))
        vc_join(clock, before);
}

void stream_learn(const struct op *wait, const struct vector_clock *before)
{
    NEEDS_LOCK();
    for (struct stream *s = streams.all; s; s = s->next)
        learn(&s->ordering.happens_before, s, s->last_seq, wait, before);
    for (struct record *r = records; r; r = r->next)
        learn(&r->ordering.happens_before, r->stream, r->seq, wait, before);
}
