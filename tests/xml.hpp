// SPDX-License-Identifier: Apache-2.0
// Pictures are XML.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace xml {

// Tags are closed in order, and there is no bare '<' or '&' between them.
inline bool is_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; (at = xml.find_first_of("<&", at)) != xml.npos; ++at) {
    if (xml[at] == '&') {
      const std::string entity = xml.substr(at, xml.find(';', at) - at);
      if (entity != "&amp" && entity != "&lt" && entity != "&gt" && entity != "&quot") return false;
      continue;
    }
    const std::string tag = xml.substr(at + 1, xml.find('>', at) - at - 1);
    if (std::ranges::count(tag, '"') % 2 != 0 || tag.find('<') != tag.npos) return false;
    if (tag.starts_with('?') || tag.ends_with('/')) continue;
    if (!tag.starts_with('/')) {
      open.push_back(tag.substr(0, tag.find(' ')));
    } else {
      if (open.empty() || "/" + open.back() != tag) return false;
      open.pop_back();
    }
  }
  return open.empty();
}

}  // namespace xml
