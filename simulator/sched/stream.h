/* Streams: queues of work, and the records of events in them.
 *
 *   program -> enqueue -> [ op ][ op ][ op ] -> the engine runs the head when its start is reached
 *                          head          tail
 *
 * Invariants: done_seq <= last_seq, and the queue contains exactly the ops done_seq + 1 to
 * last_seq, in order. A struct stream is never freed, but reused. A destroyed stream becomes a new
 * one when its work has ended and the host has acquired it, or when many streams have been
 * destroyed since. A branch becomes a branch of the next launch in its trunk. All functions here
 * need the lock. */
#ifndef SIM_SCHED_STREAM_H
#define SIM_SCHED_STREAM_H

#include "sched/vector_clock.h"
#include "base/ordered_tree.h"
#include "base/types.h"

enum stream_kind {
    STREAM_LEGACY,
    STREAM_PER_THREAD,
    STREAM_BLOCKING,
    STREAM_NON_BLOCKING,
    STREAM_BRANCH
};

struct op;
struct transfer;
struct capture_member;

struct stream {
    /* ---- created by the program ---- */

    /* The stream's number in the journal; 0 for the two default streams. */
    int id;
    /* For the stream's name in messages: the call that created it, and that call's site. */
    const char *made_by;
    void *made_at;
    enum stream_kind kind;
    int device;
    int priority;
    /* The result of cudaStreamGetId. */
    unsigned long long api_id;
    void *handle;
    /* What cudaStreamSetAttribute has set, or NULL. Only api/stream_calls.c uses this. */
    void *hints;
    /* The program has destroyed the stream; its work still runs to the end. */
    bool destroyed;

    /* ---- the rule of the legacy stream, in stream.c ---- */

    /* The stream is a blocking one with newer work than the legacy stream has waited for. */
    bool is_before_legacy;
    /* Used if is_before_legacy. */
    struct tree_node before_legacy_node;

    /* ---- graphs ---- */

    /* STREAM_BRANCH: the stream in which the graph was launched; otherwise NULL. */
    struct stream *trunk;
    /* The branches of earlier launches in this stream, which its next launch reuses. */
    struct stream *branches;
    /* The stream's part in a capture, or NULL. graph/ owns it. */
    struct capture_member *capturing;

    /* ---- its work and progress ---- */

    /* The stream's slot in every vector clock. */
    uint32_t slot;
    /* The number of ops, its branches' among them, that take room in the queue (QUEUE_ROOM). */
    uint32_t room_taken;
    /* The newest work and the newest finished work. */
    uint64_t last_seq, done_seq;
    /* The newest host function that has run. */
    uint64_t function_seq;
    /* The newest allocation or free. */
    uint64_t memory_seq;
    /* The stream's place (stream_place), or 0 without a place. */
    uint32_t place;
    /* For stream_reached_seq: the newest free or real work, with which earlier waits go to the
     * device; the newest work up to which the device has reported; and whether a wait for an
     * event has ended since. */
    uint64_t handed_seq, reported_seq;
    bool has_waited;
    /* The newest kernel of nvcc that has run and may have signaled others. */
    uint64_t signal_seq;
    /* When work done_seq finished. */
    time_ns idle_at;
    struct op *head, *tail;

    /* ---- for engine.c ---- */

    /* The stream's index in the list of streams with work plus 1, or 0 without work. */
    uint32_t active_index;
    /* The first and last stream whose head waits for work of this stream, in the order of that
     * work; and the next stream in the list that contains this stream. */
    struct stream *waiting, *last_waiting, *next_in_list;

    /* ---- what precedes its next op ---- */

    /* Grows only together with last_seq, except for what the host has acquired, so a clock that
     * includes last_seq includes everything else here. */
    struct ordering ordering;
    /* The host_acquired.version that `ordering` includes. */
    uint64_t host_version;

    /* ---- lists of stream.c ---- */

    /* The next of all streams. */
    struct stream *next;
    /* While unused: the next branch of its trunk, or the next retired stream. */
    struct stream *next_unused;
    /* Used while the stream's slot is known to be reusable. */
    struct tree_node reusable_node;
};

/* The result of cudaEventRecord: a position in a stream, when it was reached, and what precedes it.
 * The event, the op in the queue, and every wait share it, and the last user frees it. */
