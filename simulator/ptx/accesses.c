/* Loads, stores, and atomic operations. Each sets a bit in a window for every byte that it touches.
 * Most warps touch one row of memory, in which each thread's bytes follow the previous thread's; a
 * row is handled as a whole.
 *
 * Invariant: window.first <= window.last for each kind with a bit set, and all set bits are in
 * those words. */
#include <string.h>

#include "os/os.h"
#include "ptx/device_notes.h"
#include "ptx/half.h"
#include "ptx/shared_notes.h"
#include "ptx/texture.h"
#include "ptx/touched.h"

/* ---- recording touches ---- */

static uint64_t *bits_of(const struct window *win, struct touched *t)
{
    if (!t->bits)
        touched_begin(win, t);
    return t->bits;
}

static INLINE void touch(struct window *win, struct touched *t, uint64_t address, size_t bytes)
{
    uint64_t *bits = t->bits ? t->bits : bits_of(win, t);
    const size_t from = address - win->base, to = from + bytes - 1;
    const size_t first = from / 64, last = to / 64;
    const uint64_t head = ~(uint64_t)0 << from % 64, tail = ~(uint64_t)0 >> (63 - to % 64);
    touched_add(t, first, last);
    if (first == last) {
        bits[first] |= head & tail;
        return;
    }
    bits[first] |= head;
    for (size_t n = first + 1; n < last; n++)
        bits[n] = ~(uint64_t)0;
    bits[last] |= tail;
}

static INLINE struct touched *touched_of(struct window *win, enum access_kind kind)
{
    return win->by_block        ? &win->of_block[kind]
         : kind == ACCESS_READ  ? &win->read
         : kind == ACCESS_WRITE ? &win->written
                                : &win->atomic;
}

/* Returns which of 64 bytes other blocks have written. */
static INLINE uint64_t written_by_others(const struct window *win, size_t word)
{
    uint64_t bits = win->written.bits ? win->written.bits[word] : 0;
    for (win = win->before; win; win = win->before)
        bits |= win->written.bits ? win->written.bits[word] : 0;
    return bits;
}

/* Has another block written any of these bytes? */
static INLINE bool was_written(const struct window *win, uint64_t address, size_t bytes)
{
    const size_t from = address - win->base, end = from + bytes;
    const bool any = win->by_block && (win->written.bits || win->before);
    uint64_t both = 0;
    for (size_t n = from / 64; any && n <= (end - 1) / 64; n++)
        both |= written_by_others(win, n) & bits_in(n, from, end);
    return both;
}

/* ---- finding bytes ---- */

static bool is_in(const struct window *win, uint64_t address, size_t bytes)
{
    return win && address >= win->base && address < win->end && bytes <= win->end - address;
}

/* Returns a known window that contains all of [address, address + bytes), or NULL. */
static INLINE struct window *known_window(struct launch *launch, uint64_t address, size_t bytes)
{
    if (is_in(launch->last, address, bytes))
        return launch->last;
    for (size_t n = launch->first_window; n < launch->window_count; n++)
        if (is_in(launch->windows[n], address, bytes))
            return launch->last = launch->windows[n];
    return NULL;
}

/* Returns the window of these bytes, or NULL after a fault. */
static struct window *find_window(struct warp *w, const struct instruction *i, unsigned l,
                                  uint64_t address, size_t bytes, bool write)
{
    struct launch *launch = w->launch;
    struct window *win = known_window(launch, address, bytes);
    if (win)
        return win;
    win = launch->cores ? cores_find(launch, address, bytes, write)
                        : launch->memory->find(launch->memory->context, address, bytes, write);
    if (!win) {
        warp_fault(w, l, FAULT_ADDRESS, address, bytes, write);
        return NULL;
    }
    win->by_block = launch->by_block;
    for (size_t n = 0; n < launch->first_window && !win->first.instruction; n++)
        if (launch->windows[n]->base == win->base)
            win->before = launch->windows[n];
    if (!win->first.instruction) {
        win->first = warp_place(w, l, i);
        win->first.address = address;
        win->first.bytes = bytes;
        win->first.write = write;
    }
    *OS_ADD(launch->windows, launch->window_count) = win;
    return launch->last = win;
}

void launch_forget(struct launch *launch, uint64_t base)
{
    launch->last = NULL;
    for (size_t n = launch->first_window; n < launch->window_count; n++)
        if (launch->windows[n]->base == base)
            launch->windows[n--] = launch->windows[--launch->window_count];
}

static bool is_load(const struct instruction *i)
{
    return i->run == run_load || i->run == run_load_volatile;
}

static bool is_store(const struct instruction *i)
{
    return i->run == run_store || i->run == run_store_volatile || i->run == run_surface_store;
}

/* May bytes of the window lack a value, or a register of the frame hold a copy of such bytes? */
static INLINE bool has_values(const struct warp *w, const struct window *win)
{
    return win->pieces || win->carried.bits || w->frame->carried;
}

/* Notes a thread's access to device memory, and its use of bytes without a value. */
static void note_thread(struct warp *w, const struct instruction *i, unsigned l, struct window *win,
                        uint64_t address, size_t bytes, enum access_kind kind)
{
    uint64_t at[WARP_SIZE];
    at[l] = address;
    if (w->launch->is_noted)
        device_note(w, i, 1u << l, win, at, bytes, kind);
    if (!has_values(w, win))
        return;
    if (kind == ACCESS_WRITE && is_store(i))
        values_stored(w, i, 1u << l, win, at);
    else if (kind == ACCESS_READ && is_load(i))
        values_loaded(w, i, 1u << l, win, at);
    else if (kind == ACCESS_ATOMIC)
        values_changed(w, i, 1u << l, win, at);
    else if (kind == ACCESS_READ)
        values_read(w, i, 1u << l, win, at, bytes);
}

/* Does the thread store the value that another block has already written there? */
static bool leaves_as_is(const struct warp *w, const struct instruction *i, unsigned l,
                         const struct window *win, uint64_t address, size_t bytes)
{
    const size_t from = address - win->base;
    if (!is_store(i))
        return false;
    for (size_t n = from; n < from + bytes; n++)
        if (!(written_by_others(win, n / 64) >> n % 64 & 1))
            return false;
    for (unsigned n = 0; n < i->count; n++)
        if (memcmp(win->storage + from + (size_t)n * i->bytes, stored_value(w, i, n, l), i->bytes))
            return false;
    return true;
}

/* Saves the bytes that a thread is about to change, if several cores run the launch. */
static INLINE void save(struct warp *w, struct window *win, uint64_t address, size_t bytes)
{
    if (win->saved)
        cores_save(w->launch, win, address, bytes);
}

