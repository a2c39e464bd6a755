// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix and movmatrix on one warp, against the words of the PTX manual ("Warp-level matrix load
// instruction: ldmatrix" and the two after it) and, where the manual has figures only, against the layouts of
// CUTLASS (include/cute/atom/copy_traits_sm100.hpp, include/cute/atom/mma_traits_sm120.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "warp.hpp"
#include "warpbit/state.hpp"

namespace matrix_move_test {

using namespace warp;
using Catch::Matchers::Equals;
using Addresses = std::vector<std::uint64_t>;

constexpr std::uint64_t kBytes = 4096, kWindow = 0x7000'0000'0000;

// ---- The model

// An element of matrix number `matrix`: its place in the line of 16 bytes whose address a lane gives.
struct LineElement {
  int matrix, line, position;
};

struct Shape {
  int lines;       // of a matrix
  int matrices;    // .num
  int per_matrix;  // registers
  int slots;       // elements in a register
  int bits;        // of an element in memory
  LineElement (*at)(int lane, int reg, int slot);
  bool is_signed = false;  // elements are sign-extended to their slots
};

// g = lane / 4, t = lane % 4. m8n8: "A group of four threads loads an entire row"; column-major with .trans.
LineElement row(int lane, int reg, int e) {
  return {reg, lane / 4, 2 * (lane % 4) + e};
}
LineElement column(int lane, int reg, int e) {
  return {reg, 2 * (lane % 4) + e, lane / 4};
}
// m16n16: four consecutive lines of place g, then of place g + 8.
LineElement tall(int lane, int reg, int e) {
  return {reg / 2, 4 * (lane % 4) + e, lane / 4 + 8 * (reg % 2)};
}
// m8n16: "Each thread in a warp loads 4 consecutive columns".
LineElement flat(int lane, int reg, int e) {
  return {reg, lane / 4, 4 * (lane % 4) + e};
}
// stmatrix m16n8: line 2 t + e % 2, which is a column of the matrix, places g and g + 8.
LineElement paired(int lane, int reg, int e) {
  return {reg, 2 * (lane % 4) + e % 2, lane / 4 + 8 * (e / 2)};
}

Shape shape_of(const std::string& form) {
  const int matrices = has(form, "x1") ? 1 : has(form, "x2") ? 2 : 4;
  if (has(form, "s4")) return {8, matrices, 1, 4, 4, flat, true};
  const int bits = has(form, "b16") ? 16 : has(form, "b6x16_p32") ? 6 : has(form, "b4x16_p64") ? 4 : 8;
  if (has(form, "m8n8")) return {8, matrices, 1, 2, bits, has(form, "trans") ? column : row};
  if (has(form, "m16n16")) return {16, matrices, 2, 4, bits, tall};
  return {8, matrices, 1, 4, bits, has(form, "m8n16") ? flat : paired};
}

// Register `reg` of `lane`, read from an image bit by bit; `starts` has the lines of matrix 0, then of 1, ...
std::uint64_t model(const Shape& shape, const Bytes& image, const Addresses& starts, int lane, int reg) {
  std::uint64_t out = 0;
  for (int e = 0; e < shape.slots; ++e) {
    const LineElement at = shape.at(lane, reg, e);
    const std::uint64_t start = starts.at(static_cast<std::size_t>(at.matrix * shape.lines + at.line));
    const int slot = 32 / shape.slots;
    const std::uint64_t code =
        bits(image, 8 * start + static_cast<std::uint64_t>(at.position * shape.bits), shape.bits);
    const bool is_negative = shape.is_signed && (code >> (shape.bits - 1) & 1) != 0;
    const std::uint64_t above = is_negative ? (std::uint64_t{1} << slot) - (std::uint64_t{1} << shape.bits) : 0;
    out |= (code | above) << (slot * e);
  }
  return out;
}

// ---- The warp

// Gives lines at these offsets in shared memory to the first lanes, and to the others what no lane may use.
void give(Warp& w, const Addresses& starts) {
  const bool generic = !has(std::string(w.instruction.canonical()), "shared") &&
                       !has(std::string(w.instruction.canonical()), "shared::cta");
  const auto offset = static_cast<std::uint64_t>(w.operand(Part::address).offset);
  for (int lane = 0; lane < 32; ++lane) {
    const auto i = static_cast<std::size_t>(lane);
    const std::uint64_t at = i < starts.size() ? starts[i] + (generic ? kWindow : 0) : w.random() | 1;
    w.set(Part::address, lane, at - offset);
  }
}

Addresses random_lines(Warp& w, const Shape& shape, bool distinct) {
  Addresses all(kBytes / 16), out;
  std::iota(all.begin(), all.end(), 0);
  std::ranges::shuffle(all, w.random);
  const auto count = static_cast<std::size_t>(shape.lines * shape.matrices);
  for (std::size_t i = 0; i < count; ++i) out.push_back(16 * (distinct ? all[i] : w.random() % all.size()));
  return out;
}

std::string load_text(const std::string& form, const std::string& address = "[p]") {
  return form + " {r}, " + address + ";";
}
std::string store_text(const std::string& form, const std::string& address = "[p]") {
  return form + " " + address + ", {r};";
}

const std::string kX1 = "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
                  kX4 = "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
                  kStore = "stmatrix.sync.aligned.m8n8.x2.shared.b16",
                  kGeneric = "ldmatrix.sync.aligned.m8n8.x1.b16";

Addresses consecutive(std::size_t count) {
  Addresses out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = 16 * i;
  return out;
}

TEST_CASE("ldmatrix, every form: the lanes get what the manual says") {
  const std::pair<const char*, std::size_t> kForms[] = {{"sm_75", 18}, {"sm_90a", 27}, {"sm_120a", 63}};
  for (const auto& [target, count] : kForms) {
    const std::vector<std::string> list = forms_of("ldmatrix", target);
    CHECK(list.size() == count);
    for (const std::string& form : list)
      for (const char* address : {"[p]", "[p+32]", "[p+-16]"}) {
        INFO(form << " on " << target << ", " << address);
        const Shape shape = shape_of(form);
        Warp w(load_text(form, address), target, Memory(kBytes, kWindow));
        w.randomise_memory();
        const Bytes before = w.image();
        Addresses starts = random_lines(w, shape, false);
        const std::size_t lines = starts.size();
        if (target == std::string("sm_75")) starts.resize(32, 16);  // valid in all lanes
        give(w, starts);
        const Effects effects = w.run();

        REQUIRE(w.operand(Part::d).registers == shape.matrices * shape.per_matrix);
        for (int lane = 0; lane < 32; ++lane)
          for (int r = 0; r < shape.matrices * shape.per_matrix; ++r) {
            INFO("lane " << lane << " register " << r);
            REQUIRE(w.get(Part::d, lane, r) == model(shape, before, starts, lane, r));
          }
        CHECK(effects.reads == std::vector<int>{w.number(Part::address)});
        CHECK(effects.writes.size() == 32 * static_cast<std::size_t>(shape.matrices * shape.per_matrix));
        CHECK(effects.memory_writes.empty());
        REQUIRE(effects.memory_reads.size() == lines);
        const bool generic = form.find("shared") == form.npos;
        for (std::size_t i = 0; i < lines; ++i) {
          const Effects::MemoryRead& read = effects.memory_reads[i];
          CHECK(read.lane == static_cast<int>(i));
          CHECK(read.space == (generic ? Space::generic : Space::shared));
          CHECK(read.address == starts[i] + (generic ? kWindow : 0));
          CHECK(read.bytes == (shape.is_signed ? 8 : 16));
        }
        CHECK(w.image() == before);
      }
  }
}

TEST_CASE("stmatrix, every form: memory gets what the manual says, and nothing else changes") {
  const std::pair<const char*, std::size_t> kForms[] = {{"sm_90a", 18}, {"sm_120a", 27}};
  for (const auto& [target, count] : kForms) {
    const std::vector<std::string> list = forms_of("stmatrix", target);
    CHECK(list.size() == count);
    for (const std::string& form : list)
      for (const char* address : {"[p]", "[p+4080]"}) {
        INFO(form << " on " << target << ", " << address);
        const Shape shape = shape_of(form);
        Warp w(store_text(form, address), target, Memory(kBytes, kWindow));
        w.randomise_memory();
        Bytes expected = w.image();
        const Addresses starts = random_lines(w, shape, true);
        give(w, starts);
        const int step = shape.bits / 8;
        for (int lane = 0; lane < 32; ++lane)
          for (int r = 0; r < shape.matrices; ++r)
            for (int e = 0; e < shape.slots; ++e) {
              const LineElement at = shape.at(lane, r, e);
              for (int byte = 0; byte < step; ++byte)
                expected.at(starts.at(static_cast<std::size_t>(8 * at.matrix + at.line)) +
                            static_cast<std::uint64_t>(at.position * step + byte)) =
                    static_cast<std::byte>(w.get(Part::source, lane, r) >> (shape.bits * e + 8 * byte));
            }
        const Effects effects = w.run();
        CHECK(w.image() == expected);

        CHECK(effects.reads.size() == 1 + static_cast<std::size_t>(shape.matrices));
        CHECK(effects.writes.empty());
        CHECK(effects.memory_reads.empty());
        REQUIRE(effects.memory_writes.size() == starts.size());
        const bool generic = form.find("shared") == form.npos;
        for (std::size_t i = 0; i < starts.size(); ++i) {
          const Effects::MemoryWrite& write = effects.memory_writes[i];
          CHECK(write.lane == static_cast<int>(i));
          CHECK(write.space == (generic ? Space::generic : Space::shared));
          CHECK(write.address == starts[i] + (generic ? kWindow : 0));
          CHECK(write.bytes == Bytes(expected.begin() + static_cast<std::ptrdiff_t>(starts[i]),
                                     expected.begin() + static_cast<std::ptrdiff_t>(starts[i]) + 16));
        }
      }
  }
}

TEST_CASE("movmatrix transposes") {
  for (const char* target : {"sm_75", "sm_90a", "sm_120a"}) {
    Warp w("movmatrix.sync.aligned.m8n8.trans.b16 d, a;", target);
    std::array<std::array<std::uint64_t, 8>, 8> matrix;
    for (std::size_t lane = 0; lane < 32; ++lane)
      for (std::size_t e = 0; e < 2; ++e)
        matrix[lane / 4][2 * (lane % 4) + e] = w.get(Part::source, static_cast<int>(lane)) >> (16 * e) & 0xFFFF;
    const Effects effects = w.run();
    for (std::size_t lane = 0; lane < 32; ++lane)
      CHECK(w.get(Part::d, static_cast<int>(lane)) ==
            (matrix[2 * (lane % 4)][lane / 4] | matrix[2 * (lane % 4) + 1][lane / 4] << 16));
    CHECK(effects.reads == std::vector<int>{w.number(Part::source)});
    CHECK(effects.memory_reads.empty());
    CHECK(effects.memory_writes.empty());
  }
}

TEST_CASE("movmatrix of a literal") {
  Warp w("movmatrix.sync.aligned.m8n8.trans.b16 d, 0f3C004000;", "sm_90a");
  CHECK(w.run().reads.empty());
  // Every row is 0x4000, 0x3C00, 0x4000, ...; so every other row of the transpose.
  for (int lane = 0; lane < 32; ++lane)
    CHECK(w.get(Part::d, lane) == (lane / 4 % 2 == 0 ? 0x40004000 : 0x3C003C00));
}

TEST_CASE("ldmatrix.trans is ldmatrix and a movmatrix of each register") {
  for (const char* target : {"sm_75", "sm_90a"})
    for (const int count : {1, 2, 4})
      for (int round = 0; round < 20; ++round) {
        const std::string form = fmt::format("ldmatrix.sync.aligned.m8n8.x{}", count);
        Warp plain(load_text(form + ".shared.b16"), target, Memory(kBytes)),
            trans(load_text(form + ".trans.shared.b16"), target, Memory(kBytes));
        plain.random.seed(static_cast<unsigned>(round));
        plain.randomise_memory();
        trans.memory = plain.memory;
        for (int lane = 0; lane < 32; ++lane) {
          const std::uint64_t at = plain.random() % (kBytes / 16) * 16;
          for (Warp* w : {&plain, &trans}) w->set(Part::address, lane, at);
        }
        plain.run();
        trans.run();
        for (int r = 0; r < count; ++r) {
          Warp move("movmatrix.sync.aligned.m8n8.trans.b16 d, a;", target);
          for (int lane = 0; lane < 32; ++lane) move.set(Part::source, lane, plain.get(Part::d, lane, r));
          move.run();
          for (int lane = 0; lane < 32; ++lane) REQUIRE(move.get(Part::d, lane) == trans.get(Part::d, lane, r));
        }
      }
}

TEST_CASE("stmatrix of what ldmatrix loads gives the memory back") {
  for (const std::string trans : {"", ".trans"})
    for (const int count : {1, 2, 4}) {
      const std::string rest = fmt::format(".sync.aligned.m8n8.x{}{}.shared.b16", count, trans);
      Warp load(load_text("ldmatrix" + rest), "sm_90a", Memory(kBytes)),
          store(store_text("stmatrix" + rest), "sm_90a", Memory(kBytes));
      load.randomise_memory();
      const Addresses starts = random_lines(load, shape_of(rest), true);
      give(load, starts);
      give(store, starts);
      load.run();
      for (int lane = 0; lane < 32; ++lane)
        for (int r = 0; r < count; ++r) store.set(Part::source, lane, load.get(Part::d, lane, r), r);
      store.run();
      for (std::uint64_t at = 0; at < kBytes; at += 16) {
        const bool stored = std::ranges::find(starts, at) != starts.end();
        for (std::uint64_t byte = at; byte < at + 16; ++byte)
          REQUIRE(store.image()[byte] == (stored ? load.image()[byte] : std::byte{0}));
      }
    }
}

TEST_CASE("sinks are not written, literals are stored") {
  Warp load("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, _, %r2, _}, [p];", "sm_90a", Memory(kBytes));
  load.randomise_memory();
  give(load, consecutive(32));
  const std::uint64_t kept = load.get(Part::d, 7, 1);
  const Effects effects = load.run();
  CHECK(effects.writes.size() == 64);
  for (const Effects::Write& write : effects.writes)
    CHECK((write.reg == load.number(Part::d, 0) || write.reg == load.number(Part::d, 2)));
  CHECK(load.get(Part::d, 7, 1) == kept);
  CHECK(load.get(Part::d, 7, 2) == model(shape_of(kX4), load.image(), consecutive(32), 7, 2));

  Warp store("stmatrix.sync.aligned.m8n8.x2.shared.b16 [p], {%r0, 131073};", "sm_90a", Memory(kBytes));
  give(store, consecutive(16));
  const Effects stored = store.run();
  CHECK(stored.reads == std::vector<int>{store.number(Part::address), store.number(Part::source)});
  const Bytes image = store.image();
  for (std::size_t at = 128; at < 256; ++at)
    CHECK(image[at] == std::byte(at % 4 == 0 ? 1 : at % 4 == 2 ? 2 : 0));
}

// ---- Refusals

TEST_CASE("misaligned addresses and addresses beyond memory are refused with lane, address and limit") {
  Warp w(load_text(kX4), "sm_90a", Memory(512));
  w.randomise_memory();
  const Bytes before = w.image();
  give(w, consecutive(32));
  w.run();
  w.set(Part::address, 9, 0x98);
  CHECK_THAT(w.refusal(Errc::address_misaligned),
             Equals("lane 9: address 0x98 is misaligned; it must be a multiple of 16 bytes"));
  w.set(Part::address, 9, 0x200);
  CHECK_THAT(
      w.refusal(Errc::address_out_of_bounds),
      Equals("lane 9: 16 bytes from 0x200 of the shared space are out of bounds; there is shared memory at "
             "0x0 to 0x1ff"));
  w.set(Part::address, 9, 0xFFFFFFFFFFFFFFF0);
  CHECK_THAT(w.refusal(Errc::address_out_of_bounds),
             Catch::StartsWith("lane 9: 16 bytes from 0xfffffffffffffff0"));
  CHECK(w.image() == before);

  Warp offset(load_text(kX1, "[p+24]"), "sm_90a", Memory(512));
  give(offset, consecutive(8));
  offset.run();
  offset.set(Part::address, 3, 0x10);
  CHECK_THAT(offset.refusal(Errc::address_misaligned),
             Equals("lane 3: address 0x28 is misaligned; it must be a multiple of 16 bytes"));
  Warp last(store_text("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8"), "sm_120a", Memory(120));
  give(last, consecutive(8));
  CHECK_THAT(
      last.refusal(Errc::address_out_of_bounds),
      Equals("lane 7: 16 bytes from 0x70 of the shared space are out of bounds; there is shared memory at "
             "0x0 to 0x77"));
}

TEST_CASE("generic addresses must point into shared memory") {
  Memory memory(128, 0x1000);
  REQUIRE(memory.add_global(0x2000, 128).ok());
  Warp w(load_text(kGeneric), "sm_90a", std::move(memory));
  for (int lane = 0; lane < 8; ++lane)
    w.set(Part::address, lane, 0x1000 + 16 * static_cast<std::uint64_t>(lane));
  w.run();
  for (const std::uint64_t outside : {0x0ull, 0x2000ull, 0x1080ull}) {
    w.set(Part::address, 5, outside);
    CHECK_THAT(
        w.refusal(Errc::address_not_shared),
        Equals(fmt::format("lane 5: generic address {:#x} does not point into shared memory; it begins at "
                           "0x1000 and has 128 bytes",
                           outside)));
  }
}

TEST_CASE("lines that are stored may overlap where they have the same bytes") {
  Warp w(store_text(kStore), "sm_90a", Memory(512));
  const Bytes before = w.image();
  Addresses starts = consecutive(16);
  starts[11] = starts[2];
  give(w, starts);
  CHECK_THAT(
      w.refusal(Errc::stores_overlap),
      Equals(
          "lane 11: it stores another value to 0x20 than lane 2; lines of a store may overlap where they have the same "
          "bytes"));
  CHECK(w.image() == before);
  starts[11] = 0xB0;
  give(w, starts);
  w.run();
}

TEST_CASE("up to sm_75 all lanes must give a valid address") {
  for (const char* target : {"sm_75", "sm_80"}) {
    Warp w(load_text(kX1), target, Memory(512));
    give(w, consecutive(32));
    w.run();
    w.set(Part::address, 31, 0x201);
    if (target == std::string("sm_80")) {
      w.run();
      continue;
    }
    CHECK_THAT(w.refusal(Errc::address_misaligned),
               Equals("lane 31: address 0x201 is misaligned; it must be a multiple of 16 bytes"));
    w.set(Part::address, 31, 0x200);
    CHECK_THAT(w.refusal(Errc::address_out_of_bounds), Catch::StartsWith("lane 31: 16 bytes from 0x200 "));
  }
}

TEST_CASE("no memory, and lanes that are missing or disagree") {
  Warp w(load_text(kX1), "sm_90a", Memory(512));
  give(w, consecutive(8));
  const Result<Effects> none = execute_warp(w.lanes, w.binding, w.registers);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == Errc::memory_needed);
  CHECK_THAT(none.error().message(), Equals(kX1 + ": no memory is given; expected the memory that it uses"));

