// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "explain/chain.hpp"
#include "replay/loaded_capture.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/study.hpp"

namespace warpbit {

/// Takes in the results of other elements.
void add(ComparedResults& to, const ComparedResults& x);

/// Whether any element has an error: of sums of integers none has.
bool has_errors(const Comparison& c);
bool has_errors(const DepthStudy& study);

/// What one computation gives, against what the first gives and the exact sums.
struct Judged {
  ComparedResults results;
  std::uint64_t elements = 0;
  std::optional<Mismatch> first;
};

/// By K and chain, over all elements of the captures, one for each instruction along K (inputs_along_steps), as many as
/// the largest K takes. `progress` as in compare_generated. Errors: those of execute. Precondition: the chains of each K are
/// of the same computations, and K ascends.
Result<std::vector<std::vector<Judged>>> judge(std::span<const LoadedCapture> captures,
                                               std::span<const std::vector<Chain>> depths,
                                               const ExecuteOptions& options,
                                               const std::function<void(std::uint64_t)>& progress);

}  // namespace warpbit
