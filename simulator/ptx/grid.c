/* Runs blocks one after the other, or several in turns: in a cooperative launch, or when a block
 * has run for long or behaves like one that waits for another block. Within a block, a warp runs
 * until it ends or waits at a barrier.
 *
 * Invariant: the first blocks.running slots have blocks that run, and the warps of a slot keep
 * their registers for the slot's next block. */
#include "ptx/grid.h"

#include <string.h>

#include "os/needs_lock.h"
#include "os/os.h"
#include "ptx/device_notes.h"
#include "ptx/shared_notes.h"

/* The number of instructions that a warp runs before it is another warp's turn. */
#define BUDGET 100000
/* A warp's turn in a cooperative launch, whose blocks wait for each other, is shorter. */
#define BUDGET_COOPERATIVE 2000
/* Assumed: when all blocks that fit have begun, a launch whose memory does not change while it runs
 * this many instructions twice, and whose registers are the same after both, waits for the host. */
#define INSTRUCTIONS_WAITING 200000000u
/* The most blocks that run in turns because they run for long. As many as fit on the device do if
 * they seem to wait for each other. */
#define BLOCKS_MAX 132
/* After this many microseconds of real time, a message says that the launch is still running. */
#define LONG_TIME 10000000
/* A search for an access in a block ends after this many instructions. */
#define SEARCH_MAX 20000000
/* The stack of each thread, for calls. A GPU has 1 KiB; recursion can go deeper here (assumed). */
#define STACK_BYTES (32 * KiB)

/* ---- faults ---- */

static void set_thread(const struct launch_shape *s, uint32_t thread, uint32_t to[3])
{
    to[0] = thread % s->block.x;
    to[1] = thread / s->block.x % s->block.y;
    to[2] = thread / s->block.x / s->block.y;
}

static void set_block(const struct launch_shape *s, uint64_t block, uint32_t to[3])
{
    to[0] = (uint32_t)(block % s->grid.x);
    to[1] = (uint32_t)(block / s->grid.x % s->grid.y);
    to[2] = (uint32_t)(block / s->grid.x / s->grid.y);
}

struct launch_fault warp_place(const struct warp *w, unsigned lane, const struct instruction *i)
{
    const uint32_t pc = w->group_count ? w->groups[0].pc : 0;
    struct launch_fault f = {.block = {w->block->at[0], w->block->at[1], w->block->at[2]},
                             .code = w->frame ? w->frame->code : NULL,
                             .instruction = i        ? (w->whole ? w->whole : i)
                                          : w->frame ? &w->frame->code->all[pc]
                                                     : NULL};
    set_thread(w->launch->shape, w->index * WARP_SIZE + lane, f.thread);
    return f;
}

struct launch_fault place_of_number(const struct launch *launch, uint64_t block, uint32_t thread,
                                    uint32_t number)
{
    const struct kernel_code *k = launch->code;
    struct launch_fault f = {.code = k->entry};
    for (size_t n = 0; n < k->function_count; n++)
        if (k->functions[n]->first_number <= number
            && k->functions[n]->first_number > f.code->first_number)
            f.code = k->functions[n];
    if (number - f.code->first_number < f.code->count)
        f.instruction = &f.code->all[number - f.code->first_number];
    set_thread(launch->shape, thread, f.thread);
    set_block(launch->shape, block, f.block);
    return f;
}

void warp_fault(struct warp *w, unsigned lane, enum fault_kind kind, uint64_t address, size_t bytes,
                bool write)
{
    struct launch_fault *f = w->launch->fault;
    w->is_watched = true;
    if (f->kind)
        return;
    *f = warp_place(w, lane, NULL);
    f->kind = kind;
    f->address = address;
    f->bytes = bytes;
    f->write = write;
}

/* ---- barriers ---- */

void block_check_barrier(struct block *b, unsigned barrier)
{
    struct barrier *at = &b->barriers[barrier];
    unsigned expected = at->expected ? at->expected : b->alive;
    if (!at->arrived || at->arrived < expected)
        return;
    if (at->arrived >= b->alive) {
        shared_sync_block(b);
        if (!at->expected)
            misuse_at_barrier(b, barrier);
    }
    for (unsigned n = 0; n < b->warp_count; n++)
        warp_release(&b->warps[n], barrier);
    *at = (struct barrier){0, 0, 0};
    b->waits--;
}

