// SPDX-License-Identifier: Apache-2.0
// What an H100 left of random kernels: golden-digests/random/, made by tools/random/record.py.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recording_files.hpp"
#include "warpbit/verify.hpp"

namespace random_recordings {

inline constexpr const char* kPath = "golden-digests/random/sm_90a.zip";

/// The name of the first kernel, by seed, that is equal at -O3, and is not if a rule of the assembler is off.
inline std::optional<std::string> first_that_needs(const std::string& rule) {
  struct Kernel {
    std::uint64_t seed;
    warpbit::Verifiable one;
  };
  static const std::vector<Kernel> by_seed = [] {
    std::vector<Kernel> out;
    const std::filesystem::path path = kPath;
    for (const warpbit::Verifiable& one : warpbit::find_verifiable(std::span(&path, 1))) {
      const auto record = recording_files::json::parse(one.record().text);
      const bool is_open = record.contains("differs") || record.contains("defects");
      if (!is_open && record.at("O0") != record.at("O3")) out.push_back({record.at("seed"), one});
    }
    std::ranges::stable_sort(out, {}, &Kernel::seed);
    return out;
  }();
  warpbit::VerifyOptions without;
  without.how.without = {rule};
  for (const Kernel& kernel : by_seed)
    if (verify(kernel.one, without).mismatches != 0 && verify(kernel.one).mismatches == 0)
      return kernel.one.record().name;
  return {};
}

}  // namespace random_recordings
