/* Streams: their queues, the rule of the legacy stream, and what each knows to come before. */
#include "sched/stream.h"

#include "sched/virtual_time.h"
#include "sched/cost.h"
#include "base/fatal.h"
#include "base/handle.h"
#include "os/os.h"
#include "base/journal.h"
#include "sched/engine.h"

static struct stream *streams;                  /* all that ever were; a destroyed one serves again when its work is over */
static struct stream *legacy[MAX_DEVICES];
static struct stream **by_lane;
static uint32_t lanes;
static int stream_ids;
static unsigned long long api_ids;
static uint64_t turns;
static struct order host_known;                 /* one for all host threads: how they order themselves is not seen (chosen: */
static uint64_t host_version;                   /* a program is never accused for a lock that we do not know of) */

/* Can this stream's lane serve another? Its work is over, and nobody could call what comes next unordered with it. */
static bool is_over(const struct stream *s)
{
    return s->done == s->last && order_covers(&host_known, s->lane, s->last);
}

uint32_t stream_new_lane(void)
{
    by_lane = host_grow(by_lane, (lanes + 1) * sizeof(struct stream *));
    by_lane[lanes] = NULL;
    return lanes++;
}

static void (*place_given)(struct stream *s);

void stream_on_place_given(void (*listener)(struct stream *s)) { place_given = listener; }

static struct stream *take_spare(void)
{
    for (struct stream *s = streams; s; s = s->next)
        if (s->destroyed && is_over(s)) {
            if (place_given) place_given(s);
            return s;
        }
    struct stream *s = host_allocate(sizeof *s);
    s->lane = stream_new_lane();
    by_lane[s->lane] = s;
    s->next = streams;
    streams = s;
    return s;
}

struct stream *stream_new(enum stream_kind kind, int device, int priority)
{
    struct stream *s = take_spare();
    s->kind = kind;
    s->device = device;
    s->priority = priority;
    s->id = kind == STREAM_LEGACY || kind == STREAM_PER_THREAD ? 0 : ++stream_ids;
    s->api_id = ++api_ids;
    s->handle = handle_new(HANDLE_STREAM, s);
    s->destroyed = false;
    s->trunk = NULL;
    s->host_version = 0;
    knowledge_clear(&s->known);
    return s;
}

struct stream *stream_branch(struct stream *trunk, int device)
{
    struct stream *s = take_spare();
    s->kind = STREAM_BRANCH;
    s->device = device;
    s->priority = trunk->priority;
    s->id = trunk->id;
    s->handle = NULL;
    s->destroyed = false;
    s->trunk = trunk;
    s->host_version = 0;
    knowledge_clear(&s->known);
    return s;
}

void stream_destroy(struct stream *s)
{
    handle_retire(HANDLE_STREAM, s->handle);
    s->destroyed = true;
}

struct stream *stream_legacy(int device)
{
    if (!legacy[device]) legacy[device] = stream_new(STREAM_LEGACY, device, 0);
    return legacy[device];
}

static _Thread_local struct stream *own[MAX_DEVICES];

/* measured (probe-threads.txt): the H200's thread never ends when an allocation or a free that the host has not waited for has work behind it in the
 * thread's own stream. With plain memory it ends, and the work goes on */
static void check_end(const struct stream *s)
{
    if (!s->head || s->marked <= s->synchronised) return;
    end_hazard("a thread that cannot end", NULL,
               "a thread that cannot end. It ends with work pending in its own stream (cudaStreamPerThread), behind a cudaMallocAsync or cudaFreeAsync. "
               "A real driver hangs here.\n"
               "  To do: call cudaStreamSynchronize(cudaStreamPerThread) at the end of the thread.");
}

/* The thread ends, and with it its default streams (chosen). */
static void destroy_own(void)
{
    timeline_catch_up();
    for (int d = 0; d < MAX_DEVICES; d++) {
        if (own[d]) check_end(own[d]);
        if (own[d] && !own[d]->capturing) stream_destroy(own[d]);
        own[d] = NULL;
    }
}

struct stream *stream_per_thread(int device)
{
    if (!own[device]) {
        own[device] = stream_new(STREAM_PER_THREAD, device, 0);
        host_at_thread_end(destroy_own);
    }
    return own[device];
}

