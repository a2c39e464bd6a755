// SPDX-License-Identifier: Apache-2.0
// Which arithmetic belongs to which problem.
#pragma once

#include <string_view>

#include "oracle.hpp"

namespace oracle {

enum class Method {
  nodes,            // facts 1: nodes of L products chained in ascending k, starting with C
  nodes_in_f32,     // facts 2, wmma: the same in f32, rounded once more to D
  fp8_lowered,      // facts 2: operands to f16; the k % 4 in {0, 1}, then {2, 3}, from zero; IEEE add of C
  fma_then_c,       // facts 2: f32 FMAs from +0 in ascending k, then C
  pairs,            // facts 2: ((C + p01) + p23) in f32, then rounded to f16
  integer_sum,      // facts 3; with L clamped after each L products, else once
  bit_count,        // facts 3
  fma_chain,        // facts 3: FMAs in ascending k, starting with C
  scaled_products,  // facts 8, mxf8f6f4: one node, the scales' exponents added to the products'
  scaled_groups,    // facts 8, mxf4 and mxf4nvf4: groups of L products, aligned by the scales' exponents
};

struct Rule {
  std::string_view targets, shapes;  // words; of wgmma a shape is its K alone
  std::string_view d, operands, c;   // words; A and B have one of `operands` each
  bool same_operands;                // A and B must have the same format
  Method method;
  int L = 0, F = 0, floor = 0, kept = 23;  // kept: fraction bits of an f32 result
  std::string_view scale = "";             // the scales' format; "" without block scaling
  int blocks = 0;                          // scales of a row or column
};

// The one rule for the problem. Throws std::invalid_argument if there is none.
const Rule& find_rule(const Problem&);

// K of a shape such as m16n8k16. Throws std::invalid_argument if it is not one.
int k_of(std::string_view shape);

// Products that exist: K, or half of it (facts 1, below the table).
int product_count(const Problem&);

}  // namespace oracle
