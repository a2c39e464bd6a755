// SPDX-License-Identifier: Apache-2.0
// Kernels: bodies of the arithmetic, one for each vector extension. All compute the same bits.
#pragma once

#include <string_view>
#include <vector>

#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// From the slowest to the fastest.
enum class Kernel {
  reference,  ///< the specification, element by element (src/numeric/node.hpp)
  scalar,     ///< the fast body for any processor
  avx2,       ///< for AVX2, FMA and F16C
  avx512,     ///< for AVX-512 F, BW, DQ, VL and VNNI
};

/// "reference", "scalar", "avx2", "avx512".
std::string_view name(Kernel kernel);

/// Those that this processor can run, in the order of the enumeration; never empty.
std::vector<Kernel> kernels();

/// The kernel that the environment variable WARPBIT_KERNEL names, or the last of kernels(). It is read once.
/// Errors: no_such_kernel, if the variable names none or one that this processor cannot run.
Result<Kernel> chosen_kernel();

}  // namespace warpbit
#pragma GCC visibility pop
