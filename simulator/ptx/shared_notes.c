/* Notes of a block's shared memory: for each granule, as large as the kernel's smallest access, who
 * wrote it last and who has read it since.
 *
 * A record has the time, the instruction's number in the kernel, whether the access synchronizes by
 * itself, whether several threads wrote the same, whether the value comes from unwritten bytes, and
 * the thread's number in the block. A record from before the block's last barrier is in no race and
 * only says who wrote: this block or, before the block's beginning, another one.
 *
 * Invariant: of the threads that have read a granule since the last barrier, `first` has one, and
 * `last` has another, if there are two. */
#include "ptx/shared_notes.h"

#include <string.h>

#include "os/os.h"
#include "ptx/device_notes.h"

#define TIME_SHIFT        32
#define INSTRUCTION_SHIFT 13
#define INSTRUCTIONS_MAX  (1u << 19)
#define SYNCHRONIZES      (1u << 11)
#define AGREED            (1u << 10)
#define WITHOUT           (1u << 12)
#define THREAD            (uint64_t)1023
/* Usually enough for the reads of a block's warps between two barriers. */
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
    /* The number of granules without a value, or with one that comes from unwritten bytes. */
    size_t blank;
    /* When the block last wrote a granule, when it last did so non-atomically, and when a read was
     * last entered in a record. */
    uint32_t changed, wrote, entered;
    /* Reads since the last barrier that only the next write will enter in records. */
    unsigned logged;
    struct logged {
        /* The record of the warp's first thread, and the threads that read. */
        uint64_t me;
        uint32_t lanes;
        /* The number of granules that each thread reads. */
        uint32_t size;
        /* The rows (struct addresses), if any: how many threads each has, from which on, and how
         * far apart they read. `granules` has the first granule of each row or, without rows, of
         * each thread. */
        uint32_t rows, count, first, by;
        uint32_t granules[WARP_SIZE];
    } log[LOG_MAX];
    /* Of each thread. `groups`: how many groups of cp.async it has closed. */
    uint32_t acquired[1024], synced[1024], groups[1024];
    /* Of each warp. `together`: when all its threads last synchronized with each other. */
    uint32_t released[32], together[32];
    /* Each warp's copies for which its threads have not waited; the number of all of them; and for
     * each granule, whether one of them is to it (NULL: there was none yet). */
    struct flights {
        struct flight *all;
        size_t count, room;
    } flights[32];
    size_t flight_count;
    bool *in_flight;
};

static bool is_blank(const struct shared_notes *n, uint64_t written)
{
    return written >> TIME_SHIFT < n->begun || written & WITHOUT;
}

static void set_written(struct shared_notes *n, size_t g, uint64_t record)
{
    n->blank += is_blank(n, record);
    n->blank -= is_blank(n, n->written[g]);
    n->changed = n->time;
    if (!(record & SYNCHRONIZES))
        n->wrote = n->time;
    n->written[g] = record;
}

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
        n->time = n->changed = n->wrote = n->entered = 0;
    }
    memset(n->acquired, 0, launch->threads_of_block * sizeof *n->acquired);
    memset(n->synced, 0, launch->threads_of_block * sizeof *n->synced);
    memset(n->groups, 0, launch->threads_of_block * sizeof *n->groups);
    memset(n->released, 0, sizeof n->released);
    memset(n->together, 0, sizeof n->together);
    for (unsigned k = 0; k < 32 && n->flight_count; k++)
        n->flights[k].count = 0;
    if (n->flight_count)
        memset(n->in_flight, 0, n->count * sizeof *n->in_flight);
    n->flight_count = 0;
    n->begun = n->barrier = ++n->time;
    n->blank = launch->shared_bytes >> launch->granule_shift;
    n->logged = 0;
    const size_t reserved = launch->code->static_shared_bytes >> launch->granule_shift;
    for (size_t g = 0; g < launch->code->reserved_shared_bytes >> launch->granule_shift; g++)
        set_written(n, reserved + g, (uint64_t)n->begun << TIME_SHIFT | SYNCHRONIZES | AGREED);
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
    if (w->launch->is_noted)
        device_release(w);
    if (!n || !lanes)
        return;
    n->released[w->index] = ++n->time;
}

