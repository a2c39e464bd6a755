// SPDX-License-Identifier: Apache-2.0
// Mistakes made in products of tensor memory, and what diagnose calls them. Every kernel places its operands here, by the
// formulas of the PTX manual written once more, and makes its mistake there; execute_mma is the GPU.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <random>

#include "archive.hpp"
#include "in_turn.hpp"
#include "tensor_formulas.hpp"
#include "warpbit/diagnose.hpp"
#include "warpbit/format.hpp"

namespace tensor_diagnose_test {

using namespace warpbit;
using tensor_formulas::Cell;
using tensor_formulas::Shape;

// ---- Tiles in shared memory

// How a tile lies, and how a descriptor says that it does.
struct Tile {
  std::uint32_t start, lbo, sbo;
  std::uint64_t swizzle = 0;  // 0, 6, 4, 2: none, 32, 64, 128 bytes
  bool mn_major = false, exchanges = true;

  std::uint64_t descriptor() const {
    return start >> 4 | std::uint64_t{lbo >> 4} << 16 | std::uint64_t{sbo >> 4} << 32 | std::uint64_t{1} << 46 |
           swizzle << 61;
  }
  // The bit of an element.
  std::uint64_t bit(int line, int k, int bits) const {
    const auto along = static_cast<std::uint64_t>((mn_major ? line : k) * bits), byte = along / 8,
               other = static_cast<std::uint64_t>(mn_major ? k : line);
    const std::uint64_t width = swizzle == 2 ? 128 : swizzle == 4 ? 64 : swizzle == 6 ? 32 : 16;
    // Without a swizzle LBO and SBO of MN-major are the other way round.
    const std::uint64_t groups = mn_major && swizzle == 0 ? lbo : sbo,
                        spans = mn_major && swizzle == 0 ? sbo : lbo;
    std::uint64_t at = start + other % 8 * width + other / 8 * groups;
    at += swizzle == 0 || mn_major ? byte / width * spans + byte % width : byte;
    if (exchanges) at ^= (at >> 7 & (width / 16 - 1)) << 4;
    return at * 8 + along % 8;
  }
};

// ---- A kernel

// Fields of the instruction descriptor.
struct Fields {
  std::uint32_t selector = 0, sparse = 0, saturate = 0, d = 1, a = 0, b = 0, negate_a = 0, negate_b = 0,
                mn_a = 0, mn_b = 0, id_a = 0, id_b = 0, ue8m0 = 0;
};

struct Kernel {
  std::string form;
  std::string a_type, b_type, scale_type = "";
  Shape shape;
  int k, scales = 0;
  bool a_in_tensor_memory = false, accumulates = true;
  Tile a, b;                      // as they lie
  Tile a_said = {}, b_said = {};  // as the descriptors say
  Fields fields = {};
  std::uint64_t a_desc_xor = 0;
  int said_m = 0, said_n = 0;
  // Mistakes in placing what tensor memory has.
  int scale_lanes = 128, scale_byte_a = 0, scale_byte_b = 0;
  bool by_four = false, scale_ones = false, exchanged_scales = false, exchanged_descriptors = false,
       exchanged_b = false, same_a = false, high_first = false, high_nibble_first = false,
       rows_in_order = false, first_bank = false;
  int metadata_column = 0;
  // From where D is read, if not from where it lies.
  std::function<Cell(const Cell&, int m, int n)> read = {};

  int stored() const { return shape.sparse ? k / 2 : k; }
  bool is_scaled() const { return scales != 0; }
};

struct Memories {
  std::array<TensorMemory, 2> tensor;
  std::array<std::vector<std::byte>, 2> shared;
  TensorMmaSources sources;

  std::vector<TensorBlock> blocks(int count) {
    std::vector<TensorBlock> out;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) out.push_back({&tensor[i], shared[i]});
    return out;
  }
};

constexpr int kD = 0, kA = 256, kMetadata = 288, kScaleA = 304, kScaleB = 320;

std::uint64_t code_of(std::string_view format, double value) {
  return encode(format, std::span(&value, 1)).value()[0];
}

class Placing {
 public:
  explicit Placing(const Kernel& kernel) : k_(kernel) {}

