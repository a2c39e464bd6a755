// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup by execute_warpgroup: every kernel against the specification, Kernel::reference, whatever
// the types, majors, swizzles, signs and views; what the statement itself gives; what is refused.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <optional>

#include "count_wanted.hpp"
#include "descriptor_formulas.hpp"
#include "profiles.hpp"
#include "tally.hpp"
#include "warpbit/execute.hpp"

namespace warpgroup_kernel_test {

using namespace warpbit;
using formulas::Described;
using profiles::Alphabet;
using profiles::Stream;
using Bytes = std::vector<std::byte>;

constexpr int kLanes = 128;
constexpr std::size_t kFactorBytes = 32 * 1024;  // A lies in the first ones of shared memory, B behind

std::vector<Kernel> fast_kernels() {
  std::vector<Kernel> out = kernels();
  std::erase(out, Kernel::reference);
  return out;
}

// ---- Forms

int bits_of(const char* format) {
  return oracle::find_format(format).width();
}

struct Form {
  const char *d, *a, *b;
  bool a_in_registers = false, a_mn = false, b_mn = false, sparse = false;
  int selector = 0;

  bool is_bits() const { return std::string_view(a) == "b1"; }
  bool is_integer() const { return std::string_view(d) == "s32"; }
  bool has_majors() const { return bits_of(a) == 16; }
  Instruction instruction(int n, int sign_a, int sign_b, const std::string& a_desc = "x",
                          const std::string& b_desc = "y", const std::string& scale_d = "p") const {
    std::string out = fmt::format("wgmma.mma_async{}.sync.aligned.m64n{}k{}.{}.{}.{}{} {{d}}, {}, {}, {}{}",
                                  sparse ? ".sp" : "", n, 256 / bits_of(a) * (sparse ? 2 : 1), d, a, b,
                                  is_bits() ? ".and.popc" : "", a_in_registers ? "{a}" : a_desc, b_desc,
                                  sparse ? fmt::format("e, {}, ", selector) : "", scale_d);
    if (!is_integer()) out += fmt::format(", {}, {}", sign_a, sign_b);
    if (has_majors() && !a_in_registers) out += fmt::format(", {:d}", a_mn);
    if (has_majors()) out += fmt::format(", {:d}", b_mn);
    const Result<Instruction> parsed = Instruction::parse(out + ";", *Target::find("sm_90a"));
    INFO(out << ": " << (parsed ? std::string() : parsed.error().message()));
    REQUIRE(parsed.ok());
    return *parsed;
  }
};

const Form kFloats[] = {{"f32", "f16", "f16"},   {"f16", "f16", "f16"},   {"f32", "bf16", "bf16"},
                        {"f32", "tf32", "tf32"}, {"f32", "e4m3", "e4m3"}, {"f32", "e4m3", "e5m2"},
                        {"f32", "e5m2", "e4m3"}, {"f32", "e5m2", "e5m2"}, {"f16", "e4m3", "e4m3"},
                        {"f16", "e4m3", "e5m2"}, {"f16", "e5m2", "e4m3"}, {"f16", "e5m2", "e5m2"}};
const Form kIntegers[] = {
    {"s32", "s8", "s8"}, {"s32", "s8", "u8"}, {"s32", "u8", "s8"}, {"s32", "u8", "u8"}, {"s32", "b1", "b1"}};

// All types, those that can be with a sparse A, too.
std::vector<Form> all_types() {
  std::vector<Form> out(std::begin(kFloats), std::end(kFloats));
  out.insert(out.end(), std::begin(kIntegers), std::end(kIntegers));
  for (Form form : std::vector<Form>(out)) {
    if (form.is_bits()) continue;
    form.sparse = true;
    out.push_back(form);
  }
  return out;
}

// With A in registers or not, and all majors.
std::vector<Form> variants(const Form& types) {
  std::vector<Form> out;
  for (const bool in_registers : {true, false})
    for (const bool a_mn : {false, true})
      for (const bool b_mn : {false, true}) {
        Form f = types;
        f.selector = f.sparse && bits_of(f.a) >= 16 && in_registers ? 1 : 0;
        f.a_in_registers = in_registers;
        f.a_mn = a_mn;
        f.b_mn = b_mn;
        if ((a_mn && in_registers) || ((a_mn || b_mn) && !f.has_majors())) continue;
        out.push_back(f);
      }
  return out;
}

// ---- Inputs

enum class Noise { bits, ordinary, boundaries, least, most, apart, holes };
constexpr int kNoises = 7;

std::uint64_t code_of(Noise noise, const Alphabet& x, Stream& s) {
  const auto ordinary = [&] { return x.number(s.coin(), s.range(-3, 3), s.bits()); };
  switch (noise) {
    case Noise::bits: return s.bits() & x.mask;
    case Noise::boundaries: return s.one_in(60) ? s.pick(x.table) : ordinary();
    case Noise::least: return x.number(s.coin(), x.least + s.range(0, 6), s.bits());
    case Noise::most: return x.number(s.coin(), x.most - s.range(0, 6), s.bits());
    case Noise::apart: return x.number(s.coin(), s.range(x.least, x.most), s.bits());
    case Noise::holes: return s.one_in(6) ? ordinary() : x.zero(s.coin());
    default: return ordinary();
  }
}

// Nibbles of metadata that the manual defines for the type of A.
void fill_metadata(std::span<std::byte> out, const char* format, Stream& s) {
  constexpr std::array<int, 2> kOfPairs = {0x4, 0xE};
  constexpr std::array<int, 6> kOfFours = {0x4, 0x8, 0x9, 0xC, 0xD, 0xE};
  const auto nibble = [&] { return bits_of(format) == 32 ? s.pick(kOfPairs) : s.pick(kOfFours); };
  for (std::byte& two : out) two = static_cast<std::byte>(nibble() | nibble() << 4);
}

// Codes side by side.
void fill(std::span<std::byte> out, const char* format, Noise noise, Stream& s) {
  if (oracle::find_format(format).specials == oracle::Specials::integer) {
    for (std::byte& byte : out) byte = static_cast<std::byte>(s.bits());
    return;
  }
  const Alphabet alphabet(oracle::find_format(format));
  const auto size = static_cast<std::size_t>(bits_of(format) / 8);
  for (std::size_t at = 0; at < out.size(); at += size) {
    const std::uint64_t code = code_of(noise, alphabet, s);
    for (std::size_t i = 0; i < size; ++i) out[at + i] = static_cast<std::byte>(code >> 8 * i);
  }
}

// Any within 32 KiB from `first` on.
Described any_descriptor(std::uint64_t first, std::uint64_t width, Stream& s) {
  const auto chunks = [&](int most) { return 16 * static_cast<std::uint64_t>(s.range(0, most)); };
  return {first + chunks(400), chunks(32), chunks(32), static_cast<std::uint64_t>(s.range(0, 7)), width};
}

// The registers of an operand of 32 bits each, with gaps or without.
struct Cells {
  int count;
  std::ptrdiff_t register_stride, lane_stride;
  Bytes bytes;

