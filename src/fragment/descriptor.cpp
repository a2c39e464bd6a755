// SPDX-License-Identifier: Apache-2.0
#include "warpbit/descriptor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace warpbit {
namespace {

constexpr std::uint32_t kUnit = ChunkMap::kChunk, kFieldBytes = 1 << 18;
constexpr int kLines = 8;   // of an atom
constexpr int kChunk = 16;  // bytes that stay together
constexpr int kRow = 128;   // bytes after which the swizzle changes
constexpr std::int64_t kAddresses = kFieldBytes;

std::uint32_t field(std::uint64_t bits, int low) {
  return static_cast<std::uint32_t>(bits >> low & 0x3FFF) * kUnit;
}

Result<std::uint64_t> packed(std::string_view name, std::uint32_t bytes, int low) {
  if (bytes % kUnit == 0 && bytes < kFieldBytes) return std::uint64_t{bytes / kUnit} << low;
  return Error{Errc::descriptor_field, std::string(name), fmt::format("{} bytes", bytes),
               fmt::format("a multiple of {} below {}", kUnit, kFieldBytes)};
}

// The lines of a matrix, and the chunks of each.
std::pair<std::uint64_t, std::uint64_t> chunks_of(const DescribedMatrix& m) {
  return {static_cast<std::uint64_t>(m.major == Major::mn ? m.depth : m.lines),
          static_cast<std::uint64_t>(m.contiguous_bytes()) / ChunkMap::kChunk};
}

// Appends bits to ascending ranges of bytes.
void add(std::vector<ByteRange>& ranges, std::uint64_t bit, std::uint64_t bits) {
  const std::uint64_t first = bit / 8, last = (bit + bits - 1) / 8;
  if (!ranges.empty() && first <= ranges.back().last + 1)
    ranges.back().last = std::max(ranges.back().last, last);
  else
    ranges.push_back({first, last});
}

Error no_layout(const DescribedMatrix& m, Swizzle swizzle, std::string seen, std::string accepted) {
  return {Errc::no_such_layout,
          fmt::format("{}-major layout, {}, {} x {} elements of {} bits", m.major == Major::mn ? "MN" : "K",
                      name(swizzle), m.lines, m.depth, m.element_bits),
          std::move(seen), std::move(accepted)};
}

}  // namespace

std::string name(Swizzle swizzle) {
  if (swizzle == Swizzle::none) return "no swizzle";
  return fmt::format("{}-byte swizzle{}", span_bytes(swizzle),
                     swizzle == Swizzle::bytes_128_atoms_32 ? " of 32-byte atoms" : "");
}

