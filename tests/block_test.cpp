// SPDX-License-Identifier: Apache-2.0
// The state of a block, by thread numbers alone: here nobody runs threads.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
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
        "ld.shared.u32: bytes 0x8 to 0xb were written by lane 3 of warp 0, and no barrier came between that "
        "write and this read; a __syncthreads must "
        "come between them\n  block (0, 0, 0), shared address 0x8\n  kernel.ptx:2: warp 1, lane 8\n  kernel.ptx:1: "
        "warp 0, lane 3: writes bytes 0x8 to 0xb");
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
  CHECK_THAT(
      early->error.seen,
      Contains("the destination of a cp.async of this thread that is not complete (it is in no group yet)"));
  shared.commit_group(0);
  REQUIRE_FALSE(copy(16, 3));
  shared.commit_group(0);
  early = load(shared, thread(0, 4), 4).fault;
  check_fault(early, Errc::copy_pending, thread(0, 4), 4);
  CHECK_THAT(early->error.accepted, Contains("must execute cp.async.wait_group 1 before this statement"));
  shared.wait_group(0, 1, {});
  CHECK(load(shared, thread(0, 5), 4).value == 9);
  check_fault(load(shared, thread(0, 6), 20).fault, Errc::copy_pending, thread(0, 6), 20);
  shared.wait_group(0, 0, {});
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

/// Two records of the same accesses: in one, copies write tiles and products read them at once, where that is possible; in
/// the other each is by itself.
struct Twins {
  static constexpr int kThreads = 160, kGroup = 128, kTile = 1024, kTiles = 4;
  using Conflict = std::optional<Accesses::Conflict>;
  Accesses at_once{kTile * kTiles}, alone{kTile * kTiles};
  Order order{kThreads};
  int copier = order.add_agent(), products = order.add_pair();
  std::uint32_t phase = 0, issued = 0;
  std::array<std::uint32_t, kTiles> copied{};  // in which phase
  int written = 0, read = 0;                   // at once

  static void check_same(const Conflict& found, const Conflict& expected) {
    REQUIRE(found.has_value() == expected.has_value());
    if (!found) return;
    CHECK(found->kind == expected->kind);
    CHECK(found->thread == expected->thread);
    CHECK(found->byte == expected->byte);
    CHECK(found->before_writes == expected->before_writes);
    check_same(found->before, expected->before);
  }
  static void check_same(const std::optional<Accesses::Access>& found,
                         const std::optional<Accesses::Access>& expected) {
    REQUIRE(found.has_value() == expected.has_value());
    if (!found) return;
    CHECK(found->thread == expected->thread);
    CHECK(found->at == expected->at);
    CHECK(found->clock == expected->clock);
  }

