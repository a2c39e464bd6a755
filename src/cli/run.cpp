// SPDX-License-Identifier: Apache-2.0
// warpbit run
#include "warpbit/replay.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/json.hpp"

namespace warpbit::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kLayouts{CaptureLayout::registers, CaptureLayout::elements, CaptureLayout::scalars};

struct RunArguments {
  std::string statement, target, layout, arrays, a, b, c, a_scale, b_scale, bias, order, out;
  bool codes = false, as_measured = false, json = false;
};

// Warns on stderr, since results may follow on stdout.
void note_basis(bool inferred, std::string_view target) {
  if (inferred) fmt::print(stderr, "warpbit: the arithmetic of {} rests on no hardware result\n", target);
}

// What the arithmetic rests on. Sums of integers are exact by definition, whatever was recorded.
Json evidence_of(const Instruction& i) {
  const Evidence& e = i.evidence();
  const bool by_definition = e.overall() == Basis::inferred && !i.inferred();
  return {{"basis", by_definition ? "definition" : name(e.overall())}, {"from", e.order.from}};
}

void run_on_arrays(const RunArguments& o) {
  if (o.out.empty()) refuse("run", "no --out", "the name of the .npz to write");
  RunOptions options;
  const AskedForm form = asked_form(o.statement, o.target);
  options.statement = form.text;
  options.target = form.target;
  for (const CaptureLayout layout : kLayouts)
    if (o.layout == name(layout)) options.layout = layout;
  if (o.as_measured) options.execute.undefined = Undefined::as_measured;
  const RunReport report = required(run_arrays(o.arrays, o.out, options), form.text, options.target);
  if (o.json)
    return print_json("run", {{"statement", report.header.statement},
                              {"target", report.header.target},
                              {"inferred", report.inferred},
                              {"cases", report.cases},
                              {"layout", name(report.header.layout)},
                              {"written", o.out}});
  note_basis(report.inferred, report.header.target);
  fmt::print("{}: {} case{} on {}, layout {}\n", o.out, report.cases, report.cases == 1 ? "" : "s",
             report.header.target, name(report.header.layout));
}

MatrixOperands read_operands(const Instruction& i, const RunArguments& o, const SumOrder& order,
                             std::vector<std::string>& notes) {
  MatrixOperands out;
  const auto read_as = [&](std::string_view format, const std::string& file, auto& to) {
    if (!file.empty()) to = required(read_matrix(file, format, notes));
  };
  const auto read = [&](Part part, const std::string& file, auto& to) {
    const Operand* operand = i.find(part);
    if (operand == nullptr && part == Part::c) operand = &i.operands()[0];
    if (file.empty()) return;
    if (operand == nullptr)
      refuse(std::string(i.canonical()), file,
             part == Part::scale_a || part == Part::scale_b ? "no scale factors: the form has no block scaling"
                                                            : "an operand that the form has",
             Errc::view_mismatch);
    to = required(read_matrix(file, operand->format, notes));
  };
  read(Part::a, o.a, out.a);
  read(Part::b, o.b, out.b);
  if (order.c_last)
    read_as(format_of_result(i, order), o.c, out.c);
  else
    read(Part::c, o.c, out.c);
  read_as(format_of_result(i, order), o.bias, out.bias);
  if (order.promote != 0 || order.scales_last) {
    read_as("f32", o.a_scale, out.a_scale);
    read_as("f32", o.b_scale, out.b_scale);
  } else {
    read(Part::scale_a, o.a_scale, out.a_scale);
    read(Part::scale_b, o.b_scale, out.b_scale);
  }
  return out;
}

// The cells of D as they are printed.
Json cells_of(const CodeMatrix& d, std::string_view format, bool codes) {
  const std::string text = required(matrix_text(d, format, codes));
  Json rows = Json::array(), row = Json::array();
  for (std::size_t first = 0; first < text.size();) {
    const std::size_t end = text.find_first_of(",\n", first);
    row.push_back(text.substr(first, end - first));
    if (text[end] == '\n') rows.push_back(std::exchange(row, Json::array()));
    first = end + 1;
  }
  return rows;
}

// D's size and, unless it was written to a file, its cells.
void print_product(const RunArguments& o, const Instruction& i, std::size_t depth, const CodeMatrix& d,
                   const SumOrder& order, const std::vector<std::string>& notes) {
  const std::string_view format = format_of_result(i, order);
  Json out{{"form", i.canonical()},    {"target", i.target().name()},
           {"inferred", i.inferred()}, {"evidence", evidence_of(i)},
           {"rows", d.rows},           {"columns", d.columns},
           {"depth", depth},           {"order", order.text()},
           {"format", format},         {"notes", notes}};
  if (o.out.empty())
    out["d"] = cells_of(d, format, o.codes);
  else
    out["written"] = o.out;
  print_json("run", out);
}

