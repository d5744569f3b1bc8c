/* The threads of a warp: which run next, branches, calls, and barriers.
 *
 * Threads at the same instruction of the same function call are a group and run together. The group
 * in the innermost call runs first, then the one that is furthest behind, so that groups meet again
 * where their paths join. A group that spins (SPINS_MAX) may be waiting for another one, which then
 * runs first for a while (documented: each thread makes progress, even if others of its warp wait
 * for it).
 *
 * Invariants: each live thread is in one group. groups[0] is the group that runs. No two running
 * groups are at the same instruction of one frame. */
#include <string.h>

#include "os/os.h"
#include "ptx/shared_notes.h"

/* After this many volatile loads, fences, and atomic operations with a used result, a group may be
 * in a loop that waits: such a loop has one of them in each round. */
#define SPINS_MAX 1000
/* For this many instructions, a group is preferred that another one may be waiting for. */
#define PATIENCE     10000
#define DEPTH_MAX    500
#define SPREAD_LEAST 6

/* ---- groups ---- */

static void remove_group(struct warp *w, unsigned n)
{
    if (n != --w->group_count)
        w->groups[n] = w->groups[w->group_count];
}

/* Merges groups that are at the same instruction. */
static void merge(struct warp *w)
{
    for (unsigned n = 0; n < w->group_count; n++)
        for (unsigned m = w->group_count - 1; m > n; m--) {
            struct group *a = &w->groups[n], *b = &w->groups[m];
            if (a->frame != b->frame || a->pc != b->pc || a->state == GROUP_AT_BARRIER
                || b->state == GROUP_AT_BARRIER)
                continue;
            a->lanes |= b->lanes;
            a->state = GROUP_RUNS;
            remove_group(w, m);
        }
}

/* Returns whether a runs before b. */
static bool goes_first(const struct group *a, const struct group *b)
{
    if (a->frame->depth != b->frame->depth)
        return a->frame->depth > b->frame->depth;
    return a->pc < b->pc;
}

static void swap_groups(struct warp *w, unsigned n)
{
    struct group first = w->groups[0];
    w->groups[0] = w->groups[n];
    w->groups[n] = first;
}

/* Puts the group that continues first. Returns false if no group can continue. */
static bool choose(struct warp *w)
{
    unsigned best = WARP_SIZE;
    merge(w);
    for (unsigned n = 0; n < w->group_count; n++)
        if (w->groups[n].state == GROUP_RUNS
            && (best == WARP_SIZE || goes_first(&w->groups[n], &w->groups[best])))
            best = n;
    if (best == WARP_SIZE) {
        /* Groups that waited for threads that cannot come now continue without them. */
        bool any = false;
        for (unsigned n = 0; n < w->group_count; n++)
            if (w->groups[n].state == GROUP_TOGETHER) {
                w->groups[n].state = GROUP_RUNS;
                w->groups[n].barrier = 1;
                any = true;
            }
        return any && choose(w);
    }
    if (best)
        swap_groups(w, best);
    return true;
}

/* The first group may be waiting for another one. Prefers, among the groups that can run, the one
 * whose last preference is longest ago. */
static void prefer_another(struct warp *w)
{
    unsigned best = 0;
    w->spins = 0;
    merge(w);
    for (unsigned n = 1; n < w->group_count; n++)
        if (w->groups[n].state == GROUP_RUNS
            && (!best || w->groups[n].preferred < w->groups[best].preferred))
            best = n;
    if (!best)
        return;
    swap_groups(w, best);
    w->groups[0].preferred = ++w->preferences;
    w->patience = PATIENCE;
}

/* Loads what threads in this frame need to run. */
static void enter(struct warp *w, struct frame *f)
{
    w->frame = f;
    w->is_watched = f->tainted;
    w->registers = f->registers;
    w->predicates = f->predicates;
}

/* Returns the first instruction at which another group of this frame may be met. */
static uint32_t next_meeting(const struct warp *w)
{
    uint32_t meeting = UINT32_MAX;
    for (unsigned n = 1; n < w->group_count; n++)
        if (w->groups[n].frame == w->groups[0].frame && w->groups[n].pc >= w->groups[0].pc
            && w->groups[n].state != GROUP_AT_BARRIER && w->groups[n].pc < meeting)
            meeting = w->groups[n].pc;
    return meeting;
}