  Memories run() {
    for (TensorMemory& memory : out_.tensor) REQUIRE(memory.allocate(512).value().has_value());
    for (auto& memory : out_.shared) {
      memory.resize(224 * 1024);
      for (std::byte& byte : memory) byte = static_cast<std::byte>(random_() & 0x3B);
    }
    const int blocks = k_.shape.blocks, rows = k_.shape.m / blocks, columns = k_.shape.n / blocks;
    metadata();
    for (int m = 0; m < k_.shape.m; ++m)
      for (int i = 0; i < k_.stored(); ++i) {
        const std::uint64_t code = any(k_.a_type), block = static_cast<std::uint64_t>(m / rows);
        if (k_.a_in_tensor_memory)
          a_word(m, i, static_cast<std::uint32_t>(code));
        else if (!k_.same_a || block == 0)
          for (std::size_t to = block; to < (k_.same_a ? 2 : block + 1); ++to)
            put(to, k_.a, m % rows, i, k_.a_type, code);
      }
    // A swizzled row of K has more steps.
    for (int i = k_.k; k_.a.swizzle == 2 && !k_.a.mn_major && k_.a.start % 128 == 0 && i < 64; ++i)
      for (int line = 0; line < rows; ++line) put(0, k_.a, line, i, k_.a_type, any(k_.a_type));
    for (int i = k_.k; k_.b.swizzle == 2 && !k_.b.mn_major && i < 64; ++i)
      for (int line = 0; line < columns; ++line) put(0, k_.b, line, i, k_.b_type, any(k_.b_type));
    for (int n = 0; n < k_.shape.n; ++n)
      for (int i = 0; i < k_.k; ++i)
        put(static_cast<std::size_t>(k_.exchanged_b ? 1 - n / columns : n / columns), k_.b, n % columns, i,
            k_.b_type, any(k_.b_type));
    for (int m = 0; m < k_.shape.m; ++m)
      for (int n = 0; n < k_.shape.n; ++n) {
        const Cell at = tensor_formulas::d(k_.shape, m, n);
        const double value = static_cast<double>(random_() % 64) - 32;
        out_.tensor[size(at.block)].write(
            at.lane, kD + at.column,
            k_.fields.d == 2 ? static_cast<std::uint32_t>(static_cast<int>(value))
                             : static_cast<std::uint32_t>(code_of(k_.fields.d == 0 ? "f16" : "f32", value)));
      }
    if (k_.is_scaled()) scales();
    sources();
    return std::move(out_);
  }

