// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

namespace warpbit::web {

using Files = std::map<std::string, std::string>;  ///< texts by their names

struct Printed {
  std::string out, messages;
  Files files = {};  ///< a host has them on its disk instead
};

/// What a work that throws nothing writes to stdout and to stderr of C, and into files. It may read `given`, where there is no disk.
Printed printed_by(const Files& given, const std::function<void()>& work);

}  // namespace warpbit::web
