// SPDX-License-Identifier: Apache-2.0
// Kernels whose index arithmetic is text (kernel_text.hpp), simulated lane by lane: matrices in global memory
// go into registers, the instruction is executed, D is stored. What they did is written as a capture.
#pragma once

#include <fmt/format.h>

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <random>

#include "archive.hpp"
#include "kernel_text.hpp"
#include "warp.hpp"
#include "warpbit/capture.hpp"
#include "warpbit/execute.hpp"

namespace simulated {

using namespace warpbit;
using kernel_text::Text;
using kernel_text::Variables;
using Words = std::vector<std::uint64_t>;
using Random = std::mt19937_64;

inline constexpr std::uint64_t kCases = 2;

// ---- The kernels

// A matrix in global memory: one tile after the other.
struct Matrix {
  int lines, line, pad;  // of a tile; elements between lines
  std::uint64_t width() const { return static_cast<std::uint64_t>(line + pad); }
  std::uint64_t tile() const { return static_cast<std::uint64_t>(lines) * width(); }
};

// A random code: a number whose exponent is one of a few about 0.
struct Format {
  int bits, exponent_bits, fraction_bits;  // 0 exponent bits: an integer
  std::uint64_t operator()(Random& random) const {
    const std::uint64_t all = random();
    if (exponent_bits == 0) return bits == 64 ? all : all & ((std::uint64_t{1} << bits) - 1);
    const std::uint64_t bias = (std::uint64_t{1} << (exponent_bits - 1)) - 1;
    const std::uint64_t exponent = bias - 1 + (all >> 60) % 3;
    const std::uint64_t fraction = all & ((std::uint64_t{1} << fraction_bits) - 1);
    return (all >> 59 & 1) << (exponent_bits + fraction_bits) | exponent << fraction_bits | fraction;
  }
  // A normal number times 2^power.
  std::uint64_t scaled(std::uint64_t code, std::int64_t power) const {
    const bool is_normal = (code >> fraction_bits & ((std::uint64_t{1} << exponent_bits) - 1)) != 0;
    return is_normal ? code + (static_cast<std::uint64_t>(power) << fraction_bits) : code;
  }
};
inline constexpr Format kF16{16, 5, 10}, kBf16{16, 8, 7}, kTf32{32, 8, 23}, kS8{8, 0, 0}, kE4m3{8, 4, 3},
    kF64{64, 11, 52}, kF32{32, 8, 23}, kS32{32, 0, 0};

// D = A B + C by one warp. Constants that a kernel's author would write are in the text.
struct Kernel {
  std::string name, target, statement;
  int m, n, k, terms;
  Format factor, sum;
  int register_bits;
  std::string text;

