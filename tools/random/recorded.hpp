// SPDX-License-Identifier: Apache-2.0
// What a GPU left of random kernels, as record.py wrote it.
#pragma once

#include <array>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "launch.hpp"

namespace random_kernels {

struct Recorded {
  std::string kind;
  std::uint64_t seed = 0;
  std::array<std::string, 2> digests = {};  ///< at -O0, at -O3
};

/// The lines of a file of record.py's.
inline std::vector<Recorded> recorded(const char* path) {
  std::ifstream file(path);
  std::vector<Recorded> out;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || line.starts_with("kind\t")) continue;
    std::istringstream cells(line);
    Recorded& one = out.emplace_back();
    cells >> one.kind >> one.seed >> one.digests[0] >> one.digests[1];
    if (one.digests[1] == "=") one.digests[1] = one.digests[0];
  }
  return out;
}

/// Whether words are what the GPU left at a level: 0: -O0, 1: -O3.
inline bool is_equal(const Recorded& one, std::size_t level, const std::optional<Words>& words) {
  return words && text_of(digest(*words)) == one.digests[level];
}

}  // namespace random_kernels
