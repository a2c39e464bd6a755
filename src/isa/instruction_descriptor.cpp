// SPDX-License-Identifier: Apache-2.0
#include "warpbit/instruction_descriptor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "target/target.hpp"

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
    {What::zero, "reserved", 29, 1},
    {What::max_shift, "maximum shift of B", 30, 2},
};
constexpr Field kScaled[] = {
    {What::zero, "reserved", 0, 2},
    {What::sparse, "sparsity", 2, 1},
    {What::zero, "reserved", 3, 1},
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
    {What::zero, "reserved", 24, 3},
    {What::m, "M >> 7", 27, 2},
    {What::scale_id_a, "scale factor ID of A", 29, 2},
    {What::zero, "reserved", 31, 1},
};
constexpr Field kFp4[] = {
    {What::zero, "reserved", 0, 2},
    {What::sparse, "sparsity", 2, 1},
    {What::zero, "reserved", 3, 1},
    {What::scale_id_b, "scale factor ID of B", 4, 2},
    {What::zero, "reserved", 6, 1},
    {What::a_type, "type of A", 7, 3},
    {What::b_type, "type of B", 10, 2},
    {What::zero, "reserved", 12, 1},
    {What::negate_a, "negate A", 13, 1},
    {What::negate_b, "negate B", 14, 1},
    {What::transpose_a, "transpose A", 15, 1},
    {What::transpose_b, "transpose B", 16, 1},
    {What::n, "N >> 3", 17, 6},
    {What::scale_type, "type of scale factors", 23, 1},
    {What::zero, "reserved", 24, 3},
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

constexpr int kUltraK = 96;  // of sm_103a alone

int depth_of(const TensorMma& mma, bool is_ultra) {
  constexpr std::array<int, 7> kDepths{16, 8, 32, 32, 32, 64, 64};
  if (is_ultra) return kUltraK;
  return kDepths[static_cast<std::size_t>(mma.kind)] * (mma.is_sparse ? 2 : 1);
}

std::string_view allowed_m(const TensorMma& mma) {
  if (mma.is_weight_stationary) return "32, 64, 128";
  if (is_scaled(mma.kind)) return mma.cta_group == 1 ? "128" : mma.is_sparse ? "256" : "128, 256";
  return mma.cta_group == 1 ? "64, 128" : "128, 256";
}
bool is_allowed_m(int m, const TensorMma& mma) {
  const std::string list = fmt::format(", {},", allowed_m(mma));
  return list.find(fmt::format(" {},", m)) != std::string::npos;
}

std::string_view allowed_n(const TensorMma& mma, bool b_transposed_bytes) {
  const bool pair = mma.cta_group == 2;
  if (mma.is_weight_stationary) return mma.is_sparse ? "64, 128" : "64, 128, 256";
  if (mma.kind == TensorKind::i8)
    return pair ? "a multiple of 32 from 32 to 256" : "8, 16, 24, 32, or a multiple of 16 up to 256";
  if (b_transposed_bytes) return pair ? "a multiple of 32 from 32 to 256" : "a multiple of 16 from 16 to 256";
  return pair ? "a multiple of 16 from 16 to 256" : "a multiple of 8 from 8 to 256";
}
bool is_allowed_n(int n, const TensorMma& mma, bool b_transposed_bytes) {
  if (n < 8 || n > 256) return false;
  if (mma.is_weight_stationary) return n == 64 || n == 128 || (n == 256 && !mma.is_sparse);
  const bool pair = mma.cta_group == 2;
  if (mma.kind == TensorKind::i8) return pair ? n % 32 == 0 : n % 16 == 0 || n == 8 || n == 24;
  return n % ((pair ? 16 : 8) * (b_transposed_bytes ? 2 : 1)) == 0;
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
      case What::zero: return none(f, value, "the bits are reserved");
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
    const bool selects = mma_.kind == TensorKind::f16 || mma_.kind == TensorKind::tf32;
    if (const int most = mma_.is_sparse && selects ? 1 : 0; out_.sparsity_selector > most)
      return refuse(field(What::selector), fmt::format("{}", out_.sparsity_selector),
                    most == 1 ? "0 or 1" : "0");
    return std::nullopt;
  }

  std::optional<Error> check_shape() const {
    const bool bytes = mma_.kind != TensorKind::f16 && mma_.kind != TensorKind::tf32;
    if (is_ultra_) {
      const bool exists = target_.name().starts_with("sm_103") && !mma_.is_sparse;
      if (!exists)
        return refuse(field(What::k), "1 (K 96)",
                      mma_.is_sparse ? "0: K 96 is dense" : "0: only sm_103a has K 96");
    }
    if (!is_allowed_m(out_.m, mma_))
      return refuse(field(What::m), fmt::format("M {}", out_.m), std::string(allowed_m(mma_)));
    if (const bool transposed = bytes && out_.b_is_mn_major; !is_allowed_n(out_.n, mma_, transposed))
      return refuse(field(What::n), fmt::format("N {}", out_.n), std::string(allowed_n(mma_, transposed)));
    return std::nullopt;
  }

  std::optional<Error> check_scales() const {
    if (!is_scaled(mma_.kind)) return std::nullopt;
    const bool may_be_ue4m3 = mma_.kind == TensorKind::mxf4nvf4 && mma_.scale_vec == 4;
    if (out_.scale == "ue4m3" && !may_be_ue4m3)
      return refuse(field(What::scale_type), "0 (ue4m3)", "1 (ue8m0)");
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
      case What::zero: break;
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
  if (again->k != k && k != 0)
    return Error{Errc::instruction_descriptor,
                 fmt::format("instruction descriptor of .kind::{}", name(mma.kind)), fmt::format("K {}", k),
                 fmt::format("{}", again->k)};
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
      case What::zero: meaning = value == 0 ? "" : "must be 0"; break;
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

constexpr std::uint64_t kMaskZeros = std::uint64_t{7} << 36 | std::uint64_t{3} << 62;

}  // namespace

// Sub-mask i is runs of zeros and of ones by turns; the first one is shorter by the start count.
bool ZeroColumnMask::is_zero(int column) const {
  if (!is_enabled || width == 0) return false;
  const std::size_t part = static_cast<std::size_t>(column / width);
  bool value = first_value[part];
  // A start count that takes the whole run leaves one column of it: not in the manual's examples.
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
  const auto refuse = [&](std::string_view field, std::string seen, std::string accepted) {
    return Error{Errc::descriptor_field, fmt::format("zero-column mask {:#x}, {}", bits, field),
                 std::move(seen), std::move(accepted)};
  };
  if ((bits & kMaskZeros) != 0)
    return refuse("bits 36-38 and 62-63", fmt::format("{:#x}", bits & kMaskZeros), "0");
  ZeroColumnMask out;
  for (std::size_t i = 0; i < 4; ++i) {
    out.start_count[i] = static_cast<int>(bits >> 8 * i & 0xFF);
    out.first_value[i] = (bits >> (32 + i) & 1) != 0;
  }
  out.is_enabled = (bits >> 39 & 1) != 0;
  out.runs[1] = static_cast<int>(bits >> 40 & 0xFF) + 1;
  out.runs[0] = static_cast<int>(bits >> 48 & 0xFF) + 1;
  out.shift = static_cast<int>(bits >> 56 & 0x3F);
  out.width = of.n * of.m / 128;
  if (out.shift > of.max_shift)
    return refuse("shift, bits 56-61", fmt::format("{}", out.shift),
                  fmt::format("at most {}, as the instruction descriptor says", of.max_shift));
  if (of.m == 32 && out.shift > 16)
    return refuse("shift, bits 56-61", fmt::format("{}", out.shift), "at most 16 where M is 32");
  return out;
}

}  // namespace warpbit
