/* Moves, conversions, comparisons with two results, and the modifiers of float operations. */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "ptx/half.h"
#include "ptx/warp.h"

/* In a browser there is only one rounding mode. */
#ifndef FE_DOWNWARD
#define FE_TOWARDZERO FE_TONEAREST
#define FE_DOWNWARD   FE_TONEAREST
#define FE_UPWARD     FE_TONEAREST
#endif

/* ---- modifiers ---- */

static void round_as(uint8_t rounding)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    fesetround(modes[rounding]);
}

static void flush(char *to, const char *from)
{
    lane_u32 *d = (lane_u32 *)to;
    const lane_u32 *a = (const lane_u32 *)from;
    for (unsigned l = 0; l < WARP_SIZE; l++)
        d[l] = a[l] & 0x7F800000u ? a[l] : a[l] & 0x80000000u;
}

static void saturate_lanes(char *d, uint32_t lanes)
{
    lane_f32 *f = (lane_f32 *)d;
    EACH_LANE(lanes, f[l] = f[l] > 0 ? f[l] < 1 ? f[l] : 1.0f : 0.0f;)
}

/* Scratch registers are in front of all others. Operands of 32 bits are flushed there first. */
void run_modified(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    struct instruction plain = *i;
    if (i->modified & MODIFIED_FLUSH)
        for (unsigned n = 1; n <= i->count; n++) {
            plain.r[n] = (n - 1) * WARP_SIZE * 8;
            flush(w->registers + plain.r[n], w->registers + i->r[n]);
        }
    if (i->modified & MODIFIED_ROUND)
        round_as(i->rounding);
    i->inner(w, &plain, lanes);
    if (i->modified & MODIFIED_ROUND)
        fesetround(FE_TONEAREST);
    if (i->modified & MODIFIED_FLUSH_RESULT) {
        char *result = w->registers + 3 * WARP_SIZE * 8;
        const lane_u32 *from = (const lane_u32 *)result;
        lane_u32 *d = (lane_u32 *)(w->registers + i->r[0]);
        flush(result, w->registers + i->r[0]);
        EACH_LANE(lanes, d[l] = from[l];)
    }
    if (i->modified & MODIFIED_SATURATE)
        saturate_lanes(w->registers + i->r[0], lanes);
}

/* ---- comparisons with more than one result ---- */

/* setp.lt.and p|q, a, b, c: the comparison stores its result in the predicate `target`. */
#define COMBINE(name, operation)                                                      \
    void name(struct warp *w, const struct instruction *i, uint32_t lanes)            \
    {                                                                                 \
        struct instruction plain = *i;                                                \
        plain.r[0] = i->r[4];                                                         \
        i->inner(w, &plain, lanes);                                                   \
        uint32_t one = w->predicates[i->r[4]];                                        \
        uint32_t c = w->predicates[i->r[3]] ^ (i->option & 1 ? ALL_LANES : 0);        \
        uint32_t p = one operation c, q = ~one operation c;                           \
        w->predicates[i->r[0]] = (w->predicates[i->r[0]] & ~lanes) | (p & lanes);     \
        if (i->option & 2)                                                            \
            w->predicates[i->r[5]] = (w->predicates[i->r[5]] & ~lanes) | (q & lanes); \
    }
COMBINE(run_compare_and, &)
COMBINE(run_compare_or, |)
COMBINE(run_compare_xor, ^)

/* ---- moves ---- */

/* d = a, with 4 or 8 bytes. For predicates (bytes 1) also not, and, or, xor, or a constant
 * (option). */
