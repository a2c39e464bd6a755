// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "replay/loaded_capture.hpp"
#include "warpbit/explain.hpp"

namespace warpbit {

/// Captures of generated inputs, cases [first, first + cases), one for each instruction along K
/// (compare_generated).
Result<std::vector<LoadedCapture>> inputs_along_steps(std::span<const Computation> computations,
                                                      const InputChoice& choice, std::uint64_t first,
                                                      std::uint64_t cases, std::size_t depth);

/// What elements of case `index` are computed from: the row of A and the column of B of each of the captures, one
/// after the other, and C of the first.
std::vector<ElementInputs> inputs_along_k(std::span<const LoadedCapture> captures, std::uint64_t index,
                                          std::span<const Coordinate> elements);

/// All elements, over each of these K, which ascend; the captures have the inputs of the largest. `progress` and errors:
/// those of compare_depths.
Result<std::vector<Comparison>> compare_inputs(std::span<const LoadedCapture> captures,
                                               std::span<const Computation> computations,
                                               std::span<const std::size_t> depths,
                                               const ExecuteOptions& options,
                                               const std::function<void(std::uint64_t)>& progress = {});
/// Over the K of the captures.
Result<Comparison> compare_inputs(std::span<const LoadedCapture> captures,
                                  std::span<const Computation> computations, const ExecuteOptions& options,
                                  const std::function<void(std::uint64_t)>& progress = {});

}  // namespace warpbit
