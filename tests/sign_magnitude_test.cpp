// SPDX-License-Identifier: Apache-2.0
// Products of .kind::ti16, by the text of PTX ISA 9.4 alone: a code is a sign (bit 15), zeros (bits 11 to 14) and a magnitude
// (bits 0 to 10); D is s32; K is 16, and 32 of a sparse A that has two of four elements. No GPU that has it was at hand.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <random>

#include "warpbit/execute.hpp"
#include "warpbit/instruction.hpp"

namespace sign_magnitude_test {

using namespace warpbit;
using Catch::Matchers::Contains;

constexpr int kStoredK = 16, kD = 0, kA = 256, kMetadata = 288;
constexpr std::uint64_t kB = 32 * 1024;

struct Shape {
  int m, n, group;
  bool in_tensor_memory = false, sparse = false;
  bool negates_a = false, negates_b = false;
  std::string_view collectors = "";

  int k() const { return sparse ? 2 * kStoredK : kStoredK; }
  std::string form() const {
    return fmt::format("tcgen05.mma{}.cta_group::{}.kind::ti16{} [d], {}, b, {}i, p;", sparse ? ".sp" : "",
                       group, collectors, in_tensor_memory ? "[a]" : "a", sparse ? "[e], " : "");
  }
  std::uint32_t descriptor() const {
    return (sparse ? 4U : 0U) | 2U << 4 | 3U << 7 | 3U << 10 | (negates_a ? 1U << 13 : 0) |
           (negates_b ? 1U << 14 : 0) | static_cast<std::uint32_t>(n / 8) << 17 |
           static_cast<std::uint32_t>(m / 16) << 24;
  }
};

std::uint16_t code_of(int value) {
  return static_cast<std::uint16_t>(value < 0 ? 0x8000 - value : value);
}

// Element k of a line, K-major without a swizzle: eight lines of eight elements, then the next eight k, then the next lines.
std::size_t byte_of(int line, int k, int depth) {
  return static_cast<std::size_t>(line / 8 * depth * 16 + k / 8 * 128 + line % 8 * 16 + k % 8 * 2);
}
std::uint64_t shared_descriptor(std::uint64_t start, int depth) {
  return start >> 4 | std::uint64_t{128 >> 4} << 16 | static_cast<std::uint64_t>(depth * 16 >> 4) << 32 |
         std::uint64_t{1} << 46;
}

struct Product {
  Shape s;
  std::mt19937 random{1};
  std::vector<int> a = {}, b = {}, first = {}, second = {};  // two stored elements of each four
  std::vector<std::int32_t> c = {};
  std::array<TensorMemory, 2> tensor = {};
  std::array<std::vector<std::byte>, 2> shared = {};
  TensorMmaSources sources = {};

  std::size_t at(int line, int column, int width) const {
    return static_cast<std::size_t>(line) * static_cast<std::size_t>(width) + static_cast<std::size_t>(column);
  }
  int rows() const { return s.m / s.group; }
  int columns() const { return s.n / s.group; }
  // Of shapes with 128 rows in a block: lane m, column n.
  TensorMemory& block_of(int m) { return tensor[static_cast<std::size_t>(m / rows())]; }

  int factor() { return static_cast<int>(random() % 4095) - 2047; }
  void put(int block, std::uint64_t start, std::size_t byte, int value) {
    const std::uint16_t code = code_of(value);
    for (std::size_t i = 0; i < 2; ++i)
      shared[static_cast<std::size_t>(block)][start + byte + i] = static_cast<std::byte>(code >> 8 * i);
  }
  void put_a(int m, int k, std::uint16_t code) {
    if (!s.in_tensor_memory) {
      const std::size_t byte = byte_of(m % rows(), k, kStoredK);
      auto& bytes = shared[static_cast<std::size_t>(m / rows())];
      bytes[byte] = static_cast<std::byte>(code & 0xFF);
      bytes[byte + 1] = static_cast<std::byte>(code >> 8);
      return;
    }
    TensorMemory& memory = block_of(m);
    const int lane = m % rows(), column = kA + k / 2;
    const std::uint32_t old = memory.is_written(lane, column) ? memory.read(lane, column) : 0;
    memory.write(lane, column,
                 k % 2 == 0 ? (old & 0xFFFF0000U) | code : (old & 0xFFFFU) | std::uint32_t{code} << 16);
  }

