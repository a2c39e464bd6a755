// SPDX-License-Identifier: Apache-2.0
// warpbit explain
#include "warpbit/explain.hpp"

#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "cli/commands.hpp"
#include "cli/numbers.hpp"
#include "cli/terminal.hpp"

namespace warpbit::cli {
namespace {

struct ExplainArguments {
  std::string what, target, element, undefined, svg;
  std::uint64_t index = 0;
  ElementOptions values;
  bool json = false;
};

// "4,2" or "4,2,1": row, column, product.
Result<Coordinate> parse_element(const std::string& text) {
  int numbers[3] = {};
  std::size_t count = 0;
  const char *at = text.data(), *end = at + text.size();
  while (count < 3) {
    const auto [next, error] = std::from_chars(at, end, numbers[count]);
    if (error != std::errc{}) break;
    ++count;
    at = next;
    if (at == end || *at != ',') break;
    ++at;
  }
  if (count < 2 || at != end)
    return Error{Errc::usage, "element", fmt::format("'{}'", text), "row,column or row,column,product"};
  return Coordinate{numbers[0], numbers[1], numbers[2]};
}

Result<Explanation> explain_file(const ExplainArguments& o) {
  ReplayOptions options;
  if (o.undefined == "as-measured") options.undefined = Undefined::as_measured;
  if (!o.target.empty()) {
    const Result<Target> target = Target::find(o.target);
    if (!target) return target.error();
    options.target = *target;
  }
  if (o.values.is_given())
    return Error{Errc::usage, "explain", "values for a capture, which has its own", "--case and --element"};
  Result<Coordinate> at = Coordinate{};
  if (!o.element.empty()) at = parse_element(o.element);
  if (!at) return at.error();
  return explain_capture(o.what, o.index, *at, options);
}

Result<Explanation> explain_values(const ExplainArguments& o, std::vector<std::string>& notes) {
  if (o.target.empty()) return Error{Errc::usage, "explain", "no target", "--target, e.g. --target sm_90"};
  const Result<Target> target = Target::find(o.target);
  if (!target) return target.error();
  const Result<Instruction> instruction = Instruction::parse(o.what, *target);
  if (!instruction) return instruction.error();
  if (!o.values.is_given()) return Error{Errc::usage, "explain", "no values", "--a and --b, --c"};
  const Result<ElementInputs> inputs = o.values.inputs(*instruction, notes);
  if (!inputs) return inputs.error();
  return explain_element(*instruction, *inputs);
}

int explain(const ExplainArguments& o) {
  if (const Result<void> named = check_svg(o.svg); !named) return cannot_answer(named.error());
  std::vector<std::string> notes;
  const Result<Explanation> explanation = is_file(o.what) ? explain_file(o) : explain_values(o, notes);
  if (!explanation) return cannot_parse(explanation.error(), o.what, std::nullopt);
  if (!o.svg.empty())
    if (const Result<void> written = write_svg(o.svg, *explanation); !written)
      return cannot_answer(written.error());
  if (o.json) {
    fmt::print("{}", json(*explanation));
  } else {
    for (const std::string& note : notes) fmt::print("{}\n", note);
    fmt::print("{}", text(*explanation, terminal().columns));
  }
  return explanation->recorded && *explanation->recorded != explanation->code ? kNo : kYes;
}

}  // namespace

void add_explain(CLI::App& command, int& status) {
  command.footer(examples(
      {"warpbit explain mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --target sm_90 --a '1 2^-12 -3.5' "
       "--b '1 1 2' --c 0.1",
       "warpbit explain golden/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32.npz --case 3 "
       "--element 4,2"}));
  const auto o = std::make_shared<ExplainArguments>();
  command.add_option("what", o->what, "a form or statement, whose values follow, or a capture file")
      ->required();
  command.add_option("--target", o->target, "the target; of a capture another one than its own");
  o->values.add_to(command);
  command.add_option("--case", o->index, "case of the capture, 0 unless given")->check(CLI::NonNegativeNumber);
  command.add_option("--element", o->element, "row,column of D in the capture, 0,0 unless given");
  command.add_option("--svg", o->svg, "write a picture to this file, too, whose name ends in .svg");
  command.add_flag("--json", o->json, "print one JSON object instead");
  command
      .add_option("--undefined", o->undefined,
                  "operands that the manual leaves undefined: error (default) or as-measured")
      ->check(CLI::IsMember({"error", "as-measured"}));
  command.callback([o, &status] { status = explain(*o); });
}

}  // namespace warpbit::cli
