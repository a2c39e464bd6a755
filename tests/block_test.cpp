// SPDX-License-Identifier: Apache-2.0
// The state of a block, by thread numbers alone: here nobody runs threads.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "block/meeting.hpp"
#include "block/products.hpp"
#include "warpbit/instruction.hpp"

namespace block_test {

using namespace warpbit;
using namespace warpbit::block;
using Catch::Matchers::Contains;

/// Lines of an imagined source.
Who thread(int number, unsigned line) {
  return {number, {"kernel.ptx", line}};
}

Found store(Shared& shared, Who who, std::int64_t at, std::uint32_t value = 1) {
  return shared.store("st.shared.u32", shared.view(at), std::as_bytes(std::span(&value, 1)), 4, who);
}

struct Loaded {
  Found fault;
  std::uint32_t value;
};
Loaded load(Shared& shared, Who who, std::int64_t at) {
  Loaded out{};
  out.fault =
      shared.load("ld.shared.u32", shared.view(at), std::as_writable_bytes(std::span(&out.value, 1)), 4, who);
  return out;
}

void check_fault(const Found& found, Errc code, Who who, std::int64_t byte) {
  REQUIRE(found);
  INFO(found->message());
  CHECK(found->error.code == code);
  CHECK(found->warp == who.thread / 32);
  CHECK(found->lanes == std::vector{who.thread % 32});
  CHECK(found->at == who.at);
  REQUIRE(found->address);
  CHECK(found->address->byte == byte);
}

TEST_CASE("threads race on a word unless a barrier orders them", "[quick][block]") {
  Shared shared(64, 64);
  REQUIRE_FALSE(store(shared, thread(3, 1), 8, 7));
  SECTION("without") {
    const Found race = load(shared, thread(40, 2), 8).fault;
    check_fault(race, Errc::data_race, thread(40, 2), 8);
    REQUIRE(race->other);
    CHECK(race->other->warp == 0);
    CHECK(race->other->lanes == std::vector{3});
    CHECK(race->other->at == thread(3, 1).at);
    CHECK(race->error.where == "ld.shared.u32");
    CHECK(
        race->message() ==
        "ld.shared.u32: byte 0x8 was written by lane 3 of warp 0, and no barrier came between; a __syncthreads must "
        "order them\n  block (0, 0, 0), shared address 0x8\n  kernel.ptx:2: warp 1, lane 8\n  kernel.ptx:1: "
        "warp 0, lane 3");
  }
  SECTION("a barrier") {
    shared.barrier();
    CHECK(load(shared, thread(40, 2), 8).value == 7);
    check_fault(store(shared, thread(3, 3), 8), Errc::data_race, thread(3, 3), 8);  // after the other's read
  }
  SECTION("one of a warp") {
    shared.sync_warp(0, 0b11000);
    CHECK_FALSE(load(shared, thread(4, 2), 8).fault);
    CHECK(load(shared, thread(5, 2), 8).fault);
  }
  SECTION("the same thread") {
    CHECK_FALSE(store(shared, thread(3, 2), 8));
  }
}

TEST_CASE("accesses beyond an array, beside it or too early", "[quick][block]") {
  Shared shared(32, 64);
  check_fault(store(shared, thread(1, 4), 64), Errc::address_out_of_bounds, thread(1, 4), 64);
  check_fault(store(shared, thread(1, 4), -4), Errc::address_out_of_bounds, thread(1, 4), -4);
  check_fault(store(shared, thread(1, 4), 6), Errc::address_misaligned, thread(1, 4), 6);
  check_fault(load(shared, thread(1, 4), 0).fault, Errc::never_written, thread(1, 4), 0);
}

TEST_CASE("a copy arrives when its thread waits for it", "[quick][block]") {
  Shared shared(32, 64);
  std::array<std::byte, 16> bytes{};
  bytes[4] = std::byte{9};
  const auto copy = [&](std::int64_t to, unsigned line) {
    return shared.copy_async("cp.async", shared.view(to), bytes, 16, thread(0, line));
  };
  REQUIRE_FALSE(copy(0, 1));
  Found early = load(shared, thread(0, 2), 4).fault;
  check_fault(early, Errc::copy_pending, thread(0, 2), 4);
  CHECK_THAT(early->error.seen, Contains("by a cp.async of this thread, in no group yet"));
  shared.commit_group(0);
  REQUIRE_FALSE(copy(16, 3));
  shared.commit_group(0);
  early = load(shared, thread(0, 4), 4).fault;
  check_fault(early, Errc::copy_pending, thread(0, 4), 4);
  CHECK_THAT(early->error.accepted, Contains("must execute cp.async.wait_group 1 before"));
  shared.wait_group(0, 1);
  CHECK(load(shared, thread(0, 5), 4).value == 9);
  check_fault(load(shared, thread(0, 6), 20).fault, Errc::copy_pending, thread(0, 6), 20);
  shared.wait_group(0, 0);
  CHECK(load(shared, thread(0, 7), 20).value == 9);
  CHECK(load(shared, thread(1, 8), 20).fault->error.code == Errc::data_race);
}

TEST_CASE("products read shared memory until a wait", "[quick][block]") {
  const Target target = *Target::find("sm_90a");
  const auto parsed = [&](const char* statement) { return *Instruction::parse(statement, target); };
  const Instruction product =
      parsed("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, a_desc, b_desc, p, 1, 1, 0, 0;");
  const Instruction fence = parsed("wgmma.fence.sync.aligned"),
                    commit = parsed("wgmma.commit_group.sync.aligned"),
                    wait = parsed("wgmma.wait_group.sync.aligned 0;");
  Shared shared(128, 64);
  Products products(128, shared, [](int, int reg) { return "%f" + std::to_string(reg); });
  products.group(0).reserve(4);
  Effects effects;
  effects.memory_reads = {{Effects::kEveryLane, Space::shared, 0, 32}};
  effects.deferred = AsyncUse{{64, 8, 16}, {0, 1, 2, 3}, {}};
  const auto issue = [&](unsigned line) { return products.issue(0, product, effects, thread(0, line).at); };
  for (int i = 0; i < 8; ++i) REQUIRE_FALSE(store(shared, thread(i, 1), 4 * i));
  CHECK(issue(2)->error.code == Errc::data_race);
  shared.barrier();
  const Found unfenced = issue(3);
  REQUIRE(unfenced);
  CHECK(unfenced->error.code == Errc::protocol_violation);
  CHECK(unfenced->warps == 4);
  products.control(0, fence);
  CHECK_THAT(issue(4)->message(), Contains("proxy"));  // written through the generic proxy
  for (int warp = 0; warp < 4; ++warp) shared.fence_proxy(warp, 0xFFFF'FFFF);
  shared.barrier();
  REQUIRE_FALSE(issue(5));
  products.control(0, commit);
  check_fault(store(shared, thread(70, 6), 8), Errc::protocol_violation, thread(70, 6), 8);
  Effects read;
  read.reads = {2};
  const Found touched = products.access("read", read, thread(9, 7));
  REQUIRE(touched);
  CHECK_THAT(touched->error.seen, Contains("%f2"));
  CHECK(touched->other->warps == 4);
  CHECK(touched->other->at == thread(0, 5).at);
  CHECK(products.release("end of %f", 3, 1, thread(9, 8)));
  products.control(0, wait);
  CHECK_FALSE(products.access("read", read, thread(9, 9)));
  shared.barrier();
  CHECK_FALSE(store(shared, thread(70, 10), 8));
}

Request request(Request::Kind kind, std::string_view name, unsigned line, std::uint32_t mask = 0) {
  Request out{kind, name, thread(0, line).at};
  out.mask = mask;
  return out;
}

TEST_CASE("threads meet, or it is known why not", "[quick][block]") {
  Shared shared(64, 64);
  std::vector<int> executed;
  Meeting meeting(64, shared, [&](int first) {
    executed.push_back(first);
    return Found();
  });
  std::vector<Request> requests(64, request(Request::Kind::barrier, "bar.sync", 1));
  const auto wait = [&](int first, int last, const Request& what) {
    for (int i = first; i < last; ++i) meeting.wait(i, requests[static_cast<std::size_t>(i)] = what);
  };
  const Request bar = request(Request::Kind::barrier, "bar.sync", 1);
  SECTION("at a barrier") {
    REQUIRE_FALSE(store(shared, thread(0, 1), 0));
    wait(0, 64, bar);
    CHECK_FALSE(meeting.any_can_run());
    CHECK_FALSE((meeting.meet(0) || meeting.meet(1)));
    CHECK(meeting.pass_barrier());
    CHECK((meeting.can_run(0) && meeting.can_run(63)));
    CHECK_FALSE(load(shared, thread(63, 2), 0).fault);
  }
  SECTION("not at two barriers") {
    wait(0, 32, bar);
    wait(32, 64, request(Request::Kind::barrier, "bar.sync", 2));
    CHECK_FALSE((meeting.meet(0) || meeting.meet(1)));
    CHECK_FALSE(meeting.pass_barrier());
    REQUIRE(meeting.fault());
    CHECK(meeting.fault()->error.code == Errc::threads_diverge);
    CHECK(meeting.fault()->at == thread(0, 2).at);
  }
  SECTION("in a vote") {
    Request yes = request(Request::Kind::vote, "vote.sync", 3, 0b1111);
    wait(0, 4, yes);
    requests[2].value = 1;
    wait(4, 32, bar);
    CHECK(meeting.meet(0));
    CHECK(meeting.can_run(3));
    CHECK_FALSE(meeting.can_run(4));
    CHECK(requests[0].value == 0b0100);
  }
  SECTION("for an instruction") {
    const Request mma = request(Request::Kind::instruction, "mma.sync", 4);
    wait(32, 64, mma);
    CHECK(meeting.meet(1));
    CHECK(executed == std::vector{32});
    CHECK(meeting.can_run(32));
  }
  SECTION("not without a lane") {
    wait(0, 31, request(Request::Kind::instruction, "mma.sync", 4));
    meeting.is_at(31, thread(31, 5).at);
    meeting.end(31);
    CHECK_FALSE(meeting.meet(0));
    REQUIRE(meeting.fault());
    CHECK(meeting.fault()->error.code == Errc::lanes_missing);
    CHECK(meeting.fault()->lanes == std::vector{31});
    CHECK(meeting.fault()->other->at == thread(31, 5).at);
    CHECK(executed.empty());
  }
}

}  // namespace block_test
