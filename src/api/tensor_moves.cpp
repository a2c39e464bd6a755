// SPDX-License-Identifier: Apache-2.0
// tcgen05.ld, st, cp and shift: words of tensor memory by tables.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "api/checks.hpp"
#include "api/tensor_operands.hpp"
#include "api/tensor_product.hpp"
#include "kernel/described.hpp"
#include "warpbit/execute.hpp"

namespace warpbit {
namespace {

using tensor::Copy;
using tensor::MoveShape;
using tensor::RegisterMove;

Error no_columns(std::string where, int first, int last) {
  return {Errc::tensor_memory, std::move(where), fmt::format("columns {} to {}", first, last),
          fmt::format("columns 0 to {}", kTensorColumns - 1)};
}

// ---- Between registers and tensor memory (PTX manual, "Data Movement Shape")

/// The word of a register, relative to the lane and the column of the address.
struct Cell {
  std::int64_t lane, column;
};

// Of thread t, register r, the first of so many words. The distance of the halves of .16x32bx2 counts words.
Cell cell_of(MoveShape shape, int t, int r, std::int64_t split, int words) {
  switch (shape) {
    case MoveShape::s32x32b: return {t, words * r};
    case MoveShape::s16x64b: return {t / 4 + 8 * (t % 2), words * (2 * r + t / 2 % 2)};
    case MoveShape::s16x128b: return {t / 4 + 8 * (r % 2), words * (t % 4 + 4 * (r / 2))};
    case MoveShape::s16x256b: return {t / 4 + 8 * (r / 2 % 2), words * (2 * (t % 4) + r % 2 + 8 * (r / 4))};
    case MoveShape::s16x32bx2: return {t % 16, words * r + t / 16 * split};
  }
  return {};
}

// A move whose words exist.
class Moved {
 public:
  static Result<Moved> make(const Instruction& instruction, bool stores, int warp, std::uint32_t address,
                            std::int64_t split) {
    const Result<const RegisterMove*> move =
        tensor_action<RegisterMove>(instruction, stores ? "tcgen05.st" : "tcgen05.ld");
    if (!move) return move.error();
    if ((*move)->stores != stores)
      return Error{Errc::usage, std::string(instruction.canonical()), "another instruction",
                   stores ? "tcgen05.st" : "tcgen05.ld"};
    Moved out(**move, instruction.find(stores ? Part::source : Part::d)->registers);
    const TensorAddress at = TensorAddress::decode(address);
    const int lane = at.lane % kTensorWindow,
              lanes = (*move)->shape == MoveShape::s32x32b ? kTensorWindow : kTensorWindow / 2;
    const auto where = [&] { return fmt::format("{}, taddr {:#x}", instruction.canonical(), address); };
    if (lane + lanes > kTensorWindow)
      return Error{Errc::tensor_memory, where(), fmt::format("lane {}", at.lane),
                   lanes == kTensorWindow ? "lane 0 of a window of 32" : "lane 0 to 16 of a window of 32"};
    out.words_ = (*move)->is_packed ? 2 : 1;
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
    for (const int t : {0, kTensorThreads - 1, 2, kTensorThreads / 2})
      for (const int r : {0, out.registers_ - 1}) {
        const std::int64_t column = cell_of((*move)->shape, t, r, split, out.words_).column;
        first = std::min(first, column);
        last = std::max(last, column);
      }
    first = at.column + first;
    last = at.column + last + out.words_ - 1;
    if (split < -kTensorColumns || split > kTensorColumns || first < 0 || last >= kTensorColumns)
      return no_columns(where(), static_cast<int>(std::max<std::int64_t>(first, -kTensorColumns)),
                        static_cast<int>(std::min<std::int64_t>(last, 2 * kTensorColumns)));
    out.first_lane_ = warp % 4 * kTensorWindow + lane;
    out.lanes_ = lanes;
    out.column_ = at.column;
    out.split_ = split;
    out.first_ = static_cast<int>(first);
    out.last_ = static_cast<int>(last);
    return out;
  }

