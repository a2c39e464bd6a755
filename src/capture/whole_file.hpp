// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "warpbit/result.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::capture {

/// Writes a file that is complete or untouched: beside it first, then renamed. A link is followed, and a file that is
/// replaced keeps its permissions. Errors: file_unwritable, also if what is there is not a regular file.
Result<void> write_whole_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// All bytes of a regular file. Errors: file_unreadable; archive_too_large, if it has more than `max_bytes` or
/// there is no memory for it.
Result<std::vector<std::byte>> read_whole_file(const std::filesystem::path& path, std::uint64_t max_bytes);

}  // namespace warpbit::capture
#pragma GCC visibility pop
