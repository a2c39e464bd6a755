// SPDX-License-Identifier: Apache-2.0
// The orders that libraries sum in, or might: the simple ones first.
#pragma once

#include <cstddef>
#include <functional>

#include "warpbit/find_order.hpp"

namespace warpbit::order {

/// What is tried depends on this.
struct Question {
  std::size_t depth = 0;
  std::size_t terms = 0;     ///< of the instruction
  SumOrder begin;            ///< what orders have that hypotheses do not change: with the store
  SumOrder given;            ///< words that all of them have
  bool is_number = true;     ///< accumulators of floating-point numbers
  bool rounds_tf32 = false;  ///< operands have bits below tf32
};

/// Whether words leave out any hypothesis.
bool are_narrower(const SumOrder& given);

/// Calls visit(order) for the orders of one level of plausibility, until it returns false.
void for_each_hypothesis(const Question& question, int level,
                         const std::function<bool(const SumOrder&)>& visit);
inline constexpr int kLevels = 5, kUsualLevels = 2;

}  // namespace warpbit::order
