// SPDX-License-Identifier: Apache-2.0
// In which order the kernels of cuBLAS sum: from what a profiler shows of them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "warpbit/result.hpp"
#include "warpbit/sum_order.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// What the GPU executed, as a profiler shows it: a kernel's name without its parameters or with them, and its grid.
struct NamedLaunch {
  std::string name;
  std::array<std::size_t, 3> grid = {1, 1, 1};
};

/// A product of matrices that a library computed: D = alpha A B + beta C, rows x columns, row-major as PyTorch has it.
struct NamedProduct {
  std::string a, b, d;  ///< names of formats; of A and B those that the instruction has
  std::size_t rows = 0, columns = 0, depth = 0;
  std::size_t batch = 1;  ///< products of one call
  bool has_c = false;
  float alpha = 1, beta = 1;
  bool has_scales = false;            ///< A and B have scale factors
  std::vector<NamedLaunch> launches;  ///< in order; copies and settings of memory may be among them
};

/// How such a product comes about: by this instruction, in this order.
struct KernelOrder {
  std::string form;  ///< as Instruction::parse reads it
  SumOrder order;
};

/// The order that the names and grids of the kernels tell: those of cuBLAS 13 for compute capability 9.0, as far as
/// recordings show them (golden/products/). Errors: usage, for a name that is not known, a kernel without tensor
/// cores, or one whose order depends on the place in D.
Result<KernelOrder> kernel_order(const NamedProduct& product);

}  // namespace warpbit
#pragma GCC visibility pop
