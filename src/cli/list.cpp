// SPDX-License-Identifier: Apache-2.0
// warpbit list
#include "cli/list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <regex>
#include <span>
#include <sstream>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/recording.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

std::string text(const std::optional<BasisRange>& basis) {
  if (!basis) return "-";
  if (basis->strongest == basis->weakest) return std::string(name(basis->weakest));
  return fmt::format("{}, part {}", name(basis->strongest), name(basis->weakest));
}

std::optional<BasisRange> merged(const std::optional<BasisRange>& x, const std::optional<BasisRange>& y) {
  if (!x || !y) return x ? x : y;
  return BasisRange{std::min(x->strongest, y->strongest), std::max(x->weakest, y->weakest)};
}

// "mma.sp: s8" -> "mma.sp: "; empty if there is no colon.
std::string_view unit_of(std::string_view heading) {
  const std::size_t colon = heading.find(": ");
  return heading.substr(0, colon == heading.npos ? 0 : colon + 2);
}

// Neighbours that differ in their heading only become one: "s8, u8", "mma.sp: s8, u8".
void merge_rows(Table& table) {
  Table out{table[0]};
  for (std::size_t i = 1; i < table.size(); ++i) {
    Row& last = out.back();
    const std::string_view unit = unit_of(last[0]);
    if (out.size() > 1 && (unit.empty() || unit == unit_of(table[i][0])) &&
        std::equal(last.begin() + 1, last.end(), table[i].begin() + 1))
      last[0] += ", " + table[i][0].substr(unit.size());
    else
      out.push_back(table[i]);
  }
  table = std::move(out);
}

Table transposed(const Table& table) {
  Table out(table[0].size(), Row(table.size()));
  for (std::size_t i = 0; i < table.size(); ++i)
    for (std::size_t j = 0; j < table[i].size(); ++j) out[j][i] = table[i][j];
  return out;
}

// One row for each kind of instruction.
std::vector<EvidenceRow> by_instruction() {
  std::vector<EvidenceRow> out;
  for (const EvidenceRow& row : evidence_table()) {
    const auto known = std::ranges::find(out, row.unit, &EvidenceRow::unit);
    if (known == out.end()) {
      out.push_back({"", row.unit, row.by_target, row.floor_by_target});
      continue;
    }
    for (std::size_t i = 0; i < row.by_target.size(); ++i) {
      known->by_target[i] = merged(known->by_target[i], row.by_target[i]);
      known->floor_by_target[i] = merged(known->floor_by_target[i], row.floor_by_target[i]);
    }
  }
  return out;
}

// Instructions with operand types down and targets across; the floors of their sums have rows of their own.
Table evidence_by_type() {
  Table table{{"instruction: type"}};
  for (const Target target : Target::all()) table[0].emplace_back(target.name());
  const auto add = [&](std::string name, const auto& by_target) {
    table.push_back({std::move(name)});
    for (const auto& basis : by_target) table.back().push_back(text(basis));
  };
  for (const EvidenceRow& row : evidence_table()) {
    add(fmt::format("{}: {}", row.unit, row.type), row.by_target);
    if (std::ranges::any_of(row.floor_by_target, [](const auto& basis) { return basis.has_value(); }))
      add(fmt::format("{}, floor: {}", row.unit, row.type), row.floor_by_target);
  }
  std::ranges::stable_sort(table.begin() + 1, table.end(), {},
                           [](const auto& row) { return row[0].substr(0, row[0].find(": ")); });
  merge_rows(table);
  table = transposed(table);
  merge_rows(table);
  return transposed(table);
}

// A row for each cell, of which those that are longer than a line of a page have several: target, basis, instructions.
Table in_lines(const Table& wide) {
  constexpr std::size_t kLongest = 80;
  Table out{{wide[0][0], "rests on", "instructions"}};
  for (std::size_t i = 1; i < wide.size(); ++i)
    for (std::size_t k = 1; k < wide[i].size(); ++k) {
      std::string line;
      std::istringstream cell(wide[i][k]);
      for (std::string unit; std::getline(cell >> std::ws, unit, ';');) {
        if (!line.empty() && line.size() + 2 + unit.size() > kLongest)
          out.push_back({wide[i][0], wide[0][k], std::exchange(line, "")});
        line += (line.empty() ? "" : "; ") + unit;
      }
      if (line != "-") out.push_back({wide[i][0], wide[0][k], line});
    }
  return out;
}

