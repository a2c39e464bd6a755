// SPDX-License-Identifier: Apache-2.0
// Executing: batches, threads, views, literals, warps with missing or disagreeing lanes, Eigen matrices.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "warpbit/eigen.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/machine.hpp"

namespace execute_test {

using namespace warpbit;

constexpr const char* kF16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
constexpr const char* kS8 = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32";

Instruction parse(const char* text, const char* target = "sm_90a") {
  const Result<Instruction> i = Instruction::parse(text, *Target::find(target));
  INFO((i ? std::string() : i.error().message()));
  REQUIRE(i.ok());
  return *i;
}

// f16 1, 2, 3 and 0 as codes; f32 likewise
constexpr std::uint64_t kHalf1 = 0x3C00, kHalf2 = 0x4000;
constexpr std::uint32_t kFloat1 = 0x3F800000, kFloat2 = 0x40000000, kFloat3 = 0x40400000, kFloat6 = 0x40C00000;

using Words = std::vector<std::uint32_t>;

Words words_of(const Instruction& i, std::size_t operand, std::size_t cases) {
  const Operand& op = i.operands()[operand];
  return Words(cases * 32 * static_cast<std::size_t>(op.registers));
}
OperandView view(const Instruction& i, std::size_t operand, const Words& words) {
  return OperandView::dense(words.data(), 32, i.operands()[operand].registers, 32);
}
ResultView result_view(const Instruction& i, Words& words, std::size_t operand = 0) {
  return ResultView::dense(words.data(), 32, i.operands()[operand].registers, 32);
}

TEST_CASE("matrices through Eigen: 2 I times B plus C") {
  const Instruction i = parse(kF16);
  Words a = words_of(i, 1, 1), b = words_of(i, 2, 1), c = words_of(i, 3, 1), d = words_of(i, 0, 1);
  EigenCodes two_i = EigenCodes::Zero(16, 16), ones(16, 8), c_in(16, 8);
  for (int k = 0; k < 16; ++k) two_i(k, k) = kHalf2;
  ones.setConstant(kHalf1);
  c_in.setConstant(kFloat1);
  c_in(3, 5) = kFloat2 | 0x80000000u;  // 2 * 1 - 2 = +0
  REQUIRE(scatter(i.operands()[1], two_i, a).ok());
  REQUIRE(scatter(i.operands()[2], ones, b).ok());
  REQUIRE(scatter(i.operands()[3], c_in, c).ok());
  REQUIRE(gather_eigen(i.operands()[1], a).value() == two_i);
  REQUIRE(gather_eigen(i.operands()[2], b).value() == ones);

  const Result<Execution> done = execute(i, {d, a, b, c});
  REQUIRE(done.ok());
  REQUIRE_FALSE(done->inferred);
  EigenCodes expected(16, 8);
  expected.setConstant(kFloat3);
  expected(3, 5) = 0;
  REQUIRE(gather_eigen(i.operands()[0], d).value() == expected);
}

TEST_CASE("row-major matrices of numbers into registers and back") {
  const Instruction i = Instruction::parse(kF16, "sm_90a").value();
  const Operand &a = *i.operand("a"), &b = *i.operand("b"), &d = *i.operand("d");
  std::vector<double> in(16 * 16), ones(16 * 8, 1);
  for (int k = 0; k < 16; ++k) in[static_cast<std::size_t>(k * 17)] = k - 3;
  std::vector<std::uint16_t> wa(32 * 8), wb(32 * 4);  // two numbers to a register
  std::vector<float> wc(32 * 4), wd(32 * 4);
  REQUIRE(scatter_values(a, in, wa).ok());
  REQUIRE(scatter_values(b, ones, wb).ok());
  CHECK(gather_values(a, wa).value() == in);
  REQUIRE(execute(i, {wd, wa, wb, wc}).ok());
  const std::vector<double> out = gather_values(d, wd).value();
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t column = 0; column < 8; ++column)
      CHECK(out[row * 8 + column] == static_cast<double>(row) - 3);
  // PTX manual, "Matrix Fragments for mma.m16n8k16 with floating point type": c0, c1 of lane 0 are row 0; c2, c3 row 8.
  CHECK(std::vector<float>(wd.begin(), wd.begin() + 4) == std::vector<float>{-3, -3, 5, 5});
  CHECK(encode("e4m3", std::vector<double>{1, -448, 3.3}).value() ==
        std::vector<std::uint64_t>{0x38, 0xFE, 0x45});
  CHECK(decode("e4m3", std::vector<std::uint64_t>{0x38, 0xFE}).value() == std::vector<double>{1, -448});
}

