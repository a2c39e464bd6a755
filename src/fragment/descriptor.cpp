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

// Of tcgen05.
constexpr int kAbsoluteBit = 52;
constexpr std::pair<int, int> kReserved[] = {{14, 15}, {30, 31}, {53, 60}};  // first and last bit

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
          (static_cast<std::uint64_t>(m.contiguous_bytes()) + ChunkMap::kChunk - 1) / ChunkMap::kChunk};
}

// Bits that so many elements take along the contiguous direction.
std::int64_t bits_along(const DescribedMatrix& m, int count) {
  return std::int64_t{count} * (m.padded ? 8 : m.element_bits);
}

int lines_of_atom(Major major, Swizzle swizzle) {
  return major == Major::mn && swizzle == Swizzle::bytes_128_atoms_32 ? kLines / 2 : kLines;
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

Descriptor Descriptor::decode(std::uint64_t bits, DescriptorForm form) {
  Descriptor out{field(bits, 0), field(bits, 16), field(bits, 32), static_cast<int>(bits >> 49 & 7),
                 static_cast<Swizzle>(bits >> 62)};
  if (form == DescriptorForm::wgmma) return out;
  if (bits >> 61 == 1) out.swizzle = Swizzle::bytes_128_atoms_32;
  out.absolute_leading = (bits >> kAbsoluteBit & 1) != 0;
  return out;
}

Result<std::uint64_t> Descriptor::encode() const {
  if (swizzle == Swizzle::bytes_128_atoms_32 || absolute_leading)
    return Error{Errc::descriptor_field, absolute_leading ? "leading dimension byte offset" : "swizzle",
                 absolute_leading ? "an absolute address" : name(swizzle), "that of a descriptor of wgmma"};
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

Result<Descriptor> Descriptor::decode_tensor(std::string_view where, std::uint64_t bits) {
  const auto refuse = [&](std::string_view name, std::string seen, std::string accepted) {
    return Error{Errc::descriptor_field, fmt::format("{} {:#x}, {}", where, bits, name), std::move(seen),
                 std::move(accepted)};
  };
  if (const std::uint64_t version = bits >> 46 & 7; version != 1)
    return refuse("bits 46-48", fmt::format("{}", version),
                  version == 0 ? "1: those of wgmma have 0 there" : "1");
  for (const auto& [low, high] : kReserved)
    if (const std::uint64_t value = bits >> low & ((std::uint64_t{1} << (high - low + 1)) - 1); value != 0)
      return refuse(fmt::format("bits {}-{}", low, high), fmt::format("{}", value), "0");
  if (const std::uint64_t mode = bits >> 61; mode % 2 != 0 && mode != 1)
    return refuse("swizzle, bits 61-63", fmt::format("{}", mode),
                  "0 (none), 1 (128 bytes in atoms of 32), 2 (128 bytes), 4 (64), 6 (32)");
  const Descriptor out = decode(bits, DescriptorForm::tcgen05);
  if (out.absolute_leading && (out.swizzle != Swizzle::bytes_128 || out.base_offset != 0))
    return refuse("LBO mode, bit 52",
                  fmt::format("1, with {}, base offset {}", name(out.swizzle), out.base_offset),
                  fmt::format("0, or {} with base offset 0", name(Swizzle::bytes_128)));
  return out;
}

Result<std::uint64_t> Descriptor::encode_tensor() const {
  Descriptor plain = *this;
  plain.absolute_leading = false;
  if (swizzle == Swizzle::bytes_128_atoms_32) plain.swizzle = Swizzle::none;
  const Result<std::uint64_t> fields = plain.encode();
  if (!fields) return fields.error();
  const std::uint64_t out = *fields | std::uint64_t{1} << 46 |
                            std::uint64_t{swizzle == Swizzle::bytes_128_atoms_32} << 61 |
                            std::uint64_t{absolute_leading} << kAbsoluteBit;
  if (const Result<Descriptor> allowed = decode_tensor("descriptor", out); !allowed) return allowed.error();
  return out;
}

std::uint64_t ignored_descriptor_bits(std::uint64_t descriptor, DescriptorForm form) {
  constexpr std::uint64_t kFields = 0xC000'3FFF'3FFF'3FFF, kBaseOffset = std::uint64_t{7} << 49;
  const bool swizzled = Descriptor::decode(descriptor, form).swizzle != Swizzle::none;
  if (form == DescriptorForm::tcgen05) return swizzled ? 0 : descriptor & kBaseOffset;
  return descriptor & ~(swizzled ? kFields | kBaseOffset : kFields);
}

std::string descriptor_text(std::uint64_t descriptor, DescriptorForm form) {
  const Descriptor d = Descriptor::decode(descriptor, form);
  const std::uint64_t ignored = ignored_descriptor_bits(descriptor, form);
  return fmt::format(
      "start {:#x}, LBO {}, SBO {}, base offset {}, {}{}", d.start,
      d.absolute_leading ? fmt::format("{:#x} (an address)", d.leading) : fmt::format("{}", d.leading),
      d.stride, d.base_offset, name(d.swizzle), ignored ? fmt::format("; ignored: {:#x}", ignored) : "");
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
  return std::span(elements_).subspan(static_cast<std::size_t>(first - elements_.begin()),
                                      static_cast<std::size_t>(last - first));
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

namespace {

// What elements the swizzle moves (PTX manual, "Strides" of both): empty if these are among them.
std::string elements_moved(const DescribedMatrix& m, Swizzle swizzle) {
  const bool wide = swizzle == Swizzle::bytes_128_atoms_32;
  if (m.padded) {
    if (m.element_bits != 4 && m.element_bits != 6) return "4 or 6 bits, which alone are padded";
  } else if (m.major == Major::k) {
    return m.element_bits < 1 || 32 % m.element_bits != 0 ? "a divisor of 32" : "";
  } else if (m.element_bits == 32) {
    return wide ? "" : "8 or 16 bits, the 128-byte swizzle of 32-byte atoms, or K-major";
  } else if (m.element_bits != 8 && m.element_bits != 16) {
    return "8, 16 or 32 bits, or K-major";
  }
  return m.major == Major::mn && wide ? "32 bits, another swizzle, or K-major" : "";
}

}  // namespace

Result<CanonicalTile> CanonicalTile::make(const DescribedMatrix& tile, Swizzle swizzle) {
  const bool mn = tile.major == Major::mn;
  const int span = span_bytes(swizzle), across = mn ? tile.depth : tile.lines,
            along = mn ? tile.lines : tile.depth, lines = lines_of_atom(tile.major, swizzle);
  const auto refuse = [&](std::string seen, std::string accepted) {
    return no_layout(tile, swizzle, std::move(seen), std::move(accepted));
  };
  if (std::string wanted = elements_moved(tile, swizzle); !wanted.empty())
    return refuse(fmt::format("{} bits", tile.element_bits), std::move(wanted));
  if (across < lines || across % lines != 0)
    return refuse(fmt::format("{} {}", across, mn ? "k" : "rows or columns"),
                  fmt::format("a multiple of {}", lines));
  const int bits = tile.padded ? 8 : tile.element_bits;
  if (along < 1 || bits_along(tile, along) % (std::int64_t{8} * span) != 0)
    return refuse(fmt::format("{} contiguous elements", along),
                  fmt::format("a multiple of {}, which fill {} bytes", 8 * span / bits, span));
  if (std::int64_t{along} * across > kAddresses * 8 / bits)
    return refuse(fmt::format("{} elements", std::int64_t{along} * across),
                  fmt::format("at most {}, which fill {} bytes", kAddresses * 8 / bits, kAddresses));
  const auto atom = static_cast<std::uint32_t>(lines * span);
  const auto rank = static_cast<std::uint32_t>(mn ? tile.contiguous_bytes() / span : across / lines) * atom;
  return CanonicalTile(tile, mn && swizzle != Swizzle::none ? Descriptor{0, atom, rank, 0, swizzle}
                                                            : Descriptor{0, rank, atom, 0, swizzle});
}

int CanonicalTile::alignment() const {
  return swizzle() == Swizzle::none ? kChunk : kLines * span_bytes(swizzle());
}

std::uint64_t CanonicalTile::element_bit(int i, int k) const {
  return warpbit::element_bit(whole_, tile_, i, k);
}

Result<std::uint32_t> CanonicalTile::step(const DescribedMatrix& part, int i, int k) const {
  const auto refuse = [&](std::string seen, std::string accepted) {
    return no_layout(tile_, swizzle(), std::move(seen), std::move(accepted));
  };
  if (part.major != tile_.major || part.element_bits != tile_.element_bits || part.padded != tile_.padded ||
      part.lines < 1 || part.depth < 1 || i < 0 || k < 0 || i > tile_.lines - part.lines ||
      k > tile_.depth - part.depth)
    return refuse(
        fmt::format("{} x {} elements of {} bits at ({}, {})", part.lines, part.depth, part.element_bits, i, k),
        "a part of the tile");
  const bool across = tile_.major == Major::mn;
  const int line = across ? k : i, span = span_bytes(swizzle()), lines = lines_of_atom(tile_.major, swizzle());
  const int begin = static_cast<int>(bits_along(tile_, across ? i : k) / 8), length = part.contiguous_bytes();
  const int chunk = swizzle() == Swizzle::bytes_128_atoms_32 ? 2 * kChunk : kChunk;
  if (line % lines != 0 || bits_along(tile_, across ? i : k) % (8 * chunk) != 0)
    return refuse(fmt::format("a part at ({}, {})", i, k),
                  fmt::format("multiples of {} and of {} bytes", lines, chunk));
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
  if (const Result<std::uint64_t> fits = out.encode_tensor(); !fits) return fits.error();
  return out;
}

}  // namespace warpbit
