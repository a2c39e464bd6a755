// SPDX-License-Identifier: Apache-2.0
// Structured sparse matrices: from a dense one to what a sparse instruction reads, and back
// (PTX manual, "Sparse matrix storage").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// A compressed matrix, to be scattered into the registers of the left factor and of the metadata; which lanes
/// hold the metadata follows from the instruction's selector.
struct CompressedMatrix {
  std::vector<std::uint64_t> codes;     ///< rows() x terms() codes of the left factor's format, row by row
  std::vector<std::uint64_t> metadata;  ///< rows() x groups nibbles, row by row
};

/// Compresses a dense matrix of rows() x depth() codes, given row by row; bits above the format's width are
/// dropped. What decodes to a zero of either sign counts as absent, also where only ignored low bits are set.
/// Where a group has fewer elements than it may have, zeros fill it up; the indices ascend. Errors: not_sparse,
/// which names the row and the columns of the first group with too many elements, or says that the instruction
/// or the size is not right.
Result<CompressedMatrix> compress(const Instruction& instruction, std::span<const std::uint64_t> dense);

/// The dense matrix of rows() x depth() codes, row by row; +0 where nothing is stored. Errors: not_sparse;
/// undefined_operand for metadata that the manual leaves undefined.
Result<std::vector<std::uint64_t>> expand(const Instruction& instruction, const CompressedMatrix& matrix);

}  // namespace warpbit
#pragma GCC visibility pop
