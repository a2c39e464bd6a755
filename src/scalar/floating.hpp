// SPDX-License-Identifier: Apache-2.0
// What floating-point instructions share: flushing, NaNs and the end of an operation.
#pragma once

#include "numeric/value.hpp"
#include "scalar/operation.hpp"

namespace warpbit::scalar {

/// A code as a number; a subnormal is a zero of its sign with .ftz.
Decoded taken(const Operation& o, std::uint64_t code, Type type);
Value value_taken(const Operation& o, std::uint64_t code, Type type);

/// The result of an operation on these sources: NaN, flushing before rounding, rounding, .sat, .relu.
std::uint64_t finished(const Operation& o, const Value& exact, Type to);

/// Approximate functions (approximate.cpp): .approx of rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh and div, .full of div.
Results approximate(const Operation& o, const Sources& s);

/// rcp.approx.ftz.f32.
std::uint32_t approximate_reciprocal(std::uint32_t x);

}  // namespace warpbit::scalar
