// SPDX-License-Identifier: Apache-2.0
// Scripts that come with the tool: they run where there is a GPU.
#pragma once

#include <filesystem>
#include <string>

namespace warpbit::cli {

/// The script: named by the environment variable, or installed beside the tool, or in the sources that the tool was built in. `name`:
/// "record/record". Refused if there is none.
std::filesystem::path find_script(const std::string& name, const char* variable);

}  // namespace warpbit::cli
