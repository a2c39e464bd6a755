// SPDX-License-Identifier: Apache-2.0
// Products of tensor memory: small integers, whose product is exact, at places that are stated here once more as plain formulas
// (PTX manual, "Data Path Layout Organization" and the sections behind it); and all kernels against the specification.
#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "warpbit/execute_tensor.hpp"
#include "warpbit/format.hpp"
#include "warpbit/instruction_descriptor.hpp"

namespace tensor_execute_test {

using namespace warpbit;

// ---- A product, as its form and its instruction descriptor say

struct Kind {
  TensorKind kind;
  std::string_view a, b, d, scale;
  int k, scale_vec;        // K of a dense product
  std::string_view words;  // behind .kind::...
};
constexpr Kind kKinds[] = {
    {TensorKind::f16, "f16", "f16", "f32", "", 16, 0, ""},
    {TensorKind::f16, "bf16", "bf16", "f32", "", 16, 0, ""},
    {TensorKind::f16, "f16", "f16", "f16", "", 16, 0, ""},
    {TensorKind::tf32, "tf32", "tf32", "f32", "", 8, 0, ""},
    {TensorKind::f8f6f4, "e4m3", "e5m2", "f32", "", 32, 0, ""},
    {TensorKind::f8f6f4, "e2m1", "e3m2", "f32", "", 32, 0, ""},
    {TensorKind::f8f6f4, "e2m3", "e4m3", "f16", "", 32, 0, ""},
    {TensorKind::i8, "s8", "u8", "s32", "", 32, 0, ""},
    {TensorKind::mxf8f6f4, "e4m3", "e4m3", "f32", "ue8m0", 32, 1, ".block_scale.block32"},
    {TensorKind::mxf8f6f4, "e5m2", "e2m1", "f32", "ue8m0", 32, 1, ".block_scale.scale_vec::1X"},
    {TensorKind::mxf4, "e2m1", "e2m1", "f32", "ue8m0", 64, 2, ".block_scale.scale_vec::2X"},
    {TensorKind::mxf4nvf4, "e2m1", "e2m1", "f32", "ue8m0", 64, 4, ".block_scale.block16"},
    {TensorKind::mxf4nvf4, "e2m1", "e2m1", "f32", "ue4m3", 64, 4, ".block_scale.scale_vec::4X"},
};

struct Variant {
  int m, cta_group;
  bool sparse, ws, a_in_tensor_memory, accumulates;
};
constexpr Variant kVariants[] = {
    {128, 1, false, false, false, false}, {128, 1, false, false, true, true},
    {64, 1, false, false, false, true},   {64, 1, false, false, true, true},
    {128, 1, true, false, false, true},   {64, 1, true, false, true, true},
    {256, 2, false, false, false, true},  {256, 2, false, false, true, true},
    {256, 2, true, false, false, true},   {128, 2, false, false, false, true},
    {128, 2, false, false, true, false},  {128, 2, true, false, true, true},
    {128, 1, false, true, false, true},   {64, 1, false, true, false, true},
    {32, 1, false, true, false, true},    {64, 1, false, true, true, true},
    {32, 1, false, true, true, true},     {32, 1, true, true, false, true},
    {64, 1, true, true, true, true},
};

bool exists(const Kind& kind, const Variant& v) {
  if (kind.scale_vec == 0) return true;
  return !v.ws && (v.cta_group == 2 ? v.m == 256 || !v.sparse : v.m == 128);
}

// ---- Where things lie, by the manual

struct At {
  int block, lane, column;
};

// D of row m, column n.
At place_of_d(const Variant& v, int n_all, int half, int m, int n) {
  if (v.ws && v.m == 64) return {0, m + 64 * (n / (n_all / 2)), n % (n_all / 2)};   // E
  if (v.ws && v.m == 32) return {0, m + 32 * (n / (n_all / 4)), n % (n_all / 4)};   // G
  if (v.cta_group == 1 && v.m == 64) return {0, 32 * (m / 16) + m % 16 + half, n};  // F
  if (v.cta_group == 1) return {0, m, n};                                           // D
  if (v.m == 256) return {m / 128, m % 128, n};                                     // A
  const int r = m % 64;
  if (v.sparse) return {m / 64, 32 * (r / 16) + r % 16 + half, n};  // C
  return {m / 64, r + 64 * (n / (n_all / 2)), n % (n_all / 2)};     // B
}

// ---- Values: small integers, or halves of them times powers of two

constexpr int kValues[] = {-2, -1, 0, 1, 2, 3};

std::uint64_t code_of(std::string_view format, double value) {
  return encode(format, std::span(&value, 1)).value()[0];
}

struct Shared {
  std::vector<std::byte> bytes;
  void put(std::uint64_t bit, std::uint64_t code, int bits) {
    for (int i = 0; i < bits; ++i)
      if (code >> i & 1)
        bytes[(bit + static_cast<std::uint64_t>(i)) / 8] |= std::byte{1}
                                                            << (bit + static_cast<std::uint64_t>(i)) % 8;
  }
};

// A matrix of lines of K in 8 x 16 bytes, without a swizzle: its descriptor, and the bit of an element.
struct Tile {
  std::uint64_t start;
  int bits, depth;
  bool padded;

