// SPDX-License-Identifier: Apache-2.0
// What people call formats, beside their own names.
#pragma once

#include <string_view>
#include <vector>

namespace warpbit {

/// A name that people use for two formats of a size, and what it is taken as.
struct SharedFormat {
  std::string_view name, taken, other;
};
inline constexpr SharedFormat kSharedFormats[] = {{"fp8", "e4m3", "e5m2"}, {"fp6", "e3m2", "e2m3"}};
/// The formats that people mean by a word: f16 by "fp16", e4m3 and e5m2 by "fp8"; none by a format's own name.
#pragma GCC visibility push(default)  // warpbit's other libraries use it
std::vector<std::string_view> formats_called(std::string_view word);
#pragma GCC visibility pop

}  // namespace warpbit
