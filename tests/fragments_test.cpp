// SPDX-License-Identifier: Apache-2.0
// Fragment maps: their laws over all forms, and a second, naive statement of the PTX manual's formulas.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <tuple>

#include "oracle/metadata.hpp"
#include "warpbit/instruction.hpp"

namespace {

using namespace warpbit;

using Key = std::tuple<int, int, int>;  // product, row, column

// What the layout of the metadata depends on, by the words of a canonical form.
oracle::Problem sparse_problem(const std::string& canonical) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < canonical.size();) {
    const std::size_t end = std::min(canonical.find('.', at), canonical.size());
    words.push_back(canonical.substr(at, end - at));
    at = end + 1;
  }
  oracle::Problem p;
  p.sparse = true;
  p.shape = *std::ranges::find_if(words, [](const std::string& w) { return w.starts_with("m16n8k"); });
  p.d = *(words.end() - 4);
  p.a = *(words.end() - 3);
  return p;
}

std::vector<Instruction> all_instructions() {
  std::vector<Instruction> out;
  for (const FormInfo& form : forms()) {
    const bool sparse = form.family == "mma.sp";
    const int selectors = sparse ? oracle::selector_count(sparse_problem(form.canonical)) : 1;
    for (int s = 0; s < selectors; ++s) {
      const std::string text =
          sparse ? fmt::format("{} {{d}}, {{a}}, {{b}}, {{c}}, e, {}", form.canonical, s) : form.canonical;
      const Result<Instruction> i = Instruction::parse(text, form.targets.back());
      INFO(text << (i ? std::string() : i.error().message()));
      REQUIRE(i.ok());
      out.push_back(*i);
    }
  }
  return out;
}

// Without the metadata and its selector.
std::vector<Operand> matrices(const Instruction& i) {
  const std::span<const Operand> all = i.operands();
  return {all.begin(), all.begin() + 4};
}

// The manual, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type".
Key volta(const Instruction& i, const Operand& op, int lane, int value) {
  const bool high = lane >= 16;
  const int product = lane % 16 / 4, t = lane % 4;
  const std::string form(i.canonical());
  const bool a_row = form.find("m8n8k4.row") != form.npos,
             b_row = form.find(".row.f", form.find("m8n8k4")) != form.npos;
  if (op.role == "a" && a_row) return {product, high ? t + 4 : t, value};
  if (op.role == "a") return {product, high ? value + 4 : value, t};
  if (op.role == "b" && b_row) return {product, t, high ? value + 4 : value};
  if (op.role == "b") return {product, value, high ? t + 4 : t};
  if (op.format == "f16") return {product, high ? t + 4 : t, value};
  const int x = (lane & 1) + (value & 2);
  return {product, high ? x + 4 : x, (value & 4) + (lane & 2) + (value & 1)};
}

// The manual, all other fragments of mma: one formula for each operand, by the bits of an element in its
// register.
Key plain(const Instruction& i, const Operand& op, int lane, int value) {
  const int group = lane / 4, thread = lane % 4;
  const int per = op.fragment.packing().per_register();
  const int reg = value / per, e = value % per;
  if (op.role == "a") {
    if (i.rows() == 8) return {0, group, thread * per + e + 4 * per * reg};
    return {0, group + (reg % 2 == 1 ? 8 : 0), thread * per + e + (reg / 2) * 4 * per};
  }
  if (op.role == "b") return {0, thread * per + e + reg * 4 * per, group};
  return {0, value < 2 ? group : group + 8, thread * 2 + value % 2};
}

bool is_volta(const Instruction& i) {
  return i.products() == 4;
}

// Bits of slot e, from the manual's words on packing: 8-bit containers for the six-bit types (low bits) and for
// e2m1 (the middle four); everything else side by side, low bits first.
Place bits_of(const Operand& op, int lane, int value) {
  const std::string_view f = op.format;
  const int container = f == "e3m2" || f == "e2m3" || f == "e2m1" ? 8 : op.element_bits;
  const int per = op.register_bits / container;
  return {lane, value / per, value % per * container + (f == "e2m1" ? 2 : 0), op.element_bits};
}

}  // namespace

