/* The functions of integers. */
#include "ptx/operations.h"

/* ---- helpers of the expressions ---- */

#define ADD(U, x, y)    (U)((U)(x) + (U)(y))
#define SUB(U, x, y)    (U)((U)(x) - (U)(y))
#define MUL(U, x, y)    (U)((U)(x) * (U)(y))
#define MAD(U, x, y, z) (U)((U)(x) * (U)(y) + (U)(z))
#define SAD(U, x, y, z) (U)((x > y ? (U)(x) - (U)(y) : (U)(y) - (U)(x)) + (U)(z))
#define MIN(U, x, y)    (x < y ? x : y)
#define MAX(U, x, y)    (x > y ? x : y)
#define NEG(U, x)       (U)(0 - (U)(x))
#define ABS(U, x)       ((x) < (__typeof__(x))1 ? (U)(0 - (U)(x)) : (U)(x))
#define EQ(U, x, y)     x == y
#define NE(U, x, y)     x != y
#define LT(U, x, y)     x < y
#define LE(U, x, y)     x <= y
#define GT(U, x, y)     x > y
#define GE(U, x, y)     x >= y
#define AND(U, x, y)    x &y
#define OR(U, x, y)     x | y
#define XOR(U, x, y)    x ^ y
#define NOT(U, x)       (U) ~x
#define CNOT(U, x)      !x
#define MOV(U, x)       x

static INLINE uint64_t high_u64(uint64_t x, uint64_t y)
{
    return (uint64_t)((wide_u128)x * y >> 64);
}

static INLINE int64_t high_s64(int64_t x, int64_t y) { return (int64_t)((wide_s128)x * y >> 64); }

/* The product of the lowest 24 bits of each. */
static INLINE uint64_t product24_u32(uint32_t x, uint32_t y)
{
    return (uint64_t)(x & 0xFFFFFF) * (y & 0xFFFFFF);
}

static INLINE int64_t product24_s32(int32_t x, int32_t y)
{
    return (int64_t)((int32_t)((uint32_t)x << 8) >> 8) * ((int32_t)((uint32_t)y << 8) >> 8);
}

static INLINE int32_t saturate(int64_t x)
{
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}

static INLINE uint64_t pair(uint32_t low, uint32_t high) { return low | (uint64_t)high << 32; }

/* Reverses the order of all bits. */
static INLINE uint64_t reversed(uint64_t x)
{
    x = (x & 0x5555555555555555u) << 1 | (x >> 1 & 0x5555555555555555u);
    x = (x & 0x3333333333333333u) << 2 | (x >> 2 & 0x3333333333333333u);
    x = (x & 0x0F0F0F0F0F0F0F0Fu) << 4 | (x >> 4 & 0x0F0F0F0F0F0F0F0Fu);
    return __builtin_bswap64(x);
}

static INLINE uint32_t find(uint64_t x)
{
    return x ? 63 - (uint32_t)__builtin_clzll(x) : UINT32_MAX;
}

static INLINE uint32_t shift_amount(uint32_t x) { return x ? 31 - find(x) : UINT32_MAX; }

/* fns: the place of the n-th one in `mask`, counted from bit `at` on, downward if n < 0. If n is 0,
 * only the bit `at` counts. */
static INLINE uint32_t place_of_one(uint32_t mask, uint32_t at, int32_t n)
{
    uint32_t missing = n < 0 ? 0 - (uint32_t)n : n ? (uint32_t)n : 1;
    for (; at < 32; at = n < 0 ? at - 1 : n ? at + 1 : 32) {
        missing -= mask >> at & 1;
        if (!missing)
            return at;
    }
    return UINT32_MAX;
}

/* bmsk: `count` ones from bit `at` on. */
static INLINE uint32_t mask_of_bits(uint32_t at, uint32_t count, bool clamps)
{
    const uint32_t ones = UINT32_MAX, end = (at & 31) + (count & 31);
    const uint32_t from = clamps && at > 31 ? 0 : ones << (at & 31);
    return end > 31 || (clamps && (at > 31 || count > 31)) ? from : from & ~(ones << end);
}

/* szext: the lowest `count` bits, extended by zeros or by the sign. */
static INLINE uint32_t extended(uint32_t x, uint32_t count, bool clamps, bool is_signed)
{
    const uint32_t bits = count & 31, above = UINT32_MAX << bits;
    if (clamps && count > 31)
        return x;
    return is_signed && bits && (x >> (bits - 1) & 1) ? x | above : x & ~above;
}

