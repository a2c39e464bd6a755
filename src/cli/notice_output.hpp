// SPDX-License-Identifier: Apache-2.0
// What warpbit notice prints.
#pragma once

#include <string>
#include <vector>

#include "warpbit/notice.hpp"

namespace warpbit::cli {

struct NoticeOutput {
  std::string junit;  ///< a file to write, or none
  bool all = false;   ///< mistakes that are noticed, too
};

void print_mistake_kinds();
void print_notice(const NoticeReport& report, const std::vector<std::string>& command,
                  const NoticeOptions& options, const NoticeOutput& output);
void print_notice_json(const NoticeReport& report, const std::vector<std::string>& command,
                       const NoticeOptions& options);
std::string junit_of(const NoticeReport& report);

}  // namespace warpbit::cli
