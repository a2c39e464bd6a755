// SPDX-License-Identifier: Apache-2.0
// What the instructions of a form on a target share, compiled once; and what the operands of each add to it.
#pragma once

#include <functional>  // reference_wrapper
#include <span>
#include <variant>
#include <vector>

#include "isa/form.hpp"
#include "kernel/elementwise.hpp"
#include "kernel/move.hpp"
#include "kernel/tile.hpp"

namespace warpbit {

/// What executes an instruction, in the order of Form::action. A move depends on no operand and is shared.
using CompiledAction = std::variant<Tile, ElementwiseKernel, std::reference_wrapper<const Move>, Control>;

/// A form on a target. What depends on the form and the plan alone, and not on operands, is made in compile()
/// (compile.cpp) and kept here.
struct CompiledForm {
  const Form* form;
  TargetPlan plan;
  /// D = A B + C: of each operand, by its fragments, where the elements lie in the order of the kernel.
  std::vector<std::vector<Places>> places;
  /// Of what operands decide it has the defaults: no literals, the first fragment of metadata, matrices in
  /// memory with K contiguous.
  CompiledAction kernel;
};

/// Compiled at the first call, kept as long as the program; any thread may ask. nullptr if the target has no
/// plan for the form.
const CompiledForm* compiled(const Form& form, Target target);

/// The kernel of the form with what the operands say.
CompiledAction with_operands(const CompiledForm& shared, std::span<const Operand> operands);

}  // namespace warpbit
