// SPDX-License-Identifier: Apache-2.0
// Every kernel against the specification, Kernel::reference, on forms with fused nodes whose fragments are not those
// of m16n8: wmma.mma of f16, bf16 and tf32, and mma.m8n8k4 of f16 where it is a tensor instruction.
#include "in_turn.hpp"
#include "tally.hpp"
#include "warp.hpp"

namespace gathered_kernel_test {

using namespace warpbit;
using Words = std::vector<std::uint32_t>;

std::vector<Instruction> subjects(std::string_view family, std::string_view target,
                                  const char* shape = nullptr) {
  std::vector<Instruction> out;
  for (const std::string& form : warp::forms_of(family, target)) {
    if (warp::has(form, "s32") || warp::has(form, "f64") || (shape && !warp::has(form, shape))) continue;
    out.push_back(warp::parse(form, target));
  }
  return out;
}

std::vector<Instruction> all_subjects() {
  std::vector<Instruction> out;
  const auto add = [&](const std::vector<Instruction>& list, std::size_t count) {
    REQUIRE(list.size() == count);
    out.insert(out.end(), list.begin(), list.end());
  };
  for (const char* target : {"sm_70", "sm_75"}) add(subjects("mma", target, "m8n8k4"), 12);
  for (const char* target : {"sm_80", "sm_90", "sm_120a"}) add(subjects("wmma.mma", target), 64);
  return out;
}

// ---- Inputs

// Sign, exponent, fraction and unused bits of a code.
struct Fields {
  int bits, exponent_bits, fraction_bits;

  explicit Fields(std::string_view format)
      : bits(format == "f16" || format == "bf16" ? 16 : 32),
        exponent_bits(format == "f16" ? 5 : 8),
        fraction_bits(bits - 1 - exponent_bits) {}
  std::uint32_t top() const { return (1U << exponent_bits) - 1; }
  std::uint32_t code(std::uint64_t random, std::uint32_t exponent) const {
    const auto sign = static_cast<std::uint32_t>(random >> 63), fraction = static_cast<std::uint32_t>(random);
    return sign << (bits - 1) | exponent << fraction_bits | (fraction & ((1U << fraction_bits) - 1));
  }
};

enum class Kind { random, ordinary, subnormal, special, c_zero, c_huge, factors_zero, far };
constexpr int kKinds = 8;

std::uint32_t code_of(Kind kind, bool is_c, const Fields& f, std::mt19937_64& random) {
  const std::uint64_t bits = random();
  const std::uint32_t ordinary = f.top() / 2 - 3 + static_cast<std::uint32_t>(bits >> 40) % 6;
  const std::uint32_t low = static_cast<std::uint32_t>(bits >> 40) % 3;
  const std::uint32_t sign_only = static_cast<std::uint32_t>(bits >> 63) << (f.bits - 1);
  switch (kind) {
    case Kind::random: return static_cast<std::uint32_t>(bits) & (~0U >> (32 - f.bits));
    case Kind::subnormal: return f.code(bits, low / 2);
    case Kind::special: return f.code(bits, (bits >> 45) % 64 == 0 ? f.top() : ordinary);
    case Kind::c_zero: return is_c ? sign_only : f.code(bits, ordinary);
    case Kind::c_huge: return f.code(bits, is_c ? f.top() - 1 - low : ordinary);
    case Kind::factors_zero: return is_c ? f.code(bits, ordinary) : sign_only;
    case Kind::far: return f.code(bits, low == 0 ? 0 : low == 1 ? f.top() - 1 : ordinary);
    default: return f.code(bits, ordinary);
  }
}

// The dense registers of an operand. Of special values an Inf without fraction is one in two.
Words registers_of(const Operand& operand, std::size_t cases, std::mt19937_64& random) {
  const Fields f(operand.format);
  Words out(cases * 32 * static_cast<std::size_t>(operand.registers));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto kind = static_cast<Kind>(i * cases / out.size() % kKinds);
    for (int low = 0; low < 32; low += f.bits) {
      std::uint32_t code = code_of(kind, operand.part == Part::c, f, random);
      const std::uint32_t infinity = f.top() << f.fraction_bits;
      if (kind == Kind::special && (code & infinity) == infinity && random() % 2 == 0)
        code &= infinity | 1U << (f.bits - 1);
      out[i] |= code << low;
    }
  }
  return out;
}

