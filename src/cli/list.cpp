// SPDX-License-Identifier: Apache-2.0
// warpbit list
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>

#include "cli/commands.hpp"
#include "cli/list_evidence.hpp"
#include "cli/table.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/record.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {
namespace {

std::string text(const std::optional<BasisRange>& basis) {
  if (!basis) return "-";
  if (basis->strongest == basis->weakest) return std::string(name(basis->weakest));
  return fmt::format("{}, part {}", name(basis->strongest), name(basis->weakest));
}

std::optional<BasisRange> joined(const std::optional<BasisRange>& x, const std::optional<BasisRange>& y) {
  if (!x || !y) return x ? x : y;
  return BasisRange{std::min(x->strongest, y->strongest), std::max(x->weakest, y->weakest)};
}

// "s8", "u8" -> "s8, u8"; "mma.sp: s8", "mma.sp: u8" -> "mma.sp: s8, u8"
std::string joined(const std::string& x, const std::string& y) {
  const std::size_t colon = y.find(": ");
  if (colon != y.npos && x.starts_with(y.substr(0, colon + 2))) return x + ", " + y.substr(colon + 2);
  return x + ", " + y;
}

bool share_heading(const std::string& x, const std::string& y) {
  return x.substr(0, x.find(": ")) == y.substr(0, y.find(": ")) || x.find(": ") == x.npos;
}

// Neighbours that differ in their heading only become one.
void merge_rows(Table& table) {
  Table out{table[0]};
  for (std::size_t i = 1; i < table.size(); ++i) {
    std::vector<std::string>& last = out.back();
    if (out.size() > 1 && share_heading(last[0], table[i][0]) &&
        std::equal(last.begin() + 1, last.end(), table[i].begin() + 1))
      last[0] = joined(last[0], table[i][0]);
    else
      out.push_back(table[i]);
  }
  table = std::move(out);
}

Table transposed(const Table& table) {
  Table out(table[0].size(), std::vector<std::string>(table.size()));
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
      out.push_back({"", row.unit, row.by_target});
      continue;
    }
    for (std::size_t i = 0; i < row.by_target.size(); ++i)
      known->by_target[i] = joined(known->by_target[i], row.by_target[i]);
  }
  return out;
}

// Instructions, or these and operand types, down and targets across.
Table evidence(bool types) {
  Table table{{types ? "instruction: type" : "instruction"}};
  for (const Target target : Target::all()) table[0].emplace_back(target.name());
  for (const EvidenceRow& row : types ? evidence_table() : by_instruction()) {
    table.push_back({types ? fmt::format("{}: {}", row.unit, row.type) : std::string(row.unit)});
    for (const auto& basis : row.by_target) table.back().push_back(text(basis));
  }
  if (types)
    std::ranges::stable_sort(table.begin() + 1, table.end(), {},
                             [](const auto& row) { return row[0].substr(0, row[0].find(": ")); });
  if (types) merge_rows(table);
  table = transposed(table);
  merge_rows(table);
  return types ? transposed(table) : table;
}

struct ListArguments {
  bool forms = false, types = false, markdown = false, ptx = false, probes = false, evidence = false;
  std::string target, pattern;
  std::vector<std::string> captures;
};

// The index of folders of captures.
int list_captures(const std::vector<std::string>& folders) {
  const auto found = index_captures(std::vector<std::filesystem::path>(folders.begin(), folders.end()));
  if (!found) return cannot_answer(found.error());
  fmt::print("{}", index_text(*found));
  return kYes;
}

Result<std::regex> regex_of(const std::string& pattern) {
  try {
    return std::regex(pattern);
  } catch (const std::regex_error& error) {
    return Error{Errc::usage, "list", fmt::format("'{}' ({})", pattern, error.what()),
                 "a regular expression (ECMAScript)"};
  }
}

// The forms that the pattern is found in, on the target if there is one.
int list_forms(const ListArguments& o) {
  const Result<std::regex> pattern = regex_of(o.pattern);
  if (!pattern) return cannot_answer(pattern.error());
  std::optional<Target> target;
  if (!o.target.empty()) {
    const Result<Target> found = Target::find(o.target);
    if (!found) return cannot_answer(found.error());
    target = *found;
  }
  Table table{{"form", "operands", "targets"}};
  for (const FormInfo& form : forms())
    if (std::regex_search(form.canonical, *pattern) &&
        (!target || std::ranges::find(form.targets, *target) != form.targets.end()))
      table.push_back({form.canonical, form.operands, names(form.targets)});
  if (table.size() == 1) return kNo;
  print(table, o.markdown);
  return kYes;
}

// What rests on what, of the forms that the pattern is found in, on the target if there is one.
int list_evidence(const ListArguments& o) {
  const Result<std::regex> pattern = regex_of(o.pattern);
  if (!pattern) return cannot_answer(pattern.error());
  if (!o.target.empty() && !Target::find(o.target)) return cannot_answer(Target::find(o.target).error());
  const auto wanted = [&](const FormInfo& form, Target target) {
    return (o.target.empty() || target.name() == o.target) && std::regex_search(form.canonical, *pattern);
  };
  const Result<bool> printed = print_evidence(wanted, o.forms, o.markdown);
  if (!printed) return cannot_answer(printed.error());
  return *printed ? kYes : kNo;
}

