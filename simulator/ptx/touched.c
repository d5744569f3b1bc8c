/* Sets of bytes of a window, and their memory. */
#include "ptx/touched.h"

#include <string.h>

#include "os/needs_lock.h"
#include "os/os.h"

/* Bits of large windows are kept for the next launch, all of them 0: the system takes longer to
 * give new memory than many a launch takes to use it. */
#define KEPT_MAX       16
#define KEPT_LEAST     (64 * KiB)
#define KEPT_BYTES_MAX (64 * MiB)

/* One thread at a time (os_turn_begin). */
static struct {
    struct {
        uint64_t *bits;
        size_t bytes;
    } all[KEPT_MAX];
    size_t count, bytes;
} kept;

static size_t bits_bytes(const struct window *win) { return (win->end - win->base + 63) / 64 * 8; }

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

void touched_begin(const struct window *win, struct touched *t)
{
    const size_t bytes = bits_bytes(win);
    t->bits = bytes < KEPT_LEAST ? NULL : take_kept(bytes);
    if (!t->bits)
        t->bits = os_allocate_table(bytes);
    t->first = SIZE_MAX;
    t->last = 0;
}

void touched_end(const struct window *win, struct touched *t)
{
    NEEDS_LOCK();
    const size_t bytes = bits_bytes(win);
    if (t->bits && bytes >= KEPT_LEAST) {
        if (t->first <= t->last)
            memset(t->bits + t->first, 0, (t->last - t->first + 1) * sizeof *t->bits);
        if (keep(t->bits, bytes))
            t->bits = NULL;
    }
    os_free(t->bits);
    t->bits = NULL;
}

void touched_move(const struct window *win, struct touched *to, struct touched *from)
{
    if (!from->bits || from->first > from->last)
        return;
    if (!to->bits)
        touched_begin(win, to);
    to->first = from->first < to->first ? from->first : to->first;
    to->last = from->last > to->last ? from->last : to->last;
    for (size_t n = from->first; n <= from->last; n++) {
        to->bits[n] |= from->bits[n];
        from->bits[n] = 0;
    }
    from->first = SIZE_MAX;
    from->last = 0;
}

bool touched_meet(const struct touched *x, const struct touched *y)
{
    const size_t first = x->first > y->first ? x->first : y->first,
                 last = x->last < y->last ? x->last : y->last;
    for (size_t n = first; x->bits && y->bits && n <= last; n++)
        if (x->bits[n] & y->bits[n])
            return true;
    return false;
}
