/* Notes of device memory: for each granule, as large as the kernel's smallest access, who wrote it
 * last and who has read it since. Lines of 32 granules are in a hash table.
 *
 * Invariants: Lines of the present epoch are this launch's. Between a line's hash position and the
 * line there are only lines of that epoch. Of the mutually unordered threads that have read a
 * granule since the last write, `first` has one, and `last` another, if there are two. */
#include "ptx/device_notes.h"

#include <string.h>

#include "os/os.h"

/* At 4 bytes for each access, the lines cover 4 MiB. Notes of more memory are lost. */
#define LINES     ((size_t)1 << 15)
#define LINE      32
#define TRIES_MAX 8
/* The number of accesses that a program may note: at first, and in addition for so many
 * instructions of warps, and for each launch. */
#define NOTED_FREE      500000
#define NOTED_PER_CLOCK 32
#define NOTED_OF_LAUNCH 8

enum { AGREED = 1, ATOMIC = 2, NUMBER_SHIFT = 2 };

/* Time 0: no access. `what`: the number of the instruction in the kernel, whether several threads
 * wrote the same, and whether it is atomic. */
struct record {
    uint32_t time, who, phase, what;
};

/* `orders`: a bit for each granule that threads use to synchronize. */
struct line {
    uint64_t key;
    uint32_t epoch, orders;
    struct record written[LINE], first[LINE], last[LINE];
};

/* When a block last passed a barrier, released, and acquired; how often it has come to the grid's
 * barrier; and the same for its warps and threads. */
struct order {
    uint32_t barrier, released, acquired, phase;
    uint32_t warp_released[32];
    struct {
        uint32_t acquired, synced;
    } threads[1024];
};

static struct {
    struct line *lines;
    struct order *orders;
    uint64_t order_count;
    uint32_t epoch, time;
    unsigned granule_shift;
    int64_t noted, most, credit;
} notes = {.credit = NOTED_FREE};

void device_notes_begin(struct launch *launch)
{
    const bool all = launch->shape->cooperative;
    const uint64_t count = all ? launch->blocks : 1;
    if (!launch->shape->checks.race || (!all && notes.credit <= 0))
        return;
    if (!notes.lines)
        notes.lines = os_allocate(LINES * sizeof *notes.lines);
    if (notes.order_count < count) {
        os_free(notes.orders);
        notes.orders = os_allocate(count * sizeof *notes.orders);
        notes.order_count = count;
    }
    for (uint64_t n = 0; n < count; n++)
        memset(&notes.orders[n], 0,
               offsetof(struct order, threads)
                   + launch->threads_of_block * sizeof *notes.orders->threads);
    notes.granule_shift = (unsigned)__builtin_ctz(launch->code->least_device | 16);
    notes.epoch++;
    notes.time = 1;
    notes.noted = 0;
    notes.most = all ? INT64_MAX : notes.credit;
    launch->is_noted = launch->is_looked_at = true;
}

void device_notes_end(struct launch *launch)
{
    if (!launch->is_noted)
        return;
    launch->is_noted = launch->is_looked_at = false;
    if (!launch->shape->cooperative)
        notes.credit -= notes.noted;
    notes.credit += NOTED_OF_LAUNCH + (int64_t)launch->clock / NOTED_PER_CLOCK;
    if (notes.credit > NOTED_FREE)
        notes.credit = NOTED_FREE;
}

/* ---- order ---- */

static struct order *order_of(const struct block *b)
{
    return &notes.orders[b->launch->shape->cooperative ? b->number : 0];
}

void device_release(const struct warp *w)
{
    order_of(w->block)->warp_released[w->index] = ++notes.time;
}

void device_acquire(const struct warp *w, uint32_t lanes)
{
    struct order *o = order_of(w->block);
    EACH_LANE(lanes, o->threads[w->index * WARP_SIZE + l].acquired = notes.time;)
}

