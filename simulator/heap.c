/* A heap: chunks, steps, and the index of live chunks. The laws are in heap.h; this file keeps them at every return. */
#include "heap.h"

#include "host.h"
#include "host_processes.h"

/* The index of live chunks has two parts. A table tells which chunk starts at an offset; most questions end there. For an offset inside a
 * chunk, a map of each step has a bit for each grain where one starts, and a bit for each word of bits, so the start before an offset is
 * found in a few instructions. */
struct start { size_t offset; struct chunk *chunk; };           /* chunk NULL: nothing here */

struct step_starts {
    uint64_t sums[STEP / GRAIN / 64 / 64];
    uint64_t bits[STEP / GRAIN / 64];
};

static struct chunk *spare;
static size_t slab = 64 * KiB;         /* what comes next: the more chunks there are, the more */

/* ---- bits ---- */

static bool bit_get(const uint64_t *bits, size_t i) { return bits[i / 64] >> i % 64 & 1; }
static void bit_set(uint64_t *bits, size_t i) { bits[i / 64] |= (uint64_t)1 << i % 64; }
static void bit_clear(uint64_t *bits, size_t i) { bits[i / 64] &= ~((uint64_t)1 << i % 64); }

/* ---- opening ---- */

static size_t steps_of(const struct heap *h) { return h->limit / h->step; }

void heap_init(struct heap *h, int device, size_t step, size_t limit)
{
    *h = (struct heap){ .device = device, .step = step, .limit = limit };
    size_t words = steps_of(h) / 64 + 1;
    h->mapped = host_allocate(words * sizeof *h->mapped);
    h->idle_owner = host_allocate(steps_of(h) * sizeof *h->idle_owner);
    h->idle = host_allocate(words * sizeof *h->idle);
    h->index = host_allocate(steps_of(h) * sizeof *h->index);
}

static void chunk_drop(struct chunk *c)
{
    c->next_spare = spare;
    spare = c;
}

static struct chunk *chunk_new(void)
{
    if (!spare) {
        struct chunk *fresh = host_slab(slab);
        for (size_t i = 0; i < slab / sizeof *fresh; i++) chunk_drop(&fresh[i]);
        if (slab < 4 * MiB) slab *= 2;
    }
    struct chunk *c = spare;
    spare = c->next_spare;
    *c = (struct chunk){ .live = false };
    return c;
}

size_t heap_shared_count;

bool heap_open(struct heap *h)
{
    if (h->base) return true;
    h->base = h->shared ? host_reserve_shared(h->limit) : h->file ? host_reserve_in_file(h->file, HEAP_FILE_HEAD, h->limit) : host_reserve(h->limit);
    if (!h->base) return false;
    heap_shared_count += h->shared;
    struct chunk *all = chunk_new();
    all->fit.bytes = h->limit;
    all->fit.age = ++h->ages;
    all->lane = COMMON;
    all->partial = true;
    h->first = all;
    fit_insert(&h->parts, &all->fit);
    return true;
}

void heap_close(struct heap *h)
{
    for (struct chunk *c = h->first, *next; c; c = next) {
        next = c->next;
        chunk_drop(c);
    }
    for (size_t x = 0; x < steps_of(h); x++) host_free(h->index[x]);
    if (h->starts) host_free_pages(h->starts, ((size_t)1 << h->starts_bits) * sizeof *h->starts);
    if (h->base) host_unreserve(h->base, h->limit);
    host_free(h->mapped);
    host_free(h->idle_owner);
    host_free(h->idle);
    host_free(h->index);
    host_free(h->lanes);
    host_free(h->lane_place);
    h->base = NULL;
}

/* ---- lists ---- */

struct fit_list *heap_lane(struct heap *h, uint32_t lane)
{
    if (lane >= h->known_lanes) {
        uint32_t wanted = lane + 8;
        h->lane_place = host_grow(h->lane_place, wanted * sizeof *h->lane_place);
        for (uint32_t i = h->known_lanes; i < wanted; i++) h->lane_place[i] = UINT32_MAX;
        h->known_lanes = wanted;
    }
    if (h->lane_place[lane] == UINT32_MAX) {
        h->lane_place[lane] = h->lane_count;
        h->lanes = host_grow(h->lanes, (h->lane_count + 1) * sizeof *h->lanes);
        h->lanes[h->lane_count++] = (struct lane_list){ { NULL }, lane };
    }
    return &h->lanes[h->lane_place[lane]].fits;
}

