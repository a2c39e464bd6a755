// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// The K steps, each as deep as an instruction, in the order of execution, and the length of a run
/// (GemmOptions).
struct KSteps {
  std::vector<std::size_t> steps;
  std::size_t run = 1;
};

/// Errors: view_mismatch if k_order is not a permutation or split_k is 0.
Result<KSteps> find_k_steps(const Instruction& instruction, std::size_t depth,
                            const std::vector<std::size_t>& k_order, std::size_t split_k);

}  // namespace warpbit
#pragma GCC visibility pop