void device_sync_warp(const struct warp *w, uint32_t lanes)
{
    struct order *o = order_of(w->block);
    uint32_t acquired = 0;
    const uint32_t time = ++notes.time, first = w->index * WARP_SIZE;
    EACH_LANE(lanes, if (o->threads[first + l].acquired > acquired) acquired =
                         o->threads[first + l].acquired;)
    EACH_LANE(lanes, o->threads[first + l].acquired = acquired;
              o->threads[first + l].synced = time;)
}

void device_sync_block(const struct block *b) { order_of(b)->barrier = ++notes.time; }

void device_sync_blocks(const struct block *b, bool releases, bool acquires)
{
    if (releases)
        order_of(b)->released = ++notes.time;
    if (acquires)
        order_of(b)->acquired = notes.time;
}

void device_meet_grid(const struct block *b) { order_of(b)->phase++; }

static bool is_ordered(const struct record *earlier, const struct record *me)
{
    const uint32_t time = earlier->time, other = earlier->who % 1024, thread = me->who % 1024;
    const struct order *a = &notes.orders[earlier->who / 1024], *b = &notes.orders[me->who / 1024];
    if (a != b)
        return earlier->phase < me->phase || (a->released > time && b->acquired > time);
    return other == thread || a->barrier > time
        || (other / WARP_SIZE == thread / WARP_SIZE && a->threads[other].synced > time
            && a->threads[thread].synced > time)
        || (a->warp_released[other / WARP_SIZE] > time && a->threads[thread].acquired > time);
}

/* ---- what is found ---- */

struct access {
    struct warp *w;
    const struct instruction *i;
    struct window *window;
    enum access_kind kind;
};

static void found_race(const struct access *a, unsigned l, uint64_t address,
                       const struct record *earlier, bool wrote)
{
    const struct block *b = a->w->block;
    struct launch_found *found = b->launch->found;
    const bool is_own = order_of(b) == &notes.orders[earlier->who / 1024];
    struct device_race *race = is_own ? &found->own_race : &found->block_race;
    if (race->window)
        return;
    race->window = a->window;
    race->byte = address - a->window->base;
    race->places[0] = place_of_number(b->launch, is_own ? b->number : earlier->who / 1024,
                                      earlier->who % 1024, earlier->what >> NUMBER_SHIFT);
    race->places[0].write = wrote;
    race->places[1] = warp_place(a->w, l, a->i);
    race->places[1].write = a->kind != ACCESS_READ;
}

/* ---- accesses ---- */

/* Returns the line with these granules, or NULL. Neighbors in memory are usually neighbors here. */
static struct line *line_of(uint64_t key)
{
    size_t at = key + key / LINES * 7919;
    for (unsigned n = 0; n < TRIES_MAX; n++, at++) {
        struct line *line = &notes.lines[at % LINES];
        if (line->epoch != notes.epoch) {
            memset(line, 0, sizeof *line);
            line->key = key;
            line->epoch = notes.epoch;
        }
        if (line->key == key)
            return line;
    }
    return NULL;
}

/* Does thread l store what is already there, or what thread `other` of the warp stores? */
static bool changes_nothing(const struct warp *w, const struct instruction *i, unsigned l,
                            const char *there, const unsigned *other)
{
    for (unsigned n = 0; i->run == run_store && n < i->count; n++)
        if (memcmp(other ? stored_value(w, i, n, *other) : there + (size_t)n * i->bytes,
                   stored_value(w, i, n, l), i->bytes))
            return false;
    return i->run == run_store;
}

/* Are both by one instruction of a warp? Documented: one of its writes stays. */
static bool is_one(const struct record *a, const struct record *b)
{
    return a->time == b->time && a->who / WARP_SIZE == b->who / WARP_SIZE
        && a->what >> NUMBER_SHIFT == b->what >> NUMBER_SHIFT;
}

