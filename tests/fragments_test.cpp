// SPDX-License-Identifier: Apache-2.0
// Fragment maps: their laws over all forms, and a second, naive statement of the formulas.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "fragment_formulas.hpp"
#include "oracle/metadata.hpp"

namespace fragments_test {

using namespace warpbit;
using formulas::Key;

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::ranges::find(list, word) != list.end();
}

bool is_wgmma(const Instruction& i) {
  return is_any_of(i.family(), {"wgmma", "wgmma.sp"});
}

bool is_mma(const Instruction& i) {
  return is_any_of(i.family(), {"mma", "mma.sp", "mma.block_scale", "mma.sp.block_scale", "wmma.mma"});
}

bool is_sparse(const Instruction& i) {
  return is_any_of(i.family(), {"mma.sp", "mma.sp.block_scale", "wgmma.sp"});
}

oracle::Problem problem_of(const Instruction& i) {
  return oracle::problem_of(i.target().name(), i.canonical());
}

Instruction parse(const std::string& text, Target target, const std::string& notation = "") {
  const Result<Instruction> i = Instruction::parse(text, notation, target);
  INFO(text << (i ? std::string() : i.error().message()));
  REQUIRE(i.ok());
  return *i;
}

std::string replaced(std::string text, std::string_view from, const std::string& to) {
  if (const std::size_t at = text.find(from); at != text.npos) text.replace(at, from.size(), to);
  return text;
}

std::string without_space(const std::string& canonical) {
  for (const std::string_view space : {".shared::cta", ".shared", ".global"})
    if (canonical.find(space) != canonical.npos) return replaced(canonical, space, "");
  return canonical;
}

// True if an operand has a map that was not met before: of wgmma D depends on N, the others do not.
bool has_new_map(const Instruction& i, std::set<std::string>& seen) {
  bool out = false;
  for (const Operand& op : i.operands()) {
    const std::string of = op.is_destination() ? fmt::format("{}", i.columns())
                                               : fmt::format("{} {} {}", i.family(), i.depth(), op.role);
    out |=
        seen.insert(fmt::format("{}: {} {} {}", of, op.element_bits, op.registers, op.fragment.text())).second;
  }
  return out;
}

// One of each form; of forms that differ in the state space alone, one; of wgmma as many as have all maps, A in
// registers or not, and so of tcgen05.ld.red. Of sparse forms one for each selector.
std::vector<Instruction> all_instructions() {
  std::vector<Instruction> out;
  std::set<std::string> seen;
  for (const FormInfo& form : forms()) {
    const Instruction least = parse(form.canonical, form.targets.back(), form.operands);
    const bool group = is_wgmma(least);
    if (group || least.family() == "tcgen05.ld.red" ? !has_new_map(least, seen)
                                                    : !seen.insert(without_space(form.canonical)).second)
      continue;
    out.push_back(group ? least : parse(form.canonical, least.target()));
    if (least.family() != "mma.sp" && least.family() != "wgmma.sp") continue;
    for (int s = 1; s < oracle::selector_count(problem_of(least)); ++s) {
      const std::string role = group ? "sp_sel:" : "f:";
      const std::size_t at = form.operands.find(role) + role.size();
      const std::string immediate = form.operands.substr(at, form.operands.find(' ', at) - at);
      out.push_back(parse(form.canonical, least.target(),
                          replaced(form.operands, role + immediate, fmt::format("{}={}", role, s))));
    }
  }
  return out;
}

bool is_matrix(Part part) {
  return part == Part::d || part == Part::a || part == Part::b || part == Part::c || part == Part::source;
}

// The operands that hold elements of D, A, B, C, or of what is moved or converted. Where a descriptor finds
// them, see descriptor_test.
std::vector<Operand> matrices(const Instruction& i) {
  std::vector<Operand> out;
  for (const Operand& op : i.operands())
    if (op.kind != OperandKind::descriptor && is_matrix(op.part)) out.push_back(op);
  return out;
}

const Operand& operand(const Instruction& i, Part part) {
  return *std::ranges::find(i.operands(), part, &Operand::part);
}

