// SPDX-License-Identifier: Apache-2.0
// An order of the sum over a K of some depth, as lists of steps.
#pragma once

#include <cstddef>
#include <vector>

#include "warpbit/gemm.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// Values [first, first + count) of K, at most as many as the instruction has terms; the rest are zeros.
struct SumStep {
  std::size_t first = 0, count = 0;
  friend bool operator==(const SumStep&, const SumStep&) = default;
};
/// One accumulator: the steps from one promotion to the next.
using SumBlock = std::vector<SumStep>;
/// The blocks that are promoted into one outer accumulator; one, without promotions.
using SumSlice = std::vector<SumBlock>;
/// The accumulators of a run.
using SumRun = std::vector<SumSlice>;

/// The values of K that are summed: the first so many. Precondition: split_k is at least 1.
std::size_t summed_depth(const Instruction& instruction, std::size_t depth, const SumOrder& order);

/// The runs, in ascending order of K or in that of k_order; one without steps if there is nothing to sum. Errors:
/// view_mismatch.
Result<std::vector<SumRun>> find_runs(const Instruction& instruction, std::size_t depth, const SumOrder& order);

}  // namespace warpbit
#pragma GCC visibility pop
