// SPDX-License-Identifier: Apache-2.0
#include "isa/families/operands.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "isa/statement.hpp"

namespace warpbit {
namespace {

using enum FormatId;

constexpr RegisterClass kF16x2{"b32", 32, "b32 f16x2", kBesideRegisters};
constexpr RegisterClass kS32{"b32", 32, kIntegerTypes, {.integer = kAnywhere}};
constexpr RegisterClass kF32{"f32", 32, "f32 b32", kSingles};
constexpr RegisterClass kF64{"f64", 64, "f64 b64 u64 s64", {.integer = kAlone, .f64 = kAnywhere}};

using Digits = std::vector<FragmentMap::Digit>;

// Drops digits of size 1.
Digits digits(Digits list) {
  std::erase_if(list, [](const auto& d) { return d.size == 1; });
  return list;
}

}  // namespace

const RegisterClass& accumulator_registers(FormatId id) {
  return id == f32 ? kF32 : id == f64 ? kF64 : id == s32 ? kS32 : kF16x2;
}
const RegisterClass& multiplicand_registers(FormatId id) {
  if (id == f64) return kF64;
  if (id == f16) return kF16x2;
  return (bf16 | tf32).contains(id) ? kFactorWord : kStoredWord;
}

// PTX manual, "Matrix Fragments for mma.m16n8k32": with kind::f8f6f4 every element has 8 bits; e3m2 and e2m3
// lie in the low six of them, e2m1 in the middle four.
Packing packing(FormatId id) {
  const Format& f = format(id);
  if (f.bits == 64) return {64, 64, 0, 64};
  if (f.is_integer || f.bits >= 8) return {32, f.bits, 0, f.bits};
  return {32, 8, f.byte_low, f.bits};
}

FragmentMap a_map(int m, int k, Packing p) {
  const int per = p.per_register();
  const Digits value = digits({{per, {0, 1}}, {m / 8, {8, 0}}, {k / (4 * per), {0, 4 * per}}});
  return {m, k, 1, p, {{4, {0, per}}, {8, {1, 0}}}, value};
}
FragmentMap b_map(int k, int n, Packing p) {
  const int per = p.per_register();
  return {k, n, 1, p, {{4, {per, 0}}, {8, {0, 1}}}, digits({{per, {1, 0}}, {k / (4 * per), {4 * per, 0}}})};
}
FragmentMap c_map(int m, int n, Packing p) {
  return {m, n, 1, p, {{4, {0, 2}}, {8, {1, 0}}}, digits({{2, {0, 1}}, {m / 8, {8, 0}}})};
}

FragmentMap lane_values(int bits) {
  return {1, 32, 1, {bits, bits, 0, bits}, {{32, {0, 1}}}, {}};
}

// PTX manual, "Matrix Fragments for sparse mma...": a matrix of nibbles, one row per row of A, one column per
// group. g = lane / 4, t = lane % 4, n = nibble of the register, s = selector.
std::vector<FragmentMap> metadata_maps(const Sparsity& sparsity, int terms, bool rows_apart) {
  constexpr Packing kNibbles{32, 4, 0, 4};
  constexpr int kM = 16;
  const int groups = terms / sparsity.kept;
  std::vector<FragmentMap> out;
  for (int s = 0; s < 16 / groups; ++s) {  // 4, 2 or 1, as 1, 2 or 4 lanes of four hold metadata
    const ActiveLanes pair{4, 2 * s, 2};
    if (groups == 4)  // lane t = s: row g in the low half, row g + 8 in the high half
      out.push_back({kM, 4, 1, kNibbles, {{8, {1, 0}}}, {{4, {0, 1}}, {2, {8, 0}}}, {4, s, 1}});
    else if (groups == 16)  // lanes t = 0 ... 3: row g + 8 (t % 2), groups n + 8 (t / 2)
      out.push_back({kM, 16, 1, kNibbles, {{2, {8, 0}}, {2, {0, 8}}, {8, {1, 0}}}, {{8, {0, 1}}}});
    else if (rows_apart)  // lanes t = 2 s + p: row g + 8 p
      out.push_back({kM, 8, 1, kNibbles, {{2, {8, 0}}, {8, {1, 0}}}, {{8, {0, 1}}}, pair});
    else  // the same lanes: halves as in the first case, groups n % 4 + 4 p
      out.push_back({kM, 8, 1, kNibbles, {{2, {0, 4}}, {8, {1, 0}}}, {{4, {0, 1}}, {2, {8, 0}}}, pair});
  }
  return out;
}

OperandSpec vector_operand(std::string_view role, Part part, const RegisterClass& registers, FormatId id,
                           FragmentMap map) {
  const int count = map.registers();
  return {role, part, OperandKind::vector, &registers, count, id, {std::move(map)}};
}

OperandSpec scalar_operand(std::string_view role, Part part, const RegisterClass& registers, FormatId id,
                           FragmentMap map) {
  return {role, part, OperandKind::scalar, &registers, 1, id, {std::move(map)}};
}

OperandSpec immediate_operand(std::string_view role, Part part, ImmediateRange range) {
  return {role, part, OperandKind::immediate, &kIntegerWord, 0, b32, {lane_values(32)}, range};
}

OperandSpec address_operand() {
  static constexpr RegisterClass kAddress{"b64", 64, "b64 u64 s64 b32 u32 s32"};
  return {"p", Part::address, OperandKind::address, &kAddress, 1, b32, {lane_values(64)}};
}

void add_metadata(std::vector<FragmentMap> maps, std::vector<OperandSpec>& operands, int assembler_most,
                  std::string_view metadata, std::string_view selector) {
  static constexpr int kAlsoCounts[] = {2, 4};
  const int most = static_cast<int>(maps.size()) - 1;
  operands.push_back({metadata, Part::metadata, OperandKind::scalar, &kAnyWord, 1, u4, std::move(maps)});
  operands.back().also_counts = kAlsoCounts;
  operands.push_back(immediate_operand(selector, Part::selector, {0, most, assembler_most}));
}

std::span<const FreeQualifiers> free_qualifiers(FormatId a) {
  static constexpr FreeQualifiers kPlain[] = {{"", "", "", {}, {}}};
  static constexpr FreeQualifiers kInteger[] = {{"", "", "", {}, {}},
                                                {"satfinite", "", "", Modifier::satfinite, {}}};
  static constexpr FreeQualifiers kDouble[] = {{"", "", "", {}, {}},
                                               {"", "rn", "", Modifier::rn, {}},
                                               {"", "rz", "", Modifier::rz, {}},
                                               {"", "rm", "", Modifier::rm, {}},
                                               {"", "rp", "", Modifier::rp, {}}};
  static constexpr FreeQualifiers kBits[] = {{"", "", "xor", Modifier::xor_popc, {}},
                                             {"", "", "and", Modifier::and_popc, Feature::sm_80}};
  if (a == f64) return kDouble;
  if (a == b1) return kBits;
  return format(a).is_integer ? std::span<const FreeQualifiers>(kInteger) : kPlain;
}

std::vector<FormatId> types_in(FormatSet set) {
  std::vector<FormatId> out;
  for (const Format& f : formats())
    if (set.contains(f.id)) out.push_back(f.id);
  return out;
}

std::vector<std::pair<FormatId, FormatId>> pairs_in(FormatSet set) {
  std::vector<std::pair<FormatId, FormatId>> out;
  for (const FormatId a : types_in(set))
    for (const FormatId b : types_in(set)) out.emplace_back(a, b);
  return out;
}

std::string Shape::text() const {
  return fmt::format("m{}n{}k{}", m, n, k);
}

Form make_form(std::string_view opcode, std::initializer_list<std::string_view> qualifiers, const Shape& shape,
               Features needs, const Arithmetic& arithmetic) {
  Form out{};
  out.canonical = spell(opcode, {qualifiers.begin(), qualifiers.size()});
  out.qualifiers.assign(qualifiers.begin(), qualifiers.end());
  out.needs = needs;
  out.arithmetic = arithmetic;
  out.rows = shape.m;
  out.columns = shape.n;
  out.depth = shape.k;
  out.products = shape.products;
  return out;
}

void add_new(Form form, std::vector<Form>& forms) {
  if (std::ranges::find(forms, form.canonical, &Form::canonical) == forms.end())
    forms.push_back(std::move(form));
}

}  // namespace warpbit
