// SPDX-License-Identifier: Apache-2.0
// Tiles that the bodies compute with the processor's own arithmetic (body.hpp, NativeProgram): integers, bits,
// chains of IEEE operations; whatever their fragments are.
#include <algorithm>
#include <cstring>
#include <numeric>  // iota
#include <optional>
#include <span>

#include "kernel/dense.hpp"
#include "kernel/exact.hpp"
#include "kernel/fast_tile.hpp"
#include "kernel/gather.hpp"

namespace warpbit {
namespace {

class NativeTile : public FastTile {
 public:
  void run(const FastRun& run) const override;

  NativeProgram program;
  int items = 0;      // of a row of A, as NativeBlocks has it
  Gather a, b, c, d;  // all products, one after the other
  std::vector<TilePart> products;
  // If A is sparse: its items are the 16 bits that are stored of each 32; which of the tile's metadata says
  // where they belong. The selector of a statement decides where that lies.
  std::vector<std::uint32_t> nibbles;

 private:
  // What some cases have in common.
  struct Cases {
    const FastRun& run;
    Scratch& scratch;
    ExactLanes& exact;
    NativeBlocks blocks;
    std::size_t of_a, of_b, of_c, of_d;        // bytes of a product
    bool is_dense = false, is_direct = false;  // D's registers; the body writes to them
  };
  bool run(Cases& cases, std::size_t index) const;
};

// ---- Plans

using Kind = NativeProgram::Kind;

std::optional<NativeProgram::Direction> direction_of(Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest_even: return NativeProgram::Direction::nearest;
    case Rounding::toward_zero: return NativeProgram::Direction::zero;
    case Rounding::down: return NativeProgram::Direction::down;
    case Rounding::up: return NativeProgram::Direction::up;
    case Rounding::nearest_away: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<NativeProgram> program_of(const Tile& t) {
  const Plan& plan = *t.plan;
  const FormatId a = t.a.format->id, b = t.b.format->id;
  constexpr auto kNearest = Rounding::nearest_even;
  NativeProgram out;
  out.half_c = t.c.format->id == FormatId::f16;
  out.half_d = t.d.format->id == FormatId::f16;
  const Step& first = *plan.begin();
  const auto* chain = std::get_if<FmaChain>(&first);
  if (const auto* sum = std::get_if<IntegerSum>(&first); sum && plan == Plan{IntegerSum{sum->overflow}}) {
    out.kind = Kind::integers;
    out.bits = t.a.format->bits;
    out.a_signed = t.a.format->is_signed;
    out.b_signed = t.b.format->is_signed;
    out.saturates = sum->overflow == Overflow::saturate;
    if ((out.bits == 8 || out.bits == 4) && t.b.format->bits == out.bits) return out;
  } else if (const auto* count = std::get_if<BitCount>(&first); count != nullptr && plan == Plan{first}) {
    out.kind = count->operation == BitOperation::xor_ ? Kind::xor_count : Kind::and_count;
    return out;
  } else if (chain != nullptr && a == FormatId::f64 && b == FormatId::f64) {
    const auto direction = direction_of(chain->rounding);
    if (!direction || plan != Plan{FmaChain{FormatId::f64, chain->rounding, NanRule::first_of_b_sum_a}})
      return std::nullopt;
    out.kind = Kind::double_chain;
    out.direction = *direction;
    return out;
  } else if (a == FormatId::f16 && b == FormatId::f16) {
    if (plan == Plan{FmaChain{FormatId::f32, kNearest, NanRule::canonical, Start::zero},
                     Add{FormatId::f32, kNearest}} &&
        !out.half_d) {
      out.kind = Kind::single_chain;
      return out;
    }
    if (plan == Plan{Convert{FormatId::f32, kNearest}, PairSums{FormatId::f32, kNearest},
                     Convert{FormatId::f16, kNearest}} &&
        t.terms % 2 == 0) {
      out.kind = Kind::pair_sums;
      return out;
    }
  }
  return std::nullopt;
}

// ---- Items

// Of each line (row of A, column of B) the first elements of its items, in their order. Nothing if the elements
// of an item do not follow each other.
std::optional<std::vector<RegisterBits>> line_items(const TileOperand& operand, int length, int item_bits) {
  const auto each = static_cast<std::size_t>(item_bits / operand.format->bits);
  std::vector<RegisterBits> out;
  if (each == 0 || static_cast<std::size_t>(length) % each != 0) return std::nullopt;
  for (std::size_t first = 0; first < operand.places.size(); first += each) {
    const RegisterBits& at = operand.places[first];
    if (at.low_bit % item_bits != 0) return std::nullopt;
    for (std::size_t e = 1; e < each; ++e) {
      const RegisterBits& next = operand.places[first + e];
      const int distance = static_cast<int>(e) * operand.format->bits;
      if (next.lane != at.lane || next.reg != at.reg || next.low_bit != at.low_bit + distance)
        return std::nullopt;
    }
    out.push_back(at);
  }
  return out;
}

// The items of an operand one after the other.
class ItemList {
 public:
  ItemList(const TileOperand& operand, std::span<const RegisterBits> items, int item_bits)
      : operand_(operand), items_(items), bytes_(item_bits / 8) {}
  void add(std::size_t item) {
    const auto in_panel = static_cast<std::uint16_t>(list_.size() * static_cast<std::size_t>(bytes_));
    list_.push_back({byte_of(operand_.registers, items_[item], bytes_), in_panel});
  }
  Gather gather() const { return {list_, bytes_}; }

 private:
  const TileOperand& operand_;
  std::span<const RegisterBits> items_;
  int bytes_;
  std::vector<GatheredElement> list_;
};

// In the order of NativeBlocks; `order` has the items of a line in that of the panels.
Gather gather_of_a(const Tile& t, ItemList list, std::span<const int> order) {
  for (int product = 0; product < t.products; ++product)
    for (int pair = 0; pair < t.rows / 2; ++pair)
      for (const int item : order)
        for (const int which : {0, 1}) {
          const auto row = static_cast<std::size_t>(product * t.rows + row_of_pair(pair, which, t.rows));
          list.add(row * order.size() + static_cast<std::size_t>(item));
        }
  return list.gather();
}
Gather gather_of_b(const Tile& t, ItemList list, std::span<const int> order) {
  for (int column = 0; column < t.products * t.columns; ++column)
    for (const int item : order)
      list.add(static_cast<std::size_t>(column) * order.size() + static_cast<std::size_t>(item));
  return list.gather();
}
// Of C and D, whose items are by product, row and column.
Gather gather_of_blocks(const Tile& t, ItemList list) {
  for (int product = 0; product < t.products; ++product)
    for (int pair = 0; pair < t.rows / 2; ++pair)
      for (int block = 0; block < t.columns / 8; ++block)
        for (int i = 0; i < kBlock; ++i) {
          const int row = product * t.rows + row_of_pair(pair, i / 2 % 2, t.rows);
          list.add(static_cast<std::size_t>(row * t.columns + 8 * block + i / 4 * 2 + i % 2));
        }
  return list.gather();
}

// The numbers of the nibbles, by row and group, in the order of the items of A.
std::vector<std::uint32_t> nibbles_of(const Tile& t, std::span<const int> order) {
  std::vector<std::uint32_t> out;
  for (int pair = 0; pair < t.rows / 2; ++pair)
    for (const int item : order)
      for (const int which : {0, 1})
        out.push_back(static_cast<std::uint32_t>(
            row_of_pair(pair, which, t.rows) * static_cast<int>(order.size()) + item));
  return out;
}

// Registers in a row of A.
bool fits_words(int words) {
  return words == 4 || words == 8 || words == 16;
}

// Whether the bodies can take the tile at all.
bool fits(const Tile& t, const NativeProgram& program) {
  for (const TileOperand* operand : {&t.a, &t.b, &t.c, &t.d})
    if (operand->registers.bits != 32 && operand->registers.bits != 64) return false;
  if (t.rows % 8 != 0 || t.rows > 32 || t.columns % 8 != 0) return false;
  switch (program.kind) {
    case Kind::integers:  // of sparse types 32 bits of each group
      return fits_words(t.depth * program.bits / 32) &&
             (!t.sparsity.is_sparse() || t.sparsity.width * program.bits == 32);
    case Kind::xor_count:
    case Kind::and_count: return fits_words(t.depth / 32);
    case Kind::double_chain: return t.depth == 4 || t.depth == 8 || t.depth == 16;
    case Kind::single_chain:
    case Kind::pair_sums: return t.depth == 4 && t.rows == 8 && t.columns == 8;
  }
  return false;
}

}  // namespace

std::shared_ptr<FastTile> compile_native(const Tile& t) {
  if (t.a_scale.is_present() || t.plan->operands) return nullptr;
  const std::optional<NativeProgram> program = program_of(t);
  if (!program || !fits(t, *program)) return nullptr;
  if (t.sparsity.is_sparse() && program->kind != Kind::integers) return nullptr;
  const int item_bits = program->kind == Kind::double_chain                                       ? 64
                        : program->kind == Kind::single_chain || program->kind == Kind::pair_sums ? 16
                                                                                                  : 32;
  const int a_bits = t.sparsity.is_sparse() ? item_bits / 2 : item_bits;
  const int c_bits = t.c.format->bits, d_bits = t.d.format->bits;
  const auto a = line_items(t.a, t.terms, a_bits), b = line_items(t.b, t.depth, item_bits);
  const auto c = line_items(t.c, t.columns, c_bits), d = line_items(t.d, t.columns, d_bits);
  if (!a || !b || !c || !d) return nullptr;

  NativeTile out;
  out.program = *program;
  out.items = t.depth * t.b.format->bits / item_bits;
  // The items of a line in the order in which the first column of B has them in its registers.
  std::vector<int> order(static_cast<std::size_t>(out.items));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int item) {
    return byte_of(t.b.registers, (*b)[static_cast<std::size_t>(item)], item_bits / 8);
  });
  if (item_bits != 32)
    for (std::size_t place = 0; place < order.size(); ++place)
      out.program.place[order[place]] = static_cast<std::uint8_t>(place);
  out.a = gather_of_a(t, {t.a, *a, a_bits}, order);
  out.b = gather_of_b(t, {t.b, *b, item_bits}, order);
  out.c = gather_of_blocks(t, {t.c, *c, c_bits});
  out.d = gather_of_blocks(t, {t.d, *d, d_bits});
  for (int product = 0; product < t.products; ++product) out.products.push_back({product, 0, 0});
  if (t.sparsity.is_sparse()) out.nibbles = nibbles_of(t, order);
  return std::make_shared<NativeTile>(std::move(out));
}