TEST_CASE("an array that does not fit its operand is refused, and nothing is written") {
  const Instruction i = Instruction::parse(kF16, "sm_90a").value();
  Words a(32 * 4), b(32 * 2), c(32 * 4), d(32 * 4, 7), two_cases(2 * 32 * 4);
  const auto message = [&](const std::vector<OperandArray>& operands) {
    const Result<Execution> done = execute(i, operands);
    REQUIRE_FALSE(done.ok());
    CHECK(done.error().code == Errc::view_mismatch);
    return done.error().message();
  };
  const std::string form = kF16;
  CHECK(message({d, a, b}) == form + ": 3 arrays; expected 4: d, a, b, c");
  b.pop_back();
  CHECK(
      message({d, a, b, c}) ==
      form +
          ", b: 63 values of 32 bits; expected 32 lanes x 2 registers of 32 bits, or a multiple for more cases");
  CHECK(message({d, a, {}, c}) == form + ", b: no registers; expected 32 lanes x 2 registers of 32 bits");
  b.push_back(0);
  const Words& constant = d;
  CHECK(message({constant, a, b, c}) == form + ", d: an array of constants; expected one that can be written");
  CHECK(message({d, two_cases, b, c}) ==
        form + ": d has 1 cases, a has 2; expected the same number for all operands");
  CHECK(message({d, a, b, std::span<float>()}) ==
        form + ", c: no registers; expected 32 lanes x 4 registers of 32 bits");
  std::vector<std::uint64_t> wide(32 * 2);
  CHECK(message({d, wide, b, c}) ==
        form + ", a: values of 64 bits; expected 32 lanes x 4 registers of 32 bits");
  CHECK(d == Words(32 * 4, 7));
  CHECK_FALSE(scatter_values(*i.operand("a"), std::vector<double>(7), a).ok());
  CHECK_FALSE(gather(*i.operand("a"), a, 1).ok());
  CHECK_FALSE(gather(*i.operand("a"), a, 0, 1).ok());
  CHECK(i.operand("e") == nullptr);
  CHECK(Instruction::parse(kF16, "sm_1").error().code == Errc::unknown_target);
}

TEST_CASE("one warp on arrays, with shared memory") {
  const Instruction load =
      Instruction::parse("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {d}, [p];", "sm_90a").value();
  const Instruction store =
      Instruction::parse("stmatrix.sync.aligned.m8n8.x1.shared.b16 [p], {r};", "sm_90a").value();
  std::vector<std::uint16_t> memory(64), d(64);
  for (std::size_t i = 0; i < 64; ++i) memory[i] = static_cast<std::uint16_t>(i);
  std::vector<std::uint64_t> rows(32);
  for (std::size_t lane = 0; lane < 8; ++lane) rows[lane] = (7 - lane) * 16;
  REQUIRE(execute_warp(load, {d, rows}, std::as_writable_bytes(std::span(memory))).ok());
  for (std::size_t i = 0; i < 64; ++i) CHECK(d[i] == (7 - i / 8) * 8 + i % 8);
  std::vector<std::uint16_t> upside_down(64);
  for (std::size_t lane = 0; lane < 8; ++lane) rows[lane] = lane * 16;
  REQUIRE(execute_warp(store, {rows, d}, std::as_writable_bytes(std::span(upside_down))).ok());
  CHECK(upside_down == d);
  CHECK(execute(load, {d, rows}).error().code == Errc::memory_needed);
  rows[3] = 128;  // beyond the memory: nothing is stored
  CHECK(execute_warp(store, {rows, d}, std::as_writable_bytes(std::span(memory))).error().code ==
        Errc::address_out_of_bounds);
  CHECK(memory[63] == 63);
  // D in the place of C.
  const Instruction mma = Instruction::parse(kF16, "sm_90a").value();
  Words a(32 * 4, 0x3C003C00), b(32 * 2, 0x3C003C00), c(32 * 4, kFloat1);
  REQUIRE(execute_warp(mma, {c, a, b, c}).ok());
  CHECK(c == Words(32 * 4, 0x41880000));  // 17
}

