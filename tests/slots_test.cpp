// SPDX-License-Identifier: Apache-2.0
// Registers that share slots: each read of a step finds the register that it names, on every way.
#include "grid/slots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "grid/compile.hpp"
#include "grid/written.hpp"
#include "in_turn.hpp"
#include "recorded_launch.hpp"
#include "text_file.hpp"
#include "warpbit/ptx.hpp"

namespace slots_test {

using namespace warpbit;
using namespace warpbit::grid;
using grid::Place, grid::Step;
namespace fs = std::filesystem;

// One kernel: p points to 32 words or more, %r0 is the thread.
std::string kernel_of(const std::string& statements, int registers = 16) {
  return fmt::format(R"(.version 8.7 .target sm_90a .address_size 64
.visible .entry k(.param .u64 p) {{
.reg .pred %p<8>; .reg .b16 %h<16>; .reg .b32 %r<{}>; .reg .b64 %rd<16>;
mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [p]; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1;
{}
ret; }})",
                     registers, statements);
}

Program program_of(const std::shared_ptr<const ptx::ModuleText>& module, std::string_view entry,
                   const CompileOptions& options) {
  Addresses addresses;
  const auto place = [&](const ptx::Variable& variable) {
    addresses.emplace_back(&variable, (addresses.size() + 1) << 24);
  };
  for (const ptx::Variable& variable : module->variables) place(variable);
  for (const ptx::FunctionText& function : module->functions)
    for (const ptx::Variable& variable : function.variables) place(variable);
  Result<Program> out = compile(module, entry, *Target::find("sm_90a"), addresses, options);
  INFO((out ? "" : out.error().message()));
  REQUIRE(out);
  return *std::move(out);
}

int slots_of(const std::string& statements, bool shares, int registers = 16) {
  const auto module = ptx::parse_module(kernel_of(statements, registers));
  INFO((module ? "" : module.error().message()));
  REQUIRE(module);
  return program_of(*module, "k", {.shares_slots = shares}).functions[0].slots;
}

struct Left {
  std::vector<std::uint32_t> words;
  std::optional<Fault> fault;
};
Left run(const std::string& statements, int registers = 16, bool observes = false) {
  const Result<ptx::Module> module =
      ptx::Module::load(kernel_of(statements, registers), *Target::find("sm_90a"));
  INFO((module ? "" : module.error().message()));
  REQUIRE(module);
  const Result<ptx::Function> function = module->function("k");
  INFO((function ? "" : function.error().message()));
  REQUIRE(function);
  Left out{std::vector<std::uint32_t>(64), {}};
  ptx::Launch how{.block = {32}};
  if (observes) how.observe = [](const ptx::Observation&) { return true; };
  out.fault = function->launch(how, {ptx::buffer(out.words)}).fault;
  return out;
}

// ---- How many

TEST_CASE("a kernel of many registers has slots for those that are live at once") {
  constexpr int kRegisters = 3000;
  std::string chain;
  for (int i = 1; i + 1 < kRegisters; ++i) chain += fmt::format("add.u32 %r{}, %r{}, {};\n", i, i - 1, i);
  chain += fmt::format("st.global.u32 [%rd0], %r{};", kRegisters - 2);
  CHECK(slots_of(chain, false, kRegisters) >= kRegisters);
  // %r0 and the sums one after another in one, %rd0 and %rd1 in two of two each.
  CHECK(slots_of(chain, true, kRegisters) <= 1 + 4);
  const Left left = run(chain, kRegisters);
  CHECK_FALSE(left.fault);
  const std::uint32_t sum = (kRegisters - 2) * (kRegisters - 1) / 2;
  for (std::uint32_t lane = 0; lane < 32; ++lane) CHECK(left.words[lane] == sum + lane);
}

TEST_CASE("registers that are live at once lie apart") {
  // %r0 to %r9 and the address: ten slots, and two of two.
  std::string all, sums = "mov.u32 %r15, 0;\n";
  for (int i = 1; i < 10; ++i) all += fmt::format("mul.lo.u32 %r{}, %r0, {};\n", i, i * i);
  for (int i = 0; i < 10; ++i) sums += fmt::format("add.u32 %r15, %r15, %r{};\n", i);
  all += sums + "st.global.u32 [%rd0], %r15;";
  CHECK(slots_of(all, true) == 11 + 4);
  const Left left = run(all);
  CHECK_FALSE(left.fault);
  for (std::uint32_t lane = 0; lane < 32; ++lane) CHECK(left.words[lane] == lane * (1 + 285));
}

