/* Notes of a block's shared memory: for each granule, as large as the kernel's smallest access, who
 * wrote it last and who has read it since.
 *
 * A record is the time, the number of the instruction in the kernel, whether it synchronizes by
 * itself, whether several threads wrote the same, whether it is a value that comes from what nobody
 * wrote, and the thread's number in the block. Records
 * from before the block's last barrier mean nothing any more, but for what they say of writing:
 * records from before the block's beginning are another block's.
 *
 * Invariant: of the threads that have read a granule since the last barrier, `first` has one, and
 * `last` has another, if there are two. */
#include "ptx/shared_notes.h"

#include <string.h>

#include "os/os.h"

#define TIME_SHIFT        32
#define INSTRUCTION_SHIFT 13
#define INSTRUCTIONS_MAX  (1u << 19)
#define SYNCHRONIZES      (1u << 11)
#define AGREED            (1u << 10)
#define WITHOUT           (1u << 12)
#define THREAD            (uint64_t)1023
/* Mostly enough for the reads of a block's warps between two barriers. */
#define LOG_MAX 512
/* The time is reset long before it wraps around. */
#define TIME_MAX 0x70000000u

/* A thread's cp.async, of `count` granules. `group`: how many groups the thread had closed before;
 * `barrier`: the mbarrier that counts it, or NO_BARRIER. */
#define NO_BARRIER UINT64_MAX
struct flight {
    uint64_t record, barrier;
    uint32_t from, count, group;
};

struct shared_notes {
    uint32_t time, begun, barrier;
    /* The number of granules, and the records of each, in the order of the granules. */
    size_t count;
    uint64_t *written, *first, *last;
    /* The number of granules without a value, or whose value comes from bytes that no one wrote;
     * and the time of the block's last write of such a value. */
    size_t blank;
    uint32_t changed;
    /* Reads since the last barrier that no granule's record has yet. Records are needed only for a
     * write. */
    unsigned logged;
    struct logged {
        uint64_t me;
        /* The number of neighboring threads, from the record's on, that have made this read. */
        unsigned count;
        uint32_t granules[WARP_SIZE];
    } log[LOG_MAX];
    struct thread_notes {
        uint32_t acquired, synced;
        /* The number of groups of cp.async that the thread has closed. */
        uint32_t groups;
    } threads[1024];
    /* Of each warp. */
    uint32_t released[32];
    /* For each warp, the copies for which their threads have not waited, and their number; and for
     * each granule, whether such a copy writes it (NULL before the first copy). */
    struct {
        struct flight *all;
        size_t count, room;
    } flights[32];
    size_t flight_count;
    bool *in_flight;
};

void shared_begin(struct block *b)
{
    const struct launch *launch = b->launch;
    struct shared_notes *n = b->notes;
    if (!launch->shape->checks.init && !launch->shape->checks.race)
        return;
    if (!launch->shared_bytes)
        return;
    if (!n) {
        n = b->notes = os_allocate(sizeof *n);
        n->count = (launch->shared_bytes >> launch->granule_shift) + 2;
        n->written = os_allocate_table(3 * n->count * sizeof *n->written);
        n->first = n->written + n->count;
        n->last = n->first + n->count;
    }
    if (n->time > TIME_MAX) {
        memset(n->written, 0, 3 * n->count * sizeof *n->written);
        n->time = 0;
    }
    memset(n->threads, 0, launch->threads_of_block * sizeof *n->threads);
    memset(n->released, 0, sizeof n->released);
    for (unsigned k = 0; k < 32 && n->flight_count; k++)
        n->flights[k].count = 0;
    if (n->flight_count)
        memset(n->in_flight, 0, n->count * sizeof *n->in_flight);
    n->flight_count = 0;
    n->begun = n->barrier = ++n->time;
    n->blank = launch->shared_bytes >> launch->granule_shift;
    n->logged = 0;
}

void shared_end(struct block *b)
{
    if (!b->notes)
        return;
    for (unsigned k = 0; k < 32; k++)
        os_free(b->notes->flights[k].all);
    os_free(b->notes->in_flight);
    os_free(b->notes->written);
    os_free(b->notes);
    b->notes = NULL;
}

/* ---- order ---- */

void shared_release(struct warp *w, uint32_t lanes)
{
    struct shared_notes *n = w->block->notes;
    if (!n || !lanes)
        return;
    n->released[w->index] = ++n->time;
}