  Cells(const Instruction& i, Part part, bool gaps)
      : count(std::ranges::find(i.operands(), part, &Operand::part)->registers),
        register_stride(gaps ? 12 : 4),
        lane_stride(register_stride * count + (gaps ? 20 : 0)),
        bytes(static_cast<std::size_t>(kLanes * lane_stride)) {}
  OperandView view() const { return {bytes.data(), 0, lane_stride, register_stride}; }
  ResultView result_view() { return {bytes.data(), 0, lane_stride, register_stride}; }
};

// One product, with everything that goes in.
struct Product {
  Instruction instruction;
  Bytes memory = Bytes(2 * kFactorBytes);
  std::optional<Cells> a, metadata;
  Cells d;
  WarpgroupSources sources;

  Product(const Form& form, const Instruction& i, Noise noise, bool gaps, Stream& s)
      : instruction(i), d(i, Part::d, gaps) {
    fill(std::span(memory).first(kFactorBytes), form.a, noise, s);
    fill(std::span(memory).subspan(kFactorBytes), form.b, noise, s);
    fill(d.bytes, form.d, noise, s);
    if (form.sparse) {
      metadata.emplace(i, Part::metadata, gaps);
      fill_metadata(metadata->bytes, form.a, s);
      sources.metadata = metadata->view();
    }
    if (!form.a_in_registers) return;
    a.emplace(i, Part::a, gaps);
    fill(a->bytes, form.a, noise, s);
    sources.a = a->view();
  }
  void describe(const Described& left, const Described& right) {
    sources.a_descriptor = left.bits();
    sources.b_descriptor = right.bits();
  }
  // D, gaps and all.
  Bytes run(Kernel kernel) const {
    Cells out = d;
    ExecuteOptions options;
    options.kernel = kernel;
    const Result<Execution> done = execute_warpgroup(instruction, sources, memory, out.result_view(), options);
    INFO(instruction.text() << ": " << (done ? std::string() : done.error().message()));
    REQUIRE(done.ok());
    CHECK(done->kernel == kernel);
    CHECK(done->inferred == instruction.inferred());
    return out.bytes;
  }
};

// ---- Kernels

constexpr std::array<std::uint64_t, 4> kWidths = {16, 32, 64, 128};
constexpr std::array<int, 5> kColumns = {8, 16, 40, 136, 256};
constexpr std::array<int, 2> kFewColumns = {8, 24};  // of what is computed by eight columns anyway
constexpr std::array<int, 2> kSigns = {-1, 1};
// Every pair of swizzles with each value of scale-d and both kinds of views; a form has one in WARPBIT_STEPS, the next
// form the next ones.
constexpr int kRuns = 64;

TEST_CASE("every kernel of a warpgroup's product equals the specification", "[wgmma]") {
  Tally products;
  std::uint64_t seed = 0;
  int first = 0;
  const int steps = static_cast<int>(count_wanted("WARPBIT_STEPS", 3));
  for (const Form& types : all_types())
    for (const Form& form : variants(types))
      for (int run = first++ % steps; run < kRuns; run += steps) {
        Stream s(11, seed++);
        const auto noise = static_cast<Noise>(run % kNoises);
        const int columns = form.sparse || form.is_integer() ? s.pick(kFewColumns) : s.pick(kColumns);
        const Instruction i = form.instruction(columns, s.pick(kSigns), s.pick(kSigns));
        Product x(form, i, noise, run / 32 == 1, s);
        x.describe(any_descriptor(0, kWidths[static_cast<std::size_t>(run % 4)], s),
                   any_descriptor(kFactorBytes, kWidths[static_cast<std::size_t>(run / 4 % 4)], s));
        x.sources.accumulate = run / 16 % 2 == 1;
        const Bytes expected = x.run(Kernel::reference);
        for (const Kernel kernel : fast_kernels()) {
          const Bytes got = x.run(kernel);
          products.check(got == expected, [&] {
            return fmt::format("{} by {}, run {}: byte {} of D", i.text(), name(kernel), run,
                               std::ranges::mismatch(got, expected).in1 - got.begin());
          });
        }
      }
  products.judge("products of a warpgroup by kernels that are not the specification");
}

// The kernel that computes if the fastest is asked for.
Kernel kernel_of(Form form, bool in_registers) {
  form.a_in_registers = in_registers;
  const Instruction i = form.instruction(8, 1, 1);
  const Bytes memory(kFactorBytes), a(kLanes * 4 * 4), metadata(kLanes * 4, std::byte{0x44});
  Bytes d(kLanes * 4 * 4);
  WarpgroupSources sources;
  if (in_registers) sources.a = OperandView::dense(a.data(), kLanes, 4, 32);
  if (form.sparse) sources.metadata = OperandView::dense(metadata.data(), kLanes, 1, 32);
  ExecuteOptions options;
  options.kernel = kernels().back();
  const int registers = i.operands()[0].registers;
  return execute_warpgroup(i, sources, memory, ResultView::dense(d.data(), kLanes, registers, 32), options)
      .value()
      .kernel;
}

TEST_CASE("every product of a warpgroup has the kernels", "[wgmma]") {
  for (const bool in_registers : {false, true})
    for (const Form& form : all_types()) {
      INFO(form.instruction(8, 1, 1).text());
      CHECK(kernel_of(form, in_registers) == kernels().back());
    }
}

// ---- Literals

TEST_CASE("what stands in the statement need not be given", "[wgmma]") {
  const Form form{"f32", "f16", "f16"};
  for (int run = 0; run < 16; ++run) {
    Stream s(12, static_cast<std::uint64_t>(run));
    const Described left = any_descriptor(0, s.pick(kWidths), s);
    const Described right = any_descriptor(kFactorBytes, s.pick(kWidths), s);
    const bool accumulate = run % 2 == 1;
    Product given(form, form.instruction(24, 1, -1), Noise::ordinary, false, s);
    given.describe(left, right);
    given.sources.accumulate = accumulate;
    Product stated = given;
    stated.instruction = form.instruction(24, 1, -1, fmt::format("{}", left.bits()),
                                          fmt::format("{}", right.bits()), accumulate ? "1" : "0");
    stated.sources = {};
    stated.sources.accumulate = !accumulate;
    const Bytes expected = given.run(Kernel::reference);
    for (const Kernel kernel : kernels()) CHECK(stated.run(kernel) == expected);
  }
}

// ---- What is refused

constexpr char kForm[] = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16";
constexpr char kSparseForm[] = "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16";

// A and B side by side, so that B ends with the memory.
struct Small {
  Instruction instruction = Form{"f32", "f16", "f16"}.instruction(16, 1, 1);
  Bytes memory = Bytes(2048 + 512), a = Bytes(kLanes * 4 * 4), d = Bytes(kLanes * 8 * 4);
  WarpgroupSources sources;
  ResultView to = ResultView::dense(d.data(), kLanes, 8, 32);
  ExecuteOptions options;

