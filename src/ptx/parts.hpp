// SPDX-License-Identifier: Apache-2.0
// The parts of registers that video instructions read and write (PTX manual, "Video Instructions"): %r1.b0, %r1.h32.
#pragma once

#include <string>
#include <string_view>

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::ptx {

/// Whether a word is one of a set that operands of forms have. Sets: `part`, a byte or a half; `halves` and `bytes`, as many
/// as there are lanes, of two registers; `half_mask` and `byte_mask`, lanes, each once and the highest first. Digits number
/// bytes and halves from the lowest on, and stand for the highest lane first.
bool is_part(std::string_view set, std::string_view word);

/// For messages: " (or of it .b0 to .b3, .h0 or .h1)"; nothing for the empty set.
std::string parts_of(std::string_view set);

}  // namespace warpbit::ptx
#pragma GCC visibility pop
