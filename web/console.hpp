// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

namespace warpbit::web {

struct Printed {
  std::string out, messages;
  std::map<std::string, std::string> files = {};  ///< by their names; a host has them on its disk instead
};

/// What a work that throws nothing writes to stdout and to stderr of C, and into files.
Printed printed_by(const std::function<void()>& work);

}  // namespace warpbit::web