void shared_acquire(struct warp *w, uint32_t lanes)
{
    struct shared_notes *n = w->block->notes;
    if (!n)
        return;
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        n->threads[w->index * WARP_SIZE + (unsigned)__builtin_ctz(rest)].acquired = n->time;
}

HOT void shared_sync_warp(struct warp *w, uint32_t lanes)
{
    struct shared_notes *n = w->block->notes;
    uint32_t acquired = 0;
    if (!n)
        return;
    struct thread_notes *t = &n->threads[w->index * WARP_SIZE];
    EACH_LANE(lanes, acquired = t[l].acquired > acquired ? t[l].acquired : acquired;)
    const uint32_t time = ++n->time;
    EACH_LANE(lanes, t[l].acquired = acquired; t[l].synced = time;)
}

void shared_sync_block(struct block *b)
{
    if (!b->notes)
        return;
    b->notes->barrier = ++b->notes->time;
    b->notes->logged = 0;
}

static bool is_ordered(const struct shared_notes *n, uint64_t earlier, unsigned thread)
{
    const uint32_t time = (uint32_t)(earlier >> TIME_SHIFT);
    const unsigned other = earlier & THREAD;
    const struct thread_notes *a = &n->threads[other], *b = &n->threads[thread];
    if (time < n->barrier || other == thread)
        return true;
    if (other / WARP_SIZE == thread / WARP_SIZE && a->synced > time && b->synced > time)
        return true;
    return n->released[other / WARP_SIZE] > time && b->acquired > time;
}

/* ---- records ---- */

static bool synchronizes(const struct instruction *i, enum access_kind kind)
{
    return kind == ACCESS_ATOMIC || i->run == run_load_volatile || i->run == run_store_volatile;
}

/* Returns the part of a record that is the same for all granules of this access. */
static uint64_t record_of(const struct warp *w, const struct instruction *i, enum access_kind kind)
{
    const struct instruction *whole = w->whole ? w->whole : i;
    const uint32_t number = w->frame->code->first_number + (uint32_t)(whole - w->frame->code->all);
    return (uint64_t)w->block->notes->time << TIME_SHIFT | w->index * WARP_SIZE
         | (uint64_t)(number % INSTRUCTIONS_MAX) << INSTRUCTION_SHIFT
         | (synchronizes(i, kind) ? SYNCHRONIZES : 0);
}

/* ---- cp.async ---- */

void shared_copied(struct warp *w, const struct instruction *i, unsigned l, uint64_t at,
                   size_t bytes)
{
    struct shared_notes *n = w->block->notes;
    const unsigned shift = w->launch->granule_shift;
    const uint32_t from = (uint32_t)((at & ~WINDOW_MASK) >> shift),
                   count = (uint32_t)(bytes >> shift);
    if (!n || !count)
        return;
    if (!n->in_flight)
        n->in_flight = os_allocate(n->count * sizeof *n->in_flight);
    if (n->flights[w->index].count == n->flights[w->index].room) {
        n->flights[w->index].room += 64;
        n->flights[w->index].all =
            os_grow(n->flights[w->index].all, n->flights[w->index].room * sizeof *n->flights->all);
    }
    n->flights[w->index].all[n->flights[w->index].count++] =
        (struct flight){record_of(w, i, ACCESS_WRITE) | l, NO_BARRIER, from, count,
                        n->threads[w->index * WARP_SIZE + l].groups};
    n->flight_count++;
    memset(n->in_flight + from, true, count * sizeof *n->in_flight);
}

void shared_close_group(struct warp *w, uint32_t lanes)
{
    struct shared_notes *n = w->block->notes;
    for (uint32_t rest = n ? lanes : 0; rest; rest &= rest - 1)
        n->threads[w->index * WARP_SIZE + (unsigned)__builtin_ctz(rest)].groups++;
}

/* Notes the copy as a write at this time, instead of when it was requested. If an mbarrier counts
 * the copy, the time is that of the thread's arrival there, which has released it. */
static void land(struct shared_notes *n, const struct flight *f)
{
    for (size_t g = f->from; g < f->from + f->count; g++) {
        n->in_flight[g] = false;
        if (f->barrier == NO_BARRIER && !((n->written[g] ^ f->record) & THREAD))
            n->written[g] = (uint64_t)n->time << TIME_SHIFT | (uint32_t)n->written[g];
    }
    n->changed = n->time;
    n->flight_count--;
}

