// SPDX-License-Identifier: Apache-2.0
// What a launch has counted, for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/profile.hpp"

namespace warpbit::cli {

/// The sum over a family of opcodes.
struct FamilyCounts : ptx::Counts {
  std::string family;
};
/// The most executed first.
std::vector<FamilyCounts> by_family(const std::vector<ptx::LineCounts>& lines);

/// Two tables: by family, and by line. Precondition: there are lines.
void print_profile(const std::vector<ptx::LineCounts>& lines);

/// "gemm on sm_90a: 16 blocks of 128 threads"
std::string profile_title(std::string_view kernel, std::string_view target, const Dim3& grid,
                          const Dim3& block);
/// Why a launch has not come to its end, for a picture; empty if it has. `fault`: the message of one.
std::string ended_by(bool is_stopped, const std::optional<std::string>& fault);
/// The picture without control characters.
ptx::ProfilePicture printable(ptx::ProfilePicture picture);

}  // namespace warpbit::cli
