// SPDX-License-Identifier: Apache-2.0
// Everyday mistakes of kernels' authors, made in simulated kernels: diagnose names them first, and is never certain of
// another one.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "kernel_simulation.hpp"
#include "warpbit/diagnose.hpp"

namespace diagnose_everyday_test {

using namespace warpbit;
using simulated::Random;
using simulated::Words;

// ---- A kernel of one instruction: registers as they are meant, which mistakes then change

constexpr int kCases = 3;
constexpr std::uint64_t kNoise = 7;

std::size_t size(int n) {
  return static_cast<std::size_t>(n);
}

std::uint64_t random_code(std::string_view format, Random& random) {
  static const std::map<std::string_view, simulated::Format> kFormats = {
      {"f16", simulated::kF16}, {"bf16", simulated::kBf16}, {"tf32", simulated::kTf32},
      {"s8", simulated::kS8},   {"e4m3", simulated::kE4m3}, {"e5m2", {8, 5, 2}},
      {"f64", simulated::kF64}, {"f32", simulated::kF32},   {"s32", simulated::kS32},
      {"e2m1", {4, 2, 1}},      {"s4", {4, 0, 0}}};
  if (format == "ue8m0") return 124 + random() % 8;
  if (format == "ue4m3") return 0x30 + random() % 16;
  const std::uint64_t code = kFormats.at(format)(random);
  return format == "tf32" ? code & ~std::uint64_t{0x1FFF} : code;
}

struct Kernel {
  std::string target, statement;
  Instruction meant;
  std::vector<Words> sources =
      {};  // of each source operand, in the order (case, lane, register); none for literals
  Words d = {};
  Random random{kNoise};

  Kernel(std::string on, std::string text)
      : target(std::move(on)), statement(std::move(text)), meant(warp::parse(statement, target)) {
    constexpr std::uint64_t kNibbles[] = {0x4, 0x8, 0x9, 0xC, 0xD, 0xE};
    for (const Operand& op : meant.operands().subspan(1)) {
      Words& words = sources.emplace_back();
      if (op.registers == 0 || !op.literals.empty()) continue;
      for (int i = 0; i < kCases * 32 * op.registers; ++i) {
        std::uint64_t word = 0;
        if (op.part == Part::metadata)
          for (int j = 0; j < 8; ++j) word = word << 4 | kNibbles[random() % 6];
        else if (op.part == Part::scale_a || op.part == Part::scale_b)
          for (int j = 0; j < 4; ++j) word = word << 8 | random_code(op.format, random);
        else
          for (int e = 0; e < op.fragment.packing().per_register(); ++e)
            word |= random_code(op.format, random) << op.fragment.packing().low_bit_of(e);
        words.push_back(word);
      }
    }
  }

  std::size_t index(std::string_view role) const {
    for (std::size_t i = 1; i < meant.operands().size(); ++i)
      if (meant.operands()[i].role == role) return i - 1;
    throw std::out_of_range(std::string(role));
  }
  const Operand& operand(std::string_view role) const {
    return role == "d" ? meant.operands()[0] : meant.operands()[index(role) + 1];
  }
  Words& words(std::string_view role) { return role == "d" ? d : sources[index(role)]; }

  // Each register is what other(case, lane, register, the word) returns.
  template <class Other>
  void each(std::string_view role, Other other) {
    const int n = operand(role).registers;
    const Words old = words(role);
    for (int i = 0; i < static_cast<int>(old.size()); ++i)
      words(role)[size(i)] = other(old, i / n / 32, i / n % 32, i % n);
  }
  void registers(std::string_view role, std::vector<int> from) {  // -1: not loaded
    const int n = operand(role).registers;
    each(role, [&](const Words& old, int c, int lane, int r) {
      return from[size(r)] < 0 ? 0 : old[size((c * 32 + lane) * n + from[size(r)])];
    });
  }
  void lanes(std::string_view role, int (*from)(int)) {  // -1: not loaded
    const int n = operand(role).registers;
    each(role, [&](const Words& old, int c, int lane, int r) {
      return from(lane) < 0 ? 0 : old[size((c * 32 + from(lane)) * n + r)];
    });
  }
  void bits(std::string_view role, std::uint64_t (*to)(std::uint64_t)) {
    for (std::uint64_t& word : words(role)) word = to(word);
  }
  // Each element is that of another row and column; from outside the tile it is anything.
  void elements(std::string_view role, const std::function<Coordinate(const Coordinate&)>& from) {
    const FragmentMap& map = operand(role).fragment;
    const Packing& packing = map.packing();
    const int n = operand(role).registers;
    each(role, [&](const Words& old, int c, int lane, int r) {
      std::uint64_t word = 0;
      for (int e = 0; e < packing.per_register(); ++e) {
        const std::vector<Place> places = map.find(from(*map.at(lane, r, e)));
        const std::uint64_t code =
            places.empty() ? random_code(operand(role).format, random)
                           : old[size((c * 32 + places[0].lane) * n + places[0].reg)] >> places[0].low_bit &
                                 packing.mask();
        word |= code << packing.low_bit_of(e);
      }
      return word;
    });
  }
  void swap(std::string_view role, std::string_view other) { std::swap(words(role), words(other)); }
  void replace(std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = statement.find(from, at)) != statement.npos; at += to.size())
      statement.replace(at, from.size(), to);
  }

  static std::vector<std::byte> bytes(const Words& words, int bits) {
    std::vector<std::byte> out(words.size() * size(bits / 8));
    for (std::size_t i = 0; i < words.size(); ++i)
      std::memcpy(out.data() + i * size(bits / 8), &words[i], size(bits / 8));
    return out;
  }
  struct Views {
    std::vector<std::vector<std::byte>> data;
    std::vector<OperandView> views;
  };
  Views views(const std::vector<Words>& all) const {
    Views out;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Operand& op = meant.operands()[i + 1];
      out.data.push_back(bytes(all[i], op.register_bits == 0 ? 32 : op.register_bits));
      out.views.push_back(all[i].empty()
                              ? OperandView{}
                              : OperandView::dense(out.data.back().data(), 32, op.registers, op.register_bits));
    }
    return out;
  }
  Words execute(const std::vector<Words>& all) const {
    const Instruction i = warp::parse(statement, target);
    const Operand& op = i.operands()[0];
    const Views in = views(all);
    std::vector<std::byte> out(size(kCases * 32 * op.registers * op.register_bits / 8));
    ExecuteOptions options;
    options.undefined = Undefined::as_measured;
    REQUIRE(execute_batch(i, in.views, ResultView::dense(out.data(), 32, op.registers, op.register_bits),
                          kCases, options)
                .ok());
    Words words(size(kCases * 32 * op.registers));
    for (std::size_t n = 0; n < words.size(); ++n)
      std::memcpy(&words[n], out.data() + n * size(op.register_bits / 8), size(op.register_bits / 8));
    return words;
  }
  // Executes as the sources are now.
  void run() { d = execute(sources); }
};