// Calls visit(form, instruction) for the forms of the target that the pattern is found in, until it returns
// an error.
template <class Visit>
int for_each_form(const ListArguments& o, Visit visit) {
  const Result<Target> target = Target::find(o.target);
  if (!target) return cannot_answer(target.error());
  const Result<std::regex> pattern = regex_of(o.pattern);
  if (!pattern) return cannot_answer(pattern.error());
  int status = kNo;
  for (const FormInfo& form : forms()) {
    if (std::ranges::find(form.targets, *target) == form.targets.end() ||
        !std::regex_search(form.canonical, *pattern))
      continue;
    const Result<Instruction> instruction = Instruction::parse(form.canonical, form.operands, *target);
    if (!instruction) return cannot_answer(instruction.error());
    const Result<bool> printed = visit(*instruction);
    if (!printed) return cannot_answer(printed.error());
    if (*printed) status = kYes;
  }
  return status;
}

// The kernels file: what a GPU of the target needs to record captures (tools/capture/README.md).
int list_kernels(const ListArguments& o) {
  std::set<std::string> sets;
  return for_each_form(o, [&](const Instruction& form) -> Result<bool> {
    const std::vector<std::string> statements = capture_statements(form);
    for (const std::string& statement : statements) {
      const Result<Instruction> parsed = Instruction::parse(statement, form.target());
      if (!parsed) return parsed.error();
      const Result<std::string> block = capture_block(*parsed);
      if (!block) return block.error();
      if (sets.empty()) fmt::print("kernels 1\ntarget {}\n", form.target().name());
      if (const ProbeSet set = probe_set(*parsed); sets.insert(set.name).second) fmt::print("{}", set.text);
      fmt::print("{}", *block);
    }
    return !statements.empty();
  });
}

// " a 0:3c00 3:bc00", of what is not 0.
std::string codes_text(std::string_view array, const std::vector<std::uint64_t>& codes) {
  std::string out;
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (codes[i] != 0) out += fmt::format(" {}:{:x}", i, codes[i]);
  return out.empty() ? "" : fmt::format(" {}{}", array, out);
}

// What tells the arithmetic of each form from others, and what nothing can tell.
int list_probes(const ListArguments& o) {
  return for_each_form(o, [](const Instruction& form) -> Result<bool> {
    const Result<Probes> found = probes(form);
    if (!found) return false;  // not D = A B + C
    fmt::print("{}: {}\n", form.canonical(), form.plan());
    for (const Probe& p : found->probes)
      fmt::print("  {}\n   {}{}{}{} c {:x} -> d {:x}\n", p.name, codes_text("a", p.a), codes_text("b", p.b),
                 codes_text("sfa", p.a_scale), codes_text("sfb", p.b_scale), p.c, p.d);
    for (const Invisible& i : found->invisible) fmt::print("  {}: invisible, {}\n", i.name, i.reason);
    for (const Invisible& i : found->unknown) fmt::print("  {}: no probe is known\n", i.name);
    return true;
  });
}

int list(const ListArguments& o) {
  if (!o.captures.empty()) return list_captures(o.captures);
  if (o.ptx) return list_kernels(o);
  if (o.probes) return list_probes(o);
  if (o.evidence) return list_evidence(o);
  if (o.forms) return list_forms(o);
  if (!o.target.empty() || !o.pattern.empty())
    return cannot_answer(
        {Errc::usage, "list", "--target or REGEX alone", "them with --forms, --ptx, --probes or --evidence"});
  print(evidence(o.types), o.markdown);
  return kYes;
}

}  // namespace

void add_list(CLI::App& command, int& status) {
  const auto o = std::make_shared<ListArguments>();
  CLI::Option* types = command.add_flag("--types", o->types, "by operand types, too");
  CLI::Option* forms =
      command
          .add_flag("--forms", o->forms,
                    "list the forms that REGEX is found in instead, with their operands and targets")
          ->excludes(types);
  CLI::Option* markdown = command.add_flag("--markdown", o->markdown, "print a Markdown table");
  CLI::Option* ptx =
      command
          .add_flag("--ptx", o->ptx,
                    "print kernels instead, with which a GPU of --target records captures of all "
                    "forms that REGEX is found in")
          ->excludes(types, forms, markdown);
  CLI::Option* probes =
      command
          .add_flag("--probes", o->probes,
                    "print instead, of the same forms, inputs that tell their arithmetic from others, and "
                    "results; and what no input can tell")
          ->excludes(types, forms, markdown, ptx);
  CLI::Option* evidence =
      command
          .add_flag("--evidence", o->evidence,
                    "also how many forms of each family, and with --forms which, and the captures that show it")
          ->excludes(types, ptx, probes);
  command
      .add_option("--captures", o->captures,
                  "print instead the captures in folders, by tabs; golden/index.tsv is that")
      ->excludes(types, forms, markdown, ptx, probes, evidence);
  CLI::Option* target = command.add_option("--target", o->target, "of --forms, --ptx, --probes and --evidence");
  ptx->needs(target);
  probes->needs(target);
  command.add_option("REGEX", o->pattern, "of the forms with --forms, --ptx, --probes and --evidence");
  command.footer(examples({"warpbit list --types", "warpbit list --forms ^ldmatrix",
                           "warpbit list --evidence --target sm_90a ^wgmma"}));
  command.callback([o, &status] { status = list(*o); });
}

}  // namespace warpbit::cli
