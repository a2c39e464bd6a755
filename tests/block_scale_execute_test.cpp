// SPDX-License-Identifier: Apache-2.0
// Whole tiles of mma with block scaling, dense and sparse: every form with every selector, as literals and in
// registers, against the oracle. Elements, metadata and scale factors are put into registers by formulas.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "count_wanted.hpp"
#include "fragment_formulas.hpp"
#include "in_turn.hpp"
#include "oracle/metadata.hpp"
#include "profiles.hpp"
#include "warpbit/execute.hpp"

namespace block_scale_execute_test {

using namespace warpbit;
using oracle::Selector;
using profiles::Stream;
using Words = std::vector<std::uint32_t>;
using Halves = std::vector<std::uint16_t>;
using Codes = std::vector<std::uint64_t>;  // of a matrix, row by row

constexpr int kM = 16, kN = 8, kLanes = 32;
constexpr Selector kInRegisters{-1, -1};

std::size_t at(int row, int columns, int column) {
  return static_cast<std::size_t>(row * columns + column);
}

Instruction parse(const std::string& text) {
  const Result<Instruction> i = Instruction::parse(text, *Target::find("sm_120a"));
  INFO(text << (i ? std::string() : i.error().message()));
  REQUIRE(i.ok());
  return *i;
}

struct Form {
  std::string canonical;
  oracle::Problem problem;
  int depth, terms;

  std::vector<Selector> selectors(bool of_a) const { return oracle::selectors(of_a, problem.blocks); }

