// SPDX-License-Identifier: Apache-2.0
// Products of tensor memory: small integers, whose product is exact, at places that are stated here once more as plain formulas
// (PTX manual, "Data Path Layout Organization" and the sections behind it); and all kernels against the specification.
#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <random>

#include "in_turn.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/format.hpp"
#include "warpbit/instruction.hpp"

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
    {TensorKind::ti16, "s1z4m11", "s1z4m11", "s32", "", 16, 0, ""},
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

// Of a memory.
constexpr std::size_t kBytes = std::size_t{128} * TensorMemory::kStride * 4;

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
  Target target = Target::find_ptx(kind.kind == TensorKind::ti16 ? "sm_107a" : "sm_100a").value();

  int k = kind.k * (v.sparse ? 2 : 1), stored = kind.k, rows = v.m / v.cta_group, columns = n / v.cta_group;
  std::vector<double> a = {}, b = {}, c = {}, sa = {}, sb = {};
  std::vector<int> chosen = {};  // of stored element k of row m: which column of A
  std::array<TensorMemory, 2> tensor = {};
  std::array<Shared, 2> shared = {};
  TensorMmaSources sources = {};
  static constexpr int kD = 0, kA = 256, kMetadata = 288, kScaleA = 304, kScaleB = 320;

  std::uint32_t word() { return static_cast<std::uint32_t>(random()); }
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
        const bool by_sixteen = kind.kind == TensorKind::f16 || kind.kind == TensorKind::ti16 || one;
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

TEST_CASE("products of small integers are exact, wherever their operands lie", "[quick][tensor][once]") {
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
        const std::vector<Kernel> all = kernels();
        for (std::size_t k = 0; k < all.size(); ++k) {
          if (!has_turn(static_cast<std::size_t>(products), k, all.size())) continue;
          const Kernel kernel = all[k];
          std::array<TensorMemory, 2> tensor = p.tensor;
          const Result<Execution> done = execute_mma(
              *instruction, p.sources, blocks_of(tensor, p.shared, v.cta_group), {.kernel = kernel});
          INFO((done ? "" : done.error().message()));
          REQUIRE(done.ok());
          const bool is_fast =
              !v.sparse && kind.kind != TensorKind::ti16 && !(kind.scale_vec == 4 && kind.scale == "ue8m0");
          if (is_fast) CHECK(done->kernel == kernel);
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
      // Codes of .kind::ti16 are not any bits (sign_magnitude_test).
      if (!exists(kind, v) || kind.kind == TensorKind::ti16 ||
          !has_turn(static_cast<std::size_t>(&kind - kKinds), static_cast<std::size_t>(&v - kVariants) % 5, 5))
        continue;
      Problem p{kind, v, v.ws ? 64 : v.cta_group == 2 ? 32 : 16, 0, std::mt19937(8)};
      p.fill();
      const Result<Instruction> instruction = Instruction::parse(p.form(), p.target);
      REQUIRE(instruction.ok());
      CAPTURE(p.form());
      // Any factors, with their signs or others, and sums; metadata and scale factors as they are.
      if (kind.kind != TensorKind::i8) p.sources.instruction ^= (p.word() & 3) << 13;
      for (Shared& memory : p.shared)
        for (std::byte& byte : memory.bytes) byte = static_cast<std::byte>(p.word());
      for (TensorMemory& memory : p.tensor)
        for (int lane = 0; lane < 128; ++lane)
          for (int column = 0; column < Problem::kMetadata; ++column) memory.write(lane, column, p.word());
      // Scale factors that differ between partitions, NaN among them.
      for (TensorMemory& memory : p.tensor)
        for (int lane = 0; kind.scale_vec != 0 && v.accumulates && lane < 128; ++lane)
          for (int column = Problem::kScaleA; column < Problem::kScaleB + 4; ++column)
            memory.write(lane, column, p.word() % 8 == 0 ? p.word() : 0x7F7F'7F7FU ^ (p.word() & 0x0303'0303U));
      std::vector<std::array<TensorMemory, 2>> results;
      for (const Kernel kernel : kernels()) {
        results.push_back(p.tensor);
        REQUIRE(execute_mma(*instruction, p.sources, blocks_of(results.back(), p.shared, v.cta_group),
                            {.kernel = kernel})
                    .ok());
        for (std::size_t block = 0; block < 2; ++block)
          CHECK(std::memcmp(results.back()[block].data(), results.front()[block].data(), kBytes) == 0);
      }
    }
}