void run_on_matrices(const RunArguments& o) {
  const bool has_target = o.statement.find('@', 1) != std::string::npos;
  const std::pair<std::string_view, std::string> needed[] = {
      {"a form", o.statement}, {"--target", o.target + (has_target ? "@" : "")}, {"--a", o.a}, {"--b", o.b}};
  for (const auto& [what, given] : needed)
    if (given.empty())
      refuse("run", fmt::format("no {}", what.starts_with("a ") ? what.substr(2) : what),
             fmt::format("{}: matrices need a form, --target, --a and --b", what));
  const Instruction instruction = instruction_of(asked_form(o.statement, o.target));
  std::vector<std::string> notes;
  GemmOptions options;
  if (!o.order.empty()) options.order = required(SumOrder::parse(o.order));
  const MatrixOperands operands = read_operands(instruction, o, options.order, notes);
  if (!o.json)
    for (const std::string& note : notes) fmt::print(stderr, "warpbit: {}\n", note);
  const CodeMatrix d = required(run_matrices(instruction, operands, options));
  const std::string_view format = format_of_result(instruction, options.order);
  if (!o.out.empty()) required(write_matrix(o.out, d, format, o.codes));
  if (o.json) return print_product(o, instruction, operands.a.columns, d, options.order, notes);
  note_basis(instruction.inferred(), instruction.target().name());
  if (o.out.empty()) return fmt::print("{}", required(matrix_text(d, format, o.codes)));
  fmt::print("{}: {} x {} {}\n", o.out, d.rows, d.columns, format);
}

int run(const RunArguments& o) {
  if (o.arrays.empty() == (o.a + o.b + o.c + o.a_scale + o.b_scale + o.bias).empty())
    refuse("run", o.arrays.empty() ? "no operands" : "arrays and matrices",
           "--arrays FILE.npz, or matrices --a and --b");
  o.arrays.empty() ? run_on_matrices(o) : run_on_arrays(o);
  return kYes;
}

}  // namespace

void add_run(CLI::App& command, int& status) {
  RunArguments& o = add_arguments(command, status, run);
  std::vector<std::string> layouts;
  for (const CaptureLayout layout : kLayouts) layouts.emplace_back(name(layout));
  command.add_option("statement", o.statement,
                     "a form; with --arrays a statement whose operands name the arrays, or none if the file is "
                     "a capture");
  command.add_option("--target", o.target, "the target; that of the capture unless given");
  command.add_option("--arrays", o.arrays, "an .npz with the operands' registers, memory or elements");
  command.add_option("--layout", o.layout, "how its arrays are arranged")->check(CLI::IsMember(layouts));
  command.add_option("--a", o.a, "A as a matrix: .npy, or text with a row in each line");
  command.add_option("--b", o.b, "B, the same");
  command.add_option("--c", o.c, "C; 0 unless given");
  command.add_option("--a-scale", o.a_scale, "scale factors of A, rows x blocks of K: numbers or codes");
  command.add_option("--b-scale", o.b_scale, "scale factors of B, blocks of K x columns");
  command.add_option("--bias", o.bias, "added before the store: rows x columns, or a row for all rows");
  command.add_option(
      "--order", o.order,
      "the order of the sum, in words: ascending (unless given), descending, the steps (1:0:3:2), "
      "split_k=2, \"split_k=3 unit=64 store=f16\"; warpbit order --words lists them");
  command.add_option("--out", o.out,
                     "where to write: a capture of source model (.npz), or D as .npy or text; D is printed "
                     "unless given");
  command.add_flag("--codes", o.codes, "D as hexadecimal codes, in .npy as unsigned integers");
  command.add_flag("--as-measured", o.as_measured,
                   "take operands that the manual leaves undefined as the hardware was measured to");
  command.add_flag("--json", o.json, "print JSON: what was computed and written, and D if there is no --out");
  command.footer(examples(
      {"printf '1 2\\n3 4\\n' > a.csv && warpbit run mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
       "--target sm_90 --a a.csv --b a.csv",
       "warpbit run --arrays golden/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32.npz "
       "--target sm_80 --out sm_80.npz"}));
}

}  // namespace warpbit::cli