static INLINE uint64_t field(uint64_t x, unsigned at, unsigned length, unsigned bits,
                             bool is_signed)
{
    if (!length)
        return 0;
    const uint64_t end = (uint64_t)at + length;
    const unsigned last = (unsigned)(end < bits ? end : bits) - 1;
    uint64_t sign = is_signed && (x >> last & 1) ? ~(uint64_t)0 : 0;
    uint64_t mask = length >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << length) - 1;
    uint64_t inside = bits == 64 ? x : x & UINT32_MAX;
    uint64_t shifted = at < 64 ? inside >> at : 0;
    /* Bits beyond the last are copies of the sign. */
    unsigned there = at < bits ? bits - at : 0;
    if (there < 64)
        shifted = (shifted & (((uint64_t)1 << there) - 1)) | sign << there;
    return (shifted & mask) | (sign & ~mask);
}

static INLINE uint64_t insert(uint64_t from, uint64_t into, unsigned at, unsigned length,
                              unsigned bits)
{
    if (at >= bits || !length)
        return into;
    uint64_t mask = (length >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << length) - 1) << at;
    return (into & ~mask) | (from << at & mask);
}

static INLINE uint32_t permuted(uint32_t x, uint32_t y, uint32_t selector)
{
    uint64_t bytes = pair(x, y);
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned s = selector >> 4 * i & 15;
        uint32_t byte = bytes >> 8 * (s & 7) & 255;
        if (s & 8)
            byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * i;
    }
    return result;
}

/* Two numbers, limited, of so many bits each. */
static INLINE uint32_t packed(int32_t x, int32_t y, int32_t least, int32_t most, unsigned bits)
{
    const uint32_t mask = (1u << bits) - 1;
    const uint32_t high = (uint32_t)(x < least ? least : x > most ? most : x) & mask;
    return high << bits | ((uint32_t)(y < least ? least : y > most ? most : y) & mask);
}

static INLINE uint32_t dot4(uint32_t x, uint32_t y, bool signed_x, bool signed_y)
{
    int32_t sum = 0;
    for (unsigned i = 0; i < 32; i += 8) {
        int32_t a = signed_x ? (int8_t)(x >> i) : (uint8_t)(x >> i);
        int32_t b = signed_y ? (int8_t)(y >> i) : (uint8_t)(y >> i);
        sum += a * b;
    }
    return (uint32_t)sum;
}

static INLINE uint32_t dot2(uint32_t x, uint32_t y, bool signed_x, bool signed_y)
{
    int32_t sum = 0;
    for (unsigned i = 0; i < 2; i++) {
        int32_t a = signed_x ? (int16_t)(x >> 16 * i) : (uint16_t)(x >> 16 * i);
        int32_t b = signed_y ? (int8_t)(y >> 8 * i) : (uint8_t)(y >> 8 * i);
        sum += a * b;
    }
    return (uint32_t)sum;
}

/* Returns the absolute differences of numbers of 8 or 16 bits, or their sum. */
static INLINE uint32_t distances(uint32_t x, uint32_t y, unsigned bits, bool is_signed, bool added)
{
    uint32_t all = 0;
    for (unsigned i = 0; i < 32; i += bits) {
        const int64_t flip = is_signed ? (int64_t)1 << (bits - 1) : 0,
                      mask = ((int64_t)1 << bits) - 1;
        const int64_t difference = ((x >> i & mask) ^ flip) - ((y >> i & mask) ^ flip);
        const uint32_t distance = (uint32_t)(difference < 0 ? -difference : difference);
        all += added ? distance : distance << i;
    }
    return all;
}

/* Returns, for each pair of 16-bit numbers, the smaller or the larger one, but at least `least`. */
static INLINE uint32_t pair_of(uint32_t x, uint32_t y, bool is_signed, bool larger, int32_t least)
{
    uint32_t both = 0;
    for (unsigned i = 0; i < 32; i += 16) {
        const int32_t a = is_signed ? (int16_t)(x >> i) : (uint16_t)(x >> i);
        const int32_t b = is_signed ? (int16_t)(y >> i) : (uint16_t)(y >> i);
        const int32_t one = (a > b) == larger ? a : b;
        both |= (uint32_t)((one > least ? one : least) & 0xFFFF) << i;
    }
    return both;
}

/* A processor can divide several doubles at once. A double has so many digits that the quotient of
 * two 32-bit integers is never rounded up to the next integer. */
static INLINE uint32_t quotient_u32(uint32_t x, uint32_t y) { return (uint32_t)((double)x / y); }
static INLINE uint32_t quotient_s32(int32_t x, int32_t y)
{
    return y == -1 ? 0 - (uint32_t)x : (uint32_t)(int32_t)((double)x / y);
}

/* ---- the functions ---- */

#include "ptx/operations_integer.def"