// ---- Options of a product

const Kind& f16_kind() {
  return kKinds[0];
}
constexpr Variant kPlain{128, 1, false, false, false, true};

struct Run {
  Problem p;
  Result<Instruction> instruction;

  explicit Run(const Variant& v, int n, std::string_view form = {})
      : p{f16_kind(), v, n, 0, std::mt19937(9)},
        instruction((p.fill(), Instruction::parse(form.empty() ? p.form() : std::string(form), p.target))) {
    INFO((instruction ? "" : instruction.error().message()));
    REQUIRE(instruction.ok());
  }
  // The words behind the product; as often as there are kernels, each the same.
  std::array<TensorMemory, 2> result() const {
    std::optional<std::array<TensorMemory, 2>> out;
    for (const Kernel kernel : kernels()) {
      std::array<TensorMemory, 2> tensor = p.tensor;
      const Result<Execution> done =
          execute_mma(*instruction, p.sources, blocks_of(tensor, p.shared, p.v.cta_group), {.kernel = kernel});
      INFO((done ? "" : done.error().message()));
      REQUIRE(done.ok());
      if (out)
        for (std::size_t b = 0; b < 2; ++b) CHECK(std::memcmp((*out)[b].data(), tensor[b].data(), kBytes) == 0);
      out = tensor;
    }
    return *out;
  }
};

