// SPDX-License-Identifier: Apache-2.0
// Whole warpgroups: wgmma.mma_async on noise, with elements found by the formulas of facts 4 to 6 through any
// descriptors, against the oracle; which bytes are read; what is refused.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <set>

#include "descriptor_formulas.hpp"
#include "fragment_formulas.hpp"
#include "in_turn.hpp"
#include "oracle/metadata.hpp"
#include "profiles.hpp"
#include "tally.hpp"
#include "warp.hpp"

namespace wgmma_execute_test {

using namespace warpbit;
using formulas::Described;
using profiles::Alphabet;
using profiles::Stream;
using warp::Bytes;
using warp::Warp;
using Codes = std::vector<std::uint64_t>;

constexpr int kM = 64;
constexpr std::uint64_t kBytes = 228 * 1024;

struct Form {
  int n, k;
  const char *d, *a, *b;
  bool a_in_registers;
  bool a_mn = false, b_mn = false;
  int sign_a = 1, sign_b = 1;
  int selector = -1;  // of a sparse one
  bool satfinite = false;

  bool is_sparse() const { return selector >= 0; }
  bool is_bits() const { return std::string_view(a) == "b1"; }
  bool is_integer() const { return std::string_view(d) == "s32"; }
  bool has_transposes() const { return a == std::string_view("f16") || a == std::string_view("bf16"); }
  int terms() const { return is_sparse() ? k / 2 : k; }
  std::string canonical() const {
    return fmt::format("wgmma.mma_async{}.sync.aligned.m{}n{}k{}{}.{}.{}.{}{}", is_sparse() ? ".sp" : "", kM, n,
                       k, satfinite ? ".satfinite" : "", d, a, b, is_bits() ? ".and.popc" : "");
  }
  // The descriptors and scale-d by their names or as literals.
  std::string statement(const std::string& a_desc, const std::string& b_desc,
                        const std::string& scale_d) const {
    std::string out = fmt::format("{} {{d}}, {}, {}, ", canonical(), a_in_registers ? "{a}" : a_desc, b_desc);
    if (is_sparse()) out += fmt::format("e, {}, ", selector);
    out += scale_d;
    if (!is_integer()) out += fmt::format(", {}, {}", sign_a, sign_b);
    if (has_transposes() && !a_in_registers) out += fmt::format(", {:d}", a_mn);
    if (has_transposes()) out += fmt::format(", {:d}", b_mn);
    return out + ";";
  }
  oracle::Problem problem() const {
    oracle::Problem p = oracle::problem_of("sm_90a", canonical());
    p.negate_a = sign_a < 0;
    p.negate_b = sign_b < 0;
    return p;
  }
};

const Form kForms[] = {
    {8, 16, "f32", "f16", "f16", true, false, false},
    {24, 16, "f16", "f16", "f16", true, false, true, -1, 1},
    {16, 16, "f32", "f16", "f16", false, false, false, 1, -1},
    {64, 16, "f32", "bf16", "bf16", false, true, false},
    {8, 16, "f16", "f16", "f16", false, false, true},
    {136, 16, "f32", "f16", "f16", false, true, true, -1, -1},
    {16, 8, "f32", "tf32", "tf32", true, false, false, -1, 1},
    {8, 8, "f32", "tf32", "tf32", false},
    {8, 32, "f32", "e4m3", "e4m3", true},
    {16, 32, "f32", "e4m3", "e5m2", false, false, false, 1, -1},
    {8, 32, "f16", "e5m2", "e4m3", false},
    {8, 32, "s32", "s8", "s8", true},
    {48, 32, "s32", "u8", "s8", false, false, false, 1, 1, -1, true},
    {8, 256, "s32", "b1", "b1", true},
    {16, 256, "s32", "b1", "b1", false},
    {8, 32, "f32", "f16", "f16", true, false, false, 1, 1, 0},
    {16, 32, "f16", "f16", "f16", false, false, true, 1, -1, 1},
    {8, 32, "f32", "bf16", "bf16", false, true, false, 1, 1, 1},
    {8, 16, "f32", "tf32", "tf32", true, false, false, 1, 1, 1},
    {16, 16, "f32", "tf32", "tf32", false, false, false, -1, 1, 0},
    {8, 64, "f32", "e4m3", "e4m3", false, false, false, 1, 1, 0},
    {8, 64, "s32", "u8", "u8", false, false, false, 1, 1, 0, true},
};

int bits_of(const char* format) {
  return oracle::find_format(format).width();
}

// Mostly of similar exponents, so that all of them count.
std::uint64_t any_code(const Alphabet& x, Stream& s) {
  if (x.integer) return s.bits() & x.mask;
  if (s.one_in(100)) return s.pick(x.table);
  return x.number(s.coin(), s.range(-3, 3), s.bits());
}

// Codes of A's format, side by side.
Bytes noise(const Form& f, Stream& s) {
  const Alphabet alphabet(oracle::find_format(f.a));
  const auto bits = static_cast<std::uint64_t>(std::max(bits_of(f.a), 8));
  Bytes out;
  while (out.size() < kBytes) {
    const std::uint64_t code = f.is_bits() ? s.bits() : any_code(alphabet, s);
    for (std::uint64_t bit = 0; bit < bits; bit += 8) out.push_back(static_cast<std::byte>(code >> bit));
  }
  return out;
}

// Any that stays in bounds: up to 16 steps of SBO and 4 of LBO, or the other way round.
Described any_descriptor(Stream& s) {
  constexpr std::array<std::uint64_t, 4> kWidths = {16, 32, 64, 128};
  const auto chunks = [&](int most) { return 16 * static_cast<std::uint64_t>(s.range(0, most)); };
  return {chunks(4000), chunks(300), chunks(300), static_cast<std::uint64_t>(s.range(0, 7)), s.pick(kWidths)};
}

// One execution, with everything that goes in.
struct Group {
  const Form& form;
  Described a, b;
  bool scale_d;
  Codes c;        // row by row
  Codes nibbles;  // of A, row by row
  Warp warp;
  std::set<std::uint64_t> chunks;  // of 16 bytes, that are read

