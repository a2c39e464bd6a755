// SPDX-License-Identifier: Apache-2.0
// warpbit explain
#include "warpbit/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/arguments.hpp"
#include "cli/help.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

struct ExplainArguments {
  std::string form, target, element, svg;
  std::uint64_t index = 0;
  ReplayOptions options;
  ElementOptions values;
  bool json = false;
};

// "4,2" or "4,2,1": row, column, product.
Coordinate parse_element(const std::string& text) {
  std::vector<int> numbers;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) numbers.push_back(number<int>(word).value_or(-1));
  if (numbers.size() == 2) numbers.push_back(0);
  if (numbers.size() != 3 || std::ranges::min(numbers) < 0)
    refuse("element", fmt::format("'{}'", text), "row,column or row,column,product");
  return {numbers[0], numbers[1], numbers[2]};
}

Explanation explain_file(const ExplainArguments& o) {
  const ReplayOptions options = with_target(o.options, o.target);
  if (o.values.is_given()) refuse("explain", "values for a capture, which has its own", "--case and --element");
  return required(
      explain_capture(o.form, o.index, o.element.empty() ? Coordinate{} : parse_element(o.element), options));
}

// On each of the targets, which are separated by commas.
std::vector<Explanation> explain_values(const ExplainArguments& o, std::vector<std::string>& notes) {
  if (!o.values.is_given()) refuse("explain", "no values", "--a and --b, --c");
  std::vector<Explanation> out;
  std::istringstream targets(o.target);
  std::string target;
  do {
    std::getline(targets, target, ',');
    const AskedForm form = asked_form(o.form, target);
    if (!form.target) refuse("explain", "no target", "--target, e.g. --target H100");
    const Instruction instruction = instruction_of(form);
    notes.clear();
    out.push_back(required(explain_element(instruction, o.values.inputs(instruction, notes))));
  } while (targets.good());
  return out;
}

ordered_json answer_json(const Explanation& explanation, const std::vector<std::string>& notes) {
  ordered_json out = ordered_json::parse(json(explanation));
  out["notes"] = notes;
  return out;
}

// The same by the forms that matrix products use.
void print_commands(const std::vector<Explanation>& explanations, const ElementOptions& values) {
  for (const Explanation& e : explanations) {
    const Result<Instruction> asked = Instruction::parse(e.form, e.target);
    const std::optional<Instruction> used = asked ? used_by_products(*asked) : std::nullopt;
    if (used)
      fmt::print("{}\n", shell_lines(fmt::format("warpbit explain {}@{}{}", used->canonical(),
                                                 used->target().name(), values.typed()),
                                     terminal().columns));
  }
}

void print_answers(const std::vector<Explanation>& explanations, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print("{}\n", note);
  for (const Explanation& e : explanations)
    fmt::print("{}{}", &e == explanations.data() ? "" : "\n", text(e, static_cast<int>(terminal().columns)));
}

void print_answers_json(const std::vector<Explanation>& explanations, const std::vector<std::string>& notes) {
  if (explanations.size() == 1) return print_json("explain", answer_json(explanations[0], notes));
  ordered_json all = ordered_json::array();
  for (const Explanation& e : explanations) all.push_back(answer_json(e, notes));
  print_json("explain", {{"explanations", all}});
}

int explain(const ExplainArguments& o) {
  check_svg(o.svg);
  std::vector<std::string> notes;
  const std::vector<Explanation> explanations =
      is_file(o.form) ? std::vector{explain_file(o)} : explain_values(o, notes);
  if (!o.svg.empty()) required(write_svg(o.svg, explanations));
  (o.json ? print_answers_json : print_answers)(explanations, notes);
  if (!o.json && o.values.is_given()) print_commands(explanations, o.values);
  return std::ranges::all_of(explanations,
                             [](const Explanation& e) { return e.recorded.value_or(e.code) == e.code; })
             ? kYes
             : kNo;
}

}  // namespace

void add_explain(CLI::App& command, int& status) {
  command.footer(examples(
      {"warpbit explain mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --target sm_90 --a '1 2^-12 -3.5' "
       "--b '1 1 2' --c 0.1",
       "warpbit explain golden/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32.npz --case 3 "
       "--element 4,2"}));
  ExplainArguments& o = add_arguments(command, status, explain);
  command
      .add_option("form", o.form,
                  "a form, also short or FORM@TARGET, or a statement, whose values follow, or a capture file")
      ->required();
  command.add_option("--target", o.target,
                     "the target, or several separated by commas; of a capture another one than its own");
  o.values.add_to(command);
  command.add_option("--case", o.index, "case of the capture, 0 unless given")->check(whole_number(0));
  command.add_option("--element", o.element, "row,column of D in the capture, 0,0 unless given");
  command.add_option("--svg", o.svg, "write a picture to this file, too, whose name ends in .svg");
  add_json(command, o.json);
  add_undefined(command, o.options.undefined);
}

}  // namespace warpbit::cli
