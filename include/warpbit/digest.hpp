// SPDX-License-Identifier: Apache-2.0
// Captures that say how their inputs were made and hold digests of the results alone (src/capture/FORMAT.md,
// layout `digests`).
#pragma once

#include <cstdint>
#include <vector>

#include "warpbit/capture.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/inputs/member.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

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

/// Blocks of inputs::kBlockCases cases, the last of which may have fewer.
std::uint64_t digest_blocks(std::uint64_t cases);

/// The digests of the results of `cases` cases, one for each block (inputs::mix). Errors: the same;
/// archive_too_large if there is no memory.
Result<std::vector<std::uint64_t>> digests(const Instruction& instruction, const InputChoice& choice,
                                           std::uint64_t cases, const ExecuteOptions& options = {});

}  // namespace warpbit
