/* The results of PTX instructions, by NVIDIA's "PTX ISA". Each case is a kernel of its own with 32
 * threads. make gpu kernels compares them with a GPU's. instructions values: all cases.
 * instructions halves: how halves are rounded. instructions print: what a kernel prints. */
// nvcc: -Isimulator -lcuda
#include <cuda.h>

#include "expect.h"
#include "ptx/half.h"

/* In each kernel %r7 is the lane, [%d7] the lane's place in the result, and %d0 the value that is
 * stored there. These take the value from another register. */
#define R "cvt.u64.u32 %d0, %r0;"
#define F "mov.b32 %r0, %f0; cvt.u64.u32 %d0, %r0;"
#define G "mov.b64 %d0, %g0;"
#define H "cvt.u64.u16 %d0, %h0;"
#define P "selp.b64 %d0, 1, 0, %p0;"

/* An operation whose operands must be registers. */
#define OF_TWO(operation, a, b) \
    "mov.b32 %r1, " #a "; mov.b32 %r2, " #b "; " operation " %r0, %r1, %r2;" R
#define OF_THREE(operation, a, b, c)                                            \
    "mov.b32 %r1, " #a "; mov.b32 %r2, " #b "; mov.b32 %r3, " #c "; " operation \
    " %r0, %r1, %r2, %r3;" R

/* %f2 is the square of 1 + lane / 2^20, and %f3 the same rounded: their difference is 0 or, if it
 * is fused, SQUARE / 2^40. */
#define SQUARE (l * l)
#define SQUARES                                                              \
    "cvt.rn.f32.u32 %f1, %r7; fma.rn.f32 %f1, %f1, 0f35800000, 0f3F800000; " \
    "mul.rn.f32 %f3, %f1, %f1; mul.f32 %f2, %f1, %f1; "
#define SCALED "mul.rn.f32 %f0, %f0, 0f53800000; cvt.rzi.s32.f32 %r0, %f0;" R

/* %f1 and %g1 to %g3 are signaling NaNs that no compiler knows; those of 64 bits differ. */
#define NAN32          "or.b32 %r1, %r7, 0xFF800100; mov.b32 %f1, %r1; "
#define NAN64(g, bits) "or.b64 %d1, %d1, " bits "; mov.b64 " g ", %d1; cvt.u64.u32 %d1, %r7; "
#define NANS64                                                                                     \
    "cvt.u64.u32 %d1, %r7; " NAN64("%g1", "0xFFF0000000000100") NAN64("%g2", "0x7FF0000000000200") \
        NAN64("%g3", "0xFFF0000000000300")
#define FIRST  (0xFFF8000000000100 | l)
#define SECOND (0x7FF8000000000200 | l)

#define MINUS(x) ((uint32_t) - (x))
#define ALL      "0xFFFFFFFF"
/* p and q of a comparison, as two bits. */
#define BOTH "selp.u32 %r0, 1, 0, %p0; selp.u32 %r1, 2, 0, %p1; or.b32 %r0, %r0, %r1;" R
#define ODD  "and.b32 %r1, %r7, 1; setp.ne.u32 %p2, %r1, 0;"
/* An atomic operation on 4 or 8 bytes: the values before and after it. */
#define ATOMIC4(type, before, operation)                                        \
    "st.global.u32 [%d7], " before "; atom.global." operation "." type " %r0, " \
    "[%d7], "
#define AFTER4           "; ld.global.u32 %r1, [%d7]; mov.b64 %d0, {%r0, %r1};"
#define BEFORE_AND(a, b) ((uint64_t)(uint32_t)(b) << 32 | (uint32_t)(a))