 private:
  static std::size_t size(int i) { return static_cast<std::size_t>(i); }
  std::uint64_t any(std::string_view type) {
    constexpr double kValues[] = {-3, -2, -1, 0, 1, 2, 3, 4};
    const double value = kValues[random_() % 8];
    return code_of(type, type == "u8" ? std::abs(value) * 37 : type == "s8" ? value * 30 : value);
  }
  void put(std::size_t block, const Tile& tile, int line, int k, std::string_view type, std::uint64_t code) {
    const int bits = find_format_info(type).value().bits;
    if (bits == 4 && &tile == &k_.a && k_.high_nibble_first) k ^= 1;
    const std::uint64_t first = tile.bit(line, k, bits);
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(bits); ++i) {
      std::byte& byte = out_.shared[block][(first + i) / 8];
      const std::byte bit = std::byte{1} << (first + i) % 8;
      byte = code >> i & 1 ? byte | bit : byte & ~bit;
    }
  }
  void a_word(int m, int i, std::uint32_t code) {  // of 16 bits
    for (const Cell& row : tensor_formulas::rows(k_.shape, m)) {
      const int lane = k_.rows_in_order ? m : row.lane, bit = 16 * (k_.high_first ? 1 - i % 2 : i % 2);
      TensorMemory& memory = out_.tensor[size(row.block)];
      const std::uint32_t old = memory.is_written(lane, kA + i / 2) ? memory.read(lane, kA + i / 2) : 0;
      memory.write(lane, kA + i / 2, old | code << bit);
      if (k_.first_bank) break;
    }
  }
  void metadata() {  // of kinds with two of four
    constexpr std::uint32_t kNibbles[] = {4, 8, 0xC, 9, 0xD, 0xE};
    for (int m = 0; k_.shape.sparse && m < k_.shape.m; ++m)
      for (int q = 0; q < k_.k / 4; ++q) {
        const std::uint32_t nibble = kNibbles[random_() % 6];
        for (const Cell& at : tensor_formulas::metadata(k_.shape, k_.a_type == "f16", 0, m, q))
          for (const int column : {0, 1}) {
            const int to = kMetadata + (k_.a_type == "f16" ? (column + k_.metadata_column) % 2 : at.column);
            TensorMemory& memory = out_.tensor[size(at.block)];
            const std::uint32_t old = memory.is_written(at.lane, to) ? memory.read(at.lane, to) : 0;
            // The other column of f16 has other metadata, which are allowed, too.
            const std::uint32_t put = column == 0 || k_.a_type != "f16" ? nibble : nibble == 4 ? 9U : 4U;
            memory.write(at.lane, to, (old & ~(0xFU << at.bit)) | put << at.bit);
          }
      }
  }
  void scales() {
    const auto one = [&](int base, int line, int byte) {
      const auto drawn = static_cast<std::uint32_t>(random_());
      const std::uint32_t code = k_.scale_type == "ue8m0" ? 124 + drawn % 7 : 0x30 + drawn % 16,
                          ones = k_.scale_type == "ue8m0" ? 127 : 0x38;
      for (int lane = line % 32; lane < 128; lane += 32) {
        const bool by_four = k_.by_four && base == kScaleA;
        const int l = by_four ? lane / 32 * 32 + line / 4 : lane,
                  column = base + (by_four ? line % 4 : line / 32);
        const std::uint32_t old = out_.tensor[0].is_written(l, column) ? out_.tensor[0].read(l, column) : 0;
        const std::uint32_t word =
            lane >= k_.scale_lanes ? 0
                                   : (old & ~(0xFFU << 8 * byte)) | (k_.scale_ones ? ones : code) << 8 * byte;
        out_.tensor[0].write(l, column, word);
      }
    };
    // Bytes that are not used have scale factors, too.
    for (int line = 0; line < k_.shape.m; ++line)
      for (int j = 0; j < 4; ++j) one(kScaleA, line, j);
    for (int line = 0; line < k_.shape.n; ++line)
      for (int j = 0; j < 4; ++j) one(kScaleB, line, j);
  }
  void sources() {
    const Fields& f = k_.fields;
    const auto m = static_cast<std::uint32_t>(k_.said_m != 0 ? k_.said_m : k_.shape.m),
               n = static_cast<std::uint32_t>(k_.said_n != 0 ? k_.said_n : k_.shape.n);
    TensorMmaSources& s = out_.sources;
    s.instruction = f.sparse << 2 | f.a << 7 | f.b << 10 | f.negate_a << 13 | f.negate_b << 14 | f.mn_a << 15 |
                    f.mn_b << 16 | n >> 3 << 17 | m >> 4 << 24;
    s.instruction |=
        k_.is_scaled() ? f.id_b << 4 | f.ue8m0 << 23 | f.id_a << 29 : f.selector | f.saturate << 3 | f.d << 4;
    s.d = kD;
    s.a = k_.a_in_tensor_memory ? kA : k_.a_said.descriptor() ^ k_.a_desc_xor;
    s.b = k_.b_said.descriptor();
    if (k_.exchanged_descriptors) std::swap(s.a, s.b);
    s.metadata = kMetadata;
    s.scale_a = k_.exchanged_scales ? kScaleB : kScaleA;
    s.scale_b = k_.exchanged_scales ? kScaleA : kScaleB;
    s.accumulates = k_.accumulates;
  }

  const Kernel& k_;
  std::mt19937 random_{11};
  Memories out_;
};

// ---- Right kernels

constexpr Tile kPlainA{0x2000, 128, 256}, kPlainB{0xA000, 128, 256}, kSwizzledA{0x2000, 16, 1024, 2},
    kSwizzledB{0xA000, 16, 1024, 2};

