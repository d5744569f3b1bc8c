/* Runs blocks of a launch on several cores, with the same result as on one core.
 *
 * The remaining blocks are divided into ranges. Each thread takes one range after the other and
 * runs its blocks in order, with windows of its own. At the end the windows are compared. If no
 * thread has touched a byte that another one wrote, each block has found what it would have found
 * on one core, and the windows are added to the launch's. Otherwise, or if a block may wait for
 * others or has done anything that the user is told (a fault, a race, a read of bytes without a
 * value), memory is restored and the launch continues on one core. So all reports are found on one
 * core.
 *
 * A kernel that may depend on an order in another way always stays on one core (is_independent). It
 * may have only atomic operations whose result does not depend on their order. These change memory
 * when all threads are done.
 *
 * In registers, local memory, and shared memory that it has not written, a block finds what the
 * previous block left. A range begins without such values, also on one core.
 *
 * Invariant: the ranges that have been taken are the first ones, and no other block has run. */
#include <string.h>

#include "os/needs_lock.h"
#include "os/os.h"
#include "ptx/matrix.h"
#include "ptx/texture.h"
#include "ptx/touched.h"
#include "ptx/warp.h"

#define RANGES_MAX 256
/* A range has at least this many instructions for each warp, so that starting it costs little. */
#define RANGE_WORK 15000
/* Work of this many instructions, of all warps together, is worth one more thread. */
#define PART_WORK 100000
/* About the most bytes of overwritten memory that are kept. */
#define SAVED_MAX (256 * MiB)
/* Marks a piece that another part is about to save. */
#define BUSY ((char *)1)

/* Room for pieces of memory, in one allocation. `next` links the free slabs. */
struct slab {
    struct slab *next;
    size_t used;
    char pieces[256][CORES_PIECE];
};

/* An allocation that the parts touch. */
struct common {
    /* The launch's window, and whether a part was the first to find it. */
    struct window *window;
    bool is_new;
    char **saved;
    /* The sum of the parts' windows, or NULL. The allocation's place in the order in which one core
     * would have found it: the block that first touched it, and the number of windows that the
     * block's part had found before. */
    struct window *sum;
    uint64_t first_block;
    size_t first_window;
};

/* How much a range adds to between_excess, and the largest sum after any of its blocks. */
struct growth {
    int64_t total, most;
    /* Every block of the range was compared. */
    bool is_known;
};

struct part {
    struct launch launch;
    struct launch_fault fault;
    struct launch_found found;
    struct block block;
    struct slab *slabs;
};

struct cores {
    struct launch *launch;
    struct part *parts;
    unsigned count;
    /* The windows, and how many of them the parts have found. Only one part at a time changes
     * these. */
    struct common **commons;
    size_t common_count, found;
    /* The first range of all, the next one to take (atomic), and the end. */
    uint64_t first, next, end;
    struct growth *growths;
    /* All atomic: the number of bytes that are kept; whether they are so many that no other range
     * may be taken; and whether one core has to run the rest of the launch. */
    size_t saved_bytes;
    bool is_enough, has_given_up;
};

/* Needs the lock, or the turn of os_turn_begin. */
static struct slab *free_slabs;

/* ---- kernels whose blocks may run on several cores ---- */

/* Returns whether an instruction has the same effect on memory in any order of threads, also mixed
 * with `before`, which is another such instruction or NULL. */
static bool commutes(const struct instruction *i, const struct instruction *before)
{
    const bool is_of_this_kind = i->option == ATOMIC_ADD || i->option == ATOMIC_MIN
                              || i->option == ATOMIC_MAX || i->option == ATOMIC_AND
                              || i->option == ATOMIC_OR || i->option == ATOMIC_XOR;
    /* is_signed is 2 for sums of floats, whose result depends on their order. */
    return is_of_this_kind && !i->rounding && i->is_signed < 2 && i->bytes >= 4
        && (!before
            || (i->option == before->option && i->bytes == before->bytes
                && i->is_signed == before->is_signed));
}

/* Returns whether the instruction only computes, or reaches memory only by ordinary loads and
 * stores. */
