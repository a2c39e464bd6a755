// SPDX-License-Identifier: Apache-2.0
// Matrices in files: .npy, and text with a row in each line.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/capture.hpp"
#include "warpbit/result.hpp"
#include "warpbit/run.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

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
/// else (and with `codes`) the least unsigned type that holds a code. Any other name: matrix_text. Errors:
/// those of matrix_text; file_unwritable.
Result<void> write_matrix(const std::filesystem::path& path, const CodeMatrix& matrix, std::string_view format,
                          bool codes);

}  // namespace warpbit
#pragma GCC visibility pop
