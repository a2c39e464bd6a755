// SPDX-License-Identifier: Apache-2.0
// What the forms of tcgen05 share: operands, places of qualifiers, forms that move and order.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/families/operands.hpp"

namespace warpbit::tcgen05_family {

constexpr int kWarp = 32, kThread = 1;

/// A value of each lane that executes the instruction: of so many.
FragmentMap thread_values(int lanes, int bits, int count = 1);
OperandSpec one(std::string_view role, Part part, OperandKind kind, const RegisterClass& registers, FormatId id,
                int lanes);
/// [taddr]
OperandSpec tensor_address(std::string_view role, Part part, int lanes);
/// [p], of shared memory.
OperandSpec shared_address(std::string_view role, int lanes);
/// The descriptor of a matrix in shared memory.
OperandSpec descriptor(std::string_view role, Part part, FormatId id);

constexpr RegisterClass kIntegerOrLiteral{"b32", 32, kIntegerTypes, {.integer = kAlone}};

constexpr QualifierSlot kWord{.what = "instruction", .group = "instruction", .leading = true, .chosen = true};
constexpr QualifierSlot kCtaGroup{.what = "CTA group", .group = "cta_group"};
constexpr QualifierSlot kDataType{.what = "type", .group = "type"};

constexpr std::string_view kCtaGroups[] = {"cta_group::1", "cta_group::2"};

constexpr int number_of(std::string_view cta_group) {
  return cta_group.back() - '0';
}

constexpr Features kSpecific = Feature::tensor_memory | Feature::tensor_specific;

/// A form without its operands, which moves and orders.
Form make_tensor_form(std::initializer_list<std::string_view> qualifiers, TensorAction action,
                      Features needs = Feature::tensor_memory);

/// A family of tcgen05.
inline void add(std::vector<Family>& out, std::string_view name, std::span<const std::string_view> marks,
                std::span<const QualifierSlot> slots, FormList forms, std::span<const SinceRow> since = {}) {
  out.push_back({name, "tcgen05", marks, slots, std::move(forms), since});
}

void add_products(std::vector<Family>& out);  ///< tcgen05.mma
void add_moves(std::vector<Family>& out);     ///< tcgen05.ld, .st, .cp and .shift

}  // namespace warpbit::tcgen05_family
