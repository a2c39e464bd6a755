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

// A digit of size 1 counts nothing.
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

OperandSpec vector_operand(std::string_view role, Part part, const RegisterClass& registers, FormatId id,
                           FragmentMap map) {
  const int count = map.registers();
  return {role, part, OperandKind::vector, &registers, count, {}, id, {std::move(map)}, {}};
}

}  // namespace warpbit
