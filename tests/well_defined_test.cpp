// SPDX-License-Identifier: Apache-2.0
// Kernels that write each register before they read it run, and leave the same bits, however they are compiled: as written, by
// the assembler's rules and without fused products, with shared slots and without, on 32 lanes at once and lane by lane, and
// whether the launch follows what was written or not. Each product that may be fused is exact.
#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "in_turn.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/result.hpp"

namespace well_defined_test {

using namespace warpbit;

constexpr int kThreads = 64, kWords = 16;  // a thread reads and writes so many

/// How a kernel is run.
struct How {
  bool as_written, contract, observes;
  Kernel kernel;
};
std::vector<How> all_ways() {
  std::vector<How> out;
  for (const auto& [as_written, contract] : {std::pair(false, true), {false, false}, {true, false}})
    for (const bool observes : {false, true})
      for (const Kernel kernel : {Kernel::reference, kernels().back()})
        out.push_back({as_written, contract, observes, kernel});
  return out;
}

struct Left {
  std::vector<std::uint32_t> words;
  std::optional<Fault> fault;
};
Left run(const ptx::Function& function, const How& how) {
  std::vector<std::uint32_t> in(kThreads * kWords);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(i * 37 % 101) - 50));
  Left out{std::vector<std::uint32_t>(in.size()), {}};
  ptx::Launch launch{.block = {kThreads}, .contract = how.contract, .as_written = how.as_written};
  launch.execute.kernel = how.kernel;
  if (how.observes) launch.observe = [](const ptx::Observation&) { return true; };
  out.fault = function.launch(launch, {ptx::buffer(in), ptx::buffer(out.words)}).fault;
  return out;
}

// Runs in every way; all leave the same.
std::vector<std::uint32_t> run_all_ways(const std::string& text) {
  INFO(text);
  const Result<ptx::Module> module = ptx::Module::load(text, *Target::find("sm_90a"));
  INFO((module ? "" : module.error().message()));
  REQUIRE(module);
  const Result<ptx::Function> function = module->function("k");
  INFO((function ? "" : function.error().message()));
  REQUIRE(function);
  std::vector<std::uint32_t> first;
  for (const How& how : all_ways()) {
    INFO("as written " << how.as_written << ", fused " << how.contract << ", observed " << how.observes
                       << ", kernel " << name(how.kernel));
    const Left left = run(*function, how);
    INFO((left.fault ? left.fault->message() : ""));
    REQUIRE_FALSE(left.fault);
    if (first.empty()) first = left.words;
    CHECK(left.words == first);
  }
  return first;
}

/// The text of a kernel, statement by statement. What it may read: the registers that are written on every way to here.
class Writer {
 public:
  /// `follows`: some register that nobody needs depends on one without a value, so that launches follow what is written.
  Writer(unsigned seed, bool follows) : random_(seed), follows_(follows) {}

  std::string module() {
    const std::string callee = function();
    return fmt::format(".version 8.7 .target sm_90a .address_size 64\n{}{}", callee, kernel());
  }

