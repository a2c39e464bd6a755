// SPDX-License-Identifier: Apache-2.0
// The generator of inputs: the published values of Philox, streams that never change, and what fills promise
// that are no elements (input_profiles_test.cpp has those).
#include "warpbit/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "descriptor_formulas.hpp"
#include "input_members.hpp"
#include "replay/execute_capture.hpp"
#include "tally.hpp"
#include "warpbit/inputs/text.hpp"

namespace inputs_test {

using namespace warpbit::inputs;
using input_members::Named;

const Key kKey = key_of("inputs_test", 1);

TEST_CASE("Philox gives the values that its authors publish", "[quick][inputs]") {
  // kat_vectors of Random123, philox4x32 10.
  constexpr struct {
    Words counter;
    Key key;
    Words expected;
  } kKnown[] = {
      {{{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
      {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
       {{0xffffffff, 0xffffffff}},
       {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
      {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
       {{0xa4093822, 0x299f31d0}},
       {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
  };
  for (const auto& row : kKnown) {
    const Words got = philox(row.key, row.counter);
    for (int i = 0; i < 4; ++i) CHECK(got.w[i] == row.expected.w[i]);
  }
}

TEST_CASE("keys are FNV-1a of the form and the seed's bytes", "[quick][inputs]") {
  // Test vectors of the FNV reference code: "foobar\0\0\0..." is not among them, "chongo was here!\n" is.
  std::uint64_t seed = 0;
  for (const char c : {'\n', '!', 'e', 'r', 'e', 'h', ' ', 's'})
    seed = seed << 8 | static_cast<unsigned char>(c);
  const Key key = key_of("chongo wa", seed);
  CHECK(key.w[0] == 0xeff5f915);
  CHECK(key.w[1] == 0x46810940);
}

TEST_CASE("members are read back from their text", "[quick][inputs]") {
  for (const Named& named : input_members::all()) {
    const std::string line = text(named.fill);
    const std::optional<Member> back = parse_member(line);
    INFO(line);
    REQUIRE(back);
    std::vector<std::int32_t> numbers, expected;
    for_each_number(*back, [&](const char*, auto n) { numbers.push_back(static_cast<std::int32_t>(n)); });
    for_each_number(named.fill, [&](const char*, auto n) { expected.push_back(static_cast<std::int32_t>(n)); });
    CHECK(numbers == expected);
  }
  for (const char* wrong : {"lanes", "lanes=", "lanes=x", "lanes=3x", "no=1", "=1", "lanes=1  first=2"})
    CHECK_FALSE(parse_member(wrong));
  for (int i = 0; i < kProfiles; ++i)
    CHECK(find_profile(name(static_cast<Profile>(i))) == static_cast<Profile>(i));
  CHECK_FALSE(find_profile("any"));
}

// ---- Registers

std::uint64_t at(const Named& named, const std::vector<std::byte>& array, std::uint64_t index, int lane,
                 int reg) {
  const auto bytes = static_cast<std::size_t>(named.member.register_bits / 8);
  const std::size_t place =
      index * named.member.case_bytes() + static_cast<std::size_t>(lane * named.member.registers + reg) * bytes;
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < bytes; ++i) out |= std::to_integer<std::uint64_t>(array[place + i]) << (8 * i);
  return out;
}

TEST_CASE("registers are the same one by one and many at a time", "[quick][inputs]") {
  constexpr std::uint64_t kFirst = (std::uint64_t{1} << 32) - 5, kCases = 10;
  Tally tally;
  for (const Named& named : input_members::all())
    for (int p = 0; p < kProfiles; ++p) {
      const auto profile = static_cast<Profile>(p);
      const Member& m = named.fill;
      std::vector<std::byte> array(kCases * named.member.case_bytes());
      fill_inputs(named.member, m, kKey, profile, kFirst, kCases, array.data());
      for (std::uint64_t i = 0; i < kCases; ++i)
        for (int lane = 0; lane < m.lanes; ++lane)
          for (int reg = m.first; reg < m.first + m.registers; ++reg)
            tally.check(at(named, array, i, lane, reg) == word(kKey, profile, m, kFirst + i, lane, reg), [&] {
              return fmt::format("{}, {}: case {} lane {} register {}", named.form, name(profile), i, lane,
                                 reg);
            });
    }
  tally.judge("registers of runs");
}

TEST_CASE("streams never change: captures without inputs rest on them", "[quick][inputs]") {
  // By tools/capture/inputs.py, from the text of the members.
  constexpr struct {
    Profile profile;
    std::uint64_t digest;
  } kKnown[] = {
      {Profile::uniform, 0xcc3e15b3695efea4},    {Profile::ordinary, 0xa049a7c5997f0907},
      {Profile::narrow, 0xe9e16ede53a7b846},     {Profile::wide, 0x094f055cf7988245},
      {Profile::underflow, 0xdf6a1e4c4fa9d173},  {Profile::overflow, 0xa73396706d40d03e},
      {Profile::specials, 0x5c6fd8f435234448},   {Profile::cancellation, 0x6178985af4e20a11},
      {Profile::alignment, 0xb7b769a9b8881f26},  {Profile::mixed, 0x2b28faa9d2a8172d},
      {Profile::exhaustive, 0xdfe5e77971a3af3e},
  };
  for (const auto& [profile, digest] : kKnown) {
    std::uint64_t sum = 0, position = 0;
    for (const auto& [form, member, m] : input_members::all())
      for (std::uint64_t i = 4096; i < 4096 + 18; ++i)
        for (int lane = 0; lane < m.lanes; ++lane)
          for (int reg = m.first; reg < m.first + m.registers; ++reg)
            sum += mix(position++, word(kKey, profile, m, i, lane, reg));
    INFO(name(profile));
    CHECK(fmt::format("{:#x}", sum) == fmt::format("{:#x}", digest));
  }
}

// ---- Other fills

const Named& named(const std::vector<Named>& list, std::string_view form, std::string_view member) {
  const auto found = std::ranges::find_if(
      list, [&](const Named& n) { return n.form.starts_with(form) && n.form.ends_with(member); });
  REQUIRE(found != list.end());
  return *found;
}

TEST_CASE("metadata has every nibble that the manual defines in ascending order, and no other",
          "[quick][inputs]") {
  const auto list = input_members::all();
  for (const auto& [form, expected] :
       {std::pair{"mma.sp.sync.aligned.m16n8k32", std::set<std::uint64_t>{0x4, 0x8, 0x9, 0xC, 0xD, 0xE}},
        {"mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32", std::set<std::uint64_t>{0x4, 0xE}}}) {
    const Member& m = named(list, form, " e").fill;
    for (int p = 0; p < kProfiles; ++p) {
      std::set<std::uint64_t> nibbles;
      for (std::uint64_t i = 0; i < 20; ++i)
        for (int lane = 0; lane < 32; ++lane)
          for (int low = 0; low < 32; low += 4)
            nibbles.insert(word(kKey, static_cast<Profile>(p), m, 9 * i + 7, lane, 0) >> low & 0xF);
      const bool neighbours =
          static_cast<Profile>(p) == Profile::cancellation || static_cast<Profile>(p) == Profile::mixed;
      CHECK(nibbles == (neighbours ? std::set<std::uint64_t>{0x4, 0xE} : expected));
    }
  }
}

TEST_CASE("addresses and strides stay in the image; stores do not overlap", "[quick][inputs]") {
  const auto list = input_members::all();
  const Named& load = named(list, "ldmatrix", " addr");
  const Named& store = named(list, "stmatrix", " addr");
  const Named& matrix = named(list, "wmma.load", " addr");
  const Named& stride = named(list, "wmma.load", " stride");
  std::set<std::uint64_t> loads, stores, matrices, strides;
  for (std::uint64_t i = 0; i < 500; ++i) {
    std::set<std::uint64_t> rows, places, of_matrix;
    for (int lane = 0; lane < 32; ++lane) {
      places.insert(word(kKey, Profile::mixed, load.fill, i, lane, 0));
      rows.insert(word(kKey, Profile::mixed, store.fill, i, lane, 0));
      of_matrix.insert(word(kKey, Profile::mixed, matrix.fill, i, lane, 0));
    }
    CHECK(rows.size() == 32);
    REQUIRE(of_matrix.size() == 1);
    loads.merge(places), stores.merge(rows), matrices.merge(of_matrix);
    strides.insert(word(kKey, Profile::mixed, stride.fill, i, 0, 0));
  }
  const auto check_all = [](const std::set<std::uint64_t>& values, std::uint64_t step, std::uint64_t count) {
    CHECK(values.size() == count);
    for (const std::uint64_t value : values) CHECK(value % step == 0);
  };
  check_all(loads, 16, 64);
  check_all(stores, 16, 64);
  CHECK(*loads.rbegin() == 1024 - 16);
  CHECK(*stores.rbegin() == 1024 - 16);
  check_all(matrices, 32, 8);  // eight registers a lane: 32 bytes
  check_all(strides, 8, 8);
  CHECK(*strides.begin() == 16);  // elements of a line
  const auto smem = named(list, "wmma.load", " smem").member.case_bytes();
  CHECK(*matrices.rbegin() + 15 * 2 * *strides.rbegin() + 32 <= smem);
}

TEST_CASE("scale-d is 0 in one case of eight", "[quick][inputs]") {
  const auto list = input_members::all();
  const Member& m = named(list, "wgmma", " scale_d").fill;
  int zeros = 0;
  for (std::uint64_t i = 0; i < 8000; ++i) {
    const std::uint64_t flag = word(kKey, Profile::mixed, m, i, 0, 0);
    REQUIRE(flag <= 1);
    zeros += flag == 0;
  }
  CHECK(zeros > 900);
  CHECK(zeros < 1100);
}

// The bytes of a factor, by the formulas of facts 6.
struct Bytes {
  std::uint64_t first = UINT64_MAX, last = 0;

  Bytes(const formulas::Described& d, bool mn, bool sparse_b, int lines, int chunks) {
    for (int line = 0; line < lines; ++line)
      for (int chunk = 0; chunk < chunks; ++chunk) {
        const auto along = static_cast<std::uint64_t>(8 * chunk),
                   across = static_cast<std::uint64_t>(line);  // 16-bit elements
        const std::uint64_t bit =
            formulas::described_bit(d, mn, sparse_b, 16, mn ? along : across, mn ? across : along);
        first = std::min(first, bit / 8);
        last = std::max(last, bit / 8 + 15);
      }
  }
};

TEST_CASE("descriptors of every swizzle, with all their bytes in the factor's part of memory",
          "[quick][inputs]") {
  for (const bool mn : {false, true})
    for (const int lines : {8, 16, 64, 256})
      for (const int chunks : {1, 2, 4, 8, 32}) {
        if (mn ? lines > 32 || lines < 16 : chunks == 1 || chunks > 4) continue;
        Member m;
        m.fill = Fill::descriptor;
        m.register_bits = 64;
        m.base = 3072;
        m.mn = mn;
        m.lines = lines;
        m.chunks = chunks;
        m.bytes = factor_bytes(m);
        std::set<std::uint64_t> swizzles, base_offsets, starts, strides, leadings;
        int within = 0;
        for (std::uint64_t i = 0; i < 2000; ++i) {
          const std::uint64_t bits = word(kKey, Profile::mixed, m, i, 0, 0);
          const std::uint64_t field = bits >> 62, width = field == 0 ? 16 : 256u >> field;
          const formulas::Described d{(bits & 0x3FFF) * 16, (bits >> 16 & 0x3FFF) * 16,
                                      (bits >> 32 & 0x3FFF) * 16, bits >> 49 & 7, width};
          INFO(fmt::format("{:#x}, {} lines of {} chunks, {}", bits, lines, chunks, mn ? "MN" : "K"));
          CHECK(d.bits() == bits);
          const Bytes bytes(d, mn, chunks == 4, lines, chunks);
          CHECK(bytes.first >= 3072);
          CHECK(bytes.last < 3072 + static_cast<std::uint64_t>(m.bytes));
          swizzles.insert(width), base_offsets.insert(d.base_offset), starts.insert(d.start),
              strides.insert(d.sbo), leadings.insert(d.lbo);
          within += d.start % width != 0;
        }
        INFO(fmt::format("{} lines of {} chunks, {}", lines, chunks, mn ? "MN" : "K"));
        CHECK(swizzles.size() == 4);
        CHECK(base_offsets.size() == 8);
        CHECK(starts.size() >= 8);
        CHECK(strides.size() > 3);
        CHECK(leadings.size() > 3);
        CHECK((within > 0) == (chunks < 8));
      }
}

}  // namespace inputs_test