TEST_CASE("the four products of m8n8k4 do not mix") {
  const Instruction i = parse("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32");
  Words a = words_of(i, 1, 1), b = words_of(i, 2, 1), c = words_of(i, 3, 1), d = words_of(i, 0, 1);
  EigenCodes ones_a(8, 4), ones_b(4, 8);
  ones_a.setConstant(kHalf1);
  ones_b.setConstant(kHalf1);
  REQUIRE(scatter(i.operands()[1], ones_a, a, 0, 2).ok());
  REQUIRE(scatter(i.operands()[2], ones_b, b, 0, 2).ok());
  const std::vector<OperandView> sources = {view(i, 1, a), view(i, 2, b), view(i, 3, c)};
  REQUIRE(execute_batch(i, sources, result_view(i, d), 1).ok());
  for (int product = 0; product < 4; ++product) {
    EigenCodes expected(8, 8);
    expected.setConstant(product == 2 ? 0x40800000 : 0);  // 4 or 0
    REQUIRE(gather_eigen(i.operands()[0], d, 0, product).value() == expected);
  }
}

TEST_CASE("strided and unaligned views") {
  const Instruction i = parse(kS8);
  // Registers of a in the order [lane][case], one byte off; every element 1.
  std::vector<std::byte> a(1 + 32 * 2 * 4, std::byte{1});
  const OperandView a_view{a.data() + 1, 4, 8, 4};
  Words b = words_of(i, 2, 2), c = words_of(i, 3, 2), d = words_of(i, 0, 2);
  std::ranges::fill(b, 0x02020202u);
  std::ranges::fill(c, 7u);
  const std::vector<OperandView> sources = {a_view, view(i, 2, b), view(i, 3, c)};
  REQUIRE(execute_batch(i, sources, result_view(i, d), 2).ok());
  REQUIRE(std::ranges::all_of(d, [](std::uint32_t x) { return x == 39; }));  // 16 * 1 * 2 + 7
}

TEST_CASE("D and C may be the same registers") {
  const Instruction i = parse(kS8);
  Words a = words_of(i, 1, 1), b = words_of(i, 2, 1), c = words_of(i, 3, 1);
  std::ranges::fill(a, 0x01010101u);
  std::ranges::fill(b, 0x01010101u);
  std::ranges::fill(c, 1u);
  const std::vector<OperandView> sources = {view(i, 1, a), view(i, 2, b), view(i, 3, c)};
  REQUIRE(execute_batch(i, sources, result_view(i, c, 3), 1).ok());
  REQUIRE(std::ranges::all_of(c, [](std::uint32_t x) { return x == 17; }));
}

TEST_CASE("literals take the place of registers") {
  const Instruction i =
      parse("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%d0, %d1}, {%a}, {%b}, {-5, 1099511627778};");
  Words a = words_of(i, 1, 1), b = words_of(i, 2, 1), d = words_of(i, 0, 1);
  const std::vector<OperandView> sources = {view(i, 1, a), view(i, 2, b), {}};
  REQUIRE(execute_batch(i, sources, result_view(i, d), 1).ok());
  for (std::size_t lane = 0; lane < 32; ++lane) {
    REQUIRE(d[2 * lane] == 0xFFFFFFFBu);
    REQUIRE(d[2 * lane + 1] == 2);  // the low 32 bits
  }
}

TEST_CASE("one element, with fewer products than the instruction has") {
  const Instruction i = parse(kF16);
  const std::array<std::uint64_t, 3> a = {kHalf1, kHalf2, kHalf1}, b = {kHalf1, kHalf2, kHalf1};
  const Result<Element> d = execute_element(i, {.a = a, .b = b});
  REQUIRE(d.ok());
  REQUIRE(d->code == kFloat6);
  REQUIRE_FALSE(d->inferred);
  REQUIRE(execute_element(parse(kF16, "sm_120"), {.a = a, .b = b})->inferred);
  const std::vector<std::uint64_t> long_a(17), long_b(17);
  REQUIRE(execute_element(i, {.a = long_a, .b = long_b}).error().code == Errc::view_mismatch);
  REQUIRE(execute_element(i, {.a = a, .b = std::span(b).first(2)}).error().code == Errc::view_mismatch);
}

