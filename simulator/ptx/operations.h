/* Arithmetic: defines a function for each line of a table (ptx/operations_integer.def or
 * ptx/operations_float.def) that runs the line for all threads of a warp. Each table is compiled
 * alone, because it takes some seconds. */
#ifndef PTX_OPERATIONS_H
#define PTX_OPERATIONS_H
#include "ptx/half.h"
#include "ptx/warp.h"

/* The head of a function that runs an instruction. */
#define RUN(name)               \
    instruction_run run_##name; \
    HOT void run_##name(struct warp *w, const struct instruction *i, uint32_t lanes)

#define OPERAND(p, n, type)   const lane_##type *p = (const lane_##type *)(w->registers + i->r[n])
#define VALUE(v, p, type)     const lane_##type v = p[AT(lane_##type, l)]
#define SET(type, expression) d[AT(lane_##type, l)] = (lane_##type)(expression)

/* Copies the results of these threads from the results for all threads. */
static HOT void take_u32(lane_u32 *d, const lane_u32 *all, uint32_t lanes)
{
    AT_ONCE for (unsigned l = 0; l < WARP_SIZE; l++) d[l] ^=
        (d[l] ^ all[l]) & (0 - (lanes >> l & 1));
}
static HOT void take_u64(lane_u64 *d, const lane_u64 *all, uint32_t lanes)
{
    AT_ONCE for (unsigned l = 0; l < WARP_SIZE; l++) d[l] ^=
        (d[l] ^ all[l]) & (0 - (uint64_t)(lanes >> l & 1));
}
/* For this many threads or fewer, computing one result after the other is faster than all at once.
 */
#define FEW(result) (2 * sizeof(result))

/* Runs the body, which sets the result of thread `l`. Because the body has no other effect, it may
 * also run for threads that take no part. With FOR_LANES, arithmetic takes 3 percent longer (make
 * bench). */
#define EACH_RESULT(type, ...)                                                        \
    lane_##type *d = (lane_##type *)(w->registers + i->r[0]);                         \
    lane_##type all[WARP_SIZE], *const result = d;                                    \
    const bool is_part = lanes != ALL_LANES;                                          \
    if (is_part && (sizeof *d < 4 || (size_t)__builtin_popcount(lanes) <= FEW(*d))) { \
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {                         \
            const unsigned l = (unsigned)__builtin_ctz(rest);                         \
            __VA_ARGS__                                                               \
        }                                                                             \
        return;                                                                       \
    }                                                                                 \
    d = is_part ? all : d;                                                            \
    AT_ONCE for (unsigned l = 0; l < WARP_SIZE; l++) { __VA_ARGS__ }                  \
    if (is_part && sizeof *d == 4)                                                    \
        take_u32((lane_u32 *)result, (const lane_u32 *)all, lanes);                   \
    else if (is_part)                                                                 \
        take_u64((lane_u64 *)result, (const lane_u64 *)all, lanes);

#define UNARY(name, t, R, A, expression)                    \
    RUN(name##_##t)                                         \
    {                                                       \
        OPERAND(a, 1, A);                                   \
        EACH_RESULT(R, VALUE(x, a, A); SET(R, expression);) \
    }
#define BINARY(name, t, R, A, B, expression)                                \
    RUN(name##_##t)                                                         \
    {                                                                       \
        OPERAND(a, 1, A);                                                   \
        OPERAND(b, 2, B);                                                   \
        EACH_RESULT(R, VALUE(x, a, A); VALUE(y, b, B); SET(R, expression);) \
    }
#define TERNARY(name, t, R, A, B, C, expression)                                            \
    RUN(name##_##t)                                                                         \
    {                                                                                       \
        OPERAND(a, 1, A);                                                                   \
        OPERAND(b, 2, B);                                                                   \
        OPERAND(c, 3, C);                                                                   \
        EACH_RESULT(R, VALUE(x, a, A); VALUE(y, b, B); VALUE(z, c, C); SET(R, expression);) \
    }
#define QUATERNARY(name, ty, R, A, B, C, D, expression)                                \
    RUN(name##_##ty)                                                                   \
    {                                                                                  \
        OPERAND(a, 1, A);                                                              \
        OPERAND(b, 2, B);                                                              \
        OPERAND(c, 3, C);                                                              \
        OPERAND(e, 4, D);                                                              \
        EACH_RESULT(R, VALUE(x, a, A); VALUE(y, b, B); VALUE(z, c, C); VALUE(t, e, D); \
                    SET(R, expression);)                                               \
    }
/* Lanes that do not take part keep their bits. */
#define EACH_BIT(...)                          \
    uint32_t bits = 0;                         \
    for (unsigned l = 0; l < WARP_SIZE; l++) { \
        __VA_ARGS__                            \
    }                                          \
    uint32_t *p = &w->predicates[i->r[0]];     \
    *p = (*p & ~lanes) | (bits & lanes);
#define COMPARE(name, t, A, expression)                                                \
    RUN(name##_##t)                                                                    \
    {                                                                                  \
        OPERAND(a, 1, A);                                                              \
        OPERAND(b, 2, A);                                                              \
        EACH_BIT(VALUE(x, a, A); VALUE(y, b, A); bits |= (uint32_t)(expression) << l;) \
    }
#define TEST(name, t, A, expression)                                   \
    RUN(testp_##name##_##t)                                            \
    {                                                                  \
        OPERAND(a, 1, A);                                              \
        EACH_BIT(VALUE(x, a, A); bits |= (uint32_t)(expression) << l;) \
    }
/* Selects without a branch, because a processor cannot predict what each thread selects. */
#define SELECT(name, t, R)                                                 \
    RUN(name##_##t)                                                        \
    {                                                                      \
        OPERAND(a, 1, R);                                                  \
        OPERAND(b, 2, R);                                                  \
        const uint32_t p = w->predicates[i->r[3]];                         \
        EACH_RESULT(R, VALUE(x, a, R); VALUE(y, b, R);                     \
                    SET(R, y ^ ((x ^ y) & (0 - (lane_##R)(p >> l & 1))));) \
    }
/* Computes a sum in twice the bits. The bit above the result is the carry, which an instruction
 * with .cc keeps. */
#define CARRY_BODY(R, keeps, more, expression)                    \
    lane_##R *d = (lane_##R *)(w->registers + i->r[0]);           \
    OPERAND(a, 1, R);                                             \
    OPERAND(b, 2, R);                                             \
    OPERAND(c, more ? 3 : 2, R);                                  \
    uint32_t out = 0;                                             \
    for (unsigned l = 0; l < WARP_SIZE; l++) {                    \
        if (!lane_is_in(lanes, l))                                \
            continue;                                             \
        const unsigned carry = w->carry >> l & 1;                 \
        (void)carry;                                              \
        VALUE(x, a, R);                                           \
        VALUE(y, b, R);                                           \
        VALUE(z, c, R);                                           \
        (void)z;                                                  \
        const __typeof__(expression) wide = (expression);         \
        SET(R, wide);                                             \
        out |= (uint32_t)(wide >> 8 * sizeof(lane_##R) & 1) << l; \
    }                                                             \
    if (keeps)                                                    \
        w->carry = (w->carry & ~lanes) | out;
#define CARRY(name, t, R, keeps, expression) \
    RUN(name##_##t) { CARRY_BODY(R, keeps, false, expression) }
#define CARRY3(name, t, R, keeps, expression) \
    RUN(name##_##t) { CARRY_BODY(R, keeps, true, expression) }
#define CONVERT(to, R, t, A, expression) UNARY(cvt_##to, t, R, A, expression)

#endif
