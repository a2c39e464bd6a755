// SPDX-License-Identifier: Apache-2.0
// Which orders are the same sum: the same nodes of the arithmetic, additions and roundings, for any data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "warpbit/gemm.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// What there is beside A and B.
struct SumInputs {
  std::size_t depth = 0;
  bool has_c = false, has_bias = false, has_scales = false;
};

/// A number of the tree of additions and roundings by which D comes about, the same on all machines. Orders with equal
/// numbers, also of different instructions, give equal bits for any A, B and C of these sizes; others may do. Errors: those
/// of find_sum_formats and find_runs.
Result<std::uint64_t> sum_identity(const Instruction& instruction, const SumInputs& inputs,
                                   const SumOrder& order);

}  // namespace warpbit
#pragma GCC visibility pop
