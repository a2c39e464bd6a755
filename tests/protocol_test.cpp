// SPDX-License-Identifier: Apache-2.0
// The protocol of asynchronous matrix products: each violation alone and its correct neighbour, and what is
// visible when. All factors are ones, so that a product of depth 16 adds 16 to each accumulator.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "warpbit/descriptor.hpp"
#include "warpbit/machine.hpp"

namespace protocol_test {

using namespace warpbit;
using Catch::Matchers::Equals;

constexpr int kLanes = 128, kRegisters = 64;
constexpr auto kProduct = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, x, y, 1, 1, 1, 0, 0;";
constexpr auto kWider = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {d}, x, y, 1, 1, 1, 0, 0;";
constexpr auto kFromRegisters = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, {a}, y, 1, 1, 1, 0;";
constexpr auto kProductName = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16";

// Registers: four accumulators each, A, and what never changes.
constexpr int kD = 0, kOther = 8, kA = 16, kTemporary = 40, kDescriptorA = 60, kDescriptorB = 61,
              kPredicate = 62;

// Shared memory: A is 64 x 16, B 16 x 16 of f16, K-major, without a swizzle: 8 lines of 16 bytes, the next 8 of
// k 128 bytes further, the next 8 lines 256.
constexpr std::uint32_t kBytesOfA = 2048, kBytesOfB = 512, kEnd = kBytesOfA + kBytesOfB;

std::vector<std::byte> ones(std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 1; i < bytes; i += 2) out[i] = std::byte{0x3C};
  return out;
}

Instruction parsed(std::string_view statement) {
  const Result<Target> target = Target::find("sm_90a");
  REQUIRE(target.ok());
  const Result<Instruction> out = Instruction::parse(statement, *target);
  INFO(statement);
  REQUIRE(out.ok());
  return *out;
}

// A block whose memory is ready for products, and whose registers are 0 but for descriptors and A.
class Block {
 public:
  explicit Block(int warpgroups = 1, bool detect = true, std::uint64_t shared_bytes = 4096)
      : machine(4 * warpgroups, kRegisters, Memory(shared_bytes, 0x10000), {{}, detect}) {
    REQUIRE(machine.copy_async(0, ones(kEnd)).ok());
    const std::uint64_t a = Descriptor{0, 128, 256}.encode().value();
    const std::uint64_t b = Descriptor{kBytesOfA, 128, 256}.encode().value();
    for (int group = 0; group < warpgroups; ++group) {
      set_all(kDescriptorA, a, group);
      set_all(kDescriptorB, b, group);
      set_all(kPredicate, 1, group);
      for (int reg = kA; reg < kA + 4; ++reg) set_all(reg, 0x3C003C00, group);
    }
  }

  void set_all(int reg, std::uint64_t value, int group = 0) {
    for (int lane = 0; lane < kLanes; ++lane) REQUIRE(machine.write_register(group, lane, reg, value).ok());
  }

  Result<Execution> run(std::string_view statement, const Binding& binding = {}, int group = 0) {
    return machine.execute(group, parsed(statement), binding);
  }
  void ok(std::string_view statement, const Binding& binding = {}, int group = 0) {
    const Result<Execution> done = run(statement, binding, group);
    INFO(statement << ": " << (done.ok() ? "" : done.error().message()));
    REQUIRE(done.ok());
  }

  Result<Execution> product(int d = kD, int group = 0) {
    return run(kProduct, {d, kDescriptorA, kDescriptorB, 0, 0, 0, 0, 0}, group);
  }
  Result<Execution> from_registers(int d = kD, int a = kA) {
    return run(kFromRegisters, {d, a, kDescriptorB, 0, 0, 0, 0});
  }
  void fence(int group = 0) { ok("wgmma.fence.sync.aligned;", {}, group); }
  void commit(int group = 0) { ok("wgmma.commit_group.sync.aligned;", {}, group); }
  void wait(int n, int group = 0) { ok(fmt::format("wgmma.wait_group.sync.aligned {};", n), {0}, group); }
  void fence_proxy() { ok("fence.proxy.async;"); }

  // What lies in every lane's register now, seen from outside of the block.
  float now(int reg, int group = 0) const {
    const std::uint64_t first = machine.registers(group).read(0, reg);
    for (int lane = 1; lane < kLanes; ++lane) REQUIRE(machine.registers(group).read(lane, reg) == first);
    return std::bit_cast<float>(static_cast<std::uint32_t>(first));
  }

  Machine machine;
};

template <class T>
std::string refusal(const Result<T>& result, Errc code = Errc::protocol_violation) {
  REQUIRE_FALSE(result.ok());
  CHECK(name(result.error().code) == name(code));
  return result.error().message();
}

