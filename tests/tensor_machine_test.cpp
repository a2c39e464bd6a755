// SPDX-License-Identifier: Apache-2.0
// A Machine with tensor memory: a product from allocation to deallocation, and each mistake beside its neighbour without it.
#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <functional>

#include "warpbit/machine.hpp"

namespace tensor_machine_test {

using namespace warpbit;

const Target kTarget = Target::find_ptx("sm_100a").value();

Instruction parse(std::string_view text) {
  const Result<Instruction> out = Instruction::parse(text, kTarget);
  INFO(text << ": " << (out ? "" : out.error().message()));
  REQUIRE(out.ok());
  return *out;
}

// M 128, N 16, K 16 of f16: A of ones in rows, B of the identity, K-major without a swizzle.
constexpr int kN = 16;
constexpr std::uint32_t kOne = 0x3C00, kB = 8192;
constexpr std::uint64_t kDescriptor = 128ULL >> 4 << 16 | 256ULL >> 4 << 32 | 1ULL << 46;
constexpr std::uint32_t kInstruction = 1U << 4 | (kN >> 3) << 17 | (128U >> 4) << 24;

std::uint64_t byte_of(int line, int k) {
  return static_cast<std::uint64_t>(line % 8 * 16 + line / 8 * 256 + k / 8 * 128 + k % 8 * 2);
}

// The registers of every lane, by name.
enum Register { address, columns, idesc, d, a, b, enable, mbar, word };

struct Block {
  Machine machine{4, 64, Memory(64 * 1024)};

  explicit Block(bool fenced = true) {
    for (int i = 0; i < 128; ++i)
      for (int k = 0; k < 16; ++k) store(byte_of(i, k), static_cast<std::uint16_t>(k == i % 16 ? kOne : 0));
    for (int i = 0; i < kN; ++i)
      for (int k = 0; k < 16; ++k) store(kB + byte_of(i, k), static_cast<std::uint16_t>(0x4000 + i + 16 * k));
    if (fenced) run("fence.proxy.async;");
    set(columns, 64), set(address, 60000), set(idesc, kInstruction), set(enable, 0);
    set(a, kDescriptor), set(b, kDescriptor | kB >> 4), set(d, 0);
  }
  void store(std::uint64_t at, std::uint16_t value) {
    REQUIRE(machine.write_memory(Space::shared, at, std::as_bytes(std::span(&value, 1))).ok());
  }
  void set(Register reg, std::uint64_t value) {
    for (int lane = 0; lane < 128; ++lane) REQUIRE(machine.write_register(0, lane, reg, value).ok());
  }
  // By every lane, or by some.
  Result<Execution> execute(std::string_view text, const Binding& binding, int first = 0, int count = 128) {
    const Instruction instruction = parse(text);
    std::vector<const Instruction*> lanes(128);
    for (int lane = first; lane < first + count; ++lane) lanes[static_cast<std::size_t>(lane)] = &instruction;
    return machine.execute(0, lanes, binding);
  }
  void run(std::string_view text, const Binding& binding = {}, int first = 0, int count = 128) {
    const Result<Execution> done = execute(text, binding, first, count);
    INFO(text << ": " << (done ? "" : done.error().message()));
    REQUIRE(done.ok());
  }