/* Returns the bytes that thread l touches in device memory, or NULL. */
static INLINE char *global_bytes(struct warp *w, const struct instruction *i, unsigned l,
                                 uint64_t address, size_t bytes, enum access_kind kind)
{
    if (w->launch->watch)
        return between_bytes(w, i, l, address, bytes, kind);
    struct window *win = w->launch->last;
    if (!is_in(win, address, bytes)
        && !(win = find_window(w, i, l, address, bytes, kind != ACCESS_READ)))
        return NULL;
    if (w->launch->is_noted || has_values(w, win))
        note_thread(w, i, l, win, address, bytes, kind);
    if (w->frame->tainted && kind == ACCESS_WRITE && is_store(i))
        values_tainted_stored(w, i, 1u << l);
    if (kind != ACCESS_READ)
        save(w, win, address, bytes);
    if (kind != ACCESS_WRITE || !win->by_block || !leaves_as_is(w, i, l, win, address, bytes))
        touch(win, touched_of(win, kind), address, bytes);
    return win->storage + (address - win->base);
}

static char *shared_bytes(struct warp *w, const struct instruction *i, unsigned l, uint64_t address,
                          size_t bytes, enum access_kind kind)
{
    uint64_t at[WARP_SIZE];
    if (address > w->launch->shared_bytes || bytes > w->launch->shared_bytes - address) {
        warp_fault(w, l, FAULT_SHARED_ADDRESS, address, bytes, kind != ACCESS_READ);
        return NULL;
    }
    at[l] = address;
    if (w->block->notes)
        shared_note(w, i, 1u << l, at, bytes, kind);
    if (w->frame->carried && is_store(i))
        values_staged(w, i, 1u << l);
    return w->block->shared + address;
}

static char *local_bytes(struct warp *w, unsigned l, uint64_t address, size_t bytes, bool write)
{
    if (address <= w->local_bytes && bytes <= w->local_bytes - address)
        return w->local + l * w->local_bytes + address;
    warp_fault(w, l, FAULT_LOCAL_ADDRESS, address, bytes, write);
    return NULL;
}

static char *parameter_bytes(struct warp *w, unsigned l, uint64_t address, size_t bytes)
{
    const struct launch_shape *shape = w->launch->shape;
    if (address <= shape->parameter_bytes && bytes <= shape->parameter_bytes - address)
        return (char *)shape->parameters + address;
    warp_fault(w, l, FAULT_LOCAL_ADDRESS, address, bytes, false);
    return NULL;
}

/* A generic address outside of device memory contains its space. */
char *warp_bytes(struct warp *w, const struct instruction *i, unsigned l, uint64_t address,
                 size_t bytes, enum access_kind kind)
{
    unsigned space = i->space;
    if (address & (bytes - 1) && address % bytes) {
        warp_fault(w, l, FAULT_MISALIGNED, address, bytes, kind != ACCESS_READ);
        return NULL;
    }
    uint64_t window = address & WINDOW_MASK;
    if (space == SPACE_GENERIC)
        space = window == SHARED_WINDOW ? SPACE_SHARED
              : window == LOCAL_WINDOW  ? SPACE_LOCAL
              : window == PARAM_WINDOW  ? SPACE_PARAM
                                        : SPACE_GLOBAL;
    switch (space) {
    case SPACE_SHARED: return shared_bytes(w, i, l, address & ~WINDOW_MASK, bytes, kind);
    case SPACE_LOCAL: return local_bytes(w, l, address & ~WINDOW_MASK, bytes, kind != ACCESS_READ);
    case SPACE_PARAM: return parameter_bytes(w, l, address & ~WINDOW_MASK, bytes);
    case SPACE_GLOBAL:
        if (window == GRID_WINDOW && (address & ~WINDOW_MASK) + bytes <= sizeof(uint32_t[2])) {
            w->block->is_at_grid = true;
            if (kind == ACCESS_ATOMIC && w->launch->is_noted)
                device_meet_grid(w->block);
            return (char *)w->launch->workspace + (address & ~WINDOW_MASK);
        }
        return global_bytes(w, i, l, address, bytes, kind);
    default: return global_bytes(w, i, l, address, bytes, kind);
    }
}

/* ---- addresses ---- */

/* The limit keeps the addresses from wrapping around, so that the last is not below the first. */
#define STRIDE_MAX ((uint64_t)1 << 32)

/* Are the values `stride` apart in each row of `columns` threads? */
#define ARE_ROWS(element, several, r, columns, stride)                                     \
    enum { ONCE = sizeof(several) / sizeof(element) };                                     \
    several difference = {0}, expected = {0}, steps;                                       \
    for (unsigned n = 0; n < ONCE; n++)                                                    \
        steps[n] = (element)(n * (stride));                                                \
    _Pragma("GCC unroll 8") for (unsigned l = 0; l < WARP_SIZE; l += ONCE)                 \
    {                                                                                      \
        expected = l % (columns) ? expected + (element)(ONCE * (stride)) : steps + (r)[l]; \
        difference |= *(const several *)((r) + l) ^ expected;                              \
    }                                                                                      \
    element any = 0;                                                                       \
    for (unsigned n = 0; n < ONCE; n++)                                                    \
        any |= difference[n];                                                              \
    return !any;
static INLINE bool are_rows_u64(const lane_u64 *r, unsigned columns, uint64_t stride)
{
    ARE_ROWS(uint64_t, four, r, columns, stride)
}
static INLINE bool are_rows_u32(const lane_u32 *r, unsigned columns, uint32_t stride)
{
    ARE_ROWS(uint32_t, eight, r, columns, stride)
}

struct address_register {
    const char *at;
    bool is_narrow;
    uint64_t offset;
};

static INLINE uint64_t address_in(const struct address_register *r, unsigned l)
{
    return r->is_narrow ? ((const lane_u32 *)r->at)[l] + (uint32_t)r->offset
                        : ((const lane_u64 *)r->at)[l] + r->offset;
}

static INLINE bool are_rows(const struct address_register *r, unsigned columns, uint64_t stride)
{
    return r->is_narrow ? are_rows_u32((const lane_u32 *)r->at, columns, (uint32_t)stride)
                        : are_rows_u64((const lane_u64 *)r->at, columns, stride);
}

