// SPDX-License-Identifier: Apache-2.0
// Rows of f32 and f64: products and sums, guards, blocks, divisions, functions.
#pragma once

#include "verify/cases/random/row.hpp"

namespace random_kernels {

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

}  // namespace random_kernels
