// SPDX-License-Identifier: Apache-2.0
// The places that the operands of a tcgen05.mma name, and whether memories have them.
#pragma once

#include <span>

#include "api/tensor_product.hpp"
#include "warpbit/execute.hpp"

namespace warpbit {

/// An mma whose operands name places that exist.
struct LocatedMma {
  const TensorProduct* product = nullptr;
  const TensorPlaces* places = nullptr;
  int half = 0;
  TensorAddress d, a, metadata, scale_a, scale_b;
  Descriptor a_descriptor, b_descriptor;
  ZeroColumnMask mask;

  static Result<LocatedMma> locate(const Instruction& instruction, const TensorMmaSources& sources);
  /// B with the columns that the mask shifts in.
  DescribedMatrix b_matrix() const;
  TensorTouches touches(bool accumulates) const;
  Result<void> check_memories(const Instruction& instruction, std::span<const TensorBlock> blocks) const;
};

}  // namespace warpbit
