// SPDX-License-Identifier: Apache-2.0
// Chains of steps of a small product, one after the other, as gemm() executes them: for who tries many orders of one sum.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "api/sum_runs.hpp"
#include "warpbit/gemm.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// One instruction on the same few rows of A and columns of B. Not for several threads at once.
class Chains {
 public:
  /// A and B of the problem are copied; nothing else of it counts but the sizes. Preconditions: gemm() takes the instruction
  /// and such a problem, without scale factors; at most 64 rows and 8 columns.
  Chains(const Instruction& instruction, const Gemm& problem, Tf32Rounding rounding, const ExecuteOptions& how);
  ~Chains();
  Chains(Chains&&) noexcept;
  Chains& operator=(Chains&&) noexcept;

  /// What accumulators end in after these steps: from +0, or from `start`. Both are codes of the instruction's D in items, row by row.
  void run(const SumBlock& steps, const std::byte* start, std::byte* d);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace warpbit
#pragma GCC visibility pop
