// SPDX-License-Identifier: Apache-2.0
#include "api/loaded_capture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace warpbit {
namespace {

// What a member has to look like. A negative extent is free; free extents of the same number agree.
struct Expectation {
  std::string member;
  std::size_t item_bytes;
  std::vector<std::int64_t> shape;
  std::string_view shape_text;
};

Result<void> check_member(const CaptureReader& reader, const Expectation& want) {
  const std::string dtype = fmt::format("uint{}", want.item_bytes * 8);
  const ArrayHeader* h = reader.find(want.member);
  if (h == nullptr)
    return Error{Errc::member_missing, want.member, {}, fmt::format("{} {}", dtype, want.shape_text)};
  if (h->kind != 'u' || h->item_bytes != want.item_bytes)
    return Error{Errc::member_dtype, want.member, h->dtype(), dtype};
  bool fits = h->shape.size() == want.shape.size();
  for (std::size_t i = 0; fits && i < want.shape.size(); ++i)
    fits = want.shape[i] < 0 || h->shape[i] == static_cast<std::uint64_t>(want.shape[i]);
  if (!fits) return Error{Errc::member_shape, want.member, h->shape_text(), std::string(want.shape_text)};
  return {};
}

// The smallest unsigned dtype that holds an element.
std::size_t element_bytes(const Operand& op) {
  return std::bit_ceil(static_cast<std::size_t>(std::max(op.element_bits, 8))) / 8;
}

std::vector<Expectation> registers_layout(const Instruction& instruction, std::int64_t cases) {
  std::vector<Expectation> out;
  for (const Operand& op : instruction.operands()) {
    const std::string text = fmt::format("({}, {}, {})", cases < 0 ? "cases" : std::to_string(cases),
                                         instruction.lanes(), op.registers);
    out.push_back({op.label,
                   static_cast<std::size_t>(op.register_bits / 8),
                   {cases, instruction.lanes(), op.registers},
                   {}});
    out.back().shape_text = {};
    out.back().member = op.label;
    static_cast<void>(text);
  }
  return out;
}

}  // namespace
}  // namespace warpbit
