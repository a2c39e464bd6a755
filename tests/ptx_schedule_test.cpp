// SPDX-License-Identifier: Apache-2.0
// Other orders of a launch's threads (Launch::schedule): what they find, and that a number always means the same order.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tool.hpp"
#include "warpbit/ptx.hpp"

namespace ptx_schedule_test {

using namespace warpbit;
using Catch::Contains;

constexpr std::uint64_t kSchedules = 20;

struct Outcome {
  ptx::Report report;
  std::vector<std::uint32_t> out;
};

std::string text_of(const std::string& body) {
  return R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
  .shared .align 512 .b8 tile[512];
  .shared .align 8 .b64 bar;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
)" + body +
         "\n  ret;\n}\n";
}

Outcome run(const std::string& body, ptx::Launch how, std::uint64_t schedule) {
  const std::string text = text_of(body);
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) FAIL(module.error().message());
  Outcome outcome;
  outcome.out.resize(128);
  how.schedule = schedule;
  outcome.report = module->function("k")->launch(how, {ptx::buffer(outcome.out)});
  return outcome;
}

// Block 0 writes word 1 and sets the flag, word 0, twice; the other block waits for the flag and reads the word.
const std::string kMailbox = R"(
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra read;
  st.global.u32 [%rd1+4], 1;
  st.release.gpu.global.u32 [%rd1], 1;
  st.global.u32 [%rd1+OFFSET], 2;
  st.release.gpu.global.u32 [%rd1], 2;
  bra done;
read:
  ld.acquire.gpu.global.u32 %r3, [%rd1];
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra read;
  ld.global.u32 %r4, [%rd1+4];
  st.global.u32 [%rd1+12], %r4;
done:)";

std::string mailbox(const std::string& offset) {
  std::string out = kMailbox;
  return out.replace(out.find("OFFSET"), 6, offset);
}

TEST_CASE("a race that the usual order hides is found in another one", "[quick]") {
  const ptx::Launch how{.grid = {2}, .execute = {.threads = 1}};
  CHECK_FALSE(run(mailbox("4"), how, 0).report.fault);  // the reader finds the second flag
  std::size_t found = 0;
  for (std::uint64_t schedule = 1; schedule <= kSchedules; ++schedule) {
    const Outcome wrong = run(mailbox("4"), how, schedule);
    if (!wrong.report.fault) continue;
    ++found;
    CHECK(wrong.report.fault->rule == KernelRule::blocks_not_ordered);
    CHECK_THAT(wrong.report.fault->message(), Contains("[%rd1+4]"));
  }
  CHECK(found >= 1);
}

TEST_CASE("a right kernel has no fault in any order, and leaves the same", "[quick]") {
  for (std::uint64_t schedule = 0; schedule <= kSchedules; ++schedule) {
    INFO("schedule " << schedule);
    const Outcome right = run(mailbox("8"), {.grid = {2}}, schedule);
    CHECK_FALSE(right.report.fault);
    CHECK(right.report.findings.empty());
    CHECK(right.out[3] == 1);
  }
}

// Each thread copies a word and arrives when it is there, and reads a word that another warp has copied.
const std::string kCopies = R"(
  mov.u32 %r3, tile;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra begin;
  mbarrier.init.shared::cta.b64 [bar], COUNT;
begin:
  bar.sync 0;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd2, %rd1, %rd2;
  mad.lo.u32 %r4, %r1, 4, %r3;
  cp.async.ca.shared.global [%r4], [%rd2], 4;
  cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
  @!%p2 bra wait;
  xor.b32 %r4, %r4, 256;
  ld.shared.u32 %r5, [%r4];)";

std::string copies(const std::string& count) {
  std::string out = kCopies;
  return out.replace(out.find("COUNT"), 5, count);
}

TEST_CASE("a phase that is complete without a warp is found in other orders, too", "[quick]") {
  const ptx::Launch how{.block = {128}};
  std::size_t found = 0;
  for (std::uint64_t schedule = 1; schedule <= kSchedules; ++schedule) {
    INFO("schedule " << schedule);
    found += run(copies("96"), how, schedule).report.fault ? 1 : 0;
    const Outcome right = run(copies("128"), how, schedule);
    CHECK_FALSE(right.report.fault);
    CHECK(right.report.findings.empty());
  }
  CHECK(found >= 5);
}

// Each warp writes down the ticket that it has drawn: the order in which they came.
const std::string kTickets = R"(
  and.b32 %r3, %r1, 31;
  setp.ne.u32 %p1, %r3, 0;
  @%p1 bra done;
  atom.relaxed.gpu.global.add.u32 %r4, [%rd1], 1;
  mad.lo.u32 %r5, %r2, 128, %r1;
  shr.u32 %r5, %r5, 5;
  mul.wide.u32 %rd2, %r5, 4;
  add.u64 %rd2, %rd1, %rd2;
  st.global.u32 [%rd2+64], %r4;
done:)";

