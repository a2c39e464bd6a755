// SPDX-License-Identifier: Apache-2.0
// What random kernels are made of: statements as rows, and kinds of kernels as lists of groups of rows.
//
//     =f       a new register of class f                 ?f     a register or a literal
//     %f       a register that has a value               #f     a literal; #g a power of two; #k one of known numbers
//     ^f ^^f   the last, last but one that the row made  #[a:b:s]  a number from a to b in steps of s
//     &f       bytes of the results, which the row fills  (a|b)  one of these
//     $z $n    the kernel's .ftz; .rn or nothing         <in> <tid> <own> <other>  inputs, thread, its bytes of shared memory, a place for others
//
// A row that begins with ! needs all threads of the block; a name that begins with : is a block of statements (kernel.hpp).
#pragma once

#include <span>
#include <string_view>

namespace random_kernels {

/// A class of values. Several share a kind of register.
struct Class {
  char letter;
  std::string_view prefix, declared, moved;  ///< "%f", "f32", "f32"
  int bytes;                                 ///< in memory
};
inline constexpr Class kClasses[] = {
    {'f', "%f", "f32", "f32", 4},   {'d', "%d", "f64", "f64", 8}, {'r', "%r", "b32", "b32", 4},
    {'l', "%rd", "b64", "b64", 8},  {'s', "%h", "b16", "b16", 2}, {'h', "%h", "b16", "b16", 2},
    {'b', "%h", "b16", "b16", 2},   {'x', "%r", "b32", "b32", 4}, {'y', "%r", "b32", "b32", 4},
    {'p', "%p", "pred", "pred", 0},
};
constexpr const Class& class_of(char letter) {
  for (const Class& one : kClasses)
    if (one.letter == letter) return one;
  return kClasses[0];
}

struct Row {
  int weight;
  std::string_view text;
};

#define COMPARE   "(eq|ne|lt|le|gt|ge|lt|gt|le|ge|equ|neu|ltu|leu|gtu|geu|num|nan)"
#define ROUND     "(rn|rz|rm|rp)"
#define ROUND_INT "(rni|rzi|rmi|rpi)"

inline constexpr Row kArithmetic[] = {
    {18, "mul$n$z.f32 =f, ?f, ?f"},
    {16, "add$n$z.f32 =f, ?f, ?f"},
    {10, "sub$n$z.f32 =f, ?f, ?f"},
    {8, "fma.rn$z.f32 =f, ?f, ?f, ?f"},
    {2, "neg$z.f32 =f, %f"},
    {2, "abs$z.f32 =f, %f"},
    {3, "(min|max)$z.f32 =f, ?f, ?f"},
    {1, "(min|max)$z.NaN.f32 =f, ?f, ?f"},
    {3, "setp." COMPARE "$z.f32 =p, %f, ?f"},
    {3, "selp.f32 =f, ?f, ?f, %p"},
    {1, "mov.f32 =f, %f"},
    {1, "mov.f32 =f, #f"},
    {1, "(mul|add|sub).(rz|rm|rp)$z.f32 =f, ?f, ?f"},
    {1, "fma.(rz|rm|rp)$z.f32 =f, ?f, ?f, ?f"},
    {1, "(mul|add|sub)$n$z.sat.f32 =f, %f, ?f"},
    {1, "copysign.f32 =f, %f, %f"},
};
// Products that something else uses, too; products of products; negations and powers of two between.
inline constexpr Row kDense[] = {
    {4, "mul$z.f32 =f, %f, %f; mul$z.f32 =f, ^f, #g"},
    {2, "mul$z.f32 =f, %f, #g; mul$z.f32 =f, ^f, %f"},
    {2, "add$z.f32 =f, %f, %f; mul$z.f32 =f, ^f, #g"},
    {4, "mul$z.f32 =f, %f, %f; mul$z.f32 =f, %f, %f; (add|sub)$z.f32 =f, ^^f, ^f"},
    {3, "mul$z.f32 =f, %f, %f; add$z.f32 =f, ^f, %f; (add|sub)$z.f32 =f, ^^f, %f"},
    {3, "mul$z.f32 =f, %f, %f; mul$z.f32 =f, ^f, %f; (add|sub)$z.f32 =f, ^f, ^^f"},
    {3, "mul$z.f32 =f, %f, %f; neg$z.f32 =f, ^f; (add|sub)$z.f32 =f, %f, ^f"},
    {2, "neg$z.f32 =f, %f; mul$z.f32 =f, ^f, %f; add$z.f32 =f, ^f, %f"},
    {3, "mul$z.f32 =f, %f, %f; sub$z.f32 =f, %f, ^f"},
    {3, "mul$z.f32 =f, %f, %f; sub$z.f32 =f, ^f, ?f"},
    {2, "mul$z.f32 =f, %f, %f; add$z.f32 =f, ^f, ^f"},
    {2, "mul$z.f32 =f, %f, %f; fma.rn$z.f32 =f, %f, %f, ^f"},
    {2, "mul$z.f32 =f, %f, %f; fma.rn$z.f32 =f, ^f, %f, ^f"},
    {2, "mul$z.f32 =f, %f, ?f; abs$z.f32 =f, ^f; add$z.f32 =f, ^f, %f"},
    {1, "mul$z.f32 =f, %f, %f; mov.f32 =f, ^f; add$z.f32 =f, ^f, ?f"},
    {1, "mul$z.f32 =f, %f, %f; selp.f32 =f, ^f, %f, %p; add$z.f32 =f, ^f, %f"},
};
inline constexpr Row kGuards[] = {
    {6, "mov.f32 =f, %f; @(|!)%p (add|mul|sub)$n$z.f32 ^f, ?f, ?f"},
    {2, "mov.f32 =f, %f; @(|!)%p fma.rn$z.f32 ^f, ?f, ?f, ?f"},
    {2, "mov.f32 =f, %f; @(|!)%p mov.f32 ^f, ?f"},
    {2, "mul$z.f32 =f, %f, %f; @(|!)%p add$z.f32 ^f, ^f, ?f"},
    {2, "mul$z.f32 =f, %f, %f; mov.f32 =f, %f; @(|!)%p add$z.f32 ^f, ^^f, ?f"},
    {1, "mov.f32 =f, %f; @(|!)%p (min|max|add|sub)$z.f32 ^f, ^f, ?f; @(|!)%p mul$z.f32 ^f, ^f, %f"},
    {1, "mov.f32 =f, %f; @(|!)%p (ex2|rcp|sqrt).approx.ftz.f32 ^f, %f"},
    {1, "mov.f32 =f, %f; @(|!)%p selp.f32 ^f, ?f, ?f, %p"},
    {2, "setp." COMPARE ".f32 =p, %f, ?f"},
    {1, "(and|or|xor).pred =p, %p, %p"},
    {1, "not.pred =p, %p"},
    {1, "setp.(lt|ge|ne).(and|or|xor).f32 =p|=p, %f, ?f, (|!)%p"},
};
inline constexpr Row kBranches[] = {{3, ":if"}, {3, ":else"}, {3, "setp." COMPARE ".f32 =p, %f, ?f"}};
inline constexpr Row kLoops[] = {{6, ":loop"}, {2, ":nest"}, {2, "cvt.rn.f32.(u32|s32) =f, %r"}};
inline constexpr Row kDivisions[] = {
    {3, "div.rn$z.f32 =f, ?f, %f"},
    {4, "div.(full|approx)$z.f32 =f, ?f, %f"},
    {3, "div.(full|approx|rn)$z.f32 =f, %f, #f"},
    {1, "div.(rz|rm|rp)$z.f32 =f, %f, %f"},
    {3, "rcp.(approx|approx|rn)$z.f32 =f, %f"},
    {2, "div.(full|approx)$z.f32 =f, %f, ?f; (add|sub)$z.f32 =f, ^f, ?f"},
    {2, "div.(full|approx)$z.f32 =f, %f, ?f; (add|sub)$z.f32 =f, ?f, ^f"},
    {1, "div.(full|approx)$z.f32 =f, %f, ?f; mul$z.f32 =f, ^f, ?f"},
    {1, "rcp.(approx|rn)$z.f32 =f, %f; mul$z.f32 =f, ^f, %f; add$z.f32 =f, ^f, %f"},
    {1, "rcp.approx$z.f32 =f, #k"},
    {1, "rcp.approx$z.f32 =f, %f; rcp.approx$z.f32 =f, ^f"},
    {1, "rcp.approx$z.f32 =f, %f; div.approx$z.f32 =f, %f, ^f"},
    {1, "ex2.approx$z.f32 =f, %f; div.approx$z.f32 =f, %f, ^f"},
};
inline constexpr Row kFunctions[] = {
    {2, "(sqrt|rsqrt|ex2|lg2|sin|cos|rcp).approx$z.f32 =f, %f"},
    {4, "(ex2|sin|cos|rcp).approx$z.f32 =f, %f"},
    {1, "(sqrt|rsqrt|ex2|lg2|sin|cos|rcp).approx(|.ftz).f32 =f, %f"},
    {5, "abs$z.f32 =f, %f; (sqrt|rsqrt|lg2).approx$z.f32 =f, ^f"},
    {2, "tanh.approx.f32 =f, %f"},
    {2, "rcp.rn$z.f32 =f, %f"},
    {2, "abs$z.f32 =f, %f; sqrt.rn$z.f32 =f, ^f"},
    {1, "(sqrt|rcp).(rz|rm|rp)$z.f32 =f, %f"},
    {2, "(sqrt|rsqrt|ex2|lg2|sin|cos|rcp).approx$z.f32 =f, #k"},
    {1, "tanh.approx.f32 =f, #k"},
    {1, "(sqrt|rcp).rn$z.f32 =f, #k"},
    {1, "mov.u32 =r, #[1:300]; cvt.rn.f32.u32 =f, ^r; (sqrt|rsqrt|ex2|lg2|sin|cos|rcp).approx$z.f32 =f, ^f"},
    {1, "mov.f32 =f, #k; (mul|add|max)$z.f32 =f, ^f, #k; (sqrt|rsqrt|ex2|lg2|sin|cos|rcp).approx$z.f32 =f, ^f"},
    {2, "(ex2|sin|cos|rcp).approx$z.f32 =f, %f; (add|sub|mul)$z.f32 =f, ^f, ?f"},
    {2, "mul$z.f32 =f, %f, %f; (ex2|sin|cos|rcp).approx$z.f32 =f, ^f; fma.rn$z.f32 =f, ^f, ?f, ^^f"},
    {1,
     "mul$z.f32 =f, %f, 0f3FB8AA3B; ex2.approx$z.f32 =f, ^f; add$z.f32 =f, ^f, 0f3F800000; rcp.approx$z.f32 =f, ^f"},
    {1, "ex2.approx$z.f32 =f, %f; rcp.approx$z.f32 =f, ^f"},
    {1, "abs$z.f32 =f, %f; lg2.approx$z.f32 =f, ^f; mul$z.f32 =f, ^f, %f; ex2.approx$z.f32 =f, ^f"},
};
inline constexpr Row kDoubles[] = {
    {14, "mul(|||.rn).f64 =d, ?d, ?d"},
    {12, "add(|||.rn).f64 =d, ?d, ?d"},
    {8, "sub(|||.rn).f64 =d, ?d, ?d"},
    {6, "fma.rn.f64 =d, ?d, ?d, ?d"},
    {1, "fma.(rz|rm|rp).f64 =d, %d, ?d, %d"},
    {1, "(add|sub|mul).(rz|rm|rp).f64 =d, %d, ?d"},
    {2, "(neg|abs).f64 =d, %d"},
    {2, "(min|max).f64 =d, ?d, ?d"},
    {2, "setp." COMPARE ".f64 =p, %d, ?d"},
    {2, "selp.f64 =d, ?d, ?d, %p"},
    {1, "mov.f64 =d, (%d|#d)"},
    {2, "mul.f64 =d, %d, %d; mul.f64 =d, %d, %d; (add|sub).f64 =d, ^^d, ^d"},
    {2, "mul.f64 =d, %d, %d; (neg|abs).f64 =d, ^d; (add|sub).f64 =d, %d, ^d"},
    {2, "mul.f64 =d, %d, %d; add.f64 =d, ^d, %d; add.f64 =d, ^^d, %d"},
    {1, "mul.f64 =d, %d, %d; mul.f64 =d, ^d, 0d(4000000000000000|3FE0000000000000|4010000000000000)"},
    {1, "copysign.f64 =d, %d, %d"},
    {1, "mov.f64 =d, %d; @(|!)%p (add|mul|sub).f64 ^d, ?d, ?d"},
};
inline constexpr Row kDoubleFunctions[] = {
    {2, "div.rn.f64 =d, ?d, %d"},
    {1, "div.(rz|rm|rp).f64 =d, %d, ?d"},
    {1, "rcp.rn.f64 =d, %d"},
    {1, "rcp.(rz|rm|rp).f64 =d, %d"},
    {1, "(sqrt.rn|sqrt.rz|sqrt.rp|rsqrt.approx).f64 =d, %d"},
    {3, "abs.f64 =d, %d; (sqrt.rn|sqrt.rn|sqrt.rz|sqrt.rm|rsqrt.approx).f64 =d, ^d"},
    {1, "rcp.approx.ftz.f64 =d, %d"},
    {1, "abs.f64 =d, %d; rsqrt.approx.ftz.f64 =d, ^d"},
};
inline constexpr Row kIntegers[] = {
    {6, "(add|sub).(u32|s32) =r, ?r, ?r"},
    {3, "mul.(lo|lo|hi).(u32|s32) =r, %r, ?r"},
    {4, "mad.(lo|lo|hi).(u32|s32) =r, %r, ?r, ?r"},
    {2, "mul.wide.(u32|s32) =l, %r, ?r"},
    {2, "mad.wide.(u32|s32) =l, %r, ?r, %l"},
    {3, "(add|sub).(u64|s64) =l, %l, ?l"},
    {1, "mul.(lo|hi).(u64|s64) =l, %l, ?l"},
    {1, "mad.(lo|hi).(u64|s64) =l, %l, ?l, %l"},
    {4, "(and|or|xor).b32 =r, %r, ?r"},
    {1, "(and|or|xor).b64 =l, %l, ?l"},
    {1, "(not|cnot).b32 =r, %r"},
    {1, "(not|cnot).b64 =l, %l"},
    {3, "lop3.b32 =r, %r, ?r, %r, #[0:255]"},
    {2, "(shl.b32|shr.u32|shr.s32|shr.b32) =r, %r, #[0:34]"},
    {2, "and.b32 =r, %r, 31; (shl.b32|shr.u32|shr.s32|shr.b32) =r, %r, ^r"},
    {1, "(shl.b32|shr.u32|shr.s32|shr.b32) =r, ?r, %r"},
    {1, "(shl.b64|shr.u64|shr.s64|shr.b64) =l, %l, (#[0:66]|%r)"},
    {2, "shf.(l|r).(wrap|clamp).b32 =r, %r, %r, (#[0:40]|%r)"},
    {3, "(min|max).(u32|s32) =r, %r, ?r"},
    {1, "(min|max).(u64|s64) =l, %l, ?l"},
    {1, "(min|max).relu.s32 =r, %r, ?r"},
    {1, "(min|max).(u16x2|s16x2) =r, %r, %r"},
    {1, "add.(u16x2|s16x2) =r, %r, %r"},
    {1, "(abs|neg).s32 =r, %r"},
    {1, "(abs|neg).s64 =l, %l"},
    {1, "(popc|clz).b32 =r, %r"},
    {1, "(popc|clz).b64 =r, %l"},
    {1, "(bfind|bfind.shiftamt).(u32|s32) =r, %r"},
    {1, "(bfind|bfind.shiftamt).(u64|s64) =r, %l"},
    {1, "brev.b32 =r, %r"},
    {1, "brev.b64 =l, %l"},
    {2, "bfe.(u32|s32) =r, %r, #[0:40], #[0:34]"},
    {1, "and.b32 =r, %r, 31; bfe.(u32|s32) =r, %r, ^r, #[1:31]"},
    {1, "bfe.(u32|s32) =r, %r, %r, (%r|#[1:31])"},
    {1, "bfe.(u64|s64) =l, %l, (%r|#[0:70]), #[0:66]"},
    {2, "bfi.b32 =r, %r, ?r, #[0:36], #[0:34]"},
    {1, "bfi.b32 =r, %r, %r, %r, (%r|#[1:31])"},
    {1, "bfi.b64 =l, %l, %l, (%r|#[0:70]), #[0:66]"},
    {1, "szext.(wrap|clamp).(u32|s32) =r, %r, (%r|#[1:31])"},
    {1, "bmsk.(wrap|clamp).b32 =r, %r, (%r|#[0:31])"},
    {2, "prmt.b32 =r, %r, ?r, (%r|#r)"},
    {1, "prmt.b32.(f4e|b4e|rc8|ecl|ecr|rc16) =r, %r, %r, %r"},
    {1, "dp4a.(u32|s32).(u32|s32) =r, %r, ?r, %r"},
    {1, "dp2a.(lo|hi).(u32|s32).(u32|s32) =r, %r, ?r, %r"},
    {1, "sad.(u32|s32) =r, %r, ?r, %r"},
    {1, "sad.(u64|s64) =l, %l, %l, %l"},
    {1, "mul24.(lo|hi).(u32|s32) =r, %r, ?r"},
    {1, "mad24.(lo|hi).(u32|s32) =r, %r, ?r, %r"},
    {1, "(add|sub).sat.s32 =r, %r, ?r"},
    {1, "mad.hi.sat.s32 =r, %r, %r, %r"},
    {1, "add.cc.u32 =r, %r, ?r; addc.u32 =r, %r, ?r"},
    {1, "sub.cc.u32 =r, %r, ?r; subc.cc.u32 =r, %r, ?r; subc.u32 =r, %r, %r"},
    {1, "mad.lo.cc.u32 =r, %r, %r, %r; madc.hi.u32 =r, %r, %r, %r"},
    {1, "(div|rem).(u32|s32) =r, %r, #[1:300]"},
    {1, "or.b32 =r, %r, 1; (div|rem).(u32|s32) =r, ?r, ^r"},
    {1, "or.b64 =l, %l, 1; (div|rem).(u64|s64) =l, %l, ^l"},
    {3, "setp.(eq|ne|lt|le|gt|ge).(u32|s32) =p, %r, ?r"},
    {1, "setp.(lo|ls|hi|hs).u32 =p, %r, ?r"},
    {1, "setp.(eq|ne|lt|le|gt|ge).(u64|s64) =p, %l, ?l"},
    {2, "selp.(b32|u32|s32) =r, ?r, ?r, %p"},
    {1, "selp.b64 =l, %l, ?l, %p"},
    {1, "set.(eq|lt|ge).(u32|s32).(u32|s32) =r, %r, ?r"},
    {1, "slct.(b32|s32).s32 =r, %r, %r, %r"},
    {1, "mov.b32 =r, (%r|#r)"},
    {1, "mov.b32 =r, %r; @(|!)%p (add|mul.lo|sub).s32 ^r, %r, ?r"},
    {1, "cvt.(u64.u32|s64.s32|u64.s32|s64.u32) =l, %r"},
    {1, "cvt.(u32.u64|s32.s64) =r, %l"},
    {1, "mov.b64 =l, {%r, %r}"},
    {1, "mov.b64 {=r, =r}, %l"},
};
inline constexpr Row kHalves[] = {
    {6, "(add|sub|mul)(||.rn)$z.f16 =h, %h, %h"},
    {8, "(add|sub|mul|mul|add)(||.rn)$z.f16x2 =x, %x, %x"},
    {1, "(add|sub|mul)(|.rn)$z.sat.f16x2 =x, %x, %x"},
    {1, "(add|sub|mul)(|.rn)$z.sat.f16 =h, %h, %h"},
    {3, "fma.rn$z.f16 =h, %h, %h, %h"},
    {3, "fma.rn$z.f16x2 =x, %x, %x, %x"},
    {1, "fma.rn$z.(sat|relu).f16x2 =x, %x, %x, %x"},
    {1, "fma.rn$z.(sat|relu).f16 =h, %h, %h, %h"},
    {1, "(neg|abs)$z.f16 =h, %h"},
    {1, "(neg|abs)$z.f16x2 =x, %x"},
    {1, "(min|max)$z(|.NaN).f16 =h, %h, %h"},
    {1, "(min|max)$z(|.NaN).f16x2 =x, %x, %x"},
    {1, "(min|max)$z(|.NaN).xorsign.abs.f16x2 =x, %x, %x"},
    {1, "(ex2|tanh).approx.f16 =h, %h"},
    {1, "(ex2|tanh).approx.f16x2 =x, %x"},
    {1, "set." COMPARE "$z.f16x2.f16x2 =x, %x, %x"},
    {1, "set." COMPARE "$z.f16.f16 =h, %h, %h"},
    {1, "setp." COMPARE "$z.f16 =p, %h, %h"},
    {1, "setp." COMPARE "$z.f16x2 =p|=p, %x, %x"},
    {1, "selp.b32 =x, %x, %x, %p"},
    {1, "selp.b16 =h, %h, %h, %p"},
    {2, "mov.b32 =x, {%h, %h}"},
    {2, "mov.b32 {=h, =h}, %x"},
    {1, "mov.b32 {_, =h}, %x"},
    {1, "mov.b32 =x, #x"},
    {1, "mov.b16 =h, #h"},
    {3, "mul$z.f16x2 =x, %x, %x; (add|sub)$z.f16x2 =x, ^x, %x"},
    {2, "mul$z.f16 =h, %h, %h; (add|sub)$z.f16 =h, %h, ^h"},
    {1, "mul$z.f16x2 =x, %x, %x; neg.f16x2 =x, ^x; add$z.f16x2 =x, ^x, %x"},
    {1, "mul$z.f16x2 =x, %x, %x; add$z.f16x2 =x, ^x, %x; add$z.f16x2 =x, ^^x, %x"},
    {1, "mov.b32 =x, %x; @(|!)%p (add|mul|sub)$z.f16x2 ^x, %x, %x"},
};
inline constexpr Row kHalvesToWide[] = {
    {2, "cvt.f32.f16 =f, %h"},
    {1, "cvt." ROUND ".f16.f32 =h, %f"},
    {2, "cvt.(rn|rz)(|.relu).f16x2.f32 =x, %f, %f"},
    {1, "cvt.rn.f16.f32 =h, #f"},
    {3, "(add|mul|sub).f32 =f, %f, ?f"},
};
inline constexpr Row kBhalves[] = {
    {6, "(add|sub|mul)(||.rn).bf16 =b, %b, %b"},
    {8, "(add|sub|mul|mul|add)(||.rn).bf16x2 =y, %y, %y"},
    {3, "fma.rn(|.relu).bf16 =b, %b, %b, %b"},
    {3, "fma.rn(|.relu).bf16x2 =y, %y, %y, %y"},
    {1, "(neg|abs).bf16 =b, %b"},
    {1, "(neg|abs).bf16x2 =y, %y"},
    {1, "(min|max)(|.NaN).bf16 =b, %b, %b"},
    {1, "(min|max)(|.NaN).bf16x2 =y, %y, %y"},
    {1, "(min|max)(|.NaN).xorsign.abs.bf16x2 =y, %y, %y"},
    {1, "(ex2.approx.ftz|tanh.approx).bf16 =b, %b"},
    {1, "(ex2.approx.ftz|tanh.approx).bf16x2 =y, %y"},
    {1, "set." COMPARE ".bf16x2.bf16x2 =y, %y, %y"},
    {1, "set." COMPARE ".bf16.bf16 =b, %b, %b"},
    {1, "setp." COMPARE ".bf16 =p, %b, %b"},
    {1, "setp." COMPARE ".bf16x2 =p|=p, %y, %y"},
    {1, "selp.b32 =y, %y, %y, %p"},
    {1, "selp.b16 =b, %b, %b, %p"},
    {2, "mov.b32 =y, {%b, %b}"},
    {2, "mov.b32 {=b, =b}, %y"},
    {1, "mov.b32 {_, =b}, %y"},
    {1, "mov.b32 =y, #y"},
    {1, "mov.b16 =b, #b"},
    {3, "mul.bf16x2 =y, %y, %y; (add|sub).bf16x2 =y, ^y, %y"},
    {2, "mul.bf16 =b, %b, %b; (add|sub).bf16 =b, %b, ^b"},
    {1, "mul.bf16x2 =y, %y, %y; neg.bf16x2 =y, ^y; add.bf16x2 =y, ^y, %y"},
    {1, "mul.bf16x2 =y, %y, %y; add.bf16x2 =y, ^y, %y; add.bf16x2 =y, ^^y, %y"},
    {1, "mov.b32 =y, %y; @(|!)%p (add|mul|sub).bf16x2 ^y, %y, %y"},
};
inline constexpr Row kBhalvesToWide[] = {
    {2, "cvt.f32.bf16 =f, %b"},
    {1, "cvt." ROUND ".bf16.f32 =b, %f"},
    {2, "cvt.(rn|rz)(|.relu).bf16x2.f32 =y, %f, %f"},
    {1, "cvt.u32.u16 =r, %b; shl.b32 =r, ^r, 16; mov.b32 =f, ^r"},
    {3, "(add|mul|sub).f32 =f, %f, ?f"},
};
inline constexpr Row kPacking[] = {
    {4, "mov.b32 =r, {%s, %s}"},
    {4, "mov.b32 {=s, =s}, %r"},
    {2, "mov.b32 {_, =s}, %r"},
    {1, "mov.b32 {=s, _}, %r"},
    {2, "mov.b64 =l, {%r, %r}"},
    {2, "mov.b64 {=r, =r}, %l"},
    {1, "mov.b64 =l, {%s, %s, %s, %s}"},
    {2, "mov.b64 {=s, =s, =s, =s}, %l"},
    {3, "(add|sub).(u16|s16) =s, %s, ?s"},
    {1, "mul.(lo|hi).(u16|s16) =s, %s, ?s"},
    {1, "mul.wide.(u16|s16) =r, %s, ?s"},
    {1, "mad.lo.(u16|s16) =s, %s, ?s, %s"},
    {1, "mad.wide.(u16|s16) =r, %s, ?s, %r"},
    {3, "(and|or|xor).b16 =s, %s, ?s"},
    {1, "(not|cnot).b16 =s, %s"},
    {3, "(shl.b16|shr.u16|shr.s16) =s, %s, #[0:18]"},
    {1, "(shl.b16|shr.u16|shr.s16) =s, %s, %r"},
    {2, "(min|max).(u16|s16) =s, %s, ?s"},
    {1, "(abs|neg).s16 =s, %s"},
    {1, "(div|rem).(u16|s16) =s, %s, #[1:99]"},
    {1, "setp.(eq|ne|lt|le|gt|ge).(u16|s16) =p, %s, ?s"},
    {1, "selp.(b16|u16) =s, %s, ?s, %p"},
    {2, "cvt.(u32.u16|s32.s16|u32.s16|s32.u16|u32.u8|s32.s8) =r, %s"},
    {2, "cvt.(u16.u32|s16.s32|s16.u32|u8.u32|s8.s32) =s, %r"},
    {1, "cvt.(u16.u8|s16.s8|u8.u16|s8.s16) =s, %s"},
    {1, "cvt.(u64.u16|s64.s16) =l, %s"},
    {1, "cvt.sat.(u8.s32|s8.s32|u16.s32|s16.s32|u8.u32|s8.u32|s16.u32) =s, %r"},
    {1, "cvt.pack.sat.(u16|s16).s32 =r, %r, %r"},
    {1, "cvt.pack.sat.(u8|s8).s32.b32 =r, %r, %r, %r"},
    {3, "prmt.b32 =r, %r, ?r, #[0:65535]"},
    {2, "add.(u16x2|s16x2) =r, %r, %r"},
    {2, "mov.b32 =r, #r; (add|min|max).(u16x2|s16x2) =r, %r, ^r"},
    {1, "mov.b32 =r, #r; add.(u16x2|s16x2) =r, %r, ^r; mov.b32 {_, =s}, ^r"},
    {1, "(min|max).(u16x2|s16x2) =r, %r, %r"},
    {1, "(min|max).relu.s16x2 =r, %r, %r"},
    {2, "(and|or|xor|xor).b32 =r, %r, ?r"},
    {2, "(shl.b32|shr.u32|shr.s32) =r, %r, #[0:31]"},
    {1, "bfe.(u32|s32) =r, %r, #[0:31], #[1:31]"},
    {1, "bfi.b32 =r, %r, %r, #[0:31], #[1:31]"},
    {1, "shf.(l|r).wrap.b32 =r, %r, %r, #[0:31]"},
    {1, "lop3.b32 =r, %r, %r, %r, #[0:255]"},
    {1, "ld.global.v2.b32 {=r, =r}, [<in>+#[0:24:8]]"},
    {1, "ld.global.v4.b32 {=r, =r, =r, =r}, [<in>+#[0:16:16]]"},
    {1, "ld.global.v4.u16 {=s, =s, =s, =s}, [<in>+#[0:24:8]]"},
    {1, "ld.global.(u8|s8) =s, [<in>+#[0:31]]"},
    {1, "ld.global.(u8|s8|u16|s16) =r, [<in>+#[0:30:2]]"},
};
inline constexpr Row kConversions[] = {
    {3, "cvt." ROUND "$z(|.sat).f32.(u32|s32) =f, %r"},
    {1, "cvt." ROUND "$z.f32.(u8|s8|u16|s16) =f, %r"},
    {1, "cvt." ROUND ".f32.(u64|s64) =f, %l"},
    {4, "cvt." ROUND_INT "$z.(u32|s32).f32 =r, %f"},
    {1, "cvt." ROUND_INT "$z.sat.(u32|s32).f32 =r, %f"},
    {2, "cvt." ROUND_INT "$z.(u64|s64).f32 =l, %f"},
    {1, "cvt." ROUND_INT "$z.(u16|s16|u8|s8).f32 =r, %f"},
    {3, "cvt." ROUND_INT "$z(|.sat).f32.f32 =f, %f"},
    {1, "cvt(|.ftz).sat.f32.f32 =f, %f"},
    {1, "cvt(|.sat)$z.f64.f32 =d, %f"},
    {2, "cvt." ROUND "$z.f32.f64 =f, %d"},
    {1, "cvt." ROUND ".f64.(u32|s32) =d, %r"},
    {1, "cvt." ROUND ".f64.(u64|s64) =d, %l"},
    {2, "cvt." ROUND_INT "(|.sat).(u32|s32).f64 =r, %d"},
    {1, "cvt." ROUND_INT ".(u64|s64).f64 =l, %d"},
    {1, "cvt." ROUND_INT ".f64.f64 =d, %d"},
    {2, "cvt." ROUND "$z(|.sat).f16.f32 =h, %f"},
    {1, "cvt." ROUND ".f16.f64 =h, %d"},
    {1, "cvt." ROUND ".f16.(u32|s32|u16|s16) =h, %r"},
    {2, "cvt(|.sat)$z.f32.f16 =f, %h"},
    {1, "cvt.f64.f16 =d, %h"},
    {1, "cvt." ROUND_INT ".(u32|s32|u16|s16).f16 =r, %h"},
    {1, "cvt." ROUND_INT ".f16.f16 =h, %h"},
    {2, "cvt." ROUND ".bf16.f32 =b, %f"},
    {1, "cvt." ROUND ".bf16.f64 =b, %d"},
    {1, "cvt." ROUND ".bf16.(u32|s32) =b, %r"},
    {1, "cvt." ROUND ".bf16.(u16|s16) =b, %s"},
    {2, "cvt$z.f32.bf16 =f, %b"},
    {1, "cvt.(rn|rz)(|.relu).(f16x2.f32 =x|bf16x2.f32 =y), %f, %f"},
    {1, "cvt.rna.tf32.f32 =r, %f"},
    {1, "cvt." ROUND_INT ".(u32|s32).bf16 =r, %b"},
    {1, "cvt." ROUND_INT ".(u16|s16).bf16 =s, %b"},
    {1, "cvt.rn.satfinite(|.relu).(e4m3x2|e5m2x2).f32 =s, %f, %f"},
    {1, "cvt.rn(|.relu).f16x2.(e4m3x2|e5m2x2) =x, %s"},
    {1, "mov.b32 =f, %r"},
    {1, "mov.b32 =r, %f"},
    {1, "mov.b64 =d, %l"},
    {1, "mov.b64 =l, %d"},
    {1, "mov.b32 {=h, =h}, %x"},
    {1, "mov.b32 {=b, =b}, %y"},
    {1, "(add|mul).f32 =f, %f, ?f"},
    {1, "(add|mul).f64 =d, %d, ?d"},
    {1, "(add.u32|xor.b32) =r, %r, ?r"},
    {1, "cvt.(u32.u64|s32.s64) =r, %l"},
    {1, "cvt.(u64.u32|s64.s32) =l, %r"},
};
inline constexpr Row kMemory[] = {
    {3, "!shfl.sync.(bfly|up|down|idx).b32 =r|=p, %r, #[0:31], (31|0|31), -1"},
    {4,
     "!mov.b32 =r, %f; shfl.sync.(bfly|down).b32 =r, ^r, (1|2|4|8|16), 31, -1; mov.b32 =f, ^r; (add|max|sub)$z.f32 =f, ^f, %f"},
    {3,
     "!mul$z.f32 =f, %f, %f; mov.b32 =r, ^f; shfl.sync.bfly.b32 =r, ^r, (1|2|4|8|16), 31, -1; mov.b32 =f, ^r; "
     "(add|sub)$z.f32 =f, ^f, ^^f"},
    {4,
     "!bar.sync 0; st.shared.f32 [<own>+#[0:12:4]], %f; bar.sync 0; xor.b32 =r, <tid>, #[1:63]; shl.b32 =r, ^r, 4; "
     "add.u32 <other>, ^r, <tile>; ld.shared.f32 =f, [<other>+#[0:12:4]]"},
    {2,
     "!bar.sync 0; st.shared.v2.f32 [<own>], {%f, %f}; bar.sync 0; xor.b32 =r, <tid>, #[1:63]; shl.b32 =r, ^r, 4; "
     "add.u32 <other>, ^r, <tile>; ld.shared.v4.f32 {=f, =f, =f, =f}, [<other>]"},
    {1,
     "!bar.sync 0; st.shared.v4.f32 [<own>], {%f, %f, %f, %f}; bar.sync 0; ld.shared.v4.b32 {=r, =r, =r, =r}, [<own>]"},
    {2, "st.shared.f32 [<own>+2052], %f; ld.shared.f32 =f, [<own>+2052]"},
    {1, "mov.f32 =f, %f; @(|!)%p ld.global.f32 ^f, [<in>+#[0:28:4]]"},
    {1,
     "mul$z.f32 =f, %f, %f; mov.f32 =f, %f; @(|!)%p ld.global.f32 ^f, [<in>+#[0:28:4]]; add$z.f32 =f, ^^f, %f"},
    {2, "ld.global.(nc.|)f32 =f, [<in>+#[0:28:4]]"},
    {1, "@(|!)%p st.global.f32 [<out>+&f], %f"},
    {1, "mul$z.f32 =f, %f, %f; @(|!)%p st.global.f32 [<out>+&f], %f; add$z.f32 =f, ^f, %f"},
    {1, "!vote.sync.ballot.b32 =r, %p, -1"},
    {1, "!vote.sync.(any|all|uni).pred =p, %p, -1"},
    {1, "!redux.sync.(add|min|max).(u32|s32) =r, %r, -1"},
    {1, "!match.any.sync.b32 =r, %r, -1"},
    {1,
     "!bar.sync 0; st.shared.b32 [<own>], %r; atom.shared.(add.u32|min.s32|max.u32|and.b32|or.b32|exch.b32) =r, [<own>], %r; "
     "ld.shared.b32 =r, [<own>]; bar.sync 0"},
};
inline constexpr Row kMemoryExtra[] = {
    {3, "setp." COMPARE ".f32 =p, %f, ?f"},
    {1, "(add.u32|xor.b32|sub.s32) =r, %r, ?r"},
    {1, "cvt.rn.f32.s32 =f, %r"},
};
// The classes meet.
inline constexpr Row kBridges[] = {
    {1, "cvt.rn.f32.(u32|s32) =f, %r"},
    {1, "cvt.rzi.(u32|s32).f32 =r, %f"},
    {1, "cvt.f64.f32 =d, %f"},
    {1, "cvt.rn.f32.f64 =f, %d"},
    {1, "cvt.rn.f16x2.f32 =x, %f, %f"},
    {1, "cvt.rn.bf16x2.f32 =y, %f, %f"},
    {1, "mov.b32 {=h, =h}, %x"},
    {1, "mov.b32 {=b, =b}, %y"},
    {1, "cvt.f32.f16 =f, %h"},
    {1, "cvt.f32.bf16 =f, %b"},
    {1, "cvt.u64.u32 =l, %r"},
    {1, "cvt.u32.u64 =r, %l"},
    {1, "mov.b32 {=s, =s}, %r"},
    {1, "cvt.u32.u16 =r, %s"},
    {1, "mov.b32 =r, %f"},
};
// Integer divisions by zero, which the manual leaves open.
inline constexpr Row kByZero[] = {
    {1, "(div|rem).(u32|s32) =r, %r, %r"},
    {1, "(div|rem).(u64|s64) =l, %l, %l"},
    {1, "and.b32 =r, %r, 1; (div|rem).(u32|s32) =r, %r, ^r"},
};
#undef COMPARE
#undef ROUND
#undef ROUND_INT

struct Group {
  int percent;
  std::span<const Row> rows;
};

enum class Ftz { never, always, either };

struct Kind {
  std::string_view name;
  std::string_view inputs;   ///< classes of the eight words of a thread, in order; a double has two
  std::string_view carried;  ///< classes that loops and branches hand on
  Ftz ftz;
  int literals;  ///< percent of the sources that may be one
  Group groups[6];
};

inline constexpr Kind kKinds[] = {
    {"plain", "ffffffff", "f", Ftz::never, 12, {{55, kArithmetic}, {45, kDense}}},
    {"ftz", "ffffffff", "f", Ftz::always, 12, {{55, kArithmetic}, {45, kDense}}},
    {"literals", "ffffffff", "f", Ftz::never, 50, {{65, kArithmetic}, {35, kDense}}},
    {"guards", "ffffffff", "f", Ftz::either, 12, {{35, kArithmetic}, {30, kDense}, {35, kGuards}}},
    {"branches",
     "ffffffff",
     "f",
     Ftz::either,
     12,
     {{45, kArithmetic}, {33, kDense}, {12, kGuards}, {10, kBranches}}},
    {"loops", "ffffffff", "f", Ftz::either, 12, {{50, kArithmetic}, {38, kDense}, {12, kLoops}}},
    {"divisions", "ffffffff", "f", Ftz::either, 15, {{40, kArithmetic}, {30, kDense}, {30, kDivisions}}},
    {"functions", "ffffffff", "f", Ftz::either, 12, {{35, kArithmetic}, {25, kDense}, {40, kFunctions}}},
    {"doubles", "dddd", "d", Ftz::never, 15, {{85, kDoubles}, {15, kDoubleFunctions}}},
    {"integers", "rrrrrrrr", "rl", Ftz::never, 25, {{100, kIntegers}}},
    {"halves", "xxxxxhhh", "xh", Ftz::either, 12, {{85, kHalves}, {15, kHalvesToWide}}},
    {"bhalves", "yyyyybbb", "yb", Ftz::never, 12, {{85, kBhalves}, {15, kBhalvesToWide}}},
    {"packing", "rrrrrsss", "rs", Ftz::never, 20, {{100, kPacking}}},
    {"conversions", "ffrrhbd", "f", Ftz::either, 15, {{100, kConversions}}},
    {"memory",
     "ffffffrr",
     "f",
     Ftz::either,
     12,
     {{30, kArithmetic}, {25, kDense}, {30, kMemory}, {15, kMemoryExtra}}},
    {"mixed",
     "ffffffff",
     "fr",
     Ftz::either,
     15,
     {{45, kArithmetic}, {20, kDense}, {12, kFunctions}, {10, kDivisions}, {8, kGuards}, {5, kLoops}}},
    {"mixed_types",
     "ffffrrd",
     "frd",
     Ftz::either,
     15,
     {{25, kArithmetic}, {25, kBridges}, {15, kIntegers}, {15, kDoubles}, {10, kMemory}, {10, kBranches}}},
    {"special",
     "ffffrrd",
     "fr",
     Ftz::either,
     15,
     {{30, kArithmetic}, {15, kDense}, {15, kFunctions}, {15, kDivisions}, {20, kConversions}, {5, kByZero}}},
};

}  // namespace random_kernels