struct Mistake {
  std::string what, form;
  std::function<void(Kernel&)> before = {}, after = {};  // the product
  std::string answers = {};                              // "kind operand", separated by "; "
};

const std::map<std::string, std::pair<std::string, std::string>>& forms() {
  static const std::map<std::string, std::pair<std::string, std::string>> all = {
      {"f16", {"sm_90a", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};"}},
      {"bf16", {"sm_90a", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {d}, {a}, {b}, {c};"}},
      {"tf32", {"sm_90a", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {d}, {a}, {b}, {c};"}},
      {"s8", {"sm_90a", "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {d}, {a}, {b}, {c};"}},
      {"e4m3", {"sm_90a", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {d}, {a}, {b}, {c};"}},
      {"s4", {"sm_90a", "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {d}, {a}, {b}, {c};"}},
      {"f64", {"sm_90a", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {d}, {a}, {b}, {c};"}},
      {"sparse",
       {"sm_90a",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, 0;"}},
      {"sparse16",
       {"sm_90a",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, 1;"}},
      {"mxf8",
       {"sm_120a",
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 {d}, "
        "{a}, {b}, {c}, sfa, {1, 0}, sfb, {2, 1};"}},
      {"nvfp4",
       {"sm_120a",
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {d}, "
        "{a}, {b}, {c}, sfa, {0, 0}, sfb, {0, 0};"}},
      {"fp4",
       {"sm_120a", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32 {d}, {a}, {b}, {c};"}},
  };
  return all;
}

// e2m1 of a value times a power of two, and the like: an exponent field further.
void add_to_exponent(Kernel& k, std::string_view role, int bits, int low, int by) {
  const int n = k.operand(role).fragment.packing().slot_bits;
  for (std::uint64_t& word : k.words(role)) {
    std::uint64_t out = 0;
    for (int at = 0; at < k.operand(role).register_bits; at += n) {
      std::uint64_t code = word >> at & (n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1);
      if ((code >> low & ((std::uint64_t{1} << bits) - 1)) != 0)
        code += static_cast<std::uint64_t>(static_cast<std::int64_t>(by)) << low;
      out |= (n == 64 ? code : code & ((std::uint64_t{1} << n) - 1)) << at;
    }
    word = out;
  }
}

// A scale factor's byte is that of another row and block; lanes 4 g and 4 g + 1 have rows g and g + 8 of A.
void move_scales(Kernel& k, std::string_view role, const std::function<std::pair<int, int>(int, int)>& from) {
  const bool left = role == "scale_a";
  const auto lane_of = [&](int row) { return left ? row % 8 * 4 + row / 8 : row * 4; };
  k.each(role, [&](const Words& old, int c, int lane, int) {
    const int row = left ? lane / 4 + lane % 2 * 8 : lane / 4;
    std::uint64_t word = 0;
    for (int block = 0; block < 4; ++block) {
      const auto [r, b] = from(row, block);
      const bool inside = r >= 0 && r < (left ? 16 : 8) && b < 4;
      const std::uint64_t byte =
          inside ? old[size(c * 32 + lane_of(r))] >> (8 * b) & 0xFF : random_code("ue4m3", k.random);
      word |= byte << (8 * block);
    }
    return word;
  });
}

const std::vector<Mistake>& mistakes() {
  using C = Coordinate;
  static const std::vector<Mistake> all = {
      // Registers
      {"a1 and a2 are exchanged",
       "f16",
       [](Kernel& k) {
         k.registers("a", {0, 2, 1, 3});
       },
       {},
       "register_order a"},
      {"a2 is passed twice",
       "f16",
       [](Kernel& k) {
         k.registers("a", {0, 1, 2, 2});
       },
       {},
       "register_order a"},
      {"b0 is passed twice",
       "bf16",
       [](Kernel& k) {
         k.registers("b", {0, 0});
       },
       {},
       "register_order b"},
      {"c2 is passed twice",
       "e4m3",
       [](Kernel& k) {
         k.registers("c", {0, 1, 2, 2});
       },
       {},
       "register_order c"},
      {"two registers of A are passed twice",
       "e4m3",
       [](Kernel& k) {
         k.registers("a", {0, 1, 0, 1});
       },
       {},
       "register_order a; depth_repeated a"},
      {"d1 is stored in d0's place, too",
       "f16",
       {},
       [](Kernel& k) {
         k.registers("d", {1, 1, 2, 3});
       },
       "register_order d"},
      {"a3 is not loaded",
       "s8",
       [](Kernel& k) {
         k.registers("a", {0, 1, 2, -1});
       },
       {},
       "not_loaded a"},
      {"the halves of each register are exchanged",
       "bf16",
       [](Kernel& k) { k.bits("b", [](std::uint64_t x) { return x >> 16 | (x & 0xFFFF) << 16; }); },
       {},
       "element_order b; element_order a"},
      {"the bytes of each register are in the other order",
       "e4m3",
       [](Kernel& k) {
         k.bits("a",
                [](std::uint64_t x) { return std::uint64_t{__builtin_bswap32(static_cast<unsigned>(x))}; });
       },
       {},
       "element_order a; element_order b"},
      {"the nibbles of each byte are exchanged",
       "s4",
       [](Kernel& k) {
         k.bits("a", [](std::uint64_t x) { return (x >> 4 & 0x0F0F0F0F) | (x & 0x0F0F0F0F) << 4; });
       },
       {},
       "element_order a; element_order b"},
      // Lanes
      {"lanes 16 to 31 are not loaded",
       "f16",
       [](Kernel& k) { k.lanes("a", [](int x) { return x < 16 ? x : -1; }); },
       {},
       "not_loaded a"},
      {"lanes 16 to 31 have what lane % 16 has",
       "f16",
       [](Kernel& k) { k.lanes("a", [](int x) { return x % 16; }); },
       {},
       "lane_order a"},
      {"lanes have what lane % 8 has",
       "tf32",
       [](Kernel& k) { k.lanes("b", [](int x) { return x % 8; }); },
       {},
       "lane_order b"},
      {"lanes 8 to 15 are not loaded",
       "s8",
       [](Kernel& k) { k.lanes("b", [](int x) { return x / 8 == 1 ? -1 : x; }); },
       {},
       "not_loaded b"},
      {"lanes have what lane | 16 has",
       "bf16",
       [](Kernel& k) { k.lanes("c", [](int x) { return x | 16; }); },
       {},
       "lane_order c"},
      {"row from lane % 8, column from lane / 8",
       "f16",
       [](Kernel& k) { k.lanes("a", [](int x) { return x % 8 * 4 + x / 8; }); },
       {},
       "lane_order a"},
      {"the results of the even lanes alone are stored",
       "f16",
       {},
       [](Kernel& k) { k.lanes("d", [](int x) { return x % 2 ? -1 : x; }); },
       "not_stored d"},
      // ldmatrix, and addresses
      {"ldmatrix of B without .trans",
       "f16",
       [](Kernel& k) {
         k.elements("b", [](const C& c) { return C{c.row / 8 * 8 + c.column % 8, c.row % 8}; });
       },
       {},
       "transposed b"},
      {"ldmatrix with .trans too much",
       "bf16",
       [](Kernel& k) {
         k.elements("a", [](const C& c) {
           return C{c.row / 8 * 8 + c.column % 8, c.column / 8 * 8 + c.row % 8};
         });
       },
       {},
       "transposed a"},
      {"ldmatrix.x4 with the rows of lane % 8",
       "f16",
       [](Kernel& k) { k.elements("a", [](const C& c) {
                         return C{c.row % 8, c.column % 8};
                       }); },
       {},
       "register_order a"},
      {"ldmatrix.x4 without the columns of lanes 16 to 31",
       "f16",
       [](Kernel& k) { k.elements("a", [](const C& c) {
                         return C{c.row, c.column % 8};
                       }); },
       {},
       "register_order a; depth_repeated a; index_constant a; lane_order a"},
      {"the swizzle is forgotten at one side",
       "f16",
       [](Kernel& k) { k.elements("a", [](const C& c) {
                         return C{c.row, c.column ^ (c.row / 4 % 2 * 8)};
                       }); },
       {},
       "swizzle a"},
      {"another swizzle at one side",
       "f16",
       [](Kernel& k) {
         k.elements("a", [](const C& c) { return C{c.row, c.column ^ ((c.row / 4 ^ c.row / 2) % 2 * 8)}; });
       },
       {},
       "swizzle a"},
      {"C one row too far",
       "f16",
       [](Kernel& k) { k.elements("c", [](const C& c) {
                         return C{c.row + 1, c.column};
                       }); },
       {},
       "offset c"},
      {"B one column too early",
       "s8",
       [](Kernel& k) { k.elements("b", [](const C& c) {
                         return C{c.row, c.column - 1};
                       }); },
       {},
       "offset b"},
      {"A's leading dimension is N",
       "bf16",
       [](Kernel& k) {
         k.elements("a", [](C c) { return C{(c.row * 8 + c.column) / 16, (c.row * 8 + c.column) % 16}; });
       },
       {},
       "leading_dimension a"},
      {"C is read transposed",
       "f64",
       [](Kernel& k) { k.elements("c", [](C c) {
                         return C{c.column, c.row};
                       }); },
       {},
       "transposed c"},
      {"D is stored transposed",
       "f64",
       {},
       [](Kernel& k) { k.elements("d", [](C c) {
                         return C{c.column, c.row};
                       }); },
       "transposed d"},
      {"A and B are exchanged", "f64", [](Kernel& k) { k.swap("a", "b"); }, {}, "factors_exchanged a b"},
      {"D's columns without the factor 2",
       "f16",
       {},
       [](Kernel& k) {
         // lane % 4 + register % 2: what is written later counts
         k.elements("d", [](C c) {
           return c.column == 0 ? c : c.column <= 4 ? C{c.row, 2 * c.column - 1} : C{99, 0};
         });
         const FragmentMap& map = k.operand("d").fragment;
         k.each("d", [&](const Words& old, int n, int lane, int r) {
           return map.at(lane, r, 0)->column > 4 ? 0 : old[size((n * 32 + lane) * 4 + r)];
         });
       },
       "index_constant d; lane_order d"},
      // Types
      {"bf16 for f16", "f16", [](Kernel& k) { k.replace(".f16.f16", ".bf16.bf16"); }, {}, "type a b"},
      {"e5m2 for e4m3 of A", "e4m3", [](Kernel& k) { k.replace(".e4m3.e4m3", ".e5m2.e4m3"); }, {}, "type a"},
      {"u8 for s8 of B", "s8", [](Kernel& k) { k.replace(".s8.s8", ".s8.u8"); }, {}, "signedness b"},
      {".satfinite is missing", "s8", [](Kernel& k) { k.replace(".satfinite", ""); }, {}, "satfinite d"},
      {"f16 accumulators",
       "f16",
       {},
       [](Kernel& k) {
         Kernel half(k.target, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {d}, {a}, {b}, {c};");
         half.words("a") = k.words("a");
         half.words("b") = k.words("b");
         const auto to = [](std::uint64_t x) {
           return std::uint64_t{std::bit_cast<std::uint16_t>(
               static_cast<_Float16>(std::bit_cast<float>(static_cast<std::uint32_t>(x))))};
         };
         const auto back = [](std::uint64_t x) {
           return std::uint64_t{std::bit_cast<std::uint32_t>(
               static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(x))))};
         };
         for (std::size_t i = 0; i < half.words("c").size(); ++i)
           half.words("c")[i] = to(k.words("c")[2 * i]) | to(k.words("c")[2 * i + 1]) << 16;
         half.run();
         for (std::size_t i = 0; i < k.d.size(); ++i) k.d[i] = back(half.d[i / 2] >> (i % 2 * 16) & 0xFFFF);
       },
       "accumulator_type c d"},
      // Numbers
      {"C is ignored",
       "f16",
       [](Kernel& k) { std::ranges::fill(k.words("c"), 0); },
       {},
       "accumulator_missing c"},
      {"A is scaled by 1/8", "f16", [](Kernel& k) { add_to_exponent(k, "a", 5, 10, -3); }, {}, "scaled a b"},
      {"D is scaled by 2", "tf32", {}, [](Kernel& k) { add_to_exponent(k, "d", 8, 23, 1); }, "scaled d"},
      {"A is negated",
       "bf16",
       [](Kernel& k) { k.bits("a", [](std::uint64_t x) { return x ^ 0x80008000; }); },
       {},
       "sign a; sign b"},
      {"D is negated",
       "f16",
       {},
       [](Kernel& k) { k.bits("d", [](std::uint64_t x) { return x ^ 0x80000000; }); },
       "sign d"},
      {"A's numbers are rounded to tf32",
       "tf32",
       [](Kernel& k) {  // what is meant is in f32
         k.bits("a", [](std::uint64_t x) { return (x + 0x1000) & 0xFFFFE000; });
         k.bits("b", [](std::uint64_t x) { return (x + 0x1000) & 0xFFFFE000; });
       },
       {},
       "rounded a b"},
      {"the accumulators are not cleared",
       "f16",
       {},
       [](Kernel& k) {
         for (int n = 1; n < kCases; ++n) {
           std::copy_n(k.d.begin() + (n - 1) * 128, 128, k.words("c").begin() + n * 128);
           k.run();
         }
       },
       "accumulator_not_cleared c"},
      // Sparse
      {"the selector is 0", "sparse16", [](Kernel& k) { k.replace("e, 1;", "e, 0;"); }, {}, "selector e"},
      {"the halves of the metadata are exchanged",
       "sparse",
       [](Kernel& k) { k.bits("e", [](std::uint64_t x) { return x >> 16 | (x & 0xFFFF) << 16; }); },
       {},
       "metadata_order e"},
      {"the indices of each pair are exchanged",
       "sparse",
       [](Kernel& k) {
         k.bits("e", [](std::uint64_t x) { return (x >> 2 & 0x33333333) | (x & 0x33333333) << 2; });
       },
       {},
       "metadata_order e; element_order a"},
      {"the metadata of the lane before",
       "sparse",
       [](Kernel& k) { k.lanes("e", [](int x) { return (x + 31) % 32; }); },
       {},
       "metadata_lane e"},
      {"the compressed A in the order of the other element",
       "sparse",
       [](Kernel& k) { k.bits("a", [](std::uint64_t x) { return x >> 16 | (x & 0xFFFF) << 16; }); },
       {},
       "element_order a; metadata_order e"},
      // Scale factors
      {"scale factors of A and B are exchanged",
       "mxf8",
       [](Kernel& k) { k.swap("scale_a", "scale_b"); },
       {},
       "scales_exchanged scale_a scale_b"},
      {"scale factors of the next row",
       "nvfp4",
       [](Kernel& k) { move_scales(k, "scale_a", [](int r, int b) { return std::pair(r + 1, b); }); },
       {},
       "scale_row scale_a"},
      {"all scale factors are 1",
       "nvfp4",
       [](Kernel& k) {
         std::ranges::fill(k.words("scale_a"), 0x38383838);
         std::ranges::fill(k.words("scale_b"), 0x38383838);
       },
       {},
       "scale_one scale_a scale_b"},
      {"byte-id 0 for 1",
       "mxf8",
       [](Kernel& k) { k.replace("sfa, {1, 0}", "sfa, {0, 0}"); },
       {},
       "scale_selector scale_a"},
      {"thread-id 0 for 1",
       "mxf8",
       [](Kernel& k) { k.replace("sfb, {2, 1}", "sfb, {2, 0}"); },
       {},
       "scale_selector scale_b"},
      {"scale factors in tiles of 128 x 4 are read as lines",
       "nvfp4",
       [](Kernel& k) {
         move_scales(k, "scale_a", [](int r, int b) {
           const int at = r * 4 + b;
           return std::pair(at / 16 + at % 16 / 4 * 32, at % 4);
         });
       },
       {},
       "scale_layout scale_a"},
      {"scale factors in lines are read as tiles of 128 x 4",
       "nvfp4",
       [](Kernel& k) { move_scales(k, "scale_a", [](int r, int b) { return std::pair(r * 4 + b / 4, b); }); },
       {},
       "scale_layout scale_a"},
      {"e2m1 in the low bits of its byte",
       "fp4",
       [](Kernel& k) { k.bits("a", [](std::uint64_t x) { return x >> 2 & 0x0F0F0F0F; }); },
       {},
       "container a"},
      {"nibbles of packed e2m1 are exchanged",
       "nvfp4",
       [](Kernel& k) {
         k.bits("b", [](std::uint64_t x) { return (x >> 4 & 0x0F0F0F0F) | (x & 0x0F0F0F0F) << 4; });
       },
       {},
       "element_order b; element_order a"},
  };
  return all;
}

// ---- Judging

struct Tally {
  int tried = 0, first = 0, wrongly_certain = 0;
};

bool is_answer(const Finding& f, const std::string& answers) {
  return ("; " + answers + ";").find("; " + f.kind + " " + f.operand + ";") != std::string::npos;
}

void judge(const std::string& what, const Result<Diagnosis>& d, const std::string& answers, Tally& tally) {
  INFO(what << ": " << (d ? d->text() : d.error().message()));
  REQUIRE(d.ok());
  ++tally.tried;
  const bool found = !d->findings.empty() && is_answer(d->findings[0], answers);
  const bool wrongly = !found && !d->findings.empty() && d->findings[0].certain;
  tally.first += found;
  tally.wrongly_certain += wrongly;
  if (!found) fmt::print("{} {}: {}\n", wrongly ? "wrong" : "missed", what, d->text());
}

TEST_CASE("everyday mistakes in one instruction are named", "[diagnose]") {
  Tally tally;
  for (const Mistake& m : mistakes()) {
    Kernel kernel(forms().at(m.form).first, forms().at(m.form).second);
    if (m.answers.starts_with("satfinite"))
      for (std::uint64_t& word : kernel.words("c"))
        word = word % 2 ? 0x7FFFF000 + word % 4096 : 0x80000000 + word % 4096;
    if (m.answers.starts_with("rounded"))
      for (const char* role : {"a", "b"})
        for (std::uint64_t& word : kernel.words(role)) word |= kernel.random() & 0x1FFF;
    const std::vector<Words> meant = kernel.sources;
    const Words right = kernel.execute(meant);
    if (m.before) m.before(kernel);
    kernel.run();
    if (m.after) m.after(kernel);
    INFO(m.what);
    REQUIRE(kernel.d != right);
    const Kernel::Views in = kernel.views(meant);
    const Operand& op = kernel.meant.operands()[0];
    const std::vector<std::byte> d = Kernel::bytes(kernel.d, op.register_bits);
    judge(m.form + ", " + m.what,
          diagnose(kernel.meant, in.views, OperandView::dense(d.data(), 32, op.registers, op.register_bits),
                   kCases),
          m.answers, tally);
  }
  fmt::print("{} of {} mistakes in one instruction named first, {} wrongly certain\n", tally.first, tally.tried,
             tally.wrongly_certain);
  CHECK(tally.first * 60 >= tally.tried * 55);
  CHECK(tally.wrongly_certain == 0);
}

// ---- wgmma: descriptors and immediates

struct Line {
  std::string what, line, answers;
};

TEST_CASE("everyday mistakes in descriptors are named", "[diagnose]") {
  const std::vector<Line> lines = {
      {"LBO and SBO of B are exchanged",
       "db = (db_start >> 4) | (db_sbo >> 4) << 16 | (db_lbo >> 4) << 32 | 0 << 62", "offsets_exchanged b"},
      {"the swizzle of 64 bytes for 128",
       "da = (da_start >> 4) | (da_lbo >> 4) << 16 | (da_sbo >> 4) << 32 | 2 << 62", "swizzle a"},
      {"a base offset of 1",
       "da = (da_start >> 4) | (da_lbo >> 4) << 16 | (da_sbo >> 4) << 32 | 1 << 49 | 1 << 62", "base_offset a"},
      {"the start of A 32 bytes too far", "da_start = 0 + 1056", "start_address a"},
      {"LBO in bytes", "db = (db_start >> 4) | db_lbo << 16 | (db_sbo >> 4) << 32 | 0 << 62", "offset_units b"},
      {"D is cleared", "c_times = 0", "accumulator_missing c"},
  };
  Tally tally;
  const archive::Directory directory;
  const auto kernel = std::ranges::find(simulated::kernels(), "wgmma", &simulated::Kernel::name);
  for (const Line& mistake : lines) {
    Random random(kNoise);
    const simulated::Data data = simulated::data_of(*kernel, 0, random);
    kernel_text::Text text = simulated::text_of(*kernel);
    const simulated::Run right = simulated::Simulation(*kernel, data, text).run();
    const kernel_text::Line changed = kernel_text::parse(mistake.line).at(0);
    *std::ranges::find(text, changed.name, &kernel_text::Line::name) = changed;
    const simulated::Run wrong = simulated::Simulation(*kernel, data, text).run();
    REQUIRE(wrong.d != right.d);
    write(directory.path / "x.npz", *kernel, data, right, fragment_of(*kernel, wrong.d));
    judge("wgmma, " + mistake.what, diagnose(directory.path / "x.npz"), mistake.answers, tally);
  }
  fmt::print("{} of {} mistakes in descriptors named first, {} wrongly certain\n", tally.first, tally.tried,
             tally.wrongly_certain);
  CHECK(tally.first * 60 >= tally.tried * 55);
  CHECK(tally.wrongly_certain == 0);
}

// ---- Products of whole matrices

constexpr std::string_view kF16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

struct Shape {
  int m, n, k;
};

// A kernel in a loop over the tiles of D and the steps of K; all that a mistake may change.
struct Loop {
  Shape shape;
  Words a, b, c, d = {};  // row by row
  std::string form{kF16};
  std::function<std::uint64_t(int row, int k)> load_a;
  std::function<std::uint64_t(int k, int column)> load_b;
  std::function<Coordinate(int row, int column)> store = [](int row, int column) {
    return Coordinate{row, column};
  };
  std::function<void(std::vector<std::uint32_t>& a)> registers = [](std::vector<std::uint32_t>&) {};
  std::vector<std::vector<int>> runs;
  bool keeps = false, clears = false;  // the accumulators: between tiles, between steps

  Loop(Shape s, Random& random) : shape(s) {
    for (int i = 0; i < s.m * s.k; ++i) a.push_back(random_code("f16", random));
    for (int i = 0; i < s.k * s.n; ++i) b.push_back(random_code("f16", random));
    for (int i = 0; i < s.m * s.n; ++i) c.push_back(random_code("f32", random));
    load_a = [this](int row, int k) { return k < shape.k && row < shape.m ? a[size(row * shape.k + k)] : 0; };
    load_b = [this](int k, int column) {
      return k < shape.k && column < shape.n ? b[size(k * shape.n + column)] : 0;
    };
    set_depth(16);
  }
  Loop(const Loop&) = delete;
  void set_depth(int depth) {
    runs = {{}};
    for (int step = 0; step * depth < shape.k; ++step) runs[0].push_back(step);
  }

  using Registers = std::vector<std::uint32_t>;
  // Two lines in a register where the format has 16 bits.
  template <class Code>
  static Registers fill(const Operand& op, Code code) {
    Registers out(size(32 * op.registers));
    const Packing& packing = op.fragment.packing();
    for (int i = 0; i < 32 * op.registers; ++i)
      for (int e = 0; e < packing.per_register(); ++e) {
        const Coordinate at = *op.fragment.at(i / op.registers, i % op.registers, e);
        out[size(i)] |= static_cast<std::uint32_t>(code(at.row, at.column) << packing.low_bit_of(e));
      }
    return out;
  }

  void run() {
    const Instruction i = warp::parse(form, "sm_90a");
    const Operand &op_a = *i.find(Part::a), &op_b = *i.find(Part::b), &op_c = *i.find(Part::c);
    d.assign(c.size(), 0);
    Registers kept;
    for (int row = 0; row < shape.m; row += i.rows())
      for (int column = 0; column < shape.n; column += i.columns()) {
        Registers sum;
        for (const std::vector<int>& steps : runs) {
          Registers accumulators = fill(op_c, [&](int r, int j) {
            const bool inside = row + r < shape.m && column + j < shape.n;
            return inside && sum.empty() ? c[size((row + r) * shape.n + column + j)] : 0;
          });
          if (keeps && !kept.empty()) accumulators = kept;
          for (const int step : steps) {
            Registers from_a = fill(op_a, [&](int r, int k) { return load_a(row + r, step * i.depth() + k); });
            const Registers from_b =
                fill(op_b, [&](int k, int j) { return load_b(step * i.depth() + k, column + j); });
            registers(from_a);
            if (clears) std::ranges::fill(accumulators, 0U);
            REQUIRE(execute(i, {accumulators, from_a, from_b, accumulators}).ok());
          }
          if (sum.empty())
            sum = accumulators;
          else
            for (std::size_t n = 0; n < sum.size(); ++n)
              sum[n] = std::bit_cast<std::uint32_t>(std::bit_cast<float>(sum[n]) +
                                                    std::bit_cast<float>(accumulators[n]));
        }
        kept = sum;
        for (int n = 0; n < 128; ++n) {
          const Coordinate in = *op_c.fragment.at(n / 4, n % 4, 0);
          if (row + in.row >= shape.m || column + in.column >= shape.n) continue;
          const Coordinate at = store(row + in.row, column + in.column);
          if (at.row < shape.m && at.column < shape.n && at.row >= 0)
            d[size(at.row * shape.n + at.column)] = sum[size(n)];
        }
      }
  }
};

struct ProductMistake {
  std::string what;
  Shape shape;
  std::function<void(Loop&)> change;
  std::string answers;
};

const std::vector<ProductMistake>& product_mistakes() {
  constexpr Shape kTail{40, 24, 56}, kWhole{64, 64, 64};
  static const std::vector<ProductMistake> all = {
      {"the last K mod 16 are not summed", kTail,
       [](Loop& l) {
         l.load_a = [&l](int row, int k) { return k < 48 && row < 40 ? l.a[size(row * 56 + k)] : 0; };
       },
       "tail_missing a b; step_missing ; accumulator_cleared c"},
      {"behind the end of K are the next row and column", kTail,
       [](Loop& l) {
         l.load_a = [&l](int row, int k) { return row * 56 + k < 40 * 56 ? l.a[size(row * 56 + k)] : 0x3C00; };
         l.load_b = [&l](int k, int column) {
           const int at = column * 56 + k;
           return at < 24 * 56 ? l.b[size(at % 56 * 24 + at / 56)] : 0x3C00;
         };
       },
       "tail_garbage a b"},
      {"behind the end of K the last of K is repeated", kTail,
       [](Loop& l) {
         l.load_a = [&l](int row, int k) { return row < 40 ? l.a[size(row * 56 + std::min(k, 55))] : 0; };
         l.load_b = [&l](int k, int column) {
           return column < 24 ? l.b[size(std::min(k, 55) * 24 + column)] : 0;
         };
       },
       "tail_garbage a b"},
      {"a step is missing", kWhole,
       [](Loop& l) {
         l.runs = {{0, 2, 3}};
       },
       "step_missing "},
      {"a step is summed twice", kTail,
       [](Loop& l) {
         l.runs = {{0, 1, 1, 2, 3}};
       },
       "step_twice "},
      {"the accumulators are cleared in the loop", kWhole, [](Loop& l) { l.clears = true; },
       "accumulator_cleared c"},
      {"the accumulators are not cleared", kTail, [](Loop& l) { l.keeps = true; }, "accumulator_not_cleared c"},
      {"K descending", kWhole, [](Loop& l) { std::ranges::reverse(l.runs[0]); }, "k_order d"},
      {"split-K 2", kWhole,
       [](Loop& l) {
         l.runs = {{0, 1}, {2, 3}};
       },
       "k_order d"},
      {"each step is added in f32", kWhole,
       [](Loop& l) {
         l.runs = {{0}, {1}, {2}, {3}};
       },
       "k_order d"},
      {"m16n8k8 twice", kWhole,
       [](Loop& l) {
         l.form = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32";
         l.set_depth(8);
       },
       "shape ; target "},
      {"blocks' rows and columns are exchanged", kWhole,
       [](Loop& l) {
         l.store = [](int row, int column) {
           return Coordinate{column / 32 * 32 + row % 32, row / 32 * 32 + column % 32};
         };
       },
       "blocks_exchanged d"},
      {"A of the stage before", kWhole,
       [](Loop& l) { l.load_a = [&l](int row, int k) { return l.a[size(row * 64 + (k < 16 ? k : k - 16))]; }; },
       "stale_step a"},
      {"A is a stage ahead of B", kWhole,
       [](Loop& l) { l.load_a = [&l](int row, int k) { return l.a[size(row * 64 + (k + 16) % 64)]; }; },
       "stale_step a"},
      {"the swizzle of 128 bytes is forgotten", kWhole,
       [](Loop& l) { l.load_a = [&l](int row, int k) { return l.a[size(row * 64 + (k ^ row % 8 * 8))]; }; },
       "swizzle a"},
      {"B swizzled by 64 bytes and read by 128", kWhole,
       [](Loop& l) {
         l.load_b = [&l](int k, int column) {
           return l.b[size((k ^ (column % 8 ^ column / 2 % 4) * 8) * 64 + column)];
         };
       },
       "swizzle b"},
      {"A one element too far", kTail,
       [](Loop& l) {
         l.load_a = [&l](int row, int k) {
           return k < 56 && row * 56 + k + 1 < 40 * 56 ? l.a[size(row * 56 + k + 1)] : 0;
         };
       },
       "offset a"},
      {"B column-major for row-major", kTail,
       [](Loop& l) {
         l.load_b = [&l](int k, int column) { return k < 56 && column < 24 ? l.b[size(column * 56 + k)] : 0; };
       },
       "transposed b"},
      {"A's leading dimension is N", kTail,
       [](Loop& l) {
         l.load_a = [&l](int row, int k) { return k < 56 && row < 40 ? l.a[size(row * 24 + k)] : 0; };
       },
       "leading_dimension a"},
      {"D's leading dimension is 32", kTail,
       [](Loop& l) {
         l.store = [](int row, int column) {
           return Coordinate{(row * 32 + column) / 24, (row * 32 + column) % 24};
         };
       },
       "leading_dimension d"},
      {"a1 and a2 are exchanged in each instruction", kTail,
       [](Loop& l) {
         l.registers = [](std::vector<std::uint32_t>& a) {
           for (std::size_t i = 0; i < a.size(); i += 4) std::swap(a[i + 1], a[i + 2]);
         };
       },
       "register_order a"},
      {"lanes 16 to 31 are not loaded in each instruction", kTail,
       [](Loop& l) {
         l.registers = [](std::vector<std::uint32_t>& a) { std::fill(a.begin() + 64, a.end(), 0U); };
       },
       "not_loaded a"},
      {"the last rows are not stored", kTail,
       [](Loop& l) { l.store = [](int row, int column) {
                       return Coordinate{row < 32 ? row : -1, column};
                     }; },
       "not_stored d"},
      {"bf16 for f16", kTail, [](Loop& l) { l.form = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"; },
       "type a b"},
      {"A is scaled by 1/8", kWhole,
       [](Loop& l) { l.load_a = [&l](int row, int k) { return l.a[size(row * 64 + k)] - (3 << 10); }; },
       "scaled a b"},
      {"warps' rows and columns are exchanged", kWhole,
       [](Loop& l) {
         l.store = [](int row, int column) {
           return row / 16 % 2 == column / 32 % 2
                      ? Coordinate{row, column}
                      : Coordinate{row + (row / 16 % 2 ? -16 : 16), column + (column / 32 % 2 ? -32 : 32)};
         };
       },
       "blocks_exchanged d"},
      {"all blocks have the rows of A of the first", kWhole,
       [](Loop& l) { l.load_a = [&l](int row, int k) { return l.a[size(row % 32 * 64 + k)]; }; },
       "block_forgotten a"},
      {"B's halves of 16 columns are exchanged", kWhole,
       [](Loop& l) { l.load_b = [&l](int k, int column) { return l.b[size(k * 64 + (column ^ 8))]; }; },
       "index_order b"},
      {"A is interleaved along K", kWhole,
       [](Loop& l) {
         l.load_a = [&l](int row, int k) { return l.a[size(row * 64 + k / 8 * 8 + k % 8 / 2 + k % 2 * 4)]; };
       },
       "index_order a"},
      {"the loop over K advances by 8", kWhole,
       [](Loop& l) {
         l.load_a = [&l](int row, int k) { return l.a[size(row * 64 + k / 16 * 8 + k % 16)]; };
         l.load_b = [&l](int k, int column) { return l.b[size((k / 16 * 8 + k % 16) * 64 + column)]; };
       },
       "step_stride a b"},
      {"the loop over K advances by 32", kWhole,
       [](Loop& l) {
         l.runs = {{0, 2}};
       },
       "step_missing "},
      {"A and B are exchanged", kWhole, [](Loop& l) { std::swap(l.a, l.b); }, "factors_exchanged a b"},
      {"C is one row, for all", kTail,
       [](Loop& l) {
         for (std::size_t i = 24; i < l.c.size(); ++i) l.c[i] = l.c[i % 24];
       },
       "block_forgotten c; leading_dimension c"},
      {"C is ignored", kTail, [](Loop& l) { std::ranges::fill(l.c, 0); }, "accumulator_missing c"},
  };
  return all;
}

TEST_CASE("everyday mistakes in products of matrices are named", "[diagnose]") {
  Tally tally;
  const Instruction i = warp::parse(std::string(kF16), "sm_90a");
  for (const ProductMistake& mistake : product_mistakes()) {
    Random random(kNoise);
    const Shape& s = mistake.shape;
    Loop loop(s, random);
    const Words meant_c = loop.c;
    const auto items = [](const Words& words, auto item) {
      std::vector<decltype(item)> out;
      for (const std::uint64_t word : words) out.push_back(static_cast<decltype(item)>(word));
      return out;
    };
    const auto a = items(loop.a, std::uint16_t{}), b = items(loop.b, std::uint16_t{});
    const auto c = items(loop.c, std::uint32_t{});
    loop.run();
    const Words right = loop.d;
    mistake.change(loop);
    loop.run();
    INFO(mistake.what);
    REQUIRE(loop.d != right);
    const auto diagnosed = [&](const Words& words) {
      auto d = items(words, std::uint32_t{});
      return diagnose(i, Gemm{size(s.m),
                              size(s.n),
                              size(s.k),
                              {a.data(), s.k, 1},
                              {b.data(), s.n, 1},
                              {c.data(), s.n, 1},
                              {d.data(), s.n, 1}});
    };
    REQUIRE(diagnosed(right).ok());
    CHECK(diagnosed(right)->verdict == Verdict::correct);
    judge("product, " + mistake.what, diagnosed(loop.d), mistake.answers, tally);
  }
  fmt::print("{} of {} mistakes in products named first, {} wrongly certain\n", tally.first, tally.tried,
             tally.wrongly_certain);
  CHECK(tally.first * 60 >= tally.tried * 55);
  CHECK(tally.wrongly_certain == 0);
}

// ---- Orders of the sum

// A product in some order, whose D is given for one of the plain chain: what is named.
struct SummedProduct {
  std::string form, order;
  int depth;
  std::string kind, part;  // of the finding, and of its words
  std::size_t left_out = 0;
};
const SummedProduct kSummed[] = {
    {std::string(kF16), "split_k=3", 480, "k_order", "D is the sum by split_k=3"},
    {std::string(kF16), "split_k=5 unit=64 merge_order=descending", 600, "k_order", "merge_order=descending"},
    {std::string(kF16), "promote=64", 200, "k_order", "promote=64"},
    {std::string(kF16), "descending", 100, "k_order", "D is the sum by descending"},
    {std::string(kF16), "sliced=3x32", 300, "k_order", "D is the sum by sliced=3x32"},
    {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "ascending", 64, "shape",
     "D is the sum by mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"},
    // 584 / 9 is 64, and 9 runs of 64 leave 8 out; 4 runs of 64 leave 3 out.
    {std::string(kF16), "split_k=9 unit=64 spread=cut", 584, "values_left_out",
     "the last 8 values of K are not in the sum", 8},
    {std::string(kF16), "split_k=4 unit=64 spread=cut", 259, "values_left_out",
     "the last 3 values of K are not in the sum", 3},
    // The same as a loop that is not rounded up.
    {std::string(kF16), "omit=64", 200, "tail_missing", "the last 8 of K are not summed"}};

TEST_CASE("orders of the sum are named", "[diagnose]") {
  constexpr std::size_t kRows = 16, kColumns = 16;
  const Instruction plain = warp::parse(std::string(kF16), "sm_90a");
  for (const SummedProduct& row : kSummed) {
    INFO(row.order << " over " << row.depth);
    Random random(kNoise);
    std::vector<std::uint16_t> a(kRows * size(row.depth)), b(kColumns * size(row.depth));
    for (auto* matrix : {&a, &b})
      for (std::uint16_t& code : *matrix) code = static_cast<std::uint16_t>((random() & 0x8FFF) + 0x3000);
    std::vector<std::uint32_t> d(kRows * kColumns);
    const Gemm product{kRows,
                       kColumns,
                       size(row.depth),
                       {a.data(), row.depth, 1},
                       {b.data(), 1, row.depth},
                       {},
                       {d.data(), kColumns, 1}};
    REQUIRE(gemm(warp::parse(row.form, "sm_90a"), product, {SumOrder::parse(row.order).value()}).ok());
    const Result<Diagnosis> found = diagnose(plain, product);
    REQUIRE(found.ok());
    INFO(found->text());
    REQUIRE_FALSE(found->findings.empty());
    const Finding& first = found->findings[0];
    CHECK(first.kind == row.kind);
    CHECK_THAT(first.mistake, Catch::Contains(row.part));
    CHECK(first.left_out == row.left_out);
    CHECK(first.explains_all());
    CHECK(first.certain);
    CHECK(found->verdict == Verdict::mistake);
    CHECK(std::ranges::none_of(found->findings, [](const Finding& f) { return f.order.starts_with("omit="); }));
    if (row.kind == "k_order" || row.kind == "shape")
      CHECK_THAT(found->text(), Catch::StartsWith("another order: D is the sum by "));
    else
      CHECK_THAT(first.hint, Catch::Contains("a defect known of cuBLAS"));
  }
}

// Of one element nothing is certain, and a mistake stands beside the orders.
TEST_CASE("orders and mistakes that explain a D are both named", "[diagnose]") {
  const Instruction plain = warp::parse(std::string(kF16), "sm_90a");
  // 2048 x 16384, and 31 times 1: 2^25 + 31. Without the second step of 16: 2^25 + 15, rounded by 4: 2^25 + 12.
  std::vector<std::uint16_t> a(32, 0x3C00), b(32, 0x3C00);
  a[0] = 0x6800, b[0] = 0x7400;
  std::vector<std::uint32_t> d = {0x4C000003};
  const Result<Diagnosis> found =
      diagnose(plain, Gemm{1, 1, 32, {a.data(), 32, 1}, {b.data(), 1, 32}, {}, {d.data(), 1, 1}});
  REQUIRE(found.ok());
  INFO(found->text());
  CHECK(std::ranges::none_of(found->findings, &Finding::certain));
  const auto has = [&](std::string_view kind) {
    return std::ranges::any_of(found->findings, [&](const Finding& f) { return f.kind == kind; });
  };
  CHECK(has("step_missing"));
  CHECK(has("k_order"));
}

}  // namespace diagnose_everyday_test