  void allocate() {
    run("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [p], n;", {address, columns}, 0, 32);
  }
  Result<Execution> mma() {
    return execute("tcgen05.mma.cta_group::1.kind::f16 [d], a, b, i, p;", {d, a, b, idesc, enable}, 0, 1);
  }
  void commit() {
    run("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [m];", {mbar}, 0, 1);
  }
  Result<Execution> load() {
    Result<Execution> out{Execution{}};
    for (int warp = 0; warp < 4 && out; ++warp) {
      set(d, static_cast<std::uint64_t>(warp) << 21);
      out = execute("tcgen05.ld.sync.aligned.32x32b.x16.b32 {r}, [d];", {word, d}, 32 * warp, 32);
    }
    set(d, 0);
    return out;
  }
  void wait(std::string_view what) { run(fmt::format("tcgen05.wait::{}.sync.aligned;", what)); }
};

TEST_CASE("a product in tensor memory, from allocation to deallocation", "[quick][tensor]") {
  Block block;
  block.allocate();
  std::array<std::byte, 4> written;
  REQUIRE(block.machine.read_memory(Space::shared, 60000, written).ok());
  CHECK(std::bit_cast<std::uint32_t>(written) == 0);
  const Result<Execution> done = block.mma();
  REQUIRE(done.ok());
  CHECK(done->inferred);  // no published word tells its L, or where C is added
  block.commit();
  REQUIRE(block.load().ok());
  block.wait("ld");
  for (int m = 0; m < 128; ++m)
    for (int n = 0; n < kN; ++n) {  // A picks k = m % 16 of B
      const auto half = static_cast<std::uint32_t>(0x4000 + n + 16 * (m % 16));
      const std::uint32_t f32 = 0x4000'0000 + ((half & 0x3FF) << 13);
      REQUIRE(block.machine.registers(0).read(m, word + n) == f32);
    }
  block.run("tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, n;", {d, columns}, 0, 32);
  block.run("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;", {}, 0, 32);
  CHECK(block.machine.tensor_memory().allocations().empty());
}

TEST_CASE("each mistake with tensor memory, beside its neighbour", "[quick][tensor]") {
  struct Row {
    std::string_view name;
    std::function<Result<Execution>(Block&, bool mistaken)> run;
    std::string_view says;
  };
  const Row rows[] = {
      {"ld before commit",
       [](Block& block, bool mistaken) {
         REQUIRE(block.mma().ok());
         if (!mistaken) block.commit();
         return block.load();
       },
       "tcgen05.commit, and a wait for it, must come between them"},
      {"no proxy fence",
       [](Block& block, bool mistaken) {
         block.store(byte_of(0, 0), kOne);
         if (!mistaken) block.run("fence.proxy.async;");
         return block.mma();
       },
       "fence.proxy.async must come between that write and this statement"},
      {"a load that is overwritten",
       [](Block& block, bool mistaken) {
         REQUIRE(block.mma().ok());
         block.commit();
         REQUIRE(block.load().ok());
         if (!mistaken) block.wait("ld");
         return block.mma();
       },
       "tcgen05.wait::ld must come between them"},
      {"a store that is read",
       [](Block& block, bool mistaken) {
         block.run("tcgen05.st.sync.aligned.32x32b.x16.b32 [d], {r};", {d, word}, 0, 32);
         if (!mistaken) block.wait("st");
         return block.mma();
       },
       "tcgen05.wait::st must come between them"},
      {"another accumulator over it",
       [](Block& block, bool mistaken) {
         REQUIRE(block.mma().ok());
         block.set(d, mistaken ? 8 : 16);
         return block.mma();
       },
       "tcgen05.commit, and a wait for it, must come between them"},
      {"another warp's lanes",
       [](Block& block, bool mistaken) {
         block.set(d, 32U << 16);
         return block.execute("tcgen05.ld.sync.aligned.32x32b.x16.b32 {r}, [d];", {word, d}, mistaken ? 0 : 32,
                              32);
       },
       "lanes 0 to 31"},
      {"columns that are not allocated",
       [](Block& block, bool mistaken) {
         block.set(d, mistaken ? 60 : 48);
         return block.mma();
       },
       "columns that tcgen05.alloc has allocated"},
      {"two threads issue it",
       [](Block& block, bool mistaken) {
         return block.execute("tcgen05.mma.cta_group::1.kind::f16 [d], a, b, i, p;", {d, a, b, idesc, enable},
                              0, mistaken ? 2 : 1);
       },
       "one thread"},
      {"freed too early",
       [](Block& block, bool mistaken) {
         REQUIRE(block.mma().ok());
         if (!mistaken) block.commit();
         return block.execute("tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, n;", {d, columns}, 0, 32);
       },
       "tcgen05.commit"},
  };
  for (const Row& row : rows)
    for (const bool mistaken : {false, true}) {
      Block block;
      block.allocate();
      CAPTURE(row.name, mistaken);
      const Result<Execution> done = row.run(block, mistaken);
      INFO((done ? "" : done.error().message()));
      REQUIRE(done.ok() == !mistaken);
      if (mistaken) CHECK_THAT(done.error().message(), Catch::Contains(std::string(row.says)));
    }
}

TEST_CASE("a pair of machines", "[quick][tensor]") {
  Block even, odd;
  even.allocate(), odd.allocate();
  const std::string_view text = "tcgen05.mma.cta_group::2.kind::f16 [d], a, b, i, p;";
  even.set(idesc, 1U << 4 | (kN >> 3) << 17 | (256U >> 4) << 24);
  const Binding binding{d, a, b, idesc, enable};
  const Result<Execution> alone = even.execute(text, binding, 0, 1);
  REQUIRE_FALSE(alone.ok());
  CHECK(alone.error().code == Errc::machine_needed);
  Machine::pair(even.machine, odd.machine);
  even.run(text, binding, 0, 1);
  // Columns 8 to 15 are those of the other block's B, which are the same here.
  for (const Block* block : {&even, &odd})
    for (int n = 0; n < kN; ++n)
      CHECK(block->machine.tensor_memory().read(3, n) ==
            0x4000'0000U + static_cast<std::uint32_t>((n % 8 + 16 * 3) << 13));
}

}  // namespace tensor_machine_test
