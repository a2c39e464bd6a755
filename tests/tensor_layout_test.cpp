// SPDX-License-Identifier: Apache-2.0
// Layouts of tensor memory, descriptors and masks of tcgen05: every place against a second, naive statement, and the laws of
// the maps over all shapes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "fragment/tensor_maps.hpp"
#include "in_turn.hpp"
#include "tensor_formulas.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/instruction.hpp"

namespace tensor_layout_test {

using namespace warpbit;
using tensor_formulas::Cell;
using tensor_formulas::Shape;

Result<Instruction> parse_on(std::string_view form) {
  return Instruction::parse(form, Target::find_ptx("sm_100a").value());
}

// ---- All shapes

struct Layout {
  tensor::DataPath path;
  int m, blocks;
  bool ws, sparse;
  int step, from = 0;  // of N
};
constexpr Layout kLayouts[] = {
    {tensor::DataPath::a, 256, 2, false, false, 16}, {tensor::DataPath::a, 256, 2, false, true, 16},
    {tensor::DataPath::b, 128, 2, false, false, 16}, {tensor::DataPath::c, 128, 2, false, true, 16},
    {tensor::DataPath::d, 128, 1, false, false, 8},  {tensor::DataPath::d, 128, 1, true, false, 64},
    {tensor::DataPath::d, 128, 1, true, true, 64},   {tensor::DataPath::e, 64, 1, true, false, 64},
    {tensor::DataPath::e, 64, 1, true, true, 64},    {tensor::DataPath::f, 64, 1, false, false, 8},
    {tensor::DataPath::f, 64, 1, false, true, 8},    {tensor::DataPath::g, 32, 1, true, false, 64},
    {tensor::DataPath::g, 32, 1, true, true, 64}};

// Calls use(shape, extent) for all values of N (or the largest of each layout) and both halves.
template <class Use>
void for_shapes(Use use, bool all_n = true) {
  for (const Layout& layout : kLayouts)
    for (int n = all_n ? layout.step : 256; n <= 256; n += layout.step) {
      if (layout.ws && (n == 192 || (layout.sparse && n == 256 && all_n))) continue;
      Shape shape{layout.m, n, layout.blocks, layout.ws, layout.sparse};
      for (const int half : {0, 16}) {
        if (half != 0 && !shape.has_half()) continue;
        shape.h = half;
        REQUIRE(tensor::data_path(layout.m, layout.blocks, layout.ws, layout.sparse) == layout.path);
        REQUIRE(tensor::blocks_of(layout.path) == layout.blocks);
        use(shape, tensor::Extent{layout.path, layout.m, n, half});
      }
    }
}

// All places that a map has, by element.
using Places = std::map<std::pair<int, int>, std::vector<Cell>>;

Places places_of(const FragmentMap& map) {
  Places out;
  for (int lane = 0; lane < map.lanes(); ++lane)
    for (int reg = 0; reg < map.registers(); ++reg)
      for (int slot = 0; slot < map.packing().per_register(); ++slot)
        if (const std::optional<Coordinate> at = map.at(lane, reg, slot))
          out[{at->row, at->column}].push_back({lane / 128, lane % 128, reg, map.packing().low_bit_of(slot)});
  return out;
}

// Counts the elements whose places are not exactly those that `expected` gives, and checks that no two elements share a bit and
// that all are within 128 lanes of `columns` columns.
template <class Expected>
int wrong_places(const FragmentMap& map, int columns, Expected expected) {
  Places seen = places_of(map);
  int wrong = static_cast<int>(seen.size()) != map.rows() * map.columns();
  std::set<Cell> all;
  for (auto& [element, cells] : seen) {
    std::vector<Cell> wanted = expected(element.first, element.second);
    std::ranges::sort(wanted);
    std::ranges::sort(cells);
    wrong += cells != wanted;
    for (const Cell& cell : cells)
      wrong += !all.insert(cell).second || cell.lane >= 128 || cell.column >= columns ||
               cell.bit + map.packing().bits > 32;
  }
  return wrong;
}

TEST_CASE("D lies where the layouts A to G say", "[tensor_layout]") {
  int shapes = 0;
  for_shapes([&](const Shape& s, const tensor::Extent& extent) {
    ++shapes;
    const FragmentMap map = tensor::d_map(extent, 32);
    int wrong = map.lanes() != 128 * s.blocks || map.rows() != s.m || map.columns() != s.n;
    std::vector<char> seen(static_cast<std::size_t>(s.m * s.n));
    for (int lane = 0; lane < map.lanes(); ++lane)
      for (int reg = 0; reg < map.registers(); ++reg) {
        const std::optional<Coordinate> at = map.at(lane, reg, 0);
        if (!at) continue;
        wrong += seen[static_cast<std::size_t>(at->row * s.n + at->column)]++ != 0;
        wrong += tensor_formulas::d(s, at->row, at->column) != Cell{lane / 128, lane % 128, reg};
      }
    wrong += std::ranges::count(seen, 0) != 0;
    INFO(s.m << " x " << s.n << " in " << s.blocks << " blocks, half " << s.h);
    CHECK(wrong == 0);
    CHECK(map.registers() <= 256);
  });
  CHECK(shapes > 200);
}

TEST_CASE("D of 16 bits lies in the lower halves", "[tensor_layout]") {
  const FragmentMap map = tensor::d_map({tensor::DataPath::d, 128, 256, 0}, 16);
  CHECK(map.find({3, 5}) == std::vector<Place>{{3, 5, 0, 16}});
}

TEST_CASE("layouts that do not exist", "[tensor_layout]") {
  CHECK(!tensor::data_path(32, 1, false, false));
  CHECK(!tensor::data_path(256, 1, false, false));
  CHECK(!tensor::data_path(64, 2, false, false));
}

TEST_CASE("layouts C and F leave half of the lanes to the other half", "[tensor_layout]") {
  for (const tensor::DataPath path : {tensor::DataPath::c, tensor::DataPath::f}) {
    const int m = path == tensor::DataPath::c ? 128 : 64;
    const FragmentMap low = tensor::d_map({path, m, 64, 0}, 32), high = tensor::d_map({path, m, 64, 16}, 32);
    int both = 0, none = 0;
    for (int lane = 0; lane < low.lanes(); ++lane) {
      both += low.at(lane, 0, 0).has_value() && high.at(lane, 0, 0).has_value();
      none += !low.at(lane, 0, 0) && !high.at(lane, 0, 0);
    }
    CHECK(both == 0);
    CHECK(none == 0);
  }
}

// ---- A, metadata, scale factors

TEST_CASE("A in tensor memory lies in the lanes of its rows of D", "[tensor_layout]") {
  struct Elements {
    int slot, low, bits, stored_k;
  };
  constexpr Elements kElements[] = {{16, 0, 16, 16}, {32, 0, 32, 8}, {8, 0, 8, 32}, {8, 2, 4, 32},
                                    {8, 0, 6, 32},   {4, 0, 4, 64},  {4, 0, 4, 96}};
  for_shapes(
      [&](const Shape& s, const tensor::Extent& extent) {
        for (const Elements& e : kElements) {
          const FragmentMap map = tensor::a_map(extent, e.stored_k, {32, e.slot, e.low, e.bits});
          INFO(s.m << " in " << s.blocks << " blocks, " << e.slot << " bits");
          CHECK(wrong_places(map, e.stored_k * e.slot / 32,
                             [&](int m, int k) { return tensor_formulas::a(s, e.slot, e.low, m, k); }) == 0);
        }
      },
      false);
}

TEST_CASE("metadata lies by rows, or by sixteen of them", "[tensor_layout]") {
  for_shapes(
      [&](const Shape& s, const tensor::Extent& extent) {
        for (const int selector : {0, 1}) {
          INFO(s.m << " in " << s.blocks << " blocks, half " << s.h << ", selector " << selector);
          const FragmentMap map = tensor::metadata_map(extent, true, selector);
          CHECK(wrong_places(map, 2, [&](int m, int q) {
                  return tensor_formulas::metadata(s, true, selector, m, q);
                }) == 0);
          CHECK(map.columns() == 8);
        }
        const FragmentMap map = tensor::metadata_map(extent, false, 0);
        CHECK(wrong_places(map, 2,
                           [&](int m, int q) { return tensor_formulas::metadata(s, false, 0, m, q); }) == 0);
        CHECK(map.columns() == 16);
      },
      false);
}

TEST_CASE("scale factors lie by 32 lines to a column, in all partitions", "[tensor_layout]") {
  struct Scales {
    int count, id_step, most_id;
  };
  constexpr Scales kScales[] = {{1, 1, 3}, {2, 2, 2}, {4, 1, 0}, {3, 1, 3}, {6, 2, 2}};
  std::size_t shapes = 0;
  for_shapes([&](const Shape& s, const tensor::Extent& extent) {
    if (s.ws || s.has_half()) return;  // no scaled products
    ++shapes;
    for (const Scales& scales : kScales)
      for (int id = 0; id <= scales.most_id; id += scales.id_step) {
        if (!has_turn(shapes, static_cast<std::size_t>(&scales - kScales), std::size(kScales))) continue;
        INFO(s.m << " x " << s.n << " in " << s.blocks << " blocks, " << scales.count << " from " << id);
        CHECK(wrong_places(tensor::scale_b_map(extent, scales.count, id), 16,
                           [&](int n, int j) { return tensor_formulas::scale_b(s, id, n, j); }) == 0);
        if (s.n != 256) continue;
        CHECK(wrong_places(tensor::scale_a_map(extent, scales.count, id), 8,
                           [&](int m, int j) { return tensor_formulas::scale_a(s, id, m, j); }) == 0);
      }
  });
}

// ---- tcgen05.ld and tcgen05.st (PTX manual, "Data Movement Shape")

Cell moved(std::string_view shape, int t, int r, int split) {
  if (shape == "32x32b") return {0, t, r};
  if (shape == "16x64b") return {0, t / 4 + 8 * (t % 2), 2 * r + t / 2 % 2};
  if (shape == "16x128b") return {0, t / 4 + 8 * (r % 2), t % 4 + 4 * (r / 2)};
  if (shape == "16x256b") return {0, t / 4 + 8 * (r / 2 % 2), 2 * (t % 4) + r % 2 + 8 * (r / 4)};
  return {0, t % 16, r + t / 16 * split};
}

TEST_CASE("ld and st move words as the shapes say", "[tensor_layout]") {
  int checked = 0;
  for (const FormInfo& form : forms()) {
    const bool stores = form.canonical.starts_with("tcgen05.st");
    if (!stores && !form.canonical.starts_with("tcgen05.ld")) continue;
    const Result<Instruction> instruction = Instruction::parse(form.canonical, form.targets.front());
    REQUIRE(instruction.ok());
    const Operand* operand = instruction->find(stores ? Part::source : Part::d);
    REQUIRE(operand != nullptr);
    const std::string& text = form.canonical;
    const std::size_t at = text.find("aligned.") + 8;
    const std::string shape = text.substr(at, text.find('.', at) - at);
    const bool packed = text.find("pack::16b") != text.npos;
    const FragmentMap& map = operand->fragment;
    // Without an offset the columns of lanes 16-31 of .16x32bx2 follow those of the others.
    const int split = map.registers();
    int wrong = map.lanes() != 32 || map.registers() != operand->registers;
    for (int t = 0; t < 32; ++t)
      for (int r = 0; r < map.registers(); ++r)
        for (int slot = 0; slot < map.packing().per_register(); ++slot) {
          const Cell cell = moved(shape, t, r, split);
          const std::optional<Coordinate> seen = map.at(t, r, slot);
          wrong += seen != Coordinate{cell.lane, packed ? 2 * cell.column + slot : cell.column};
        }
    INFO(text);
    CHECK(wrong == 0);
    ++checked;
  }
  CHECK(checked > 100);
}

// ---- Instruction descriptors

struct Variant {
  TensorKind kind;
  int scale_vec = 0;
};
constexpr Variant kVariants[] = {{TensorKind::f16},         {TensorKind::tf32},        {TensorKind::f8f6f4},
                                 {TensorKind::i8},          {TensorKind::mxf8f6f4, 1}, {TensorKind::mxf4, 2},
                                 {TensorKind::mxf4nvf4, 2}, {TensorKind::mxf4nvf4, 4}, {TensorKind::ti16}};

// Calls use(mma) for all that there are.
template <class Use>
void for_mmas(Use use) {
  for (const Variant& v : kVariants)
    for (const int group : {1, 2})
      for (const bool sparse : {false, true})
        for (const bool ws : {false, true})
          for (const bool in_tensor_memory : {false, true}) {
            if (ws && (group == 2 || v.scale_vec != 0)) continue;
            use(TensorMma{v.kind, group, sparse, ws, v.scale_vec, in_tensor_memory, false});
          }
}

bool is_one_of(std::uint32_t x, std::initializer_list<std::uint32_t> list) {
  return std::ranges::find(list, x) != list.end();
}

// Those of .kind::ti16 (PTX 9.4): types 3 and s32, no clamp, no transpose, N in steps that depend on M.
bool is_legal_ti16(std::uint32_t w, const TensorMma& x) {
  const auto f = [&](int low, int bits) { return w >> low & ((1U << bits) - 1); };
  const std::uint32_t n = 8 * f(17, 6), m = 16 * f(24, 5);
  if (f(0, 2) > (x.is_sparse ? 1U : 0U) || (f(2, 1) == 1) != x.is_sparse) return false;
  if (f(3, 1) != 0 || f(4, 2) != 2 || f(6, 1) != 0 || f(7, 3) != 3 || f(10, 3) != 3) return false;
  if (f(15, 2) != 0 || f(23, 1) != 0 || f(29, 1) != 0) return false;
  if (x.is_weight_stationary)
    return is_one_of(m, {32, 64, 128}) && is_one_of(n, {64, 128, x.is_sparse ? 64U : 256U});
  if (f(30, 2) != 0 || n == 0 || n > 256) return false;
  if (x.cta_group == 2) return is_one_of(m, {128, 256}) && n % 32 == 0;
  return m == 64 || (m == 128 && n % 16 == 0);
}

// The manual's rules, field by field (tables of "Instruction Descriptor", "Matrix Shape" and "Major-ness").
bool is_legal(std::uint32_t w, const TensorMma& x, bool sm_103a) {
  if (x.kind == TensorKind::ti16) return is_legal_ti16(w, x);
  const auto f = [&](int low, int bits) { return w >> low & ((1U << bits) - 1); };
  const bool scaled = x.scale_vec != 0, f16 = x.kind == TensorKind::f16, tf32 = x.kind == TensorKind::tf32,
             i8 = x.kind == TensorKind::i8, fp4 = x.kind == TensorKind::mxf4 || x.kind == TensorKind::mxf4nvf4;
  const std::uint32_t n = 8 * f(17, 6), m = scaled ? 128 * f(27, 2) : 16 * f(24, 5);
  if ((f(2, 1) == 1) != x.is_sparse || f(6, 1) != 0) return false;
  if (x.a_in_tensor_memory && f(15, 1) != 0) return false;
  if (scaled) {
    if (f(0, 2) != 0 || f(3, 1) != 0 || f(24, 3) != 0) return false;
    if (fp4 && (f(7, 3) != 1 || f(10, 2) != 1 || f(12, 1) != 0 || f(15, 2) != 0)) return false;
    if (!fp4 && (!is_one_of(f(7, 3), {0, 1, 3, 4, 5}) || !is_one_of(f(10, 3), {0, 1, 3, 4, 5}))) return false;
    if (f(23, 1) == 0 && (x.kind != TensorKind::mxf4nvf4 || x.scale_vec != 4)) return false;
    const bool k96 = f(31, 1) != 0;
    if (k96 && (!fp4 || x.is_sparse || !sm_103a)) return false;
    for (const std::uint32_t id : {f(4, 2), f(29, 2)}) {
      if (x.scale_vec == 2 && !k96 && id % 2 != 0) return false;
      if (x.scale_vec == 4 && (k96 ? id % 2 != 0 : id != 0)) return false;
    }
    if (x.cta_group == 1 ? m != 128 : m != 256 && (x.is_sparse || m != 128)) return false;
  } else {
    if (f(23, 1) != 0 || f(29, 1) != 0) return false;
    if (f(0, 2) > (x.is_sparse && (f16 || tf32) ? 1U : 0U)) return false;
    if (!i8 && f(3, 1) != 0) return false;
    if (i8 && f(13, 2) != 0) return false;
    if (!x.is_weight_stationary && f(30, 2) != 0) return false;
    const std::uint32_t d = f(4, 2), a = f(7, 3), b = f(10, 3);
    if (f16 && (a > 1 || a != b || d > 1 || (a == 1 && d == 0))) return false;
    if (tf32 && (a != 2 || b != 2 || d != 1)) return false;
    if (i8 && (a > 1 || b > 1 || d != 2)) return false;
    if (x.kind == TensorKind::f8f6f4 &&
        (!is_one_of(a, {0, 1, 3, 4, 5}) || !is_one_of(b, {0, 1, 3, 4, 5}) || d > 1))
      return false;
    if (x.is_weight_stationary)
      return is_one_of(m, {32, 64, 128}) && is_one_of(n, {64, 128, x.is_sparse ? 64U : 256U});
    if (!is_one_of(m, {x.cta_group == 1 ? 64U : 256U, 128})) return false;
  }
  const std::uint32_t pair = x.cta_group == 2 ? 2 : 1;
  if (n == 0 || n > 256) return false;
  if (f(16, 1) != 0 && !f16 && !tf32 && n % (16 * pair) != 0) return false;
  if (i8) return pair == 2 ? n % 32 == 0 : is_one_of(n, {8, 16, 24, 32}) || n % 16 == 0;
  return n % (8 * pair) == 0;
}

// A word that is legal.
std::uint32_t some_word(const TensorMma& x, std::mt19937& random) {
  const bool scaled = x.scale_vec != 0, f16 = x.kind == TensorKind::f16, tf32 = x.kind == TensorKind::tf32,
             i8 = x.kind == TensorKind::i8, fp4 = x.kind == TensorKind::mxf4 || x.kind == TensorKind::mxf4nvf4,
             ti16 = x.kind == TensorKind::ti16;
  constexpr std::uint32_t kBytes[] = {0, 1, 3, 4, 5};
  std::uint32_t a = fp4 ? 1 : tf32 ? 2 : kBytes[random() % 5], b = fp4 ? 1 : tf32 ? 2 : kBytes[random() % 5];
  if (f16) a = b = static_cast<std::uint32_t>(random() % 2);
  if (i8) a %= 2, b %= 2;
  if (ti16) a = b = 3;
  const std::uint32_t n = x.is_weight_stationary ? 64 << random() % 2
                                                 : 32 * (1 + static_cast<std::uint32_t>(random() % 8)),
                      m = x.cta_group == 2 ? 256 : 128;
  std::uint32_t out = std::uint32_t{x.is_sparse} << 2 | a << 7 | b << 10 | n / 8 << 17;
  if (scaled) return out | m / 128 << 27 | 1U << 23;
  return out | m / 16 << 24 | (i8 || ti16 ? 2U : 1U) << 4;
}

void check_word(std::uint32_t word, const TensorMma& x, bool sm_103a, int& legal, int& wrong) {
  const Target target = Target::find_ptx(sm_103a ? "sm_103a" : "sm_100a").value();
  const Result<InstructionDescriptor> decoded = InstructionDescriptor::decode(word, x, target);
  const bool expected = is_legal(word, x, sm_103a);
  if (decoded.ok() != expected) {
    ++wrong;
    UNSCOPED_INFO(fmt::format("{:#x} of kind {}: {}", word, name(x.kind),
                              decoded ? "accepted" : decoded.error().message()));
  }
  if (!decoded || !expected) return;
  ++legal;
  const bool scaled = x.scale_vec != 0;
  wrong += static_cast<std::uint32_t>(decoded->n) != (word >> 17 & 63) * 8;
  wrong += static_cast<std::uint32_t>(decoded->m) != (scaled ? (word >> 27 & 3) * 128 : (word >> 24 & 31) * 16);
  wrong += decoded->a_is_mn_major != (word >> 15 & 1) || decoded->b_is_mn_major != (word >> 16 & 1);
  wrong += decoded->negates_a != (word >> 13 & 1) || decoded->negates_b != (word >> 14 & 1);
  wrong += decoded->scale_id_a != (scaled ? static_cast<int>(word >> 29 & 3) : 0);
  wrong += decoded->scale_id_b != (scaled ? static_cast<int>(word >> 4 & 3) : 0);
  const Result<std::uint32_t> encoded = decoded->encode(x, target);
  wrong += !encoded || *encoded != word;
}

TEST_CASE("instruction descriptors are decoded and refused as the manual's tables say", "[tensor_layout]") {
  std::mt19937 random(1);
  int legal = 0, wrong = 0, all = 0;
  for_mmas([&](const TensorMma& x) {
    for (const bool sm_103a : {false, true})
      for (int run = 0; run < (tries_all() ? 6 : 1); ++run) {
        const std::uint32_t word = some_word(x, random);
        CHECK(is_legal(word, x, sm_103a));
        for (int i = 0; i < 32; ++i)
          for (int j = i; j < 32; ++j, ++all)
            check_word(word ^ 1U << i ^ (j > i ? 1U << j : 0U), x, sm_103a, legal, wrong);
        for (std::uint32_t n = 0; n < 64; ++n)
          for (std::uint32_t m = 0; m < 32; m += run == 0 ? 1 : 8, ++all)
            check_word((word & ~0x1F7E'0000U) | n << 17 | m << 24, x, sm_103a, legal, wrong);
      }
  });
  CHECK(wrong == 0);
  CHECK(legal > (tries_all() ? 20000 : 2000));
  CHECK(all > 10 * legal);
}

TEST_CASE("the fields of instruction descriptors mean what the manual says", "[tensor_layout]") {
  const Target target = Target::find_ptx("sm_103a").value();
  struct Row {
    std::uint32_t word;
    TensorMma mma;
    InstructionDescriptor expected;
  };
  const Row rows[] = {
      {0x0820'0490, {TensorKind::f16}, {128, 128, 16, "bf16", "bf16", "f32", ""}},
      {0x0840'0010, {TensorKind::f16}, {128, 256, 16, "f16", "f16", "f32", ""}},
      {0x0404'0000, {TensorKind::f16}, {64, 16, 16, "f16", "f16", "f16", ""}},
      {0x0820'0910, {TensorKind::tf32}, {128, 128, 8, "tf32", "tf32", "f32", ""}},
      {0x0820'1690, {TensorKind::f8f6f4}, {128, 128, 32, "e2m1", "e2m1", "f32", ""}},
      {0x0820'04A8, {TensorKind::i8}, {128, 128, 32, "s8", "s8", "s32", "", false, 0, true}},
      {0x0820'0020, {TensorKind::i8}, {128, 128, 32, "u8", "u8", "s32", ""}},
      {0x0820'0DA0, {TensorKind::ti16}, {128, 128, 16, "s1z4m11", "s1z4m11", "s32", ""}},
      {0x0820'E490 & ~0x6000U,
       {TensorKind::f16},
       {128, 128, 16, "bf16", "bf16", "f32", "", false, 0, false, false, false, true}},
      {0x08A0'0010 | 0x4000 | 0x10000, {TensorKind::f16, 1}, {}},
  };
  for (const Row& row : rows) {
    const Result<InstructionDescriptor> decoded = InstructionDescriptor::decode(row.word, row.mma, target);
    INFO(fmt::format("{:#x}", row.word));
    if (row.expected.m == 0) {
      CHECK(!decoded.ok());
      continue;
    }
    REQUIRE(decoded.ok());
    CHECK(*decoded == row.expected);
  }
  // Sparse, with a shift of .ws; scaled.
  const TensorMma ws{TensorKind::tf32, 1, true, true};
  const InstructionDescriptor shifted =
      InstructionDescriptor::decode(0x8000'0000 | 2U << 24 | 8U << 17 | 2U << 10 | 2U << 7 | 1U << 4 | 4 | 1,
                                    ws, target)
          .value();
  CHECK(shifted.max_shift == 16);
  CHECK(shifted.sparsity_selector == 1);
  CHECK((shifted.m == 32 && shifted.n == 64 && shifted.k == 16));
  const TensorMma nvf4{TensorKind::mxf4nvf4, 2, false, false, 4};
  const InstructionDescriptor scaled =
      InstructionDescriptor::decode(0x8000'0000 | 2U << 29 | 2U << 27 | 32U << 17 | 1U << 10 | 1U << 7, nvf4,
                                    target)
          .value();
  CHECK((scaled.m == 256 && scaled.n == 256 && scaled.k == 96));
  CHECK(scaled.scale == "ue4m3");
  CHECK((scaled.scale_id_a == 2 && scaled.scale_id_b == 0));
  CHECK(scaled.scales(nvf4) == 6);
  CHECK(scaled.d == "f32");
  CHECK(text(scaled) ==
        "M 256, N 256, K 96, f32 = e2m1 x e2m1, A K-major, B K-major, scale factors ue4m3 from bytes 2 and 0");
}

TEST_CASE("what an instruction descriptor may not say is refused by field, bits and value", "[tensor_layout]") {
  const auto refusal = [](std::uint32_t word, const TensorMma& mma, std::string_view target = "sm_100a") {
    const Result<InstructionDescriptor> decoded =
        InstructionDescriptor::decode(word, mma, Target::find_ptx(target).value());
    REQUIRE(!decoded.ok());
    CHECK(decoded.error().code == Errc::instruction_descriptor);
    return decoded.error().message();
  };
  const TensorMma f16{TensorKind::f16}, i8{TensorKind::i8}, mxf4{TensorKind::mxf4, 1, false, false, 2};
  constexpr std::uint32_t kF16 = 0x0820'0010, kMxf4 = 0x08A0'0480;
  CHECK(refusal(kF16 | 0x40, f16) ==
        "instruction descriptor 0x8200050 of .kind::f16, reserved (bit 6): 1; expected 0: the bit is reserved");
  CHECK(refusal(kF16 | 1U << 29, f16) ==
        "instruction descriptor 0x28200010 of .kind::f16, reserved (bit 29): 1; expected 0: a field of sm_107, "
        "reserved before");
  CHECK(
      refusal(kF16 | 4, f16) ==
      "instruction descriptor 0x8200014 of .kind::f16, sparsity (bit 2): 1; expected 0, as the instruction has no "
      ".sp");
  CHECK(
      refusal(kF16 | 0x80, f16) ==
      "instruction descriptor 0x8200090 of .kind::f16, type of B (bits 10-12): f16; expected bf16, as the type of A");
  CHECK(refusal(kF16 | 0x100, f16) ==
        "instruction descriptor 0x8200110 of .kind::f16, type of A (bits 7-9): 2; expected 0 (f16), 1 (bf16)");
  CHECK(refusal(0x0320'0010, f16) ==
        "instruction descriptor 0x3200010 of .kind::f16, M >> 4 (bits 24-28): M 48; expected 64, 128");
  CHECK(
      refusal(0x080A'0020, i8) ==
      "instruction descriptor 0x80a0020 of .kind::i8, N >> 3 (bits 17-22): N 40; expected 8, 24, or a multiple of 16 "
      "from 16 to 256");
  const TensorMma ti16{TensorKind::ti16};
  CHECK(
      refusal(0x0821'0DA0, ti16) ==
      "instruction descriptor 0x8210da0 of .kind::ti16, transpose B (bit 16): 1; expected 0: A and B of .kind::ti16 "
      "are K-major");
  CHECK(
      refusal(0x0820'0DA8, ti16) ==
      "instruction descriptor 0x8200da8 of .kind::ti16, saturate (bit 3): 1; expected 0: only .kind::i8 saturates");
  CHECK(
      refusal(0x080A'0DA0, ti16) ==
      "instruction descriptor 0x80a0da0 of .kind::ti16, N >> 3 (bits 17-22): N 40; expected a multiple of 16 from 16 "
      "to 256");
  CHECK(refusal(kMxf4 | 0x10, mxf4) ==
        "instruction descriptor 0x8a00490 of .kind::mxf4, scale factor ID of B (bits 4-5): 1; expected 0 or 2");
  CHECK(
      refusal(kMxf4 | 1U << 31, mxf4) ==
      "instruction descriptor 0x88a00480 of .kind::mxf4, K dimension (bit 31): 1 (K 96) on sm_100a; expected 0; K 96 is "
      "on sm_103a, sm_107a");
  CHECK(refusal(kMxf4 | 1U << 31, mxf4, "sm_103f").find("K 96 is on sm_103a") != std::string::npos);
  CHECK(InstructionDescriptor::decode(kMxf4 | 1U << 31, mxf4, Target::find_ptx("sm_103a").value()).ok());
}

TEST_CASE("what no field can say is not encoded", "[tensor_layout]") {
  const Target target = Target::find_ptx("sm_100a").value();
  const TensorMma f16{TensorKind::f16};
  InstructionDescriptor d{128, 64, 0, "f16", "f16", "f32", ""};
  CHECK(*d.encode(f16, target) == 0x0810'0010);
  d.k = 32;
  CHECK(
      d.encode(f16, target).error().message() ==
      "instruction descriptor of .kind::f16: M 128, N 64, K 32, f32 = f16 x f16, A K-major, B K-major; expected what "
      "its fields can say, M 128, N 64, K 16, f32 = f16 x f16, A K-major, B K-major");
  d.k = 16;
  d.n = 60;
  CHECK(d.encode(f16, target).error().message() ==
        "instruction descriptor of .kind::f16, N >> 3: 60; expected a value that the field has");
  d.n = 64;
  d.a = "s8";
  CHECK(!d.encode(f16, target).ok());
  d.a = "f16";
  d.scale_id_a = 1;
  CHECK(!d.encode(f16, target).ok());
}

// ---- Zero-column masks

// Sub-mask i, by the manual's words: bits from the lowest on.
std::vector<bool> sub_mask(std::uint64_t bits, int i, int width) {
  const auto byte = [&](int low) { return static_cast<int>(bits >> low & 0xFF); };
  std::vector<bool> out;
  if (!(bits >> 39 & 1)) return std::vector<bool>(static_cast<std::size_t>(width));
  bool value = bits >> (32 + i) & 1;
  int left = byte(value ? 40 : 48) + 1;
  left = std::max(left - byte(8 * i), 1);
  while (static_cast<int>(out.size()) < width) {
    out.push_back(value);
    if (--left == 0) {
      value = !value;
      left = byte(value ? 40 : 48) + 1;
    }
  }
  return out;
}

std::string mask_text(const ZeroColumnMask& mask, int first, int count) {
  std::string out;
  for (int n = first; n < first + count; ++n) out.insert(out.begin(), mask.is_zero(n) ? '1' : '0');
  return out;
}

InstructionDescriptor of_shape(int m, int n, int max_shift) {
  InstructionDescriptor out;
  out.m = m, out.n = n, out.max_shift = max_shift;
  return out;
}

TEST_CASE("the manual's examples of zero-column masks", "[tensor_layout]") {
  const auto bits = [](std::uint64_t counts, std::uint64_t firsts, std::uint64_t on, std::uint64_t skip,
                       std::uint64_t use, std::uint64_t shift) {
    return counts | firsts << 32 | on << 39 | skip << 40 | use << 48 | shift << 56;
  };
  const ZeroColumnMask one = ZeroColumnMask::decode(bits(0, 0, 0, 4, 3, 0), of_shape(128, 64, 0)).value();
  CHECK(mask_text(one, 0, 64) == std::string(64, '0'));
  CHECK(!one.exists());
  const ZeroColumnMask two = ZeroColumnMask::decode(bits(0, 0, 1, 2, 3, 0), of_shape(128, 64, 0)).value();
  CHECK(mask_text(two, 0, 14) == "11100001110000");
  const ZeroColumnMask three = ZeroColumnMask::decode(bits(0, 1, 1, 2, 3, 0), of_shape(64, 128, 0)).value();
  CHECK(mask_text(three, 0, 17) == "11100001110000111");
  CHECK(mask_text(three, 64, 17) == "00011100001110000");
  const ZeroColumnMask four =
      ZeroColumnMask::decode(bits(0x0102'0100, 3, 1, 2, 3, 2), of_shape(32, 128, 8)).value();
  CHECK(mask_text(four, 0, 14) == "00001110000111");
  CHECK(mask_text(four, 32, 13) == "0000111000011");
  CHECK(mask_text(four, 64, 12) == "111000011100");
  CHECK(mask_text(four, 96, 13) == "1110000111000");
  CHECK(four.shift == 2);
  CHECK(text(four) == "runs of 3 zero columns and 4 others, columns of B shifted by 2");
}

TEST_CASE("any zero-column mask is runs by turns", "[tensor_layout]") {
  std::mt19937_64 random(3);
  int wrong = 0;
  for (int run = 0; run < 3000; ++run) {
    const int m = 32 << random() % 3, n = 64 << random() % 3, width = n * m / 128;
    std::uint64_t bits = random() & 0x0007'078F'0707'0707;  // short runs
    if (run % 4 == 0) bits = random() & 0x00FF'FF8F'FFFF'FFFF;
    const Result<ZeroColumnMask> mask = ZeroColumnMask::decode(bits, of_shape(m, n, 0));
    REQUIRE(mask.ok());
    for (int i = 0; i < 128 / m; ++i) {
      const std::vector<bool> expected = sub_mask(bits, i, width);
      for (int column = 0; column < width; ++column)
        wrong += mask->is_zero(i * width + column) != expected[static_cast<std::size_t>(column)];
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("what a zero-column mask may not say is refused", "[tensor_layout]") {
  const auto refusal = [](std::uint64_t bits, int m, int max_shift) {
    const Result<ZeroColumnMask> mask = ZeroColumnMask::decode(bits, of_shape(m, 64, max_shift));
    REQUIRE(!mask.ok());
    CHECK(mask.error().code == Errc::descriptor_field);
    return mask.error().message();
  };
  CHECK(refusal(std::uint64_t{1} << 37, 128, 0) ==
        "zero-column mask 0x2000000000, bits 36-38: 2; expected 0: the bits are reserved");
  CHECK(refusal(std::uint64_t{1} << 62, 128, 0) ==
        "zero-column mask 0x4000000000000000, bits 62-63: 1; expected 0: the bits are reserved");
  CHECK(
      refusal(std::uint64_t{9} << 56, 128, 8) ==
      "zero-column mask 0x900000000000000, shift (bits 56-61): 9; expected 8 or less, the maximum of the instruction "
      "descriptor");
  CHECK(refusal(std::uint64_t{17} << 56, 32, 32) ==
        "zero-column mask 0x1100000000000000, shift (bits 56-61): 17; expected 16 or less, as M is 32");
  CHECK(ZeroColumnMask::decode(std::uint64_t{32} << 56, of_shape(64, 64, 32)).ok());
}

// ---- Descriptors of shared memory

struct Described {
  Swizzle swizzle;
  std::uint64_t width;
  bool wide;
};
constexpr Described kDescribed[] = {{Swizzle::none, 16, false},
                                    {Swizzle::bytes_32, 32, false},
                                    {Swizzle::bytes_64, 64, false},
                                    {Swizzle::bytes_128, 128, false},
                                    {Swizzle::bytes_128_atoms_32, 128, true}};

// What products and copies read: of A and B, with each size of elements.
std::vector<DescribedMatrix> matrices() {
  std::vector<DescribedMatrix> out;
  for (const int lines : {8, 32, 64, 128, 256}) {
    for (const auto& [bits, depth] : {std::pair{32, 8}, {16, 16}, {8, 32}, {4, 64}})
      for (const int times : {1, 2}) out.push_back({Major::k, bits, lines, depth * times});
    out.push_back({Major::k, 4, lines, 96});
    for (const int bits : {4, 6})
      for (const int depth : {32, 64}) out.push_back({Major::k, bits, lines, depth, true});
    for (const auto& [bits, depth] : {std::pair{32, 8}, {32, 16}, {16, 16}, {16, 32}, {8, 32}, {8, 64}})
      if (lines * bits >= 128) out.push_back({Major::mn, bits, lines, depth});
    for (const int bits : {4, 6})
      if (lines >= 16) out.push_back({Major::mn, bits, lines, 32, true});
  }
  out.push_back({Major::k, 8, 4, 32});  // a copy of four lines
  return out;
}

TEST_CASE("an element lies where the formulas say, for every swizzle and size", "[tensor_layout]") {
  std::mt19937_64 random(4);
  const auto multiple = [&](std::uint64_t of, std::uint64_t below) { return random() % (below / of) * of; };
  int wrong = 0, wrong_fields = 0, matrices_checked = 0;
  for (const DescribedMatrix& matrix : matrices())
    for (const Described& d : kDescribed)
      for (int run = 0; run < 6; ++run) {
        const bool absolute = run == 5 && d.swizzle == Swizzle::bytes_128 && matrix.major == Major::k;
        const tensor_formulas::Described plain{multiple(16, 1 << 18),
                                               multiple(16, 1 << 18),
                                               multiple(run < 3 ? 1024 : 16, 1 << 16),
                                               absolute ? 0 : random() % 8,
                                               d.width,
                                               d.wide,
                                               absolute};
        const Result<Descriptor> decoded = Descriptor::decode_tensor("b_desc", plain.bits());
        REQUIRE(decoded.ok());
        wrong_fields += decoded->swizzle != d.swizzle || decoded->absolute_leading != absolute;
        wrong_fields += decoded->encode_tensor().value() != plain.bits();
        ++matrices_checked;
        std::uint64_t end = 0;
        for (int i = 0; i < matrix.lines; ++i)
          for (int k = 0; k < matrix.depth; ++k) {
            const std::uint64_t expected = tensor_formulas::bit(plain, matrix.major == Major::mn,
                                                                matrix.element_bits, matrix.padded, i, k);
            wrong += element_bit(*decoded, matrix, i, k) != expected;
            end = std::max(end, (expected / 128 + 1) * 16);
          }
        wrong += described_end(*decoded, matrix) != end;
        for (const std::uint64_t bytes : {end - 1, end, end + 127, end / 2})
          wrong += is_described_within(*decoded, matrix, bytes) != (bytes >= end);
      }
  CHECK(wrong == 0);
  CHECK(wrong_fields == 0);
  CHECK(matrices_checked > 2000);
}

TEST_CASE("by the canonical layouts every element has its own bytes of the tile", "[tensor_layout]") {
  int tiles = 0, wrong = 0;
  for (const DescribedMatrix& matrix : matrices())
    for (const Described& d : kDescribed) {
      DescribedMatrix whole = matrix;
      int& along = matrix.major == Major::mn ? whole.lines : whole.depth;
      const int step = 8 * static_cast<int>(d.width) / (matrix.padded ? 8 : matrix.element_bits);
      along = (along + step - 1) / step * step;
      const Result<CanonicalTile> tile = CanonicalTile::make(whole, d.swizzle);
      const bool moved = matrix.major == Major::k || (matrix.element_bits == 32) == d.wide;
      INFO(matrix.lines << " x " << matrix.depth << ", " << matrix.element_bits << " bits, "
                        << name(d.swizzle));
      CHECK(tile.ok() == (moved && (matrix.major == Major::mn || matrix.lines % 8 == 0)));
      if (!tile) continue;
      ++tiles;
      for (int k = 0; k + matrix.depth <= whole.depth; k += matrix.depth) {
        const Result<Descriptor> descriptor = tile->descriptor(0x1000, matrix, 0, k);
        if (!descriptor) continue;  // 48 bytes that cross a span
        const DescriptorMap map(*descriptor, matrix);
        std::uint64_t end = 0;
        for (const DescriptorMap::Element& e : map.elements()) {
          wrong += e.bit < end;  // shares a bit with the one before
          end = e.bit + static_cast<std::uint64_t>(matrix.element_bits);
          wrong += e.bit != 8 * 0x1000 + tile->element_bit(e.i, k + e.k);
          wrong += end > (0x1000 + tile->bytes()) * 8;
        }
        CHECK(map.elements().size() == static_cast<std::size_t>(matrix.lines * matrix.depth));
        const auto findings = check_descriptor(descriptor->encode_tensor().value(), matrix,
                                               0x1000 + tile->bytes(), DescriptorForm::tcgen05);
        for (const DescriptorFinding& f : findings) UNSCOPED_INFO(f.message);
        CHECK(findings.empty());
      }
    }
  CHECK(wrong == 0);
  CHECK(tiles > 150);
}

TEST_CASE("a row of 48 bytes goes on at an absolute address", "[tensor_layout]") {
  // Row 1, the third step of 48 bytes: bytes 96-127 of the row, then 16 bytes of the one at 0x4000.
  const Descriptor d = Descriptor::decode_tensor("a_desc", 0x4010'4000'0000'0000 | std::uint64_t{64} << 32 |
                                                               std::uint64_t{0x400} << 16 | 0x2060 / 16)
                           .value();
  CHECK(d.absolute_leading);
  const DescribedMatrix row{Major::k, 4, 8, 96};
  CHECK(element_bit(d, row, 1, 0) / 8 == ((0x2060 + 128) ^ 16));
  CHECK(element_bit(d, row, 1, 63) / 8 == ((0x2060 + 128 + 31) ^ 16));
  CHECK(element_bit(d, row, 1, 64) / 8 == ((0x4000 + 128) ^ 16));
  CHECK(descriptor_text(0x4010'4040'0400'0206, DescriptorForm::tcgen05) ==
        "start 0x2060, LBO 0x4000 (an address), SBO 1024, base offset 0, 128-byte swizzle");
}

TEST_CASE("what a descriptor of tcgen05 may not say is refused", "[tensor_layout]") {
  const auto refusal = [](std::uint64_t bits) {
    const Result<Descriptor> decoded = Descriptor::decode_tensor("b_desc", bits);
    REQUIRE(!decoded.ok());
    CHECK(decoded.error().code == Errc::descriptor_field);
    return decoded.error().message();
  };
  constexpr std::uint64_t kGood = 0x4000'4040'0001'0040;
  CHECK(Descriptor::decode_tensor("b_desc", kGood).value() ==
        Descriptor{0x400, 16, 1024, 0, Swizzle::bytes_128});
  CHECK(refusal(kGood & ~(std::uint64_t{1} << 46)) ==
        "b_desc 0x4000004000010040, bits 46-48: 0; expected 1: those of wgmma have 0 there");
  CHECK(refusal(kGood | std::uint64_t{1} << 47) == "b_desc 0x4000c04000010040, bits 46-48: 3; expected 1");
  CHECK(refusal(kGood | 1 << 14) == "b_desc 0x4000404000014040, bits 14-15: 1; expected 0");
  CHECK(refusal(kGood | std::uint64_t{1} << 31) == "b_desc 0x4000404080010040, bits 30-31: 2; expected 0");
  CHECK(refusal(kGood | std::uint64_t{1} << 53) == "b_desc 0x4020404000010040, bits 53-60: 1; expected 0");
  CHECK(
      refusal(kGood | std::uint64_t{1} << 61) ==
      "b_desc 0x6000404000010040, swizzle, bits 61-63: 3; expected 0 (none), 1 (128 bytes in atoms of 32), 2 (128 "
      "bytes), 4 (64), 6 (32)");
  CHECK(
      refusal((kGood & ~(std::uint64_t{7} << 61)) | std::uint64_t{1} << 52) ==
      "b_desc 0x10404000010040, LBO mode, bit 52: 1, with no swizzle, base offset 0; expected 0, or 128-byte swizzle "
      "with base offset 0");
  CHECK(!Descriptor{0, 0, 0, 0, Swizzle::bytes_128_atoms_32}.encode().ok());
  CHECK(!Descriptor{.swizzle = Swizzle::bytes_64, .absolute_leading = true}.encode_tensor().ok());
}

// ---- Findings

using Issues = std::vector<DescriptorIssue>;

Issues issues(std::uint64_t bits, const DescribedMatrix& matrix, std::uint64_t size = kMostSharedBytes) {
  Issues out;
  for (const DescriptorFinding& finding : check_descriptor(bits, matrix, size, DescriptorForm::tcgen05)) {
    INFO(finding.message);
    CHECK(!finding.message.empty());
    CHECK(finding.message.find('\n') == std::string::npos);
    out.push_back(finding.issue);
  }
  return out;
}

TEST_CASE("what looks wrong about a descriptor of tcgen05", "[tensor_layout]") {
  using enum DescriptorIssue;
  const DescribedMatrix k{Major::k, 16, 128, 16}, mn{Major::mn, 16, 128, 16}, tf32{Major::mn, 32, 128, 8};
  const auto bits = [](std::uint64_t start, std::uint64_t lbo, std::uint64_t sbo, std::uint64_t swizzle) {
    return start / 16 | lbo / 16 << 16 | sbo / 16 << 32 | std::uint64_t{1} << 46 | swizzle << 61;
  };
  const std::uint64_t good = bits(0x400, 16, 1024, 2);
  CHECK(issues(good, k).empty());
  CHECK(issues(good & ~(std::uint64_t{1} << 46), k) == Issues{older_descriptor});
  CHECK(issues(good | std::uint64_t{1} << 48, k) == Issues{not_allowed});
  CHECK(issues(good | std::uint64_t{1} << 55, k) == Issues{not_allowed});
  CHECK(issues(good | std::uint64_t{1} << 15, k) == Issues{not_allowed});
  CHECK(issues(bits(0x400, 16, 1024, 3), k) == Issues{not_allowed});
  CHECK(issues(bits(0x480, 16, 1024, 2), k) == Issues{misaligned_start});
  CHECK(issues(bits(0x460, 16, 1024, 2), k).empty());  // the last step along K
  CHECK(issues(bits(0x400, 1024, 16, 2), k) == Issues{exchanged});
  CHECK(issues(bits(0x400, 16, 16 * 1024, 2), k) == Issues{bytes_for_units});
  CHECK(issues(bits(0x400, 8192, 1024, 2), k) == Issues{ignored_leading});
  CHECK(issues(bits(0, 128, 256, 0) | std::uint64_t{1} << 49, k) == Issues{ignored_bits});
  CHECK(issues(good, k, 0x400 + 16 * 1024 - 1) == Issues{out_of_bounds});
  // M contiguous: two spans of 64 elements, 1024 bytes apart, then the next eight k. And the other way round.
  const std::uint64_t across = bits(0x400, 1024, 2048, 2);
  CHECK(issues(across, mn).empty());
  CHECK(issues(across, k) == Issues{other_major});
  CHECK(issues(bits(0, 128, 256, 0), k).empty());
  // The swizzle of 32-byte atoms and elements of 32 bits with M contiguous belong together.
  CHECK(issues(bits(0x400, 512, 2048, 1), tf32).empty());
  CHECK(issues(bits(0x400, 1024, 4096, 2), tf32) == Issues{not_allowed});
  CHECK(issues(bits(0x400, 512, 1024, 1), mn) == Issues{not_allowed});
  CHECK(issues(bits(0x410, 512, 2048, 1), tf32) == Issues{misaligned_start});
  // An absolute LBO.
  CHECK(issues(good | std::uint64_t{1} << 52 | std::uint64_t{1} << 49, k) == Issues{not_allowed});
  CHECK(check_descriptor(good & ~(std::uint64_t{1} << 46), k, kMostSharedBytes, DescriptorForm::tcgen05)[0]
            .message ==
        "bits 46-48 are 0 as in a descriptor of wgmma; those of tcgen05 have 1 there, i.e. bit 46 set");
}

TEST_CASE("what a descriptor of tcgen05 describes", "[tensor_layout]") {
  const auto matrix = [](std::string_view form, std::uint32_t idesc, Part part) {
    const Result<Instruction> instruction = parse_on(form);
    REQUIRE(instruction.ok());
    const Result<InstructionDescriptor> of =
        InstructionDescriptor::decode(idesc, *tensor_mma(*instruction), instruction->target());
    REQUIRE(of.ok());
    return described_matrix(*instruction, part, *of);
  };
  const auto statement = [](std::string_view head) {
    return fmt::format("{} [d_tmem], a_desc, b_desc, idesc, enable_input_d;", head);
  };
  CHECK(*matrix(statement("tcgen05.mma.cta_group::1.kind::f16"), 0x0821'8490, Part::a) ==
        DescribedMatrix{Major::mn, 16, 128, 16});
  CHECK(*matrix(statement("tcgen05.mma.cta_group::2.kind::f16"), 0x1040'0010, Part::b) ==
        DescribedMatrix{Major::k, 16, 128, 16});
  CHECK(*matrix(statement("tcgen05.mma.cta_group::2.kind::f16"), 0x1040'0010, Part::a) ==
        DescribedMatrix{Major::k, 16, 128, 16});
  CHECK(*matrix(statement("tcgen05.mma.cta_group::1.kind::f8f6f4"), 0x0820'0E90, Part::b) ==
        DescribedMatrix{Major::k, 6, 128, 32, true});
  CHECK(matrix("tcgen05.mma.cta_group::1.kind::f16 [d_tmem], [a_tmem], b_desc, idesc, enable_input_d;",
               0x0820'0010, Part::a)
            .error()
            .code == Errc::operand_kind);
  const Result<Instruction> copy = parse_on("tcgen05.cp.cta_group::1.64x128b.warpx2::02_13.b8x16.b4x16_p64");
  REQUIRE(copy.ok());
  CHECK(*described_matrix(*copy, Part::source) == DescribedMatrix{Major::k, 4, 64, 16, true});
  CHECK(descriptor_form(*copy) == DescriptorForm::tcgen05);
  const Result<Instruction> mma = parse_on("tcgen05.mma.cta_group::1.kind::f16");
  REQUIRE(mma.ok());
  CHECK(
      described_matrix(*mma, Part::b).error().message() ==
      "tcgen05.mma.cta_group::1.kind::f16: its instruction descriptor says what it describes; expected that, for A and "
      "B of tcgen05.mma");
}

}  // namespace tensor_layout_test