#define CASES(M)                                                                                   \
    /* modifiers of floats */                                                                      \
    M("add.f32 %f0, 0f00000001, 0f00800000;" F, 0x00800001)                                        \
    M("add.ftz.f32 %f0, 0f00000001, 0f00800000;" F, 0x00800000)                                    \
    M("mul.ftz.f32 %f0, 0f80800000, 0f3F000000;" F, 0x80000000)                                    \
    M("add.sat.f32 %f0, 0f3F800000, 0f3F800000;" F, 0x3F800000)                                    \
    M("add.sat.f32 %f0, 0fBF800000, 0f00000000;" F, 0)                                             \
    M("add.rn.f32 %f0, 0f3F800000, 0f33C00000;" F, 0x3F800001)                                     \
    M("add.rz.f32 %f0, 0f3F800000, 0f33C00000;" F, 0x3F800000)                                     \
    M("add.rm.f32 %f0, 0fBF800000, 0fB3000000;" F, 0xBF800001)                                     \
    M("add.rp.f32 %f0, 0f3F800000, 0f33000000;" F, 0x3F800001)                                     \
    M(SQUARES "sub.f32 %f0, %f2, %f3; " SCALED, SQUARE)                                            \
    M(SQUARES "sub.f32 %f0, %f3, %f2; " SCALED, MINUS(SQUARE))                                     \
    M(SQUARES "neg.f32 %f3, %f3; add.f32 %f0, %f3, %f2; " SCALED, SQUARE)                          \
    M(SQUARES "sub.ftz.f32 %f0, %f2, %f3; " SCALED, 0)                                             \
    M(SQUARES "sub.rn.f32 %f0, %f2, %f3; " SCALED, 0)                                              \
    M(SQUARES "sub.f32 %f0, %f2, %f3; min.f32 %f0, %f0, %f2; " SCALED, 0)                          \
    M(SQUARES "{ .reg .f32 s; mul.f32 s, %f1, %f3; sub.f32 %f0, %f2, %f3; sub.f32 s, s, %f2; "     \
              "min.f32 %f0, %f0, s; } " SCALED,                                                    \
      0)                                                                                           \
    M("cvt.rn.f64.u32 %g1, %r7; fma.rn.f64 %g1, %g1, 0d3D70000000000000, 0d3FF0000000000000; "     \
      "mul.rn.f64 %g2, %g1, %g1; mul.f64 %g3, %g1, %g1; sub.f64 %g0, %g2, %g3; "                   \
      "mul.rn.f64 %g0, %g0, 0d44F0000000000000; cvt.rzi.s32.f64 %r0, %g0;" R,                      \
      MINUS(SQUARE))                                                                               \
    M("add.f32 %f0, 0.1, -0.5;" F, 0xBECCCCCD)                                                     \
    M("mov.f64 %g0, 1e10;" G, 0x4202A05F20000000)                                                  \
    M("mov.b32 %r0, 0b101; add.u32 %r0, %r0, 0123;" R, 88)                                         \
    M("mov.u32 %r0, (1<<4)|3*2-1; add.u32 %r0, %r0, -8+2*(1+~1);" R, 21 - 10)                      \
    M("st.global.u64 [%d7], 7; ld.global.u32 %r0, [%d7+4*2-16/2];" R, 7)                           \
    M("min.f32 %f0, 0f7FC00000, 0f3F800000;" F, 0x3F800000)                                        \
    M("min.f32 %f0, 0f00000000, 0f80000000;" F, 0x80000000)                                        \
    M("copysign.f32 %f0, 0fBF800000, 0f40000000;" F, 0xC0000000)                                   \
    M("setp.lt.ftz.f32 %p0, 0f00000000, 0f00000001;" P, 0)                                         \
    M(NAN32 "neg.f32 %f0, %f1;" F, 0x7FFFFFFF)                                                     \
    M(NAN32 "abs.f32 %f0, %f1;" F, 0x7FFFFFFF)                                                     \
    M("or.b32 %r0, %r7, 0xFC01; cvt.u16.u32 %h0, %r0; abs.f16 %h0, %h0;" H, 0x7FFF)                \
    M("or.b32 %r0, %r7, 0x7F818001; abs.bf16x2 %r0, %r0;" R, 0x7FFF0001 | l)                       \
    M(NANS64 "cvt.rn.f16.f64 %h0, %g1;" H, 0xFE00)                                                 \
    M("mov.b64 %d1, {%r7, 0xFFFC3FFF}; mov.b64 %g1, %d1; cvt.rn.f16.f64 %h0, %g1;" H, 0xFF0F)      \
    M(NANS64 "neg.f64 %g0, %g1;" G, FIRST)                                                         \
    M(NANS64 "abs.f64 %g0, %g1;" G, FIRST)                                                         \
    M(NANS64 "sqrt.rn.f64 %g0, %g1;" G, FIRST)                                                     \
    M(NANS64 "add.f64 %g0, %g1, %g2;" G, SECOND)                                                   \
    M(NANS64 "sub.rz.f64 %g0, %g2, %g1;" G, FIRST)                                                 \
    M(NANS64 "mul.f64 %g0, %g1, %g2;" G, SECOND)                                                   \
    M(NANS64 "div.rn.f64 %g0, %g1, %g2;" G, FIRST)                                                 \
    M(NANS64 "min.f64 %g0, %g1, %g2;" G, SECOND)                                                   \
    M(NANS64 "fma.rn.f64 %g0, %g1, %g2, %g3;" G, SECOND)                                           \
    M(NANS64 "neg.f64 %g1, %g1; add.f64 %g0, %g1, 0d3FF0000000000000;" G, FIRST)                   \
    M(NANS64 "rcp.approx.ftz.f64 %g0, %g1;" G, 0x8000000000000000)                                 \
    M("cvt.u64.u32 %d1, %r7; or.b64 %d1, %d1, 0xFFF0000100000000; mov.b64 %g1, %d1; "              \
      "rcp.approx.ftz.f64 %g0, %g1;" G,                                                            \
      0x7FFFFFFF00000000)                                                                          \
    M("cvt.rn.f64.u32 %g1, %r7; mov.b64 %g2, 0dFFF0000000000000; sub.f64 %g1, %g1, %g2; "          \
      "add.f64 %g0, %g1, %g2;" G,                                                                  \
      0xFFF8000000000000)                                                                          \
    /* predicates */                                                                               \
    M(ODD "setp.lt.and.u32 %p0|%p1, %r7, 5, %p2;" BOTH, l % 2 ? l < 5 ? 1 : 2 : 0)                 \
    M(ODD "setp.lt.or.u32 %p0|%p1, %r7, 5, %p2;" BOTH, (l < 5 || l % 2) + 2 * (l >= 5 || l % 2))   \
    M(ODD "setp.lt.xor.u32 %p0|%p1, %r7, 5, !%p2;" BOTH, (l < 5) == l % 2 ? 1 : 2)                 \
    M(ODD "setp.lt.u32 %p1, %r7, 5; and.pred %p0, %p1, %p2;" P, l < 5 && l % 2)                    \
    M(ODD "setp.lt.u32 %p1, %r7, 5; or.pred %p0, %p1, %p2;" P, l < 5 || l % 2)                     \
    M(ODD "setp.lt.u32 %p1, %r7, 5; xor.pred %p0, %p1, %p2;" P, (l < 5) != l % 2)                  \
    M(ODD "not.pred %p0, %p2;" P, !(l % 2))                                                        \
    M(ODD "mov.pred %p0, %p2;" P, l % 2)                                                           \
    M("mov.pred %p0, 1;" P, 1)                                                                     \
    M(ODD "xor.pred %p0, %p2, -1;" P, !(l % 2))                                                    \
    M(ODD "and.pred %p0, 1, %p2; or.pred %p0, %p0, 0;" P, l % 2)                                   \
    M(ODD "@%p2 and.pred %p2, %p2, 0; mov.pred %p0, %p2;" P, 0)                                    \
    /* parts of a register */                                                                      \
    M("mov.b64 %d0, {%r7, 5};", l | (uint64_t)5 << 32)                                             \
    M("mov.b64 {%r0, %r1}, 0x500000007; sub.u32 %r0, %r0, %r1;" R, 2)                              \
    M("mov.b64 {_, %r0}, 0x500000007;" R, 5)                                                       \
    M("mov.b32 %r0, 0x12348765; mov.b32 {%h1, %h0}, %r0;" H, 0x1234)                               \
    M("mov.b16 %h0, 0x8765; mov.b16 %h1, 0x1234; mov.b64 %d0, {%h0, %h1, %h1, %h0};",              \
      0x8765123412348765)                                                                          \
    M("lop3.b32 %r0, 0x12345678, 0x0F0F0F0F, %r7, 0x96;" R, 0x12345678 ^ 0x0F0F0F0F ^ l)           \
    M("lop3.b32 %r0, 12, 10, 6, 0xE8;" R, 14)                                                      \
    /* integers */                                                                                 \
    M("bfe.u32 %r0, 0x12345678, 8, 12;" R, 0x456)                                                  \
    M("bfe.s32 %r0, 0x80000000, 28, 8;" R, MINUS(8))                                               \
    M("bfe.s64 %d0, 0x00F0000000000000, 52, 4;", ~(uint64_t)0)                                     \
    M("bfi.b32 %r0, 0xAB, 0x11111111, 4, 8;" R, 0x11111AB1)                                        \
    M("bfi.b64 %d0, 0xAB, 0x1111111111111111, 56, 16;", 0xAB11111111111111)                        \
    M("mov.b32 %r1, 256; mov.b64 %d1, -1; bfe.u64 %d0, %d1, %r1, 4;", 0)                           \
    M("bfi.b64 %d0, 0xAB, 0x1111111111111111, 70, 8;", 0x1111111111111111)                         \
    M("prmt.b32 %r0, 0x33221100, 0x77665544, 0x5410;" R, 0x55441100)                               \
    M("prmt.b32 %r0, 0x33221100, 0x776655F4, 0x000C;" R, 0x000000FF)                               \
    M("prmt.b32.f4e %r0, 0x33221100, 0x77665544, 7;" R, 0x66554433)                                \
    M("and.b32 %r1, %r7, 3; prmt.b32.b4e %r0, 0x33221100, 0x77665544, %r1;" R,                     \
      ((const uint32_t[]){0x55667700, 0x66770011, 0x77001122, 0x00112233}[l % 4]))                 \
    M("prmt.b32.rc8 %r0, 0x33221100, 0x77665544, 2;" R, 0x22222222)                                \
    M("and.b32 %r1, %r7, 3; prmt.b32.ecl %r0, 0x33221100, 0x77665544, %r1;" R,                     \
      ((const uint32_t[]){0x33221100, 0x33221111, 0x33222222, 0x33333333}[l % 4]))                 \
    M("and.b32 %r1, %r7, 3; prmt.b32.ecr %r0, 0x33221100, 0x77665544, %r1;" R,                     \
      ((const uint32_t[]){0, 0x11111100, 0x22221100, 0x33221100}[l % 4]))                          \
    M("prmt.b32.rc16 %r0, 0x33221100, 0x77665544, 3;" R, 0x33223322)                               \
    M("cvt.pack.sat.s16.s32 %r0, 40000, -3;" R, 0x7FFFFFFD)                                        \
    M("cvt.pack.sat.u16.s32 %r0, 70000, -3;" R, 0xFFFF0000)                                        \
    M(OF_THREE("cvt.pack.sat.s8.s32.b32", 300, -3, 0x12345678), 0x56787FFD)                        \
    M(OF_THREE("cvt.pack.sat.u8.s32.b32", 300, -3, 0x12345678), 0x5678FF00)                        \
    M("dp4a.u32.u32 %r0, 0x01020304, 0x05060708, 10;" R, 80)                                       \
    M("dp4a.s32.s32 %r0, 0xFF, 2, 0;" R, MINUS(2))                                                 \
    M("dp4a.u32.s32 %r0, 0xFF, 0xFE, 0;" R, MINUS(510))                                            \
    M("dp2a.lo.u32.u32 %r0, 0x00010002, 0x05060708, 10;" R, 33)                                    \
    M("dp2a.hi.s32.u32 %r0, 0xFFFF0002, 0x05060708, 0;" R, 7)                                      \
    M("dp2a.hi.u32.s32 %r0, 0x00010002, 0xFFFE0708, 0;" R, MINUS(5))                               \
    M(OF_THREE("vabsdiff4.u32.u32.u32", 0x01FF8005, 0xFF010305, 9), 0xFEFE7D00)                    \
    M(OF_THREE("vabsdiff4.u32.s32.s32", 0x01FF8005, 0xFF017F05, 9), 0x0202FF00)                    \
    M(OF_THREE("vabsdiff4.u32.u32.u32.add", 0x01FF8005, 0xFF010305, 9), 642)                       \
    M(OF_THREE("vabsdiff2.u32.u32.u32", 0x0001FFFF, 0x00030001, 9), 0x0002FFFE)                    \
    M(OF_THREE("vabsdiff2.u32.s32.s32.add", 0x0001FFFF, 0x00030001, 9), 13)                        \
    M(OF_TWO("add.u16x2", 0x0001FFFF, 0x00010001), 0x00020000)                                     \
    M(OF_TWO("min.u16x2", 0x0001FFFF, 0x00030001), 0x00010001)                                     \
    M(OF_TWO("max.s16x2", 0x0001FFFF, 0xFFFE0001), 0x00010001)                                     \
    M(OF_TWO("min.s16x2", 0x8000FFFF, 0xFFFE0001), 0x8000FFFF)                                     \
    M(OF_TWO("max.relu.s16x2", 0x8000FFFF, 0xFFFE0001), 0x00000001)                                \
    M("min.relu.s32 %r0, -5, 3;" R, 0)                                                             \
    M("max.relu.s32 %r0, -5, -3;" R, 0)                                                            \
    M("brev.b32 %r0, 0x13;" R, 0xC8000000)                                                         \
    M("brev.b64 %d0, 0x13;", (uint64_t)0xC8 << 56)                                                 \
    M("bfind.u32 %r0, 0x100;" R, 8)                                                                \
    M("bfind.s32 %r0, -1;" R, 0xFFFFFFFF)                                                          \
    M("bfind.u32 %r0, 0;" R, 0xFFFFFFFF)                                                           \
    M("bfind.shiftamt.u32 %r0, 0x100;" R, 23)                                                      \
    M("cvt.rna.tf32.f32 %r0, 0f3F801000;" R, 0x3F802000)                                           \
    M("cvt.rn.tf32.f32 %r0, 0f3F801000;" R, 0x3F800000)                                            \
    M("cvt.rz.tf32.f32 %r0, 0fBF801FFF;" R, 0xBF800000)                                            \
    M("cvt.rna.tf32.f32 %r0, 0fFF800000;" R, 0xFF800000)                                           \
    M("cvt.rn.relu.tf32.f32 %r0, 0fBF800000;" R, 0)                                                \
    M("cvt.rna.satfinite.tf32.f32 %r0, 0fFF800000;" R, 0xFF7FE000)                                 \
    M("mov.u32%r0, %laneid;" R, l)                                                                 \
    M("fns.b32 %r0, 0x94, 0, 2;" R, 4)                                                             \
    M("fns.b32 %r0, 0x94, 4, -2;" R, 2)                                                            \
    M("fns.b32 %r0, 0x94, 4, 0;" R, 4)                                                             \
    M("fns.b32 %r0, 0x94, 5, 0;" R, MINUS(1))                                                      \
    M("fns.b32 %r0, 0x94, %r7, 2;" R, l < 3 ? 4 : l < 5 ? 7 : MINUS(1))                            \
    M("szext.clamp.s32 %r0, 0xF8, 4;" R, MINUS(8))                                                 \
    M("szext.clamp.u32 %r0, 0xF8, 4;" R, 8)                                                        \
    M("szext.clamp.s32 %r0, 0x12345678, 40;" R, 0x12345678)                                        \
    M("szext.wrap.s32 %r0, 0xFF, 40;" R, MINUS(1))                                                 \
    M("szext.wrap.u32 %r0, 0xFFF, 40;" R, 0xFF)                                                    \
    M("szext.wrap.s32 %r0, 0xFF, 32;" R, 0)                                                        \
    M("bmsk.wrap.b32 %r0, 1, 2;" R, 6)                                                             \
    M("bmsk.wrap.b32 %r0, 33, 2;" R, 6)                                                            \
    M("bmsk.clamp.b32 %r0, 33, 2;" R, 0)                                                           \
    M("bmsk.clamp.b32 %r0, 4, 40;" R, 0xFFFFFFF0)                                                  \
    M("bmsk.clamp.b32 %r0, 30, 5;" R, 0xC0000000)                                                  \
    M("bmsk.clamp.b32 %r0, 0, 32;" R, 0xFFFFFFFF)                                                  \
    M("bmsk.wrap.b32 %r0, 0, 32;" R, 0)                                                            \
    M("shf.l.wrap.b32 %r0, 0x80000000, 1, 1;" R, 3)                                                \
    M("shf.r.clamp.b32 %r0, 1, 2, 40;" R, 2)                                                       \
    M("sad.s32 %r0, -5, 3, 10;" R, 18)                                                             \
    M("slct.u32.s32 %r0, 5, 6, -1;" R, 6)                                                          \
    M("slct.u32.f32 %r0, 5, 6, 0f80000000;" R, 5)                                                  \
    M("slct.f32.f32 %f0, 0f3F800000, 0f40000000, 0f7FC00000;" F, 0x40000000)                       \
    M("slct.ftz.b64.f32 %d0, 5, 6, 0f80000001;", 5)                                                \
    M("mul24.lo.u32 %r0, 0xFF000003, 0x01000005;" R, 15)                                           \
    M("mul24.hi.s32 %r0, 0x00800000, 0x00800000;" R, 0x40000000)                                   \
    M("mad24.lo.s32 %r0, 0x00FFFFFF, 7, 10;" R, 3)                                                 \
    M("rem.u32 %r0, %r7, 0;" R, 0xFFFFFFFF)                                                        \
    M("add.cc.u32 %r1, 0xFFFFFFFF, 1; addc.u32 %r0, 5, 6;" R, 12)                                  \
    M("sub.cc.u32 %r1, 0, 1; subc.u32 %r0, 5, 2;" R, 2)                                            \
    M("sub.cc.u32 %r1, 0, 1; addc.u32 %r0, 5, 2;" R, 7)                                            \
    M("sub.cc.u64 %d1, 1, 1; addc.u64 %d0, 5, 2;", 8)                                              \
    M("add.cc.s32 %r1, -1, 1; subc.u32 %r0, 5, 2;" R, 3)                                           \
    M("mad.lo.cc.u32 %r1, 0x10000, 0xFFFF, 0x10000; madc.hi.u32 %r0, 0x10000, 0xFFFF, 7;" R, 8)    \
    M("add.cc.s32 %r1, -1, 1; addc.cc.s32 %r1, -1, 0; addc.s32 %r0, 5, 6;" R, 12)                  \
    M("add.cc.u32 %r1, -1, 1; addc.u32 %r1, 5, 6; addc.u32 %r0, 0, 0;" R, 1)                       \
    M("add.cc.u64 %d1, -1, 1; addc.cc.u64 %d1, -1, 0; addc.u64 %d0, 5, 6;", 12)                    \
    M("add.cc.s64 %d1, -1, 1; addc.s64 %d0, 5, 6;", 12)                                            \
    M("sub.cc.s32 %r1, 0, 1; subc.cc.s32 %r1, 0, 0; subc.s32 %r0, 5, 2;" R, 2)                     \
    M("sub.cc.s64 %d1, 0, 1; subc.s64 %d1, 0, 0; subc.u64 %d0, 5, 2;", 2)                          \
    M("mad.lo.cc.u32 %r1, -1, -1, -1; madc.lo.u32 %r0, 3, 5, 7;" R, 23)                            \
    M("mad.lo.cc.u32 %r1, 1, -1, 1; madc.lo.cc.u32 %r1, 1, -1, 0; addc.u32 %r0, 0, 0;" R, 1)       \
    M("mad.hi.cc.u32 %r1, -1, -1, 2; madc.hi.cc.u32 %r1, -1, -1, 1; addc.u32 %r0, 0, 0;" R, 1)     \
    M("mad.hi.cc.s32 %r1, -1, 1, 1; madc.hi.cc.s32 %r0, -1, 1, 7; addc.u32 %r0, %r0, 0;" R, 8)     \
    M("mad.lo.cc.u64 %d1, -1, 1, 1; madc.hi.u64 %d0, -1, 2, 7;", 9)                                \
    M("mad.lo.cc.u64 %d1, -1, 1, 1; madc.hi.cc.s64 %d1, -1, 1, 0; addc.u64 %d0, 0, 0;", 1)         \
    M("cvt.rn.f32.f64 %f0, 0d7FF8000000000000;" F, 0x7FC00000)                                     \
    M("cvt.rp.f32.f64 %f0, 0d7FF8000000000000;" F, 0x7FC00000)                                     \
    M("mov.u32 %r1, %reserved_smem_offset_1; ld.shared.u32 %r0, [%r1];" R, 0)                      \
    M("add.sat.s32 %r0, 0x7FFFFFFF, 1;" R, 0x7FFFFFFF)                                             \
    /* comparisons of two halves at once */                                                        \
    M(OF_TWO("set.lt.f16x2.f16x2", 0x3C00C000, 0x4000C000), 0x3C000000)                            \
    M(OF_TWO("set.nan.f16x2.f16x2", 0x7E003C00, 0x7E003C00), 0x3C000000)                           \
    M(OF_TWO("set.geu.u32.f16x2", 0x7E003C00, 0x3C004000), 0xFFFF0000)                             \
    M(OF_TWO("set.ne.bf16x2.bf16x2", 0x3F80C000, 0x3F803F80), 0x3F80)                              \
    M(OF_TWO("set.eq.u32.bf16x2", 0x3F80C000, 0x3F803F80), 0xFFFF0000)                             \
    M("mov.b16 %h1, 0xFFC0; set.nan.bf16.bf16 %h0, %h1, %h1;" H, 0x3F80)                           \
    M("mov.b16 %h1, 0x7C00; set.nan.f16.f16 %h0, %h1, %h1;" H, 0)                                  \
    M("mov.b16 %h1, 0x4000; set.eq.f16.f16 %h0, %h1, %h1;" H, 0x3C00)                              \
    M("mov.b16 %h1, 0x4000; set.gt.u32.bf16 %r0, %h1, %h1;" R, 0)                                  \
    M("set.lt.u32.f32 %r0, 0f3F800000, 0f40000000;" R, 0xFFFFFFFF)                                 \
    M("mov.b64 %g1, 0d0000000000000000; set.geu.f32.f64 %f0, 0d7FF8000000000000, %g1;" F,          \
      0x3F800000)                                                                                  \
    M(ODD "set.le.and.s32.u32 %r0, %r7, 5, %p2;" R, l % 2 && l <= 5 ? 0xFFFFFFFF : 0)              \
    M("testp.normal.f32 %p0, 0f80000000;" P, 1)                                                    \
    M("testp.normal.f64 %p0, 0d000FFFFFFFFFFFFF;" P, 0)                                            \
    M("max.NaN.f32 %r0, 0f3F800000, 0f7FC00000;" R, 0x7FFFFFFF)                                    \
    M("min.xorsign.abs.f32 %r0, 0fC0000000, 0f3F800000;" R, 0xBF800000)                            \
    M("max.xorsign.abs.f32 %r0, 0fC0000000, 0fBF800000;" R, 0x40000000)                            \
    M("max.xorsign.abs.f32 %r0, 0f7FC00000, 0fBF800000;" R, 0xBF800000)                            \
    M("min.NaN.xorsign.abs.f32 %r0, 0fC0000000, 0f7FC00000;" R, 0x7FFFFFFF)                        \
    M("max.ftz.xorsign.abs.f32 %r0, 0f80000001, 0f00000001;" R, 0x80000000)                        \
    M(OF_TWO("max.xorsign.abs.f16x2", 0x3C00C000, 0xBC003C00), 0xBC00C000)                         \
    M(OF_TWO("min.xorsign.abs.bf16x2", 0x3F80C000, 0xFFC0BF80), 0xBF803F80)                        \
    M(OF_TWO("max.NaN.xorsign.abs.bf16x2", 0x3F80C000, 0xFFC0BF80), 0x7FFF4000)                    \
    M(OF_TWO("max.NaN.f16x2", 0x3C007E00, 0xC0003C00), 0x3C007FFF)                                 \
    M(OF_TWO("min.NaN.bf16x2", 0x3F807FC0, 0xC0003F80), 0xC0007FFF)                                \
    M(OF_THREE("fma.rn.relu.f16x2", 0x3C003C00, 0xC0003C00, 0x3C003C00), 0x4000)                   \
    M("mov.b16 %h1, 0xBF80; fma.rn.relu.bf16 %h0, %h1, %h1, %h1;" H, 0)                            \
    M(OF_TWO("add.sat.f16x2", 0x3C00C000, 0x3C003C00), 0x3C000000)                                 \
    M("mov.b16 %h1, 0x7E00; mul.sat.f16 %h0, %h1, %h1;" H, 0)                                      \
    M(OF_THREE("fma.rn.sat.f16x2", 0x38003800, 0x38003C00, 0), 0x34003800)                         \
    M("mov.b32 %r1, 0x7C00FC00; tanh.approx.f16x2 %r0, %r1;" R, 0x3C00BC00)                        \
    M("mov.b16 %h1, 0x7F80; tanh.approx.bf16 %h0, %h1;" H, 0x3F80)                                 \
    M("mov.b32 %r1, 0xFF807F80; tanh.approx.bf16x2 %r0, %r1;" R, 0xBF803F80)                       \
    M("{ .reg.b16 low, high; mov.b32 {low, high}, 0x12348765; mov.b16 %h0, high; }" H, 0x1234)     \
    /* registers of an inner scope end with it */                                                  \
    M("mov.b32 %r0, 3; { .reg .b32 %r<2>; mov.b32 %r0, 5; } add.u32 %r0, %r0, 1;" R, 4)            \
    /* conversions of floats to integers */                                                        \
    M("cvt.rzi.s8.f32 %r0, 0f43960000;" R, 127)                                                    \
    M("cvt.rzi.s8.f32 %r0, 0fC3960000;" R, MINUS(128))                                             \
    M("cvt.rni.u8.f32 %r0, 0f43960000;" R, 255)                                                    \
    M("cvt.rni.u8.f32 %r0, 0fC3960000;" R, 0)                                                      \
    M("cvt.rpi.u16.f32 %h0, 0f40100000;" H, 3)                                                     \
    M("cvt.rmi.s64.f32 %d0, 0fBF000000;", ~(uint64_t)0)                                            \
    M("cvt.rzi.s32.f32 %r0, 0f7FC00000;" R, 0)                                                     \
    M("cvt.rzi.s64.f32 %d0, 0f7FC00000;", (uint64_t)1 << 63)                                       \
    M("cvt.rzi.u64.f64 %d0, 0d4670000000000000;", ~(uint64_t)0)                                    \
    M("cvt.rzi.s64.f64 %d0, 0dC670000000000000;", (uint64_t)1 << 63)                               \
    M("mov.b16 %h0, 0x4240; cvt.rni.s32.f16 %r0, %h0;" R, 3)                                       \
    M("mov.b16 %h0, 0xC040; cvt.rzi.s32.bf16 %r0, %h0;" R, MINUS(3))                               \
    /* .ftz: of f32 alone, what is subnormal becomes 0, before and behind */                       \
    M("cvt.rmi.s32.f32 %r0, 0f80000001;" R, MINUS(1))                                              \
    M("cvt.rmi.ftz.s32.f32 %r0, 0f80000001;" R, 0)                                                 \
    M("cvt.rpi.u64.f32 %d0, 0f007FFFFF;", 1)                                                       \
    M("cvt.rpi.ftz.u64.f32 %d0, 0f007FFFFF;", 0)                                                   \
    M("cvt.rpi.ftz.f32.f32 %f0, 0f007FFFFF;" F, 0)                                                 \
    M("cvt.ftz.f32.f32 %f0, 0f807FFFFF;" F, 0x80000000)                                            \
    M("cvt.f64.f32 %g0, 0f00400000;" G, 0x3800000000000000)                                        \
    M("cvt.ftz.f64.f32 %g0, 0f00400000;" G, 0)                                                     \
    M("cvt.rp.ftz.f16.f32 %h0, 0f00400000;" H, 1)                                                  \
    M("cvt.rn.ftz.f32.f64 %f0, 0d3FF8000000000000;" F, 0x3FC00000)                                 \
    M("cvt.rn.f32.f64 %f0, 0d3800000000000000;" F, 0x00400000)                                     \
    M("cvt.rn.ftz.f32.f64 %f0, 0d3800000000000000;" F, 0)                                          \
    M("cvt.rz.ftz.f32.f64 %f0, 0d3800000000000000;" F, 0)                                          \
    M("cvt.rn.ftz.f32.u32 %f0, %r7; cvt.rzi.u64.f32 %d0, %f0;", l)                                 \
    /* conversions to floats */                                                                    \
    M("cvt.rz.f32.s32 %f0, 16777219;" F, 0x4B800001)                                               \
    M("cvt.rp.f32.s32 %f0, 16777217;" F, 0x4B800001)                                               \
    M("cvt.rm.f64.s64 %g0, 0x20000000000001;" G, 0x4340000000000000)                               \
    M("cvt.rp.f64.u64 %g0, 0x20000000000001;" G, 0x4340000000000001)                               \
    M("cvt.rz.f16x2.f32 %r0, 0f477FFFFF, 0fBF80FFFF;" R, 0x7BFFBC07)                               \
    M("cvt.rni.f64.f64 %g0, 0d4004000000000000;" G, 0x4000000000000000)                            \
    M("cvt.rpi.f32.f32 %f0, 0f3FA00000;" F, 0x40000000)                                            \
    M("cvt.rn.f16.f32 %h0, 0f3F800000;" H, 0x3C00)                                                 \
    M("cvt.rn.bf16.f32 %h0, 0f3F80FFFF;" H, 0x3F81)                                                \
    M("cvt.rz.bf16.f32 %h0, 0f3F80FFFF;" H, 0x3F80)                                                \
    M("cvt.rn.relu.f16.f32 %h0, 0fBF800000;" H, 0)                                                 \
    M("cvt.rz.relu.bf16.f32 %h0, 0f3F80FFFF;" H, 0x3F80)                                           \
    M("cvt.rn.relu.f16.f32 %h0, 0fFFC00000;" H, 0x7FFF)                                            \
    M("cvt.rn.relu.f16x2.f32 %r0, 0fBF800000, 0f3F800000;" R, 0x3C00)                              \
    M("cvt.rz.relu.bf16x2.f32 %r0, 0f3F80FFFF, 0f80000000;" R, 0x3F800000)                         \
    M("cvt.rn.relu.satfinite.f16x2.f32 %r0, 0fFF800000, 0f7F800000;" R, 0x7BFF)                    \
    M("cvt.rn.satfinite.bf16.f32 %h0, 0fFF800000;" H, 0xFF7F)                                      \
    M("cvt.rz.f16.f32 %h0, 0f477FFFFF;" H, 0x7BFF)                                                 \
    /* conversions of floats to 8 bits, and back */                                                \
    M("cvt.rn.satfinite.e4m3x2.f32 %h0, 0f3F800000, 0fC3E00000;" H, 0x38FE)                        \
    M("cvt.rn.satfinite.e4m3x2.f32 %h0, 0f44000000, 0fFF800000;" H, 0x7EFE)                        \
    M("cvt.rn.satfinite.e4m3x2.f32 %h0, 0fFFC00000, 0f3A800000;" H, 0x7F00)                        \
    M("cvt.rn.satfinite.e4m3x2.f32 %h0, 0f3A800001, 0fBB400000;" H, 0x0182)                        \
    M("cvt.rn.satfinite.relu.e4m3x2.f32 %h0, 0fBF800000, 0f3F800000;" H, 0x0038)                   \
    M("cvt.rn.satfinite.relu.e4m3x2.f32 %h0, 0fFFC00000, 0f80000000;" H, 0x7F00)                   \
    M("cvt.rn.satfinite.e5m2x2.f32 %h0, 0f3FA00000, 0fC7800000;" H, 0x3DFB)                        \
    M("cvt.rn.satfinite.e5m2x2.f32 %h0, 0f7FC00000, 0f37800000;" H, 0x7F01)                        \
    M("mov.b32 %r1, 0x7C00C000; cvt.rn.satfinite.e4m3x2.f16x2 %h0, %r1;" H, 0x7EC0)                \
    M("mov.b32 %r1, 0xFC003C80; cvt.rn.satfinite.e5m2x2.f16x2 %h0, %r1;" H, 0xFB3C)                \
    M("mov.b32 %r1, 0xBC003C80; cvt.rn.satfinite.relu.e5m2x2.f16x2 %h0, %r1;" H, 0x3C)             \
    M("mov.b16 %h1, 0xFF01; cvt.rn.f16x2.e4m3x2 %r0, %h1;" R, 0x7FFF1800)                          \
    M("mov.b16 %h1, 0x8038; cvt.rn.relu.f16x2.e4m3x2 %r0, %h1;" R, 0x3C00)                         \
    M("mov.b16 %h1, 0xFC01; cvt.rn.f16x2.e5m2x2 %r0, %h1;" R, 0xFC000100)                          \
    M("mov.b16 %h1, 0xFE01; cvt.rn.relu.f16x2.e5m2x2 %r0, %h1;" R, 0x7FFF0100)                     \
    M("mov.b64 %g0, 0d4000000000000000; cvt.sat.f64.f64 %g0, %g0;" G, 0x3FF0000000000000)          \
    M("mov.b64 %g0, 0dFFF8000000000000; cvt.sat.f64.f64 %g0, %g0;" G, 0)                           \
    M("cvt.rn.sat.f64.s32 %g0, %r7;" G, l ? 0x3FF0000000000000 : 0)                                \
    M("cvt.rn.sat.f32.s32 %f0, %r7;" F, l ? 0x3F800000 : 0)                                        \
    M("cvt.rn.sat.f16.f32 %h0, 0f3F000000;" H, 0x3800)                                             \
    /* saturation among integers */                                                                \
    M("cvt.sat.u8.s32 %r0, -5;" R, 0)                                                              \
    M("cvt.sat.u8.u32 %r0, 300;" R, 255)                                                           \
    M("cvt.sat.s8.s32 %r0, -200;" R, MINUS(128))                                                   \
    M("mov.b16 %h0, 200; cvt.sat.s8.u8 %r0, %h0;" R, 127)                                          \
    M("mov.b16 %h0, 0xFF80; cvt.sat.u16.s16 %h0, %h0;" H, 0)                                       \
    M("mov.b16 %h0, 0xFF80; cvt.sat.s8.u16 %r0, %h0;" R, 127)                                      \
    M("mov.b16 %h0, 0x80; cvt.sat.u32.s8 %r0, %h0;" R, 0)                                          \
    M("cvt.sat.s32.u64 %r0, 0x80000000;" R, 0x7FFFFFFF)                                            \
    M("cvt.sat.s32.s64 %r0, 0x8000000000000000;" R, 0x80000000)                                    \
    /* spaces of addresses */                                                                      \
    M("mov.u64 %d1, part; cvta.shared.u64 %d1, %d1; isspacep.shared %p0, %d1;" P, 1)               \
    M("mov.u64 %d1, part; cvta.shared.u64 %d1, %d1; isspacep.global %p0, %d1;" P, 0)               \
    M("mov.u64 %d1, own; cvta.local.u64 %d1, %d1; isspacep.local %p0, %d1;" P, 1)                  \
    M("isspacep.global %p0, %d7;" P, 1)                                                            \
    M("st.shared.u32 [part+4], 77; mov.u64 %d1, part; cvta.shared.u64 %d1, %d1; "                  \
      "ld.u32 %r0, [%d1+4];" R,                                                                    \
      77)                                                                                          \
    M("mov.u64 %d1, part; cvta.shared.u64 %d2, %d1; cvta.to.shared.u64 %d2, %d2; "                 \
      "sub.s64 %d0, %d2, %d1;",                                                                    \
      0)                                                                                           \
    M("mov.u64 %d1, own; st.local.u32 [%d1], %r7; cvta.local.u64 %d1, %d1; ld.u32 %r0, [%d1];" R,  \
      l)                                                                                           \
    /* parameters: several at once, and by a register */                                           \
    M("ld.param.v2.u32 {%r1, %r2}, [two]; mad.lo.u32 %r0, %r2, 100, %r1;" R, 2211)                 \
    M("mov.u64 %d1, two; ld.param.u32 %r0, [%d1+4];" R, 22)                                        \
    /* special registers */                                                                        \
    M("mov.u32 %r0, %nwarpid;" R, 64)                                                              \
    M("mov.u32 %r0, %nsmid;" R, 132)                                                               \
    M("mov.u32 %r0, %smid; mov.u32 %r1, %nsmid; setp.lt.u32 %p0, %r0, %r1;" P, 1)                  \
    M("mov.u32 %r0, %lanemask_eq;" R, 1u << l)                                                     \
    M("mov.u32 %r0, %lanemask_le;" R, (2u << l) - 1)                                               \
    M("mov.u32 %r0, %lanemask_lt;" R, (1u << l) - 1)                                               \
    M("mov.u32 %r0, %lanemask_ge;" R, ~((1u << l) - 1))                                            \
    M("mov.u32 %r0, %lanemask_gt;" R, ~((2u << l) - 1))                                            \
    M("mov.u32 %r0, %dynamic_smem_size;" R, 16)                                                    \
    M("mov.u32 %r0, %total_smem_size;" R, 3 * 128)                                                 \
    M("mov.u32 %r0, %nclusterid.x; mov.u32 %r1, %nctaid.x; sub.u32 %r0, %r0, %r1;" R, 0)           \
    M("mov.u32 %r0, %clusterid.y; mov.u32 %r1, %cluster_ctarank; add.u32 %r0, %r0, %r1;" R, 0)     \
    M("mov.u32 %r0, %cluster_nctarank; mov.u32 %r1, %cluster_nctaid.z; add.u32 %r0, %r0, %r1;" R,  \
      2)                                                                                           \
    M("mov.pred %p0, %is_explicit_cluster;" P, 0)                                                  \
    M("mov.u64 %d0, %gridid; mov.u64 %d1, %gridid; sub.u64 %d0, %d0, %d1;", 0)                     \
    M("mov.u32 %r0, WARP_SZ;" R, 32)                                                               \
    M("mov.u64 %d1, %clock64; mov.u64 %d2, %clock64; setp.gt.u64 %p0, %d2, %d1;" P, 1)             \
    M("mov.u64 %d1, %globaltimer; mov.u64 %d2, %globaltimer; setp.ge.u64 %p0, %d2, %d1;" P, 1)     \
    M("mov.u32 %r0, %clock_hi; mov.u64 %d1, %clock64; shr.u64 %d1, %d1, 32;"                       \
      "cvt.u32.u64 %r1, %d1; setp.eq.u32 %p0, %r0, %r1;" P,                                        \
      1)                                                                                           \
    /* what threads of a warp exchange */                                                          \
    M("and.b32 %r1, %r7, 3; match.any.sync.b32 %r0, %r1, " ALL ";" R, 0x11111111u << l % 4)        \
    M("mov.u32 %r1, 7; match.all.sync.b32 %r0|%p0, %r1, " ALL ";" R, 0xFFFFFFFF)                   \
    M("shr.u32 %r1, %r7, 4; cvt.u64.u32 %d1, %r1; match.all.sync.b64 %r0|%p0, %d1, " ALL ";" P, 0) \
    M("redux.sync.add.u32 %r0, %r7, " ALL ";" R, 496)                                              \
    M("sub.s32 %r1, %r7, 16; redux.sync.min.s32 %r0, %r1, " ALL ";" R, MINUS(16))                  \
    M("sub.s32 %r1, %r7, 16; redux.sync.max.u32 %r0, %r1, " ALL ";" R, 0xFFFFFFFF)                 \
    M("or.b32 %r1, %r7, 32; redux.sync.and.b32 %r0, %r1, " ALL ";" R, 32)                          \
    M("redux.sync.or.b32 %r0, %r7, " ALL ";" R, 31)                                                \
    M("shl.b32 %r1, 1, %r7; redux.sync.xor.b32 %r0, %r1, " ALL ";" R, 0xFFFFFFFF)                  \
    M("mov.u32 %r0, 9; elect.sync %r0|%p0, " ALL                                                   \
      "; selp.b32 %r1, 100, 0, %p0; add.u32 %r0, %r0, %r1;" R,                                     \
      l ? 0 : 100)                                                                                 \
    M("setp.lt.u32 %p1, %r7, 4; mov.u32 %r0, 0; @!%p1 bra over; activemask.b32 %r0; over:" R,      \
      l < 4 ? 15 : 0)                                                                              \
    M("vote.sync.ballot.b32 %r0, 1, " ALL ";" R, 0xFFFFFFFF)                                       \
    M("setp.lt.u32 %p1, %r7, 4; vote.sync.any.pred %p0, %p1, " ALL ";" P, 1)                       \
    M("setp.lt.u32 %p1, %r7, 4; vote.sync.all.pred %p0, !%p1, " ALL ";" P, 0)                      \
    M("setp.lt.u32 %p1, %r7, 4; vote.sync.uni.pred %p0, %p1, " ALL ";" P, 0)                       \
    M("setp.eq.u32 %p1, %r7, 31; @%p1 st.shared.u32 [part], %r7; bar.warp.sync " ALL ";"           \
      "ld.shared.u32 %r0, [part];" R,                                                              \
      31)                                                                                          \
    M("setp.lt.u32 %p1, %r7, 5; bar.red.popc.u32 %r0, 0, %p1;" R, 5)                               \
    M("setp.lt.u32 %p1, %r7, 5; bar.red.or.pred %p0, 0, %p1;" P, 1)                                \
    M("setp.lt.u32 %p1, %r7, 5; bar.red.and.pred %p0, 0, !%p1;" P, 0)                              \
    /* memory */                                                                                   \
    M(ATOMIC4("f32", "0x3FC00000", "add") "0f40000000" AFTER4, BEFORE_AND(0x3FC00000, 0x40600000)) \
    M("st.global.f64 [%d7], 0d3FF8000000000000; atom.global.add.f64 %g0, [%d7], "                  \
      "0d4000000000000000; ld.global.u64 %d0, [%d7];",                                             \
      0x400C000000000000)                                                                          \
    M("mov.b32 %r2, 0x40003C00; " ATOMIC4("f16x2", "0x3C004000", "add.noftz") "%r2" AFTER4,        \
      BEFORE_AND(0x3C004000, 0x42004200))                                                          \
    M("mov.b32 %r2, 0x40003F80; " ATOMIC4("bf16x2", "0x3F804000", "add.noftz") "%r2" AFTER4,       \
      BEFORE_AND(0x3F804000, 0x40404040))                                                          \
    M("st.global.u32 [%d7], 0x11114000; mov.b16 %h1, 0x3C00; atom.global.add.noftz.f16 %h0, "      \
      "[%d7], %h1; ld.global.u32 %r0, [%d7];" R,                                                   \
      0x11114200)                                                                                  \
    M(ATOMIC4("s32", "-3", "min") "2" AFTER4, BEFORE_AND(-3, -3))                                  \
    M("and.b32 %r1, %r7, 1; setp.eq.u32 %p0, %r1, 0; st.global.u64 [%d7], 0; "                     \
      "mov.b32 %f1, 0f3F800000; mov.b32 %f2, 0f40000000; "                                         \
      "@%p0 red.global.add.v4.f32 [%d7], {%f1, %f2, %f2, %f1}; bar.warp.sync -1; "                 \
      "ld.global.u64 %d0, [%d7];",                                                                 \
      l % 2 ? 0x3F80000040000000 : 0x400000003F800000)                                             \
    M("st.global.u64 [%d7], 0x4000000040400000; mov.b32 %f1, 0f3F800000; "                         \
      "atom.global.v2.f32.add {%f2, %f3}, [%d7], {%f1, %f1}; ld.global.v2.f32 {%f1, %f0}, [%d7]; " \
      "add.f32 %f0, %f0, %f1; add.f32 %f0, %f0, %f2; add.f32 %f0, %f0, %f3;" F,                    \
      0x41400000)                                                                                  \
    M("st.global.u64 [%d7], 0x3C0040003C004000; mov.b32 %r1, 0x3C003C00; "                         \
      "red.global.add.noftz.v2.f16x2 [%d7], {%r1, %r1}; ld.global.u64 %d0, [%d7];",                \
      0x4000420040004200)                                                                          \
    M("st.global.u64 [%d7], 0x3F8040003F804000; mov.b16 %h1, 0x3F80; "                             \
      "red.global.add.noftz.v4.bf16 [%d7], {%h1, %h1, %h1, %h1}; ld.global.u64 %d0, [%d7];",       \
      0x4000404040004040)                                                                          \
    M(ATOMIC4("u32", "-3", "min") "2" AFTER4, BEFORE_AND(-3, 2))                                   \
    M(ATOMIC4("s32", "-3", "max") "2" AFTER4, BEFORE_AND(-3, 2))                                   \
    M("st.global.u64 [%d7], -3; atom.global.max.s64 %d1, [%d7], -4; ld.global.u64 %d0, [%d7];",    \
      (uint64_t)-3)                                                                                \
    M(ATOMIC4("b32", "9", "exch") "2" AFTER4, BEFORE_AND(9, 2))                                    \
    M(ATOMIC4("b32", "9", "cas") "9, 4" AFTER4, BEFORE_AND(9, 4))                                  \
    M(ATOMIC4("b32", "9", "cas") "8, 4" AFTER4, BEFORE_AND(9, 9))                                  \
    M(ATOMIC4("b32", "12", "and") "10" AFTER4, BEFORE_AND(12, 8))                                  \
    M(ATOMIC4("b32", "12", "or") "10" AFTER4, BEFORE_AND(12, 14))                                  \
    M(ATOMIC4("b32", "12", "xor") "10" AFTER4, BEFORE_AND(12, 6))                                  \
    M(ATOMIC4("u32", "4", "inc") "5" AFTER4, BEFORE_AND(4, 5))                                     \
    M(ATOMIC4("u32", "5", "inc") "5" AFTER4, BEFORE_AND(5, 0))                                     \
    M(ATOMIC4("u32", "0", "dec") "5" AFTER4, BEFORE_AND(0, 5))                                     \
    M(ATOMIC4("u32", "4", "dec") "5" AFTER4, BEFORE_AND(4, 3))                                     \
    M("mov.u32 %r1, part; mov.u64 %d1, sixteen; cp.async.cg.shared.global [%r1], [%d1], 16; "      \
      "cp.async.commit_group; cp.async.wait_group 0; ld.shared.u64 %d0, [part+8];",                \
      0x100F0E0D0C0B0A09)                                                                          \
    M("mov.u32 %r1, part; mov.u64 %d1, sixteen; st.shared.u64 [part], -1; "                        \
      "mov.u32 %r2, 4; cp.async.ca.shared.global [%r1], [%d1+8], 8, %r2; "                         \
      "cp.async.wait_all; membar.gl; ld.shared.u64 %d0, [part];",                                  \
      0x0C0B0A09)                                                                                  \
    M("cvt.u64.u32 %d0, %r7; st.global.u64 [%d7], %d0; fence.proxy.async; sub.s64 %d5, %d7, %d6; " \
      "bar.warp.sync -1; setp.eq.u32 %p0, %r7, 0; mov.u32 %r1, part; mov.u32 %r2, 128; "           \
      "@%p0 mbarrier.init.shared.b64 [%r1+128], 1; fence.proxy.async; bar.warp.sync -1; "          \
      "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d5], %r2, " \
      "[%r1+128]; @%p0 mbarrier.arrive.expect_tx.shared.b64 %d1, [%r1+128], %r2; { WAIT: "         \
      "mbarrier.test_wait.parity.shared.b64 %p1, [%r1+128], 0; @!%p1 bra WAIT; } "                 \
      "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%d5+128], [%r1], %r2; "                   \
      "@%p0 cp.async.bulk.commit_group; @%p0 cp.async.bulk.wait_group 0; bar.warp.sync -1; "       \
      "ld.global.u64 %d0, [%d7];",                                                                 \
      l % 16)                                                                                      \
    /* what runs next */                                                                           \
    M("rem.u32 %r1, %r7, 3; table: .branchtargets one, two_, three; brx.idx %r1, table; "          \
      "one: mov.u32 %r0, 10; bra.uni end; two_: mov.u32 %r0, 20; bra.uni end; "                    \
      "three: mov.u32 %r0, 30; end:" R,                                                            \
      10 * (l % 3 + 1))                                                                            \
    M("table: .branchtargets one, two_; setp.lt.u32 %p1, %r7, 4; setp.gt.u32 %p2, %r7, 99; "       \
      "and.b32 %r1, %r7, 1; @%p2 brx.idx %r1, table; @%p1 brx.idx %r1, table; "                    \
      "mov.u32 %r0, 30; bra.uni end; one: mov.u32 %r0, 10; bra.uni end; two_: mov.u32 %r0, 20; "   \
      "end:" R,                                                                                    \
      l >= 4 ? 30 : 10 * (l % 2 + 1))                                                              \
    M("st.global.u64 [%d7], 77; setp.ge.u32 %p1, %r7, 4; @%p1 call leaves; mov.u64 %d0, 5;",       \
      l < 4 ? 5 : 77)                                                                              \
    M("mov.u64 %d1, functions;" ODD "mul.wide.u32 %d2, %r1, 8; add.s64 %d1, %d1, %d2; "            \
      "ld.global.u64 %d1, [%d1]; { .param .b32 given; .param .b32 back; "                          \
      "st.param.b32 [given], %r7; form: .callprototype (.param .b32 _) _ (.param .b32 _); "        \
      "call (back), %d1, (given), form; ld.param.b32 %r0, [back]; }" R,                            \
      l *(2 + l % 2))                                                                              \
    M("mov.u64 %d1, twice; mov.u64 %d2, thrice;" ODD "selp.b64 %d1, %d2, %d1, %p2; { "             \
      ".param .b32 given; .param .b32 back; st.param.b32 [given], %r7; "                           \
      "form: .callprototype (.param .b32 _) _ (.param .b32 _); "                                   \
      "call (back), %d1, (given), form; ld.param.b32 %r0, [back]; }" R,                            \
      l *(2 + l % 2))