  Result<void> check(const Instruction& instruction, const TensorMemory& memory, std::size_t registers) const {
    if (registers != as_size(kTensorThreads * registers_))
      return Error{Errc::usage, std::string(instruction.canonical()), fmt::format("{} registers", registers),
                   fmt::format("{}, {} of each thread", kTensorThreads * registers_, registers_)};
    if (memory.are_allocated(first_, last_ - first_ + 1)) return {};
    return not_allocated(memory, std::string(instruction.canonical()), first_, last_);
  }

  int registers() const { return registers_; }
  // Calls use(index of the register, lane, column) for all; the words of a packed register are at column and column + 1.
  template <class Use>
  void for_all(Use use) const {
    for (int t = 0; t < kTensorThreads; ++t)
      for (int r = 0; r < registers_; ++r) {
        const Cell cell = cell_of(move_.shape, t, r, split_, words_);
        use(as_size(t * registers_ + r), first_lane_ + static_cast<int>(cell.lane),
            column_ + static_cast<int>(cell.column));
      }
  }
  bool is_packed() const { return move_.is_packed; }
  const std::optional<RegisterMove::Reduction>& reduction() const { return move_.reduction; }

  TensorTouches touches() const {
    TensorTouches out;
    out.tensor.push_back({0, first_lane_, lanes_, first_, last_ - first_ + 1, move_.stores});
    return out;
  }

