// SPDX-License-Identifier: Apache-2.0
// cvt as an instruction: which bits of which operands an element comes from and goes to, in a batch and on one
// warp. What becomes of one element is judged elsewhere (conversion_test, toolkit_conversion_test).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "cvt_cases.hpp"
#include "numeric/formats.hpp"
#include "warp.hpp"
#include "warpbit/execute.hpp"

namespace cvt_test {

using namespace warp;

// PTX manual, cvt: how packed types lie in their registers. e2m1x2 fills nibbles, other formats of less than 8
// bits are padded to bytes at the top.
int slot_bits(const std::string& type) {
  if (type == "e2m1") return 4;
  if (type == "tf32" || type == "f32") return 32;
  if (type == "f64") return 64;
  return type == "f16" || type == "bf16" ? 16 : 8;
}

// The registers of one thread, as many as the operands have.
struct Thread {
  std::vector<std::uint64_t> sources;  // one after the other
  std::uint64_t random_bits = 0;
};

std::uint64_t expected(const cvt_cases::Meaning& m, int elements, const Thread& thread) {
  const int to_slot = slot_bits(m.oracles.to), from_slot = slot_bits(m.oracles.from);
  std::uint64_t out = 0;
  for (int i = 0; i < elements; ++i) {
    // Packed into one source register, element i is in its slot i. Of sources with one element each the first
    // gives the uppermost: "d = {a, b}" has a in the upper half.
    const std::uint64_t code = m.from_elements > 1 ? thread.sources[0] >> (i * from_slot)
                                                   : thread.sources[static_cast<std::size_t>(elements - 1 - i)];
    const std::uint64_t share = m.oracles.rounding == "rs"
                                    ? random_bits(m.ours.to, i, static_cast<std::uint32_t>(thread.random_bits))
                                    : thread.random_bits >> (m.oracles.scaled == "n2" ? 8 * i : 0) & 0xFF;
    out |= convert(m.ours, code & boundary::ones(find_format(m.oracles.from)->bits), share) << (i * to_slot);
  }
  return out;
}

// Source registers of a thread, literals included.
int source_registers(const Instruction& i) {
  int out = 0;
  for (const Operand& operand : i.operands())
    if (operand.part == Part::source) out += operand.registers;
  return out;
}

// Registers as a batch takes them, dense, of the width of each operand.
struct Batch {
  std::vector<Bytes> sources;
  Bytes results;

  Batch(const Instruction& i, const std::vector<Thread>& threads) {
    std::size_t first = 0;
    for (const Operand& operand : i.operands().subspan(1)) {
      const auto bytes = static_cast<std::size_t>(operand.register_bits / 8);
      Bytes& out = sources.emplace_back();
      const auto add = [&](std::uint64_t value) {
        for (std::size_t n = 0; n < bytes; ++n) out.push_back(static_cast<std::byte>(value >> (8 * n)));
      };
      for (const Thread& thread : threads)
        for (std::size_t r = 0; r < static_cast<std::size_t>(operand.registers); ++r)
          add(operand.part == Part::random_bits || operand.part == Part::scale_factor
                  ? thread.random_bits
                  : thread.sources[first + r]);
      if (operand.part == Part::source) first += static_cast<std::size_t>(operand.registers);
    }
    results.resize(threads.size() * static_cast<std::size_t>(i.operands()[0].register_bits / 8),
                   std::byte{0xEE});
  }

