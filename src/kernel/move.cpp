// SPDX-License-Identifier: Apache-2.0
#include "kernel/move.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace warpbit {
namespace {

// The lines of one move, or of lanes that must be valid though they name no line.
using LinesRead = std::vector<Effects::MemoryRead>;

std::string name_of(const Effects::MemoryRead& line, std::size_t number) {
  return line.lane == Effects::kEveryLane ? fmt::format("line {} of the tile", number)
                                          : fmt::format("lane {}", line.lane);
}

Error misaligned(std::string where, std::string what, int multiple) {
  return {Errc::address_misaligned, std::move(where), std::move(what),
          fmt::format("it must be a multiple of {} bytes", multiple)};
}

bool aligned(const Move& move, std::uint64_t address) {
  return address % static_cast<std::uint64_t>(move.alignment) == 0;
}

// PTX manual, "ldmatrix" and "stmatrix": each address is the start of a row, lane by lane; on targets that say
// so all lanes must contain valid addresses.
Result<LinesRead> row_lines(const Move& move, const MoveAddresses& at) {
  LinesRead lines;
  for (int lane = 0; lane < (move.every_lane_valid ? move.lanes : move.lines); ++lane) {
    const std::uint64_t address = at.addresses[static_cast<std::size_t>(lane)];
    if (!aligned(move, address))
      return misaligned(fmt::format("lane {}", lane), fmt::format("address {:#x}", address), move.alignment);
    lines.push_back({lane, at.space, address, static_cast<std::uint64_t>(move.line_bytes)});
  }
  return lines;
}

// PTX manual, "wmma.load", "wmma.store": undefined unless all threads use the same p and stride.
template <class T>
Result<void> check_agreement(std::string_view what, std::span<const T> values) {
  const auto other = std::ranges::find_if(values, [&](T v) { return v != values[0]; });
  if (other == values.end()) return {};
  return Error{Errc::addresses_disagree, fmt::format("lane {}", other - values.begin()),
               fmt::format("{} {:#x}, but lane 0 has {:#x}", what, *other, values[0]),
               "all lanes must give the same"};
}

// PTX manual, "Matrix Storage for WMMA" (address alignment, default value for stride) and "wmma.load" (a stride
// below the default, which is the length of a line, is undefined).
Result<LinesRead> matrix_lines(const Move& move, const MoveAddresses& at) {
  if (Result<void> same = check_agreement("address", at.addresses); !same) return same.error();
  if (!at.strides.empty())
    if (Result<void> same = check_agreement("stride", at.strides); !same) return same.error();
  const std::uint64_t first = at.addresses[0];
  const auto elements = static_cast<std::uint32_t>(move.line_elements);
  const std::uint32_t stride = at.strides.empty() ? elements : at.strides[0];
  if (stride < elements)
    return Error{Errc::undefined_operand, "stride", fmt::format("{}", stride),
                 fmt::format("{} elements, the length of a line, or more", elements)};
  if (!aligned(move, first))
    return misaligned("all lanes", fmt::format("address {:#x}", first), move.alignment);
  const std::uint64_t bits = std::uint64_t{stride} * static_cast<std::uint64_t>(move.element_bits);
  // In bits, so that a stride of half a byte is misaligned too.
  if (bits % (8 * static_cast<std::uint64_t>(move.stride_multiple)) != 0)
    return misaligned("stride", fmt::format("{} elements of {} bits", stride, move.element_bits),
                      move.stride_multiple);

  LinesRead lines;
  for (int i = 0; i < move.lines; ++i) {
    const std::uint64_t offset = static_cast<std::uint64_t>(i) * (bits / 8);
    if (offset > ~first)
      return Error{Errc::address_out_of_bounds, fmt::format("line {} of the tile", i),
                   fmt::format("{} bytes from {:#x} + {:#x}", move.line_bytes, first, offset),
                   "addresses have 64 bits"};
    lines.push_back(
        {Effects::kEveryLane, at.space, first + offset, static_cast<std::uint64_t>(move.line_bytes)});
  }
  return lines;
}

// PTX manual, "ldmatrix" and "stmatrix": a generic address outside the shared window is undefined.
Result<void> check_window(const Memory& memory, const Effects::MemoryRead& line, std::size_t number) {
  const std::uint64_t size = memory.shared_bytes();
  if (line.address - memory.window() < size) return {};
  return Error{
      Errc::address_not_shared, name_of(line, number), fmt::format("generic address {:#x}", line.address),
      size == 0 ? "there is none" : fmt::format("it begins at {:#x} and has {} bytes", memory.window(), size)};
}

// The lines with the bytes they hold now, one after the other.
Result<LinesRead> checked_lines(const Move& move, const MoveAddresses& at, const Memory& memory,
                                std::vector<std::byte>& bytes) {
  Result<LinesRead> lines = move.addressing == Addressing::rows ? row_lines(move, at) : matrix_lines(move, at);
  if (!lines) return lines;
  const auto line_bytes = static_cast<std::size_t>(move.line_bytes);
  bytes.resize(lines->size() * line_bytes);
  for (std::size_t i = 0; i < lines->size(); ++i) {
    const Effects::MemoryRead& line = (*lines)[i];
    if (move.shared_only && at.space == Space::generic)
      if (Result<void> shared = check_window(memory, line, i); !shared) return shared.error();
    if (Result<void> done =
            memory.read(at.space, line.address, std::span(bytes).subspan(i * line_bytes, line_bytes));
        !done) {
      Error error = done.error();
      error.where = name_of(line, i);
      if (i > 0 && !at.strides.empty())
        error.where += fmt::format(", {} elements from line to line", at.strides[0]);
      return error;
    }
  }
  lines->resize(static_cast<std::size_t>(move.lines));
  return lines;
}

// `bytes`: those of the lines, one after the other. Lines that overlap have the same ones there: all have one length, so that those
// beside each other tell.
Result<void> check_overlap(const LinesRead& lines, std::span<const std::byte> bytes) {
  std::vector<std::size_t> order(lines.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return lines[i].address; });
  for (std::size_t n = 1; n < order.size(); ++n) {
    const std::size_t first = std::min(order[n - 1], order[n]), second = std::max(order[n - 1], order[n]);
    const Effects::MemoryRead &before = lines[order[n - 1]], &after = lines[order[n]];
    const std::uint64_t apart = after.address - before.address;
    if (apart >= before.bytes) continue;
    const auto own = [&](std::size_t i) { return bytes.subspan(i * before.bytes, before.bytes); };
    const auto earlier = own(order[n - 1]).subspan(apart), later = own(order[n]).first(earlier.size());
    const auto [one, other] = std::ranges::mismatch(earlier, later);
    if (one != earlier.end())
      return Error{Errc::stores_overlap, name_of(lines[second], second),
                   fmt::format("it stores another value to {:#x} than {}",
                               after.address + static_cast<std::uint64_t>(one - earlier.begin()),
                               name_of(lines[first], first)),
                   "lines of a store may overlap where they have the same bytes"};
  }
  return {};
}