std::string pending(std::string_view role, std::string_view remedy) {
  return fmt::format("{} of {}, which is not complete; {} must come before this statement", role, kProductName,
                     remedy);
}

// ---- What is visible when

TEST_CASE("results appear when their group is waited for, not before") {
  Block block;
  block.fence();
  REQUIRE(block.product().ok());
  CHECK(block.now(kD) == 0);
  CHECK(block.machine.async_state(0).is_pending());
  block.wait(0);  // the product belongs to no group yet
  CHECK(block.now(kD) == 0);
  block.commit();
  CHECK(block.now(kD) == 0);
  CHECK(block.machine.async_state(0).pending_groups() == 1);
  block.wait(1);
  CHECK(block.now(kD) == 0);
  block.wait(0);
  for (int reg = kD; reg < kD + 4; ++reg) CHECK(block.now(reg) == 16);
  CHECK_FALSE(block.machine.async_state(0).is_pending());
  CHECK(block.machine.read_register(0, 77, kD).value() == 0x41800000);
}

TEST_CASE("wait_group n leaves the n latest groups") {
  Block block;
  block.fence();
  for (const int d : {kD, kOther, kD}) {
    REQUIRE(block.product(d).ok());
    block.commit();
  }
  block.wait(3);
  CHECK(block.now(kD) == 0);
  block.wait(2);
  CHECK(block.now(kD) == 16);
  CHECK(block.now(kOther) == 0);
  block.wait(1);
  CHECK(block.now(kOther) == 16);
  CHECK(block.machine.async_state(0).pending_groups() == 1);
  block.commit();  // an empty group counts
  block.wait(1);
  CHECK(block.now(kD) == 32);
  block.wait(0);
  CHECK(block.machine.async_state(0).pending_groups() == 0);
}

TEST_CASE("products of a group accumulate in order") {
  Block block;
  block.fence();
  for (int i = 0; i < 3; ++i) REQUIRE(block.product().ok());
  block.commit();
  REQUIRE(block.product().ok());
  block.commit();
  block.wait(1);
  CHECK(block.now(kD) == 48);
  block.wait(0);
  CHECK(block.now(kD) == 64);
}

TEST_CASE("warpgroups are apart, their memory is not") {
  Block block(2);
  block.fence(0);
  REQUIRE(block.product(kD, 0).ok());
  block.commit(0);
  block.wait(0, 1);
  CHECK(block.now(kD, 0) == 0);
  // The fence of one is not that of the other.
  CHECK_THAT(
      refusal(block.product(kD, 1)),
      Equals(std::string(kProductName) +
             ": no wgmma.fence came before this wgmma, the first of these warps; all four warps must execute "
             "wgmma.fence before it, after the last access to the registers of this wgmma"));
  block.fence(1);
  REQUIRE(block.product(kD, 1).ok());
  block.commit(1);
  CHECK(block.machine.read_register(0, 0, kTemporary).ok());
  block.wait(0, 0);
  CHECK(block.now(kD, 0) == 16);
  CHECK(block.now(kD, 1) == 0);
  // The second still reads B.
  const std::string message = refusal(block.machine.copy_async(kBytesOfA, ones(16)));
  CHECK_THAT(message,
             Equals(fmt::format(
                 "host, async proxy: {} reads shared memory 0x800 to 0x80f and is not complete; all four "
                 "warps must execute wgmma.wait_group 0, and then a barrier, before this statement",
                 kProductName)));
  block.wait(0, 1);
  CHECK(block.machine.copy_async(kBytesOfA, ones(16)).ok());
  CHECK(block.now(kD, 1) == 16);
}

// ---- Registers of pending products

TEST_CASE("an accumulator is out of reach until its group is complete") {
  Block block;
  block.fence();
  REQUIRE(block.product().ok());
  CHECK_THAT(refusal(block.machine.read_register(0, 5, kD + 2)),
             Equals("host, lane 5: register 2 is read, but it is " +
                    pending("an accumulator", "wgmma.commit_group and wgmma.wait_group 0")));
  block.commit();
  CHECK_THAT(
      refusal(block.machine.read_register(0, 5, kD)),
      Equals("host, lane 5: register 0 is read, but it is " + pending("an accumulator", "wgmma.wait_group 0")));
  CHECK_THAT(refusal(block.machine.write_register(0, 127, kD + 3, 7)),
             Equals("host, lane 127: register 3 is written, but it is " +
                    pending("an accumulator", "wgmma.wait_group 0")));
  CHECK_THAT(refusal(block.run("cvt.rn.f16x2.f32 r, x, y;", {kTemporary, kD + 1, kTemporary})),
             Equals("cvt.rn.f16x2.f32: register 1 is read, but it is " +
                    pending("an accumulator", "wgmma.wait_group 0")));
  CHECK_THAT(refusal(block.run("cvt.rn.f16x2.f32 r, x, y;", {kD, kTemporary, kTemporary})),
             Equals("cvt.rn.f16x2.f32: register 0 is written, but it is " +
                    pending("an accumulator", "wgmma.wait_group 0")));
  block.ok("cvt.rn.f16x2.f32 r, x, y;", {kTemporary, kOther, kOther});
  block.wait(0);
  block.ok("cvt.rn.f16x2.f32 r, x, y;", {kTemporary, kD + 1, kD});
  CHECK(block.machine.registers(0).read(3, kTemporary) == 0x4C004C00);
  CHECK(block.machine.write_register(0, 127, kD + 3, 7).ok());
}

