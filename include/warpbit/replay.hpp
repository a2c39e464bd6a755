// SPDX-License-Identifier: Apache-2.0
// Replaying captures: execute the inputs again and compare every element bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/capture.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/gemm.hpp"
#include "warpbit/inputs.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"
#include "warpbit/target.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// One of `count` shares of the work. Each file is in exactly one of them; with the layout `digests`, each
/// block is. The share depends on the content of a file, not on its name or folder.
struct Shard {
  std::uint64_t number = 1;  ///< 1 to count
  std::uint64_t count = 1;

  /// Those of `pieces` pieces that are in the share, where each share has consecutive ones, evenly divided: the first, and how
  /// many. The first pieces % count shares have one more than the others.
  std::pair<std::uint64_t, std::uint64_t> range(std::uint64_t pieces) const {
    const std::uint64_t each = pieces / count, longer = pieces % count, before = number - 1;
    return {before * each + (before < longer ? before : longer), each + (before < longer ? 1 : 0)};
  }
};

/// Options of a replay and its report.
struct ReplayOptions {
  /// The target; overrides the one that the file names.
  std::optional<Target> target;
  ReadOptions read;
  /// Handling of operands that the manual leaves undefined (warpbit/execute.hpp).
  Undefined undefined = Undefined::error;
  /// The share to replay; by default everything.
  Shard shard;
  /// Maximum number of mismatches to describe in detail, per file.
  std::size_t details = 4;
  /// A folder for the first differing block of a file of digests. It is written as an ordinary capture with
  /// the inputs and the computed results, named `<name of the file>.case<number of the first>.npz`. Empty:
  /// not written.
  std::filesystem::path block_folder;
};

/// One element whose bits differ, or one block of cases in the layout `digests`.
struct Mismatch {
  std::uint64_t index = 0;                 ///< case; element of the layouts `elements` and `scalars`
  std::uint64_t cases = 0;                 ///< number of cases in a block, which starts at `index`; else 0
  std::string name;                        ///< what the case probes, if the file names it
  int lane = -1, reg = -1;                 ///< in the layout `registers`, else -1
  int row = -1, column = -1, product = 0;  ///< in D; -1 in the layout `elements`
  std::int64_t address = -1;               ///< address of a stored byte, in `smem_out`; else -1
  std::uint64_t expected = 0, got = 0;     ///< codes in `format`; digests
  std::string_view format;
};

/// One line: case, place, expected and got in hexadecimal and as numbers.
std::string text(const Mismatch& mismatch);

enum class FileStatus {
  replayed,     ///< every element was compared; for digests, every one in the shard
  other_shard,  ///< nothing of it is in the shard, so nothing was compared
  unsupported,  ///< the file is well-formed, but this library does not execute its statement on the target, or
                ///< the manual leaves undefined what it does with the operands
  unreadable,   ///< the file is malformed, or its arrays do not fit its statement
  fault,        ///< a launch of a recording ends in a fault
  not_reproducible,  ///< the recording lacks what a launch needs, and says why
};
/// Its name: "not reproducible".
std::string_view name(FileStatus status);

/// The outcome for one file, or for one record of a recording (warpbit/verify.hpp).
struct FileReport {
  std::filesystem::path path;
  std::string kind = "instruction";  ///< of the record; that of a capture is this
  std::string record;                ///< its name; empty for a capture
  FileStatus status = FileStatus::unreadable;
  std::optional<Error> error;             ///< why it is not `replayed`
  CaptureHeader header;                   ///< as far as it could be read
  std::string target;                     ///< the target of the replay
  std::uint64_t cases = 0, elements = 0;  ///< the compared ones
  std::uint64_t mismatches = 0;           ///< differing elements, or in the layout `digests` differing blocks
  std::uint64_t masked = 0;               ///< elements that the file's mask excludes
  bool inferred = false;                  ///< the arithmetic is not verified on hardware
  /// Of a launch: what differs may do so, as the order of atomics; then it is no mismatch of the totals.
  bool may_differ = false;
  std::uint64_t findings = 0;  ///< of a launch: broken rules behind which it went on
  std::vector<Mismatch> details;
  std::vector<std::string> notes;  ///< ignored members, blocks in other shards; of a record all that is said
};