 private:
  using Written =
      std::map<char, std::vector<int>>;  // by letter: f .f32, d .f64, r .b32, q .b64, p .pred, c 2^n in .f32

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool one_of(int n) { return below(n) == 0; }
  std::string read(char letter) {
    const std::vector<int>& all = written_[letter];
    return fmt::format("%{}{}", letter, all[static_cast<std::size_t>(below(static_cast<int>(all.size())))]);
  }
  // A register to write: a new one, or one that has a value.
  std::string write(char letter) {
    if (!written_[letter].empty() && one_of(3)) return read(letter);
    pending_.emplace_back(letter, next_[letter]++);
    return fmt::format("%{}{}", letter, pending_.back().second);
  }
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
    for (const auto& [letter, i] : pending_) written_[letter].push_back(i);
    pending_.clear();
  }
  std::string power() {
    return std::vector{"0f3F800000", "0f40000000", "0f3F000000", "0fBF800000"}[random_() % 4];
  }

  void begin(const std::string& source) {
    text_.clear();
    written_.clear();
    next_.clear();
    add("mov.u32 %r0, %tid.x; ld.param.u64 %q0, [{}]; cvt.u64.u32 %q1, %r0; shl.b64 %q2, %q1, 6;", source);
    add("add.u64 %q3, %q0, %q2; ld.global.v4.f32 {{%f0, %f1, %f2, %f3}}, [%q3]; ld.global.f32 %f4, [%q3+16];");
    add("ld.global.v2.b32 {{%r1, %r2}}, [%q3+24]; mov.f32 %c0, 0f40000000; cvt.f64.f32 %d0, %f0; setp.gt.f32 %p0|%p1, %f1, %f2;");
    written_ = {{'f', {0, 1, 2, 3, 4}}, {'d', {0}}, {'r', {0, 1, 2}}, {'q', {1, 2}}, {'p', {0, 1}}, {'c', {0}}};
    next_ = {{'f', 5}, {'d', 1}, {'r', 3}, {'q', 8}, {'p', 2}, {'c', 1}};
    if (follows_)
      add("add.f32 %f900, %f901, %f0; mul.f32 %f902, %f900, %f1; selp.b32 %r900, %r901, %r902, %p0;");
  }
  std::string end() const {
    return fmt::format(
        ".reg .f32 %f<910>; .reg .f32 %c<500>; .reg .f64 %d<500>; .reg .b32 %r<910>; .reg .b64 %q<500>; .reg .pred "
        "%p<500>; .reg .b16 %h<4>;\n{}",
        text_);
  }

  std::string function() {
    begin("a");
    for (int i = 0; i < 6; ++i) straight();
    add("add.f32 {0}, {1}, {2}; st.param.f32 [o], {0}; ret;", "%f800", read('f'), read('f'));
    return fmt::format(".func (.param .f32 o) g(.param .u64 a) {{\n{}}}\n", end());
  }
  std::string kernel() {
    begin("in");
    add("ld.param.u64 %q4, [out]; add.u64 %q5, %q4, %q2;");
    for (int i = 6 + below(20); i > 0; --i) statement(2);
    if (one_of(2)) leave();
    for (int i = below(8); i > 0; --i) statement(2);
    store();
    return fmt::format(".visible .entry k(.param .u64 in, .param .u64 out) {{\n{}ret; }}\n", end());
  }
  void store() {
    for (int i = 0; i < 8; ++i) add("st.global.f32 [%q5+{}], {};", 4 * i, read('f'));
    for (int i = 8; i < 10; ++i) add("st.global.b32 [%q5+{}], {};", 4 * i, read('r'));
    add("st.global.f64 [%q5+40], {}; st.global.b64 [%q5+48], {};", read('d'), read('q'));
  }
  // Some lanes end here.
  void leave() {
    const int p = next_['p']++;
    add("setp.ge.u32 %p{0}, %r0, {1}; @!%p{0} bra STAY;", p, 1 + below(kThreads));
    store();
    add("exit;\nSTAY:");
    converged_ = false;
  }

  void statement(int depth) {
    const int kind = below(depth > 0 ? 12 : 9);
    if (kind < 9) return straight();
    if (kind == 9) return branch(depth - 1);
    if (kind == 10) return loop(depth - 1);
    together();
  }

  // Guards keep what the other lanes have.
  std::string guard() { return one_of(5) ? fmt::format("@{}{} ", one_of(2) ? "!" : "", read('p')) : ""; }

  void straight() {
    switch (below(14)) {
      case 0:
      case 1: return product();
      case 2: return add("{} {}, {}, {};", one_of(2) ? "add.f32" : "sub.f32", write('f'), read('f'), read('f'));
      case 3:
        return add("{}{} {}, {}, {};", guard(), one_of(2) ? "add.f32" : "min.f32", read('f'), read('f'),
                   read('f'));
      case 4: return add("setp.{}.f32 {}, {}, {};", one_of(2) ? "gt" : "le", write('p'), read('f'), read('f'));
      case 5: return predicates();
      case 6: return add("{} {}, {};", one_of(2) ? "neg.f32" : "mov.f32", write('f'), read('f'));
      case 7: return add("selp.f32 {}, {}, {}, {};", write('f'), read('f'), read('f'), read('p'));
      case 8: return add("mov.f32 {}, {};", one_of(2) ? read('c') : write('c'), power());
      case 9: return both_ways();
      case 10: return integers();
      case 11: return halves();
      case 12:
        return add("{} {}, {}, {};", one_of(2) ? "add.f64" : "sub.f64", write('d'), read('d'), read('d'));
      default: return add("cvt.f64.f32 {}, {};", write('d'), read('f'));
    }
  }
  void product() {
    const std::string factor = one_of(3) ? power() : read('c');
    if (one_of(4)) return add("{}mul.f32 {}, {}, {};", guard(), read('f'), read('f'), factor);
    const std::string t = fmt::format("%f{}", next_['f']++);
    add("mul.f32 {}, {}, {};", t, read('f'), factor);
    written_['f'].push_back(std::stoi(t.substr(2)));
    if (one_of(3)) add("mov.f32 {}, {};", read('c'), power());  // the factor changes
    if (one_of(2)) add("{} {}, {}, {};", one_of(2) ? "add.f32" : "sub.f32", write('f'), t, read('f'));
    if (one_of(2))
      add("neg.f32 {0}, {1}; add.f32 {2}, {3}, {0};", fmt::format("%f{}", next_['f']++), t, read('f'),
          read('f'));
    if (one_of(2)) add("{}add.f32 {}, {}, {};", guard(), read('f'), read('f'), t);
  }
  void predicates() {
    if (one_of(2)) {
      const int p = next_['p'];
      next_['p'] += 2;
      add("setp.lt.and.u32 %p{}|%p{}, {}, {}, {};", p, p + 1, read('r'), read('r'), read('p'));
      written_['p'].insert(written_['p'].end(), {p, p + 1});
    } else {
      add("{}.pred {}, {}, {};", one_of(2) ? "and" : "xor", write('p'), read('p'), read('p'));
    }
  }
  // A new register, written under a guard and under its opposite.
  void both_ways() {
    const std::string p = read('p'), f = fmt::format("%f{}", next_['f']++);
    add("@{} mov.f32 {}, {}; @!{} add.f32 {}, {}, {};", p, f, read('f'), p, f, read('f'), read('f'));
    written_['f'].push_back(std::stoi(f.substr(2)));
  }
  void integers() {
    switch (below(6)) {
      case 0: return add("mad.lo.u32 {}, {}, {}, {};", write('r'), read('r'), read('r'), read('r'));
      case 1: return add("{}xor.b32 {}, {}, {};", guard(), read('r'), read('r'), read('r'));
      case 2: return add("mul.wide.u32 {}, {}, {};", write('q'), read('r'), read('r'));
      case 3: {
        const std::string a = read('r'), b = read('r'), c = read('r'), d = read('r'), low = write('r');
        return add("add.cc.u32 {}, {}, {}; addc.u32 {}, {}, {};", low, a, b, write('r'), c, d);
      }
      case 4: return add("add.u64 {}, {}, {};", write('q'), read('q'), read('q'));
      default: return add("cvt.rzi.s32.f32 {}, {};", write('r'), read('f'));
    }
  }
  void halves() {
    if (one_of(2)) return add("mov.b64 {}, {{{}, {}}};", write('q'), read('r'), read('r'));
    if (one_of(2)) {
      const std::string from = read('q');
      const int r = next_['r']++;
      add("mov.b64 {{{}, %r{}}}, {};", write('r'), r, from);
      return written_['r'].push_back(r);
    }
    add("mov.b32 {{%h0, %h1}}, {}; mov.b32 {}, {{%h1, %h0}};", read('r'), write('r'));
  }

  void branch(int depth) {
    const int label = labels_++;
    const std::string p = read('p');
    const int both = next_['f']++;
    const bool converged = std::exchange(converged_, false);
    add("@{} bra ELSE{};", p, label);
    const Written before = written_;
    for (const bool last : {false, true}) {
      for (int i = 1 + below(4); i > 0; --i) statement(depth);
      add("mov.f32 %f{}, {};", both, read('f'));
      if (!last) add("bra JOIN{0};\nELSE{0}:", label);
      written_ = before;
    }
    add("JOIN{}:", label);
    written_['f'].push_back(both);
    converged_ = converged;
  }
  // Once or more often, as the lane has it or all alike. What it writes has a value behind it.
  void loop(int depth) {
    const int label = labels_++, count = next_['r']++, p = next_['p']++;
    const bool alike = one_of(2);
    const bool converged = converged_;
    converged_ = converged_ && alike;
    alike ? add("mov.u32 %r{}, {};", count, 1 + below(3)) : add("and.b32 %r{}, %r0, 3;", count);
    add("LOOP{}:", label);
    for (int i = 1 + below(5); i > 0; --i) statement(depth);
    add("sub.s32 %r{0}, %r{0}, 1; setp.gt.s32 %p{1}, %r{0}, 0; @%p{1} bra LOOP{2};", count, p, label);
    converged_ = converged;
  }
  void together() {
    if (converged_ && one_of(2)) {
      const std::string from = read('r');
      return add("shfl.sync.bfly.b32 {}, {}, {}, 31, -1;", write('r'), from, 1 << below(5));
    }
    if (converged_ && one_of(2)) return add("vote.sync.ballot.b32 {}, {}, -1;", write('r'), read('p'));
    add("{{ .param .u64 x; .param .f32 y; st.param.u64 [x], %q0; call.uni (y), g, (x); ld.param.f32 {}, [y]; }}",
        write('f'));
  }

  std::mt19937 random_;
  bool follows_;
  std::string text_;
  Written written_;
  std::vector<std::pair<char, int>> pending_;  // what the statement at hand writes
  std::map<char, int> next_;                   // new registers
  int labels_ = 0;
  bool converged_ = true;  // all lanes are here
};