static bool is_plain(instruction_run *run)
{
    static instruction_run *const others[] = {
        run_load,         run_store,         run_load_parameter, run_copy,       run_close_group,
        run_wait_copies,  run_fence,         run_assertion,      run_texture,    run_gather,
        run_surface_load, run_surface_store, run_modified,       run_move,       run_pack,
        run_unpack,       run_frame_address, run_compare_and,    run_compare_or, run_compare_xor,
        run_convert,      run_isspacep,      run_shuffle,        run_vote,       run_match,
        run_active_mask,  run_together,      run_elect,          run_reduce,     run_trap,
        run_matrix_load,  run_matrix_store,  run_matrix_multiply};
    for (size_t n = 0; n < sizeof others / sizeof *others; n++)
        if (others[n] == run)
            return true;
    for (size_t n = 0; n < operation_count; n++)
        if (operations[n].run == run)
            return true;
    return false;
}

/* An instruction that is not in the list keeps a kernel on one core. Only ptx/accesses.c reaches
 * memory. */
static bool is_independent(const struct code *c, const struct instruction *i,
                           const struct instruction **atomic)
{
    const bool is_shared = i->space == SPACE_SHARED;
    if (i->kind == INSTRUCTION_CALL)
        return c->calls[i->target].code != NULL;
    if (i->kind != INSTRUCTION_PLAIN && i->kind != INSTRUCTION_TOGETHER)
        return true;
    if (is_plain(i->run))
        return true;
    if (i->run == run_load_volatile || i->run == run_store_volatile)
        return is_shared || i->space == SPACE_LOCAL;
    if (i->run == run_atomic && is_shared)
        return true;
    if (i->run != run_atomic || !commutes(i, *atomic))
        return false;
    *atomic = i;
    return true;
}

static bool is_code_independent(const struct code *c, const struct instruction **atomic)
{
    for (size_t n = 0; n < c->count; n++)
        if (!is_independent(c, &c->all[n], atomic))
            return false;
    return true;
}

static bool may_run(const struct kernel_code *k)
{
    if (k->independence->blocks == INDEPENDENCE_UNKNOWN) {
        const struct instruction **atomic = &k->independence->atomic;
        bool is = is_code_independent(k->entry, atomic);
        for (size_t n = 0; n < k->function_count && is; n++)
            is = is_code_independent(k->functions[n], atomic);
        k->independence->blocks = is ? BLOCKS_INDEPENDENT : BLOCKS_ORDERED;
    }
    return k->independence->blocks == BLOCKS_INDEPENDENT;
}

/* ---- memory as it was ---- */

static char *new_piece(struct part *p)
{
    struct slab *s = p->slabs;
    if (!s || s->used == sizeof s->pieces / sizeof *s->pieces) {
        os_turn_begin();
        s = free_slabs;
        if (s)
            free_slabs = s->next;
        else
            s = os_grow(NULL, sizeof *s);
        os_turn_end();
        s->used = 0;
        s->next = p->slabs;
        p->slabs = s;
    }
    return s->pieces[s->used++];
}

static size_t piece_bytes(const struct window *win, size_t n)
{
    const size_t left = win->end - win->base - n * CORES_PIECE;
    return left < CORES_PIECE ? left : CORES_PIECE;
}

/* Saves a piece before a part writes to it, or waits until another part has done so. */
static void save_piece(struct launch *part, struct window *win, size_t n)
{
    struct cores *c = part->cores;
    char *saved = NULL;
    if (!__atomic_compare_exchange_n(&win->saved[n], &saved, BUSY, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_ACQUIRE)) {
        while (__atomic_load_n(&win->saved[n], __ATOMIC_ACQUIRE) == BUSY)
            os_yield();
        return;
    }
    char *piece = new_piece(&c->parts[part->part]);
    memcpy(piece, win->storage + n * CORES_PIECE, piece_bytes(win, n));
    __atomic_store_n(&win->saved[n], piece, __ATOMIC_RELEASE);
    if (__atomic_add_fetch(&c->saved_bytes, CORES_PIECE, __ATOMIC_RELAXED) > SAVED_MAX)
        __atomic_store_n(&c->is_enough, true, __ATOMIC_RELAXED);
}