void shared_wait_copies(struct warp *w, uint32_t lanes, uint32_t left)
{
    struct shared_notes *n = w->block->notes;
    size_t kept = 0;
    if (!n || !n->flights[w->index].count)
        return;
    struct flight *all = n->flights[w->index].all;
    n->time++;
    for (size_t k = 0; k < n->flights[w->index].count; k++) {
        const unsigned thread = all[k].record & THREAD;
        if (lane_is_in(lanes, thread % WARP_SIZE)
            && (left == ALL_COPIES || all[k].group + left < n->threads[thread].groups))
            land(n, &all[k]);
        else
            all[kept++] = all[k];
    }
    n->flights[w->index].count = kept;
}

void shared_count_copies(struct warp *w, unsigned l, uint64_t barrier)
{
    struct shared_notes *n = w->block->notes;
    for (size_t k = 0; n && k < n->flights[w->index].count; k++) {
        struct flight *f = &n->flights[w->index].all[k];
        if ((f->record & THREAD) == w->index * WARP_SIZE + l && f->barrier == NO_BARRIER)
            f->barrier = barrier;
    }
}

void shared_land_copies(struct block *b, uint64_t barrier)
{
    struct shared_notes *n = b->notes;
    if (!n || !n->flight_count)
        return;
    for (unsigned w = 0; w < b->warp_count; w++) {
        size_t kept = 0;
        for (size_t k = 0; k < n->flights[w].count; k++)
            if (n->flights[w].all[k].barrier == barrier)
                land(n, &n->flights[w].all[k]);
            else
                n->flights[w].all[kept++] = n->flights[w].all[k];
        n->flights[w].count = kept;
    }
}

/* ---- what is found ---- */

/* Translates a record into an access. */
static void describe(const struct warp *w, uint64_t record, struct launch_fault *f)
{
    const struct kernel_code *k = w->launch->code;
    const struct launch_shape *s = w->launch->shape;
    const uint32_t thread = record & THREAD,
                   number = record >> INSTRUCTION_SHIFT & (INSTRUCTIONS_MAX - 1);
    const struct code *code = k->entry;
    for (size_t n = 0; n < k->function_count; n++)
        if (k->functions[n]->first_number <= number
            && k->functions[n]->first_number > code->first_number)
            code = k->functions[n];
    *f = (struct launch_fault){
        .code = code,
        .instruction = number - code->first_number < code->count
                         ? &code->all[number - code->first_number]
                         : NULL,
        .thread = {thread % s->block.x, thread / s->block.x % s->block.y,
                   thread / s->block.x / s->block.y},
        .block = {w->block->x, w->block->y, w->block->z},
    };
}

static const char *stored_value(const struct warp *w, const struct instruction *i, unsigned n,
                                unsigned l)
{
    return w->registers + i->r[n + 1] + l * (i->wide & 1 ? 8u : 4u);
}

static bool is_store(const struct instruction *i)
{
    return i->run == run_store || i->run == run_store_volatile;
}

/* Returns whether the store would leave the bytes unchanged. */
static bool changes_nothing(const struct warp *w, const struct instruction *i, unsigned l,
                            uint64_t at)
{
    for (unsigned n = 0; is_store(i) && n < i->count; n++)
        if (memcmp(w->block->shared + at + n * i->bytes, stored_value(w, i, n, l), i->bytes))
            return false;
    return is_store(i);
}

/* Returns whether thread l stores the same as another thread of the warp. Other kinds of writes are
 * assumed to. */
static bool stores_the_same(const struct warp *w, const struct instruction *i, unsigned l,
                            unsigned other)
{
    for (unsigned n = 0; is_store(i) && n < i->count; n++)
        if (memcmp(stored_value(w, i, n, other), stored_value(w, i, n, l), i->bytes))
            return false;
    return true;
}