static struct fit_list *list_of(struct heap *h, const struct chunk *c)
{
    if (c->lane == COMMON) return c->partial ? &h->parts : &h->whole;
    return heap_lane(h, c->lane);
}

struct chunk *heap_best_common(const struct heap *h, size_t bytes, bool whole)
{
    struct fit *a = fit_best(&h->whole, bytes, UINT64_MAX);
    if (whole) return (struct chunk *)a;
    struct fit *b = fit_best(&h->parts, bytes, UINT64_MAX);
    if (!a || !b) return (struct chunk *)(a ? a : b);
    return (struct chunk *)(a->bytes < b->bytes || (a->bytes == b->bytes && a->age < b->age) ? a : b);
}

/* ---- steps ---- */

static size_t end_of(const struct chunk *c) { return c->offset + c->fit.bytes; }

size_t heap_missing(const struct heap *h, size_t offset, size_t bytes)
{
    size_t missing = 0, last = (offset + bytes - 1) / h->step;
    for (size_t x = offset / h->step; x <= last; x++) {
        if (x >= h->top) return missing + (last - x + 1);
        missing += !bit_get(h->mapped, x);
    }
    return missing;
}

bool heap_is_mapped(const struct heap *h, size_t offset, size_t bytes)
{
    return offset < h->limit && bytes <= h->limit - offset && (bytes == 0 || heap_missing(h, offset, bytes) == 0);
}

static bool is_partial(const struct heap *h, const struct chunk *c)
{
    return end_of(c) > h->top * h->step || heap_missing(h, c->offset, c->fit.bytes) != 0;
}

/* Puts a common chunk whose steps have changed into the right one of the two lists; its age stays. */
static void refile(struct heap *h, struct chunk *c)
{
    bool partial = is_partial(h, c);
    if (partial == c->partial) return;
    fit_remove(list_of(h, c), &c->fit);
    c->partial = partial;
    fit_insert(list_of(h, c), &c->fit);
}

static void own(struct heap *h, size_t x, struct chunk *c)
{
    h->idle_owner[x] = c;
    if (bit_get(h->idle, x) == (c != NULL)) return;
    h->idle[x / 64] ^= (uint64_t)1 << x % 64;
    h->idle_count += c ? 1 : SIZE_MAX;
}

/* Says again for the steps that touch [from, to) whether the common chunk `c` (NULL: nobody) has them to itself. */
static void set_owner(struct heap *h, struct chunk *c, size_t from, size_t to)
{
    size_t stop = (to + h->step - 1) / h->step;
    if (stop > h->top) stop = h->top;
    for (size_t x = from / h->step; x < stop; x++)
        own(h, x, c && bit_get(h->mapped, x) && x * h->step >= c->offset && (x + 1) * h->step <= end_of(c) ? c : NULL);
}

bool heap_back(struct heap *h, size_t end)
{
    return !h->file || h->foreign || host_file_grow(h->file, HEAP_FILE_HEAD + round_up(end, h->step));
}

void heap_map(struct heap *h, struct chunk *c, size_t bytes)
{
    size_t last = (c->offset + bytes - 1) / h->step;
    for (size_t x = c->offset / h->step; x <= last; x++) {
        if (bit_get(h->mapped, x)) continue;
        bit_set(h->mapped, x);
        if (h->shared) host_share(h->base + x * h->step, h->step, HOST_MAY_WRITE);
        h->mapped_count++;
        if (x >= h->top) h->top = x + 1;
    }
    set_owner(h, c, c->offset, c->offset + bytes);
    refile(h, c);
}

/* The idle steps among those that word w of the map tells of, outside [from, to). */
static uint64_t idle_outside(const struct heap *h, size_t w, size_t from, size_t to)
{
    uint64_t idle = h->idle[w];
    for (size_t x = from > w * 64 ? from : w * 64; x < to && x < (w + 1) * 64; x++) idle &= ~((uint64_t)1 << x % 64);
    return idle;
}