  int per_register() const { return register_bits / factor.bits; }
};

// PTX manual, "Matrix Fragments for mma.m16n8k...": P elements in a register.
inline std::string text_16(int p) {
  return fmt::format(
      "g = lane >> 2\n"
      "t = lane & 3\n"
      "a_from = 0\n"
      "b_from = 1\n"
      "a_registers_bound = 4\n"
      "a_elements_bound = {0}\n"
      "a_row = g + (r & 1) * 8\n"
      "a_col = t * {0} + e + (r >> 1) * {1}\n"
      "a_at = a_row * lda + a_col\n"
      "a_tile = n + 0\n"
      "a_negative = 0\n"
      "a_power = 3 - 3\n"
      "b_registers_bound = 2\n"
      "b_elements_bound = {0}\n"
      "b_k = t * {0} + e + r * {1}\n"
      "b_n = g + 0\n"
      "b_at = b_n * ldb + b_k\n"
      "b_tile = n + 0\n"
      "b_negative = 0\n"
      "b_power = 3 - 3\n"
      "c_times = 1\n"
      "c_registers_bound = 4\n"
      "c_row = g + (r >> 1) * 8\n"
      "c_col = t * 2 + (r & 1)\n"
      "c_at = c_row * ldc + c_col\n"
      "c_tile = n + 0\n"
      "c_power = 3 - 3\n"
      "d_registers_bound = 4\n"
      "d_row = g + (r >> 1) * 8\n"
      "d_col = t * 2 + (r & 1)\n"
      "d_at = d_row * ldd + d_col\n"
      "d_power = 3 - 3\n",
      p, 4 * p);
}
inline const std::string kText8 =
    "g = lane >> 2\n"
    "t = lane & 3\n"
    "a_from = 0\n"
    "b_from = 1\n"
    "a_registers_bound = 1\n"
    "a_elements_bound = 1\n"
    "a_row = g + 0\n"
    "a_col = t * 1\n"
    "a_at = a_row * lda + a_col\n"
    "a_tile = n + 0\n"
    "a_negative = 0\n"
    "a_power = 3 - 3\n"
    "b_registers_bound = 1\n"
    "b_elements_bound = 1\n"
    "b_k = t * 1\n"
    "b_n = g + 0\n"
    "b_at = b_n * ldb + b_k\n"
    "b_tile = n + 0\n"
    "b_negative = 0\n"
    "b_power = 3 - 3\n"
    "c_times = 1\n"
    "c_registers_bound = 2\n"
    "c_row = g + 0\n"
    "c_col = t * 2 + r\n"
    "c_at = c_row * ldc + c_col\n"
    "c_tile = n + 0\n"
    "c_power = 3 - 3\n"
    "d_registers_bound = 2\n"
    "d_row = g + 0\n"
    "d_col = t * 2 + r\n"
    "d_at = d_row * ldd + d_col\n"
    "d_power = 3 - 3\n";
// Metadata: two halves of each lane's word.
inline const std::string kMetadata =
    "e_low = lane * 2 + 0\n"
    "e_high = lane * 2 + 1\n"
    "e_selector = 0\n";
// Scale factors: bytes, four a lane.
inline const std::string kScales =
    "s_of_a_from = 0\n"
    "s_of_b_from = 1\n"
    "sfa_at = lane * 4 + byte\n"
    "sfb_at = lane * 4 + byte\n"
    "sfa_byte = 1\n"
    "sfa_thread = 0\n"
    "sfb_byte = 2\n"
    "sfb_thread = 1\n";
// wgmma: descriptors of 64 rows of A and of B, and where D goes.
inline const std::string kWarpgroup =
    "da_start = 0 + 1024\n"
    "da_lbo = 16\n"
    "da_sbo = 1024\n"
    "da = (da_start >> 4) | (da_lbo >> 4) << 16 | (da_sbo >> 4) << 32 | 1 << 62\n"
    "db_start = 0 + 9216\n"
    "db_lbo = 128\n"
    "db_sbo = 256\n"
    "db = (db_start >> 4) | (db_lbo >> 4) << 16 | (db_sbo >> 4) << 32 | 0 << 62\n"
    "c_times = 1\n"
    "d_registers_bound = 32\n"
    "d_g = (lane >> 2) & 7\n"
    "d_t = lane & 3\n"
    "d_w = lane >> 5\n"
    "d_row = d_g + d_w * 16 + ((r >> 1) & 1) * 8\n"
    "d_col = d_t * 2 + (r & 1) + (r >> 2) * 8\n"
    "d_at = d_row * ldd + d_col\n"
    "d_power = 3 - 3\n";

inline const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> all = {
      {"f16", "sm_90a", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};", 16, 8, 16, 16,
       kF16, kF32, 32, text_16(2)},
      {"bf16", "sm_90a", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {d}, {a}, {b}, {c};", 16, 8, 16,
       16, kBf16, kF32, 32, text_16(2)},
      {"tf32", "sm_90a", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {d}, {a}, {b}, {c};", 16, 8, 8, 8,
       kTf32, kF32, 32, text_16(1)},
      {"s8", "sm_90a", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {d}, {a}, {b}, {c};", 16, 8, 32, 32,
       kS8, kS32, 32, text_16(4)},
      {"e4m3", "sm_90a", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {d}, {a}, {b}, {c};", 16, 8, 32,
       32, kE4m3, kF32, 32, text_16(4)},
      {"sparse", "sm_90a",
       "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, 0;", 16,
       8, 32, 16, kF16, kF32, 32, text_16(2) + kMetadata},
      {"scaled", "sm_120a",
       "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 "
       "{d}, "
       "{a}, {b}, {c}, sfa, {1, 0}, sfb, {2, 1};",
       16, 8, 32, 32, kE4m3, kF32, 32, text_16(4) + kScales},
      {"f64", "sm_90a", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {d}, {a}, {b}, {c};", 8, 8, 4, 4, kF64,
       kF64, 64, kText8},
      {"wgmma", "sm_90a",
       "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {d}, desc_a, desc_b, scale_d, 1, 1, 0, 0;", 64, 64,
       16, 16, kF16, kF32, 32, kWarpgroup},
  };
  return all;
}