std::uint32_t f32(double value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

TEST_CASE("lanes of D that are disabled keep their words", "[quick][tensor]") {
  for (const Variant& v :
       {kPlain, Variant{64, 1, false, false, false, true}, Variant{256, 2, false, false, false, true},
        Variant{128, 2, false, false, false, true}}) {
    Run run(v, 32,
            fmt::format("tcgen05.mma.cta_group::{}.kind::f16 [d], a, b, i, {}, p;", v.cta_group,
                        v.cta_group == 1 ? "{l0, l1, l2, l3}" : "{l0, l1, l2, l3, l4, l5, l6, l7}"));
    run.p.sources.disabled_lanes = {0x0F0F'0001, 0, 0xFFFF'FFFF, 0x8000'0000, 1, 2, 4, 8};
    const auto after = run.result();
    int wrong = 0;
    for (int m = 0; m < v.m; ++m)
      for (int n = 0; n < 32; ++n) {
        const At at = place_of_d(v, 32, 0, m, n);
        const auto word = static_cast<std::size_t>(at.block * 4 + at.lane / 32);
        const bool disabled = run.p.sources.disabled_lanes[word] >> at.lane % 32 & 1;
        const auto block = static_cast<std::size_t>(at.block);
        wrong += after[block].read(at.lane, at.column) !=
                 (disabled ? run.p.tensor[block].read(at.lane, at.column) : f32(run.p.expected(m, n)));
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a zero-column mask leaves out columns of B and shifts the others", "[quick][tensor]") {
  const Variant v{32, 1, false, true, false, true};
  Run run(v, 64, "tcgen05.mma.ws.cta_group::1.kind::f16 [d], a, b, i, p, z;");
  run.p.sources.instruction |= 2U << 30;  // shifts of up to 16
  // Runs of 3 zeros and 2 columns that stay; the first run of sub-mask i is shorter by i, of ones in the second one.
  run.p.sources.zero_columns =
      0x03'02'01'00ULL | 0b0010ULL << 32 | 1ULL << 39 | 2ULL << 40 | 1ULL << 48 | 8ULL << 56;
  run.p.shared[0].bytes.resize(128 * 1024);
  const auto after = run.result();
  const auto is_zero = [](int n) {  // by the words of the manual, column by column
    const int part = n / 16;
    bool value = part == 1;
    int run_left = (value ? 3 : 2) - std::min(part, (value ? 3 : 2) - 1);
    for (int i = 0; i < n % 16; ++i)
      if (--run_left == 0) value = !value, run_left = value ? 3 : 2;
    return value;
  };
  int wrong = 0;
  for (int m = 0; m < 32; ++m)
    for (int n = 0; n < 56; ++n) {  // behind them B has no columns
      double sum = run.p.c[run.p.at(m, n, 64)];
      for (int k = 0; k < 16 && !is_zero(n); ++k)
        sum += run.p.a[run.p.at(m, k, 16)] * run.p.b[run.p.at(k, n + 8, 64)];
      const At at = place_of_d(v, 64, 0, m, n);
      wrong += after[0].read(at.lane, at.column) != f32(sum);
    }
  CHECK(wrong == 0);
}

TEST_CASE("D may be scaled as an input: an assumption", "[quick][tensor]") {
  Run run(kPlain, 16, "tcgen05.mma.cta_group::1.kind::f16 [d], a, b, i, p, 3;");
  run.p.sources.scale_input_d = 3;
  const auto after = run.result();
  int wrong = 0;
  for (int m = 0; m < 128; ++m)
    for (int n = 0; n < 16; ++n) {
      const double c = run.p.c[run.p.at(m, n, 16)];
      wrong += after[0].read(m, n) != f32(run.p.expected(m, n) - c + c / 8);
    }
  CHECK(wrong == 0);
}

TEST_CASE("ashift moves the rows of A after the product", "[quick][tensor]") {
  Run run({128, 1, false, false, true, true}, 16,
          "tcgen05.mma.cta_group::1.kind::f16.ashift [d], [a], b, i, p;");
  const auto after = run.result();
  int wrong = 0;
  for (int m = 0; m < 128; ++m) {
    for (int n = 0; n < 16; ++n) wrong += after[0].read(m, n) != f32(run.p.expected(m, n));
    for (int w = 0; w < 8; ++w)
      wrong +=
          after[0].read(m, Problem::kA + w) != run.p.tensor[0].read(m % 32 == 31 ? m : m + 1, Problem::kA + w);
  }
  CHECK(wrong == 0);
}

// ---- A and B by other descriptors: the formulas of the manual's canonical layouts

struct Walk {
  std::uint64_t code;  // of the swizzle, in bits 61-63
  int span, atom;      // bytes
  int xors;            // bits of the address that are changed
};
constexpr Walk kWalks[] = {{0, 16, 16, 0}, {6, 32, 16, 1}, {4, 64, 16, 2}, {2, 128, 16, 3}, {1, 128, 32, 2}};

// The byte of the element whose bytes begin at `along` of line `line` of the strided direction.
std::uint64_t walk(const Walk& w, bool mn_major, std::uint64_t line, std::uint64_t along, std::uint64_t lbo,
                   std::uint64_t sbo) {
  const auto span = static_cast<std::uint64_t>(w.span);
  const std::uint64_t group = mn_major && w.atom == 32 ? 4 : 8;
  std::uint64_t at = line % group * span + along % span;
  if (mn_major && w.code == 0)
    at += line / 8 * lbo + along / 16 * sbo;
  else
    at += line / group * sbo + along / span * lbo;
  const std::uint64_t row = at / 128 & ((1U << w.xors) - 1);
  return at ^ row * static_cast<std::uint64_t>(w.atom);
}

TEST_CASE("factors lie as each swizzle and direction says", "[quick][tensor]") {
  int products = 0;
  for (const Kind& kind : kKinds) {
    if (kind.scale_vec != 0 || kind.d == "f16" || kind.a == "e2m1") continue;
    for (const Walk& w : kWalks)
      for (const bool mn_major : {false, true}) {
        const int bits = bits_of(kind.a) == 19 ? 32 : bits_of(kind.a), bytes = bits / 8;
        if (mn_major && ((w.atom == 32) != (bytes == 4) || kind.kind == TensorKind::ti16)) continue;
        Problem p{kind, kPlain, 64, 0, std::mt19937(11)};
        p.fill();
        // Both factors anew: M and N of 128 and 64, K of 32 bytes.
        for (Shared& memory : p.shared) std::ranges::fill(memory.bytes, std::byte{0});
        std::array<std::uint64_t, 2> descriptors;
        for (int factor = 0; factor < 2; ++factor) {
          const int lines = factor == 0 ? 128 : 64;
          const std::uint64_t start = factor == 0 ? 0 : 32 * 1024;
          const auto span = static_cast<std::uint64_t>(w.span);
          // Atoms side by side: along the contiguous direction, or one below the other.
          std::uint64_t lbo = 8 * span, sbo = 16 * span * static_cast<std::uint64_t>(std::max(1, 32 / w.span));
          if (mn_major) lbo = 64 * span, sbo = (w.atom == 32 ? 4 : 8) * span;
          if (mn_major && w.code == 0) lbo = 4096, sbo = 128;
          for (int i = 0; i < lines; ++i)
            for (int k = 0; k < kind.k; ++k) {
              const auto line = static_cast<std::uint64_t>(mn_major ? k : i),
                         along = static_cast<std::uint64_t>((mn_major ? i : k) * bytes);
              const double value = factor == 0 ? p.a[p.at(i, k, kind.k)] : p.b[p.at(k, i, 64)];
              p.shared[0].put((start + walk(w, mn_major, line, along, lbo, sbo)) * 8,
                              code_of(factor == 0 ? kind.a : kind.b, value), bits);
            }
          descriptors[static_cast<std::size_t>(factor)] =
              start >> 4 | lbo >> 4 << 16 | sbo >> 4 << 32 | std::uint64_t{1} << 46 | w.code << 61;
        }
        p.sources.a = descriptors[0];
        p.sources.b = descriptors[1];
        if (mn_major) p.sources.instruction |= 3U << 15;
        const Result<Instruction> instruction = Instruction::parse(p.form(), p.target);
        REQUIRE(instruction.ok());
        CAPTURE(p.form(), w.code, mn_major);
        for (const Kernel kernel : kernels()) {
          std::array<TensorMemory, 2> tensor = p.tensor;
          const Result<Execution> done =
              execute_mma(*instruction, p.sources, blocks_of(tensor, p.shared, 1), {.kernel = kernel});
          INFO((done ? "" : done.error().message()));
          REQUIRE(done.ok());
          int wrong = 0;
          for (int m = 0; m < 128; ++m)
            for (int n = 0; n < 64; ++n)
              wrong += tensor[0].read(m, n) != static_cast<std::uint32_t>(code_of(kind.d, p.expected(m, n)));
          CHECK(wrong == 0);
        }
        ++products;
      }
  }
  CHECK(products > 30);
}

// ---- Moves

std::uint32_t word_at(int lane, int column) {
  return static_cast<std::uint32_t>(lane * 0x1'0001 + column * 0x0100'0200 + 7);
}
TensorMemory numbered() {
  TensorMemory out;
  REQUIRE(out.allocate(512).value().has_value());
  for (int lane = 0; lane < 128; ++lane)
    for (int column = 0; column < 512; ++column) out.write(lane, column, word_at(lane, column));
  return out;
}

// The lane and column of a register (PTX manual, the figures of "Data Movement Shape").
std::pair<int, int> cell(std::string_view shape, int t, int r, int split) {
  if (shape == "32x32b") return {t, r};
  if (shape == "16x64b") return {t / 4 + 8 * (t % 2), 2 * r + t / 2 % 2};
  if (shape == "16x128b") return {t / 4 + 8 * (r % 2), t % 4 + 4 * (r / 2)};
  if (shape == "16x256b") return {t / 4 + 8 * (r / 2 % 2), 2 * (t % 4) + r % 2 + 8 * (r / 4)};
  return {t % 16, r + t / 16 * split};
}

TEST_CASE("registers and tensor memory exchange what the shapes say", "[quick][tensor]") {
  const Target target = Target::find_ptx("sm_100a").value();
  int moves = 0;
  for (const FormInfo& info : forms()) {
    if (info.family != "tcgen05.ld" && info.family != "tcgen05.st") continue;
    const bool stores = info.family == "tcgen05.st",
               packed = info.canonical.find("pack::16b") != std::string::npos;
    const std::string shape = info.canonical.substr(24, info.canonical.find('.', 24) - 24);
    const bool split = shape == "16x32bx2";
    const Instruction instruction = Instruction::parse(info.canonical, target).value();
    const int registers = instruction.find(stores ? Part::source : Part::d)->registers;
    CAPTURE(info.canonical);
    for (const int warp : {0, 3, 6}) {
      if (!has_turn(static_cast<std::size_t>(moves++), static_cast<std::size_t>(warp / 3), 3)) continue;
      TensorMemory memory = numbered();
      const int base = shape == "32x32b" ? 0 : 16, column = packed ? 0 : 130, distance = split ? 77 : 0;
      const std::uint32_t address = TensorAddress{warp % 4 * 32 + base, column}.encode();
      std::vector<std::uint32_t> words(static_cast<std::size_t>(32 * registers));
      for (std::size_t i = 0; i < words.size(); ++i)
        words[i] = 0xABCD'0000U + static_cast<std::uint32_t>(i) * 3;
      const Result<void> done = stores ? execute_store(instruction, warp, address, distance, memory, words)
                                       : execute_load(instruction, warp, address, distance, memory, words);
      INFO((done ? "" : done.error().message()));
      REQUIRE(done.ok());
      int wrong = 0;
      TensorMemory expected = numbered();
      for (int t = 0; t < 32; ++t)
        for (int r = 0; r < registers; ++r) {
          const auto [lane_in, column_in] = cell(shape, t, r, packed ? 0 : distance);
          const int lane = warp % 4 * 32 + base + lane_in;
          const std::uint32_t seen = words[static_cast<std::size_t>(t * registers + r)];
          if (!packed) {
            if (stores)
              expected.write(lane, column + column_in, seen);
            else
              wrong += seen != word_at(lane, column + column_in);
            continue;
          }
          const int first = column + 2 * column_in + t / 16 * distance;  // a distance in words
          if (!stores) wrong += seen != ((word_at(lane, first) & 0xFFFF) | word_at(lane, first + 1) << 16);
          for (int half = 0; stores && half < 2; ++half)
            expected.write(lane, first + half,
                           (word_at(lane, first + half) & 0xFFFF'0000) | (seen >> 16 * half & 0xFFFF));
        }
      wrong += std::memcmp(memory.data(), expected.data(), kBytes) != 0;
      CHECK(wrong == 0);
    }
  }
  CHECK(moves == 3 * 148);
}

TEST_CASE("a reduction is that of what a thread loads", "[quick][tensor]") {
  const Target target = Target::find_ptx("sm_103a").value();
  struct Row {
    std::string_view words;
    std::array<std::uint32_t, 4> values;
    std::uint32_t result;
  };
  constexpr std::uint32_t kOne = 0x3F80'0000, kMinusTwo = 0xC000'0000, kNan = 0x7FC0'0001,
                          kMinusZero = 0x8000'0000;
  const Row rows[] = {
      {"min.u32", {5, 3, 0xFFFF'FFFF, 9}, 3},
      {"max.u32", {5, 3, 0xFFFF'FFFF, 9}, 0xFFFF'FFFF},
      {"min.s32", {5, 3, 0xFFFF'FFFF, 9}, 0xFFFF'FFFF},
      {"max.s32", {5, 3, 0xFFFF'FFFF, 9}, 9},
      {"min.f32", {kOne, kMinusTwo, kNan, 0}, kMinusTwo},
      {"max.f32", {kOne, kMinusTwo, kNan, 0}, kOne},
      {"max.abs.f32", {kOne, kMinusTwo, kNan, 0}, 0x4000'0000},
      {"min.abs.f32", {kOne, kMinusTwo, kNan, 0}, 0},
      {"max.NaN.f32", {kOne, kMinusTwo, kNan, 0}, 0x7FFF'FFFF},
      {"min.abs.NaN.f32", {kOne, kMinusTwo, kNan, 0}, 0x7FFF'FFFF},
      {"min.f32", {0, kMinusZero, 0, kOne}, kMinusZero},
      {"max.f32", {kMinusZero, 0, kMinusTwo, kMinusZero}, 0},
      {"max.f32", {kNan, kNan, kNan, kNan}, 0x7FFF'FFFF},
  };
  for (const Row& row : rows) {
    const Instruction instruction =
        Instruction::parse(fmt::format("tcgen05.ld.red.sync.aligned.32x32b.x4.{}", row.words), target).value();
    TensorMemory memory = numbered();
    for (int lane = 32; lane < 64; ++lane)
      for (int c = 0; c < 4; ++c) memory.write(lane, 8 + c, row.values[static_cast<std::size_t>(c)]);
    std::vector<std::uint32_t> words(128), reduced(32);
    REQUIRE(execute_load(instruction, 1, TensorAddress{32, 8}.encode(), 0, memory, words, reduced).ok());
    CAPTURE(row.words);
    CHECK(reduced[7] == row.result);
    CHECK(words[4 * 7 + 2] == row.values[2]);
  }
}

TEST_CASE("copies from shared memory go to the lanes of their shape", "[quick][tensor]") {
  const Target target = Target::find_ptx("sm_100a").value();
  struct Row {
    std::string_view words;
    int rows, bytes;
    int (*lane)(int row, int copy);
    int copies;
  };
  const Row rows[] = {
      {"128x256b", 128, 32, [](int s, int) { return s; }, 1},
      {"128x128b", 128, 16, [](int s, int) { return s; }, 1},
      {"4x256b", 4, 32, [](int s, int) { return 32 * s; }, 1},
      {"64x128b.warpx2::02_13", 64, 16, [](int s, int c) { return s + 64 * c; }, 2},
      {"64x128b.warpx2::01_23", 64, 16, [](int s, int c) { return 64 * (s / 32) + s % 32 + 32 * c; }, 2},
      {"32x128b.warpx4", 32, 16, [](int s, int c) { return s + 32 * c; }, 4},
  };
  std::vector<std::byte> shared(16 * 1024);
  std::mt19937 random(3);
  for (std::byte& byte : shared) byte = static_cast<std::byte>(random());
  for (const Row& row : rows)
    for (const std::string_view source : {"", ".b8x16.b4x16_p64", ".b8x16.b6x16_p32"}) {
      const std::string text = fmt::format("tcgen05.cp.cta_group::1.{}{}", row.words, source);
      CAPTURE(text);
      const Instruction instruction = Instruction::parse(text, target).value();
      TensorMemory memory = numbered(), expected = numbered();
      const std::uint64_t from = 1024 >> 4 | (256ULL >> 4) << 16 | (512ULL >> 4) << 32 | 1ULL << 46;
      const int column = 40;
      const TensorBlock block{&memory, shared};
      REQUIRE(execute_copy(instruction, static_cast<std::uint32_t>(column), from, std::span(&block, 1)).ok());
      for (int s = 0; s < row.rows; ++s)
        for (int byte = 0; byte < row.bytes; ++byte) {
          const std::byte* const chunk =
              &shared[static_cast<std::size_t>(1024 + s % 8 * 16 + s / 8 * 512 + byte / 16 * 256)];
          const int i = byte % 16;
          std::uint32_t code = std::to_integer<std::uint32_t>(chunk[i]);
          if (source.find("b4x16") != source.npos)
            code = (std::to_integer<std::uint32_t>(chunk[i / 2]) >> i % 2 * 4 & 15) << 2;
          if (source.find("b6x16") != source.npos) {
            code = 0;
            for (int bit = 0; bit < 6; ++bit)
              code |= (std::to_integer<std::uint32_t>(chunk[(6 * i + bit) / 8]) >> (6 * i + bit) % 8 & 1)
                      << bit;
          }
          for (int copy = 0; copy < row.copies; ++copy) {
            const int lane = row.lane(s, copy), at = column + byte / 4, low = 8 * (byte % 4);
            expected.write(lane, at, (expected.read(lane, at) & ~(0xFFU << low)) | code << low);
          }
        }
      CHECK(std::memcmp(memory.data(), expected.data(), kBytes) == 0);
    }
}

TEST_CASE("a shift moves the lanes of one partition", "[quick][tensor]") {
  const Instruction instruction =
      Instruction::parse("tcgen05.shift.cta_group::1.down", Target::find_ptx("sm_100a").value()).value();
  TensorMemory memory = numbered();
  const TensorBlock block{&memory, {}};
  REQUIRE(execute_shift(instruction, TensorAddress{64, 24}.encode(), std::span(&block, 1)).ok());
  int wrong = 0;
  for (int lane = 0; lane < 128; ++lane)
    for (int column = 0; column < 512; ++column) {
      const bool moved = lane >= 64 && lane < 95 && column >= 24 && column < 32;
      wrong += memory.read(lane, column) != word_at(moved ? lane + 1 : lane, column);
    }
  CHECK(wrong == 0);
}

// ---- What is refused

TEST_CASE("what does not exist is refused, and changes nothing", "[quick][tensor]") {
  const Target target = Target::find_ptx("sm_100a").value();
  const auto parse = [&](std::string_view text) { return Instruction::parse(text, target).value(); };
  Run run(kPlain, 16);
  struct Row {
    std::function<void(TensorMmaSources&)> change;
    Errc code;
    std::string_view says;
  };
  const Row rows[] = {
      {[](auto& s) { s.d = 500; }, Errc::tensor_memory, "columns 500 to 515"},
      {[](auto& s) { s.d = 16U << 16; }, Errc::tensor_memory, "lane 0 in this layout"},
      {[](auto& s) { s.a ^= 1ULL << 46; }, Errc::descriptor_field, "wgmma"},
      {[](auto& s) { s.b |= 3ULL << 61; }, Errc::descriptor_field, "swizzle"},
      {[](auto& s) { s.b |= 0x3FFF; }, Errc::address_out_of_bounds, "shared memory has"},
      {[](auto& s) { s.instruction |= 1U << 23; }, Errc::instruction_descriptor, "reserved"},
      {[](auto& s) { s.instruction |= 4; }, Errc::instruction_descriptor, ".sp"},
      {[](auto& s) { s.instruction &= ~(63U << 17); }, Errc::instruction_descriptor, "N 0"},
  };
  for (const Row& row : rows) {
    std::array<TensorMemory, 2> tensor = run.p.tensor;
    TensorMmaSources sources = run.p.sources;
    row.change(sources);
    const Result<Execution> done = execute_mma(*run.instruction, sources, blocks_of(tensor, run.p.shared, 1));
    CAPTURE(row.says);
    REQUIRE_FALSE(done.ok());
    CHECK(done.error().code == row.code);
    CHECK_THAT(done.error().message(), Catch::Contains(std::string(row.says)));
    CHECK(std::memcmp(tensor[0].data(), run.p.tensor[0].data(), kBytes) == 0);
  }
  TensorMemory memory;
  std::vector<std::uint32_t> words(128), few(5);
  const Instruction load = parse("tcgen05.ld.sync.aligned.32x32b.x4.b32");
  CHECK(execute_load(load, 0, 0, 0, memory, words).error().code == Errc::tensor_memory);  // not allocated
  REQUIRE(memory.allocate(64).value().has_value());
  CHECK(execute_load(load, 0, 0, 0, memory, words).ok());
  CHECK(execute_load(load, 0, 0, 0, memory, few).error().code == Errc::usage);
  CHECK(execute_load(load, 0, 61, 0, memory, words).error().code == Errc::tensor_memory);
  CHECK(execute_load(load, 0, 16U << 16, 0, memory, words).error().code == Errc::tensor_memory);
  const std::array<TensorBlock, 1> one{{{&memory, {}}}};
  CHECK(execute_shift(parse("tcgen05.shift.cta_group::1.down"), 8U << 16, one).error().code ==
        Errc::tensor_memory);
  CHECK(execute_shift(parse("tcgen05.shift.cta_group::2.down"), 0, one).error().code == Errc::usage);
  CHECK(execute_copy(parse("tcgen05.cp.cta_group::1.4x256b"), 40U << 16, 1ULL << 46, one).error().code ==
        Errc::tensor_memory);
  CHECK(execute_copy(load, 0, 1ULL << 46, one).error().code == Errc::usage);
}

TEST_CASE("allocations are powers of two, side by side, and never grow", "[quick][tensor]") {
  TensorMemory memory;
  for (const std::uint32_t columns : {0U, 16U, 33U, 136U, 144U, 1024U})
    CHECK_FALSE(memory.allocate(columns).ok());
  CHECK(memory.allocate(256).value() == TensorAddress{0, 0});
  CHECK_FALSE(memory.allocate(512).ok());
  CHECK(memory.allocate(128).value() == TensorAddress{0, 256});
  CHECK(memory.allocate(64).value() == TensorAddress{0, 384});
  CHECK_FALSE(memory.allocate(128).ok());
  CHECK(memory.allocate(64).value() == TensorAddress{0, 448});
  CHECK_FALSE(memory.allocate(32).value().has_value());
  CHECK_FALSE(memory.deallocate(256, 64).ok());
  CHECK_FALSE(memory.deallocate(32, 128).ok());
  CHECK(memory.deallocate(256, 128).ok());
  CHECK(memory.allocate(32).value() == TensorAddress{0, 256});
  CHECK(memory.are_allocated(0, 288));
  CHECK_FALSE(memory.are_allocated(0, 289));
  memory.relinquish();
  CHECK_FALSE(memory.allocate(32).ok());
}

TEST_CASE("an exclusive allocation is alone, of any multiple of 32 columns", "[quick][tensor]") {
  TensorMemory memory;
  for (const std::uint32_t columns : {0U, 16U, 48U, 544U, 576U})
    CHECK_FALSE(memory.allocate(columns, true).ok());
  CHECK(memory.allocate(96, true).value() == TensorAddress{0, 0});
  CHECK(memory.allocate(32).error().message() ==
        "tcgen05.alloc: an allocation beside an exclusive one; expected tcgen05.dealloc.exclusive before it");
  CHECK_FALSE(memory.allocate(32, true).ok());
  CHECK(memory.deallocate(0, 96).error().message() ==
        "tcgen05.dealloc: no .exclusive; expected the .exclusive of tcgen05.alloc");
  CHECK(memory.deallocate(0, 96, true).ok());
  CHECK(memory.allocate(64).value() == TensorAddress{0, 0});
  CHECK_FALSE(memory.allocate(32, true).ok());
  CHECK_FALSE(memory.deallocate(0, 64, true).ok());
  CHECK(memory.deallocate(0, 64).ok());
  CHECK(memory.allocate(32, true).ok());
}

}  // namespace tensor_execute_test
