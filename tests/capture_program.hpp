// SPDX-License-Identifier: Apache-2.0
// Runs tools/capture on a driver without a GPU (fake_driver.cpp), whose results are those of the library:
// what is tested is everything around the kernels.
#pragma once

#include "tool.hpp"

namespace capture_program {

namespace fs = std::filesystem;

// Settings for the shell: the program's own driver, and no assembler.
inline constexpr const char* kFake = "WARPBIT_CUDA= WARPBIT_PTXAS=none ";

// The program that CTest names in WARPBIT_CAPTURE, with more settings before its arguments.
inline tool::Output run(const std::vector<std::string>& arguments, const std::string& settings = "") {
  return tool::shell(kFake + settings + " " + tool::shell_word(tool::named("WARPBIT_CAPTURE")) + " " +
                     tool::shell_words(arguments));
}

// The GPU that a target is meant for, as a setting.
inline std::string gpu_of(const std::string& target) {
  return "FAKE_CAPABILITY=" + target.substr(3, target.find_first_not_of("0123456789", 3) - 3);
}

// The kernels of the forms that an expression is found in.
inline std::string kernels(const std::string& target, const std::string& forms) {
  const tool::Output listed = tool::run({"list", "--ptx", "--target", target, forms});
  INFO(listed.err);
  REQUIRE(listed.status == 0);
  return listed.out;
}

// Captures under a folder.
inline std::vector<fs::path> files_under(const fs::path& folder) {
  std::vector<fs::path> out;
  if (fs::exists(folder))
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file()) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

}  // namespace capture_program