void cores_save(struct launch *part, struct window *win, uint64_t address, size_t bytes)
{
    const size_t from = address - win->base;
    for (size_t n = from / CORES_PIECE; n <= (from + bytes - 1) / CORES_PIECE; n++)
        if ((uintptr_t)__atomic_load_n(&win->saved[n], __ATOMIC_ACQUIRE) <= (uintptr_t)BUSY)
            save_piece(part, win, n);
}

static size_t piece_count(const struct window *win)
{
    return (win->end - win->base + CORES_PIECE - 1) / CORES_PIECE;
}

/* Fills a piece with the neutral value of an atomic operation, such as 0 for a sum. */
static void fill_neutral(const struct instruction *i, char *piece)
{
    const uint64_t sign = (uint64_t)1 << (8 * i->bytes - 1);
    const uint64_t value = i->option == ATOMIC_AND ? ~(uint64_t)0
                         : i->option == ATOMIC_MIN ? (i->is_signed ? sign - 1 : ~(uint64_t)0)
                         : i->option == ATOMIC_MAX && i->is_signed ? sign
                                                                   : 0;
    for (size_t at = 0; at < CORES_PIECE; at += i->bytes)
        memcpy(piece + at, &value, i->bytes);
}

char *cores_sum_at(struct launch *part, struct window *win, uint64_t address)
{
    const size_t from = address - win->base;
    char **piece = &win->sums[from / CORES_PIECE];
    if (!*piece) {
        *piece = new_piece(&part->cores->parts[part->part]);
        fill_neutral(part->code->independence->atomic, *piece);
    }
    return *piece + from % CORES_PIECE;
}

/* Applies to memory the atomic changes that a part has collected. */
static void apply_sums(const struct instruction *i, const struct window *win)
{
    for (size_t n = 0; i && n < piece_count(win); n++)
        for (size_t at = 0; win->sums[n] && at + i->bytes <= piece_bytes(win, n); at += i->bytes) {
            uint64_t value = 0;
            memcpy(&value, win->sums[n] + at, i->bytes);
            atomic_apply(i, win->storage + n * CORES_PIECE + at, value);
        }
}

static void restore(const struct common *m)
{
    for (size_t n = 0; n < piece_count(m->window); n++)
        if (m->saved[n])
            memcpy(m->window->storage + n * CORES_PIECE, m->saved[n], piece_bytes(m->window, n));
}

/* Keeps some slabs for the next launch, because new memory costs system time. */
static void free_slabs_of(struct part *p)
{
    static const size_t most = 16;
    size_t count = 0;
    for (struct slab *s = free_slabs; s; s = s->next)
        count++;
    for (struct slab *s = p->slabs, *next; s; s = next) {
        next = s->next;
        if (count++ >= most) {
            os_free(s);
            continue;
        }
        s->next = free_slabs;
        free_slabs = s;
    }
}

/* ---- windows ---- */

static struct common *add_common(struct cores *c, struct window *win, bool is_new)
{
    struct common *m = os_allocate(sizeof *m);
    m->window = win;
    m->is_new = is_new;
    m->saved = os_allocate(piece_count(win) * sizeof *m->saved);
    return *OS_ADD(c->commons, c->common_count) = m;
}

/* Returns the window that contains these bytes, or NULL. Only one part at a time may call it. */
static struct common *find_common(struct cores *c, uint64_t address, size_t bytes, bool write)
{
    const struct launch_memory *memory = c->launch->memory;
    for (size_t n = 0; n < c->common_count; n++) {
        const struct window *win = c->commons[n]->window;
        if (address >= win->base && address < win->end && bytes <= win->end - address)
            return c->commons[n];
    }
    struct window *win = memory->find(memory->context, address, bytes, write);
    if (!win)
        return NULL;
    c->found++;
    return win->is_outside ? NULL : add_common(c, win, true);
}

struct window *cores_find(struct launch *part, uint64_t address, size_t bytes, bool write)
{
    os_turn_begin();
    struct common *m = find_common(part->cores, address, bytes, write);
    os_turn_end();
    if (!m)
        return NULL;
    struct window *win = os_allocate(sizeof *win);
    *win = (struct window){.base = m->window->base,
                           .end = m->window->end,
                           .storage = m->window->storage,
                           .pieces = m->window->pieces,
                           .saved = m->saved,
                           .owner = m};
    if (part->code->independence->atomic)
        win->sums = os_allocate(piece_count(win) * sizeof *win->sums);
    return win;
}