/* Finds the rows of these threads, if any, in a block of `columns` columns. */
static INLINE void find_rows(struct addresses *a, const struct address_register *r, uint32_t lanes,
                             unsigned columns)
{
    const uint64_t limit = r->is_narrow ? UINT32_MAX : UINT64_MAX;
    bool is_row = true;
    a->first = lanes == ALL_LANES ? 0 : (unsigned)__builtin_ctz(lanes);
    a->count = lanes == ALL_LANES ? WARP_SIZE : (unsigned)__builtin_popcount(lanes);
    a->rows = 0;
    a->begin[0] = address_in(r, a->first);
    a->stride = a->count > 1 ? address_in(r, a->first + 1) - a->begin[0] : 0;
    if (r->is_narrow)
        a->stride = (uint32_t)a->stride;
    if (a->stride > STRIDE_MAX)
        return;
    if (lanes != ALL_LANES) {
        const uint32_t row = lanes >> a->first;
        is_row = !(row & (row + 1));
        for (unsigned l = 1; l < a->count && is_row; l++)
            is_row = address_in(r, a->first + l) == a->begin[0] + l * a->stride;
    } else if (columns == WARP_SIZE / 2) {
        is_row = are_rows(r, a->count = WARP_SIZE / 2, a->stride);
    } else if (columns == WARP_SIZE / 4) {
        is_row = are_rows(r, a->count = WARP_SIZE / 4, a->stride);
    } else {
        is_row = are_rows(r, WARP_SIZE, a->stride);
    }
    if (!is_row)
        return;
    a->rows = lanes == ALL_LANES ? WARP_SIZE / a->count : 1;
    const uint64_t length = a->stride * (a->count - 1);
    if (a->rows == 1) {
        a->rows = length <= limit - a->begin[0];
        return;
    }
    bool is_one = true;
    for (unsigned k = 0; k < a->rows; k++) {
        a->begin[k] = address_in(r, a->first + k * a->count);
        is_row &= length <= limit - a->begin[k];
        is_one &= a->begin[k] == a->begin[0] + k * (length + a->stride);
    }
    if (is_one) {
        a->count *= a->rows;
        a->rows = 1;
    }
    if (!is_row)
        a->rows = 0;
}

static INLINE void read_addresses(struct addresses *a, const struct address_register *r,
                                  uint32_t lanes, unsigned columns)
{
    find_rows(a, r, lanes, columns);
    if (a->rows)
        return;
    const uint64_t begin = a->begin[0];
    AT_ONCE for (unsigned l = 0; l < WARP_SIZE; l++) a->at[l] = address_in(r, l);
    if (lanes != ALL_LANES)
        for (unsigned l = 0; l < WARP_SIZE; l++)
            a->at[l] = begin ^ ((begin ^ a->at[l]) & (0 - (uint64_t)(lanes >> l & 1)));
}

static HOT const uint64_t *each_address(struct addresses *a);

/* Returns the address of the warp's first thread, from the instruction's sequence. */
static INLINE uint64_t line_address(const struct warp *w, const struct instruction *i)
{
    const struct steps *l = &w->block->lines[i->sequence];
    return l->begin + l->step * WARP_SIZE * w->index + (uint64_t)i->immediate;
}

/* Takes the addresses from the sequence. */
static void take_line(const struct warp *w, const struct instruction *i, uint32_t lanes,
                      struct addresses *a)
{
    const uint64_t step = w->block->lines[i->sequence].step, first = line_address(w, i);
    const uint32_t row = lanes >> __builtin_ctz(lanes);
    a->rows = a->count = 1;
    a->first = 0;
    a->begin[0] = first;
    a->stride = step;
    each_address(a);
    a->first = (unsigned)__builtin_ctz(lanes);
    a->count = (unsigned)__builtin_popcount(lanes);
    a->begin[0] = a->at[a->first];
    a->rows = step <= STRIDE_MAX && !(row & (row + 1))
           && step * (a->count - 1) <= UINT64_MAX - a->begin[0];
    for (uint32_t others = ~lanes; others && !a->rows; others &= others - 1)
        a->at[__builtin_ctz(others)] = a->begin[0];
}

/* Reads the addresses from operand `n`. */
static INLINE void addresses_of(const struct warp *w, const struct instruction *i, unsigned n,
                                uint32_t lanes, struct addresses *a)
{
    if (i->sequence && w->block->has_lines) {
        take_line(w, i, lanes, a);
        return;
    }
    const struct address_register r = {w->registers + i->r[n], i->wide & 128,
                                       (uint64_t)i->immediate};
    read_addresses(a, &r, lanes, w->launch->shape->block.x);
}

/* Returns the address of each thread. */
static HOT const uint64_t *each_address(struct addresses *a)
{
    if (a->rows == 1)
        for (unsigned l = 0; l < WARP_SIZE; l++)
            a->at[l] = a->begin[0] + (uint64_t)((int64_t)l - (int64_t)a->first) * a->stride;
    else if (a->rows)
        for (unsigned l = 0; l < WARP_SIZE; l += WARP_SIZE / 4)
            for (unsigned k = 0; k < WARP_SIZE / 4; k++)
                a->at[l + k] = a->begin[l / a->count] + (l % a->count + k) * a->stride;
    return a->at;
}

/* What the threads touch in the common case: one window or shared memory, with each address a
 * multiple of the size. */
struct region {
    /* The bytes of an address are at `base` + address. */
    char *base;
    /* NULL: shared memory. */
    struct window *window;
    uint64_t least, end;
};

/* Do the accesses of each row leave no gap between its first byte and its last? */
static INLINE bool is_dense(const struct addresses *a, size_t bytes)
{
    return a->rows && (a->stride == bytes || !a->stride);
}

static INLINE size_t row_bytes(const struct addresses *a, size_t bytes)
{
    return a->stride * (a->count - 1) + bytes;
}

/* Finds the lowest address, the end of the bytes, and the bitwise or of all addresses. Returns
 * false if an address has its top bit set, because no memory is there. */
static INLINE bool find_span(const struct addresses *a, size_t bytes, struct region *r,
                             uint64_t *together)
{
    int64_t least = (int64_t)a->begin[0], most = least;
    uint64_t bits = a->rows ? a->begin[0] | a->stride : 0;
    for (unsigned k = 1; k < a->rows; k++) {
        const int64_t at = (int64_t)a->begin[k];
        least = at < least ? at : least;
        most = at > most ? at : most;
        bits |= a->begin[k];
    }
    if (!a->rows)
        for (unsigned l = 0; l < WARP_SIZE; l++) {
            const int64_t at = (int64_t)a->at[l];
            least = at < least ? at : least;
            most = at > most ? at : most;
            bits |= a->at[l];
        }
    r->least = (uint64_t)least;
    r->end = (uint64_t)most + (a->rows ? row_bytes(a, bytes) : bytes);
    *together = bits;
    return least >= 0;
}

/* Turns generic addresses of shared memory into addresses in it. */
static INLINE void leave_window(struct addresses *a, uint64_t window)
{
    a->begin[0] -= window;
    for (unsigned k = 1; k < a->rows; k++)
        a->begin[k] -= window;
    for (unsigned l = 0; l < WARP_SIZE && !a->rows; l++)
        a->at[l] -= window;
}

static INLINE bool find_region(struct warp *w, const struct instruction *i, struct addresses *a,
                               size_t bytes, struct region *r)
{
    uint64_t together;
    if (i->space == SPACE_LOCAL || i->space == SPACE_PARAM || (bytes & (bytes - 1))
        || !find_span(a, bytes, r, &together))
        return false;
    if (together & (bytes - 1) || (r->least ^ (r->end - 1)) & WINDOW_MASK)
        return false;
    const uint64_t window = r->least & WINDOW_MASK;
    if (i->space == SPACE_SHARED || (i->space == SPACE_GENERIC && window == SHARED_WINDOW)) {
        r->window = NULL;
        r->base = w->block->shared;
        if (r->end - window > w->launch->shared_bytes)
            return false;
        if (window)
            leave_window(a, window);
        return true;
    }
    r->window = known_window(w->launch, r->least, r->end - r->least);
    if (!r->window || w->launch->watch)
        return false;
    r->base = r->window->storage - r->window->base;
    return true;
}