// Kinds of factors and C are the same in a case.
std::vector<Words> sources_of(const Instruction& i, std::size_t cases) {
  std::mt19937_64 random(1);
  std::vector<Words> out;
  for (const Operand& operand : i.operands().subspan(1)) out.push_back(registers_of(operand, cases, random));
  return out;
}

// ---- Execution

OperandView dense(const Instruction& i, std::size_t operand, const Words& words) {
  return OperandView::dense(words.data(), 32, i.operands()[operand].registers, 32);
}
std::vector<OperandView> dense(const Instruction& i, const std::vector<Words>& sources) {
  return {dense(i, 1, sources[0]), dense(i, 2, sources[1]), dense(i, 3, sources[2])};
}
ResultView dense_result(const Instruction& i, Words& words) {
  return ResultView::dense(words.data(), 32, i.operands()[0].registers, 32);
}
Words result_words(const Instruction& i, std::size_t cases) {
  return Words(cases * 32 * static_cast<std::size_t>(i.operands()[0].registers), 0xDEADBEEF);
}

// The kernel that is asked for must be the one that ran.
void execute(const Instruction& i, const std::vector<OperandView>& sources, const ResultView& d,
             std::size_t cases, Kernel kernel, int threads = 1) {
  ExecuteOptions options;
  options.kernel = kernel;
  options.threads = threads;
  const Result<Execution> done = execute_batch(i, sources, d, cases, options);
  INFO(i.text() << " on " << i.target().name() << ", " << name(kernel));
  REQUIRE(done.ok());
  REQUIRE(done->kernel == kernel);
}

Words by_specification(const Instruction& i, const std::vector<OperandView>& sources, std::size_t cases) {
  Words out = result_words(i, cases);
  execute(i, sources, dense_result(i, out), cases, Kernel::reference);
  return out;
}

void compare(const Instruction& i, Kernel kernel, const Words& got, const Words& expected, Tally& tally) {
  for (std::size_t w = 0; w < expected.size(); ++w)
    tally.check(got[w] == expected[w], [&] {
      const std::size_t count = static_cast<std::size_t>(i.operands()[0].registers);
      return fmt::format("{} on {}, {}: case {} lane {} register {}: {:08x} instead of {:08x}", i.canonical(),
                         i.target().name(), name(kernel), w / count / 32, w / count % 32, w % count, got[w],
                         expected[w]);
    });
}

constexpr std::size_t kCases = 3 * kKinds;

TEST_CASE("gathered tiles: all kernels, all kinds of values", "[once]") {
  Tally tally;
  for (const Instruction& i : all_subjects()) {
    const std::vector<Words> sources = sources_of(i, kCases);
    const Words expected = by_specification(i, dense(i, sources), kCases);
    for (const Kernel kernel : kernels()) {
      Words got = result_words(i, kCases);
      execute(i, dense(i, sources), dense_result(i, got), kCases, kernel);
      compare(i, kernel, got, expected, tally);
    }
  }
  tally.judge("values");
}

TEST_CASE("gathered tiles: the bits do not depend on how many cases there are, nor on threads") {
  Tally tally;
  for (const Instruction& i :
       {subjects("mma", "sm_70", "m8n8k4").front(), subjects("wmma.mma", "sm_90").front()})
    for (const Kernel kernel : kernels())
      for (const std::size_t cases : {1, 2, 3, 5, 8, 9}) {
        const std::vector<Words> sources = sources_of(i, cases);
        for (const int threads : {1, 2}) {
          Words got = result_words(i, cases);
          execute(i, dense(i, sources), dense_result(i, got), cases, kernel, threads);
          compare(i, kernel, got, by_specification(i, dense(i, sources), cases), tally);
        }
      }
  tally.judge("numbers of cases");
}

// Of pairs of a subject and a kernel, of which there are up to four.
constexpr std::size_t kKernelTurns = 3;

// ---- Views

// Registers that lie one behind the other for each lane of each case, in descending order, with gaps.
struct Spread {
  int count;
  Words words;

