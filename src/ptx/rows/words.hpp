// SPDX-License-Identifier: Apache-2.0
// The named sets of words that patterns of rows have.
#pragma once

#include <span>
#include <string_view>

namespace warpbit::ptx {

/// Of `$name`, separated by commas; an empty one may be absent.
struct WordSet {
  std::string_view name, words;
};
std::span<const WordSet> word_sets();

}  // namespace warpbit::ptx
