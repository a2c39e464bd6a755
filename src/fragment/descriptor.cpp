// SPDX-License-Identifier: Apache-2.0
#include "warpbit/descriptor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace warpbit {
namespace {

constexpr std::uint32_t kUnit = ChunkMap::kChunk, kFieldBytes = 1 << 18;

std::uint32_t field(std::uint64_t bits, int low) {
  return static_cast<std::uint32_t>(bits >> low & 0x3FFF) * kUnit;
}

Result<std::uint64_t> packed(std::string_view name, std::uint32_t bytes, int low) {
  if (bytes % kUnit == 0 && bytes < kFieldBytes) return std::uint64_t{bytes / kUnit} << low;
  return Error{Errc::descriptor_field, std::string(name), fmt::format("{} bytes", bytes),
               fmt::format("a multiple of {} below {}", kUnit, kFieldBytes)};
}

// The 16-byte chunk of element `index` of a line, and its bit in there.
struct Chunk {
  std::uint64_t number, within;
};
Chunk chunk_of(int index, int element_bits) {
  const auto bits = static_cast<std::uint64_t>(index) * static_cast<std::uint64_t>(element_bits);
  constexpr std::uint64_t kChunkBits = std::uint64_t{8} * kUnit;
  return {bits / kChunkBits, bits % kChunkBits};
}

struct Chunks {
  std::uint64_t lines, chunks;  // per line
};
Chunks chunks_of(const DescribedMatrix& m) {
  return {static_cast<std::uint64_t>(m.major == Major::mn ? m.depth : m.lines),
          static_cast<std::uint64_t>(m.contiguous_bytes()) / ChunkMap::kChunk};
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

std::uint64_t element_bit(const Descriptor& d, Major major, int element_bits, int i, int k) {
  const bool across = major == Major::mn;
  const Chunk chunk = chunk_of(across ? i : k, element_bits);
  return ChunkMap(d, major)(static_cast<std::uint64_t>(across ? k : i), chunk.number) * 8 + chunk.within;
}

std::uint64_t described_end(const Descriptor& d, const DescribedMatrix& m) {
  const ChunkMap at(d, m.major);
  const auto [lines, chunks] = chunks_of(m);
  std::uint64_t end = 0;
  for (std::uint64_t line = 0; line < lines; ++line)
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk)
      end = std::max(end, at(line, chunk) + ChunkMap::kChunk);
  return end;
}

bool is_described_within(const Descriptor& d, const DescribedMatrix& m, std::uint64_t bytes) {
  const auto [lines, chunks] = chunks_of(m);
  return ChunkMap(d, m.major).bound(lines, chunks) <= bytes || described_end(d, m) <= bytes;
}

}  // namespace warpbit
