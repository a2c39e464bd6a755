// SPDX-License-Identifier: Apache-2.0
// Moving matrices between memory and registers: every refusal, hand-written moves, and a bit-by-bit model.
#include "kernel/move.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <numeric>
#include <random>

namespace move_test {

using namespace warpbit;
using Catch::Matchers::Equals;
using Addresses = std::vector<std::uint64_t>;
using Strides = std::vector<std::uint32_t>;
using Cells = std::vector<std::uint64_t>;

// Lines of four bytes in shared memory, one lane for each byte: lane l holds byte l % 4 of line l / 4 in bits
// 8 ... 15 of its only register. Lanes 0 ... lines - 1 give the addresses.
Move bytes_by_rows(int lines) {
  Move move;
  move.lanes = 4 * lines;
  move.registers = 1;
  move.lines = lines;
  move.line_elements = 4;
  move.element_bits = 8;
  move.line_bytes = 4;
  move.alignment = 4;
  move.shared_only = true;
  for (int lane = 0; lane < move.lanes; ++lane) move.elements.push_back({{lane, 0, 8, 8}, lane / 4, lane % 4});
  return move;
}

// The same, at one address and a stride that is a multiple of two bytes.
Move bytes_by_matrix(int lines) {
  Move move = bytes_by_rows(lines);
  move.addressing = Addressing::matrix;
  move.shared_only = false;
  move.stride_multiple = 2;
  return move;
}

// Shared memory of 64 bytes whose byte i is i, its window at 0x100.
Memory counting_memory() {
  Memory memory(64, 0x100);
  std::vector<std::byte> image;
  for (int i = 0; i < 64; ++i) image.push_back(static_cast<std::byte>(i));
  REQUIRE(memory.write(Space::shared, 0, image).ok());
  return memory;
}

template <class T>
std::string refusal(const Result<T>& result, Errc code) {
  REQUIRE_FALSE(result.ok());
  CHECK(name(result.error().code) == name(code));
  return result.error().message();
}

std::string load_refusal(const Move& move, const MoveAddresses& at, Errc code) {
  Cells cells(static_cast<std::size_t>(move.lanes * move.registers), 77);
  const std::string message = refusal(load_matrix(move, at, counting_memory(), cells), code);
  CHECK(std::ranges::all_of(cells, [](std::uint64_t c) { return c == 77; }));
  // A store refuses what a load refuses.
  CHECK(refusal(store_matrix(move, at, counting_memory(), cells), code) == message);
  return message;
}

TEST_CASE("lane by lane: a line each, elements where the move says") {
  const Move move = bytes_by_rows(2);
  const Memory memory = counting_memory();
  // The lanes that name no line may say anything.
  const Addresses addresses = {0x20, 0x04, 1, 2, 3, 0xFFFFFFFF, 5, 6};
  Cells cells(8, ~std::uint64_t{0});
  const auto reads = load_matrix(move, {Space::shared, addresses, {}}, memory, cells);
  REQUIRE(reads.ok());
  CHECK(cells == Cells{0x2000, 0x2100, 0x2200, 0x2300, 0x0400, 0x0500, 0x0600, 0x0700});
  REQUIRE(reads->size() == 2);
  CHECK(reads->at(1).lane == 1);
  CHECK(reads->at(1).space == Space::shared);
  CHECK(reads->at(1).address == 4);
  CHECK(reads->at(1).bytes == 4);

  for (std::uint64_t& c : cells) c ^= 0xFF11;  // the low byte is not stored
  const auto writes = store_matrix(move, {Space::shared, addresses, {}}, memory, cells);
  REQUIRE(writes.ok());
  REQUIRE(writes->size() == 2);
  const std::vector<std::byte> expected = {std::byte{0xDF}, std::byte{0xDE}, std::byte{0xDD}, std::byte{0xDC}};
  CHECK(writes->at(0).lane == 0);
  CHECK(writes->at(0).space == Space::shared);
  CHECK(writes->at(0).address == 0x20);
  CHECK(writes->at(0).bytes == expected);
  CHECK(writes->at(1).address == 4);

  // The same through the window; two lines at one address are fine for a load.
  Cells again(8);
  const Addresses generic = {0x124, 0x124, 0, 0, 0, 0, 0, 0};
  REQUIRE(load_matrix(move, {Space::generic, generic, {}}, memory, again).ok());
  CHECK(again == Cells{0x2400, 0x2500, 0x2600, 0x2700, 0x2400, 0x2500, 0x2600, 0x2700});
}

TEST_CASE("one address and a stride") {
  const Move move = bytes_by_matrix(2);
  Memory memory = counting_memory();
  REQUIRE(memory.add_global(0x1000, 12).ok());
  const Addresses at_four(8, 4);
  Cells cells(8);
  const auto reads = load_matrix(move, {Space::shared, at_four, Strides(8, 6)}, memory, cells);
  REQUIRE(reads.ok());
  CHECK(cells == Cells{0x0400, 0x0500, 0x0600, 0x0700, 0x0A00, 0x0B00, 0x0C00, 0x0D00});
  REQUIRE(reads->size() == 2);
  CHECK(reads->at(1).lane == Effects::kEveryLane);
  CHECK(reads->at(1).address == 10);
  // Without a stride the lines follow each other.
  REQUIRE(load_matrix(move, {Space::shared, at_four, {}}, memory, cells).ok());
  CHECK(cells[4] == 0x0800);

  const auto writes = store_matrix(move, {Space::global, Addresses(8, 0x1004), {}}, memory, cells);
  REQUIRE(writes.ok());
  REQUIRE(writes->size() == 2);
  CHECK(writes->at(1).lane == Effects::kEveryLane);
  CHECK(writes->at(1).space == Space::global);
  CHECK(writes->at(1).address == 0x1008);
  CHECK(writes->at(1).bytes ==
        std::vector<std::byte>{std::byte{8}, std::byte{9}, std::byte{10}, std::byte{11}});
}

TEST_CASE("refusals: lane by lane") {
  Move move = bytes_by_rows(2);
  const auto at = [](Space space, const Addresses& addresses) { return MoveAddresses{space, addresses, {}}; };
  const Addresses odd = {0x20, 0x16, 0, 0, 0, 0, 0, 0}, beyond = {0x20, 0x40, 0, 0, 0, 0, 0, 0},
                  outside = {0x20, 0x100, 0, 0, 0, 0, 0, 0}, idle = {0x20, 0x24, 0, 0, 0, 2, 0, 0},
                  idle_beyond = {0x20, 0x24, 0, 0, 0, 0x80, 0, 0}, same = {0x20, 0x20, 0, 0, 0, 0, 0, 0};
  CHECK_THAT(load_refusal(move, at(Space::shared, odd), Errc::address_misaligned),
             Equals("lane 1: address 0x16 is misaligned; it must be a multiple of 4 bytes"));
  CHECK_THAT(
      load_refusal(move, at(Space::shared, beyond), Errc::address_out_of_bounds),
      Equals("lane 1: 4 bytes from 0x40 of the shared space are out of bounds; there is shared memory at "
             "0x0 to 0x3f"));
  CHECK_THAT(
      load_refusal(move, at(Space::generic, outside), Errc::address_not_shared),
      Equals("lane 0: generic address 0x20 does not point into shared memory; it begins at 0x100 and has "
             "64 bytes"));
  const Addresses above(8, 0x140);
  CHECK_THAT(
      load_refusal(move, at(Space::generic, above), Errc::address_not_shared),
      Equals("lane 0: generic address 0x140 does not point into shared memory; it begins at 0x100 and has "
             "64 bytes"));
  // The same where global memory would take it.
  Memory global(0);
  REQUIRE(global.add_global(0, 0x200).ok());
  Cells cells(8);
  CHECK_THAT(refusal(load_matrix(move, at(Space::generic, above), global, cells), Errc::address_not_shared),
             Equals("lane 0: generic address 0x140 does not point into shared memory; there is none"));

  Cells loaded(8);
  REQUIRE(load_matrix(move, at(Space::shared, idle), counting_memory(), loaded).ok());
  REQUIRE(load_matrix(move, at(Space::shared, idle_beyond), counting_memory(), loaded).ok());
  move.every_lane_valid = true;
  CHECK_THAT(load_refusal(move, at(Space::shared, idle), Errc::address_misaligned),
             Equals("lane 5: address 0x2 is misaligned; it must be a multiple of 4 bytes"));
  CHECK_THAT(
      load_refusal(move, at(Space::shared, idle_beyond), Errc::address_out_of_bounds),
      Equals("lane 5: 4 bytes from 0x80 of the shared space are out of bounds; there is shared memory at "
             "0x0 to 0x3f"));
  // Lanes that name no line neither read nor overlap.
  const auto all_valid = load_matrix(move, at(Space::shared, same), counting_memory(), loaded);
  REQUIRE(all_valid.ok());
  CHECK(all_valid->size() == 2);
  REQUIRE(store_matrix(move, at(Space::shared, same), counting_memory(), loaded).ok());
  loaded[5] ^= 0x100;  // the second byte of line 1
  CHECK_THAT(
      refusal(store_matrix(move, at(Space::shared, same), counting_memory(), loaded), Errc::stores_overlap),
      Equals(
          "lane 1: it stores another value to 0x21 than lane 0; lines of a store may overlap where they have the same "
          "bytes"));
  REQUIRE(store_matrix(move, at(Space::shared, {0x20, 0x24, 0x20, 0x20, 0x20, 0x20, 0x20, 0x20}),
                       counting_memory(), loaded)
              .ok());
}

TEST_CASE("refusals: stored lines that overlap in part, in any order, with other bytes") {
  const std::string kMay = "; lines of a store may overlap where they have the same bytes";
  Move move = bytes_by_rows(3);
  move.alignment = 1;
  const auto message = [&](Addresses addresses) {
    addresses.resize(12);
    Cells cells(12);
    REQUIRE(load_matrix(move, {Space::shared, addresses, {}}, counting_memory(), cells).ok());
    REQUIRE(store_matrix(move, {Space::shared, addresses, {}}, counting_memory(), cells).ok());
    for (std::size_t i = 8; i < 12; ++i) cells[i] = 0x7700;  // line 2
    return refusal(store_matrix(move, {Space::shared, addresses, {}}, counting_memory(), cells),
                   Errc::stores_overlap);
  };
  CHECK_THAT(message({0x10, 0x20, 0x13}), Equals("lane 2: it stores another value to 0x13 than lane 0" + kMay));
  CHECK_THAT(message({0x13, 0x20, 0x10}), Equals("lane 2: it stores another value to 0x13 than lane 0" + kMay));
  CHECK_THAT(message({0x00, 0x05, 0x02}), Equals("lane 2: it stores another value to 0x2 than lane 0" + kMay));
  Cells cells(12);
  Addresses apart = {0x14, 0x10, 0x18};
  apart.resize(12);
  CHECK(store_matrix(move, {Space::shared, apart, {}}, counting_memory(), cells).ok());
}

TEST_CASE("refusals: one address and a stride") {
  const Move move = bytes_by_matrix(2);
  Addresses addresses(8, 8);
  Strides strides(8, 4);
  const auto message = [&](Errc code, Space space = Space::shared) {
    return load_refusal(move, {space, addresses, strides}, code);
  };
  addresses[3] = 12;
  CHECK_THAT(message(Errc::addresses_disagree),
             Equals("lane 3: address 0xc, but lane 0 has 0x8; all lanes must give the same"));
  addresses[3] = 8;
  strides[7] = 6;
  CHECK_THAT(message(Errc::addresses_disagree),
             Equals("lane 7: stride 0x6, but lane 0 has 0x4; all lanes must give the same"));
  strides.assign(8, 3);
  CHECK_THAT(message(Errc::undefined_operand),
             Equals("stride: 3 is undefined; defined is 4 elements, the length of a line, or more"));
  strides.assign(8, 5);
  CHECK_THAT(message(Errc::address_misaligned),
             Equals("stride: 5 elements of 8 bits is misaligned; it must be a multiple of 2 bytes"));
  strides.assign(8, 6);
  addresses.assign(8, 6);
  CHECK_THAT(message(Errc::address_misaligned),
             Equals("all lanes: address 0x6 is misaligned; it must be a multiple of 4 bytes"));
  addresses.assign(8, 56);
  CHECK_THAT(
      message(Errc::address_out_of_bounds),
      Equals(
          "line 1 of the tile, 6 elements from line to line: 4 bytes from 0x3e of the shared space are out of bounds; "
          "there is shared memory at 0x0 to 0x3f"));
  strides.assign(8, 0xFFFFFFFE);
  CHECK_THAT(
      message(Errc::address_out_of_bounds),
      Equals(
          "line 1 of the tile, 4294967294 elements from line to line: 4 bytes from 0x100000036 of the shared space "
          "are out of bounds; there is shared memory at 0x0 to 0x3f"));
  addresses.assign(8, std::numeric_limits<std::uint64_t>::max() - 3);
  CHECK_THAT(
      message(Errc::address_out_of_bounds, Space::generic),
      Equals(
          "line 1 of the tile: 4 bytes from 0xfffffffffffffffc + 0xfffffffe are out of bounds; addresses have 64 "
          "bits"));
}

TEST_CASE("sub-byte elements come in their slots, little-endian, without the padding") {
  // 16 elements of `bits` bits in lines of 16 bytes; lane l holds elements 4 l ... 4 l + 3 in bytes.
  const auto loaded = [](int bits, const std::vector<std::byte>& line) {
    Move move;
    move.lanes = 4;
    move.registers = 1;
    move.lines = 1;
    move.line_elements = 16;
    move.element_bits = bits;
    move.line_bytes = 16;
    move.alignment = 16;
    for (int j = 0; j < 16; ++j) move.elements.push_back({{j / 4, 0, 8 * (j % 4), bits}, 0, j});
    Memory memory(32);
    REQUIRE(memory.write(Space::shared, 16, line).ok());
    Cells cells(4);
    const Addresses addresses(4, 16);
    REQUIRE(load_matrix(move, {Space::shared, addresses, {}}, memory, cells).ok());
    return cells;
  };
  std::vector<std::byte> line(16, std::byte{0xFF});
  for (int i = 0; i < 8; ++i) line[static_cast<std::size_t>(i)] = static_cast<std::byte>(0x21 * i);
  // 00 21 42 63 84 a5 c6 e7: low nibble first
  CHECK(loaded(4, line) == Cells{0x02010000, 0x06030402, 0x0A050804, 0x0E070C06});
  // 00 10 20 | 30 40 50 ...: three bytes hold four elements of six bits
  line.assign(16, std::byte{0xFF});
  const std::uint8_t packed[12] = {0x41, 0x20, 0x0C,   // 1, 1, 2, 3
                                   0x3F, 0x00, 0xFC,   // 63, 0, 0, 63
                                   0x00, 0xF0, 0x03,   // 0, 0, 63, 0
                                   0xC0, 0x0F, 0x00};  // 0, 63, 0, 0
  for (std::size_t i = 0; i < 12; ++i) line[i] = std::byte{packed[i]};
  CHECK(loaded(6, line) == Cells{0x03020101, 0x3F00003F, 0x003F0000, 0x00003F00});
}

// A random move: which (lane, register, slot) holds which element is a random permutation, with the elements
// repeated if there is room. Stores need whole bytes and no repetition.
Move random_move(std::mt19937& random, Addressing addressing, bool store) {
  const auto pick = [&](std::vector<int> of) { return of[random() % of.size()]; };
  Move move;
  move.addressing = addressing;
  move.lanes = 32;
  move.lines = pick({8, 16, 32});
  move.element_bits = store ? pick({8, 16, 32, 64}) : pick({1, 4, 6, 8, 16, 32, 64});
  move.line_elements = pick({8, 16, 32});
  const int bytes = move.line_elements * move.element_bits / 8;
  move.line_bytes = store ? bytes : bytes + pick({0, 4, 8});
  move.alignment = pick({1, 2, 4, 8});
  const int register_bits = move.element_bits == 64 ? 64 : 32;
  const int slot_bits = move.element_bits == 6 ? 8 : move.element_bits;
  const int per = register_bits / slot_bits;
  const int elements = move.lines * move.line_elements, copies = store ? 1 : pick({1, 2});
  move.registers = std::max(1, (elements * copies + 32 * per - 1) / (32 * per));
  std::vector<int> slots(static_cast<std::size_t>(32 * move.registers * per));
  std::iota(slots.begin(), slots.end(), 0);
  std::ranges::shuffle(slots, random);
  for (int n = 0; n < elements * copies; ++n) {
    const int slot = slots[static_cast<std::size_t>(n)], element = n % elements;
    move.elements.push_back(
        {{slot / per / move.registers, slot / per % move.registers, slot % per * slot_bits, move.element_bits},
         element / move.line_elements,
         element % move.line_elements});
  }
  return move;
}

// Addresses that a store may have: the lines lie apart, in any order.
struct Operands {
  Addresses addresses;
  Strides strides;
  std::uint64_t memory_bytes = 0;
};

Operands random_operands(std::mt19937& random, const Move& move) {
  Operands out;
  const auto a = static_cast<std::uint64_t>(move.alignment);
  if (move.addressing == Addressing::matrix) {
    const std::uint64_t first = random() % 16 * a;
    auto stride = static_cast<std::uint32_t>(move.line_elements);
    if (random() % 4 != 0) {
      stride += static_cast<std::uint32_t>(random() % 9);
      while (stride * static_cast<std::uint32_t>(move.element_bits) % 8 != 0) ++stride;
      out.strides.assign(32, stride);
    }
    out.addresses.assign(32, first);
    out.memory_bytes = first +
                       std::uint64_t{stride} * static_cast<std::uint64_t>(move.element_bits) / 8 *
                           static_cast<std::uint64_t>(move.lines - 1) +
                       static_cast<std::uint64_t>(move.line_bytes);
    return out;
  }
  const std::uint64_t pitch = (static_cast<std::uint64_t>(move.line_bytes) + a - 1) / a * a;
  for (std::uint64_t i = 0; i < 32; ++i) out.addresses.push_back(i * pitch);
  std::ranges::shuffle(out.addresses, random);
  out.memory_bytes = 32 * pitch;
  return out;
}

bool bit(const std::vector<std::byte>& bytes, std::uint64_t n) {
  return (static_cast<unsigned>(bytes[n / 8]) >> (n % 8) & 1) != 0;
}

// The bit of memory that is bit b of an element, from the definition of a line.
std::uint64_t bit_in_memory(const Move& move, const Operands& at, const MoveElement& e, int b) {
  std::uint64_t begin = 0;
  if (move.addressing == Addressing::rows) {
    begin = 8 * at.addresses[static_cast<std::size_t>(e.line)];
  } else {
    const std::uint64_t stride =
        at.strides.empty() ? static_cast<std::uint64_t>(move.line_elements) : at.strides[0];
    begin = 8 * at.addresses[0] +
            static_cast<std::uint64_t>(e.line) * stride * static_cast<std::uint64_t>(move.element_bits);
  }
  return begin + static_cast<std::uint64_t>(e.position * move.element_bits + b);
}

TEST_CASE("random loads against a bit-by-bit model") {
  std::mt19937 random(1);
  for (int n = 0; n < 600; ++n) {
    const Move move = random_move(random, n % 2 ? Addressing::rows : Addressing::matrix, false);
    const Operands at = random_operands(random, move);
    CAPTURE(n, move.lines, move.line_elements, move.element_bits, move.line_bytes, move.registers);
    std::vector<std::byte> image(at.memory_bytes);
    for (std::byte& b : image) b = static_cast<std::byte>(random());
    Memory memory(at.memory_bytes, 0x5000);
    REQUIRE(memory.write(Space::shared, 0, image).ok());

    Cells expected(static_cast<std::size_t>(32 * move.registers));
    for (const MoveElement& e : move.elements)
      for (int b = 0; b < move.element_bits; ++b)
        if (bit(image, bit_in_memory(move, at, e, b)))
          expected[static_cast<std::size_t>(e.bits.lane * move.registers + e.bits.reg)] |=
              std::uint64_t{1} << (e.bits.low_bit + b);
    Cells cells(expected.size(), 0xABABABABABABABAB);
    const auto reads = load_matrix(move, {Space::shared, at.addresses, at.strides}, memory, cells);
    INFO((reads ? std::string() : reads.error().message()));
    REQUIRE(reads.ok());
    REQUIRE(cells == expected);
    REQUIRE(reads->size() == static_cast<std::size_t>(move.lines));
  }
}

TEST_CASE("random stores against a bit-by-bit model") {
  std::mt19937 random(2);
  for (int n = 0; n < 600; ++n) {
    const Move move = random_move(random, n % 2 ? Addressing::rows : Addressing::matrix, true);
    const Operands at = random_operands(random, move);
    CAPTURE(n, move.lines, move.line_elements, move.element_bits, move.line_bytes, move.registers);
    std::vector<std::byte> expected(at.memory_bytes), image(at.memory_bytes);
    for (std::byte& b : expected) b = static_cast<std::byte>(random());
    Memory memory(at.memory_bytes);
    REQUIRE(memory.write(Space::shared, 0, expected).ok());

    Cells cells(static_cast<std::size_t>(32 * move.registers));
    for (std::uint64_t& c : cells) c = std::uint64_t{random()} << 32 | random();
    for (const MoveElement& e : move.elements)
      for (int b = 0; b < move.element_bits; ++b) {
        const std::uint64_t to = bit_in_memory(move, at, e, b);
        const bool one = (cells[static_cast<std::size_t>(e.bits.lane * move.registers + e.bits.reg)] >>
                              (e.bits.low_bit + b) &
                          1) != 0;
        expected[to / 8] &= ~(std::byte{1} << (to % 8));
        if (one) expected[to / 8] |= std::byte{1} << (to % 8);
      }
    const auto writes = store_matrix(move, {Space::shared, at.addresses, at.strides}, memory, cells);
    INFO((writes ? std::string() : writes.error().message()));
    REQUIRE(writes.ok());
    Effects effects;
    effects.memory_writes = *writes;
    Registers registers(32, 1);
    REQUIRE(apply(effects, registers, memory).ok());
    REQUIRE(memory.read(Space::shared, 0, image).ok());
    REQUIRE(image == expected);
  }
}

}  // namespace move_test