Kernel f16() {
  return {"tcgen05.mma.cta_group::1.kind::f16 [d], a, b, i, p;",
          "f16",
          "f16",
          "",
          {128, 32, 1, false, false},
          16,
          0,
          false,
          true,
          kPlainA,
          kPlainB};
}
Kernel swizzled() {
  Kernel out = f16();
  out.a = kSwizzledA, out.b = kSwizzledB;
  return out;
}
Kernel mn_major() {
  Kernel out = f16();
  out.a = {0x2000, 2048, 1024, 2, true}, out.b = {0xA000, 2048, 1024, 2, true};
  out.fields.mn_a = out.fields.mn_b = 1;
  return out;
}
Kernel m64() {
  Kernel out = f16();
  out.shape.m = 64;
  return out;
}
Kernel in_tensor_memory() {
  Kernel out = m64();
  out.form = "tcgen05.mma.cta_group::1.kind::f16 [d], [a], b, i, p;";
  out.a_in_tensor_memory = true;
  return out;
}
Kernel pair() {
  Kernel out = f16();
  out.form = "tcgen05.mma.cta_group::2.kind::f16 [d], a, b, i, p;";
  out.shape = {256, 32, 2, false, false};
  return out;
}
Kernel f8() {
  Kernel out = f16();
  out.form = "tcgen05.mma.cta_group::1.kind::f8f6f4 [d], a, b, i, p;";
  out.a_type = "e4m3", out.b_type = "e5m2", out.k = 32, out.shape.n = 16;
  out.fields.b = 1;
  return out;
}
Kernel i8() {
  Kernel out = f8();
  out.form = "tcgen05.mma.cta_group::1.kind::i8 [d], a, b, i, p;";
  out.a_type = "s8", out.b_type = "u8";
  out.fields.a = 1, out.fields.b = 0, out.fields.d = 2;
  return out;
}
Kernel sparse() {
  Kernel out = f16();
  out.form = "tcgen05.mma.sp.cta_group::1.kind::f16 [d], a, b, [e], i, p;";
  out.shape.sparse = true, out.k = 32, out.shape.n = 16;
  out.b.sbo = 512;
  out.fields.sparse = 1;
  return out;
}
Kernel mx() {
  Kernel out = f8();
  out.form = "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 [d], a, b, i, [sa], [sb], p;";
  out.scales = 1, out.scale_type = "ue8m0", out.fields.ue8m0 = 1;
  return out;
}
Kernel nvfp4() {
  Kernel out = mx();
  out.form = "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [d], a, b, i, [sa], [sb], p;";
  out.a_type = out.b_type = "e2m1", out.scale_type = "ue4m3", out.k = 64, out.scales = 4;
  out.fields.a = out.fields.b = 1, out.fields.ue8m0 = 0;
  return out;
}
Kernel f16_d() {
  Kernel out = f16();
  out.fields.d = 0, out.accumulates = false;
  return out;
}
Kernel pair_128() {
  Kernel out = pair();
  out.shape.m = 128;
  return out;
}
Kernel pair_sparse() {
  Kernel out = sparse();
  out.form = "tcgen05.mma.sp.cta_group::2.kind::f16 [d], a, b, [e], i, p;";
  out.shape = {128, 32, 2, false, true};
  return out;
}
Kernel ws(int m) {
  Kernel out = f16();
  out.form = "tcgen05.mma.ws.cta_group::1.kind::f16 [d], a, b, i, p;";
  out.shape = {m, 64, 1, true, false};
  return out;
}
Kernel ws_32() {
  return ws(32);
}
Kernel ws_64() {
  Kernel out = ws(64);
  out.form = "tcgen05.mma.ws.cta_group::1.kind::f16 [d], [a], b, i, p;";
  out.a_in_tensor_memory = true;
  return out;
}

// ---- Mistakes

struct Row {
  std::string name;
  Kernel (*kernel)();
  void (*mistake)(Kernel&);
  std::string kind, operand;  // what the first finding is called
};

