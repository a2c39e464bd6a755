// SPDX-License-Identifier: Apache-2.0
// The kernels where registers lie otherwise than densely: strides, overlaps, literals, numbers of cases and
// threads. Judged by the specification on dense registers.
#if defined(__x86_64__)
#include <xmmintrin.h>  // _mm_setcsr
#endif

#include <fmt/ranges.h>

#include <optional>
#include <set>

#include "in_turn.hpp"
#include "kernel_cases.hpp"

namespace kernel_views_test {

using namespace kernel_cases;

constexpr std::size_t kCases = tiles::Builder::kKinds;

// One form for each fragments and number of k.
const std::vector<Subject>& subjects() {
  static const std::vector<Subject> out = [] {
    std::map<std::string, Subject> by_layout;
    for (const Subject& x : distinct_subjects()) {
      std::string layout = fmt::format("{} terms", x.instruction.terms());
      for (const Operand& operand : x.instruction.operands()) layout += " " + operand.fragment.text();
      by_layout.emplace(layout, x);
    }
    std::vector<Subject> list;
    for (const auto& [layout, x] : by_layout) list.push_back(x);
    return list;
  }();
  REQUIRE(!out.empty());
  return out;
}

Bytes expected(const Subject& x, const Inputs::Batch& batch) {
  Cells d(x.instruction, 0, batch.kinds.size());
  execute(x, batch.views(), d.result_view(), batch.kinds.size(), Kernel::reference);
  return d.bytes;
}

// Calls test(subject, kernel) for all of both, or in turn.
template <class Test>
void for_each_kernel(Test test) {
  const std::vector<Kernel> kernels = fast_kernels();
  for (std::size_t s = 0; s < subjects().size(); ++s)
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      if (!has_turn(s, k, kernels.size())) continue;
      INFO(subjects()[s].title() << ", " << name(kernels[k]));
      test(subjects()[s], kernels[k]);
    }
}

// ---- Strides

// An array of registers of w bytes.
struct Extent {
  std::ptrdiff_t cases, lanes, registers, w;
};
// Steps in bytes from a case, lane, register to the next.
struct Layout {
  const char* name;
  std::ptrdiff_t (*case_step)(const Extent&);
  std::ptrdiff_t (*lane_step)(const Extent&);
  std::ptrdiff_t (*register_step)(const Extent&);
};
using E = const Extent&;
constexpr Layout kLayouts[] = {
    {"dense", [](E e) { return e.w * e.lanes * e.registers; }, [](E e) { return e.w * e.registers; },
     [](E e) { return e.w; }},
    {"dense, one byte off", [](E e) { return e.w * e.lanes * e.registers + 1; },
     [](E e) { return e.w * e.registers; }, [](E e) { return e.w; }},
    {"gaps between lanes", [](E e) { return e.lanes * (e.w * e.registers + 8); },
     [](E e) { return e.w * e.registers + 8; }, [](E e) { return e.w; }},
    {"gaps everywhere", [](E e) { return e.lanes * ((2 * e.w + 1) * e.registers + 2) + 5; },
     [](E e) { return (2 * e.w + 1) * e.registers + 2; }, [](E e) { return 2 * e.w + 1; }},
    {"[case][register][lane]", [](E e) { return e.w * e.lanes * e.registers; }, [](E e) { return e.w; },
     [](E e) { return e.w * e.lanes; }},
    {"[register][lane][case]", [](E e) { return e.w; }, [](E e) { return e.w * e.cases; },
     [](E e) { return e.w * e.cases * e.lanes; }},
    {"lanes backward", [](E e) { return e.w * e.lanes * e.registers; }, [](E e) { return -e.w * e.registers; },
     [](E e) { return e.w; }},
    {"all backward", [](E e) { return -e.w * e.lanes * e.registers; }, [](E e) { return -e.w * e.registers; },
     [](E e) { return -e.w; }},
};

// The registers of an operand in another layout, with noise around them.
struct Strided {
  const Cells& cells;
  std::ptrdiff_t cases, of_case, of_lane, of_register, origin;
  Bytes bytes;