// Decoding works before main, too.
const Result<Instruction> kBeforeMain = Instruction::parse(kF16, *Target::find("sm_90"));

TEST_CASE("instructions may be globals") {
  REQUIRE(kBeforeMain.ok());
}

TEST_CASE("views that do not fit are refused") {
  const Instruction i = parse(kS8);
  Words a = words_of(i, 1, 1), b = words_of(i, 2, 1), d = words_of(i, 0, 1);
  const std::vector<OperandView> two = {view(i, 1, a), view(i, 2, b)};
  REQUIRE(execute_batch(i, two, result_view(i, d), 1).error().code == Errc::view_mismatch);
  const std::vector<OperandView> empty = {view(i, 1, a), view(i, 2, b), {}};
  const Result<Execution> refused = execute_batch(i, empty, result_view(i, d), 1);
  REQUIRE(refused.error().code == Errc::view_mismatch);
  REQUIRE(refused.error().message().find("view of c is empty") != std::string::npos);
  const std::vector<OperandView> three = {view(i, 1, a), view(i, 2, b), view(i, 3, d)};
  REQUIRE(execute_batch(i, three, result_view(i, d), SIZE_MAX).error().code == Errc::view_mismatch);
  ExecuteOptions many;
  many.threads = 1000000;
  REQUIRE(execute_batch(i, three, result_view(i, d), 1, many).ok());
}

