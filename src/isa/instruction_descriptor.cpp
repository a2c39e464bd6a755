// SPDX-License-Identifier: Apache-2.0
#include "warpbit/instruction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <variant>

#include "isa/instruction.hpp"
#include "isa/instruction_fields.hpp"

namespace warpbit {

std::optional<TensorMma> tensor_mma(const Instruction& instruction) {
  const auto* const action = std::get_if<TensorAction>(&instruction.decoded().kernel);
  const auto* const mma = action == nullptr ? nullptr : std::get_if<TensorMma>(&action->what);
  return mma == nullptr ? std::nullopt : std::optional(*mma);
}

std::vector<Arithmetic> arithmetics_of(const Form& form) {
  const auto* const action = std::get_if<TensorAction>(&form.action);
  const auto* const mma = action == nullptr ? nullptr : std::get_if<TensorMma>(&action->what);
  if (mma == nullptr) return {form.arithmetic};
  std::vector<Arithmetic> out;
  const instruction_fields::Types& types = instruction_fields::types_of(mma->kind);
  for (const std::string_view factor : types.factors)
    for (const std::string_view sum : types.sums)
      if (!factor.empty() && !sum.empty()) {
        const FormatId a = find_format(factor)->id, d = find_format(sum)->id;
        out.push_back({form.arithmetic.unit, d, a, a, d, form.arithmetic.modifier});
      }
  return out;
}

int InstructionDescriptor::scales(const TensorMma& of) const {
  return k == instruction_fields::kUltraK ? 3 * of.scale_vec / 2 : of.scale_vec;
}

Result<std::uint32_t> InstructionDescriptor::encode(const TensorMma& mma, Target target) const {
  using namespace instruction_fields;
  Bits out = 0;
  const Types& types = types_of(mma.kind);
  for (const Field& f : table_of(mma.kind)) {
    std::optional<Bits> value = 0;
    std::string seen;
    const auto number = [&](int of, int shift) {
      seen = fmt::format("{}", of);
      value = of >= 0 && (of >> shift << shift) == of ? std::optional(static_cast<Bits>(of >> shift))
                                                      : std::nullopt;
    };
    switch (f.what) {
      case What::zero:
      case What::newer: break;
      case What::selector: number(sparsity_selector, 0); break;
      case What::sparse: value = is_sparse; break;
      case What::saturate: value = saturates; break;
      case What::d_type: value = code_of(types.sums, d), seen = d; break;
      case What::a_type: value = code_of(types.factors, a), seen = a; break;
      case What::b_type: value = code_of(types.factors, b), seen = b; break;
      case What::negate_a: value = negates_a; break;
      case What::negate_b: value = negates_b; break;
      case What::transpose_a: value = a_is_mn_major; break;
      case What::transpose_b: value = b_is_mn_major; break;
      case What::n: number(n, 3); break;
      case What::m: number(m, is_scaled(mma.kind) ? 7 : 4); break;
      case What::scale_type: value = code_of(kScaleTypes, scale), seen = scale; break;
      case What::scale_id_a: number(scale_id_a, 0); break;
      case What::scale_id_b: number(scale_id_b, 0); break;
      case What::max_shift:
        seen = fmt::format("{}", max_shift);
        value = max_shift == 0    ? std::optional<Bits>(0)
                : max_shift == 8  ? std::optional<Bits>(1)
                : max_shift == 16 ? std::optional<Bits>(2)
                : max_shift == 32 ? std::optional<Bits>(3)
                                  : std::nullopt;
        break;
      case What::k: value = k == kUltraK; break;
    }
    if (!value || *value >> f.bits != 0)
      return Error{Errc::instruction_descriptor,
                   fmt::format("instruction descriptor of .kind::{}, {}", name(mma.kind), f.name), seen,
                   "a value that the field has"};
    out |= *value << f.first;
  }
  const Result<InstructionDescriptor> again = decode(out, mma, target);
  if (!again) return again.error();
  InstructionDescriptor whole = *this;  // what may be left open
  if (k == 0) whole.k = again->k;
  if (d.empty() && is_scaled(mma.kind)) whole.d = again->d;
  if (*again != whole)
    return Error{Errc::instruction_descriptor,
                 fmt::format("instruction descriptor of .kind::{}", name(mma.kind)), text(whole),
                 "what its fields can say, " + text(*again)};
  return out;
}

std::vector<InstructionDescriptorField> fields(std::uint32_t descriptor, TensorKind kind) {
  using namespace instruction_fields;
  std::vector<InstructionDescriptorField> out;
  const Types& types = types_of(kind);
  for (const Field& f : table_of(kind)) {
    const Bits value = value_of(f, descriptor);
    std::string meaning;
    const auto type = [&](const auto& list) {
      const std::string_view found = type_at(list, value);
      meaning = found.empty() ? "no type; " + listed(list) : std::string(found);
    };
    switch (f.what) {
      case What::zero:
      case What::newer: meaning = value == 0 ? "" : "must be 0"; break;
      case What::selector:
      case What::scale_id_a:
      case What::scale_id_b: meaning = fmt::format("{}", value); break;
      case What::sparse: meaning = value != 0 ? "sparse" : "dense"; break;
      case What::saturate: meaning = value != 0 ? "clamped" : "wrapped"; break;
      case What::d_type: type(types.sums); break;
      case What::a_type:
      case What::b_type: type(types.factors); break;
      case What::negate_a:
      case What::negate_b: meaning = value != 0 ? "yes" : "no"; break;
      case What::transpose_a: meaning = value != 0 ? "M-major" : "K-major"; break;
      case What::transpose_b: meaning = value != 0 ? "N-major" : "K-major"; break;
      case What::n: meaning = fmt::format("N {}", value << 3); break;
      case What::m: meaning = fmt::format("M {}", value << (is_scaled(kind) ? 7 : 4)); break;
      case What::scale_type: meaning = kScaleTypes[value]; break;
      case What::max_shift: meaning = fmt::format("{}", value == 0 ? 0 : 4 << value); break;
      case What::k: meaning = value != 0 ? "K 96" : "K 64, or 128 of a sparse product"; break;
    }
    out.push_back({f.name, f.first, f.bits, value, std::move(meaning)});
  }
  return out;
}

std::string text(const InstructionDescriptor& d) {
  std::string out = fmt::format("M {}, N {}, K {}{}, {} = {}{} x {}{}, A {}-major, B {}-major", d.m, d.n, d.k,
                                d.is_sparse ? fmt::format(" (sparse, selector {})", d.sparsity_selector) : "",
                                d.d, d.negates_a ? "-" : "", d.a, d.negates_b ? "-" : "", d.b,
                                d.a_is_mn_major ? "M" : "K", d.b_is_mn_major ? "N" : "K");
  if (!d.scale.empty())
    out += fmt::format(", scale factors {} from bytes {} and {}", d.scale, d.scale_id_a, d.scale_id_b);
  if (d.saturates) out += ", clamped";
  if (d.max_shift != 0) out += fmt::format(", columns of B shifted by up to {}", d.max_shift);
  return out;
}

}  // namespace warpbit
