/* Floats of 16 bits as GPUs compute with them: f16 has 11 binary digits, and bf16 has 8. Each
 * operation is rounded once, to nearest. */
#ifndef SIM_PTX_HALF_H
#define SIM_PTX_HALF_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ptx/warp.h"

static inline double half_value(uint32_t h)
{
    unsigned exponent = h >> 10 & 31, fraction = h & 1023;
    double value = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                 : exponent       ? ldexp(1024.0 + fraction, (int)exponent - 25)
                                  : ldexp(fraction, -24);
    return h & 0x8000 ? -value : value;
}

static inline double bfloat_value(uint32_t b)
{
    uint32_t bits = b << 16;
    float f;
    memcpy(&f, &bits, 4);
    return (double)f;
}

/* Rounds to a float of `digits` binary digits, the smallest of which is 2 to the `least`. Returns
 * its bits; from `infinity` on they stand for no number. rounding: 0 to nearest, 1 toward zero, 2
 * down, 3 up. Kept as one function, because inlined it made up a fifth of the time that
 * ptx/operations.c takes to compile. */
static HOT __attribute__((noinline, unused)) uint16_t narrowed(double x, int digits, int least,
                                                               unsigned infinity, unsigned rounding)
{
    const unsigned sign = signbit(x) ? 0x8000 : 0;
    int exponent;
    if (x != x)
        return 0x7FFF;
    if (isinf(x) || x == 0)
        return (uint16_t)(sign | (x == 0 ? 0 : infinity));
    frexp(x, &exponent);
    int last = exponent - digits > least ? exponent - digits : least;
    double scaled = ldexp(x, -last);
    scaled = rounding == 1 ? trunc(scaled)
           : rounding == 2 ? floor(scaled)
           : rounding == 3 ? ceil(scaled)
                           : rint(scaled);
    unsigned exact = (unsigned)(last - least) << (digits - 1);
    unsigned bits = last - least > 254 ? infinity : exact + (unsigned)fabs(scaled);
    /* When infinity is rounded away from, the greatest number is left. */
    bool toward_zero = rounding == 1 || rounding == (sign ? 3u : 2u);
    return (uint16_t)(sign | (bits < infinity ? bits : infinity - toward_zero));
}

static inline uint16_t half_of(double x) { return narrowed(x, 11, -24, 0x7C00, 0); }
static inline uint16_t bfloat_of(double x) { return narrowed(x, 8, -133, 0x7F80, 0); }

/* Measured on an H100 (simulator/tests/facts/kernels-variety.txt): a NaN gives 0x7FFF. */
static inline uint16_t half_negated(uint32_t x)
{
    return (x & 0x7FFF) > 0x7C00 ? 0x7FFF : (uint16_t)(x ^ 0x8000);
}
static inline uint16_t bfloat_negated(uint32_t x)
{
    return (x & 0x7FFF) > 0x7F80 ? 0x7FFF : (uint16_t)(x ^ 0x8000);
}

/* x + y with 53 digits, the last of which is 1 if the sum is inexact. Rounding this to fewer digits
 * gives the same as rounding the exact sum. */
static inline double odd_sum(double x, double y)
{
    double sum = x + y, of_y = sum - x, rest = (x - (sum - of_y)) + (y - of_y);
    uint64_t bits;
    memcpy(&bits, &sum, 8);
    if (rest == 0 || rest != rest || bits & 1)
        return sum;
    bits += (rest > 0) == (sum > 0) ? 1 : -(uint64_t)1;
    memcpy(&sum, &bits, 8);
    return sum;
}

/* Defines an operation for one half of a register and for both. */
#define HALF_BINARY(kind, name, expression)                          \
    static inline uint16_t kind##_##name(uint32_t a, uint32_t b)     \
    {                                                                \
        const double x = kind##_value(a), y = kind##_value(b);       \
        return kind##_of(expression);                                \
    }                                                                \
    static inline uint32_t kind##_##name##_2(uint32_t a, uint32_t b) \
    {                                                                \
        return kind##_##name(a & 0xFFFF, b & 0xFFFF)                 \
             | (uint32_t)kind##_##name(a >> 16, b >> 16) << 16;      \
    }
#define HALF_OPERATIONS(kind)                                                               \
    HALF_BINARY(kind, add, odd_sum(x, y))                                                   \
    HALF_BINARY(kind, sub, odd_sum(x, -y))                                                  \
    HALF_BINARY(kind, mul, x *y)                                                            \
    HALF_BINARY(kind, min, x != x ? y : y != y || x < y || (x == y && signbit(x)) ? x : y)  \
    HALF_BINARY(kind, max, x != x ? y : y != y || x > y || (x == y && !signbit(x)) ? x : y) \
    static inline uint16_t kind##_fma(uint32_t a, uint32_t b, uint32_t c)                   \
    {                                                                                       \
        return kind##_of(odd_sum(kind##_value(a) * kind##_value(b), kind##_value(c)));      \
    }                                                                                       \
    static inline uint32_t kind##_fma_2(uint32_t a, uint32_t b, uint32_t c)                 \
    {                                                                                       \
        return kind##_fma(a & 0xFFFF, b & 0xFFFF, c & 0xFFFF)                               \
             | (uint32_t)kind##_fma(a >> 16, b >> 16, c >> 16) << 16;                       \
    }
HALF_OPERATIONS(half)
HALF_OPERATIONS(bfloat)

#endif
