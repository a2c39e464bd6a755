// SPDX-License-Identifier: Apache-2.0
// Where matrices lie in tensor memory, as fragment maps: "lane" 128 v + i is lane i of block v of a pair, "register" j is the
// column j behind that of the operand's address (PTX manual, "Data Path Layout Organization" and the sections behind it;
// src/machine/TENSOR_MEMORY.md has the formulas and what they rest on).
#pragma once

#include <cstdint>
#include <optional>

#include "warpbit/fragment.hpp"

#pragma GCC visibility push(default)  // the tools ask for them, too
namespace warpbit::tensor {

/// The layouts of D.
enum class DataPath : std::uint8_t { a, b, c, d, e, f, g };

/// What decides where the matrices of an mma lie.
struct Extent {
  DataPath path = DataPath::d;
  int m = 128, n = 256;  ///< of all blocks
  int half = 0;          ///< layouts C and F: the lane of the addresses, 0 or 16
};

/// The layout of D for a shape; nothing if there is none.
std::optional<DataPath> data_path(int m, int cta_group, bool is_weight_stationary, bool is_sparse);
/// The blocks that have a part of it, each with 128 lanes: 1 or 2.
int blocks_of(DataPath path);

/// D: rows m, columns n. A register holds one element of `bits` bits, 16 in the lower half.
FragmentMap d_map(const Extent& of, int bits);
/// A in tensor memory: rows m, columns k, which are those stored (of a sparse A). `packing`: of elements in a word.
FragmentMap a_map(const Extent& of, int stored_k, Packing packing);
/// Metadata of A: rows m, columns the chunks of a row, of four bits each. `by_sixteen`: kinds f16 and tf32, whose selector says
/// which of two columns.
FragmentMap metadata_map(const Extent& of, bool by_sixteen, int selector);
/// Scale factors of A: rows m, columns the scale factors of a row, in bytes from `first_byte` on, in each partition of 32 lanes.
FragmentMap scale_a_map(const Extent& of, int scales, int first_byte);
/// Scale factors of B: rows n, columns the scale factors of a column of B.
FragmentMap scale_b_map(const Extent& of, int scales, int first_byte);

}  // namespace warpbit::tensor
#pragma GCC visibility pop