// Targets down; in the column of a basis the instructions whose strongest it is. A value alone is known of floors only.
Table evidence_by_target() {
  Table table{{"target", "captured", "published", "value only", "inferred"}};
  const std::vector<Target> targets = Target::all();
  const std::vector<EvidenceRow> rows = by_instruction();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::array<std::vector<std::string>, kBases.size()> units;
    const auto add = [&](const BasisRange& basis, std::string what) {
      if (basis.weakest != basis.strongest) what += fmt::format(" (part {})", name(basis.weakest));
      units[static_cast<std::size_t>(basis.strongest)].push_back(std::move(what));
    };
    for (const EvidenceRow& row : rows) {
      if (row.by_target[i]) add(*row.by_target[i], std::string(row.unit));
      const std::optional<BasisRange>& floor = row.floor_by_target[i];
      if (floor && floor->strongest == Basis::value_only) add(*floor, fmt::format("floor of {}", row.unit));
    }
    table.push_back({std::string(targets[i].name())});
    for (const auto& names : units)
      table.back().push_back(names.empty() ? "-" : fmt::format("{}", fmt::join(names, "; ")));
  }
  merge_rows(table);
  return in_lines(table);
}

ordered_json json_of(const std::optional<BasisRange>& basis) {
  if (!basis) return nullptr;
  return {{"strongest", name(basis->strongest)}, {"weakest", name(basis->weakest)}};
}

ordered_json json_of(const std::optional<BasisRange>& basis, const std::optional<BasisRange>& floor) {
  ordered_json out = json_of(basis);
  if (basis) out["floor"] = json_of(floor);
  return out;
}

// The same, without merging rows.
ordered_json evidence_json(bool types) {
  const std::vector<Target> targets = Target::all();
  ordered_json rows = ordered_json::array();
  for (const EvidenceRow& row : types ? evidence_table() : by_instruction()) {
    ordered_json by_target, out{{"instruction", row.unit}};
    for (std::size_t i = 0; i < targets.size(); ++i)
      by_target[std::string(targets[i].name())] = json_of(row.by_target[i], row.floor_by_target[i]);
    if (types) out["type"] = row.type;
    out["targets"] = by_target;
    rows.push_back(out);
  }
  return {{"rows", rows}};
}

// std::regex takes the stack for each character of a pattern.
std::regex regex_of(const std::string& pattern) try {
  constexpr std::size_t kMost = 1000;
  if (pattern.size() > kMost)
    refuse("list", fmt::format("an expression of {} characters", pattern.size()),
           fmt::format("at most {}", kMost));
  return std::regex(pattern);
} catch (const std::regex_error& error) {
  refuse("list", fmt::format("'{}' ({})", pattern, error.what()), "a regular expression (ECMAScript)");
}

ordered_json names_json(std::span<const Target> targets) {
  ordered_json out = ordered_json::array();
  for (const Target target : targets) out.push_back(target.name());
  return out;
}

// With --machine: the forms that become the instruction, and on which targets that was seen.
int list_machine(const ListArguments& o) {
  const MachineForms found = required(forms_of_machine_code(o.machine));
  const std::vector<FormInfo> wanted = wanted_forms(o);
  const std::optional<Target> target = find_target(o.target);
  Table table{{"form", "becomes", "targets"}};
  ordered_json rows = ordered_json::array();
  for (const bool is_whole : {true, false})
    for (const MachineForm& form : is_whole ? found.forms : found.composing) {
      if (std::ranges::find(wanted, form.form, &FormInfo::canonical) == wanted.end()) continue;
      if (target && std::ranges::find(form.targets, *target) == form.targets.end()) continue;
      const auto code = machine_code(form.form, form.targets.front());
      const std::string becomes = code ? text(*code) : found.name;
      table.push_back({form.form, becomes, names(form.targets)});
      rows.push_back({{"form", form.form},
                      {"machine_code", becomes},
                      {"is_whole", is_whole},
                      {"targets", names_json(form.targets)}});
    }
  return print_listing(o, table,
                       {{"machine_instruction", found.name},
                        {"ignored", found.ignored},
                        {"seen_with", kMachineCodeToolkit},
                        {"forms", rows}});
}

