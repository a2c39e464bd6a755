// SPDX-License-Identifier: Apache-2.0
#include "grid/module_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace warpbit::ptx {

namespace {

/// "sm_90a": 90 and 'a'.
struct Generation {
  int number = 0;
  char kind = 0;
};
Generation generation(std::string_view name) {
  Generation out;
  if (!name.starts_with("sm_")) return out;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + 3, end, out.number);
  if (error == std::errc() && rest != end) out.kind = *rest;
  return out;
}

/// Targets that PTX has and this library does not: nothing runs on them, but code for them runs on later ones.
constexpr std::array kOtherTargets = {10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 82};

bool exists(int number) {
  return std::ranges::find(kOtherTargets, number) != kOtherTargets.end() ||
         std::ranges::any_of(Target::all(),
                             [&](Target one) { return generation(one.name()).number == number; });
}

std::string_view present_name(std::string_view written) {
  const auto renamed = std::ranges::find(target_rows(), written, &TargetRow::formerly);
  return renamed == target_rows().end() ? written : renamed->name;
}

/// PTX for one target runs on every later one; that for sm_90a on sm_90a alone, and that for a family within it (PTX
/// manual, "PTX Module Directives: .target").
bool runs_on(std::string_view written, Target target) {
  const std::string_view name = present_name(written);
  if (name == target.name()) return true;
  const Generation from = generation(name), to = generation(target.name());
  if (!exists(from.number)) return false;  // no name of PTX
  if (from.kind == 'f') return from.number / 10 == to.number / 10 && from.number <= to.number && to.kind != 0;
  return from.kind == 0 && generation(written).number <= to.number;
}

/// Of sm_75.
constexpr int kFirstOfKernels = 75;

}  // namespace

Result<Target> target_of(const ModuleText& module, std::optional<Target> wanted) {
  std::vector<Target> able;
  for (const Target target : Target::all())
    if (runs_on(module.target, target) && target.row().features.has(Feature::sm_75)) able.push_back(target);
  const auto is_able = [&](Target target) { return std::ranges::find(able, target) != able.end(); };
  if (able.empty()) return Target::find_ptx(module.target).error();
  const Result<Target> same = Target::find_ptx(present_name(module.target));
  if (same && same->name() == module.target && module.version < same->row().since)
    return Error{Errc::not_in_version, fmt::format(".target {}", module.target), text(module.version),
                 text(same->row().since)};
  if (!wanted) {
    if (generation(module.target).number >= kFirstOfKernels) return same ? *same : able.front();
    return Error{
        Errc::target_too_old, "this module", std::string(module.target),
        fmt::format("it runs on one of these if that is given as the target, such as {}", able.front().name())};
  }
  if (!wanted->row().features.has(Feature::sm_75))
    return Error{Errc::target_too_old, "the target that is given", std::string(wanted->name()),
                 "give a later one"};
  if (!is_able(*wanted))
    return Error{Errc::not_on_target, fmt::format("PTX for {}", module.target), std::string(wanted->name()),
                 names(able)};
  return *wanted;
}

}  // namespace warpbit::ptx
