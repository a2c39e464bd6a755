// SPDX-License-Identifier: Apache-2.0
#include "isa/form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace warpbit {

const std::vector<Form>& FormList::all() const {
  std::call_once(made_->once, [this] { made_->forms = made_->expand(); });
  return made_->forms;
}

std::span<const Family> families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> out;
    for (const auto add : {add_mma, add_block_scale, add_wmma, add_matrix_moves, add_cvt, add_wgmma,
                           add_async_control, add_tcgen05})
      add(out);
    return out;
  }();
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
  if (range.least == kAnyInteger) return "any";
  if (range.least == range.most) return fmt::format("{}", range.least);
  if (range.most == kUnbounded) return fmt::format(">={}", range.least);
  if (range.step == 1) return fmt::format("{}..{}", range.least, range.most);
  std::string out;
  for (int value = range.least; value <= range.most; value += range.step)
    out += fmt::format("{}{}", out.empty() ? "" : ",", value);
  return out;
}

std::string operand_notation(const Form& form) {
  std::string out;
  for (const OperandSpec& op : form.operands) {
    if (!out.empty()) out += " ";
    switch (op.kind) {
      case OperandKind::vector: out += fmt::format("{}:{}x{}", op.role, op.count, op.registers->name); break;
      case OperandKind::descriptor:
      case OperandKind::predicate:
      case OperandKind::scalar:
        out += op.optional ? fmt::format("{{{}:{}}}", op.role, op.registers->name)
                           : fmt::format("{}:{}", op.role, op.registers->name);
        break;
      case OperandKind::immediate: out += fmt::format("{}:imm({})", op.role, text(op.immediate)); break;
      case OperandKind::pair:
        out += fmt::format("{0}(byte_id,thread_id):{{{1},{1}}}", op.role, op.registers->name);
        break;
      case OperandKind::address: out += fmt::format("[{}:{}]", op.role, op.registers->name); break;
    }
  }
  return out;
}

std::size_t fragment_index(const OperandSpec& selector,
                           std::span<const std::optional<std::uint64_t>> literals) {
  const auto value = [&](std::size_t i) {
    return i < literals.size() && literals[i] ? static_cast<std::size_t>(*literals[i]) : 0;
  };
  if (selector.kind == OperandKind::immediate) return value(0);
  const auto seconds = static_cast<std::size_t>(selector.second.most + 1);
  return value(0) / static_cast<std::size_t>(selector.immediate.step) * seconds + value(1);
}

std::string defined_nibbles(const Form& form) {
  std::string out;
  for (std::uint64_t nibble = 0; nibble < 16; ++nibble)
    if (is_defined(form.sparsity, nibble, form.ordered))
      out += fmt::format("{}{:#x}", out.empty() ? "" : ", ", nibble);
  return out;
}

std::vector<Target> targets_of(const Form& form) {
  return targets_with(form.needs | form.known);
}

}  // namespace warpbit