bool stream_is_of_this_thread(const struct stream *s) { return own[s->device] == stream_trunk(s); }

struct stream *stream_first(void) { return streams; }

void stream_journal(const struct stream *s)
{
    if (s->kind == STREAM_LEGACY) journal_text("stream", "legacy");
    else if (s->kind == STREAM_PER_THREAD) journal_text("stream", "per-thread");
    else journal_number("stream", (uint64_t)s->id);
}

struct stream *stream_of_lane(uint32_t lane) { return by_lane[lane]; }

/* ---- the queue ---- */

static struct op *free_ops;
static uint64_t host_bound;            /* queued work that the host can hold up: most programs have none */

static bool is_host_bound(enum op_kind kind) { return kind == OP_HOST || kind == OP_HOLD; }

static struct op *append(struct stream *s, enum op_kind kind, time_ns duration)
{
    struct op *op = free_ops;
    if (op) free_ops = op->next;
    else op = host_allocate(sizeof *op);
    *op = (struct op){ .stream = s, .kind = kind, .number = ++s->last, .turn = ++turns, .issued = clock_now(),
                       .start = TIME_UNKNOWN, .finish = TIME_UNKNOWN, .duration = duration };
    host_bound += is_host_bound(kind);
    if (s->tail) s->tail->next = op;
    else {
        s->head = op;
        timeline_add(s);
    }
    s->tail = op;
    return op;
}

void stream_drop_head(struct stream *s)
{
    struct op *op = s->head;
    host_bound -= is_host_bound(op->kind);
    s->done = op->number;
    s->free_at = op->finish;
    s->head = op->next;
    if (!s->head) s->tail = NULL;
    if (op->record) record_release(op->record);
    host_free(op->staged);
    op->next = free_ops;
    free_ops = op;
}

/* What the host knows comes before all that it enqueues from now on. */
static void learn_from_host(struct stream *s)
{
    if (s->host_version == host_version) return;
    order_join(&s->known.everything, &host_known);
    s->host_version = host_version;
}

void stream_wait_quietly(struct stream *s, struct stream *other, uint64_t number)
{
    if (other->done >= number) return;
    struct op *op = append(s, OP_WAIT, 0);
    op->other = other;
    op->other_number = number;
}

/* `s` waits for what `other` has so far. */
static void wait_for_stream(struct stream *s, struct stream *other)
{
    if (order_covers(&s->known.dependencies, other->lane, other->last)) return;
    stream_wait_quietly(s, other, other->last);
    knowledge_join(&s->known, &other->known);
    knowledge_raise(&s->known, other->lane, other->last);
}

/* Documented: work in the legacy stream waits for all blocking streams of its device, and they wait for it. */
static void obey_legacy(struct stream *s)
{
    if (!stream_is_blocking(s)) return;
    if (s->kind != STREAM_LEGACY) {
        if (legacy[s->device]) wait_for_stream(s, legacy[s->device]);
        return;
    }
    for (struct stream *other = streams; other; other = other->next)
        if (other != s && other->device == s->device && stream_is_blocking(other)) wait_for_stream(s, other);
}

struct op *stream_enqueue(struct stream *s, enum op_kind kind, time_ns duration)
{
    learn_from_host(s);
    obey_legacy(s);
    return append(s, kind, duration);
}

void stream_follow(struct stream *s, struct stream *other)
{
    learn_from_host(s);
    learn_from_host(other);
    obey_legacy(s);
    obey_legacy(other);
    wait_for_stream(s, other);
    knowledge_join(&s->known, &other->known);          /* also of a legacy stream that has had no work of its own */
}

uint64_t stream_mark(struct stream *s)
{
    learn_from_host(s);
    obey_legacy(s);
    s->marked = s->last + 1;
    if (s->head) return append(s, OP_MARK, 0)->number;
    s->done = ++s->last;
    s->free_at = clock_now();
    return s->last;
}

struct record *stream_place(struct stream *s, uint64_t number)
{
    struct record *r = host_allocate(sizeof *r);
    r->users = 1;
    r->stream = s;
    r->number = number;
    knowledge_join(&r->known, &s->known);
    knowledge_raise(&r->known, s->lane, number);
    return r;
}

