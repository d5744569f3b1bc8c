/* Bytes without a value: finds where a kernel reads bytes that no one has written, and where it
 * copies such bytes to. Windows whose bytes all have values are left out. */
#include "os/os.h"
#include "ptx/warp.h"

/* Returns whether none of these bytes has a value. If only some have one, the others are usually
 * padding of a structure that is read as a whole. */
static bool is_unwritten(const struct window *win, uint64_t address, size_t bytes)
{
    for (size_t at = address - win->base, end = at + bytes; at < end;) {
        const size_t word = at / 64, left = end - at,
                     bits = 64 - at % 64 < left ? 64 - at % 64 : left;
        const uint64_t mask = (bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1) << at % 64;
        if (window_values(win, word) & mask)
            return false;
        at += bits;
    }
    return true;
}

/* Notes that these threads have read bytes without a value. */
static void note_read(struct warp *w, const struct instruction *i, uint32_t lanes,
                      struct window *win, const uint64_t *at, size_t bytes)
{
    if (win->unwritten.instruction)
        return;
    if (w->launch->cores)
        cores_give_up(w->launch);
    const unsigned first = (unsigned)__builtin_ctz(lanes);
    win->unwritten = warp_place(w, first, i);
    win->unwritten.address = at[first];
    win->unwritten.bytes = bytes;
}

/* Notes which threads have loaded a copy of bytes without a value. */
static void carry(struct warp *w, const struct instruction *i, uint32_t lanes, uint32_t without,
                  struct window *win, const uint64_t *at)
{
    struct frame *f = w->frame;
    if (!f->carried && !without)
        return;
    if (w->launch->cores)
        cores_give_up(w->launch);
    if (!f->carried) {
        f->carried_at = warp_place(w, (unsigned)__builtin_ctz(without), i);
        f->carried_at.address = at[__builtin_ctz(without)];
        f->carried_at.bytes = (size_t)i->bytes * i->count;
        f->carried_from = win;
    }
    if (!f->carried)
        f->carried = os_allocate((REGISTER_SLOT(f->code->register_bytes) + 2) * sizeof *f->carried);
    for (unsigned n = 0; n < i->count; n++) {
        uint32_t *of = &f->carried[REGISTER_SLOT(i->r[n])];
        *of = (*of & ~lanes) | without;
    }
}

void values_loaded(struct warp *w, const struct instruction *i, uint32_t lanes, struct window *win,
                   const uint64_t *at)
{
    const size_t bytes = (size_t)i->bytes * i->count;
    uint32_t without = 0;
    for (uint32_t rest = lanes; rest && (win->pieces || win->carried.bits); rest &= rest - 1) {
        const unsigned l = (unsigned)__builtin_ctz(rest);
        if (is_unwritten(win, at[l], bytes))
            without |= 1u << l;
    }
    if (i->option == LOAD_IS_STORED)
        carry(w, i, lanes, without, win, at);
    else if (without && i->option == LOAD_IS_USED)
        note_read(w, i, without, win, at, bytes);
}

void values_read(struct warp *w, const struct instruction *i, uint32_t lanes, struct window *win,
                 const uint64_t *at, size_t bytes)
{
    FOR_LANES (l, lanes) {
        if (is_unwritten(win, at[l], bytes))
            note_read(w, i, 1u << l, win, at, bytes);
    }
}

static void set_carried(struct window *win, uint64_t address, size_t bytes, bool is_carried)
{
    struct touched *t = &win->carried;
    if (!t->bits && is_carried)
        t->bits = os_allocate_table((win->end - win->base + UNIT * 64 - 1) / 64 * 8);
    for (size_t at = address - win->base, end = at + bytes; t->bits && at < end; at++)
        if (is_carried)
            t->bits[at / 64] |= (uint64_t)1 << at % 64;
        else
            t->bits[at / 64] &= ~((uint64_t)1 << at % 64);
}

void values_changed(struct warp *w, const struct instruction *i, uint32_t lanes, struct window *win,
                    const uint64_t *at)
{
    if (i->option != ATOMIC_EXCH) {
        values_read(w, i, lanes, win, at, i->bytes);
        return;
    }
    for (uint32_t rest = lanes; rest && win->carried.bits; rest &= rest - 1)
        set_carried(win, at[__builtin_ctz(rest)], i->bytes, false);
}

void values_stored(struct warp *w, const struct instruction *i, uint32_t lanes, struct window *win,
                   const uint64_t *at)
{
    const uint32_t *carried = w->frame->carried;
    for (unsigned n = 0; n < i->count; n++) {
        const uint32_t without = carried ? carried[REGISTER_SLOT(i->r[n + 1])] & lanes : 0;
        FOR_LANES (l, win->carried.bits ? lanes : without) {
            set_carried(win, at[l] + (uint64_t)n * i->bytes, i->bytes, lane_is_in(without, l));
        }
    }
}

void values_staged(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const struct frame *f = w->frame;
    uint32_t without = 0;
    for (unsigned n = 0; n < i->count; n++)
        without |= f->carried[REGISTER_SLOT(i->r[n + 1])] & lanes;
    if (without && !f->carried_from->unwritten.instruction)
        f->carried_from->unwritten = f->carried_at;
}

/* ---- values that come from shared memory which no thread has written ---- */

void values_taint(struct warp *w, const struct instruction *i, uint32_t lanes, uint32_t without,
                  const uint64_t *at)
{
    struct frame *f = w->frame;
    w->noted_load = w->is_watched = true;
    if (!f->tainted && !without)
        return;
    if (!f->tainted) {
        const unsigned first = (unsigned)__builtin_ctz(without);
        f->tainted = os_allocate((REGISTER_SLOT(f->code->register_bytes) + 2) * sizeof *f->tainted);
        f->tainted_at = warp_place(w, first, i);
        f->tainted_at.address = at[first] & ~WINDOW_MASK;
        f->tainted_at.bytes = (size_t)i->bytes * i->count;
    }
    for (unsigned n = 0; n < i->count; n++) {
        uint32_t *of = &f->tainted[REGISTER_SLOT(i->r[n])];
        *of = (*of & ~lanes) | without;
    }
}

void values_flow(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    uint32_t *tainted = w->frame->tainted, from = 0;
    const bool noted = w->noted_load;
    w->noted_load = false;
    if (!i->flow || noted)
        return;
    const struct flow *f = &w->frame->code->flows[i->flow - 1];
    for (unsigned n = 0; n < f->source_count; n++)
        from |= tainted[f->sources[n]];
    for (unsigned n = 0; n < f->result_count; n++)
        tainted[f->results[n]] = (tainted[f->results[n]] & ~lanes) | (from & lanes);
}

uint32_t values_tainted(const struct warp *w, const struct instruction *i, uint32_t lanes)
{
    uint32_t tainted = 0;
    const unsigned first = i->run == run_atomic ? 2 : 1;
    for (unsigned n = 0; w->frame->tainted && n < i->count; n++)
        tainted |= w->frame->tainted[REGISTER_SLOT(i->r[n + first])] & lanes;
    return tainted;
}

void values_tainted_stored(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct launch_fault *f = &w->launch->found->shared_unwritten;
    if (values_tainted(w, i, lanes) && !f->instruction && w->launch->shape->checks.init)
        *f = w->frame->tainted_at;
}
