// SPDX-License-Identifier: Apache-2.0
// The statements in which a form is captured.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "isa/instruction.hpp"
#include "warpbit/record.hpp"

namespace warpbit {
namespace {

// The member that holds an operand (src/capture/FORMAT.md).
std::string_view member_name(const OperandSpec& spec) {
  const bool described = spec.kind == OperandKind::descriptor;
  switch (spec.part) {
    case Part::a: return described ? "desc_a" : "a";
    case Part::b: return described ? "desc_b" : "b";
    case Part::metadata: return "e";
    case Part::scale_a: return "sfa";
    case Part::scale_b: return "sfb";
    case Part::address: return "addr";
    default: return spec.role;
  }
}

// Those of an immediate, the least that is not negative first.
std::vector<std::string> values(const ImmediateRange& range) {
  std::vector<int> all;
  for (int value = range.least; value <= range.most; value += range.step) all.push_back(value);
  std::stable_partition(all.begin(), all.end(), [](int value) { return value >= 0; });
  std::vector<std::string> out;
  for (const int value : all) out.push_back(std::to_string(value));
  return out;
}

// What may stand in the place of an operand, the default first; "" where it may be omitted.
std::vector<std::string> choices(const OperandSpec& spec) {
  const std::string name(member_name(spec));
  switch (spec.kind) {
    case OperandKind::vector: return {fmt::format("{{{}}}", name)};
    case OperandKind::address: return {fmt::format("[{}]", name)};
    case OperandKind::immediate: return values(spec.immediate);
    case OperandKind::pair: {
      const std::vector<std::string> first = values(spec.immediate), second = values(spec.second);
      std::vector<std::string> out;
      for (const std::string& x : first) out.push_back(fmt::format("{{{}, {}}}", x, second[0]));
      for (const std::string& y : std::span(second).subspan(1))
        out.push_back(fmt::format("{{{}, {}}}", first[0], y));
      return out;
    }
    case OperandKind::scalar:
    case OperandKind::descriptor:
    case OperandKind::predicate: break;
  }
  return spec.optional ? std::vector<std::string>{name, ""} : std::vector<std::string>{name};
}

std::string statement(const Form& form, std::vector<std::string> operands) {
  std::erase(operands, "");
  return fmt::format("{} {};", form.canonical, fmt::join(operands, ", "));
}

}  // namespace

std::vector<std::string> capture_statements(const Instruction& instruction) {
  const Form& form = *instruction.decoded().form;
  if (!capture_members(instruction)) return {};
  std::vector<std::vector<std::string>> all;
  std::vector<std::string> defaults;
  for (const OperandSpec& spec : form.operands) defaults.push_back(all.emplace_back(choices(spec)).front());
  std::vector<std::string> out = {statement(form, defaults)};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const std::string& other : std::span(all[i]).subspan(1)) {
      std::vector<std::string> operands = defaults;
      operands[i] = other;
      out.push_back(statement(form, operands));
    }
  return out;
}

}  // namespace warpbit
