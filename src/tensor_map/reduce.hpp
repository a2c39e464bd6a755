// SPDX-License-Identifier: Apache-2.0
// What cp.reduce.async.bulk and cp.reduce.async.bulk.tensor make of one element (COPIES.md, "Reductions").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "warpbit/result.hpp"
#include "warpbit/tensor_map.hpp"

#pragma GCC visibility push(default)  // the tests use it
namespace warpbit::tensor_map {

/// `.redOp`, in the order of PTX.
enum class Reduction : std::uint8_t { add, min, max, inc, dec, and_, or_, xor_ };
/// The name without its dot.
std::string_view name(Reduction reduction);

/// Whether the bulk copy of this operation on this type exists; b32 and b64 are u32 and u64. `tensor`: of a tensor map.
bool exists(Reduction reduction, TensorType type, bool tensor);

/// The element that `value` makes of `old`, in the low bits. Precondition: exists for tensors.
std::uint64_t reduce(Reduction reduction, TensorType type, std::uint64_t old, std::uint64_t value);

/// The same for elements that lie one behind the other. Precondition: as many bytes in both, whole elements.
void reduce(Reduction reduction, TensorType type, std::span<std::byte> old, std::span<const std::byte> values);

}  // namespace warpbit::tensor_map
#pragma GCC visibility pop