TEST_CASE("a number always means the same order, on any number of host threads", "[quick]") {
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint64_t schedule = 1; schedule <= kSchedules; ++schedule) {
    INFO("schedule " << schedule);
    const ptx::Launch how{.grid = {4}, .block = {128}};
    ptx::Launch on_two = how;
    on_two.execute.threads = 2;
    const Outcome first = run(kTickets, how, schedule), again = run(kTickets, on_two, schedule);
    CHECK_FALSE(first.report.fault);
    CHECK(first.out == again.out);
    CHECK(first.report.steps == again.report.steps);
    CHECK(std::set(first.out.begin() + 16, first.out.begin() + 32).size() == 16);
    orders.insert(first.out);
  }
  CHECK(orders.size() >= kSchedules - 1);
}

// Each of two blocks sets its word and then looks at the other one's: what both have found.
std::string flags(const std::string& store, const std::string& between, const std::string& load) {
  return R"(
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd2, %rd1, %rd2;
  xor.b32 %r3, %r2, 1;
  mov.u32 %r7, 1;
  )" + store +
         " [%rd2], %r7;\n" + between + R"(
  mul.wide.u32 %rd3, %r3, 4;
  add.u64 %rd3, %rd1, %rd3;
  )" + load +
         R"( %r4, [%rd3];
  add.u32 %r4, %r4, 10;
  st.global.u32 [%rd2+8], %r4;)";
}

TEST_CASE("a load comes before a store of its thread, unless a fence.sc stands between", "[quick]") {
  const auto found = [](const std::string& body) {
    std::set<std::vector<std::uint32_t>> out;
    for (std::uint64_t schedule = 1; schedule <= 10 * kSchedules; ++schedule) {
      const Outcome one = run(body, {.grid = {2}}, schedule);
      CHECK_FALSE(one.report.fault);
      CHECK(one.out[0] == 1);
      CHECK(one.out[1] == 1);
      out.emplace(one.out.begin() + 2, one.out.begin() + 4);
    }
    return out;
  };
  const std::set<std::vector<std::uint32_t>> in_turn = {{10, 11}, {11, 10}, {11, 11}};
  auto overtaken = in_turn;
  overtaken.insert({10, 10});
  const std::string kStore = "st.relaxed.gpu.global.u32", kLoad = "ld.relaxed.gpu.global.u32";
  CHECK(found(flags(kStore, "", kLoad)) == overtaken);
  CHECK(found(flags(kStore, "fence.acq_rel.gpu;", kLoad)) == overtaken);
  CHECK(found(flags("st.release.gpu.global.u32", "", "ld.acquire.gpu.global.u32")) == overtaken);
  CHECK(found(flags("st.volatile.global.u32", "", "ld.volatile.u32")) == overtaken);
  // The store's register has another value when the load is done.
  CHECK(found(flags(kStore, "mov.u32 %r7, 7;", kLoad)) == in_turn);
  for (const std::string fence : {"fence.sc.gpu;", "membar.gl;", "bar.sync 0;", "bar.warp.sync -1;",
                                  "atom.relaxed.gpu.global.or.b32 %r5, [%rd2+16], 1;"})
    CHECK(found(flags(kStore, fence, kLoad)) == in_turn);
  CHECK(found(flags("st.relaxed.cta.global.u32", "", "ld.relaxed.cta.global.u32")) == in_turn);
}

TEST_CASE("a load finds what its own thread has stored before", "[quick]") {
  const std::string body = R"(
  mad.wide.u32 %rd2, %r2, 4, %rd1;
  st.relaxed.gpu.global.u32 [%rd2], 5;
  ld.relaxed.gpu.global.u32 %r3, [%rd2];
  st.relaxed.gpu.global.u32 [%rd2], 6;
  ld.relaxed.gpu.global.u8 %r4, [%rd2];
  add.u32 %r3, %r3, %r4;
  st.global.u32 [%rd2+8], %r3;)";
  for (std::uint64_t schedule = 0; schedule <= kSchedules; ++schedule) {
    const Outcome one = run(body, {.grid = {2}}, schedule);
    CHECK_FALSE(one.report.fault);
    CHECK(one.report.findings.empty());
    CHECK(std::vector(one.out.begin(), one.out.begin() + 4) == std::vector<std::uint32_t>{6, 6, 11, 11});
  }
}

TEST_CASE("barriers of a block, of a warp and of a cluster hold in any order", "[quick]") {
  const std::string body = R"(
  mov.u32 %r3, tile;
  mad.lo.u32 %r3, %r1, 4, %r3;
  st.shared.u32 [%r3], %r1;
  bar.sync 0;
  xor.b32 %r4, %r1, 96;
  mov.u32 %r5, tile;
  mad.lo.u32 %r4, %r4, 4, %r5;
  ld.shared.u32 %r6, [%r4];
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  mapa.shared::cluster.u32 %r4, %r4, 1;
  ld.shared::cluster.u32 %r7, [%r4];
  sub.u32 %r6, %r6, %r7;
  red.relaxed.gpu.global.or.b32 [%rd1], %r6;
  red.relaxed.gpu.global.add.u32 [%rd1+4], %r7;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;)";
  for (std::uint64_t schedule = 0; schedule <= kSchedules; ++schedule) {
    INFO("schedule " << schedule);
    const Outcome right = run(body, {.grid = {4}, .block = {128}, .cluster = Dim3{2}}, schedule);
    if (right.report.fault) FAIL(right.report.fault->message());
    CHECK(right.out[0] == 0);
    CHECK(right.out[1] == 4 * 127 * 128 / 2);
  }
}

