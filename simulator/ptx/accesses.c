/* Loads, stores and atomic operations, and what they leave in the windows: a bit for each byte that
 * was touched. Most warps touch one row of memory, thread behind thread; then all is one step.
 *
 * Law: window.first <= window.last for each kind with a bit set, and all set bits are in those
 * words. */
#include <string.h>

#include "os/os.h"
#include "ptx/warp.h"

/* ---- what was touched ---- */

static uint64_t *bits_of(struct window *win, struct touched *t)
{
    if (!t->bits) {
        t->bits = os_allocate_table((win->end - win->base + 63) / 64 * 8);
        t->first = SIZE_MAX;
    }
    return t->bits;
}

static inline void touch(struct window *win, struct touched *t, uint64_t address, size_t bytes)
{
    uint64_t *bits = t->bits ? t->bits : bits_of(win, t);
    size_t from = address - win->base, first = from / 64, last = (from + bytes - 1) / 64;
    if (first < t->first)
        t->first = first;
    if (last > t->last)
        t->last = last;
    if (first == last) {
        uint64_t mask = bytes == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bytes) - 1;
        bits[first] |= mask << from % 64;
        return;
    }
    bits[first] |= ~(uint64_t)0 << from % 64;
    for (size_t i = first + 1; i < last; i++)
        bits[i] = ~(uint64_t)0;
    bits[last] |= ~(uint64_t)0 >> (63 - (from + bytes - 1) % 64);
}

enum access_kind { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC };

static inline void touch_kind(struct window *win, enum access_kind kind, uint64_t address,
                              size_t bytes)
{
    touch(win,
          kind == ACCESS_READ    ? &win->read
          : kind == ACCESS_WRITE ? &win->written
                                 : &win->atomic,
          address, bytes);
}

/* ---- finding bytes ---- */

static bool is_in(const struct window *win, uint64_t address, size_t bytes)
{
    return win && address >= win->base && address < win->end && bytes <= win->end - address;
}

static void remember_first(const struct warp *w, const struct instruction *i, unsigned l,
                           struct window *win, uint64_t address, size_t bytes, bool write)
{
    const uint32_t thread = w->index * WARP_SIZE + l;
    const uint32_t x = w->launch->shape->block.x, y = w->launch->shape->block.y;
    win->instruction = i;
    win->code = w->frame->code;
    win->address = address;
    win->bytes = bytes;
    win->write = write;
    win->thread[0] = thread % x;
    win->thread[1] = thread / x % y;
    win->thread[2] = thread / x / y;
    win->block[0] = w->block->x;
    win->block[1] = w->block->y;
    win->block[2] = w->block->z;
}

/* Returns the window of these bytes, or NULL after a fault. */
static struct window *find_window(struct warp *w, const struct instruction *i, unsigned l,
                                  uint64_t address, size_t bytes, bool write)
{
    struct launch *launch = w->launch;
    if (is_in(launch->last, address, bytes))
        return launch->last;
    for (size_t n = 0; n < launch->window_count; n++)
        if (is_in(launch->windows[n], address, bytes))
            return launch->last = launch->windows[n];
    struct window *win = launch->memory->find(launch->memory->context, address, bytes, write);
    if (!win) {
        warp_fault(w, l, FAULT_ADDRESS, address, bytes, write);
        return NULL;
    }
    if (!win->instruction)
        remember_first(w, i, l, win, address, bytes, write);
    launch->windows =
        os_grow(launch->windows, (launch->window_count + 1) * sizeof *launch->windows);
    launch->windows[launch->window_count++] = win;
    return launch->last = win;
}

/* Returns where the bytes are that thread l touches in memory of the device, or NULL. */
static inline char *global_bytes(struct warp *w, const struct instruction *i, unsigned l,
                                 uint64_t address, size_t bytes, enum access_kind kind)
{
    struct window *win = w->launch->last;
    if (!is_in(win, address, bytes)
        && !(win = find_window(w, i, l, address, bytes, kind != ACCESS_READ)))
        return NULL;
    touch_kind(win, kind, address, bytes);
    return win->storage + (address - win->base);
}