TEST_CASE("registers of 16, 32 and 64 bits share slots with their like") {
  const std::string text =
      "cvt.u16.u32 %h0, %r0; mov.b32 %r1, {%h0, %h0}; mov.b32 {%h1, %h2}, %r1; add.u16 %h3, %h1, %h2;"
      " cvt.u32.u16 %r2, %h3; cvt.u64.u32 %rd2, %r2; shl.b64 %rd3, %rd2, 33; mov.b64 {%r3, %r4}, %rd3;"
      " add.u32 %r5, %r3, %r4; st.global.u32 [%rd0], %r5;";
  // Live at once: %h1 and %h2; %r3 and %r4; %rd0 and one more.
  CHECK(slots_of(text, true) == 2 + 2 + 2 * 2);
  const Left left = run(text);
  CHECK_FALSE(left.fault);
  for (std::uint32_t lane = 0; lane < 32; ++lane) CHECK(left.words[lane] == 4 * lane);
}

// ---- Lanes that go different ways

TEST_CASE("lanes keep their registers while others go another way") {
  // %r1 lives over the branch in all lanes; %r2 and %r3 on one side each.
  const Left left = run(R"(
    add.u32 %r1, %r0, 100; setp.lt.u32 %p0, %r0, 16; @%p0 bra LOW;
    mul.lo.u32 %r2, %r0, 3; add.u32 %r4, %r2, 1; bra JOIN;
    LOW: mul.lo.u32 %r3, %r0, 5; add.u32 %r4, %r3, 2;
    JOIN: add.u32 %r5, %r4, %r1; st.global.u32 [%rd0], %r5;)");
  CHECK_FALSE(left.fault);
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    CHECK(left.words[lane] == lane + 100 + (lane < 16 ? 5 * lane + 2 : 3 * lane + 1));
}

TEST_CASE("a write with a guard keeps the register of the other lanes") {
  const Left left = run(R"(
    mov.u32 %r1, 7; setp.lt.u32 %p0, %r0, 5; add.u32 %r2, %r0, 50; add.u32 %r3, %r2, %r2;
    @%p0 mov.u32 %r1, %r3; add.u32 %r4, %r1, 1; st.global.u32 [%rd0], %r4;)");
  CHECK_FALSE(left.fault);
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    CHECK(left.words[lane] == (lane < 5 ? 2 * (lane + 50) + 1 : 8));
}

TEST_CASE("a register lives around a loop") {
  // %r1 is read at the top before the text writes it again below; %r4 and %r5 come and go.
  const Left left = run(R"(
    mov.u32 %r1, 1; mov.u32 %r2, 0;
    TOP: add.u32 %r4, %r1, %r0; add.u32 %r5, %r4, 1; add.u32 %r2, %r2, 1; mov.u32 %r6, %r5; mov.u32 %r1, %r6;
    setp.lt.u32 %p0, %r2, 10; @%p0 bra TOP;
    st.global.u32 [%rd0], %r1;)");
  CHECK_FALSE(left.fault);
  for (std::uint32_t lane = 0; lane < 32; ++lane) CHECK(left.words[lane] == 1 + 10 * (lane + 1));
}

TEST_CASE("lanes that wait for a shuffle have their registers") {
  const Left left = run(R"(
    add.u32 %r1, %r0, 1000; setp.lt.u32 %p0, %r0, 16; @%p0 bra LOW;
    mul.lo.u32 %r2, %r0, 3; add.u32 %r3, %r2, 1; add.u32 %r1, %r1, %r3;
    LOW: shfl.sync.idx.b32 %r4, %r1, 31, 31, -1; add.u32 %r5, %r4, %r0; st.global.u32 [%rd0], %r5;)");
  CHECK_FALSE(left.fault);
  for (std::uint32_t lane = 0; lane < 32; ++lane) CHECK(left.words[lane] == 1031 + 94 + lane);
}

// ---- Registers without a value