  Strided(const Layout& layout, const Cells& dense, std::size_t case_count)
      : cells(dense), cases(static_cast<std::ptrdiff_t>(case_count)) {
    const Extent extent{cases, cells.lanes, cells.count, cells.bits / 8};
    of_case = layout.case_step(extent);
    of_lane = layout.lane_step(extent);
    of_register = layout.register_step(extent);
    using Step = std::ptrdiff_t;
    const auto least = [](Step step, Step n) { return std::min<Step>(0, step * (n - 1)); };
    const auto most = [](Step step, Step n) { return std::max<Step>(0, step * (n - 1)); };
    origin = 3 - least(of_case, cases) - least(of_lane, cells.lanes) - least(of_register, cells.count);
    bytes.resize(static_cast<std::size_t>(origin + most(of_case, cases) + most(of_lane, cells.lanes) +
                                          most(of_register, cells.count) + extent.w + 3),
                 std::byte{0x5A});
  }
  std::size_t size() const { return static_cast<std::size_t>(cells.bits / 8); }
  // Calls copy(dense, strided) for each register.
  template <class Copy>
  void each(Copy copy) {
    std::size_t at = 0;
    for (std::ptrdiff_t i = 0; i < cases; ++i)
      for (std::ptrdiff_t lane = 0; lane < cells.lanes; ++lane)
        for (std::ptrdiff_t reg = 0; reg < cells.count; ++reg, at += size())
          copy(at, static_cast<std::size_t>(origin + i * of_case + lane * of_lane + reg * of_register));
  }
  OperandView source() {
    each([&](std::size_t dense, std::size_t at) { std::memcpy(&bytes[at], &cells.bytes[dense], size()); });
    return {bytes.data() + origin, of_case, of_lane, of_register};
  }
  ResultView destination() { return {bytes.data() + origin, of_case, of_lane, of_register}; }
  // What was written; all else must be as it was.
  Bytes written() {
    Bytes out(cells.bytes.size());
    each([&](std::size_t dense, std::size_t at) {
      std::memcpy(&out[dense], &bytes[at], size());
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size(), std::byte{0x5A});
    });
    CHECK(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0x5A}; }));
    return out;
  }
};

TEST_CASE("registers may lie anywhere") {
  std::size_t turn = 0;
  for_each_kernel([&](const Subject& x, Kernel kernel) {
    const Inputs::Batch batch = Inputs(x.instruction, x.problem)(1, kCases);
    const Bytes wanted = expected(x, batch);
    const Cells dense_d(x.instruction, 0, kCases);
    // All operands alike; then one at a time, beside dense ones.
    const std::size_t operands = batch.sources.size() + 1;
    turn += 5;  // 13 for each subject: a layout's turn goes through all operands
    for (const Layout& layout : kLayouts) {
      ++turn;
      for (std::size_t which = 0; which <= operands; ++which) {
        if (!has_turn(turn, which, operands + 1)) continue;
        INFO(layout.name << ", operand " << which << " of " << operands);
        const auto layout_of = [&](std::size_t i) {
          return which == operands || which == i ? layout : kLayouts[0];
        };
        std::vector<Strided> sources;
        std::vector<OperandView> views;
        for (std::size_t i = 0; i < batch.sources.size(); ++i) {
          sources.emplace_back(layout_of(i + 1), batch.sources[i], kCases);
          views.push_back(sources.back().source());
        }
        Strided d(layout_of(0), dense_d, kCases);
        CHECK(execute(x, views, d.destination(), kCases, kernel).kernel == kernel);
        CHECK((d.written() == wanted));
      }
    }
  });
}

// The same registers of a source in all lanes, or in all cases.
TEST_CASE("steps of zero repeat a register") {
  for_each_kernel([](const Subject& x, Kernel kernel) {
    const Inputs::Batch batch = Inputs(x.instruction, x.problem)(2, kCases);
    for (std::size_t which = 0; which < batch.sources.size(); ++which) {
      std::vector<OperandView> views = batch.views();
      views[which].case_stride = 0;
      if (x.instruction.operands()[which + 1].part == Part::c) views[which].lane_stride = 0;
      Cells wanted(x.instruction, 0, kCases), got = wanted;
      execute(x, views, wanted.result_view(), kCases, Kernel::reference);
      execute(x, views, got.result_view(), kCases, kernel);
      CHECK((got.bytes == wanted.bytes));
    }
  });
}

// ---- D in the registers of a source

