// SPDX-License-Identifier: Apache-2.0
// Copying captures, smaller.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "warpbit/capture.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// Copies a capture with its arrays deflated. If `bytes` is set, only the first cases are kept, as many as have
/// arrays of that size together, but at least one; of the layouts `elements` and `digests` always all. Errors:
/// those of CaptureReader, of decoding and of write_capture.
Result<void> pack_capture(const std::filesystem::path& from, const std::filesystem::path& to,
                          std::optional<std::uint64_t> bytes, const ReadOptions& options = {});

}  // namespace warpbit
#pragma GCC visibility pop
