// SPDX-License-Identifier: Apache-2.0
#include "device/planted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>  // std::memcpy
#include <span>
#include <vector>

namespace warpbit::device::calls {
namespace {

using Change = PlantedCall::Change;

std::size_t register_bytes(const Operand& operand) {
  return static_cast<std::size_t>(operand.register_bits / 8);
}

std::size_t bytes_of(const Operand& operand) {
  return static_cast<std::size_t>(operand.registers) * register_bytes(operand);
}

// Which of the sources that a lane gives an operand is.
std::size_t source_of(std::span<const Operand> all, std::size_t operand) {
  return static_cast<std::size_t>(std::ranges::count_if(all.first(operand), [](const Operand& one) {
    return !one.is_destination() && one.kind != OperandKind::immediate && one.kind != OperandKind::address;
  }));
}

// A product that is left out: D is C.
void leave_out(const Instruction& instruction, const Operands& operands) {
  const std::span<const Operand> all = instruction.operands();
  const auto c = std::ranges::find(all, Part::c, &Operand::part);
  if (operands.d == nullptr || c == all.end()) return;
  const auto source = source_of(all, static_cast<std::size_t>(c - all.begin()));
  std::memcpy(operands.d, operands.sources[source], std::min(bytes_of(*c), bytes_of(all.front())));
}

// The registers of a source as they become.
std::vector<std::byte> changed(Change change, const Operand& operand, const void* registers) {
  std::vector<std::byte> out(bytes_of(operand));
  if (change == Change::added) return out;
  std::memcpy(out.data(), registers, out.size());
  if (change == Change::exchanged) exchange(out.data(), register_bytes(operand));
  if (change == Change::toggled) out[0] ^= std::byte{1};
  return out;
}

void add(void* to, const void* terms, std::size_t bytes) {
  for (std::size_t i = 0; i + sizeof(float) <= bytes; i += sizeof(float)) {
    float sum = 0, term = 0;
    std::memcpy(&sum, static_cast<std::byte*>(to) + i, sizeof sum);
    std::memcpy(&term, static_cast<const std::byte*>(terms) + i, sizeof term);
    sum += term;
    std::memcpy(static_cast<std::byte*>(to) + i, &sum, sizeof sum);
  }
}

}  // namespace

void exchange(void* registers, std::size_t bytes_each) {
  auto* const first = static_cast<std::byte*>(registers);
  std::swap_ranges(first, first + bytes_each, first + bytes_each);
}

std::optional<unsigned> planted_pending(std::string_view wait, unsigned pending, Place at) {
  if (!is_watched(at)) return pending;
  const PlantedCall* const change = planted(fmt::format("{} {}", wait, pending), at);
  if (change == nullptr) return pending;
  return change->change == Change::left_out ? std::nullopt : std::optional(pending + 1);
}

std::optional<View> planted_access(std::string_view name, const View& array, std::size_t bytes, Place at) {
  if (!is_watched(at)) return array;
  const std::string call = fmt::format("{}.{}.b{}", name, array.is_global ? "global" : "shared", 8 * bytes);
  const PlantedCall* const change = planted(call, at);
  if (change == nullptr) return array;
  if (change->change == Change::left_out) return std::nullopt;
  View out = array;
  out.at += static_cast<std::int64_t>(bytes);
  return out;
}

void execute_planted(const PlantedCall& change, const Statement& statement, const Operands& operands,
                     Place at) {
  const Result<Instruction>& instruction = current_block().find(statement).instruction;
  if (change.change == Change::statement) return execute_right({change.text.c_str()}, operands, at);
  if (!instruction) return execute_right(statement, operands, at);
  if (change.change == Change::left_out) return leave_out(*instruction, operands);
  const std::span<const Operand> all = instruction->operands();
  if (change.operand >= all.size()) return execute_right(statement, operands, at);
  const Operand& operand = all[change.operand];
  if (operand.is_destination()) {
    execute_right(statement, operands, at);
    return exchange(operands.d, register_bytes(operand));
  }
  std::vector<const void*> sources(operands.sources.begin(), operands.sources.end());
  const void*& source = sources[source_of(all, change.operand)];
  const void* const terms = source;
  const std::vector<std::byte> registers = changed(change.change, operand, source);
  source = registers.data();
  Operands other = operands;
  other.sources = sources;
  execute_right(statement, other, at);
  if (change.change == Change::added) add(operands.d, terms, bytes_of(operand));
}

}  // namespace warpbit::device::calls