#define TEXT(text, value)  text,
#define VALUE(text, value) expected[n++][l] = (value);

static const char *const texts[] = {CASES(TEXT)};
enum { LANES = 32, COUNT = sizeof texts / sizeof *texts };
static uint64_t expected[COUNT][LANES];
/* Their addresses stand for the kernels. */

static void fill_expected(void)
{
    for (unsigned l = 0; l < LANES; l++) {
        size_t n = 0;
        CASES(VALUE)
    }
}

#define FUNCTION(name, factor)                                                      \
    ".visible .func (.param .b32 back) " name "(.param .b32 x)\n{ .reg .b32 %r<2>;" \
    "ld.param.u32 %r0, [x]; mul.lo.u32 %r0, %r0, " factor "; st.param.b32 [back], %r0; ret; }\n"

static const char begin[] =
    ".version 8.3\n.target sm_90\n.address_size 64\n"
    ".global .align 16 .b8 sixteen[16] = "
    "{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16};\n" FUNCTION("twice", "2")
        FUNCTION("thrice", "3") ".visible .func leaves()\n{ exit; }\n"
                                ".global .align 8 .u64 functions[2] = {twice, thrice};\n";
static const char kernel[] =
    ".visible .entry case%zu(.param .u64 out, .param .align 8 .b8 two[8])\n{\n"
    ".reg .b16 %%h<4>; .reg .b32 %%r<8>; .reg .f32 %%f<4>; .reg .b64 %%d<8>; .reg .f64 "
    "%%g<4>;\n"
    ".reg .pred %%p<4>; .shared .align 16 .b8 part[256]; .local .align 8 .b8 own[16];\n"
    "mov.u32 %%r7, %%laneid; ld.param.u64 %%d7, [out]; mul.wide.u32 %%d6, %%r7, 8;\n"
    "add.s64 %%d7, %%d7, %%d6;\n%s\nst.global.u64 [%%d7], %%d0; ret;\n}\n";