HOT void shared_acquire(struct warp *w, uint32_t lanes)
{
    struct shared_notes *n = w->block->notes;
    if (w->launch->is_noted)
        device_acquire(w, lanes);
    if (!n)
        return;
    uint32_t *acquired = n->acquired + w->index * WARP_SIZE;
    const uint32_t time = n->time;
    EACH_LANE(lanes, acquired[l] = time;)
}

HOT void shared_sync_warp(struct warp *w, uint32_t lanes)
{
    struct shared_notes *n = w->block->notes;
    uint32_t last = 0;
    if (w->launch->is_noted)
        device_sync_warp(w, lanes);
    if (!n)
        return;
    uint32_t *acquired = n->acquired + w->index * WARP_SIZE,
             *synced = n->synced + w->index * WARP_SIZE;
    const uint32_t time = ++n->time;
    EACH_LANE(lanes, last = acquired[l] > last ? acquired[l] : last;)
    EACH_LANE(lanes, acquired[l] = last; synced[l] = time;)
    if (lanes == ALL_LANES)
        n->together[w->index] = time;
}

void shared_sync_block(struct block *b)
{
    if (b->launch->is_noted)
        device_sync_block(b);
    if (!b->notes)
        return;
    b->notes->barrier = ++b->notes->time;
    b->notes->logged = 0;
}

static bool is_ordered(const struct shared_notes *n, uint64_t earlier, unsigned thread)
{
    const uint32_t time = (uint32_t)(earlier >> TIME_SHIFT);
    const unsigned other = earlier & THREAD;
    if (time < n->barrier || other == thread)
        return true;
    if (other / WARP_SIZE == thread / WARP_SIZE && n->synced[other] > time
        && n->synced[thread] > time)
        return true;
    return n->released[other / WARP_SIZE] > time && n->acquired[thread] > time;
}

/* Bounds for a warp's records. Those below `barrier` are from before the last barrier, and those
 * below `together`, unless it is 0, from before all threads of the warp last synchronized. */
struct bounds {
    uint64_t barrier, together;
};

static INLINE struct bounds bounds_of(const struct warp *w)
{
    const struct shared_notes *n = w->block->notes;
    const uint32_t together = n->together[w->index];
    return (struct bounds){(uint64_t)n->barrier << TIME_SHIFT,
                           together > n->barrier ? (uint64_t)together << TIME_SHIFT : 0};
}

/* The top bit says that the record surely precedes mine: it is from before the barrier, from my
 * thread, or from my warp before it synchronized. A difference has that bit if the record was below
 * the bound; subtracting 1 sets it for 0. */
static INLINE uint64_t is_settled(uint64_t record, uint64_t mine, const struct bounds *b)
{
    const uint64_t other = (record ^ mine) & THREAD;
    uint64_t settled = (record - b->barrier) | (other - 1);
    if (b->together)
        settled |= (other / WARP_SIZE - 1) & (record - b->together);
    return settled;
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
    struct flights *f = &n->flights[w->index];
    if (!n->in_flight)
        n->in_flight = os_allocate(n->count * sizeof *n->in_flight);
    OS_MAKE_ROOM(f->all, f->count, f->room)
    f->all[f->count++] = (struct flight){record_of(w, i, ACCESS_WRITE) | l, NO_BARRIER, from, count,
                                         n->groups[w->index * WARP_SIZE + l]};
    n->flight_count++;
    memset(n->in_flight + from, true, count * sizeof *n->in_flight);
}

void run_close_group(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct shared_notes *n = w->block->notes;
    (void)i;
    FOR_LANES (l, n ? lanes : 0)
        n->groups[w->index * WARP_SIZE + l]++;
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
    n->changed = n->wrote = n->time;
    n->flight_count--;
}