static void found_race(struct warp *w, const struct instruction *i, unsigned l, size_t g,
                       uint64_t earlier, bool wrote, enum access_kind kind)
{
    struct launch_fault *race = w->launch->found->shared_race;
    const struct shared_notes *n = w->block->notes;
    if (race[1].instruction || !w->launch->shape->checks.race)
        return;
    describe(w, earlier, &race[0]);
    race[0].write = wrote;
    race[0].is_in_flight = wrote && n->flight_count && n->in_flight[g];
    race[0].is_atomic = earlier & SYNCHRONIZES;
    race[1] = warp_place(w, l, i);
    race[1].address = (uint64_t)g << w->launch->granule_shift;
    race[1].write = kind != ACCESS_READ;
    race[1].is_atomic = synchronizes(i, kind);
}

/* An atomic operation reads the value that is there. */
static void found_unwritten(struct warp *w, const struct instruction *i, unsigned l, uint64_t at,
                            size_t bytes)
{
    struct launch_fault *f = &w->launch->found->shared_unwritten;
    if (f->instruction || !w->launch->shape->checks.init)
        return;
    *f = warp_place(w, l, i);
    f->address = at;
    f->bytes = bytes;
}

/* ---- accesses ---- */

/* Returns whether this access is to be noted. If a loaded value is at most selected, the compiler
 * may have added the load, so it does not count. */
static bool is_load_alone(const struct instruction *i)
{
    return (i->run == run_load || i->run == run_load_volatile) && i->option == LOAD_IS_SELECTED;
}

/* Returns whether the last write is a copy for which its thread has not waited, so that it may
 * happen at any time. */
static bool is_in_flight(const struct shared_notes *n, size_t g)
{
    return n->flight_count && n->in_flight[g];
}

/* Returns whether the earlier access conflicts with this one and nothing orders the two. */
static bool is_race(const struct shared_notes *n, uint64_t earlier, uint64_t me)
{
    return !(earlier & me & SYNCHRONIZES) && !is_ordered(n, earlier, me & THREAD);
}

static bool is_blank(const struct shared_notes *n, uint64_t written)
{
    return written >> TIME_SHIFT < n->begun || written & WITHOUT;
}

static void set_written(struct shared_notes *n, size_t g, uint64_t record)
{
    n->blank += is_blank(n, record);
    n->blank -= is_blank(n, n->written[g]);
    n->changed = n->time;
    n->written[g] = record;
}

static void note_write(struct warp *w, const struct instruction *i, unsigned l, uint64_t at,
                       size_t g, uint64_t me, enum access_kind kind)
{
    struct shared_notes *n = w->block->notes;
    const uint64_t limit = (uint64_t)n->barrier << TIME_SHIFT;
    const uint64_t written = n->written[g], first = n->first[g], last = n->last[g];
    /* All threads of the warp but this one. */
    const uint64_t same = ~(uint64_t)(WARP_SIZE - 1 + AGREED + WITHOUT);
    uint64_t earlier = 0;
    if (written >= limit && (written & same) == (me & same)) {
        const unsigned other = written & (WARP_SIZE - 1);
        if (kind == ACCESS_WRITE && other != l && stores_the_same(w, i, l, other))
            me |= AGREED;
    } else if (is_in_flight(n, g) || (written >= limit && is_race(n, written, me))) {
        earlier = written;
    }
    if (!earlier && first >= limit && is_race(n, first, me))
        earlier = first;
    if (!earlier && last >= limit && is_race(n, last, me))
        earlier = last;
    if (earlier && changes_nothing(w, i, l, at)) {
        if (earlier == written)
            n->written[g] |= AGREED;
        return;
    }
    if (earlier)
        found_race(w, i, l, g, earlier, earlier == written, kind);
    set_written(n, g, me);
}

static INLINE void note_reader(struct shared_notes *n, size_t g, uint64_t me, uint64_t limit)
{
    if (n->first[g] < limit)
        n->first[g] = me;
    else if ((n->first[g] ^ me) & THREAD && (n->last[g] ^ me) >> TIME_SHIFT)
        n->last[g] = me;
}

static void note_read(struct warp *w, const struct instruction *i, unsigned l, size_t g,
                      uint64_t me, uint64_t limit)
{
    struct shared_notes *n = w->block->notes;
    const uint64_t written = n->written[g];
    if (is_in_flight(n, g) || (written >= limit && !(written & AGREED) && is_race(n, written, me)))
        found_race(w, i, l, g, written, true, ACCESS_READ);
    note_reader(n, g, me, limit);
}

/* Enters the logged reads into the granules' records. Two of the neighbors that read the same
 * granule are enough, and two of the threads that read it at one time. */
