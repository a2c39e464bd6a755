// SPDX-License-Identifier: Apache-2.0
// What scalar instructions compute, by name: the rows of this folder have it beside the specification, and by it the fast
// equals are found (grid/body/). Plain data: what is compiled for a vector extension takes nothing else with it.
#pragma once

#include <cstdint>

namespace warpbit::scalar {

enum class Function : std::uint8_t {
  none,  ///< there is no fast equal, and nobody asks
  add,
  sub,
  mul,
  mad,
  fma,
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
  funnel,
  bfe,
  bfi,
  prmt,
  popc,
  clz,
  bfind,
  brev,
  dp4a,
  dp2a,
  set,
  setp,
  selp,
  slct,
  cvt,
  cvt_pack,
  video,   ///< vadd and the like
  video2,  ///< vadd2
  video4,
  vmad,
  rcp,
  sqrt,
  rsqrt,
  sin,
  cos,
  lg2,
  ex2,
  tanh,
  // Of steps that are no operation.
  copy,  ///< mov
  pack,  ///< two halves
  unpack_low,
  unpack_high,
  cvt_pair,  ///< of two f32, a above b
  shuffle,
};

enum class Mode : std::uint8_t { none, low, high, wide };

}  // namespace warpbit::scalar
