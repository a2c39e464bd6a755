// SPDX-License-Identifier: Apache-2.0
#include "kernel/native.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>  // iota
#include <optional>
#include <span>

#include "kernel/dense.hpp"

namespace warpbit {
namespace {

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

// Of each line (row of A, column of B) the numbers of the items that hold its elements, in their order. Nothing
// if the elements of an item do not follow each other.
std::optional<std::vector<std::uint32_t>> line_items(const TileOperand& operand, int length, int item_bits) {
  const TileRegisters& r = operand.registers;
  const auto each = static_cast<std::size_t>(item_bits / operand.format->bits);
  std::vector<std::uint32_t> out;
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
    const int bit = (at.lane * r.count + at.reg) * r.bits + at.low_bit;
    out.push_back(static_cast<std::uint32_t>(bit / item_bits));
  }
  return out;
}

int row_of_pair(const Tile& t, int pair, int which) {
  return t.rows % 16 == 0 ? pair / 8 * 16 + pair % 8 + 8 * which : 2 * pair + which;
}

// Makes one item of two as long as all can be paired.
void pair_up(ItemTable& table) {
  std::vector<std::uint32_t>& numbers = table.numbers;
  while (table.bytes < 16 && numbers.size() % 2 == 0) {
    std::vector<std::uint32_t> halves;
    for (std::size_t i = 0; i < numbers.size(); i += 2) {
      if (numbers[i] % 2 != 0 || numbers[i + 1] != numbers[i] + 1) return;
      halves.push_back(numbers[i] / 2);
    }
    numbers = std::move(halves);
    table.bytes *= 2;
  }
}

// Completes a table for its operand.
ItemTable finish(const Tile& t, const TileOperand& operand, int item_bits, std::vector<std::uint32_t> numbers) {
  ItemTable out{item_bits / 8, std::move(numbers)};
  const auto bytes = static_cast<std::ptrdiff_t>(out.numbers.size()) * out.bytes;
  const TileRegisters& r = operand.registers;
  out.in_place = bytes == t.lanes * r.count * r.bits / 8;
  for (std::size_t i = 0; i < out.numbers.size(); ++i) out.in_place = out.in_place && out.numbers[i] == i;
  out.product_bytes = bytes / t.products;
  pair_up(out);
  return out;
}

// In the order of NativeBlocks; `order` has the items of a line in that of the panels.
ItemTable table_of_a(const Tile& t, int item_bits, std::span<const std::uint32_t> items,
                     std::span<const int> order) {
  std::vector<std::uint32_t> out;
  for (int product = 0; product < t.products; ++product)
    for (int pair = 0; pair < t.rows / 2; ++pair)
      for (const int item : order)
        for (const int which : {0, 1}) {
          const auto row = static_cast<std::size_t>(product * t.rows + row_of_pair(t, pair, which));
          out.push_back(items[row * order.size() + static_cast<std::size_t>(item)]);
        }
  return finish(t, t.a, item_bits, std::move(out));
}
ItemTable table_of_b(const Tile& t, int item_bits, std::span<const std::uint32_t> items,
                     std::span<const int> order) {
  std::vector<std::uint32_t> out;
  for (std::size_t column = 0; column < items.size() / order.size(); ++column)
    for (const int item : order) out.push_back(items[column * order.size() + static_cast<std::size_t>(item)]);
  return finish(t, t.b, item_bits, std::move(out));
}
// Of C and D; `elements` has the numbers by product, row and column.
ItemTable table_of_blocks(const Tile& t, const TileOperand& operand, std::span<const std::uint32_t> elements) {
  std::vector<std::uint32_t> out;
  for (int product = 0; product < t.products; ++product)
    for (int pair = 0; pair < t.rows / 2; ++pair)
      for (int block = 0; block < t.columns / 8; ++block)
        for (int i = 0; i < kBlock; ++i) {
          const int row = product * t.rows + row_of_pair(t, pair, i / 2 % 2);
          const int column = 8 * block + i / 4 * 2 + i % 2;
          out.push_back(elements[static_cast<std::size_t>(row * t.columns + column)]);
        }
  return finish(t, operand, operand.format->bits, std::move(out));
}

// The numbers of the nibbles, by row and group, in the order of the items of A.
std::vector<std::uint32_t> nibbles_of(const Tile& t, std::span<const int> order) {
  std::vector<std::uint32_t> out;
  for (int pair = 0; pair < t.rows / 2; ++pair)
    for (const int item : order)
      for (const int which : {0, 1})
        out.push_back(
            static_cast<std::uint32_t>(row_of_pair(t, pair, which) * static_cast<int>(order.size()) + item));
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

std::shared_ptr<const NativeTile> compile_native(const Tile& t) {
  if (t.uses_memory() || t.a_scale.is_present() || t.plan->operands || t.plan->begin() == t.plan->end())
    return nullptr;
  const std::optional<NativeProgram> program = program_of(t);
  if (!program || !fits(t, *program)) return nullptr;
  if (t.sparsity.is_sparse() && program->kind != Kind::integers) return nullptr;
  const int item_bits = program->kind == Kind::double_chain                                       ? 64
                        : program->kind == Kind::single_chain || program->kind == Kind::pair_sums ? 16
                                                                                                  : 32;
  const int a_bits = t.sparsity.is_sparse() ? item_bits / 2 : item_bits;
  const auto a = line_items(t.a, t.terms, a_bits), b = line_items(t.b, t.depth, item_bits);
  const auto c = line_items(t.c, t.columns, t.c.format->bits), d = line_items(t.d, t.columns, t.d.format->bits);
  if (!a || !b || !c || !d) return nullptr;

  NativeTile out{*program, {}, {}, {}, {}, t.depth * t.b.format->bits / item_bits, {}};
  // The items of a line in the order in which the first column of B has them in its registers.
  std::vector<int> order(static_cast<std::size_t>(out.items));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int item) { return (*b)[static_cast<std::size_t>(item)]; });
  if (item_bits != 32)
    for (std::size_t place = 0; place < order.size(); ++place)
      out.program.place[order[place]] = static_cast<std::uint8_t>(place);
  out.a = table_of_a(t, a_bits, *a, order);
  out.b = table_of_b(t, item_bits, *b, order);
  out.c = table_of_blocks(t, t.c, *c);
  out.d = table_of_blocks(t, t.d, *d);
  if (t.sparsity.is_sparse()) out.nibbles = nibbles_of(t, order);
  return std::make_shared<const NativeTile>(std::move(out));
}

