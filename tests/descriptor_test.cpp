// SPDX-License-Identifier: Apache-2.0
// Matrix descriptors: a second, naive statement of where elements lie, the laws of their maps over all forms,
// the canonical layouts through whole multiplications, and the findings of the check.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "descriptor_formulas.hpp"
#include "in_turn.hpp"
#include "kernel/described.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/machine.hpp"

namespace descriptor_test {

using namespace warpbit;

constexpr Swizzle kSwizzles[] = {Swizzle::none, Swizzle::bytes_32, Swizzle::bytes_64, Swizzle::bytes_128};

// ---- The map of addresses

TEST_CASE("an element lies where the measured formulas say", "[descriptor]") {
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  struct Operand {
    std::uint64_t bits, depth;
    bool mn, sparse_b;
  };
  std::vector<Operand> operands = {{16, 16, true, false}, {16, 32, true, true}};
  for (const std::uint64_t bits : {1u, 8u, 16u, 32u}) {
    operands.push_back({bits, 256 / bits, false, false});
    if (bits > 1) operands.push_back({bits, 512 / bits, false, true});
  }
  std::uint64_t different = 0;
  for (const Operand& o : operands)
    for (const Swizzle swizzle : kSwizzles)
      for (int run = 0; run < 2000; ++run) {
        const formulas::Described d{16 * below(1 << 14), 16 * below(1 << 14), 16 * below(1 << 14), below(8),
                                    static_cast<std::uint64_t>(span_bytes(swizzle))};
        const std::uint64_t i = below(256), k = below(o.depth);
        const std::uint64_t expected = formulas::described_bit(d, o.mn, o.sparse_b, o.bits, i, k);
        const Descriptor descriptor{static_cast<std::uint32_t>(d.start), static_cast<std::uint32_t>(d.lbo),
                                    static_cast<std::uint32_t>(d.sbo), static_cast<int>(d.base_offset),
                                    swizzle};
        different += element_bit(descriptor, o.mn ? Major::mn : Major::k, static_cast<int>(o.bits),
                                 static_cast<int>(i), static_cast<int>(k)) != expected;
      }
  CHECK(different == 0);
}

TEST_CASE("no element is too far for an address", "[descriptor]") {
  constexpr int kFar = std::numeric_limits<int>::max();
  const Descriptor d{16, 32, 48, 0, Swizzle::none};
  CHECK(element_bit(d, Major::k, 16, 0, kFar) ==
        8 * (16 + std::uint64_t{kFar} / 8 * 32) + std::uint64_t{kFar} % 8 * 16);
  CHECK(element_bit(d, Major::k, 8, kFar, 0) ==
        8 * (16 + std::uint64_t{kFar} % 8 * 16 + std::uint64_t{kFar} / 8 * 48));
}

// ---- Fields

TEST_CASE("a descriptor survives decoding and encoding; what is ignored does not", "[descriptor]") {
  std::mt19937_64 random(2);
  for (int run = 0; run < 10000; ++run) {
    const std::uint64_t bits = random();
    const Descriptor d = Descriptor::decode(bits);
    const std::uint64_t fields = bits & 0xC00E'3FFF'3FFF'3FFF;
    const Result<std::uint64_t> encoded = d.encode();
    REQUIRE(encoded.ok());
    REQUIRE(*encoded == fields);
    REQUIRE(Descriptor::decode(fields) == d);
    const bool swizzled = bits >> 62 != 0;
    REQUIRE(ignored_descriptor_bits(bits) ==
            (bits & (swizzled ? 0x3FF1'C000'C000'C000 : 0x3FFF'C000'C000'C000)));
  }
  const Descriptor d = Descriptor::decode(0x400E'0040'0001'0040);
  CHECK(d == Descriptor{0x400, 16, 1024, 7, Swizzle::bytes_128});
}

TEST_CASE("what a field cannot hold is refused by name", "[descriptor]") {
  const auto message = [](const Descriptor& d) {
    const Result<std::uint64_t> encoded = d.encode();
    REQUIRE(!encoded.ok());
    CHECK(encoded.error().code == Errc::descriptor_field);
    return encoded.error().message();
  };
  CHECK(message({8, 0, 0, 0, Swizzle::none}) ==
        "start address: 8 bytes; expected a multiple of 16 below 262144");
  CHECK(message({0, 1 << 18, 0, 0, Swizzle::none}) ==
        "leading dimension byte offset: 262144 bytes; expected a multiple of 16 below 262144");
  CHECK(message({0, 0, 17, 0, Swizzle::none}) ==
        "stride dimension byte offset: 17 bytes; expected a multiple of 16 below 262144");
  CHECK(message({0, 0, 0, 8, Swizzle::none}) == "base offset: 8; expected 0 to 7");
  CHECK(message({0, 0, 0, -1, Swizzle::none}) == "base offset: -1; expected 0 to 7");
}

TEST_CASE("a descriptor is printed in one line", "[descriptor]") {
  CHECK(descriptor_text(0x4000'0040'0001'0040) ==
        "start 0x400, LBO 16, SBO 1024, base offset 0, 128-byte swizzle");
  CHECK(descriptor_text(0x8002'0020'0000'0001) == "start 0x10, LBO 0, SBO 512, base offset 1, 64-byte swizzle");
  CHECK(descriptor_text(0xC000'4010'0001'4000) ==
        "start 0x0, LBO 16, SBO 256, base offset 0, 32-byte swizzle; ignored: 0x400000004000");
  CHECK(descriptor_text(0x0002'0008'0010'0000) ==
        "start 0x0, LBO 256, SBO 128, base offset 1, no swizzle; ignored: 0x2000000000000");
}

// ---- Forms and their operands

struct Words {
  int n = 0, k = 0, bits = 0;
  bool sparse = false;
};

Words words_of(const std::string& canonical) {
  Words out;
  out.sparse = canonical.find(".sp.") != std::string::npos;
  REQUIRE(std::sscanf(canonical.c_str() + canonical.find(".m64n") + 5, "%dk%d", &out.n, &out.k) == 2);
  const std::map<std::string, int> bits = {{"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"e4m3", 8},
                                           {"e5m2", 8}, {"s8", 8},    {"u8", 8},    {"b1", 1}};
  const std::string head =
      canonical.ends_with(".and.popc") ? canonical.substr(0, canonical.size() - 9) : canonical;
  out.bits = bits.at(head.substr(head.rfind('.') + 1));
  return out;
}

std::vector<std::string> wgmma_forms() {
  std::set<std::string> out;  // A in registers or not: one text
  for (const FormInfo& form : forms())
    if (form.family == "wgmma" || form.family == "wgmma.sp") out.insert(form.canonical);
  REQUIRE(out.size() > 500);
  return {out.begin(), out.end()};
}

// One of each kind that the forms have.
std::vector<DescribedMatrix> all_matrices() {
  using Key = std::tuple<bool, int, int, int>;
  std::map<Key, DescribedMatrix> out;
  const Target target = *Target::find("sm_90a");
  for (const std::string& form : wgmma_forms()) {
    INFO(form);
    const Result<Instruction> instruction = Instruction::parse(form, target);
    REQUIRE(instruction.ok());
    const Words w = words_of(form);
    for (const Part factor : {Part::a, Part::b}) {
      const bool left = factor == Part::a;
      for (const bool transposed : {false, true}) {
        const Result<DescribedMatrix> matrix = described_matrix(*instruction, factor, transposed);
        REQUIRE(matrix.ok() == (!transposed || w.bits == 16));
        if (!matrix) continue;
        REQUIRE(*matrix == DescribedMatrix{transposed ? Major::mn : Major::k, w.bits, left ? 64 : w.n,
                                           left && w.sparse ? w.k / 2 : w.k});
        out.emplace(Key(transposed, w.bits, matrix->lines, matrix->depth), *matrix);
      }
    }
  }
  std::vector<DescribedMatrix> list;
  for (const auto& entry : out) list.push_back(entry.second);
  return list;
}

// The smallest tile of whole spans that holds the matrix.
DescribedMatrix whole_spans(DescribedMatrix m, Swizzle swizzle) {
  int& along = m.major == Major::mn ? m.lines : m.depth;
  const int step = 8 * span_bytes(swizzle) / m.element_bits;
  along = (along + step - 1) / step * step;
  return m;
}

void check_laws(const DescribedMatrix& matrix, const CanonicalTile& tile, std::uint32_t start, int k0) {
  const Result<Descriptor> descriptor = tile.descriptor(start, matrix, 0, k0);
  REQUIRE(descriptor.ok());
  const DescriptorMap map(*descriptor, matrix);
  const auto bits = static_cast<std::uint64_t>(matrix.element_bits);
  std::vector<char> seen(static_cast<std::size_t>(matrix.lines * matrix.depth));
  std::uint64_t wrong = 0, end = 0;
  for (const DescriptorMap::Element& e : map.elements()) {
    wrong += seen[static_cast<std::size_t>(e.i * matrix.depth + e.k)]++ != 0;
    wrong += e.bit < end;  // shares a bit with the one before
    end = e.bit + bits;
    wrong += e.bit != start * std::uint64_t{8} + tile.element_bit(e.i, k0 + e.k);
    wrong += e.bit < start * std::uint64_t{8} || end > (start + tile.bytes()) * 8;
    const auto back = map.at(e.bit, bits);
    wrong += back.size() != 1 || back.front() != e;
    const auto in_byte = map.at(e.bit / 8 * 8, 8);
    wrong += in_byte.size() != (bits < 8 ? 8 / bits : 1) || std::ranges::find(in_byte, e) == in_byte.end();
  }
  CHECK(wrong == 0);
  CHECK(map.elements().size() == seen.size());
  CHECK(map.shared_ranges().empty());
  std::uint64_t bytes = 0, last = 0;
  for (const ByteRange& range : map.ranges()) {
    CHECK((bytes == 0 || range.first > last + 1));
    bytes += range.last - range.first + 1;
    last = range.last;
    CHECK(map.at(8 * (last + 1), 8).empty());
  }
  CHECK(bytes == matrix.bytes());
  if (tile.matrix() == matrix) CHECK(map.ranges() == std::vector<ByteRange>{{start, start + tile.bytes() - 1}});
  CHECK(check_descriptor(*descriptor->encode(), matrix, start + tile.bytes()).empty());
}

TEST_CASE("by a canonical descriptor every element is read once, from its own bytes of the tile",
          "[descriptor][once]") {
  const std::vector<DescribedMatrix> matrices = all_matrices();
  CHECK(matrices.size() > 100);
  for (const DescribedMatrix& matrix : matrices)
    for (const Swizzle swizzle : kSwizzles) {
      INFO(matrix.lines << " x " << matrix.depth << ", " << matrix.element_bits << " bits, " << name(swizzle));
      const DescribedMatrix shape = whole_spans(matrix, swizzle);
      CHECK(CanonicalTile::make(matrix, swizzle).ok() == (shape == matrix));
      const Result<CanonicalTile> tile = CanonicalTile::make(shape, swizzle);
      REQUIRE(tile.ok());
      for (int k = 0; k + matrix.depth <= shape.depth; k += matrix.depth) check_laws(matrix, *tile, 0x1000, k);
    }
}

TEST_CASE("elements that share bytes are found, and so is each of them by its bytes", "[descriptor]") {
  const DescribedMatrix matrix{Major::k, 16, 16, 16};  // both groups of 8 rows at one place
  const DescriptorMap map({0x100, 128, 0, 0, Swizzle::none}, matrix);
  CHECK(map.shared_ranges() == std::vector<ByteRange>{{0x100, 0x1FF}});
  CHECK(map.ranges() == std::vector<ByteRange>{{0x100, 0x1FF}});
  const auto at = map.at(8 * 0x113, 8);  // row 1, k 1, upper byte
  REQUIRE(at.size() == 2);
  CHECK(at[0] == DescriptorMap::Element{8 * 0x112, 1, 1});
  CHECK(at[1] == DescriptorMap::Element{8 * 0x112, 9, 1});
  CHECK(map.at(8 * 0x200, 8).empty());
  CHECK(map.at(0, 8 * 0x100).empty());
  CHECK(map.at(8 * 0x111, 16).size() == 4);
}

TEST_CASE("any descriptor reads whole words where its elements lie, and nothing outside", "[descriptor]") {
  std::mt19937_64 random(2);
  std::vector<std::byte> memory(1 << 19);
  for (std::byte& b : memory) b = static_cast<std::byte>(random());
  const auto multiple = [&](std::uint32_t of) {
    return static_cast<std::uint32_t>(random() % (4096 / of)) * of;
  };
  constexpr std::uint32_t kMultiples[] = {16, 256, 512, 1024};  // strides of whole atoms and others
  std::uint64_t wrong = 0, words = 0;
  std::size_t turn = 0;
  for (const DescribedMatrix& matrix : all_matrices()) {
    ++turn;  // a fifth beside the four swizzles: each meets each multiple
    for (const Swizzle swizzle : kSwizzles) {
      ++turn;
      for (std::size_t m = 0; m < std::size(kMultiples); ++m) {
        const std::uint32_t of = kMultiples[m];
        if (!has_turn(turn, m, std::size(kMultiples))) continue;
        const Descriptor d{multiple(16), multiple(16), multiple(of), static_cast<int>(random() % 8), swizzle};
        const auto bit = [&](int i, int k) { return element_bit(d, matrix.major, matrix.element_bits, i, k); };
        std::uint64_t end = 0;
        load_described(d, matrix, memory, [&](auto line, auto word, std::uint32_t value) {
          const int per_word = 32 / matrix.element_bits, first = static_cast<int>(word) * per_word;
          ++words;
          for (int e = 0; e < per_word; ++e) {
            const std::uint64_t at = bit(static_cast<int>(line), first + e);
            const auto byte = std::to_integer<std::uint32_t>(memory[at / 8]);
            const std::uint32_t seen = value >> (e * matrix.element_bits) & 0xFFU;
            const std::uint32_t mask = matrix.element_bits < 8 ? (1U << matrix.element_bits) - 1 : 0xFFU;
            wrong += (seen & mask) != (byte >> (at % 8) & mask);
            end = std::max(end, at / 8 + static_cast<std::uint64_t>(std::max(matrix.element_bits / 8, 1)));
          }
        });
        wrong += described_end(d, matrix) != end;
        for (const std::uint64_t bytes : {end - 1, end, end + 1, end + 127, end / 2})
          wrong += is_described_within(d, matrix, bytes) != (bytes >= end);
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(words > (tries_all() ? 1'000'000 : 250'000));
}

// ---- Canonical layouts

// PTX manual, "Canonical Layouts": the examples with their offsets.
TEST_CASE("the manual's examples of strides", "[descriptor]") {
  const auto offsets = [](Major major, int bits, int lines, int depth, Swizzle swizzle, DescribedMatrix part) {
    const Result<CanonicalTile> tile = CanonicalTile::make({major, bits, lines, depth}, swizzle);
    REQUIRE(tile.ok());
    const Result<Descriptor> d = tile->descriptor(0, part);
    REQUIRE(d.ok());
    return std::pair(d->leading / 16, d->stride / 16);
  };
  const DescribedMatrix tf32{Major::k, 32, 16, 8}, bf16_16{Major::mn, 16, 16, 16};
  CHECK(offsets(Major::k, 32, 16, 16, Swizzle::none, tf32) == std::pair(16u, 8u));
  CHECK(offsets(Major::k, 32, 16, 16, Swizzle::bytes_32, tf32) == std::pair(1u, 16u));
  CHECK(offsets(Major::mn, 16, 16, 16, Swizzle::none, bf16_16) == std::pair(16u, 8u));
  CHECK(offsets(Major::mn, 16, 32, 16, Swizzle::bytes_32, {Major::mn, 16, 32, 16}) == std::pair(16u, 32u));
  CHECK(offsets(Major::mn, 16, 64, 16, Swizzle::bytes_64, {Major::mn, 16, 64, 16}) == std::pair(32u, 64u));
}

// PTX manual, "Matrix Descriptor Format": where the swizzle's pattern may begin, and the base offset otherwise.
TEST_CASE("a tile's start and its base offset", "[descriptor]") {
  const DescribedMatrix m{Major::k, 16, 64, 64}, part{Major::k, 16, 64, 16};
  const std::map<Swizzle, int> alignment = {
      {Swizzle::none, 16}, {Swizzle::bytes_32, 256}, {Swizzle::bytes_64, 512}, {Swizzle::bytes_128, 1024}};
  for (const auto& [swizzle, bytes] : alignment) {
    const Result<CanonicalTile> tile = CanonicalTile::make(m, swizzle);
    REQUIRE(tile.ok());
    CHECK(tile->alignment() == bytes);
    CHECK(tile->bytes() == 8192);
    CHECK(tile->descriptor(2048, part)->base_offset == 0);
    CHECK(tile->descriptor(8, part).error().code == Errc::address_misaligned);
    CHECK(tile->descriptor(16, part).ok() == (swizzle == Swizzle::none));
    for (std::uint32_t start = 0; start < 2048; start += 128)
      CHECK(tile->descriptor(start, part)->base_offset ==
            static_cast<int>((start >> 7 & 7) % (static_cast<std::uint32_t>(bytes) / 128 + (bytes < 128))));
  }
}

TEST_CASE("a layout that does not exist is refused", "[descriptor]") {
  const auto refused = [](const DescribedMatrix& m, Swizzle swizzle) {
    const Result<CanonicalTile> tile = CanonicalTile::make(m, swizzle);
    REQUIRE(!tile.ok());
    CHECK(tile.error().code == Errc::no_such_layout);
    return tile.error().message();
  };
  CHECK(
      refused({Major::mn, 4, 64, 32}, Swizzle::none) ==
      "MN-major layout, no swizzle, 64 x 32 elements of 4 bits: 4 bits; expected 8, 16 or 32 bits, or K-major");
  CHECK(
      refused({Major::mn, 32, 64, 32}, Swizzle::bytes_64) ==
      "MN-major layout, 64-byte swizzle, 64 x 32 elements of 32 bits: 32 bits; expected 8 or 16 bits, the 128-byte "
      "swizzle of 32-byte atoms, or K-major");
  CHECK(refused({Major::k, 16, 64, 32}, Swizzle::bytes_128) ==
        "K-major layout, 128-byte swizzle, 64 x 32 elements of 16 bits: 32 contiguous elements; expected a "
        "multiple of "
        "64, which fill 128 bytes");
  CHECK(refused({Major::mn, 16, 24, 16}, Swizzle::bytes_64) ==
        "MN-major layout, 64-byte swizzle, 24 x 16 elements of 16 bits: 24 contiguous elements; expected a "
        "multiple of "
        "32, which fill 64 bytes");
  CHECK(
      refused({Major::k, 16, 12, 16}, Swizzle::none) ==
      "K-major layout, no swizzle, 12 x 16 elements of 16 bits: 12 rows or columns; expected a multiple of 8");
  CHECK(refused({Major::k, 16, 8192, 64}, Swizzle::bytes_128) ==
        "K-major layout, 128-byte swizzle, 8192 x 64 elements of 16 bits: 524288 elements; expected at most "
        "131072, "
        "which fill 262144 bytes");
  for (const DescribedMatrix& bad :
       {DescribedMatrix{Major::k, 3, 64, 128}, DescribedMatrix{Major::k, 0, 64, 128},
        DescribedMatrix{Major::k, 16, -8, 16}, DescribedMatrix{Major::k, 16, 64, 0},
        DescribedMatrix{Major::k, 32, 1 << 30, 1 << 30}})
    refused(bad, Swizzle::none);

  const Result<CanonicalTile> tile = CanonicalTile::make({Major::k, 16, 128, 128}, Swizzle::bytes_64);
  REQUIRE(tile.ok());
  const auto unreachable = [&](const DescribedMatrix& part, int i, int k) {
    const Result<Descriptor> d = tile->descriptor(0, part, i, k);
    REQUIRE(!d.ok());
    CHECK(d.error().code == Errc::no_such_layout);
  };
  const DescribedMatrix part{Major::k, 16, 64, 16};
  unreachable(part, 4, 0);
  unreachable(part, 0, 4);
  unreachable(part, 72, 0);
  unreachable(part, 0, 120);
  unreachable(part, -8, 0);
  unreachable(part, 0, 24);  // its second half in the next span
  unreachable({Major::mn, 16, 64, 16}, 0, 0);
  unreachable({Major::k, 8, 64, 32}, 0, 0);
  CHECK(tile->descriptor(0, part, 64, 16).ok());

  // The offset from span to span has to fit only where it is used.
  const Result<CanonicalTile> tall = CanonicalTile::make({Major::k, 8, 8192, 32}, Swizzle::bytes_32);
  REQUIRE(tall.ok());
  CHECK(tall->descriptor(0, {Major::k, 8, 64, 32}).ok());
}

TEST_CASE("the step along K is added to the start address", "[descriptor]") {
  // 128 rows, 128-byte swizzle: four instructions in a span of 64 elements, then 128 rows of 128 bytes further.
  const Result<CanonicalTile> tile = CanonicalTile::make({Major::k, 16, 128, 128}, Swizzle::bytes_128);
  REQUIRE(tile.ok());
  const DescribedMatrix part{Major::k, 16, 64, 16};
  const std::uint32_t expected[] = {0, 32, 64, 96, 16384, 16416, 16448, 16480};
  const std::uint64_t first = *tile->descriptor(0x2000, part)->encode();
  for (int n = 0; n < 8; ++n) {
    CHECK(*tile->step(part, 0, 16 * n) == expected[n]);
    CHECK(*tile->descriptor(0x2000, part, 0, 16 * n)->encode() == first + expected[n] / 16);
  }
  CHECK(*tile->step(part, 64, 0) == 8192);
  // N-major: 16 k are two groups of 8, each of two spans.
  const Result<CanonicalTile> across = CanonicalTile::make({Major::mn, 16, 128, 64}, Swizzle::bytes_128);
  REQUIRE(across.ok());
  CHECK(*across->step({Major::mn, 16, 64, 16}, 0, 16) == 4096);
  CHECK(*across->step({Major::mn, 16, 64, 16}, 64, 0) == 1024);
}

// ---- Whole multiplications of small integers

struct Type {
  std::string name, d;  // of A and B, of D
  int bits, depth;      // of the dense form
  int exponent_bits, fraction_bits;
};

const Type kTypes[] = {{"f16", "f32", 16, 16, 5, 10}, {"bf16", "f32", 16, 16, 8, 7},
                       {"tf32", "f32", 32, 8, 8, 23}, {"e4m3", "f16", 8, 32, 4, 3},
                       {"s8", "s32", 8, 32, 0, 0},    {"b1", "s32", 1, 256, 0, 0}};

std::uint64_t code_of(const Type& t, int v) {
  if (t.exponent_bits == 0) return static_cast<std::uint64_t>(v) & ((std::uint64_t{1} << t.bits) - 1);
  if (v == 0) return 0;
  const auto magnitude = static_cast<std::uint64_t>(v < 0 ? -v : v);
  const int exponent = static_cast<int>(std::bit_width(magnitude)) - 1, bias = (1 << (t.exponent_bits - 1)) - 1;
  const std::uint64_t fraction =
      (magnitude << (t.fraction_bits - exponent)) - (std::uint64_t{1} << t.fraction_bits);
  return static_cast<std::uint64_t>(v < 0) << (t.bits - 1) |
         static_cast<std::uint64_t>(exponent + bias) << t.fraction_bits | fraction;
}

double value_of(const std::string& type, std::uint64_t code) {
  if (type == "s32") return static_cast<std::int32_t>(code);
  if (type == "f32") return std::bit_cast<float>(static_cast<std::uint32_t>(code));
  const int exponent = static_cast<int>(code >> 10 & 31), fraction = static_cast<int>(code & 1023);
  const double magnitude = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
  return code >> 15 ? -magnitude : magnitude;
}

struct Matrix {
  int rows, columns;
  std::vector<int> values = std::vector<int>(static_cast<std::size_t>(rows * columns));
  int& at(int r, int c) { return values[static_cast<std::size_t>(r * columns + c)]; }
  int at(int r, int c) const { return values[static_cast<std::size_t>(r * columns + c)]; }
};

struct Multiplication {
  Type type;
  int n;
  bool sparse, a_in_registers;
  Major a_major = Major::k, b_major = Major::k;
  Swizzle a_swizzle = Swizzle::none, b_swizzle = Swizzle::none;

  static constexpr int kSteps = 4;
  int depth() const { return sparse ? 2 * type.depth : type.depth; }
  std::string text() const {
    std::string out =
        fmt::format("wgmma.mma_async{}.sync.aligned.m64n{}k{}.{}.{}.{}{} {{d}}, {}, bd, {}p",
                    sparse ? ".sp" : "", n, depth(), type.d, type.name, type.name,
                    type.bits == 1 ? ".and.popc" : "", a_in_registers ? "{a}" : "ad", sparse ? "e, 0, " : "");
    if (type.exponent_bits > 0) out += ", 1, 1";
    if (type.bits == 16 && !a_in_registers) out += fmt::format(", {}", a_major == Major::mn ? 1 : 0);
    if (type.bits == 16) out += fmt::format(", {}", b_major == Major::mn ? 1 : 0);
    return out + ";";
  }
};

// A sparse A keeps the first and the last of four elements, the second of two.
constexpr std::uint64_t kMetadata = 0xCCCC'CCCC, kMetadataTf32 = 0xEEEE'EEEE;
int place_of(const Multiplication& m, int stored) {
  if (!m.sparse) return stored;
  return m.type.name == "tf32" ? 2 * stored + 1 : stored / 2 * 4 + stored % 2 * 3;
}

Matrix random_matrix(int rows, int columns, const Type& type, std::mt19937& random) {
  Matrix out{rows, columns};
  for (int& v : out.values)
    v = type.bits == 1 ? static_cast<int>(random() % 2) : static_cast<int>(random() % 7) - 3;
  return out;
}

void store(std::vector<std::byte>& bytes, std::uint64_t bit, int bits, std::uint64_t code) {
  if (bit + static_cast<std::uint64_t>(bits) > 8 * bytes.size())
    FAIL("bit " << bit << " lies outside the tile");
  if (bits < 8)
    bytes[bit / 8] |= static_cast<std::byte>(code << bit % 8);
  else
    std::memcpy(&bytes[bit / 8], &code, static_cast<std::size_t>(bits / 8));
}

// Row 16 w + lane / 4 + ..., the manual's fragment of A, for the instruction that begins with column `first`.
void set_a(Registers& registers, int at, const Multiplication& m, const Matrix& a, int row, int first) {
  const int per = 32 / m.type.bits;
  for (int lane = 0; lane < 128; ++lane)
    for (int r = 0; r < 4; ++r) {
      std::uint64_t word = 0;
      for (int e = 0; e < per; ++e)
        word |= code_of(m.type, a.at(row + 16 * (lane / 32) + lane % 32 / 4 + 8 * (r % 2),
                                     first + per * (lane % 4) + e + 4 * per * (r / 2)))
                << (e * m.type.bits);
      registers.write(lane, at + r, word);
    }
}

double d_value(const Registers& registers, const Multiplication& m, int lane, int i) {
  if (m.type.d != "f16") return value_of(m.type.d, registers.read(lane, i));
  return value_of("f16", registers.read(lane, i / 2) >> (16 * (i % 2)) & 0xFFFF);
}

// A of 128 rows, of which rows 64 to 127 are multiplied, in kSteps instructions that accumulate.
void check_product(const Multiplication& m, std::mt19937& random) {
  INFO(m.text() << " " << name(m.a_swizzle) << ", " << name(m.b_swizzle));
  const Result<Instruction> instruction = Instruction::parse(m.text(), *Target::find("sm_90a"));
  REQUIRE(instruction.ok());
  const int stored = m.type.depth, depth = m.depth(), steps = Multiplication::kSteps;
  const Matrix a = random_matrix(128, stored * steps, m.type, random),
               b = random_matrix(depth * steps, m.n, m.type, random);
  const Result<CanonicalTile> a_tile =
      CanonicalTile::make({m.a_major, m.type.bits, a.rows, a.columns}, m.a_swizzle);
  const Result<CanonicalTile> b_tile = CanonicalTile::make({m.b_major, m.type.bits, m.n, b.rows}, m.b_swizzle);
  REQUIRE(a_tile.ok());
  REQUIRE(b_tile.ok());
  const auto a_start = static_cast<std::uint32_t>(128 * (random() % 16));
  const std::uint32_t b_start =
      128 * static_cast<std::uint32_t>(random() % 8 + (a_start + a_tile->bytes()) / 128 + 1);
  std::vector<std::byte> bytes(b_start + b_tile->bytes());
  for (int k = 0; k < a.columns; ++k)
    for (int i = 0; i < a.rows; ++i)
      store(bytes, a_start * std::uint64_t{8} + a_tile->element_bit(i, k), m.type.bits,
            code_of(m.type, a.at(i, k)));
  for (int k = 0; k < b.rows; ++k)
    for (int j = 0; j < m.n; ++j)
      store(bytes, b_start * std::uint64_t{8} + b_tile->element_bit(j, k), m.type.bits,
            code_of(m.type, b.at(k, j)));
  Memory memory(bytes.size());
  REQUIRE(memory.write(Space::shared, 0, bytes).ok());

  Binding binding;
  int count = 0;
  for (const Operand& operand : instruction->operands()) {
    binding.push_back(count);
    count += operand.kind == OperandKind::immediate ? 0 : operand.registers;
  }
  Registers registers(128, count);
  const std::vector<const Instruction*> lanes(128, &*instruction);
  for (int step = 0; step < steps; ++step) {
    for (std::size_t o = 0; o < binding.size(); ++o) {
      const Operand& operand = instruction->operands()[o];
      std::uint64_t value = 0;
      if (operand.kind == OperandKind::descriptor) {
        const bool left = operand.part == Part::a;
        const Result<DescribedMatrix> part = described_matrix(*instruction, operand.part);
        REQUIRE(part.ok());
        const Result<Descriptor> d =
            (left ? a_tile : b_tile)
                ->descriptor(left ? a_start : b_start, *part, left ? 64 : 0, part->depth * step);
        REQUIRE(d.ok());
        value = *d->encode();
      } else if (operand.part == Part::a) {
        set_a(registers, binding[o], m, a, 64, stored * step);
        continue;
      } else if (operand.part == Part::metadata) {
        value = m.type.name == "tf32" ? kMetadataTf32 : kMetadata;
      } else if (operand.part == Part::scale_d) {
        value = step > 0;
      } else {
        continue;
      }
      for (int lane = 0; lane < 128; ++lane) registers.write(lane, binding[o], value);
    }
    const Result<Effects> effects = execute_warp(lanes, binding, registers, memory);
    REQUIRE(effects.ok());
    apply(*effects, registers);
  }

  int wrong = 0;
  for (int lane = 0; lane < 128; ++lane)
    for (int i = 0; i < m.n / 2; ++i) {
      const int row = 16 * (lane / 32) + lane % 32 / 4 + 8 * (i / 2 % 2),
                column = 2 * (lane % 4) + i % 2 + 8 * (i / 4);
      int expected = 0;
      for (int k = 0; k < a.columns; ++k) expected += a.at(64 + row, k) * b.at(place_of(m, k), column);
      wrong += d_value(registers, m, lane, i) != expected;
    }
  CHECK(wrong == 0);
}

TEST_CASE("what is written by the canonical layouts is multiplied", "[descriptor]") {
  std::mt19937 random(3);
  for (const Type& type : kTypes)
    for (const bool sparse : {false, true}) {
      if (sparse && type.bits == 1) continue;
      for (std::size_t s = 0; s < 4; ++s) {
        check_product({type, 24, sparse, true, Major::k, Major::k, Swizzle::none, kSwizzles[s]}, random);
        check_product({type, 16, sparse, false, Major::k, Major::k, kSwizzles[s], kSwizzles[(s + 1) % 4]},
                      random);
      }
    }
}

TEST_CASE("the same with M and N contiguous", "[descriptor]") {
  std::mt19937 random(4);
  for (const bool sparse : {false, true})
    for (std::size_t s = 0; s < 4; ++s) {
      const Swizzle x = kSwizzles[s], y = kSwizzles[(s + 1) % 4];
      check_product({kTypes[0], 64, sparse, true, Major::k, Major::mn, Swizzle::none, x}, random);
      check_product({kTypes[1], 128, sparse, false, Major::mn, Major::k, x, y}, random);
      check_product({kTypes[0], 64, sparse, false, Major::k, Major::mn, x, y}, random);
      check_product({kTypes[1], 64, sparse, false, Major::mn, Major::mn, y, x}, random);
    }
}

TEST_CASE("the same with the most columns", "[descriptor]") {
  std::mt19937 random(5);
  check_product({kTypes[4], 256, false, false, Major::k, Major::k, Swizzle::bytes_128, Swizzle::bytes_128},
                random);
  check_product({kTypes[0], 256, false, true, Major::k, Major::mn, Swizzle::none, Swizzle::bytes_128}, random);
  check_product({kTypes[4], 256, true, true, Major::k, Major::k, Swizzle::none, Swizzle::bytes_32}, random);
}

// 13 fraction bits of the result, toward zero: 1 + 2^-13 has them, 2 + 2^-13 has one more.
TEST_CASE("wgmma keeps 13 fraction bits of sums of 8-bit floats", "[descriptor]") {
  const Result<Instruction> instruction = Instruction::parse(
      "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {d}, {a}, bd, 1, 1, 1;", *Target::find("sm_90a"));
  REQUIRE(instruction.ok());
  constexpr std::uint64_t kOne = 0x38, kSmall = 0x04,
                          kSmaller = 0x02;  // 1, 2^-7, 2^-8
  const auto sum = [&](std::uint64_t second, std::uint64_t third) {
    // 1 x 1 + second x 1 + third x 2^-6
    const Result<CanonicalTile> tile = CanonicalTile::make({Major::k, 8, 8, 32}, Swizzle::none);
    std::vector<std::byte> bytes(tile->bytes());
    const std::uint64_t b[] = {kOne, kOne, 0x08};
    for (int k = 0; k < 3; ++k) store(bytes, tile->element_bit(0, k), 8, b[k]);
    Memory memory(bytes.size());
    REQUIRE(memory.write(Space::shared, 0, bytes).ok());
    Registers registers(128, 16);
    registers.write(0, 4, kOne | second << 8 | third << 16);
    for (int lane = 0; lane < 128; ++lane)
      registers.write(lane, 8, *tile->descriptor(0, {Major::k, 8, 8, 32})->encode());
    const std::vector<const Instruction*> lanes(128, &*instruction);
    const Result<Effects> effects = execute_warp(lanes, {0, 4, 8, 9, 0, 0}, registers, memory);
    REQUIRE(effects.ok());
    apply(*effects, registers);
    return value_of("f32", registers.read(0, 0));
  };
  CHECK(sum(0, kSmall) == 1 + std::ldexp(1, -13));
  CHECK(sum(kOne, kSmall) == 2);
  CHECK(sum(0, kSmaller) == 1);
  CHECK(sum(kOne, kOne) == 2 + std::ldexp(1, -6));
}

// ---- Findings

std::vector<DescriptorIssue> issues(const Descriptor& d, const DescribedMatrix& m, std::uint64_t more = 0,
                                    std::uint64_t size = kMostSharedBytes) {
  const Result<std::uint64_t> bits = d.encode();
  REQUIRE(bits.ok());
  std::vector<DescriptorIssue> out;
  for (const DescriptorFinding& finding : check_descriptor(*bits | more, m, size)) {
    INFO(finding.message);
    CHECK(!finding.message.empty());
    CHECK(finding.message.find('\n') == std::string::npos);
    out.push_back(finding.issue);
  }
  return out;
}

using Issues = std::vector<DescriptorIssue>;
using enum DescriptorIssue;

constexpr DescribedMatrix kB{Major::k, 16, 64, 16};  // 64 columns of f16
constexpr std::uint64_t bit(int n) {
  return std::uint64_t{1} << n;
}

TEST_CASE("ignored bits and those of newer GPUs are told apart", "[descriptor]") {
  const Descriptor d{0x400, 16, 1024, 0, Swizzle::bytes_128};
  CHECK(issues(d, kB).empty());
  for (const int n : {14, 15, 30, 31, 47, 48, 52, 53, 60}) CHECK(issues(d, kB, bit(n)) == Issues{ignored_bits});
  CHECK(issues(d, kB, bit(46) | bit(47)) == Issues{ignored_bits});  // a version, but not that one
  CHECK(issues(d, kB, bit(46)) == Issues{newer_descriptor});
  CHECK(issues(d, kB, bit(61)) == Issues{newer_descriptor});
  CHECK(issues(d, kB, bit(46) | bit(52) | bit(61)) == Issues{newer_descriptor});
  CHECK(issues(d, kB, bit(46) | bit(14)) == Issues{ignored_bits, newer_descriptor});
  const Descriptor plain{0x400, 1024, 128, 0, Swizzle::none};
  CHECK(issues(plain, kB).empty());
  CHECK(issues(plain, kB, bit(49)) == Issues{ignored_bits});
  CHECK(issues({0x400, 16, 1024, 2, Swizzle::bytes_128}, kB).empty());
  CHECK(check_descriptor(0x4000'0040'0001'0040 | bit(46), kB)[0].message ==
        "bit 46 is set as in a descriptor of tcgen05 (sm_100 and later), whose swizzle, bits 61-63, is 2; "
        "wgmma ignores "
        "that and takes bits 62-63, which are 1 (128-byte swizzle)");
}

TEST_CASE("an LBO that is not used is found", "[descriptor]") {
  CHECK(issues({0x400, 8192, 1024, 0, Swizzle::bytes_128}, kB) == Issues{ignored_leading});
  CHECK(issues({0x400, 0, 1024, 0, Swizzle::bytes_128}, kB).empty());
  CHECK(issues({0x400, 2048, 256, 0, Swizzle::bytes_32}, kB) == Issues{ignored_leading});
  CHECK(issues({0x400, 2048, 256, 0, Swizzle::bytes_32}, {Major::k, 16, 64, 32}).empty());  // of a sparse form
  CHECK(issues({0x400, 8192, 1024, 0, Swizzle::bytes_128}, {Major::mn, 16, 64, 16}).empty());
}

TEST_CASE("a start within the swizzle's repeat is found", "[descriptor]") {
  CHECK(issues({0x480, 16, 1024, 0, Swizzle::bytes_128}, kB) == Issues{misaligned_start});
  CHECK(issues({0x480, 16, 1024, 1, Swizzle::bytes_128}, kB).empty());
  CHECK(issues({0x460, 16, 1024, 0, Swizzle::bytes_128}, kB).empty());  // the last step along K
  CHECK(issues({0x440, 16, 512, 0, Swizzle::bytes_64}, kB) == Issues{misaligned_start});
  CHECK(issues({0x420, 16, 512, 0, Swizzle::bytes_64}, kB).empty());
  CHECK(issues({0x480, 16, 256, 0, Swizzle::bytes_32}, kB) == Issues{misaligned_start});
  CHECK(issues({0x500, 16, 256, 0, Swizzle::bytes_32}, kB).empty());
  CHECK(issues({0x410, 1024, 128, 0, Swizzle::none}, kB).empty());
}

TEST_CASE("exchanged offsets are found", "[descriptor]") {
  CHECK(issues({0x400, 1024, 16, 0, Swizzle::bytes_128}, kB) == Issues{exchanged});
  CHECK(issues({0x400, 512, 0, 0, Swizzle::bytes_64}, kB) == Issues{exchanged});
  // Without a swizzle the other order is a layout, too; whether it is meant shows where the buffer ends.
  const Descriptor k_first{0x400, 128, 1024, 0, Swizzle::none};
  CHECK(issues(k_first, kB).empty());
  CHECK(issues(k_first, kB, 0, 0x400 + 2048) == Issues{exchanged});
  CHECK(issues({0x400, 1024, 128, 0, Swizzle::none}, kB, 0, 0x400 + 2048).empty());
}

TEST_CASE("bytes where units belong are found", "[descriptor]") {
  CHECK(issues({0x400, 16, 16 * 1024, 0, Swizzle::bytes_128}, kB) == Issues{bytes_for_units});
  CHECK(issues({0x400, 16, 2 * 1024, 0, Swizzle::bytes_128}, kB).empty());
  CHECK(issues({0x400, 16 * 1024, 16 * 128, 0, Swizzle::none}, kB) == Issues{bytes_for_units});
  CHECK(issues({0x400, 16 * 1024, 128, 0, Swizzle::none}, kB) == Issues{bytes_for_units});
  CHECK(issues({16 * 0x3C00, 1024, 128, 0, Swizzle::none}, kB) == Issues{bytes_for_units});
  CHECK(issues({0x3C00, 2048, 128, 0, Swizzle::none}, kB).empty());
  CHECK(check_descriptor(0x4000'0400'0001'0040, kB)[0].message ==
        "as 16-byte units its parts lie far apart; taken as bytes, SBO 1024 would be the canonical layout");
}

TEST_CASE("bytes that are read twice or out of bounds are found", "[descriptor]") {
  CHECK(issues({0x400, 16, 128, 0, Swizzle::bytes_128}, kB) == Issues{read_twice});
  CHECK(issues({0x400, 0, 0, 0, Swizzle::none}, kB) == Issues{read_twice});
  CHECK(issues({0x400, 16, 1024, 0, Swizzle::bytes_128}, kB, 0, 0x400 + 8192).empty());
  // The swizzle puts the first bytes of the last row at its end.
  CHECK(issues({0x400, 16, 1024, 0, Swizzle::bytes_128}, kB, 0, 0x400 + 8191) == Issues{out_of_bounds});
  CHECK(issues({0x400, 16, 128, 0, Swizzle::bytes_128}, kB, 0, 0x480) == Issues{read_twice, out_of_bounds});
  // SBO 64 would fit, but it is no layout.
  CHECK(issues({0x400, 16, 1024, 0, Swizzle::bytes_128}, {Major::k, 16, 16, 16}, 0, 0x800) ==
        Issues{out_of_bounds});
  CHECK(issues({228 * 1024 - 2048, 1024, 128, 0, Swizzle::none}, kB).empty());
  CHECK(issues({228 * 1024 - 2032, 1024, 128, 0, Swizzle::none}, kB) == Issues{out_of_bounds});
  CHECK(check_descriptor(0x0000'0000'0000'0040, kB)[0].message ==
        "128 bytes (0x400 to 0x47f) belong to more than one element");
}

TEST_CASE("what a descriptor is for is asked of the instruction", "[descriptor]") {
  const Target target = *Target::find("sm_90a");
  const auto matrix = [&](const char* text, Part factor, std::optional<bool> transposed = std::nullopt) {
    const Result<Instruction> instruction = Instruction::parse(text, target);
    INFO(text);
    REQUIRE(instruction.ok());
    return described_matrix(*instruction, factor, transposed);
  };
  const char* const in_memory =
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {d}, ad, bd, p, 1, 1, 1, 0;";
  const char* const in_registers =
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {d}, {a}, bd, p, 1, 1, 1;";
  const char* const bare = "wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8";
  CHECK(*matrix(in_memory, Part::a) == DescribedMatrix{Major::mn, 16, 64, 16});
  CHECK(*matrix(in_memory, Part::b) == DescribedMatrix{Major::k, 16, 32, 16});
  CHECK(*matrix(in_memory, Part::b, true) == DescribedMatrix{Major::mn, 16, 32, 16});
  CHECK(*matrix(in_registers, Part::b) == DescribedMatrix{Major::mn, 16, 32, 16});
  CHECK(matrix(in_registers, Part::a).error().code == Errc::operand_kind);
  CHECK(*matrix(bare, Part::a) == DescribedMatrix{Major::k, 8, 64, 32});
  CHECK(matrix(bare, Part::a, true).error().message() ==
        "wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8: a transposed matrix of s8; expected 16-bit types, "
        "or a matrix "
        "with K contiguous");
  CHECK(matrix(bare, Part::d).error().code == Errc::operand_kind);
  CHECK(matrix("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", Part::b).error().code ==
        Errc::operand_kind);
}

}  // namespace descriptor_test
