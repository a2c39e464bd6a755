// SPDX-License-Identifier: Apache-2.0
// Which ldmatrix and stmatrix move an operand: the answers are executed, on memory whose elements all differ, and compared
// with the operand's registers as scatter fills them.
#include "warpbit/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <sstream>

#include "in_turn.hpp"
#include "tool.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/machine.hpp"

namespace fragment_moves_test {

using namespace warpbit;
using Codes = std::vector<std::uint64_t>;

constexpr std::uint64_t kShared = 1 << 18;
constexpr int kWarp = 32;

// Registers of an operand by [lane][register], of several tiles side by side.
struct Held {
  int registers;
  std::vector<std::uint32_t> cells;
  std::uint32_t& at(int lane, int reg) { return cells[static_cast<std::size_t>(lane * registers + reg)]; }
};

// What the matrix holds: a part of each element's number, so that all parts together tell the elements apart.
struct Matrix {
  int rows, columns;
  Codes codes;  // row by row
  std::uint64_t at(int row, int column) const {
    return codes[static_cast<std::size_t>(row * columns + column)];
  }
};

Matrix numbered(int rows, int columns, int bits, int part) {
  Matrix out{rows, columns, {}};
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(rows * columns); ++i)
    out.codes.push_back((i + 1) >> (part * bits) & ((std::uint64_t{1} << bits) - 1));
  return out;
}

int parts(int count, int bits) {
  int out = 1;
  while (bits * out < 31 && (count + 1) >> (bits * out) != 0) ++out;
  return out;
}

Held scattered(const Operand& op, const Matrix& matrix, int tiles, int lanes) {
  const FragmentMap& map = op.fragment;
  Held out{op.registers * tiles,
           std::vector<std::uint32_t>(static_cast<std::size_t>(lanes * op.registers * tiles))};
  for (int tile = 0; tile < tiles; ++tile) {
    Codes codes;
    for (int i = 0; i < map.rows(); ++i)
      for (int j = 0; j < map.columns(); ++j) codes.push_back(matrix.at(i, tile * map.columns() + j));
    std::vector<std::uint32_t> registers(static_cast<std::size_t>(lanes * op.registers));
    REQUIRE(scatter(op, codes, std::span(registers)).ok());
    for (int lane = 0; lane < lanes; ++lane)
      for (int reg = 0; reg < op.registers; ++reg)
        out.at(lane, tile * op.registers + reg) =
            registers[static_cast<std::size_t>(lane * op.registers + reg)];
  }
  return out;
}

// The matrix in memory: lines with 16 bytes between them, `per_chunk` elements in each 16 bytes.
struct Stored {
  const FragmentMove& move;
  int bits, low, code_bits;  // of an element, of its code within
  int lines, elements;

  std::uint64_t pitch() const {
    return static_cast<std::uint64_t>((elements + move.line_elements - 1) / move.line_elements + 1) * 16;
  }
  bool by_rows() const { return move.order == StorageOrder::row_major; }
  std::uint64_t bit(int row, int column) const {
    const int line = by_rows() ? row : column, at = by_rows() ? column : row;
    return (static_cast<std::uint64_t>(line) * pitch() +
            static_cast<std::uint64_t>(at / move.line_elements) * 16) *
               8 +
           static_cast<std::uint64_t>(at % move.line_elements * bits);
  }
  std::vector<std::byte> image(const Matrix& m) const {
    std::vector<std::byte> out(kShared);
    for (int i = 0; i < m.rows; ++i)
      for (int j = 0; j < m.columns; ++j)
        for (int b = 0; b < code_bits; ++b) {
          const std::uint64_t at = bit(i, j) + static_cast<std::uint64_t>(low + b);
          out[at / 8] |= static_cast<std::byte>((m.at(i, j) >> b & 1) << at % 8);
        }
    return out;
  }
};

Machine machine_with(const std::vector<std::byte>& image, int registers) {
  Memory memory(kShared);
  REQUIRE(memory.write(Space::shared, 0, image).ok());
  return Machine(1, registers, std::move(memory));
}

