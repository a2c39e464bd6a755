// SPDX-License-Identifier: Apache-2.0
// The memory of a block: spaces, bounds, effects on it, and what its banks cost.
#include "warpbit/state.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <string>

namespace memory_test {

using namespace warpbit;
using Catch::Matchers::Equals;
using Bytes = std::vector<std::byte>;

Bytes bytes(std::initializer_list<int> values) {
  Bytes out;
  for (const int v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

Bytes read(const Memory& memory, Space space, std::uint64_t address, std::size_t count) {
  Bytes out(count);
  const Result<void> done = memory.read(space, address, out);
  INFO((done ? std::string() : done.error().message()));
  REQUIRE(done.ok());
  return out;
}

std::string refusal(const Result<void>& result, Errc code) {
  REQUIRE_FALSE(result.ok());
  CHECK(name(result.error().code) == name(code));
  return result.error().message();
}

constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();

// Shared memory of 64 bytes with its window at 0x1000, and global memory below, above and at the very end.
Memory three_ranges() {
  Memory memory(64, 0x1000);
  REQUIRE(memory.add_global(0x800, 0x20).ok());
  REQUIRE(memory.add_global(0x2000, 0x10).ok());
  REQUIRE(memory.add_global(kLast - 7, 8).ok());
  return memory;
}

TEST_CASE("a byte has one address in its own space and one in the generic space") {
  Memory memory = three_ranges();
  CHECK(memory.shared_bytes() == 64);
  CHECK(memory.window() == 0x1000);
  CHECK(read(memory, Space::shared, 0, 64) == Bytes(64));
  CHECK(read(memory, Space::global, 0x800, 0x20) == Bytes(0x20));

  REQUIRE(memory.write(Space::shared, 60, bytes({1, 2, 3, 4})).ok());
  CHECK(read(memory, Space::generic, 0x1000 + 59, 5) == bytes({0, 1, 2, 3, 4}));
  REQUIRE(memory.write(Space::generic, 0x1000, bytes({5, 6})).ok());
  CHECK(read(memory, Space::shared, 0, 3) == bytes({5, 6, 0}));

  REQUIRE(memory.write(Space::global, kLast - 1, bytes({7, 8})).ok());
  CHECK(read(memory, Space::generic, kLast - 7, 8) == bytes({0, 0, 0, 0, 0, 0, 7, 8}));
  REQUIRE(memory.write(Space::generic, 0x200C, bytes({9, 10, 11, 12})).ok());
  CHECK(read(memory, Space::global, 0x200C, 4) == bytes({9, 10, 11, 12}));

  Memory copy = memory;
  REQUIRE(copy.write(Space::shared, 0, bytes({0})).ok());
  CHECK(read(memory, Space::shared, 0, 1) == bytes({5}));
}

TEST_CASE("bytes outside a space are refused with what there is") {
  Memory memory = three_ranges();
  const auto refused = [&](Space space, std::uint64_t address, std::size_t count) {
    CHECK_FALSE(memory.contains(space, address, count));
    Bytes out(count);
    const std::string read_message = refusal(memory.read(space, address, out), Errc::address_out_of_bounds);
    CHECK(refusal(memory.write(space, address, out), Errc::address_out_of_bounds) == read_message);
    return read_message;
  };
  CHECK_THAT(
      refused(Space::shared, 61, 4),
      Equals("memory: 4 bytes from 0x3d of the shared space are out of bounds; there is shared memory at "
             "0x0 to 0x3f"));
  CHECK_THAT(
      refused(Space::generic, 0x1000 + 61, 4),
      Equals("memory: 4 bytes from 0x103d of the generic space are out of bounds; there is shared memory "
             "at 0x1000 to 0x103f, global memory at 0x800 to 0x81f, global memory at 0x2000 to 0x200f, "
             "global memory at 0xfffffffffffffff8 to 0xffffffffffffffff"));
  REQUIRE(memory.add_global(0x3000, 1).ok());
  REQUIRE(memory.add_global(0x3001, 1).ok());  // they touch, but nothing goes across
  CHECK_THAT(refused(Space::global, 0x3000, 2),
             Equals("memory: 2 bytes from 0x3000 of the global space are out of bounds; there is global memory "
                    "at 0x800 to 0x81f, global memory at 0x2000 to 0x200f, global memory at 0xfffffffffffffff8 "
                    "to 0xffffffffffffffff, global memory at 0x3000 to 0x3000 and 1 more"));
  refused(Space::shared, 0x1000, 1);  // a generic address is none of the shared space
  refused(Space::global, 0x1000, 1);
  refused(Space::shared, kLast, 1);
  refused(Space::shared, kLast, 2);
  refused(Space::global, kLast, 2);
  refused(Space::generic, 0x7FF, 2);
  CHECK(memory.contains(Space::global, kLast, 1));
  CHECK_FALSE(memory.contains(Space::shared, 1, kLast));

  Bytes one(1);
  const Memory none;
  CHECK_THAT(refusal(none.read(Space::shared, 0, one), Errc::address_out_of_bounds),
             Equals("memory: 1 bytes from 0x0 of the shared space are out of bounds; there is none"));
}

TEST_CASE("ranges of memory do not overlap") {
  Memory memory = three_ranges();
  CHECK_THAT(refusal(memory.add_global(0xFFF, 2), Errc::memory_overlap),
             Equals("global memory: 0xfff to 0x1000 overlaps shared memory at 0x1000 to 0x103f"));
  CHECK_THAT(refusal(memory.add_global(0x81F, 1), Errc::memory_overlap),
             Equals("global memory: 0x81f to 0x81f overlaps global memory at 0x800 to 0x81f"));
  CHECK_THAT(refusal(memory.add_global(0x7F0, 0x100), Errc::memory_overlap),
             Equals("global memory: 0x7f0 to 0x8ef overlaps global memory at 0x800 to 0x81f"));
  CHECK_THAT(
      refusal(memory.add_global(kLast, 2), Errc::address_out_of_bounds),
      Equals("global memory: 2 bytes from 0xffffffffffffffff are out of bounds; addresses have 64 bits"));
  CHECK(memory.add_global(0xFFF, 1).ok());
  CHECK(memory.add_global(0x1040, 1).ok());
  CHECK(memory.add_global(0x1000, 0).ok());  // no bytes, no overlap
  CHECK_THROWS_AS(Memory(kLast), std::bad_alloc);
}

TEST_CASE("effects on memory are applied as a whole or not at all") {
  Memory memory(16);
  Registers registers(2, 1);
  Effects effects;
  effects.writes.push_back({1, 0, 0x1234});
  effects.memory_writes.push_back({0, Space::shared, 2, bytes({1, 2})});
  effects.memory_writes.push_back({Effects::kEveryLane, Space::generic, 14, bytes({3, 4})});
  REQUIRE(apply(effects, registers, memory).ok());
  CHECK(registers.read(1, 0) == 0x1234);
  CHECK(read(memory, Space::shared, 0, 16) == bytes({0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 4}));

  effects.writes[0].value = 0x5678;
  effects.memory_writes[0].bytes = bytes({5, 6});
  effects.memory_writes[1].address = 15;
  CHECK_THAT(
      refusal(apply(effects, registers, memory), Errc::address_out_of_bounds),
      Equals("memory: 2 bytes from 0xf of the generic space are out of bounds; there is shared memory at "
             "0x0 to 0xf"));
  CHECK(registers.read(1, 0) == 0x1234);
  CHECK(read(memory, Space::shared, 2, 2) == bytes({1, 2}));
}

TEST_CASE("bank conflicts, counted by hand") {
  using Phases = std::vector<int>;
  const auto phases = [](std::vector<std::uint64_t> addresses, int line_bytes = 16) {
    const BankConflicts found = bank_conflicts(addresses, line_bytes);
    int total = 0;
    for (const int extra : found.phases) total += extra;
    CHECK(found.total == total);
    return found.phases;
  };
  // Row i of 16 bytes at i * stride, for 8, 16 or 32 lanes.
  const auto rows = [](int count, std::uint64_t stride) {
    std::vector<std::uint64_t> out;
    for (int i = 0; i < count; ++i) out.push_back(static_cast<std::uint64_t>(i) * stride);
    return out;
  };
  CHECK(phases(rows(8, 16)) == Phases{0});   // 128 bytes in a row: every bank once
  CHECK(phases(rows(8, 32)) == Phases{1});   // rows 0 and 4 begin in bank 0
  CHECK(phases(rows(8, 64)) == Phases{3});   // even rows in bank 0, odd ones in bank 16
  CHECK(phases(rows(8, 128)) == Phases{7});  // all in bank 0
  CHECK(phases(rows(8, 80)) == Phases{0});   // 64 + 16 of padding: banks 0, 20, 8, 28, 16, 4, 24, 12
  CHECK(phases(rows(8, 144)) == Phases{0});  // 128 + 16: banks 0, 4, 8, ...
  CHECK(phases(rows(8, 256)) == Phases{7});
  CHECK(phases(rows(16, 128)) == Phases{7, 7});
  CHECK(phases(rows(32, 64)) == Phases{3, 3, 3, 3});
  CHECK(phases(std::vector<std::uint64_t>(8, 48)) == Phases{0});  // the same words for all
  CHECK(phases({0, 128, 0, 128, 0, 128, 0, 128}) == Phases{1});   // two different words a bank
  CHECK(phases({}) == Phases{});
  CHECK(phases({4}) == Phases{0});
  CHECK(phases(rows(9, 128)) == Phases{7, 0});  // the second phase has one lane

  // A row has 128 bytes; its 16-byte chunk c is stored at chunk c ^ (row % 8). Every column of chunks is free.
  for (std::uint64_t chunk = 0; chunk < 8; ++chunk) {
    std::vector<std::uint64_t> swizzled;
    for (std::uint64_t row = 0; row < 8; ++row) swizzled.push_back(row * 128 + (chunk ^ row) * 16);
    CHECK(phases(swizzled) == Phases{0});
  }
  // Swizzled over 4 chunks only: rows r and r + 4 share their banks.
  std::vector<std::uint64_t> half;
  for (std::uint64_t row = 0; row < 8; ++row) half.push_back(row * 128 + (row % 4) * 16);
  CHECK(phases(half) == Phases{1});

  CHECK(phases(rows(32, 4), 4) == Phases{0});  // a word for each lane, all lanes in one phase
  CHECK(phases(rows(32, 8), 4) == Phases{1});  // every other word
  CHECK(phases(rows(32, 8), 8) == Phases{0, 0});
  CHECK(phases({0, 0}, 256) == Phases{1, 1});  // 64 words on 32 banks
  CHECK(phases({kLast}, 16) == Phases{0});     // any address is an address
}

}  // namespace memory_test