static char *shared_bytes(struct warp *w, unsigned l, uint64_t address, size_t bytes, bool write)
{
    if (address <= w->launch->shared_bytes && bytes <= w->launch->shared_bytes - address)
        return w->block->shared + address;
    warp_fault(w, l, FAULT_SHARED_ADDRESS, address, bytes, write);
    return NULL;
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

/* The same in any space. A generic address of memory that is no device's has its space in it. */
static char *bytes_at(struct warp *w, const struct instruction *i, unsigned l, uint64_t address,
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
    case SPACE_SHARED:
        return shared_bytes(w, l, address & ~WINDOW_MASK, bytes, kind != ACCESS_READ);
    case SPACE_LOCAL: return local_bytes(w, l, address & ~WINDOW_MASK, bytes, kind != ACCESS_READ);
    case SPACE_PARAM: return parameter_bytes(w, l, address & ~WINDOW_MASK, bytes);
    case SPACE_GLOBAL:
        if (window == GRID_WINDOW && (address & ~WINDOW_MASK) + bytes <= sizeof(uint32_t[2]))
            return (char *)w->launch->workspace + (address & ~WINDOW_MASK);
        return global_bytes(w, i, l, address, bytes, kind);
    default: return global_bytes(w, i, l, address, bytes, kind);
    }
}

/* ---- addresses ---- */

/* The addresses that the threads use. One more than there are, for who looks at neighbors. */
struct addresses {
    uint64_t at[WARP_SIZE + 1];
    /* All take part, and each address is `stride` behind the one before: at most 256 bytes. */
    bool is_affine;
    uint64_t stride;
};

/* Sets the addresses from operand `n`. */
static inline void addresses_of(const struct warp *w, const struct instruction *i, unsigned n,
                                uint32_t lanes, struct addresses *a)
{
    const uint64_t added = (uint64_t)i->immediate;
    if (i->wide & 128) {
        const lane_u32 *r = (const lane_u32 *)(w->registers + i->r[n]);
        for (unsigned l = 0; l < WARP_SIZE; l++)
            a->at[l] = (uint32_t)(r[l] + (uint32_t)added);
    } else {
        const lane_u64 *r = (const lane_u64 *)(w->registers + i->r[n]);
        for (unsigned l = 0; l < WARP_SIZE; l++)
            a->at[l] = r[l] + added;
    }
    uint64_t difference = 0, stride = a->at[1] - a->at[0];
    a->at[WARP_SIZE] = a->at[WARP_SIZE - 1] + stride;
    for (unsigned l = 0; l < WARP_SIZE; l++)
        difference |= (a->at[l + 1] - a->at[l]) ^ stride;
    a->is_affine = !difference && lanes == ALL_LANES && stride <= 256;
    a->stride = stride;
}

/* A window that was found and has all of [address, address + bytes), or NULL. */
static inline struct window *known_window(struct launch *launch, uint64_t address, size_t bytes)
{
    if (is_in(launch->last, address, bytes))
        return launch->last;
    for (size_t n = 0; n < launch->window_count; n++)
        if (is_in(launch->windows[n], address, bytes))
            return launch->last = launch->windows[n];
    return NULL;
}

/* What the threads touch when all is as it mostly is: one window, or shared memory, and each
 * address a multiple of the size. */
struct region {
    /* The bytes of an address are at `base` + address. */
    char *base;
    /* NULL: shared memory. */
    struct window *window;
    uint64_t least, end;
};

/* The first and the last address, and the bits of all: false when there are none of this form. */
static inline bool find_span(const struct addresses *a, uint32_t lanes, uint64_t *least,
                             uint64_t *most, uint64_t *together)
{
    if (a->is_affine) {
        *least = a->at[0];
        *most = a->at[WARP_SIZE - 1];
        *together = a->at[0] | a->stride;
        return *least <= *most;
    }
    uint64_t first = UINT64_MAX, last = 0, bits = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const uint64_t at = a->at[__builtin_ctz(rest)];
        first = at < first ? at : first;
        last = at > last ? at : last;
        bits |= at;
    }
    *least = first;
    *most = last;
    *together = bits;
    return true;
}

static inline bool find_region(struct warp *w, const struct instruction *i, uint32_t lanes,
                               const struct addresses *a, struct region *r)
{
    const size_t bytes = (size_t)i->bytes * i->count;
    uint64_t least, most, together;
    if (i->space == SPACE_LOCAL || i->space == SPACE_PARAM || (bytes & (bytes - 1))
        || !find_span(a, lanes, &least, &most, &together))
        return false;
    if (together & (bytes - 1) || (least ^ most) & WINDOW_MASK)
        return false;
    bool shared = i->space == SPACE_SHARED
               || (i->space == SPACE_GENERIC && (least & WINDOW_MASK) == SHARED_WINDOW);
    r->least = least;
    r->end = most + bytes;
    if (shared) {
        uint64_t window = least & WINDOW_MASK;
        r->window = NULL;
        r->base = w->block->shared - window;
        return r->end - window <= w->launch->shared_bytes;
    }
    r->window = known_window(w->launch, least, r->end - least);
    if (!r->window)
        return false;
    r->base = r->window->storage - r->window->base;
    return true;
}

/* Leaves what was touched in the window: in one step when the threads touch all bytes from the
 * first to the last. */
