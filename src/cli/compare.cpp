// SPDX-License-Identifier: Apache-2.0
// warpbit compare
#include "warpbit/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/numbers.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "warpbit/inputs/text.hpp"

namespace warpbit::cli {
namespace {

constexpr std::uint64_t kRandomCases = 1024, kMostCases = 100'000;  // all are held at once

struct CompareArguments {
  std::string what;
  std::vector<std::string> targets, find;
  ElementOptions values;
  std::string random;
  std::uint64_t cases = kRandomCases, seed = 0;
  bool show = false;
};

Result<std::vector<Target>> find_targets(const std::vector<std::string>& names) {
  std::vector<Target> out;
  for (const std::string& name : names) {
    const Result<Target> target = Target::find(name);
    if (!target) return target.error();
    out.push_back(*target);
  }
  if (out.size() < 2)
    return Error{Errc::usage, "compare", fmt::format("{} targets", out.size()),
                 "two or more, --targets sm_80,sm_90"};
  return out;
}

Result<std::vector<Instruction>> parse_on(const std::string& form, const std::vector<Target>& targets) {
  std::vector<Instruction> out;
  for (const Target target : targets) {
    const Result<Instruction> instruction = Instruction::parse(form, target);
    if (!instruction) return instruction.error();
    out.push_back(*instruction);
  }
  return out;
}

// ---- One element

std::string ulps_text(const Explanation& e) {
  return e.ulps ? fmt::format("{:.4g}", std::stod(e.ulps->decimal())) : "-";
}

void print_element(const ElementComparison& c, bool show) {
  Table table = {{"target", "result", "ulp off"}};
  for (const Explanation& e : c.explanations)
    table.push_back({e.target, code_text(e.format, e.code), ulps_text(e)});
  print(table, false);
  fmt::print("{}", text(c, terminal().columns));
  if (!show) return;
  for (const Explanation& e : c.explanations) fmt::print("\n{}", text(e, terminal().columns));
}

bool all_equal(const ElementComparison& c) {
  return std::ranges::all_of(c.reasons, &std::string::empty);
}

int compare_values(const CompareArguments& o, const std::vector<Target>& targets) {
  const Result<std::vector<Instruction>> instructions = parse_on(o.what, targets);
  if (!instructions) return cannot_parse(instructions.error(), o.what, targets[0]);
  std::vector<std::string> notes;
  const Result<ElementInputs> inputs = o.values.inputs(instructions->front(), notes);
  if (!inputs) return cannot_answer(inputs.error());
  const Result<ElementComparison> comparison = compare_element(*instructions, inputs->sources());
  if (!comparison) return cannot_answer(comparison.error());
  for (const std::string& note : notes) fmt::print("{}\n", note);
  print_element(*comparison, o.show);
  return all_equal(*comparison) ? kYes : kNo;
}

// ---- Many

int print_comparison(const Comparison& c, const std::vector<Target>& targets, bool show) {
  Table table = {{"target", fmt::format("differs from {}", targets[0].name()), "by at most"}};
  bool equal = true;
  for (std::size_t i = 1; i < targets.size(); ++i) {
    const ComparedResults& r = c.results[i];
    equal = equal && r.differing == 0;
    table.push_back({std::string(targets[i].name()), fmt::format("{} of {} elements", r.differing, c.elements),
                     fmt::format("{} codes", r.most_codes)});
  }
  print(table, false);
  if (!c.first) return equal ? kYes : kNo;
  fmt::print("\nfirst: case {}, row {}, column {}{}\n", c.first->index, c.first->at.row, c.first->at.column,
             c.first->at.product ? fmt::format(", product {}", c.first->at.product) : "");
  print_element(c.first->comparison, show);
  return kNo;
}

int compare_file(const CompareArguments& o, const std::vector<Target>& targets) {
  const Result<Comparison> comparison = compare_capture(o.what, targets);
  return comparison ? print_comparison(*comparison, targets, o.show) : cannot_answer(comparison.error());
}

int compare_random(const CompareArguments& o, const std::vector<Target>& targets) {
  const std::optional<inputs::Profile> profile = inputs::find_profile(o.random);
  if (!profile)
    return cannot_answer({Errc::usage, "--random", o.random,
                          fmt::format("a profile of inputs: {}", fmt::join(inputs::kProfileNames, ", "))});
  const Result<std::vector<Instruction>> instructions = parse_on(o.what, targets);
  if (!instructions) return cannot_parse(instructions.error(), o.what, targets[0]);
  const Result<Comparison> comparison = compare_generated(*instructions, {o.seed, *profile}, o.cases);
  return comparison ? print_comparison(*comparison, targets, o.show) : cannot_answer(comparison.error());
}

// ---- The search

std::string element_text(const ElementInputs& inputs, const Instruction& instruction) {
  const auto format_of = [&](Part part) {
    const Operand* found = instruction.find(part);
    return (found != nullptr ? *found : instruction.operands()[0]).format;
  };
  std::string out;
  const auto add = [&](std::string_view name, Part part, std::uint64_t code) {
    if (code != 0) out += fmt::format("  {} = {}\n", name, code_text(format_of(part), code));
  };
  for (std::size_t k = 0; k < inputs.a.size(); ++k) {
    add(fmt::format("a[{}]", k), Part::left_factor, inputs.a[k]);
    add(fmt::format("b[{}]", k), Part::right_factor, inputs.b[k]);
  }
  add("c", Part::accumulator, inputs.c);
  return out;
}

int find(const CompareArguments& o) {
  const Result<std::vector<Target>> targets = find_targets(o.find);
  if (!targets) return cannot_answer(targets.error());
  if (targets->size() != 2)
    return cannot_answer({Errc::usage, "--find-difference", fmt::format("{} targets", targets->size()), "two"});
  const Result<std::vector<Instruction>> both = parse_on(o.what, *targets);
  if (!both) return cannot_parse(both.error(), o.what, targets->front());
  const Instruction &x = both->front(), &y = both->back();
  const Result<DifferenceSearch> search = find_difference(x, y);
  if (!search) return cannot_answer(search.error());
  if (search->equal_plans) {
    fmt::print("equal: {} and {} both compute every element as {}; no input tells them apart\n",
               x.target().name(), y.target().name(), x.plan());
    return kYes;
  }
  if (!search->found) {
    fmt::print("no difference found in {} elements; {}: {}; {}: {}\n", search->tried, x.target().name(),
               x.plan(), y.target().name(), y.plan());
    return kYes;
  }
  fmt::print("{}", element_text(search->found->inputs, x));
  print_element(search->found->comparison, o.show);
  return kNo;
}

int compare(const CompareArguments& o) {
  if (!o.find.empty()) return find(o);
  const Result<std::vector<Target>> targets = find_targets(o.targets);
  if (!targets) return cannot_answer(targets.error());
  if (o.what.ends_with(".npz") || std::filesystem::exists(o.what)) return compare_file(o, *targets);
  if (o.values.is_given()) return compare_values(o, *targets);
  if (!o.random.empty()) return compare_random(o, *targets);
  return cannot_answer({Errc::usage, "compare", "a form without values",
                        "--a, --b and --c; --random PROFILE; --find-difference; or a capture file"});
}

}  // namespace

void add_compare(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "compare", "show where targets differ, by how much and why (exit status 1 if they do)");
  command->footer(examples(
      {"warpbit compare mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --find-difference sm_80,sm_90",
       "warpbit compare mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --targets sm_80,sm_90,sm_100 "
       "--random ordinary",
       "warpbit compare mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 --targets sm_80,sm_90 --a '1 2^-12' "
       "--b '1 1' --c 0.1 --explain",
       "warpbit compare golden/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32.npz "
       "--targets sm_90,sm_80"}));
  const auto o = std::make_shared<CompareArguments>();
  command->add_option("what", o->what, "a form or statement, or a capture file")->required();
  command
      ->add_option("--targets", o->targets,
                   "two or more, separated by commas; the first is what others are compared with")
      ->delimiter(',');
  o->values.add_to(*command);
  command->add_option("--random", o->random, "compare on generated inputs of a profile: mixed, ordinary, ...");
  command->add_option("--cases", o->cases, fmt::format("how many of them; {} unless given", kRandomCases))
      ->check(CLI::Range(std::uint64_t{1}, kMostCases));
  command->add_option("--seed", o->seed, "other generated inputs")->check(CLI::NonNegativeNumber);
  command
      ->add_option("--find-difference", o->find,
                   "search for small inputs that tell two targets apart, separated by a comma")
      ->delimiter(',');
  command->add_flag("--explain", o->show, "also explain the element on each target");
  command->callback([o, &status] { status = compare(*o); });
}

}  // namespace warpbit::cli
