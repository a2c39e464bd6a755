// SPDX-License-Identifier: Apache-2.0
// Whole tiles of mma.sp: the products that the metadata choose, against the oracle and against dense mma; what
// the manual leaves undefined; which lanes count.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "oracle/metadata.hpp"
#include "profiles.hpp"
#include "warpbit/execute.hpp"

namespace {

using namespace warpbit;
using profiles::Stream;
using Words = std::vector<std::uint32_t>;
using Codes = std::vector<std::uint64_t>;  // of a matrix, row by row

constexpr int kM = 16, kN = 8, kLanes = 32;

struct FormCase {
  const char* target;
  int k;
  const char *d, *a, *b;
  bool ordered = false;
  bool satfinite = false;
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
    {"sm_89", 16, "f32", "tf32", "tf32"},
    {"sm_90a", 32, "s32", "s8", "u8"},
    {"sm_120a", 32, "s32", "u8", "s8", true, true},
    {"sm_90a", 64, "s32", "s8", "s8", true},
    {"sm_80", 64, "s32", "u8", "u8", false, true},
    {"sm_90a", 64, "s32", "s4", "u4"},
    {"sm_80", 64, "s32", "u4", "s4", true},
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
  int groups = form.k / oracle::group_width(form.a);

  bool is_tf32() const { return problem.a == "tf32"; }
  // The manual, "Sparse matrix storage": tf32 names one of two; else two different places, in ascending order
  // where the metadata are ordered.
  bool is_defined(unsigned nibble) const {
    if (is_tf32()) return nibble == 0x4 || nibble == 0xE;
    return form.ordered ? nibble % 4 < nibble / 4 : nibble % 4 != nibble / 4;
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

Words registers_of(const Operand& op, const Codes& codes, std::uint32_t filler = 0) {
  Words out(static_cast<std::size_t>(kLanes * op.registers), filler);
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

Result<Codes> execute(const Instruction& i, const Inputs& in, const ExecuteOptions& options = {}) {
  const Codes* const matrices[] = {&in.a, &in.b, &in.c};
  std::vector<Words> words;
  for (std::size_t n = 0; n < 3; ++n)
    words.push_back(registers_of(i.operands()[n + 1], *matrices[n], 0x80808080u));
  if (!in.metadata.empty()) words.push_back(in.metadata);
  std::vector<OperandView> views;
  for (std::size_t n = 0; n < i.operands().size() - 1; ++n)
    views.push_back(n < words.size()
                        ? OperandView::dense(words[n].data(), kLanes, i.operands()[n + 1].registers, 32)
                        : OperandView{});
  const Operand& d = i.operands()[0];
  Words out(static_cast<std::size_t>(kLanes * d.registers));
  const Result<Execution> done =
      execute_batch(i, views, ResultView::dense(out.data(), kLanes, d.registers, 32), 1, options);
  if (!done) return done.error();
  return codes_of(d, out);
}

// ---- Metadata

unsigned nibble_at(const Words& metadata, int lane, int i) {
  return metadata[static_cast<std::size_t>(lane)] >> (4 * i) & 15;
}
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

// The logical k of each product of each row: rows x terms.
std::vector<int> chosen(const Sparse& x, const Words& metadata) {
  std::vector<int> out(static_cast<std::size_t>(kM * x.terms), -1);
  const int kept = x.terms / x.groups;
  for_each_nibble(x, [&](int lane, int i, int row, int group) {
    for (int term = group * kept; term < (group + 1) * kept; ++term)
      out[index(row, x.terms, term)] = oracle::logical_k(x.problem.a, term, nibble_at(metadata, lane, i));
  });
  return out;
}

Codes expected(const Sparse& x, const Inputs& in) {
  const oracle::Dot dot(x.problem);
  const std::vector<int> ks = chosen(x, in.metadata);
  Codes out;
  for (int row = 0; row < kM; ++row)
    for (int column = 0; column < kN; ++column) {
      Codes a, b;
      for (int term = 0; term < x.terms; ++term) {
        a.push_back(in.a[index(row, x.terms, term)]);
        b.push_back(in.b[index(ks[index(row, x.terms, term)], kN, column)]);
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
    if (x.integer)
      out.push_back(s.bits() & x.mask);
    else if (s.one_in(24))
      out.push_back(s.pick(x.finite_table));
    else
      out.push_back(x.number(s.coin(), s.range(-spread, 1), s.bits()));
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

}  // namespace

TEST_CASE("a tile equals the oracle's sums of the products that exist") {
  int tiles = 0;
  for (const Sparse& x : all_sparse()) {
    CAPTURE(x.instruction.text(), x.form.target);
    for (std::uint64_t n = 0; n < 12; ++n) {
      Stream s(7, n);
      const Inputs in = random_inputs(x, s);
      const Result<Codes> got = execute(x.instruction, in);
      REQUIRE(got.ok());
      REQUIRE(*got == expected(x, in));
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
    const Result<Codes> clean = execute(x.instruction, in);
    REQUIRE(clean.ok());
    const std::vector<int> ks = chosen(x, in.metadata);
    for (int k = 0; k < x.form.k; ++k)
      if (std::find(ks.begin(), ks.begin() + x.terms, k) == ks.begin() + x.terms)
        for (int column = 0; column < kN; ++column) in.b[index(k, kN, column)] = s.pick(b.specials);
    const Result<Codes> got = execute(x.instruction, in);
    REQUIRE(got.ok());
    REQUIRE(*got == *clean);
  }
}

TEST_CASE("where nothing is rounded a tile equals dense mma of the expanded matrix") {
  int tiles = 0;
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
        const Result<Codes> done = execute(dense, part);
        REQUIRE(done.ok());
        sum = *done;
      }
      const Result<Codes> got = execute(x.instruction, in);
      REQUIRE(got.ok());
      REQUIRE(*got == sum);
      ++tiles;
    }
  }
  fmt::print("{} tiles equal dense mma\n", tiles);
}

TEST_CASE(
    "a nibble without meaning is refused with its place, and executed as written where that was measured") {
  const ExecuteOptions as_measured{.undefined = Undefined::as_measured};
  int refused = 0;
  for (const Sparse& x : all_sparse()) {
    CAPTURE(x.instruction.text(), x.form.target);
    Stream s(10, 0);
    const Inputs good = random_inputs(x, s);
    std::vector<std::array<int, 4>> places;
    for_each_nibble(x, [&](int lane, int i, int row, int group) { places.push_back({lane, i, row, group}); });
    for (unsigned nibble = 0; nibble < 16; ++nibble) {
      CAPTURE(nibble);
      const auto [lane, i, row, group] = s.pick(places);
      Inputs in = good;
      set_nibble(in.metadata, lane, i, nibble);
      const Result<Codes> strict = execute(x.instruction, in);
      const Result<Codes> measured = execute(x.instruction, in, as_measured);
      REQUIRE(strict.ok() == x.is_defined(nibble));
      REQUIRE(measured.ok() == (x.is_defined(nibble) || !x.is_tf32()));
      if (measured) REQUIRE(*measured == expected(x, in));
      const std::string place = fmt::format("metadata {:#x} in case 0, lane {}, bits {}-{} (row {}, group {})",
                                            nibble, lane, 4 * i, 4 * i + 3, row, group);
      for (const Result<Codes>* result : {&strict, &measured}) {
        if (result->ok()) continue;
        REQUIRE(result->error().code == Errc::undefined_operand);
        REQUIRE(result->error().message().find(place) != std::string::npos);
        ++refused;
      }
    }
  }
  fmt::print("{} refusals\n", refused);
}

TEST_CASE("the refusal names the case and what is accepted") {
  const auto refusal = [](const FormCase& form) {
    const Sparse x{.form = form, .selector = 1};
    Stream s(11, 0);
    const Inputs in = random_inputs(x, s);
    Words metadata;
    for (int n = 0; n < 4; ++n) metadata.insert(metadata.end(), in.metadata.begin(), in.metadata.end());
    metadata[3 * kLanes + 5] = 0;  // lane 5: g 1, selected by 1 in each form below
    std::vector<Words> words;
    for (const Operand& op : x.instruction.operands())
      words.push_back(Words(static_cast<std::size_t>(4 * kLanes * op.registers)));
    words[4] = metadata;
    std::vector<OperandView> views;
    for (std::size_t n = 1; n < words.size(); ++n)
      views.push_back(OperandView::dense(words[n].data(), kLanes, x.instruction.operands()[n].registers, 32));
    const ResultView d = ResultView::dense(words[0].data(), kLanes, x.instruction.operands()[0].registers, 32);
    const Result<Execution> done = execute_batch(x.instruction, views, d, 4);
    REQUIRE_FALSE(done.ok());
    REQUIRE(done.error().code == Errc::undefined_operand);
    REQUIRE(done.error().seen.starts_with("metadata 0x0 in case 3, lane 5, bits 0-3 (row 1, group 0)"));
    return done.error().accepted;
  };
  REQUIRE(refusal({"sm_90a", 16, "f32", "f16", "f16"}) ==
          "0x1, 0x2, 0x3, 0x4, 0x6, 0x7, 0x8, 0x9, 0xb, 0xc, 0xd, 0xe");
  REQUIRE(refusal({"sm_90a", 16, "f32", "f16", "f16", true}) == "0x4, 0x8, 0x9, 0xc, 0xd, 0xe");
  REQUIRE(refusal({"sm_90a", 8, "f32", "tf32", "tf32"}) == "0x4, 0xe");
}

TEST_CASE("a nibble of a selected lane changes its row, one of another lane nothing") {
  for (const Sparse& x : all_sparse()) {
    CAPTURE(x.instruction.text(), x.form.target);
    // A is all ones; B is 1 in the upper half of each group, 0 in the lower; the metadata choose lower halves.
    const int width = oracle::group_width(x.problem.a);
    Inputs in{Codes(static_cast<std::size_t>(kM * x.terms), code_of(x.problem.a, 1)),
              {},
              Codes(kM * kN, code_of(x.problem.c, 0)),
              Words(kLanes, 0x44444444u)};
    for (int k = 0; k < x.form.k; ++k)
      in.b.insert(in.b.end(), kN, code_of(x.problem.b, k % width < width / 2 ? 0 : 1));
    const Result<Codes> before = execute(x.instruction, in);
    REQUIRE(before.ok());
    for (int lane = 0; lane < kLanes; ++lane)
      for (int i = 0; i < 8; ++i) {
        Inputs changed = in;
        set_nibble(changed.metadata, lane, i, 0xE);
        const Result<Codes> after = execute(x.instruction, changed);
        REQUIRE(after.ok());
        const auto held = oracle::held_nibble(x.problem, x.selector, lane, i);
        for (int row = 0; row < kM; ++row) {
          const int wanted = held && held->row == row ? width / 2 : 0;
          for (int column = 0; column < kN; ++column)
            if ((*after)[index(row, kN, column)] != code_of(x.problem.d, wanted))
              FAIL(fmt::format("lane {}, nibble {}: row {}", lane, i, row));
        }
      }
  }
}