struct Missing {
  std::string what, name, lanes, statements;
};
const std::vector<Missing> kMissing = {
    {"never written, where others were before", "%r9", "lanes 0-31",
     "add.u32 %r1, %r0, 1; add.u32 %r2, %r1, 1; add.u32 %r3, %r2, 1; st.global.u32 [%rd0], %r3;"
     " st.global.u32 [%rd0], %r9;"},
    {"never written, where others come later", "%r9", "lanes 0-31",
     "st.global.u32 [%rd0], %r9; add.u32 %r1, %r0, 1; add.u32 %r2, %r0, %r1; st.global.u32 [%rd0], %r2;"},
    {"written by some lanes", "%r9", "lanes 16-31",
     "setp.lt.u32 %p1, %r0, 16; add.u32 %r1, %r0, 1; add.u32 %r2, %r1, 1; @%p1 mov.u32 %r9, %r2;"
     " add.u32 %r3, %r0, 3; add.u32 %r4, %r3, 1; st.global.u32 [%rd0], %r4; st.global.u32 [%rd0], %r9;"},
    {"written on one way", "%r9", "lanes 8-31",
     "setp.ge.u32 %p1, %r0, 8; add.u32 %r1, %r0, 1; @%p1 bra OVER; mov.u32 %r9, %r1;"
     " OVER: add.u32 %r3, %r0, 3; st.global.u32 [%rd0], %r3; st.global.u32 [%rd0], %r9;"},
    {"written at the end of a loop", "%r9", "lanes 0-31",
     "mov.u32 %r2, 0; TOP: add.u32 %r3, %r2, 5; st.global.u32 [%rd0], %r3; st.global.u32 [%rd0], %r9;"
     " mov.u32 %r9, %r3; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 3; @%p1 bra TOP;"},
    {"a sum with it, where others were before", "%r9", "lanes 0-31",
     "add.u32 %r1, %r0, 1; st.global.u32 [%rd0], %r1; add.u32 %r4, %r9, 1; st.global.u32 [%rd0], %r4;"},
    {"a sum with a carry of no sum", "a carry", "lanes 0-31",
     "addc.u32 %r1, %r0, %r0; st.global.u32 [%rd0], %r1;"},
    {"an address", "%rd9", "lanes 0-31",
     "add.u64 %rd2, %rd0, 0; st.global.u32 [%rd2], %r0; st.global.u32 [%rd9], %r0;"},
};

TEST_CASE("who reads a register that was never written is told, and then what uses what came of it") {
  const Left left = run(
      "add.u32 %r1, %r0, 1; add.u32 %r4, %r9, %r1; shl.b32 %r5, %r4, 2; st.global.u32 [%rd0], %r5;", 16, false);
  REQUIRE(left.fault);
  CHECK_THAT(left.fault->message(),
             Catch::StartsWith("add.u32 %r4, %r9, %r1: %r9 has never been written, and %r5 at PTX line "));
  REQUIRE(left.fault->other);
  CHECK(left.fault->other->what == "uses %r5");
  CHECK(left.fault->other->ptx_line >= left.fault->ptx_line);
}

TEST_CASE("a register that was never written is a fault, whatever lay in its slot") {
  for (const Missing& one : kMissing)
    for (const bool observes : {false, true}) {
      INFO(one.what);
      const Left left = run(one.statements, 16, observes);
      REQUIRE(left.fault);
      CHECK(left.fault->error.code == Errc::never_written);
      CHECK_THAT(left.fault->error.seen, Catch::StartsWith(one.name + " has never been written"));
      CHECK_THAT(left.fault->message(), Catch::Contains(one.lanes));
    }
}

// ---- Kernels of compilers

/// What may lie in a slot.
struct Owner {
  int reg = kNone;    ///< by the slot that it has where none is shared
  bool first = true;  ///< or what lay there when the call began
  static constexpr int kNone = -1, kSeveral = -2;
  bool operator==(const Owner&) const = default;
  Owner with(const Owner& other) const {
    return {reg == kNone                             ? other.reg
            : other.reg == kNone || reg == other.reg ? reg
                                                     : kSeveral,
            first || other.first};
  }
};

/// One function of a program whose registers have slots of their own, and of the one in which they share them.
class Follower {
 public:
  Follower(const Program& apart, const Program& shared, std::size_t function)
      : apart_(apart), shared_(shared), first_(shared.functions[function].first_step) {
    const std::size_t next = function + 1;
    last_ = next < shared.functions.size() ? shared.functions[next].first_step
                                           : static_cast<int>(shared.steps.size());
    in_.resize(static_cast<std::size_t>(last_ - first_));
    reach(first_, std::vector<Owner>(static_cast<std::size_t>(shared.functions[function].slots)));
    while (!next_.empty()) {
      const int step = *next_.begin();
      next_.erase(next_.begin());
      follow(step);
    }
  }
  int reads() const { return reads_; }
  const std::string& wrong() const { return wrong_; }

