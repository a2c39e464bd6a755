// SPDX-License-Identifier: Apache-2.0
// warpbit list
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "cli/commands.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::cli {
namespace {

std::string text(const std::optional<BasisRange>& basis) {
  if (!basis) return "-";
  if (basis->strongest == basis->weakest) return std::string(name(basis->weakest));
  return fmt::format("{}, part {}", name(basis->strongest), name(basis->weakest));
}

using Table = std::vector<std::vector<std::string>>;  // rows of cells, the first row and column are headings

// "s8", "u8" -> "s8, u8"; "sparse: s8", "sparse: u8" -> "sparse: s8, u8"
std::string joined(const std::string& x, const std::string& y) {
  const std::size_t colon = y.find(": ");
  if (colon != y.npos && x.starts_with(y.substr(0, colon + 2))) return x + ", " + y.substr(colon + 2);
  return x + ", " + y;
}

// Neighbours that differ in their heading only become one.
void merge_rows(Table& table) {
  Table out{table[0]};
  for (std::size_t i = 1; i < table.size(); ++i) {
    std::vector<std::string>& last = out.back();
    if (out.size() > 1 && std::equal(last.begin() + 1, last.end(), table[i].begin() + 1))
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

// Targets down, operand types across.
Table evidence() {
  Table table{{"type of A"}};
  for (const Target target : Target::all()) table[0].emplace_back(target.name());
  for (const EvidenceRow& row : evidence_table()) {
    table.push_back({row.unit.empty() ? std::string(row.type) : fmt::format("{}: {}", row.unit, row.type)});
    for (const auto& basis : row.by_target) table.back().push_back(text(basis));
  }
  merge_rows(table);
  table = transposed(table);
  merge_rows(table);
  return table;
}

void print(const Table& table, bool markdown) {
  std::vector<std::size_t> widths(table[0].size());
  for (const auto& row : table)
    for (std::size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], row[j].size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    std::string line;
    for (std::size_t j = 0; j < widths.size(); ++j)
      line += fmt::format("{}{:<{}}", markdown ? (j ? " | " : "| ") : (j ? "  " : ""), table[i][j], widths[j]);
    fmt::print("{}\n", markdown ? line + " |" : line.substr(0, line.find_last_not_of(' ') + 1));
    if (markdown && i == 0) {
      for (const std::size_t width : widths) fmt::print("|{}", std::string(width + 2, '-'));
      fmt::print("|\n");
    }
  }
}

struct Options {
  bool forms = false, markdown = false;
};

int list(const Options& o) {
  if (!o.forms) {
    print(evidence(), o.markdown);
    return kYes;
  }
  Table table{{"form", "operands", "targets"}};
  for (const FormInfo& form : forms()) table.push_back({form.canonical, form.operands, names(form.targets)});
  print(table, o.markdown);
  return kYes;
}

}  // namespace

void add_list(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "list", "what results rest on: captured, published or inferred, by target and operand type");
  const auto o = std::make_shared<Options>();
  command->add_flag("--forms", o->forms, "list all forms with their operands and targets instead");
  command->add_flag("--markdown", o->markdown, "print a Markdown table");
  command->callback([o, &status] { status = list(*o); });
}

}  // namespace warpbit::cli