  std::uint64_t chunks() const { return static_cast<std::uint64_t>(padded ? depth / 16 : depth * bits / 128); }
  std::uint64_t bit(int line, int k) const {
    const int each = padded ? 16 : 128 / bits;
    const auto chunk = static_cast<std::uint64_t>(k / each), i = static_cast<std::uint64_t>(line);
    return (start + i % 8 * 16 + i / 8 * 128 * chunks() + chunk * 128) * 8 +
           static_cast<std::uint64_t>(k % each * bits);
  }
  std::uint64_t descriptor() const {
    return start >> 4 | (std::uint64_t{128} >> 4) << 16 | (128 * chunks() >> 4) << 32 | std::uint64_t{1} << 46;
  }
  std::uint64_t bytes(int lines) const { return static_cast<std::uint64_t>(lines / 8) * 128 * chunks(); }
};

int bits_of(std::string_view format) {
  return find_format_info(format).value().bits;
}

// ---- One product

struct Problem {
  const Kind& kind;
  const Variant& v;
  int n, half;
  std::mt19937 random;
  Target target = Target::find_ptx("sm_100a").value();

  int k = kind.k * (v.sparse ? 2 : 1), stored = kind.k, rows = v.m / v.cta_group, columns = n / v.cta_group;
  std::vector<double> a = {}, b = {}, c = {}, sa = {}, sb = {};
  std::vector<int> chosen = {};  // of stored element k of row m: which column of A
  std::array<TensorMemory, 2> tensor = {};
  std::array<Shared, 2> shared = {};
  TensorMmaSources sources = {};
  static constexpr int kD = 0, kA = 256, kMetadata = 288, kScaleA = 304, kScaleB = 320;

  double pick() { return kValues[random() % std::size(kValues)]; }
  std::size_t at(int line, int column, int width) const {
    return static_cast<std::size_t>(line) * static_cast<std::size_t>(width) + static_cast<std::size_t>(column);
  }
  TensorMma mma() const {
    return {kind.kind, v.cta_group, v.sparse, v.ws, kind.scale_vec, v.a_in_tensor_memory, false};
  }
  bool has_bytes() const { return kind.kind == TensorKind::f8f6f4 || kind.kind == TensorKind::mxf8f6f4; }
  int scales() const { return kind.scale_vec; }

  std::string form() const {
    return fmt::format(
        "tcgen05.mma{}{}.cta_group::{}.kind::{}{} [d_tmem], {}, b_desc, {}idesc, {}enable_input_d;",
        v.ws ? ".ws" : "", v.sparse ? ".sp" : "", v.cta_group, name(kind.kind), kind.words,
        v.a_in_tensor_memory ? "[a_tmem]" : "a_desc", v.sparse ? "[sp_meta_tmem], " : "",
        kind.scale_vec != 0 ? "[scale_a_tmem], [scale_b_tmem], " : "");
  }