Cell window(const Cell& at, int lane, int column) {
  return {at.block, at.lane / 32 * 32 + lane, column};
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"LBO and SBO of A exchanged", f16, [](Kernel& k) { std::swap(k.a_said.lbo, k.a_said.sbo); },
       "offsets_exchanged", "a"},
      {"LBO and SBO of B exchanged", f16, [](Kernel& k) { std::swap(k.b_said.lbo, k.b_said.sbo); },
       "offsets_exchanged", "b"},
      {"A stored without a swizzle", swizzled, [](Kernel& k) { k.a.exchanges = false; }, "swizzle_missing",
       "a"},
      {"B stored without a swizzle", swizzled, [](Kernel& k) { k.b.exchanges = false; }, "swizzle_missing",
       "b"},
      {"descriptor of A without a swizzle", swizzled, [](Kernel& k) { k.a_said.swizzle = 0; }, "swizzle", "a"},
      {"descriptor of B with 64 bytes", swizzled, [](Kernel& k) { k.b_said.swizzle = 4; }, "swizzle", "b"},
      {"transpose bit of A", mn_major, [](Kernel& k) { k.fields.mn_a = 0; }, "transposed", "a"},
      {"transpose bit of B", swizzled, [](Kernel& k) { k.fields.mn_b = 1; }, "transposed", "b"},
      {"bf16 for f16", f16, [](Kernel& k) { k.fields.a = k.fields.b = 1; }, "type", "a b"},
      {"types exchanged", f8, [](Kernel& k) { k.fields.a = 1, k.fields.b = 0; }, "type", "a b"},
      {"e5m2 for e4m3", f8, [](Kernel& k) { k.fields.a = 1; }, "type", "a"},
      {"u8 for s8", i8, [](Kernel& k) { k.fields.a = 0; }, "type", "a"},
      {"N too small", f16, [](Kernel& k) { k.said_n = 16; }, "shape", "d"},
      {"M of one for M of another", f16, [](Kernel& k) { k.said_m = 64; }, "shape", "d"},
      {"enable-input-d false", f16, [](Kernel& k) { k.accumulates = false; }, "accumulator_missing", "d"},
      {"f32 for f16 of D", f16_d, [](Kernel& k) { k.fields.d = 1; }, "type", "d"},
      {"enable-input-d false, layout B", pair_128, [](Kernel& k) { k.accumulates = false; },
       "accumulator_missing", "d"},
      {"enable-input-d false, layout C", pair_sparse, [](Kernel& k) { k.accumulates = false; },
       "accumulator_missing", "d"},
      {"enable-input-d false, layout G", ws_32, [](Kernel& k) { k.accumulates = false; }, "accumulator_missing",
       "d"},
      {"enable-input-d false, layout E", ws_64, [](Kernel& k) { k.accumulates = false; }, "accumulator_missing",
       "d"},
      {"halves of B exchanged, layout B", pair_128, [](Kernel& k) { k.exchanged_b = true; }, "blocks_exchanged",
       "b"},
      {"A in one of two banks", ws_64, [](Kernel& k) { k.first_bank = true; }, "copies", "a"},
      {"start of A in bytes", f16, [](Kernel& k) { k.a_said.start *= 16; }, "offset_units", "a"},
      {"LBO of B in bytes", f16, [](Kernel& k) { k.b_said.lbo *= 16; }, "offset_units", "b"},
      {"the step along K left out", swizzled, [](Kernel& k) { k.a_said.start -= 32; }, "depth_step", "a"},
      {"A and B exchanged", f16, [](Kernel& k) { k.exchanged_descriptors = true; }, "factors_exchanged", "a b"},
      {"halves of B exchanged", pair, [](Kernel& k) { k.exchanged_b = true; }, "blocks_exchanged", "b"},
      {"A of the even block in both", pair, [](Kernel& k) { k.same_a = true; }, "block_repeated", "a"},
      {"scale factors exchanged", mx, [](Kernel& k) { k.exchanged_scales = true; }, "scales_exchanged",
       "scale_a scale_b"},
      {"wrong byte of A's scale factors", mx, [](Kernel& k) { k.fields.id_a = 1; }, "scale_selector",
       "scale_a"},
      {"wrong byte of B's scale factors", mx, [](Kernel& k) { k.fields.id_b = 2; }, "scale_selector",
       "scale_b"},
      {"negated A", f16, [](Kernel& k) { k.fields.negate_a = 1; }, "sign", ""},
      {"selector", sparse, [](Kernel& k) { k.fields.selector = 1; }, "selector", "metadata"},
      {"A in tensor memory, high half first", in_tensor_memory, [](Kernel& k) { k.high_first = true; },
       "element_order", "a"},
      {"A's rows in lanes 0 to 63", in_tensor_memory, [](Kernel& k) { k.rows_in_order = true; }, "layout", "a"},
      {"D of M 64 read from lanes 0 to 63", m64,
       [](Kernel& k) { k.read = [](const Cell& c, int m, int n) {
                         return Cell{c.block, m, n};
                       }; }, "layout",
       "d"},
      {"lane and register exchanged", f16,
       [](Kernel& k) {
         k.read = [](const Cell& c, int, int) {
           return window(c, c.column % 32, c.column / 32 * 32 + c.lane % 32);
         };
       },
       "lane_register", "d"},
      {"16x256b for 32x32b", f16,
       [](Kernel& k) {
         k.read = [](const Cell& c, int, int) {  // thread t, register r
           const int t = c.lane % 32, r = c.column;
           return window(c, t / 4 + 8 * (r / 2 % 2), 2 * (t % 4) + r % 2 + 8 * (r / 4));
         };
       },
       "move_shape", "d"},
      {"another window", f16,
       [](Kernel& k) {
         k.read = [](const Cell& c, int, int) { return Cell{c.block, (c.lane + 32) % 128, c.column}; };
       },
       "window", "d"},
  };
  return all;
}

// Those of one of two operands, or of both: two rows may be right, and the memory tells no more.
const std::vector<Row>& scale_rows() {
  static const std::vector<Row> all = {
      {"scale factors in lanes 0 to 31", mx, [](Kernel& k) { k.scale_lanes = 32; }, "scale_lane", ""},
      {"scale factors of A's row m in lane m / 4", nvfp4, [](Kernel& k) { k.by_four = true; }, "scale_lane",
       "scale_a"},
      {"scale factors not copied", nvfp4, [](Kernel& k) { k.scale_ones = true; }, "scale_one", ""},
      {"high nibble of A first", nvfp4, [](Kernel& k) { k.high_nibble_first = true; }, "element_order", ""},
  };
  return all;
}