void run_move(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    if (i->bytes == 1) {
        uint32_t a = w->predicates[i->r[1]];
        uint32_t b = w->predicates[i->r[2]];
        uint32_t value = i->option == 5 ? (i->immediate ? ALL_LANES : 0)
                       : i->option == 1 ? ~a
                       : i->option == 2 ? a & b
                       : i->option == 3 ? a | b
                       : i->option == 4 ? a ^ b
                                        : a;
        uint32_t *d = &w->predicates[i->r[0]];
        *d = (*d & ~lanes) | (value & lanes);
    } else if (i->bytes == 8) {
        lane_u64 *d = (lane_u64 *)(w->registers + i->r[0]);
        const lane_u64 *a = (const lane_u64 *)(w->registers + i->r[1]);
        EACH_LANE(lanes, d[l] = a[l];)
    } else {
        lane_u32 *d = (lane_u32 *)(w->registers + i->r[0]);
        const lane_u32 *a = (const lane_u32 *)(w->registers + i->r[1]);
        EACH_LANE(lanes, d[l] = a[l];)
    }
}

/* Packs several small registers of `bytes` bytes each into one. */
HOT void run_pack(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    if (i->wide && i->count == 2) {
        lane_u64 *d = (lane_u64 *)(w->registers + i->r[0]);
        const lane_u32 *low = (const lane_u32 *)(w->registers + i->r[1]);
        const lane_u32 *high = (const lane_u32 *)(w->registers + i->r[2]);
        EACH_LANE(lanes, d[l] = low[l] | (uint64_t)high[l] << 32;)
        return;
    }
    FOR_LANES (l, lanes) {
        uint64_t value = 0;
        for (unsigned n = 0; n < i->count; n++) {
            uint64_t part = ((const lane_u32 *)(w->registers + i->r[n + 1]))[l];
            if (i->bytes < 4)
                part &= ((uint64_t)1 << 8 * i->bytes) - 1;
            value |= part << 8 * i->bytes * n;
        }
        if (i->wide)
            ((lane_u64 *)(w->registers + i->r[0]))[l] = value;
        else
            ((lane_u32 *)(w->registers + i->r[0]))[l] = (uint32_t)value;
    }
}

/* The parts' registers never overlap the whole's, which has another type. */
HOT void run_unpack(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const char *a = w->registers + i->r[i->count];
    const uint32_t mask = i->bytes < 4 ? (1u << 8 * i->bytes) - 1 : UINT32_MAX;
    for (unsigned n = 0; n < i->count; n++) {
        lane_u32 *d = (lane_u32 *)(w->registers + i->r[n]);
        const unsigned by = 8u * i->bytes * n;
        if (i->wide) {
            EACH_LANE(lanes, d[l] = (uint32_t)(((const lane_u64 *)a)[l] >> by) & mask;)
        } else {
            EACH_LANE(lanes, d[l] = ((const lane_u32 *)a)[l] >> by & mask;)
        }
    }
}

/* lop3.b32: each result bit is the table's bit that the operands' bits select. */
void run_lop3(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    lane_u32 *d = (lane_u32 *)(w->registers + i->r[0]);
    const lane_u32 *a = (const lane_u32 *)(w->registers + i->r[1]);
    const lane_u32 *b = (const lane_u32 *)(w->registers + i->r[2]);
    const lane_u32 *c = (const lane_u32 *)(w->registers + i->r[3]);
    uint32_t table[8];
    const uint32_t bits = *(const lane_u32 *)(w->registers + i->r[4]);
    for (unsigned k = 0; k < 8; k++)
        table[k] = bits >> k & 1 ? ALL_LANES : 0;
    EACH_LANE(lanes, uint32_t x = a[l]; uint32_t y = b[l]; uint32_t z = c[l];
              d[l] = (table[0] & ~x & ~y & ~z) | (table[1] & ~x & ~y & z) | (table[2] & ~x & y & ~z)
                   | (table[3] & ~x & y & z) | (table[4] & x & ~y & ~z) | (table[5] & x & ~y & z)
                   | (table[6] & x & y & ~z) | (table[7] & x & y & z);)
}

/* ---- conversions ---- */

