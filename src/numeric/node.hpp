// SPDX-License-Identifier: Apache-2.0
// The specification: executes a plan for one output element, slowly and in integers. Every faster kernel must
// equal it bit for bit. The steps and their evidence are explained in src/target/NUMERICS.md.
#pragma once

#include <cstdint>
#include <span>

#include "numeric/formats.hpp"
#include "numeric/plan.hpp"
#include "numeric/trace.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// Decoded elements of one row of A or one column of B, in ascending k, and the scales of its blocks:
///
///     values  | 0 ... n-1 | n ... 2n-1 | ...     n = values.size() / scales.size(), without a rest
///     scales  | 0         | 1          | ...
///
/// With a sparse A the values are those that exist, and a block is so many of them.
struct Elements {
  std::span<const Decoded> values;
  const Format* format;
  std::span<const Decoded> scales = {};  ///< empty: unscaled
  const Format* scale_format = nullptr;
};

/// The code in `d` of one output element. a and b have the same number of elements, in plan.operands if that is
/// set; both or neither are scaled, and only Fused and GroupScaled take scales, GroupScaled no others. Bits of
/// `c_code` above the format's width are ignored. If `trace` is given, its sums are appended there.
std::uint64_t evaluate(const Plan& plan, Elements a, Elements b, const Format& c, std::uint64_t c_code,
                       Trace* trace = nullptr);

/// What plan.operands asks for: the decoded element in another format, which must hold it exactly. Specials
/// stay.
Decoded convert_operand(const Decoded& element, const Format& from, const Format& to);

}  // namespace warpbit
#pragma GCC visibility pop
