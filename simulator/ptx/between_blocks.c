/* Races between the blocks of a launch: two blocks touch a byte of device memory, one of them
 * writes it non-atomically, and the kernel has nothing by which one could wait for the other.
 *
 * Blocks run one after the other. When one ends, its bytes are compared with those of all earlier
 * blocks. Only for a report do both run again, without effect, to find their accesses.
 *
 * So that no correct kernel is reported, these are not compared:
 * - a block that has acquired (by a volatile load, or an atomic operation whose result it uses),
 *   once another block has released;
 * - reads with atomic operations, and writes that leave what another block wrote;
 * - blocks that run at the same time (for cooperative launches: ptx/device_notes.c);
 * - launches in which comparing would take longer than running. */
#include <string.h>

#include "os/os.h"
#include "ptx/device_notes.h"
#include "ptx/touched.h"
#include "ptx/warp.h"

/* The number of words that may be compared for each instruction of a warp, and the number that may
 * always be compared. */
#define WORDS_EACH 8
#define WORDS_MIN  1000000

void between_begin(struct launch *launch)
{
    launch->by_block =
        launch->shape->checks.race && launch->blocks > 1 && !launch->shape->cooperative;
}

static void add_window(struct launch *launch, struct window *win)
{
    struct touched *all[] = {&win->read, &win->written, &win->atomic};
    for (unsigned kind = 0; kind < 3; kind++) {
        struct touched *t = &win->of_block[kind];
        if (t->bits && t->first <= t->last)
            launch->compared += t->last - t->first + 1;
        touched_move(win, all[kind], t);
    }
}

void between_end(struct launch *launch)
{
    device_notes_end(launch);
    for (size_t n = 0; launch->by_block && n < launch->window_count; n++) {
        struct window *win = launch->windows[n];
        add_window(launch, win);
        win->by_block = false;
        for (unsigned kind = 0; kind < 3; kind++)
            touched_end(win, &win->of_block[kind]);
    }
    launch->by_block = false;
}

/* Finds a byte on which the block and an earlier one race, and how each of them touches it.
 * `others` is `win` or a window of the same memory from before or after a launch by the kernel. */
static bool find_race(const struct window *win, const struct window *others, size_t *byte,
                      enum access_kind kinds[2])
{
    static const enum access_kind pairs[][2] = {{ACCESS_WRITE, ACCESS_WRITE},
                                                {ACCESS_READ, ACCESS_WRITE},
                                                {ACCESS_WRITE, ACCESS_READ},
                                                {ACCESS_ATOMIC, ACCESS_WRITE},
                                                {ACCESS_WRITE, ACCESS_ATOMIC}};
    const struct touched *all[] = {&others->read, &others->written, &others->atomic};
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        const struct touched *before = all[pairs[p][0]], *now = &win->of_block[pairs[p][1]];
        if (!now->bits || now->first > now->last || !touched_meet(now, before))
            continue;
        kinds[0] = pairs[p][0];
        kinds[1] = pairs[p][1];
        for (size_t n = now->first; n <= now->last; n++)
            if (now->bits[n] & before->bits[n]) {
                *byte = n * 64 + (size_t)__builtin_ctzll(now->bits[n] & before->bits[n]);
                return true;
            }
    }
    return false;
}

static void found_race(struct block *b, struct window *win, size_t byte, enum access_kind kinds[2])
{
    struct launch *launch = b->launch;
    struct launch_found *found = launch->found;
    struct watch watch = {.window = win, .byte = byte, .kind = kinds[1]};
    found->block_race.window = win;
    found->block_race.byte = byte;
    found->block_race.places[0].write = kinds[0] != ACCESS_READ;
    found->block_race.places[1].write = kinds[1] != ACCESS_READ;
    memcpy(found->block_race.places[1].block, b->at, sizeof b->at);
    if (grid_find(launch, launch->next_block - 1, &watch)) {
        watch.place.write = kinds[1] != ACCESS_READ;
        found->block_race.places[1] = watch.place;
    }
    watch.kind = kinds[0];
    for (uint64_t n = 0; n + 1 < launch->next_block; n++)
        if (grid_find(launch, n, &watch)) {
            watch.place.write = kinds[0] != ACCESS_READ;
            found->block_race.places[0] = watch.place;
            return;
        }
}

int64_t between_excess(const struct launch *launch)
{
    return (int64_t)launch->compared - WORDS_MIN - WORDS_EACH * (int64_t)launch->clock;
}

/* Compares what the block has touched in a window with what others have. */
static void compare(struct block *b, struct window *win)
{
    struct launch *launch = b->launch;
    enum access_kind kinds[2];
    size_t byte;
    for (size_t n = 0; n < launch->window_count && !launch->found->block_race.window; n++) {
        if (launch->windows[n]->base != win->base
            || !find_race(win, launch->windows[n], &byte, kinds))
            continue;
        if (launch->cores)
            cores_give_up(launch);
        else
            found_race(b, win, byte, kinds);
    }
}

void between_block_ended(struct block *b)
{
    struct launch *launch = b->launch;
    launch->found->released |= b->released;
    launch->found->acquired |= b->acquired;
    if (!launch->by_block)
        return;
    if (!b->acquired || !launch->any_released)
        for (size_t n = 0; n < launch->window_count; n++)
            compare(b, launch->windows[n]);
    for (size_t n = 0; n < launch->window_count; n++)
        add_window(launch, launch->windows[n]);
    launch->any_released |= b->released;
    if (between_excess(launch) > 0 || launch->found->block_race.window)
        between_end(launch);
}

/* ---- running a block again ---- */

char *between_bytes(struct warp *w, const struct instruction *i, unsigned l, uint64_t address,
                    size_t bytes, enum access_kind kind)
{
    static char copy[64];
    const struct launch *launch = w->launch;
    struct watch *watch = launch->watch;
    for (size_t n = 0; n < launch->window_count; n++) {
        struct window *win = launch->windows[n];
        if (address < win->base || address >= win->end || bytes > win->end - address)
            continue;
        char *there = win->storage + (address - win->base);
        if (win->base == watch->window->base && kind == watch->kind
            && address - win->base <= watch->byte && watch->byte < address - win->base + bytes) {
            if (!launch->fault->kind)
                watch->place = warp_place(w, l, i);
            warp_fault(w, l, FAULT_TRAP, address, bytes, false);
        }
        return kind == ACCESS_READ ? there : memcpy(copy, there, bytes);
    }
    /* The block takes another path than in its first run. */
    warp_fault(w, l, FAULT_ADDRESS, address, bytes, false);
    return NULL;
}