TEST_CASE("maps equal the manual's formulas") {
  int checked = 0;
  for (const Instruction& i : all_instructions()) {
    CAPTURE(i.canonical());
    for (const Operand& op : matrices(i)) {
      CAPTURE(op.role);
      const int per = op.fragment.packing().per_register();
      for (int lane = 0; lane < 32; ++lane)
        for (int value = 0; value < op.registers * per; ++value) {
          const auto [product, row, column] =
              is_volta(i) ? volta(i, op, lane, value) : plain(i, op, lane, value);
          const Place bits = bits_of(op, lane, value);
          const std::optional<Coordinate> at = op.fragment.at_bit(lane, bits.reg, bits.low_bit);
          if (!at || *at != Coordinate{row, column, product} ||
              op.fragment.at_bit(lane, bits.reg, bits.low_bit + bits.bits - 1) != at)
            FAIL(fmt::format("lane {} value {}: expected ({}, {})", lane, value, row, column));
          ++checked;
        }
    }
  }
  fmt::print("compared {} elements of fragments with the manual's formulas\n", checked);
  REQUIRE(checked > 100000);
}

TEST_CASE("every element is held, and the inverse returns to it") {
  for (const Instruction& i : all_instructions()) {
    CAPTURE(i.canonical());
    for (const Operand& op : matrices(i)) {
      CAPTURE(op.role);
      const FragmentMap& map = op.fragment;
      REQUIRE(map.lanes() == i.lanes());
      REQUIRE(map.registers() == op.registers);
      std::map<Key, int> held;
      for (int lane = 0; lane < map.lanes(); ++lane)
        for (int reg = 0; reg < map.registers(); ++reg)
          for (int slot = 0; slot < map.packing().per_register(); ++slot) {
            const Coordinate c = *map.at(lane, reg, slot);
            const bool inside = c.row >= 0 && c.row < map.rows() && c.column >= 0 && c.column < map.columns() &&
                                c.product >= 0 && c.product < map.products();
            if (!inside)
              FAIL(fmt::format("lane {} register {} slot {} is outside the matrix", lane, reg, slot));
            ++held[{c.product, c.row, c.column}];
          }
      REQUIRE(held.size() == static_cast<std::size_t>(map.products() * map.rows() * map.columns()));

      const std::vector<Place> table = map.table();
      REQUIRE(table.size() == held.size());
      for (const auto& [key, times] : held) {
        const auto [product, row, column] = key;
        const Place p = table[static_cast<std::size_t>((product * map.rows() + row) * map.columns() + column)];
        const bool returns = map.at_bit(p.lane, p.reg, p.low_bit) == Coordinate{row, column, product};
        const bool within =
            p.low_bit >= 0 && p.low_bit + p.bits <= op.register_bits && p.bits == op.element_bits;
        if (!returns || !within) FAIL(fmt::format("({}, {}) of product {}", row, column, product));
      }
    }
  }
}

TEST_CASE("find gives every place of an element") {
  for (const Instruction& i : all_instructions()) {
    if (i.depth() > 32) continue;  // the search is quadratic; the larger maps are made of the same digits
    CAPTURE(i.canonical());
    for (const Operand& op : matrices(i)) {
      const FragmentMap& map = op.fragment;
      for (const Coordinate c :
           {Coordinate{0, 0, 0}, Coordinate{map.rows() - 1, map.columns() - 1, map.products() - 1},
            Coordinate{map.rows() / 2, 1, 0}}) {
        const std::vector<Place> places = map.find(c);
        REQUIRE(places.size() == 1);
        REQUIRE(map.at_bit(places[0].lane, places[0].reg, places[0].low_bit) == c);
      }
      REQUIRE(map.find({map.rows(), 0, 0}).empty());
      REQUIRE(map.find({0, -1, 0}).empty());
    }
  }
}

