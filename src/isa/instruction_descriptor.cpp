// SPDX-License-Identifier: Apache-2.0
#include "warpbit/instruction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <variant>

#include "isa/instruction.hpp"

namespace warpbit {
namespace {

using Bits = std::uint32_t;
using D = InstructionDescriptor;

// ---- The fields (PTX manual, "Instruction Descriptor"), one table for each of the three forms

enum class What : std::uint8_t {
  selector,
  sparse,
  saturate,
  d_type,
  a_type,
  b_type,
  negate_a,
  negate_b,
  transpose_a,
  transpose_b,
  n,
  m,
  scale_type,
  scale_id_a,
  scale_id_b,
  max_shift,
  k,
  zero,
  newer,  // zero, too: sm_107 has a field there
};

struct Field {
  What what;
  std::string_view name;
  int first, bits;
};

constexpr Field kDense[] = {
    {What::selector, "sparsity selector", 0, 2},
    {What::sparse, "sparsity", 2, 1},
    {What::saturate, "saturate", 3, 1},
    {What::d_type, "type of D", 4, 2},
    {What::zero, "reserved", 6, 1},
    {What::a_type, "type of A", 7, 3},
    {What::b_type, "type of B", 10, 3},
    {What::negate_a, "negate A", 13, 1},
    {What::negate_b, "negate B", 14, 1},
    {What::transpose_a, "transpose A", 15, 1},
    {What::transpose_b, "transpose B", 16, 1},
    {What::n, "N >> 3", 17, 6},
    {What::zero, "reserved", 23, 1},
    {What::m, "M >> 4", 24, 5},
    {What::newer, "reserved", 29, 1},
    {What::max_shift, "maximum shift of B", 30, 2},
};
constexpr Field kScaled[] = {
    {What::zero, "reserved", 0, 2},
    {What::sparse, "sparsity", 2, 1},
    {What::newer, "reserved", 3, 1},
    {What::scale_id_b, "scale factor ID of B", 4, 2},
    {What::zero, "reserved", 6, 1},
    {What::a_type, "type of A", 7, 3},
    {What::b_type, "type of B", 10, 3},
    {What::negate_a, "negate A", 13, 1},
    {What::negate_b, "negate B", 14, 1},
    {What::transpose_a, "transpose A", 15, 1},
    {What::transpose_b, "transpose B", 16, 1},
    {What::n, "N >> 3", 17, 6},
    {What::scale_type, "type of scale factors", 23, 1},
    {What::newer, "reserved", 24, 3},
    {What::m, "M >> 7", 27, 2},
    {What::scale_id_a, "scale factor ID of A", 29, 2},
    {What::newer, "reserved", 31, 1},
};
constexpr Field kFp4[] = {
    {What::zero, "reserved", 0, 2},
    {What::sparse, "sparsity", 2, 1},
    {What::newer, "reserved", 3, 1},
    {What::scale_id_b, "scale factor ID of B", 4, 2},
    {What::zero, "reserved", 6, 1},
    {What::a_type, "type of A", 7, 3},
    {What::b_type, "type of B", 10, 2},
    {What::newer, "reserved", 12, 1},
    {What::negate_a, "negate A", 13, 1},
    {What::negate_b, "negate B", 14, 1},
    {What::transpose_a, "transpose A", 15, 1},
    {What::transpose_b, "transpose B", 16, 1},
    {What::n, "N >> 3", 17, 6},
    {What::scale_type, "type of scale factors", 23, 1},
    {What::newer, "reserved", 24, 3},
    {What::m, "M >> 7", 27, 2},
    {What::scale_id_a, "scale factor ID of A", 29, 2},
    {What::k, "K dimension", 31, 1},
};

bool is_fp4(TensorKind kind) {
  return kind == TensorKind::mxf4 || kind == TensorKind::mxf4nvf4;
}
bool is_scaled(TensorKind kind) {
  return is_fp4(kind) || kind == TensorKind::mxf8f6f4;
}
std::span<const Field> table_of(TensorKind kind) {
  if (is_fp4(kind)) return kFp4;
  return is_scaled(kind) ? std::span<const Field>(kScaled) : std::span<const Field>(kDense);
}
Bits value_of(const Field& field, Bits bits) {
  return bits >> field.first & ((Bits{1} << field.bits) - 1);
}

// ---- The types of each kind, by their code; "" for none

struct Types {
  TensorKind kind;
  std::array<std::string_view, 6> factors;
  std::array<std::string_view, 3> sums;
};
constexpr Types kTypes[] = {
    {TensorKind::f16, {"f16", "bf16"}, {"f16", "f32"}},
    {TensorKind::tf32, {"", "", "tf32"}, {"", "f32"}},
    {TensorKind::f8f6f4, {"e4m3", "e5m2", "", "e2m3", "e3m2", "e2m1"}, {"f16", "f32"}},
    {TensorKind::i8, {"u8", "s8"}, {"", "", "s32"}},
    {TensorKind::mxf8f6f4, {"e4m3", "e5m2", "", "e2m3", "e3m2", "e2m1"}, {"f32"}},
    {TensorKind::mxf4, {"", "e2m1"}, {"f32"}},
    {TensorKind::mxf4nvf4, {"", "e2m1"}, {"f32"}},
    {TensorKind::ti16, {"", "", "", "s1z4m11"}, {"", "", "s32"}},
};
const Types& types_of(TensorKind kind) {
  return kTypes[static_cast<std::size_t>(kind)];
}
template <std::size_t N>
std::string_view type_at(const std::array<std::string_view, N>& types, Bits code) {
  return code < N ? types[code] : std::string_view();
}
template <std::size_t N>
std::string listed(const std::array<std::string_view, N>& types) {
  std::string out;
  for (std::size_t i = 0; i < N; ++i)
    if (!types[i].empty()) out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", i, types[i]);
  return out;
}
constexpr std::array<std::string_view, 2> kScaleTypes{"ue4m3", "ue8m0"};

// ---- Shapes (PTX manual, "Matrix Shape"): dense K is half of the sparse one

constexpr int kUltraK = 96;

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

// The code of a type; nothing if it has none.
template <std::size_t N>
std::optional<Bits> code_of(const std::array<std::string_view, N>& types, std::string_view type) {
  const auto found = std::ranges::find(types, type);
  if (type.empty() || found == types.end()) return std::nullopt;
  return static_cast<Bits>(found - types.begin());
}

}  // namespace

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
  const Types& types = types_of(mma->kind);
  for (const std::string_view factor : types.factors)
    for (const std::string_view sum : types.sums)
      if (!factor.empty() && !sum.empty()) {
        const FormatId a = find_format(factor)->id, d = find_format(sum)->id;
        out.push_back({form.arithmetic.unit, d, a, a, d, form.arithmetic.modifier});
      }
  return out;
}

