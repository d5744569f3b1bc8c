/* Streams: their queues, the rule of the legacy stream, and what each knows to come before. */
#include "sched/stream.h"

#include "sched/virtual_time.h"
#include "sched/cost.h"
#include "base/fatal.h"
#include "base/handle.h"
#include "os/os.h"
#include "sched/engine.h"

/* All that ever were; a destroyed one serves again when its work is over. */
static struct stream *streams;
static struct stream *legacy_streams[MAX_DEVICES];
static struct stream **stream_by_slot;
static uint32_t slot_count;
static int stream_ids;
static unsigned long long api_ids;
static uint64_t turns;
/* One for all host threads: how they order themselves is not seen (chosen: */
static struct vector_clock host_vc;
/* A program is never accused for a lock that we do not know of). */
static uint64_t host_version;

/* Can this stream's lane serve another? Its work is over, and nobody could call what comes next
 * unordered with it. */
static bool is_slot_reusable(const struct stream *s)
{
    return s->done_seq == s->last_seq && vc_includes(&host_vc, s->slot, s->last_seq);
}

uint32_t stream_new_slot(void)
{
    stream_by_slot = os_grow(stream_by_slot, (slot_count + 1) * sizeof(struct stream *));
    stream_by_slot[slot_count] = NULL;
    return slot_count++;
}

static void (*slot_reuse_listener)(struct stream *s);

void stream_on_slot_reuse(void (*listener)(struct stream *s)) { slot_reuse_listener = listener; }

static struct stream *take_free_stream(void)
{
    for (struct stream *s = streams; s; s = s->next)
        if (s->destroyed && is_slot_reusable(s)) {
            if (slot_reuse_listener)
                slot_reuse_listener(s);
            return s;
        }
    struct stream *s = os_allocate(sizeof *s);
    s->slot = stream_new_slot();
    stream_by_slot[s->slot] = s;
    s->next = streams;
    streams = s;
    return s;
}

struct stream *stream_new(enum stream_kind kind, int device, int priority)
{
    struct stream *s = take_free_stream();
    s->kind = kind;
    s->device = device;
    s->priority = priority;
    s->id = kind == STREAM_LEGACY || kind == STREAM_PER_THREAD ? 0 : ++stream_ids;
    s->api_id = ++api_ids;
    s->handle = handle_new(HANDLE_STREAM, s);
    s->destroyed = false;
    s->trunk = NULL;
    s->host_version = 0;
    ordering_clear(&s->ordering);
    return s;
}

struct stream *stream_new_branch(struct stream *trunk, int device)
{
    struct stream *s = take_free_stream();
    s->kind = STREAM_BRANCH;
    s->device = device;
    s->priority = trunk->priority;
    s->id = trunk->id;
    s->handle = NULL;
    s->destroyed = false;
    s->trunk = trunk;
    s->host_version = 0;
    ordering_clear(&s->ordering);
    return s;
}

void stream_destroy(struct stream *s)
{
    handle_retire(HANDLE_STREAM, s->handle);
    s->destroyed = true;
}

struct stream *stream_legacy(int device)
{
    if (!legacy_streams[device])
        legacy_streams[device] = stream_new(STREAM_LEGACY, device, 0);
    return legacy_streams[device];
}

static _Thread_local struct stream *thread_streams[MAX_DEVICES];

/* measured (probe-threads.txt): the H200's thread never ends when an allocation or a free that the
 * host has not waited for has work behind it in the thread's own stream. With plain memory it ends,
 * and the work goes on */
static void check_thread_end(const struct stream *s)
{
    if (!s->head || s->memory_seq <= s->synchronized_seq)
        return;
    fatal_hazard(
        "a thread that cannot end", NULL,
        "a thread that cannot end. It ends with work pending in its own stream "
        "(cudaStreamPerThread), behind a cudaMallocAsync or cudaFreeAsync. "
        "A real driver hangs here.\n"
        "  To do: call cudaStreamSynchronize(cudaStreamPerThread) at the end of the thread.");
}

/* The thread ends, and with it its default streams (chosen). */
static void destroy_thread_streams(void)
{
    engine_catch_up();
    for (int d = 0; d < MAX_DEVICES; d++) {
        if (thread_streams[d])
            check_thread_end(thread_streams[d]);
        if (thread_streams[d] && !thread_streams[d]->capturing)
            stream_destroy(thread_streams[d]);
        thread_streams[d] = NULL;
    }
}

