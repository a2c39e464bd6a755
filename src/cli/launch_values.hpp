// SPDX-License-Identifier: Apache-2.0
// Registers of a warp as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "warpbit/ptx.hpp"

namespace warpbit::cli {

/// "0-15, 20": the lanes of a mask.
std::string lanes_text(std::uint32_t lanes);

/// A value of a type of PTX: "1.5", "-3", "0x100000000000". Integers with more than six digits and bits are hexadecimal.
std::string value_text(std::string_view type, std::uint64_t value);
/// The same, of a floating-point number with its bits: "0x3fc00000 (1.5)".
std::string value_and_bits(std::string_view type, std::uint64_t value);
/// The same for a cell of a table, which is not broken: "0x3fc00000=1.5".
std::string value_in_a_word(std::string_view type, std::uint64_t value);

/// The values in these lanes, as short as they can be: "5" if all are equal, "0 to 31" or "0x40 to 0xbc by 4" if they
/// rise evenly, "1 (0-15), 0 (16-31)" if there are few; otherwise the first ones.
std::string values_text(const ptx::RegisterValues& of, std::uint32_t lanes);

}  // namespace warpbit::cli