/* Marks each thread's bytes in this window, whose words are aligned like memory's. */
static INLINE void touch_each(struct window *win, struct touched *t, uint32_t lanes,
                              const struct region *r, const uint64_t *at, size_t bytes)
{
    uint64_t *bits = t->bits ? t->bits : bits_of(win, t), set = 0;
    const uint64_t base = win->base, mask = ((uint64_t)1 << bytes) - 1;
    const size_t first = (r->least - base) / 64, last = (r->end - 1 - base) / 64;
    size_t word = first;
    touched_add(t, first, first);
    touched_add(t, last, last);
    FOR_LANES (l, lanes) {
        const uint64_t from = at[l] - base;
        if (from / 64 != word) {
            bits[word] |= set;
            set = 0;
            word = from / 64;
            uint64_t *units = &t->units[word / UNIT / 64], unit = (uint64_t)1 << word / UNIT % 64;
            if (!(*units & unit))
                *units |= unit;
        }
        set |= mask << from % 64;
    }
    bits[word] |= set;
}

/* Saves the bytes that the threads are about to change, if several cores run the launch. */
static INLINE void save_region(struct warp *w, const struct region *r, uint32_t lanes,
                               struct addresses *a, size_t bytes)
{
    if (!r->window || !r->window->saved)
        return;
    if (is_dense(a, bytes)) {
        for (unsigned k = 0; k < a->rows; k++)
            cores_save(w->launch, r->window, a->begin[k], row_bytes(a, bytes));
        return;
    }
    const uint64_t *at = each_address(a);
    FOR_LANES (l, lanes)
        cores_save(w->launch, r->window, at[l], bytes);
}

/* Has all of the region been touched already? For a histogram, this is soon true. */
static INLINE bool is_touched(const struct region *r, const struct touched *t)
{
    const size_t from = r->least - r->window->base, to = r->end - 1 - r->window->base;
    const size_t first = from / 64, last = to / 64;
    if (!t->bits || last - first >= WARP_SIZE)
        return false;
    uint64_t without = ~t->bits[first] & ~(uint64_t)0 << from % 64;
    for (size_t n = first + 1; n < last; n++)
        without |= ~t->bits[n];
    if (first != last)
        without |= ~t->bits[last] & ~(uint64_t)0 >> (63 - to % 64);
    return !(first == last ? without & ~(uint64_t)0 >> (63 - to % 64) : without);
}

/* Notes what the threads are about to do to device memory. */
static INLINE void note_device(struct warp *w, const struct instruction *i, uint32_t lanes,
                               struct addresses *a, const struct region *r, size_t bytes,
                               enum access_kind kind)
{
    if (w->launch->is_noted && r->window)
        device_note(w, i, lanes, r->window, each_address(a), bytes, kind);
}

/* Marks the region's bytes as touched. */
static INLINE void touch_region(const struct region *r, enum access_kind kind, uint32_t lanes,
                                struct addresses *a, size_t bytes)
{
    if (!r->window)
        return;
    struct touched *t = touched_of(r->window, kind);
    if (is_dense(a, bytes)) {
        for (unsigned k = 0; k < a->rows; k++)
            touch(r->window, t, a->begin[k], row_bytes(a, bytes));
        return;
    }
    const uint64_t *at = each_address(a);
    if (bytes < 64 && !(r->window->base % 64)) {
        touch_each(r->window, t, lanes, r, at, bytes);
        return;
    }
    FOR_LANES (l, lanes)
        touch(r->window, t, at[l], bytes);
}

/* Do all bytes at `address` have a value? */
static INLINE bool have_values(const struct window *win, uint64_t address, size_t bytes)
{
    const size_t from = address - win->base, end = from + bytes;
    uint64_t without = 0;
    for (size_t n = from / 64; n <= (end - 1) / 64; n++)
        without |= ~window_values(win, n) & bits_in(n, from, end);
    return !without;
}

/* Do all bytes that the threads touch have a value? */
static INLINE bool region_has_values(const struct region *r, uint32_t lanes, struct addresses *a,
                                     size_t bytes)
{
    bool all = true;
    if (is_dense(a, bytes)) {
        for (unsigned k = 0; k < a->rows; k++)
            all &= have_values(r->window, a->begin[k], row_bytes(a, bytes));
        return all;
    }
    const uint64_t *at = each_address(a);
    for (uint32_t rest = lanes; all && rest; rest &= rest - 1)
        all = have_values(r->window, at[__builtin_ctz(rest)], bytes);
    return all;
}

HOT const char *warp_known_bytes(struct warp *w, const struct instruction *i, uint32_t lanes,
                                 const uint64_t *at, size_t bytes)
{
    struct addresses a;
    struct region region;
    read_addresses(&a, &(struct address_register){(const char *)at, false, 0}, lanes,
                   w->launch->shape->block.x);
    if (!find_region(w, i, &a, bytes, &region) || region.window->base % 64)
        return NULL;
    if (has_values(w, region.window) && !region_has_values(&region, lanes, &a, bytes))
        return NULL;
    note_device(w, i, lanes, &a, &region, bytes, ACCESS_READ);
    touch_region(&region, ACCESS_READ, lanes, &a, bytes);
    return region.base;
}

/* ---- the usual case: all threads side by side in device memory ---- */

/* Returns the bytes at `begin`, of which each thread touches the next `each`, and marks them as
 * touched. Returns NULL and does nothing if they are not in a known window or need other notes. */
static INLINE char *touch_range(struct warp *w, uint64_t begin, size_t each, size_t bytes,
                                enum access_kind kind)
{
    struct window *win = known_window(w->launch, begin, bytes);
    if (!win || begin & (each - 1) || w->launch->is_looked_at || win->carried.bits
        || w->frame->carried)
        return NULL;
    if (kind == ACCESS_READ && win->pieces)
        return NULL;
    if (kind == ACCESS_WRITE) {
        if (w->frame->tainted || was_written(win, begin, bytes))
            return NULL;
        save(w, win, begin, bytes);
    }
    touch(win, touched_of(win, kind), begin, bytes);
    return win->storage + (begin - win->base);
}