int InstructionDescriptor::scales(const TensorMma& of) const {
  return k == kUltraK ? 3 * of.scale_vec / 2 : of.scale_vec;
}

Result<InstructionDescriptor> InstructionDescriptor::decode(std::uint32_t bits, const TensorMma& mma,
                                                            Target target) {
  return Decoder(bits, mma, target).run();
}

Result<std::uint32_t> InstructionDescriptor::encode(const TensorMma& mma, Target target) const {
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

// ---- Zero-column masks

namespace {

constexpr std::uint64_t mask_field(std::uint64_t bits, int low, int count) {
  return bits >> low & ((std::uint64_t{1} << count) - 1);
}

}  // namespace

bool ZeroColumnMask::is_zero(int column) const {
  if (!is_enabled) return false;
  const auto part = static_cast<std::size_t>(column / width);
  bool value = first_value[part];
  int run = runs[value] - std::min(start_count[part], runs[value] - 1);
  int at = column % width;
  while (at >= run) {
    at -= run;
    value = !value;
    run = runs[value];
  }
  return value;
}

Result<ZeroColumnMask> ZeroColumnMask::decode(std::uint64_t bits, const InstructionDescriptor& of) {
  const auto refuse = [&](std::string_view field, std::uint64_t seen, std::string accepted) {
    return Error{Errc::descriptor_field, fmt::format("zero-column mask {:#x}, {}", bits, field),
                 fmt::format("{}", seen), std::move(accepted)};
  };
  for (const auto& [low, count] : {std::pair{36, 3}, {62, 2}})
    if (const std::uint64_t value = mask_field(bits, low, count); value != 0)
      return refuse(fmt::format("bits {}-{}", low, low + count - 1), value, "0: the bits are reserved");
  ZeroColumnMask out;
  for (int i = 0; i < 4; ++i) {
    const auto part = static_cast<std::size_t>(i);
    out.start_count[part] = static_cast<int>(mask_field(bits, 8 * i, 8));
    out.first_value[part] = mask_field(bits, 32 + i, 1) != 0;
  }
  out.is_enabled = mask_field(bits, 39, 1) != 0;
  out.runs = {static_cast<int>(mask_field(bits, 48, 8)) + 1, static_cast<int>(mask_field(bits, 40, 8)) + 1};
  const std::uint64_t shift = mask_field(bits, 56, 6);
  out.shift = static_cast<int>(shift);
  out.width = of.n * of.m / 128;
  if (const int most = of.m == 32 ? 16 : 32; out.shift > most)
    return refuse("shift (bits 56-61)", shift, fmt::format("{} or less, as M is {}", most, of.m));
  if (out.shift > of.max_shift)
    return refuse("shift (bits 56-61)", shift,
                  fmt::format("{} or less, the maximum of the instruction descriptor", of.max_shift));
  return out;
}

std::string text(const ZeroColumnMask& mask) {
  std::string out = mask.is_enabled
                        ? fmt::format("runs of {} zero columns and {} others", mask.runs[1], mask.runs[0])
                        : std::string("no zero columns");
  if (mask.shift != 0) out += fmt::format(", columns of B shifted by {}", mask.shift);
  return out;
}

}  // namespace warpbit
