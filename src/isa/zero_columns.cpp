// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "warpbit/instruction.hpp"

namespace warpbit {
namespace {

constexpr std::uint64_t mask_field(std::uint64_t bits, int low, int count) {
  return bits >> low & ((std::uint64_t{1} << count) - 1);
}

}  // namespace

bool ZeroColumnMask::is_zero(int column) const {
  if (!is_enabled) return false;
  const auto part = static_cast<std::size_t>(column / width);
  bool value = first_value[part];
  int run = runs[value] - std::min(start_count[part], runs[value] - 1);
  int at = column % width;
  while (at >= run) {
    at -= run;
    value = !value;
    run = runs[value];
  }
  return value;
}

Result<ZeroColumnMask> ZeroColumnMask::decode(std::uint64_t bits, const InstructionDescriptor& of) {
  const auto refuse = [&](std::string_view field, std::uint64_t seen, std::string accepted) {
    return Error{Errc::descriptor_field, fmt::format("zero-column mask {:#x}, {}", bits, field),
                 fmt::format("{}", seen), std::move(accepted)};
  };
  for (const auto& [low, count] : {std::pair{36, 3}, {62, 2}})
    if (const std::uint64_t value = mask_field(bits, low, count); value != 0)
      return refuse(fmt::format("bits {}-{}", low, low + count - 1), value, "0: the bits are reserved");
  ZeroColumnMask out;
  for (int i = 0; i < 4; ++i) {
    const auto part = static_cast<std::size_t>(i);
    out.start_count[part] = static_cast<int>(mask_field(bits, 8 * i, 8));
    out.first_value[part] = mask_field(bits, 32 + i, 1) != 0;
  }
  out.is_enabled = mask_field(bits, 39, 1) != 0;
  out.runs = {static_cast<int>(mask_field(bits, 48, 8)) + 1, static_cast<int>(mask_field(bits, 40, 8)) + 1};
  const std::uint64_t shift = mask_field(bits, 56, 6);
  out.shift = static_cast<int>(shift);
  out.width = of.n * of.m / 128;
  if (const int most = of.m == 32 ? 16 : 32; out.shift > most)
    return refuse("shift (bits 56-61)", shift, fmt::format("{} or less, as M is {}", most, of.m));
  if (out.shift > of.max_shift)
    return refuse("shift (bits 56-61)", shift,
                  fmt::format("{} or less, the maximum of the instruction descriptor", of.max_shift));
  return out;
}

std::string text(const ZeroColumnMask& mask) {
  std::string out = mask.is_enabled
                        ? fmt::format("runs of {} zero columns and {} others", mask.runs[1], mask.runs[0])
                        : std::string("no zero columns");
  if (mask.shift != 0) out += fmt::format(", columns of B shifted by {}", mask.shift);
  return out;
}

}  // namespace warpbit