  void copy(int tile, int me) {
    const device::Place at = thread(me, 1).at;
    copied[static_cast<std::size_t>(tile)] = phase;
    const Conflict expected = alone.write(tile * kTile, kTile, me, at, {copier, phase}, order);
    if (at_once.write_at_once(tile * kTile, kTile, me, at, {copier, phase}, order)) {
      ++written;
      CHECK_FALSE(expected);
    } else {
      check_same(at_once.write(tile * kTile, kTile, me, at, {copier, phase}, order), expected);
    }
  }
  void arrive(int tile, int me) {
    const Accesses::Agent agent{copier, copied[static_cast<std::size_t>(tile)]};
    for (Accesses* one : {&at_once, &alone}) one->settle(tile * kTile, kTile, agent, thread(me, 1).at);
    ++phase;
  }
  static Conflict read_each(Accesses& of, std::span<const Effects::MemoryRead> bytes, Accesses::Agent agent,
                            const Order& order) {
    for (const Effects::MemoryRead& one : bytes)
      for (const int reader : {0, 32})
        if (auto found = of.read(static_cast<std::int64_t>(one.address), static_cast<std::int64_t>(one.bytes),
                                 reader, thread(reader, 2).at, agent, order))
          return found;
    return std::nullopt;
  }
  void multiply(std::span<const Effects::MemoryRead> bytes) {
    const Accesses::Agent agent{products, issued++};
    const Conflict expected = read_each(alone, bytes, agent, order);
    bool fenced = false;
    if (!at_once.read_at_once(bytes, 0, 32, kGroup, thread(0, 2).at, agent, order, fenced))
      return check_same(read_each(at_once, bytes, agent, order), expected);
    ++read;
    CHECK_FALSE(expected);
    if (fenced) CHECK(alone.are_fenced(bytes, 0, kGroup, order, {}));
  }
  void access(bool writes, std::int64_t first, std::int64_t bytes, int me) {
    const device::Place at = thread(me, writes ? 3 : 4).at;
    const auto by = [&](Accesses& of) {
      return writes ? of.write(first, bytes, me, at, order, Accesses::Written::done)
                    : of.read(first, bytes, me, at, order);
    };
    check_same(by(at_once), by(alone));
  }
  void check_at(std::int64_t byte, std::int64_t bytes) {
    CHECK(at_once.are_settled(byte, 1) == alone.are_settled(byte, 1));
    check_same(at_once.last_write(byte), alone.last_write(byte));
    if (bytes == 0) return;
    const auto found = at_once.unfenced(byte, bytes, 0, kGroup, order),
               expected = alone.unfenced(byte, bytes, 0, kGroup, order);
    REQUIRE(found.has_value() == expected.has_value());
    if (found) CHECK(std::pair(found->first, found->last) == std::pair(expected->first, expected->last));
    const auto is_object = [](std::int64_t) { return false; };
    check_same(at_once.foreign(byte, bytes, 0, 32, 0, order, is_object),
               alone.foreign(byte, bytes, 0, 32, 0, order, is_object));
  }
};

TEST_CASE("tiles that are recorded at once conflict as each access to them", "[quick][block]") {
  Twins twins;
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto often = [&] { return below(16) != 0; };
  const auto meet = [&] {  // most warps learn what was done
    for (int warp = 0; warp < Twins::kThreads / 32; ++warp) {
      if (often()) twins.order.learn(warp, twins.copier, twins.phase);
      for (const int agent : {twins.products, twins.products + 1})
        if (often()) twins.order.learn(warp, agent, twins.issued);
    }
  };
  for (int step = 0; step < 5000; ++step) {
    const int tile = step % Twins::kTiles, me = below(Twins::kThreads), rare = below(32);
    if (often()) meet();
    if (often()) twins.copy(tile, me);
    if (often()) twins.arrive(tile, me);
    meet();
    const bool many = step % 100 < 2;  // more than are kept
    for (int product = many ? 600 : below(4); product > 0; --product) {
      std::vector<Effects::MemoryRead> bytes;
      for (int i = 0; i < 8; ++i) {
        const int from = (rare < 8 && i < 4 ? tile + 3 : tile) % Twins::kTiles,
                  line = many ? below(16) + (product > 120 ? 0 : 15) : below(31);
        bytes.push_back({Effects::kEveryLane, Space::shared,
                         static_cast<std::uint64_t>(from * Twins::kTile + 32 * line),
                         static_cast<std::uint64_t>(rare == 5 && i == 7 ? 20 : 32)});
      }
      twins.multiply(bytes);
    }
    if (rare > 28 || step % 100 == 0) twins.copy(tile, me);
    if (rare < 2) twins.access(rare == 0, 4 * below(1000), below(2) == 0 ? 4 : 16, me);
    if (rare == 2) twins.order.barrier();
    if (rare == 3) twins.order.fence(me / 32, kAllLanes);
    twins.check_at(below(4000), rare == 4 ? 96 : 0);
  }
  CHECK(twins.written > 1000);
  CHECK(twins.read > 1000);
}

}  // namespace block_test
