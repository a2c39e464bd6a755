// SPDX-License-Identifier: Apache-2.0
// What the specification adds up on its way to one output element, sum by sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "numeric/formats.hpp"
#include "numeric/value.hpp"

namespace warpbit {

/// What a step adds.
struct Addend {
  enum class What : std::uint8_t {
    accumulator,  ///< C
    running,      ///< the result of the sums before
    products,     ///< of k from `first` to `last`: one, or a scaled group
  };
  What what;
  std::size_t first = 0, last = 0;
  Value value;             ///< exactly
  int exponent = 0;        ///< that counts for E, if it is not zero, where addends are cut
  std::int64_t units = 0;  ///< what is kept of it, where addends are cut; the sum of these is rounded
};

/// One sum, rounded once.
struct TracedSum {
  std::size_t step = 0;  ///< of the plan
  std::vector<Addend> addends;
  /// Where addends are cut toward zero to multiples of 2^(e - window). Absent if they are not, or if one of
  /// them is a NaN or Inf, which decides the result alone.
  struct Cut {
    int e, window;
  };
  std::optional<Cut> cut;
  const Format* format = nullptr;  ///< of the result
  std::uint64_t code = 0;
};

using Trace = std::vector<TracedSum>;

}  // namespace warpbit
