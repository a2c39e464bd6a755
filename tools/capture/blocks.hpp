// SPDX-License-Identifier: Apache-2.0
// Blocks of cases that share a digest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace capture {

/// Joins the digests of blocks of `of_block` cases two by two, until there are at most `most`. Returns the
/// cases of a block then.
inline std::uint64_t join_blocks(std::vector<std::uint64_t>& digests, std::uint64_t of_block,
                                 std::size_t most) {
  for (; digests.size() > most; of_block *= 2) {
    for (std::size_t i = 0; i < digests.size(); ++i)
      digests[i / 2] = (i % 2 == 0 ? 0 : digests[i / 2]) + digests[i];
    digests.resize((digests.size() + 1) / 2);
  }
  return of_block;
}

}  // namespace capture
