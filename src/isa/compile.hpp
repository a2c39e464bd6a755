// SPDX-License-Identifier: Apache-2.0
// The part of instructions that depends only on form and target, compiled once; and the additions by
// operands.
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

/// The executable action, in the order of Form::action. A move does not depend on operands and is shared.
using CompiledAction = std::variant<Tile, ElementwiseKernel, std::reference_wrapper<const Move>, Control>;

/// A form on a target. compile() (compile.cpp) makes everything that depends on form and plan alone, not on
/// operands.
struct CompiledForm {
  const Form* form;
  TargetPlan plan;
  /// For D = A B + C: the places of each operand's elements in the kernel's order, by fragment.
  std::vector<std::vector<Places>> places;
  /// Operand-dependent fields hold defaults: no literals, the first fragment of metadata, matrices in memory
  /// with K contiguous.
  CompiledAction kernel;
};

/// Compiled at the first call and kept for the life of the program. Thread-safe. nullptr if the target has no
/// plan for the form.
const CompiledForm* compiled(const Form& form, Target target);

/// The form's kernel, completed with the operands.
CompiledAction with_operands(const CompiledForm& shared, std::span<const Operand> operands);

}  // namespace warpbit