// The text of a kernel with as many registers of B as K has.
inline Text text_of(const Kernel& kernel) {
  Text out = kernel_text::parse(kernel.text);
  for (kernel_text::Line& line : out)  // B of a sparse product is twice as deep as A
    if (line.name == "b_registers_bound" && kernel.name == "sparse") line.tokens[0].text = "4";
  return out;
}

// ---- Simulation

// What a kernel works on; all that a mutated one could get elsewhere is here, too.
struct Data {
  Matrix a, b, c, d;
  Words global_a, global_b, global_c;
  Words metadata;                 // [case][64] halves
  Words scales[2];                // [case][128] bytes
  std::vector<std::byte> shared;  // [case][kShared]
};
inline constexpr std::size_t kShared = 24 * 1024;

inline Data data_of(const Kernel& kernel, int pad, Random& random) {
  Data out{{kernel.m, kernel.terms, pad},
           {kernel.n, kernel.k, pad},
           {kernel.m, kernel.n, 0},
           {kernel.m, kernel.n, 0},
           {},
           {},
           {},
           {},
           {},
           {}};
  const auto fill = [&](Words& words, std::uint64_t count, const Format& format) {
    for (std::uint64_t i = 0; i < count; ++i) words.push_back(format(random));
  };
  fill(out.global_a, kCases * out.a.tile(), kernel.factor);
  fill(out.global_b, kCases * out.b.tile(), kernel.factor);
  fill(out.global_c, kCases * out.c.tile(), kernel.sum);
  constexpr std::uint64_t kNibbles[] = {0x4, 0x8, 0x9, 0xC, 0xD, 0xE};
  for (std::uint64_t i = 0; i < kCases * 64; ++i) {
    std::uint64_t half = 0;
    for (int j = 0; j < 4; ++j) half = half << 4 | kNibbles[random() % 6];
    out.metadata.push_back(half);
  }
  for (Words& scales : out.scales)
    for (std::uint64_t i = 0; i < kCases * 128; ++i) scales.push_back(120 + random() % 16);
  if (kernel.name == "wgmma")
    for (std::size_t i = 0; i < kCases * kShared / 2; ++i) {
      const std::uint64_t code = kF16(random);
      out.shared.push_back(static_cast<std::byte>(code));
      out.shared.push_back(static_cast<std::byte>(code >> 8));
    }
  return out;
}

struct Registers {
  int lanes = 32, registers = 0, bits = 32;
  Words words;  // [case][lane][register]
  Registers(int l, int r, int b)
      : lanes(l),
        registers(r),
        bits(b),
        words(static_cast<std::size_t>(kCases) * static_cast<std::size_t>(l * r)) {}
  std::uint64_t& at(std::uint64_t n, int lane, int reg) {
    return words[(n * static_cast<std::uint64_t>(lanes) + static_cast<std::uint64_t>(lane)) *
                     static_cast<std::uint64_t>(registers) +
                 static_cast<std::uint64_t>(reg)];
  }
  Array array(const std::string& name) const {
    std::vector<std::uint64_t> shape{kCases, static_cast<std::uint64_t>(lanes)};
    if (registers > 0 && name.size() == 1 && name != "e")
      shape.push_back(static_cast<std::uint64_t>(registers));
    if (name == "d_in") shape.push_back(static_cast<std::uint64_t>(registers));
    Array out = Array::zeros(name, static_cast<std::size_t>(bits / 8), shape);
    for (std::size_t i = 0; i < words.size(); ++i) out.set(i, words[i]);
    return out;
  }
};

// Registers that a run of a kernel had, and the matrix D that it wrote.
struct Run {
  std::map<std::string, Registers> inputs;
  std::array<Words, 2> descriptors;
  Words d;
  std::string statement;
};

class Simulation {
 public:
  Simulation(const Kernel& kernel, const Data& data, const Text& text)
      : kernel_(kernel), data_(data), text_(text) {}