int span_bytes(Swizzle swizzle) {
  constexpr int kSpans[] = {16, 128, 64, 32, 128};
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

// ---- Those of tcgen05

namespace {

constexpr int kAbsoluteBit = 52;
constexpr std::uint64_t kVersion = std::uint64_t{1} << 46;
constexpr std::uint64_t kZeros = std::uint64_t{3} << 14 | std::uint64_t{3} << 30 | std::uint64_t{0xFF} << 53;
constexpr std::string_view kSwizzleCodes =
    "0 (none), 1 (128 bytes in atoms of 32), 2 (128 bytes), 4 (64), 6 (32)";

}  // namespace

Result<Descriptor> Descriptor::decode_tensor(std::string_view where, std::uint64_t bits) {
  const auto refuse = [&](std::string_view name, std::string seen, std::string accepted) {
    return Error{Errc::descriptor_field, fmt::format("{} {:#x}, {}", where, bits, name), std::move(seen),
                 std::move(accepted)};
  };
  const std::uint64_t version = bits >> 46 & 7, swizzle = bits >> 61;
  if (version != 1)
    return refuse("bits 46-48", fmt::format("{}", version),
                  "1: a descriptor of tcgen05; those of wgmma have 0 here");
  if ((bits & kZeros) != 0)
    return refuse("bits 14-15, 30-31 and 53-60", fmt::format("{:#x}", bits & kZeros), "0");
  if (swizzle % 2 != 0 && swizzle != 1)
    return refuse("swizzle, bits 61-63", fmt::format("{}", swizzle), std::string(kSwizzleCodes));
  Descriptor out = decode(bits);
  if (swizzle == 1) out.swizzle = Swizzle::bytes_128_atoms_32;
  out.absolute_leading = (bits >> kAbsoluteBit & 1) != 0;
  if (out.absolute_leading && (out.swizzle != Swizzle::bytes_128 || out.base_offset != 0))
    return refuse("bit 52", "1, an absolute leading offset",
                  "0, or a 128-byte swizzle with a base offset of 0");
  return out;
}

Result<std::uint64_t> Descriptor::encode_tensor() const {
  Descriptor plain = *this;
  if (swizzle == Swizzle::bytes_128_atoms_32) plain.swizzle = Swizzle::none;
  const Result<std::uint64_t> bits = plain.encode();
  if (!bits) return bits.error();
  return *bits | kVersion | std::uint64_t{swizzle == Swizzle::bytes_128_atoms_32} << 61 |
         std::uint64_t{absolute_leading} << kAbsoluteBit;
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
  const auto bit = static_cast<std::uint64_t>(across ? i : k) * static_cast<std::uint64_t>(element_bits);
  constexpr std::uint64_t kChunkBits = 8 * ChunkMap::kChunk;
  return ChunkMap(d, major)(static_cast<std::uint64_t>(across ? k : i), bit / kChunkBits) * 8 +
         bit % kChunkBits;
}

std::uint64_t element_bit(const Descriptor& d, const DescribedMatrix& m, int i, int k) {
  if (!m.padded) return element_bit(d, m.major, m.element_bits, i, k);
  const bool across = m.major == Major::mn;
  const int along = across ? i : k, line = across ? k : i;
  return ChunkMap(d, m.major)(static_cast<std::uint64_t>(line), static_cast<std::uint64_t>(along / kChunk)) *
             8 +
         static_cast<std::uint64_t>(along % kChunk * m.element_bits);
}

std::uint64_t described_end(const Descriptor& d, const DescribedMatrix& m) {
  const ChunkMap at(d, m.major);
  const auto [lines, chunks] = chunks_of(m);
  const std::optional<std::uint64_t> step = lines % 8 == 0 ? at.eight_lines() : std::nullopt;
  std::uint64_t end = 0;
  for (std::uint64_t line = step ? lines - 8 : 0; line < lines; ++line)
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk)
      end = std::max(end, at(line, chunk) + ChunkMap::kChunk);
  return end;
}

bool is_described_within(const Descriptor& d, const DescribedMatrix& m, std::uint64_t bytes) {
  const auto [lines, chunks] = chunks_of(m);
  return ChunkMap(d, m.major).bound(lines, chunks) <= bytes || described_end(d, m) <= bytes;
}

// ---- Whole matrices

DescriptorMap::DescriptorMap(const Descriptor& descriptor, const DescribedMatrix& matrix)
    : element_bits_(static_cast<std::uint64_t>(matrix.element_bits)) {
  for (int i = 0; i < matrix.lines; ++i)
    for (int k = 0; k < matrix.depth; ++k) elements_.push_back({element_bit(descriptor, matrix, i, k), i, k});
  std::ranges::sort(elements_, {}, [](const Element& e) { return std::tuple(e.bit, e.i, e.k); });
}

std::span<const DescriptorMap::Element> DescriptorMap::at(std::uint64_t first_bit, std::uint64_t bits) const {
  const auto first = std::ranges::partition_point(
      elements_, [&](const Element& e) { return e.bit + element_bits_ <= first_bit; });
  const auto last = std::ranges::partition_point(first, elements_.end(),
                                                 [&](const Element& e) { return e.bit < first_bit + bits; });
  return {first, last};
}

std::vector<ByteRange> DescriptorMap::ranges() const {
  std::vector<ByteRange> out;
  for (const Element& e : elements_) add(out, e.bit, element_bits_);
  return out;
}

std::vector<ByteRange> DescriptorMap::shared_ranges() const {
  std::vector<ByteRange> out;
  for (std::size_t n = 1; n < elements_.size(); ++n)
    if (elements_[n].bit == elements_[n - 1].bit) add(out, elements_[n].bit, element_bits_);
  return out;
}

