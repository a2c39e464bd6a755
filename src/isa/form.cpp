// SPDX-License-Identifier: Apache-2.0
#include "isa/form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace warpbit {

std::span<const Family> families() {
  static const std::array all = {mma_family(),
                                 mma_sp_family(),
                                 mma_block_scale_family(),
                                 mma_sp_block_scale_family(),
                                 wmma_load_family(),
                                 wmma_mma_family(),
                                 wmma_store_family(),
                                 ldmatrix_family(),
                                 stmatrix_family(),
                                 movmatrix_family(),
                                 cvt_family(),
                                 wgmma_family(),
                                 wgmma_sp_family(),
                                 wgmma_sync_family(),
                                 proxy_fence_family()};
  return all;
}

const NotModelled* find_not_modelled(std::string_view spelled) {
  constexpr std::string_view kHost = "the host of a Machine copies with copy_async, which is complete at once";
  constexpr std::string_view kTensorMemory = "there is no tensor memory";
  // If several names fit, the longest comes first.
  static constexpr std::array kRows{
      NotModelled{"cp.async.bulk", kHost},
      NotModelled{
          "cp.async",
          "a kernel's copies are modelled in warpbit/device.hpp; around a Machine, its host copies with "
          "write_memory"},
      NotModelled{"cp.reduce.async.bulk", kHost},
      NotModelled{"mbarrier", "a Machine executes one instruction after another, so nothing arrives later"},
      NotModelled{"tcgen05", kTensorMemory},
  };
  const auto fits = [&](const NotModelled& row) {
    return spelled.starts_with(row.name) &&
           (spelled.size() == row.name.size() || spelled[row.name.size()] == '.');
  };
  const auto row = std::ranges::find_if(kRows, fits);
  return row == kRows.end() ? nullptr : &*row;
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
  std::vector<Target> out;
  for (const Target target : Target::all())
    if (target.row().features.has(form.needs | form.known)) out.push_back(target);
  return out;
}

}  // namespace warpbit