/* ---- blocks ---- */

static uint64_t next_random(struct launch *launch)
{
    uint64_t x = launch->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    launch->random = x;
    return x * 0x2545F4914F6CDD1Du;
}

/* Returns the number of the n-th block to begin: in order or, with a seed, in random strides that
 * reach each block once. */
static uint64_t block_number(const struct launch *launch, uint64_t n)
{
    uint64_t seed = launch->shape->seed, count = launch->blocks;
    if (!seed || count < 2)
        return n;
    uint64_t step = 1 + seed % (count - 1);
    for (uint64_t a = step, b = count; b;) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
        if (!b && a != 1) {
            step = step % (count - 1) + 1;
            a = step;
            b = count;
        }
    }
    return (uint64_t)(((wide_u128)n * step + seed / 7) % count);
}

static void make_warp(struct block *b, unsigned n)
{
    struct warp *w = &b->warps[n];
    const struct kernel_code *code = b->launch->code;
    w->launch = b->launch;
    w->block = b;
    w->index = n;
    w->entry = warp_frame(w, code->entry);
    w->local_bytes = code->entry->frame_bytes + (code->has_calls ? STACK_BYTES : 0);
    w->local_bytes = (w->local_bytes + 15) / 16 * 16;
    w->local = w->local_bytes ? os_allocate(w->local_bytes * WARP_SIZE) : NULL;
}

/* Begins the warp at this instruction. */
static void begin_warp(struct warp *w, uint32_t pc)
{
    const unsigned threads = w->launch->threads_of_block - w->index * WARP_SIZE;
    w->alive = threads >= WARP_SIZE ? ALL_LANES : (1u << threads) - 1;
    w->groups[0] = (struct group){.frame = w->entry, .pc = pc, .lanes = w->alive};
    w->group_count = 1;
    w->spins = 0;
    w->patience = 0;
}

static void begin_block_number(struct launch *launch, struct block *b, uint64_t number)
{
    const struct launch_shape *s = launch->shape;
    b->number = number;
    b->released = b->acquired = false;
    b->launch = launch;
    set_block(s, number, b->at);
    b->alive = launch->threads_of_block;
    b->warp_count = launch->warps_of_block;
    b->has_lines = lines_begin(b);
    const bool is_first = !b->warps;
    if (is_first)
        b->warps = os_allocate(b->warp_count * sizeof *b->warps);
    if (!b->shared)
        b->shared = os_allocate(launch->shared_bytes + 16);
    if (s->fills)
        memset(b->shared, s->fill, launch->shared_bytes);
    if (launch->code->reserved_shared_bytes)
        memset(b->shared + launch->code->static_shared_bytes, 0,
               launch->code->reserved_shared_bytes);
    memset(b->barriers, 0, sizeof b->barriers);
    b->waits = 0;
    b->passed = b->ending_count = 0;
    shared_begin(b);
    for (unsigned n = 0; n < b->warp_count && is_first; n++)
        make_warp(b, n);
    block_fill(b);
    const uint32_t pc = block_run_abreast(b);
    for (unsigned n = 0; n < b->warp_count && b->alive; n++)
        begin_warp(&b->warps[n], pc);
    b->runs = true;
}

/* Frees everything but the notes, whose time continues in the slot's next block. */
static void free_memory(struct block *b)
{
    for (unsigned n = 0; n < b->warp_count && b->warps; n++) {
        warp_free_frame(b->warps[n].entry);
        os_free(b->warps[n].local);
    }
    os_free(b->warps);
    os_free(b->shared);
    os_free(b->lines);
    b->has_lines = false;
    b->filled = FILLED_NONE;
    b->lines = NULL;
    b->warps = NULL;
    b->shared = NULL;
}

void block_free(struct block *b)
{
    free_memory(b);
    shared_end(b);
}

void block_begin(struct launch *launch, struct block *b)
{
    if (launch->range && !((launch->next_block - launch->range_first) % launch->range))
        free_memory(b);
    if (!launch->next_block)
        device_notes_begin(launch);
    begin_block_number(launch, b, block_number(launch, launch->next_block++));
}