struct stream *stream_per_thread(int device)
{
    if (!thread_streams[device]) {
        thread_streams[device] = stream_new(STREAM_PER_THREAD, device, 0);
        os_at_thread_end(destroy_thread_streams);
    }
    return thread_streams[device];
}

bool stream_is_of_this_thread(const struct stream *s)
{
    return thread_streams[s->device] == stream_trunk(s);
}

struct stream *stream_first(void) { return streams; }

struct stream *stream_of_slot(uint32_t slot) { return stream_by_slot[slot]; }

/* ---- the queue ---- */

static struct op *free_ops;
/* Queued work that the host can hold up: most programs have none. */
static uint64_t host_bound_ops;

static bool is_host_bound(enum op_kind kind) { return kind == OP_HOST || kind == OP_HOLD; }

static struct op *append(struct stream *s, enum op_kind kind, time_ns duration)
{
    struct op *op = free_ops;
    if (op)
        free_ops = op->next;
    else
        op = os_allocate(sizeof *op);
    *op = (struct op){.stream = s,
                      .kind = kind,
                      .seq = ++s->last_seq,
                      .turn = ++turns,
                      .issued = time_now(),
                      .start = TIME_UNKNOWN,
                      .finish = TIME_UNKNOWN,
                      .duration = duration};
    host_bound_ops += is_host_bound(kind);
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
    host_bound_ops -= is_host_bound(op->kind);
    s->done_seq = op->seq;
    s->idle_at = op->finish;
    s->head = op->next;
    if (!s->head)
        s->tail = NULL;
    if (op->record)
        record_release(op->record);
    os_free(op->staged);
    op->next = free_ops;
    free_ops = op;
}

/* What the host knows comes before all that it enqueues from now on. */
static void stream_acquire_host(struct stream *s)
{
    if (s->host_version == host_version)
        return;
    vc_join(&s->ordering.happens_before, &host_vc);
    s->host_version = host_version;
}

void stream_wait_internal(struct stream *s, struct stream *other, uint64_t seq)
{
    if (other->done_seq >= seq)
        return;
    struct op *op = append(s, OP_WAIT, 0);
    op->awaited_stream = other;
    op->awaited_seq = seq;
}

/* `s` waits for what `other` has so far. */
static void wait_for_stream(struct stream *s, struct stream *other)
{
    if (vc_includes(&s->ordering.device_order, other->slot, other->last_seq))
        return;
    stream_wait_internal(s, other, other->last_seq);
    ordering_join(&s->ordering, &other->ordering);
    ordering_set(&s->ordering, other->slot, other->last_seq);
}

/* Documented: work in the legacy stream waits for all blocking streams of its device, and they wait
 * for it. */
static void obey_legacy(struct stream *s)
{
    if (!stream_is_blocking(s))
        return;
    if (s->kind != STREAM_LEGACY) {
        if (legacy_streams[s->device])
            wait_for_stream(s, legacy_streams[s->device]);
        return;
    }
    for (struct stream *other = streams; other; other = other->next)
        if (other != s && other->device == s->device && stream_is_blocking(other))
            wait_for_stream(s, other);
}

struct op *stream_enqueue(struct stream *s, enum op_kind kind, time_ns duration)
{
    stream_acquire_host(s);
    obey_legacy(s);
    return append(s, kind, duration);
}

void stream_follow(struct stream *s, struct stream *other)
{
    stream_acquire_host(s);
    stream_acquire_host(other);
    obey_legacy(s);
    obey_legacy(other);
    wait_for_stream(s, other);
    /* Also of a legacy stream that has had no work of its own. */
    ordering_join(&s->ordering, &other->ordering);
}

uint64_t stream_enqueue_marker(struct stream *s)
{
    stream_acquire_host(s);
    obey_legacy(s);
    s->memory_seq = s->last_seq + 1;
    if (s->head)
        return append(s, OP_MARKER, 0)->seq;
    s->done_seq = ++s->last_seq;
    s->idle_at = time_now();
    return s->last_seq;
}

struct record *stream_snapshot(struct stream *s, uint64_t seq)
{
    struct record *r = os_allocate(sizeof *r);
    r->users = 1;
    r->stream = s;
    r->seq = seq;
    ordering_join(&r->ordering, &s->ordering);
    ordering_set(&r->ordering, s->slot, seq);
    return r;
}

struct record *stream_record(struct stream *s)
{
    struct op *op = stream_enqueue(s, OP_RECORD, time_under_schedule(DURATION_EVENT));
    struct record *r = stream_snapshot(s, op->seq);
    r->users++; /* the caller and the op */
    op->record = r;
    return r;
}

