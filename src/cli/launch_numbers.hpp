// SPDX-License-Identifier: Apache-2.0
// Types and numbers as people type them: "s32" and "-3", "f16" and "1.5".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace warpbit::cli {

/// A type of numbers: of integers or of a floating-point format.
struct NumberType {
  std::string_view name;
  std::size_t bytes;
  char kind;  ///< NumPy's
  bool is_integer;
};

/// Refuses what is none.
NumberType parse_type(const std::string& where, std::string_view name);
/// The bits of a number of a type. Refuses what is none.
std::uint64_t parse_number(const std::string& where, const NumberType& type, const std::string& text);
/// The same, as in TYPE:NUMBER: "s32" and "-3", "f16" and "1.5". Refuses what is none.
std::uint64_t parse_value(const std::string& where, std::string_view type, const std::string& text);

}  // namespace warpbit::cli
