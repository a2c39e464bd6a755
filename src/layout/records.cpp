// SPDX-License-Identifier: Apache-2.0
// Layouts as data: JSON, CSV, Markdown.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "layout/grid.hpp"
#include "warpbit/layout.hpp"
#include "warpbit/state.hpp"  // bank_conflicts

namespace warpbit {
namespace {

constexpr std::uint64_t kBanks = 32, kBankBytes = 4;

using RecordValue = std::optional<std::uint64_t>;

// The fields after the operand's name. One row each.
struct Field {
  std::string_view name;
  RecordValue (*value)(const OperandLayout& operand, const LayoutCell& cell);
};

template <class Number>
RecordValue number(Number n, bool has = true) {
  return has ? RecordValue(static_cast<std::uint64_t>(n)) : std::nullopt;
}

using O = OperandLayout;
using C = LayoutCell;
constexpr std::array kFields = {
    Field{"product", [](const O&, const C& c) { return number(c.element.product); }},
    Field{"row", [](const O&, const C& c) { return number(c.element.row); }},
    Field{"column", [](const O&, const C& c) { return number(c.element.column); }},
    Field{"lane", [](const O& o, const C& c) { return number(c.place.lane, is_in_lanes(o)); }},
    Field{"register", [](const O& o, const C& c) { return number(c.place.reg, is_in_lanes(o)); }},
    Field{"low_bit", [](const O& o, const C& c) { return number(c.place.low_bit, is_in_words(o)); }},
    Field{"byte", [](const O& o, const C& c) { return number(c.bit / 8, !is_in_lanes(o)); }},
    Field{"bit", [](const O& o, const C& c) { return number(c.bit % 8, !is_in_lanes(o)); }},
    Field{"bits", [](const O& o, const C&) { return number(o.element_bits, o.medium != Medium::addresses); }},
};

std::string_view name(Medium medium) {
  constexpr std::string_view kNames[] = {"registers", "shared_memory", "memory", "addresses", "tensor_memory"};
  return kNames[static_cast<std::size_t>(medium)];
}

// What eight rows of 16 bytes cost that lanes point to, as ldmatrix reads them: those of the elements [0..7, 0], or [0, 0..7] where
// rows are contiguous.
std::optional<nlohmann::ordered_json> banks(const OperandLayout& o) {
  constexpr int kLines = 8;
  if (o.medium != Medium::shared_memory) return std::nullopt;
  const auto at = [&](int row, int column) -> std::optional<std::uint64_t> {
    const auto found = std::ranges::find(o.cells, Coordinate{row, column, 0}, &LayoutCell::element);
    return found == o.cells.end() ? std::nullopt : std::optional(found->bit);
  };
  const auto first = at(0, 0), right = at(0, 1);
  const bool by_rows = first && right && *right == *first + static_cast<std::uint64_t>(o.element_bits);
  std::vector<std::uint64_t> addresses;
  for (int line = 0; line < kLines; ++line)
    if (const auto bit = by_rows ? at(line, 0) : at(0, line)) addresses.push_back(*bit / 8);
  if (addresses.size() < kLines) return std::nullopt;
  const int extra = bank_conflicts(addresses).total;
  return nlohmann::ordered_json{
      {"extra_wavefronts", extra},
      {"sentence", fmt::format("16 bytes of each of {} 0 to 7 are read {}", by_rows ? "rows" : "columns",
                               extra == 0 ? "at once: no two of them lie in the same banks"
                                          : fmt::format("in {} wavefronts: they share banks", extra + 1))}};
}

nlohmann::ordered_json description(const OperandLayout& o) {
  nlohmann::ordered_json out{{"operand", o.role}, {"format", o.format},   {"medium", name(o.medium)},
                             {"rows", o.rows},    {"columns", o.columns}, {"products", o.products}};
  if (is_in_lanes(o)) {
    out["lanes"] = o.lanes;
    out["registers"] = o.registers;
    out["register_bits"] = o.packing.register_bits;
  }
  if (!o.note.empty()) out["note"] = o.note;
  if (!o.cute.empty()) {
    out["cute"] = o.cute;
    out["cute_domain"] = o.cute_domain;
  }
  if (o.step > 0) out["step"] = o.step;
  out["heading"] = heading(o);
  if (const auto cost = banks(o)) out["banks"] = *cost;
  return out;
}

nlohmann::ordered_json record(const OperandLayout& o, const LayoutCell& cell) {
  nlohmann::ordered_json out{{"operand", o.role}};
  for (const Field& field : kFields)
    if (const RecordValue value = field.value(o, cell)) out[std::string(field.name)] = *value;
  if (o.medium == Medium::shared_memory) out["bank"] = cell.bit / 8 / kBankBytes % kBanks;
  return out;
}

}  // namespace

std::string layout_json(const Layout& layout) {
  std::vector<std::string> operands, elements;
  for (const OperandLayout& operand : layout.operands) {
    operands.push_back("  " + description(operand).dump());
    for (const LayoutCell& cell : operand.cells) elements.push_back("  " + record(operand, cell).dump());
  }
  return fmt::format(
      "{{\"form\": {}, \"target\": {}, \"operands\": [\n{}\n], \"elements\": [\n{}\n], \"unknown\": {}}}\n",
      nlohmann::json(layout.form).dump(), nlohmann::json(layout.target).dump(), fmt::join(operands, ",\n"),
      fmt::join(elements, ",\n"), nlohmann::json(layout.unknown).dump());
}

std::string answers_json(const Layout& layout, std::string_view question,
                         const std::vector<LayoutAnswer>& answers) {
  nlohmann::ordered_json out{{"form", layout.form}, {"target", layout.target}, {"question", question}};
  out["answers"] = nlohmann::ordered_json::array();
  const Result<LayoutQuestion> asked = parse_layout_question(question);
  for (const LayoutAnswer& a : answers) {
    out["answers"].push_back(record(*a.operand, a.cell));
    if (asked) out["answers"].back()["sentence"] = text(a, *asked);
  }
  return out.dump() + "\n";
}

std::string layout_csv(const Layout& layout) {
  std::string out = "operand";
  for (const Field& field : kFields) out += fmt::format(",{}", field.name);
  out += "\n";
  for (const OperandLayout& operand : layout.operands)
    for (const LayoutCell& cell : operand.cells) {
      out += operand.role;
      for (const Field& field : kFields) {
        const RecordValue value = field.value(operand, cell);
        out += value ? fmt::format(",{}", *value) : ",";
      }
      out += "\n";
    }
  return out;
}

std::string layout_markdown(const Layout& layout) {
  std::vector<const Field*> used;
  for (const Field& field : kFields)
    if (std::ranges::any_of(layout.operands, [&](const OperandLayout& operand) {
          return !operand.cells.empty() && field.value(operand, operand.cells[0]);
        }))
      used.push_back(&field);
  std::string out = "| operand |", rule = "|---|";
  for (const Field* field : used) {
    out += fmt::format(" {} |", field->name);
    rule += "---:|";
  }
  out += "\n" + rule + "\n";
  for (const OperandLayout& operand : layout.operands)
    for (const LayoutCell& cell : operand.cells) {
      out += fmt::format("| {} |", operand.role);
      for (const Field* field : used) {
        const RecordValue value = field->value(operand, cell);
        out += value ? fmt::format(" {} |", *value) : " |";
      }
      out += "\n";
    }
  return out;
}

}  // namespace warpbit