enum number {
    NUMBER_U8,
    NUMBER_S8,
    NUMBER_U16,
    NUMBER_S16,
    NUMBER_U32,
    NUMBER_S32,
    NUMBER_U64,
    NUMBER_S64,
    NUMBER_F16,
    NUMBER_BF16,
    NUMBER_F32,
    NUMBER_F64
};

/* A value during its conversion: an integer or a float. */
struct value {
    bool is_float, is_signed;
    uint64_t integer;
    double real;
};

static struct value value_of(enum number type, const char *a, unsigned l)
{
    uint32_t low = ((const lane_u32 *)a)[l];
    switch (type) {
    case NUMBER_U8: return (struct value){.integer = (uint8_t)low};
    case NUMBER_S8: return (struct value){.is_signed = true, .integer = (uint64_t)(int8_t)low};
    case NUMBER_U16: return (struct value){.integer = (uint16_t)low};
    case NUMBER_S16: return (struct value){.is_signed = true, .integer = (uint64_t)(int16_t)low};
    case NUMBER_U32: return (struct value){.integer = low};
    case NUMBER_S32: return (struct value){.is_signed = true, .integer = (uint64_t)(int32_t)low};
    case NUMBER_U64: return (struct value){.integer = ((const lane_u64 *)a)[l]};
    case NUMBER_S64: return (struct value){.is_signed = true, .integer = ((const lane_u64 *)a)[l]};
    case NUMBER_F16: return (struct value){.is_float = true, .real = half_value(low)};
    case NUMBER_BF16: return (struct value){.is_float = true, .real = bfloat_value(low)};
    case NUMBER_F32:
        return (struct value){.is_float = true, .real = (double)((const lane_f32 *)a)[l]};
    case NUMBER_F64: return (struct value){.is_float = true, .real = ((const lane_f64 *)a)[l]};
    }
    return (struct value){.integer = 0};
}

static double rounded(double x, unsigned rounding)
{
    return rounding == 1 ? trunc(x) : rounding == 2 ? floor(x) : rounding == 3 ? ceil(x) : rint(x);
}

/* Return an integer type's bits, and whether it is signed. */
static unsigned bits_of_type(enum number type) { return 8u << type / 2; }
static bool is_signed_type(enum number type) { return type % 2; }

/* Documented: a float out of range becomes the nearest integer in range, and a NaN becomes 0 or, if
 * one of the types has 64 bits, only the top bit. */
static uint64_t integer_of(double x, enum number to, enum number from, unsigned rounding)
{
    unsigned bits = bits_of_type(to);
    double r = rounded(x, rounding);
    if (x != x)
        return from == NUMBER_F64 || bits == 64 ? (uint64_t)1 << (bits - 1) : 0;
    if (is_signed_type(to)) {
        double limit = ldexp(1, (int)bits - 1);
        if (r >= limit)
            return ((uint64_t)1 << (bits - 1)) - 1;
        return r < -limit ? (uint64_t)1 << (bits - 1) : (uint64_t)(int64_t)r;
    }
    if (r <= 0)
        return 0;
    return r >= ldexp(1, (int)bits) ? ~(uint64_t)0 >> (64 - bits) : (uint64_t)r;
}

/* cvt.sat between integers. */
static uint64_t saturated(struct value v, enum number to)
{
    unsigned bits = bits_of_type(to);
    int64_t as_signed = (int64_t)v.integer;
    bool negative = v.is_signed && as_signed < 0;
    uint64_t most = ~(uint64_t)0 >> (64 - bits + is_signed_type(to));
    if (negative && !is_signed_type(to))
        return 0;
    if (negative)
        return as_signed < -(int64_t)most - 1 ? ~most : v.integer;
    return v.integer > most ? most : v.integer;
}

/* Returns a NaN of 16 bits with so many digits. Measured (kernels-instructions.txt): one of 64 bits
 * keeps its sign and the upper ones of its digits. */
