// SPDX-License-Identifier: Apache-2.0
// Captures and recordings of any kind, executed here and compared bit by bit with what a GPU left.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "warpbit/ptx.hpp"
#include "warpbit/recording.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// How to verify.
struct VerifyOptions : ReplayOptions {
  /// How launches run: checks, rules, grades. What the recording says of a launch takes the place of its shape and memory.
  ptx::Launch how = {};
  /// Records of a recording are executed one after the other, each on the memory that those before have left here.
  bool whole = false;
};

/// What is verified by itself: a capture, or a record of a recording.
struct Verifiable {
  std::filesystem::path path;
  std::shared_ptr<const Recording> recording =
      {};                           ///< nothing: a capture, or a recording that could not be opened
  std::size_t number = 0;           ///< of the record
  std::optional<Error> error = {};  ///< why it could not be opened

  /// The record. Precondition: there is a recording.
  const Record& record() const { return recording->records()[number]; }
};

/// The captures and the records of recordings under the given files and folders, as find_recorded finds them; records in their
/// order. A recording that cannot be opened is kept, so that its report says so.
std::vector<Verifiable> find_verifiable(std::span<const std::filesystem::path> paths,
                                        const ReadOptions& options = {});

/// The kinds of records that can be verified: "launch", "product", ...
std::vector<std::string_view> verifiable_kinds();

/// Verifies one. Never fails: errors are in the report.
FileReport verify(const Verifiable& one, const VerifyOptions& options = {});

/// Verifies all in parallel; with `whole` recordings in parallel, of each one record after the other. `progress` as of
/// replay_all. Merged by merge_reports.
std::vector<FileReport> verify_all(std::span<const Verifiable> all, const VerifyOptions& options = {},
                                   const std::function<void(std::size_t done)>& progress = {});

// ---- Two recordings of one program

/// A launch, product or copy that two recordings do not have alike.
struct RecordDifference {
  /// The names of the records; empty where a recording has none of its kind and kernel with that number.
  std::string first, second;
  std::string what;  ///< the kind and the kernel: "launch triton_mm"
  /// Whether both found the same memory, and executed the same PTX (of products, the same kernels).
  bool same_inputs = false, same_code = false;
  /// What differs, and what the cause is where both found the same memory, a sentence each.
  std::vector<std::string> lines = {};
};

/// How two recordings compare. Records are paired by kind and kernel: the third launch of a kernel with the third one.
struct RecordingComparison {
  std::uint64_t same = 0;  ///< pairs that found the same and left the same
  /// The others, in the order of the first recording. The first one with the same inputs is where the two part.
  std::vector<RecordDifference> differences = {};

  /// The first difference whose inputs are the same, or nullptr.
  const RecordDifference* parting() const;
};

/// Compares what two recordings of one program left, by two GPUs, compilers or drivers. Where a launch has left other bytes from the
/// same memory, both are executed here, to see by which of the target, the PTX and the rules of the assembler they differ. Errors:
/// those of reading records and data.
Result<RecordingComparison> compare_recordings(const Recording& first, const Recording& second,
                                               const VerifyOptions& options = {});

}  // namespace warpbit
#pragma GCC visibility pop
