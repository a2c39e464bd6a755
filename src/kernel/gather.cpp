// SPDX-License-Identifier: Apache-2.0
#include "kernel/gather.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace warpbit {
namespace {

// Whether the elements lie in runs of `bytes` bytes.
bool lie_in_runs(std::span<const GatheredElement> elements, int element_bytes, int bytes) {
  const auto count = static_cast<std::size_t>(bytes / element_bytes);
  if (count == 0 || elements.size() % count != 0) return false;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const GatheredElement& first = elements[i - i % count];
    const int offset = static_cast<int>(i % count) * element_bytes;
    if (elements[i].in_operand != first.in_operand + static_cast<std::uint32_t>(offset) ||
        elements[i].in_panel != first.in_panel + offset)
      return false;
  }
  return true;
}

int lane_bytes_of(const TileRegisters& registers) {
  return registers.count * registers.bits / 8;
}

// Where an item, or the one that holds an element, lies in the registers.
std::uint32_t byte_of(const TileRegisters& registers, const RegisterBits& at, int bytes) {
  return static_cast<std::uint32_t>(at.lane * lane_bytes_of(registers) + at.reg * registers.bits / 8 +
                                    at.low_bit / (8 * bytes) * bytes);
}

// Whether elements that begin where an item does fill it.
bool fill_item(Places elements, int item_bits) {
  const RegisterBits& first = elements.front();
  if (first.low_bit % item_bits != 0) return false;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const RegisterBits& at = elements[i];
    if (at.lane != first.lane || at.reg != first.reg ||
        at.low_bit != first.low_bit + static_cast<int>(i) * first.bits)
      return false;
  }
  return true;
}

}  // namespace

Gather::Gather(std::span<const GatheredElement> elements, int element_bytes, int lane_bytes,
               int operand_lane_bytes)
    : run_bytes_(element_bytes) {
  for (const int bytes : {2, 4, 8, 16})
    if (lie_in_runs(elements, element_bytes, bytes)) run_bytes_ = bytes;
  for (std::size_t i = 0; i < elements.size(); i += static_cast<std::size_t>(run_bytes_ / element_bytes))
    runs_.push_back(elements[i]);
  for (std::size_t i = 0; i < runs_.size(); ++i)
    has_gaps_ = has_gaps_ || runs_[i].in_panel != i * static_cast<std::size_t>(run_bytes_);
  const auto first = static_cast<int>(runs_.front().in_operand);
  const bool is_in_place = std::ranges::all_of(runs_, [=](const GatheredElement& run) {
    return static_cast<int>(run.in_operand) ==
           first + run.in_panel / lane_bytes * operand_lane_bytes + run.in_panel % lane_bytes;
  });
  if (!has_gaps_ && is_in_place) place_ = static_cast<std::size_t>(first);
}

template <class Move>
void Gather::for_each_run(Move move) const {
  const auto all = [&]<std::size_t kBytes>(std::integral_constant<std::size_t, kBytes> bytes) {
    if (has_gaps_)
      for (const GatheredElement& run : runs_) move(bytes, run, run.in_panel);
    else
      for (std::size_t at = 0; const GatheredElement& run : runs_) move(bytes, run, at), at += kBytes;
  };
  switch (run_bytes_) {
    case 1: return all(std::integral_constant<std::size_t, 1>{});
    case 2: return all(std::integral_constant<std::size_t, 2>{});
    case 4: return all(std::integral_constant<std::size_t, 4>{});
    case 8: return all(std::integral_constant<std::size_t, 8>{});
    default: return all(std::integral_constant<std::size_t, 16>{});
  }
}

void Gather::to_panel(const std::byte* registers, std::byte* panel) const {
  for_each_run([=](auto bytes, const GatheredElement& run, std::size_t at) {
    std::memcpy(panel + at, registers + run.in_operand, bytes);
  });
}

void Gather::to_registers(const std::byte* panel, std::byte* registers) const {
  for_each_run([=](auto bytes, const GatheredElement& run, std::size_t at) {
    std::memcpy(registers + run.in_operand, panel + at, bytes);
  });
}

std::optional<Gather> gather_lines(const TileOperand& factor, int first_line, int rows, int length,
                                   const WordLayout& layout) {
  const auto& [word_bytes, item_bytes, together, units] = layout;
  const int in_word = word_bytes / item_bytes, which_count = rows == 0 ? 1 : 2;
  const int lanes = rows == 0 ? 32 : 2 * rows, words = lanes * units * which_count;
  std::vector<GatheredElement> out;
  for (int word = 0; word < words; ++word)
    for (int item = 0; item < in_word; ++item) {
      const int which = word % which_count, unit = word / which_count % units,
                lane = word / which_count / units;
      const int line = rows == 0 ? lane / 4 : row_of_pair(lane / 4, which, rows);
      const int k = ((4 * unit + lane % 4) * in_word + item) * together;
      if (k >= length) continue;
      const Places elements = factor.places.subspan(static_cast<std::size_t>((first_line + line) * length + k),
                                                    static_cast<std::size_t>(together));
      if (together > 1 && !fill_item(elements, 8 * item_bytes)) return std::nullopt;
      out.push_back({byte_of(factor.registers, elements.front(), item_bytes),
                     static_cast<std::uint16_t>(word * word_bytes + item * item_bytes)});
    }
  const int lane_bytes = layout.lane_bytes(rows != 0);
  return Gather(out, item_bytes, lane_bytes, lane_bytes);  // the bodies take no gaps in lines
}

Gather gather_sums(const Tile& t, const TileOperand& operand, const TilePart& part, int rows, bool exchanged) {
  const int bytes = operand.format->bits / 8;
  std::vector<GatheredElement> out;
  for (int i = 0; i < rows * kBlock / 2; ++i) {
    int row = row_of_pair(i / kBlock, i / 2 % 2, rows), column = i / 4 % 4 * 2 + i % 2;
    if (exchanged) std::swap(row, column);
    const int at = (part.product * t.rows + part.row + row) * t.columns + part.column + column;
    out.push_back({byte_of(operand.registers, operand.places[static_cast<std::size_t>(at)], bytes),
                   static_cast<std::uint16_t>(i * bytes)});
  }
  return {out, bytes, 4 * bytes, lane_bytes_of(operand.registers)};
}

}  // namespace warpbit
