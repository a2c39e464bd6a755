// SPDX-License-Identifier: Apache-2.0
// What a debugger shows of a block beside registers and shared memory, where it stops, what it changes. What is expected follows
// from the statements of these kernels, by hand.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "archive.hpp"
#include "tool.hpp"
#include "warpbit/debug.hpp"

namespace debug_block_test {

using namespace warpbit;
using Catch::Contains;

// Warp 0 initialises `full` for two arrivals, and waits at barrier 1 until warp 1 comes; warp 2 waits for phase 0. Then warp 0 expects 32
// bytes, which it copies, and arrives again: the phase is complete when they have come. y[i] = x[i % 8]. Behind barrier 0 the warp that
// came last goes on, and then the first ones: when warp 1 is at its mov, both others wait.
constexpr const char* kPhases = R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry phases(.param .u64 x, .param .u64 y)
{
  .reg .pred %p<5>; .reg .b32 %r<10>; .reg .b64 %rd<6>;
  .shared .align 8 .b64 full;
  .shared .align 16 .b32 buf[16];
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  mov.u32 %r3, full;
  mov.u32 %r4, buf;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r3], 2;
  fence.mbarrier_init.release.cluster;
READY:
  bar.sync 0;
  setp.eq.u32 %p2, %r2, 2;
  @%p2 bra WAIT;
  setp.eq.u32 %p2, %r2, 1;
  @%p2 bra THIRD;
  bar.sync 1, 64;
  @%p1 bra DONE;
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [%r3], 32;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1], 32, [%r3];
  mov.u32 %r8, 1;
  mbarrier.arrive.shared::cta.b64 %rd5, [%r3];
DONE:
  ret;
THIRD:
  mov.u32 %r5, 7;
  bar.arrive 1, 64;
  ret;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], 0;
  @!%p3 bra WAIT;
  and.b32 %r6, %r1, 7;
  shl.b32 %r6, %r6, 2;
  add.u32 %r6, %r4, %r6;
  ld.shared.u32 %r7, [%r6];
  and.b32 %r8, %r1, 31;
  mul.wide.u32 %rd3, %r8, 4;
  add.u64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r7;
  ret;
}
// Two copies of 4 bytes a lane, of which the first group is committed.
.visible .entry copies(.param .u64 x, .param .u64 y)
{
  .reg .b32 %r<10>; .reg .b64 %rd<6>;
  .shared .align 16 .b32 buf[64];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, buf;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd1, %rd1, %rd3;
  add.u64 %rd2, %rd2, %rd3;
  shl.b32 %r3, %r1, 2;
  add.u32 %r2, %r2, %r3;
  cp.async.ca.shared.global [%r2], [%rd1], 4;
  cp.async.commit_group;
  cp.async.ca.shared.global [%r2+128], [%rd1], 4;
  mov.u32 %r4, 1;
  cp.async.wait_all;
  ld.shared.u32 %r5, [%r2];
  ld.shared.u32 %r6, [%r2+128];
  add.u32 %r7, %r5, %r6;
  add.u32 %r8, %r7, %r4;
  mov.u32 %r9, 5;
  st.global.u32 [%rd2], %r8;
  ret;
}
)";

struct Launched {
  std::vector<std::uint32_t> x = std::vector<std::uint32_t>(32), y = std::vector<std::uint32_t>(32);
  ptx::Module module = *ptx::Module::load(kPhases);
  ptx::Function kernel;
  ptx::Launch how;

  Launched(const char* name, unsigned threads)
      : kernel(*module.function(name)), how{.grid = {1}, .block = {threads}} {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint32_t>(100 + i);
  }
  Debugger debugger() { return {kernel, how, {ptx::buffer(x), ptx::buffer(y)}}; }
};

DebugPredicate begins(std::string text) {
  return [text = std::move(text)](const ptx::Observation& seen) { return seen.statement.starts_with(text); };
}

DebugState state_at(Debugger& debugger, const DebugPredicate& holds) {
  const auto at = debugger.find_next(0, holds);
  REQUIRE(at);
  return debugger.state(*at);
}

// Of the kernel `phases`: full comes first, and buf behind it, aligned to 16.
constexpr std::uint64_t kFull = 0, kBuffer = 0x10;

