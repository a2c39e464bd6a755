// SPDX-License-Identifier: Apache-2.0
// The kinds of records, a row each: how one is executed and compared.
#pragma once

#include <span>
#include <string_view>

#include "verify/carried.hpp"
#include "warpbit/recording.hpp"
#include "warpbit/verify.hpp"

namespace warpbit::verification {

/// A record to be verified.
struct Subject {
  const Recording& recording;
  const Record& record;
  const VerifyOptions& options;
  Carried* carried = nullptr;  ///< the memory that the records before have left, if they were executed

  /// The target of the record. Errors: unknown_target.
  Result<Target> target(std::string_view own) const;
};

/// Fills the numbers and notes of a report, and says its status.
using Verify = Result<FileStatus> (*)(const Subject&, FileReport&);

struct Kind {
  std::string_view name;
  Verify verify;
};
/// All of them.
std::span<const Kind> kinds();

Result<FileStatus> verify_launch(const Subject& subject, FileReport& report);
Result<FileStatus> verify_product(const Subject& subject, FileReport& report);
Result<FileStatus> verify_generated_product(const Subject& subject, FileReport& report);
Result<FileStatus> verify_reduction(const Subject& subject, FileReport& report);
Result<FileStatus> verify_tensor_map(const Subject& subject, FileReport& report);
Result<FileStatus> verify_tensor_maps(const Subject& subject, FileReport& report);
Result<FileStatus> verify_tensor_map_change(const Subject& subject, FileReport& report);
Result<FileStatus> verify_tensor_copies(const Subject& subject, FileReport& report);
Result<FileStatus> verify_tensor_copy(const Subject& subject, FileReport& report);
Result<FileStatus> verify_scalar_digests(const Subject& subject, FileReport& report);
Result<FileStatus> verify_texture_digests(const Subject& subject, FileReport& report);
Result<FileStatus> verify_surface_digests(const Subject& subject, FileReport& report);
Result<FileStatus> verify_kernel_digests(const Subject& subject, FileReport& report);
Result<FileStatus> verify_copy(const Subject& subject, FileReport& report);

}  // namespace warpbit::verification
