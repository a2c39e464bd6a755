// SPDX-License-Identifier: Apache-2.0
// What texts and pictures say in the same words.
#pragma once

#include <string>

#include "warpbit/explain.hpp"

namespace warpbit {

/// " (inferred: no result of that GPU)", the mark where there is one.
std::string marked(const Explanation& e);
/// "0.1", or "~0.1" if a double does not hold the number.
std::string short_text(const ExactNumber& x);
/// In a chain: " (instruction 1 of 2)", or " (of two runs)".
std::string instruction_text(const Explanation& e, const ExplainedSum& sum);
/// "E = 2, the largest exponent, of a[2] b[2]; F = 25: multiples of 2^-23 are kept". Precondition: a window.
std::string window_text(const ExplainedSum& sum);
/// "c + a[0] b[0] = 0.1 + 2.5", without zeros.
std::string addition_text(const ExplainedSum& sum);
/// "0.25 ulp of f32; it is the nearest". Precondition: it has a distance.
std::string error_text(const Explanation& e);

}  // namespace warpbit
