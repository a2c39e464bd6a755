// SPDX-License-Identifier: Apache-2.0
// Shared by the families of mma: registers and fragments of their operands.
#pragma once

#include <algorithm>
#include <array>

#include "isa/form.hpp"

namespace warpbit {

// The register classes of accumulators and factors of a type.
const RegisterClass& accumulator_registers(FormatId id);
const RegisterClass& multiplicand_registers(FormatId id);

/// How elements of a type lie in a register.
Packing packing(FormatId id);

// Fragments. t = lane % 4, g = lane / 4; "per" elements lie in a register (PTX manual, "Matrix Fragments for
// mma...").

/// A: row g + 8 (r % 2) if M is 16, column per t + e + 4 per (r / 2).
FragmentMap a_map(int m, int k, Packing p);
/// B: row per t + e + 4 per r, column g.
FragmentMap b_map(int k, int n, Packing p);
/// C and D: value i is row g + 8 (i / 2), column 2 t + i % 2.
FragmentMap c_map(int m, int n, Packing p);

/// An operand in braces with all registers of the map.
OperandSpec vector_operand(std::string_view role, Part part, const RegisterClass& registers, FormatId id,
                           FragmentMap map);

/// A register of each lane.
OperandSpec scalar_operand(std::string_view role, Part part, const RegisterClass& registers, FormatId id,
                           FragmentMap map);

/// A value of each lane: one row, column i in lane i.
FragmentMap lane_values(int bits);

/// [p]
OperandSpec address_operand();

/// `opcode.qualifier...`, without the empty ones.
std::string canonical(std::string_view opcode, const std::vector<std::string>& qualifiers);

/// The name of a format as a qualifier.
std::string qualifier(FormatId id);

/// Metadata of a sparse A with `terms` stored elements per row and M = 16: one map for each selector. With
/// `rows_apart`, a register that holds 32 bits of a row holds no other row.
std::vector<FragmentMap> metadata_maps(const Sparsity& sparsity, int terms, bool rows_apart);
OperandSpec metadata_operand(std::vector<FragmentMap> maps);
/// The sparsity selector; the assembler accepts values up to `assembler_most`.
OperandSpec selector_operand(const FragmentMap& map, int selectors, int assembler_most);

/// The optional qualifiers of a row of mma or wmma.mma, with the features that they require.
struct FreeQualifiers {
  std::string_view satfinite, rounding, operation;
  Modifiers modifiers;
  Features needs;
};
/// By the type of A.
std::span<const FreeQualifiers> free_qualifiers(FormatId a);

/// kind::...
constexpr bool looks_like_kind(std::string_view qualifier) {
  return qualifier.starts_with("kind::");
}

/// Whether A and B may differ in type.
enum class Types { same, mixed };

/// The layouts of A and B; every form has row.col.
struct LayoutPair {
  std::string_view a, b;
};
inline constexpr LayoutPair kAnyLayout[] = {{"row", "col"}, {"row", "row"}, {"col", "col"}, {"col", "row"}};

// Qualifiers that many families share.
inline constexpr QualifierSlot kSync{.what = "qualifier .sync", .group = "sync", .repeatable = true};
inline constexpr QualifierSlot kAligned{.what = "qualifier .aligned", .group = "aligned"};
inline constexpr QualifierSlot kShape{
    .what = "shape", .group = "shape", .role = SlotRole::shape, .resembles = looks_like_shape};
inline constexpr QualifierSlot kSpace{.what = "state space", .group = "space", .required = false};
inline constexpr QualifierSlot kSatfinite{
    .what = "saturation", .group = "saturation", .required = false, .repeatable = true};
inline constexpr QualifierSlot kOperation{.what = "bit operation", .group = "operation", .required = false};
inline constexpr QualifierSlot kPopc{
    .what = "qualifier .popc", .group = "popc", .required = false, .after_previous = true};
inline constexpr QualifierSlot kTypeOfA{.what = "type of A", .group = "type", .role = SlotRole::factor_type};
inline constexpr QualifierSlot kTypeOfB{.what = "type of B", .group = "type", .role = SlotRole::factor_type};

/// The qualifiers of mma and mma.sp.
inline constexpr std::array kMmaSlots{
    kSync,
    kAligned,
    kShape,
    QualifierSlot{.what = "layout of A", .group = "layout"},
    QualifierSlot{.what = "layout of B", .group = "layout"},
    QualifierSlot{.what = "kind", .group = "kind", .required = false, .resembles = looks_like_kind},
    kSatfinite,
    QualifierSlot{.what = "type of D", .group = "type"},
    kTypeOfA,
    kTypeOfB,
    QualifierSlot{.what = "type of C", .group = "type"},
};

/// Concatenates two lists of slots.
template <std::size_t N, std::size_t M>
constexpr std::array<QualifierSlot, N + M> joined(const std::array<QualifierSlot, N>& x,
                                                  const std::array<QualifierSlot, M>& y) {
  std::array<QualifierSlot, N + M> out{};
  std::ranges::copy(x, out.begin());
  std::ranges::copy(y, out.begin() + N);
  return out;
}

}  // namespace warpbit
