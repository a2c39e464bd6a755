// SPDX-License-Identifier: Apache-2.0
// Whole tiles of mma.sp: the products that the metadata choose, against the oracle and against dense mma; what
// the manual leaves undefined; which lanes count.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <tuple>

#include "oracle/metadata.hpp"
#include "profiles.hpp"
#include "warpbit/execute.hpp"

namespace sparse_test {

using namespace warpbit;
using profiles::Stream;
using Words = std::vector<std::uint32_t>;
using Codes = std::vector<std::uint64_t>;  // of a matrix, row by row

constexpr int kM = 16, kN = 8, kLanes = 32;

struct FormCase {
  const char* target;
  int k;
  const char *d, *a, *b;
  bool ordered = false, satfinite = false;
  const char* kind = "";
};

// Every kind of sparsity with every width of metadata.
constexpr FormCase kForms[] = {
    {"sm_90a", 16, "f32", "f16", "f16"},
    {"sm_90a", 16, "f16", "f16", "f16", true},
    {"sm_90a", 32, "f32", "f16", "f16", true},
    {"sm_80", 32, "f16", "f16", "f16"},
    {"sm_86", 16, "f32", "bf16", "bf16"},
    {"sm_100a", 32, "f32", "bf16", "bf16", true},
    {"sm_90a", 8, "f32", "tf32", "tf32"},
    {"sm_80", 8, "f32", "tf32", "tf32", true},
    {"sm_90a", 16, "f32", "tf32", "tf32", true},
    {"sm_90a", 32, "s32", "s8", "u8"},
    {"sm_120a", 32, "s32", "u8", "s8", true, true},
    {"sm_90a", 64, "s32", "s8", "s8", true},
    {"sm_80", 64, "s32", "u8", "u8", false, true},
    {"sm_90a", 64, "s32", "s4", "u4"},
    {"sm_90a", 128, "s32", "s4", "s4", true, true},
    {"sm_89", 128, "s32", "u4", "u4"},
    {"sm_90a", 64, "f32", "e4m3", "e4m3"},
    {"sm_90a", 64, "f32", "e5m2", "e4m3", true},
    {"sm_89", 64, "f32", "e4m3", "e5m2"},
    {"sm_120a", 64, "f32", "e4m3", "e4m3", true, false, "kind::f8f6f4"},
    {"sm_120a", 64, "f16", "e2m1", "e3m2", true, false, "kind::f8f6f4"},
};

std::string spelled(const FormCase& f, bool sparse, int k) {
  std::string out = "mma";
  if (sparse) out += f.ordered ? ".sp::ordered_metadata" : ".sp";
  out += fmt::format(".sync.aligned.m{}n{}k{}.row.col", kM, kN, k);
  if (*f.kind != '\0') out += fmt::format(".{}", f.kind);
  if (f.satfinite) out += ".satfinite";
  return out + fmt::format(".{}.{}.{}.{}", f.d, f.a, f.b, f.d);
}

oracle::Problem problem_of(const FormCase& f) {
  oracle::Problem p;
  p.target = f.target;
  p.shape = fmt::format("m{}n{}k{}", kM, kN, f.k);
  p.d = p.c = f.d;
  p.a = f.a;
  p.b = f.b;
  p.satfinite = f.satfinite;
  p.sparse = true;
  return p;
}

Instruction parse(const FormCase& f, const std::string& text) {
  const Result<Instruction> i = Instruction::parse(text, *Target::find(f.target));
  INFO(text << (i ? std::string() : i.error().message()));
  REQUIRE(i.ok());
  return *i;
}

std::size_t index(int row, int columns, int column) {
  return static_cast<std::size_t>(row * columns + column);
}

// One sparse form with one selector, and what the tests know of its metadata.
struct Sparse {
  FormCase form;
  oracle::Problem problem = problem_of(form);
  int selector;
  Instruction instruction =
      parse(form, fmt::format("{} {{d}}, {{a}}, {{b}}, {{c}}, e, {}", spelled(form, true, form.k), selector));
  int terms = form.k / 2;
  int groups = form.k / oracle::group_width(problem);