/// Sums over the reports of files.
struct ReplayTotals {
  std::uint64_t files = 0;  ///< excluding those in other shards
  std::uint64_t cases = 0, elements = 0, mismatches = 0, unsupported = 0, unreadable = 0, other_shards = 0;
  std::uint64_t records = 0;  ///< of recordings, among the files
  std::uint64_t may_differ = 0, faults = 0, not_reproducible = 0;

  void add(const FileReport& report);
  /// 0: everything replayed without a mismatch; 1: a mismatch, or a launch with a fault; 2: a file could not be judged, or
  /// there was nothing to compare.
  int exit_status() const;
  /// "total: F files, C cases, E elements, X mismatches, U unsupported, B unreadable", followed by what else there is.
  std::string text() const;
};

/// Replays one file. Never fails: errors are in the report.
FileReport replay(const std::filesystem::path& path, const ReplayOptions& options = {});

/// The capture files under the given files and folders. A file is taken as it is; a folder is searched for
/// *.npz, in alphabetical order; folders of recordings are left out. Links are
/// followed; each real folder, and each real file in one, is taken once, by the first of its paths. A path that does not
/// exist is kept, so that its report says so.
std::vector<std::filesystem::path> find_captures(std::span<const std::filesystem::path> paths);
/// The same for captures and recordings (Recording::is_one).
std::vector<std::filesystem::path> find_recorded(std::span<const std::filesystem::path> paths);

/// Replays files in parallel. `progress`, if given, is called after each file, from one thread at a time; it
/// must not throw.
std::vector<FileReport> replay_all(std::span<const std::filesystem::path> files,
                                   const ReplayOptions& options = {},
                                   const std::function<void(std::size_t done)>& progress = {});

/// The reports of the whole, from those of all shares, in their order: what replay_all returns without a shard, given the same
/// files. Each file has at most `details` details. Errors: usage if there are none, or if their files are not the same.
Result<std::vector<FileReport>> merge_reports(std::span<const std::vector<FileReport>> shares,
                                              std::size_t details = ReplayOptions{}.details);

/// The comparison of the results of two captures with the same form and inputs.
struct DiffReport {
  std::uint64_t cases = 0, elements = 0, differences = 0;
  std::vector<Mismatch> details;  ///< `expected` is from the first file, `got` from the second
};

/// Errors: those of reading and decoding; captures_differ if form, layout or inputs differ.
Result<DiffReport> diff(const std::filesystem::path& first, const std::filesystem::path& second,
                        const ReplayOptions& options = {});

// ---- Digests

/// The choice of inputs for a form.
struct InputChoice {
  std::uint64_t seed = 0;
  inputs::Profile profile = inputs::Profile::mixed;
};

/// The arrays of the ordinary capture of cases [first, first + cases): the inputs, and the results computed
/// here as the last. Errors: those of capture_members and of execution.
Result<std::vector<Array>> generated_capture(const Instruction& instruction, const InputChoice& choice,
                                             std::uint64_t first, std::uint64_t cases,
                                             const ExecuteOptions& options = {});

/// Cases divided into blocks, each with one digest.
struct DigestBlocks {
  std::uint64_t cases = 0;
  std::uint64_t of_block = inputs::kBlockCases;  ///< cases per block; the last one may have fewer

  std::uint64_t count() const { return cases / of_block + (cases % of_block != 0 ? 1 : 0); }
  /// Precondition of both: block < count().
  std::uint64_t first_case(std::uint64_t block) const { return block * of_block; }
  std::uint64_t cases_in(std::uint64_t block) const { return std::min(of_block, cases - first_case(block)); }
};

