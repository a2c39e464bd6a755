// SPDX-License-Identifier: Apache-2.0
// Kernels: implementations of the arithmetic, one for each vector extension. All compute the same bits.
#pragma once

#include <string_view>
#include <vector>

#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// Of one architecture from the slowest to the fastest. Numbers stay what they are.
enum class Kernel {
  reference,  ///< the specification, element by element (src/numeric/node.hpp)
  scalar,     ///< the fast kernel for any processor
  avx2,       ///< for AVX2, FMA and F16C
  avx512,     ///< for AVX-512 F, BW, DQ, VL and VNNI
  neon,       ///< for 64-bit Arm, all of whose processors have these vectors of 128 bits
};

/// "reference", "scalar", "avx2", "avx512", "neon".
std::string_view name(Kernel kernel);

/// The kernels that this processor can run, in the order of the enumeration; never empty.
std::vector<Kernel> kernels();

/// The kernel named by the environment variable WARPBIT_KERNEL, or the last of kernels(). The variable is
/// read once. Errors: no_such_kernel if the name is unknown or this processor cannot run that kernel.
Result<Kernel> chosen_kernel();

}  // namespace warpbit
#pragma GCC visibility pop