static HOT void enter_reads(struct shared_notes *n)
{
    const uint64_t limit = (uint64_t)n->barrier << TIME_SHIFT;
    for (unsigned k = 0; k < n->logged; k++) {
        const struct logged *r = &n->log[k];
        uint32_t previous = UINT32_MAX;
        bool again = false;
        for (unsigned l = 0; l < r->count; l++) {
            const bool same = r->granules[l] == previous;
            if (same && again)
                continue;
            again = same;
            previous = r->granules[l];
            note_reader(n, previous, r->me + l, limit);
        }
    }
    n->logged = 0;
}

/* Logs reads of one granule each by neighboring threads, if every granule was written before the
 * last barrier, as most are. Returns false if that is not so; then nothing is logged. */
static HOT bool log_reads(struct shared_notes *n, const struct logged *r)
{
    const uint64_t begun = (uint64_t)n->begun << TIME_SHIFT,
                   span = ((uint64_t)n->barrier << TIME_SHIFT) - begun;
    const bool all = !n->blank && n->changed < n->barrier;
    uint64_t flags = 0, late = 0;
    for (unsigned l = 0; l < r->count && !all; l++) {
        const uint64_t written = n->written[r->granules[l]];
        late |= written - begun >= span;
        flags |= written;
    }
    for (unsigned l = 0; l < r->count && n->flight_count; l++)
        late |= n->in_flight[r->granules[l]];
    if (late || flags & WITHOUT)
        return false;
    if (++n->logged == LOG_MAX)
        enter_reads(n);
    return true;
}

/* Notes writes of neighboring threads to neighboring granules, one each, if since the last barrier
 * each granule was touched by its own thread alone. Returns false if that is not so; then nothing
 * is noted. */
static INLINE bool note_row(struct shared_notes *n, size_t g, uint64_t me, unsigned count)
{
    const uint64_t limit = (uint64_t)n->barrier << TIME_SHIFT,
                   begun = (uint64_t)n->begun << TIME_SHIFT;
    uint64_t *written = n->written + g, before = UINT64_MAX, blank = 0;
    const uint64_t *first = n->first + g, *last = n->last + g;
    /* Subtracting 1 sets the highest bit of numbers below the limit, and of 0. */
    for (unsigned l = 0; l < count; l++)
        before &= ((written[l] - limit) | (((written[l] ^ (me + l)) & THREAD) - 1))
                & ((first[l] - limit) | (((first[l] ^ (me + l)) & THREAD) - 1)) & (last[l] - limit);
    if (!(before >> 63))
        return false;
    for (unsigned l = 0; l < count; l++)
        blank += (written[l] - begun) >> 63 | (written[l] / WITHOUT & 1);
    for (unsigned l = 0; l < count; l++)
        written[l] = me + l;
    n->blank -= (size_t)blank;
    n->changed = n->time;
    return true;
}

/* Notes atomic operations on granules that have a value and that only atomic operations have
 * touched since the last barrier; these do not race. Returns the threads whose granules are
 * different. */
static HOT uint32_t note_atomics(struct shared_notes *n, unsigned shift, uint32_t lanes,
                                 const uint64_t *at, uint64_t me, uint64_t limit)
{
    const uint64_t begun = (uint64_t)n->begun << TIME_SHIFT;
    uint32_t others = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const unsigned l = (unsigned)__builtin_ctz(rest);
        const size_t g = (at[l] & ~WINDOW_MASK) >> shift;
        const uint64_t written = n->written[g];
        if (written < begun || written & WITHOUT || (written >= limit && !(written & SYNCHRONIZES))
            || n->first[g] >= limit)
            others |= 1u << l;
        else
            n->written[g] = me + l;
    }
    n->changed = n->time;
    return others;
}

