// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "isa/instruction_fields.hpp"
#include "target/target.hpp"

namespace warpbit {
namespace instruction_fields {
namespace {

using D = InstructionDescriptor;

// ---- Shapes (PTX manual, "Matrix Shape"): dense K is half of the sparse one

int depth_of(const TensorMma& mma, bool is_ultra) {
  constexpr std::array<int, 8> kDepths{16, 8, 32, 32, 32, 64, 64, 16};
  if (is_ultra) return kUltraK;
  return kDepths[static_cast<std::size_t>(mma.kind)] * (mma.is_sparse ? 2 : 1);
}

std::string_view allowed_m(const TensorMma& mma) {
  if (mma.is_weight_stationary) return "32, 64, 128";
  if (is_scaled(mma.kind)) return mma.cta_group == 1 ? "128" : mma.is_sparse ? "256" : "128, 256";
  return mma.cta_group == 1 ? "64, 128" : "128, 256";
}
bool is_allowed_m(int m, const TensorMma& mma) {
  const std::string list = fmt::format(" {},", allowed_m(mma));
  return list.find(fmt::format(" {},", m)) != std::string::npos;
}

// The values that N has: a multiple of `step`, and those of integers that are not.
struct Columns {
  std::string_view list;
  int step = 8;
  bool has_8_and_24 = false;
};
constexpr Columns kByEight{"a multiple of 8 from 8 to 256", 8},
    kBySixteen{"a multiple of 16 from 16 to 256", 16}, kByThirtyTwo{"a multiple of 32 from 32 to 256", 32},
    kOfIntegers{"8, 24, or a multiple of 16 from 16 to 256", 16, true};

// The rule of the table, and for a transposed B of bytes or less that of "Major-ness".
Columns columns_of(const TensorMma& mma, int m, bool transposed_bytes) {
  const bool pair = mma.cta_group == 2;
  if (mma.kind == TensorKind::ti16) return pair ? kByThirtyTwo : m == 64 ? kByEight : kBySixteen;
  if (transposed_bytes) return pair ? kByThirtyTwo : kBySixteen;
  if (mma.kind == TensorKind::i8) return pair ? kByThirtyTwo : kOfIntegers;
  return pair ? kBySixteen : kByEight;
}

std::string_view allowed_n(const TensorMma& mma, int m, bool transposed_bytes) {
  if (mma.is_weight_stationary) return mma.is_sparse ? "64, 128" : "64, 128, 256";
  return columns_of(mma, m, transposed_bytes).list;
}
bool is_allowed_n(int n, const TensorMma& mma, int m, bool transposed_bytes) {
  if (n < 8 || n > 256) return false;
  if (mma.is_weight_stationary) return n == 64 || n == 128 || (n == 256 && !mma.is_sparse);
  const Columns columns = columns_of(mma, m, transposed_bytes);
  return n % columns.step == 0 || (columns.has_8_and_24 && (n == 8 || n == 24));
}

int id_step(const TensorMma& mma, int scales) {
  if (mma.scale_vec == 1 || scales == 3) return 1;
  return mma.scale_vec == 2 || scales == 6 ? 2 : 4;
}

// ---- Decoding

class Decoder {
 public:
  Decoder(Bits bits, const TensorMma& mma, Target target) : bits_(bits), mma_(mma), target_(target) {}

  Result<D> run() {
    for (const Field& field : table_of(mma_.kind))
      if (std::optional<Error> error = take(field, value_of(field, bits_))) return *std::move(error);
    if (std::optional<Error> error = check()) return *std::move(error);
    return out_;
  }

 private:
  Error refuse(const Field& field, std::string seen, std::string accepted) const {
    const std::string bits = field.bits == 1
                                 ? fmt::format("bit {}", field.first)
                                 : fmt::format("bits {}-{}", field.first, field.first + field.bits - 1);
    return {Errc::instruction_descriptor,
            fmt::format("instruction descriptor {:#x} of .kind::{}, {} ({})", bits_, name(mma_.kind),
                        field.name, bits),
            std::move(seen), std::move(accepted)};
  }
  const Field& field(What what) const { return *std::ranges::find(table_of(mma_.kind), what, &Field::what); }

  // A bit that must be 0 here.
  std::optional<Error> none(const Field& f, Bits value, std::string why) const {
    if (value == 0) return std::nullopt;
    return refuse(f, fmt::format("{}", value), "0: " + std::move(why));
  }