// Executes one instruction of a warp, whose operands are registers 0 to 3 and the address in register 8.
void execute(Machine& machine, const Instruction& instruction, const FragmentMove& move, const Stored& stored,
             int index, int warp) {
  for (const LineAddress& a : move.addresses)
    if (a.instruction == index && a.warp == warp)
      REQUIRE(machine.write_register(0, a.lane, 8, stored.bit(a.row, a.column) / 8).ok());
  Binding binding;
  for (const Operand& op : instruction.operands()) binding.push_back(op.part == Part::address ? 8 : 0);
  const auto done = machine.execute(0, instruction, binding);
  INFO((done ? "" : done.error().message()));
  REQUIRE(done.ok());
}

void check_move(const Instruction& form, const FragmentMove& move) {
  const Operand& op = *form.operand(move.operand);
  const Packing& packing = op.fragment.packing();
  const Result<Instruction> instruction = Instruction::parse(move.form, form.target());
  REQUIRE(instruction.ok());
  const int lanes = op.fragment.lanes(), rows = op.fragment.rows(),
            columns = op.fragment.columns() * move.tiles;
  const int code_bits = move.packed ? 16 : packing.bits;
  const int bits = move.padded ? packing.slot_bits : code_bits;
  const bool by_rows = move.order == StorageOrder::row_major;
  const Stored stored{move,
                      bits,
                      move.padded ? packing.low_bit : 0,
                      code_bits,
                      by_rows ? rows : columns,
                      by_rows ? columns : rows};
  for (int part = 0; part < parts(rows * columns, code_bits); ++part) {
    const Matrix matrix = numbered(rows, columns, code_bits, part);
    Held held = scattered(op, matrix, move.tiles, lanes);
    if (move.packed) {
      Held pairs{held.registers / 2, {}};
      for (int lane = 0; lane < lanes; ++lane)
        for (int reg = 0; reg < pairs.registers; ++reg)
          pairs.cells.push_back(held.at(lane, 2 * reg) | held.at(lane, 2 * reg + 1) << 16);
      held = pairs;
    }
    const std::vector<std::byte> image = stored.image(matrix);
    std::vector<std::byte> written(kShared);
    std::set<int> moved;
    for (int warp = 0; warp < lanes / kWarp; ++warp)
      for (std::size_t j = 0; j < move.registers.size(); ++j) {
        Machine machine = machine_with(move.stores ? written : image, 10);
        const std::vector<int>& registers = move.registers[j];
        moved.insert(registers.begin(), registers.end());
        for (int lane = 0; lane < kWarp && move.stores; ++lane)
          for (std::size_t reg = 0; reg < registers.size(); ++reg)
            REQUIRE(machine
                        .write_register(0, lane, static_cast<int>(reg),
                                        held.at(warp * kWarp + lane, registers[reg]))
                        .ok());
        execute(machine, *instruction, move, stored, static_cast<int>(j), warp);
        if (move.stores) {
          REQUIRE(machine.memory().read(Space::shared, 0, written).ok());
          continue;
        }
        for (int lane = 0; lane < kWarp; ++lane)
          for (std::size_t reg = 0; reg < registers.size(); ++reg) {
            const auto loaded =
                static_cast<std::uint32_t>(machine.registers(0).read(lane, static_cast<int>(reg)));
            REQUIRE(static_cast<std::uint32_t>(loaded << move.shift) ==
                    held.at(warp * kWarp + lane, registers[reg]));
          }
      }
    REQUIRE(moved.size() == static_cast<std::size_t>(held.registers));
    if (move.stores) REQUIRE(written == image);
  }
}

// "w * 16 + i / 8 % 2 * 8", from left to right.
int value_of(const std::string& formula, const LineAddress& at) {
  int sum = 0, term = 0;
  char operation = '+';
  std::istringstream words(formula);
  for (std::string word; words >> word;) {
    if (word.size() == 1 && std::string("+*/%").find(word) != std::string::npos) {
      operation = word[0];
      continue;
    }
    const int x = word == "i"   ? at.lane
                  : word == "j" ? at.instruction
                  : word == "w" ? at.warp
                                : std::stoi(word);
    switch (operation) {
      case '*': term *= x; break;
      case '/': term /= x; break;
      case '%': term %= x; break;
      default: sum += term, term = x;
    }
  }
  return sum + term;
}

void check_formulas(const FragmentMove& move) {
  REQUIRE_FALSE((move.row.empty() || move.column.empty()));
  for (const LineAddress& a : move.addresses)
    REQUIRE(std::pair(value_of(move.row, a), value_of(move.column, a)) == std::pair(a.row, a.column));
}