static void free_window(struct window *win)
{
    window_end(win);
    os_free(win->sums);
    os_free(win);
}

/* ---- running ---- */

void cores_give_up(struct launch *part)
{
    if (!part->fault->kind)
        part->fault->kind = FAULT_ONE_CORE;
}

bool cores_have_given_up(const struct launch *part)
{
    return __atomic_load_n(&part->cores->has_given_up, __ATOMIC_RELAXED);
}

static bool has_found(const struct launch_found *f)
{
    return f->shared_race[1].instruction || f->shared_unwritten.instruction || f->block_race.window
        || f->misuse;
}

/* Runs a range. Returns false if one core has to run the rest of the launch. */
static bool run_range(struct cores *c, struct part *p, uint64_t range)
{
    struct launch *l = &p->launch;
    struct growth *g = &c->growths[range - c->first];
    const int64_t begin = between_excess(l);
    uint64_t end = l->range_first + (range + 1) * l->range;
    end = end < l->blocks ? end : l->blocks;
    *g = (struct growth){0, INT64_MIN / 2, true};
    l->next_block = l->range_first + range * l->range;
    while (l->next_block < end) {
        g->is_known &= l->by_block;
        block_begin(l, &p->block);
        if (!block_run(&p->block, TURNS_MAX) || p->fault.kind || has_found(&p->found))
            return false;
        g->total = between_excess(l) - begin;
        if (g->is_known && g->total > g->most)
            g->most = g->total;
    }
    return true;
}

static void run_part(void *context, unsigned n)
{
    struct cores *c = context;
    struct part *p = &c->parts[n];
    while (!cores_have_given_up(&p->launch) && !__atomic_load_n(&c->is_enough, __ATOMIC_RELAXED)) {
        const uint64_t range = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED);
        if (range >= c->end)
            break;
        if (!run_range(c, p, range))
            __atomic_store_n(&c->has_given_up, true, __ATOMIC_RELAXED);
    }
    block_free(&p->block);
    between_end(&p->launch);
}

static void begin_part(struct cores *c, unsigned n)
{
    struct part *p = &c->parts[n];
    p->launch = *c->launch;
    p->launch.cores = c;
    p->launch.part = n;
    p->launch.fault = &p->fault;
    p->launch.found = &p->found;
    p->launch.windows = NULL;
    p->launch.window_count = 0;
    p->launch.last = NULL;
    /* Only one part may say that the launch takes long. */
    p->launch.said_long |= n > 0;
}

/* ---- comparing ---- */

/* Returns whether one window has written bytes that the other has touched, except by atomic
 * operations of both. */
static bool depend(const struct window *x, const struct window *y)
{
    return touched_meet(&x->written, &y->read) || touched_meet(&x->written, &y->written)
        || touched_meet(&x->written, &y->atomic) || touched_meet(&x->read, &y->written)
        || touched_meet(&x->atomic, &y->written) || touched_meet(&x->atomic, &y->read)
        || touched_meet(&x->read, &y->atomic);
}

/* Adds the second set to the first, and ends the second. */
static void add(struct window *win, struct touched *to, struct touched *from)
{
    if (!to->bits) {
        *to = *from;
        from->bits = NULL;
    }
    touched_move(win, to, from);
}

static void add_window(struct window *to, struct window *from)
{
    add(to, &to->read, &from->read);
    add(to, &to->written, &from->written);
    add(to, &to->atomic, &from->atomic);
}

/* Returns whether the part has read or written bytes that it has also changed atomically. Its
 * atomic changes are not in memory yet. */
static bool looks_at_sums(const struct window *win)
{
    return touched_meet(&win->atomic, &win->read) || touched_meet(&win->atomic, &win->written);
}

/* Adds a part's window to the sum of the earlier parts' windows. Returns false if the part depends
 * on them. */
