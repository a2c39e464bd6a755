// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// The steps of K, each as deep as an instruction, in the order in which they are executed, and how long a run
/// of them is (GemmOptions).
struct KSteps {
  std::vector<std::size_t> steps;
  std::size_t run = 1;
};

/// Errors: view_mismatch, for no permutation of the steps or no run.
Result<KSteps> find_k_steps(const Instruction& instruction, std::size_t depth,
                            const std::vector<std::size_t>& k_order, std::size_t split_k);

}  // namespace warpbit
#pragma GCC visibility pop
