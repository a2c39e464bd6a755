// SPDX-License-Identifier: Apache-2.0
// Tiles that the bodies compute with the processor's own arithmetic (body.hpp, NativeProgram): integers, bits,
// chains of IEEE operations.
#include <cstring>
#include <optional>

#include "kernel/parts.hpp"

namespace warpbit {
namespace {

class NativeTile : public PartsTile {
 public:
  bool compile(const Tile& tile);

 private:
  // Of a sparse A an item is the 16 bits that are stored of each 32: where they lie in a part, and which of the
  // tile's metadata says where they belong. The selector of a statement decides where that lies.
  struct Stored {
    std::uint32_t at, nibble;
  };

  void compute(const FastRun& run, const Parts& given, std::size_t first) const override;
  bool takes_gaps() const override { return false; }
  bool expand(const Tile& tile, const PartRegisters& part, std::uint32_t* to) const;

  NativeProgram program_;
  std::vector<Stored> stored_;
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
  const TileOperand &left = is_exchanged(t) ? t.b : t.a, &right = is_exchanged(t) ? t.a : t.b;
  const FormatId a = left.format->id, b = right.format->id;
  constexpr auto kNearest = Rounding::nearest_even;
  NativeProgram out;
  out.half_c = t.c.format->id == FormatId::f16;
  out.half_d = t.d.format->id == FormatId::f16;
  const Step& first = *plan.begin();
  const auto* chain = std::get_if<FmaChain>(&first);
  if (const auto* sum = std::get_if<IntegerSum>(&first); sum && plan == Plan{*sum}) {
    out.kind = Kind::integers;
    out.bits = left.format->bits;
    out.a_signed = left.format->is_signed;
    out.b_signed = right.format->is_signed;
    out.saturates = sum->overflow == Overflow::saturate;
    if (out.saturates && sum->products < t.terms) out.nodes = t.terms / sum->products;
    if (out.nodes > 1 && out.nodes * sum->products != t.terms) return std::nullopt;
    if ((out.bits == 8 || out.bits == 4) && right.format->bits == out.bits) return out;
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

// ---- Compilation

int item_bytes(const NativeProgram& program) {
  const bool is_half = program.kind == Kind::single_chain || program.kind == Kind::pair_sums;
  return program.kind == Kind::double_chain ? 8 : is_half ? 2 : 4;
}

bool is_known_count(const NativeProgram& program, int items) {
  return items == 4 || (item_bytes(program) != 2 && (items == 8 || items == 16));
}

}  // namespace

bool NativeTile::compile(const Tile& t) {
  if (t.a_scale.is_present() || t.plan->operands) return false;
  const std::optional<NativeProgram> program = program_of(t);
  if (!program) return false;
  program_ = *program;
  const int word = item_bytes(program_), bits = t.b.format->bits, items = t.depth * bits / (8 * word);
  const bool sparse = t.sparsity.is_sparse(), is_half = word == 2;
  if (!is_known_count(program_, items / program_.nodes) || items % (4 * program_.nodes) != 0 ||
      items * 8 * word != t.depth * bits)
    return false;
  if (is_half && (t.rows != 8 || t.columns != 8)) return false;
  if (sparse && (program_.kind != Kind::integers || t.sparsity.width * bits != 32 || !has_metadata_by_warp(t)))
    return false;
  const int item = std::max(bits / 8, 1), together = std::max(8 / bits, 1), units = items / 4;
  const WordLayout layout{word, item, together, units};
  WordLayout of_a = layout;
  if (sparse) of_a.units = units / 2;
  if ((sparse && units % 2 != 0) || !find_parts(t, of_a, layout)) return false;
  program_.items = items;
  for (int k = 0; k < items; ++k) program_.place[k] = static_cast<std::uint8_t>(k % 4 * units + k / 4);
  for (int i = 0; sparse && i < rows * items; ++i) {
    const int which = i % 2, lane = i / 2 / units, k = i / 2 % units * 4 + lane % 4, of_word = k / 2;
    const int at = ((lane / 4 * 4 + of_word % 4) * of_a.units + of_word / 4) * 2 + which;
    const int nibble = row_of_pair(lane / 4, which, rows) * items + k;
    stored_.push_back({static_cast<std::uint32_t>(4 * at + k % 2 * 2), static_cast<std::uint32_t>(nibble)});
  }
  return true;
}

std::shared_ptr<FastTile> compile_native(const Tile& t) {
  auto out = std::make_shared<NativeTile>();
  return out->compile(t) ? out : nullptr;
}

// ---- Execution

// The 16 bits that are stored of each word, back to their places: two bytes, and an index for each in the
// nibble. False if both are the same.
bool NativeTile::expand(const Tile& t, const PartRegisters& part, std::uint32_t* to) const {
  bool same = false;
  for (const Stored& item : stored_) {
    const RegisterBits& at = t.e.places[item.nibble];
    std::uint16_t pair = 0;
    std::uint32_t word = 0;
    std::memcpy(&pair, part.a + item.at, sizeof pair);
    std::memcpy(&word, part.e + 4 * (at.lane * t.e.registers.count + at.reg), sizeof word);
    const std::uint32_t low = word >> at.low_bit & 3, high = word >> (at.low_bit + 2) & 3;
    same = same || low == high;
    *to++ = (pair & 0xFFU) << (8 * low) | static_cast<std::uint32_t>(pair >> 8) << (8 * high);
  }
  return !same;
}

void NativeTile::compute(const FastRun& run, const Parts& given, std::size_t) const {
  if (stored_.empty()) return run.body.native(program_, given);
  scratch.expanded.resize(stored_.size());
  for (PartCursor cursor(given); cursor.next();) {
    PartRegisters part = cursor.part();
    const bool is_regular = expand(run.tile, part, scratch.expanded.data());
    part.a = bytes_of(scratch.expanded);
    Parts one = given;
    one.part = &part;
    one.count = one.cases = 1;
    if (is_regular) {
      run.body.native(program_, one);
      continue;
    }
    for (int at = 0; at < 8 * rows; ++at) {  // a sparse row stores two elements of the same place
      const int lane = at % kBlock / 4 * 4 + at % 2 * 2 + at / 2 % 2;
      std::uint32_t code = 0;
      std::memcpy(&code, part.c + 4 * at, sizeof code);
      code = static_cast<std::uint32_t>(given.exact({cursor.index(), at / kBlock, 0, lane}, code));
      std::memcpy(part.d + 4 * at, &code, sizeof code);
    }
  }
}

}  // namespace warpbit