HOT bool shared_note_rows(struct warp *w, const struct instruction *i, const struct addresses *a,
                          size_t bytes, enum access_kind kind)
{
    struct shared_notes *n = w->block->notes;
    const unsigned shift = w->launch->granule_shift, rows = a->rows, count = a->count;
    const uint64_t me = record_of(w, i, kind) + a->first;
    const uint32_t by = a->stride != 0;
    bool all = true;
    if (bytes >> shift < 1 || w->frame->tainted || i->option == LOAD_IS_SELECTED)
        return false;
    if (kind == ACCESS_READ && rows == 1 && !by) {
        const uint32_t g = (uint32_t)((a->begin[0] & ~WINDOW_MASK) >> shift);
        bool is_logged = true;
        for (uint32_t k = 0; k < bytes >> shift && is_logged; k++) {
            struct logged *r = &n->log[n->logged];
            /* Two of the threads that read the same granule are enough. */
            *r = (struct logged){me, count < 2 ? count : 2, {g + k, g + k}};
            is_logged = log_reads(n, r);
        }
        return is_logged;
    }
    if (bytes >> shift != 1)
        return false;
    if (kind == ACCESS_READ) {
        struct logged *r = &n->log[n->logged];
        r->me = me;
        r->count = rows * count;
        for (unsigned l = 0; l < WARP_SIZE; l += WARP_SIZE / 4) {
            const uint64_t row = a->begin[l * rows / WARP_SIZE] & ~WINDOW_MASK;
            const uint32_t g = (uint32_t)(row >> shift) + by * (l & (WARP_SIZE / rows - 1));
            AT_ONCE for (unsigned k = 0; k < WARP_SIZE / 4; k++) r->granules[l + k] = g + by * k;
        }
        return log_reads(n, r);
    }
    if (!by || n->flight_count)
        return false;
    if (n->logged)
        enter_reads(n);
    for (unsigned k = 0; k < rows && all; k++) {
        const size_t g = (a->begin[k] & ~WINDOW_MASK) >> shift;
        all = count == WARP_SIZE     ? note_row(n, g, me, WARP_SIZE)
            : count == WARP_SIZE / 2 ? note_row(n, g, me + k * count, WARP_SIZE / 2)
                                     : note_row(n, g, me + k * count, count);
    }
    return all;
}

void shared_note(struct warp *w, const struct instruction *i, uint32_t lanes, const uint64_t *at,
                 size_t bytes, enum access_kind kind)
{
    struct shared_notes *n = w->block->notes;
    const unsigned shift = w->launch->granule_shift;
    const uint64_t limit = (uint64_t)n->barrier << TIME_SHIFT,
                   begun = (uint64_t)n->begun << TIME_SHIFT;
    const uint64_t me = record_of(w, i, kind);
    uint32_t without = 0;
    const uint32_t stored = kind == ACCESS_WRITE && is_store(i) ? values_tainted(w, i, lanes) : 0;
    if (kind == ACCESS_READ && bytes >> shift == 1 && lanes == ALL_LANES && !w->frame->tainted
        && i->option != LOAD_IS_SELECTED) {
        struct logged *r = &n->log[n->logged];
        r->me = me;
        r->count = WARP_SIZE;
        for (unsigned l = 0; l < WARP_SIZE; l++)
            r->granules[l] = (uint32_t)((at[l] & ~WINDOW_MASK) >> shift);
        if (log_reads(n, r))
            return;
    }
    if (kind != ACCESS_READ && n->logged)
        enter_reads(n);
    if (kind == ACCESS_ATOMIC && bytes >> shift == 1)
        lanes = note_atomics(n, shift, lanes, at, me, limit);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const unsigned l = (unsigned)__builtin_ctz(rest);
        const uint64_t address = at[l] & ~WINDOW_MASK;
        const size_t g = address >> shift;
        bool any = false;
        /* Happens only in a function that is called by its address, and that was therefore not
         * known before. */
        if (bytes >> shift == 0) {
            if (kind != ACCESS_READ && n->written[g] < begun)
                set_written(n, g, begun | SYNCHRONIZES | AGREED);
            continue;
        }
        for (size_t k = 0; k < bytes >> shift; k++) {
            any |= n->written[g + k] >= begun && !(n->written[g + k] & WITHOUT);
            if (kind != ACCESS_READ)
                note_write(w, i, l, address, g + k, me | l | (lane_is_in(stored, l) ? WITHOUT : 0),
                           kind);
            else if (!is_load_alone(i))
                note_read(w, i, l, g + k, me | l, limit);
        }
        without |= (uint32_t)!any << l;
        if (!any && kind == ACCESS_ATOMIC && i->option != ATOMIC_EXCH)
            found_unwritten(w, i, l, address, bytes);
    }
    if (kind == ACCESS_READ && i->run != run_copy)
        values_taint(w, i, lanes, without, at);
}