TEST_CASE("a wait that leaves the group says which would not") {
  Block block;
  block.fence();
  for (const int d : {kD, kOther, kTemporary}) {
    REQUIRE(block.product(d).ok());
    block.commit();
  }
  block.wait(2);
  CHECK(block.machine.read_register(0, 0, kD).ok());
  CHECK_THAT(
      refusal(block.machine.read_register(0, 0, kOther)),
      Equals("host, lane 0: register 8 is read, but it is " + pending("an accumulator", "wgmma.wait_group 1")));
  CHECK_THAT(refusal(block.machine.read_register(0, 0, kTemporary)),
             Equals("host, lane 0: register 40 is read, but it is " +
                    pending("an accumulator", "wgmma.wait_group 0")));
  block.wait(1);
  CHECK(block.machine.read_register(0, 0, kOther).ok());

  // Of several products, the latest one counts.
  block.fence();
  for (const int d : {kD, kOther, kD, kOther}) {
    REQUIRE(block.product(d).ok());
    block.commit();
  }
  CHECK_THAT(
      refusal(block.machine.read_register(0, 0, kD)),
      Equals("host, lane 0: register 0 is read, but it is " + pending("an accumulator", "wgmma.wait_group 1")));
}

TEST_CASE("A is out of reach before the wait") {
  Block block;
  block.fence();
  REQUIRE(block.from_registers().ok());
  block.commit();
  CHECK_THAT(
      refusal(block.machine.write_register(0, 9, kA + 3, 0)),
      Equals("host, lane 9: register 19 is written, but it is " + pending("part of A", "wgmma.wait_group 0")));
  CHECK_THAT(
      refusal(block.machine.read_register(0, 9, kA + 3)),
      Equals("host, lane 9: register 19 is read, but it is " + pending("part of A", "wgmma.wait_group 0")));
  CHECK_THAT(
      refusal(block.run("cvt.rn.f16x2.f32 r, x, y;", {kTemporary, kA, kTemporary})),
      Equals("cvt.rn.f16x2.f32: register 16 is read, but it is " + pending("part of A", "wgmma.wait_group 0")));
  // Its results would land in A.
  CHECK_THAT(refusal(block.product(kA)),
             Equals(std::string(kProductName) + ": register 16 is part of D, but it is " +
                    pending("part of A", "wgmma.wait_group 0")));
  block.wait(0);
  CHECK(block.machine.read_register(0, 9, kA + 3).ok());
  CHECK(block.machine.write_register(0, 9, kA + 3, 0).ok());
  CHECK(block.now(kD) == 16);
}

TEST_CASE("products share A, and accumulators of their own shape") {
  Block block;
  block.fence();
  REQUIRE(block.from_registers(kD).ok());
  REQUIRE(block.from_registers(kOther).ok());
  REQUIRE(block.from_registers(kD).ok());
  // D of one is A of the next.
  CHECK_THAT(refusal(block.from_registers(kTemporary, kD)),
             Equals(std::string(kProductName) + ": register 0 is part of A, but it is " +
                    pending("an accumulator", "wgmma.commit_group and wgmma.wait_group 0")));
  CHECK_THAT(refusal(block.run(kWider, {kD, kDescriptorA, kDescriptorB, 0, 0, 0, 0, 0})),
             Equals("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16: register 0 is part of D, but it is " +
                    pending("in another shape an accumulator", "wgmma.commit_group and wgmma.wait_group 0")));
  block.commit();
  block.wait(0);
  CHECK(block.now(kD) == 32);
  CHECK(block.now(kOther) == 16);
  block.fence();
  block.ok(kWider, {kD, kDescriptorA, kDescriptorB, 0, 0, 0, 0, 0});
  block.commit();
  block.wait(0);
  CHECK(block.now(kD) == 48);
}

// ---- wgmma.fence

