// SPDX-License-Identifier: Apache-2.0
// Executing a statement on operands that lie in files or matrices, without its registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "warpbit/capture.hpp"
#include "warpbit/gemm.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// What an archive of operands does not say itself.
struct RunOptions {
  /// The statement, whose symbolic operands name the arrays (src/capture/FORMAT.md, "Statement"). Empty: that
  /// of the file, which is a capture then, whose result and mask do not count.
  std::string statement;
  /// The target; without a statement of one's own, that of the file unless it is set.
  std::optional<Target> target;
  /// How the arrays are arranged; with a statement of one's own `registers`, of conversions `scalars`, unless
  /// it is set.
  std::optional<CaptureLayout> layout;
  ReadOptions read;
  ExecuteOptions execute;
};

/// What was executed.
struct RunReport {
  CaptureHeader header;  ///< of the file that was written
  std::uint64_t cases = 0;
  bool inferred = false;  ///< the arithmetic rests on no hardware result (Instruction::inferred)
};

/// Executes a statement on the arrays of an .npz and writes a capture of source `model`: the inputs, and the
/// result as the last. Errors: usage, if there is a statement and no target; those of reading, decoding,
/// execution and write_capture. Nothing is written unless all of it succeeded.
Result<RunReport> run_arrays(const std::filesystem::path& from, const std::filesystem::path& to,
                             const RunOptions& options);

/// A matrix of codes of one format, row by row.
struct CodeMatrix {
  std::size_t rows = 0, columns = 0;
  std::vector<std::uint64_t> codes;  ///< rows x columns
};

/// The operands of D = A B + C as matrices: A is rows x depth, also where the instruction stores half of it
/// (then it must be sparse; PTX manual, "Sparse matrix storage"), B depth x columns, C rows x columns.
struct MatrixOperands {
  CodeMatrix a, b;
  std::optional<CodeMatrix> c;  ///< +0 without it
  /// With block scaling, a factor for each block of a row of A, and of a column of B: rows x blocks, blocks x
  /// columns.
  std::optional<CodeMatrix> a_scale = {}, b_scale = {};
};

/// D as the instruction computes it. Any sizes, by gemm(), where the instruction is a dense product without
/// block scaling whose C has the format of D; of others one tile at most, what lies outside the matrices being
/// +0. Errors: those of gemm, execute_element and compress; view_mismatch for sizes that do not fit each other,
/// scale factors that are missing or have no place, and a K order where there is one tile.
Result<CodeMatrix> run_matrices(const Instruction& instruction, const MatrixOperands& operands,
                                const GemmOptions& options = {});

}  // namespace warpbit
#pragma GCC visibility pop