int list_forms(const ListArguments& o) {
  if (!o.machine.empty()) return list_machine(o);
  Table table{{"form", "operands", "targets"}};
  ordered_json rows = ordered_json::array();
  for (const FormInfo& form : wanted_forms(o)) {
    table.push_back({form.canonical, form.operands, names(form.targets)});
    rows.push_back({{"form", form.canonical},
                    {"family", form.family},
                    {"operands", form.operands},
                    {"targets", names_json(form.targets)}});
    if (!o.json || !form.family.starts_with("tcgen05.mma")) continue;
    if (const auto bits = example_descriptor(required(Instruction::parse(form.canonical, form.targets.back()))))
      rows.back()["idesc_example"] = hexadecimal(*bits);
  }
  return print_listing(o, table, {{"forms", rows}});
}

// The generations of GPUs, a row each, with the names that people use.
int list_targets(const ListArguments& o) {
  Table table{{"target", "architecture", "names"}};
  ordered_json rows = ordered_json::array();
  for (const TargetNames& row : target_names()) {
    table.push_back({std::string(row.target.name()), std::string(row.architecture),
                     fmt::format("{}", fmt::join(row.names, ", "))});
    rows.push_back({{"target", row.target.name()}, {"architecture", row.architecture}, {"names", row.names}});
  }
  const int status = print_listing(o, table, {{"targets", rows}});
  if (o.json || o.csv || o.markdown) return status;
  fmt::print("\n");
  fmt::print("{}\n", fmt::join(broken(fmt::format("PTX has the names {}", names(Target::all()))), "\n"));
  return status;
}

int list(const ListArguments& o) {
  if (o.targets && (!o.target.empty() || !o.pattern.empty()))
    refuse("list", "--target or REGEX beside --targets", "one of both");
  if (o.targets) return list_targets(o);
  if (!o.captures.empty()) return list_captures(o);
  if (o.kernels) return list_kinds(o);
  if (o.assembler) return list_rules(o);
  if (o.rules) return list_kernel_rules(o);
  if (o.isa) return list_isa(o);
  if (o.defects) return list_defects(o);
  if (o.ptx) return list_kernels(o);
  if (o.probes) return list_probes(o);
  if (o.evidence) return list_evidence(o);
  if (o.forms) return list_forms(o);
  if (o.target.empty() && Recording::is_one(o.pattern)) return list_records(o);
  if (!o.target.empty() || !o.pattern.empty())
    refuse("list", "--target or REGEX alone",
           "them with --forms, --ptx, --probes or --evidence; or a recording");
  return print_listing(o, o.types ? evidence_by_type() : evidence_by_target(), evidence_json(o.types));
}

}  // namespace

std::vector<FormInfo> wanted_forms(const ListArguments& o) {
  const std::regex pattern = regex_of(o.pattern);
  const std::optional<Target> target = find_target(o.target);
  std::vector<FormInfo> out = forms();
  std::erase_if(out, [&](const FormInfo& form) {
    return !std::regex_search(form.canonical, pattern) ||
           (target && std::ranges::find(form.targets, *target) == form.targets.end());
  });
  return out;
}

Table in_page_width(const Table& wide, const std::vector<std::size_t>& widths) {
  const auto lines_of = [](std::string_view cell, std::size_t width) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at <= cell.size();) {
      const std::size_t end = std::min(cell.find("; ", at), cell.size());
      for (std::string& line : broken(cell.substr(at, end - at), width)) out.push_back(std::move(line));
      at = end + 2;
    }
    return out;
  };
  Table out;
  for (const Row& row : wide) {
    Table parts;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const std::vector<std::string> lines = lines_of(row[j], widths[j]);
      if (parts.size() < lines.size()) parts.resize(lines.size(), Row(row.size()));
      for (std::size_t i = 0; i < lines.size(); ++i) parts[i][j] = lines[i];
    }
    out.insert(out.end(), parts.begin(), parts.end());
  }
  return out;
}

int print_listing(const ListArguments& o, const Table& table, const nlohmann::ordered_json& object) {
  if (o.json)
    print_json("list", object);
  else if (o.csv && table.size() > 1)
    print_csv(table);
  else if (table.size() > 1)
    print(table, o.markdown);
  return table.size() > 1 ? kYes : kNo;
}