size_t heap_idle_step(const struct heap *h, bool highest, size_t from, size_t to)
{
    if (!h->idle_count) return SIZE_MAX;
    size_t words = (h->top + 63) / 64;
    for (size_t i = 0; i < words; i++) {
        size_t w = highest ? words - 1 - i : i;
        uint64_t idle = idle_outside(h, w, from, to);
        if (idle) return w * 64 + (size_t)(highest ? 63 - __builtin_clzll(idle) : __builtin_ctzll(idle));
    }
    return SIZE_MAX;
}

void heap_unmap(struct heap *h, size_t step)
{
    struct chunk *c = h->idle_owner[step];
    bit_clear(h->mapped, step);
    h->mapped_count--;
    own(h, step, NULL);
    if (h->file && !h->foreign) host_file_discard(h->file, HEAP_FILE_HEAD + step * h->step, h->step);
    else if (h->shared) host_discard_shared(heap_storage(h, step * h->step), h->step);
    else if (!h->file) host_discard(heap_storage(h, step * h->step), h->step);
    if (h->shared) host_share(h->base + step * h->step, h->step, HOST_MAY_NOTHING);
    refile(h, c);
}

/* ---- the index of live chunks ---- */

/* Where the table's search for an offset begins; the next places follow until one is empty. */
static size_t start_place(const struct heap *h, size_t offset)
{
    return (offset / GRAIN * 0x9E3779B97F4A7C15u) >> (64 - h->starts_bits);
}

static size_t next_place(const struct heap *h, size_t i) { return (i + 1) & (((size_t)1 << h->starts_bits) - 1); }

static void table_put(struct heap *h, struct chunk *c)
{
    size_t i = start_place(h, c->offset);
    while (h->starts[i].chunk) i = next_place(h, i);
    h->starts[i] = (struct start){ c->offset, c };
}

static void table_grow(struct heap *h)
{
    struct start *old = h->starts;
    size_t places = old ? (size_t)1 << h->starts_bits : 0;
    h->starts_bits = old ? h->starts_bits + 1 : 8;
    h->starts = host_slab(((size_t)1 << h->starts_bits) * sizeof *h->starts);
    for (size_t i = 0; i < places; i++)
        if (old[i].chunk) table_put(h, old[i].chunk);
    if (old) host_free_pages(old, places * sizeof *old);
}

/* Takes an entry out, and moves those behind it forward that would not be found across the gap. */
static void table_remove(struct heap *h, size_t offset)
{
    size_t gap = start_place(h, offset);
    while (h->starts[gap].offset != offset) gap = next_place(h, gap);
    for (size_t i = next_place(h, gap); h->starts[i].chunk; i = next_place(h, i)) {
        size_t home = start_place(h, h->starts[i].offset);
        if (gap <= i ? gap < home && home <= i : gap < home || home <= i) continue;
        h->starts[gap] = h->starts[i];
        gap = i;
    }
    h->starts[gap] = (struct start){ SIZE_MAX, NULL };
}

static struct chunk *chunk_at(const struct heap *h, size_t offset)
{
    for (size_t i = start_place(h, offset); h->starts[i].chunk; i = next_place(h, i)) {
        if (h->starts[i].offset != offset) continue;
        struct chunk *c = h->starts[i].chunk;          /* who asks will look at all of it: its lines come side by side */
        __builtin_prefetch(&c->fit);
        __builtin_prefetch(&c->watch);
        return c;
    }
    return NULL;
}

static void index_put(struct heap *h, struct chunk *c)
{
    size_t x = c->offset / h->step, grain = c->offset % h->step / GRAIN;
    if (!h->index[x]) h->index[x] = host_allocate(sizeof *h->index[x]);
    bit_set(h->index[x]->bits, grain);
    bit_set(h->index[x]->sums, grain / 64);
    if (++h->live_count * 2 > (h->starts ? (size_t)1 << h->starts_bits : 0)) table_grow(h);
    table_put(h, c);
}

static void index_remove(struct heap *h, struct chunk *c)
{
    size_t grain = c->offset % h->step / GRAIN;
    struct step_starts *s = h->index[c->offset / h->step];
    bit_clear(s->bits, grain);
    if (!s->bits[grain / 64]) bit_clear(s->sums, grain / 64);
    table_remove(h, c->offset);
    h->live_count--;
}

