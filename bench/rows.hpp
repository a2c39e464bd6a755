// SPDX-License-Identifier: Apache-2.0
// What is measured.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bench {

enum class Kind {
  tile,       ///< execute_batch on a tile of each case
  warpgroup,  ///< a product of a warpgroup, its factors in shared memory
  tensor,     ///< a product of tensor memory, M 128 by N 256, likewise
  gemm,       ///< gemm() on square matrices, kGemmSize to a side; a tile is the whole product
  parse,      ///< Instruction::parse
  launch,     ///< the GEMM of tests/kernels/ as a launch, kLaunchSize to a side; a tile is the whole product
  // Modules of PTX (kernels/):
  ptx_mma,            ///< the product of Kind::gemm, beside gemm(), by a kernel that nvcc made
  ptx_mma_checked,    ///< the same, its accesses to shared memory checked
  ptx_wgmma,          ///< the same by wgmma and tensor copies
  ptx_wgmma_checked,  ///< checked, too
  ptx_products,       ///< products, sums and loads from shared memory; a tile is an instruction of a warp
  ptx_load,           ///< loading a module of 10,000 instructions
};

enum class Values {
  ordinary,  ///< normally distributed factors, any integers; C as large as the sums
  any_bits,  ///< registers of random bits
};

inline constexpr int kGemmSize = 1024, kLaunchSize = 512;

struct Row {
  std::string_view name;
  std::string_view target;
  std::string_view text;  ///< a form or a statement; of a warpgroup a form
  double limit =
      0;  ///< times the plain product or gemm(), of any bits the ordinary row; where there is none ns; 0: none
  Kind kind = Kind::tile;
  Values values = Values::ordinary;
  int threads = 1;     ///< of whole matrices, with what they are compared with
  double speedup = 0;  ///< how many times as fast as on one thread it must be; 0: no limit
};

/// Those of ordinary numbers, and again of any bits what is computed by tiles.
std::span<const Row> rows();
/// With the values, unless ordinary, and the target: "m16n8k16 f16->f32 any bits sm_90".
std::string name(const Row& row);
/// The row of the same work on ordinary values; null if it has these.
const Row* ordinary(const Row& row);

}  // namespace bench
