// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel/body.hpp"
#include "warpbit/kernel.hpp"

namespace warpbit {

/// The body of a kernel, or nullptr for Kernel::node. Precondition: this processor can run it.
const Body* find_body(Kernel kernel);

}  // namespace warpbit