static void check(CUfunction run, size_t n, uint64_t *out)
{
    uint64_t got[LANES];
    uint32_t two[2] = {11, 22};
    void *arguments[] = {&out, two};
    CUresult error = cuLaunchKernel(run, 1, 1, 1, LANES, 1, 1, 16, NULL, arguments, NULL);
    if (!error)
        error = cuMemcpyDtoH(got, (CUdeviceptr)out, sizeof got);
    if (error) {
        printf("%s: error %d\n", texts[n], (int)error);
        exit(1);
    }
    for (unsigned l = 0; l < LANES; l++)
        if (got[l] != expected[n][l]) {
            printf("%s: %#llx in lane %u, expected %#llx\n", texts[n], (unsigned long long)got[l],
                   l, (unsigned long long)expected[n][l]);
            wrong = 1;
            return;
        }
}

/* Loads a text of PTX and prints what the driver has against it. */
static CUmodule load(const char *text)
{
    static char log[4096];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    CUmodule module;
    OK(cudaFree(NULL));
    if (cuModuleLoadDataEx(&module, text, 2, options, values)) {
        puts(log);
        exit(1);
    }
    return module;
}

CASE(values)
{
    static char text[COUNT * 1200];
    uint64_t *out;
    char *at = text + sprintf(text, "%s", begin);
    fill_expected();
    for (size_t n = 0; n < COUNT; n++)
        at += sprintf(at, kernel, n, texts[n]);
    const CUmodule module = load(text);
    OK(cudaMalloc((void **)&out, sizeof *expected));
    for (size_t n = 0; n < COUNT; n++) {
        char name[16];
        CUfunction run;
        sprintf(name, "case%zu", n);
        DO(cuModuleGetFunction(&run, module, name));
        check(run, n, out);
    }
    OK(cudaFree(out));
}