/* Moves these threads, if there are any, from the first group into a new one at `pc`. */
static void split(struct warp *w, uint32_t lanes, uint32_t pc)
{
    if (!lanes)
        return;
    w->groups[0].lanes &= ~lanes;
    w->groups[w->group_count++] = (struct group){
        .frame = w->groups[0].frame, .pc = pc, .lanes = lanes, .preferred = w->groups[0].preferred};
}

/* ---- frames ---- */

/* A warp that continues with another block keeps the values of all other special registers. */
bool is_of_block(unsigned id) { return (id >= 6 && id <= 8) || id == 15; }

static INLINE void fill_register(char *r, bool wide, uint64_t value)
{
    const uint64_t both = wide ? value : (uint32_t)value * (((uint64_t)1 << 32) + 1);
    for (unsigned n = 0; n < (wide ? 8 : 4); n++)
        ((four *)r)[n] = (four){both, both, both, both};
}

uint32_t block_special(const struct block *b, unsigned warp, unsigned id, unsigned l)
{
    const struct launch_shape *s = b->launch->shape;
    uint32_t thread = warp * WARP_SIZE + l;
    switch (id) {
    case 0: return thread % s->block.x;
    case 1: return thread / s->block.x % s->block.y;
    case 2: return thread / s->block.x / s->block.y;
    case 3: return s->block.x;
    case 4: return s->block.y;
    case 5: return s->block.z;
    case 6:
    case 7:
    case 8: return b->at[id - 6];
    case 9: return s->grid.x;
    case 10: return s->grid.y;
    case 11: return s->grid.z;
    case 12: return l;
    case 13: return warp;
    /* Measured (kernels-instructions.txt): the warps that a multiprocessor can run. */
    case 14: return 64;
    case 15: return (uint32_t)(b->number % 132);
    case 16: return 132;
    case 17: return 1u << l;
    case 18: return (2u << l) - 1;
    case 19: return (1u << l) - 1;
    case 20: return ~((1u << l) - 1);
    case 21: return ~((2u << l) - 1);
    case 22: return (uint32_t)s->shared_bytes;
    case 23: return (uint32_t)(b->launch->shared_bytes + 127) / 128 * 128;
    /* The upper half of an address that only a cooperative launch has. The lower half is 0. */
    case 25: return s->cooperative ? (uint32_t)(GRID_WINDOW >> 32) : 0;
    default: return 0;
    }
}

static void fill_special(const struct warp *w, const struct special *s, char *registers)
{
    lane_u32 *d = (lane_u32 *)(registers + s->offset);
    const bool each = s->id <= 2 || s->id == 12 || (s->id >= 17 && s->id <= 21);
    if (!each)
        fill_register((char *)d, false, block_special(w->block, w->index, s->id, 0));
    for (unsigned l = 0; l < WARP_SIZE && each; l++)
        d[l] = block_special(w->block, w->index, s->id, l);
}