struct record *stream_record(struct stream *s)
{
    struct op *op = stream_enqueue(s, OP_RECORD, clock_pace(WORK_EVENT));
    struct record *r = stream_place(s, op->number);
    r->users++;                        /* the caller and the op */
    op->record = r;
    return r;
}

struct op *stream_enqueue_function(struct stream *s, time_ns duration)
{
    struct op *op = stream_enqueue(s, OP_HOST, duration);
    op->record = stream_place(s, op->number - 1);
    return op;
}

void record_release(struct record *r)
{
    if (--r->users) return;
    knowledge_clear(&r->known);
    host_free(r);
}

void stream_wait(struct stream *s, struct record *r)
{
    learn_from_host(s);
    obey_legacy(s);
    if (!r->done) {
        struct op *op = append(s, OP_WAIT, 0);
        op->record = r;
        r->users++;
    } else if (s->head) {
        append(s, OP_MARK, 0);
    } else {
        s->done = ++s->last;
        s->free_at = time_max(s->free_at, r->finish);
    }
    knowledge_join(&s->known, &r->known);
}

/* ---- what the host knows ---- */

static void (*listeners[2])(void);     /* the border, the guard; each asks as often as it likes */
static unsigned listener_count;

void stream_on_host_learned(void (*listener)(void))
{
    for (unsigned i = 0; i < listener_count; i++)
        if (listeners[i] == listener) return;
    listeners[listener_count++] = listener;
}

static void host_learned(void)
{
    host_version++;
    for (unsigned i = 0; i < listener_count; i++) listeners[i]();
}

static void host_learns(const struct order *from, uint32_t lane, uint64_t number)
{
    order_join(&host_known, from);
    order_raise(&host_known, lane, number);
    host_learned();
}

/* Waiting for a stream is waiting for all that came before it, too. */
static void mark_synchronised(const struct order *before)
{
    for (struct stream *s = streams; s; s = s->next)
        if (s->lane < before->lanes && s->synchronised < before->reached[s->lane]) s->synchronised = before->reached[s->lane];
}

void stream_host_knows(struct stream *s, uint64_t number, bool waited)
{
    if (waited) {
        mark_synchronised(&s->known.dependencies);
        if (s->synchronised < number) s->synchronised = number;
    }
    if (!order_covers(&host_known, s->lane, number)) host_learns(&s->known.everything, s->lane, number);
}

void record_host_knows(struct record *r, bool waited)
{
    if (waited) {
        mark_synchronised(&r->known.dependencies);
        if (r->stream->synchronised < r->number) r->stream->synchronised = r->number;
    }
    if (!order_covers(&host_known, r->stream->lane, r->number)) host_learns(&r->known.everything, r->stream->lane, r->number);
}

/* Also when the host knows of work `r->number`: what the legacy stream puts before the next one takes no number when it is over. */
void record_host_knows_before(struct record *r) { host_learns(&r->known.everything, r->stream->lane, r->number); }

void stream_host_hears(const struct order *told)
{
    order_join(&host_known, told);
    host_learned();
}

const struct order *host_knowledge(void) { return &host_known; }

bool stream_waits_for_host(const struct stream *s, uint64_t number)
{
    if (s->done >= number) return false;
    for (const struct stream *t = host_bound ? streams : NULL; t; t = t->next)
        for (const struct op *op = t->head; op; op = op->next) {
            bool waits = (op->kind == OP_HOST && !op->returned) || (op->kind == OP_HOLD && !__atomic_load_n(op->gate, __ATOMIC_SEQ_CST));
            if (waits && (t == s ? op->number < number : order_covers(&s->known.dependencies, t->lane, op->number))) return true;
        }
    return false;
}

bool stream_is_behind_function(const struct stream *s)
{
    for (const struct stream *t = host_bound ? streams : NULL; t; t = t->next)
        for (const struct op *op = t->head; op; op = op->next)
            if (op->kind == OP_HOST && !op->returned && (t == s || order_covers(&s->known.everything, t->lane, op->number))) return true;
    return false;
}

struct stream *stream_using(const char *from, const char *to)
{
    for (struct stream *s = streams; s; s = s->next)
        for (const struct op *op = s->head; op; op = op->next)
            if ((op->to >= from && op->to < to) || (op->from >= from && op->from < to)) return s;
    return NULL;
}