TEST_CASE("the first product needs a fence") {
  Block block;
  CHECK_THAT(
      refusal(block.product()),
      Equals(std::string(kProductName) +
             ": no wgmma.fence came before this wgmma, the first of these warps; all four warps must execute "
             "wgmma.fence before it, after the last access to the registers of this wgmma"));
  CHECK_FALSE(block.machine.async_state(0).is_pending());
  block.fence();
  CHECK(block.product().ok());
}

TEST_CASE("a product after an access to its registers needs a fence") {
  Block block;
  block.fence();
  const auto refused = [&](const Result<Execution>& result, int reg, std::string_view role,
                           std::string_view how) {
    CHECK_THAT(
        refusal(result),
        Equals(fmt::format(
            "{}: register {} is part of {}, and was accessed {} after the last "
            "wgmma.fence; all four warps must execute wgmma.fence between that access and this statement",
            kProductName, reg, role, how)));
  };
  REQUIRE(block.machine.write_register(0, 3, kD + 1, 0).ok());
  REQUIRE(block.product(kOther).ok());  // other registers
  refused(block.product(), kD + 1, "D", "by a thread");
  block.fence();
  REQUIRE(block.product().ok());

  block.ok("cvt.rn.f16x2.f32 r, x, y;", {kA + 1, kTemporary, kTemporary});
  refused(block.from_registers(), kA + 1, "A", "by a thread");
  block.fence();
  REQUIRE(block.from_registers().ok());
  block.commit();
  block.wait(0);

  // Without an access in between none is needed, but a read is one.
  REQUIRE(block.product().ok());
  block.commit();
  block.wait(0);
  REQUIRE(block.machine.read_register(0, 0, kD).ok());
  refused(block.product(), kD, "D", "by a thread");
  block.fence();

  // In another role, or of another shape.
  REQUIRE(block.from_registers().ok());
  block.commit();
  block.wait(0);
  refused(block.product(kA), kA, "D", "as part of A");
  refused(block.from_registers(kOther, kD), kD, "A", "as an accumulator of m64n8k16");
  block.fence();
  block.ok(kWider, {kTemporary, kDescriptorA, kDescriptorB, 0, 0, 0, 0, 0});
  block.commit();
  block.wait(0);
  refused(block.product(kTemporary), kTemporary, "D", "as an accumulator of m64n16k16");
  block.fence();
  CHECK(block.product(kTemporary).ok());
}

// ---- Memory

TEST_CASE("what the generic proxy wrote needs a proxy fence") {
  Block block;
  block.fence();
  REQUIRE(block.machine.write_memory(Space::shared, 0x108, ones(24)).ok());
  REQUIRE(block.machine.write_memory(Space::shared, kEnd, ones(16)).ok());  // which nobody reads
  const std::string message =
      std::string(kProductName) +
      ": it reads shared memory 0x108 to 0x11f, which was written through the generic proxy, and no "
      "fence.proxy.async came between that write and this statement; "
      "the thread of that write must execute fence.proxy.async after it, and before any barrier that comes between them";
  CHECK_THAT(refusal(block.product()), Equals(message));
  CHECK(block.from_registers().ok());  // reads B only
  block.ok("fence.proxy.async.global;");
  CHECK_THAT(refusal(block.product()), Equals(message));
  block.ok("fence.proxy.async.shared::cta;");
  CHECK(block.product().ok());
  block.commit();
  block.wait(0);

  // By its generic address; and what is copied over it needs none.
  REQUIRE(block.machine.write_memory(Space::generic, 0x10000 + kBytesOfA, ones(2)).ok());
  CHECK_THAT(
      refusal(block.product()),
      Equals(
          std::string(kProductName) +
          ": it reads shared memory 0x800 to 0x801, which was written through the generic proxy, and no "
          "fence.proxy.async came between that write and this statement; "
          "the thread of that write must execute fence.proxy.async after it, and before any barrier that comes between them"));
  REQUIRE(block.machine.copy_async(kBytesOfA, ones(16)).ok());
  CHECK(block.product().ok());
}