  std::vector<std::uint64_t> run(const Instruction& i, std::size_t threads) {
    std::vector<OperandView> views;
    for (std::size_t n = 0; n < sources.size(); ++n) {
      const Operand& operand = i.operands()[n + 1];
      views.push_back(OperandView::dense(sources[n].data(), 1, operand.registers, operand.register_bits));
    }
    const int width = i.operands()[0].register_bits;
    const Result<Execution> done =
        execute_batch(i, views, ResultView::dense(results.data(), 1, 1, width), threads);
    INFO((done ? std::string() : done.error().message()));
    REQUIRE(done.ok());
    std::vector<std::uint64_t> out;
    for (std::size_t n = 0; n < threads; ++n)
      out.push_back(bits(results, n * static_cast<std::size_t>(width), width));
    return out;
  }
};

std::vector<Thread> random_threads(std::size_t count, int registers, std::mt19937_64& random) {
  std::vector<Thread> out(count);
  for (Thread& thread : out) {
    for (int r = 0; r < registers; ++r) thread.sources.push_back(random());
    thread.random_bits = random();
  }
  return out;
}

std::vector<FormInfo> documented() {
  std::vector<FormInfo> out;
  for (FormInfo& form : forms())
    if (form.family == "cvt") out.push_back(std::move(form));
  return out;
}

TEST_CASE("every form, on every target: a batch is the conversion of each element") {
  std::vector<std::string> known = cvt_cases::all(), listed;
  for (const FormInfo& form : documented()) listed.push_back(form.canonical);
  std::ranges::sort(known);
  std::ranges::sort(listed);
  CHECK(known == listed);
  std::mt19937_64 random(3);
  for (const FormInfo& form : documented()) {
    const cvt_cases::Meaning m = cvt_cases::meaning(form.canonical);
    CHECK_FALSE(form.targets.empty());
    for (const Target target : form.targets) {
      INFO(form.canonical << " on " << target.name());
      const Instruction i = parse(form.canonical, target.name());
      CHECK(i.lanes() == 1);
      CHECK_FALSE(i.uses_memory());
      CHECK(i.columns() == m.to_elements);
      const std::vector<Thread> threads = random_threads(40, source_registers(i), random);
      const std::vector<std::uint64_t> got = Batch(i, threads).run(i, threads.size());
      for (std::size_t n = 0; n < threads.size(); ++n) {
        INFO("case " << n);
        REQUIRE(got[n] == expected(m, m.to_elements, threads[n]));
      }
    }
  }
}

TEST_CASE("packed pairs and fours, by hand") {
  const auto one = [](const char* form, const char* target, const Thread& thread) {
    const Instruction i = parse(form, target);
    return Batch(i, {thread}).run(i, 1)[0];
  };
  constexpr std::uint64_t k1 = 0x3F800000, k2 = 0x40000000, k3 = 0x40400000, k4 = 0x40800000;
  CHECK(one("cvt.rn.f16x2.f32", "sm_90a", {{k1, k2}}) == 0x3C004000);
  CHECK(one("cvt.rn.satfinite.e4m3x2.f32", "sm_90a", {{k1, k2}}) == 0x3840);
  CHECK(one("cvt.rn.f16x2.e4m3x2", "sm_90a", {{0x3840}}) == 0x3C004000);
  CHECK(one("cvt.rn.satfinite.e2m1x2.f32", "sm_120a", {{k1, k2}}) == 0x24);
  CHECK(one("cvt.rn.satfinite.e3m2x2.f32", "sm_120a", {{k1, k2}}) == 0x0C10);
  CHECK(one("cvt.rs.satfinite.e4m3x4.f32", "sm_100a", {{k1, k2, k3, k4}}) == 0x38404448);
  CHECK(one("cvt.rs.satfinite.e2m1x4.f32", "sm_100a", {{k1, k2, k3, k4}}) == 0x2456);
  CHECK(one("cvt.rz.ue8m0x2.f32", "sm_120a", {{k1, k2}}) == 0x7F80);
  // PTX ISA 9.1 to 9.4. 2, -0 and 64ths of s2f6; 1 and 1.5 of bf16, 2 and -3 of f16.
  CHECK(one("cvt.rn.satfinite.e4m3x2.bf16x2", "sm_120f", {{0x3F803FC0}}) == 0x383C);
  CHECK(one("cvt.rn.satfinite.e2m3x2.f16x2", "sm_110f", {{0x4000C200}}) == 0x1034);
  CHECK(one("cvt.rn.satfinite.e2m1x2.bf16x2", "sm_100f", {{0x3F803FC0}}) == 0x23);
  CHECK(one("cvt.rn.bf16x2.e5m2x2", "sm_103f", {{0x3C40}}) == 0x3F804000);
  CHECK(one("cvt.rn.scaled::n2::ue8m0.bf16x2.e2m1x2", "sm_120f", {{0x24}, 0x807E}) == 0x40003F80);
  CHECK(one("cvt.rn.satfinite.scaled::n2::ue8m0.bf16x2.e4m3x2", "sm_120f", {{0x7EFE}, 0xFEFE}) == 0x7F7FFF7F);
  CHECK(one("cvt.rn.satfinite.s2f6x2.f32", "sm_120a", {{k1, k3}}) == 0x407F);
  CHECK(one("cvt.rn.satfinite.s2f6x2.f32", "sm_120a", {{0xC0400000, 0xBC800000}}) == 0x80FF);
  CHECK(one("cvt.rn.relu.satfinite.s2f6x2.f32", "sm_120a", {{0xC0400000, 0x7FC00000}}) == 0x007F);
  CHECK(one("cvt.rn.satfinite.scaled::n2::ue8m0.s2f6x2.f32", "sm_107a", {{k2, k3}, 0x8081}) == 0x4030);
  CHECK(one("cvt.rn.bf16x2.s2f6x2", "sm_100a", {{0x4080}}) == 0x3F80C000);
  CHECK(one("cvt.rz.satfinite.pzo.e4m3x2.f32", "sm_107f", {{0x80000000, 0x8DA24260}}) == 0);
  CHECK(one("cvt.rz.satfinite.e4m3x2.f32", "sm_107f", {{0x80000000, 0x8DA24260}}) == 0x8080);
  CHECK(one("cvt.rp.satfinite.ue5m3x2.f32", "sm_107f", {{0x3F880000, k4}}) == 0x7988);
  CHECK(one("cvt.rn.f16x2.ue5m3x2", "sm_107a", {{0x7801}}) == 0x3C000080);
  CHECK(one("cvt.rn.satfinite.scaled::n1::ue8m0.e2m3x2.f32", "sm_107a", {{k2, k4}, 0x81}) == 0x0408);
}

TEST_CASE("on a warp each thread converts for itself; who does not take part keeps its registers") {
  std::mt19937_64 random(5);
  for (const char* form : {"cvt.rn.f16.f32", "cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.satfinite.e2m1x2.f32",
                           "cvt.f64.f16", "cvt.rn.f16x2.e5m2x2", "cvt.rs.satfinite.e5m2x4.f32"}) {
    INFO(form);
    const bool stochastic = has(form, "rs");
    const char* target = stochastic ? "sm_103a" : "sm_120a";
    Warp w(form, target);
    const cvt_cases::Meaning m = cvt_cases::meaning(form);
    const Registers before = w.registers;
    for (const int lane : {0, 5, 31}) w.lanes[static_cast<std::size_t>(lane)] = nullptr;
    const Effects effects = w.run();
    CHECK(effects.writes.size() == 29);
    CHECK(effects.reads.size() ==
          static_cast<std::size_t>(source_registers(w.instruction)) + (stochastic ? 1 : 0));
    const int width = w.operand(Part::d).register_bits;
    for (int lane = 0; lane < 32; ++lane) {
      INFO("lane " << lane);
      const int d = w.number(Part::d);
      if (w.lanes[static_cast<std::size_t>(lane)] == nullptr) {
        CHECK(w.registers.read(lane, d) == before.read(lane, d));
        continue;
      }
      Thread thread;  // of each source cell only the bits of the register count
      for (int r = 0; r < source_registers(w.instruction); ++r)
        thread.sources.push_back(before.read(lane, 1 + r));
      thread.random_bits = stochastic ? w.get(Part::random_bits, lane) : 0;
      CHECK(w.get(Part::d, lane) == expected(m, m.to_elements, thread));
      CHECK(w.get(Part::d, lane) <= boundary::ones(width));
      for (int r = 1; r < w.registers.registers(); ++r)
        CHECK(w.registers.read(lane, r) == before.read(lane, r));
    }
  }
}

TEST_CASE("threads that do take part must execute the same instruction") {
  Warp w("cvt.rn.f16.f32 %h, %f;", "sm_90a");
  const Instruction other = parse("cvt.rz.f16.f32 %h, %f;", "sm_90a");
  w.lanes[3] = nullptr;
  w.lanes[30] = &other;
  CHECK_THAT(w.refusal(Errc::lanes_disagree), Catch::Contains("cvt.rz.f16.f32 %h, %f; by lanes 30; "));
  w.lanes.assign(32, nullptr);
  CHECK_THAT(w.refusal(Errc::lanes_missing), Catch::Contains("no lane executes an instruction"));
}

TEST_CASE("literals are converted like registers") {
  const auto result = [](const char* text) {
    Warp w(text, "sm_90a");
    w.set_all(Part::source, 0x40400000);  // 3, where it is read
    const Effects effects = w.run();
    for (int lane = 1; lane < 32; ++lane) CHECK(w.get(Part::d, lane) == w.get(Part::d, 0));
    // The batch needs no view of what is a literal.
    std::vector<OperandView> views;
    const std::array<std::uint32_t, 1> three = {0x40400000};
    for (const Operand& operand : w.instruction.operands().subspan(1))
      views.push_back(operand.literals.empty() ? OperandView::dense(three.data(), 1, 1, 32) : OperandView{});
    Bytes d(8);
    REQUIRE(execute_batch(w.instruction, views, ResultView::dense(d.data(), 1, 1, 32), 1).ok());
    CHECK(bits(d, 0, w.operand(Part::d).register_bits) == w.get(Part::d, 0));
    return w.get(Part::d, 0);
  };
  CHECK(result("cvt.rn.f16.f32 %h, 0f3F800000;") == 0x3C00);
  CHECK(result("cvt.rn.f16.f64 %h, 1.0;") == 0x3C00);
  CHECK(result("cvt.rn.f16.f64 %h, 0dC000000000000000;") == 0xC000);
  CHECK(result("cvt.rn.f16x2.f32 %r, 0f3F800000, 0f40000000;") == 0x3C004000);
}

TEST_CASE("no target beyond those listed has a form") {
  for (const FormInfo& form : documented())
    for (const Target target : Target::all()) {
      INFO(form.canonical << " on " << target.name());
      const bool exists = std::ranges::find(form.targets, target) != form.targets.end();
      CHECK(Instruction::parse(form.canonical, target).ok() == exists);
    }
}

}  // namespace cvt_test