  // Literals: the descriptors and scale-d stand in the statement.
  Group(const Form& f, const Bytes& image, Stream& s, bool scaled, bool literals)
      : form(f),
        a(any_descriptor(s)),
        b(any_descriptor(s)),
        scale_d(scaled),
        warp(literals
                 ? f.statement(fmt::format("{}", a.bits()), fmt::format("{}", b.bits()), scaled ? "1" : "0")
                 : f.statement("x", "y", "p"),
             "sm_90a", Memory(kBytes)) {
    REQUIRE(warp.memory.write(Space::shared, 0, image).ok());
    if (!literals) {
      if (!form.a_in_registers) warp.set_all(Part::a, a.bits());
      warp.set_all(Part::b, b.bits());
      warp.set_all(Part::scale_d, scaled ? 1 : 0);
    }
    set_registers(Part::d, Alphabet(oracle::find_format(form.d)), s);
    if (form.a_in_registers) set_registers(Part::a, Alphabet(oracle::find_format(form.a)), s);
    c = matrix(Part::d, form.n);
    if (form.is_sparse()) set_metadata(s);
  }

  void set_registers(Part part, const Alphabet& alphabet, Stream& s) {
    const Operand& op = warp.operand(part);
    for (int lane = 0; lane < 128; ++lane)
      for (int value = 0; value < op.registers * formulas::per_register(warp.instruction, op); ++value) {
        const Place p = formulas::bits_of(warp.instruction, op, lane, value);
        const std::uint64_t mask = boundary::ones(p.bits) << p.low_bit, code = any_code(alphabet, s);
        warp.set(part, lane, (warp.get(part, lane, p.reg) & ~mask) | code << p.low_bit, p.reg);
      }
  }
  // The elements that the registers of D or A hold.
  Codes matrix(Part part, int columns) const {
    const Operand& op = warp.operand(part);
    Codes out(static_cast<std::size_t>(kM * columns));
    for (int lane = 0; lane < 128; ++lane)
      for (int value = 0; value < op.registers * formulas::per_register(warp.instruction, op); ++value) {
        const Place p = formulas::bits_of(warp.instruction, op, lane, value);
        const auto [product, row, column] = formulas::element(warp.instruction, op, lane, value);
        out.at(static_cast<std::size_t>(row * columns + column)) =
            warp.get(part, lane, p.reg) >> p.low_bit & boundary::ones(p.bits);
      }
    return out;
  }
  // Nibbles with a meaning where they count; noise remains elsewhere.
  void set_metadata(Stream& s) {
    const oracle::Problem problem = form.problem();
    const int groups = form.k / oracle::group_width(problem);
    const std::vector<unsigned> defined =
        problem.a == "tf32" ? std::vector{0x4u, 0xEu} : std::vector{0x1u, 0x2u, 0x3u, 0x4u, 0x6u, 0x7u,
                                                                    0x8u, 0x9u, 0xBu, 0xCu, 0xDu, 0xEu};
    nibbles.resize(static_cast<std::size_t>(kM * groups));
    for (int lane = 0; lane < 128; ++lane)
      for (int i = 0; i < 8; ++i) {
        const auto held = oracle::held_nibble(problem, form.selector, lane % 32, i);
        if (!held) continue;
        const std::uint64_t nibble = s.pick(defined), word = warp.get(Part::metadata, lane);
        warp.set(Part::metadata, lane, (word & ~(std::uint64_t{15} << 4 * i)) | nibble << 4 * i);
        nibbles.at(static_cast<std::size_t>((16 * (lane / 32) + held->row) * groups + held->group)) = nibble;
      }
  }