/* The last grain up to this one where a chunk starts; SIZE_MAX when there is none. */
static size_t last_start(const struct step_starts *s, size_t grain)
{
    uint64_t word = s->bits[grain / 64] & (UINT64_MAX >> (63 - grain % 64));
    size_t w = grain / 64;
    if (!word) {
        size_t i = w / 64;
        uint64_t sum = s->sums[i] & (((uint64_t)1 << w % 64) - 1);
        while (!sum && i) sum = s->sums[--i];
        if (!sum) return SIZE_MAX;
        w = i * 64 + 63 - (size_t)__builtin_clzll(sum);
        word = s->bits[w];
    }
    return w * 64 + 63 - (size_t)__builtin_clzll(word);
}

struct chunk *heap_find(const struct heap *h, size_t offset)
{
    if (!h->live_count || offset >= h->top * h->step) return NULL;
    struct chunk *c = offset % GRAIN ? NULL : chunk_at(h, offset);
    if (c) return c;
    size_t grain = offset % h->step / GRAIN, start = SIZE_MAX, x = offset / h->step;
    for (;; x--) {
        if (h->index[x]) start = last_start(h->index[x], grain);
        if (start != SIZE_MAX || !x) break;
        grain = h->step / GRAIN - 1;
    }
    if (start == SIZE_MAX) return NULL;
    c = chunk_at(h, x * h->step + start * GRAIN);
    return offset < end_of(c) ? c : NULL;
}

/* ---- chunks ---- */

static void unlink_chunk(struct heap *h, struct chunk *c)
{
    if (c->previous) c->previous->next = c->next;
    else h->first = c->next;
    if (c->next) c->next->previous = c->previous;
}

/* A new chunk in front of c. */
static struct chunk *link_before(struct heap *h, struct chunk *c)
{
    struct chunk *n = chunk_new();
    n->next = c;
    n->previous = c->previous;
    if (c->previous) c->previous->next = n;
    else h->first = n;
    c->previous = n;
    return n;
}

struct chunk *heap_take(struct heap *h, struct chunk *c, size_t bytes)
{
    struct chunk *taken = c;
    fit_remove(list_of(h, c), &c->fit);
    if (c->lane == COMMON) set_owner(h, NULL, c->offset, c->offset + bytes);
    if (c->fit.bytes > bytes) {        /* c stays as the rest, so that the steps it owns still point to it */
        taken = link_before(h, c);
        taken->offset = c->offset;
        taken->fit.bytes = bytes;
        c->offset += bytes;
        c->fit.bytes -= bytes;
        c->fit.age = ++h->ages;
        if (c->lane == COMMON) c->partial = is_partial(h, c);
        fit_insert(list_of(h, c), &c->fit);
    }
    taken->live = true;
    index_put(h, taken);
    return taken;
}

/* Puts a free chunk that is in no list into one, and makes it one with its neighbours there. */
static void insert_free(struct heap *h, struct chunk *c, uint32_t lane, uint64_t mark)
{
    struct chunk *left = c->previous, *right = c->next, *whole = c;
    if (left && (left->live || left->lane != lane)) left = NULL;
    if (right && (right->live || right->lane != lane)) right = NULL;
    size_t from = left ? left->offset : c->offset, to = right ? end_of(right) : end_of(c);
    size_t changed_from = from, changed_to = to;
    if (left) {
        fit_remove(list_of(h, left), &left->fit);
        if (left->fit.mark > mark) mark = left->fit.mark;
    }
    if (right) {
        fit_remove(list_of(h, right), &right->fit);
        if (right->fit.mark > mark) mark = right->fit.mark;
    }
    /* the larger neighbour lives on: it may own many steps */
    if (left && (!right || left->fit.bytes >= right->fit.bytes)) {
        whole = left;
        changed_from = c->offset;
    } else if (right) {
        whole = right;
        changed_to = end_of(c);
    }
    struct chunk *parts[3] = { left, c, right };
    for (int i = 0; i < 3; i++)
        if (parts[i] && parts[i] != whole) {
            unlink_chunk(h, parts[i]);
            chunk_drop(parts[i]);
        }
    whole->offset = from;
    whole->fit.bytes = to - from;
    whole->fit.mark = mark;
    whole->fit.age = ++h->ages;
    whole->lane = lane;
    whole->live = false;
    if (lane == COMMON) {
        whole->partial = is_partial(h, whole);
        set_owner(h, whole, changed_from, changed_to);
    }
    fit_insert(list_of(h, whole), &whole->fit);
}

