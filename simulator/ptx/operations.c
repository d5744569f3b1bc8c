/* The table of arithmetic. Its functions are in ptx/operations_integer.c and
 * ptx/operations_float.c. */
#include "ptx/warp.h"

#define OPERANDS_u8  "4"
#define OPERANDS_s8  "4"
#define OPERANDS_u16 "4"
#define OPERANDS_s16 "4"
#define OPERANDS_u32 "4"
#define OPERANDS_s32 "4"
#define OPERANDS_f32 "4"
#define OPERANDS_u64 "8"
#define OPERANDS_s64 "8"
#define OPERANDS_f64 "8"
/* Each line of the tables is ROW(name, function, the sizes of its operands). */
#define UNARY(name, t, R, A, e) ROW(#name "." #t, run_##name##_##t, OPERANDS_##R OPERANDS_##A)
#define BINARY(name, t, R, A, B, e) \
    ROW(#name "." #t, run_##name##_##t, OPERANDS_##R OPERANDS_##A OPERANDS_##B)
#define TERNARY(name, t, R, A, B, C, e) \
    ROW(#name "." #t, run_##name##_##t, OPERANDS_##R OPERANDS_##A OPERANDS_##B OPERANDS_##C)
#define QUATERNARY(name, t, R, A, B, C, D, e) \
    ROW(#name "." #t, run_##name##_##t,       \
        OPERANDS_##R OPERANDS_##A OPERANDS_##B OPERANDS_##C OPERANDS_##D)
#define COMPARE(name, t, A, e) \
    ROW("setp_" #name "." #t, run_##name##_##t, "1" OPERANDS_##A OPERANDS_##A)
#define TEST(name, t, A, e) ROW("testp_" #name "." #t, run_testp_##name##_##t, "1" OPERANDS_##A)

#define CARRY(name, t, R, keeps, e)  BINARY(name, t, R, R, R, e)
#define CARRY3(name, t, R, keeps, e) TERNARY(name, t, R, R, R, R, e)
/* The last operand is a predicate, which has size "1". */
#define SELECT(name, t, R) \
    ROW(#name "." #t, run_##name##_##t, OPERANDS_##R OPERANDS_##R OPERANDS_##R "1")
/* A conversion of a type into another. */
#define CONVERT(to, R, t, A, e) UNARY(cvt_##to, t, R, A, e)
/* A comparison of two halves. */
#define TWO_SET(name, t, E, is_bfloat, yes) BINARY(name, t, u32, u32, u32, )

#define ROW(name, function, operands) instruction_run function;
#include "ptx/operations_float.def"
#include "ptx/operations_integer.def"
#undef ROW
#define ROW(name, function, operands) {name, function, operands},
const struct operation operations[] = {
#include "ptx/operations_float.def"
#include "ptx/operations_integer.def"
    {"lop3.b32", run_lop3, "44444"},
};
const size_t operation_count = sizeof operations / sizeof *operations;