// ---- Execution

namespace {

// The 16 bits that are stored of each word, back to their places: two bytes, and an index for each in the
// nibble. False if both are the same.
bool expand(const std::byte* stored, const std::byte* metadata, const TileOperand& e,
            std::span<const std::uint32_t> nibbles, Scratch::Words& panel) {
  panel.resize(nibbles.size());
  bool same = false;
  for (std::size_t i = 0; i < nibbles.size(); ++i) {
    const RegisterBits& at = e.places[nibbles[i]];
    std::uint16_t pair = 0;
    std::uint32_t word = 0;
    std::memcpy(&pair, stored + 2 * i, sizeof pair);
    std::memcpy(&word, metadata + 4 * (at.lane * e.registers.count + at.reg), sizeof word);
    const std::uint32_t low = word >> at.low_bit & 3, high = word >> (at.low_bit + 2) & 3;
    same = same || low == high;
    panel[i] = (pair & 0xFFU) << (8 * low) | static_cast<std::uint32_t>(pair >> 8) << (8 * high);
  }
  return !same;
}

}  // namespace

void NativeTile::run(const FastRun& run) const {
  const auto& [body, t, views, view, first, last] = run;
  ExactLanes exact(t, views, t.rows, products);
  Cases cases{run,
              scratch,
              exact,
              {},
              a.bytes() / products.size(),
              b.bytes() / products.size(),
              c.bytes() / products.size(),
              d.bytes() / products.size()};
  if (t.sparsity.is_sparse()) cases.of_a *= 2;
  cases.blocks.program = &program;
  cases.blocks.rows = t.rows / 2;
  cases.blocks.columns = t.columns / 8;
  cases.blocks.items = items;
  cases.blocks.exact = exact.callback();
  // What is left to the specification reads A and B after parts of D are written.
  cases.is_dense = has_no_gaps(t.d.registers, view);
  cases.is_direct = d.is_copy() && view.base != views.a.base && view.base != views.b.base;
  cases.scratch.d_panel.resize(d.bytes() / 4);
  for (std::size_t i = first; i < last; ++i)
    if (!this->run(cases, i)) run_tile(t, views, view, i);
}

