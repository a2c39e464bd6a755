// SPDX-License-Identifier: Apache-2.0
// What an H100 left of random kernels: golden-digests/random/sm_90a.tsv, made by tools/random/record.py.
#pragma once

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "../tools/random/launch.hpp"

namespace random_recordings {

inline constexpr const char* kPath = "golden-digests/random/sm_90a.tsv";

struct Recorded {
  std::string kind;
  std::uint64_t seed = 0;
  std::array<std::string, 2> digests = {};  // at -O0, at -O3
};

inline std::vector<Recorded> recorded() {
  std::ifstream file(kPath);
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
inline bool is_equal(const Recorded& one, std::size_t level,
                     const std::optional<random_kernels::Words>& words) {
  return words && random_kernels::text_of(random_kernels::digest(*words)) == one.digests[level];
}

/// The first kernel, by seed, that is equal at -O3, and is not if a rule of the assembler is off.
inline std::optional<Recorded> first_that_needs(const std::string& rule) {
  static const std::vector<Recorded> by_seed = [] {
    std::vector<Recorded> all = recorded();
    std::ranges::stable_sort(all, {}, &Recorded::seed);
    return all;
  }();
  for (const Recorded& one : by_seed) {
    const random_kernels::Kind* const kind = random_kernels::find_kind(one.kind);
    if (kind == nullptr || one.digests[0] == one.digests[1]) continue;
    random_kernels::Loaded kernel(*kind, one.seed);
    if (is_equal(one, 1, kernel.run(false)) && !is_equal(one, 1, kernel.run(false, {rule}))) return one;
  }
  return {};
}

}  // namespace random_recordings
