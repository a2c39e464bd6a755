// SPDX-License-Identifier: Apache-2.0
// Steps that a function does for all 32 lanes (vector.hpp).
#include <algorithm>
#include <cstring>

#include "grid/block.hpp"
#include "grid/steps.hpp"
#include "grid/vector.hpp"

namespace warpbit::grid::steps {
namespace {

using ptx::Type;

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
std::uint32_t one_of(const scalar::Operation& o) {
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

// Whether all lanes are here, and all are in the mask of each: then they meet.
bool all_meet(Warp& warp, const Path& path, const Place& mask, Lanes lanes) {
  if (warp.undefined().active() || lanes != kAllLanes ||
      (mask.kind != Place::Kind::reg && mask.kind != Place::Kind::constant))
    return false;
  const std::uint32_t* const words = warp.at(path, mask);
  Lanes common = kAllLanes;
  for (int i = 0; i < kLanes; ++i) common &= words[i];
  if (common != kAllLanes) return false;
  warp.meet(kAllLanes);
  return true;
}

}  // namespace

Next vector(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Vector function = function_of(warp, step.vector);
  if (function == nullptr) return step.specification(warp, path, step, lanes);
  Vectors v;
  v.parameter = step.parameter;
  const auto take = [&](std::size_t i, const void*& source) {
    const Place& place = step.place[i];
    if (!place.exists()) return false;
    if (place.kind == Place::Kind::predicate)
      v.mask = warp.holds(path, place);
    else
      source = warp.at(path, place);
    return true;
  };
  (void)(take(2, v.a) && take(3, v.b) && take(4, v.c) && take(5, v.e));
  if (lanes == kAllLanes) {
    v.d = warp.at(path, step.place[0]);
    return function(v) ? Next::step : step.specification(warp, path, step, lanes);
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
  if (step.target >= 0)
    v.mask = warp.holds(path, carry);
  else if (warp.program().operations[static_cast<std::size_t>(step.extra)].function == scalar::Function::sub)
    v.mask = kAllLanes;
  if (!compute_into(warp, path, step.place[0], lanes, function, v))
    return step.specification(warp, path, step, lanes);
  if (step.place[1].exists()) warp.set(path, step.place[1], lanes, v.second);
  return Next::step;
}

// ---- Lanes together: all of them, each of which names all

// Of 2, 4, 8, 16 and 32 lanes, in the first: the operation has no order.
Next vector_reduce(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Vector function = function_of(warp, step.vector);
  if (function == nullptr || !all_meet(warp, path, step.place[3], lanes))
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
  if (function == nullptr || !all_meet(warp, path, step.place[5], lanes))
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
  if (warp.block().grid().extension < 0 || !all_meet(warp, path, step.place[3], lanes))
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

}  // namespace warpbit::grid::steps