 private:
  Moved(const RegisterMove& move, int registers) : move_(move), registers_(registers) {}
  const RegisterMove& move_;
  int registers_;
  int words_ = 1, first_lane_ = 0, lanes_ = 0, column_ = 0, first_ = 0, last_ = 0;
  std::int64_t split_ = 0;
};

constexpr std::uint32_t kLow = 0xFFFF;

// ---- .red

bool is_nan(std::uint32_t f32) {
  return (f32 & 0x7FFF'FFFF) > 0x7F80'0000;
}

// Ascending as numbers, -0 before +0.
std::int64_t rank(std::uint32_t word, RegisterMove::Reduction::Type type) {
  using Type = RegisterMove::Reduction::Type;
  if (type == Type::u32) return word;
  const auto value = static_cast<std::int32_t>(word);
  if (type == Type::s32 || value >= 0) return value;
  return -std::int64_t{word & 0x7FFF'FFFF} - 1;
}

// The manual's min and max: a NaN counts only with .NaN, or if there is nothing else; it is canonical.
std::uint32_t reduce(const RegisterMove::Reduction& how, std::span<const std::uint32_t> values) {
  constexpr std::uint32_t kNan = 0x7FFF'FFFF;
  const bool is_float = how.type == RegisterMove::Reduction::Type::f32;
  std::optional<std::uint32_t> best;
  bool has_nan = false;
  for (std::uint32_t value : values) {
    if (how.absolute) value &= 0x7FFF'FFFF;
    if (is_float && is_nan(value)) {
      has_nan = true;
    } else if (!best || (rank(value, how.type) > rank(*best, how.type)) == how.max) {
      best = value;
    }
  }
  return !best || (has_nan && how.propagates_nan) ? kNan : *best;
}

// ---- tcgen05.cp

// Of the source: rows of bytes; of the destination: the lanes of row s, which are four times `step` apart or so.
struct CopyRow {
  Copy::Shape shape;
  Copy::Multicast multicast;
  int rows, bytes;
  std::array<int, 4> copies;  // lanes behind that of the first copy; -1: none
};
constexpr CopyRow kCopies[] = {
    {Copy::Shape::s128x256b, Copy::Multicast::none, 128, 32, {0, -1, -1, -1}},
    {Copy::Shape::s128x128b, Copy::Multicast::none, 128, 16, {0, -1, -1, -1}},
    {Copy::Shape::s4x256b, Copy::Multicast::none, 4, 32, {0, -1, -1, -1}},
    {Copy::Shape::s64x128b, Copy::Multicast::warpx2_02_13, 64, 16, {0, 64, -1, -1}},
    {Copy::Shape::s64x128b, Copy::Multicast::warpx2_01_23, 64, 16, {0, 32, -1, -1}},
    {Copy::Shape::s32x128b, Copy::Multicast::warpx4, 32, 16, {0, 32, 64, 96}},
};

int first_lane_of(const CopyRow& row, int s) {
  if (row.shape == Copy::Shape::s4x256b) return kTensorWindow * s;
  return row.multicast == Copy::Multicast::warpx2_01_23
             ? s / kTensorWindow * 2 * kTensorWindow + s % kTensorWindow
             : s;
}

struct PlacedCopy {
  const CopyRow* row;
  int source_bits;
  TensorAddress to;
  Descriptor from;
  DescribedMatrix matrix;
  int columns() const { return row->bytes / 4; }
};

Result<PlacedCopy> place_copy(const Instruction& instruction, std::uint32_t to, std::uint64_t from) {
  const Result<const Copy*> copy = tensor_action<Copy>(instruction, "tcgen05.cp");
  if (!copy) return copy.error();
  PlacedCopy out;
  out.row = std::ranges::find_if(kCopies, [&](const CopyRow& row) {
    return row.shape == (*copy)->shape && row.multicast == (*copy)->multicast;
  });
  out.source_bits = (*copy)->source_bits;
  out.to = TensorAddress::decode(to);
  const auto where = [&] { return fmt::format("{}, taddr {:#x}", instruction.canonical(), to); };
  int last = 0;
  for (const int behind : out.row->copies)
    last = std::max(last, behind + first_lane_of(*out.row, out.row->rows - 1));
  if (out.to.lane + last >= kTensorLanes)
    return Error{Errc::tensor_memory, where(), fmt::format("lanes {} to {}", out.to.lane, out.to.lane + last),
                 fmt::format("lanes 0 to {}", kTensorLanes - 1)};
  if (out.to.column + out.columns() > kTensorColumns)
    return no_columns(where(), out.to.column, out.to.column + out.columns() - 1);
  const Result<Descriptor> d = tensor_descriptor(fmt::format("{}, s_desc", instruction.canonical()), from);
  if (!d) return d.error();
  out.from = *d;
  out.matrix = {Major::k, 8, out.row->rows, out.row->bytes};
  return out;
}

Result<void> check_copy(const Instruction& instruction, const PlacedCopy& copy,
                        std::span<const TensorBlock> blocks) {
  if (Result<void> count = check_blocks(instruction, blocks.size()); !count) return count;
  for (const TensorBlock& block : blocks) {
    if (!block.tensor->are_allocated(copy.to.column, copy.columns()))
      return not_allocated(*block.tensor, std::string(instruction.canonical()), copy.to.column,
                           copy.to.column + copy.columns() - 1);
    if (!is_described_within(copy.from, copy.matrix, block.shared.size()))
      return Error{Errc::address_out_of_bounds, std::string(instruction.canonical()),
                   fmt::format("the bytes up to address {:#x}", described_end(copy.from, copy.matrix) - 1),
                   fmt::format("shared memory has {} bytes", block.shared.size())};
  }
  return {};
}

// Sixteen bytes as tensor memory has them.
std::array<std::byte, 16> expanded(const std::array<std::byte, 16>& from, int source_bits) {
  if (source_bits == 8) return from;
  std::array<std::uint8_t, 16> codes;
  expand_codes(from.data(), source_bits, codes.data());
  std::array<std::byte, 16> out;
  std::memcpy(out.data(), codes.data(), sizeof codes);
  return out;
}

// ---- tcgen05.shift

Result<TensorAddress> place_shift(const Instruction& instruction, std::uint32_t bits) {
  const Result<const tensor::Shift*> shift = tensor_action<tensor::Shift>(instruction, "tcgen05.shift");
  if (!shift) return shift.error();
  const TensorAddress at = TensorAddress::decode(bits);
  const auto where = [&] { return fmt::format("{}, taddr {:#x}", instruction.canonical(), bits); };
  if (at.lane % kTensorWindow != 0 || at.lane >= kTensorLanes)
    return Error{Errc::tensor_memory, where(), fmt::format("lane {}", at.lane), "lane 0, 32, 64 or 96"};
  if (at.column + kShiftedColumns > kTensorColumns)
    return no_columns(where(), at.column, at.column + kShiftedColumns - 1);
  return at;
}

}  // namespace

// The first lane of a partition takes what the second one has, and so on; the last one keeps its own.
void shift_down(TensorMemory& memory, int first_lane, int first_column) {
  for (int lane = first_lane; lane < first_lane + kTensorWindow - 1; ++lane)
    for (int column = first_column; column < first_column + kShiftedColumns; ++column)
      memory.write(lane, column, memory.read(lane + 1, column));
}

bool names_other_window(int warp, std::uint32_t address) {
  return TensorAddress::decode(address).lane / kTensorWindow != warp % 4;
}

Result<void> execute_load(const Instruction& instruction, int warp, std::uint32_t address, std::int64_t split,
                          const TensorMemory& memory, std::span<std::uint32_t> registers,
                          std::span<std::uint32_t> reduced) {
  const Result<Moved> move = Moved::make(instruction, false, warp, address, split);
  if (!move) return move.error();
  if (Result<void> checked = move->check(instruction, memory, registers.size()); !checked) return checked;
  if (reduced.size() != (move->reduction() ? as_size(kTensorThreads) : 0))
    return Error{Errc::usage, std::string(instruction.canonical()),
                 fmt::format("{} results of .red", reduced.size()), move->reduction() ? "32" : "none"};
  move->for_all([&](std::size_t at, int lane, int column) {
    registers[at] = move->is_packed() ? (memory.read(lane, column) & kLow) | memory.read(lane, column + 1) << 16
                                      : memory.read(lane, column);
  });
  const std::size_t each = as_size(move->registers());
  for (std::size_t t = 0; t < reduced.size(); ++t)
    reduced[t] = reduce(*move->reduction(), registers.subspan(t * each, each));
  return {};
}

Result<std::vector<std::size_t>> unwritten_of_load(const Instruction& instruction, int warp,
                                                   std::uint32_t address, std::int64_t split,
                                                   const TensorMemory& memory) {
  const Result<Moved> move = Moved::make(instruction, false, warp, address, split);
  if (!move) return move.error();
  std::vector<std::size_t> out;
  move->for_all([&](std::size_t at, int lane, int column) {
    if (!memory.is_written(lane, column) || (move->is_packed() && !memory.is_written(lane, column + 1)))
      out.push_back(at);
  });
  return out;
}

Result<void> execute_store(const Instruction& instruction, int warp, std::uint32_t address, std::int64_t split,
                           TensorMemory& memory, std::span<const std::uint32_t> registers) {
  const Result<Moved> move = Moved::make(instruction, true, warp, address, split);
  if (!move) return move.error();
  if (Result<void> checked = move->check(instruction, memory, registers.size()); !checked) return checked;
  move->for_all([&](std::size_t at, int lane, int column) {
    if (!move->is_packed()) return memory.write(lane, column, registers[at]);
    // What the upper halves become is open (TENSOR_MEMORY.md): they keep what they have.
    for (int word = 0; word < 2; ++word) {
      const std::uint32_t before =
          memory.is_written(lane, column + word) ? memory.read(lane, column + word) : 0;
      memory.write(lane, column + word, (before & ~kLow) | (registers[at] >> 16 * word & kLow));
    }
  });
  return {};
}

Result<TensorTouches> touches_of_move(const Instruction& instruction, int warp, std::uint32_t address,
                                      std::int64_t split) {
  const Result<const RegisterMove*> action =
      tensor_action<RegisterMove>(instruction, "tcgen05.ld or tcgen05.st");
  if (!action) return action.error();
  const Result<Moved> move = Moved::make(instruction, (*action)->stores, warp, address, split);
  if (!move) return move.error();
  return move->touches();
}

Result<void> execute_copy(const Instruction& instruction, std::uint32_t to, std::uint64_t from,
                          std::span<const TensorBlock> blocks) {
  const Result<PlacedCopy> copy = place_copy(instruction, to, from);
  if (!copy) return copy.error();
  if (Result<void> checked = check_copy(instruction, *copy, blocks); !checked) return checked;
  for (const TensorBlock& block : blocks)
    for (int s = 0; s < copy->row->rows; ++s)
      for (int byte = 0; byte < copy->row->bytes; byte += 16) {
        std::array<std::byte, 16> chunk;
        std::memcpy(chunk.data(), block.shared.data() + element_bit(copy->from, copy->matrix, s, byte) / 8,
                    chunk.size());
        chunk = expanded(chunk, copy->source_bits);
        for (const int behind : copy->row->copies) {
          if (behind < 0) continue;
          std::array<std::uint32_t, 4> words;
          std::memcpy(words.data(), chunk.data(), sizeof words);
          for (int w = 0; w < 4; ++w)
            block.tensor->write(copy->to.lane + first_lane_of(*copy->row, s) + behind,
                                copy->to.column + byte / 4 + w, words[as_size(w)]);
        }
      }
  return {};
}

Result<TensorTouches> touches_of_copy(const Instruction& instruction, std::uint32_t to, std::uint64_t from,
                                      std::span<const TensorBlock> blocks) {
  const Result<PlacedCopy> copy = place_copy(instruction, to, from);
  if (!copy) return copy.error();
  if (Result<void> checked = check_copy(instruction, *copy, blocks); !checked) return checked.error();
  TensorTouches out;
  for (int v = 0; v < static_cast<int>(blocks.size()); ++v) {
    if (copy->row->shape == Copy::Shape::s4x256b)
      for (int s = 0; s < copy->row->rows; ++s)
        out.tensor.push_back({v, copy->to.lane + kTensorWindow * s, 1, copy->to.column, copy->columns(), true});
    else
      out.tensor.push_back(
          {v, copy->to.lane, kTensorLanes - copy->to.lane, copy->to.column, copy->columns(), true});
    for (const ByteRange& range : described_ranges(copy->from, copy->matrix)) out.shared.push_back({v, range});
  }
  return out;
}

Result<void> execute_shift(const Instruction& instruction, std::uint32_t at,
                           std::span<const TensorBlock> blocks) {
  const Result<TensorAddress> place = place_shift(instruction, at);
  if (!place) return place.error();
  const Result<TensorTouches> checked = touches_of_shift(instruction, at, blocks);
  if (!checked) return checked.error();
  for (const TensorBlock& block : blocks) shift_down(*block.tensor, place->lane, place->column);
  return {};
}

Result<TensorTouches> touches_of_shift(const Instruction& instruction, std::uint32_t at,
                                       std::span<const TensorBlock> blocks) {
  const Result<TensorAddress> place = place_shift(instruction, at);
  if (!place) return place.error();
  if (Result<void> count = check_blocks(instruction, blocks.size()); !count) return count.error();
  TensorTouches out;
  for (int v = 0; v < static_cast<int>(blocks.size()); ++v) {
    if (!blocks[as_size(v)].tensor->are_allocated(place->column, kShiftedColumns))
      return not_allocated(*blocks[as_size(v)].tensor, std::string(instruction.canonical()), place->column,
                           place->column + kShiftedColumns - 1);
    for (const bool writes : {false, true})
      out.tensor.push_back({v, place->lane, kTensorWindow, place->column, kShiftedColumns, writes});
  }
  return out;
}

}  // namespace warpbit
