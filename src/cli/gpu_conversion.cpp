// SPDX-License-Identifier: Apache-2.0
#include "cli/gpu_conversion.hpp"

#include <algorithm>

#include "cli/ask.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit::cli {
namespace {

bool is_of_format(std::string_view type, std::string_view format) {
  return type == format || (type.starts_with(format) && type.substr(format.size()).starts_with('x'));
}

}  // namespace

std::optional<GpuConversion> conversion_to(std::string_view format) {
  constexpr std::string_view kRoundings[] = {"rn", "rna", "rz", "rp", "rm", "rs"};
  GpuConversion out;
  for (const FormInfo& form : forms()) {
    if (!form.canonical.starts_with("cvt.") || !form.canonical.ends_with(".f32")) continue;
    const std::vector<std::string> words = dot_words(form.canonical);
    if (words.size() < 2 || !is_of_format(words[words.size() - 2], format)) continue;
    out.always_saturates = out.always_saturates && std::ranges::find(words, "satfinite") != words.end();
    for (const std::string& word : words)
      if (std::ranges::find(kRoundings, word) != std::end(kRoundings) &&
          std::ranges::find(out.roundings, word) == out.roundings.end())
        out.roundings.push_back(word);
  }
  return out.roundings.empty() ? std::nullopt : std::optional(out);
}

}  // namespace warpbit::cli
