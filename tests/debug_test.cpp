// SPDX-License-Identifier: Apache-2.0
// warpbit debug: places in a launch, forwards and back, and what is shown there. Every value is that which an observer of the launch
// sees, and memory is what the launch leaves.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "small_kernels.hpp"
#include "tool.hpp"
#include "warpbit/debug.hpp"

namespace debug_test {

using namespace warpbit;
using Catch::Contains;

// saxpy on a block of 64 threads: y = 0.5 x, where x[i] = i.
struct Saxpy {
  std::vector<float> x = std::vector<float>(64), y = std::vector<float>(64);
  ptx::Module module = *ptx::Module::load(small_kernels::kText);
  ptx::Function kernel = *module.function("saxpy");
  ptx::Launch how{.grid = {1}, .block = {64}};

  Saxpy() {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  }
  std::vector<ptx::Argument> arguments() {
    return {ptx::buffer(y), ptx::buffer(x), ptx::value(0.5F), ptx::value(60)};
  }
  Debugger debugger() { return {kernel, how, arguments()}; }

  // All that an observer of all warps sees.
  std::vector<ptx::Observation> observed() {
    std::vector<ptx::Observation> out;
    ptx::Launch watched = how;
    watched.execute.threads = 1;
    watched.observes_all_warps = true;
    watched.observe = [&](const ptx::Observation& one) {
      out.push_back(one);
      return true;
    };
    REQUIRE(kernel.launch(watched, arguments()));
    std::fill(y.begin(), y.end(), 0.0F);
    return out;
  }
};

DebugPredicate of_warp(int warp) {
  return [warp](const ptx::Observation& seen) { return seen.warp == warp; };
}

TEST_CASE("each place has the values that the launch computes") {
  Saxpy saxpy;
  const std::vector<ptx::Observation> all = saxpy.observed();
  REQUIRE(all.size() > 20);
  Debugger debugger = saxpy.debugger();
  for (std::size_t n = 1; n <= all.size(); n += 3) {
    const DebugState state = debugger.state(n);
    const ptx::Observation& expected = all[n - 1];
    REQUIRE(state.seen);
    CHECK((state.step == n && !state.is_end && !state.fault));
    CHECK((state.seen->warp == expected.warp && state.seen->line == expected.line &&
           state.seen->lanes == expected.lanes));
    for (const ptx::RegisterValues& one : expected.registers) {
      const auto found = state.warps.at(expected.warp).registers.find(one.name);
      REQUIRE(found != state.warps.at(expected.warp).registers.end());
      CHECK(found->second.values == one.values);
    }
  }
  const DebugState end = debugger.state(all.size() + 1);
  CHECK((end.is_end && !end.fault && end.step == all.size() && !end.seen));
  for (std::size_t i = 0; i < 64; ++i) CHECK(saxpy.y[i] == (i < 60 ? 0.5F * static_cast<float>(i) : 0.0F));
  debugger.restore();
  CHECK(saxpy.y == std::vector<float>(64));
}

TEST_CASE("a launch is searched forwards and back") {
  Saxpy saxpy;
  const std::vector<ptx::Observation> all = saxpy.observed();
  Debugger debugger = saxpy.debugger();
  std::vector<std::uint64_t> of_one;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].warp == 1) of_one.push_back(i + 1);
  REQUIRE(of_one.size() > 4);
  CHECK(debugger.find_next(0, of_warp(1)) == of_one[0]);
  CHECK(debugger.find_next(0, of_warp(1), 3) == of_one[2]);
  CHECK(debugger.find_next(of_one[1], of_warp(1)) == of_one[2]);
  CHECK(debugger.find_previous(of_one[3], of_warp(1)) == of_one[2]);
  CHECK_FALSE(debugger.find_previous(of_one[0], of_warp(1)));
  CHECK_FALSE(debugger.find_next(all.size(), of_warp(1)));
  CHECK_FALSE(debugger.find_previous(1, of_warp(0)));
}

