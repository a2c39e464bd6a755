// SPDX-License-Identifier: Apache-2.0
// The rules that a kernel must keep, and what a launch does where one is broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#pragma GCC visibility push(default)
namespace warpbit {

/// What follows from a broken rule.
enum class Grade : std::uint8_t {
  silent,   ///< nothing: the launch goes on
  note,     ///< the launch goes on, and its report tells it as something to know
  finding,  ///< the launch goes on, and its report tells it as a mistake
  fault,    ///< the launch ends
};
std::string_view name(Grade grade);
/// Nothing for another name.
std::optional<Grade> find_grade(std::string_view name);

/// A rule of the table; `none` is the rule of a fault behind which nothing can go on, in no kind of launch.
enum class KernelRule : std::uint8_t {
  none,
#define WARPBIT_KERNEL_RULE(name, ...) name,
#include "warpbit/detail/kernel_rules.inc"
#undef WARPBIT_KERNEL_RULE
};

/// How many there are, with `none`.
inline constexpr std::size_t kKernelRules = 1
#define WARPBIT_KERNEL_RULE(...) +1
#include "warpbit/detail/kernel_rules.inc"
#undef WARPBIT_KERNEL_RULE
    ;

/// A row of the table.
struct KernelRuleInfo {
  KernelRule rule;
  std::string_view name;      ///< as in "data_race"
  Grade by_default, strict;   ///< of a launch, and of one with `strict`
  Grade in_source;            ///< of a kernel in source (warpbit/device.hpp), whose launch reports faults alone
  std::string_view says;      ///< what a kernel must do
  std::string_view manual;    ///< the section of the PTX manual
  std::string_view reason;    ///< why it has this grade
  std::string_view hardware;  ///< what GPUs did with kernels that break it; empty: nothing is known
};

/// The table, but for `none`.
std::span<const KernelRuleInfo> kernel_rules();
/// Its row; nullptr for `none`.
const KernelRuleInfo* find_info(KernelRule rule);
/// "none" for none.
std::string_view name(KernelRule rule);
/// Nothing for another name.
std::optional<KernelRule> find_kernel_rule(std::string_view name);

}  // namespace warpbit
#pragma GCC visibility pop
