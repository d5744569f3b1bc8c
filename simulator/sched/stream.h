/* Streams: queues of work, and the records of events in them.
 *
 *   program -> enqueue -> [ op ][ op ][ op ] -> the engine runs the head when its start is reached
 *                          head          tail
 *
 * Law: done_seq <= last_seq; the ops in the queue are exactly done_seq + 1 .. last_seq, in order.
 * All of these need the lock. A struct stream is never freed, it is used again: a destroyed
 * stream's becomes a new stream when its work is over and the host has acquired that work, or when
 * many other streams were destroyed since; a branch's becomes a branch of the next launch in its
 * trunk. */
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
    /* ---- what the program made ---- */

    /* The number that the journal has for it; 0 for the two default streams. */
    int id;
    enum stream_kind kind;
    int device;
    int priority;
    /* As cudaStreamGetId returns it. */
    unsigned long long api_id;
    void *handle;
    /* By the program; its work still runs to the end. */
    bool destroyed;

    /* ---- the rule of the legacy stream, in stream.c ---- */

    /* It is a blocking stream whose newest work the legacy stream has not waited for. */
    bool is_before_legacy;
    /* When is_before_legacy. */
    struct tree_node before_legacy_node;

    /* ---- graphs ---- */

    /* STREAM_BRANCH: the stream in which the program launched the graph; else NULL. */
    struct stream *trunk;
    /* The branches of earlier launches in this stream, which serve again in its next. */
    struct stream *branches;
    /* What the capture that this stream takes part in holds for it; NULL: none. graph/ owns it. */
    struct capture_member *capturing;

    /* ---- its work, and how far that is ---- */

    /* Its slot in every vector clock. */
    uint32_t slot;
    /* How many of its ops, and of its branches', take room in its queue (QUEUE_ROOM). */
    uint32_t room_taken;
    /* The newest work and the newest finished work. */
    uint64_t last_seq, done_seq;
    /* The newest host function that has run. */
    uint64_t function_seq;
    /* The newest allocation or free. */
    uint64_t memory_seq;
    /* When work done_seq finished. */
    time_ns idle_at;
    struct op *head, *tail;

    /* ---- the engine's, in engine.c ---- */

    /* Its position in the list of streams with work, plus 1; 0: it has none. */
    uint32_t active_index;
    /* The first and the last of the streams whose heads wait for work of this one, in the order of
     * that work; and the next of the list that this stream is in. */
    struct stream *waiting, *last_waiting, *next_in_list;

    /* ---- what comes before its next op ---- */

    /* It grows only together with last_seq, but for what the host has acquired: a clock that
     * includes last_seq includes all the rest. */
    struct ordering ordering;
    /* How much of what the host has acquired is in `ordering` (host_acquired.version). */
    uint64_t host_version;

    /* ---- the lists of stream.c ---- */

    /* The next of all streams. */
    struct stream *next;
    /* While it is not in use: the next branch of its trunk, or the next retired stream. */
    struct stream *next_unused;
    /* When it is known that its slot can serve another. */
    struct tree_node reusable_node;
};

/* What cudaEventRecord leaves: a position in a stream, when it was reached, and what came before
 * it. Shared by the event, the op in the queue, and every wait for it; the last user frees it. */
struct record {
    uint32_t users;
    struct stream *stream;
    uint64_t seq;
    bool done;
    time_ns finish;
    /* The engine's: the streams whose heads wait for it. */
    struct stream *waiting;
    /* What comes before it. Its own epoch is added when that pays: many records have one wait,
     * which is cheaper without. */
    struct ordering ordering;
    bool waited;
    /* vc_version() when it was made. */
    uint64_t version;
};

enum op_kind {
    /* An allocation, a free: nothing to do, but a position in the order. */
    OP_MARKER,
    OP_RECORD,
    /* Waits for a record, or for work of another stream. */
    OP_WAIT,
    /* A known duration, then an effect on memory. */
    OP_COMMAND,
    /* Until *gate is not 0. From here on the end is not known beforehand. */
    OP_HOLD,
    /* Until remote_is_done(op): something that another process does. */
    OP_REMOTE_WAIT,
    /* Until a host function has returned. */
    OP_HOST
};