TEST_CASE("a matrix stored by the block needs a proxy fence, whichever warpgroup reads it") {
  Block block(2);
  block.fence(1);
  for (int lane = 0; lane < kLanes; ++lane)
    REQUIRE(
        block.machine.write_register(0, lane, kTemporary, static_cast<std::uint64_t>(lane % 32 % 8 * 16)).ok());
  block.ok("stmatrix.sync.aligned.m8n8.x1.shared.b16 [p], {r};", {kTemporary, kA});
  CHECK_THAT(
      refusal(block.product(kD, 1)),
      Equals(
          std::string(kProductName) +
          ": it reads shared memory 0x0 to 0x7f, which was written through the generic proxy, and no "
          "fence.proxy.async came between that write and this statement; "
          "the thread of that write must execute fence.proxy.async after it, and before any barrier that comes between them"));
  block.fence_proxy();
  REQUIRE(block.product(kD, 1).ok());
  block.commit(1);
  // The next tile must wait.
  CHECK_THAT(
      refusal(block.run("stmatrix.sync.aligned.m8n8.x1.shared.b16 [p], {r};", {kTemporary, kA})),
      Equals(fmt::format(
          "stmatrix.sync.aligned.m8n8.x1.shared.b16: {} reads shared memory 0x0 to 0xf and is not complete; all "
          "four warps must execute wgmma.wait_group 0, and then a barrier, before this statement",
          kProductName)));
  block.wait(0, 1);
  CHECK(block.now(kD, 1) == 16);
  block.ok("stmatrix.sync.aligned.m8n8.x1.shared.b16 [p], {r};", {kTemporary, kA});
}

TEST_CASE("shared memory is not overwritten while a product reads it") {
  Block block;
  block.fence();
  REQUIRE(block.from_registers().ok());
  const auto message = [](std::string_view who, std::string_view bytes, std::string_view remedy) {
    return fmt::format(
        "{}: {} reads shared memory {} and is not complete; all four warps must execute {}, and then a barrier, "
        "before this statement",
        who, kProductName, bytes, remedy);
  };
  // B of n = 8 is 256 bytes.
  CHECK_THAT(refusal(block.machine.write_memory(Space::shared, kBytesOfA + 255, ones(2))),
             Equals(message("host", "0x8ff to 0x8ff", "wgmma.commit_group and wgmma.wait_group 0")));
  block.commit();
  block.commit();
  CHECK_THAT(refusal(block.machine.copy_async(0, ones(kEnd))),
             Equals(message("host, async proxy", "0x800 to 0x8ff", "wgmma.wait_group 1")));
  CHECK(block.machine.write_memory(Space::shared, kBytesOfA - 2, ones(2)).ok());
  CHECK(block.machine.copy_async(kBytesOfA + 256, ones(16)).ok());
  block.wait(1);
  CHECK(block.machine.copy_async(0, ones(kEnd)).ok());
}

// ---- Lanes

TEST_CASE("all lanes of a warpgroup must agree") {
  Block block;
  const Instruction wait0 = parsed("wgmma.wait_group.sync.aligned 0;"),
                    wait1 = parsed("wgmma.wait_group.sync.aligned 1;");
  std::vector<const Instruction*> lanes(kLanes, &wait0);
  lanes[70] = &wait1;
  CHECK_THAT(
      refusal(block.machine.execute(0, lanes, {0}), Errc::lanes_disagree),
      Equals("wgmma.wait_group.sync.aligned: executed by lane 0, but wgmma.wait_group.sync.aligned 1; by lanes "
             "70; all lanes must execute the same instruction"));
  lanes[70] = nullptr;
  lanes[127] = nullptr;
  CHECK_THAT(
      refusal(block.machine.execute(0, lanes, {0}), Errc::lanes_missing),
      Equals("wgmma.wait_group.sync.aligned: missing of 128 lanes: 70, 127; all of them must execute it"));
  std::ranges::fill(lanes, nullptr);
  CHECK(refusal(block.machine.execute(0, lanes, {0}), Errc::lanes_missing).find("no lane") !=
        std::string::npos);
  // One text and as many operands, A in registers or in memory.
  const std::string s8 = "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8";
  const Instruction in_registers = parsed(s8 + " {d}, {a}, y, 1;"), in_memory = parsed(s8 + " {d}, x, y, 1;");
  std::ranges::fill(lanes, &in_registers);
  lanes[70] = &in_memory;
  CHECK_THAT(
      refusal(block.machine.execute(0, lanes, {kD, kDescriptorA, kDescriptorB, 0}), Errc::lanes_disagree),
      Catch::Contains("but " + s8 + " {d}, x, y, 1; by lanes 70"));

  const Instruction all = parsed("fence.proxy.async;"), global = parsed("fence.proxy.async.global;");
  std::ranges::fill(lanes, nullptr);
  lanes[5] = &all;
  lanes[6] = &global;
  CHECK_THAT(
      refusal(block.machine.execute(0, lanes, {}), Errc::lanes_disagree),
      Equals("fence.proxy.async: executed by lane 5, but fence.proxy.async.global; by lanes 6; all lanes must "
             "execute the same instruction"));

  block.fence();
  const auto with_predicate = [&] {
    return block.run("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, x, y, p, 1, 1, 0, 0;",
                     {kD, kDescriptorA, kDescriptorB, kPredicate, 0, 0, 0, 0});
  };
  REQUIRE(block.machine.write_register(0, 33, kPredicate, 0).ok());
  CHECK_THAT(refusal(with_predicate(), Errc::lanes_disagree),
             Equals(std::string(kProductName) +
                    ": scale_d is 0x1 in lane 0, but 0x0 in lane 33; all lanes must give the same"));
  block.set_all(kPredicate, 2);
  CHECK_THAT(refusal(with_predicate(), Errc::view_mismatch),
             Equals(std::string(kProductName) + ": scale_d is 0x2; expected a predicate, 0 or 1"));
  block.set_all(kPredicate, 1);
  const std::uint64_t b = block.machine.registers(0).read(0, kDescriptorB);
  REQUIRE(block.machine.write_register(0, 100, kDescriptorB, b + 1).ok());
  CHECK(refusal(with_predicate(), Errc::lanes_disagree).find("b_desc is") != std::string::npos);
  REQUIRE(block.machine.write_register(0, 100, kDescriptorB, b).ok());
  CHECK(with_predicate().ok());
}