TEST_CASE("outside the registers there is nothing") {
  const Result<Target> target = Target::find("sm_120a");
  const Result<Instruction> i =
      Instruction::parse("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32", *target);
  REQUIRE(i.ok());
  const FragmentMap& a = i->operands()[1].fragment;
  REQUIRE_FALSE(a.at(-1, 0, 0));
  REQUIRE_FALSE(a.at(32, 0, 0));
  REQUIRE_FALSE(a.at(0, 4, 0));
  REQUIRE_FALSE(a.at(0, 0, 4));
  REQUIRE_FALSE(a.at_bit(0, 0, 32));
  REQUIRE_FALSE(a.at_bit(0, 0, -1));
  // e2m1: bits 2 to 5 of each byte, the rest is padding
  REQUIRE_FALSE(a.at_bit(0, 0, 1));
  REQUIRE(a.at_bit(0, 0, 2) == Coordinate{0, 0, 0});
  REQUIRE(a.at_bit(0, 0, 5) == Coordinate{0, 0, 0});
  REQUIRE_FALSE(a.at_bit(0, 0, 6));
  REQUIRE(a.at_bit(0, 0, 10) == Coordinate{0, 1, 0});
  // e3m2: the low six
  const FragmentMap& b = i->operands()[2].fragment;
  REQUIRE(b.at_bit(0, 0, 0) == Coordinate{0, 0, 0});
  REQUIRE_FALSE(b.at_bit(0, 0, 6));
}

TEST_CASE("a map prints as shape and strides") {
  const Result<Instruction> i =
      Instruction::parse("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", *Target::find("sm_80"));
  REQUIRE(i.ok());
  REQUIRE(i->operands()[1].fragment.text() == "((4,8),(2,2,2)):(((0,2),(1,0)),((0,1),(8,0),(0,8)))");
  REQUIRE(i->operands()[0].fragment.text() == "((4,8),(2,2)):(((0,2),(1,0)),((0,1),(8,0)))");
}

TEST_CASE("the metadata lies where the manual puts it, and nowhere else") {
  int maps = 0;
  for (const Instruction& i : all_instructions()) {
    if (i.family() != "mma.sp") continue;
    CAPTURE(i.text());
    const std::string canonical(i.canonical());
    const oracle::Problem problem = sparse_problem(canonical);
    const int selector = i.text().back() - '0';
    const int groups = i.depth() / oracle::group_width(problem.a);
    const Operand& e = i.operands()[4];
    REQUIRE(e.part == Part::metadata);
    REQUIRE(e.element_bits == 4);
    REQUIRE(e.registers == 1);
    const FragmentMap& map = e.fragment;
    REQUIRE(map.rows() == i.rows());
    REQUIRE(map.columns() == groups);
    REQUIRE(map.lanes() == 32);
    REQUIRE(map.registers() == 1);
    REQUIRE_FALSE(map.at(32, 0, 0));
    REQUIRE_FALSE(map.at(0, 1, 0));

    std::map<std::pair<int, int>, int> held;
    for (int lane = 0; lane < 32; ++lane)
      for (int nibble = 0; nibble < 8; ++nibble) {
        const std::optional<oracle::Nibble> expected = oracle::held_nibble(problem, selector, lane, nibble);
        std::optional<Coordinate> at;
        if (expected) at = Coordinate{expected->row, expected->group, 0};
        if (expected) ++held[{expected->row, expected->group}];
        bool same = map.at(lane, 0, nibble) == at;
        for (int bit = 0; bit < 4; ++bit) same = same && map.at_bit(lane, 0, 4 * nibble + bit) == at;
        if (at) same = same && map.find(*at) == std::vector<Place>{{lane, 0, 4 * nibble, 4}};
        if (!same) FAIL(fmt::format("lane {}, nibble {}", lane, nibble));
      }
    REQUIRE(held.size() == static_cast<std::size_t>(i.rows() * groups));

    const std::vector<Place> table = map.table();
    REQUIRE(table.size() == held.size());
    for (std::size_t n = 0; n < table.size(); ++n) {
      const Coordinate c{static_cast<int>(n) / groups, static_cast<int>(n) % groups, 0};
      REQUIRE(map.at_bit(table[n].lane, table[n].reg, table[n].low_bit) == c);
    }
    ++maps;
  }
  fmt::print("compared {} maps of metadata\n", maps);
  REQUIRE(maps > 200);
}

TEST_CASE("a sparse A holds half of each row") {
  for (const Instruction& i : all_instructions()) {
    CAPTURE(i.canonical());
    const int terms = i.family() == "mma.sp" ? i.depth() / 2 : i.depth();
    REQUIRE(i.terms() == terms);
    const FragmentMap& a = i.operands()[1].fragment;
    const FragmentMap& b = i.operands()[2].fragment;
    REQUIRE(std::pair(a.rows(), a.columns()) == std::pair(i.rows(), terms));
    REQUIRE(std::pair(b.rows(), b.columns()) == std::pair(i.depth(), i.columns()));
  }
}