// A's registers made of D's, as the chain says, against those that A's elements have.
void check_chain(const Instruction& form, const FragmentChain& chain) {
  const Operand &d = *form.operand("d"), &a = *form.operand("a");
  const int lanes = d.fragment.lanes(), bits = std::min(d.fragment.packing().bits, a.fragment.packing().bits);
  const int columns = d.fragment.columns() * chain.tiles;
  REQUIRE(columns == a.fragment.columns() * static_cast<int>(chain.steps.size()));
  for (int part = 0; part < parts(d.fragment.rows() * columns, bits); ++part) {
    const Matrix matrix = numbered(d.fragment.rows(), columns, bits, part);
    Held from = scattered(d, matrix, chain.tiles, lanes),
         expected = scattered(a, matrix, static_cast<int>(chain.steps.size()), lanes);
    const std::uint32_t mask = static_cast<std::uint32_t>(d.fragment.packing().mask());
    for (std::size_t step = 0; step < chain.steps.size(); ++step)
      for (int lane = 0; lane < lanes; ++lane) {
        std::vector<std::uint32_t> made(static_cast<std::size_t>(a.registers));
        for (const ChainedElement& e : chain.steps[step])
          made[static_cast<std::size_t>(e.reg)] |=
              (from.at(lane, e.tile * d.registers + e.d_reg) >> e.d_low_bit & mask) << e.low_bit;
        for (int reg = 0; reg < a.registers; ++reg)
          REQUIRE(made[static_cast<std::size_t>(reg)] ==
                  expected.at(lane, static_cast<int>(step) * a.registers + reg));
      }
  }
}

// Whether a form stands for others: of wgmma a few numbers of columns.
bool is_tried(const FormInfo& form) {
  if (form.family.starts_with("mma")) return true;
  if (!form.family.starts_with("wgmma") || form.canonical.find("mma_async") == std::string::npos) return false;
  for (const char* columns : {"n8k", "n16k", "n24k", "n256k"})
    if (form.canonical.find(columns) != std::string::npos) return true;
  return false;
}

TEST_CASE("what is named fills and stores the fragments of all forms", "[quick][fragment_moves][sampled]") {
  std::set<std::vector<std::tuple<std::string_view, FragmentMap>>> seen;
  std::size_t forms_tried = 0, moves_tried = 0, chains = 0, refused = 0;
  std::set<std::string> used;
  std::size_t turn = 0;
  for (const FormInfo& info : forms()) {
    if (!is_tried(info) || !has_turn(turn++, 0, 5)) continue;
    const Result<Instruction> form = parse_on_newest(info.canonical);
    REQUIRE(form.ok());
    std::vector<std::tuple<std::string_view, FragmentMap>> maps;
    for (const Operand& op : form->operands())
      if (op.kind == OperandKind::vector) maps.emplace_back(op.role, op.fragment);
    if (form->find(Part::a) == nullptr || !seen.insert(maps).second) continue;
    CAPTURE(info.canonical);
    const Result<FragmentMoves> moves = fragment_moves(*form);
    REQUIRE(moves.ok());
    ++forms_tried;
    std::size_t number = 0;
    for (const FragmentMove& move : moves->moves) {
      CAPTURE(move.operand, move.form, move.tiles, static_cast<int>(move.order), move.packed);
      REQUIRE(move.form.empty() != move.reason.empty());
      if (move.form.empty()) {
        ++refused;
        continue;
      }
      used.insert(move.form);
      if (!has_turn(forms_tried, number++ % 12, 12)) continue;
      check_move(*form, move);
      check_formulas(move);
      ++moves_tried;
    }
    for (const FragmentChain& chain : moves->chain) {
      REQUIRE(chain.steps.empty() != chain.reason.empty());
      if (chain.steps.empty()) continue;
      check_chain(*form, chain);
      ++chains;
    }
  }
  fmt::print("fragment moves: {} forms, {} moves by {} forms, {} refused, {} chains\n", forms_tried,
             moves_tried, used.size(), refused, chains);
  CHECK(forms_tried >= (tries_all() ? 40 : 20));
  CHECK(moves_tried >= (tries_all() ? 150 : 3));
  CHECK(used.size() >= 10);
  CHECK(chains >= (tries_all() ? 10 : 3));
}

