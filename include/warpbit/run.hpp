// SPDX-License-Identifier: Apache-2.0
// Executing a statement on operands that lie in files or matrices, without its registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
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

// ---- Files of matrices

/// Reads a matrix into codes of a format (a name of Operand::format). A file whose name ends in .npy has one or
/// two dimensions, one being a row; its floating-point and signed items are numbers, its unsigned ones codes.
/// Any other file is text: cells separated by commas, semicolons, blanks or tabs, each a number or a code
/// (parse_code); lines that are empty or start with '#' do not count. Numbers that the format does not have are
/// rounded to nearest even, and a note says how many and which was the first; of integer formats they are
/// refused. Errors: those of reading; member_dtype, member_shape, member_malformed; usage, with the place.
Result<CodeMatrix> read_matrix(const std::filesystem::path& path, std::string_view format,
                               std::vector<std::string>& notes, const ReadOptions& options = {});

/// The matrix as text, a row in each line, cells separated by commas: integers, and of floating-point formats
/// the shortest decimal that reads back as the same code, inf, or the code of a NaN in hexadecimal; with
/// `codes` hexadecimal codes. Errors: usage for an unknown format.
Result<std::string> matrix_text(const CodeMatrix& matrix, std::string_view format, bool codes);

/// Writes it. A name that ends in .npy: NumPy's floating-point or signed type where one has the format's bits,
/// else (and with `codes`) the smallest unsigned type that holds a code. One in .csv, .tsv, .txt, or without an
/// extension: matrix_text. Errors: those of matrix_text; usage for another extension; file_unwritable.
Result<void> write_matrix(const std::filesystem::path& path, const CodeMatrix& matrix, std::string_view format,
                          bool codes);

}  // namespace warpbit
#pragma GCC visibility pop
