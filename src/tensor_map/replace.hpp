// SPDX-License-Identifier: Apache-2.0
// What tensormap.replace changes in the bytes of a tensor map (PTX manual, "tensormap.replace"; LAYOUT.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#pragma GCC visibility push(default)  // the tests use it
namespace warpbit::tensor_map {

/// Writes a field as the instruction does: `value` is its operand, `ordinal` the dimension of a field that has one for
/// each. The rank is one less than the number of dimensions; bits beyond the field are ignored. False if there is no field of
/// that name or dimension.
bool replace(std::span<std::byte, 128> map, std::string_view field, unsigned ordinal, std::uint64_t value);

}  // namespace warpbit::tensor_map
#pragma GCC visibility pop