/* The threads have waited for all but the last `target` groups, or for ALL_COPIES. */
void run_wait_copies(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct shared_notes *n = w->block->notes;
    struct flights *f = n ? &n->flights[w->index] : NULL;
    size_t kept = 0;
    if (!n || !f->count)
        return;
    n->time++;
    for (size_t k = 0; k < f->count; k++) {
        const unsigned thread = f->all[k].record & THREAD;
        if (lane_is_in(lanes, thread % WARP_SIZE)
            && (i->target == ALL_COPIES || f->all[k].group + i->target < n->groups[thread]))
            land(n, &f->all[k]);
        else
            f->all[kept++] = f->all[k];
    }
    f->count = kept;
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
    for (struct flights *f = n->flights; f < n->flights + b->warp_count; f++) {
        size_t kept = 0;
        for (size_t k = 0; k < f->count; k++)
            if (f->all[k].barrier == barrier)
                land(n, &f->all[k]);
            else
                f->all[kept++] = f->all[k];
        f->count = kept;
    }
}

/* ---- what is found ---- */

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
 * assumed to store the same. */
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
    race[0] = place_of_number(w->launch, w->block->number, earlier & THREAD,
                              earlier >> INSTRUCTION_SHIFT & (INSTRUCTIONS_MAX - 1));
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

/* Returns whether this access needs no notes: the compiler may have added a load whose value is at
 * most selected. */
