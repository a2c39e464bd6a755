// SPDX-License-Identifier: Apache-2.0
// Questions about a layout, in both directions.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <tuple>
#include <utility>

#include "layout/grid.hpp"
#include "numeric/words.hpp"
#include "warpbit/layout.hpp"

namespace warpbit {
namespace {

// Parses a decimal, or hexadecimal after 0x, that fits T; otherwise nothing.
template <class T>
std::optional<T> number(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  T out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, hex ? 16 : 10);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && text.front() != '-' ? std::optional(out) : std::nullopt;
}

// Parses "a[3,5]" or "a[3,5,1]".
std::optional<LayoutQuestion> parse_element(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == text.npos || open == 0 || !text.ends_with(']')) return std::nullopt;
  std::vector<int> numbers;
  for (const std::string_view part : words_between(text.substr(open + 1, text.size() - open - 2), ","))
    numbers.push_back(number<int>(part).value_or(-1));
  if (numbers.size() < 2 || numbers.size() > 3 || std::ranges::min(numbers) < 0) return std::nullopt;
  LayoutQuestion out;
  out.operand = text.substr(0, open);
  out.any_product = numbers.size() == 2;
  out.element = Coordinate{numbers[0], numbers[1], out.any_product ? 0 : numbers[2]};
  return out;
}

// Parses pairs of a word and a number.
std::optional<LayoutQuestion> parse_place(std::span<const std::string_view> words) {
  LayoutQuestion out;
  std::optional<int> block;
  if (words.size() % 2 == 1) {
    out.operand = words[0];
    words = words.subspan(1);
  }
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string_view what = words[i], value = words[i + 1];
    bool is_read = false;
    if (what == "lane" && !out.lane)
      is_read = (out.lane = number<int>(value)).has_value();
    else if ((what == "reg" || what == "register" || what == "column") && !out.reg)
      is_read = (out.reg = number<int>(value)).has_value();
    else if (what == "block" && !block)
      is_read = (block = number<int>(value)).has_value() && *block < 2;
    else if (what == "byte" && !out.byte)
      is_read = (out.byte = number<std::uint64_t>(value)).has_value();
    if (!is_read) return std::nullopt;
  }
  if (out.lane.has_value() == out.byte.has_value() || ((out.reg || block) && !out.lane)) return std::nullopt;
  if (block) *out.lane += *block * kBlockLanes;
  return out;
}

Error refuse(const std::string& where, std::string seen, std::string accepted) {
  return {Errc::usage, where, std::move(seen), std::move(accepted)};
}

std::string roles(const std::vector<const OperandLayout*>& operands) {
  std::string out;
  for (const OperandLayout* op : operands) out += fmt::format("{}{}", out.empty() ? "" : ", ", op->role);
  return out;
}

Result<std::vector<LayoutAnswer>> places_of(const OperandLayout& op, const LayoutQuestion& q) {
  const Coordinate& e = *q.element;
  if (e.row >= op.rows || e.column >= op.columns || (!q.any_product && e.product >= op.products))
    return refuse(op.role,
                  fmt::format("no such element, [{},{}{}]", e.row, e.column,
                              q.any_product ? "" : fmt::format(",{}", e.product)),
                  fmt::format("a row 0 to {}, a column 0 to {}{}", op.rows - 1, op.columns - 1,
                              op.products > 1 ? fmt::format(", a matrix 0 to {}", op.products - 1) : ""));
  std::vector<LayoutAnswer> out;
  for (const LayoutCell& cell : op.cells)
    if (cell.element.row == e.row && cell.element.column == e.column &&
        (q.any_product || cell.element.product == e.product))
      out.push_back({&op, cell});
  return out;
}

void add_elements_at(const OperandLayout& op, const LayoutQuestion& q, std::vector<LayoutAnswer>& out) {
  std::vector<LayoutCell> found;
  const auto bits = static_cast<std::uint64_t>(op.element_bits);
  for (const LayoutCell& cell : op.cells)
    if (q.byte ? cell.bit / 8 <= *q.byte && *q.byte <= (cell.bit + bits - 1) / 8
               : cell.place.lane == *q.lane && (!q.reg || cell.place.reg == *q.reg))
      found.push_back(cell);
  std::ranges::stable_sort(found, {},
                           [](const LayoutCell& c) { return std::tuple(c.bit, c.place.reg, c.place.low_bit); });
  for (const LayoutCell& cell : found) out.push_back({&op, cell});
}

