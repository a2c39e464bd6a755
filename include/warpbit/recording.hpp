// SPDX-License-Identifier: Apache-2.0
// Recordings: what a program did on a GPU, launch by launch, with the memory that each found and left. src/recording/FORMAT.md
// describes the format; warpbit/verify.hpp executes what is in one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/capture.hpp"
#include "warpbit/detail/block.hpp"  // Dim3
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// What a recording says about itself. Texts that it does not have are empty.
struct RecordingHeader {
  std::string target;  ///< the name of the target that the bits belong to
  CaptureSource source = CaptureSource::hardware;
  std::string program, device, driver, toolkit, date;
  std::string text = {};  ///< the JSON object
};

/// A line of a recording: one thing that the program did.
struct Record {
  std::string kind;      ///< "launch", "product", "copy" or another one
  std::string name;      ///< unique in the recording
  std::size_t line = 0;  ///< of the file, from 1 on
  std::string text;      ///< the JSON object
};

/// An open recording: a folder, a zip archive of one, or its lines alone. Opening reads and checks the header, and kind and name of
/// each record; data are read on demand, by any number of threads.
class Recording {
 public:
  /// The file of the lines in a folder or archive.
  static constexpr std::string_view kLines = "recording.jsonl";

  /// Errors: file_unreadable, not_an_archive, archive_too_large, record_malformed.
  static Result<Recording> open(const std::filesystem::path& path, const ReadOptions& options = {});
  /// Whether a path looks like a recording: a folder with its lines, X.zip or X.jsonl.
  static bool is_one(const std::filesystem::path& path);

  const std::filesystem::path& path() const;
  const RecordingHeader& header() const;
  std::span<const Record> records() const;
  /// The record of that name, or nullptr.
  const Record* find(std::string_view name) const;
  /// What opening says that is no refusal: a last line that is not complete.
  std::span<const std::string> notes() const;
  /// The bytes of a data file. Errors: record_malformed if there is none of that name; file_unreadable, member_malformed,
  /// archive_too_large.
  Result<std::vector<std::byte>> data(std::string_view name) const;

 private:
  struct State;
  explicit Recording(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// What a recording that was written has.
struct PackedRecording {
  std::size_t records = 0, data_files = 0;
  std::uint64_t data_bytes = 0;  ///< uncompressed
};
/// Writes recordings as one: as an archive if the path ends in ".zip", else as a folder, which is new or empty. Data with equal
/// bytes become one file, data that no record names are left out, and of names that several have all but the first get a number
/// ("name.2"). Members of headers that differ have all their texts; a record of another target than the first says so. Errors: those of Recording::data; record_malformed
/// for no recordings, and for sources that differ; file_unwritable.
Result<PackedRecording> pack_recordings(std::span<const Recording> recordings, const std::filesystem::path& to);

// ---- Records

/// What any record may say.
struct RecordOrigin {
  std::string where;    ///< the line of the program
  std::string library;  ///< what made it
  std::string target;   ///< another one than the recording's
};

/// A parameter of a recorded launch.
struct RecordedParameter {
  std::vector<std::byte> bytes;
  std::string type, name;
};

/// A part of the memory that a recorded launch could reach.
struct RecordedMemory {
  std::uint64_t address = 0, bytes = 0;
  std::string name;
  std::optional<std::string> before;  ///< data; nothing: nobody has written it
  std::optional<std::string> after;   ///< data; nothing: as before
  bool is_compared = true;            ///< false: nobody knows what it was afterwards
};

/// A variable of a module, before and after a launch.
struct RecordedVariable {
  std::string name;
  std::optional<std::string> before, after;  ///< data
};

/// A launch of a kernel.
struct RecordedLaunch : RecordOrigin {
  std::string entry;
  std::string module;  ///< data; empty if there is no PTX
  std::string reason;  ///< why it cannot be reproduced, if it cannot
  Dim3 grid = {}, block = {};
  std::optional<Dim3> cluster;
  std::uint64_t shared_bytes = 0;
  std::vector<RecordedParameter> parameters = {};
  std::vector<RecordedMemory> memory = {};
  std::vector<RecordedVariable> variables = {};
  std::optional<bool> stable = {};
  std::optional<std::string> printed = {};
};
/// Errors: record_malformed, with the line and the member.
Result<RecordedLaunch> read_launch(const Record& record);

/// A matrix or a batch of them.
struct RecordedMatrix {
  std::string format;  ///< the name of a format
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> strides;  ///< in elements
  std::string data;                    ///< from the element with index 0 to the last one
  std::optional<std::uint64_t> address;
};

/// A kernel that a library launched for a product.
struct RecordedKernel {
  std::string name;
  Dim3 grid = {};
};

/// A product of matrices that a library computed.
struct RecordedProduct : RecordOrigin {
  std::string op;
  RecordedMatrix a, b, d;
  std::optional<RecordedMatrix> c, bias, a_scale, b_scale;
  double alpha = 1, beta = 1;
  std::optional<bool> may_round =
      {};  ///< whether the library was allowed to round operands of single precision
  std::vector<RecordedKernel> kernels = {};
  std::optional<bool> stable = {};
  std::string order = {};  ///< in words (SumOrder); empty if nobody knows
};
/// Errors: as those of read_launch.
Result<RecordedProduct> read_product(const Record& record);

/// What a kernel made of the rows of one array (warpbit/reduction.hpp).
struct RecordedReduction : RecordOrigin {
  std::string op;                        ///< "softmax"
  RecordedMatrix x, d;                   ///< two extents; D of sums has one
  std::optional<RecordedMatrix> v = {};  ///< of attention
  std::optional<unsigned> axis = {};     ///< which one is summed; nothing: all
  double epsilon = 0;
  std::string order = {};  ///< in words; empty if nobody knows
};
/// Errors: as those of read_launch.
Result<RecordedReduction> read_reduction(const Record& record);

/// Memory that changed between launches and products.
struct RecordedCopy : RecordOrigin {
  std::uint64_t to = 0, bytes = 0;
  std::string data;  ///< empty: from `from`
  std::uint64_t from = 0;
};
/// Errors: as those of read_launch.
Result<RecordedCopy> read_copy(const Record& record);

}  // namespace warpbit
#pragma GCC visibility pop
