/* Streams: queues of work, and the records of events in them.
 *
 *   program -> enqueue -> [ op ][ op ][ op ] -> the timeline runs the head when its start is reached
 *                          head          tail
 *
 * Law: `done` <= `last`; the ops in the queue are exactly the numbers done+1 .. last, in order. */
#ifndef SIM_SCHED_STREAM_H
#define SIM_SCHED_STREAM_H

#include "sched/vector_clock.h"
#include "base/types.h"

enum stream_kind {
    STREAM_LEGACY,
    STREAM_PER_THREAD,
    STREAM_BLOCKING,
    STREAM_NON_BLOCKING,
    STREAM_BRANCH
};

struct op;
struct capture_member;

struct stream {
    int id; /* as the journal names it; 0 for the two default streams */
    enum stream_kind kind;
    int device;
    int priority;
    unsigned long long api_id; /* cudaStreamGetId */
    void *handle;
    bool destroyed; /* by the program; its work still runs to the end */
    /* STREAM_BRANCH: the stream in which the program launched the graph; else NULL. */
    struct stream *trunk;
    /* What the capture that this stream takes part in holds for it; NULL: none. */
    struct capture_member *capturing;

    uint32_t slot; /* in every struct order */
    /* Numbers of the newest work and of the newest finished work. */
    uint64_t last_seq, done_seq;
    uint64_t synchronized_seq; /* the host has waited for work up to here */
    uint64_t memory_seq;       /* the newest allocation or free */
    time_ns idle_at;           /* when work `done` finished */
    struct op *head, *tail;
    /* Place in the timeline's list of streams with work, plus 1. */
    uint32_t active_index;
    /* What comes before the next piece of work; it grows only together with `last`,. */
    struct ordering ordering;
    /* but for what the host knows: who covers `last` has all of
                                        * it */
    uint64_t host_version; /* how much of the host's knowledge is in `known` */
    struct stream *next;   /* all streams */
};

/* What cudaEventRecord leaves: a place in a stream, when it was reached, and what was known there.
 * Shared by the event, the op in the queue, and every wait for it. */
struct record {
    uint32_t users;
    struct stream *stream;
    uint64_t seq;
    bool done;
    time_ns finish;
    struct ordering ordering; /* includes the record itself */
};

enum op_kind {
    /* An allocation, a free: nothing to do, but a place in the order. */
    OP_MARKER,
    OP_RECORD,
    OP_WAIT,    /* for a record, or for a number of another stream */
    OP_COMMAND, /* a known duration, then an effect on memory */
    OP_HOLD,    /* until *gate is not 0 */
    /* Until outside(op) says so: something that another process does. */
    OP_REMOTE_WAIT,
    OP_HOST /* a host function */
};

struct op {
    struct op *next;
    struct stream *stream;
    enum op_kind kind;
    uint64_t seq;  /* in its stream */
    uint64_t turn; /* over all streams: decides between equal times */
    time_ns issued, start, finish, duration;
    struct record *record;                 /* OP_RECORD, OP_WAIT; OP_HOST: what comes before it */
    struct stream *awaited_stream;         /* OP_WAIT without a record: this stream ... */
    uint64_t awaited_seq;                  /* ... must have done this */
    const volatile int *gate;              /* OP_HOLD */
    bool (*remote_is_done)(struct op *op); /* OP_REMOTE_WAIT */
    void (*function)(void *);              /* OP_HOST */
    void *argument;
    bool started, returned, was_blocked;
    /* at the end, effect(op) is called, if there is one */
    void (*effect)(struct op *op);
    const char *name; /* for the journal: "fill", "copy"; NULL: not journalled */
    char *to;
    const char *from;
    /* A copy of pageable memory, taken at the call; freed with the op. */
    void *staged;
    size_t bytes;
    int value;
    /* The journal's number of the allocation, 0 for none. */
    uint32_t allocation_id;
    /* A copy's source, and what a copy or memset writes, when it was queued: pinned, a pool's that
     * the device has access to. */
    struct {
        bool pinned, accessible;
    } operands[2];
};

/* Calls `listener` when a destroyed stream's place is given to another; until then what it did is
 * known by its lane. */