 private:
  using Owners = std::vector<Owner>;
  Owners& in(int step) { return in_[static_cast<std::size_t>(step - first_)]; }
  void reach(int step, const Owners& owners) {
    if (step >= last_) return;
    Owners& known = in(step);
    Owners joined = known.empty() ? owners : known;
    if (!known.empty())
      std::ranges::transform(known, owners, joined.begin(),
                             [](const Owner& a, const Owner& b) { return a.with(b); });
    if (joined == known) return;
    known = std::move(joined);
    next_.insert(step);
  }

  void follow(int i) {
    const Step &apart = apart_.steps[static_cast<std::size_t>(i)],
               &shared = shared_.steps[static_cast<std::size_t>(i)];
    std::vector<std::pair<Place, Use>> names;
    for_each_use(apart_, apart, [&](const Place& place, Use use) { names.emplace_back(place, use); });
    std::size_t k = 0;
    Owners owners = in(i);
    for_each_use(shared_, shared, [&](const Place& place, Use use) {
      const auto& [name, same] = names.at(k++);
      if (use != same || place.kind != name.kind) wrong_ += fmt::format("step {}: other uses\n", i);
      if (place.kind != Place::Kind::reg) return;
      Owner& owner = owners.at(place.slot);
      const int reg = static_cast<int>(name.slot);
      if (use == Use::result)
        owner = shared.guard < 0 ? Owner{reg, false} : owner.with({reg, false});
      else if (++reads_; owner.reg != reg && owner != Owner{})
        wrong_ +=
            fmt::format("step {}: slot {} may hold register {} instead of {}\n", i, place.slot, owner.reg, reg);
    });
    if (k != names.size()) wrong_ += fmt::format("step {}: other uses\n", i);
    const ptx::Does what = does(shared_, shared);
    if (what == ptx::Does::branch) reach(shared.target, owners);
    if (what == ptx::Does::branch_indexed)
      for (const int target : shared_.tables.at(static_cast<std::size_t>(shared.extra))) reach(target, owners);
    if (ptx::goes_on(what) || shared.guard >= 0) reach(i + 1, owners);
  }

  const Program &apart_, &shared_;
  int first_, last_;
  std::vector<Owners> in_;  // by step; empty: not reached yet
  std::set<int> next_;
  int reads_ = 0;
  std::string wrong_;
};

// Places that no step is said to use.
int unused(const Program& program) {
  std::set<const Place*> used;
  for (const Step& step : program.steps)
    for_each_use(program, step, [&](const Place& place, Use) { used.insert(&place); });
  int out = 0;
  const auto count = [&](const Place& place) {
    out += place.kind == Place::Kind::reg && !used.contains(&place);
  };
  for (const Step& step : program.steps) std::ranges::for_each(step.place, count);
  for (const std::vector<Place>& places : program.places) std::ranges::for_each(places, count);
  return out;
}

TEST_CASE("each read of a compiler's kernel finds its register on every way", "[sampled]") {
  std::map<fs::path, std::string> texts;
  for (const char* const file :
       {"golden/kernels/sm_90a.ptx.gz", "bench/kernels/kernels.ptx", "bench/kernels/hopper.ptx"})
    texts.emplace(file, text_file::text_of(file));
  for (const fs::path& file : recorded_launch::recordings())
    texts.emplace(file, recorded_launch::GoldenLaunch(file).text());
  int reads = 0, kernels = 0, before = 0, after = 0;
  std::size_t turn = 0;
  for (const auto& [file, text] : texts) {
    const auto module = ptx::parse_module(text);
    REQUIRE(module);
    for (const ptx::FunctionText& function : (*module)->functions) {
      if (!function.is_entry || !function.has_body || !has_turn(turn++, 0, 3)) continue;
      INFO(file.string() << ": " << function.name);
      const Program apart = program_of(*module, function.name, {.shares_slots = false});
      const Program shared = program_of(*module, function.name, {});
      REQUIRE(apart.steps.size() == shared.steps.size());
      CHECK(unused(shared) == 0);
      ++kernels;
      for (std::size_t i = 0; i < shared.functions.size(); ++i) {
        const Follower follower(apart, shared, i);
        CHECK(follower.wrong() == "");
        CHECK(shared.functions[i].unwritten.size() == apart.functions[i].unwritten.size());
        reads += follower.reads();
        CHECK(shared.functions[i].slots <= apart.functions[i].slots);
        if (!shared.shares_slots) continue;  // it has asynchronous products
        before += apart.functions[i].slots;
        after += shared.functions[i].slots;
      }
    }
  }
  CHECK(kernels > (tries_all() ? 60 : 20));
  CHECK(reads > (tries_all() ? 50'000 : 10'000));
  CHECK(after < before / 5);
}

}  // namespace slots_test