  bool is_tf32() const { return problem.a == "tf32"; }
  // The manual, "Sparse matrix storage": tf32 names one of two; else two different places, in ascending order
  // where the metadata are ordered.
  bool is_defined(unsigned nibble) const {
    if (is_tf32()) return nibble == 0x4 || nibble == 0xE;
    return form.ordered ? nibble % 4 < nibble / 4 : nibble % 4 != nibble / 4;
  }
  std::string defined_nibbles() const {
    if (is_tf32()) return "0x4, 0xe";
    return form.ordered ? "0x4, 0x8, 0x9, 0xc, 0xd, 0xe"
                        : "0x1, 0x2, 0x3, 0x4, 0x6, 0x7, 0x8, 0x9, 0xb, 0xc, 0xd, 0xe";
  }
  unsigned any_defined(Stream& s) const {
    for (;;)
      if (const auto nibble = static_cast<unsigned>(s.range(0, 15)); is_defined(nibble)) return nibble;
  }
};

std::vector<Sparse> all_sparse() {
  std::vector<Sparse> out;
  for (const FormCase& f : kForms)
    for (int s = 0; s < oracle::selector_count(problem_of(f)); ++s) out.push_back({.form = f, .selector = s});
  return out;
}

// ---- Registers

// Bits above an element that belong to none are not zero. (NUMERICS.md, "Padding": those below e2m1 count.)
Words registers_of(const Operand& op, const Codes& codes) {
  Words out(index(kLanes, op.registers, 0), 0xC0C0C0C0u);
  const std::vector<Place> table = op.fragment.table();
  REQUIRE(table.size() == codes.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Place& p = table[i];
    const std::uint64_t mask = boundary::ones(p.bits) << p.low_bit;
    std::uint32_t& word = out[index(p.lane, op.registers, p.reg)];
    word = static_cast<std::uint32_t>((word & ~mask) | (codes[i] << p.low_bit & mask));
  }
  return out;
}

Codes codes_of(const Operand& op, const Words& words) {
  Codes out;
  for (const Place& p : op.fragment.table())
    out.push_back(words[index(p.lane, op.registers, p.reg)] >> p.low_bit & boundary::ones(p.bits));
  return out;
}

struct Inputs {
  Codes a, b, c;   // a: rows x terms; b: depth x columns
  Words metadata;  // a register for each lane
};

// As many cases as there are metadata for, which share the matrices; the first one's result.
Result<Codes> execute(const Instruction& i, const Inputs& in, const ExecuteOptions& options = {}) {
  const Words words[] = {registers_of(i.operands()[1], in.a), registers_of(i.operands()[2], in.b),
                         registers_of(i.operands()[3], in.c), in.metadata};
  std::vector<OperandView> views(i.operands().size() - 1);  // the selector has none
  for (std::size_t n = 0; n < std::min<std::size_t>(views.size(), 4); ++n) {
    views[n] = OperandView::dense(words[n].data(), kLanes, i.operands()[n + 1].registers, 32);
    if (n < 3) views[n].case_stride = 0;
  }
  const Operand& d = i.operands()[0];
  const std::size_t cases = std::max<std::size_t>(in.metadata.size() / kLanes, 1);
  Words out(cases * index(kLanes, d.registers, 0));
  const ResultView result = ResultView::dense(out.data(), kLanes, d.registers, 32);
  const Result<Execution> done = execute_batch(i, views, result, cases, options);
  if (!done) return done.error();
  return codes_of(d, out);
}

Codes run(const Instruction& i, const Inputs& in) {
  const Result<Codes> out = execute(i, in);
  INFO((out ? std::string() : out.error().message()));
  REQUIRE(out.ok());
  return *out;
}

// ---- Metadata

void set_nibble(Words& metadata, int lane, int i, unsigned value) {
  std::uint32_t& word = metadata[static_cast<std::size_t>(lane)];
  word = (word & ~(15u << (4 * i))) | value << (4 * i);
}

// Visits (lane, nibble of its register, row, group) of every nibble that counts.
template <class Visit>
void for_each_nibble(const Sparse& x, Visit visit) {
  for (int lane = 0; lane < kLanes; ++lane)
    for (int i = 0; i < 8; ++i)
      if (const auto held = oracle::held_nibble(x.problem, x.selector, lane, i))
        visit(lane, i, held->row, held->group);
}

// Defined nibbles where they count, anything elsewhere.
Words random_metadata(const Sparse& x, Stream& s) {
  Words out(kLanes);
  for (std::uint32_t& word : out) word = static_cast<std::uint32_t>(s.bits());
  for_each_nibble(x, [&](int lane, int i, int, int) { set_nibble(out, lane, i, x.any_defined(s)); });
  return out;
}

// The nibble of each product of each row: rows x terms.
std::vector<unsigned> nibble_of_each_term(const Sparse& x, const Words& metadata) {
  std::vector<unsigned> out(index(kM, x.terms, 0));
  const int kept = x.terms / x.groups;
  for_each_nibble(x, [&](int lane, int i, int row, int group) {
    for (int term = group * kept; term < (group + 1) * kept; ++term)
      out[index(row, x.terms, term)] = metadata[static_cast<std::size_t>(lane)] >> (4 * i) & 15;
  });
  return out;
}

// The logical k of each product of each row, from defined metadata: rows x terms.
std::vector<int> chosen(const Sparse& x, const Words& metadata) {
  std::vector<int> out;
  for (const unsigned nibble : nibble_of_each_term(x, metadata))
    out.push_back(oracle::logical_k(x.problem, static_cast<int>(out.size()) % x.terms, nibble));
  return out;
}

// The code of B that meets a product in a column. A tf32 nibble is two indices of 16-bit halves of the pair's
// words: the low index gives the low half of the code, the high one the high half.
std::uint64_t met(const Sparse& x, const Inputs& in, unsigned nibble, int term, int column) {
  const auto b = [&](int k) { return in.b[index(k, kN, column)]; };
  if (!x.is_tf32() || x.is_defined(nibble)) return b(oracle::logical_k(x.problem, term, nibble));
  const auto half = [&](unsigned i) { return b(2 * term + (i < 2 ? 0 : 1)) >> (i % 2 == 0 ? 0 : 16) & 0xFFFF; };
  return half(nibble % 4) | half(nibble / 4) << 16;
}

Codes expected(const Sparse& x, const Inputs& in) {
  const oracle::Dot dot(x.problem);
  const std::vector<unsigned> nibbles = nibble_of_each_term(x, in.metadata);
  Codes out;
  for (int row = 0; row < kM; ++row)
    for (int column = 0; column < kN; ++column) {
      Codes a, b;
      for (int term = 0; term < x.terms; ++term) {
        a.push_back(in.a[index(row, x.terms, term)]);
        b.push_back(met(x, in, nibbles[index(row, x.terms, term)], term, column));
      }
      out.push_back(dot(a, b, in.c[index(row, kN, column)]));
    }
  return out;
}

// ---- Values

Codes random_codes(const std::string& format, std::size_t count, Stream& s) {
  const profiles::Alphabet x(oracle::find_format(format));
  const int spread = s.range(1, 12);
  Codes out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t any = x.integer ? s.bits() & x.mask : x.number(s.coin(), s.range(-spread, 1), s.bits());
    out.push_back(s.one_in(24) ? s.pick(x.finite_table) : any);
  }
  return out;
}