static inline void touch_region(const struct region *r, enum access_kind kind, uint32_t lanes,
                                const struct addresses *a, size_t bytes)
{
    if (!r->window)
        return;
    if (r->end - r->least <= bytes || (a->is_affine && a->stride == bytes)) {
        touch_kind(r->window, kind, r->least, r->end - r->least);
        return;
    }
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        touch_kind(r->window, kind, a->at[__builtin_ctz(rest)], bytes);
}

/* ---- loads and stores ---- */

/* Widens the element at `from` to what the register has. */
static inline void set_lane(char *d, const struct instruction *i, unsigned l, const char *from)
{
    uint64_t value = 0;
    switch (i->bytes) {
    case 1:
        value = i->is_signed ? (uint64_t) * (const int8_t *)from : *(const uint8_t *)from;
        break;
    case 2: {
        uint16_t v;
        memcpy(&v, from, 2);
        value = i->is_signed ? (uint64_t)(int16_t)v : v;
        break;
    }
    case 4: {
        uint32_t v;
        memcpy(&v, from, 4);
        value = i->is_signed ? (uint64_t)(int32_t)v : v;
        break;
    }
    default: memcpy(&value, from, 8);
    }
    if (i->wide & 1)
        ((lane_u64 *)d)[l] = value;
    else
        ((lane_u32 *)d)[l] = (uint32_t)value;
}

static inline bool is_plain(const struct instruction *i)
{
    return i->bytes == (i->wide & 1 ? 8 : 4);
}

#define LOAD_EACH(to, from) EACH_LANE(lanes, ((to *)d)[l] = (to) * (const from *)(base + at[l]);)
#define LOAD_AS(unsigned_type, signed_type) \
    if (i->wide & 1 && i->is_signed) {      \
        LOAD_EACH(lane_s64, signed_type)    \
    } else if (i->wide & 1) {               \
        LOAD_EACH(lane_u64, unsigned_type)  \
    } else if (i->is_signed) {              \
        LOAD_EACH(lane_s32, signed_type)    \
    } else {                                \
        LOAD_EACH(lane_u32, unsigned_type)  \
    }

/* An element of each thread. */
static inline void load_elements(char *d, const struct instruction *i, uint32_t lanes,
                                 const uint64_t *at, const char *base)
{
    switch (i->bytes) {
    case 1: LOAD_AS(lane_u8, lane_s8) break;
    case 2: LOAD_AS(lane_u16, lane_s16) break;
    case 4: LOAD_AS(lane_u32, lane_s32) break;
    default: LOAD_EACH(lane_u64, lane_u64)
    }
}

static inline void load_region(struct warp *w, const struct instruction *i, uint32_t lanes,
                               const struct addresses *a, const char *base)
{
    char *d = w->registers + i->r[0];
    if (a->is_affine && i->count == 1 && is_plain(i)) {
        const char *from = base + a->at[0];
        if (a->stride == i->bytes) {
            memcpy(d, from, WARP_SIZE * (size_t)i->bytes);
            return;
        }
        if (!a->stride && i->bytes == 4) {
            const uint32_t value = *(const lane_u32 *)from;
            EACH_LANE(ALL_LANES, ((lane_u32 *)d)[l] = value;)
            return;
        }
    }
    for (unsigned n = 0; n < i->count; n++)
        load_elements(w->registers + i->r[n], i, lanes, a->at, base + n * i->bytes);
}

HOT void run_load(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct addresses address;
    struct region region;
    size_t all = (size_t)i->bytes * i->count;
    addresses_of(w, i, i->count, lanes, &address);
    if (find_region(w, i, lanes, &address, &region)) {
        touch_region(&region, ACCESS_READ, lanes, &address, all);
        load_region(w, i, lanes, &address, region.base);
        return;
    }
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        unsigned l = (unsigned)__builtin_ctz(rest);
        const char *from = bytes_at(w, i, l, address.at[l], all, ACCESS_READ);
        if (!from)
            return;
        for (unsigned n = 0; n < i->count; n++)
            set_lane(w->registers + i->r[n], i, l, from + n * i->bytes);
    }
}

static inline void store_lane(char *to, const struct instruction *i, const char *a, unsigned l)
{
    const uint64_t value = i->wide & 1 ? ((const lane_u64 *)a)[l] : ((const lane_u32 *)a)[l];
    switch (i->bytes) {
    case 1: *(lane_u8 *)to = (uint8_t)value; break;
    case 2: *(lane_u16 *)to = (uint16_t)value; break;
    case 4: *(lane_u32 *)to = (uint32_t)value; break;
    default: *(lane_u64 *)to = value;
    }
}