// One case. False, with nothing done, if a sparse row stores two elements of the same place.
bool NativeTile::run(Cases& cases, std::size_t index) const {
  const auto& [body, t, views, view, first, last] = cases.run;
  Scratch& s = cases.scratch;
  const auto dense = [&](const TileOperand& operand, const OperandView& from, Scratch::Words& copy) {
    return dense_registers(operand, from, t.lanes, index, copy);
  };
  const std::byte* left = a.panel(dense(t.a, views.a, s.a), s.a_panel);
  if (!nibbles.empty()) {
    if (!expand(left, dense(t.e, views.e, s.e), t.e, nibbles, s.expanded)) return false;
    left = bytes_of(s.expanded);
  }
  const std::byte* right = b.panel(dense(t.b, views.b, s.b), s.b_panel);
  const std::byte* before = c.panel(dense(t.c, views.c, s.c), s.c_panel);
  const ResultRegisters result(t.d.registers, view, t.lanes, index, cases.is_dense);
  std::byte* to = cases.is_direct ? result.base() : bytes_of(s.d_panel);
  NativeBlocks& blocks = cases.blocks;
  for (std::size_t product = 0; product < products.size(); ++product) {
    cases.exact.begin(index, product);
    blocks.a = left + product * cases.of_a;
    blocks.b = right + product * cases.of_b;
    blocks.c = before + product * cases.of_c;
    blocks.d = to + product * cases.of_d;
    body.native(blocks);
  }
  if (!cases.is_direct) d.to_registers(to, result.base());
  result.store();
  return true;
}

}  // namespace warpbit
