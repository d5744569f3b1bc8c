/* The table of arithmetic. Its functions are in ptx/operations_integer.c and
 * ptx/operations_float.c. */
#include "ptx/warp.h"

#define UNARY(name, t, ...)      instruction_run run_##name##_##t;
#define BINARY(name, t, ...)     UNARY(name, t, )
#define TERNARY(name, t, ...)    UNARY(name, t, )
#define QUATERNARY(name, t, ...) UNARY(name, t, )
#define COMPARE(name, t, ...)    UNARY(name, t, )
#define TEST(name, t, ...)       UNARY(testp_##name, t, )
#define SELECT(name, t, R)       UNARY(name, t, )
#define CARRY(name, t, ...)      UNARY(name, t, )
#define CARRY3(name, t, ...)     UNARY(name, t, )
#define CONVERT(to, R, t, ...)   UNARY(cvt_##to, t, )
#define TWO_SET(name, t, ...)    UNARY(name, t, )
#include "ptx/operations_float.def"
#include "ptx/operations_integer.def"

#undef UNARY
#undef BINARY
#undef TERNARY
#undef QUATERNARY
#undef COMPARE
#undef TEST
#undef SELECT
#undef CARRY
#undef CARRY3
#undef CONVERT
#undef TWO_SET
#define OPERANDS_u8             "4"
#define OPERANDS_s8             "4"
#define OPERANDS_u16            "4"
#define OPERANDS_s16            "4"
#define OPERANDS_u32            "4"
#define OPERANDS_s32            "4"
#define OPERANDS_f32            "4"
#define OPERANDS_u64            "8"
#define OPERANDS_s64            "8"
#define OPERANDS_f64            "8"
#define UNARY(name, t, R, A, e) {#name "." #t, run_##name##_##t, OPERANDS_##R OPERANDS_##A},
#define BINARY(name, t, R, A, B, e) \
    {#name "." #t, run_##name##_##t, OPERANDS_##R OPERANDS_##A OPERANDS_##B},
#define TERNARY(name, t, R, A, B, C, e) \
    {#name "." #t, run_##name##_##t, OPERANDS_##R OPERANDS_##A OPERANDS_##B OPERANDS_##C},
#define QUATERNARY(name, t, R, A, B, C, D, e) \
    {#name "." #t, run_##name##_##t,          \
     OPERANDS_##R OPERANDS_##A OPERANDS_##B OPERANDS_##C OPERANDS_##D},
#define COMPARE(name, t, A, e) \
    {"setp_" #name "." #t, run_##name##_##t, "1" OPERANDS_##A OPERANDS_##A},
#define TEST(name, t, A, e) {"testp_" #name "." #t, run_testp_##name##_##t, "1" OPERANDS_##A},
#define CARRY(name, t, R, keeps, e) \
    {#name "." #t, run_##name##_##t, OPERANDS_##R OPERANDS_##R OPERANDS_##R},
#define CARRY3(name, t, R, keeps, e) \
    {#name "." #t, run_##name##_##t, OPERANDS_##R OPERANDS_##R OPERANDS_##R OPERANDS_##R},
/* The last operand is a predicate, which has size "1". */
#define SELECT(name, t, R) \
    {#name "." #t, run_##name##_##t, OPERANDS_##R OPERANDS_##R OPERANDS_##R "1"},
/* A conversion of a type into another. */
#define CONVERT(to, R, t, A, e) {"cvt_" #to "." #t, run_cvt_##to##_##t, OPERANDS_##R OPERANDS_##A},
/* A comparison of two halves. */
#define TWO_SET(name, t, E, is_bfloat, yes) BINARY(name, t, u32, u32, u32, )

const struct operation operations[] = {
#include "ptx/operations_float.def"
#include "ptx/operations_integer.def"
    {"lop3.b32", run_lop3, "44444"},
};
const size_t operation_count = sizeof operations / sizeof *operations;