TEST_CASE("an incomplete warpgroup executes what warps and threads can") {
  Machine machine(2, 8, Memory());
  REQUIRE(machine.warpgroups() == 1);
  REQUIRE(machine.lanes(0) == 64);
  CHECK_THAT(refusal(machine.execute(0, parsed("wgmma.fence.sync.aligned;")), Errc::lanes_missing),
             Equals("wgmma.fence.sync.aligned: missing of 128 lanes: 64-127; all of them must execute it"));
  // A warp is all there or not; a thread may come alone.
  const Instruction move = parsed("movmatrix.sync.aligned.m8n8.trans.b16 d, a;"),
                    cvt = parsed("cvt.rn.f16x2.f32 r, x, y;");
  for (int lane = 0; lane < 64; ++lane) REQUIRE(machine.write_register(0, lane, 0, 0x3F800000).ok());
  std::vector<const Instruction*> lanes(64, nullptr);
  std::fill_n(lanes.begin() + 32, 32, &move);
  REQUIRE(machine.execute(0, lanes, {1, 0}).ok());
  CHECK(machine.registers(0).read(31, 1) == 0);
  CHECK(machine.registers(0).read(32, 1) == 0);           // rows 0, 2, ... of a column of zeros
  CHECK(machine.registers(0).read(36, 1) == 0x3F803F80);  // and of one of 0x3F80
  lanes[40] = nullptr;
  CHECK_THAT(
      refusal(machine.execute(0, lanes, {1, 0}), Errc::lanes_missing),
      Equals("movmatrix.sync.aligned.m8n8.trans.b16: missing of 32 lanes: 8; all of them must execute it"));
  std::ranges::fill(lanes, nullptr);
  lanes[35] = &cvt;
  REQUIRE(machine.execute(0, lanes, {2, 0, 0}).ok());
  CHECK(machine.registers(0).read(35, 2) == 0x3C003C00);
  CHECK(machine.registers(0).read(34, 2) == 0);
}

TEST_CASE("a machine says what it has") {
  Machine machine(4, 8, Memory(64));
  CHECK_THAT(refusal(machine.execute(1, parsed("wgmma.fence.sync.aligned;")), Errc::view_mismatch),
             Equals("machine: warpgroup 1; expected one of 1, from 0"));
  CHECK_THAT(refusal(machine.read_register(0, 128, 0), Errc::view_mismatch),
             Equals("machine: register 0 of lane 128; expected one of 8 registers of 128 lanes, from 0"));
  CHECK_THAT(refusal(machine.write_register(-1, 0, 0, 1), Errc::view_mismatch),
             Equals("machine: warpgroup -1; expected one of 1, from 0"));
  CHECK_THAT(refusal(machine.execute(0, std::span<const Instruction* const>(), {}), Errc::view_mismatch),
             Equals("machine: 0 lanes given; expected 128"));
  refusal(machine.copy_async(60, ones(16)), Errc::address_out_of_bounds);
  refusal(machine.write_memory(Space::shared, 60, ones(16)), Errc::address_out_of_bounds);
  std::vector<std::byte> out(4);
  REQUIRE(machine.copy_async(0, ones(4)).ok());
  REQUIRE(machine.read_memory(Space::shared, 0, out).ok());
  CHECK(out == ones(4));
  CHECK_THAT(refusal(execute_batch(parsed("wgmma.fence.sync.aligned;"), {}, {}, 1), Errc::machine_needed),
             Equals("wgmma.fence.sync.aligned: it has no results; expected a Machine to execute it"));
}

// ---- Without detection

