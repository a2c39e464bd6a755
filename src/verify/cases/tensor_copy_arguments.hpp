// SPDX-License-Identifier: Apache-2.0
// Generated tensor copies in this library's words.
#pragma once

#include "tensor_map/copy.hpp"
#include "tensor_map/reduce.hpp"
#include "verify/cases/tensor_copies.hpp"
#include "verify/cases/tensor_map_arguments.hpp"

namespace tensor_copy_arguments {

using namespace warpbit;
using namespace tensor_copies;

/// The map of a case, which is no wide one.
inline TensorMap map_of(const CopyCase& c) {
  return tensor_map_arguments::tensor_map(c.map).value();
}

inline tensor_map::TensorCopy copy_of(const CopyCase& c) {
  using tensor_map::CopyMode;
  tensor_map::TensorCopy out;
  out.mode = !c.instruction_im2col  ? CopyMode::tile
             : c.operation == kLoad ? CopyMode::im2col
                                    : CopyMode::im2col_no_offs;
  out.coordinates = c.coordinates;
  out.offsets = c.offsets;
  out.shared = c.shared;
  out.to_global = c.operation != kLoad;
  return out;
}

inline tensor_map::Reduction reduction_of(const CopyCase& c) {
  using enum tensor_map::Reduction;
  constexpr tensor_map::Reduction kAll[] = {add, min, max, inc, dec, and_, or_, xor_};
  return kAll[c.reduction];
}

}  // namespace tensor_copy_arguments
