/* Exchanges between threads of a warp: shuffles, votes, matches, and sums. The threads have come
 * together (ptx/threads.c); missing ones take no part. */
#include "ptx/warp.h"

static void set_predicate(struct warp *w, uint32_t n, uint32_t lanes, uint32_t bits)
{
    w->predicates[n] = (w->predicates[n] & ~lanes) | (bits & lanes);
}

/* Finds for each thread the thread whose value it gets, and whether that thread is within the
 * segment. */
static INLINE void find_sources(const struct warp *w, const struct instruction *i, uint32_t *from,
                                uint32_t *inside)
{
    const lane_u32 *b = (const lane_u32 *)(w->registers + i->r[3]);
    const lane_u32 *c = (const lane_u32 *)(w->registers + i->r[4]);
#define EACH_SOURCE(expression, is_inside)                                         \
    for (uint32_t l = 0; l < WARP_SIZE; l++) {                                     \
        const uint32_t segment = c[l] >> 8 & 31, by = b[l] & 31;                   \
        const uint32_t least = l & segment, limit = c[l] & 31 & ~segment;          \
        const int32_t most = (int32_t)(least | limit), at = (int32_t)(expression); \
        inside[l] = is_inside;                                                     \
        from[l] = is_inside ? (uint32_t)at & 31 : l;                               \
    }
    switch (i->option) {
    case 'u': EACH_SOURCE(l - by, at >= most) break;
    case 'd': EACH_SOURCE(l + by, at <= most) break;
    case 'b': EACH_SOURCE(l ^ by, at <= most) break;
    default: EACH_SOURCE(least | (by & ~segment), at <= most) break;
    }
#undef EACH_SOURCE
}

/* shfl.sync.MODE.b32 d|p, a, b, c: `option` is the mode; r: d, p, a, b, c. Documented: the upper
 * half of c is the mask of the segment, and the lower half the limit; the value of a thread that
 * takes no part is undefined. Measured on an H100 (simulator/tests/facts/kernels-variety.txt): it
 * is 0. */
HOT void run_shuffle(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    lane_u32 *d = (lane_u32 *)(w->registers + i->r[0]);
    const lane_u32 *a = (const lane_u32 *)(w->registers + i->r[2]);
    uint32_t value[WARP_SIZE], from[WARP_SIZE], inside[WARP_SIZE], bits = 0;
    for (unsigned l = 0; l < WARP_SIZE; l++)
        value[l] = lane_is_in(lanes, l) ? a[l] : 0;
    find_sources(w, i, from, inside);
    EACH_LANE(lanes, d[l] = value[from[l]];)
    for (unsigned l = 0; l < WARP_SIZE; l++)
        bits |= inside[l] << l;
    if (i->count)
        set_predicate(w, i->r[1], lanes, bits);
}

/* vote.sync.MODE: r: d, p; option: the mode, plus 128 if the predicate is negated. */
void run_vote(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    uint32_t votes = w->predicates[i->r[1]] ^ (i->option & 128 ? ALL_LANES : 0);
    votes &= lanes;
    switch (i->option & 127) {
    case 'a': set_predicate(w, i->r[0], lanes, votes == lanes ? lanes : 0); break;
    case 'n': set_predicate(w, i->r[0], lanes, votes ? lanes : 0); break;
    case 'u': set_predicate(w, i->r[0], lanes, votes == lanes || !votes ? lanes : 0); break;
    default: {
        lane_u32 *d = (lane_u32 *)(w->registers + i->r[0]);
        EACH_LANE(lanes, d[l] = votes;)
    }
    }
}

/* match.any.sync: which threads have this value; match.all.sync: whether all have it. */
HOT void run_match(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    lane_u32 *d = (lane_u32 *)(w->registers + i->r[0]);
    const char *a = w->registers + i->r[2];
    const uint32_t first = lanes_like(a, i->bytes, (unsigned)__builtin_ctz(lanes)) & lanes,
                   all = first == lanes ? lanes : 0;
    uint32_t found[WARP_SIZE], same;
    for (uint32_t others = i->option != 'a' ? lanes : 0; others; others &= ~same) {
        same = lanes_like(a, i->bytes, (unsigned)__builtin_ctz(others)) & lanes;
        EACH_LANE(same, found[l] = same;)
    }
    EACH_LANE(lanes, d[l] = i->option != 'a' ? found[l] : all;)
    if (i->count)
        set_predicate(w, i->r[1], lanes, all);
}

void run_active_mask(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    lane_u32 *d = (lane_u32 *)(w->registers + i->r[0]);
    EACH_LANE(lanes, d[l] = lanes;)
}

void run_elect(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    lane_u32 *d = (lane_u32 *)(w->registers + i->r[0]);
    unsigned first = (unsigned)__builtin_ctz(lanes);
    EACH_LANE(lanes, d[l] = first;)
    set_predicate(w, i->r[1], lanes, 1u << first);
}

/* redux.sync. option: the operation; is_signed. */
void run_reduce(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    lane_u32 *d = (lane_u32 *)(w->registers + i->r[0]);
    const lane_u32 *a = (const lane_u32 *)(w->registers + i->r[1]);
    uint32_t result = a[__builtin_ctz(lanes)];
    FOR_LANES (l, lanes & (lanes - 1)) {
        uint32_t x = a[l];
        bool less = i->is_signed ? (int32_t)x < (int32_t)result : x < result;
        switch (i->option) {
        case 0: result += x; break;
        case 1: result = less ? x : result; break;
        case 2: result = less ? result : x; break;
        case 5: result &= x; break;
        case 6: result |= x; break;
        default: result ^= x;
        }
    }
    EACH_LANE(lanes, d[l] = result;)
}

/* bar.warp.sync: nothing is left to do once the threads have come together. */
void run_together(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    (void)w, (void)i, (void)lanes;
}
