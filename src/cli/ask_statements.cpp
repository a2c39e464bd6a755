// SPDX-License-Identifier: Apache-2.0
// Forms and statements that kernels have beside those of tensor instructions: barriers, copies, arithmetic.
#include <fmt/format.h>

#include <algorithm>

#include "cli/arguments.hpp"
#include "cli/ask.hpp"
#include "warpbit/layout.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::cli {
namespace {

// On the first of the targets that has it, or on the newest that does.
struct Known {
  ptx::KernelForm form;
  Target target;
};
std::optional<Known> known_form(const std::string& form, const std::vector<Target>& targets) {
  std::vector<Target> order = targets;
  for (const std::string_view name : {"sm_90a", "sm_100a", "sm_120a", "sm_80"})
    order.push_back(*Target::find_ptx(name));
  for (const Target target : Target::all()) order.push_back(target);
  for (const Target target : order)
    if (Result<ptx::KernelForm> found = ptx::kernel_form(form, target)) return Known{std::move(*found), target};
  return std::nullopt;
}

std::optional<AskReading> kernel_reading(std::string_view kind, const std::string& said,
                                         const std::string& form, const std::vector<Target>& targets) {
  const std::optional<Known> known = known_form(form, targets);
  if (!known) return std::nullopt;
  const std::string_view on = known->target.name();
  AskReading out{
      kind, fmt::format("{} {}: {}, {}; kernels that launch executes may have it", said, form, known->form.kind,
                        known->form.as_target ? fmt::format("in all versions of PTX with {}", on)
                                              : fmt::format("since PTX {} on {}", known->form.since, on))};
  const bool is_there = targets.empty() || std::ranges::find(targets, known->target) != targets.end();
  if (!is_there) out.understood += fmt::format("; {} does not have it", targets[0].name());
  out.form = form;
  out.target = known->target;
  out.views.push_back({"gpu", "Which GPU has it", {{"check", form, "--json"}}});
  return out;
}

// A word like "mbarrier.try_wait.parity.shared::cta.b64", without what is stuck to its end.
std::string form_in(std::string_view word) {
  for (const std::string_view before : {"\"", "'", "`", "(", "{"})
    while (word.starts_with(before)) word.remove_prefix(before.size());
  std::string out;
  for (const char c : word) {
    const bool is_of_form = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                            c == '.' || c == '_' || c == ':';
    if (!is_of_form) break;
    out += c;
  }
  while (out.ends_with('.') || out.ends_with(':')) out.pop_back();
  const bool has_opcode = !out.empty() && out[0] >= 'a' && out[0] <= 'z';
  return has_opcode && out.find('.') != out.npos ? out : "";
}

}  // namespace

AskReading any_form_reading(std::string_view kind, const std::string& said, const std::string& form,
                            const std::vector<Target>& targets) {
  const Result<std::string> full = full_form(form, std::nullopt);
  const std::string name = full ? *full : form;
  Result<AskReading> out = form_reading(kind, name, targets);
  if (out) {
    out->understood = fmt::format("{} {}, {}", said, name, out->understood);
    return *out;
  }
  if (std::optional<AskReading> known = kernel_reading(kind, said, form, targets)) return *known;
  AskReading none = no_form(form, out.error(), targets);
  none.understood = fmt::format("{} {}, which does not exist: {}", said, form, none.understood);
  return none;
}

AskReadings ask_statement(const AskedLine& line) {
  constexpr int kMost = 8;  // forms that are looked at
  int tried = 0;
  for (const std::string& word : line.words) {
    const std::string form = form_in(word);
    if (form.empty()) continue;
    if (++tried > kMost) break;
    const bool is_alone = line.words.size() == 1;
    if (const auto out = kernel_reading(is_alone ? "form" : "statement",
                                        is_alone ? "The form" : "A statement of", form, line.targets))
      return {*out};
  }
  return {};
}

}  // namespace warpbit::cli