/* ---- printf ---- */

/* Writes a variable of bytes with this text. */
static char *put_text(char *at, const char *name, const char *text)
{
    at += sprintf(at, ".global .align 8 .b8 %s[%zu] = {", name, strlen(text) + 1);
    for (; *text; text++)
        at += sprintf(at, "%d,", *text);
    return at + sprintf(at, "0};\n");
}

static const char says[] =
    ".extern .func (.param .b32 back) vprintf(.param .b64 a, .param .b64 b);\n"
    ".visible .entry says()\n{ .reg .b32 %r<2>; .reg .b64 %d<4>; .local .align 8 .b8 "
    "values[64];\n"
    "mov.u64 %d0, values; st.local.u32 [%d0], -7; mov.u64 %d1, word; cvta.global.u64 %d1, "
    "%d1;\n"
    "st.local.u64 [%d0+8], %d1; st.local.f64 [%d0+16], 0d4004000000000000;\n"
    "st.local.u64 [%d0+24], -16; st.local.u64 [%d0+32], 0x1234; st.local.u64 [%d0+40], 0;\n"
    "st.local.u32 [%d0+48], 65; cvta.local.u64 %d2, %d0;\n"
    "mov.u64 %d3, format; cvta.global.u64 %d3, %d3;\n"
    "{ .param .b64 a; .param .b64 b; .param .b32 back; st.param.b64 [a], %d3;\n"
    "st.param.b64 [b], %d2; call (back), vprintf, (a, b); ld.param.b32 %r0, [back]; }\n"
    "st.local.u32 [%d0], %r0; mov.u64 %d3, counted; cvta.global.u64 %d3, %d3;\n"
    "{ .param .b64 a; .param .b64 b; .param .b32 back; st.param.b64 [a], %d3;\n"
    "st.param.b64 [b], %d2; call (back), vprintf, (a, b); } ret; }\n";