// The existing places of the operands: "lanes 0 to 31; registers 0 to 3 of d, 0 to 1 of a".
std::string lanes_there_are(const std::vector<const OperandLayout*>& operands) {
  int lanes = 0;
  std::string registers;
  for (const OperandLayout* op : operands) {
    if (!is_in_lanes(*op)) continue;
    lanes = std::max(lanes, op->lanes);
    registers += fmt::format("{}0{} of {}", registers.empty() ? "" : ", ",
                             op->registers > 1 ? fmt::format(" to {}", op->registers - 1) : "", op->role);
  }
  return fmt::format("lanes 0 to {}, registers {}", lanes - 1, registers);
}

Result<std::vector<LayoutAnswer>> elements_at(const std::vector<const OperandLayout*>& operands,
                                              const LayoutQuestion& q) {
  std::vector<LayoutAnswer> out;
  bool exists = false;
  for (const OperandLayout* op : operands) {
    const bool here = q.byte ? !is_in_lanes(*op)
                             : is_in_lanes(*op) && *q.lane < op->lanes && q.reg.value_or(0) < op->registers;
    if (!here) continue;
    exists = true;
    add_elements_at(*op, q, out);
  }
  if (exists) return out;
  if (q.byte) return refuse(roles(operands), "no place in memory is known", "lane N [reg N]");
  if (std::ranges::none_of(operands, [](const auto* op) { return is_in_lanes(*op); }))
    return refuse(roles(operands), "it lies in memory", "byte N");
  return refuse(roles(operands),
                fmt::format("no such place, lane {}{}", *q.lane,
                            q.reg ? fmt::format(" register {}", *q.reg) : std::string()),
                lanes_there_are(operands));
}

std::string bits_text(int low, int count) {
  return count == 1 ? fmt::format("bit {}", low) : fmt::format("bits {}:{}", low + count - 1, low);
}

}  // namespace

Result<LayoutQuestion> parse_layout_question(std::string_view text) {
  std::vector<std::string_view> words = words_between(text, " \t");
  std::erase(words, "");
  std::optional<LayoutQuestion> out;
  if (words.size() == 1) out = parse_element(words[0]);
  if (words.size() >= 2) out = parse_place(words);
  if (!out)
    return refuse(
        "question", fmt::format("'{}'", text),
        "a[3,5], a[3,5,1], lane 7 reg 2, a lane 7 reg 2, lane 7, d lane 7 column 2, d block 1 lane 7 or b "
        "byte 0x412");
  return *out;
}

Result<std::vector<LayoutAnswer>> answer(const Layout& layout, const LayoutQuestion& question) {
  std::vector<const OperandLayout*> all, operands;
  for (const OperandLayout& op : layout.operands) {
    all.push_back(&op);
    if (question.operand.empty() || is_called(op.role, question.operand)) operands.push_back(&op);
  }
  if (operands.empty())
    return refuse(layout.form, fmt::format("no operand '{}'", question.operand), roles(all));
  return question.element ? places_of(*operands.front(), question) : elements_at(operands, question);
}

std::string text(const LayoutAnswer& answer, const LayoutQuestion& question) {
  const OperandLayout& op = *answer.operand;
  const LayoutCell& cell = answer.cell;
  const std::string element = element_text(op, cell.element);
  std::string place;
  switch (op.medium) {
    case Medium::registers:
      if (op.lanes > 1) place = fmt::format("lane {}, ", cell.place.lane);
      place += fmt::format("register {}, {}", cell.place.reg, bits_text(cell.place.low_bit, cell.place.bits));
      break;
    case Medium::tensor_memory:
      if (is_of_pair(op)) place = fmt::format("block {}, ", cell.place.lane / kBlockLanes);
      place += fmt::format("lane {}, column {}, {}", cell.place.lane % kBlockLanes, cell.place.reg,
                           bits_text(cell.place.low_bit, cell.place.bits));
      break;
    case Medium::addresses: place = fmt::format("the address of lane {}", cell.place.lane); break;
    case Medium::memory:
    case Medium::shared_memory: {
      const std::uint64_t byte = question.byte.value_or(cell.bit / 8);
      place = fmt::format("{} {:#x}", op.medium == Medium::memory ? "offset" : "byte", byte);
      if (op.element_bits % 8 != 0)
        place += fmt::format(", {}", bits_text(static_cast<int>(cell.bit % 8), op.element_bits));
      else if (byte * 8 != cell.bit || (question.byte && op.element_bits > 8))
        return fmt::format("{}: {} of {}", place, bits_text(static_cast<int>(byte * 8 - cell.bit), 8), element);
    }
  }
  return question.element ? fmt::format("{}: {}", element, place) : fmt::format("{}: {}", place, element);
}

}  // namespace warpbit
