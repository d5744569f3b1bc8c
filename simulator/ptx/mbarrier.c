/* Barriers that are objects in shared memory (mbarrier). What such an object's 64 bits mean is not
 * documented. Here:
 *
 *    63      60 ... 40            39 ... 20       19 ... 0
 *   [ phase |  bytes expected   |  participants | arrivals that are missing ]
 *
 * A phase ends when no arrival and no bytes are missing (documented); then the next begins with all
 * participants. An arrival returns the object from before it. */
#include "ptx/shared_notes.h"

#define COUNT_BITS 20
#define COUNT_MASK (((uint64_t)1 << COUNT_BITS) - 1)
#define BYTES_MASK (((uint64_t)1 << 21) - 1)
#define PHASE      ((uint64_t)1 << 63)

static uint64_t made(uint64_t phase, uint64_t bytes, uint64_t participants, uint64_t missing)
{
    return phase | (bytes & BYTES_MASK) << 2 * COUNT_BITS
         | (participants & COUNT_MASK) << COUNT_BITS | (missing & COUNT_MASK);
}

/* Subtracts these arrivals and bytes, which may end the phase. From the next phase on, `fewer`
 * participants are gone. */
static uint64_t changed(uint64_t object, uint64_t arrivals, uint64_t bytes, uint64_t fewer)
{
    uint64_t missing = (object & COUNT_MASK) - arrivals;
    uint64_t participants = (object >> COUNT_BITS & COUNT_MASK) - fewer;
    bytes += object >> 2 * COUNT_BITS;
    if (missing & COUNT_MASK || bytes & BYTES_MASK)
        return made(object & PHASE, bytes, participants, missing);
    return made(~object & PHASE, 0, participants, participants);
}

static uint64_t address_of(const struct warp *w, const struct instruction *i, unsigned l)
{
    const uint64_t offset = (uint64_t)i->immediate;
    if (i->wide & 128)
        return (uint32_t)(((const lane_u32 *)(w->registers + i->r[1]))[l] + (uint32_t)offset);
    return ((const lane_u64 *)(w->registers + i->r[1]))[l] + offset;
}

static uint64_t number_of(const struct warp *w, const struct instruction *i, unsigned l)
{
    return ((const lane_u32 *)(w->registers + i->r[2]))[l];
}

/* Returns whether the phase with this state, or with this parity, has ended. */
static bool has_ended(const struct warp *w, const struct instruction *i, unsigned l,
                      uint64_t object)
{
    const uint64_t phase = i->option == MBARRIER_TEST_PARITY
                             ? number_of(w, i, l) << 63
                             : ((const lane_u64 *)(w->registers + i->r[2]))[l];
    return (object ^ phase) & PHASE;
}

static void test(struct warp *w, const struct instruction *i, unsigned l, uint64_t object)
{
    const bool ended = has_ended(w, i, l, object);
    uint32_t *predicate = &w->predicates[i->r[0]];
    *predicate = (*predicate & ~(1u << l)) | (uint32_t)ended << l;
    /* A thread repeats this query until it succeeds, so other threads get a turn. */
    w->spins++;
    if (!ended)
        return;
    shared_land_copies(w->block, address_of(w, i, l) & ~WINDOW_MASK);
    shared_acquire(w, 1u << l);
}

/* Returns the object after the operation of thread l. */
static uint64_t operate(struct warp *w, const struct instruction *i, unsigned l, uint64_t object)
{
    const uint64_t number = i->count ? number_of(w, i, l) : 1;
    switch (i->option) {
    case MBARRIER_INIT: return made(0, 0, number, number);
    case MBARRIER_INVALID: return 0;
    case MBARRIER_EXPECT: return changed(object, 0, number, 0);
    case MBARRIER_COMPLETE: return changed(object, 0, -number, 0);
    case MBARRIER_ARRIVE: return changed(object, number, 0, 0);
    case MBARRIER_ARRIVE_DROP: return changed(object, number, 0, number);
    case MBARRIER_ARRIVE_EXPECT: return changed(object, 1, number, 0);
    default: return object;
    }
}

/* `option` is the operation; r: the result, the address, and a number or a state. Each thread's
 * arrival releases (documented: the default). */
void run_mbarrier(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const bool tests = i->option == MBARRIER_TEST || i->option == MBARRIER_TEST_PARITY;
    FOR_LANES (l, lanes) {
        char *object = warp_bytes(w, i, l, address_of(w, i, l), 8,
                                  i->option == MBARRIER_INIT ? ACCESS_WRITE : ACCESS_ATOMIC);
        if (!object)
            return;
        lane_u64 *bits = (lane_u64 *)object;
        if (tests) {
            test(w, i, l, *bits);
            continue;
        }
        ((lane_u64 *)(w->registers + i->r[0]))[l] = *bits;
        *bits = operate(w, i, l, *bits);
        w->launch->changes++;
    }
    if (!tests)
        shared_release(w, lanes);
}

/* cp.async.mbarrier.arrive: the mbarrier at r[1] counts the thread's copies. */
void run_count_copies(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    FOR_LANES (l, lanes) {
        shared_count_copies(w, l, address_of(w, i, l) & ~WINDOW_MASK);
    }
}

void run_mbarrier_pending(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const lane_u64 *state = (const lane_u64 *)(w->registers + i->r[1]);
    lane_u32 *count = (lane_u32 *)(w->registers + i->r[0]);
    EACH_LANE(lanes, count[l] = (uint32_t)(state[l] & COUNT_MASK);)
}