Kernel right_kernel(const Row& row) {
  Kernel out = row.kernel();
  if (row.name.starts_with("the step")) out.a.start += 32;  // the second step of a swizzled tile
  if (row.name.starts_with("start of A")) out.a.start = 0x800;
  out.a_said = out.a, out.b_said = out.b;
  return out;
}

struct Made {
  Memories memories;
  std::vector<std::uint32_t> d;
};

Made run(const Kernel& kernel, const Instruction& instruction) {
  Made out{Placing(kernel).run(), {}};
  Memories after = out.memories;
  const Result<Execution> done = execute_mma(instruction, after.sources, after.blocks(kernel.shape.blocks));
  INFO((done ? "" : done.error().message()));
  REQUIRE(done.ok());
  for (int m = 0; m < kernel.shape.m; ++m)
    for (int n = 0; n < kernel.shape.n; ++n) {
      Cell at = tensor_formulas::d(kernel.shape, m, n);
      if (kernel.read) at = kernel.read(at, m, n);
      out.d.push_back(after.tensor[static_cast<std::size_t>(at.block)].read(at.lane, kD + at.column));
    }
  return out;
}

struct Answer {
  std::string text, kind, operand;
  bool is_consistent;
};
Answer answer(const Instruction& instruction, Made& given, int blocks, const std::vector<std::uint32_t>& d,
              TensorDiagnoseOptions::Compared compared) {
  const Result<TensorDiagnosis> found =
      diagnose_tensor(instruction, given.memories.sources, given.memories.blocks(blocks), d, {.d = compared});
  INFO((found ? "" : found.error().message()));
  REQUIRE(found.ok());
  Answer out{found->text(), "", "", false};
  for (const Finding& f : found->diagnosis.findings)
    out.text += fmt::format("\n    {} [{}] {}: {} {}/{} -{}", f.kind, f.operand, f.certain ? "certain" : "",
                            f.mistake, f.explained, f.elements, f.contradicted);
  if (!found->diagnosis.findings.empty()) {
    const Finding& first = found->diagnosis.findings[0];
    out.kind = first.kind, out.operand = first.operand, out.is_consistent = first.contradicted == 0;
  }
  return out;
}

TEST_CASE("mistakes in products of tensor memory are named", "[quick][tensor][sampled]") {
  int seen = 0, wanted = 0;
  std::size_t turn = 0;
  for (const std::vector<Row>* table : {&rows(), &scale_rows()})
    for (const Row& row : *table) {
      CAPTURE(row.name);
      const Kernel right = right_kernel(row);
      Kernel wrong = right;
      row.mistake(wrong);
      const Result<Instruction> instruction =
          Instruction::parse(right.form, Target::find_ptx("sm_100a").value());
      INFO((instruction ? "" : instruction.error().message()));
      REQUIRE(instruction.ok());
      Made of_right = run(right, *instruction), of_wrong = run(wrong, *instruction);
      REQUIRE((of_right.d != of_wrong.d));
      const auto check = [&](const Answer& a, int& count) {
        CAPTURE(a.text);
        CHECK(a.kind == row.kind);
        if (!row.operand.empty()) CHECK(a.operand == row.operand);
        CHECK(a.is_consistent);
        ++count;
      };
      const int blocks = right.shape.blocks;
      using Compared = TensorDiagnoseOptions::Compared;
      const bool is_lost = row.kind == "scale_one" || row.kind == "block_repeated",
                 is_both = !wrong.read && !is_lost && row.kind != "shape";
      turn += is_both;
      if (!is_both || has_turn(turn, 0, 2))
        check(answer(*instruction, of_right, blocks, of_wrong.d, Compared::seen), seen);
      if (row.kind == "shape") {  // D says already that it has another
        const auto blocks_then = of_wrong.memories.blocks(blocks);
        const Result<TensorDiagnosis> refused = diagnose_tensor(
            *instruction, of_wrong.memories.sources, blocks_then, of_right.d, {.d = Compared::wanted});
        REQUIRE(!refused.ok());
        CHECK(refused.error().code == Errc::view_mismatch);
        continue;
      }
      if (is_both && has_turn(turn, 1, 2))
        check(answer(*instruction, of_wrong, blocks, of_right.d, Compared::wanted), wanted);
    }
  CHECK(seen == (tries_all() ? 43 : 25));
  CHECK(wanted == (tries_all() ? 35 : 18));
}

