// SPDX-License-Identifier: Apache-2.0
// Lists of words in a text.
#pragma once

#include <string_view>
#include <vector>

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// What lies between separators, of which each is one of these characters; one word more than separators.
std::vector<std::string_view> words_between(std::string_view text, std::string_view separators);

}  // namespace warpbit
#pragma GCC visibility pop
