// SPDX-License-Identifier: Apache-2.0
#include "other_values.hpp"

#include <cstring>  // std::memcpy

namespace warpbit {
namespace {

std::uint16_t random_word(std::uint64_t& state) {
  state = state * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
  return static_cast<std::uint16_t>(state >> 40);
}

}  // namespace

void change_values(std::span<std::byte> of, const OtherValues& to, std::uint64_t& state) {
  for (std::size_t i = 0; i + 1 < of.size(); i += 2) {
    std::uint16_t word = 0;
    std::memcpy(&word, &of[i], 2);
    word = static_cast<std::uint16_t>((word == 0 ? to.zeros : word) ^ (random_word(state) & to.mask));
    if (to.kept > 1 && random_word(state) % to.kept != 0) word = 0;
    std::memcpy(&of[i], &word, 2);
  }
}

}  // namespace warpbit