struct op {
    struct op *next;
    struct stream *stream;
    enum op_kind kind;
    /* It is one of its trunk's `room_taken`. */
    bool takes_room;
    /* Its number in its stream. */
    uint64_t seq;
    /* Its number among all ops: decides between equal times. */
    uint64_t turn;
    time_ns issued, start, finish, duration;
    /* OP_RECORD: the record that it makes. OP_WAIT: the one it waits for; NULL: for a stream.
     * OP_HOST: what comes before it. The op is one of its users. */
    struct record *record;
    /* Called at the end, if it is set. */
    void (*effect)(struct op *op);

    /* What the journal and stream_using read of an op of any kind. The name is "fill", "copy"...;
     * NULL: an op that takes no time, or none of a call. */
    const char *name;
    /* The journal's numbers of the allocation and of the call that queued it; 0: none. */
    uint32_t allocation_id, call;
    /* The addresses that it touches, of `bytes` bytes each; NULL: none. An OP_HOLD's `from` is its
     * gate as the program sees it. */
    char *to;
    const char *from;
    size_t bytes;

    /* OP_HOST, OP_HOLD: its neighbors among all of these that are queued. */
    struct op *previous_host_bound, *next_host_bound;
    /* Freed with the op: what it took at the call (OP_COMMAND), the bytes of a pageable source or
     * the launch of a program's own kernel. */
    void *staged;
    /* Freed with the op: its use of a copy engine (sched/copy_engine.h); NULL: it needs none. Then
     * `start` is when it is ready, until it begins. */
    struct transfer *transfer;
    /* Freed with the op: the record of an event of several processes that it reaches or waits for
     * (OP_RECORD, OP_REMOTE_WAIT; see ipc/ipc_event.c). */
    void *remote_record;

    /* What one kind needs alone. The largest stands first: an initializer sets that to 0. */
    union {
        /* OP_COMMAND: what a fill or memset writes; and of a copy's source, [0], and of what a copy
         * or memset writes, [1], what held when it was queued: it was pinned, and it was a pool's
         * that the device has access to. Of a copy or memset in rows: how many rows the bytes are
         * in, and how many bytes are from one row to the next; height 0: one row. */
        struct {
            size_t height, to_pitch, from_pitch;
            int value;
            struct {
                bool pinned, accessible;
            } operands[2];
        };
        /* OP_HOST: the function, and how far its thread has come. */
        struct {
            void (*function)(void *);
            void *argument;
            bool started, returned, was_blocked;
        };
        /* OP_WAIT without a record: this stream must have done this work. */
        struct {
            struct stream *awaited_stream;
            uint64_t awaited_seq;
        };
        /* OP_HOLD: the gate as the device sees it. */
        const volatile int *gate;
        /* OP_REMOTE_WAIT: is it over? */
        bool (*remote_is_done)(struct op *op);
    };
};

/* An op that only the host ends: a hold behind a closed gate, or a host function that has not
 * returned. It is good for ever; op NULL: there is none. */
struct host_bound {
    const struct op *op;
    /* The op serves again when it is over, under another turn. */
    uint64_t turn;
};

/* ---- making streams ---- */

/* Calls `listener` when a destroyed stream's slot is given to another; until then what it did is
 * known by its slot. There is one listener. */
void stream_on_slot_reuse(void (*listener)(struct stream *s));
/* Returns a new stream of this device with a handle, in the slot of a destroyed one whose work is
 * over and acquired, if there is one. */
struct stream *stream_new(enum stream_kind kind, int device, int priority);
/* Returns a stream that the program does not see: one of the branches of work that a graph launched
 * in `trunk` splits into. Its first op must wait for one that `trunk` gets in this launch. It is
 * given back by stream_release_branch when all its work is queued and `trunk` waits for that. Then
 * it goes on as a branch of the trunk's next launch, whether its work is over or not: what it gets
 * there comes after all that it had, so one slot stands for both, as it does for a stream that goes
 * on. */
struct stream *stream_new_branch(struct stream *trunk, int device);
void stream_release_branch(struct stream *branch);
/* The program gives the stream up. */
void stream_destroy(struct stream *s);
/* The device's legacy stream, and the calling thread's own; made when first required. */
struct stream *stream_legacy(int device);
struct stream *stream_per_thread(int device);
/* Returns a slot without a stream: for work of another process (ipc/remote_clock.h). */
uint32_t stream_new_slot(void);

/* ---- which streams there are ---- */