TEST_CASE("variables of shared memory have their places") {
  const Launched launched("phases", 96);
  const auto all = launched.kernel.shared_variables();
  REQUIRE(all.size() == 2);
  CHECK((all[0].name == "full" && all[0].type == "b64" && all[0].address == kFull && all[0].bytes == 8));
  CHECK((all[1].name == "buf" && all[1].type == "b32" && all[1].address == kBuffer && all[1].bytes == 64));
}

TEST_CASE("who waits for whom, and what a barrier object has") {
  Launched launched("phases", 96);
  Debugger debugger = launched.debugger();
  CHECK(debugger.state(1).block.mbarriers.empty());
  // Warp 0 has come to barrier 1, and warp 2 to the object; warp 1 goes on.
  const ptx::BlockState waiting = state_at(debugger, begins("mov.u32 %r5, 7")).block;
  REQUIRE(waiting.waits.size() == 2);
  CHECK((waiting.waits[0].warp == 0 && waiting.waits[0].kind == ptx::Awaited::barrier &&
         waiting.waits[0].number == 1 && waiting.waits[0].statement == "bar.sync 1, 64" &&
         waiting.waits[0].lanes == 0xffff'ffff));
  CHECK(waiting.waits[0].awaits == "barrier 1: 1 of 2 warps has arrived");
  CHECK((waiting.waits[1].warp == 2 && waiting.waits[1].kind == ptx::Awaited::mbarrier &&
         waiting.waits[1].number == kFull));
  CHECK_THAT(waiting.waits[1].awaits, Contains("phase 0") && Contains("full") && Contains("0 of 2 arrivals"));
  REQUIRE(waiting.mbarriers.size() == 1);
  const ptx::MbarrierState& full = waiting.mbarriers[0];
  CHECK((full.address == kFull && full.name == "full" && full.phase == 0 && full.parity() == 0 &&
         full.expected == 2 && full.pending == 2 && full.came == 0 && full.pending_bytes == 0));
}

TEST_CASE("barriers of all threads say which warps have not come") {
  Launched launched("phases", 96);
  Debugger debugger = launched.debugger();
  const DebugState first = state_at(debugger, begins("bar.sync 0"));
  REQUIRE(first.seen);
  REQUIRE(first.block.waits.size() == 1);
  CHECK((first.block.waits[0].warp == first.seen->warp &&
         first.block.waits[0].missing == std::vector<int>{1, 2}));
}

TEST_CASE("a copy in bulk is pending until its bytes have come") {
  Launched launched("phases", 96);
  Debugger debugger = launched.debugger();
  CHECK(state_at(debugger, begins("mbarrier.arrive.expect_tx")).block.pending.empty());
  const ptx::BlockState state = state_at(debugger, begins("mov.u32 %r8, 1")).block;
  REQUIRE(state.mbarriers.size() == 1);
  CHECK((state.mbarriers[0].pending == 1 && state.mbarriers[0].pending_bytes == 32 &&
         state.mbarriers[0].came == 0));
  REQUIRE(state.pending.size() == 1);
  const ptx::PendingState& copy = state.pending[0];
  CHECK((copy.warp == 0 && copy.lanes == 1 && copy.bytes == 32));
  CHECK_THAT(copy.statement, Contains("cp.async.bulk"));
  REQUIRE((copy.from && copy.to));
  CHECK((copy.from->space == Space::global && copy.from->bytes == 32));
  CHECK_THAT(copy.from->name, Contains("bytes 0 to 31") && Contains("'x'"));
  CHECK((copy.to->space == Space::shared && copy.to->address == kBuffer && copy.to->bytes == 32 &&
         copy.to->name == "buf" && copy.to->rank == -1));
  CHECK_THAT(copy.awaited_by, Contains("the mbarrier at 0x0 (full)"));
  // Warp 2 goes on when the phase is complete.
  const ptx::BlockState done = state_at(debugger, begins("and.b32 %r6")).block;
  CHECK((done.pending.empty() && done.mbarriers[0].phase == 1 && done.mbarriers[0].parity() == 1 &&
         done.mbarriers[0].pending == 2 && done.waits.empty()));
}

TEST_CASE("copies of lanes are pending by group") {
  Launched launched("copies", 32);
  Debugger debugger = launched.debugger();
  const std::vector<ptx::PendingState> all = state_at(debugger, begins("mov.u32 %r4, 1")).block.pending;
  REQUIRE(all.size() == 2);
  CHECK((all[0].lanes == 0xffff'ffff && all[0].count == 32 && all[0].bytes == 128 &&
         all[0].awaited_by == "cp.async.wait_group 0"));
  CHECK((all[0].to && all[0].to->address == 0 && all[0].to->bytes == 128));
  CHECK((all[1].count == 32 && all[1].awaited_by.empty() && all[1].to && all[1].to->address == 0x80));
  CHECK(state_at(debugger, begins("ld.shared.u32 %r5")).block.pending.empty());
}

TEST_CASE("a launch stops where bytes are written") {
  Launched launched("phases", 96);
  Debugger debugger = launched.debugger();
  const auto bytes = std::as_bytes(std::span(launched.y));
  const auto store = debugger.find_next(0, writes_memory(bytes.subspan(20, 4)));
  REQUIRE(store);
  const DebugState state = debugger.state(*store);
  CHECK((state.seen->warp == 2 && state.seen->statement == "st.global.u32 [%rd4], %r7"));
  CHECK(launched.y[5] == 105);
  CHECK_FALSE(debugger.find_next(*store, writes_memory(bytes)));
  const auto copy = debugger.find_next(0, writes_shared(kBuffer + 28, 4));
  REQUIRE(copy);
  CHECK(debugger.state(*copy).seen->statement.starts_with("cp.async.bulk"));
  CHECK_FALSE(debugger.find_next(0, writes_shared(kBuffer + 32, 4)));  // which it does not write
  const auto x = std::as_bytes(std::span(launched.x));
  CHECK_FALSE(debugger.find_next(0, writes_memory(x)));  // the copy reads it
}

TEST_CASE("registers and memory are changed, and the launch goes on with that") {
  Launched launched("copies", 32);
  Debugger debugger = launched.debugger();
  const auto at = debugger.find_next(0, begins("add.u32 %r7"));
  REQUIRE(at);
  REQUIRE(debugger.edit({*at, DebugEdit::Register{0, 1U << 3, "%r7", 1000}}));
  CHECK(debugger.state(*at).warps.at(0).registers.at("%r7").values[3] == 1000);
  debugger.state(~std::uint64_t{0});
  CHECK((launched.y[3] == 1001 && launched.y[4] == 2 * 104 + 1));
  debugger.forget_edits();
  const auto loads = debugger.find_next(0, begins("cp.async.wait_all"));
  REQUIRE(loads);
  const std::uint32_t seven = 7;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&seven, 1));
  REQUIRE(debugger.edit({*loads, DebugEdit::Shared{4 * 4, {bytes.begin(), bytes.end()}}}));
  debugger.state(~std::uint64_t{0});
  CHECK((launched.y[3] == 2 * 103 + 1 && launched.y[4] == 7 + 104 + 1));
  debugger.forget_edits();
  // The first copy is made at once, so that a later change of x does not reach it.
  REQUIRE(debugger.edit({1, DebugEdit::Memory{std::as_writable_bytes(std::span(launched.x)).first(4),
                                              {bytes.begin(), bytes.end()}}}));
  debugger.state(~std::uint64_t{0});
  CHECK(launched.y[0] == 2 * 7 + 1);
  debugger.restore();
  CHECK(launched.x[0] == 100);
}