Inputs random_inputs(const Sparse& x, Stream& s) {
  return {random_codes(x.problem.a, static_cast<std::size_t>(kM * x.terms), s),
          random_codes(x.problem.b, static_cast<std::size_t>(x.form.k * kN), s),
          random_codes(x.problem.c, kM * kN, s), random_metadata(x, s)};
}

std::uint64_t code_of(const std::string& format, int value) {
  return oracle::encode(format, value < 0, std::abs(value), 0, oracle::Round::nearest_even, false);
}

// Small integers, unsigned where the format is; with K up to 128 every sum is exact.
Codes small_integers(const std::string& format, std::size_t count, Stream& s) {
  const int least = format[0] == 'u' ? 0 : -2;
  Codes out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(code_of(format, s.range(least, 2)));
  return out;
}

TEST_CASE("a tile equals the oracle's sums of the products that exist") {
  int tiles = 0;
  for (const Sparse& x : all_sparse()) {
    CAPTURE(x.instruction.text(), x.form.target);
    for (std::uint64_t n = 0; n < 12; ++n) {
      Stream s(7, n);
      const Inputs in = random_inputs(x, s);
      REQUIRE(run(x.instruction, in) == expected(x, in));
      ++tiles;
    }
  }
  fmt::print("{} tiles equal the oracle\n", tiles);
}

TEST_CASE("a dropped element does not count, whatever it is") {
  for (const Sparse& x : all_sparse()) {
    const profiles::Alphabet b(oracle::find_format(x.problem.b));
    if (b.specials.empty()) continue;
    CAPTURE(x.instruction.text(), x.form.target);
    Stream s(8, 0);
    Inputs in = random_inputs(x, s);
    // The same nibble for every row of a group, so that some rows of B are dropped by all.
    std::map<int, unsigned> nibbles;
    for (int group = 0; group < x.groups; ++group) nibbles[group] = x.any_defined(s);
    for_each_nibble(x,
                    [&](int lane, int i, int, int group) { set_nibble(in.metadata, lane, i, nibbles[group]); });
    const Codes clean = run(x.instruction, in);
    const std::vector<int> ks = chosen(x, in.metadata);
    for (int k = 0; k < x.form.k; ++k)
      if (std::find(ks.begin(), ks.begin() + x.terms, k) == ks.begin() + x.terms)
        for (int column = 0; column < kN; ++column) in.b[index(k, kN, column)] = s.pick(b.specials);
    REQUIRE(run(x.instruction, in) == clean);
  }
}