/* The stream as the program knows it: a branch's is its trunk. */
static inline const struct stream *stream_trunk(const struct stream *s)
{
    return s->trunk ? s->trunk : s;
}
/* Do the legacy stream and this one wait for each other? */
static inline bool stream_is_blocking(const struct stream *s)
{
    return s->kind != STREAM_NON_BLOCKING && s->kind != STREAM_BRANCH;
}
/* Is it a default stream of the calling thread's own? */
bool stream_is_of_this_thread(const struct stream *s);
/* The first of all streams, destroyed ones included; then `->next`. */
struct stream *stream_first(void);
/* The stream that has this slot now; NULL for a slot without one. */
struct stream *stream_of_slot(uint32_t slot);
/* A stream with work to come that names an address in [from, to), or NULL. */
struct stream *stream_using(const char *from, const char *to);
/* Returns the newest that work `seq` of this stream comes after and only the host ends, if there is
 * such, among the ops before this turn. UINT64_MAX: among all. What the stream waits for counts,
 * also when it has come to wait only after that work. */
struct host_bound stream_find_host_bound(const struct stream *s, uint64_t seq, uint64_t turn);
/* Does work `seq` of `s` come after something that only the host ends, and that work `other_seq` of
 * `other` does not come after? Holds at one gate end together. */
bool stream_has_another_obstacle(const struct stream *s, uint64_t seq, const struct stream *other,
                                 uint64_t other_seq);
/* Is what stream_find_host_bound has returned still so? */
bool host_bound_is_pending(struct host_bound bound);
/* Can work `seq` of this stream not begin before the host does something: open a gate, or end a
 * host function? */
static inline bool stream_waits_for_host(const struct stream *s, uint64_t seq)
{
    return stream_find_host_bound(s, seq, UINT64_MAX).op;
}
/* Does the next op of this stream come after a host function that has not returned? What that waits
 * for is not known here. */
bool stream_is_behind_function(const struct stream *s);

/* ---- giving streams work ---- */

/* How many operations of a stream may be pending: a call that queues one more returns when there is
 * room again. Measured (probe-queue.txt): 1,021 behind a kernel that runs. Kernels, copies and
 * memsets count, and each such node of a graph's launch; records, waits, host functions,
 * allocations and frees do not. Assumed: the nodes of a launch that are no chain count in the
 * queue of the launch's stream, too. */
#define QUEUE_ROOM 1022
/* The stream that has more than that since a call of this thread; NULL: none. The API lets the host
 * wait, and clears it. */
extern _Thread_local struct stream *stream_without_room;

/* Queues an op, which the stream owns; the caller fills in what its kind needs before the engine is
 * called again. The legacy stream and the blocking ones wait for each other here (documented: CUDA
 * programming guide, default stream). */
struct op *stream_enqueue(struct stream *s, enum op_kind kind, time_ns duration);
/* The same for a host function, with the record of what comes before it. */
struct op *stream_enqueue_function(struct stream *s, time_ns duration);
/* Queues an allocation or a free, which costs nothing when the stream has no work. Returns its
 * number. */
uint64_t stream_enqueue_marker(struct stream *s);
/* Raises `order`, a device's order, to what the stream's next op would come after, with what the
 * legacy stream's rule adds to that. Nothing is queued: for a call that may still be refused. */
void stream_gather_order(const struct stream *s, struct vector_clock *order);
/* What `s` gets from now on waits for what `other` has so far. */
void stream_follow(struct stream *s, struct stream *other);
/* `s` waits for all that the streams of these devices (bits) have so far, destroyed ones and
 * non-blocking ones included. */
void stream_follow_devices(struct stream *s, unsigned devices);
/* What they get from now on waits for what `s` has so far, also in streams that are made later. */
void stream_precede_devices(struct stream *s, unsigned devices);
/* The stream waits for this work of another, but nothing is released to it: the allocator's own
 * doing never orders a program (measured: walks.txt.gz, capped; such a wait does not count as an
 * event dependency either). */
void stream_wait_internal(struct stream *s, struct stream *other, uint64_t seq);
/* The stream waits for a record (its own or another stream's). */
void stream_wait(struct stream *s, struct record *r);
/* The head is over: removes it from the queue and frees it. Called by the engine. */
void stream_drop_head(struct stream *s);

/* ---- records ---- */

/* Queues an OP_RECORD. Returns its record; the caller is one of its users. */
struct record *stream_record(struct stream *s);
/* Returns a record of work `seq`, the newest of the stream or the one before it, that is no work
 * itself: what the host waits for, which must not grow when another thread gives the stream more
 * meanwhile. The caller owns it. */
struct record *stream_snapshot(struct stream *s, uint64_t seq);
/* Adds the record's own epoch to its ordering. */
void record_complete(struct record *r);
/* One user less. */
void record_release(struct record *r);

#endif
