// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cli/compare.hpp"
#include "cli/help.hpp"

namespace warpbit::cli {
namespace {

// A form on its own target (FORM@TARGET), or on each of the others.
void add_instructions(std::vector<Instruction>& out, const std::string& form,
                      const std::vector<std::string>& targets) {
  const bool has_target = form.find('@', 1) != form.npos;
  if (!has_target && targets.empty())
    refuse("compare", fmt::format("no target for {}", form),
           "FORM@TARGET, or --targets, e.g. --targets A100,H100");
  if (has_target) return out.push_back(instruction_of(asked_form(form)));
  for (const std::string& target : targets) out.push_back(instruction_of(asked_form(form, target)));
}

// The least K at which the words of an order mean something.
std::size_t least_depth(const SumOrder& o, std::size_t terms) {
  std::size_t out = std::max<std::size_t>(o.descending ? 2 : 1, o.k_order.size()) * terms;
  out = std::max(out, std::min(o.split_k, kMostDepth) * std::max(o.unit, terms));
  if (o.promote != 0) out = std::max(out, 2 * std::min(o.promote, kMostDepth));
  if (o.slices > 1) out = std::max(out, std::min(o.slices * o.slice_width, kMostDepth));
  std::size_t runs = 0;
  for (const std::size_t run : o.runs) runs += std::min(run, kMostDepth);
  return std::max(out, runs);
}

}  // namespace

std::size_t CompareArguments::depth() const {
  if (depths.size() > 1)
    refuse("--depth", fmt::format("{} numbers", depths.size()), "one, or several with --random PROFILE");
  return depths.empty() ? 0 : depths[0];
}

Instructions find_instructions(const CompareArguments& o, const std::vector<std::string>& targets) {
  std::vector<std::string> forms = o.forms;
  if (is_file(forms[0])) forms[0] = required(CaptureReader::open(forms[0])).header().statement;
  const bool are_used =
      std::ranges::any_of(forms, [](const auto& form) { return form.find('@', 1) == form.npos; });
  if (!targets.empty() && !are_used)
    refuse("compare", "--targets beside forms that all name their own", "forms without @, or no --targets");
  Instructions out;
  for (const std::string& form : forms) add_instructions(out.list, form, targets);
  for (const Instruction& i : out.list) out.terms = std::max(out.terms, static_cast<std::size_t>(i.terms()));
  return out;
}

Compared find_computations(const CompareArguments& o, const Instructions& instructions, std::size_t depth) {
  std::size_t least = depth;
  for (const std::string& order : o.orders)
    if (depth == 0) least = std::max(least, least_depth(required(SumOrder::parse(order)), instructions.terms));
  Compared out{{}, (least + instructions.terms - 1) / instructions.terms * instructions.terms};
  if (out.depth > kMostDepth)
    refuse("--depth", fmt::format("a K of {}", out.depth), fmt::format("at most {}", kMostDepth));
  for (const Instruction& instruction : instructions.list)
    for (const std::string& order : o.orders)
      out.computations.push_back(required(computation(instruction, order, out.depth)));
  if (out.computations.size() < 2)
    refuse("compare", "one computation",
           "two or more: several forms, --targets sm_80,sm_90 or --order ascending,split_k=2");
  return out;
}

}  // namespace warpbit::cli
