// SPDX-License-Identifier: Apache-2.0
// Steps on all 32 lanes at once, beside the specification (steps::compute), which they equal bit for bit. They are
// compiled once for each vector extension (body/body.cpp). What one does not know it leaves to the specification: a form
// by having no function for it, values by saying so when it meets them.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ptx/type.hpp"

namespace warpbit::scalar {
struct Operation;
}

namespace warpbit::grid {

struct Step;
struct Place;

/// The operands of a step: slots, each of 32 lanes by 4 or 8 bytes (program.hpp). Either of a, b and c may be d.
struct Vectors {
  void* d = nullptr;
  const void *a = nullptr, *b = nullptr, *c = nullptr, *e = nullptr;
  std::uint32_t mask = 0;       ///< selp: where a is taken; setp: where the comparison holds, a result
  std::uint32_t parameter = 0;  ///< see VectorKey
};
/// False: d is as before, the specification must compute it.
using Vector = bool (*)(Vectors& v);

enum class VectorCode : std::uint8_t {
  none,
  copy,  ///< mov
  pack,  ///< two halves
  unpack_low,
  unpack_high,
  add,
  sub,
  mul,
  mul_high,
  mul_wide,
  mad,
  mad_wide,
  min,
  max,
  abs,
  neg,
  div,
  rem,
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shl,
  shr,
  lop3,
  funnel_left,
  funnel_right,
  bfe,
  bfi,
  prmt,
  popc,
  clz,
  selp,
  setp,
  fma,
  cvt,
};

/// Which function: plain data, so that a body takes nothing else with it.
struct VectorKey {
  VectorCode code = VectorCode::none;
  ptx::Type type = ptx::Type::b32, to = ptx::Type::b32;
  std::uint8_t d_bits = 32, a_bits = 32;  ///< of the registers
  std::uint8_t compare = 0;               ///< scalar::Compare
  std::uint8_t rounding = 0;              ///< of cvt to integers: 0 nearest, 1 toward zero, 2 down, 3 up
  bool ftz = false, sat = false, nan = false;
};

/// In the order of the vector extensions: scalar, avx2, avx512; nullptr where there is none.
using VectorSet = std::array<Vector, 3>;

Vector find_vector_scalar(const VectorKey& key);
Vector find_vector_avx2(const VectorKey& key);
Vector find_vector_avx512(const VectorKey& key);

/// Gives a step of steps::compute (with its operation) or steps::move functions, if there are any for it.
void vectorise(Step& step, const scalar::Operation* operation);
/// The same of steps::pack and steps::unpack with their parts.
void vectorise_halves(Step& step, std::span<const Place> parts);

}  // namespace warpbit::grid