  std::optional<Error> take(const Field& f, Bits value) {
    const Types& types = types_of(mma_.kind);
    const auto type = [&](const auto& list, std::string_view& to) -> std::optional<Error> {
      to = type_at(list, value);
      if (!to.empty()) return std::nullopt;
      return refuse(f, fmt::format("{}", value), listed(list));
    };
    switch (f.what) {
      case What::zero: return none(f, value, f.bits == 1 ? "the bit is reserved" : "the bits are reserved");
      case What::newer: return none(f, value, "a field of sm_107, reserved before");
      case What::selector: out_.sparsity_selector = static_cast<int>(value); return std::nullopt;
      case What::sparse:
        out_.is_sparse = value != 0;
        if (out_.is_sparse == mma_.is_sparse) return std::nullopt;
        return refuse(f, fmt::format("{}", value),
                      mma_.is_sparse ? "1, as the instruction has .sp" : "0, as the instruction has no .sp");
      case What::saturate:
        out_.saturates = value != 0;
        return mma_.kind == TensorKind::i8 ? std::nullopt : none(f, value, "only .kind::i8 saturates");
      case What::d_type: return type(types.sums, out_.d);
      case What::a_type: return type(types.factors, out_.a);
      case What::b_type: return type(types.factors, out_.b);
      case What::negate_a:
      case What::negate_b:
        (f.what == What::negate_a ? out_.negates_a : out_.negates_b) = value != 0;
        return mma_.kind == TensorKind::i8 ? none(f, value, "integers are not negated") : std::nullopt;
      case What::transpose_a:
      case What::transpose_b:
        (f.what == What::transpose_a ? out_.a_is_mn_major : out_.b_is_mn_major) = value != 0;
        if (is_fp4(mma_.kind)) return none(f, value, "elements of 4 bits are K-major");
        if (mma_.kind == TensorKind::ti16) return none(f, value, "A and B of .kind::ti16 are K-major");
        if (f.what == What::transpose_a && mma_.a_in_tensor_memory)
          return none(f, value, "A in tensor memory is K-major");
        return std::nullopt;
      case What::n: out_.n = static_cast<int>(value) << 3; return std::nullopt;
      case What::m: out_.m = static_cast<int>(value) << (is_scaled(mma_.kind) ? 7 : 4); return std::nullopt;
      case What::scale_type: out_.scale = kScaleTypes[value]; return std::nullopt;
      case What::scale_id_a: out_.scale_id_a = static_cast<int>(value); return std::nullopt;
      case What::scale_id_b: out_.scale_id_b = static_cast<int>(value); return std::nullopt;
      case What::max_shift:
        out_.max_shift = value == 0 ? 0 : 4 << value;
        return mma_.is_weight_stationary ? std::nullopt : none(f, value, "only .ws shifts the columns of B");
      case What::k: is_ultra_ = value != 0; return std::nullopt;
    }
    return std::nullopt;
  }

  // What several fields say together.
  std::optional<Error> check() {
    out_.k = depth_of(mma_, is_ultra_);
    if (is_scaled(mma_.kind)) out_.d = "f32";
    if (mma_.kind == TensorKind::f16 && out_.a != out_.b)
      return refuse(field(What::b_type), std::string(out_.b), fmt::format("{}, as the type of A", out_.a));
    if (out_.a == "bf16" && out_.d != "f32")
      return refuse(field(What::d_type), std::string(out_.d), "1 (f32), as A is bf16");
    if (std::optional<Error> shape = check_shape()) return shape;
    if (std::optional<Error> scales = check_scales()) return scales;
    if (const int most = mma_.is_sparse && has_wide_elements(mma_.kind) ? 1 : 0; out_.sparsity_selector > most)
      return refuse(field(What::selector), fmt::format("{}", out_.sparsity_selector),
                    most == 1        ? "0 or 1"
                    : mma_.is_sparse ? "0: only kinds f16, tf32 and ti16 select"
                                     : "0, as the product is dense");
    return std::nullopt;
  }

  std::optional<Error> check_shape() const {
    const bool bytes = !has_wide_elements(mma_.kind);
    if (is_ultra_ && mma_.is_sparse) return refuse(field(What::k), "1 (K 96)", "0, as K 96 is dense");
    if (is_ultra_ && !target_.row().features.has(Feature::tensor_k96))
      return refuse(field(What::k), fmt::format("1 (K 96) on {}", target_.name()),
                    fmt::format("0; K 96 is on {}", names(targets_with(Feature::tensor_k96))));
    if (!is_allowed_m(out_.m, mma_))
      return refuse(field(What::m), fmt::format("M {}", out_.m), std::string(allowed_m(mma_)));
    if (const bool transposed = bytes && out_.b_is_mn_major; !is_allowed_n(out_.n, mma_, out_.m, transposed))
      return refuse(field(What::n), fmt::format("N {}", out_.n),
                    std::string(allowed_n(mma_, out_.m, transposed)));
    return std::nullopt;
  }

  std::optional<Error> check_scales() const {
    if (!is_scaled(mma_.kind)) return std::nullopt;
    const bool may_be_ue4m3 = mma_.kind == TensorKind::mxf4nvf4 && mma_.scale_vec == 4;
    if (out_.scale == "ue4m3" && !may_be_ue4m3)
      return refuse(
          field(What::scale_type), "0 (ue4m3)",
          mma_.kind == TensorKind::mxf4nvf4 ? "1 (ue8m0), as a scale factor is for 32 elements" : "1 (ue8m0)");
    const int scales = out_.scales(mma_), step = id_step(mma_, scales);
    for (const auto& [what, id] :
         {std::pair{What::scale_id_a, out_.scale_id_a}, {What::scale_id_b, out_.scale_id_b}})
      if (id % step != 0) return refuse(field(what), fmt::format("{}", id), step == 4 ? "0" : "0 or 2");
    return std::nullopt;
  }

  const Bits bits_;
  const TensorMma& mma_;
  const Target target_;
  D out_;
  bool is_ultra_ = false;
};

}  // namespace
}  // namespace instruction_fields

Result<InstructionDescriptor> InstructionDescriptor::decode(std::uint32_t bits, const TensorMma& mma,
                                                            Target target) {
  return instruction_fields::Decoder(bits, mma, target).run();
}

}  // namespace warpbit
