// SPDX-License-Identifier: Apache-2.0
// Executing a statement on operands in files or matrices, without handling registers.
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

/// Information that an archive of operands lacks.
struct RunOptions {
  /// The statement, whose symbolic operands name the arrays (src/capture/FORMAT.md, "Statement"). Empty: the
  /// file must be a capture; its statement is used, and its result and mask are ignored.
  std::string statement;
  /// The target. May be absent if `statement` is empty: then that of the file.
  std::optional<Target> target;
  /// The layout of the arrays. Absent: that of the file if `statement` is empty, else `registers`, or
  /// `scalars` for conversions.
  std::optional<CaptureLayout> layout;
  ReadOptions read;
  ExecuteOptions execute;
};

/// The outcome of run_arrays.
struct RunReport {
  CaptureHeader header;  ///< the header of the written file
  std::uint64_t cases = 0;
  bool inferred = false;  ///< the arithmetic is not verified on hardware (Instruction::inferred)
};

/// Executes a statement on the arrays of an .npz and writes a capture of source `model`: the inputs, and the
/// result as the last array. Errors: usage if a statement is given without a target; those of reading,
/// decoding, execution and write_capture. On error nothing is written.
Result<RunReport> run_arrays(const std::filesystem::path& from, const std::filesystem::path& to,
                             const RunOptions& options);

/// A matrix of codes of one format, row by row.
struct CodeMatrix {
  std::size_t rows = 0, columns = 0;
  std::vector<std::uint64_t> codes;  ///< rows x columns
};

/// The operands of D = A B + C as matrices: A is rows x depth (a sparse A uncompressed, see PTX manual,
/// "Sparse matrix storage"), B depth x columns, C rows x columns.
struct MatrixOperands {
  CodeMatrix a, b;
  std::optional<CodeMatrix> c;  ///< absent: +0
  /// With block scaling: a factor for each block of a row of A (rows x blocks), and of a column of B (blocks
  /// x columns); of whole matrices for each block of K, as in Gemm.
  std::optional<CodeMatrix> a_scale = {}, b_scale = {};
  std::optional<CodeMatrix> bias = {};  ///< rows x columns, or a row for all rows; in the format of D
};

/// D as the instruction computes it. gemm() handles any size if the instruction is a dense product whose C has the
/// format of D. Otherwise, with a sparse A for example, the matrices must fit one tile; elements outside the
/// matrices are +0. Errors: those of gemm, execute_element and compress; view_mismatch for sizes that do not
/// match, for missing or superfluous scale factors, and for an order of the sum or a bias with a single tile.
Result<CodeMatrix> run_matrices(const Instruction& instruction, const MatrixOperands& operands,
                                const GemmOptions& options = {});

// ---- Files of matrices

/// Reads a matrix into codes of a format (a name of Operand::format). A file whose name ends in .npy has one
/// dimension (a row) or two; its floating-point and signed items are numbers, its unsigned ones codes. Any
/// other file is text: cells separated by commas, semicolons, blanks or tabs, each a number or a code
/// (parse_code); lines that are empty or start with '#' are ignored. Numbers that the format cannot represent
/// are rounded to nearest even, and a note states their count and the first one; for integer formats they are
/// refused. A format that an instruction makes of wider numbers (SumOrder) has these numbers as its codes.
/// Errors: those of reading; member_dtype, member_shape, member_malformed; usage, with the place.
Result<CodeMatrix> read_matrix(const std::filesystem::path& path, std::string_view format,
                               std::vector<std::string>& notes, const ReadOptions& options = {});

/// The codes of a matrix row by row in items as gemm() takes them: a MatrixView is {data, columns, 1}. Precondition: a format
/// of find_format_info().
std::vector<std::byte> matrix_items(const CodeMatrix& matrix, std::string_view format);

/// The matrix as text, a row per line, cells separated by commas: integers; for floating-point formats the
/// shortest decimal that reads back as the same code, inf, or the hexadecimal code of a NaN; with `codes`,
/// hexadecimal codes. Errors: usage for an unknown format.
Result<std::string> matrix_text(const CodeMatrix& matrix, std::string_view format, bool codes);

/// Writes the matrix. For a name that ends in .npy: NumPy's floating-point or signed type with the format's
/// bits, or else (and with `codes`) the smallest unsigned type that holds a code. For .csv, .tsv, .txt, or no
/// extension: matrix_text. Errors: those of matrix_text; usage for another extension; file_unwritable.
Result<void> write_matrix(const std::filesystem::path& path, const CodeMatrix& matrix, std::string_view format,
                          bool codes);

// ---- Files of arrays

/// Reads a .npy file of any dimensions, in C order; a matrix may be in Fortran order. Errors: those of reading; member_dtype,
/// member_shape, member_malformed.
Result<Array> read_array(const std::filesystem::path& path, const ReadOptions& options = {});

/// Writes a .npy file, which is complete or untouched. Errors: file_unwritable.
Result<void> write_array(const std::filesystem::path& path, const Array& array);

}  // namespace warpbit
#pragma GCC visibility pop
