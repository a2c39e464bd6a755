// SPDX-License-Identifier: Apache-2.0
#include "isa/families/operands.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace warpbit {
namespace {

using enum FormatId;

constexpr LiteralRule kBesideRegisters{.integer_mixed = true, .f32_mixed = true};
constexpr LiteralRule kSingles{.f32_whole = true, .f32_mixed = true};
constexpr RegisterClass kF16x2{"b32", 32, "b32 f16x2", kBesideRegisters};
constexpr RegisterClass kB32{"b32", 32, "b32", kBesideRegisters};
constexpr RegisterClass kBytes{
    "b32", 32, "b32 u32 s32 f32 f16x2", {.integer_mixed = true, .f32_whole = true, .f32_mixed = true}};
constexpr RegisterClass kS32{"b32", 32, "b32 u32 s32", {.integer_whole = true, .integer_mixed = true}};
constexpr RegisterClass kF32{"f32", 32, "f32 b32", kSingles};
constexpr RegisterClass kF64{
    "f64", 64, "f64 b64 u64 s64", {.integer_whole = true, .f64_whole = true, .f64_mixed = true}};

using Digits = std::vector<FragmentMap::Digit>;

// Drops digits of size 1.
Digits digits(std::initializer_list<FragmentMap::Digit> list) {
  Digits out;
  std::ranges::copy_if(list, std::back_inserter(out), [](const auto& d) { return d.size > 1; });
  return out;
}

}  // namespace

const RegisterClass& accumulator_registers(FormatId id) {
  return id == f32 ? kF32 : id == f64 ? kF64 : id == s32 ? kS32 : kF16x2;
}
const RegisterClass& multiplicand_registers(FormatId id) {
  if (id == f64) return kF64;
  if (id == f16) return kF16x2;
  return (bf16 | tf32).contains(id) ? kB32 : kBytes;
}

// PTX manual, "Matrix Fragments for mma.m16n8k32": with kind::f8f6f4 every element has 8 bits; e3m2 and e2m3
// lie in the low six of them, e2m1 in the middle four.
Packing packing(FormatId id) {
  const Format& f = format(id);
  if (f.bits == 64) return {64, 64, 0, 64};
  if (f.is_integer || f.bits >= 8) return {32, f.bits, 0, f.bits};
  return {32, 8, id == e2m1 ? 2 : 0, f.bits};
}

FragmentMap a_map(int m, int k, Packing p) {
  const int per = p.per_register();
  return {m,
          k,
          1,
          p,
          {{4, {0, per}}, {8, {1, 0}}},
          digits({{per, {0, 1}}, {m / 8, {8, 0}}, {k / (4 * per), {0, 4 * per}}})};
}
FragmentMap b_map(int k, int n, Packing p) {
  const int per = p.per_register();
  return {k, n, 1, p, {{4, {per, 0}}, {8, {0, 1}}}, digits({{per, {1, 0}}, {k / (4 * per), {4 * per, 0}}})};
}
FragmentMap c_map(int m, int n, Packing p) {
  return {m, n, 1, p, {{4, {0, 2}}, {8, {1, 0}}}, digits({{2, {0, 1}}, {m / 8, {8, 0}}})};
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

std::string canonical(std::string_view opcode, const std::vector<std::string>& qualifiers) {
  std::string out(opcode);
  for (const std::string& q : qualifiers)
    if (!q.empty()) out += "." + q;
  return out;
}

std::string qualifier(FormatId id) {
  return std::string(format(id).name);
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

namespace {
constexpr RegisterClass kMetadata{"b32", 32, "b32 u32 s32 f32 f16x2", {}};
constexpr int kMetadataCounts[] = {2, 4};
}  // namespace

OperandSpec metadata_operand(std::vector<FragmentMap> maps) {
  return {"e", Part::metadata, OperandKind::scalar, &kMetadata, 1, kMetadataCounts, u4, std::move(maps)};
}

OperandSpec selector_operand(const FragmentMap& map, int selectors, int assembler_most) {
  return {"f",
          Part::selector,
          OperandKind::immediate,
          &kMetadata,
          0,
          {},
          u4,
          {map},
          {0, selectors - 1, assembler_most}};
}

OperandSpec vector_operand(std::string_view role, Part part, const RegisterClass& registers, FormatId id,
                           FragmentMap map) {
  const int count = map.registers();
  return {role, part, OperandKind::vector, &registers, count, {}, id, {std::move(map)}, {}};
}

OperandSpec scalar_operand(std::string_view role, Part part, const RegisterClass& registers, FormatId id,
                           FragmentMap map) {
  return {role, part, OperandKind::scalar, &registers, 1, {}, id, {std::move(map)}};
}

OperandSpec address_operand() {
  static constexpr RegisterClass kAddress{"b64", 64, "b64 u64 s64 b32 u32 s32", {}};
  return {"p", Part::address, OperandKind::address, &kAddress, 1, {}, b32, {lane_values(64)}};
}

FragmentMap lane_values(int bits) {
  return {1, 32, 1, {bits, bits, 0, bits}, {{32, {0, 1}}}, {}};
}

}  // namespace warpbit