Result<CanonicalTile> CanonicalTile::make(const DescribedMatrix& tile, Swizzle swizzle) {
  const bool mn = tile.major == Major::mn;
  const int span = span_bytes(swizzle), across = mn ? tile.depth : tile.lines,
            along = mn ? tile.lines : tile.depth;
  const auto refuse = [&](std::string seen, std::string accepted) {
    return no_layout(tile, swizzle, std::move(seen), std::move(accepted));
  };
  if (mn ? tile.element_bits != 16 : tile.element_bits < 1 || 32 % tile.element_bits != 0)
    return refuse(fmt::format("{} bits", tile.element_bits), mn ? "16 bits, or K-major" : "a divisor of 32");
  if (across < kLines || across % kLines != 0)
    return refuse(fmt::format("{} {}", across, mn ? "k" : "rows or columns"),
                  fmt::format("a multiple of {}", kLines));
  if (along < 1 || std::int64_t{along} * tile.element_bits % (std::int64_t{8} * span) != 0)
    return refuse(fmt::format("{} contiguous elements", along),
                  fmt::format("a multiple of {}, which fill {} bytes", 8 * span / tile.element_bits, span));
  if (std::int64_t{along} * across > kAddresses * 8 / tile.element_bits)
    return refuse(
        fmt::format("{} elements", std::int64_t{along} * across),
        fmt::format("at most {}, which fill {} bytes", kAddresses * 8 / tile.element_bits, kAddresses));
  const auto atom = static_cast<std::uint32_t>(kLines * span);
  const auto rank = static_cast<std::uint32_t>(mn ? tile.contiguous_bytes() / span : across / kLines) * atom;
  return CanonicalTile(tile, mn && swizzle != Swizzle::none ? Descriptor{0, atom, rank, 0, swizzle}
                                                            : Descriptor{0, rank, atom, 0, swizzle});
}

int CanonicalTile::alignment() const {
  return swizzle() == Swizzle::none ? kChunk : kLines * span_bytes(swizzle());
}

std::uint64_t CanonicalTile::element_bit(int i, int k) const {
  return warpbit::element_bit(whole_, tile_.major, tile_.element_bits, i, k);
}

Result<std::uint32_t> CanonicalTile::step(const DescribedMatrix& part, int i, int k) const {
  const auto refuse = [&](std::string seen, std::string accepted) {
    return no_layout(tile_, swizzle(), std::move(seen), std::move(accepted));
  };
  if (part.major != tile_.major || part.element_bits != tile_.element_bits || part.lines < 1 ||
      part.depth < 1 || i < 0 || k < 0 || i > tile_.lines - part.lines || k > tile_.depth - part.depth)
    return refuse(
        fmt::format("{} x {} elements of {} bits at ({}, {})", part.lines, part.depth, part.element_bits, i, k),
        "a part of the tile");
  const bool across = tile_.major == Major::mn;
  const int line = across ? k : i, span = span_bytes(swizzle());
  const int begin = (across ? i : k) * tile_.element_bits / 8, length = part.contiguous_bytes();
  if (line % kLines != 0 || (across ? i : k) * tile_.element_bits % (8 * kChunk) != 0)
    return refuse(fmt::format("a part at ({}, {})", i, k),
                  fmt::format("multiples of {} and of {} bytes", kLines, kChunk));
  if (begin % span != 0 && begin % span + length > span)
    return refuse(fmt::format("a part of {} bytes at byte {} of a span", length, begin % span),
                  fmt::format("one that ends with the {} bytes of the span, or begins with a span", span));
  return static_cast<std::uint32_t>(element_bit(i, k) / 8);  // the swizzle keeps the first line of an atom
}

Result<Descriptor> CanonicalTile::descriptor(std::uint32_t start, const DescribedMatrix& part, int i,
                                             int k) const {
  const Result<std::uint32_t> added = step(part, i, k);
  if (!added) return added.error();
  const bool swizzled = swizzle() != Swizzle::none;
  if (const std::uint32_t multiple = swizzled ? kRow : kChunk; start % multiple != 0)
    return Error{Errc::address_misaligned, name(swizzle()), fmt::format("a start of {:#x}", start),
                 fmt::format("it must be a multiple of {}", multiple)};
  Descriptor out = whole_;
  out.start = start + *added;
  out.base_offset = static_cast<int>(start % static_cast<std::uint32_t>(alignment()) / kRow);
  // Unused; the manual's value.
  if (swizzled && tile_.major == Major::k && part.contiguous_bytes() <= span_bytes(swizzle()))
    out.leading = kChunk;
  if (const Result<std::uint64_t> fits = out.encode(); !fits) return fits.error();
  return out;
}

}  // namespace warpbit