/// The digests of the results in the given blocks (inputs::mix), in that order. Errors: those of
/// generated_capture; archive_too_large if memory does not suffice.
Result<std::vector<std::uint64_t>> digests(const Instruction& instruction, const InputChoice& choice,
                                           const DigestBlocks& blocks, std::span<const std::uint64_t> which,
                                           const ExecuteOptions& options = {});

// ---- Index

/// One capture. Fields that its provenance does not state are "-".
struct IndexedCapture {
  std::string path;       ///< relative to where the index was made
  std::string statement;  ///< the form in the manual's spelling, with the operands of the file
  std::string target;
  std::string layout, source;  ///< as name() prints them
  std::string profile;         ///< of the inputs; "probes" if the cases have names
  std::uint64_t cases = 0, elements = 0;
  std::string date, device;

  friend bool operator==(const IndexedCapture&, const IndexedCapture&) = default;
};

/// The captures among files and in folders, in ascending order of their paths, which begin with the given
/// ones. Errors: those of files and of decoding; no_cases if there is no capture.
Result<std::vector<IndexedCapture>> index_captures(std::span<const std::filesystem::path> paths,
                                                   const ReadOptions& options = {});

/// An index as text: a heading and a line for each capture, fields separated by tabs.
std::string index_text(std::span<const IndexedCapture> captures);

/// The captures of golden/ and golden-digests/, from the index that the library was built with.
const std::vector<IndexedCapture>& golden_captures();

/// The golden captures of an instruction's form (with any operands) that show its results on its target. They
/// were recorded on a GPU with the target's number; a letter (a, f) changes the set of instructions, not
/// their results.
std::vector<const IndexedCapture*> golden_captures(const Instruction& instruction);

// ---- Smaller files

/// Copies a capture with its arrays deflated. If `bytes` is set, it keeps only as many of the first cases as
/// fit into arrays of that total size, at least one; the layouts `elements` and `digests` keep all. Errors:
/// those of CaptureReader, of decoding and of write_capture.
Result<void> pack_capture(const std::filesystem::path& from, const std::filesystem::path& to,
                          std::optional<std::uint64_t> bytes, const ReadOptions& options = {});

// ---- Statements on files
//
// Executing a statement on operands in files or matrices, without handling registers.

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

/// Reads a matrix into codes of a format (a name of Operand::format). What ends in .npy, or is the array NAME of FILE.npz:NAME, has no
/// dimension (one element), one (a row) or two; its floating-point and signed items are numbers, its unsigned ones codes, and so are
/// signed ones for formats of floating-point numbers of that size, as NumPy has what it has no type for. Any other file is text: cells separated by commas, semicolons, blanks or tabs, each a number or a code
/// (parse_code); lines that are empty or start with '#' are ignored. Numbers that the format cannot represent
/// are rounded to nearest even, and a note states their count and the first one; for integer formats they are
/// refused. A format that an instruction makes of wider numbers (SumOrder) has these numbers as its codes.
/// Errors: those of reading; member_dtype, member_shape, member_malformed; usage, with the place.
Result<CodeMatrix> read_matrix(const std::filesystem::path& path, std::string_view format,
                               std::vector<std::string>& notes, const ReadOptions& options = {});

/// The format whose codes the items of a .npy file are, by their type; integers of 16 bits are codes of the one that NumPy has no type
/// for. Errors: those of reading; member_dtype for all else.
Result<std::string> format_of_file(const std::filesystem::path& path, const ReadOptions& options = {});

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

/// Reads a .npy file, or FILE.npz:NAME, of any dimensions, in C order; a matrix may be in Fortran order. Errors: those of reading;
/// member_dtype, member_shape, member_malformed; usage, which lists the names, if the .npz has no such array.
Result<Array> read_array(const std::filesystem::path& path, const ReadOptions& options = {});

/// Writes a .npy file, which is complete or untouched. Errors: file_unwritable.
Result<void> write_array(const std::filesystem::path& path, const Array& array);

}  // namespace warpbit
#pragma GCC visibility pop