// ---- Answers as people know them

FragmentMove find(const std::string& form, const std::string& operand, StorageOrder order, int tiles = 1) {
  const Result<Instruction> instruction = parse_on_newest(form);
  REQUIRE(instruction.ok());
  const Result<FragmentMoves> moves = fragment_moves(*instruction, operand);
  REQUIRE(moves.ok());
  const auto at = std::ranges::find_if(
      moves->moves, [&](const FragmentMove& m) { return m.order == order && m.tiles == tiles && !m.packed; });
  REQUIRE(at != moves->moves.end());
  return *at;
}

const std::string kForm = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
constexpr StorageOrder kRows = StorageOrder::row_major, kColumns = StorageOrder::column_major;

TEST_CASE("the rules that kernels have", "[quick][fragment_moves]") {
  struct Expected {
    std::string operand;
    StorageOrder order;
    int tiles;
    std::string form, row, column;
  };
  for (const Expected& e :
       {Expected{"a", kRows, 1, "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "i % 16", "i / 16 * 8"},
        {"a", kColumns, 1, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "i / 8 % 2 * 8",
         "i % 8 + i / 16 * 8"},
        {"b", kColumns, 1, "ldmatrix.sync.aligned.m8n8.x2.shared.b16", "i / 8 * 8", "i % 8"},
        {"b", kColumns, 2, "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "i / 8 % 2 * 8", "i % 8 + i / 16 * 8"},
        {"b", kRows, 1, "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "i", "0"},
        {"b", kRows, 2, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "i % 16", "i / 16 * 8"}}) {
    CAPTURE(e.operand, static_cast<int>(e.order), e.tiles);
    const FragmentMove move = find(kForm, e.operand, e.order, e.tiles);
    CHECK(move.form == e.form);
    CHECK(move.row == e.row);
    CHECK(move.column == e.column);
    CHECK(move.registers.size() == 1);
  }
}

TEST_CASE("D of a product as A of the next", "[quick][fragment_moves]") {
  const auto chain = [](const std::string& form) {
    const Result<Instruction> instruction = parse_on_newest(form);
    REQUIRE(instruction.ok());
    const Result<FragmentMoves> moves = fragment_moves(*instruction);
    REQUIRE(moves.ok());
    REQUIRE(moves->chain.size() == 1);
    return moves->chain[0];
  };
  // Two tiles of D, 16 x 8, are A, 16 x 16: a0 = {d0, d1}, a1 = {d2, d3} of the first, a2 and a3 of the second.
  const FragmentChain half = chain(kForm);
  CHECK(half.tiles == 2);
  REQUIRE(half.steps.size() == 1);
  std::vector<ChainedElement> expected;
  for (int i = 0; i < 8; ++i) expected.push_back({i / 2, i % 2 * 16, i / 4, i % 4, 0});
  CHECK(half.steps[0] == expected);
  // Four f8 of a row lie in one lane of A, and in two of D.
  CHECK_FALSE(chain("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32").reason.empty());
}

TEST_CASE("moves of fragments as they are printed", "[quick][fragment_moves]") {
  const tool::Output b = tool::run({"layout", kForm, "--operand", "b", "--by", "ldmatrix"});
  CHECK(b.status == 0);
  CHECK(b.out.find("b, row-major [k][n]\n"
                   "  ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {b0, b1}\n"
                   "  lane i (0 to 15) points to [i, 0], with which 8 elements of a row begin\n"
                   "    lanes   rows  columns  into\n"
                   "    T0-T7   0-7   0-7      b0\n"
                   "    T8-T15  8-15  0-7      b1\n") != std::string::npos);
  const tool::Output json = tool::run({"layout", kForm, "--by", "ldmatrix", "--json"});
  CHECK(json.out.starts_with("{\n  \"schema\": \"layout/1\",\n"));
  CHECK(tool::run({"layout", kForm, "--operand", "e", "--by", "ldmatrix"}).err ==
        "warpbit: " + kForm + ": no operand 'e' in registers; expected a, b, c, d\n");
  CHECK(tool::run({"layout", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "--by", "ldmatrix"}).status == 2);
}

}  // namespace fragment_moves_test
