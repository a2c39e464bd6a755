// SPDX-License-Identifier: Apache-2.0
#include "isa/form.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpbit {

std::span<const Family> families() {
  static const std::vector<Family> all = {mma_family(), mma_sp_family()};
  return all;
}

bool looks_like_shape(std::string_view q) {
  for (const char letter : {'m', 'n', 'k'}) {
    if (q.empty() || q.front() != letter) return false;
    q.remove_prefix(1);
    const std::size_t digits = std::min(q.find_first_not_of("0123456789"), q.size());
    if (digits == 0) return false;
    q.remove_prefix(digits);
  }
  return q.empty();
}

std::string text(const ImmediateRange& range) {
  return range.least == range.most ? fmt::format("{}", range.least)
                                   : fmt::format("{}..{}", range.least, range.most);
}

std::string operand_notation(const Form& form) {
  std::string out;
  for (const OperandSpec& op : form.operands) {
    if (!out.empty()) out += " ";
    switch (op.kind) {
      case OperandKind::vector: out += fmt::format("{}:{}x{}", op.role, op.count, op.registers->name); break;
      case OperandKind::scalar: out += fmt::format("{}:{}", op.role, op.registers->name); break;
      case OperandKind::immediate: out += fmt::format("{}:imm({})", op.role, text(op.immediate)); break;
    }
  }
  return out;
}

std::string defined_nibbles(const Form& form) {
  std::string out;
  for (std::uint64_t nibble = 0; nibble < 16; ++nibble)
    if (is_defined(form.sparsity, nibble, form.ordered))
      out += fmt::format("{}{:#x}", out.empty() ? "" : ", ", nibble);
  return out;
}

std::vector<Target> targets_of(const Form& form) {
  std::vector<Target> out;
  for (const Target target : Target::all())
    if (target.row().features.has(form.needs)) out.push_back(target);
  return out;
}

}  // namespace warpbit