  Run run() {
    Run out;
    Variables v = variables();
    kernel_text::evaluate(text_, "", v);
    out.statement = kernel_.statement;
    replace_literals(out.statement, v);
    if (kernel_.name == "wgmma") return warpgroup(std::move(out));
    load(out, "a", v.at("a_from") == 0 ? data_.global_a : data_.global_b,
         v.at("a_from") == 0 ? data_.a.tile() : data_.b.tile(), kernel_.per_register());
    load(out, "b", v.at("b_from") == 1 ? data_.global_b : data_.global_a,
         v.at("b_from") == 1 ? data_.b.tile() : data_.a.tile(), kernel_.per_register());
    load(out, "c", data_.global_c, data_.c.tile(), 1);
    if (v.at("c_times") == 0) std::ranges::fill(out.inputs.at("c").words, 0);
    if (kernel_.name == "sparse") load_metadata(out);
    if (kernel_.name == "scaled") load_scales(out, v);
    execute(out, v.at("c_times"));
    return out;
  }

 private:
  // All that lines may use, with values for the first element.
  Variables variables() const {
    Variables v;
    for (const char* name : {"lane", "r", "e", "n", "byte"}) v[name] = 0;
    v["lda"] = static_cast<std::int64_t>(data_.a.width());
    v["ldb"] = static_cast<std::int64_t>(data_.b.width());
    v["ldc"] = static_cast<std::int64_t>(data_.c.width());
    v["ldd"] = static_cast<std::int64_t>(data_.d.width());
    return v;
  }
  void replace_literals(std::string& statement, const Variables& v) const {
    if (kernel_.name == "sparse")
      statement = fmt::format("{}e, {};", statement.substr(0, statement.rfind("e, ")), v.at("e_selector"));
    if (kernel_.name == "scaled")
      statement = fmt::format("{}sfa, {{{}, {}}}, sfb, {{{}, {}}};", statement.substr(0, statement.find("sfa")),
                              v.at("sfa_byte"), v.at("sfa_thread"), v.at("sfb_byte"), v.at("sfb_thread"));
  }

  static std::uint64_t wrapped(std::int64_t at, std::size_t size) {
    const auto n = static_cast<std::int64_t>(size);
    return static_cast<std::uint64_t>((at % n + n) % n);
  }

  void load(Run& out, const std::string& x, const Words& global, std::uint64_t tile, int per) {
    const Instruction i = warp::parse(kernel_.statement, kernel_.target);
    const auto op = std::ranges::find(i.operands(), std::string_view(x), &Operand::role);
    Registers registers(32, op->registers, op->register_bits);
    Variables v = variables();
    const int bits = x == "c" ? kernel_.sum.bits : kernel_.factor.bits;
    share(v);
    kernel_text::evaluate(text_, x + "_", v);
    const std::int64_t bound = v.at(x + "_registers_bound"),
                       elements = x == "c" ? 1 : v.at(x + "_elements_bound");
    for (std::uint64_t n = 0; n < kCases; ++n)
      for (int lane = 0; lane < 32; ++lane)
        for (int r = 0; r < std::min<std::int64_t>(bound, registers.registers); ++r)
          for (int e = 0; e < std::min<std::int64_t>(elements, per); ++e) {
            v["lane"] = lane;
            v["r"] = r;
            v["e"] = e;
            v["n"] = static_cast<std::int64_t>(n);
            share(v);
            kernel_text::evaluate(text_, x + "_", v);
            const std::int64_t at = v.at(x + "_at") + v.at(x + "_tile") * static_cast<std::int64_t>(tile);
            std::uint64_t code = global[wrapped(at, global.size())];
            if (x != "c" && v.at(x + "_negative") != 0)
              code =
                  kernel_.factor.exponent_bits == 0 ? (0 - code) & 0xFF : code ^ std::uint64_t{1} << (bits - 1);
            code = (x == "c" ? kernel_.sum : kernel_.factor).scaled(code, v.at(x + "_power"));
            registers.at(n, lane, r) |= code << (e * bits);
          }
    out.inputs.emplace(x, std::move(registers));
  }
  // g and t
  void share(Variables& v) const {
    for (const char* name : {"g", "t"})
      for (const kernel_text::Line& line : text_)
        if (line.name == name) v[name] = kernel_text::Evaluation(line, v).run();
  }