static uint32_t upper_bits_of_nan(double nan, unsigned digits)
{
    uint64_t bits;
    memcpy(&bits, &nan, sizeof bits);
    const uint32_t all = 0x7FFF, fraction = (uint32_t)(bits << 12 >> (64 - digits));
    return (uint32_t)(bits >> 63) << 15 | (all >> digits << digits) | 1u << (digits - 1) | fraction;
}

static void set_float(const struct instruction *i, char *d, unsigned l, struct value v,
                      enum number to)
{
    bool to_integer = i->option & 4;
    double real = to_integer && v.is_float ? rounded(v.real, i->rounding) : v.real;
    double integer = v.is_signed ? (double)(int64_t)v.integer : (double)v.integer;
    float f = v.is_float ? (float)real : v.is_signed ? (float)(int64_t)v.integer : (float)v.integer;
    if (to == NUMBER_F64)
        ((lane_f64 *)d)[l] = v.is_float ? real : integer;
    else if (real != real && to < NUMBER_F32 && i->count == NUMBER_F64)
        ((lane_u32 *)d)[l] = upper_bits_of_nan(real, to == NUMBER_F16 ? 10 : 7);
    else if (to == NUMBER_F16)
        ((lane_u32 *)d)[l] = narrowed(v.is_float ? real : integer, 11, -24, 0x7C00, i->rounding);
    else if (to == NUMBER_BF16)
        ((lane_u32 *)d)[l] = narrowed(v.is_float ? real : integer, 8, -133, 0x7F80, i->rounding);
    else if (f != f && i->count != NUMBER_F64)
        ((lane_u32 *)d)[l] = 0x7FFFFFFFu;
    else
        ((lane_f32 *)d)[l] = f;
}

/* The frequent conversions of floats: to integers of 32 or 64 bits, and to an integral float. `x`
 * is the value as a double, `r` is the rounded value. */