  std::uint64_t described(const Bytes& image, bool left, int i, int k) {
    const int bits = bits_of(left ? form.a : form.b);
    const std::uint64_t at = formulas::described_bit(
        left ? a : b, left ? form.a_mn : form.b_mn, form.is_sparse() && !left, static_cast<std::uint64_t>(bits),
        static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(k));
    chunks.insert(at / 128);
    return warp::bits(image, at, bits);
  }
  // A by row and stored k; B by column and k.
  Codes left(const Bytes& image) {
    if (form.a_in_registers) return matrix(Part::a, form.terms());
    Codes out;
    for (int i = 0; i < kM; ++i)
      for (int k = 0; k < form.terms(); ++k) out.push_back(described(image, true, i, k));
    return out;
  }
  Codes right(const Bytes& image) {
    Codes out;
    for (int j = 0; j < form.n; ++j)
      for (int k = 0; k < form.k; ++k) out.push_back(described(image, false, j, k));
    return out;
  }
};

// The k of a stored element.
int k_of(const Group& g, const oracle::Problem& problem, int row, int term) {
  if (!g.form.is_sparse()) return term;
  const int width = oracle::group_width(problem), groups = g.form.k / width;
  const std::uint64_t nibble = g.nibbles.at(static_cast<std::size_t>(row * groups + term / (width / 2)));
  return oracle::logical_k(problem, term, static_cast<unsigned>(nibble));
}

Codes expected(Group& g, const Bytes& image) {
  const oracle::Problem problem = g.form.problem();
  const oracle::Dot dot(problem);
  const auto terms = static_cast<std::size_t>(g.form.terms()), depth = static_cast<std::size_t>(g.form.k);
  const Codes a = g.left(image), b = g.right(image);
  Codes out, chosen(terms);
  for (int row = 0; row < kM; ++row)
    for (int column = 0; column < g.form.n; ++column) {
      for (std::size_t term = 0; term < terms; ++term)
        chosen[term] = b.at(static_cast<std::size_t>(column) * depth +
                            static_cast<std::size_t>(k_of(g, problem, row, static_cast<int>(term))));
      const std::uint64_t c = g.c.at(static_cast<std::size_t>(row * g.form.n + column));
      out.push_back(
          dot(std::span(a).subspan(static_cast<std::size_t>(row) * terms, terms), chosen, g.scale_d ? c : 0));
    }
  return out;
}

TEST_CASE("a warpgroup computes what the oracle does, whatever its descriptors say", "[wgmma]") {
  Tally elements;
  std::uint64_t seed = 0;
  for (const Form& form : kForms) {
    Stream s(7, seed++);
    const Bytes image = noise(form, s);
    for (int run = 0; run < 4; ++run) {
      if (!has_turn(seed, static_cast<std::size_t>(run), 4)) continue;
      Group g(form, image, s, run % 2 == 1, run >= 2);
      INFO(g.warp.instruction.text());
      const Codes wanted = expected(g, image);
      const Effects effects = g.warp.run();
      const Codes got = g.matrix(Part::d, form.n);
      for (std::size_t i = 0; i < wanted.size(); ++i)
        elements.check(got[i] == wanted[i], [&] {
          return fmt::format("{}: element {}: {:#x}, oracle {:#x}; a {:#x}, b {:#x}", g.warp.instruction.text(),
                             i, got[i], wanted[i], g.a.bits(), g.b.bits());
        });
      std::set<std::uint64_t> read;
      for (const Effects::MemoryRead& r : effects.memory_reads) {
        CHECK((r.lane == Effects::kEveryLane && r.space == Space::shared));
        for (std::uint64_t at = r.address; at < r.address + r.bytes; ++at) read.insert(at / 16);
      }
      CHECK(read == g.chunks);
      CHECK(effects.memory_writes.empty());
      CHECK(effects.writes.size() == 128u * static_cast<std::size_t>(g.warp.operand(Part::d).registers));
    }
  }
  elements.judge("elements of D of whole warpgroups");
}

// ---- What is refused

constexpr char kForm[] = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16";

Warp both_in_memory(std::uint64_t bytes) {
  Warp w(fmt::format("{} {{d}}, x, y, p, 1, 1, 0, 0;", kForm), "sm_90a", Memory(bytes));
  // 8 rows of 16 bytes, then the next 8; the second half of K 1024 bytes further.
  w.set_all(Part::a, Described{0, 1024, 128, 0, 16}.bits());
  w.set_all(Part::b, Described{2048, 256, 128, 0, 16}.bits());
  w.set_all(Part::scale_d, 1);
  return w;
}

TEST_CASE("a descriptor that leads out of shared memory is refused", "[wgmma]") {
  both_in_memory(2048 + 512).run();
  CHECK_THAT(both_in_memory(2048 + 511).refusal(Errc::address_out_of_bounds),
             Catch::Equals(std::string(kForm) +
                           ": the bytes up to address 0x9ff that b_desc 0x800100080 reads are out of "
                           "bounds; shared memory has 2559 bytes"));
  CHECK(both_in_memory(0).refusal(Errc::address_out_of_bounds).find("shared memory has 0 bytes") !=
        std::string::npos);
  Warp a = both_in_memory(2048 + 512);
  a.set_all(Part::a, Described{528, 1024, 128, 0, 16}.bits());
  CHECK(a.refusal(Errc::address_out_of_bounds).find("a_desc") != std::string::npos);
  Warp far = both_in_memory(2048 + 512);
  far.set_all(Part::b, ~std::uint64_t{0});
  CHECK(far.refusal(Errc::address_out_of_bounds).find("b_desc 0xffffffffffffffff") != std::string::npos);
}

TEST_CASE("lanes that disagree are refused", "[wgmma]") {
  for (const auto& [part, name] :
       {std::pair(Part::a, "a_desc"), {Part::b, "b_desc"}, {Part::scale_d, "scale_d"}})
    for (const int lane : {1, 32, 127}) {
      Warp w = both_in_memory(2048 + 512);
      const std::uint64_t value = w.get(part, 0);
      w.set(part, lane, value ^ 1);
      CHECK(w.refusal(Errc::lanes_disagree) ==
            fmt::format("{}: {} is {:#x} in lane 0, but {:#x} in lane {}; all lanes must give the same", kForm,
                        name, value, value ^ 1, lane));
    }
}

TEST_CASE("a warpgroup is complete, and its memory is given", "[wgmma]") {
  Warp w = both_in_memory(2048 + 512);
  const Result<Effects> without = execute_warp(w.lanes, w.binding, w.registers);
  REQUIRE_FALSE(without.ok());
  CHECK(without.error().code == Errc::memory_needed);
  w.lanes[77] = nullptr;
  CHECK(w.refusal(Errc::lanes_missing).find("77") != std::string::npos);
  w.lanes.resize(32, &w.instruction);
  CHECK(w.refusal(Errc::lanes_missing).find("32-127") != std::string::npos);
}

}  // namespace wgmma_execute_test
