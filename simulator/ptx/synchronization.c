/* Barriers, shuffles, and votes that some of the required threads never reach.
 *
 * Documented (CUDA C++ Programming Guide): __syncthreads() is allowed in conditional code only if
 * the condition has the same value in all threads of the block; from compute capability 7.0 on it
 * waits for the threads that have not exited. So a thread may return early, and the others go on to
 * use barriers. But if it comes to the same end as the others, it has left out a barrier.
 * Documented (PTX ISA): all threads of a warp execute the same bar.sync; shfl.sync, vote.sync, and
 * bar.warp.sync wait for all threads of the mask that have not exited, and a thread is in its own
 * mask. */
#include "ptx/warp.h"

static bool is_off(const struct launch *launch)
{
    return !launch->shape->checks.sync || launch->found->misuse;
}

static struct launch_fault place_of(const struct warp *w, const struct group *g)
{
    struct launch_fault f =
        warp_place(w, (unsigned)__builtin_ctz(g->lanes), &g->frame->code->all[g->pc]);
    f.code = g->frame->code;
    return f;
}

/* Two groups of a warp wait at different instructions. */
static void check_warp(struct warp *w, unsigned barrier)
{
    const struct group *first = NULL;
    struct launch_found *found = w->launch->found;
    for (unsigned n = 0; n < w->group_count; n++) {
        const struct group *g = &w->groups[n];
        if (g->state != GROUP_AT_BARRIER || g->barrier != barrier
            || !g->frame->code->all[g->pc].wide)
            continue;
        if (first && g->frame == first->frame && g->pc != first->pc && !found->misuse) {
            found->misuse = MISUSE_TWO_BARRIERS;
            found->misused[0] = place_of(w, first);
            found->misused[1] = place_of(w, g);
        }
        first = g;
    }
}

void misuse_at_barrier(struct block *b, unsigned barrier)
{
    if (is_off(b->launch))
        return;
    const struct warp *last_warp = NULL;
    const struct group *last = NULL;
    b->passed++;
    for (unsigned n = 0; n < b->warp_count; n++) {
        struct warp *w = &b->warps[n];
        if (w->group_count > 1)
            check_warp(w, barrier);
        for (unsigned k = 0; k < w->group_count; k++)
            if (w->groups[k].state == GROUP_AT_BARRIER && w->groups[k].barrier == barrier) {
                last_warp = w;
                last = &w->groups[k];
            }
    }
    if (last)
        b->last_passed = place_of(last_warp, last);
}

static bool has_effect(const struct code *code, uint32_t from, uint32_t to)
{
    for (uint32_t n = from; n < to; n++) {
        const struct instruction *i = &code->all[n];
        if ((i->run == run_store && i->space != SPACE_LOCAL) || i->run == run_store_volatile
            || i->run == run_atomic)
            return true;
    }
    return false;
}

void misuse_at_end(struct warp *w, uint32_t lanes)
{
    struct block *b = w->block;
    struct launch_found *found = w->launch->found;
    const uint32_t from = w->began_at, to = w->groups[0].pc;
    const struct kernel_code *code = w->launch->code;
    bool is_new = true;
    if (!(code->has_barriers || code->has_calls) || is_off(w->launch) || w->frame->caller
        || from >= to)
        return;
    for (unsigned n = 0; n < b->ending_count; n++) {
        const struct ending *e = &b->endings[n];
        if (e->passed == b->passed) {
            is_new &= e->from != from || e->to != to;
            continue;
        }
        if (!has_effect(w->frame->code, e->from > from ? e->from : from, e->to < to ? e->to : to))
            continue;
        found->misuse = MISUSE_PASSED_BY_SOME;
        found->misused[0] = b->last_passed;
        found->misused[1] = e->place;
        return;
    }
    if (is_new && b->ending_count < sizeof b->endings / sizeof *b->endings)
        b->endings[b->ending_count++] = (struct ending){
            b->passed, from, to,
            warp_place(w, (unsigned)__builtin_ctz(lanes), &w->frame->code->all[from])};
}

void misuse_of_mask(struct warp *w, const struct instruction *i, uint32_t mask, uint32_t lanes)
{
    struct launch_found *found = w->launch->found;
    const struct group *absent = NULL;
    uint32_t missing = mask & w->alive & ~lanes & ~w->groups[0].met;
    if (is_off(w->launch))
        return;
    for (unsigned n = 1; n < w->group_count; n++) {
        struct group *g = &w->groups[n];
        /* The threads come to another instruction of the same kind, which may match this one. */
        if (g->state != GROUP_AT_BARRIER && g->frame->code->all[g->pc].run == i->run) {
            missing &= ~g->lanes;
            g->met |= lanes;
        } else if (g->lanes & missing)
            absent = g;
    }
    const bool not_in_mask = (lanes & ~mask) != 0;
    if (!not_in_mask && (!missing || !absent))
        return;
    found->misuse = not_in_mask ? MISUSE_NOT_IN_MASK : MISUSE_ABSENT;
    found->misused[0] =
        warp_place(w, (unsigned)__builtin_ctz(not_in_mask ? lanes & ~mask : lanes), i);
    found->misused[1] = absent ? place_of(w, absent) : found->misused[0];
    found->mask = mask;
    found->came = lanes;
}