  Spread(int registers, std::size_t cases) : count(registers), words(cases * 32 * gap(), 0xABABABAB) {}
  Spread(int registers, std::size_t cases, const Words& from) : Spread(registers, cases) {
    for (std::size_t i = 0; i < from.size(); ++i) words[at(i)] = from[i];
  }
  std::size_t gap() const { return 2 * static_cast<std::size_t>(count) + 1; }
  std::size_t at(std::size_t i) const {
    const auto registers = static_cast<std::size_t>(count);
    return i / registers * gap() + 2 * (registers - i % registers);
  }
  template <class View, class Byte>
  View view(Byte* first) const {
    const auto lane = static_cast<std::ptrdiff_t>(4 * gap());
    return {first + 8 * count, 32 * lane, lane, -8};
  }
  OperandView view() const { return view<OperandView>(reinterpret_cast<const std::byte*>(words.data())); }
  ResultView result_view() { return view<ResultView>(reinterpret_cast<std::byte*>(words.data())); }
  Words dense() const {
    Words out(words.size() / gap() * static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = words[at(i)];
    return out;
  }
};

TEST_CASE("gathered tiles: registers in any order and with gaps, which are left alone") {
  Tally tally;
  std::size_t turn = 0;
  for (const Instruction& i : all_subjects()) {
    const std::vector<Words> sources = sources_of(i, kKinds);
    const Words expected = by_specification(i, dense(i, sources), kKinds);
    std::vector<Spread> spread;
    for (std::size_t s = 0; s < 3; ++s) spread.emplace_back(i.operands()[s + 1].registers, kKinds, sources[s]);
    for (const Kernel kernel : kernels()) {
      if (!has_turn(turn++, 0, kKernelTurns)) continue;
      Spread d(i.operands()[0].registers, kKinds);
      execute(i, {spread[0].view(), spread[1].view(), spread[2].view()}, d.result_view(), kKinds, kernel);
      compare(i, kernel, d.dense(), expected, tally);
      CHECK(d.words == Spread(d.count, kKinds, expected).words);
    }
  }
  tally.judge("views");
}

TEST_CASE("gathered tiles: D in the registers of C, of A, of B") {
  Tally tally;
  std::size_t turn = 0;
  for (const Instruction& i : all_subjects()) {
    const std::vector<Words> sources = sources_of(i, kKinds);
    const Words expected = by_specification(i, dense(i, sources), kKinds);
    for (std::size_t s = 0; s < 3; ++s) {
      if (i.operands()[s + 1].registers != i.operands()[0].registers) continue;
      for (const Kernel kernel : kernels()) {
        if (!has_turn(turn++, 0, kKernelTurns)) continue;
        std::vector<Words> copies = sources;
        execute(i, dense(i, copies), dense_result(i, copies[s]), kKinds, kernel);
        compare(i, kernel, copies[s], expected, tally);
      }
    }
  }
  tally.judge("D in a source's registers");
}

TEST_CASE("gathered tiles: literals") {
  const Instruction mixed = warp::parse(
      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {d0, d1, d2, d3, d4, d5, d6, d7}, "
      "{a0, a1, a2, a3, a4, a5, a6, a7}, {b0, b1, b2, b3, b4, b5, b6, b7}, "
      "{c0, 0f3F800000, c2, 0fFF800000, c4, c5, 0f7FFFFFFF, c7};",
      "sm_90");
  const Instruction whole = warp::parse(
      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {d0, d1, d2, d3, d4, d5, d6, d7}, "
      "{a0, a1, a2, a3, a4, a5, a6, a7}, {b0, b1, b2, b3, b4, b5, b6, b7}, "
      "{0f00000000, 0f3F800000, 0f40000000, 0f00000000, 0f00000000, 0f00000000, 0f00000000, 0f80000000};",
      "sm_90");
  Tally tally;
  for (const Instruction& i : {mixed, whole}) {
    const std::vector<Words> sources = sources_of(i, kKinds);
    std::vector<OperandView> views = dense(i, sources);
    if (i.text() == whole.text()) views[2] = {};
    const Words expected = by_specification(i, views, kKinds);
    for (const Kernel kernel : kernels()) {
      Words got = result_words(i, kKinds);
      execute(i, views, dense_result(i, got), kKinds, kernel);
      compare(i, kernel, got, expected, tally);
    }
  }
  tally.judge("literals");
}

}  // namespace gathered_kernel_test
