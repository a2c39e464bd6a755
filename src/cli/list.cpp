// SPDX-License-Identifier: Apache-2.0
// warpbit list
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>
#include <set>

#include "cli/arguments.hpp"
#include "cli/list_targets.hpp"
#include "cli/terminal.hpp"
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
      out.push_back({"", row.unit, row.by_target});
      continue;
    }
    for (std::size_t i = 0; i < row.by_target.size(); ++i)
      known->by_target[i] = merged(known->by_target[i], row.by_target[i]);
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
  bool forms = false, types = false, markdown = false, ptx = false, probes = false, evidence = false,
       targets = false, json = false;
  std::string target, pattern;
  std::vector<std::string> captures;
};

// The index of folders of captures.
int list_captures(const std::vector<std::string>& folders) {
  std::vector<IndexedCapture> found =
      required(index_captures(std::vector<std::filesystem::path>(folders.begin(), folders.end())));
  for (IndexedCapture& c : found)
    for (std::string* text : {&c.path, &c.statement, &c.profile, &c.date, &c.device}) *text = printable(*text);
  fmt::print("{}", index_text(found));
  return kYes;
}

std::regex regex_of(const std::string& pattern) try {
  return std::regex(pattern);
} catch (const std::regex_error& error) {
  refuse("list", fmt::format("'{}' ({})", pattern, error.what()), "a regular expression (ECMAScript)");
}

// The forms that the pattern is found in, on the target if there is one.
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

// Calls visit(instruction) for these, on the target or on each.
template <class Visit>
void for_each_wanted(const ListArguments& o, Visit visit) {
  const std::optional<Target> wanted = find_target(o.target);
  for (const FormInfo& form : wanted_forms(o))
    for (const Target target : form.targets)
      if (!wanted || target == *wanted)
        visit(required(Instruction::parse(form.canonical, form.operands, target)));
}

int print_found(const Table& table, bool markdown) {
  if (table.size() == 1) return kNo;
  print(table, markdown);
  return kYes;
}

int list_forms(const ListArguments& o) {
  Table table{{"form", "operands", "targets"}};
  for (const FormInfo& form : wanted_forms(o))
    table.push_back({form.canonical, form.operands, names(form.targets)});
  return print_found(table, o.markdown);
}

// ---- What rests on which captures

using Captures = std::vector<const IndexedCapture*>;

// Those of a GPU.
Captures recorded(const Instruction& form) {
  Captures out = golden_captures(form);
  std::erase_if(out, [](const IndexedCapture* c) { return c->source != name(CaptureSource::hardware); });
  return out;
}

const Row kRecorded = {"files", "cases", "elements", "date", "device"};

Row cells(const Captures& captures) {
  if (captures.empty()) return Row(kRecorded.size(), "-");
  std::uint64_t cases = 0, elements = 0;
  std::set<std::string_view> dates, devices;
  for (const IndexedCapture* c : captures) {
    cases += c->cases;
    elements += c->elements;
    dates.insert(c->date);
    devices.insert(c->device);
  }
  const std::string_view first = *dates.begin(), last = *dates.rbegin();
  return {std::to_string(captures.size()), std::to_string(cases), std::to_string(elements),
          first == last ? std::string(first) : fmt::format("{} to {}", first, last),
          fmt::format("{}", fmt::join(devices, "; "))};
}

Table evidence_by_form(const ListArguments& o) {
  Table out{joined({"form", "target", "order", "F, rounding", "floor", "specials"}, kRecorded)};
  for_each_wanted(o, [&](const Instruction& form) {
    const Evidence& e = form.evidence();
    Row row{std::string(form.canonical()), std::string(form.target().name())};
    for (const Ground* ground : {&e.order, &e.window, &e.floor, &e.specials})
      row.emplace_back(name(ground->basis));
    out.push_back(joined(std::move(row), cells(recorded(form))));
  });
  return out;
}

// One line for each family on each target: how many of its forms rest on what.
Table evidence_by_family(const ListArguments& o) {
  struct Sum {
    std::string_view family;
    Target target;
    std::array<std::size_t, 3> by_basis = {};
    std::size_t forms = 0, own = 0;
    Captures captures = {};
  };
  std::vector<Sum> sums;
  for_each_wanted(o, [&](const Instruction& form) {
    auto at = std::ranges::find_if(
        sums, [&](const Sum& s) { return s.family == form.family() && s.target == form.target(); });
    if (at == sums.end()) at = sums.insert(at, {form.family(), form.target()});
    const Captures captures = recorded(form);
    ++at->forms;
    ++at->by_basis[static_cast<std::size_t>(form.evidence().overall())];
    at->own += !captures.empty();
    at->captures.insert(at->captures.end(), captures.begin(), captures.end());
  });
  Table out{
      joined({"family", "target", "forms", "captured", "published", "inferred", "with files"}, kRecorded)};
  for (const Sum& s : sums) {
    Row row{std::string(s.family), std::string(s.target.name())};
    for (const std::size_t n : {s.forms, s.by_basis[0], s.by_basis[1], s.by_basis[2], s.own})
      row.push_back(std::to_string(n));
    out.push_back(joined(std::move(row), cells(s.captures)));
  }
  return out;
}