/* Gives each warp of a block one turn. Returns whether any warp could run. */
static bool run_turn(struct block *b)
{
    bool any = false;
    unsigned first = b->launch->random ? (unsigned)(next_random(b->launch) >> 32) : 0;
    for (unsigned n = 0; n < b->warp_count && !b->launch->fault->kind; n++) {
        struct warp *w = &b->warps[first ? (n + first) % b->warp_count : n];
        bool could = w->alive;
        for (unsigned g = 0; could && g < w->group_count; g++)
            if (w->groups[g].state != GROUP_AT_BARRIER)
                any = true;
        if (could)
            b->launch->used_up |= warp_run(w, b->launch->random ? 1 + next_random(b->launch) % 64
                                              : b->launch->shape->cooperative ? BUDGET_COOPERATIVE
                                                                              : BUDGET);
    }
    return any;
}

/* All threads of the block wait at barriers that do not open. */
static void fault_barrier(struct block *b)
{
    for (unsigned n = 0; n < b->warp_count; n++)
        if (b->warps[n].alive) {
            b->warps[n].frame = b->warps[n].groups[0].frame;
            warp_fault(&b->warps[n], (unsigned)__builtin_ctz(b->warps[n].groups[0].lanes),
                       FAULT_BARRIER, 0, 0, false);
        }
}

/* Says once for a launch that it takes long, and where a thread of the block is. */
static void check_time(struct launch *launch, const struct block *b)
{
    if (launch->said_long || os_clock_us() - launch->began < LONG_TIME)
        return;
    for (unsigned n = 0; n < b->warp_count && !launch->said_long; n++) {
        struct warp *w = &b->warps[n];
        if (!w->group_count)
            continue;
        w->frame = w->groups[0].frame;
        struct launch_fault place =
            warp_place(w, (unsigned)__builtin_ctz(w->groups[0].lanes), NULL);
        launch->memory->still_runs(launch->memory->context, &place);
        launch->said_long = true;
    }
}

/* Returns whether this turn counts: one that ended early at the block's own barriers does not. */
static bool counts(const struct launch *launch)
{
    return launch->used_up || launch->random || launch->shape->cooperative;
}

bool block_run(struct block *b, unsigned turns)
{
    struct launch *launch = b->launch;
    launch->spun = false;
    while (b->alive && turns && !launch->fault->kind && !launch->spun
           && !(launch->cores && cores_have_given_up(launch))) {
        launch->used_up = false;
        if (!run_turn(b) && b->alive) {
            fault_barrier(b);
            break;
        }
        turns -= counts(launch);
        if (b->alive)
            check_time(launch, b);
    }
    b->runs = b->alive;
    if (!b->alive) {
        if (!launch->shape->cooperative)
            device_notes_end(launch);
        between_block_ended(b);
    }
    return !b->alive || b->launch->fault->kind;
}

/* Returns a number that changes with a register of the blocks' threads. */
static uint64_t sum_of_registers(const struct block *all, uint64_t count)
{
    uint64_t sum = 1;
    for (const struct block *b = all; b < all + count; b++)
        for (unsigned n = 0; b->runs && n < b->warp_count; n++)
            for (unsigned g = 0; g < b->warps[n].group_count; g++) {
                const struct frame *f = b->warps[n].groups[g].frame;
                const lane_u32 *at = (const lane_u32 *)f->registers;
                for (size_t k = 0; k < f->code->register_bytes / sizeof *at; k++)
                    sum = sum * 0x100000001b3 + at[k];
            }
    return sum;
}

/* Ends the launch, in block b, if all of its begun blocks only wait; a long computation changes
 * registers. `since` has the clock, `changes` and the registers of the last change. */
