// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace warpbit {

/// Rounding directions (IEEE 754-2019, 4.3; PTX manual, "Rounding Modifiers").
enum class Rounding : std::uint8_t {
  nearest_even,  ///< .rn
  toward_zero,   ///< .rz
  down,          ///< .rm
  up,            ///< .rp
  nearest_away,  ///< .rna
};

}  // namespace warpbit
