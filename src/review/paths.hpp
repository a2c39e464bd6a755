// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "warpbit/review.hpp"

namespace warpbit::review {

/// A file from `root` on; nothing if it does not lie below it.
std::optional<std::filesystem::path> below(const std::string& file, const std::filesystem::path& root);

}  // namespace warpbit::review