TEST_CASE("what a definition leaves no freedom is not inferred") {
  for (const char* form : {"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32",
                           "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc"}) {
    const Instruction i = parse(form, "sm_80");
    CHECK(i.evidence().overall() == Basis::inferred);
    CHECK_FALSE(i.inferred());
  }
  // A clamped sum has one: where it is clamped on its way.
  const std::string clamped = "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32";
  CHECK(parse(clamped.c_str(), "sm_80").inferred());
  CHECK_FALSE(parse(clamped.c_str(), "sm_86").inferred());
  // So has f64: which NaN it returns.
  CHECK(parse("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "sm_80").inferred());
}

TEST_CASE("inferred arithmetic is flagged, and refused on request") {
  const Instruction i = parse(kF16, "sm_120");
  REQUIRE(i.inferred());
  Words a = words_of(i, 1, 1), b = words_of(i, 2, 1), c = words_of(i, 3, 1), d = words_of(i, 0, 1);
  const std::vector<OperandView> sources = {view(i, 1, a), view(i, 2, b), view(i, 3, c)};
  const Result<Execution> flagged = execute_batch(i, sources, result_view(i, d), 1);
  REQUIRE(flagged.ok());
  REQUIRE(flagged->inferred);
  ExecuteOptions strict;
  strict.allow_inferred = false;
  REQUIRE(execute_batch(i, sources, result_view(i, d), 1, strict).error().code == Errc::inferred_plan);
  REQUIRE(execute_element(i, {}, strict).error().code == Errc::inferred_plan);
  REQUIRE(execute_batch(parse(kF16), sources, result_view(i, d), 1, strict).ok());
}

struct Warp {
  Instruction instruction = parse(kS8);
  std::vector<const Instruction*> lanes{32, &instruction};
  Registers registers{32, 8};
  Binding binding{0, 2, 3, 4};  // d 0-1, a 2, b 3, c 4-5

  Warp() {
    for (int lane = 0; lane < 32; ++lane) {
      registers.write(lane, 2, 0x01010101);
      registers.write(lane, 3, 0x03030303);
      registers.write(lane, 4, static_cast<std::uint64_t>(lane));
    }
  }
};

TEST_CASE("one warp: effects are recorded, then applied") {
  Warp w;
  const Result<Effects> effects = execute_warp(w.lanes, w.binding, w.registers);
  REQUIRE(effects.ok());
  REQUIRE(effects->reads == std::vector<int>{2, 3, 4, 5});
  REQUIRE(effects->writes.size() == 64);
  REQUIRE(w.registers.read(7, 0) == 0);
  apply(*effects, w.registers);
  REQUIRE(w.registers.read(7, 0) == 16 * 3 + 7);
  REQUIRE(w.registers.read(7, 1) == 16 * 3);
  REQUIRE(w.registers.read(7, 6) == 0);
}

TEST_CASE("sinks are not written, literals not read") {
  Warp w;
  w.instruction = parse("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%d0, _}, {%a}, {%b}, {%c0, 9};");
  w.registers.write(5, 1, 77);
  const Result<Effects> effects = execute_warp(w.lanes, w.binding, w.registers);
  REQUIRE(effects.ok());
  REQUIRE(effects->reads == std::vector<int>{2, 3, 4});
  REQUIRE(effects->writes.size() == 32);
  apply(*effects, w.registers);
  REQUIRE(w.registers.read(5, 0) == 16 * 3 + 5);
  REQUIRE(w.registers.read(5, 1) == 77);
}

TEST_CASE("an immediate needs no registers") {
  Warp w;
  w.instruction = parse("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, 2;");
  w.registers = Registers(32, 13);
  w.binding = {0, 4, 6, 8, 12, -1};
  for (int lane = 2; lane < 32; lane += 4) w.registers.write(lane, 12, 0x44444444);  // the lanes of selector 2
  const Result<Effects> effects = execute_warp(w.lanes, w.binding, w.registers);
  REQUIRE(effects.ok());
  REQUIRE(effects->reads == std::vector<int>{4, 5, 6, 7, 8, 9, 10, 11, 12});
  REQUIRE(effects->writes.size() == 128);
}

TEST_CASE("missing lanes are named") {
  Warp w;
  for (const std::size_t lane : {3u, 7u, 8u, 9u, 31u}) w.lanes[lane] = nullptr;
  const Result<Effects> refused = execute_warp(w.lanes, w.binding, w.registers);
  REQUIRE(refused.error().code == Errc::lanes_missing);
  REQUIRE(refused.error().message().find("missing of 32 lanes: 3, 7-9, 31") != std::string::npos);
  w.lanes.assign(30, &w.instruction);
  REQUIRE(execute_warp(w.lanes, w.binding, w.registers).error().message().find("30-31") != std::string::npos);
  w.lanes.assign(32, nullptr);
  REQUIRE(execute_warp(w.lanes, w.binding, w.registers).error().code == Errc::lanes_missing);
}

TEST_CASE("lanes that disagree are named") {
  Warp w;
  const Instruction other = parse("mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32");
  w.lanes[4] = w.lanes[5] = &other;
  const Result<Effects> refused = execute_warp(w.lanes, w.binding, w.registers);
  REQUIRE(refused.error().code == Errc::lanes_disagree);
  REQUIRE(refused.error().message().find("lanes 4-5") != std::string::npos);
  REQUIRE(refused.error().message().find("u8.s8") != std::string::npos);

  const Instruction same = parse("mma.aligned.sync.m8n8k16.row.col.s32.s8.s8.s32");
  w.lanes[4] = w.lanes[5] = &same;
  REQUIRE(execute_warp(w.lanes, w.binding, w.registers).ok());
  const Instruction literal = parse("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {d}, {a}, {b}, {0, 0};");
  w.lanes[5] = &literal;
  REQUIRE(execute_warp(w.lanes, w.binding, w.registers).error().code == Errc::lanes_disagree);
}

TEST_CASE("a binding outside the registers is refused") {
  Warp w;
  w.binding = {0, 2, 3, 7};
  REQUIRE(execute_warp(w.lanes, w.binding, w.registers).error().message().find("registers 7 to 8") !=
          std::string::npos);
  w.binding = {0, -1, 3, 4};
  REQUIRE(execute_warp(w.lanes, w.binding, w.registers).error().code == Errc::view_mismatch);
  w.binding = {0, 1};
  REQUIRE(execute_warp(w.lanes, w.binding, w.registers).error().code == Errc::view_mismatch);
}

}  // namespace execute_test
