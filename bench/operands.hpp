// SPDX-License-Identifier: Apache-2.0
// Operands of ordinary size, encoded in their formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "kernel/dense.hpp"
#include "rows.hpp"
#include "warpbit/eigen.hpp"

namespace bench {

using Random = std::mt19937_64;
/// They begin in a cache line: where the heap puts them must not show in what is measured.
using Bytes = std::vector<std::byte, warpbit::LineAllocator<std::byte>>;

/// A factor in the format: numbers of deviation 1, of an integer format any codes; or any bits.
warpbit::EigenCodes factor(std::string_view format, int rows, int columns, Random& random,
                           Values values = Values::ordinary);
/// Accumulators in the format of D, of the deviation that sums of so many products of such factors have.
warpbit::EigenCodes accumulators(const warpbit::Instruction& instruction, int terms, int rows, int columns,
                                 Random& random);

/// The registers of each operand, destination first, over (case, lane, register). Nothing for an immediate. Metadata is defined
/// where all others are any bits, too.
std::vector<Bytes> make_registers(const warpbit::Instruction& instruction, Values values, std::size_t cases,
                                  Random& random);

}  // namespace bench
