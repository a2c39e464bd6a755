// SPDX-License-Identifier: Apache-2.0
// Structured sparse matrices: conversion between a dense matrix and the operands of a sparse instruction (PTX
// manual, "Sparse matrix storage").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// A compressed matrix, ready to be scattered into the registers of A and of the metadata. The instruction's
/// selector determines the lanes that hold the metadata.
struct CompressedMatrix {
  std::vector<std::uint64_t> codes;     ///< rows() x terms() codes of A's format, row by row
  std::vector<std::uint64_t> metadata;  ///< rows() x groups nibbles, row by row
};

/// Compresses a dense matrix of rows() x depth() codes, given row by row; bits above the format's width are
/// dropped. A code that decodes to a zero of either sign counts as absent, even if ignored low bits are set.
/// A group with fewer elements than allowed is filled up with zeros; the indices ascend. Errors: not_sparse,
/// which names the row and the columns of the first group with too many elements, or reports a wrong
/// instruction or size.
Result<CompressedMatrix> compress(const Instruction& instruction, std::span<const std::uint64_t> dense);

/// The dense matrix of rows() x depth() codes, row by row; absent elements are +0. Errors: not_sparse;
/// undefined_operand for metadata that the manual leaves undefined.
Result<std::vector<std::uint64_t>> expand(const Instruction& instruction, const CompressedMatrix& matrix);

}  // namespace warpbit
#pragma GCC visibility pop