  std::string pair(const Selector& x, const char* names) const {
    return x.byte_id < 0 ? names : fmt::format("{{{}, {}}}", x.byte_id, x.thread_id);
  }
  Instruction with(const Selector& of_a, const Selector& of_b) const {
    return parse(fmt::format("{} {{d}}, {{a}}, {{b}}, {{c}},{} sfa, {}, sfb, {};", canonical,
                             problem.sparse ? " e, 0," : "", pair(of_a, "{%rs0, %rs1}"),
                             pair(of_b, "{%rs2, %rs3}")));
  }
};

std::vector<Form> all_forms() {
  std::vector<Form> out;
  for (const FormInfo& info : forms()) {
    if (info.family != "mma.block_scale" && info.family != "mma.sp.block_scale") continue;
    const Instruction i = parse(info.canonical);
    out.push_back({info.canonical, oracle::problem_of("sm_120a", info.canonical), i.depth(), i.terms()});
  }
  return out;
}

// One for each number of scale factors, dense and sparse.
std::vector<Form> few_forms() {
  std::vector<Form> out;
  for (const Form& f : all_forms()) {
    const auto same = [&](const Form& x) {
      return x.problem.blocks == f.problem.blocks && x.problem.sparse == f.problem.sparse;
    };
    if (std::ranges::none_of(out, same)) out.push_back(f);
  }
  return out;
}

// For the first form with its number of scale factors every selector of A with every one of B, for the others
// every one at least once.
std::vector<std::pair<Selector, Selector>> selector_pairs(const Form& f) {
  const std::vector<Selector> of_a = f.selectors(true), of_b = f.selectors(false);
  const std::vector<Form> first = few_forms();
  const bool every_pair = std::ranges::find(first, f.canonical, &Form::canonical) != first.end();
  const std::size_t count = every_pair ? of_a.size() * of_b.size() : std::max(of_a.size(), of_b.size());
  std::vector<std::pair<Selector, Selector>> out;
  for (std::size_t i = 0; i < count; ++i)
    out.emplace_back(of_a[(every_pair ? i / of_b.size() : i) % of_a.size()], of_b[i % of_b.size()]);
  return out;
}

// ---- Matrices

struct Matrices {
  Codes a, b, c;           // a: rows x terms; b: depth x columns
  Codes nibbles;           // rows x groups
  Codes scale_a, scale_b;  // rows x blocks; columns x blocks
};

Codes random_elements(const std::string& format, int count, Stream& s) {
  const profiles::Alphabet x(oracle::find_format(format));
  const int spread = s.range(1, 8);
  Codes out;
  for (int i = 0; i < count; ++i)
    out.push_back(s.one_in(24) ? s.pick(x.finite_table) : x.number(s.coin(), s.range(-spread, 1), s.bits()));
  return out;
}

// Near 1, all different from their neighbours for the most part; seldom anything.
Codes random_scales(const std::string& format, int count, Stream& s) {
  const profiles::Alphabet x(oracle::find_format(format));
  Codes out;
  for (int i = 0; i < count; ++i)
    out.push_back(s.one_in(32) ? s.bits() & 0xFF : x.number(false, s.range(-5, 5), s.bits()));
  return out;
}

Matrices random_matrices(const Form& f, Stream& s) {
  constexpr std::uint64_t kAscending[] = {0x4, 0x8, 0x9, 0xC, 0xD, 0xE};
  Matrices out{random_elements(f.problem.a, kM * f.terms, s),
               random_elements(f.problem.b, f.depth * kN, s),
               random_elements("f32", kM * kN, s),
               {},
               random_scales(f.problem.scale, kM * f.problem.blocks, s),
               random_scales(f.problem.scale, kN * f.problem.blocks, s)};
  if (f.problem.sparse)
    for (int i = 0; i < kM * f.depth / oracle::group_width(f.problem); ++i)
      out.nibbles.push_back(kAscending[s.range(0, 5)]);
  return out;
}

Codes expected(const Form& f, const Matrices& in) {
  const oracle::Dot dot(f.problem);
  const int groups = f.depth / oracle::group_width(f.problem), blocks = f.problem.blocks;
  const auto line = [&](const Codes& all, int i, int length) {
    return std::span(all).subspan(at(i, length, 0), static_cast<std::size_t>(length));
  };
  Codes out;
  for (int row = 0; row < kM; ++row)
    for (int column = 0; column < kN; ++column) {
      Codes b;
      for (int term = 0; term < f.terms; ++term) {
        int k = term;
        if (f.problem.sparse) {
          const std::uint64_t nibble = in.nibbles[at(row, groups, term * groups / f.terms)];
          k = oracle::logical_k(f.problem, term, static_cast<unsigned>(nibble));
        }
        b.push_back(in.b[at(k, kN, column)]);
      }
      out.push_back(dot(line(in.a, row, f.terms), b, in.c[at(row, kN, column)], line(in.scale_a, row, blocks),
                        line(in.scale_b, column, blocks)));
    }
  return out;
}

// ---- Registers; bits that belong to nothing are not zero, but for those below e2m1, which count

const Operand& operand(const Instruction& i, Part part) {
  return *std::ranges::find(i.operands(), part, &Operand::part);
}

Words registers_of(const Instruction& i, Part part, const Codes& matrix, int columns) {
  const Operand& op = operand(i, part);
  Words out(at(kLanes, op.registers, 0), 0x7CB4C0A8u);
  for (int lane = 0; lane < kLanes; ++lane)
    for (int value = 0; value < op.registers * formulas::per_register(i, op); ++value) {
      const auto [product, row, column] = formulas::element(i, op, lane, value);
      const Place p = formulas::bits_of(i, op, lane, value);
      const std::uint64_t mask = boundary::ones(p.bits) << p.low_bit;
      std::uint32_t& word = out[at(lane, op.registers, p.reg)];
      word =
          static_cast<std::uint32_t>((word & ~mask) | (matrix[at(row, columns, column)] << p.low_bit & mask));
    }
  return out;
}

Codes result_of(const Instruction& i, std::span<const std::uint32_t> words) {
  const Operand& op = operand(i, Part::d);
  Codes out(kM * kN);
  for (int lane = 0; lane < kLanes; ++lane)
    for (int value = 0; value < op.registers; ++value) {
      const auto [product, row, column] = formulas::element(i, op, lane, value);
      out[at(row, kN, column)] = words[at(lane, op.registers, value)];
    }
  return out;
}

Words metadata_of(const Form& f, const Codes& nibbles) {
  Words out(kLanes);
  const int groups = f.depth / oracle::group_width(f.problem);
  for (int lane = 0; lane < kLanes; ++lane)
    for (int i = 0; i < 8 && f.problem.sparse; ++i)
      if (const auto held = oracle::held_nibble(f.problem, 0, lane, i))
        out[at(lane, 1, 0)] |= static_cast<std::uint32_t>(nibbles[at(held->row, groups, held->group)])
                               << (4 * i);
  return out;
}

// What is not selected is a NaN, which would be seen.
Words scales_of(const Form& f, bool of_a, const Selector& x, const Codes& scales) {
  Words out(kLanes, 0x7F7F7F7Fu | (f.problem.scale == "ue8m0" ? 0x80808080u : 0u));
  for (int lane = 0; lane < kLanes; ++lane)
    for (int byte = 0; byte < 4; ++byte) {
      const auto held = oracle::held_scale(of_a, f.problem.blocks, x.byte_id, x.thread_id, lane, byte);
      if (!held) continue;
      const auto code = static_cast<std::uint32_t>(scales[at(held->line, f.problem.blocks, held->block)]);
      out[at(lane, 1, 0)] = (out[at(lane, 1, 0)] & ~(0xFFu << (8 * byte))) | code << (8 * byte);
    }
  return out;
}

// byte-id and thread-id of every lane.
Halves halves_of(const Selector& x) {
  Halves out;
  for (int lane = 0; lane < kLanes; ++lane)
    for (const int item : {x.byte_id, x.thread_id}) out.push_back(static_cast<std::uint16_t>(item));
  return out;
}

// The registers of one case. Elements and metadata are the same for all cases.
struct Inputs {
  Words a, b, c, e, scale_a, scale_b;
  Halves pair_a, pair_b;