TEST_CASE("who waits for ever, and who takes too many steps, is told in any order", "[quick]") {
  const std::string waits = R"(
  st.shared.u32 [tile], 0;
  bar.sync 0;
again:
  ld.volatile.shared.u32 %r3, [tile];
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra again;)";
  const std::string divides = R"(
  setp.lt.u32 %p1, %r1, 32;
  @%p1 bar.sync 1, 64;)";
  const std::string counts = R"(
  mov.u32 %r3, 0;
again:
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, 10000;
  @%p1 bra again;)";
  for (std::uint64_t schedule = 1; schedule <= 5; ++schedule) {
    INFO("schedule " << schedule);
    const ptx::Launch how{.grid = {3}, .block = {64}};
    const Outcome endless = run(waits, how, schedule);
    REQUIRE(endless.report.fault);
    CHECK(endless.report.fault->error.code == Errc::threads_diverge);
    const Outcome divided = run(divides, how, schedule);
    REQUIRE(divided.report.fault);
    CHECK(divided.report.fault->error.code == Errc::deadlock);
    ptx::Launch limited = how;
    limited.step_limit = 500;
    const Outcome stopped = run(counts, limited, schedule);
    REQUIRE(stopped.report.fault);
    CHECK(stopped.report.fault->error.code == Errc::step_limit);
  }
}

// More blocks than run side by side, which all wait for the last one.
TEST_CASE("blocks that wait for all others get them", "[quick]") {
  const std::string body = R"(
  red.relaxed.gpu.global.add.u32 [%rd1], 1;
again:
  ld.relaxed.gpu.global.u32 %r3, [%rd1];
  setp.lt.u32 %p2, %r3, 200;
  @%p2 bra again;)";
  for (std::uint64_t schedule = 1; schedule <= 3; ++schedule) {
    const Outcome all = run(body, {.grid = {200}}, schedule);
    CHECK_FALSE(all.report.fault);
    CHECK(all.report.blocks == 200);
    CHECK(all.out[0] == 200);
  }
}

// ---- The tool

tool::Output launch(const tool::Directory& in, const std::string& body, std::vector<std::string> more = {}) {
  const std::string file = tool::write(in.path / "k.ptx", text_of(body));
  more.insert(more.begin(), {"launch", file, "--grid", "2", "--threads", "1", "--arg", "zeros:u32:64"});
  return tool::run(more);
}

TEST_CASE("launch tries other orders where it depends on them", "[quick][cli]") {
  const tool::Directory in;
  const tool::Output found = launch(in, mailbox("4"));
  CHECK(found.status == 1);
  CHECK_THAT(
      found.out,
      Contains("checked 0 shared and ") &&
          Contains(
              "found by --schedule 5, another order of the threads; in the usual order nothing is found\n"));
  const tool::Output again = launch(in, mailbox("4"), {"--schedule", "5"});
  CHECK(again.status == 1);
  CHECK(found.out ==
        again.out +
            "found by --schedule 5, another order of the threads; in the usual order nothing is found\n");
  const tool::Output none = launch(in, mailbox("4"), {"--schedules", "0"});
  CHECK(none.status == 0);
  CHECK_THAT(none.out, Catch::EndsWith("nothing found\n"));
  const nlohmann::json told = nlohmann::json::parse(launch(in, mailbox("4"), {"--json"}).out);
  CHECK(told["schedules"] ==
        nlohmann::json{{"tried", 5}, {"found_by", 5}, {"other_bytes", nlohmann::json::array()}});
  CHECK(told["fault"]["rule"] == "blocks_not_ordered");
}

TEST_CASE("launch says how many orders it has tried, and whether one leaves other bytes", "[quick][cli]") {
  const tool::Directory in;
  CHECK_THAT(launch(in, mailbox("8")).out,
             Catch::EndsWith("\n50 other orders of the threads: nothing found, the same bytes\n"));
  CHECK_THAT(launch(in, mailbox("8"), {"--schedules", "1"}).out,
             Catch::EndsWith("\n1 other order of the threads: nothing found, the same bytes\n"));
  CHECK_THAT(launch(in, kTickets, {"--block", "64"}).out,
             Catch::Matches(
                 "[^]*\n50 other orders of the threads: nothing found, other bytes \\(--schedule [0-9]+: array "
                 "1 from byte [0-9]+ on\\)\n"));
  // What the usual order tells, and what depends on no order, is not tried; nor is a launch that names its order.
  for (const auto& [body, more] : {std::pair<std::string, std::vector<std::string>>{"trap;", {}},
                                   {"st.global.u32 [%rd1], 1;", {}},
                                   {mailbox("8"), {"--schedule", "3"}}})
    CHECK_THAT(launch(in, body, more).out, !Contains("of the threads:"));
}

}  // namespace ptx_schedule_test
