// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace warpbit::web {

struct Printed {
  std::string out, messages;
};

/// What a work that throws nothing writes to stdout and to stderr of C.
Printed printed_by(const std::function<void()>& work);

}  // namespace warpbit::web