/* Does the same for all threads of a warp if they touch one row. Operand `n` is the address. */
static INLINE char *touch_row(struct warp *w, const struct instruction *i, unsigned n,
                              uint32_t lanes, enum access_kind kind)
{
    const size_t each = (size_t)i->bytes * i->count, bytes = each * WARP_SIZE;
    const lane_u64 *r = (const lane_u64 *)(w->registers + i->r[n]);
    const bool is_line = i->sequence && w->block->has_lines;
    if (lanes != ALL_LANES || !i->is_of_row)
        return NULL;
    if (is_line ? w->block->lines[i->sequence].step != each
                : r[WARP_SIZE - 1] - r[0] != bytes - each || !are_rows_u64(r, WARP_SIZE, each))
        return NULL;
    return touch_range(w, is_line ? line_address(w, i) : r[0] + (uint64_t)i->immediate, each, bytes,
                       kind);
}

static INLINE void note_shared(struct warp *w, const struct instruction *i, uint32_t lanes,
                               struct addresses *a, size_t bytes, enum access_kind kind)
{
    if (!is_dense(a, bytes) || !shared_note_rows(w, i, a, bytes, kind))
        shared_note(w, i, lanes, each_address(a), bytes, kind);
}

/* ---- loads ---- */

/* Extends the element at `from` to the width of the register. */
static INLINE uint64_t element(const struct instruction *i, const char *from)
{
    switch (i->bytes) {
    case 1: return i->is_signed ? (uint64_t) * (const lane_s8 *)from : *(const lane_u8 *)from;
    case 2: return i->is_signed ? (uint64_t) * (const lane_s16 *)from : *(const lane_u16 *)from;
    case 4: return i->is_signed ? (uint64_t) * (const lane_s32 *)from : *(const lane_u32 *)from;
    default: return *(const lane_u64 *)from;
    }
}

static INLINE void set_lanes(char *d, const struct instruction *i, uint32_t lanes, uint64_t value)
{
    const uint32_t low = (uint32_t)value;
    if (i->wide & 1) {
        EACH_LANE(lanes, ((lane_u64 *)d)[l] = value;)
    } else {
        EACH_LANE(lanes, ((lane_u32 *)d)[l] = low;)
    }
}

static INLINE bool is_plain(const struct instruction *i)
{
    return i->bytes == (i->wide & 1 ? 8 : 4);
}

/* Loads an element for each thread: where AT says, or one after the other. */
#define SCATTERED(type) at[l]
#define IN_A_ROW(type)  (size_t) l * sizeof(type)
#define LOAD_EACH(to, from, AT) \
    EACH_LANE(lanes, ((to *)d)[l] = (to) * (const from *)(base + (AT(from)));)
#define LOAD_AS(unsigned_type, signed_type, AT) \
    if (i->wide & 1 && i->is_signed) {          \
        LOAD_EACH(lane_s64, signed_type, AT)    \
    } else if (i->wide & 1) {                   \
        LOAD_EACH(lane_u64, unsigned_type, AT)  \
    } else if (i->is_signed) {                  \
        LOAD_EACH(lane_s32, signed_type, AT)    \
    } else {                                    \
        LOAD_EACH(lane_u32, unsigned_type, AT)  \
    }
#define LOAD_ELEMENTS(AT)                          \
    switch (i->bytes) {                            \
    case 1: LOAD_AS(lane_u8, lane_s8, AT) break;   \
    case 2: LOAD_AS(lane_u16, lane_s16, AT) break; \
    case 4: LOAD_AS(lane_u32, lane_s32, AT) break; \
    default: LOAD_EACH(lane_u64, lane_u64, AT)     \
    }

static INLINE void load_elements(char *d, const struct instruction *i, uint32_t lanes,
                                 const uint64_t *at, const char *base)
{
    LOAD_ELEMENTS(SCATTERED)
}

/* Copies elements of 4 or 8 bytes, usually 8, 16, or 32 of them. */
static INLINE void copy_elements(char *to, const char *from, size_t bytes)
{
    if (bytes == 128) {
#pragma GCC unroll 4
        for (unsigned n = 0; n < 4; n++)
            ((four *)to)[n] = ((const four *)from)[n];
    } else if (bytes % sizeof(four)) {
        memcpy(to, from, bytes);
    } else {
        for (size_t n = 0; n < bytes / sizeof(four); n++)
            ((four *)to)[n] = ((const four *)from)[n];
    }
}

/* `base` is the element of thread 0, whether or not it takes part. */
static INLINE void load_row(char *d, const struct instruction *i, uint32_t lanes, const char *base)
{
    LOAD_ELEMENTS(IN_A_ROW)
}

static INLINE void fill_elements(char *to, const char *from, size_t bytes, unsigned count)
{
    const uint64_t low = *(const lane_u32 *)from;
    const uint64_t both = bytes == 4 ? low | low << 32 : *(const lane_u64 *)from;
    if (count % 8)
        for (unsigned l = 0; l < count; l++)
            memcpy(to + l * bytes, from, bytes);
    else
        for (size_t n = 0; n < count * bytes / sizeof(four); n++)
            ((four *)to)[n] = (four){both, both, both, both};
}

/* Loads rows of plain elements, one for each thread, that are next to each other or the same. */
static INLINE void load_rows(char *d, const struct addresses *a, size_t bytes, const char *base)
{
    for (unsigned k = 0; k < a->rows; k++) {
        const char *from = base + a->begin[k];
        char *to = d + (a->first + k * a->count) * bytes;
        if (a->stride)
            copy_elements(to, from, a->count * bytes);
        else
            fill_elements(to, from, bytes, a->count);
    }
}

/* All threads load from one row of plain elements. Elements of a vector have 4 bytes. */
static INLINE void load_all(struct warp *w, const struct instruction *i, const char *row)
{
    const lane_u32 *from = (const lane_u32 *)row;
    if (i->count == 1) {
        copy_elements(w->registers + i->r[0], row, (size_t)i->bytes * WARP_SIZE);
        return;
    }
    if (i->count == 2) {
        lane_u32 *x = (lane_u32 *)(w->registers + i->r[0]);
        lane_u32 *y = (lane_u32 *)(w->registers + i->r[1]);
        AT_ONCE for (unsigned l = 0; l < WARP_SIZE; l++)
        {
            x[l] = from[2 * l];
            y[l] = from[2 * l + 1];
        }
        return;
    }
    lane_u32 *d[] = {(lane_u32 *)(w->registers + i->r[0]), (lane_u32 *)(w->registers + i->r[1]),
                     (lane_u32 *)(w->registers + i->r[2]), (lane_u32 *)(w->registers + i->r[3])};
    AT_ONCE for (unsigned l = 0; l < WARP_SIZE; l++)
    {
        d[0][l] = from[4 * l];
        d[1][l] = from[4 * l + 1];
        d[2][l] = from[4 * l + 2];
        d[3][l] = from[4 * l + 3];
    }
}