std::uint64_t mask(int bits) {
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

std::size_t cell(const Move& move, const RegisterBits& bits) {
  return static_cast<std::size_t>(bits.lane) * static_cast<std::size_t>(move.registers) +
         static_cast<std::size_t>(bits.reg);
}

// `bits` bits from bit number `from` on. An element ends within eight bytes of the byte where it begins.
std::uint64_t extract(std::span<const std::byte> bytes, std::size_t from, int bits) {
  std::uint64_t word = 0;
  std::memcpy(&word, &bytes[from / 8], std::min<std::size_t>(sizeof word, bytes.size() - from / 8));
  return (word >> (from % 8)) & mask(bits);
}

std::size_t bit_of(const Move& move, const MoveElement& e) {
  return static_cast<std::size_t>(e.line) * static_cast<std::size_t>(move.line_bytes) * 8 +
         static_cast<std::size_t>(e.position) * static_cast<std::size_t>(move.element_bits);
}

}  // namespace

Result<std::vector<Effects::MemoryRead>> load_matrix(const Move& move, const MoveAddresses& from,
                                                     const Memory& memory, std::span<std::uint64_t> registers) {
  std::vector<std::byte> bytes;
  Result<LinesRead> lines = checked_lines(move, from, memory, bytes);
  if (!lines) return lines;
  std::ranges::fill(registers, 0);
  // 0b1000 ^ 0b1000 - 0b1000: from a sign in bit 3 to one above.
  const std::uint64_t sign = move.extended_bits > 0 ? std::uint64_t{1} << (move.element_bits - 1) : 0;
  const std::uint64_t kept = mask(std::max(move.extended_bits, move.element_bits));
  for (const MoveElement& e : move.elements) {
    const std::uint64_t code = extract(bytes, bit_of(move, e), move.element_bits);
    registers[cell(move, e.bits)] |= (((code ^ sign) - sign) & kept) << e.bits.low_bit;
  }
  return lines;
}

Result<std::vector<Effects::MemoryWrite>> store_matrix(const Move& move, const MoveAddresses& to,
                                                       const Memory& memory,
                                                       std::span<const std::uint64_t> registers) {
  std::vector<std::byte> bytes;
  Result<LinesRead> lines = checked_lines(move, to, memory, bytes);
  if (!lines) return lines.error();
  for (const MoveElement& e : move.elements) {
    const std::uint64_t code = registers[cell(move, e.bits)] >> e.bits.low_bit;
    std::memcpy(&bytes[bit_of(move, e) / 8], &code, static_cast<std::size_t>(move.element_bits / 8));
  }
  if (Result<void> apart = check_overlap(*lines, bytes); !apart) return apart.error();
  std::vector<Effects::MemoryWrite> writes;
  for (std::size_t i = 0; i < lines->size(); ++i) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(i) * move.line_bytes;
    writes.push_back({(*lines)[i].lane, to.space, (*lines)[i].address, {begin, begin + move.line_bytes}});
  }
  return writes;
}

}  // namespace warpbit
