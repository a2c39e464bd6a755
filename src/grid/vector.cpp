// SPDX-License-Identifier: Apache-2.0
#include "grid/vector.hpp"

#include <algorithm>

#include "grid/block.hpp"
#include "grid/steps.hpp"
#include "isa/instruction.hpp"

namespace warpbit::grid {
namespace {

using ptx::Type, scalar::Operation;

// ---- Which function

bool is_half(Type type) {
  return type == Type::f16 || type == Type::f16x2 || type == Type::bf16 || type == Type::bf16x2;
}
bool is_float(Type type) {
  return type == Type::f32 || type == Type::f64 || is_half(type);
}

bool carries(const Operation& o) {
  return o.carry || o.takes_carry;
}
bool compares(const Operation& o) {
  return o.function == Function::set || o.function == Function::setp;
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
  const bool packed = ptx::is_packed(o.type) || ptx::is_packed(o.to),
             mixed = o.type != o.to && (o.function == Function::add || o.function == Function::sub ||
                                        o.function == Function::fma);
  return mixed || o.scaled || (o.relu && !is_half(o.type)) || o.oob || o.xorsign || o.abs ||
         (packed && !is_half(o.type)) || (o.sat && !is_float(o.type)) ||
         o.permutation != scalar::Permutation::index;
}

// Slots of the sources' sizes; the predicate of selp among them.
bool has_sources(std::span<const Place> sources, const Operation& o) {
  for (std::size_t i = 0; i < sources.size() && sources[i].exists(); ++i) {
    const bool is_predicate = sources[i].kind == Place::Kind::predicate;
    if (is_predicate ? o.function != Function::selp
                     : !is_slot(sources[i], ptx::bits(scalar::source_type(o, static_cast<int>(i)))))
      return false;
  }
  return true;
}

bool has_places(const Step& step, const Operation& o) {
  const std::span<const Place> sources = std::span(step.place).subspan(2);
  const Place& d = step.place[0];
  if (sources.back().exists()) return false;
  if (o.function == Function::selp && !sources[2].exists()) return false;  // a constant
  if (!compares(o))
    return is_register(d) && d.bits == ptx::bits(o.to) && (!step.place[1].exists() || carries(o)) &&
           has_sources(sources, o);
  const Place& c = sources[2];
  return (o.function == Function::setp || is_register(d)) && has_sources(sources.first(2), o) &&
         (o.boolean == scalar::Boolean::none) != c.exists() && !sources[3].exists() &&
         (!c.exists() || c.kind == Place::Kind::predicate);
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

std::uint32_t parameter_of(const Step& step, const Operation& o) {
  switch (o.function) {
    case Function::fma: return (o.negate_product ? 1U : 0U) | (o.negate_addend ? 2U : 0U);
    case Function::set:
    case Function::setp: return static_cast<std::uint32_t>(o.boolean);
    case Function::funnel: return o.clamp ? 1 : 0;
    case Function::bfind: return o.shift_amount ? 1 : 0;
    case Function::dp4a:
    case Function::dp2a:
      return (ptx::is_signed(o.third) ? 1U : 0U) | (ptx::is_signed(o.type) ? 2U : 0U) |
             (o.mode == Mode::high ? 4U : 0U);
    case Function::cvt: break;
    default: return 0;
  }
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

VectorKey key_of(const Step& step, const Operation& o) {
  VectorKey key;
  key.code = o.function;
  key.mode = o.mode;
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
  key.carry = carries(o);
  key.left = o.left;
  return key;
}

Run runner_of(const Operation& o) {
  if (carries(o)) return steps::vector_carry;
  if (!compares(o)) return steps::vector;
  return o.function == Function::set ? steps::vector_set : steps::vector_setp;
}

void vectorise_compute(Step& step, const Operation& o) {
  const bool converts = o.function == Function::cvt;
  if (o.function == Function::none || is_modified(o)) return;
  if (is_half(o.type) && !converts && !compares(o) && o.to != o.type) return;
  if (converts ? !has_places_of_cvt(step, o) : !has_places(step, o)) return;
  if (!compares(o) && o.boolean != scalar::Boolean::none) return;
  step.parameter = parameter_of(step, o);
  become(step, runner_of(o), find(key_of(step, o)));
}

void vectorise_move(Step& step) {
  const Place &d = step.place[0], &a = step.place[2];
  const bool same = (d.bits == 64) == (a.bits == 64) && d.bits >= a.bits && d.bits <= 64;
  if (!is_register(d) || !(is_register(a) || a.kind == Place::Kind::constant) || !same) return;
  VectorKey key;
  key.code = Function::copy;
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
  key.code = Function::cvt_pair;
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
    key.code = operation->function;
    key.type = operation->type;
    if (is_register(d) && is_slot(a, 32) && !is_float(key.type)) become(step, steps::vector_reduce, find(key));
  } else if (step.run == steps::shuffle) {
    key.code = Function::shuffle;
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
    key.code = Function::pack;
    return become(step, steps::vector_pack, find(key));
  }
  key.code = Function::unpack_low;
  become(step, steps::vector_unpack, find(key));
  key.code = Function::unpack_high;
  step.vector_high = find(key);
}

}  // namespace warpbit::grid
