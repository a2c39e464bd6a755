// SPDX-License-Identifier: Apache-2.0
// What an H100 left of random kernels: golden-digests/random/sm_90a.tsv, made by tools/random/record.py.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "../tools/random/recorded.hpp"

namespace random_recordings {

using random_kernels::is_equal, random_kernels::Recorded, random_kernels::recorded;

inline constexpr const char* kPath = "golden-digests/random/sm_90a.tsv";

/// The first kernel, by seed, that is equal at -O3, and is not if a rule of the assembler is off.
inline std::optional<Recorded> first_that_needs(const std::string& rule) {
  static const std::vector<Recorded> by_seed = [] {
    std::vector<Recorded> all = recorded(kPath);
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