// Two explain all, and the inputs cannot tell.
TEST_CASE("a mistake in a tensor product is not certain where another has the same D", "[quick][tensor]") {
  struct Alike {
    Kernel (*kernel)();
    void (*mistake)(Kernel&);
    std::vector<std::string> operands;  // of those that explain all
  };
  const Alike all[] = {{f16, [](Kernel& k) { k.fields.negate_a = 1; }, {"a", "b"}},
                       {nvfp4, [](Kernel& k) { k.high_nibble_first = true; }, {"a", "b"}}};
  for (const Alike& row : all) {
    Kernel right = row.kernel();
    right.a_said = right.a, right.b_said = right.b;
    Kernel wrong = right;
    row.mistake(wrong);
    const Instruction instruction = Instruction::parse(right.form, Target::find_ptx("sm_100a").value()).value();
    Made given = run(right, instruction);
    const TensorDiagnosis found = diagnose_tensor(instruction, given.memories.sources, given.memories.blocks(1),
                                                  run(wrong, instruction).d)
                                      .value();
    CHECK(found.diagnosis.verdict == Verdict::ambiguous);
    std::vector<std::string> operands;
    for (const Finding& f : found.diagnosis.findings) {
      operands.push_back(f.operand);
      CHECK_FALSE(f.certain);
    }
    CHECK(operands == row.operands);
  }
}

TEST_CASE("nothing explains random words, and few changed ones explain nothing", "[quick][tensor][once]") {
  for (Kernel (*const make)() : {f16, m64}) {
    Kernel kernel = make();
    kernel.a_said = kernel.a, kernel.b_said = kernel.b;
    const Instruction instruction =
        Instruction::parse(kernel.form, Target::find_ptx("sm_100a").value()).value();
    Made given = run(kernel, instruction);
    const auto diagnosis = [&](const std::vector<std::uint32_t>& d) {
      return diagnose_tensor(instruction, given.memories.sources, given.memories.blocks(1), d).value();
    };
    const TensorDiagnosis right = diagnosis(given.d);
    CHECK(right.diagnosis.verdict == Verdict::correct);
    CHECK(right.differences.empty());
    std::mt19937 random(5);
    std::vector<std::uint32_t> any, few = given.d;
    for (std::size_t i = 0; i < given.d.size(); ++i) any.push_back(static_cast<std::uint32_t>(random()));
    for (int i = 0; i < 40; ++i) few[random() % few.size()] = static_cast<std::uint32_t>(random());
    std::vector<std::uint32_t> zeros(given.d.size()), shuffled = given.d;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    for (const auto& d : {any, few, zeros, shuffled}) {
      const TensorDiagnosis found = diagnosis(d);
      INFO(found.text());
      CHECK((found.diagnosis.verdict == Verdict::none || found.diagnosis.verdict == Verdict::partial));
      for (const Finding& f : found.diagnosis.findings) {
        CHECK_FALSE(f.certain);
        CHECK_FALSE(f.explains_all());
      }
    }
    // The first that differ are shown.
    std::vector<std::uint32_t> one = given.d;
    const auto n = static_cast<std::size_t>(kernel.shape.n);
    one[17 * n + 3] ^= 1;
    const TensorDiagnosis found = diagnosis(one);
    const Cell at = tensor_formulas::d(kernel.shape, 17, 3);
    CHECK(found.diagnosis.verdict == Verdict::none);
    REQUIRE(found.differences.size() == 1);
    CHECK(found.differences[0] ==
          TensorDifference{17, 3, {at.lane, at.column}, 0, one[17 * n + 3], given.d[17 * n + 3]});
    CHECK(found.text().find(fmt::format("row 17, column 3 (lane {}, column 3", at.lane)) != std::string::npos);
  }
}

TEST_CASE("two mistakes at once in a tensor product are found", "[quick][tensor]") {
  Kernel right = f16();
  right.a_said = right.a, right.b_said = right.b;
  Kernel wrong = right;
  wrong.accumulates = false;
  std::swap(wrong.b_said.lbo, wrong.b_said.sbo);
  const Instruction instruction = Instruction::parse(right.form, Target::find_ptx("sm_100a").value()).value();
  Made given = run(right, instruction);
  const std::vector<std::uint32_t> d = run(wrong, instruction).d;
  const auto diagnosis = [&](bool pairs) {
    return diagnose_tensor(instruction, given.memories.sources, given.memories.blocks(1), d, {.pairs = pairs})
        .value()
        .diagnosis;
  };
  const Diagnosis found = diagnosis(true);
  REQUIRE(!found.findings.empty());
  CHECK(found.findings[0].kind == "offsets_exchanged+accumulator_missing");
  CHECK_FALSE(found.findings[0].certain);
  CHECK(diagnosis(false).verdict != Verdict::mistake);
}