static bool add_to_sum(const struct cores *c, struct window *win, size_t index)
{
    const struct launch_shape *s = c->launch->shape;
    struct common *m = win->owner;
    const uint32_t *at = win->first.block;
    const uint64_t block = at[0] + (uint64_t)s->grid.x * (at[1] + (uint64_t)s->grid.y * at[2]);
    const bool is_first = !m->sum || block < m->first_block;
    if (looks_at_sums(win) || (m->sum && depend(m->sum, win)))
        return false;
    if (is_first) {
        m->first_block = block;
        m->first_window = index;
    }
    if (!m->sum) {
        m->sum = win;
        return true;
    }
    if (is_first)
        m->sum->first = win->first;
    add_window(m->sum, win);
    return true;
}

/* Returns whether the parts are independent of each other and, where a race could be reported, of
 * the blocks that ran before. */
static bool are_independent(const struct cores *c)
{
    for (unsigned n = 0; n < c->count; n++) {
        const struct launch *l = &c->parts[n].launch;
        for (size_t k = 0; k < l->window_count; k++)
            if (!add_to_sum(c, l->windows[k], k))
                return false;
    }
    /* A dependence on earlier blocks may be a race, and races are found on one core. */
    for (size_t n = 0; n < c->common_count && c->launch->by_block; n++) {
        const struct window *sum = c->commons[n]->sum, *win = c->commons[n]->window;
        if (sum && !c->commons[n]->is_new && depend(sum, win))
            return false;
    }
    return true;
}

/* Finds out whether one core would still compare all these blocks, as the parts have done. Returns
 * false if the parts have not compared enough of them. */
static bool compare_on(const struct cores *c, uint64_t end, bool *compares)
{
    int64_t excess = between_excess(c->launch);
    *compares = c->launch->by_block;
    for (uint64_t n = 0; n < end - c->first && *compares; n++) {
        const struct growth *g = &c->growths[n];
        if (excess + g->most > 0)
            *compares = false;
        else if (!g->is_known)
            return false;
        excess += g->total;
    }
    return true;
}

/* ---- the launch goes on ---- */

static bool is_before(const struct common *a, const struct common *b)
{
    return a->first_block < b->first_block
        || (a->first_block == b->first_block && a->first_window < b->first_window);
}

/* Adds the windows that the parts have found to the launch's, in the order in which one core would
 * have found them. */
static void add_new_windows(struct cores *c)
{
    struct launch *l = c->launch;
    const size_t before = l->window_count;
    l->windows = os_grow(l->windows, (before + c->common_count + 1) * sizeof *l->windows);
    for (const struct common *last = NULL;;) {
        struct common *next = NULL;
        for (size_t n = 0; n < c->common_count; n++) {
            struct common *m = c->commons[n];
            if (m->is_new && m->sum && (!last || is_before(last, m))
                && (!next || is_before(m, next)))
                next = m;
        }
        if (!next)
            break;
        next->window->first = next->sum->first;
        l->windows[l->window_count++] = next->window;
        last = next;
    }
    l->memory->settle(l->memory->context, c->found, l->windows + before, l->window_count - before);
}

static void add_parts(struct cores *c, uint64_t end, bool compares)
{
    struct launch *l = c->launch;
    const struct launch begin = *l;
    add_new_windows(c);
    for (size_t n = 0; n < c->common_count; n++) {
        struct common *m = c->commons[n];
        m->window->by_block = l->by_block;
        if (m->sum)
            add_window(m->window, m->sum);
    }
    for (unsigned n = 0; n < c->count; n++) {
        const struct launch *part = &c->parts[n].launch;
        l->clock += part->clock - begin.clock;
        l->changes += part->changes - begin.changes;
        l->compared += part->compared - begin.compared;
        l->any_released |= part->any_released;
        l->found->released |= part->found->released;
        l->found->acquired |= part->found->acquired;
        l->said_long |= n == 0 && part->said_long;
        for (size_t k = 0; k < part->window_count; k++)
            apply_sums(l->code->independence->atomic, part->windows[k]);
    }
    if (!compares)
        between_end(l);
    l->next_block = l->range_first + end * l->range;
    l->next_block = l->next_block < l->blocks ? l->next_block : l->blocks;
}

