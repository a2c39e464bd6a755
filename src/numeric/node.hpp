// SPDX-License-Identifier: Apache-2.0
// The specification: executes a plan for one output element, slowly and in integers. Every faster kernel must
// equal it bit for bit. src/target/NUMERICS.md explains the steps and their evidence.
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
/// For sparse A only stored elements appear; a block is counted in stored elements.
struct Elements {
  std::span<const Decoded> values;
  const Format* format;
  std::span<const Decoded> scales = {};  ///< empty: unscaled
  const Format* scale_format = nullptr;
};

/// The code in `d` of one output element. a and b have the same number of elements, in plan.operands if that
/// is set. Either both or neither are scaled; only Fused, GroupScaled and WindowedGroups accept scales, and the
/// last two require them. Bits of `c_code` above the format's width are ignored. If `trace` is given, the sums
/// are appended to it. C counts 2^-c_scale times: the exponent of a number, subnormals included, is lowered
/// before the sums see it (tcgen05.mma's scale-input-d; an assumption, NUMERICS.md, "tcgen05").
std::uint64_t evaluate(const Plan& plan, Elements a, Elements b, const Format& c, std::uint64_t c_code,
                       Trace* trace = nullptr, int c_scale = 0);

/// Converts a decoded element to the format of plan.operands, which must represent it exactly. Specials are
/// kept.
Decoded convert_operand(const Decoded& element, const Format& from, const Format& to);

}  // namespace warpbit
#pragma GCC visibility pop