struct record {
    /* The neighbors among all records. */
    struct record *previous, *next;
    uint32_t users;
    struct stream *stream;
    uint64_t seq;
    bool done;
    time_ns finish;
    /* For the engine: the streams whose heads wait for this record. */
    struct stream *waiting;
    /* What precedes the record, without the record's own epoch. */
    struct ordering ordering;
};

enum op_kind {
    /* An allocation or a free: a position in the order, without work. */
    OP_MARKER,
    OP_RECORD,
    /* Waits for a record, or for work of another stream. */
    OP_WAIT,
    /* Takes a known time, and then has an effect on memory. */
    OP_COMMAND,
    /* Lasts until *gate is not 0, or until is_over(op). From this kind on, the end of an op is not
     * known in advance. */
    OP_HOLD,
    /* Lasts until remote_is_done(op), which depends on another process. */
    OP_REMOTE_WAIT,
    /* Lasts until a host function has returned. */
    OP_HOST
};

struct op {
    struct op *next;
    struct stream *stream;
    enum op_kind kind;
    /* The op counts in the `room_taken` of its stream or, in a branch, of its trunk. */
    bool takes_room;
    /* The op frees memory of a pool. */
    bool is_free;
    /* The op had its effect before its end. */
    bool was_hastened;
    /* The op's number in its stream. */
    uint64_t seq;
    /* The op's number among all ops, which decides between equal times. */
    uint64_t turn;
    time_ns issued, start, finish, duration;
    /* OP_RECORD: the record that it makes. OP_WAIT: the record it waits for, or NULL if it waits
     * for a stream. OP_HOST: what precedes it. The op is one of the record's users. */
    struct record *record;
    /* Called when the op ends, if set. */
    void (*effect)(struct op *op);

    /* For the journal and stream_using, in all kinds of ops. The name is "fill", "copy", and so on,
     * or NULL if the op takes no time or belongs to no call. */
    const char *name;
    /* The journal's numbers of the allocation and of the call that queued the op, or 0. */
    uint32_t allocation_id, call;
    /* For the report of a fault: the call that queued the op, with its line of the program. */
    struct made_by {
        const char *call;
        void *site, *launch_site;
        uint32_t launch;
        /* The newest allocation that the op's addresses can mean. */
        uint32_t newest_allocation;
    } made_by;
    /* The addresses that the op touches, of `bytes` bytes each, or NULL. An OP_HOLD's `from` is its
     * gate as the program sees it. */
    char *to;
    const char *from;
    size_t bytes;

    /* OP_HOST, OP_HOLD: the neighbors among all queued ops of these kinds. */
    struct op *previous_host_bound, *next_host_bound;
    /* Freed with the op. OP_COMMAND: a copy made at the call, of the bytes of a pageable source or
     * of the launch of a program's own kernel. */
    void *staged;
    /* Freed with the op: a copy's use of its engine (sched/copy_engine.h), or NULL. With it,
     * `start` is the time when the copy is ready, until it begins. */
    struct transfer *transfer;
    /* Freed with the op. OP_RECORD, OP_REMOTE_WAIT: the record of an interprocess event that it
     * reaches or waits for (ipc/ipc_event.c). */
    void *remote_record;

    /* Per-kind data. Keep the largest member first, because `{0}` zeroes only the first. */
    union {
        /* OP_COMMAND: the value of a fill or memset. `operands` says what held when the op was
         * queued, [0] for a copy's source and [1] for what the op writes: that the memory was
         * pinned, had addresses of a device, and was accessible to the device. For a copy or memset
         * of rows: how many rows there are, and the distances between rows; height 0 is one row. */
        struct {
            size_t height, to_pitch, from_pitch;
            int value;
            struct {
                bool pinned, in_heap, accessible;
            } operands[2];
        };
        /* OP_HOST: the function, and how far its thread has come. For messages: the program's
         * function, and the call that queued it with its site. */
        struct {
            void (*function)(void *);
            void *argument;
            bool started, returned, was_blocked;
            const void *named;
            const char *queued_by;
            void *queued_at;
        };
        /* OP_WAIT without a record: the stream must have done this work. */
        struct {
            struct stream *awaited_stream;
            uint64_t awaited_seq;
        };
        /* OP_HOLD: the gate as the device sees it; or a wait for a value, which `is_over` looks
         * for and ends, by `has_ended`. OP_COMMAND: the value that the op writes. */
        struct {
            const volatile int *gate;
            bool (*is_over)(struct op *op);
            uint64_t number;
            uint8_t condition;
            bool has_ended;
        };
        /* OP_REMOTE_WAIT: returns whether the wait is over. */
        bool (*remote_is_done)(struct op *op);
    };
};

