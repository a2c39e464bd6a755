// SPDX-License-Identifier: Apache-2.0
#include "warpbit/descriptor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace warpbit {
namespace {

constexpr std::uint32_t kChunk = 16, kFieldBytes = 1 << 18;

std::uint32_t field(std::uint64_t bits, int low) {
  return static_cast<std::uint32_t>(bits >> low & 0x3FFF) * kChunk;
}

Result<std::uint64_t> packed(std::string_view name, std::uint32_t bytes, int low) {
  if (bytes % kChunk == 0 && bytes < kFieldBytes) return std::uint64_t{bytes / kChunk} << low;
  return Error{Errc::descriptor_field, std::string(name), fmt::format("{} bytes", bytes),
               fmt::format("a multiple of {} below {}", kChunk, kFieldBytes)};
}

// Position x of the 8 x 16-byte core matrices, cut into what lies in a span and what in the next ones.
struct Chunk {
  std::uint64_t number, within;  // 16-byte chunk, bits in it
};
Chunk chunk_of(int index, int element_bits) {
  const auto bits = static_cast<std::uint64_t>(index) * static_cast<std::uint64_t>(element_bits);
  constexpr std::uint64_t kChunkBits = std::uint64_t{8} * kChunk;
  return {bits / kChunkBits, bits % kChunkBits};
}

}  // namespace

std::string name(Swizzle swizzle) {
  return swizzle == Swizzle::none ? "no swizzle" : fmt::format("{}-byte swizzle", span_bytes(swizzle));
}

int span_bytes(Swizzle swizzle) {
  constexpr int kSpans[] = {16, 128, 64, 32};
  return kSpans[static_cast<int>(swizzle)];
}

Descriptor Descriptor::decode(std::uint64_t bits) {
  return {field(bits, 0), field(bits, 16), field(bits, 32), static_cast<int>(bits >> 49 & 7),
          static_cast<Swizzle>(bits >> 62)};
}

Result<std::uint64_t> Descriptor::encode() const {
  std::uint64_t out = std::uint64_t{static_cast<std::uint8_t>(swizzle)} << 62;
  if (base_offset < 0 || base_offset > 7)
    return Error{Errc::descriptor_field, "base offset", fmt::format("{}", base_offset), "0 to 7"};
  out |= static_cast<std::uint64_t>(base_offset) << 49;
  for (const auto& part :
       {packed("start address", start, 0), packed("leading dimension byte offset", leading, 16),
        packed("stride dimension byte offset", stride, 32)}) {
    if (!part) return part.error();
    out |= *part;
  }
  return out;
}

std::uint64_t ignored_descriptor_bits(std::uint64_t descriptor) {
  constexpr std::uint64_t kFields = 0xC000'3FFF'3FFF'3FFF, kBaseOffset = std::uint64_t{7} << 49;
  const bool swizzled = Descriptor::decode(descriptor).swizzle != Swizzle::none;
  return descriptor & ~(swizzled ? kFields | kBaseOffset : kFields);
}

std::string descriptor_text(std::uint64_t descriptor) {
  const Descriptor d = Descriptor::decode(descriptor);
  const std::uint64_t ignored = ignored_descriptor_bits(descriptor);
  return fmt::format("start {:#x}, LBO {}, SBO {}, base offset {}, {}{}", d.start, d.leading, d.stride,
                     d.base_offset, name(d.swizzle), ignored ? fmt::format("; ignored: {:#x}", ignored) : "");
}

// In chunks of 16 bytes; W is the span, S the stride, L the leading offset. K-major, for a chunk along K:
//
//     (i % 8) W + (i / 8) S + (chunk % (W / 16)) 16 + (chunk / (W / 16)) L
//
// and MN-major, for a chunk along M or N, with k in place of i; without a swizzle L and S change places there.
// Then bits 4 to 6 (5, 4) of the address are exchanged by those of address / 128 - base offset.
std::uint64_t element_bit(const Descriptor& d, Major major, int element_bits, int i, int k) {
  const auto span = static_cast<std::uint64_t>(span_bytes(d.swizzle)), chunks = span / kChunk;
  const bool across = major == Major::mn;
  const Chunk chunk = chunk_of(across ? i : k, element_bits);
  const auto line = static_cast<std::uint64_t>(across ? k : i);
  const bool exchanged = across && d.swizzle == Swizzle::none;
  const std::uint32_t by_lines = exchanged ? d.leading : d.stride, by_spans = exchanged ? d.stride : d.leading;
  std::uint64_t address = d.start + line % 8 * span + line / 8 * by_lines + chunk.number % chunks * kChunk +
                          chunk.number / chunks * by_spans;
  const std::uint64_t row = address / 128 - static_cast<std::uint64_t>(d.base_offset);
  address ^= row % chunks * kChunk;
  return address * 8 + chunk.within;
}

std::uint64_t described_end(const Descriptor& d, const DescribedMatrix& m) {
  const int lines = m.major == Major::mn ? m.depth : m.lines, length = m.major == Major::mn ? m.lines : m.depth;
  std::uint64_t end = 0;
  for (int line = 0; line < lines; ++line)
    for (int at = 0; at < length; at += static_cast<int>(kChunk) * 8 / m.element_bits) {
      const std::uint64_t bit = m.major == Major::mn ? element_bit(d, m.major, m.element_bits, at, line)
                                                     : element_bit(d, m.major, m.element_bits, line, at);
      end = std::max(end, bit / 8 + kChunk);
    }
  return end;
}

}  // namespace warpbit