// ---- Execution

namespace {

// Of one thread; reused, so that nothing is allocated per execution.
struct Scratch {
  std::vector<std::uint32_t> registers[5];            // of A, B, C, D and the metadata, side by side
  std::vector<std::uint32_t> a, b, c, d, compressed;  // as the body takes them
};
thread_local Scratch scratch;

std::byte* bytes_of(std::vector<std::uint32_t>& words) {
  return reinterpret_cast<std::byte*>(words.data());
}

// to[i] = from[numbers[i]], or the other way round.
template <std::size_t kBytes>
void gather_items(const std::byte* from, const ItemTable& table, std::byte* to) {
  for (const std::uint32_t number : table.numbers) {
    std::memcpy(to, from + number * kBytes, kBytes);
    to += kBytes;
  }
}
template <std::size_t kBytes>
void scatter_items(const std::byte* from, const ItemTable& table, std::byte* to) {
  for (const std::uint32_t number : table.numbers) {
    std::memcpy(to + number * kBytes, from, kBytes);
    from += kBytes;
  }
}

std::size_t words_in(const ItemTable& table) {
  return table.numbers.size() * static_cast<std::size_t>(table.bytes) / 4;
}

const std::byte* gather(const std::byte* registers, const ItemTable& table, std::vector<std::uint32_t>& panel) {
  if (table.in_place) return registers;
  panel.resize(words_in(table));
  switch (table.bytes) {
    case 2: gather_items<2>(registers, table, bytes_of(panel)); break;
    case 4: gather_items<4>(registers, table, bytes_of(panel)); break;
    case 8: gather_items<8>(registers, table, bytes_of(panel)); break;
    default: gather_items<16>(registers, table, bytes_of(panel));
  }
  return bytes_of(panel);
}

// The 16 bits that are stored of each word, back to their places: two bytes, and an index for each in the
// nibble. False if both are the same.
bool expand(const std::byte* stored, const std::byte* metadata, const TileOperand& e,
            std::span<const std::uint32_t> nibbles, std::vector<std::uint32_t>& panel) {
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

// D: where the body writes, and from there to its registers.
class Destination {
 public:
  Destination(const Tile& t, const NativeTile& native, const ResultView& view, bool is_source,
              std::size_t index)
      : registers_(t.d.registers),
        table_(native.d),
        view_(view),
        lanes_(t.lanes),
        index_(index),
        is_dense_(has_no_gaps(registers_, view)) {
    base_ = view.base + static_cast<std::ptrdiff_t>(index) * view.case_stride;
    direct_ = table_.in_place && is_dense_ && !is_source;
    if (!direct_) scratch.d.resize(words_in(table_));
  }
  std::byte* panel() const { return direct_ ? base_ : bytes_of(scratch.d); }

  void store() const {
    if (direct_) return;
    std::vector<std::uint32_t>& side_by_side = scratch.registers[3];
    side_by_side.resize(words_in(table_));
    std::byte* to = is_dense_ ? base_ : bytes_of(side_by_side);
    switch (table_.bytes) {
      case 2: scatter_items<2>(bytes_of(scratch.d), table_, to); break;
      case 4: scatter_items<4>(bytes_of(scratch.d), table_, to); break;
      case 8: scatter_items<8>(bytes_of(scratch.d), table_, to); break;
      default: scatter_items<16>(bytes_of(scratch.d), table_, to);
    }
    if (!is_dense_) store_registers(registers_, to, view_, lanes_, index_);
  }

 private:
  const TileRegisters& registers_;
  const ItemTable& table_;
  const ResultView& view_;
  int lanes_;
  std::size_t index_;
  bool is_dense_, direct_;
  std::byte* base_;
};

struct ExactContext {
  ExactElements elements;
  const Tile& tile;
  int product = 0;
};
std::uint64_t exact(void* context, int row, int column, int lane, std::uint64_t c) {
  auto& x = *static_cast<ExactContext*>(context);
  return x.elements(static_cast<std::size_t>(x.product),
                    static_cast<std::size_t>(row_of_pair(x.tile, row, lane % 2)),
                    static_cast<std::size_t>(8 * column + lane / 2), c);
}

}  // namespace

bool run_native(const Body& body, const NativeTile& native, const Tile& t, const TileViews& views,
                const ResultView& d, std::size_t index) {
  Scratch& s = scratch;
  const auto registers = [&](const TileOperand& operand, const OperandView& view, int i) {
    return dense_registers(operand, view, t.lanes, index, s.registers[i]);
  };
  const std::byte* a = gather(registers(t.a, views.a, 0), native.a, s.compressed);
  if (t.sparsity.is_sparse()) {
    if (!expand(a, registers(t.e, views.e, 4), t.e, native.nibbles, s.a)) return false;
    a = bytes_of(s.a);
  }
  const std::byte* b = gather(registers(t.b, views.b, 1), native.b, s.b);
  const std::byte* c = gather(registers(t.c, views.c, 2), native.c, s.c);
  // What is left to the specification reads A and B after parts of D are written.
  const Destination to(t, native, d, d.base == views.a.base || d.base == views.b.base, index);

  ExactContext context{{t, views, index}, t};
  NativeBlocks blocks;
  blocks.program = &native.program;
  blocks.rows = t.rows / 2;
  blocks.columns = t.columns / 8;
  blocks.items = native.items;
  blocks.exact = exact;
  blocks.context = &context;
  for (int product = 0; product < t.products; ++product) {
    context.product = product;
    blocks.a = a + product * native.a.product_bytes;
    blocks.b = b + product * native.b.product_bytes;
    blocks.c = c + product * native.c.product_bytes;
    blocks.d = to.panel() + product * native.d.product_bytes;
    body.native(blocks);
  }
  to.store();
  return true;
}

}  // namespace warpbit