TEST_CASE("where nothing is rounded a tile equals dense mma of the expanded matrix") {
  for (const Sparse& x : all_sparse()) {
    const std::string a = x.problem.a;
    const int depth = a == "tf32" ? 8 : a == "f16" || a == "bf16" ? 16 : a == "s4" || a == "u4" ? 64 : 32;
    const Instruction dense = parse(x.form, spelled(x.form, false, depth));
    CAPTURE(x.instruction.text(), x.form.target);
    for (std::uint64_t n = 0; n < 4; ++n) {
      Stream s(9, n);
      const Inputs in{small_integers(a, static_cast<std::size_t>(kM * x.terms), s),
                      small_integers(x.problem.b, static_cast<std::size_t>(x.form.k * kN), s),
                      small_integers(x.problem.c, kM * kN, s), random_metadata(x, s)};
      const std::vector<int> ks = chosen(x, in.metadata);
      Codes full(static_cast<std::size_t>(kM * x.form.k));
      for (int row = 0; row < kM; ++row)
        for (int term = 0; term < x.terms; ++term)
          full[index(row, x.form.k, ks[index(row, x.terms, term)])] = in.a[index(row, x.terms, term)];
      Codes sum = in.c;
      for (int start = 0; start < x.form.k; start += depth) {
        Inputs part{{}, {}, sum, {}};
        for (int row = 0; row < kM; ++row)
          for (int k = start; k < start + depth; ++k) part.a.push_back(full[index(row, x.form.k, k)]);
        part.b.assign(in.b.begin() + start * kN, in.b.begin() + (start + depth) * kN);
        sum = run(dense, part);
      }
      REQUIRE(run(x.instruction, in) == sum);
    }
  }
}

TEST_CASE("a nibble without meaning is refused with its place, or executed as it was measured") {
  int refused = 0;
  for (const Sparse& x : all_sparse()) {
    CAPTURE(x.instruction.text(), x.form.target);
    Stream s(10, 0);
    const Inputs good = random_inputs(x, s);
    std::vector<std::tuple<int, int, int, int>> places;
    for_each_nibble(x, [&](int lane, int i, int row, int group) { places.emplace_back(lane, i, row, group); });
    for (unsigned nibble = 0; nibble < 16; ++nibble) {
      CAPTURE(nibble);
      const auto [lane, i, row, group] = s.pick(places);
      Inputs in = good;
      set_nibble(in.metadata, lane, i, nibble);
      const Result<Codes> measured = execute(x.instruction, in, {.undefined = Undefined::as_measured});
      REQUIRE(measured.ok());
      REQUIRE(*measured == expected(x, in));

      in.metadata.insert(in.metadata.begin(), good.metadata.begin(), good.metadata.end());
      const Result<Codes> strict = execute(x.instruction, in);
      REQUIRE(strict.ok() == x.is_defined(nibble));
      if (strict) continue;
      REQUIRE(strict.error().code == Errc::undefined_operand);
      REQUIRE(strict.error().seen ==
              fmt::format("metadata {:#x} in case 1, lane {}, bits {}-{} (row {}, group {})", nibble, lane,
                          4 * i, 4 * i + 3, row, group));
      REQUIRE(strict.error().accepted == x.defined_nibbles());
      ++refused;
    }
  }
  fmt::print("{} refusals\n", refused);
}

TEST_CASE("a nibble of a selected lane changes its row, one of another lane nothing") {
  for (const Sparse& x : all_sparse()) {
    CAPTURE(x.instruction.text(), x.form.target);
    // A is all ones; B is 1 in the upper half of each group, 0 in the lower; the metadata choose lower halves.
    const int width = oracle::group_width(x.problem);
    Inputs in{Codes(static_cast<std::size_t>(kM * x.terms), code_of(x.problem.a, 1)),
              {},
              Codes(kM * kN, code_of(x.problem.c, 0)),
              Words(kLanes, 0x44444444u)};
    for (int k = 0; k < x.form.k; ++k)
      in.b.insert(in.b.end(), kN, code_of(x.problem.b, k % width < width / 2 ? 0 : 1));
    for (int lane = 0; lane < kLanes; ++lane)
      for (int i = 0; i < 8; ++i) {
        Inputs changed = in;
        set_nibble(changed.metadata, lane, i, 0xE);
        const Codes after = run(x.instruction, changed);
        const auto held = oracle::held_nibble(x.problem, x.selector, lane, i);
        for (int row = 0; row < kM; ++row) {
          const int wanted = held && held->row == row ? width / 2 : 0;
          for (int column = 0; column < kN; ++column)
            if (after[index(row, kN, column)] != code_of(x.problem.d, wanted))
              FAIL(fmt::format("lane {}, nibble {}: row {}", lane, i, row));
        }
      }
  }
}

}  // namespace sparse_test