static void end_cores(struct cores *c)
{
    for (unsigned n = 0; n < c->count; n++) {
        struct launch *l = &c->parts[n].launch;
        for (size_t k = 0; k < l->window_count; k++)
            free_window(l->windows[k]);
        os_free(l->windows);
        free_slabs_of(&c->parts[n]);
    }
    for (size_t n = 0; n < c->common_count; n++) {
        os_free(c->commons[n]->saved);
        os_free(c->commons[n]);
    }
    os_free(c->commons);
    os_free(c->growths);
    os_free(c->parts);
}

/* Runs up to `count` ranges on several cores. Returns false if no range has run, because one core
 * has to run the rest of the launch. */
static bool run_ranges(struct launch *l, uint64_t count, unsigned cores)
{
    struct cores c = {.launch = l, .count = cores};
    const uint64_t all = (l->blocks - l->range_first + l->range - 1) / l->range;
    bool compares = false;
    c.first = c.next = (l->next_block - l->range_first) / l->range;
    c.end = count < all - c.first ? c.first + count : all;
    c.parts = os_allocate(cores * sizeof *c.parts);
    c.growths = os_allocate((c.end - c.first) * sizeof *c.growths);
    for (size_t n = 0; n < l->window_count; n++)
        add_common(&c, l->windows[n], false);
    for (unsigned n = 0; n < cores; n++)
        begin_part(&c, n);
    os_run_together(cores, run_part, &c);
    const uint64_t end = c.next < c.end ? c.next : c.end;
    const bool is_good = !c.has_given_up && are_independent(&c) && compare_on(&c, end, &compares);
    if (is_good) {
        add_parts(&c, end, compares);
    } else {
        for (size_t n = 0; n < c.common_count; n++)
            restore(c.commons[n]);
        l->memory->settle(l->memory->context, c.found, NULL, 0);
    }
    end_cores(&c);
    return is_good;
}

/* Divides the remaining blocks into ranges, if there is enough to do. The ranges do not depend on
 * the number of cores. */
static void divide(struct launch *l)
{
    const uint64_t done = l->next_block, left = l->blocks - done;
    const uint64_t of_warp = l->clock / done / l->warps_of_block + 1;
    uint64_t range = (left + RANGES_MAX - 1) / RANGES_MAX;
    /* The next attempt comes after twice as many blocks. */
    if (done & (done - 1) || l->shape->cooperative || l->random)
        return;
    range = range > RANGE_WORK / of_warp ? range : RANGE_WORK / of_warp;
    if (left < 2 * range || l->clock / done * left < 2 * PART_WORK || !may_run(l->code))
        return;
    l->range = range ? range : 1;
    l->range_first = done;
}

bool kernel_signals(const struct kernel_code *k)
{
    NEEDS_LOCK();
    return !may_run(k) || k->signals;
}

bool kernel_awaits_others(const struct kernel_code *k)
{
    NEEDS_LOCK();
    return k->awaits_others;
}

bool kernel_lets_others_begin(const struct kernel_code *k)
{
    NEEDS_LOCK();
    return k->lets_others_begin && !kernel_signals(k);
}

/* Returns whether the launch's next blocks may run on several cores. */
static bool is_clean(const struct launch *l)
{
    if (l->shape->cores < 2 || has_found(l->found) || l->code->independence->was_refuted)
        return false;
    for (size_t n = 0; n < l->window_count; n++)
        if (l->windows[n]->unwritten.instruction || l->windows[n]->carried.bits
            || l->windows[n]->is_outside)
            return false;
    return true;
}

void cores_run_ahead(struct launch *l)
{
    if (l->range)
        return;
    divide(l);
    if (!l->range || !is_clean(l))
        return;
    const uint64_t work = l->clock / l->next_block * (l->blocks - l->next_block) / PART_WORK;
    const unsigned cores = l->shape->cores < work ? l->shape->cores : (unsigned)work;
    /* Begin with a few ranges, because they show most of the reasons to stay on one core. */
    for (uint64_t count = 2 * cores; l->next_block < l->blocks; count = UINT64_MAX)
        if (!run_ranges(l, count, cores)) {
            /* The next launch of the kernel does not try it either. */
            l->code->independence->was_refuted = true;
            return;
        }
}