  Small() {
    sources.a_descriptor = Described{0, 1024, 128, 0, 16}.bits();
    sources.b_descriptor = Described{2048, 256, 128, 0, 16}.bits();
  }
  Small(const Small&) = delete;
  Result<Execution> run() const { return execute_warpgroup(instruction, sources, memory, to, options); }
  // The message of the error that must come; D stays as it is.
  std::string refusal(Errc code) const {
    const Result<Execution> done = run();
    REQUIRE_FALSE(done.ok());
    CHECK(name(done.error().code) == name(code));
    CHECK(d == Bytes(d.size()));
    return done.error().message();
  }
};

std::string in_small(const std::string& rest) {
  return std::string(kForm) + ": " + rest;
}

TEST_CASE("execute_warpgroup refuses a descriptor that leads out of the memory", "[wgmma]") {
  Small x;
  CHECK(x.run().ok());
  x.memory.pop_back();
  CHECK(x.refusal(Errc::address_out_of_bounds) ==
        in_small("the bytes up to address 0x9ff that b_desc 0x800100080 reads are out of bounds; shared memory "
                 "has 2559 bytes"));
  x.memory.clear();
  CHECK(x.refusal(Errc::address_out_of_bounds) ==
        in_small("the bytes up to address 0x7ff that a_desc 0x800400000 reads are out of bounds; shared memory "
                 "has 0 bytes"));
}

TEST_CASE("execute_warpgroup refuses what is no product of a warpgroup", "[wgmma]") {
  for (const std::string form :
       {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "wgmma.fence.sync.aligned",
        "wgmma.wait_group.sync.aligned", "ldmatrix.sync.aligned.m8n8.x1.shared.b16", "cvt.rn.f16x2.f32"}) {
    Small x;
    x.instruction = Instruction::parse(form, *Target::find("sm_90a")).value();
    CHECK(x.refusal(Errc::view_mismatch) ==
          form + ": it reads no matrix from shared memory; expected wgmma.mma_async");
  }
}

TEST_CASE("execute_warpgroup refuses views that are missing", "[wgmma]") {
  Small without_d;
  without_d.to = {};
  CHECK(without_d.refusal(Errc::view_mismatch) ==
        in_small("the view of d is empty; expected registers to write"));
  Small without_a;
  without_a.instruction = Form{"f32", "f16", "f16", true}.instruction(16, 1, 1);
  CHECK(without_a.refusal(Errc::view_mismatch) ==
        in_small("the view of a is empty; expected registers to read"));
  Small sparse;
  sparse.instruction = Form{"f32", "f16", "f16", false, false, false, true}.instruction(16, 1, 1);
  CHECK(sparse.refusal(Errc::view_mismatch) ==
        std::string(kSparseForm) + ": the view of sp_meta is empty; expected registers to read");
}

TEST_CASE("execute_warpgroup judges metadata and kernels", "[wgmma]") {
  Small sparse;
  sparse.instruction = Form{"f32", "f16", "f16", false, false, false, true}.instruction(16, 1, 1);
  sparse.sources.metadata = OperandView::dense(sparse.a.data(), kLanes, 1, 32);
  sparse.memory.resize(kFactorBytes);
  CHECK(sparse.refusal(Errc::undefined_operand)
            .starts_with(std::string(kSparseForm) +
                         ": metadata 0x0 in case 0, lane 0, bits 0-3 (row 0, group 0) is undefined"));
  sparse.options.undefined = Undefined::as_measured;
  CHECK(sparse.run().ok());

  Small x;
  x.options.kernel = static_cast<Kernel>(9);
  CHECK(x.refusal(Errc::no_such_kernel)
            .starts_with("ExecuteOptions::kernel: there is no kernel '9' on this processor"));
}

}  // namespace warpgroup_kernel_test
