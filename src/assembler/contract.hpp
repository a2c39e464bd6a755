// SPDX-License-Identifier: Apache-2.0
// Which products and sums the assembler fuses (ptxas -fmad=true, its default): found in machine code of real kernels, in
// recordings of tests/kernels/cuda/contraction.cu and of random kernels (golden/kernels/random_*, golden-digests/random).
//
// A mul without a rounding is fused into an add or sub, if each of its uses is one: without a rounding, with the same type
// and the same .ftz, in the same basic block; in any block if a factor is a literal, a parameter of the kernel or a
// variable in .const. It is not if it has several uses, and one of them adds another such product, which nothing else uses.
// What nobody needs is no use, and an fma that the product is a part of already is none; an fma that adds it is. A mul with
// .sat or with a guard is not fused; an add with .sat or with a guard is. Sums are looked at in the order of the text; of
// two products the one with fewer uses is fused, of as many the first operand; of two with the same factors, one of which
// nothing else uses, none. Between a product and a sum may lie
//
//     mov                    copies of a register are one factor, too
//     neg, mul by 1 or -1    not of bf16x2; of f16x2 without .ftz
//     the same with .ftz     a sum of the machine, which flushes: sums of all blocks count that use it, but for those that
//                            subtract it. A product that it alone uses is used once, and fused even if it stays
//     abs.f32 of x x         x x itself, but for a sum that subtracts it
//
// Later ptxas sees that nobody needs the sources of a plain call (flow.hpp) whose result nobody needs. A product that one
// sum alone uses then is fused there.
//
// div.approx.f32, div.full.f32 and rcp.approx.f32 without .ftz end in such a product: the reciprocal of the divisor times
// the dividend, both scaled (assemble.hpp); rcp.approx.f32 scales as div.full.f32 does. The dividend of div.approx.ftz
// stands as it is: a literal there is a factor that fuses in all blocks.
#pragma once

#include <array>

#include "assembler/editor.hpp"

namespace warpbit::assembler {

void contract(Assembled& function, Rules rules);

/// div.approx.f32 and div.full.f32.
bool is_division(const View& statement);
/// These, and rcp.approx.f32 without .ftz, which end in a product.
bool is_quotient(const View& statement);
/// What such a product multiplies: statements before it that compute the reciprocal and the dividend. Precondition:
/// is_quotient.
std::array<Operand, 2> quotient_factors(Editor& editor, const View& statement);

}  // namespace warpbit::assembler