  void fill();
  void fill_a();
  void fill_b();
  void fill_scales();
  double expected(int m, int col) const;
};

void Problem::fill() {
  for (TensorMemory& memory : tensor) REQUIRE(memory.allocate(512).value().has_value());
  for (int i = 0; i < v.m * stored; ++i) a.push_back(kind.a == "u8" ? std::abs(pick()) : pick());
  for (int i = 0; i < k * n; ++i) b.push_back(kind.b == "u8" ? std::abs(pick()) : pick());
  for (int i = 0; i < v.m * n; ++i) c.push_back(v.accumulates ? pick() : 0);
  // Which elements of each chunk are stored: one of two, two of four, or pairs of eight.
  const bool one = kind.kind == TensorKind::tf32,
             pairs = kind.kind == TensorKind::mxf4 || kind.kind == TensorKind::mxf4nvf4;
  const int kept = one ? 1 : pairs ? 4 : 2, groups = stored / kept;
  constexpr int kPlaces[][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  for (int m = 0; v.sparse && m < v.m; ++m)
    for (int g = 0; g < groups; ++g) {
      const auto& two = kPlaces[random() % 6];
      const int upper = static_cast<int>(random() % 2);
      for (int i = 0; i < kept; ++i)
        chosen.push_back(one ? 2 * g + upper : pairs ? 8 * g + 2 * two[i / 2] + i % 2 : 4 * g + two[i]);
      const std::uint32_t nibble =
          one ? (upper ? 0xEU : 0x4U) : static_cast<std::uint32_t>(two[0] | two[1] << 2);
      // The manual's places of metadata, for each lane of D that row m has.
      for (int bank = 0; bank < (v.ws ? 128 / std::max(v.m, 32) : 1); ++bank) {
        const At d = place_of_d(v, n, half, m, bank * n / (v.ws ? 128 / v.m : 1));
        const int p = d.lane / 32, rho = d.lane % 32 - half;
        const bool by_sixteen = kind.kind == TensorKind::f16 || one;
        const int lane = by_sixteen ? 32 * p + half + 16 * (rho / 16) + rho % 8 + 8 * (g / 4) : d.lane;
        const int column = kMetadata + (by_sixteen ? 0 : g / 8),
                  bit = by_sixteen ? 16 * (rho % 16 / 8) + 4 * (g % 4) : 4 * (g % 8);
        TensorMemory& memory = tensor[static_cast<std::size_t>(d.block)];
        const std::uint32_t before = memory.is_written(lane, column) ? memory.read(lane, column) : 0;
        memory.write(lane, column, (before & ~(0xFU << bit)) | nibble << bit);
      }
    }
  for (Shared& memory : shared) memory.bytes.resize(64 * 1024);
  fill_a();
  fill_b();
  if (kind.scale_vec != 0) fill_scales();
  const std::uint32_t lane = static_cast<std::uint32_t>(half) << 16;
  sources.d = lane | kD;
  sources.metadata = lane | kMetadata;
  sources.scale_a = kScaleA;
  sources.scale_b = kScaleB;
  sources.accumulates = v.accumulates;
  InstructionDescriptor d;
  d.m = v.m, d.n = n, d.k = k, d.a = kind.a, d.b = kind.b, d.d = kind.d, d.scale = kind.scale,
  d.is_sparse = v.sparse;
  const Result<std::uint32_t> bits = d.encode(mma(), target);
  INFO((bits ? "" : bits.error().message()));
  REQUIRE(bits.ok());
  sources.instruction = *bits;
  for (int m = 0; v.accumulates && m < v.m; ++m)
    for (int col = 0; col < n; ++col) {
      const At d_at = place_of_d(v, n, half, m, col);
      tensor[static_cast<std::size_t>(d_at.block)].write(
          d_at.lane, kD + d_at.column, static_cast<std::uint32_t>(code_of(kind.d, c[at(m, col, n)])));
    }
}

void Problem::fill_a() {
  const int bits = bits_of(kind.a), place_bits = bits < 8 && has_bytes() ? 8 : bits,
            up = bits == 4 && has_bytes() ? 2 : 0;
  const Tile tile{0, bits, stored, bits < 8 && has_bytes()};
  sources.a = v.a_in_tensor_memory ? static_cast<std::uint64_t>(half) << 16 | kA : tile.descriptor();
  for (int m = 0; m < v.m; ++m)
    for (int i = 0; i < stored; ++i) {
      const std::uint64_t code = code_of(kind.a, a[at(m, i, stored)]);
      if (!v.a_in_tensor_memory) {
        shared[static_cast<std::size_t>(m / rows)].put(tile.bit(m % rows, i), code, bits);
        continue;
      }
      for (int bank = 0; bank < 4; ++bank) {  // wherever D has the row
        const At d = place_of_d(v, n, half, m, bank * n / 4);
        TensorMemory& memory = tensor[static_cast<std::size_t>(d.block)];
        const int column = kA + i * place_bits / 32, bit = i * place_bits % 32 + up;
        const std::uint32_t before = memory.is_written(d.lane, column) ? memory.read(d.lane, column) : 0;
        memory.write(d.lane, column, before | static_cast<std::uint32_t>(code) << bit);
      }
    }
}

void Problem::fill_b() {
  const int bits = bits_of(kind.b);
  const Tile tile{32 * 1024, bits, k, bits < 8 && has_bytes()};
  sources.b = tile.descriptor();
  for (int col = 0; col < n; ++col)
    for (int i = 0; i < k; ++i)
      shared[static_cast<std::size_t>(col / columns)].put(tile.bit(col % columns, i),
                                                          code_of(kind.b, b[at(i, col, n)]), bits);
}

void Problem::fill_scales() {
  constexpr double kScales[] = {0.5, 1, 2};
  for (int i = 0; i < v.m * scales(); ++i) sa.push_back(kScales[random() % 3]);
  for (int i = 0; i < n * scales(); ++i) sb.push_back(kScales[random() % 3]);
  const auto put = [&](int block, int lane, int column, int byte, double value) {
    TensorMemory& memory = tensor[static_cast<std::size_t>(block)];
    const std::uint32_t before = memory.is_written(lane, column) ? memory.read(lane, column) : 0;
    memory.write(lane, column, before | static_cast<std::uint32_t>(code_of(kind.scale, value)) << 8 * byte);
  };
  for (int j = 0; j < scales(); ++j)
    for (int p = 0; p < 4; ++p) {
      for (int m = 0; m < v.m; ++m) {
        const int x = m % rows;
        put(m / rows, 32 * p + x % 32, kScaleA + x / 32, j, sa[at(m, j, scales())]);
      }
      for (int col = 0; col < n; ++col)
        for (int block = 0; block < v.cta_group; ++block) {
          const bool banked = v.cta_group == 2 && v.m == 128;
          if (banked && col / (n / 2) != p / 2) continue;
          const int x = banked ? col % (n / 2) : col;
          put(block, 32 * p + x % 32, kScaleB + x / 32, j, sb[at(col, j, scales())]);
        }
    }
}

double Problem::expected(int m, int col) const {
  double sum = c[at(m, col, n)];
  for (int i = 0; i < stored; ++i) {
    const int where = v.sparse ? chosen[at(m, i, stored)] : i;
    double term = a[at(m, i, stored)] * b[at(where, col, n)];
    if (scales() != 0) {
      const int block = i * scales() / stored;
      term *= sa[at(m, block, scales())] * sb[at(col, block, scales())];
    }
    sum += term;
  }
  return sum;
}

std::vector<TensorBlock> blocks_of(std::array<TensorMemory, 2>& tensor, const std::array<Shared, 2>& shared,
                                   int count) {
  std::vector<TensorBlock> out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    out.push_back({&tensor[i], shared[i].bytes});
  return out;
}

TEST_CASE("products of small integers are exact, wherever their operands lie", "[quick][tensor]") {
  int products = 0;
  for (const Kind& kind : kKinds)
    for (const Variant& v : kVariants)
      for (const int half : {0, 16}) {
        const bool has_half =
            (v.cta_group == 1 && v.m == 64 && !v.ws) || (v.cta_group == 2 && v.m == 128 && v.sparse);
        if (!exists(kind, v) || (half == 16 && !has_half)) continue;
        Problem p{kind, v, v.ws ? 64 : v.cta_group == 2 ? 32 : 16, half, std::mt19937(7)};
        p.fill();
        CAPTURE(p.form(), half);
        const Result<Instruction> instruction = Instruction::parse(p.form(), p.target);
        INFO((instruction ? "" : instruction.error().message()));
        REQUIRE(instruction.ok());
        for (const Kernel kernel : kernels()) {
          std::array<TensorMemory, 2> tensor = p.tensor;
          const Result<Execution> done = execute_mma(
              *instruction, p.sources, blocks_of(tensor, p.shared, v.cta_group), {.kernel = kernel});
          INFO((done ? "" : done.error().message()));
          REQUIRE(done.ok());
          int wrong = 0;
          std::vector<bool> is_d(2 * 128 * 512);
          for (int m = 0; m < v.m; ++m)
            for (int col = 0; col < p.n; ++col) {
              const At at = place_of_d(v, p.n, half, m, col);
              is_d[static_cast<std::size_t>((at.block * 128 + at.lane) * 512 + at.column)] = true;
              const std::uint32_t seen = tensor[static_cast<std::size_t>(at.block)].read(at.lane, at.column);
              wrong += seen != code_of(kind.d, p.expected(m, col));
            }
          CHECK(wrong == 0);
          int changed = 0;
          for (int i = 0; i < 2 * 128 * 512; ++i)
            changed += !is_d[static_cast<std::size_t>(i)] &&
                       tensor[static_cast<std::size_t>(i / 65536)].read(i / 512 % 128, i % 512) !=
                           p.tensor[static_cast<std::size_t>(i / 65536)].read(i / 512 % 128, i % 512);
          CHECK(changed == 0);
        }
        ++products;
      }
  CHECK(products > 100);
}

TEST_CASE("every kernel has the bits of the specification on random bits", "[quick][tensor]") {
  for (const Kind& kind : kKinds)
    for (const Variant& v : kVariants) {
      if (!exists(kind, v)) continue;
      Problem p{kind, v, v.ws ? 64 : v.cta_group == 2 ? 32 : 16, 0, std::mt19937(8)};
      p.fill();
      const Result<Instruction> instruction = Instruction::parse(p.form(), p.target);
      REQUIRE(instruction.ok());
      CAPTURE(p.form());
      // Any factors, and sums; metadata and scale factors as they are.
      for (Shared& memory : p.shared)
        for (std::byte& byte : memory.bytes) byte = static_cast<std::byte>(p.random());
      for (TensorMemory& memory : p.tensor)
        for (int lane = 0; lane < 128; ++lane)
          for (int column = 0; column < Problem::kMetadata; ++column) memory.write(lane, column, p.random());
      std::vector<std::array<TensorMemory, 2>> results;
      for (const Kernel kernel : kernels()) {
        results.push_back(p.tensor);
        REQUIRE(execute_mma(*instruction, p.sources, blocks_of(results.back(), p.shared, v.cta_group),
                            {.kernel = kernel})
                    .ok());
        for (std::size_t block = 0; block < 2; ++block)
          CHECK(std::memcmp(results.back()[block].data(), results.front()[block].data(), 128 * 512 * 4) == 0);
      }
    }
}

}  // namespace tensor_execute_test