  void load_metadata(Run& out) {
    Registers registers(32, 1, 32);
    Variables v = variables();
    for (std::uint64_t n = 0; n < kCases; ++n)
      for (int lane = 0; lane < 32; ++lane) {
        v["lane"] = lane;
        kernel_text::evaluate(text_, "e_", v);
        const auto half = [&](const char* name) {
          return data_.metadata[wrapped(v.at(name) + static_cast<std::int64_t>(n) * 64, data_.metadata.size())];
        };
        registers.at(n, lane, 0) = half("e_low") | half("e_high") << 16;
      }
    out.inputs.emplace("e", std::move(registers));
  }

  void load_scales(Run& out, const Variables& all) {
    for (const char* x : {"sfa", "sfb"}) {
      Registers registers(32, 1, 32);
      Variables v = variables();
      const bool first = (all.at("s_of_a_from") == 0) == (std::string_view(x) == "sfa");
      const Words& bytes = data_.scales[first ? 0 : 1];
      for (std::uint64_t n = 0; n < kCases; ++n)
        for (int lane = 0; lane < 32; ++lane)
          for (int byte = 0; byte < 4; ++byte) {
            v["lane"] = lane;
            v["byte"] = byte;
            kernel_text::evaluate(text_, std::string(x) + "_at", v);
            registers.at(n, lane, 0) |=
                bytes[wrapped(v.at(std::string(x) + "_at") + static_cast<std::int64_t>(n) * 128, bytes.size())]
                << (8 * byte);
          }
      out.inputs.emplace(x, std::move(registers));
    }
  }

  static Array dense(const Registers& registers) { return registers.array("x"); }

  void execute(Run& out, std::int64_t times) {
    const Result<Instruction> i = Instruction::parse(out.statement, *Target::find(kernel_.target));
    if (!i) return;  // the assembler would refuse it
    std::vector<Array> arrays;
    std::vector<OperandView> views;
    for (const Operand& op : i->operands().subspan(1)) {
      const auto found = out.inputs.find(op.label);
      arrays.push_back(found == out.inputs.end() ? Array() : dense(found->second));
      views.push_back(found == out.inputs.end()
                          ? OperandView{}
                          : OperandView::dense(arrays.back().data.data(), 32, op.registers, op.register_bits));
    }
    const Operand& d = i->operands()[0];
    Registers results(32, d.registers, d.register_bits);
    Array array = dense(results);
    ExecuteOptions options;
    options.undefined = Undefined::as_measured;
    options.threads = 1;
    if (!execute_batch(*i, views, ResultView::dense(array.data.data(), 32, d.registers, d.register_bits),
                       kCases, options))
      return;
    for (std::size_t j = 0; j < results.words.size(); ++j) {
      results.words[j] = array.at(j);
      for (std::int64_t more = 1; more < times; ++more)
        results.words[j] = sum(results.words[j], out.inputs.at("c").words[j]);
    }
    store(out, results);
  }
  // The compiler's own addition, as an epilogue has it.
  std::uint64_t sum(std::uint64_t x, std::uint64_t y) const {
    if (kernel_.sum.exponent_bits == 0) return (x + y) & 0xFFFFFFFF;
    if (kernel_.sum.bits == 64)
      return std::bit_cast<std::uint64_t>(std::bit_cast<double>(x) + std::bit_cast<double>(y));
    return std::bit_cast<std::uint32_t>(std::bit_cast<float>(static_cast<std::uint32_t>(x)) +
                                        std::bit_cast<float>(static_cast<std::uint32_t>(y)));
  }

  void store(Run& out, Registers& results) {
    out.d.assign(kCases * data_.d.tile(), 0);
    Variables v = variables();
    share(v);
    kernel_text::evaluate(text_, "d_", v);
    const std::int64_t bound = v.at("d_registers_bound");
    for (std::uint64_t n = 0; n < kCases; ++n)
      for (int lane = 0; lane < results.lanes; ++lane)
        for (int r = 0; r < std::min<std::int64_t>(bound, results.registers); ++r) {
          v["lane"] = lane;
          v["r"] = r;
          share(v);
          kernel_text::evaluate(text_, "d_", v);
          const std::int64_t at = v.at("d_at");
          const auto tile = static_cast<std::int64_t>(data_.d.tile());
          if (at >= 0 && at < tile)  // what is outside would fault, or be seen elsewhere
            out.d[n * static_cast<std::uint64_t>(tile) + static_cast<std::uint64_t>(at)] =
                kernel_.sum.scaled(results.at(n, lane, r), v.at("d_power"));
        }
  }