TEST_CASE("what cannot be changed is said") {
  Launched launched("copies", 32);
  Debugger debugger = launched.debugger();
  const auto error = [&](DebugEdit edit) {
    const Result<void> done = debugger.edit(std::move(edit));
    REQUIRE_FALSE(done);
    return done.error().message();
  };
  CHECK_THAT(error({0, DebugEdit::Register{0, 1, "%r7", 1}}), Contains("behind 0 statements"));
  CHECK_THAT(error({99999, DebugEdit::Register{0, 1, "%r7", 1}}), Contains("behind 99999 statements"));
  CHECK_THAT(error({1, DebugEdit::Register{1, 1, "%r7", 1}}), Contains("warp 1") && Contains("0 to 0"));
  CHECK_THAT(error({1, DebugEdit::Register{0, 1, "%none", 1}}), Contains("%none"));
  CHECK_THAT(error({1, DebugEdit::Shared{1 << 20, {std::byte{1}}}}), Contains("0x100000"));
  CHECK(debugger.edits().empty());
}

TEST_CASE("what made an element goes back to its loads") {
  Launched launched("copies", 32);
  Debugger debugger = launched.debugger();
  const auto element = std::as_bytes(std::span(launched.y)).subspan(4 * 9, 4);
  const auto made = debugger.made(~std::uint64_t{0}, writes_memory(element));
  REQUIRE(made);
  const std::vector<std::string> expected = {"st.global.u32 [%rd2], %r8",
                                             "add.u32 %r8, %r7, %r4",
                                             "add.u32 %r7, %r5, %r6",
                                             "ld.shared.u32 %r6, [%r2+128]",
                                             "ld.shared.u32 %r5, [%r2]",
                                             "mov.u32 %r4, 1",
                                             "cp.async.ca.shared.global [%r2+128], [%rd1], 4",
                                             "cp.async.ca.shared.global [%r2], [%rd1], 4"};
  std::vector<std::string> statements;
  for (const DebugOrigin& one : *made) {
    statements.push_back(one.statement);
    CHECK((one.warp == 0 && one.lanes == 1U << 9));
  }
  CHECK(statements == expected);
  CHECK(debugger.made(5, writes_memory(element))->empty());
}

