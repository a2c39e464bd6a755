// SPDX-License-Identifier: Apache-2.0
// Where ptxas is.
#pragma once

#include <unistd.h>  // access

#include <cstdlib>  // getenv
#include <filesystem>
#include <sstream>
#include <string>

namespace capture {

/// WARPBIT_PTXAS, else in PATH, else /usr/local/cuda/bin/ptxas; empty if it is nowhere.
inline std::string find_ptxas() {
  const auto is_program = [](const std::filesystem::path& path) {
    return std::filesystem::is_regular_file(path) && access(path.c_str(), X_OK) == 0;
  };
  if (const char* named = std::getenv("WARPBIT_PTXAS")) return is_program(named) ? named : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (is_program(std::filesystem::path(folder) / "ptxas")) return std::filesystem::path(folder) / "ptxas";
  const std::string usual = "/usr/local/cuda/bin/ptxas";
  return is_program(usual) ? usual : "";
}

}  // namespace capture