// A correct kernel: two groups in flight, A from memory and from registers, a tile stored and used.
std::vector<float> correct_kernel(Block& block) {
  block.fence();
  REQUIRE(block.product().ok());
  REQUIRE(block.product().ok());
  block.commit();
  REQUIRE(block.from_registers(kOther).ok());
  block.commit();
  block.wait(1);
  REQUIRE(block.machine.write_memory(Space::shared, 0, ones(kBytesOfA)).ok());
  block.fence_proxy();
  block.fence();
  REQUIRE(block.product().ok());
  block.commit();
  block.wait(0);
  return {block.now(kD), block.now(kD + 3), block.now(kOther), block.now(kOther + 3)};
}

TEST_CASE("detection changes no result") {
  Block watched(1, true), unwatched(1, false);
  const std::vector<float> expected = {48, 48, 16, 16};
  CHECK(correct_kernel(watched) == expected);
  CHECK(correct_kernel(unwatched) == expected);
}

TEST_CASE("without detection a violation has a determined result") {
  Block block(1, false);
  REQUIRE(block.product().ok());  // no fence
  CHECK(block.machine.read_register(0, 0, kD).value() == 0);
  REQUIRE(block.machine.write_memory(Space::shared, 0, std::vector<std::byte>(kBytesOfA)).ok());
  block.set_all(kD, std::bit_cast<std::uint32_t>(1.0F));
  CHECK(block.now(kD) == 1);
  REQUIRE(block.product().ok());  // 0 on top of the pending 16, without a proxy fence
  block.commit();
  CHECK(block.now(kD) == 1);
  block.wait(0);
  CHECK(block.now(kD) == 16);
  REQUIRE(block.from_registers().ok());
  block.set_all(kA, 0);
  block.commit();
  block.wait(0);
  CHECK(block.now(kD) == 32);
}

// ---- Memory as large as a block can have, and what a product reads

TEST_CASE("a product reads the bytes that its descriptors reach") {
  constexpr std::uint64_t kMost = 227 * 1024;
  Block block(1, true, kMost);
  const std::uint32_t last = kMost - 256;
  block.set_all(kDescriptorB, Descriptor{last, 128, 256}.encode().value());
  REQUIRE(block.machine.copy_async(last, ones(256)).ok());
  block.fence();
  REQUIRE(block.from_registers().ok());
  block.commit();
  block.wait(0);
  CHECK(block.now(kD) == 16);
  block.set_all(kDescriptorB, Descriptor{last + 16, 128, 256}.encode().value());
  CHECK_THAT(
      refusal(block.from_registers(), Errc::address_out_of_bounds),
      Equals(fmt::format("{}: the bytes up to address 0x38c0f that b_desc {:#x} reads are out of bounds; "
                         "shared memory has {} bytes",
                         kProductName, Descriptor{last + 16, 128, 256}.encode().value(), kMost)));

  // With a swizzle of 128 bytes, a tile of 8 x 16 is a pair of chunks in each of eight rows.
  Registers registers(kLanes, 8);
  Memory memory(1024);
  for (int lane = 0; lane < kLanes; ++lane)
    registers.write(lane, 4, Descriptor{0, 0, 1024, 0, Swizzle::bytes_128}.encode().value());
  const Instruction product = parsed(kFromRegisters);
  const std::vector<const Instruction*> all(kLanes, &product);
  const Result<Effects> effects = execute_warp(all, {0, 0, 4, 0, 0, 0, 0}, registers, memory);
  REQUIRE(effects.ok());
  std::vector<std::pair<std::uint64_t, std::uint64_t>> reads;
  for (const Effects::MemoryRead& read : effects->memory_reads) {
    CHECK(read.lane == Effects::kEveryLane);
    CHECK(read.space == Space::shared);
    reads.emplace_back(read.address, read.bytes);
  }
  // Row r holds its chunks 0 and 1 at r and r ^ 1.
  CHECK(reads == std::vector<std::pair<std::uint64_t, std::uint64_t>>{
                     {0, 32}, {128, 32}, {288, 32}, {416, 32}, {576, 32}, {704, 32}, {864, 32}, {992, 32}});
  REQUIRE(effects->deferred.has_value());
  CHECK(effects->deferred->shape == std::array{64, 8, 16});
  CHECK(effects->deferred->accumulators == std::vector{0, 1, 2, 3});
  CHECK(effects->deferred->factors == std::vector{0, 1, 2, 3});
  CHECK(effects->writes.size() == 4 * kLanes);
}

// ---- Decoding

std::string refused(std::string_view statement, Errc code, std::string_view target = "sm_90a") {
  return refusal(Instruction::parse(statement, *Target::find(target)), code);
}