TEST_CASE("D may be the registers of any source") {
  int tried[3] = {};
  for_each_kernel([&](const Subject& x, Kernel kernel) {
    for (std::size_t which = 0; which < 3; ++which) {
      Inputs::Batch batch = Inputs(x.instruction, x.problem)(3, 2 * kCases);
      if (batch.sources[which].count != x.instruction.operands()[0].registers) continue;
      const Bytes wanted = expected(x, batch);
      Cells& d = batch.sources[which];
      execute(x, batch.views(), d.result_view(), batch.kinds.size(), kernel);
      INFO("D is " << x.instruction.operands()[which + 1].role);
      CHECK((d.bytes == wanted));
      ++tried[which];
    }
  });
  for (const int count : tried) CHECK(count > 0);
}

// ---- Literals

// The bits of a register as the assembler takes them there.
std::string spelled(const Operand& operand, std::uint64_t bits) {
  if (operand.register_bits == 64) return fmt::format("0d{:016X}", bits);
  return operand.format == "s32" ? fmt::format("{}", bits) : fmt::format("0f{:08X}", bits);
}

// The instruction with a literal in every register of an operand, or in every second one; if it takes them.
std::optional<Subject> with_literals(const Subject& x, std::size_t operand, std::uint64_t literal, int step) {
  const auto operands = x.instruction.operands();
  std::string text(x.instruction.canonical());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    std::vector<std::string> registers;
    for (int r = 0; r < operands[i].registers; ++r)
      registers.push_back(i == operand && r % step == 0 ? spelled(operands[i], literal)
                                                        : fmt::format("%{}{}", operands[i].role, r));
    text += fmt::format("{} {{{}}}", i == 0 ? "" : ",", fmt::join(registers, ", "));
  }
  const Result<Instruction> parsed = Instruction::parse(text + ";", x.instruction.target());
  INFO(text << ": " << (parsed ? "" : parsed.error().message()));
  if (!parsed && parsed.error().code == Errc::operand_kind) return std::nullopt;
  REQUIRE(parsed.ok());
  return Subject{*parsed, x.problem};
}

TEST_CASE("literals take the place of registers") {
  std::set<std::string> taken;  // operands and formats
  for_each_kernel([&](const Subject& x, Kernel kernel) {
    if (x.instruction.operands().size() != 4) return;  // dense mma: the others take the same way
    for (std::size_t at = 1; at < 4; ++at) {
      const Operand& operand = x.instruction.operands()[at];
      for (const std::uint64_t word : {0x00000000U, 0x3C003C00U, 0x7F800001U})
        for (const int step : {1, 2}) {
          // The assembler takes vectors of literals only where they are of f32 (tests/decoder_test.cpp).
          if (step == 1 ? operand.format != "f32" : operand.registers == 1) continue;
          const std::uint64_t literal =
              operand.register_bits == 64 ? std::uint64_t{word} << 32 | word : std::uint64_t{word};
          const std::optional<Subject> with = with_literals(x, at, literal, step);
          if (!with) continue;
          Inputs::Batch batch = Inputs(x.instruction, x.problem)(4, kCases);
          Cells& cells = batch.sources[at - 1];
          const auto size = static_cast<std::size_t>(cells.bits / 8);
          for (std::size_t r = 0; r < cells.bytes.size() / size; ++r)
            if (static_cast<int>(r) % cells.count % step == 0)
              std::memcpy(&cells.bytes[size * r], &literal, size);
          const Bytes wanted = expected(x, batch);
          std::vector<OperandView> views = batch.views();
          if (step == 1) views[at - 1] = {};
          taken.insert(fmt::format("{} of {}", operand.role, operand.format));
          Cells d(x.instruction, 0, kCases);
          CHECK(execute(*with, views, d.result_view(), kCases, kernel).kernel == kernel);
          CHECK((d.bytes == wanted));
        }
    }
  });
  CHECK(taken == std::set<std::string>{
                     "a of b1", "a of bf16", "a of e2m1", "a of e4m3", "a of f16",  "a of f64", "a of s4",
                     "a of s8", "a of tf32", "b of b1",   "b of bf16", "b of e2m1", "b of f16", "b of f64",
                     "b of s4", "b of s8",   "b of tf32", "c of f16",  "c of f32",  "c of f64", "c of s32"});
}

// ---- Cases and threads

