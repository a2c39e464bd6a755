// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "warpbit/ptx.hpp"

/// An array that has addresses ends: it has none from now on, however often it was given one (ptx::address).
inline void forget_array(std::span<std::byte> array) {
  const std::uint64_t at = warpbit::ptx::address(array);
  while (warpbit::ptx::forget(at)) {
  }
}
