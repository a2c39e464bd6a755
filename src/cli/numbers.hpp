// SPDX-License-Identifier: Apache-2.0
// Operands as people type them.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "warpbit/compare.hpp"

namespace warpbit::cli {

/// The options --a, --b, --c, --a-scale and --b-scale: numbers ("1", "-0x1.8p3", "2^-12", "1/3", "nan") or
/// codes ("0x3c00"), separated by blanks or commas.
struct ElementOptions {
  std::string a, b, c, a_scale, b_scale;

  void add_to(CLI::App& command);
  bool is_given() const { return !(a + b + c + a_scale + b_scale).empty(); }
  /// In the formats of the instruction, of a and b at most as many as it has terms, or `instructions` times as
  /// many; `notes` says what had to be rounded. Scale factors that are not given are 1. Errors: usage, with the
  /// operand; view_mismatch, if it is no D = A B + C.
  Result<ElementInputs> inputs(const Instruction& instruction, std::vector<std::string>& notes,
                               int instructions = 1) const;
};

}  // namespace warpbit::cli