TEST_CASE("what made an element goes through shared memory to other warps' copies") {
  Launched launched("phases", 96);
  Debugger debugger = launched.debugger();
  const auto made =
      debugger.made(~std::uint64_t{0}, writes_memory(std::as_bytes(std::span(launched.y)).first(4)));
  REQUIRE(made);
  REQUIRE(made->size() == 3);
  CHECK(((*made)[0].warp == 2 && (*made)[0].statement == "st.global.u32 [%rd4], %r7"));
  CHECK(((*made)[1].warp == 2 && (*made)[1].statement == "ld.shared.u32 %r7, [%r6]"));
  CHECK(((*made)[2].warp == 0 && (*made)[2].lanes == 1 && (*made)[2].statement.starts_with("cp.async.bulk")));
}

// ---- In the terminal

std::string said(const archive::Directory& folder, const char* name, int threads, const std::string& lines,
                 int status = 0) {
  const std::string file = (folder.path / "k.ptx").string();
  std::ofstream(file) << kPhases;
  const tool::Output out = tool::run({"debug", file, "--entry", name, "--block", std::to_string(threads),
                                      "--arg", "zeros:u32:8x4", "--arg", "zeros:u32:8x4"},
                                     lines);
  CHECK(out.status == status);
  CHECK(out.err.empty());
  return out.out;
}

TEST_CASE("a terminal shows barrier objects, waits and what is pending") {
  const archive::Directory folder;
  const std::string out = said(
      folder, "phases", 96,
      "mbarriers\nbreak mov.u32 %r5\nbreak write shared buf+0x10:4\ncontinue\nwaits\nmbarriers\npending\ncontinue\npending\nmbarriers\nshared\n");
  for (const char* const part :
       {"before the first statement, and at the end", "1: mov.u32 %r5", "2: write shared buf+0x10:4",
        "barrier 1: 1 of 2 warps", "0 of 2", "nothing is pending here", "cp.async.bulk", "shared 0x10",
        "0 of 32", "full      0x0"})
    CHECK_THAT(out, Contains(part));
}

TEST_CASE("a terminal stops at writes, changes and explains") {
  const archive::Directory folder;
  const std::string out = said(
      folder, "copies", 32,
      "break write y[2,1]\ncontinue\nmade y[2,1]\nback\nset %r8:9 77\nset\ncontinue\narray y 9 1\n"
      "set none\nset\ngoto end\narray y 9 1\nset shared buf 5\nshared buf 2x4 u16\nset y[9] 3\narray y 9 1\n");
  for (const char* const part : {"st.global.u32 [%rd2], %r8", "warp 0, lane 9", "ld.shared.u32 %r5, [%r2]",
                                 "[9]  77", "nothing is changed", "[9]  1\n", "[9]  3\n"})
    CHECK_THAT(out, Contains(part));
  const std::string refused = said(
      folder, "copies", 32,
      "break write z\nbreak write y[8,0]\nbreak write shared none\nshared none\nset\nset y\nset y[1] x\nset %r1 5\n"
      "step\nset %r1 -1\nset %r1:40 1\nset y 3\ntensor\nmade\nmade q[1]\nshared buf 1x0\n",
      2);
  for (const char* const part :
       {"break: 'z'; expected a parameter that is an array, by its name or number: x, y",
        "'y[8,0]'; expected an element of an array of shape (8, 4)", "'none'; expected the first byte",
        "a place and a value", "an integer that u32 holds", "lanes from 0 to 31", "one element, as in C[3,5]",
        "no tensor memory here", "no bytes; expected an element", "rows and columns as in 16x8"})
    CHECK_THAT(refused, Contains(part));
}

}  // namespace debug_block_test