static INLINE void load_region(struct warp *w, const struct instruction *i, uint32_t lanes,
                               struct addresses *a, const char *base)
{
    const char *from = base + a->begin[0];
    if (a->rows == 1 && !a->stride) {
        for (unsigned n = 0; n < i->count; n++)
            set_lanes(w->registers + i->r[n], i, lanes, element(i, from + n * i->bytes));
    } else if (i->count == 1 && is_plain(i) && is_dense(a, i->bytes)) {
        load_rows(w->registers + i->r[0], a, i->bytes, base);
    } else if (i->count == 1 && a->rows == 1 && a->stride == i->bytes) {
        load_row(w->registers + i->r[0], i, lanes, from - (size_t)a->first * i->bytes);
    } else {
        const uint64_t *at = each_address(a);
        for (unsigned n = 0; n < i->count; n++)
            load_elements(w->registers + i->r[n], i, lanes, at, base + n * i->bytes);
    }
}

HOT void run_load(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct addresses address;
    struct region region;
    size_t all = (size_t)i->bytes * i->count;
    const char *row = touch_row(w, i, i->count, lanes, ACCESS_READ);
    if (row) {
        load_all(w, i, row);
        return;
    }
    addresses_of(w, i, i->count, lanes, &address);
    if (find_region(w, i, &address, all, &region)) {
        if (region.window && has_values(w, region.window)
            && (!region_has_values(&region, lanes, &address, all)
                || (i->option == LOAD_IS_STORED && w->frame->carried)))
            values_loaded(w, i, lanes, region.window, each_address(&address));
        if (!region.window && w->block->notes)
            note_shared(w, i, lanes, &address, all, ACCESS_READ);
        note_device(w, i, lanes, &address, &region, all, ACCESS_READ);
        touch_region(&region, ACCESS_READ, lanes, &address, all);
        load_region(w, i, lanes, &address, region.base);
        return;
    }
    const uint64_t *at = each_address(&address);
    FOR_LANES (l, lanes) {
        const char *from = warp_bytes(w, i, l, at[l], all, ACCESS_READ);
        if (!from)
            return;
        for (unsigned n = 0; n < i->count; n++)
            set_lanes(w->registers + i->r[n], i, 1u << l, element(i, from + n * i->bytes));
    }
}

/* Records that the threads have released their accesses or acquired those of others. The accesses
 * of the grid's barrier do not count between blocks, because it is recorded as a barrier. */
static void synchronize(struct warp *w, const struct instruction *i, uint32_t lanes, bool releases,
                        bool acquires)
{
    struct block *b = w->block;
    const bool is_between_blocks = i->space != SPACE_SHARED && !b->is_at_grid;
    b->is_at_grid = false;
    if (releases)
        shared_release(w, lanes);
    if (acquires)
        shared_acquire(w, lanes);
    b->released |= releases && is_between_blocks;
    b->acquired |= acquires && is_between_blocks;
    if (is_between_blocks && w->launch->is_noted)
        device_sync_blocks(b, releases, acquires);
}

void run_load_volatile(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    w->spins++;
    run_load(w, i, lanes);
    synchronize(w, i, lanes, false, true);
}

void run_store_volatile(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    run_store(w, i, lanes);
    synchronize(w, i, lanes, true, false);
}

void run_fence(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    w->spins++;
    synchronize(w, i, lanes, true, false);
}

/* Loads from a fixed place in the kernel's parameters: all threads read the same. */
HOT void run_load_parameter(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const char *from = w->launch->shape->parameters + (size_t)i->immediate;
    for (unsigned n = 0; n < i->count; n++)
        set_lanes(w->registers + i->r[n], i, lanes, element(i, from + (size_t)n * i->bytes));
}

/* ---- stores ---- */

static INLINE void store_lane(char *to, const struct instruction *i, const char *a, unsigned l)
{
    const uint64_t value = i->wide & 1 ? ((const lane_u64 *)a)[l] : ((const lane_u32 *)a)[l];
    switch (i->bytes) {
    case 1: *(lane_u8 *)to = (uint8_t)value; break;
    case 2: *(lane_u16 *)to = (uint16_t)value; break;
    case 4: *(lane_u32 *)to = (uint32_t)value; break;
    default: *(lane_u64 *)to = value;
    }
}

/* Stores in the order of the threads, so that the last of two writes to the same bytes stays. */
#define STORE_EACH(to, from)                              \
    FOR_LANES (l, lanes) {                                \
        *(to *)(base + at[l]) = (to)((const from *)a)[l]; \
    }
#define STORE_AS(to)             \
    if (i->wide & 1) {           \
        STORE_EACH(to, lane_u64) \
    } else {                     \
        STORE_EACH(to, lane_u32) \
    }

static INLINE void store_elements(char *base, const struct instruction *i, uint32_t lanes,
                                  const uint64_t *at, const char *a)
{
    switch (i->bytes) {
    case 1: STORE_AS(lane_u8) break;
    case 2: STORE_AS(lane_u16) break;
    case 4: STORE_AS(lane_u32) break;
    default: STORE_EACH(lane_u64, lane_u64)
    }
}

/* All threads store to one row, as load_all loads. */
static INLINE void store_all(struct warp *w, const struct instruction *i, char *row)
{
    lane_u32 *to = (lane_u32 *)row;
    if (i->count == 1) {
        copy_elements(row, w->registers + i->r[1], (size_t)i->bytes * WARP_SIZE);
        return;
    }
    if (i->count == 2) {
        const lane_u32 *x = (const lane_u32 *)(w->registers + i->r[1]);
        const lane_u32 *y = (const lane_u32 *)(w->registers + i->r[2]);
        AT_ONCE for (unsigned l = 0; l < WARP_SIZE; l++)
        {
            to[2 * l] = x[l];
            to[2 * l + 1] = y[l];
        }
        return;
    }
    const lane_u32 *x = (const lane_u32 *)(w->registers + i->r[1]);
    const lane_u32 *y = (const lane_u32 *)(w->registers + i->r[2]);
    const lane_u32 *z = (const lane_u32 *)(w->registers + i->r[3]);
    const lane_u32 *v = (const lane_u32 *)(w->registers + i->r[4]);
    AT_ONCE for (unsigned l = 0; l < WARP_SIZE; l++)
    {
        to[4 * l] = x[l];
        to[4 * l + 1] = y[l];
        to[4 * l + 2] = z[l];
        to[4 * l + 3] = v[l];
    }
}

static INLINE void store_region(struct warp *w, const struct instruction *i, uint32_t lanes,
                                struct addresses *address, char *base)
{
    if (i->count == 1 && is_plain(i) && address->rows && address->stride == i->bytes) {
        const char *a = w->registers + i->r[1] + address->first * (size_t)i->bytes;
        const size_t bytes = (size_t)address->count * i->bytes;
        for (unsigned k = 0; k < address->rows; k++)
            copy_elements(base + address->begin[k], a + k * bytes, bytes);
    } else {
        const uint64_t *at = each_address(address);
        for (unsigned n = 0; n < i->count; n++)
            store_elements(base + n * i->bytes, i, lanes, at, w->registers + i->r[n + 1]);
    }
}

