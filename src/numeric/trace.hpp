// SPDX-License-Identifier: Apache-2.0
// The sums that the specification computes for one output element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "numeric/formats.hpp"
#include "numeric/value.hpp"

namespace warpbit {

/// An addend of a step.
struct Addend {
  enum class What : std::uint8_t {
    accumulator,  ///< C
    running,      ///< the result of the earlier sums
    products,     ///< products k from `first` to `last`: one, or a scaled group
  };
  What what;
  std::size_t first = 0, last = 0;
  Value value;             ///< exact
  int exponent = 0;        ///< as it counts for E, if it is nonzero and addends are cut
  std::int64_t units = 0;  ///< the part kept, if addends are cut; the sum of these is rounded
};

/// One sum, rounded once.
struct TracedSum {
  std::size_t step = 0;  ///< of the plan
  std::vector<Addend> addends;
  /// Addends are cut toward zero to multiples of 2^(e - window). Absent if they are not cut, or if one of
  /// them is a NaN or Inf, which alone decides the result.
  struct Cut {
    int e, window;
  };
  std::optional<Cut> cut;
  const Format* format = nullptr;  ///< of the result
  std::uint64_t code = 0;
};

using Trace = std::vector<TracedSum>;

}  // namespace warpbit
