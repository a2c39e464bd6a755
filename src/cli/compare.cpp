// SPDX-License-Identifier: Apache-2.0
// warpbit compare
#include "cli/compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/compare_output.hpp"
#include "cli/help.hpp"
#include "cli/parts.hpp"
#include "warpbit/format.hpp"
#include "warpbit/study.hpp"

namespace warpbit::cli {
namespace {

// ---- One element, and a capture

int compare_values(const CompareArguments& o, const Instructions& instructions) {
  std::vector<std::string> notes;
  const Instruction& first = instructions.list.front();
  const int most = first.blocks() > 0 ? 1 : static_cast<int>(kMostDepth) / std::max(first.terms(), 1);
  ElementInputs inputs = o.values.inputs(first, notes, std::max(most, 1));
  const Compared compared = find_computations(o, instructions, std::max(inputs.a.size(), o.depth()));
  if (inputs.a_scale.empty()) {
    inputs.a.resize(compared.depth);
    inputs.b.resize(compared.depth);
  }
  const ElementComparison comparison = required(compare_element(compared.computations, inputs));
  if (o.json) {
    print_json(comparison, compared.computations);
  } else {
    for (const std::string& note : notes) fmt::print("{}\n", note);
    print_element(comparison, o.show);
    print_notes(compared.computations);
  }
  return std::ranges::all_of(comparison.reasons, &std::string::empty) ? kYes : kNo;
}

int compare_file(const CompareArguments& o, const Instructions& instructions) {
  if (o.depth() > 0) refuse("--depth", "a capture", "none: K is that of its instruction");
  const Compared compared = find_computations(o, instructions, instructions.terms);
  return answer(o,
                study_of(compared.computations, {required(compare_capture(o.forms[0], compared.computations))}),
                compared.computations);
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
    add(fmt::format("a[{}]", k), Part::a, inputs.a[k]);
    add(fmt::format("b[{}]", k), Part::b, inputs.b[k]);
  }
  add("c", Part::c, inputs.c);
  return out;
}

int find(const CompareArguments& o) {
  const Compared compared = find_computations(o, find_instructions(o, o.find), o.depth());
  if (compared.computations.size() != 2)
    refuse("--find-difference", fmt::format("{} computations", compared.computations.size()),
           "two: two targets, or two forms or orders of K on one");
  const Computation &x = compared.computations.front(), &y = compared.computations.back();
  const DifferenceSearch search = required(find_difference(x, y, compared.depth));
  if (o.json) {
    print_json(search, compared.computations);
    return search.found ? kNo : kYes;
  }
  if (search.found) {
    fmt::print("{}", element_text(search.found->inputs, x.instruction));
    print_element(search.found->comparison, o.show);
    print_notes(compared.computations);
    return kNo;
  }
  const std::vector<std::string> names = distinct_names(compared.computations);
  const std::string plan = x.instruction.plan();
  print_wrapped(
      search.equal_steps
          ? fmt::format("equal: {} and {} both compute every element as {}; no input tells them apart",
                        names[0], names[1], plan)
          : fmt::format("no difference found in {} elements; {}: {}; {}: {}", search.tried, names[0], plan,
                        names[1], y.instruction.plan()));
  print_marks(compared.computations);
  print_notes(compared.computations);
  return kYes;
}

int compare(const CompareArguments& o) {
  check_svg(o.svg);
  const bool generates = o.find.empty() && !is_file(o.forms[0]) && !o.values.is_given() && !o.random.empty();
  if (o.shard.count > 1 && !generates)
    refuse("--shard", "a comparison without generated inputs", "it with --random PROFILE");
  if (!o.part.empty() && !generates)
    refuse("--part", "a comparison without generated inputs", "it with --random PROFILE");
  if (o.csv && !generates && !is_file(o.forms[0]))
    refuse("--csv", "one element", "it with --random PROFILE or a capture file; --json");
  if (o.zero_c && !generates)
    refuse("--zero-c", "a comparison without generated inputs", "it with --random PROFILE");
  if (!o.svg.empty() && !generates && !is_file(o.forms[0]))
    refuse("--svg", "a comparison without statistics",
           "it with --random PROFILE or a capture file; explain --svg draws one element");
  if (!o.random.empty() && !generates)
    refuse("--random", "a comparison that has its inputs", "--random, or --a, --b and --c, or a capture file");
  if ((o.cases > 0 || o.seed > 0) && !generates)
    refuse(o.cases > 0 ? "--cases" : "--seed", "a comparison without generated inputs",
           "it with --random PROFILE");
  if (!o.find.empty()) return find(o);
  const Instructions instructions = find_instructions(o, o.targets);
  if (is_file(o.forms[0])) return compare_file(o, instructions);
  if (o.values.is_given()) return compare_values(o, instructions);
  if (generates) return compare_random(o, instructions);
  refuse("compare", "a form without values",
         "--a, --b and --c; --random PROFILE; --find-difference; or a capture file");
}

}  // namespace

