// SPDX-License-Identifier: Apache-2.0
#include "cli/script.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

#include "cli/commands.hpp"

namespace warpbit::cli {

namespace fs = std::filesystem;

fs::path find_script(const std::string& name, const char* variable) {
  if (const char* const named = std::getenv(variable)) return named;
  std::error_code error;
  const fs::path folder = fs::canonical("/proc/self/exe", error).parent_path();
  const fs::path installed = folder / "../share/warpbit" / name, sources = folder / "../../tools" / name;
  for (const fs::path& path : {installed, sources})
    if (fs::exists(path, error)) return path;
  refuse(fs::path(name).filename().string(), "no " + installed.lexically_normal().string(),
         fmt::format("the script, which is installed with the tool; {} may name it", variable));
}

}  // namespace warpbit::cli