/* Marks what a store touches. A store that leaves another block's value unchanged is no race. */
static INLINE void touch_stored(struct warp *w, const struct instruction *i, uint32_t lanes,
                                struct addresses *address, struct region *region, size_t all)
{
    struct window *win = region->window;
    bool any = false;
    if (!win || !win->by_block || (!win->written.bits && !win->before)) {
        touch_region(region, ACCESS_WRITE, lanes, address, all);
        return;
    }
    if (is_dense(address, all)) {
        for (unsigned k = 0; k < address->rows; k++)
            any |= was_written(win, address->begin[k], row_bytes(address, all));
        if (!any) {
            touch_region(region, ACCESS_WRITE, lanes, address, all);
            return;
        }
    }
    const uint64_t *at = each_address(address);
    FOR_LANES (l, lanes) {
        if (!was_written(win, at[l], all) || !leaves_as_is(w, i, l, win, at[l], all))
            touch(win, touched_of(win, ACCESS_WRITE), at[l], all);
    }
}

HOT void run_store(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct addresses address;
    struct region region;
    size_t all = (size_t)i->bytes * i->count;
    w->launch->changes++;
    char *row = touch_row(w, i, 0, lanes, ACCESS_WRITE);
    if (row) {
        store_all(w, i, row);
        return;
    }
    addresses_of(w, i, 0, lanes, &address);
    if (find_region(w, i, &address, all, &region)) {
        save_region(w, &region, lanes, &address, all);
        note_device(w, i, lanes, &address, &region, all, ACCESS_WRITE);
        touch_stored(w, i, lanes, &address, &region, all);
        if (region.window && w->frame->tainted)
            values_tainted_stored(w, i, lanes);
        if (region.window && (w->frame->carried || region.window->carried.bits))
            values_stored(w, i, lanes, region.window, each_address(&address));
        if (!region.window && w->frame->carried)
            values_staged(w, i, lanes);
        if (!region.window && w->block->notes)
            note_shared(w, i, lanes, &address, all, ACCESS_WRITE);
        store_region(w, i, lanes, &address, region.base);
        return;
    }
    const uint64_t *at = each_address(&address);
    FOR_LANES (l, lanes) {
        char *to = warp_bytes(w, i, l, at[l], all, ACCESS_WRITE);
        if (!to)
            return;
        for (unsigned n = 0; n < i->count; n++)
            store_lane(to + n * i->bytes, i, w->registers + i->r[n + 1], l);
    }
}

/* ---- all warps of a block ---- */

HOT bool access_abreast(struct block *b, const struct instruction *i)
{
    struct warp *w = b->warps, *end = w + b->warp_count;
    const bool is_load = i->run == run_load;
    const enum access_kind kind = is_load ? ACCESS_READ : ACCESS_WRITE;
    const struct steps *l = &b->lines[i->sequence];
    const size_t each = (size_t)i->bytes * i->count;
    const size_t bytes = l->step ? each * b->launch->threads_of_block : each;
    const uint64_t begin = l->begin + (uint64_t)i->immediate;
    const bool is_same = is_load && !l->step && i->count == 1;
    if (!i->is_of_row || !(is_same || l->step == each) || begin & (each - 1)
        || (begin | (begin + bytes)) & WINDOW_MASK)
        return false;
    if (!find_window(w, i, 0, begin, each, !is_load))
        return false;
    char *range = touch_range(w, begin, each, bytes, kind);
    if (!range)
        return false;
    for (; w != end; w++, range += l->step * WARP_SIZE) {
        /* The next block's bytes usually follow these in memory. */
        for (size_t at = 0; at < l->step * WARP_SIZE; at += 64)
            __builtin_prefetch(range + bytes + at);
        if (is_same)
            set_lanes(w->registers + i->r[0], i, ALL_LANES, element(i, range));
        else if (is_load)
            load_all(w, i, range);
        else
            store_all(w, i, range);
        w->launch->changes += !is_load;
    }
    return true;
}

/* ---- atomic operations ---- */

enum { ATOMIC_FLOAT = 2 };

static uint64_t added(const struct instruction *i, uint64_t old, uint64_t value)
{
    const uint32_t x = (uint32_t)old, y = (uint32_t)value;
    if (i->is_signed != ATOMIC_FLOAT)
        return old + value;
    if (i->modified == ATOMIC_F16)
        return i->bytes == 2 ? half_add(x, y) : half_add_2(x, y);
    if (i->modified == ATOMIC_BF16)
        return i->bytes == 2 ? bfloat_add(x, y) : bfloat_add_2(x, y);
    if (i->bytes == 4)
        return bits_of_float(float_of_bits(x) + float_of_bits(y));
    double sum, more;
    memcpy(&sum, &old, 8);
    memcpy(&more, &value, 8);
    sum += more;
    memcpy(&old, &sum, 8);
    return old;
}

static bool is_less(const struct instruction *i, uint64_t x, uint64_t y)
{
    if (!i->is_signed)
        return x < y;
    return i->bytes == 4 ? (int32_t)x < (int32_t)y : (int64_t)x < (int64_t)y;
}

/* Returns what is in memory after the operation. */
static uint64_t changed(const struct instruction *i, uint64_t old, uint64_t b, uint64_t c)
{
    switch ((enum atomic)i->option) {
    case ATOMIC_ADD: return added(i, old, b);
    case ATOMIC_MIN: return is_less(i, b, old) ? b : old;
    case ATOMIC_MAX: return is_less(i, old, b) ? b : old;
    case ATOMIC_EXCH: return b;
    case ATOMIC_CAS: return old == b ? c : old;
    case ATOMIC_AND: return old & b;
    case ATOMIC_OR: return old | b;
    case ATOMIC_XOR: return old ^ b;
    case ATOMIC_INC: return old >= b ? 0 : old + 1;
    case ATOMIC_DEC: return !old || old > b ? b : old - 1;
    }
    return old;
}

static uint64_t operand_of(const struct warp *w, const struct instruction *i, unsigned n,
                           unsigned l)
{
    const char *a = w->registers + i->r[n];
    if (i->bytes == 2)
        return ((const lane_u16 *)a)[2 * l];
    return i->bytes == 8 ? ((const lane_u64 *)a)[l] : ((const lane_u32 *)a)[l];
}

static INLINE void atomic_lane(struct warp *w, const struct instruction *i, unsigned l, char *at)
{
    uint64_t old = 0, b = operand_of(w, i, 2, l), c = 0;
    if (i->option == ATOMIC_CAS)
        c = operand_of(w, i, 3, l);
    memcpy(&old, at, i->bytes);
    uint64_t result = changed(i, old, b, c);
    memcpy(at, &result, i->bytes);
    if (i->bytes == 8)
        ((lane_u64 *)(w->registers + i->r[0]))[l] = old;
    else
        ((lane_u32 *)(w->registers + i->r[0]))[l] = (uint32_t)old;
}

/* Runs the body for each lane, one after the other. */
#define IN_ORDER(lanes, ...)                       \
    if ((lanes) == ALL_LANES) {                    \
        for (unsigned l = 0; l < WARP_SIZE; l++) { \
            __VA_ARGS__                            \
        }                                          \
    } else {                                       \
        FOR_LANES (l, lanes) {                     \
            __VA_ARGS__                            \
        }                                          \
    }