  w.lanes[4] = nullptr;
  CHECK_THAT(w.refusal(Errc::lanes_missing),
             Equals(kX1 + ": missing of 32 lanes: 4; all of them must execute it"));
  const Instruction other = parse(load_text(kX1, "[p+16]"), "sm_90a"),
                    sink = parse(kX1 + " {%r1}, [%q];", "sm_90a");
  w.lanes[4] = &other;
  CHECK_THAT(w.refusal(Errc::lanes_disagree),
             Catch::StartsWith(kX1 + ": executed by lane 0, but ") && Catch::Contains("[p+16]; by lanes 4; "));
  w.lanes[4] = &sink;  // the same, however its registers are called
  w.run();

  // One with a stride and one without.
  const std::string form = "wmma.load.a.sync.aligned.row.m16n16k16.shared.s8";
  Warp strided(form + " {r}, [p], s;", "sm_90a", Memory(512));
  const Instruction plain = parse(form + " {r}, [p];", "sm_90a");
  strided.lanes[31] = &plain;
  CHECK_THAT(strided.refusal(Errc::lanes_disagree), Catch::Contains("by lanes 31; "));
  strided.lanes.assign(32, &plain);
  strided.binding.pop_back();
  strided.set_all(Part::address, 0);
  const Instruction with = parse(form + " {r}, [p], s;", "sm_90a");
  strided.lanes[31] = &with;
  CHECK_THAT(strided.refusal(Errc::lanes_disagree), Catch::Contains("by lanes 31; "));
}

