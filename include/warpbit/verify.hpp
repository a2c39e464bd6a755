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

}  // namespace warpbit
#pragma GCC visibility pop
