/* The functions of floats, and conversions. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ptx/operations.h"

/* ---- helpers of the expressions ---- */

/* Rounds the bits of an f32 to the 10 of a tf32's fraction, after adding `half`. */
static INLINE uint32_t tf32_of(uint32_t bits, uint32_t half, uint32_t nan)
{
    const uint32_t magnitude = bits & 0x7FFFFFFF;
    const uint32_t rounded = (bits + half) & ~(uint32_t)0x1FFF;
    return magnitude > 0x7F800000 ? nan : magnitude == 0x7F800000 ? bits : rounded;
}

/* A GPU has only one NaN of 32 bits. */
static INLINE float F(float x)
{
    const union {
        uint32_t bits;
        float f;
    } nan = {0x7FFFFFFFu};
    return x == x ? x : nan.f;
}

union number64 {
    double f;
    uint64_t bits;
};

/* The operand as a result, if it is a NaN. Measured (kernels-instructions.txt): it keeps its sign
 * and its bits, and is made quiet. */
static INLINE double passed(double x)
{
    union number64 n = {x};
    n.bits |= (uint64_t)1 << 51;
    return n.f;
}

/* Measured (kernels-instructions.txt): of several operands that are NaN, the first of these is
 * passed on, and what has no value is a negative NaN. */
static INLINE double D(double result, double first, double second, double third)
{
    const union number64 nan = {.bits = (uint64_t)0xFFF8 << 48};
    const double of_two = second != second ? passed(second)
                        : third != third   ? passed(third)
                                           : nan.f;
    return result == result ? result : first != first ? passed(first) : of_two;
}

static INLINE double upper_half(double x)
{
    union number64 n = {x};
    n.bits = n.bits >> 32 << 32;
    return n.f;
}

/* Measured (kernels-instructions.txt): the upper half of a NaN is that of the NaN of 32 bits. */
static INLINE double upper_half_of_result(double x)
{
    const union number64 nan = {.bits = (uint64_t)0x7FFFFFFF << 32};
    return x == x ? upper_half(x) : nan.f;
}

static INLINE uint16_t half_toward_0(float x) { return narrowed((double)x, 11, -24, 0x7C00, 1); }
static INLINE uint16_t bfloat_toward_0(float x) { return narrowed((double)x, 8, -133, 0x7F80, 1); }

/* Documented: if one operand is a NaN, the other one is the result; and -0 is less than 0. */
#define LEAST_AND_GREATEST(type, bits, NAN_OF)                                \
    static INLINE type least_##type(type x, type y)                           \
    {                                                                         \
        union {                                                               \
            type f;                                                           \
            bits b;                                                           \
        } p = {x}, q = {y}, both = {.b = 0};                                  \
        both.b = p.b | q.b;                                                   \
        return NAN_OF(x == y ? both.f : x < y || (y != y && x == x) ? x : y); \
    }                                                                         \
    static INLINE type greatest_##type(type x, type y)                        \
    {                                                                         \
        union {                                                               \
            type f;                                                           \
            bits b;                                                           \
        } p = {x}, q = {y}, both = {.b = 0};                                  \
        both.b = p.b & q.b;                                                   \
        return NAN_OF(x == y ? both.f : x > y || (y != y && x == x) ? x : y); \
    }
LEAST_AND_GREATEST(float, uint32_t, F)
LEAST_AND_GREATEST(double, uint64_t, )

/* x with the sign of the product of y and z. */
static INLINE float signed_by(float x, float y, float z)
{
    const uint32_t sign = (bits_of_float(y) ^ bits_of_float(z)) & 0x80000000;
    return x == x ? float_of_bits(bits_of_float(x) | sign) : F(x);
}
/* Does this for one or two halves. A NaN is 0x7FFF. */
#define SIGNED(name, x, y) with_signs(name(x & 0x7FFF7FFF, y & 0x7FFF7FFF), (x) ^ (y))
static INLINE uint32_t with_signs(uint32_t sizes, uint32_t signs)
{
    const uint32_t nan =
        ((sizes & 0xFFFF) == 0x7FFF ? 0x8000 : 0) | (sizes >> 16 == 0x7FFF ? 0x80000000 : 0);
    return sizes | (signs & 0x80008000 & ~nan);
}

/* Floats of 8 bits: e5m2 is the upper half of a half, and e4m3 has no infinity, and one NaN.
 * Documented: a number out of range becomes the greatest one. */
static INLINE uint32_t byte_of(float x, bool is_e5m2)
{
    const uint32_t beyond = is_e5m2 ? 0x7C : 0x7F;
    const uint32_t bits = narrowed((double)x, is_e5m2 ? 3 : 4, is_e5m2 ? -16 : -9, beyond, 0);
    const uint32_t size = bits & 0x7FFF;
    return x != x ? 0x7F : (bits >> 8 & 0x80) | (size < beyond ? size : beyond - 1);
}
static INLINE uint32_t half_of_byte(uint32_t x, bool is_e5m2)
{
    const uint32_t size = x & 0x7F, sign = (x & 0x80) << 8;
    if (size > (is_e5m2 ? 0x7C : 0x7E))
        return 0x7FFF;
    return sign | (is_e5m2 ? size << 8 : half_of_float(half_value(size << 7) * 256));
}

/* For each of two halves: 1 if it has this magnitude. */
static INLINE uint32_t one_of_each(uint32_t x, uint32_t magnitude)
{
    return ((x & 0x7FFF) == magnitude) | (uint32_t)((x >> 16 & 0x7FFF) == magnitude) << 16;
}

/* All of these are false for a NaN. */
#define EQ(x, y)  ((x) == (y))
#define NE(x, y)  ((x) < (y) || (x) > (y))
#define LT(x, y)  ((x) < (y))
#define LE(x, y)  ((x) <= (y))
#define GT(x, y)  ((x) > (y))
#define GE(x, y)  ((x) >= (y))
#define NUM(x, y) ((x) == (x) && (y) == (y))

/* The comparison as a set: 1 if it is true of x < y, 2 of x == y, 4 of x > y, 8 of a NaN. */
#define SET_OF(E)                                                                \
    ((E(0.0F, 1.0F) ? 1 : 0) | (E(0.0F, 0.0F) ? 2 : 0) | (E(1.0F, 0.0F) ? 4 : 0) \
     | (E(NAN, 0.0F) ? 8 : 0))

static INLINE float bfloat_single(uint32_t b) { return float_of_bits(b << 16); }

/* Runs set for two halves: the result has `yes` for each of which the comparison is true. One
 * function for all comparisons saves a second of compiling for each of them. */
static __attribute__((noinline)) HOT void run_two_set(struct warp *w, const struct instruction *i,
                                                      uint32_t lanes, int set, bool is_bfloat,
                                                      uint32_t yes)
{
    OPERAND(a, 1, u32);
    OPERAND(b, 2, u32);
    EACH_RESULT(
        u32, uint32_t both = 0; for (int shift = 0; shift < 32; shift += 16) {
            const uint32_t p = a[AT(lane_u32, l)] >> shift, q = b[AT(lane_u32, l)] >> shift;
            const float x = is_bfloat ? bfloat_single(p) : half_value(p);
            const float y = is_bfloat ? bfloat_single(q) : half_value(q);
            both |= (set & (x < y ? 1 : x == y ? 2 : x > y ? 4 : 8) ? yes : 0) << shift;
        } SET(u32, both);)
}
#define TWO_SET(name, t, E, is_bfloat, yes) \
    RUN(name##_##t) { run_two_set(w, i, lanes, SET_OF(E), is_bfloat, yes); }

/* ---- the functions ---- */

#include "ptx/operations_float.def"