  void fill();
  std::int64_t expected(int m, int n) const;
  Result<Execution> execute() {
    const Result<Instruction> i = Instruction::parse(s.form(), Target::find_ptx("sm_107f").value());
    INFO((i ? "" : i.error().message()));
    REQUIRE(i.ok());
    std::vector<TensorBlock> blocks;
    for (std::size_t v = 0; v < static_cast<std::size_t>(s.group); ++v)
      blocks.push_back({&tensor[v], shared[v]});
    return execute_mma(*i, sources, blocks, {});
  }
};

void Product::fill() {
  for (TensorMemory& memory : tensor) REQUIRE(memory.allocate(512).value().has_value());
  for (auto& bytes : shared) bytes.resize(64 * 1024);
  for (int m = 0; m < s.m; ++m)
    for (int k = 0; k < kStoredK; ++k) {
      a.push_back(factor());
      put_a(m, k, code_of(a.back()));
    }
  for (int n = 0; n < s.n; ++n)
    for (int k = 0; k < s.k(); ++k) {
      b.push_back(factor());
      put(n / columns(), kB, byte_of(n % columns(), k, s.k()), b.back());
    }
  for (int m = 0; m < s.m; ++m)
    for (int n = 0; n < s.n; ++n) {
      c.push_back(static_cast<std::int32_t>(random()) / 2);
      block_of(m).write(m % rows(), kD + n, static_cast<std::uint32_t>(c.back()));
    }
  // As of .kind::f16: group g of row r in lane r % 8 + 8 (g / 4) of its sixteen, bits 16 (r / 8) + 4 (g % 4).
  for (int m = 0; s.sparse && m < s.m; ++m)
    for (int g = 0; g < kStoredK / 2; ++g) {
      const int low = static_cast<int>(random() % 3),
                high = low + 1 + static_cast<int>(random() % static_cast<unsigned>(3 - low));
      first.push_back(low);
      second.push_back(high);
      const int r = m % 16, lane = m % rows() / 16 * 16 + r % 8 + 8 * (g / 4), bit = 16 * (r / 8) + 4 * (g % 4);
      TensorMemory& memory = block_of(m);
      const std::uint32_t old = memory.is_written(lane, kMetadata) ? memory.read(lane, kMetadata) : 0;
      memory.write(lane, kMetadata,
                   (old & ~(0xFU << bit)) | static_cast<std::uint32_t>(first.back() | second.back() << 2)
                                                << bit);
    }
  sources.d = kD;
  sources.a = s.in_tensor_memory ? kA : shared_descriptor(0, kStoredK);
  sources.b = shared_descriptor(kB, s.k());
  sources.metadata = kMetadata;
  sources.instruction = s.descriptor();
  sources.accumulates = true;
}

std::int64_t Product::expected(int m, int n) const {
  std::int64_t sum = 0;
  for (int k = 0; k < kStoredK; ++k) {
    const std::size_t group = at(m, k / 2, kStoredK / 2);
    const int where = !s.sparse ? k : k / 2 * 4 + (k % 2 == 0 ? first[group] : second[group]);
    sum += std::int64_t{a[at(m, k, kStoredK)]} * b[at(n, where, s.k())];
  }
  return c[at(m, n, s.n)] + (s.negates_a != s.negates_b ? -sum : sum);
}

TEST_CASE("sums of products of signs and magnitudes are exact", "[quick][tensor][once]") {
  constexpr Shape kShapes[] = {{128, 256, 1},
                               {128, 128, 1, true, false, true},
                               {256, 128, 2, false, false, false, true},
                               {128, 128, 1, false, true},
                               {128, 64, 1, true, true, true, true},
                               {256, 64, 2, true, true},
                               {128, 16, 1, false, false, false, false, ".collector::b::fill"},
                               {128, 16, 1, true, false, false, false, ".collector::a::use.collector::b::use"}};
  int products = 0;
  for (const Shape& s : kShapes) {
    Product p{s};
    p.fill();
    CAPTURE(s.form(), s.n);
    const Result<Execution> done = p.execute();
    INFO((done ? "" : done.error().message()));
    REQUIRE(done.ok());
    int wrong = 0;
    for (int m = 0; m < s.m; ++m)
      for (int n = 0; n < s.n; ++n, products += kStoredK)
        wrong += std::int64_t{static_cast<std::int32_t>(p.block_of(m).read(m % p.rows(), kD + n))} !=
                 p.expected(m, n);
    CHECK(wrong == 0);
  }
  CHECK(products > 1'500'000);
}

TEST_CASE("minus zero is zero, and the largest magnitudes have their sums", "[quick][tensor]") {
  Product p{{128, 16, 1}};
  p.fill();
  for (int k = 0; k < kStoredK; ++k) {
    p.put_a(0, k, 0x8000);
    p.put_a(1, k, 0x87FF);
    p.put(0, kB, byte_of(0, k, kStoredK), -2047);
  }
  p.sources.accumulates = false;
  REQUIRE(p.execute().ok());
  CHECK(p.tensor[0].read(0, kD) == 0);
  CHECK(p.tensor[0].read(1, kD) == 16 * 2047 * 2047);
}

TEST_CASE("a code that is no sign and magnitude is refused, and nothing changes", "[quick][tensor]") {
  for (const bool in_tensor_memory : {false, true}) {
    Product p{{128, 16, 1, in_tensor_memory}};
    p.fill();
    p.put_a(3, 5, 0x0800);
    const std::uint32_t before = p.tensor[0].read(0, kD);
    const Result<Execution> done = p.execute();
    REQUIRE(!done.ok());
    CHECK(done.error().code == Errc::undefined_operand);
    CHECK_THAT(done.error().message(),
               Contains(fmt::format(
                   "{}: 0x0800 as s1z4m11 in row 3, k 5, is undefined; defined is a code with 0 in bits "
                   "11 to 14",
                   in_tensor_memory ? "a_tmem" : "a_desc")));
    CHECK(p.tensor[0].read(0, kD) == before);
  }
  Product p{{128, 16, 1}};
  p.fill();
  p.shared[0][kB + byte_of(9, 2, kStoredK) + 1] = std::byte{0x40};
  CHECK_THAT(p.execute().error().message(), Contains("b_desc: 0x40") && Contains("in column 9, k 2"));
}

TEST_CASE("codes of rows that are disabled do not count", "[quick][tensor]") {
  Product p{{128, 16, 1}};
  p.fill();
  p.put_a(40, 0, 0x7FFF);
  p.sources.disabled_lanes[1] = 1U << 8;
  const std::uint32_t before = p.tensor[0].read(40, kD);
  REQUIRE(p.execute().ok());
  CHECK(p.tensor[0].read(40, kD) == before);
  CHECK(std::int64_t{static_cast<std::int32_t>(p.tensor[0].read(41, kD))} == p.expected(41, 0));
}

TEST_CASE("a sum beyond 32 bits is refused, as PTX says neither that it wraps nor that it is clamped",
          "[quick][tensor]") {
  for (const std::int64_t beyond : {0, 1}) {
    Product p{{128, 16, 1}};
    p.fill();
    std::int64_t products = p.expected(7, 5) - p.c[p.at(7, 5, 16)];
    if (products < 0) {
      p.sources.instruction |= 1U << 13;
      for (std::int32_t& one : p.c) one = 0;
      for (int m = 0; m < 128; ++m)
        for (int n = 0; n < 16; ++n) p.tensor[0].write(m, kD + n, 0);
      products = -products;
    }
    p.tensor[0].write(7, kD + 5, static_cast<std::uint32_t>((std::int64_t{1} << 31) - 1 - products + beyond));
    const std::uint32_t other = p.tensor[0].read(0, kD);
    const Result<Execution> done = p.execute();
    CHECK(done.ok() == (beyond == 0));
    if (done) {
      CHECK(p.tensor[0].read(7, kD + 5) == 0x7FFF'FFFF);
      continue;
    }
    CHECK_THAT(done.error().message(),
               Contains("a sum beyond 32 bits, in row 7, column 5 of D, is undefined; defined is one of s32"));
    CHECK(p.tensor[0].read(0, kD) == other);
  }
}

TEST_CASE("ti16 is of PTX 9.4 and sm_107", "[quick][tensor]") {
  const auto refusal = [](std::string_view target) {
    const Shape s{128, 16, 1};
    return Instruction::parse(s.form(), Target::find_ptx(target).value()).error().message();
  };
  CHECK_THAT(refusal("sm_100a"), Contains("it exists on sm_107a, sm_107f"));
  CHECK_THAT(refusal("sm_107"), Contains("it exists on sm_107a, sm_107f"));
}

}  // namespace sign_magnitude_test