/* An op whose end the engine cannot know: a hold at a closed gate or for a value, or an unfinished
 * host function. `op` is NULL if there is none. A host_bound may outlive its op
 * (host_bound_is_pending). */
struct host_bound {
    const struct op *op;
    /* An op that has ended is reused under another turn. */
    uint64_t turn;
};

/* ---- making streams ---- */

/* Sets the only listener, which is called when a destroyed stream's slot is reused. Until then the
 * slot identifies what that stream did. */
void stream_on_slot_reuse(void (*listener)(struct stream *s));
/* Returns a new stream of this device with a handle. It reuses the slot of a destroyed stream whose
 * work has ended and was acquired, if there is one. */
struct stream *stream_new(enum stream_kind kind, int device, int priority);
/* Returns a stream that the program does not see, for a branch of a graph launched in `trunk`. Its
 * first op must wait for an op of `trunk` in this launch. The caller releases it with
 * stream_release_branch when all its work is queued and `trunk` waits for that work. Then the
 * trunk's next launch reuses the branch, even before the work has ended: because that launch comes
 * after all of it, one slot serves both, as in a stream that continues. */
struct stream *stream_new_branch(struct stream *trunk, int device);
void stream_release_branch(struct stream *branch);
void stream_destroy(struct stream *s);
/* Return the device's legacy stream and the calling thread's own default stream, and make them when
 * they are first needed. */
struct stream *stream_legacy(int device);
struct stream *stream_per_thread(int device);
/* Returns a slot without a stream, for the work of another process (ipc/process_clock.h). */
uint32_t stream_new_slot(void);

/* ---- finding streams ---- */

/* Returns the stream as the program knows it, which for a branch is its trunk. */
static inline const struct stream *stream_trunk(const struct stream *s)
{
    return s->trunk ? s->trunk : s;
}
/* Returns whether the legacy stream and this one wait for each other. */
static inline bool stream_is_blocking(const struct stream *s)
{
    return s->kind != STREAM_NON_BLOCKING && s->kind != STREAM_BRANCH;
}
/* Returns whether the stream is one of the calling thread's own default streams. */
bool stream_is_of_this_thread(const struct stream *s);
/* Returns the first of all streams, including destroyed ones. The others follow by `next`. */
struct stream *stream_first(void);
int stream_newest(void);
/* Returns the stream that has this slot now, or NULL if the slot has none. */
struct stream *stream_of_slot(uint32_t slot);
/* Returns the stream's place among those in whose order a pool looks for what other streams freed.
 * A stream gets the lowest free place at its first allocation or free, or when it waits for a
 * stream that has one, by an event or by the legacy stream's rule. It keeps the place in all pools
 * until it is destroyed (measured: probe-legacy-order.txt). */
uint32_t stream_place(struct stream *s);
/* Returns a stream with pending work that names an address in [from, to), or NULL. */
struct stream *stream_using(const char *from, const char *to);
/* Returns the newest op before this turn (UINT64_MAX: of all) that only the host ends and that
 * precedes work `seq` of this stream, if there is one. What the stream waits for counts, even if it
 * began to wait only after that work. */
struct host_bound stream_find_host_bound(const struct stream *s, uint64_t seq, uint64_t turn);
/* Returns whether work `seq` of `s` comes after an op that only the host ends and that does not
 * precede work `other_seq` of `other`. Holds at one gate count as one op, because they end
 * together. */
bool stream_has_another_obstacle(const struct stream *s, uint64_t seq, const struct stream *other,
                                 uint64_t other_seq);
/* Returns whether work `seq` waits for the host only in host functions of this device. */
bool stream_waits_for_functions_alone(const struct stream *s, uint64_t seq, int device);
/* Returns whether two holds end together, because they wait at one gate. */
bool stream_is_same_gate(const struct op *hold, const struct op *other);
/* Returns whether the op comes before work `seq` of `s` on the device. */
bool stream_comes_before(const struct op *op, const struct stream *s, uint64_t seq);
/* Returns whether the result of stream_find_host_bound is still pending. */
bool host_bound_is_pending(struct host_bound bound);
/* Returns whether work `seq` must wait for the host to open a gate or end a host function. */
static inline bool stream_waits_for_host(const struct stream *s, uint64_t seq)
{
    return stream_find_host_bound(s, seq, UINT64_MAX).op;
}
/* Returns whether the stream's next op comes after an unfinished host function, which may wait for
 * something unknown here. */
