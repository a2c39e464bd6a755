// SPDX-License-Identifier: Apache-2.0
// Reports as JUnit's XML, which CI reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warpbit::cli {

struct JunitCase {
  std::string group, name;
  std::string_view word;  ///< "failure", "error" or "skipped"; empty if it has passed
  std::string message;    ///< what is said of one that has not
};
std::string junit_text(std::string_view suite, const std::vector<JunitCase>& cases);

}  // namespace warpbit::cli
