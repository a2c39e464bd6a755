// SPDX-License-Identifier: Apache-2.0
#include "grid/vector.hpp"

#include <algorithm>
#include <cstring>

#include "grid/block.hpp"
#include "grid/steps.hpp"
#include "isa/instruction.hpp"

namespace warpbit::grid {
namespace {

using ptx::Type, scalar::Operation, scalar::Mode;

// ---- Which function

struct Named {
  std::string_view opcode;
  VectorCode code;
};
constexpr Named kOpcodes[] = {
    {"add", VectorCode::add},        {"sub", VectorCode::sub},          {"mul", VectorCode::mul},
    {"mad", VectorCode::mad},        {"fma", VectorCode::fma},          {"min", VectorCode::min},
    {"max", VectorCode::max},        {"abs", VectorCode::abs},          {"neg", VectorCode::neg},
    {"div", VectorCode::div},        {"rem", VectorCode::rem},          {"and", VectorCode::bit_and},
    {"or", VectorCode::bit_or},      {"xor", VectorCode::bit_xor},      {"not", VectorCode::bit_not},
    {"shl", VectorCode::shl},        {"shr", VectorCode::shr},          {"lop3", VectorCode::lop3},
    {"bfe", VectorCode::bfe},        {"bfi", VectorCode::bfi},          {"prmt", VectorCode::prmt},
    {"popc", VectorCode::popc},      {"clz", VectorCode::clz},          {"selp", VectorCode::selp},
    {"setp", VectorCode::setp},      {"shf", VectorCode::funnel_right}, {"cvt", VectorCode::cvt},
    {"set", VectorCode::setp},       {"slct", VectorCode::slct},        {"bfind", VectorCode::bfind},
    {"brev", VectorCode::brev},      {"dp4a", VectorCode::dp4a},        {"dp2a", VectorCode::dp2a},
    {"addc", VectorCode::add_carry}, {"subc", VectorCode::sub_carry},   {"madc", VectorCode::mad_carry},
    {"rcp", VectorCode::rcp},        {"sqrt", VectorCode::sqrt},        {"rsqrt", VectorCode::rsqrt},
    {"sin", VectorCode::sin},        {"cos", VectorCode::cos},          {"lg2", VectorCode::lg2},
    {"ex2", VectorCode::ex2},        {"tanh", VectorCode::tanh},
};

bool is_half(Type type) {
  return type == Type::f16 || type == Type::f16x2 || type == Type::bf16 || type == Type::bf16x2;
}
bool is_float(Type type) {
  return type == Type::f32 || type == Type::f64 || is_half(type);
}

// With .cc, or with the carry of another.
VectorCode code_with_carry(const Operation& o) {
  if (o.opcode.starts_with("add")) return VectorCode::add_carry;
  if (o.opcode.starts_with("sub")) return VectorCode::sub_carry;
  return o.mode == Mode::low    ? VectorCode::mad_carry
         : o.mode == Mode::high ? VectorCode::mad_high_carry
                                : VectorCode::none;
}
bool carries(VectorCode code) {
  return code >= VectorCode::add_carry && code <= VectorCode::mad_high_carry;
}

VectorCode code_of(const Operation& o) {
  const auto* const found = std::ranges::find(kOpcodes, o.opcode, &Named::opcode);
  if (found == std::end(kOpcodes)) return VectorCode::none;
  if (o.carry || carries(found->code)) return code_with_carry(o);
  const bool floating = is_float(o.type);
  switch (found->code) {
    case VectorCode::mul:
      return floating || o.mode == Mode::low ? VectorCode::mul
             : o.mode == Mode::high          ? VectorCode::mul_high
                                             : VectorCode::mul_wide;
    case VectorCode::mad:
      return floating               ? VectorCode::fma
             : o.mode == Mode::low  ? VectorCode::mad
             : o.mode == Mode::wide ? VectorCode::mad_wide
                                    : VectorCode::none;
    case VectorCode::funnel_right: return o.left ? VectorCode::funnel_left : VectorCode::funnel_right;
    default: return found->code;
  }
}

// A slot of so many bits. A constant of a type has as many as the type, but at least 8.
bool is_slot(const Place& place, int bits) {
  return (place.kind == Place::Kind::reg || place.kind == Place::Kind::constant) && place.bits == bits;
}
bool is_register(const Place& place) {
  return place.kind == Place::Kind::reg;
}

// What no function knows.
bool is_modified(const Operation& o) {
  const bool packed = ptx::is_packed(o.type) || ptx::is_packed(o.to);
  return o.scaled || (o.relu && !is_half(o.type)) || o.oob || o.xorsign || o.abs ||
         (packed && !is_half(o.type)) || (o.sat && !is_float(o.type)) ||
         o.permutation != scalar::Permutation::index;
}

bool has_places(const Step& step, VectorCode code, const Operation& o) {
  const int bits = ptx::bits(o.type), to = ptx::bits(o.to);
  const auto& [d, second, a, b, c, e, none] = step.place;
  if (none.exists() || !is_slot(a, bits)) return false;
  if (code == VectorCode::setp && o.opcode == "set" && !is_register(d)) return false;
  if (code == VectorCode::setp)
    return is_slot(b, bits) && (o.boolean == scalar::Boolean::none) != c.exists() && !e.exists() &&
           (!c.exists() || c.kind == Place::Kind::predicate);
  if (!is_register(d) || (second.exists() && !carries(code))) return false;
  switch (code) {
    case VectorCode::abs:
    case VectorCode::neg:
    case VectorCode::brev:
    case VectorCode::rcp:
    case VectorCode::sqrt:
    case VectorCode::rsqrt:
    case VectorCode::sin:
    case VectorCode::cos:
    case VectorCode::lg2:
    case VectorCode::ex2:
    case VectorCode::tanh:
    case VectorCode::bit_not: return d.bits == to && !b.exists();
    case VectorCode::bfind:
    case VectorCode::popc:
    case VectorCode::clz: return d.bits == 32 && !b.exists();
    case VectorCode::shl:
    case VectorCode::shr: return d.bits == to && is_slot(b, 32) && !c.exists();
    case VectorCode::slct: return d.bits == bits && is_slot(b, bits) && is_slot(c, 32) && !e.exists();
    case VectorCode::mad:
    case VectorCode::mad_wide:
    case VectorCode::mad_carry:
    case VectorCode::mad_high_carry:
    case VectorCode::dp4a:
    case VectorCode::dp2a:
    case VectorCode::fma: return d.bits == to && is_slot(b, bits) && is_slot(c, to) && !e.exists();
    case VectorCode::selp:
      return d.bits == bits && bits >= 16 && is_slot(b, bits) && c.kind == Place::Kind::predicate &&
             !e.exists();
    case VectorCode::lop3:
    case VectorCode::bfi: return d.bits == 32 && is_slot(b, 32) && is_slot(c, 32) && is_slot(e, 32);
    case VectorCode::bfe:
    case VectorCode::prmt:
    case VectorCode::funnel_left:
    case VectorCode::funnel_right: return d.bits == 32 && is_slot(b, 32) && is_slot(c, 32) && !e.exists();
    default: return d.bits == to && is_slot(b, bits) && !c.exists();
  }
}

// Integers from a register and to one that may be wider than the type.
bool has_places_of_cvt(const Step& step, const Operation& o) {
  const Place &d = step.place[0], &a = step.place[2];
  const bool from_integer = o.type <= Type::b64, to_integer = o.to <= Type::b64;
  const int bits = ptx::bits(o.type), to = ptx::bits(o.to);
  if (!is_register(d) || step.place[1].exists() || a.kind == Place::Kind::none || step.place[3].exists())
    return false;
  if (a.kind == Place::Kind::predicate || a.bits < bits || d.bits < to || d.bits > 64 || a.bits > 64)
    return false;
  if (from_integer && to_integer) return !o.has_rounding;
  if (!from_integer && a.bits != bits) return false;
  if (!to_integer && d.bits != to) return false;
  if (from_integer && (a.bits == 64) != (bits == 64)) return false;
  if (o.type == Type::f32 && o.to == Type::f32) return o.rounds_to_integer;
  if (o.sat) return false;
  const bool nearest = o.rounding == Rounding::nearest_even && !o.rounds_to_integer;
  if (to_integer) return o.rounds_to_integer && d.bits <= 32 && to <= 32;
  if (o.ftz) return false;
  // Into the wider type nothing is rounded.
  const bool widens = !from_integer && bits < to;
  return nearest && o.has_rounding != widens;
}

std::uint32_t parameter_of(const Step& step, const Operation& o, VectorCode code) {
  if (code == VectorCode::fma) return (o.negate_product ? 1U : 0U) | (o.negate_addend ? 2U : 0U);
  if (code == VectorCode::setp) return static_cast<std::uint32_t>(o.boolean);
  if (code == VectorCode::funnel_left || code == VectorCode::funnel_right) return o.clamp ? 1 : 0;
  if (code == VectorCode::bfind) return o.shift_amount ? 1 : 0;
  if (code == VectorCode::dp4a || code == VectorCode::dp2a)
    return (ptx::is_signed(o.third) ? 1U : 0U) | (ptx::is_signed(o.type) ? 2U : 0U) |
           (o.mode == Mode::high ? 4U : 0U);
  if (code != VectorCode::cvt) return 0;
  const auto bits = [](Type type) {
    return static_cast<std::uint32_t>(ptx::bits(type)) | (ptx::is_signed(type) ? 0x80U : 0U);
  };
  return bits(o.type) | bits(o.to) << 8 | static_cast<std::uint32_t>(step.place[0].bits) << 16;
}

std::uint8_t rounding_of(const Operation& o) {
  switch (o.rounding) {
    case Rounding::nearest_even: return 0;
    case Rounding::toward_zero: return 1;
    case Rounding::down: return 2;
    default: return 3;
  }
}

VectorSet find(const VectorKey& key) {
  VectorSet out = {find_vector_scalar(key)};
#if defined(__x86_64__)
  out[1] = find_vector_avx2(key);
  out[2] = find_vector_avx512(key);
#elif defined(__aarch64__)
  out[3] = find_vector_neon(key);
#endif
  return out;
}

void become(Step& step, Run run, const VectorSet& set) {
  if (set == VectorSet{}) return;
  step.specification = step.run;
  step.run = run;
  step.vector = set;
}

VectorKey key_of(const Step& step, const Operation& o, VectorCode code) {
  VectorKey key;
  key.code = code;
  key.type = o.type;
  key.to = o.to;
  key.third = o.third;
  key.d_bits = step.place[0].bits;
  key.a_bits = step.place[2].bits;
  key.compare = static_cast<std::uint8_t>(o.compare);
  key.rounding = rounding_of(o);
  key.precision = static_cast<std::uint8_t>(o.precision);
  key.ftz = o.ftz;
  key.sat = o.sat;
  key.relu = o.relu;
  key.nan = o.nan;
  return key;
}

Run runner_of(const Operation& o, VectorCode code) {
  if (carries(code)) return steps::vector_carry;
  if (code != VectorCode::setp) return steps::vector;
  return o.opcode == "set" ? steps::vector_set : steps::vector_setp;
}

void vectorise_compute(Step& step, const Operation& o) {
  const VectorCode code = code_of(o);
  if (code == VectorCode::none || is_modified(o) || (step.target >= 0 && !carries(code))) return;
  const bool compares = code == VectorCode::setp, converts = code == VectorCode::cvt;
  if (is_half(o.type) && !converts && !compares && o.to != o.type) return;
  if (converts ? !has_places_of_cvt(step, o) : !has_places(step, code, o)) return;
  if (!compares && o.boolean != scalar::Boolean::none) return;
  step.parameter = parameter_of(step, o, code);
  become(step, runner_of(o, code), find(key_of(step, o, code)));
}

void vectorise_move(Step& step) {
  const Place &d = step.place[0], &a = step.place[2];
  const bool same = (d.bits == 64) == (a.bits == 64) && d.bits >= a.bits && d.bits <= 64;
  if (!is_register(d) || !(is_register(a) || a.kind == Place::Kind::constant) || !same) return;
  VectorKey key;
  key.code = VectorCode::copy;
  key.d_bits = d.bits;
  become(step, steps::vector, find(key));
}

}  // namespace

void vectorise(Step& step, const Operation* operation) {
  if (operation != nullptr) return vectorise_compute(step, *operation);
  if (step.run == steps::move) vectorise_move(step);
}

void vectorise_pair(Step& step, const Instruction& instruction, std::span<const Place> places) {
  const auto* const kernel = std::get_if<ElementwiseKernel>(&instruction.decoded().kernel);
  if (kernel == nullptr || !kernel->conversion || instruction.inferred() || places.size() != 3) return;
  Conversion c = *kernel->conversion;
  const bool relu = std::exchange(c.relu, false);
  const bool to_half = c.to == FormatId::f16 || c.to == FormatId::bf16;
  if (!to_half || c != Conversion{FormatId::f32, c.to, CvtRounding::rn}) return;
  if (!is_register(places[0]) || !std::ranges::all_of(places, [](const Place& p) { return is_slot(p, 32); }))
    return;
  VectorKey key;
  key.code = VectorCode::cvt_pair;
  key.to = c.to == FormatId::f16 ? Type::f16x2 : Type::bf16x2;
  key.relu = relu;
  step.place[0] = places[0];
  step.place[2] = places[1];
  step.place[3] = places[2];
  become(step, steps::vector, find(key));
}

void vectorise_lanes(Step& step, const Operation* operation) {
  const Place &d = step.place[0], &a = step.place[2];
  VectorKey key;
  step.specification = nullptr;
  if (operation != nullptr) {
    key.code = code_of(*operation);
    key.type = operation->type;
    if (is_register(d) && is_slot(a, 32) && !is_float(key.type)) become(step, steps::vector_reduce, find(key));
  } else if (step.run == steps::shuffle) {
    key.code = VectorCode::shuffle;
    step.parameter = static_cast<std::uint32_t>(step.extra);
    if (is_register(d) && is_slot(a, 32) && is_slot(step.place[3], 32) && is_slot(step.place[4], 32))
      become(step, steps::vector_shuffle, find(key));
  } else if (a.kind == Place::Kind::predicate && (is_register(d) || d.kind == Place::Kind::predicate)) {
    step.specification = step.run;
    step.run = steps::vector_vote;
  }
}

void vectorise_halves(Step& step, std::span<const Place> parts) {
  const bool packs = step.run == steps::pack;
  const Place& whole = step.place[packs ? 0 : 2];
  if (parts.size() != 2 || (whole.bits != 32 && whole.bits != 64)) return;
  const auto fits = [&](const Place& part) {
    return is_register(part) || (packs && part.kind == Place::Kind::constant) || (!packs && !part.exists());
  };
  for (const Place& part : parts)
    if (!fits(part) || (part.exists() && part.bits != whole.bits / 2)) return;
  if (packs && !is_register(whole)) return;
  if (!packs && !is_register(whole) && whole.kind != Place::Kind::constant) return;
  VectorKey key;
  key.d_bits = key.a_bits = whole.bits;
  if (packs) {
    key.code = VectorCode::pack;
    return become(step, steps::vector_pack, find(key));
  }
  key.code = VectorCode::unpack_low;
  become(step, steps::vector_unpack, find(key));
  key.code = VectorCode::unpack_high;
  step.vector_high = find(key);
}

// ---- Execution

namespace steps {
namespace {

// Registers of some lanes from a result of all.
template <class T>
void blend(void* to, const void* from, Lanes lanes) {
  T* const d = static_cast<T*>(to);
  const T* const s = static_cast<const T*>(from);
  for (int i = 0; i < kLanes; ++i) d[i] = (lanes >> i & 1) != 0 ? s[i] : d[i];
}

// False if the function leaves it to the specification.
bool compute_into(Warp& warp, Path& path, const Place& d, Lanes lanes, Vector function, Vectors& v) {
  void* const to = warp.at(path, d);
  alignas(64) std::array<std::uint64_t, kLanes> result;
  v.d = lanes == kAllLanes ? to : result.data();
  if (!function(v)) return false;
  if (lanes != kAllLanes)
    d.bits == 64 ? blend<std::uint64_t>(to, v.d, lanes) : blend<std::uint32_t>(to, v.d, lanes);
  return true;
}

Vector function_of(Warp& warp, const VectorSet& set) {
  const int extension = warp.block().grid().extension;
  return extension < 0 ? nullptr : set[static_cast<std::size_t>(extension)];
}

Lanes joined(scalar::Boolean boolean, Lanes held, Lanes c) {
  switch (boolean) {
    case scalar::Boolean::conjunction: return held & c;
    case scalar::Boolean::disjunction: return held | c;
    case scalar::Boolean::exclusive: return held ^ c;
    default: return held;
  }
}

// What `set` gives where the comparison holds; of two halves to each.
std::uint32_t one_of(const Operation& o) {
  switch (ptx::is_packed(o.to) ? ptx::row(o.to).element : o.to) {
    case Type::f32: return 0x3F80'0000;
    case Type::f16: return 0x3C00;
    case Type::bf16: return 0x3F80;
    default: return static_cast<std::uint32_t>(ones(ptx::is_packed(o.type) ? 16 : ptx::bits(o.to)));
  }
}

// The two sources of a step.
Vectors two_sources(Warp& warp, const Path& path, const Step& step) {
  Vectors v;
  v.a = warp.at(path, step.place[2]);
  v.b = warp.at(path, step.place[3]);
  return v;
}
// A predicate that is joined to a comparison; none if there is none.
Lanes joined_to(Warp& warp, const Path& path, const Step& step) {
  return step.place[4].exists() ? warp.holds(path, step.place[4]) : 0;
}

// Whether all lanes are here, and all are in the mask of each.
bool is_whole(Warp& warp, const Path& path, const Place& mask, Lanes lanes) {
  if (warp.undefined().active() || lanes != kAllLanes ||
      (mask.kind != Place::Kind::reg && mask.kind != Place::Kind::constant))
    return false;
  const std::uint32_t* const words = warp.at(path, mask);
  Lanes common = kAllLanes;
  for (int i = 0; i < kLanes; ++i) common &= words[i];
  return common == kAllLanes;
}

}  // namespace

Next vector(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Vector function = function_of(warp, step.vector);
  if (function == nullptr) return step.specification(warp, path, step, lanes);
  Vectors v;
  v.parameter = step.parameter;
  std::array<const void**, 4> sources = {&v.a, &v.b, &v.c, &v.e};
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Place& place = step.place[i + 2];
    if (!place.exists()) break;
    if (place.kind == Place::Kind::predicate)
      v.mask = warp.holds(path, place);
    else
      *sources[i] = warp.at(path, place);
  }
  if (compute_into(warp, path, step.place[0], lanes, function, v)) return Next::step;
  return step.specification(warp, path, step, lanes);
}

Next vector_setp(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Vector function = function_of(warp, step.vector);
  Vectors v = two_sources(warp, path, step);
  if (function == nullptr || !function(v)) return step.specification(warp, path, step, lanes);
  const Lanes c = joined_to(warp, path, step);
  const auto boolean = static_cast<scalar::Boolean>(step.parameter);
  if (step.place[0].exists()) warp.set(path, step.place[0], lanes, joined(boolean, v.mask, c));
  if (step.place[1].exists()) warp.set(path, step.place[1], lanes, joined(boolean, v.second, c));
  return Next::step;
}

// As scalar/compare.cpp.
Next vector_set(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Vector function = function_of(warp, step.vector);
  Vectors v = two_sources(warp, path, step);
  if (function == nullptr || !function(v)) return step.specification(warp, path, step, lanes);
  const scalar::Operation& o = warp.program().operations[static_cast<std::size_t>(step.extra)];
  const Lanes c = joined_to(warp, path, step);
  const Lanes low = joined(o.boolean, v.mask, c),
              high = ptx::is_packed(o.type) ? joined(o.boolean, v.second, c) : 0;
  const std::uint32_t one = one_of(o);
  std::uint32_t* const d = warp.at(path, step.place[0]);
  for (int i = 0; i < kLanes; ++i) {
    const std::uint32_t value = ((low >> i & 1) != 0 ? one : 0) | ((high >> i & 1) != 0 ? one << 16 : 0);
    d[i] = (lanes >> i & 1) != 0 ? value : d[i];
  }
  return Next::step;
}

Next vector_carry(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Vector function = function_of(warp, step.vector);
  if (function == nullptr) return step.specification(warp, path, step, lanes);
  Vectors v = two_sources(warp, path, step);
  if (step.place[4].exists()) v.c = warp.at(path, step.place[4]);
  const Place carry{Place::Kind::predicate, 1, false, static_cast<std::uint32_t>(std::max(step.target, 0))};
  if (step.target >= 0) v.mask = warp.holds(path, carry);
  if (!compute_into(warp, path, step.place[0], lanes, function, v))
    return step.specification(warp, path, step, lanes);
  if (step.place[1].exists()) warp.set(path, step.place[1], lanes, v.second);
  return Next::step;
}

// ---- Lanes together: all of them, each of which names all

// Of 2, 4, 8, 16 and 32 lanes, in the first: the operation has no order.
Next vector_reduce(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Vector function = function_of(warp, step.vector);
  if (function == nullptr || !is_whole(warp, path, step.place[3], lanes))
    return step.specification(warp, path, step, lanes);
  alignas(64) std::array<std::array<std::uint32_t, std::size_t{2} * kLanes>, 2> values = {};
  std::memcpy(values[0].data(), warp.at(path, step.place[2]), kLanes * sizeof(std::uint32_t));
  std::size_t now = 0;
  for (std::size_t by = kLanes / 2; by != 0; by /= 2, now = 1 - now) {
    Vectors v;
    v.d = values[1 - now].data();
    v.a = values[now].data();
    v.b = values[now].data() + by;
    if (!function(v)) return step.specification(warp, path, step, lanes);
  }
  std::fill_n(warp.at(path, step.place[0]), kLanes, values[now][0]);
  return Next::step;
}

Next vector_shuffle(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Vector function = function_of(warp, step.vector);
  if (function == nullptr || !is_whole(warp, path, step.place[5], lanes))
    return step.specification(warp, path, step, lanes);
  Vectors v = two_sources(warp, path, step);
  v.parameter = step.parameter;
  v.d = warp.at(path, step.place[0]);
  v.c = warp.at(path, step.place[4]);
  if (!function(v)) return step.specification(warp, path, step, lanes);
  if (step.place[1].exists()) warp.set(path, step.place[1], lanes, v.second);
  return Next::step;
}

Next vector_vote(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (warp.block().grid().extension < 0 || !is_whole(warp, path, step.place[3], lanes))
    return step.specification(warp, path, step, lanes);
  const Lanes value = warp.holds(path, step.place[2]);
  const bool all = value == kAllLanes, any = value != 0;
  switch (static_cast<Vote>(step.extra)) {
    case Vote::all: warp.set(path, step.place[0], lanes, all ? kAllLanes : 0); break;
    case Vote::any: warp.set(path, step.place[0], lanes, any ? kAllLanes : 0); break;
    case Vote::uniform: warp.set(path, step.place[0], lanes, all || !any ? kAllLanes : 0); break;
    case Vote::ballot: std::fill_n(warp.at(path, step.place[0]), kLanes, value); break;
  }
  return Next::step;
}

Next vector_pack(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Vector function = function_of(warp, step.vector);
  if (function == nullptr) return step.specification(warp, path, step, lanes);
  const std::vector<Place>& parts = warp.program().places[static_cast<std::size_t>(step.extra)];
  Vectors v;
  v.a = warp.at(path, parts[0]);
  v.b = warp.at(path, parts[1]);
  (void)compute_into(warp, path, step.place[0], lanes, function, v);
  return Next::step;
}

Next vector_unpack(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Vector low = function_of(warp, step.vector), high = function_of(warp, step.vector_high);
  if (low == nullptr || high == nullptr) return step.specification(warp, path, step, lanes);
  Vectors v;
  v.a = warp.at(path, step.place[2]);
  const std::vector<Place>& parts = warp.program().places[static_cast<std::size_t>(step.extra)];
  for (const auto& [place, function] : {std::pair(parts.data(), low), std::pair(&parts[1], high)})
    if (place->exists()) (void)compute_into(warp, path, *place, lanes, function, v);
  return Next::step;
}

}  // namespace steps
}  // namespace warpbit::grid
