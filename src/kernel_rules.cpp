// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <iterator>

#include "warpbit/result.hpp"

namespace warpbit {
namespace {

using enum Grade;
constexpr KernelRuleInfo kRules[] = {
#define WARPBIT_KERNEL_RULE(name, by_default, strict, in_source, says, manual, reason, hardware) \
  {KernelRule::name, #name, by_default, strict, in_source, says, manual, reason, hardware},
#include "warpbit/detail/kernel_rules.inc"
#undef WARPBIT_KERNEL_RULE
};
static_assert(std::size(kRules) + 1 == kKernelRules);
constexpr std::array<std::string_view, 4> kGrades = {"silent", "note", "finding", "fault"};

}  // namespace

std::string_view name(Grade grade) {
  return kGrades[static_cast<std::size_t>(grade)];
}

std::optional<Grade> find_grade(std::string_view name) {
  const auto* const found = std::ranges::find(kGrades, name);
  if (found == kGrades.end()) return std::nullopt;
  return static_cast<Grade>(found - kGrades.begin());
}

std::span<const KernelRuleInfo> kernel_rules() {
  return kRules;
}

const KernelRuleInfo* find_info(KernelRule rule) {
  return rule == KernelRule::none ? nullptr : &kRules[static_cast<std::size_t>(rule) - 1];
}

std::string_view name(KernelRule rule) {
  const KernelRuleInfo* const found = find_info(rule);
  return found == nullptr ? "none" : found->name;
}

std::optional<KernelRule> find_kernel_rule(std::string_view name) {
  const auto found = std::ranges::find(kRules, name, &KernelRuleInfo::name);
  if (found == std::end(kRules)) return std::nullopt;
  return found->rule;
}

}  // namespace warpbit