// One kernel of these statements: %r0 is the thread, %r1 its lane, %rd1 its words.
std::vector<std::uint32_t> run_statements(const std::string& statements) {
  const std::vector<std::uint32_t> all = run_all_ways(R"(.version 8.7 .target sm_90a .address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
.reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .f32 %f<8>; .reg .pred %p<4>; .shared .align 16 .b8 s[1024];
mov.u32 %r0, %tid.x; mov.u32 %r1, %laneid; ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r0, 64; add.s64 %rd1, %rd1, %rd2;
)" + statements + "st.global.b32 [%rd1], %r15; ret; }");
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < all.size(); i += kWords) out.push_back(all[i]);
  return out;
}

TEST_CASE("lanes whose registers an instruction does not look at need no value") {
  const std::vector<std::uint32_t> rows = run_statements(R"(
    shl.b32 %r2, %r0, 4; mov.u32 %r3, s; add.u32 %r2, %r2, %r3; st.shared.v4.b32 [%r2], {%r0, %r0, %r0, %r0}; bar.sync 0;
    setp.lt.u32 %p0, %r1, 8; @%p0 mov.u32 %r4, %r2;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r15}, [%r4];)");
  for (std::uint32_t i = 0; i < kThreads; ++i) CHECK(rows[i] == i / 32 * 32 + i % 32 / 4);
  // 8 of 16 products of ones; lanes 0 and 1 of four hold the metadata.
  const std::vector<std::uint32_t> sums = run_statements(R"(
    mov.u32 %r2, 0x3C003C00; mov.f32 %f0, 0f00000000; and.b32 %r3, %r1, 3; setp.lt.u32 %p0, %r3, 2;
    @%p0 mov.u32 %r4, 0x44444444;
    mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r2, %r2}, {%r2, %r2},
      {%f0, %f0, %f0, %f0}, %r4, 0x0;
    mov.b32 %r15, %f1;)");
  for (const std::uint32_t sum : sums) CHECK(sum == 0x41000000);
}