// ---- What a GPU needs to record captures

// The kernels file (tools/capture/README.md).
int list_kernels(const ListArguments& o) {
  std::set<std::string> sets;
  for_each_wanted(o, [&](const Instruction& form) {
    for (const std::string& statement : capture_statements(form)) {
      const Instruction parsed = required(Instruction::parse(statement, form.target()));
      const std::string block = required(capture_block(parsed));
      if (sets.empty()) fmt::print("kernels 1\ntarget {}\n", form.target().name());
      if (const ProbeSet set = probe_set(parsed); sets.insert(set.name).second) fmt::print("{}", set.text);
      fmt::print("{}", block);
    }
  });
  return sets.empty() ? kNo : kYes;
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
  int status = kNo;
  for_each_wanted(o, [&](const Instruction& form) {
    const Result<Probes> found = probes(form);
    if (!found) return;  // not D = A B + C
    fmt::print("{}: {}\n", form.canonical(), form.plan());
    for (const Probe& p : found->probes)
      fmt::print("  {}\n   {}{}{}{} c {:x} -> d {:x}\n", p.name, codes_text("a", p.a), codes_text("b", p.b),
                 codes_text("sfa", p.a_scale), codes_text("sfb", p.b_scale), p.c, p.d);
    for (const Invisible& i : found->invisible) fmt::print("  {}: invisible, {}\n", i.name, i.reason);
    for (const Invisible& i : found->unknown) fmt::print("  {}: no probe is known\n", i.name);
    status = kYes;
  });
  return status;
}

int list(const ListArguments& o) {
  if (o.targets) return list_targets(o.markdown, o.json);
  if (!o.captures.empty()) return list_captures(o.captures);
  if (o.ptx) return list_kernels(o);
  if (o.probes) return list_probes(o);
  if (o.evidence) return print_found(o.forms ? evidence_by_form(o) : evidence_by_family(o), o.markdown);
  if (o.forms) return list_forms(o);
  if (!o.target.empty() || !o.pattern.empty())
    refuse("list", "--target or REGEX alone", "them with --forms, --ptx, --probes or --evidence");
  print(evidence(o.types), o.markdown);
  return kYes;
}

}  // namespace

void add_list(CLI::App& command, int& status) {
  ListArguments& o = add_arguments(command, status, list);
  CLI::Option* types = command.add_flag("--types", o.types, "by operand types, too");
  CLI::Option* forms =
      command
          .add_flag("--forms", o.forms,
                    "list the forms that REGEX is found in instead, with their operands and targets")
          ->excludes(types);
  CLI::Option* markdown = command.add_flag("--markdown", o.markdown, "print a Markdown table");
  CLI::Option* ptx =
      command
          .add_flag("--ptx", o.ptx,
                    "print kernels instead, with which a GPU of --target records captures of all "
                    "forms that REGEX is found in")
          ->excludes(types, forms, markdown);
  CLI::Option* probes =
      command
          .add_flag("--probes", o.probes,
                    "print instead, of the same forms, inputs that tell their arithmetic from others, and "
                    "results; and what no input can tell")
          ->excludes(types, forms, markdown, ptx);
  CLI::Option* evidence =
      command
          .add_flag("--evidence", o.evidence,
                    "also how many forms of each family, and with --forms which, and the captures that show it")
          ->excludes(types, ptx, probes);
  command
      .add_option("--captures", o.captures,
                  "print instead the captures in folders, by tabs; golden/index.tsv is that")
      ->excludes(types, forms, markdown, ptx, probes, evidence);
  CLI::Option* targets =
      command.add_flag("--targets", o.targets, "list the targets by the names of GPUs instead")
          ->excludes(types, forms, ptx, probes, evidence);
  command.add_flag("--json", o.json, "print --targets as one JSON object")->needs(targets)->excludes(markdown);
  CLI::Option* target = command.add_option("--target", o.target, "of --forms, --ptx, --probes and --evidence");
  ptx->needs(target);
  probes->needs(target);
  command.add_option("REGEX", o.pattern, "of the forms with --forms, --ptx, --probes and --evidence");
  command.footer(examples({"warpbit list --types", "warpbit list --targets", "warpbit list --forms ^ldmatrix",
                           "warpbit list --evidence --target sm_90a ^wgmma"}));
}

}  // namespace warpbit::cli
