// SPDX-License-Identifier: Apache-2.0
// Which products and sums the assembler fuses (ptxas -fmad=true, its default): found in machine code of real kernels, in
// recordings of tests/kernels/cuda/contraction.cu and of random sequences (golden/kernels/random_*).
//
// A mul without a rounding is fused into an add or sub, if each of its uses is one: in the same basic block, without a
// rounding, with the same type and the same .ftz; neg and mov may lie between. It is not if it has several uses, and one
// of them adds another such product, which nothing else uses. What nobody needs is no use, and an fma that the product is
// a part of already is none; an fma that adds it is. A mul with .sat or with a guard is not fused; an add with .sat or
// with a guard is. Sums are looked at in the order of the text; of two products the one with fewer uses is fused, of as
// many the first operand; of two with the same factors, one of which nothing else uses, none. A bf16x2 product is not
// fused through neg.
#pragma once

#include <span>
#include <vector>

#include "ptx/module.hpp"

namespace warpbit::grid {

/// An add or sub that becomes an fma.
struct Fused {
  int product = -1;      ///< the statement of its mul; -1: it is no fma
  int operand = 0;       ///< which source of the sum is the product: 1 or 2
  bool negated = false;  ///< an odd number of neg lies between
};

struct Contraction {
  std::vector<Fused> sums;    ///< by statement
  std::vector<bool> dropped;  ///< by statement: a mul, neg or mov whose value nobody needs
  std::vector<bool> saved;    ///< by statement: a mul whose factors are written before its last sum
};

Contraction contract(const ptx::FunctionText& function);

}  // namespace warpbit::grid