// A member of an .npz with integers of so many bytes.
template <class T>
std::pair<std::string, std::string> member(const std::string& name, const std::vector<T>& items) {
  return {name + ".npy", archive::npy(archive::dictionary("'<u" + std::to_string(sizeof(T)) + "'",
                                                          fmt::format("({},)", items.size())),
                                      {reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T)})};
}

TEST_CASE("a tensor product in a file is diagnosed", "[quick][tensor]") {
  Kernel right = f16();
  right.a_said = right.a, right.b_said = right.b;
  Kernel wrong = right;
  std::swap(wrong.a_said.lbo, wrong.a_said.sbo);
  const Target target = Target::find_ptx("sm_100a").value();
  const Instruction mma = Instruction::parse("tcgen05.mma.cta_group::1.kind::f16", target).value();
  const Made given = run(right, mma);
  const TensorMmaSources& s = given.memories.sources;
  std::vector<std::uint32_t> words(128 * 512);
  std::vector<std::uint8_t> written(words.size()), shared;
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = given.memories.tensor[0].read(static_cast<int>(i / 512), static_cast<int>(i % 512));
    written[i] = given.memories.tensor[0].is_written(static_cast<int>(i / 512), static_cast<int>(i % 512));
  }
  for (const std::byte byte : given.memories.shared[0]) shared.push_back(static_cast<std::uint8_t>(byte));
  archive::Members members = {member("shared", shared),
                              member("tensor", words),
                              member("written", written),
                              member("d", run(wrong, mma).d),
                              member("d_tmem", std::vector{s.d}),
                              member("a_desc", std::vector{s.a}),
                              member("b_desc", std::vector{s.b}),
                              member("idesc", std::vector{s.instruction}),
                              member("enable_input_d", std::vector<std::uint8_t>{1})};
  const archive::Directory folder;
  const auto diagnosed = [&] {
    const auto file = folder.path / "product.npz";
    std::ofstream(file, std::ios::binary) << archive::zip_of(members);
    return diagnose_tensor(mma, file);
  };
  const Result<TensorDiagnosis> found = diagnosed();
  INFO((found ? found->text() : found.error().message()));
  REQUIRE(found.ok());
  CHECK(found->diagnosis.verdict == Verdict::mistake);
  CHECK(found->diagnosis.findings[0].kind == "offsets_exchanged");
  CHECK(found->diagnosis.findings[0].certain);
  // Each member is needed but `written`, and in its size.
  const archive::Members all = members;
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(all[i].first);
    members = all;
    members.erase(members.begin() + static_cast<std::ptrdiff_t>(i));
    const Result<TensorDiagnosis> without = diagnosed();
    CHECK(without.ok() == (all[i].first == "written.npy"));
    if (!without) CHECK(without.error().code == Errc::member_missing);
  }
  members = all;
  members[1] = member("tensor", std::vector<std::uint32_t>(7));
  CHECK(diagnosed().error().code == Errc::member_shape);
  members[1] = member("tensor", std::vector<std::uint8_t>(128 * 512));
  CHECK(diagnosed().error().code == Errc::member_dtype);
  members = all;
  members[5] = member("a_desc", std::vector<std::uint64_t>(2));
  CHECK(diagnosed().error().code == Errc::member_shape);
}

TEST_CASE("what no tensor product is is refused", "[quick][tensor]") {
  Kernel kernel = f16();
  kernel.a_said = kernel.a, kernel.b_said = kernel.b;
  const Target target = Target::find_ptx("sm_100a").value();
  const Instruction mma = Instruction::parse(kernel.form, target).value();
  Made given = run(kernel, mma);
  const auto blocks = given.memories.blocks(1);
  const auto refusal = [&](const Instruction& instruction, const TensorMmaSources& sources,
                           std::span<const std::uint32_t> d) {
    const Result<TensorDiagnosis> found = diagnose_tensor(instruction, sources, blocks, d);
    REQUIRE(!found.ok());
    return found.error().code;
  };
  const TensorMmaSources& sources = given.memories.sources;
  CHECK(refusal(Instruction::parse("tcgen05.wait::ld.sync.aligned;", target).value(), sources, given.d) ==
        Errc::usage);
  CHECK(refusal(mma, sources, std::span(given.d).first(1)) == Errc::view_mismatch);
  TensorMmaSources reserved = sources;
  reserved.instruction |= 1U << 6;
  CHECK(refusal(mma, reserved, given.d) == Errc::instruction_descriptor);
  Memories after = given.memories;
  CHECK(execute_mma(mma, sources, after.blocks(1)).ok());
  CHECK(tensor_d(mma, sources, after.blocks(1)).value() == given.d);
  CHECK(!tensor_d(mma, reserved, after.blocks(1)).ok());
}

}  // namespace tensor_diagnose_test
