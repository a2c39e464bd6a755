// SPDX-License-Identifier: Apache-2.0
// Steps on all 32 lanes at once, beside the specification (steps::compute), which they equal bit for bit. They are
// compiled once for each vector extension (body/body.cpp). What one does not know it leaves to the specification: a form
// by having no function for it, values by saying so when it meets them.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ptx/type.hpp"
#include "scalar/function.hpp"

namespace warpbit::scalar {
struct Operation;
}

namespace warpbit {
class Instruction;
}

namespace warpbit::grid {

struct Step;
struct Place;

/// The operands of a step: slots, each of 32 lanes by 4 or 8 bytes (program.hpp). Either of a, b and c may be d.
struct Vectors {
  void* d = nullptr;
  const void *a = nullptr, *b = nullptr, *c = nullptr, *e = nullptr;
  std::uint32_t mask =
      0;  ///< selp: where a is taken; sums: the carry; setp: where the comparison holds, a result
  std::uint32_t second =
      0;  ///< a result: setp: where it does not, or that of the upper halves; sums: the carry
  std::uint32_t parameter = 0;  ///< see VectorKey
};
/// False: d is as before, the specification must compute it.
using Vector = bool (*)(Vectors& v);

using scalar::Function, scalar::Mode;

/// Which function: plain data, so that a body takes nothing else with it.
struct VectorKey {
  Function code = Function::none;
  Mode mode = Mode::none;
  ptx::Type type = ptx::Type::b32, to = ptx::Type::b32;
  ptx::Type third = ptx::Type::b32;       ///< slct: of the selector
  std::uint8_t d_bits = 32, a_bits = 32;  ///< of the registers
  std::uint8_t compare = 0;               ///< scalar::Compare
  std::uint8_t rounding = 0;              ///< 0 nearest, 1 toward zero, 2 down, 3 up
  std::uint8_t precision = 0;             ///< 0 exact, kApprox, kFull
  bool ftz = false, sat = false, relu = false, nan = false;
  bool carry = false;  ///< it makes one or takes one
  bool left = false;
};

inline constexpr std::uint8_t kApprox = 1, kFull = 2;

/// In the order of the kernels from scalar on (warpbit/result.hpp); nullptr where there is none.
using VectorSet = std::array<Vector, 4>;

Vector find_vector_scalar(const VectorKey& key);
Vector find_vector_avx2(const VectorKey& key);
Vector find_vector_avx512(const VectorKey& key);
Vector find_vector_neon(const VectorKey& key);

/// Gives a step of steps::compute (with its operation) or steps::move functions, if there are any for it.
void vectorise(Step& step, const scalar::Operation* operation);
/// The same of cvt from two f32, a step of steps::tensor.
void vectorise_pair(Step& step, const Instruction& instruction, std::span<const Place> places);
/// The same of steps::reduce, with its operation, of steps::shuffle and of steps::vote.
void vectorise_lanes(Step& step, const scalar::Operation* operation);
/// The same of steps::pack and steps::unpack with their parts.
void vectorise_halves(Step& step, std::span<const Place> parts);

}  // namespace warpbit::grid
