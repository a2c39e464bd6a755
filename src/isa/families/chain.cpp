// SPDX-License-Identifier: Apache-2.0
// A product in a chain of FMA, as kernels on CUDA cores sum, or of products and sums as plain loops have it: no form of PTX, so
// listings do not have it. It is for whole products, where it is an instruction of depth 1:
//
//   chain.fma.rn.dtype{.atype}    d = a b + c, rounded once to dtype; a and b are of atype, converted exactly
//   chain.mul_add.rn.dtype        a b is rounded to dtype before it is added
#include "isa/families/operands.hpp"

namespace warpbit {
namespace {
namespace of_chains {

using enum FormatId;

constexpr QualifierSlot kOperationSlot{.what = "operation", .group = "operation"};
constexpr QualifierSlot kRoundingSlot{.what = "rounding", .group = "rounding"};
constexpr QualifierSlot kFactorSlot{.what = "type of A and B", .group = "type", .required = false};
constexpr std::array kSlots{kOperationSlot, kRoundingSlot, kTypeOfD, kFactorSlot};

struct Row {
  std::string_view operation;
  FormatId sum, factor;
  Modifier modifier = Modifier::none;
};
constexpr Row kRows[] = {{"fma", f32, f32},
                         {"fma", f64, f64},
                         {"fma", f32, f16},
                         {"fma", f32, bf16},
                         {"mul_add", f32, f32, Modifier::separate},
                         {"mul_add", f64, f64, Modifier::separate}};

// One element in one register of one lane.
OperandSpec element(std::string_view role, Part part, FormatId id) {
  static constexpr RegisterClass kB16{"b16", 16, "b16"}, kF32{"f32", 32, "f32"}, kF64{"f64", 64, "f64"};
  const int bits = format(id).bits;
  const RegisterClass& registers = bits == 16 ? kB16 : bits == 32 ? kF32 : kF64;
  return scalar_operand(role, part, registers, id, {1, 1, 1, {bits, bits, 0, bits}, {}, {{1, {0, 1}}}});
}

Form make_form(const Row& row) {
  Form out = make_form(
      "chain", {row.operation, "rn", qualifier(row.sum), row.factor == row.sum ? "" : qualifier(row.factor)},
      {1, 1, 1}, Feature::sm_70, {Unit::chain, row.sum, row.factor, row.factor, row.sum, row.modifier});
  out.operands = {element("d", Part::d, row.sum), element("a", Part::a, row.factor),
                  element("b", Part::b, row.factor), element("c", Part::c, row.sum)};
  return out;
}

std::vector<Form> expand() {
  std::vector<Form> out;
  for (const Row& row : kRows) out.push_back(make_form(row));
  return out;
}

}  // namespace of_chains
}  // namespace

const Family& chain_family() {
  using namespace of_chains;
  static const Family family{"chain", "chain", {}, kSlots, FormList(expand)};
  return family;
}

}  // namespace warpbit
