// SPDX-License-Identifier: Apache-2.0
// What texts and pictures say in the same words.
#pragma once

#include <string>

#include "warpbit/explain.hpp"

namespace warpbit {

/// "0.1", or "~0.1" if a double does not hold the number.
std::string short_text(const ExactNumber& x);
/// In a chain: " (instruction 1 of 2)", or " (of two runs)".
std::string instruction_text(const Explanation& e, const ExplainedSum& sum);
/// "0.25 ulp of f32; it is the nearest". Precondition: it has a distance.
std::string error_text(const Explanation& e);

}  // namespace warpbit
