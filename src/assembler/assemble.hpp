// SPDX-License-Identifier: Apache-2.0
// A function as the assembler has it when it makes machine code: PTX -> PTX, by the rules of rules.hpp, one after another
// in their order. What it makes is spelled in PTX, with a few words that PTX has not:
//
//     fma.f32 d, a, -b, c         an operand that is negated
//     mul.scaled.f32 d, a, b, 2^k a product that is rounded once, after the scaling (FMUL.M2, FMUL.D2, ...)
//     div.scaled.full.f32 d, x, b the dividend or the divisor x of div.full by b, as it goes into the reciprocal
#pragma once

#include <memory>
#include <vector>

#include "assembler/flow.hpp"
#include "assembler/rules.hpp"
#include "ptx/module.hpp"

namespace warpbit::assembler {

/// A rule has acted on a statement of the function as it was.
struct Use {
  Rule rule;
  int statement;
};

struct Assembled {
  ptx::FunctionText function;
  std::vector<int> origins;  ///< by statement: the one of the function as it was
  std::vector<bool> made;    ///< by statement: the assembler has made it
  std::vector<Use> uses;
  std::unique_ptr<const Flow> flow = nullptr;  ///< of the function as it is; see flow_of
};

/// The flow of the function, found at the first call behind a change. Precondition: the function stays where it is.
inline const Flow& flow_of(Assembled& of) {
  if (of.flow == nullptr) of.flow = std::make_unique<Flow>(of.function);
  return *of.flow;
}

Assembled assemble(const ptx::FunctionText& function, Rules rules);

}  // namespace warpbit::assembler