void add_list(CLI::App& command, int& status) {
  ListArguments& o = add_arguments(command, status, list);
  CLI::Option* types = command.add_flag("--types", o.types, "separate operand types, too");
  CLI::Option* forms =
      command
          .add_flag("--forms", o.forms,
                    "list instead the forms that REGEX is found in, with their operands and targets")
          ->excludes(types);
  CLI::Option* ptx =
      command
          .add_flag("--ptx", o.ptx,
                    "print instead the kernels with which a GPU of --target records captures of all forms "
                    "that REGEX is found in")
          ->excludes(types, forms);
  CLI::Option* probes =
      command
          .add_flag("--probes", o.probes,
                    "print instead, for the same forms, inputs that tell their arithmetic from others, "
                    "with results; and what no input can tell")
          ->excludes(types, forms, ptx);
  CLI::Option* evidence =
      command
          .add_flag("--evidence", o.evidence,
                    "list instead how many forms of each family rest on what, or with --forms each "
                    "form, and the captures that show it")
          ->excludes(types, ptx, probes);
  CLI::Option* targets =
      command.add_flag("--targets", o.targets, "list instead the targets by the names of GPUs")
          ->excludes(types, forms, ptx, probes, evidence);
  CLI::Option* kernels =
      command
          .add_flag("--kernels", o.kernels,
                    "list instead what results of whole kernels rest on beside tensor instructions, by kind")
          ->excludes(types, forms, ptx, probes, evidence, targets);
  CLI::Option* assembler =
      command
          .add_flag("--assembler", o.assembler,
                    "list instead the rules by which the assembler (ptxas) changes the bits of whole kernels")
          ->excludes(types, forms, ptx, probes, evidence, targets, kernels);
  CLI::Option* defects =
      command
          .add_flag("--defects", o.defects,
                    "list instead the defects of ptxas: where its machine code leaves other bits than the PTX "
                    "manual says")
          ->excludes(types, forms, ptx, probes, evidence, targets, kernels, assembler);
  CLI::Option* rules =
      command
          .add_flag(
              "--rules", o.rules,
              "list instead the rules that a kernel must keep, and what a launch does where one is broken")
          ->excludes(types, forms, ptx, probes, evidence, targets, kernels, assembler, defects);
  CLI::Option* isa =
      command
          .add_flag(
              "--isa", o.isa,
              "list instead the instructions that kernels may have, by chapter of the PTX manual: on which "
              "targets, since which version, and what their results rest on")
          ->excludes(types, forms, ptx, probes, evidence, targets, kernels, assembler, defects, rules);
  CLI::Option* captures =
      command
          .add_option("--captures", o.captures,
                      "print instead the captures in folders, by tabs; golden/index.tsv is that")
          ->excludes(types, forms, ptx, probes, evidence, targets, kernels, assembler, defects, rules, isa);
  CLI::Option* markdown =
      command.add_flag("--markdown", o.markdown, "print a Markdown table")->excludes(ptx, probes, captures);
  CLI::Option* csv = command.add_flag("--csv", o.csv, "print a table by commas, a row in each line")
                         ->excludes(ptx, probes, captures, markdown);
  add_json(command, o.json)->excludes(markdown, csv);
  CLI::Option* target =
      command.add_option("--target", o.target, "the target of --forms, --ptx, --probes and --evidence");
  ptx->needs(target);
  command
      .add_option(
          "--machine", o.machine,
          "of --forms only those that become this machine instruction, as ptxas 13.0 compiled them: HMMA.16816.F32, LDSM, ...")
      ->needs(forms);
  probes->needs(target);
  command.add_option(
      "REGEX", o.pattern,
      "part of the forms of --forms, --ptx, --probes and --evidence; or alone the path of a recording: what it holds");
  command.footer(
      examples({"warpbit list --types", "warpbit list --targets", "warpbit list --kernels",
                "warpbit list --assembler", "warpbit list --forms ^ldmatrix",
                "warpbit list --forms ^ldmatrix --csv", "warpbit list --forms --machine HMMA.16816.F32",
                "warpbit list golden/kernels/scan.zip", "warpbit list --evidence --target sm_90a ^wgmma"}));
}

}  // namespace warpbit::cli