// ---- Bank conflicts

// Of the lines that an ldmatrix of four 8x8 matrices reads: matrix j is columns 8 j ... 8 j + 7 of a tile of 8
// rows; chunk(row, j) says in which 16 bytes of its row they lie.
template <class Chunk>
BankConflicts conflicts(std::uint64_t row_bytes, Chunk chunk) {
  Warp w(load_text(kX4), "sm_90a", Memory(kBytes));
  for (int lane = 0; lane < 32; ++lane) {
    const auto i = static_cast<std::uint64_t>(lane);
    w.set(Part::address, lane, i % 8 * row_bytes + 16 * chunk(i % 8, i / 8));
  }
  Addresses addresses;
  for (const Effects::MemoryRead& read : w.run().memory_reads) addresses.push_back(read.address);
  return bank_conflicts(addresses);
}

TEST_CASE("what the lines of an ldmatrix cost in banks") {
  const auto plain = [](std::uint64_t, std::uint64_t j) { return j; };
  // Rows of 128 bytes begin in the same bank: eight wavefronts instead of one. Rows of 64 bytes: four.
  CHECK(conflicts(128, plain).phases == std::vector<int>{7, 7, 7, 7});
  CHECK(conflicts(64, plain).phases == std::vector<int>{3, 3, 3, 3});
  // Padded by 16 bytes, or chunks exchanged by XOR.
  CHECK(conflicts(144, plain).total == 0);
  CHECK(conflicts(80, plain).total == 0);
  CHECK(conflicts(128, [](std::uint64_t r, std::uint64_t j) { return j ^ r; }).total == 0);
  CHECK(conflicts(64, [](std::uint64_t r, std::uint64_t j) { return j ^ (r / 2 % 4); }).total == 0);
  // The wrong bits of the row for rows of 64 bytes: rows 0 and 4, 1 and 5, ... collide.
  CHECK(conflicts(64, [](std::uint64_t r, std::uint64_t j) { return j ^ (r % 4); }).phases ==
        std::vector<int>{1, 1, 1, 1});
}

}  // namespace matrix_move_test