TEST_CASE("any number of cases on any number of threads") {
  for_each_kernel([](const Subject& x, Kernel kernel) {
    for (const std::size_t cases : {0U, 1U, 3U, 65U}) {
      const Inputs::Batch batch = Inputs(x.instruction, x.problem)(5, cases);
      const Bytes wanted = expected(x, batch);
      for (const int threads : {1, 2, 5}) {
        Cells d(x.instruction, 0, cases + 1);  // a case more, to see that nothing is written there
        const Execution done = execute(x, batch.views(), d.result_view(), cases, kernel, threads);
        CHECK(done.kernel == kernel);
        CHECK((Bytes(d.bytes.begin(), d.bytes.begin() + static_cast<std::ptrdiff_t>(wanted.size())) == wanted));
        CHECK(std::all_of(d.bytes.begin() + static_cast<std::ptrdiff_t>(wanted.size()), d.bytes.end(),
                          [](std::byte b) { return b == std::byte{0}; }));
      }
    }
  });
}

// ---- The caller's floating-point environment

#if defined(__x86_64__)
// MXCSR: FTZ, DAZ; RC.
constexpr unsigned kFlush = 0x8040, kRounding = 0x6000;
constexpr unsigned kChanges[] = {kFlush, 0x2000, 0x4000, kRounding, kFlush | kRounding};
unsigned control() {
  return _mm_getcsr();
}
void set_control(unsigned value) {
  _mm_setcsr(value);
}
#elif defined(__aarch64__)
// FPCR: AHP, DN, FZ, FZ16; RMode.
constexpr unsigned kFlush = 0x7080000, kRounding = 0xC00000;
constexpr unsigned kChanges[] = {kFlush, 0x1000000, 0x400000, 0x800000, kRounding, kFlush | kRounding};
unsigned control() {
  std::uint64_t value = 0;
  asm volatile("mrs %0, fpcr" : "=r"(value)::"memory");
  return static_cast<unsigned>(value);
}
void set_control(unsigned value) {
  asm volatile("msr fpcr, %0" ::"r"(std::uint64_t{value}) : "memory");
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
TEST_CASE("the caller's rounding and flushing of subnormals change nothing") {
  for_each_kernel([](const Subject& x, Kernel kernel) {
    const Inputs::Batch batch = Inputs(x.instruction, x.problem)(6, kCases);
    const Bytes wanted = expected(x, batch);
    for (const unsigned changed : kChanges)
      for (const int threads : {1, 2}) {
        Cells d(x.instruction, 0, kCases);
        const unsigned before = control();
        set_control((before & ~(kFlush | kRounding)) | changed);
        execute(x, batch.views(), d.result_view(), kCases, kernel, threads);
        const unsigned after = control();
        set_control(before);
        INFO("control register " << changed);
        CHECK((after & (kFlush | kRounding)) == changed);
        CHECK((d.bytes == wanted));
      }
  });
}
#endif

TEST_CASE("strides whose offsets leave the address space are refused") {
  const Instruction i =
      Instruction::parse("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", *Target::find("sm_90")).value();
  std::vector<std::uint32_t> words(32 * 4);
  const std::vector<OperandView> good{OperandView::dense(words.data(), 32, 4, 32),
                                      OperandView::dense(words.data(), 32, 2, 32),
                                      OperandView::dense(words.data(), 32, 4, 32)};
  const ResultView d = ResultView::dense(words.data(), 32, 4, 32);
  const auto refusal = [&](const std::vector<OperandView>& sources, const ResultView& to, std::size_t cases) {
    const Result<Execution> done = execute_batch(i, sources, to, cases);
    REQUIRE_FALSE(done.ok());
    CHECK(done.error().code == Errc::view_mismatch);
    return done.error().message();
  };
  for (const std::ptrdiff_t far :
       {PTRDIFF_MAX, PTRDIFF_MAX - 15, PTRDIFF_MAX / 2, PTRDIFF_MIN, PTRDIFF_MIN / 2})
    for (std::ptrdiff_t OperandView::*stride : {&OperandView::lane_stride, &OperandView::register_stride}) {
      std::vector<OperandView> sources = good;
      sources[2].*stride = far;
      CHECK_THAT(refusal(sources, d, 1),
                 Catch::Contains("of c for 1 cases") && Catch::Contains(std::to_string(far)));
    }
  std::vector<OperandView> sources = good;
  sources[0].case_stride = PTRDIFF_MAX / 2;
  CHECK_THAT(refusal(sources, d, 3), Catch::Contains("of a for 3 cases"));
  ResultView to = d;
  to.lane_stride = PTRDIFF_MAX / 4;
  CHECK_THAT(refusal(good, to, 1), Catch::Contains("of d for 1 cases"));
}

}  // namespace kernel_views_test
