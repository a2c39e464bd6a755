// SPDX-License-Identifier: Apache-2.0
#include "warpbit/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>  // std::lcm
#include <optional>
#include <span>
#include <tuple>

#include "layout/fragment_fit.hpp"
#include "layout/linear.hpp"

namespace warpbit {

using namespace fragment_fit;

namespace {

// What is asked: an operand, stored in an order, tiles side by side.
struct Question {
  const OperandLayout* operand;
  StorageOrder order;
  int tiles;
  bool padded = false;
};

Fragment fragment_of(const Question& q) {
  const OperandLayout& op = *q.operand;
  const bool by_rows = q.order == StorageOrder::row_major;
  const int columns = op.columns * q.tiles;
  Fragment out{.warps = op.lanes / kWarp,
               .registers = op.registers * q.tiles,
               .memory_bits = q.padded ? op.packing.slot_bits : op.element_bits,
               .line_elements = by_rows ? columns : op.rows};
  out.bits.resize(static_cast<std::size_t>(op.lanes * out.registers * kRegisterBits));
  for (const LayoutCell& cell : op.cells)
    for (int tile = 0; tile < q.tiles; ++tile) {
      const int row = cell.element.row, column = cell.element.column + tile * op.columns;
      const int before = q.padded ? cell.place.low_bit % op.packing.slot_bits : 0;
      for (int bit = 0; bit < cell.place.bits; ++bit)
        out.at(cell.place.lane, cell.place.reg + tile * op.registers, cell.place.low_bit + bit) = {
            by_rows ? row : column, (by_rows ? column : row) * out.memory_bits + before + bit};
    }
  return out;
}

// ---- The answer

std::vector<LineAddress> addresses_of(const Fit& fit, const Question& q, int memory_bits) {
  std::vector<LineAddress> out;
  const bool by_rows = q.order == StorageOrder::row_major;
  for (std::size_t j = 0; j < fit.registers.size(); ++j)
    for (std::size_t warp = 0; warp < fit.starts.size(); ++warp)
      for (const auto& [lane, start] : fit.starts[warp][j]) {
        const int first = start.at / memory_bits;
        out.push_back({static_cast<int>(j), static_cast<int>(warp), lane, by_rows ? start.line : first,
                       by_rows ? first : start.line});
      }
  return out;
}

std::vector<MovedMatrix> matrices_of(const Fit& fit, const FragmentMove& move) {
  std::vector<MovedMatrix> out;
  const bool by_rows = move.order == StorageOrder::row_major;
  for (const Matrix& matrix : fit.candidate->matrices) {
    MovedMatrix moved{matrix.lines.front(), static_cast<int>(matrix.lines.size()), {}};
    for (const int reg : matrix.registers)
      moved.registers.push_back(fit.registers[0][static_cast<std::size_t>(reg)]);
    const auto ends = std::pair(matrix.lines.front(), matrix.lines.back());
    const auto address = [&](int lane) {
      return *std::ranges::find_if(move.addresses, [&](const LineAddress& a) {
        return a.instruction == 0 && a.warp == 0 && a.lane == lane;
      });
    };
    const LineAddress first = address(ends.first), last = address(ends.second);
    const int more = move.line_elements - 1;
    moved.rows[0] = first.row, moved.rows[1] = last.row + (by_rows ? 0 : more);
    moved.columns[0] = first.column, moved.columns[1] = last.column + (by_rows ? more : 0);
    out.push_back(std::move(moved));
  }
  return out;
}

// Rows or columns as a formula.
std::string formula(const std::vector<LineAddress>& addresses, int LineAddress::*which) {
  const auto size = [&](int LineAddress::*what) { return std::ranges::max(addresses, {}, what).*what + 1; };
  const LinearVariable lanes{"i", size(&LineAddress::lane)}, instructions{"j", size(&LineAddress::instruction)},
      warps{"w", size(&LineAddress::warp)};
  std::map<std::tuple<int, int, int>, std::int64_t> values;
  for (const LineAddress& a : addresses) values[{a.warp, a.instruction, a.lane}] = a.*which;
  return linear_text({warps, instructions, lanes}, [&](std::span<const int> index) {
    return values.at({index[0], index[1], index[2]});
  });
}

std::string place_text(const Fragment& f, int line, int at) {
  for (int reg = 0; reg < f.registers; ++reg)
    for (int lane = 0; lane < f.warps * kWarp; ++lane)
      for (int bit = 0; bit < kRegisterBits; ++bit)
        if (const StoredBit& b = f.at(lane, reg, bit); b.line == line && b.at == at)
          return fmt::format("T{}:r{}", lane, reg);
  return "no register";
}

// Why nothing fits: what 16 bytes of memory would have to go to.
std::string reason_of(const Question& q, const Fragment& f, bool stores) {
  const OperandLayout& op = *q.operand;
  const std::string_view name = stores ? "stmatrix" : "ldmatrix";
  const int line_bits = f.line_elements * f.memory_bits;
  const std::string_view line = q.order == StorageOrder::row_major ? "row" : "column";
  if (line_bits < kLineBits)
    return fmt::format("a {} is {}; {} moves 16 bytes at a time", line,
                       line_bits % 8 == 0 ? fmt::format("{} byte{}", line_bits / 8, line_bits == 8 ? "" : "s")
                                          : fmt::format("{} bits", line_bits),
                       name);
  std::string places, last;
  int shown = 0;
  for (int element = 0; element < kLineBits / f.memory_bits; ++element) {
    const std::string place = place_text(f, 0, element * f.memory_bits);
    if (place == last) continue;
    last = place;
    if (++shown > 4) {
      places += ", ...";
      break;
    }
    places += (places.empty() ? "" : ", ") + place;
  }
  return fmt::format("the first 16 bytes of a {} ({} element{} of {}) lie in {}; no {} of {} {}", line,
                     kLineBits / f.memory_bits, kLineBits == f.memory_bits ? "" : "s", op.format, places, name,
                     "this target", stores ? "takes them from there" : "puts them there");
}

// One question, answered with packed elements in memory, or else with padded ones.
FragmentMove move_of(const Question& question, std::span<const Candidate> all, bool stores, bool packed) {
  const OperandLayout& op = *question.operand;
  FragmentMove out{.operand = op.role,
                   .order = question.order,
                   .tiles = question.tiles,
                   .registers_each = op.registers,
                   .stores = stores,
                   .packed = packed};
  Question q = question;
  for (const bool padded : {false, true}) {
    if (padded && (stores || op.packing.slot_bits == op.packing.bits)) continue;
    q.padded = padded;
    const Fragment fragment = fragment_of(q);
    const std::optional<Fit> best = best_fit(fragment, all, padded || stores ? 0 : op.packing.low_bit, padded);
    if (!best) {
      if (!padded)
        out.reason = all.empty()
                         ? fmt::format("this target has none: {} and later do", stores ? "sm_90" : "sm_75")
                         : reason_of(q, fragment, stores);
      continue;
    }
    const Move& move = *best->candidate->move;
    out.reason.clear();
    out.padded = padded;
    out.form = best->candidate->form;
    out.registers = best->registers;
    out.shift = best->shift;
    out.line_elements = move.line_elements * move.element_bits / fragment.memory_bits;
    out.line_padding = move.line_bytes - move.line_elements * move.element_bits / 8;
    out.addresses = addresses_of(*best, q, fragment.memory_bits);
    out.matrices = matrices_of(*best, out);
    out.row = formula(out.addresses, &LineAddress::row);
    out.column = formula(out.addresses, &LineAddress::column);
    break;
  }
  return out;
}

// D with its elements converted to 16 bits, two registers in one.
std::optional<OperandLayout> packed_pairs(const OperandLayout& d) {
  if (d.element_bits != kRegisterBits || d.packing.register_bits != kRegisterBits || d.registers % 2 != 0)
    return std::nullopt;
  OperandLayout out = d;
  out.format = "16 bits";
  out.registers = d.registers / 2;
  out.element_bits = 16;
  out.packing = {.register_bits = 32, .slot_bits = 16, .low_bit = 0, .bits = 16};
  for (LayoutCell& cell : out.cells)
    cell.place = {cell.place.lane, cell.place.reg / 2, cell.place.reg % 2 * 16, 16};
  return out;
}

// Why no number of tiles helps: elements of less than 16 bits would have to be exchanged one by one.
std::string reason_with_tiles(const FragmentMove& several, const OperandLayout& op,
                              std::span<const Candidate> all, std::string_view direction) {
  constexpr int kExchanged = 16;  // bits that .trans exchanges
  const bool has_bytes =
      std::ranges::any_of(all, [](const Candidate& one) { return one.move->element_bits == 8; });
  const std::string why =
      op.element_bits >= kExchanged || has_bytes ? several.reason
      : op.element_bits < 8
          ? fmt::format(
                "it would have to exchange elements of {} bits, and .trans exchanges "
                "elements of 16 bits",
                op.element_bits)
          : "it would have to exchange single bytes, and .trans exchanges elements of 16 bits; ldmatrix "
            ".m16n16.trans.b8 exchanges bytes, on sm_100a and later";
  return fmt::format("with {} tiles along {} there is none either: {}", several.tiles, direction, why);
}

void add_moves(const OperandLayout& op, std::span<const Candidate> all, bool packed,
               std::vector<FragmentMove>& out) {
  constexpr int kMostAtOnce = 4;  // registers of an instruction
  const bool stores = op.role == "d";
  for (const StorageOrder order : {StorageOrder::row_major, StorageOrder::column_major}) {
    FragmentMove one = move_of({&op, order, 1}, all, stores, packed);
    const bool more = op.registers < kMostAtOnce && kMostAtOnce % op.registers == 0 && op.lanes == kWarp;
    const bool fits = !one.form.empty();
    std::vector<FragmentMove> found{std::move(one)};
    if (more) {
      FragmentMove several = move_of({&op, order, kMostAtOnce / op.registers}, all, stores, packed);
      if (!several.form.empty() && (!fits || several.registers.size() == 1))
        found.push_back(std::move(several));
      else if (!fits && several.form.empty() && !stores)
        found[0].reason += "; " + reason_with_tiles(several, op, all, op.role == "b" ? "N" : "M");
      if (!fits && found.size() > 1) found.erase(found.begin());
    }
    for (FragmentMove& move : found) out.push_back(std::move(move));
  }
}

// ---- D as A

// The places of D's elements, 32 bits or two in a register.
FragmentChain chain_of(const OperandLayout& d, const OperandLayout& a) {
  FragmentChain out;
  if (d.products > 1 || a.rows != d.rows || a.lanes != d.lanes) {
    out.reason = d.products > 1     ? "several products lie side by side"
                 : a.rows != d.rows ? fmt::format("D has {} rows, A {}", d.rows, a.rows)
                                    : fmt::format("D is in {} lanes, A in {}", d.lanes, a.lanes);
    return out;
  }
  std::map<std::pair<int, int>, Place> held;
  for (const LayoutCell& cell : d.cells) held.try_emplace({cell.element.row, cell.element.column}, cell.place);
  const int columns = std::lcm(d.columns, a.columns);
  out.tiles = columns / d.columns;
  for (int step = 0; step < columns / a.columns; ++step) {
    std::map<std::pair<int, int>, ChainedElement> elements;  // by register and bit of A: the same in all lanes
    for (const LayoutCell& cell : a.cells) {
      const int column = step * a.columns + cell.element.column;
      const Place& from = held.at({cell.element.row, column % d.columns});
      const ChainedElement element{cell.place.reg, cell.place.low_bit, column / d.columns, from.reg,
                                   from.low_bit};
      const auto [known, is_new] = elements.try_emplace({cell.place.reg, cell.place.low_bit}, element);
      if (from.lane == cell.place.lane && (is_new || known->second == element)) continue;
      out.steps.clear();
      out.reason = fmt::format("{} is in lane {} of A, and in lane {} of D",
                               fmt::format("[{},{}]", cell.element.row, column), cell.place.lane, from.lane);
      return out;
    }
    auto& found = out.steps.emplace_back();
    for (const auto& [key, element] : elements) found.push_back(element);
  }
  return out;
}

const OperandLayout* in_registers(const Layout& layout, std::string_view role) {
  const auto at = std::ranges::find(layout.operands, role, &OperandLayout::role);
  return at != layout.operands.end() && at->medium == Medium::registers ? &*at : nullptr;
}

Error refuse(const Instruction& instruction, std::string seen, std::string accepted) {
  return {Errc::operand_kind, std::string(instruction.canonical()), std::move(seen), std::move(accepted)};
}

}  // namespace

Result<FragmentMoves> fragment_moves(const Instruction& instruction, const std::string& operand) {
  if (instruction.find(Part::a) == nullptr || instruction.find(Part::b) == nullptr)
    return refuse(instruction, "it multiplies no matrices",
                  "an instruction with A and B, as mma.sync has them");
  if (instruction.family().starts_with("wmma"))
    return refuse(instruction, "PTX leaves open where fragments of wmma lie",
                  "wmma.load and wmma.store to move them");
  const Result<Layout> all = layout(instruction, {});
  if (!all) return all.error();
  FragmentMoves out{all->form, all->target, {}, {}};
  const std::vector<Candidate> loads = candidates(instruction.target(), false),
                               stores = candidates(instruction.target(), true);
  std::string roles;
  std::vector<const OperandLayout*> operands;
  for (const OperandLayout& op : all->operands) operands.push_back(&op);
  std::stable_partition(operands.begin(), operands.end(), [](const auto* op) { return op->role != "d"; });
  for (const OperandLayout* each : operands) {
    const OperandLayout& op = *each;
    if (op.medium != Medium::registers) continue;
    roles += (roles.empty() ? "" : ", ") + op.role;
    if (!operand.empty() && op.role != operand) continue;
    const std::span<const Candidate> forms = op.role == "d" ? stores : loads;
    if (op.products > 1 || op.packing.register_bits != kRegisterBits) {
      out.moves.push_back({.operand = op.role, .stores = op.role == "d"});
      out.moves.back().reason =
          op.products > 1 ? "several matrices lie side by side in the lanes"
                          : fmt::format("its registers have {} bits; those of {} 32", op.packing.register_bits,
                                        op.role == "d" ? "stmatrix" : "ldmatrix");
      continue;
    }
    add_moves(op, forms, false, out.moves);
    if (op.role == "d")
      if (const std::optional<OperandLayout> pairs = packed_pairs(op))
        add_moves(*pairs, forms, true, out.moves);
  }
  if (out.moves.empty())
    return refuse(instruction, fmt::format("no operand '{}' in registers", operand), roles);
  const OperandLayout *d = in_registers(*all, "d"), *a = in_registers(*all, "a");
  const bool is_dense = instruction.terms() == instruction.depth();
  if (d != nullptr && a != nullptr && is_dense && (operand.empty() || operand == "d" || operand == "a"))
    out.chain.push_back(chain_of(*d, *a));
  return out;
}

}  // namespace warpbit
