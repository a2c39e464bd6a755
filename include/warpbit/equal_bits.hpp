// SPDX-License-Identifier: Apache-2.0
// Registers of a kernel under test against what they should be, element by element: for unit tests
// (warpbit/matchers/catch2.hpp, warpbit/matchers/gmock.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"
#include "warpbit/view.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// The registers that are expected in one operand of one warp, dense: [lane][register]. Padding bits do not
/// count.
class ExpectedBits {
 public:
  /// These bits, for an operand with registers (PTX manual, "Matrix Fragments"). Errors: operand_kind if it has
  /// none; view_mismatch if they are not `lanes` times its registers.
  static Result<ExpectedBits> registers(const Operand& operand, int lanes, std::span<const std::byte> expected);
  /// What an instruction makes of its sources, each dense as above, in the order of the statement; of an
  /// immediate empty. Errors: view_mismatch if one has another size; those of execute_batch.
  static Result<ExpectedBits> result_of(const Instruction& instruction,
                                        std::span<const std::span<const std::byte>> sources);

  /// What is wrong with the bits of a kernel, in lines: how many elements, of the first of them lane, register,
  /// row, column and both values, and, of the result of D = A B + C, the mistake that explains it
  /// (warpbit/diagnose.hpp). Empty if nothing is.
  std::string mismatch(std::span<const std::byte> got) const;

 private:
  struct State;
  explicit ExpectedBits(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace warpbit
#pragma GCC visibility pop