static void check_waiting(struct block *all, uint64_t begun, struct block *b, uint64_t since[3])
{
    const struct launch *launch = b->launch;
    const bool has_changed = launch->changes != since[1];
    if (!has_changed && launch->clock - since[0] < INSTRUCTIONS_WAITING)
        return;
    const uint64_t registers = has_changed ? 0 : sum_of_registers(all, begun);
    if (has_changed || registers != since[2]) {
        since[0] = launch->clock;
        since[1] = launch->changes;
        since[2] = registers;
        return;
    }
    for (unsigned n = 0; n < b->warp_count; n++)
        if (b->warps[n].alive)
            warp_fault(&b->warps[n], (unsigned)__builtin_ctz(b->warps[n].alive), FAULT_WAITS, 0, 0,
                       false);
}

/* Begins as many blocks as may run at once, and gives them turns until all blocks have ended. */
static void run_blocks(struct launch *launch)
{
    uint64_t most = launch->shape->cooperative ? launch->blocks : launch->shape->fitting;
    uint64_t slots = most < launch->blocks ? most : launch->blocks;
    uint64_t begun = launch->shape->cooperative ? slots : 1;
    struct block *all = os_allocate(slots * sizeof *all);
    for (uint64_t n = 0; n < begun; n++)
        block_begin(launch, &all[n]);
    uint64_t since[3] = {0, 0, 0};
    for (bool any = true; any && !launch->fault->kind;) {
        any = false;
        for (uint64_t n = 0; n < begun && !launch->fault->kind; n++) {
            struct block *b = &all[n];
            while (b->runs && block_run(b, launch->shape->cooperative ? 1 : TURNS_MAX)
                   && launch->next_block < launch->blocks && !launch->fault->kind) {
                if (begun == 1)
                    cores_run_ahead(launch);
                if (launch->next_block < launch->blocks)
                    block_begin(launch, b);
            }
            any |= b->runs;
            if (!b->runs)
                continue;
            if (begun == slots || launch->next_block == launch->blocks
                || (begun >= BLOCKS_MAX && !launch->spun)) {
                check_waiting(all, begun, b, since);
            } else if (n + 1 == begun) {
                /* The block may be waiting for a block that has not begun. */
                between_end(launch);
                block_begin(launch, &all[begun++]);
            }
        }
    }
    for (uint64_t n = 0; n < begun; n++)
        block_free(&all[n]);
    os_free(all);
}

bool grid_find(const struct launch *launch, uint64_t number, struct watch *watch)
{
    static struct launch_found none;
    struct launch_shape shape = *launch->shape;
    struct launch_fault fault = {.kind = FAULT_NONE};
    struct launch again = *launch;
    struct block *b = os_allocate(sizeof *b);
    shape.checks.init = shape.checks.race = shape.checks.sync = false;
    again.shape = &shape;
    again.fault = &fault;
    again.found = &none;
    again.by_block = false;
    again.clock = 0;
    again.watch = watch;
    again.is_noted = false;
    again.is_looked_at = true;
    again.said_long = true;
    watch->place = (struct launch_fault){.instruction = NULL};
    begin_block_number(&again, b, block_number(&again, number));
    for (bool ended = false; !ended && again.clock < SEARCH_MAX;)
        ended = block_run(b, 1);
    block_free(b);
    os_free(b);
    return watch->place.instruction != NULL;
}

bool grid_run(const struct kernel_code *code, const struct launch_shape *shape,
              const struct launch_memory *memory, struct launch_fault *fault,
              struct launch_found *found)
{
    NEEDS_LOCK();
    struct launch launch = {
        .shape = shape, .memory = memory, .fault = fault, .found = found, .code = code};
    launch.granule_shift = code->least_shared ? (unsigned)__builtin_ctz(code->least_shared) : 3;
    launch.shared_bytes = code_dynamic_begin(code) + shape->shared_bytes;
    launch.threads_of_block = shape->block.x * shape->block.y * shape->block.z;
    launch.warps_of_block = (launch.threads_of_block + WARP_SIZE - 1) / WARP_SIZE;
    launch.blocks = (uint64_t)shape->grid.x * shape->grid.y * shape->grid.z;
    launch.random = shape->seed;
    launch.began = os_clock_us();
    launch.workspace[0] = sizeof launch.workspace;
    fault->kind = FAULT_NONE;
    between_begin(&launch);
    run_blocks(&launch);
    between_end(&launch);
    os_free(launch.windows);
    return !fault->kind;
}