TEST_CASE("memory is as it was at each place, and a fault is the end") {
  Saxpy saxpy;
  Debugger debugger = saxpy.debugger();
  const auto is_store = [](const ptx::Observation& seen) {
    return seen.statement.find("st.global") != std::string::npos;
  };
  const auto first = debugger.find_next(0, is_store);
  REQUIRE(first);
  debugger.state(*first - 1);
  CHECK(saxpy.y[5] == 0);
  debugger.state(*first);
  CHECK(saxpy.y[5] == 2.5F);
  // Of 100 elements there are 64.
  Debugger faulty(saxpy.kernel, {.grid = {2}, .block = {64}},
                  {ptx::buffer(saxpy.y), ptx::buffer(saxpy.x), ptx::value(0.5F), ptx::value(100)});
  const DebugState good = faulty.state(~std::uint64_t{0});
  CHECK(good.is_end);
  ptx::Launch second{.grid = {2}, .block = {64}};
  second.observed_block = {1, 0, 0};
  Debugger other(saxpy.kernel, second,
                 {ptx::buffer(saxpy.y), ptx::buffer(saxpy.x), ptx::value(0.5F), ptx::value(100)});
  const DebugState end = other.state(~std::uint64_t{0});
  REQUIRE(end.fault);
  CHECK(end.fault->error.code == Errc::address_out_of_bounds);
}

// What the tool prints for lines of its standard input.
std::string said(const std::string& lines, int status = 0) {
  const archive::Directory folder;
  const tool::Output out = tool::run(
      {"debug", "examples/ptx_kernel.ptx", "--entry", "gemm", "--block", "32", "--arg", "zeros:f16:16x16",
       "--arg", "zeros:f16:8x16", "--arg", "zeros:f32:16x8", "--arg", "i32:8", "--arg", "i32:16"},
      lines);
  CHECK(out.status == status);
  CHECK(out.err.empty());
  return out.out;
}

TEST_CASE("a session in the terminal") {
  CHECK_THAT(said(""), Contains("gemm: block (0, 0, 0), before the first statement"));
  const std::string at = said("break mma\ncontinue\nmatrix d\nwarps\nback\ncontinue\ncontinue\nback\n");
  CHECK_THAT(at, Contains("1: mma\n") && Contains("PTX line 114: mma.sync") && Contains("d of .f32, 16 x 8:"));
  CHECK_THAT(at,
             Contains("0 *") && Contains("PTX line 111: ld.global.u32 %r50") && Contains("the end, behind"));
  CHECK_THAT(said("break ptx_kernel.cu:34\ncontinue\nprint %r41\nregisters\n"),
             Contains("ptx_kernel.cu:34: PTX line") && Contains("%r41") && Contains("0 to 31"));
  CHECK_THAT(said("goto 61\nshared 0 2 f16\narray 2 3 1\nstored 2 9\n"),
             Contains("0x00000  0x0000 (0)") && Contains("[3]  0x00000000 (0)") &&
                 Contains("st.global.f32 [%rd18+4], %f33: block (0, 0, 0), warp 0, lane 4"));
}

TEST_CASE("what a session cannot do it says, and goes on") {
  const std::string out = said(
      "nonsense\nprint\nbreak 1\nbreak nonsense\nmatrix\nwarp 7\nshared 99999\ngoto x\nback sideways\narray 7\ndelete 3\nstep 0\n"
      "goto 5\nprint %none\n",
      2);
  for (const char* const part :
       {"'nonsense' is no command; help lists them", "a place before the first statement",
        "line 1, which has no statement", "the beginning of a statement that the kernel has",
        "warp: '7'; expected 0 to 0", "bytes of the 0x0", "goto: 'x'; expected a number, start or end",
        "back: 'sideways'", "array: '7'; expected a parameter that is an array", "delete: '3'", "step: '0'",
        "print: '%none'"})
    CHECK_THAT(out, Contains(part));
  CHECK_THAT(said("help\n"), Contains("continue c") && Contains("matrix m"));
  const tool::Output refused =
      tool::run({"debug", "examples/ptx_kernel.ptx", "--entry", "gemm", "--arg", "null"});
  CHECK(refused.status == 2);
}

}  // namespace debug_test