bool stream_is_behind_function(const struct stream *s);

/* ---- giving streams work ---- */

/* The number of operations of a stream that may be pending. A call that queues one more returns
 * when there is room again. Measured (probe-queue.txt): 1,021 after a running kernel. Kernels,
 * copies, and memsets count, and so does each such node of a graph's launch; records, waits, host
 * functions, allocations, and frees do not. Assumed: in a launch that is no chain, all such nodes
 * count in the queue of the launch's stream. */
#define QUEUE_ROOM 1022
/* The stream in which a call of this thread has left more than QUEUE_ROOM operations, or NULL. The
 * API makes the host wait, and clears it. */
extern _Thread_local struct stream *stream_without_room;

/* Queues an op, which the stream owns. The caller fills in what the op's kind needs before the
 * engine is called again. Makes the legacy stream and the blocking streams wait for each other
 * (documented: CUDA programming guide, default stream). */
struct op *stream_enqueue(struct stream *s, enum op_kind kind, time_ns duration);
/* Queues a host function like stream_enqueue, with the record of what precedes it. */
struct op *stream_enqueue_function(struct stream *s, time_ns duration);
/* How an op takes part in the legacy stream's rule. CUDA documents one rule for all ops, and a
 * driver has four (measured: probe-legacy-order.txt). Because an allocation rarely makes its stream
 * wait, the checker never takes one for a barrier. */
enum barrier {
    /* Work, a free, and in the legacy stream a record: waits, and knows what the others freed. */
    BARRIER_FULL,
    /* An allocation that follows events to what other streams freed: like BARRIER_FULL, in the
     * legacy stream only if a blocking stream has freed something since the last barrier. */
    BARRIER_FREES,
    /* A wait for an event, and in a blocking stream a record: waits, and knows no more. */
    BARRIER_WAIT,
    /* Any other allocation: does not wait. */
    BARRIER_NONE
};

/* Queues an allocation or free, which costs nothing in an idle stream. Returns its number. */
uint64_t stream_enqueue_marker(struct stream *s, enum barrier barrier);
/* Notes that work `seq`, the newest, is a free of a pool's memory. */
void stream_note_free(struct stream *s, uint64_t seq);
/* Returns the newest work that the driver knows to be done, if a pool asks. */
uint64_t stream_reached_seq(const struct stream *s);
/* Raises `order`, a device order, to what would precede the stream's next op, including what the
 * legacy stream's rule adds. Queues nothing, because the call may still be rejected. */
void stream_gather_order(const struct stream *s, struct vector_clock *order);
/* Makes the future work of `s` wait for the present work of `other`. */
void stream_follow(struct stream *s, struct stream *other);
/* Makes `s` wait for the present work of all streams of these devices (bits), including destroyed
 * and non-blocking ones. */
void stream_follow_devices(struct stream *s, unsigned devices);
/* Makes future work on these devices wait for the present work of `s`, also in new streams. */
void stream_precede_devices(struct stream *s, unsigned devices);
/* Makes the stream wait for this work of another without releasing anything to it, because the
 * allocator's own waits never order a program (measured: walks.txt.gz, capped; such a wait does not
 * count as an event dependency either). */
void stream_wait_internal(struct stream *s, struct stream *other, uint64_t seq);
/* Makes the stream wait for a record, its own or another stream's. */
void stream_wait(struct stream *s, struct record *r);
/* Called when a wait for a value ends: puts `before` before all that comes after the wait. */
void stream_learn(const struct op *wait, const struct vector_clock *before);
/* Removes the head, which has ended, from the queue and frees it. Called by the engine. */
void stream_drop_head(struct stream *s);

/* ---- records ---- */

/* Queues an OP_RECORD. Returns its record, of which the caller is a user. */
struct record *stream_record(struct stream *s);
/* Returns a record of work `seq`, the stream's newest or the one before, without queuing an op.
 * While the host waits for the record, work that another thread adds to the stream does not change
 * it. The caller owns it. */
struct record *stream_snapshot(struct stream *s, uint64_t seq);
/* Removes one user. */
void record_release(struct record *r);

#endif