void add_compare(CLI::App& command, int& status) {
  command.footer(examples(
      {"warpbit compare mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --find-difference sm_80,sm_90",
       "warpbit compare mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --targets sm_80,sm_90,sm_100 "
       "--random ordinary",
       "warpbit compare mma.m16n8k8.f32.f16@T4 mma.m16n8k16.f32.f16@A100 --random ordinary",
       "warpbit compare mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
       "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 --targets sm_90 --random ordinary",
       "warpbit compare mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 --targets sm_90 "
       "--order ascending,descending,split_k=2 --random ordinary --cases 64 --depth 64",
       "warpbit compare wgmma.m64n8k32.f32.e4m3@H100 tcgen05.f32.e4m3@B200 --order ascending --order promote=128 "
       "--order split_k=4 --random ordinary --zero-c --depth 512,1024,2048 --cases 16 --svg errors.svg",
       "warpbit compare mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --targets sm_80,sm_90 --random mixed "
       "--cases 100000 --shard 3/100",
       "warpbit compare mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 --targets sm_80,sm_90 --a '1 2^-12' "
       "--b '1 1' --c 0.1 --explain",
       "warpbit compare golden/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32.npz "
       "--targets sm_90,sm_80"}));
  CompareArguments& o = add_arguments(command, status, compare);
  command
      .add_option(
          "forms", o.forms,
          "forms or statements with the same formats, each in a chain along K, also short or FORM@TARGET, or a "
          "capture file and such forms; the first is what others are compared with")
      ->required();
  const auto add_list = [&](const char* name, std::vector<std::string>& list, const char* description) {
    return command.add_option(name, list, description)->delimiter(',')->allow_extra_args(false);
  };
  add_list("--targets", o.targets,
           "one or more, separated by commas; each form without @TARGET is taken on each");
  add_list(
      "--order", o.orders,
      "orders of the sum, separated by commas, in the words of warpbit order --words: ascending (unless given), "
      "descending, 1:0:3:2, split_k=2, promote=128, 'descending split_k=2'")
      ->type_name("WORDS");
  command
      .add_option(
          "--depth", o.depths,
          "K, rounded up to whole instructions; the deepest instruction's, or as many as the orders need, "
          "unless given; with --random several, separated by commas: a row for each and a plot (--svg)")
      ->type_name("NUMBERS")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(std::size_t{1}, kMostDepth).description(""));
  o.values.add_to(command);
  command.add_option(
      "--random", o.random,
      "compare on generated inputs of a profile: ordinary (numbers near 1, the exponents of a case few apart), narrow, wide "
      "(far apart), cancellation, alignment, underflow, overflow, specials, uniform (any codes), mixed (these by "
      "turns)");
  command
      .add_option(
          "--cases", o.cases,
          "how many of them; unless given as many as have 131072 elements (1024 of m16n8), of several K fewer")
      ->check(whole_number(1));
  command.add_option("--seed", o.seed, "other generated inputs")->check(whole_number(0));
  command.add_flag("--zero-c", o.zero_c,
                   "with --random: C is zero, as of most products, and no number whose bits an order may cut");
  command
      .add_option("--max-products", o.max_products,
                  "refuse a comparison that takes more products a b (default 2^30)")
      ->check(whole_number(1));
  add_shard(command, o.shard, "compare one of N shares of the generated cases");
  add_part(command, o.part);
  add_list(
      "--find-difference", o.find,
      "search for small inputs that tell two targets apart, separated by a comma, or two forms or orders of K "
      "on one");
  CLI::Option* show = command.add_flag("--explain", o.show, "also explain the element by each");
  CLI::Option* json =
      command
          .add_flag("--json", o.json, "print one JSON object instead: also statistics, histogram, explanations")
          ->excludes(show);
  command.add_option(
      "--svg", o.svg,
      "draw the errors of many elements against K, or bars of one K, to this file, too, whose name ends "
      "in .svg");
  command.add_flag("--csv", o.csv, "print the statistics of many elements, a row for each K and computation")
      ->excludes(show, json);
}

}  // namespace warpbit::cli