static INLINE bool races(const struct record *earlier, const struct record *me)
{
    return earlier->time && earlier->who != me->who && !is_ordered(earlier, me)
        && !is_one(earlier, me);
}

static INLINE void note_write(const struct access *a, unsigned l, uint64_t address, uint64_t g,
                              struct line *line, struct record me)
{
    const char *there = a->window->storage + (address - a->window->base);
    const struct record *earlier = NULL;
    struct record *written = &line->written[g % LINE];
    const unsigned other = written->who % WARP_SIZE;
    if (races(written, &me) && !(written->what & me.what & ATOMIC))
        earlier = written;
    else if (a->kind == ACCESS_WRITE && races(&line->first[g % LINE], &me))
        earlier = &line->first[g % LINE];
    else if (a->kind == ACCESS_WRITE && races(&line->last[g % LINE], &me))
        earlier = &line->last[g % LINE];
    if (earlier && changes_nothing(a->w, a->i, l, there, NULL)) {
        written->what |= AGREED;
        return;
    }
    if (earlier)
        found_race(a, l, g << notes.granule_shift, earlier, earlier == written);
    if (other != l && is_one(written, &me) && changes_nothing(a->w, a->i, l, there, &other))
        me.what |= AGREED;
    /* A thread's ordinary write still races with the atomic operations of other threads. */
    if (a->kind == ACCESS_WRITE || written->who != me.who || written->what & ATOMIC)
        *written = me;
}

static INLINE void note_read(const struct access *a, unsigned l, uint64_t g, struct line *line,
                             struct record me)
{
    const struct record *written = &line->written[g % LINE];
    struct record *first = &line->first[g % LINE], *last = &line->last[g % LINE];
    if (!(written->what & (AGREED | ATOMIC)) && races(written, &me))
        found_race(a, l, g << notes.granule_shift, written, true);
    if (!first->time || is_ordered(first, &me))
        *first = me;
    else if (!last->time || is_ordered(last, &me)
             || last->who / WARP_SIZE == first->who / WARP_SIZE)
        *last = me;
}

static bool may_order(const struct instruction *i, enum access_kind kind)
{
    return kind == ACCESS_ATOMIC ? i->run != run_atomic || i->rounding
                                 : i->run == run_load_volatile || i->run == run_store_volatile;
}

HOT void device_note(struct warp *w, const struct instruction *i, uint32_t lanes,
                     struct window *win, const uint64_t *at, size_t bytes, enum access_kind kind)
{
    const struct access a = {w, i, win, kind};
    const struct code *code = w->frame->code;
    const uint32_t number = code->first_number + (uint32_t)((w->whole ? w->whole : i) - code->all);
    const uint64_t block = (uint64_t)(order_of(w->block) - notes.orders);
    struct record me = {notes.time, 0, order_of(w->block)->phase,
                        number << NUMBER_SHIFT | (kind == ACCESS_ATOMIC ? ATOMIC : 0)};
    struct line *line = NULL;
    uint64_t key = UINT64_MAX;
    if (notes.noted >= notes.most) {
        device_notes_end(w->launch);
        return;
    }
    notes.noted += __builtin_popcount(lanes);
    if (i->run == run_load && i->option == LOAD_IS_SELECTED && !i->guard)
        return;
    FOR_LANES (l, lanes) {
        const uint64_t end = (at[l] + bytes) >> notes.granule_shift;
        me.who = (uint32_t)(block * 1024 + w->index * WARP_SIZE + l);
        for (uint64_t g = at[l] >> notes.granule_shift; g < end; g++) {
            if (g / LINE != key)
                line = line_of(key = g / LINE);
            if (line && may_order(i, kind))
                line->orders |= 1u << g % LINE;
            if (!line || line->orders >> g % LINE & 1)
                continue;
            if (kind == ACCESS_READ)
                note_read(&a, l, g, line, me);
            else
                note_write(&a, l, at[l], g, line, me);
        }
    }
}