TEST_CASE("a register exclusive-or itself needs no value") {
  for (const std::uint32_t zero : run_statements("xor.b32 %r15, %r2, %r2;")) CHECK(zero == 0);
}

TEST_CASE("a product that is fused is computed for a sum that nobody needs") {
  // ptxas fuses %f2 into %f4 alone: %f3, the predicate and %f5 are needed by nobody.
  const std::vector<std::uint32_t> left = run_all_ways(R"(.version 8.7 .target sm_90a .address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
.reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .pred %p<2>;
ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 64;
add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3; ld.global.f32 %f0, [%rd4]; ld.global.f32 %f1, [%rd4+4];
mul.f32 %f2, %f0, 0f40000000; add.f32 %f3, %f2, %f1;
setp.gt.f32 %p1, %f0, %f3; mov.f32 %f5, %f1; @%p1 add.f32 %f5, %f0, %f1;
add.f32 %f4, %f2, 0f3F800000; st.global.f32 [%rd5], %f4;
@%p1 mov.u32 %r2, %r3; // no value, for nobody
ret; })");
  for (int i = 0; i < kThreads; ++i)
    CHECK(left[static_cast<std::size_t>(i * kWords)] ==
          std::bit_cast<std::uint32_t>(2.0F * static_cast<float>(i * kWords * 37 % 101 - 50) + 1));
}

TEST_CASE("kernels that read nothing before it is written leave the same bits, however they are compiled",
          "[sampled]") {
  int different = 0;
  std::vector<std::uint32_t> last;
  for (unsigned seed = 0; seed < (tries_all() ? 300 : 10); ++seed) {
    INFO("kernel " << seed);
    const std::vector<std::uint32_t> plain = run_all_ways(Writer(seed, false).module());
    CHECK(run_all_ways(Writer(seed, true).module()) == plain);
    different += plain != std::exchange(last, plain);
  }
  CHECK(different > 0);
}

}  // namespace well_defined_test