/* The most frequent operation. If all addresses are the same, the sum stays in a register. */
#define ADD_EACH(type)                                                                        \
    {                                                                                         \
        type *d = (type *)(w->registers + i->r[0]);                                           \
        const type *a = (const type *)(w->registers + i->r[2]);                               \
        if (is_one) {                                                                         \
            type *to = (type *)(base + at[__builtin_ctz(lanes)]), sum = *to;                  \
            IN_ORDER(lanes, const type old = sum; sum = old + a[l]; if (is_used) d[l] = old;) \
            *to = sum;                                                                        \
        } else {                                                                              \
            IN_ORDER(lanes, type *to = (type *)(base + at[l]); const type old = *to;          \
                     *to = old + a[l]; if (is_used) d[l] = old;)                              \
        }                                                                                     \
        return true;                                                                          \
    }

/* Returns false if the operation is not such a sum. */
static INLINE bool add_each(struct warp *w, const struct instruction *i, uint32_t lanes,
                            const uint64_t *at, char *base, bool is_one)
{
    const bool is_used = i->rounding;
    if (i->option != ATOMIC_ADD || i->bytes < 4 || i->modified)
        return false;
    if (i->is_signed == ATOMIC_FLOAT && i->bytes == 4)
        ADD_EACH(lane_f32)
    if (i->is_signed == ATOMIC_FLOAT)
        ADD_EACH(lane_f64)
    if (i->bytes == 4)
        ADD_EACH(lane_u32)
    ADD_EACH(lane_u64)
}

/* For a part of a launch on several cores: returns the base of the region's addresses if they are
 * all in one piece, or NULL. */
static INLINE char *sums_of(struct warp *w, const struct region *r)
{
    const uint64_t base = r->window->base;
    return (r->least - base) / CORES_PIECE == (r->end - 1 - base) / CORES_PIECE
             ? cores_sum_at(w->launch, r->window, r->least) - r->least
             : NULL;
}

void atomic_apply(const struct instruction *i, char *at, uint64_t b)
{
    uint64_t value = 0;
    memcpy(&value, at, i->bytes);
    value = changed(i, value, b, 0);
    memcpy(at, &value, i->bytes);
}

static INLINE void change_each(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct addresses address;
    struct region region;
    w->launch->changes++;
    w->spins += i->rounding;
    addresses_of(w, i, 1, lanes, &address);
    if (find_region(w, i, &address, i->bytes, &region)) {
        const uint64_t *at = each_address(&address);
        if (region.window && has_values(w, region.window)
            && !region_has_values(&region, lanes, &address, i->bytes))
            values_changed(w, i, lanes, region.window, at);
        if (!region.window && w->block->notes)
            shared_note(w, i, lanes, at, i->bytes, ACCESS_ATOMIC);
        note_device(w, i, lanes, &address, &region, i->bytes, ACCESS_ATOMIC);
        if (region.window && !is_touched(&region, touched_of(region.window, ACCESS_ATOMIC)))
            touch_region(&region, ACCESS_ATOMIC, lanes, &address, i->bytes);
        char *base = region.window && w->launch->cores ? sums_of(w, &region) : region.base;
        if (base && add_each(w, i, lanes, at, base, address.rows == 1 && !address.stride))
            return;
        FOR_LANES (l, lanes) {
            atomic_lane(w, i, l,
                        base ? base + at[l] : cores_sum_at(w->launch, region.window, at[l]));
        }
        return;
    }
    const uint64_t *at = each_address(&address);
    FOR_LANES (l, lanes) {
        char *bytes = warp_bytes(w, i, l, at[l], i->bytes, ACCESS_ATOMIC);
        if (!bytes)
            return;
        if (w->launch->cores && is_in(w->launch->last, at[l], i->bytes))
            bytes = cores_sum_at(w->launch, w->launch->last, at[l]);
        atomic_lane(w, i, l, bytes);
    }
}

/* Operands: the result (for `red` a scratch register), the address, and one or two values. Threads
 * run one after the other. `rounding` says that the result is used. */
HOT void run_atomic(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    change_each(w, i, lanes);
    if (w->frame->tainted)
        values_tainted_stored(w, i, lanes);
    synchronize(w, i, lanes, true, i->rounding);
}

/* cp.async [shared], [global], bytes: copies immediately; only the notes treat the copy as pending.
 * r: both addresses. With option 1, only the first r[2] bytes are copied, and the rest becomes 0.
 * Copies to global memory come from shared memory. Returns false after a fault. */
static bool copy(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct addresses to, from;
    struct region region;
    struct instruction source = *i, target = *i;
    source.space = i->space == SPACE_GLOBAL ? SPACE_SHARED : SPACE_GLOBAL;
    source.wide = (uint8_t)(i->wide << 1);
    source.immediate = (int64_t)(int32_t)i->target;
    addresses_of(w, &target, 0, lanes, &to);
    addresses_of(w, &source, 1, lanes, &from);
    const bool is_usual = find_region(w, &target, &to, i->bytes, &region) && !region.window;
    if (is_usual && w->block->notes)
        note_shared(w, &target, lanes, &to, i->bytes, ACCESS_WRITE);
    const uint64_t *to_each = each_address(&to), *from_each = each_address(&from);
    FOR_LANES (l, lanes) {
        size_t bytes = i->option ? ((const lane_u32 *)(w->registers + i->r[2]))[l] : i->bytes;
        char *here = is_usual ? region.base + to_each[l]
                              : warp_bytes(w, &target, l, to_each[l], i->bytes, ACCESS_WRITE);
        if (!here)
            return false;
        memset(here, 0, i->bytes);
        const char *there =
            bytes ? warp_bytes(w, &source, l, from_each[l], i->bytes, ACCESS_READ) : NULL;
        if (bytes && !there)
            return false;
        if (bytes)
            memcpy(here, there, bytes < i->bytes ? bytes : i->bytes);
        if (i->space == SPACE_SHARED)
            shared_copied(w, i, l, to_each[l], i->bytes);
    }
    return true;
}

void run_copy(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    w->whole = i;
    copy(w, i, lanes);
    w->whole = NULL;
}

/* cp.async.bulk: copies r[2] bytes, a multiple of 16. */
void run_bulk_copy(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct instruction piece = *i;
    piece.run = run_copy;
    w->whole = i;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        unsigned l = (unsigned)__builtin_ctz(rest);
        const uint32_t bytes = ((const lane_u32 *)(w->registers + i->r[2]))[l];
        for (uint32_t done = 0; done < bytes; done += piece.bytes) {
            piece.immediate = i->immediate + done;
            piece.target = i->target + done;
            if (!copy(w, &piece, 1u << l))
                break;
        }
    }
    w->whole = NULL;
}
