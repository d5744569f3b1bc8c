/* Sets of bytes of a window, and their memory. */
#include "ptx/touched.h"

#include <string.h>

#include "os/needs_lock.h"
#include "os/os.h"
#include "ptx/warp.h"

/* Keeps the bits of large windows, all of them 0, for the next launch, because the system takes
 * longer to provide new memory than many launches take to use it. */
#define KEPT_MAX       16
#define KEPT_LEAST     (64 * KiB)
#define KEPT_BYTES_MAX (64 * MiB)

/* Only one thread at a time may use it (os_turn_begin). */
static struct {
    struct {
        uint64_t *bits;
        size_t bytes;
    } all[KEPT_MAX];
    size_t count, bytes;
} kept;

static size_t unit_count(const struct window *win)
{
    return (win->end - win->base + UNIT * 64 - 1) / (UNIT * 64);
}

/* The number of bytes of `bits` and of `units`, which follow them. */
static size_t bits_bytes(const struct window *win)
{
    return (unit_count(win) * UNIT + (unit_count(win) + 63) / 64) * sizeof(uint64_t);
}

static uint64_t *take_kept(size_t bytes)
{
    uint64_t *bits = NULL;
    os_turn_begin();
    for (size_t n = 0; n < kept.count && !bits; n++)
        if (kept.all[n].bytes == bytes) {
            bits = kept.all[n].bits;
            kept.all[n] = kept.all[--kept.count];
            kept.bytes -= bytes;
        }
    os_turn_end();
    return bits;
}

static bool keep(uint64_t *bits, size_t bytes)
{
    os_turn_begin();
    const bool has_room = kept.count < KEPT_MAX && kept.bytes + bytes <= KEPT_BYTES_MAX;
    if (has_room) {
        kept.all[kept.count].bits = bits;
        kept.all[kept.count++].bytes = bytes;
        kept.bytes += bytes;
    }
    os_turn_end();
    return has_room;
}

static void set_empty(struct touched *t)
{
    for (size_t k = t->first / UNIT / 64; k <= t->last / UNIT / 64; k++)
        t->units[k] = 0;
    t->first = SIZE_MAX;
    t->last = 0;
}

void touched_begin(const struct window *win, struct touched *t)
{
    const size_t bytes = bits_bytes(win);
    t->bits = bytes < KEPT_LEAST ? NULL : take_kept(bytes);
    if (!t->bits)
        t->bits = os_allocate_table(bytes);
    t->units = t->bits + unit_count(win) * UNIT;
    t->first = SIZE_MAX;
    t->last = 0;
}

void touched_add_units(struct touched *t, size_t first, size_t last)
{
    t->first = first * UNIT < t->first ? first * UNIT : t->first;
    t->last = (last + 1) * UNIT - 1 > t->last ? (last + 1) * UNIT - 1 : t->last;
    for (size_t k = first / 64; k <= last / 64; k++)
        t->units[k] |= bits_in(k, first, last + 1);
}

void touched_end(const struct window *win, struct touched *t)
{
    const size_t bytes = bits_bytes(win);
    if (t->bits && bytes >= KEPT_LEAST) {
        EACH_UNIT(n, t, memset(t->bits + n, 0, UNIT * sizeof *t->bits);)
        set_empty(t);
        if (keep(t->bits, bytes))
            t->bits = NULL;
    }
    os_free(t->bits);
    t->bits = NULL;
}

void window_end(struct window *win)
{
    NEEDS_LOCK();
    touched_end(win, &win->read);
    touched_end(win, &win->written);
    touched_end(win, &win->atomic);
    os_free(win->carried.bits);
}

HOT void touched_move(const struct window *win, struct touched *to, struct touched *from)
{
    if (!from->bits || from->first > from->last)
        return;
    if (!to->bits)
        touched_begin(win, to);
    to->first = from->first < to->first ? from->first : to->first;
    to->last = from->last > to->last ? from->last : to->last;
    EACH_UNIT(
        n, from, for (size_t m = n; m < n + UNIT; m++) {
            to->bits[m] |= from->bits[m];
            from->bits[m] = 0;
        })
    for (size_t k = from->first / UNIT / 64; k <= from->last / UNIT / 64; k++)
        to->units[k] |= from->units[k];
    set_empty(from);
}

HOT bool touched_meet(const struct touched *x, const struct touched *y)
{
    uint64_t both = 0;
    if (!y->bits || x->first > y->last || y->first > x->last)
        return false;
    EACH_UNIT(n, x, for (size_t m = n; m < n + UNIT; m++) both |= x->bits[m] & y->bits[m];)
    return both;
}