/* Prints, and then prints the number of values. */
CASE(print)
{
    static char text[1 << 14];
    char *at = text + sprintf(text, ".version 8.0\n.target sm_90\n.address_size 64\n");
    at = put_text(at, "word", "word");
    at = put_text(at, "format", "[%d] [%-6s] [%5.1f] [%llx] [%p] [%s] [%c] 100%%\n");
    at = put_text(at, "counted", "%d values\n");
    strcpy(at, says);
    CUfunction run;
    DO(cuModuleGetFunction(&run, load(text), "says"));
    DO(cuLaunchKernel(run, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cudaDeviceSynchronize());
}

/* Halves, computed several at once, are rounded as one after the other: near the middle between any
 * two, and in sums of products. */
CASE(halves)
{
    uint32_t x = 1, y = 1, z = 1, wrong = 0;
    for (uint32_t n = 0; n < 3 << 16; n++) {
        const float near = float_of_bits(bits_of_float(half_value(n / 3)) + 0x1000 - 1 + n % 3);
        wrong += half_of_float(near) != half_of(near);
    }
    for (uint32_t n = 0; n < 300000; n++) {
        x = x * 1664525 + 1013904223;
        y = x >> 16;
        z = n % 3 ? z * 22695477 + 1 : (x >> 8 & 0x83FF) | ((x >> 26) + (y >> 10 & 31) - 15) << 10;
        const double exact = (double)half_value(x) * (double)half_value(y);
        wrong += half_fma(x, y, z) != half_of(odd_sum_double(exact, (double)half_value(z)));
        wrong += half_add(x, z) != half_of((double)half_value(x) + (double)half_value(z));
        wrong += half_mul(x, y) != half_of(exact);
    }
    SAME(0, wrong);
}

int main(int argc, char **argv) { return run_named(argc, argv); }