void heap_put(struct heap *h, struct chunk *c, uint32_t lane, uint64_t mark)
{
    if (c->previous) __builtin_prefetch(&c->previous->offset);         /* they are needed soon, and lie anywhere */
    if (c->next) __builtin_prefetch(&c->next->offset);
    index_remove(h, c);
    c->live = false;
    insert_free(h, c, lane, mark);
}

struct chunk *heap_take_at(struct heap *h, size_t offset, size_t bytes)
{
    struct chunk *c = h->first, *before = NULL;
    while (c && end_of(c) <= offset) c = c->next;
    if (!c || c->live || end_of(c) < offset + bytes) return NULL;
    size_t skip = offset - c->offset;
    heap_map(h, c, skip + bytes);
    if (skip) {
        before = heap_take(h, c, skip);
        c = before->next;
    }
    struct chunk *taken = heap_take(h, c, bytes);
    if (before) heap_put(h, before, COMMON, 0);
    return taken;
}

void heap_make_common(struct heap *h, struct chunk *c)
{
    fit_remove(list_of(h, c), &c->fit);
    insert_free(h, c, COMMON, 0);
}

/* ---- the laws ---- */

/* How many chunks are in lists whose own laws hold; SIZE_MAX when one's do not. */
static size_t count_listed(const struct heap *h)
{
    size_t whole = fit_count_valid(&h->whole), parts = fit_count_valid(&h->parts), sum = whole + parts;
    if (whole == SIZE_MAX || parts == SIZE_MAX) return SIZE_MAX;
    for (uint32_t i = 0; i < h->lane_count; i++) {
        size_t n = fit_count_valid(&h->lanes[i].fits);
        if (n == SIZE_MAX) return SIZE_MAX;
        sum += n;
    }
    return sum;
}

const char *heap_is_valid(const struct heap *h)
{
    size_t at = 0, live = 0, mapped = 0, idle = 0, chunks = 0;
    if (!h->base) return h->first ? "a closed heap has chunks" : NULL;
    for (size_t x = 0; x < steps_of(h); x++) {
        if (bit_get(h->mapped, x) && x >= h->top) return "a mapped step lies beyond the top";
        mapped += bit_get(h->mapped, x);
        if (!bit_get(h->mapped, x) && h->idle_owner[x]) return "an unmapped step has an owner";
        if (bit_get(h->idle, x) != (h->idle_owner[x] != NULL)) return "the map of idle steps does not match their owners";
        idle += bit_get(h->idle, x);
    }
    if (idle != h->idle_count) return "the count of idle steps is wrong";
    if (mapped != h->mapped_count) return "the count of mapped steps is wrong";
    for (struct chunk *c = h->first; c; c = c->next) {
        size_t last = (end_of(c) - 1) / h->step;
        if (c->offset != at || !c->fit.bytes) return "chunks leave a gap or overlap";
        if (c->next && c->next->previous != c) return "the list of chunks is broken";
        if (c->next && !c->live && !c->next->live && c->lane == c->next->lane) return "two neighbours in one list are not one chunk";
        if (c->live != (heap_find(h, c->offset) == c) || c->live != (heap_find(h, end_of(c) - 1) == c)) return "the index does not match the live chunks";
        bool common = !c->live && c->lane == COMMON;
        if (!common && heap_missing(h, c->offset, c->fit.bytes)) return "a chunk that is not common lies on an unmapped step";
        if (common && c->partial != is_partial(h, c)) return "a common chunk is in the wrong list";
        for (size_t x = c->offset / h->step; x <= last && x < h->top; x++) {
            bool alone = common && x * h->step >= c->offset && (x + 1) * h->step <= end_of(c);
            if (alone && h->idle_owner[x] != (bit_get(h->mapped, x) ? c : NULL)) return "an idle step has the wrong owner";
            if (!alone && h->idle_owner[x]) return "a step in use has an owner";
            if (!alone && !bit_get(h->mapped, x)) return "an unmapped step is not alone in a common chunk";
        }
        live += c->live;
        chunks++;
        at = end_of(c);
    }
    if (at != h->limit) return "chunks do not reach the end of the range";
    if (count_listed(h) != chunks - live) return "the lists of free chunks are out of order, or lack one";
    return live == h->live_count ? NULL : "the count of live chunks is wrong";
}
