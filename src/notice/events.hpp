// SPDX-License-Identifier: Apache-2.0
// What the processes of a test that is watched have written down.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/result.hpp"

namespace warpbit::noticing {

/// The events of test_process.hpp. Lines that are no objects, as of a process that was killed while it wrote, are left out.
std::vector<nlohmann::json> events_of(const std::filesystem::path& folder);
bool is_event(const nlohmann::json& one, std::string_view name);

std::string read_file(const std::filesystem::path& path);
/// The end of what the test printed.
std::string end_of_output(const std::filesystem::path& folder);

/// Refuses an empty command, and to watch a test in a process that is watched.
std::optional<Error> check_command(std::span<const std::string> command, std::string_view who);

}  // namespace warpbit::noticing