// By ptxas 13.0.
TEST_CASE("the registers of a product's operands") {
  const Target target = *Target::find("sm_90a");
  const auto taken = [&](std::string_view form, std::string_view operands) {
    return Instruction::parse("wgmma.mma_async.sync.aligned." + std::string(form), operands, target).ok();
  };
  const std::string tail = " b:b64 p:=1 x:=1 y:=1";
  CHECK(taken("m64n8k32.f32.e4m3.e4m3", "d:4xf32 a:4xb32" + tail));
  CHECK_FALSE(taken("m64n8k32.f32.e4m3.e4m3", "d:={_,f32,f32,f32} a:4xb32" + tail));
  CHECK_FALSE(taken("m64n8k32.f16.e4m3.e4m3", "d:={_,b32} a:4xb32" + tail));
  CHECK_FALSE(taken("m64n8k32.s32.s8.s8", "d:={b32,b32,b32,_} a:4xb32 b:b64 p:=1"));
  for (const auto a : {"a:4xf16x2", "a:={b32,0f00000000,b32,b32}", "a:={b32,5,b32,b32}"}) {
    CHECK(taken("m64n8k8.f32.tf32.tf32", std::string("d:4xf32 ") + a + tail));
    CHECK(taken("m64n8k32.f32.e4m3.e4m3", std::string("d:4xf32 ") + a + tail));
    CHECK(taken("m64n8k32.s32.s8.s8", std::string("d:4xb32 ") + a + " b:b64 p:=1"));
  }
  for (const auto a : {"a:4xu32", "a:4xs32", "a:4xf32", "a:={0f00000000,0f00000000,0f00000000,0f00000000}"}) {
    CHECK_FALSE(taken("m64n8k8.f32.tf32.tf32", std::string("d:4xf32 ") + a + tail));
    CHECK_FALSE(taken("m64n8k32.f32.e4m3.e4m3", std::string("d:4xf32 ") + a + tail));
    CHECK(taken("m64n8k32.s32.s8.s8", std::string("d:4xb32 ") + a + " b:b64 p:=1"));
  }
}

TEST_CASE("spellings of what orders asynchronous instructions") {
  CHECK(parsed("wgmma.wait_group.aligned.sync 7;").canonical() == "wgmma.wait_group.sync.aligned");
  CHECK(parsed("fence.proxy.async.shared::cluster;").lanes() == 1);
  CHECK(parsed("wgmma.fence.sync.aligned").lanes() == 128);
  CHECK(parsed("wgmma.commit_group.sync.aligned;").plan() == "no arithmetic");
  CHECK(parsed("wgmma.wait_group.sync.aligned 4294967296;").operands()[0].literals[0] == 4294967296);
  CHECK_THAT(
      refused("wgmma.fence.sync;", Errc::undocumented_form),
      Equals(
          "wgmma.fence.sync: undocumented: .aligned omitted, which ptxas 13.0 does not reject; documented is "
          "wgmma.fence.sync.aligned"));
  refused("wgmma.mma_async.sync.m64n8k16.f32.f16.f16", Errc::undocumented_form);
  refused("wgmma.mma_async.sp.sync.m64n8k32.f32.f16.f16", Errc::undocumented_form);
  refused("wgmma.fence.aligned;", Errc::missing_qualifier);
  refused("wgmma.sync.fence.aligned;", Errc::qualifier_order);
  refused("wgmma.wait_group.sync.aligned -1;", Errc::operand_kind);
  refused("wgmma.wait_group.sync.aligned n;", Errc::operand_kind);
  refused("wgmma.wait_group.sync.aligned 0, 1;", Errc::operand_extra);
  CHECK_THAT(refused("wgmma.fence.sync.aligned 0;", Errc::operand_extra),
             Equals("wgmma.fence.sync.aligned: operand 0 is one too many; expected none"));
  CHECK_THAT(refused("wgmma.fence.sync.aligned;", Errc::not_on_target, "sm_90"),
             Equals("wgmma.fence.sync.aligned does not exist on sm_90; it exists on sm_90a"));
  refused("fence.proxy.async;", Errc::not_on_target, "sm_89");
  CHECK(Instruction::parse("fence.proxy.async;", *Target::find("sm_120")).ok());
  refused("fence.proxy.alias;", Errc::unknown_qualifier);
  CHECK_THAT(
      refused("mbarrier.arrive.shared.b64 s, [b];", Errc::instruction_not_modelled),
      Equals(
          "mbarrier.arrive.shared.b64 is not modelled yet: a Machine executes one instruction after another, "
          "so nothing arrives later"));
  for (const auto text :
       {"cp.async.bulk.tensor.2d", "cp.async.ca.shared.global", "cp.reduce.async.bulk.shared::cluster"})
    refused(text, Errc::instruction_not_modelled);
  refused("cp.asynchronous", Errc::unknown_instruction);
}

}  // namespace protocol_test
