// SPDX-License-Identifier: Apache-2.0
// Captures that say how their inputs were made and hold digests of the results alone (src/capture/FORMAT.md,
// layout `digests`).
#pragma once

#include <algorithm>  // std::min
#include <cstdint>
#include <span>
#include <vector>

#include "warpbit/capture.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/inputs.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// Which inputs, beside the form that they are for.
struct InputChoice {
  std::uint64_t seed = 0;
  inputs::Profile profile = inputs::Profile::mixed;
};

/// The arrays of the ordinary capture of cases [first, first + cases): the inputs, and the results as computed
/// here, as the last. Errors: those of capture_members and of execution.
Result<std::vector<Array>> generated_capture(const Instruction& instruction, const InputChoice& choice,
                                             std::uint64_t first, std::uint64_t cases,
                                             const ExecuteOptions& options = {});

/// Cases in blocks, each of which has one digest.
struct DigestBlocks {
  std::uint64_t cases = 0;
  std::uint64_t of_block = inputs::kBlockCases;  ///< cases of a block, the last of which may have fewer

  std::uint64_t count() const { return cases / of_block + (cases % of_block != 0 ? 1 : 0); }
  /// Precondition of both: block < count().
  std::uint64_t first_case(std::uint64_t block) const { return block * of_block; }
  std::uint64_t cases_in(std::uint64_t block) const { return std::min(of_block, cases - first_case(block)); }
};

/// The digests of the results in some blocks (inputs::mix), as many and in that order. Errors: the same;
/// archive_too_large if there is no memory.
Result<std::vector<std::uint64_t>> digests(const Instruction& instruction, const InputChoice& choice,
                                           const DigestBlocks& blocks, std::span<const std::uint64_t> which,
                                           const ExecuteOptions& options = {});

}  // namespace warpbit
#pragma GCC visibility pop
