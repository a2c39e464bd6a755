// SPDX-License-Identifier: Apache-2.0
// Numbers that depend on digits of others: as CuTe's modes, and as formulas.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace warpbit {

/// A digit that counts to `size`, and the step of each unit.
struct CuteMode {
  int size;
  std::int64_t stride;
};

/// f(x) - f(0) for 0 <= x < size as a sum over mixed-radix digits of x, lowest first, each as long as it can be. Nothing if it
/// is none.
std::optional<std::vector<CuteMode>> modes_of(int size, const std::function<std::int64_t(int)>& f);

/// "((4,8),(2,2)):((32,1),(16,8))"; a variable with one mode has no parentheses of its own.
std::string cute_text(const std::vector<std::vector<CuteMode>>& variables);

/// A variable, which counts from 0 to size - 1.
struct LinearVariable {
  std::string name;
  int size = 1;
};
/// "w * 16 + i % 8": f(x, y, ...) as a sum over digits of the variables; empty if it is none.
std::string linear_text(const std::vector<LinearVariable>& variables,
                        const std::function<std::int64_t(std::span<const int>)>& f);

}  // namespace warpbit