#define EACH_ROUNDED(A, ...)                                                                       \
    switch (i->rounding) {                                                                         \
    case 1:                                                                                        \
        EACH_LANE(lanes, const double x = a_##A[l]; const double r = trunc(x); __VA_ARGS__) break; \
    case 2:                                                                                        \
        EACH_LANE(lanes, const double x = a_##A[l]; const double r = floor(x); __VA_ARGS__) break; \
    case 3:                                                                                        \
        EACH_LANE(lanes, const double x = a_##A[l]; const double r = ceil(x); __VA_ARGS__) break;  \
    default: EACH_LANE(lanes, const double x = a_##A[l]; const double r = rint(x); __VA_ARGS__)    \
    }
/* Equal to integer_of, because comparisons with a NaN are false. */
#define TO_S32(nan)                                                 \
    const double most = r >= 2147483647.0 ? 2147483647.0 : r;       \
    const double in = most >= -2147483648.0 ? most : -2147483648.0; \
    d[l] = x == x ? (uint32_t)(int32_t)in : (nan);
#define TO_U32(nan)                                           \
    const double most = r >= 4294967295.0 ? 4294967295.0 : r; \
    const double in = most >= 0 ? most : 0;                   \
    d[l] = x == x ? (uint32_t)(int32_t)(in - 2147483648.0) ^ 0x80000000u : (nan);

static HOT bool convert_rounded(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    lane_u32 *d = (lane_u32 *)(w->registers + i->r[0]);
    lane_f32 *f = (lane_f32 *)d;
    const lane_f32 *a_f32 = (const lane_f32 *)(w->registers + i->r[1]);
    const lane_f64 *a_f64 = (const lane_f64 *)a_f32;
    const bool single = i->count == NUMBER_F32;
    if (i->wide || (!single && i->count != NUMBER_F64))
        return false;
    if (i->space == NUMBER_S32 && single) {
        EACH_ROUNDED(f32, TO_S32(0))
    } else if (i->space == NUMBER_S32) {
        EACH_ROUNDED(f64, TO_S32(0x80000000u))
    } else if (i->space == NUMBER_U32 && single) {
        EACH_ROUNDED(f32, TO_U32(0))
    } else if (i->space == NUMBER_U32) {
        EACH_ROUNDED(f64, TO_U32(0x80000000u))
    } else if (i->space == NUMBER_F32 && single && i->option & 4) {
        EACH_ROUNDED(f32, f[l] = (float)r; d[l] = x == x ? d[l] : 0x7FFFFFFFu;)
    } else {
        return false;
    }
    return true;
}

/* count: the source type; space: the result type; option: 1 saturates, 4 rounds a float to an
 * integral float. */
void run_convert(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    enum number from = (enum number)i->count, to = (enum number)i->space;
    char *d = w->registers + i->r[0];
    if (convert_rounded(w, i, lanes))
        return;
    /* Not when rounding to an integral float, because the C library's floor(0.1) would be -0. */
    bool in_mode = i->rounding && to >= NUMBER_F16 && !(i->option & 4);
    if (in_mode)
        round_as(i->rounding);
    FOR_LANES (l, lanes) {
        struct value v = value_of(from, w->registers + i->r[1], l);
        if (to >= NUMBER_F16) {
            set_float(i, d, l, v, to);
            continue;
        }
        uint64_t integer = v.is_float    ? integer_of(v.real, to, from, i->rounding)
                         : i->option & 1 ? saturated(v, to)
                                         : v.integer;
        unsigned unused = 64 - bits_of_type(to);
        integer = is_signed_type(to) ? (uint64_t)((int64_t)(integer << unused) >> unused)
                                     : integer << unused >> unused;
        if (i->wide)
            ((lane_u64 *)d)[l] = integer;
        else
            ((lane_u32 *)d)[l] = (uint32_t)integer;
    }
    if (in_mode)
        fesetround(FE_TONEAREST);
}

/* ---- others ---- */

void run_isspacep(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const lane_u64 *a = (const lane_u64 *)(w->registers + i->r[1]);
    uint32_t bits = 0;
    for (unsigned l = 0; l < WARP_SIZE; l++) {
        uint64_t window = a[l] & WINDOW_MASK;
        unsigned space = window == SHARED_WINDOW ? SPACE_SHARED
                       : window == LOCAL_WINDOW  ? SPACE_LOCAL
                                                 : SPACE_GLOBAL;
        bits |= (uint32_t)(space == i->space) << l;
    }
    uint32_t *d = &w->predicates[i->r[0]];
    *d = (*d & ~lanes) | (bits & lanes);
}

/* The address of a variable in the frame: the frame's start plus an offset. */
void run_frame_address(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    const uint64_t address = w->frame->base + (uint64_t)i->immediate;
    if (i->wide) {
        lane_u64 *d = (lane_u64 *)(w->registers + i->r[0]);
        EACH_LANE(lanes, d[l] = address;)
    } else {
        lane_u32 *d = (lane_u32 *)(w->registers + i->r[0]);
        EACH_LANE(lanes, d[l] = (uint32_t)address;)
    }
}

/* Each read advances the clock by a thousand (assumed), so that a loop that waits for it ends soon.
 * option 1: %globaltimer, in nanoseconds. */
void run_clock(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    w->launch->clock += 1000;
    /* Waiting for a clock is not waiting for the host. */
    w->launch->changes++;
    uint64_t value = w->launch->clock;
    if (i->option)
        value += w->launch->shape->nanoseconds;
    FOR_LANES (l, lanes) {
        if (i->wide)
            ((lane_u64 *)(w->registers + i->r[0]))[l] = value;
        else
            ((lane_u32 *)(w->registers + i->r[0]))[l] = (uint32_t)(value >> i->immediate);
    }
}

void run_trap(struct warp *w, const struct instruction *i, uint32_t lanes)
{
    (void)i;
    warp_fault(w, (unsigned)__builtin_ctz(lanes), FAULT_TRAP, 0, 0, false);
}