  Inputs(const Form& f, const Matrices& in) : e(metadata_of(f, in.nibbles)) {
    const Instruction i = f.with({0, 0}, {0, 0});
    a = registers_of(i, Part::a, in.a, f.terms);
    b = registers_of(i, Part::b, in.b, kN);
    c = registers_of(i, Part::c, in.c, kN);
  }
  // Another case.
  void add(const Form& f, const Matrices& in, const Selector& of_a, const Selector& of_b) {
    const auto append = [](auto& list, const auto& more) { list.insert(list.end(), more.begin(), more.end()); };
    append(scale_a, scales_of(f, true, of_a, in.scale_a));
    append(scale_b, scales_of(f, false, of_b, in.scale_b));
    append(pair_a, halves_of(of_a));
    append(pair_b, halves_of(of_b));
  }
  std::size_t cases() const { return scale_a.size() / kLanes; }
};

// The views of selectors that are literals stay empty.
Result<std::vector<Codes>> execute(const Instruction& i, const Inputs& in, const ExecuteOptions& options = {}) {
  std::vector<OperandView> views;
  for (const Operand& op : i.operands().subspan(1)) {
    const auto view = [&](const auto& list, bool same_for_all) {
      OperandView out = OperandView::dense(list.data(), kLanes, op.registers, op.register_bits);
      if (same_for_all) out.case_stride = 0;
      return out;
    };
    const bool all_literals = op.literals.size() == 2 && op.literals[0] && op.literals[1];
    switch (op.part) {
      case Part::a: views.push_back(view(in.a, true)); break;
      case Part::b: views.push_back(view(in.b, true)); break;
      case Part::c: views.push_back(view(in.c, true)); break;
      case Part::metadata: views.push_back(view(in.e, true)); break;
      case Part::scale_a: views.push_back(view(in.scale_a, false)); break;
      case Part::scale_b: views.push_back(view(in.scale_b, false)); break;
      case Part::selector_a: views.push_back(all_literals ? OperandView{} : view(in.pair_a, false)); break;
      case Part::selector_b: views.push_back(all_literals ? OperandView{} : view(in.pair_b, false)); break;
      default: views.emplace_back(); break;
    }
  }
  const std::size_t length = at(kLanes, operand(i, Part::d).registers, 0);
  Words out(in.cases() * length);
  const ResultView result = ResultView::dense(out.data(), kLanes, operand(i, Part::d).registers, 32);
  const Result<Execution> done = execute_batch(i, views, result, in.cases(), options);
  if (!done) return done.error();
  const bool is_published = i.text().find("mxf8f6f4") != std::string::npos;  // PantheonSim's results
  REQUIRE(done->inferred != is_published);
  std::vector<Codes> results;
  for (std::size_t n = 0; n < in.cases(); ++n)
    results.push_back(result_of(i, std::span(out).subspan(n * length, length)));
  return results;
}

std::vector<Codes> run(const Instruction& i, const Inputs& in) {
  const Result<std::vector<Codes>> out = execute(i, in);
  INFO(i.text() << (out ? std::string() : out.error().message()));
  REQUIRE(out.ok());
  return *out;
}

TEST_CASE("a tile with block scaling equals the oracle, whatever selects its scale factors") {
  std::size_t literals = 0, in_registers = 0, pairs = 0, forms = 0, number = 0;
  for (const Form& f : all_forms()) {
    CAPTURE(f.canonical);
    const auto selectors = selector_pairs(f);
    pairs += selectors.size();
    if (!has_turn(number++, 0, 3)) continue;
    Stream s(11, 0);
    const Matrices matrices = random_matrices(f, s);
    const Codes wanted = expected(f, matrices);
    const Inputs elements(f, matrices);
    Inputs all = elements;
    const std::size_t turns = std::min<std::size_t>(selectors.size(), 8), turn = forms++ % turns;
    for (std::size_t n = 0; n < selectors.size(); ++n) {
      if (!has_turn(n, turn, turns)) continue;
      const auto& [of_a, of_b] = selectors[n];
      Inputs one = elements;
      one.add(f, matrices, of_a, of_b);
      all.add(f, matrices, of_a, of_b);
      const Instruction i = f.with(of_a, of_b);
      CAPTURE(i.text());
      REQUIRE(run(i, one).front() == wanted);
      ++literals;
    }
    for (const Codes& result : run(f.with(kInRegisters, kInRegisters), all)) {
      REQUIRE(result == wanted);
      ++in_registers;
    }
  }
  fmt::print("{} tiles with literal selectors, {} with selectors in registers\n", literals, in_registers);
  // Dense and sparse: mxf8f6f4 with two spellings of 1X; 2X thrice; 4X once with ue8m0, of dense and sparse, and
  // once with ue4m3.
  REQUIRE(pairs == 2 * (128 + 49 * 16 + 32 + 2 * 8 + 8 + 4));
  REQUIRE(literals == in_registers);
  REQUIRE(literals >= (tries_all() ? pairs : pairs / 24));
}

// WARPBIT_PROPERTY_COUNT is the number of elements of each form (2560 unless set).
TEST_CASE("random tiles with block scaling equal the oracle", "[once]") {
  const std::uint64_t tiles = (count_wanted("WARPBIT_PROPERTY_COUNT", 20 * kM * kN) - 1) / (kM * kN) + 1;
  std::vector<Form> forms = few_forms();
  for (Form& f : all_forms())  // 4X of ue8m0 is of PTX 9.1
    if (f.problem.blocks == 4 && f.problem.scale == "ue8m0") forms.push_back(std::move(f));
  for (const Form& f : forms) {
    CAPTURE(f.canonical);
    for (std::uint64_t n = 0; n < tiles; ++n) {
      Stream s(12, n);
      const Matrices matrices = random_matrices(f, s);
      const Selector of_a = s.pick(f.selectors(true)), of_b = s.pick(f.selectors(false));
      Inputs in(f, matrices);
      in.add(f, matrices, of_a, of_b);
      REQUIRE(run(f.with(of_a, of_b), in).front() == expected(f, matrices));
    }
    fmt::print("{} elements of {}\n", tiles * kM * kN, f.canonical);
  }
}

TEST_CASE("one item of a selector may be a register, the other a literal") {
  for (const Form& f : few_forms()) {
    CAPTURE(f.canonical);
    Stream s(13, 0);
    const Matrices matrices = random_matrices(f, s);
    const Selector of_a = f.selectors(true).back(), of_b = f.selectors(false).back();
    Inputs in(f, matrices);
    in.add(f, matrices, of_a, of_b);
    const Instruction i =
        parse(fmt::format("{} {{d}}, {{a}}, {{b}}, {{c}},{} sfa, {{{}, %rs1}}, sfb, {{%rs2, {}}};", f.canonical,
                          f.problem.sparse ? " e, 0," : "", of_a.byte_id, of_b.thread_id));
    // The register beside a literal is not read.
    for (int lane = 0; lane < kLanes; ++lane) in.pair_a[at(lane, 2, 0)] = in.pair_b[at(lane, 2, 1)] = 99;
    REQUIRE(run(i, in).front() == expected(f, matrices));
  }
}

TEST_CASE("a selector in registers must be in range and the same in all lanes") {
  int refused = 0;
  for (const Form& f : few_forms()) {
    CAPTURE(f.canonical);
    Stream s(14, 0);
    const Matrices matrices = random_matrices(f, s);
    Inputs good(f, matrices);
    for (int n = 0; n < 2; ++n) good.add(f, matrices, {0, 0}, {0, 0});
    const Instruction i = f.with(kInRegisters, kInRegisters);
    for (const bool of_a : {true, false})
      for (const int item : {0, 1})
        for (const int lane : {0, 13, 31})
          for (const int value : {0, 1, 2, 3, 4, 8, 0xFFFF}) {
            Inputs in = good;
            Halves& pair = of_a ? in.pair_a : in.pair_b;
            pair[at(kLanes + lane, 2, item)] = static_cast<std::uint16_t>(value);
            const std::vector<Selector> legal = f.selectors(of_a);
            const bool in_range = std::ranges::any_of(
                legal, [&](const Selector& x) { return (item == 0 ? x.byte_id : x.thread_id) == value; });
            const Result<std::vector<Codes>> got = execute(i, in, {.undefined = Undefined::as_measured});
            CAPTURE(of_a, item, lane, value);
            REQUIRE(got.ok() == (value == 0));
            if (got.ok()) continue;
            REQUIRE(got.error().code == Errc::undefined_operand);
            // Lane 0 says what the others must equal.
            const bool lane_1 = lane == 0 && in_range;
            REQUIRE(got.error().seen == fmt::format("{} of sel_{} is {} in case 1, lane {}",
                                                    item == 0 ? "byte-id" : "thread-id", of_a ? 'a' : 'b',
                                                    lane_1 ? 0 : value, lane_1 ? 1 : lane));
            ++refused;
          }
  }
  fmt::print("{} selectors refused\n", refused);
  REQUIRE(refused == 6 * 2 * 2 * 3 * 6);
}

}  // namespace block_scale_execute_test
