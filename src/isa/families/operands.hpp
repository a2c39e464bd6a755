// SPDX-License-Identifier: Apache-2.0
// Shared by the families: registers and fragments of operands, slots of qualifiers, expansion of rows to forms.
#pragma once

#include <initializer_list>
#include <utility>

#include "isa/form.hpp"

namespace warpbit {

// ---- Registers

inline constexpr LiteralRule kBesideRegisters{.integer = kBeside, .f32 = kBeside};
inline constexpr LiteralRule kSingles{.f32 = kAnywhere};
inline constexpr std::string_view kAnyTypes = "b32 u32 s32 f32 f16x2", kIntegerTypes = "b32 u32 s32";
inline constexpr RegisterClass kAnyWord{"b32", 32, kAnyTypes}, kIntegerWord{"b32", 32, kIntegerTypes};
inline constexpr RegisterClass kFactorWord{"b32", 32, "b32", kBesideRegisters};
inline constexpr RegisterClass kStoredWord{"b32", 32, kAnyTypes, {.integer = kBeside, .f32 = kAnywhere}};

// The register classes of accumulators and factors of a type.
const RegisterClass& accumulator_registers(FormatId id);
const RegisterClass& multiplicand_registers(FormatId id);

// ---- Fragments. t = lane % 4, g = lane / 4; "per" elements lie in a register (PTX manual, "Matrix Fragments
// for mma...").

/// How elements of a type lie in a register.
Packing packing(FormatId id);

/// A: row g + 8 (r % 2) if M is 16, column per t + e + 4 per (r / 2).
FragmentMap a_map(int m, int k, Packing p);
/// B: row per t + e + 4 per r, column g.
FragmentMap b_map(int k, int n, Packing p);
/// C and D: value i is row g + 8 (i / 2), column 2 t + i % 2.
FragmentMap c_map(int m, int n, Packing p);
/// A value of each lane: one row, column i in lane i.
FragmentMap lane_values(int bits);
/// Metadata of a sparse A with `terms` stored elements per row and M = 16: one map for each selector. With
/// `rows_apart`, a register that holds 32 bits of a row holds no other row.
std::vector<FragmentMap> metadata_maps(const Sparsity& sparsity, int terms, bool rows_apart);

// ---- Operands

/// An operand in braces with all registers of the map.
OperandSpec vector_operand(std::string_view role, Part part, const RegisterClass& registers, FormatId id,
                           FragmentMap map);
/// A register of each lane.
OperandSpec scalar_operand(std::string_view role, Part part, const RegisterClass& registers, FormatId id,
                           FragmentMap map);
OperandSpec immediate_operand(std::string_view role, Part part, ImmediateRange range);
/// [p]
OperandSpec address_operand();
/// Appends the metadata and its selector; the assembler accepts selectors up to `assembler_most`.
void add_metadata(std::vector<FragmentMap> maps, std::vector<OperandSpec>& operands, int assembler_most = 0,
                  std::string_view metadata = "e", std::string_view selector = "f");

// ---- Qualifiers

// Slots that many families share.
inline constexpr QualifierSlot kInstruction{.what = "instruction", .group = "instruction", .leading = true};
inline constexpr QualifierSlot kVariant{.what = "sparse variant", .group = "variant", .required = false};
inline constexpr QualifierSlot kSync{.what = "qualifier .sync", .group = "sync", .repeatable = true};
inline constexpr QualifierSlot kAligned{.what = "qualifier .aligned", .group = "aligned"};
inline constexpr QualifierSlot kAlignedByManual{
    .what = "qualifier .aligned", .group = "aligned", .assembler_optional = true};
inline constexpr QualifierSlot kShape{
    .what = "shape", .group = "shape", .role = SlotRole::shape, .resembles = looks_like_shape};
inline constexpr QualifierSlot kLayoutOfA{.what = "layout of A", .group = "layout"};
inline constexpr QualifierSlot kLayoutOfB{.what = "layout of B", .group = "layout"};
inline constexpr QualifierSlot kSpace{.what = "state space", .group = "space", .required = false};
inline constexpr QualifierSlot kRounding{.what = "rounding", .group = "rounding", .required = false};
inline constexpr QualifierSlot kSatfinite{
    .what = "saturation", .group = "saturation", .required = false, .repeatable = true};
inline constexpr QualifierSlot kOperation{.what = "bit operation", .group = "operation", .required = false};
inline constexpr QualifierSlot kPopc{
    .what = "qualifier .popc", .group = "popc", .required = false, .after_previous = true};
inline constexpr QualifierSlot kType{.what = "type", .group = "type", .role = SlotRole::factor_type};
inline constexpr QualifierSlot kTypeOfA{.what = "type of A", .group = "type", .role = SlotRole::factor_type};
inline constexpr QualifierSlot kTypeOfB{
    .what = "type of B", .group = "type", .repeats = 1, .role = SlotRole::factor_type};
inline constexpr QualifierSlot kTypeOfC{.what = "type of C", .group = "type", .repeats = 3};
inline constexpr QualifierSlot kTypeOfD{.what = "type of D", .group = "type"};

/// kind::...
constexpr bool looks_like_kind(std::string_view qualifier) {
  return qualifier.starts_with("kind::");
}

/// The name of a format as a qualifier.
inline std::string_view qualifier(FormatId id) {
  return format(id).name;
}

/// The optional qualifiers of a row of mma, wgmma or wmma.mma, with the features that they require.
struct FreeQualifiers {
  std::string_view satfinite, rounding, operation;
  Modifier modifier;
  Features needs;

  std::string_view popc() const { return operation.empty() ? "" : "popc"; }
};
/// By the type of A.
std::span<const FreeQualifiers> free_qualifiers(FormatId a);

/// The layouts of A and B; every form has row.col.
struct LayoutPair {
  std::string_view a, b;
};
inline constexpr LayoutPair kAnyLayout[] = {{"row", "col"}, {"row", "row"}, {"col", "col"}, {"col", "row"}};

// ---- Expansion

/// The formats of a set, in the order of their rows; and all pairs of them, for A and B.
std::vector<FormatId> types_in(FormatSet set);
std::vector<std::pair<FormatId, FormatId>> pairs_in(FormatSet set);

/// M, N and K of products side by side, or the rows and columns of matrices.
struct Shape {
  int m, n, k = 0, products = 1;
  std::string text() const;  ///< m16n8k16
};

/// A form without operands. The qualifiers are those of the family's slots, "" where absent.
Form make_form(std::string_view opcode, std::initializer_list<std::string_view> qualifiers, const Shape& shape,
               Features needs, const Arithmetic& arithmetic);

/// Appends a form, unless one with the same qualifiers is there: an earlier row with fewer needs wins.
void add_new(Form form, std::vector<Form>& forms);

}  // namespace warpbit
