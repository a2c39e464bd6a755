// SPDX-License-Identifier: Apache-2.0
#include "numeric/format_names.hpp"

#include "numeric/formats.hpp"

namespace warpbit {

std::vector<std::string_view> formats_called(std::string_view word) {
  for (const SharedFormat& shared : kSharedFormats)
    if (shared.name == word) return {shared.taken, shared.other};
  const Format* const found = find_format(word);
  return found == nullptr || found->name == word ? std::vector<std::string_view>{} : std::vector{found->name};
}

}  // namespace warpbit
