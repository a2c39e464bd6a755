// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "warpbit/result.hpp"

namespace warpbit::capture {

/// Writes a file that is complete or untouched: beside it first, then renamed. Errors: file_unwritable, also
/// for what is there and no regular file.
Result<void> write_whole_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace warpbit::capture
