// SPDX-License-Identifier: Apache-2.0
// Conversions that are looked up: the specification fills a table, once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "numeric/conversion.hpp"

namespace warpbit {

/// What a conversion gives for each code of a source of at most 16 bits; or for f32 by the bits that may decide, those of the
/// result's fraction, one below, and whether there is one further below:
///
///     S EEEEEEEE FFF..F G xxx..x   ->   index S EEEEEEEE FFF..F G (x != 0)
///
/// A result depends on nothing else: all directions of rounding look at G and at x != 0 alone, a subnormal result has fewer
/// fraction bits, and NaN is told from Inf.
class ConversionTable {
 public:
  /// Whether there is such a table. None has more than 2^21 codes, and stochastic rounding has none.
  static bool has(const Conversion& conversion);

  /// Precondition: has().
  explicit ConversionTable(const Conversion& conversion);

  /// As convert(). Bits of the code above the format's width are ignored.
  std::uint32_t operator()(std::uint32_t code) const {
    const std::uint32_t below = code & below_;
    return codes_[(code & mask_) >> drop_ << shift_ | static_cast<std::uint32_t>(below != 0)];
  }
  std::size_t size() const { return codes_.size(); }

 private:
  std::uint32_t mask_, below_;  // the source's bits; those that are only looked at together
  int drop_, shift_;            // how many these are; 1 if there are any, else 0
  std::vector<std::uint32_t> codes_;
};

/// The table of a conversion if it has one and, counted over all calls, as many elements were converted as it has codes: so
/// many take as long without it. Else null. From any thread.
const ConversionTable* find_table(const Conversion& conversion, std::size_t elements);

}  // namespace warpbit