static inline void store_region(struct warp *w, const struct instruction *i, uint32_t lanes,
                                const struct addresses *address, char *base)
{
    const char *a = w->registers + i->r[1];
    if (i->count == 1 && is_plain(i) && address->is_affine && address->stride == i->bytes) {
        memcpy(base + address->at[0], a, WARP_SIZE * (size_t)i->bytes);
        return;
    }
    /* Where two threads write the same bytes, the last one's stay. */
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        unsigned l = (unsigned)__builtin_ctz(rest);
        for (unsigned n = 0; n < i->count; n++)
            store_lane(base + address->at[l] + n * i->bytes, i, w->registers + i->r[n + 1], l);
    }
}

HOT void run_store(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct addresses address;
    struct region region;
    size_t all = (size_t)i->bytes * i->count;
    w->launch->changes++;
    addresses_of(w, i, 0, lanes, &address);
    if (find_region(w, i, lanes, &address, &region)) {
        touch_region(&region, ACCESS_WRITE, lanes, &address, all);
        store_region(w, i, lanes, &address, region.base);
        return;
    }
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        unsigned l = (unsigned)__builtin_ctz(rest);
        char *to = bytes_at(w, i, l, address.at[l], all, ACCESS_WRITE);
        if (!to)
            return;
        for (unsigned n = 0; n < i->count; n++)
            store_lane(to + n * i->bytes, i, w->registers + i->r[n + 1], l);
    }
}

/* From the kernel's parameters, at a place that is known: all threads read the same. */
HOT void run_load_parameter(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    for (unsigned n = 0; n < i->count; n++) {
        const char *from =
            w->launch->shape->parameters + (size_t)i->immediate + (size_t)n * i->bytes;
        char *to = w->registers + i->r[n];
        if (is_plain(i) && i->bytes == 8) {
            const uint64_t value = *(const lane_u64 *)from;
            EACH_LANE(lanes, ((lane_u64 *)to)[l] = value;)
        } else {
            EACH_LANE(lanes, set_lane(to, i, l, from);)
        }
    }
}

/* ---- atomic operations ---- */

enum atomic {
    ATOMIC_ADD,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_EXCH,
    ATOMIC_CAS,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_INC,
    ATOMIC_DEC
};
enum { ATOMIC_FLOAT = 2 };

static float as_float(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, 4);
    return f;
}

static uint64_t added(const struct instruction *i, uint64_t old, uint64_t value)
{
    if (i->is_signed != ATOMIC_FLOAT)
        return old + value;
    if (i->bytes == 4) {
        float sum = as_float(old) + as_float(value);
        uint32_t bits;
        memcpy(&bits, &sum, 4);
        return bits;
    }
    double x, y;
    memcpy(&x, &old, 8);
    memcpy(&y, &value, 8);
    x += y;
    memcpy(&old, &x, 8);
    return old;
}

static bool is_less(const struct instruction *i, uint64_t x, uint64_t y)
{
    if (!i->is_signed)
        return x < y;
    return i->bytes == 4 ? (int32_t)x < (int32_t)y : (int64_t)x < (int64_t)y;
}

/* What is in memory after the operation. */
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

/* Operands: the result (of `red` a scratch register), the address, one or two values. */
void run_atomic(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct addresses address;
    w->launch->changes++;
    addresses_of(w, i, 1, lanes, &address);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        unsigned l = (unsigned)__builtin_ctz(rest);
        char *at = bytes_at(w, i, l, address.at[l], i->bytes, ACCESS_ATOMIC);
        if (!at)
            return;
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
}

/* cp.async [shared], [global], bytes: here at once, so that waiting for it has nothing to do. r:
 * both addresses; option 1: r[2] says how many bytes are copied, the rest becomes 0. */
void run_copy(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct addresses to, from;
    struct instruction source = *i, target = *i;
    source.space = SPACE_GLOBAL;
    source.wide = (uint8_t)(i->wide << 1);
    source.immediate = (int64_t)(int32_t)i->target;
    addresses_of(w, &target, 0, lanes, &to);
    addresses_of(w, &source, 1, lanes, &from);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        unsigned l = (unsigned)__builtin_ctz(rest);
        size_t bytes = i->option ? ((const lane_u32 *)(w->registers + i->r[2]))[l] : i->bytes;
        char *here = bytes_at(w, &target, l, to.at[l], i->bytes, ACCESS_WRITE);
        if (!here)
            return;
        memset(here, 0, i->bytes);
        const char *there =
            bytes ? bytes_at(w, &source, l, from.at[l], i->bytes, ACCESS_READ) : NULL;
        if (bytes && !there)
            return;
        if (bytes)
            memcpy(here, there, bytes < i->bytes ? bytes : i->bytes);
    }
}
