// SPDX-License-Identifier: Apache-2.0
// What `record` asks for, through the environment.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace warpbit::record {

inline std::string environment(const char* name) {
  const char* const value = std::getenv((std::string("WARPBIT_RECORD_") + name).c_str());
  return value != nullptr ? value : "";
}

inline std::uint64_t environment_number(const char* name, std::uint64_t otherwise) {
  const std::string text = environment(name);
  return text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10);
}

struct Options {
  std::string out = environment("OUT");          // the folder of the recording
  std::string status = environment("STATUS");    // a folder for what `record` shows
  std::string program = environment("PROGRAM");  // for the header
  std::string kernels = environment("KERNELS");  // a regular expression
  bool has_kernels = environment("NO_KERNELS").empty();
  bool has_products = environment("NO_PRODUCTS").empty();
  std::uint64_t first = environment_number("FIRST", 0);  // launches of each code; 0: all
  std::uint64_t bytes_of_launch = environment_number("LAUNCH_BYTES", std::uint64_t{1} << 30);
  std::uint64_t bytes = environment_number("BYTES", std::uint64_t{8} << 30);  // of all data files
  bool again = environment("AGAIN") != "0";                                   // the second run
  bool follow = environment("FOLLOW") == "1";                                 // pointers in memory
  bool opaque = environment("OPAQUE") == "1";                                 // memory of kernels without PTX
  bool copies = environment("COPIES") == "1";
  bool debug = environment("DEBUG") == "1";
};

}  // namespace warpbit::record
