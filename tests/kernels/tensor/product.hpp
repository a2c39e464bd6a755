// SPDX-License-Identifier: Apache-2.0
// What the kernels of product.cu take beside their arrays.
#pragma once

namespace tensor_products {

/// A matrix of a block in global memory, and how the kernel lays it in shared memory.
///
///     K-major:  a line is a row of A or a column of B, its bytes run along K
///     MN-major: a line is one k, its bytes run along M or N
struct Operand {
  int lines, bytes;  ///< of the block; bytes of a line are a multiple of 16
  int pitch;         ///< bytes from line to line
  int of_rank;       ///< bytes from the matrix of the even block to that of the odd one
  int at;            ///< the byte of shared memory where it begins, a multiple of 1024
  int is_mn_major;
  int swizzle;          ///< bits 61-63 of the matrix descriptor
  int leading, stride;  ///< the byte offsets
  int further;          ///< K-major with a swizzle: bytes to what is behind the pattern's width in K
  int step;             ///< of an instruction along K: bytes, MN-major lines
};

struct Product {
  int layout;           ///< of D: 'A' to 'G'
  int rows, columns;    ///< of A in a block; N
  int steps;            ///< instructions
  int first_lane;       ///< of D, A and metadata: 0 or 16
  int d_step, a_step;   ///< columns of tensor memory from an instruction's D and A to the next one's
  unsigned accumulate;  ///< bit s: enable-input-d of step s
  int fills;            ///< D has the word `fill` before
  unsigned fill;
  unsigned descriptor;  ///< of the instruction
  Operand a, b;
  int metadata_columns, copies_metadata;  ///< words of a lane; whether tcgen05.cp brings them, or tcgen05.st
  int metadata_step;  ///< columns of an instruction; 1: the selector is the parity of the step, and the base is even
  int scales;         ///< of a row for an instruction; 0: none
  /// Blocks of 512 bytes, those of A first: along K, and for 128 rows of A or columns of B; in layout B two, for half of the
  /// columns each.
  int scale_groups, scale_rows_a, scale_rows_b;
  int scales_at;  ///< the byte of shared memory
  int shifts;     ///< tcgen05.shift of A's columns in this lane's partition between the steps, if not negative
  unsigned disabled[8];
  unsigned long long zero_columns;
};

}  // namespace tensor_products