static bool is_load_alone(const struct instruction *i)
{
    return (i->run == run_load || i->run == run_load_volatile) && i->option == LOAD_IS_SELECTED
        && !i->guard;
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

static void note_write(struct warp *w, const struct instruction *i, unsigned l, uint64_t at,
                       size_t g, uint64_t me, enum access_kind kind)
{
    struct shared_notes *n = w->block->notes;
    const uint64_t limit = (uint64_t)n->barrier << TIME_SHIFT;
    const uint64_t written = n->written[g], first = n->first[g], last = n->last[g];
    /* Leaves out the thread's number in its warp. */
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
    n->entered = n->time;
}

/* ---- many at once ---- */

/* Sets the first granule of each thread from the rows of a log entry. */
static INLINE void spread_rows(const struct logged *r, uint32_t *granules)
{
    if (r->lanes != ALL_LANES)
        for (unsigned l = 0; l < r->count; l++)
            granules[r->first + l] = r->granules[0] + r->by * l;
    else
        for (unsigned l = 0; l < WARP_SIZE; l += WARP_SIZE / 4) {
            const uint32_t g =
                r->granules[l * r->rows / WARP_SIZE] + r->by * (l & (WARP_SIZE / r->rows - 1));
            AT_ONCE for (unsigned k = 0; k < WARP_SIZE / 4; k++) granules[l + k] = g + r->by * k;
        }
}

/* Enters reads of one granule each by threads whose granules are neighbors. */
static INLINE void enter_row(struct shared_notes *n, size_t g, uint64_t me, unsigned count,
                             uint64_t limit)
{
    int64_t *first = (int64_t *)n->first + g, *last = (int64_t *)n->last + g;
    for (unsigned l = 0; l < count; l++) {
        const int64_t mine = (int64_t)(me + l);
        const bool is_first = first[l] < (int64_t)limit,
                   is_last = !is_first & (((first[l] ^ mine) & (int64_t)THREAD) != 0)
                           & ((uint64_t)(last[l] ^ mine) > UINT32_MAX);
        first[l] = is_first ? mine : first[l];
        last[l] = is_last ? mine : last[l];
    }
}

/* Enters reads of the k-th granule of each thread. If several neighboring threads read the same
 * one, two of them are enough. */
static INLINE void enter_each(struct shared_notes *n, const struct logged *r,
                              const uint32_t *granules, uint32_t k, uint64_t limit)
{
    const uint64_t me = r->me;
    uint32_t previous = UINT32_MAX;
    bool again = false;
    FOR_LANES (l, r->lanes) {
        const bool same = granules[l] == previous;
        if (same && again)
            continue;
        again = same;
        previous = granules[l];
        note_reader(n, previous + k, me + l, limit);
    }
}

/* Enters the logged reads into the granules' records. */
static HOT void enter_reads(struct shared_notes *n)
{
    const uint64_t limit = (uint64_t)n->barrier << TIME_SHIFT;
    for (unsigned m = 0; m < n->logged; m++) {
        const struct logged *r = &n->log[m];
        uint32_t spread[WARP_SIZE];
        if (r->rows && r->by == 1) {
            for (uint32_t k = 0; k < r->rows; k++)
                enter_row(n, r->granules[k], r->me + r->first + k * r->count, r->count, limit);
            continue;
        }
        if (r->rows)
            spread_rows(r, spread);
        for (uint32_t k = 0; k < r->size; k++)
            enter_each(n, r, r->rows ? spread : r->granules, k, limit);
    }
    n->entered = n->time;
    n->logged = 0;
}

/* Do the threads' granules have values? */
static INLINE bool have_values(const struct shared_notes *n, uint32_t lanes,
                               const uint32_t *granules, uint32_t size)
{
    const uint64_t begun = (uint64_t)n->begun << TIME_SHIFT;
    uint64_t before = 0, flags = 0;
    for (uint32_t k = 0; k < size && n->blank; k++) {
        EACH_LANE(lanes, const uint64_t written = n->written[granules[l] + k];
                  before |= written - begun; flags |= written;)
    }
    return !(before >> 63) && !(flags & WITHOUT);
}

/* Were all granules written before the last barrier, and do they have values? */
static INLINE bool were_written(const struct shared_notes *n, uint32_t lanes,
                                const uint32_t *granules, uint32_t size)
{
    const uint64_t begun = (uint64_t)n->begun << TIME_SHIFT,
                   span = ((uint64_t)n->barrier << TIME_SHIFT) - begun;
    uint64_t late = 0, flags = 0;
    for (uint32_t k = 0; k < size; k++) {
        EACH_LANE(lanes, const uint64_t written = n->written[granules[l] + k];
                  late |= written - begun >= span; flags |= written;)
    }
    return !late && !(flags & WITHOUT);
}

/* Do the last writes of all granules surely precede these reads? */
static INLINE bool are_settled(const struct shared_notes *n, const struct logged *r,
                               const uint32_t *granules, const struct bounds *b)
{
    uint64_t settled = UINT64_MAX;
    const uint64_t me = r->me;
    for (uint32_t k = 0; k < r->size; k++) {
        EACH_LANE(r->lanes, settled &= is_settled(n->written[granules[l] + k], me + l, b);)
    }
    return settled >> 63;
}

/* Is any of the granules the target of a pending copy? */
static INLINE bool are_in_flight(const struct shared_notes *n, uint32_t lanes,
                                 const uint32_t *granules, uint32_t size)
{
    bool any = false;
    for (uint32_t k = 0; k < size && n->flight_count; k++)
        EACH_LANE(lanes, any |= n->in_flight[granules[l] + k];)
    return any;
}

/* Logs reads of granules whose values were surely written before, as most are. Otherwise returns
 * false and logs nothing. */
static HOT bool log_reads(struct shared_notes *n, const struct logged *r, const struct bounds *b)
{
    if (n->blank || n->changed >= n->barrier || n->flight_count) {
        uint32_t spread[WARP_SIZE];
        const uint32_t *granules = r->rows ? spread : r->granules;
        if (r->rows)
            spread_rows(r, spread);
        if (are_in_flight(n, r->lanes, granules, r->size)
            || (!were_written(n, r->lanes, granules, r->size)
                && !(are_settled(n, r, granules, b)
                     && have_values(n, r->lanes, granules, r->size))))
            return false;
    }
    if (++n->logged == LOG_MAX)
        enter_reads(n);
    return true;
}

/* Notes writes if all earlier accesses to the granules surely precede them and no two threads write
 * the same granule. Otherwise returns false and notes nothing. */
static INLINE bool note_writes(struct shared_notes *n, uint32_t lanes, const uint32_t *granules,
                               uint32_t size, uint64_t me, const struct bounds *b)
{
    uint64_t settled = UINT64_MAX, before[WARP_SIZE];
    for (uint32_t k = 0; k < size && n->entered >= n->barrier; k++) {
        EACH_LANE(lanes, settled &= is_settled(n->first[granules[l] + k], me + l, b)
                                  & is_settled(n->last[granules[l] + k], me + l, b);)
    }
    if (!(settled >> 63))
        return false;
    n->changed = n->wrote = n->time;
    for (uint32_t k = 0; k < size; k++) {
        const size_t blank = n->blank;
        FOR_LANES (l, lanes) {
            uint64_t *written = &n->written[granules[l] + k];
            settled &= is_settled(*written, me + l, b);
            before[l] = *written;
            *written = me + l;
            if (blank)
                n->blank -= is_blank(n, before[l]);
        }
        if (settled >> 63)
            continue;
        for (uint32_t rest = lanes; rest;) {
            const unsigned l = WARP_SIZE - 1 - (unsigned)__builtin_clz(rest);
            n->written[granules[l] + k] = before[l];
            rest ^= 1u << l;
        }
        n->blank = blank;
        return false;
    }
    return true;
}

/* Does the same for threads that write one granule each, next to each other's. */
static INLINE bool note_row(struct shared_notes *n, size_t g, uint64_t me, unsigned count,
                            const struct bounds *b)
{
    const uint64_t begun = (uint64_t)n->begun << TIME_SHIFT;
    uint64_t *written = n->written + g, settled = UINT64_MAX, blank = 0;
    const uint64_t *first = n->first + g, *last = n->last + g;
    for (unsigned l = 0; l < count && n->changed >= n->barrier; l++)
        settled &= is_settled(written[l], me + l, b);
    for (unsigned l = 0; l < count && n->entered >= n->barrier; l++)
        settled &= is_settled(first[l], me + l, b) & is_settled(last[l], me + l, b);
    if (!(settled >> 63))
        return false;
    for (unsigned l = 0; l < count && n->blank; l++)
        blank += (written[l] - begun) >> 63 | (written[l] / WITHOUT & 1);
    for (unsigned l = 0; l < count; l++)
        written[l] = me + l;
    n->blank -= (size_t)blank;
    n->changed = n->wrote = n->time;
    return true;
}

/* Notes atomic operations on granules that have a value and, since the last barrier, were only
 * touched by atomic operations, which do not race. Returns the threads that are left. */
static INLINE uint32_t note_atomics(struct shared_notes *n, uint32_t lanes,
                                    const uint32_t *granules, uint64_t me)
{
    const uint64_t begun = (uint64_t)n->begun << TIME_SHIFT,
                   limit = (uint64_t)n->barrier << TIME_SHIFT;
    uint32_t others = 0;
    n->changed = n->time;
    if (!n->blank && n->wrote < n->barrier && n->entered < n->barrier) {
        EACH_LANE(lanes, n->written[granules[l]] = me + l;)
        return 0;
    }
    FOR_LANES (l, lanes) {
        const size_t g = granules[l];
        const uint64_t written = n->written[g];
        if (written < begun || written & WITHOUT || (written >= limit && !(written & SYNCHRONIZES))
            || n->first[g] >= limit)
            others |= 1u << l;
        else
            n->written[g] = me + l;
    }
    return others;
}

HOT bool shared_note_rows(struct warp *w, const struct instruction *i, const struct addresses *a,
                          size_t bytes, enum access_kind kind)
{
    struct shared_notes *n = w->block->notes;
    const unsigned shift = w->launch->granule_shift, rows = a->rows, count = a->count;
    const uint64_t me = record_of(w, i, kind);
    const struct bounds bounds = bounds_of(w);
    const uint32_t size = (uint32_t)(bytes >> shift);
    bool all = true;
    if (!size || w->frame->tainted || i->option == LOAD_IS_SELECTED)
        return false;
    if (kind == ACCESS_READ) {
        struct logged *r = &n->log[n->logged];
        /* Two of the threads that read the same granule are enough. */
        const unsigned least = rows == 1 && !a->stride && count > 2 ? 2 : rows * count;
        r->me = me;
        r->lanes = (uint32_t)((((uint64_t)1 << least) - 1) << a->first);
        r->size = size;
        r->rows = rows;
        r->count = least / rows;
        r->first = a->first;
        r->by = a->stride ? size : 0;
        for (unsigned k = 0; k < rows; k++)
            r->granules[k] = (uint32_t)((a->begin[k] & ~WINDOW_MASK) >> shift);
        return log_reads(n, r, &bounds);
    }
    if (size != 1 || !a->stride || n->flight_count)
        return false;
    if (n->logged)
        enter_reads(n);
    for (unsigned k = 0; k < rows && all; k++) {
        const size_t g = (a->begin[k] & ~WINDOW_MASK) >> shift;
        const uint64_t mine = me + a->first + k * count;
        all = count == WARP_SIZE     ? note_row(n, g, mine, WARP_SIZE, &bounds)
            : count == WARP_SIZE / 2 ? note_row(n, g, mine, WARP_SIZE / 2, &bounds)
                                     : note_row(n, g, mine, count, &bounds);
    }
    return all;
}

/* Notes accesses of the usual kind, to bytes that have a value and in no race. Returns the threads
 * whose accesses are left. */
static INLINE uint32_t note_usual(struct warp *w, const struct instruction *i, uint32_t lanes,
                                  const uint64_t *at, uint32_t size, enum access_kind kind)
{
    struct shared_notes *n = w->block->notes;
    const unsigned shift = w->launch->granule_shift;
    const uint64_t me = record_of(w, i, kind);
    const struct bounds bounds = bounds_of(w);
    if (kind != ACCESS_READ && n->logged)
        enter_reads(n);
    struct logged *r = &n->log[n->logged];
    uint32_t *granules = r->granules;
    EACH_LANE(lanes, granules[l] = (uint32_t)((at[l] & ~WINDOW_MASK) >> shift);)
    if (kind == ACCESS_ATOMIC)
        return size == 1 ? note_atomics(n, lanes, granules, me) : lanes;
    if (kind == ACCESS_WRITE)
        return !are_in_flight(n, lanes, granules, size)
                    && note_writes(n, lanes, granules, size, me, &bounds)
                 ? 0
                 : lanes;
    if (i->option == LOAD_IS_SELECTED)
        return is_load_alone(i) && have_values(n, lanes, granules, size) ? 0 : lanes;
    r->me = me;
    r->lanes = lanes;
    r->size = size;
    r->rows = 0;
    return log_reads(n, r, &bounds) ? 0 : lanes;
}

/* Notes an access of one thread after the other. */
static void note_each(struct warp *w, const struct instruction *i, uint32_t lanes,
                      const uint64_t *at, size_t bytes, enum access_kind kind)
{
    struct shared_notes *n = w->block->notes;
    const unsigned shift = w->launch->granule_shift;
    const uint64_t limit = (uint64_t)n->barrier << TIME_SHIFT,
                   begun = (uint64_t)n->begun << TIME_SHIFT;
    const uint64_t me = record_of(w, i, kind);
    uint32_t without = 0;
    const uint32_t stored = kind == ACCESS_WRITE && is_store(i) ? values_tainted(w, i, lanes) : 0;
    if (kind != ACCESS_READ && n->logged)
        enter_reads(n);
    FOR_LANES (l, lanes) {
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

HOT void shared_note(struct warp *w, const struct instruction *i, uint32_t lanes,
                     const uint64_t *at, size_t bytes, enum access_kind kind)
{
    const uint32_t size = (uint32_t)(bytes >> w->launch->granule_shift);
    if (size && !w->frame->tainted)
        lanes = note_usual(w, i, lanes, at, size, kind);
    if (lanes)
        note_each(w, i, lanes, at, bytes, kind);
}