  Run warpgroup(Run out) {
    const Instruction i = warp::parse(out.statement, kernel_.target);
    Variables v = variables();
    kernel_text::evaluate(text_, "", v);
    const Operand& d = i.operands()[0];
    Registers results(128, d.registers, 32);
    Random random(5);
    for (std::uint64_t& word : results.words) word = kF32(random);
    out.inputs.emplace("d_in", results);
    Array array = dense(results);
    for (std::uint64_t n = 0; n < kCases; ++n) {
      WarpgroupSources sources;
      sources.a_descriptor = static_cast<std::uint64_t>(v.at("da"));
      sources.b_descriptor = static_cast<std::uint64_t>(v.at("db"));
      sources.accumulate = v.at("c_times") != 0;
      out.descriptors[0].push_back(sources.a_descriptor);
      out.descriptors[1].push_back(sources.b_descriptor);
      ResultView view = ResultView::dense(array.data.data(), 128, d.registers, 32);
      view.base += static_cast<std::ptrdiff_t>(n) * view.case_stride;
      const std::span<const std::byte> memory(data_.shared);
      if (!execute_warpgroup(i, sources, memory.subspan(n * kShared, kShared), view)) return out;
    }
    for (std::size_t j = 0; j < results.words.size(); ++j) results.words[j] = array.at(j);
    store(out, results);
    return out;
  }

  const Kernel& kernel_;
  const Data& data_;
  const Text& text_;
};

// D in the registers where the instruction has it: read by the right kernel's indices.
inline Registers fragment_of(const Kernel& kernel, const Words& d) {
  const Text text = text_of(kernel);
  const Instruction i = warp::parse(kernel.statement, kernel.target);
  Registers out(i.lanes(), i.operands()[0].registers, i.operands()[0].register_bits);
  Variables v{{"lane", 0}, {"r", 0}, {"e", 0}, {"n", 0}, {"ldd", kernel.n}};
  for (std::uint64_t n = 0; n < kCases; ++n)
    for (int lane = 0; lane < out.lanes; ++lane)
      for (int r = 0; r < out.registers; ++r) {
        v["lane"] = lane;
        v["r"] = r;
        for (const char* name : {"g", "t"}) kernel_text::evaluate(text, name, v);
        kernel_text::evaluate(text, "d_", v);
        out.at(n, lane, r) =
            d[n * static_cast<std::uint64_t>(kernel.m * kernel.n) + static_cast<std::uint64_t>(v.at("d_at"))];
      }
  return out;
}

// A capture: the inputs of the right run, the results of another one.
inline void write(const archive::fs::path& path, const Kernel& kernel, const Data& data, const Run& right,
                  const Registers& d) {
  std::vector<Array> arrays;
  for (const auto& [name, registers] : right.inputs) arrays.push_back(registers.array(name));
  arrays.push_back(d.array("d"));
  if (kernel.name == "wgmma") {
    for (std::size_t i = 0; i < 2; ++i) {
      Array array = Array::zeros(i == 0 ? "desc_a" : "desc_b", 8, {kCases});
      for (std::size_t n = 0; n < kCases; ++n) array.set(n, right.descriptors[i][n]);
      arrays.push_back(std::move(array));
    }
    Array scale = Array::zeros("scale_d", 1, {kCases});
    for (std::size_t n = 0; n < kCases; ++n) scale.set(n, 1);
    arrays.push_back(std::move(scale));
    Array memory = Array::zeros("smem", 1, {kCases, kShared});
    memory.data = data.shared;
    arrays.push_back(std::move(memory));
  }
  const Result<void> written = write_capture(
      path, {kernel.statement, kernel.target, CaptureLayout::registers, CaptureSource::model, "{}"}, arrays);
  INFO((written ? std::string() : written.error().message()));
  REQUIRE(written.ok());
}

}  // namespace simulated
