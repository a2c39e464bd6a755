// SPDX-License-Identifier: Apache-2.0
// Moves of fragments as text and as data.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "text/wrapped.hpp"
#include "warpbit/layout.hpp"

namespace warpbit {
namespace {

std::string_view name(StorageOrder order) {
  return order == StorageOrder::row_major ? "row-major" : "column-major";
}

// "[m][k]": how a program declares the array.
std::string_view array_text(const FragmentMove& m) {
  const bool by_rows = m.order == StorageOrder::row_major;
  if (m.operand == "a") return by_rows ? "[m][k]" : "[k][m]";
  if (m.operand == "b") return by_rows ? "[k][n]" : "[n][k]";
  return by_rows ? "[m][n]" : "[n][m]";
}

std::string range(int first, int last) {
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

// "b1", of the second of several tiles "b1'"; of pairs "{d2,d3}".
std::string register_text(const FragmentMove& m, int reg) {
  const std::string tile(static_cast<std::size_t>(reg / m.registers_each), '\'');
  const int own = reg % m.registers_each;
  return m.packed ? fmt::format("{{{0}{1}{3},{0}{2}{3}}}", m.operand, 2 * own, 2 * own + 1, tile)
                  : fmt::format("{}{}{}", m.operand, own, tile);
}

std::string registers_text(const FragmentMove& m, const std::vector<int>& registers,
                           std::string_view separator) {
  std::vector<std::string> out;
  for (const int reg : registers) out.push_back(register_text(m, reg));
  return fmt::format("{}", fmt::join(out, separator));
}

std::string heading(const FragmentMove& m) {
  std::string out = fmt::format("{}, {} {}", m.operand, name(m.order), array_text(m));
  if (m.packed) out += ", converted to 16 bits, two elements in a register";
  if (m.tiles > 1) out += fmt::format(", {} tiles along {}", m.tiles, m.operand == "a" ? "K" : "N");
  return out;
}

int lanes_used(const FragmentMove& m) {
  return std::ranges::max(m.addresses, {}, &LineAddress::lane).lane + 1;
}

int warps_of(const FragmentMove& m) {
  return m.addresses.back().warp + 1;
}

std::string rule(const FragmentMove& m) {
  const std::size_t count = m.registers.size();
  std::string out = fmt::format("lane i (0 to {})", lanes_used(m) - 1);
  if (warps_of(m) > 1) out += fmt::format(" of warp w (0 to {})", warps_of(m) - 1);
  if (count > 1) out += fmt::format(", instruction j (0 to {})", count - 1);
  if (m.row.empty() || m.column.empty()) return out + ": see the table";
  out += fmt::format(" points to [{}, {}]", m.row, m.column);
  if (m.line_elements > 1)
    out += fmt::format(", with which {} elements of a {} begin", m.line_elements,
                       m.order == StorageOrder::row_major ? "row" : "column");
  return out;
}

std::string matrix_table(const FragmentMove& m) {
  std::vector<std::array<std::string, 4>> rows{{"lanes", "rows", "columns", m.stores ? "from" : "into"}};
  for (const MovedMatrix& matrix : m.matrices)
    rows.push_back({fmt::format("T{}-T{}", matrix.first_lane, matrix.first_lane + matrix.lanes - 1),
                    range(matrix.rows[0], matrix.rows[1]), range(matrix.columns[0], matrix.columns[1]),
                    registers_text(m, matrix.registers, " ")});
  std::array<std::size_t, 4> widths{};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (const auto& row : rows)
    out += fmt::format("    {:<{}}  {:<{}}  {:<{}}  {}\n", row[0], widths[0], row[1], widths[1], row[2],
                       widths[2], row[3]);
  return out;
}

std::string move_text(const FragmentMove& m, std::size_t width) {
  std::string out = "\n" + wrapped(heading(m), width);
  const auto line = [&](const std::string& sentence) { out += "  " + wrapped(sentence, width - 2); };
  if (m.form.empty()) {
    line(fmt::format("no {}: {}", m.stores ? "stmatrix" : "ldmatrix", m.reason));
    return out;
  }
  const std::size_t count = m.registers.size();
  line(fmt::format("{}{}{} {{{}}}", count > 1 ? fmt::format("{} times ", count) : "", m.form,
                   count > 1 ? ", first" : "", registers_text(m, m.registers[0], ", ")));
  line(rule(m));
  if (m.line_padding > 0)
    line(fmt::format("16 bytes in memory hold {} elements and {} bytes of padding", m.line_elements,
                     m.line_padding));
  if (m.padded) line("in memory as in the register: each element with its padding");
  if (m.shift > 0) line(fmt::format("then shift each register left by {} bits", m.shift));
  if (count > 1 || warps_of(m) > 1)
    line(fmt::format("{}{}:", count > 1 ? "the first instruction" : "",
                     warps_of(m) > 1 ? (count > 1 ? " of warp 0" : "warp 0") : ""));
  return out + matrix_table(m);
}

// "{d0,d1}" or "d0", and the tile where there are several.
std::string chained_text(const std::vector<ChainedElement>& parts, bool tiles) {
  std::vector<std::string> registers;
  for (const ChainedElement& part : parts) {
    std::string text = fmt::format("d{}", part.d_reg);
    if (part.d_low_bit > 0 && registers.empty()) text += fmt::format(" from bit {}", part.d_low_bit);
    if (registers.empty() || registers.back() != text) registers.push_back(text);
  }
  std::string out = fmt::format("{}", fmt::join(registers, ","));
  if (registers.size() > 1) out = "{" + out + "}";
  if (tiles) out += fmt::format(" of tile {}", parts.front().tile);
  return out;
}

std::string chain_text(const FragmentChain& chain, std::size_t width) {
  if (chain.steps.empty())
    return "\n" + wrapped("D of one product is not A of the next: " + chain.reason, width);
  std::string out =
      "\n" +
      wrapped(fmt::format("D of one product is A of the next, in the same lane, each value converted to A's "
                          "type{}",
                          chain.tiles > 1 ? fmt::format("; of {} tiles of D along N", chain.tiles) : ""),
              width);
  constexpr std::size_t kShown = 2;
  for (std::size_t step = 0; step < std::min(chain.steps.size(), kShown); ++step) {
    std::vector<std::string> registers;
    const auto& elements = chain.steps[step];
    for (std::size_t first = 0, end; first < elements.size(); first = end) {
      for (end = first; end < elements.size() && elements[end].reg == elements[first].reg;) ++end;
      const std::vector parts(elements.begin() + static_cast<std::ptrdiff_t>(first),
                              elements.begin() + static_cast<std::ptrdiff_t>(end));
      registers.push_back(fmt::format("a{} = {}", elements[first].reg, chained_text(parts, chain.tiles > 1)));
    }
    out +=
        "  " + wrapped(fmt::format("{}{}", chain.steps.size() > 1 ? fmt::format("step {} along K: ", step) : "",
                                   fmt::join(registers, ", ")),
                       width - 2);
  }
  if (chain.steps.size() > kShown) out += fmt::format("  and so on to step {}\n", chain.steps.size() - 1);
  return out;
}

// ---- Data

nlohmann::ordered_json data(const FragmentMove& m) {
  nlohmann::ordered_json out{
      {"operand", m.operand}, {"stored", name(m.order)}, {"tiles", m.tiles}, {"packed", m.packed}};
  if (m.form.empty()) {
    out["form"] = nullptr;
    out["reason"] = m.reason;
    return out;
  }
  out["form"] = m.form;
  out["registers"] = m.registers;
  out["shift_left"] = m.shift;
  out["line_elements"] = m.line_elements;
  out["line_padding"] = m.line_padding;
  out["padded"] = m.padded;
  out["row"] = m.row;
  out["column"] = m.column;
  for (const LineAddress& a : m.addresses)
    out["addresses"].push_back({{"instruction", a.instruction},
                                {"warp", a.warp},
                                {"lane", a.lane},
                                {"row", a.row},
                                {"column", a.column}});
  return out;
}

nlohmann::ordered_json data(const FragmentChain& chain) {
  nlohmann::ordered_json out{{"tiles", chain.tiles}};
  if (chain.steps.empty()) {
    out["reason"] = chain.reason;
    return out;
  }
  for (const auto& step : chain.steps) {
    auto& elements = out["steps"].emplace_back(nlohmann::ordered_json::array());
    for (const ChainedElement& e : step)
      elements.push_back({{"a_register", e.reg},
                          {"a_low_bit", e.low_bit},
                          {"d_tile", e.tile},
                          {"d_register", e.d_reg},
                          {"d_low_bit", e.d_low_bit}});
  }
  return out;
}

}  // namespace

std::string text(const FragmentMoves& moves, int width) {
  const auto columns = static_cast<std::size_t>(std::max(width, 20));
  std::string out =
      wrapped(moves.form, columns) + wrapped("by ldmatrix and stmatrix of " + moves.target, columns);
  for (const FragmentMove& move : moves.moves) out += move_text(move, columns);
  for (const FragmentChain& chain : moves.chain) out += chain_text(chain, columns);
  return out;
}

std::string fragment_moves_json(const FragmentMoves& moves) {
  nlohmann::ordered_json out{{"form", moves.form}, {"target", moves.target}, {"by", "ldmatrix"}};
  out["moves"] = nlohmann::ordered_json::array();
  for (const FragmentMove& move : moves.moves) out["moves"].push_back(data(move));
  if (!moves.chain.empty()) out["d_as_a"] = data(moves.chain.front());
  return out.dump() + "\n";
}

}  // namespace warpbit