TEST_CASE("maps equal the formulas", "[once]") {
  std::map<std::string_view, int> checked;
  for (const Instruction& i : all_instructions()) {
    CAPTURE(i.canonical());
    for (const Operand& op : matrices(i)) {
      CAPTURE(op.role);
      for (int lane = 0; lane < i.lanes(); ++lane)
        for (int value = 0; value < op.registers * formulas::per_register(i, op); ++value) {
          const auto [product, row, column] = formulas::element(i, op, lane, value);
          const Place bits = formulas::bits_of(i, op, lane, value);
          const std::optional<Coordinate> at = op.fragment.at_bit(lane, bits.reg, bits.low_bit);
          const bool padding_above = op.fragment.at_bit(lane, bits.reg, bits.low_bit + bits.bits) == at,
                     padding_below = op.fragment.at_bit(lane, bits.reg, bits.low_bit - 1) == at;
          if (!at || *at != Coordinate{row, column, product} || padding_above || padding_below ||
              op.fragment.at_bit(lane, bits.reg, bits.low_bit + bits.bits - 1) != at)
            FAIL(fmt::format("lane {} value {}: expected ({}, {})", lane, value, row, column));
          ++checked[i.family()];
        }
    }
  }
  for (const auto& [family, count] : checked)
    fmt::print("{}: compared {} elements of fragments with the formulas\n", family, count);
  REQUIRE(checked.size() == 18);
  REQUIRE(checked["mma"] > 100000);
  REQUIRE(checked["wgmma"] > 100000);
}

// f16 factors of wmma fill eight registers, which would hold 512 elements; others are held once.
int copies(const Instruction& i, const Operand& op) {
  const bool factor = op.part == Part::a || op.part == Part::b || i.canonical().starts_with("wmma.load.a") ||
                      i.canonical().starts_with("wmma.load.b");
  if (!i.canonical().starts_with("wmma") || !factor || op.format != "f16") return 1;
  return 512 / (op.fragment.rows() * op.fragment.columns());
}

TEST_CASE("every element is held, and the inverse returns to it", "[once]") {
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
      REQUIRE(std::ranges::all_of(held, [&](const auto& entry) { return entry.second == copies(i, op); }));

      const std::vector<Place> table = map.table();
      REQUIRE(table.size() == held.size());
      for (const auto& [key, times] : held) {
        const auto [product, row, column] = key;
        const Place p = table[static_cast<std::size_t>((product * map.rows() + row) * map.columns() + column)];
        const bool returns = map.at_bit(p.lane, p.reg, p.low_bit) == Coordinate{row, column, product};
        const bool within = p.low_bit >= 0 && p.low_bit + p.bits <= op.register_bits &&
                            p.bits == formulas::bits_of(i, op, 0, 0).bits;
        if (!returns || !within) FAIL(fmt::format("({}, {}) of product {}", row, column, product));
      }
    }
  }
}