uint64_t launch_given(const struct launch *launch, const struct given *g)
{
    uint64_t value = 0;
    const unsigned unused = 64 - 8u * g->bytes;
    memcpy(&value, launch->shape->parameters + g->from, g->bytes);
    return g->is_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

static void fill_frame(const struct warp *w, struct frame *f)
{
    const struct code *code = f->code;
    for (size_t n = 0; n < code->constant_count; n++) {
        const struct constant *c = &code->constants[n];
        fill_register(f->registers + c->offset, c->bytes == 8, c->value);
    }
    for (size_t n = 0; n < code->given_count; n++)
        fill_register(f->registers + code->given[n].offset, code->given[n].wide,
                      launch_given(w->launch, &code->given[n]));
    for (size_t n = 0; n < code->special_count; n++)
        fill_special(w, &code->specials[n], f->registers);
}

static struct frame *frame_new(struct warp *w, const struct code *code)
{
    struct frame *f = os_allocate(sizeof *f);
    f->code = code;
    f->registers = os_allocate(code->register_bytes + 8);
    f->predicates = os_allocate((code->predicate_count + 1) * sizeof *f->predicates);
    fill_frame(w, f);
    return f;
}

void warp_free_frame(struct frame *f)
{
    os_free(f->registers);
    os_free(f->predicates);
    os_free(f->carried);
    os_free(f->tainted);
    os_free(f);
}

/* ---- branches ---- */

/* Makes these threads of the first group branch, while the others continue with the next
 * instruction. */
static void branch(struct warp *w, uint32_t taken, uint32_t target)
{
    if (taken != w->groups[0].lanes) {
        split(w, taken, target);
        target = w->groups[0].pc + 1;
    }
    w->groups[0].pc = target;
}

/* brx.idx: each thread has an index into the table. */
static void branch_table(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const struct branch_table *t = &w->frame->code->tables[i->target];
    const lane_u32 *index = (const lane_u32 *)(w->registers + i->r[0]);
    const uint32_t pc = w->groups[0].pc;
    split(w, w->groups[0].lanes & ~lanes, pc + 1);
    while (lanes) {
        const unsigned first = (unsigned)__builtin_ctz(lanes);
        uint32_t at = index[first], same = lanes_like((const char *)index, 4, first) & lanes;
        uint32_t target = at < t->count ? t->targets[at] : pc + 1;
        lanes &= ~same;
        if (lanes)
            split(w, same, target);
        else
            w->groups[0].pc = target;
    }
}

/* ---- calls ---- */

static char *frame_bytes(const struct warp *w, const struct frame *f, unsigned l, size_t at)
{
    return w->local + l * w->local_bytes + f->base + at;
}

/* For a call by address: keeps the threads that call the same function as the first one, and leaves
 * the others. Returns the function, or NULL. */
static const struct code *called_by_address(struct warp *w, const struct call_site *site,
                                            uint32_t *lanes)
{
    const char *a = w->registers + site->target;
    const unsigned first = (unsigned)__builtin_ctz(*lanes);
    *lanes &= lanes_like(a, 8, first);
    return code_at(w->frame->code->kernel, ((const lane_u64 *)a)[first]);
}

static void call(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct frame *caller = w->frame;
    const struct call_site *site = &caller->code->calls[i->target];
    const struct code *code = site->code ? site->code : called_by_address(w, site, &lanes);
    uint32_t pc = w->groups[0].pc;
    unsigned first = (unsigned)__builtin_ctz(lanes);
    if (!code) {
        warp_fault(w, first, FAULT_NO_FUNCTION, 0, 0, false);
        return;
    }
    size_t base = (caller->base + caller->code->frame_bytes + 15) / 16 * 16;
    if (caller->depth == DEPTH_MAX || base + code->frame_bytes > w->local_bytes) {
        warp_fault(w, first, FAULT_STACK, 0, 0, false);
        return;
    }
    struct frame *f = frame_new(w, code);
    *f = (struct frame){.caller = caller,
                        .code = code,
                        .registers = f->registers,
                        .predicates = f->predicates,
                        .base = base,
                        .lanes = lanes,
                        .site = site,
                        .return_to = pc + 1,
                        .depth = caller->depth + 1};
    const struct variables *parameters = &code->function->parameters;
    FOR_LANES (l, lanes)
        for (size_t n = 0; n < site->count && n < parameters->count; n++)
            memcpy(frame_bytes(w, f, l, parameters->all[n].offset),
                   frame_bytes(w, caller, l, site->arguments[n].from), site->arguments[n].bytes);
    /* Threads that the guard excludes continue, and threads that call another function come back to
     * this instruction. */
    split(w, w->groups[0].lanes & ~lanes, pc + (site->code != NULL));
    w->groups[0].frame = f;
    w->groups[0].pc = 0;
}

/* Makes the threads of the first group return from a function. */
static void return_from(struct warp *w, uint32_t lanes)
{
    struct frame *f = w->frame;
    const struct variables *results = &f->code->function->results;
    FOR_LANES (l, lanes)
        for (size_t n = 0; n < f->site->result_count && n < results->count; n++)
            memcpy(frame_bytes(w, f->caller, l, f->site->results[n].from),
                   frame_bytes(w, f, l, results->all[n].offset), f->site->results[n].bytes);
    split(w, w->groups[0].lanes & ~lanes, w->groups[0].pc + 1);
    w->groups[0].frame = f->caller;
    w->groups[0].pc = f->return_to;
    f->lanes &= ~lanes;
    if (!f->lanes)
        warp_free_frame(f);
}

/* ---- barriers and ends ---- */

static void end_threads(struct warp *w, uint32_t lanes)
{
    misuse_at_end(w, lanes);
    w->alive &= ~lanes;
    w->block->alive -= (unsigned)__builtin_popcount(lanes);
    w->groups[0].lanes &= ~lanes;
    w->groups[0].pc++;
    for (struct frame *f = w->frame, *caller; f->caller; f = caller) {
        caller = f->caller;
        f->lanes &= ~lanes;
        if (!f->lanes)
            warp_free_frame(f);
    }
    if (!w->groups[0].lanes)
        remove_group(w, 0);
    for (unsigned n = 0; n < BARRIERS && w->block->waits; n++)
        block_check_barrier(w->block, n);
}

static void reach_barrier(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    unsigned first = (unsigned)__builtin_ctz(lanes);
    unsigned number = ((const lane_u32 *)(w->registers + i->r[0]))[first] % BARRIERS;
    struct barrier *b = &w->block->barriers[number];
    unsigned expected = i->count ? ((const lane_u32 *)(w->registers + i->r[1]))[first] : 0;
    b->expected = expected;
    shared_release(w, lanes);
    w->block->waits += !b->arrived;
    b->arrived += (unsigned)__builtin_popcount(lanes);
    if (i->option) {
        uint32_t votes = w->predicates[i->r[3]] ^ (i->is_signed ? ALL_LANES : 0);
        b->voted += (unsigned)__builtin_popcount(votes & lanes);
    }
    split(w, w->groups[0].lanes & ~lanes, w->groups[0].pc + 1);
    /* bar.arrive does not wait. */
    if (i->space)
        w->groups[0].pc++;
    else {
        w->groups[0].state = GROUP_AT_BARRIER;
        w->groups[0].barrier = number;
    }
    block_check_barrier(w->block, number);
}

/* Sets the result of bar.red for those that waited. */
static void set_voted(const struct group *g, const struct barrier *b)
{
    const struct instruction *i = &g->frame->code->all[g->pc];
    if (!i->option)
        return;
    if (i->option == 'p') {
        lane_u32 *d = (lane_u32 *)(g->frame->registers + i->r[2]);
        EACH_LANE(g->lanes, d[l] = b->voted;)
        return;
    }
    bool value = i->option == 'o' ? b->voted > 0 : b->voted == b->arrived;
    uint32_t *p = &g->frame->predicates[i->r[2]];
    *p = (*p & ~g->lanes) | (value ? g->lanes : 0);
}

void warp_release(struct warp *w, unsigned barrier)
{
    for (unsigned n = 0; n < w->group_count; n++) {
        struct group *g = &w->groups[n];
        if (g->state != GROUP_AT_BARRIER || g->barrier != barrier)
            continue;
        set_voted(g, &w->block->barriers[barrier]);
        if (w->block->barriers[barrier].arrived < w->block->alive)
            shared_acquire(w, g->lanes);
        g->state = GROUP_RUNS;
        g->barrier = 0;
        g->pc++;
    }
}

/* Runs an instruction for which threads must come together: the threads of one mask exchange values
 * with each other. Returns false if they wait for others. */
static HOT bool run_as_one(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const lane_u32 *masks = i->wide ? (const lane_u32 *)(w->registers + i->target) : NULL;
    uint32_t wanted = masks ? 0 : ALL_LANES;
    bool forced = w->groups[0].barrier;
    if (masks) {
        EACH_LANE(lanes, wanted |= masks[l];)
    }
    if ((wanted & w->alive & ~w->groups[0].lanes) && w->group_count > 1 && !forced) {
        w->groups[0].state = GROUP_TOGETHER;
        return false;
    }
    w->groups[0].barrier = 0;
    while (lanes) {
        const unsigned first = (unsigned)__builtin_ctz(lanes);
        const uint32_t mask = masks ? masks[first] : ALL_LANES;
        const uint32_t same = masks ? lanes & lanes_like((const char *)masks, 4, first) : lanes;
        if (masks && ((mask & w->alive) != same))
            misuse_of_mask(w, i, mask, same);
        i->run(w, i, same);
        shared_sync_warp(w, same);
        lanes &= ~same;
    }
    w->groups[0].met = 0;
    w->groups[0].pc++;
    return true;
}

/* ---- running ---- */

static void run_control(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    switch (lanes ? i->kind : INSTRUCTION_PLAIN) {
    case INSTRUCTION_PLAIN: w->groups[0].pc++; break;
    case INSTRUCTION_BRANCH: branch(w, lanes, i->target); break;
    case INSTRUCTION_BRANCH_TABLE: branch_table(w, i, lanes); break;
    case INSTRUCTION_CALL: call(w, i, lanes); break;
    case INSTRUCTION_RETURN:
        if (w->frame->caller)
            return_from(w, lanes);
        else
            end_threads(w, lanes);
        break;
    case INSTRUCTION_EXIT: end_threads(w, lanes); break;
    case INSTRUCTION_BARRIER: reach_barrier(w, i, lanes); break;
    case INSTRUCTION_TOGETHER: run_as_one(w, i, lanes); break;
    }
}

/* Returns those of the threads that the instruction's guard does not exclude. */
static INLINE uint32_t active_of(const struct warp *w, const struct instruction *i, uint32_t lanes)
{
    return i->guard ? lanes & (w->predicates[i->guard / 2 - 1] ^ (i->guard & 1 ? ALL_LANES : 0))
                    : lanes;
}

/* Runs the first group up to an instruction that is not plain, or to one where it may meet another
 * group. */
static INLINE uint64_t run_plain(struct warp *w)
{
    struct group *g = &w->groups[0];
    const struct instruction *all = w->frame->code->all, *begin = &all[g->pc], *i = begin;
    const uint32_t meeting = next_meeting(w), lanes = g->lanes;
    const struct instruction *end = all + (meeting < i->next_other ? meeting : i->next_other);
    /* For few threads, one after the other is faster. */
    const bool is_part = lanes != ALL_LANES && __builtin_popcount(lanes) > SPREAD_LEAST;
    const uint32_t spread = is_part ? ALL_LANES : 0;
    w->began_at = g->pc;
    for (; i != end; i++) {
        const uint32_t active = active_of(w, i, lanes);
        if (i->guard && !active)
            continue;
        i->run(w, i, active | (i->spreads & spread));
        if (!w->is_watched)
            continue;
        if (w->frame->tainted)
            values_flow(w, i, active);
        if (w->launch->fault->kind) {
            w->launch->fault->instruction = i++;
            break;
        }
    }
    g->pc = (uint32_t)(i - all);
    return (uint64_t)(i - begin);
}

static bool is_met(const struct warp *w)
{
    for (unsigned n = 1; n < w->group_count; n++)
        if (w->groups[n].frame == w->groups[0].frame && w->groups[n].pc == w->groups[0].pc
            && w->groups[n].state != GROUP_AT_BARRIER)
            return true;
    return false;
}

/* After a branch or a meeting, puts the right group first. Returns whether any group can run. */
static bool go_on(struct warp *w)
{
    if (!w->group_count)
        return false;
    if (w->group_count == 1 && w->groups[0].state == GROUP_RUNS)
        return true;
    if (w->patience) {
        merge(w);
        if (w->groups[0].state == GROUP_RUNS)
            return true;
        w->patience = 0;
    }
    return choose(w);
}

HOT bool warp_run(struct warp *w, uint64_t budget)
{
    uint64_t ran = 0;
    bool can = go_on(w);
    while (can && ran < budget && !w->launch->fault->kind) {
        enter(w, w->groups[0].frame);
        uint64_t plain = 1 + run_plain(w);
        ran += plain;
        w->patience -= w->patience < plain ? w->patience : plain;
        struct group *g = &w->groups[0];
        const struct instruction *i = &w->frame->code->all[g->pc];
        if (w->launch->fault->kind)
            break;
        if (i->kind != INSTRUCTION_PLAIN && !is_met(w))
            run_control(w, i, active_of(w, i, g->lanes));
        if (w->spins > SPINS_MAX) {
            prefer_another(w);
            w->launch->spun = true;
            break;
        }
        can = go_on(w);
    }
    w->launch->clock += ran;
    return can;
}

/* ---- all warps of a block ---- */

/* After this many instructions without an access, each warp continues alone, because the registers
 * of all do not fit into the nearest cache. Kernels with loops gain nothing either. */
#define ABREAST_MAX 16

/* Does the guard exclude all threads of the block, or none? */
static bool is_common(const struct block *b, const struct instruction *i)
{
    const uint32_t active = active_of(b->warps, i, ALL_LANES);
    for (unsigned n = 0; n < b->warp_count; n++)
        if (active_of(&b->warps[n], i, ALL_LANES) != active)
            return false;
    return !active || active == ALL_LANES;
}

/* Runs an instruction that computes, in all warps. */
static INLINE void compute_abreast(struct block *b, const struct instruction *i)
{
    for (unsigned n = 0; n < b->warp_count; n++) {
        const uint32_t active = active_of(&b->warps[n], i, ALL_LANES);
        if (active)
            i->run(&b->warps[n], i, active);
    }
}

HOT uint32_t block_run_abreast(struct block *b)
{
    struct launch *launch = b->launch;
    const struct kernel_code *code = launch->code;
    const struct instruction *all = code->entry->all, *i = all;
    uint64_t ran = code->entry->apart_count;
    if (!b->has_lines || code->entry->has_loops || launch->random || launch->is_looked_at
        || launch->shape->cooperative || launch->threads_of_block % WARP_SIZE || code->has_barriers
        || code->has_calls)
        return 0;
    for (unsigned computed = 0; computed < ABREAST_MAX; ran++) {
        if (i->kind == INSTRUCTION_PLAIN && i->computes) {
            compute_abreast(b, i++);
            computed++;
            continue;
        }
        if (i->guard && !is_common(b, i))
            break;
        computed = 0;
        if (!active_of(b->warps, i, ALL_LANES)) {
            i++;
        } else if (i->kind == INSTRUCTION_PLAIN && i->sequence && access_abreast(b, i)) {
            i++;
        } else if (i->kind == INSTRUCTION_BRANCH) {
            i = all + i->target;
        } else {
            if (launch->fault->kind)
                launch->fault->instruction = i;
            if (i->kind == INSTRUCTION_EXIT || i->kind == INSTRUCTION_RETURN)
                b->alive = 0;
            break;
        }
    }
    launch->clock += ran * b->warp_count;
    return (uint32_t)(i - all);
}

struct frame *warp_frame(struct warp *w, const struct code *code)
{
    struct frame *f = frame_new(w, code);
    f->lanes = ALL_LANES;
    return f;
}

/* Computes the sequences that are needed as registers, if they are new. */
static void fill_sequences(struct block *b)
{
    const struct code *code = b->launch->code->entry;
    for (size_t k = 0; k < code->sequence_count; k++) {
        const struct sequence *s = &code->sequences[k];
        const bool is_known = b->filled >= (s->is_read ? FILLED_READ : FILLED_ALL);
        if (s->kind != SEQUENCE_SUM || (b->has_lines && !s->is_read)
            || (is_known && !s->is_of_block))
            continue;
        for (unsigned n = 0; n < b->warp_count; n++)
            code->apart[s->from].run(&b->warps[n], &code->apart[s->from], ALL_LANES);
    }
    if (!b->has_lines)
        b->filled = FILLED_ALL;
    else if (!b->filled)
        b->filled = FILLED_READ;
}

HOT void block_fill(struct block *b)
{
    const struct code *code = b->launch->code->entry;
    for (unsigned n = 0; n < b->warp_count; n++) {
        struct frame *f = b->warps[n].entry;
        if (f->carried || f->tainted) {
            os_free(f->carried);
            os_free(f->tainted);
            f->carried = f->tainted = NULL;
        }
        enter(&b->warps[n], f);
    }
    for (size_t k = 0; k < code->special_count; k++)
        if (is_of_block(code->specials[k].id) && (code->specials[k].is_read || !b->has_lines))
            for (unsigned n = 0; n < b->warp_count; n++)
                fill_special(&b->warps[n], &code->specials[k], b->warps[n].registers);
    fill_sequences(b);
}
