/* Floats of 16 bits as GPUs compute with them: f16 has 11 binary digits, and bf16 has 8. Each
 * operation is rounded once, to nearest. */
#ifndef SIM_PTX_HALF_H
#define SIM_PTX_HALF_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ptx/warp.h"

static inline float float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
static inline uint32_t bits_of_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}

/* Like half_of_float, this has no branches, so that the compiler can compute several at once. The
 * half's exponent is moved to a float's place and corrected by a multiplication. */
static inline float half_value(uint32_t h)
{
    const uint32_t small = bits_of_float(float_of_bits((h & 0x7FFF) << 13) * 0x1p112f);
    const uint32_t endless = (h & 0x7C00) == 0x7C00 ? 0x7F800000 : 0;
    return float_of_bits(small | endless | (h & 0x8000) << 16);
}

/* Rounds to nearest. Below 2 to the -14, adding 0.5 makes the float's last digit the half's. */
static inline uint16_t half_of_float(float x)
{
    const uint32_t bits = bits_of_float(x), size = bits & 0x7FFFFFFF;
    const uint32_t tiny = bits_of_float(float_of_bits(size) + 0.5f) - 0x3F000000;
    const uint32_t normal = (size - 0x38000000 + 0xFFF + (size >> 13 & 1)) >> 13;
    const uint32_t finite = size < 0x38800000 ? tiny : normal;
    const uint32_t all = (size >= 0x47800000 ? 0x7C00 : finite) | (bits >> 16 & 0x8000);
    return (uint16_t)(size > 0x7F800000 ? 0x7FFF : all);
}

static inline double bfloat_value(uint32_t b) { return (double)float_of_bits(b << 16); }

/* Rounds to a float of `digits` binary digits, the smallest of which is 2 to the `least`. Returns
 * its bits; from `infinity` on they stand for no number. rounding: 0 to nearest, 1 toward zero, 2
 * down, 3 up. Kept as one function, because inlined it made up a fifth of the time that
 * ptx/operations_float.c takes to compile. */
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
    /* Rounding away from infinity leaves the greatest number. */
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
static inline uint16_t half_absolute(uint32_t x) { return half_negated(x | 0x8000); }
static inline uint16_t bfloat_absolute(uint32_t x) { return bfloat_negated(x | 0x8000); }
static inline uint16_t half_tanh(uint32_t x) { return half_of(tanh(half_value(x))); }
static inline uint16_t bfloat_tanh(uint32_t x) { return bfloat_of(tanh(bfloat_value(x))); }

/* x + y with as many digits as its type has, the last of which is 1 if the sum is inexact. Rounding
 * this to fewer digits gives the same as rounding the exact sum. */
#define ODD_SUM(type, uint)                                       \
    static inline type odd_sum_##type(type x, type y)             \
    {                                                             \
        type sum = x + y, of_y = sum - x;                         \
        const type rest = (x - (sum - of_y)) + (y - of_y);        \
        uint bits;                                                \
        memcpy(&bits, &sum, sizeof bits);                         \
        const uint is_inexact = (rest < 0) | (rest > 0);          \
        const uint step = (rest > 0) == (sum > 0) ? 1 : -(uint)1; \
        bits += (is_inexact & ~bits) ? step : 0;                  \
        memcpy(&sum, &bits, sizeof bits);                         \
        return sum;                                               \
    }
ODD_SUM(float, uint32_t)
ODD_SUM(double, uint64_t)

/* Defines an operation for one half of a register and for both. A float is exact enough for sums
 * and products of two halves, but not of two bfloats, whose exponents vary more. */
#define HALF_BINARY(kind, type, of, name, expression)                \
    static inline uint16_t kind##_##name(uint32_t a, uint32_t b)     \
    {                                                                \
        const type x = kind##_value(a), y = kind##_value(b);         \
        return of(expression);                                       \
    }                                                                \
    static inline uint32_t kind##_##name##_2(uint32_t a, uint32_t b) \
    {                                                                \
        return kind##_##name(a & 0xFFFF, b & 0xFFFF)                 \
             | (uint32_t)kind##_##name(a >> 16, b >> 16) << 16;      \
    }
#define HALF_OPERATIONS(kind, type, of)                                                \
    HALF_BINARY(kind, type, of, add, odd_sum_##type(x, y))                             \
    HALF_BINARY(kind, type, of, sub, odd_sum_##type(x, -y))                            \
    HALF_BINARY(kind, type, of, mul, x *y)                                             \
    HALF_BINARY(kind, type, of, min,                                                   \
                x != x                                      ? y                        \
                : y != y || x < y || (x == y && signbit(x)) ? x                        \
                                                            : y)                       \
    HALF_BINARY(kind, type, of, max,                                                   \
                x != x                                       ? y                       \
                : y != y || x > y || (x == y && !signbit(x)) ? x                       \
                                                             : y)                      \
    HALF_BINARY(kind, type, of, min_NaN,                                               \
                x != x || y != y                  ? x + y                              \
                : x < y || (x == y && signbit(x)) ? x                                  \
                                                  : y)                                 \
    HALF_BINARY(kind, type, of, max_NaN,                                               \
                x != x || y != y                   ? x + y                             \
                : x > y || (x == y && !signbit(x)) ? x                                 \
                                                   : y)                                \
    static inline uint16_t kind##_fma(uint32_t a, uint32_t b, uint32_t c)              \
    {                                                                                  \
        return of(odd_sum_##type(kind##_value(a) * kind##_value(b), kind##_value(c))); \
    }                                                                                  \
    static inline uint32_t kind##_fma_2(uint32_t a, uint32_t b, uint32_t c)            \
    {                                                                                  \
        return kind##_fma(a & 0xFFFF, b & 0xFFFF, c & 0xFFFF)                          \
             | (uint32_t)kind##_fma(a >> 16, b >> 16, c >> 16) << 16;                  \
    }
HALF_OPERATIONS(half, float, half_of_float)
HALF_OPERATIONS(bfloat, double, bfloat_of)

/* Replaces negative ones of one or two halves by 0. A NaN that an operation returns has no sign. */
static inline uint32_t half_relu(uint32_t x) { return x & ~((x >> 15 & 0x10001) * 0xFFFF); }
/* One or two halves, limited to 0 and 1. */
static inline uint16_t half_sat_1(uint32_t x)
{
    return x > 0x7C00 ? 0 : x > 0x3C00 ? 0x3C00 : (uint16_t)x;
}
static inline uint32_t half_sat(uint32_t x)
{
    return half_sat_1(x & 0xFFFF) | (uint32_t)half_sat_1(x >> 16) << 16;
}

#endif