TEST_CASE("find gives every place of an element", "[once]") {
  for (const Instruction& i : all_instructions()) {
    CAPTURE(i.canonical());
    for (const Operand& op : matrices(i)) {
      const FragmentMap& map = op.fragment;
      for (const Coordinate c :
           {Coordinate{0, 0, 0}, Coordinate{map.rows() - 1, map.columns() - 1, map.products() - 1},
            Coordinate{map.rows() / 2, map.columns() / 2, 0}}) {
        const std::vector<Place> places = map.find(c);
        REQUIRE(places.size() == static_cast<std::size_t>(copies(i, op)));
        for (const Place& p : places) REQUIRE(map.at_bit(p.lane, p.reg, p.low_bit) == c);
        REQUIRE(std::ranges::is_sorted(places, {}, &Place::reg));
        const int index = (c.product * map.rows() + c.row) * map.columns() + c.column;
        REQUIRE(map.table()[static_cast<std::size_t>(index)] == places[0]);
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

TEST_CASE("the metadata lies where the manual puts it, and nowhere else", "[once]") {
  int maps = 0;
  for (const Instruction& i : all_instructions()) {
    if (!is_sparse(i)) continue;
    CAPTURE(i.text());
    const oracle::Problem problem = problem_of(i);
    const auto selector = static_cast<int>(*operand(i, Part::selector).literals[0]);
    const int groups = i.depth() / oracle::group_width(problem);
    const Operand& e = operand(i, Part::metadata);
    REQUIRE(e.element_bits == 4);
    REQUIRE(e.registers == 1);
    const FragmentMap& map = e.fragment;
    REQUIRE(map.rows() == i.rows());
    REQUIRE(map.columns() == groups);
    REQUIRE(map.lanes() == i.lanes());
    REQUIRE(map.registers() == 1);
    REQUIRE_FALSE(map.at(i.lanes(), 0, 0));
    REQUIRE_FALSE(map.at(0, 1, 0));

    std::map<std::pair<int, int>, int> held;
    for (int lane = 0; lane < i.lanes(); ++lane)
      for (int nibble = 0; nibble < 8; ++nibble) {
        const std::optional<oracle::Nibble> expected =
            oracle::held_nibble(problem, selector, lane % 32, nibble);
        std::optional<Coordinate> at;
        if (expected) at = Coordinate{expected->row + 16 * (lane / 32), expected->group, 0};
        if (at) ++held[{at->row, at->column}];
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

TEST_CASE("the scale factors lie where the manual puts them, and nowhere else", "[once]") {
  int maps = 0;
  for (const Instruction& bare : all_instructions()) {
    if (bare.blocks() == 0) continue;
    const oracle::Problem problem = problem_of(bare);
    REQUIRE(bare.blocks() == problem.blocks);
    for (const bool of_a : {true, false})
      for (const oracle::Selector& x : oracle::selectors(of_a, problem.blocks)) {
        const std::string pair = fmt::format("{{{}, {}}}", x.byte_id, x.thread_id);
        const Instruction i =
            parse(fmt::format("{} {{d}}, {{a}}, {{b}}, {{c}},{} sfa, {}, sfb, {}", bare.canonical(),
                              is_sparse(bare) ? " e, 0," : "", of_a ? pair : "{0, 0}", of_a ? "{0, 0}" : pair),
                  bare.target());
        CAPTURE(i.text());
        const Operand& op = operand(i, of_a ? Part::scale_a : Part::scale_b);
        REQUIRE(op.format == problem.scale);
        REQUIRE((op.registers == 1 && op.register_bits == 32 && op.element_bits == 8));
        const FragmentMap& map = op.fragment;
        REQUIRE(map.rows() == (of_a ? 16 : problem.blocks));
        REQUIRE(map.columns() == (of_a ? problem.blocks : 8));
        REQUIRE(map.lanes() == 32);
        int held = 0;
        for (int lane = 0; lane < 32; ++lane)
          for (int byte = 0; byte < 4; ++byte) {
            const auto expected = oracle::held_scale(of_a, problem.blocks, x.byte_id, x.thread_id, lane, byte);
            std::optional<Coordinate> at;
            if (expected)
              at = of_a ? Coordinate{expected->line, expected->block}
                        : Coordinate{expected->block, expected->line};
            bool same = true;
            for (int bit = 0; bit < 8; ++bit) same = same && map.at_bit(lane, 0, 8 * byte + bit) == at;
            if (at) same = same && map.find(*at) == std::vector<Place>{{lane, 0, 8 * byte, 8}};
            if (!same) FAIL(fmt::format("lane {}, byte {}", lane, byte));
            held += at ? 1 : 0;
          }
        REQUIRE(held == map.rows() * map.columns());
        ++maps;
      }
  }
  fmt::print("compared {} maps of scale factors\n", maps);
  REQUIRE(maps > 1000);
}

TEST_CASE("a sparse A holds half of each row", "[once]") {
  for (const Instruction& i : all_instructions()) {
    if (!is_mma(i) && !is_wgmma(i)) continue;
    CAPTURE(i.canonical());
    const int terms = is_sparse(i) ? i.depth() / 2 : i.depth();
    REQUIRE(i.terms() == terms);
    const Operand &a = operand(i, Part::a), &b = operand(i, Part::b);
    if (a.kind == OperandKind::vector)
      REQUIRE(std::pair(a.fragment.rows(), a.fragment.columns()) == std::pair(i.rows(), terms));
    if (b.kind == OperandKind::vector)
      REQUIRE(std::pair(b.fragment.rows(), b.fragment.columns()) == std::pair(i.depth(), i.columns()));
  }
}

}  // namespace fragments_test