void stream_on_slot_reuse(void (*listener)(struct stream *s));
/* A new stream of this device, in the place of a destroyed one whose work is over and known to be,
 * if there is one. */
struct stream *stream_new(enum stream_kind kind, int device, int priority);
/* A stream that the program does not see: one of the lines of work that a graph launched in `trunk`
 * splits into. It is given back, like a destroyed stream, by stream_release_branch when all its
 * work is queued. */
struct stream *stream_new_branch(struct stream *trunk, int device);
static inline void stream_release_branch(struct stream *branch) { branch->destroyed = true; }
static inline const struct stream *stream_trunk(const struct stream *s)
{
    return s->trunk ? s->trunk : s;
}
/* Do the legacy stream and this one wait for each other? */
static inline bool stream_is_blocking(const struct stream *s)
{
    return s->kind != STREAM_NON_BLOCKING && s->kind != STREAM_BRANCH;
}
/* The program gives the stream up. */
void stream_destroy(struct stream *s);
/* The device's legacy stream, and the calling thread's own; made when first asked for. */
struct stream *stream_legacy(int device);
struct stream *stream_per_thread(int device);
/* Is it a default stream of the calling thread's own? */
bool stream_is_of_this_thread(const struct stream *s);
/* The first of all streams, destroyed ones included; then `->next`. */
struct stream *stream_first(void);

/* A lane without a stream: for work of another process (ipc/remote_clock.h). */
uint32_t stream_new_slot(void);
/* The stream that has this lane now; NULL for a lane without one. */
struct stream *stream_of_slot(uint32_t slot);

/* Queues a piece of work; the caller fills in what its kind needs before the next timeline call.
 * The legacy stream and the blocking ones wait for each other here (documented: CUDA programming
 * guide, default stream). */
struct op *stream_enqueue(struct stream *s, enum op_kind kind, time_ns duration);
/* What `s` gets from now on waits for what `other` has so far. */
void stream_follow(struct stream *s, struct stream *other);
/* The same for a host function, with the record of what comes before it. */
struct op *stream_enqueue_function(struct stream *s, time_ns duration);
/* A mark: costs nothing when the stream has no work. Returns its number. */
uint64_t stream_enqueue_marker(struct stream *s);
/* Records a place for an event; the caller owns one use of the record. */
struct record *stream_record(struct stream *s);
/* A record of work `number`, the newest of the stream or the one before it, that is no work itself:
 * what the host waits for, which must not grow when another thread gives the stream more meanwhile.
 * The caller owns it. */
struct record *stream_snapshot(struct stream *s, uint64_t seq);
void record_release(struct record *r);
/* The head is over: the timeline is done with it. */
void stream_drop_head(struct stream *s);
/* The stream waits for this number of another, and nobody is told: the allocator's own doing never
 * orders a program (measured: such a wait does not count as an event dependency either). */
void stream_wait_internal(struct stream *s, struct stream *other, uint64_t seq);
/* The stream waits for a record (its own or another stream's). */
void stream_wait(struct stream *s, struct record *r);

/* The host now knows that all work of the stream up to `number` is over: by waiting (synchronised),
 * or by asking. */
void host_acquire_stream(struct stream *s, uint64_t seq, bool synchronized);
/* As host_acquire_stream, for a record, with all that was known there. */
void host_acquire_record(struct record *r, bool synchronized);
/* The host now knows what comes before work `r->number` + 1 of its stream, where the record was
 * made when that work was queued. */
void host_acquire_before_record(struct record *r);
/* The host learns what another process told it. */
void host_acquire_remote(const struct vector_clock *remote);
/* Calls `listener` each time when the host has learned something. */
void host_on_acquire(void (*listener)(void));
/* Does what this stream gets next come after a host function that has not returned? What that waits
 * for is not known here. */
bool stream_is_behind_function(const struct stream *s);
/* A stream with work to come that names an address in [from, to), or NULL. */
struct stream *stream_using(const char *from, const char *to);
/* Can work `number` of this stream not begin before the host does something: open a gate, or end a
 * host function? */
bool stream_waits_for_host(const struct stream *s, uint64_t seq);
/* All that the host knows. */
const struct vector_clock *host_vector_clock(void);

#endif
