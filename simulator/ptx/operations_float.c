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

/* ---- the functions ---- */

#include "ptx/operations_float.def"
