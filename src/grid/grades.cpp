// SPDX-License-Identifier: Apache-2.0
#include "grid/grades.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace warpbit {

Result<ptx::GradedRule> ptx::GradedRule::parse(std::string_view text) {
  const std::size_t equal = std::min(text.find('='), text.size());
  const auto grade = equal == text.size() ? std::nullopt : find_grade(text.substr(equal + 1));
  if (!grade)
    return Error{Errc::usage, "rule", std::string(text),
                 "NAME=GRADE, a grade being silent, note, finding or fault"};
  return GradedRule{std::string(text.substr(0, equal)), *grade};
}

Result<grid::Grades> grid::grades_of(const ptx::Launch& how) {
  Grades out = {};
  for (const KernelRuleInfo& row : kernel_rules()) {
    const Grade grade = how.strict ? row.strict : row.by_default;
    out[static_cast<std::size_t>(row.rule)] = how.lenient ? std::min(grade, Grade::finding) : grade;
  }
  for (const ptx::GradedRule& one : how.grades) {
    const std::optional<KernelRule> rule = find_kernel_rule(one.rule);
    if (!rule) {
      std::vector<std::string_view> names;
      for (const KernelRuleInfo& row : kernel_rules()) names.push_back(row.name);
      return Error{Errc::no_such_kernel_rule, {}, one.rule, fmt::format("{}", fmt::join(names, ", "))};
    }
    out[static_cast<std::size_t>(*rule)] = one.grade;
  }
  return how.check_shared ? out : Grades{};  // silent
}

}  // namespace warpbit
