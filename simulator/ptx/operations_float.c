/* The functions of floats, and conversions. */
#include <math.h>

#include "ptx/operations.h"

/* ---- helpers of the expressions ---- */

/* Rounds the bits of an f32 to the 10 of a tf32's fraction, after adding `half`. Assumed: which
 * NaN. */
static INLINE uint32_t tf32_of(uint32_t bits, uint32_t half)
{
    const uint32_t magnitude = bits & 0x7FFFFFFF;
    const uint32_t rounded = (bits + half) & ~(uint32_t)0x1FFF;
    return magnitude > 0x7F800000 ? 0x7FFFFFFF : magnitude == 0x7F800000 ? bits : rounded;
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

/* Of a NaN these are all false. */
#define EQ(x, y)  ((x) == (y))
#define NE(x, y)  ((x) < (y) || (x) > (y))
#define LT(x, y)  ((x) < (y))
#define LE(x, y)  ((x) <= (y))
#define GT(x, y)  ((x) > (y))
#define GE(x, y)  ((x) >= (y))
#define NUM(x, y) ((x) == (x) && (y) == (y))

/* What set gives for two halves: `yes` for each of which the comparison is true. */
#define TWO_SET(E, value, yes)            \
    ((E(value(x), value(y)) ? (yes) : 0U) \
     | (E(value(x >> 16), value(y >> 16)) ? (uint32_t)(yes) << 16 : 0U))

static INLINE float bfloat_single(uint32_t b) { return float_of_bits(b << 16); }

/* ---- the functions ---- */

#include "ptx/operations_float.def"