struct op *stream_enqueue_function(struct stream *s, time_ns duration)
{
    struct op *op = stream_enqueue(s, OP_HOST, duration);
    op->record = stream_snapshot(s, op->seq - 1);
    return op;
}

void record_release(struct record *r)
{
    if (--r->users)
        return;
    ordering_clear(&r->ordering);
    os_free(r);
}

void stream_wait(struct stream *s, struct record *r)
{
    stream_acquire_host(s);
    obey_legacy(s);
    if (!r->done) {
        struct op *op = append(s, OP_WAIT, 0);
        op->record = r;
        r->users++;
    } else if (s->head) {
        append(s, OP_MARKER, 0);
    } else {
        s->done_seq = ++s->last_seq;
        s->idle_at = time_max(s->idle_at, r->finish);
    }
    ordering_join(&s->ordering, &r->ordering);
}

/* ---- what the host knows ---- */

/* The border, the guard; each asks as often as it likes. */
static void (*acquire_listeners[2])(void);
static unsigned listener_count;

void host_on_acquire(void (*listener)(void))
{
    for (unsigned i = 0; i < listener_count; i++)
        if (acquire_listeners[i] == listener)
            return;
    acquire_listeners[listener_count++] = listener;
}

static void notify_acquire(void)
{
    host_version++;
    for (unsigned i = 0; i < listener_count; i++)
        acquire_listeners[i]();
}

static void host_acquire(const struct vector_clock *from, uint32_t slot, uint64_t seq)
{
    vc_join(&host_vc, from);
    vc_set(&host_vc, slot, seq);
    notify_acquire();
}

/* Waiting for a stream is waiting for all that came before it, too. */
static void set_synchronized(const struct vector_clock *before)
{
    for (struct stream *s = streams; s; s = s->next)
        if (s->slot < before->slots && s->synchronized_seq < before->epochs[s->slot])
            s->synchronized_seq = before->epochs[s->slot];
}

void host_acquire_stream(struct stream *s, uint64_t seq, bool synchronized)
{
    if (synchronized) {
        set_synchronized(&s->ordering.device_order);
        if (s->synchronized_seq < seq)
            s->synchronized_seq = seq;
    }
    if (!vc_includes(&host_vc, s->slot, seq))
        host_acquire(&s->ordering.happens_before, s->slot, seq);
}

void host_acquire_record(struct record *r, bool synchronized)
{
    if (synchronized) {
        set_synchronized(&r->ordering.device_order);
        if (r->stream->synchronized_seq < r->seq)
            r->stream->synchronized_seq = r->seq;
    }
    if (!vc_includes(&host_vc, r->stream->slot, r->seq))
        host_acquire(&r->ordering.happens_before, r->stream->slot, r->seq);
}

/* Also when the host knows of work `r->number`: what the legacy stream puts before the next one
 * takes no number when it is over. */
void host_acquire_before_record(struct record *r)
{
    host_acquire(&r->ordering.happens_before, r->stream->slot, r->seq);
}

void host_acquire_remote(const struct vector_clock *remote)
{
    vc_join(&host_vc, remote);
    notify_acquire();
}

const struct vector_clock *host_vector_clock(void) { return &host_vc; }

bool stream_waits_for_host(const struct stream *s, uint64_t seq)
{
    if (s->done_seq >= seq)
        return false;
    for (const struct stream *t = host_bound_ops ? streams : NULL; t; t = t->next)
        for (const struct op *op = t->head; op; op = op->next) {
            bool waits = (op->kind == OP_HOST && !op->returned)
                      || (op->kind == OP_HOLD && !__atomic_load_n(op->gate, __ATOMIC_SEQ_CST));
            if (waits
                && (t == s ? op->seq < seq
                           : vc_includes(&s->ordering.device_order, t->slot, op->seq)))
                return true;
        }
    return false;
}

bool stream_is_behind_function(const struct stream *s)
{
    for (const struct stream *t = host_bound_ops ? streams : NULL; t; t = t->next)
        for (const struct op *op = t->head; op; op = op->next)
            if (op->kind == OP_HOST && !op->returned
                && (t == s || vc_includes(&s->ordering.happens_before, t->slot, op->seq)))
                return true;
    return false;
}

struct stream *stream_using(const char *from, const char *to)
{
    for (struct stream *s = streams; s; s = s->next)
        for (const struct op *op = s->head; op; op = op->next)
            if ((op->to >= from && op->to < to) || (op->from >= from && op->from < to))
                return s;
    return NULL;
}
